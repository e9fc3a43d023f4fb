"""The installed executable in a repository whose .subcog.toml would burden it, or have it speak more than the user wants."""

from pathlib import Path

import pytest

from tests.e2e.machine import ANSWER, QUESTION, REMOTE, Machine

SOON_SECONDS = 8.0  # a command of the terminal on a busy machine
BURDENS = {
    "unknown keys": "".join(f"k{number}=1\n" for number in range(8_190)),
    "one long key": f"{'k' * 60_000} = 1\n",
    "one key of many parts": "a." * 30_000 + "a = 1\n",
    "a number of many digits": f"surfacing.max_memories = 0x{'f' * 5_000}\n",
}


def settings(machine: Machine, text: str) -> Path:
    """A repository with these settings."""
    repository = machine.repository("harbour", REMOTE)
    (repository / ".subcog.toml").write_text(text, encoding="utf-8")
    return repository


@pytest.mark.parametrize("burden", BURDENS)
def test_a_project_file_that_is_a_burden_silences_nothing(machine: Machine, burden: str) -> None:
    repository = settings(machine, BURDENS[burden])
    before = machine.log()
    assert machine.recall(QUESTION, cwd=repository) == [ANSWER]
    lines = machine.log()[len(before) :]
    assert (len(lines) <= 5, all(".subcog.toml" in line and len(line) < 600 for line in lines)) == (True, True)


@pytest.mark.parametrize("burden", BURDENS)
def test_a_huge_project_file_is_one_line(machine: Machine, burden: str) -> None:
    done = machine.run("config", "get", "search.limit", cwd=settings(machine, BURDENS[burden]))
    assert (done.code, done.stdout, done.stderr.count(b"\n"), len(done.stderr) < 300) == (0, b"10\n", 1, True)
    assert done.seconds < SOON_SECONDS


@pytest.mark.parametrize(
    ("key", "loose", "own"),
    [
        ("surfacing.min_relevance", "0.01", "0.22"),
        ("search_intent.min_confidence", "0.0", "0.5"),
        ("surfacing.max_characters", "9900", "2000"),
        ("search.min_similarity", "0.0", "0.25"),
    ],
)
def test_a_project_does_not_lower_the_users_bars(machine: Machine, key: str, loose: str, own: str) -> None:
    repository = settings(machine, f"# ours\n{key} = {loose}\n")
    done = machine.run("config", "get", key, cwd=repository)
    assert (done.stdout.decode(), done.stderr.count(b"\n")) == (f"{own}\n", 1)
    assert done.stderr.startswith(f".subcog.toml line 2: {key} is {loose}, yours is {own}; a project's file may only ".encode())
    assert f"note  .subcog.toml line 2: {key} is {loose}" in machine.run("doctor", cwd=repository).stdout.decode()


def test_a_project_switches_surfacing_off_and_not_on(machine: Machine) -> None:
    off = settings(machine, "surfacing.enabled = false\n")
    assert machine.run("config", "get", "surfacing.enabled", cwd=off).stdout == b"false\n"
    (off / ".subcog.toml").write_text("surfacing.enabled = true\n")
    assert machine.run("config", "set", "surfacing.enabled", "false").code == 0
    done = machine.run("config", "get", "surfacing.enabled", cwd=off)
    assert (done.stdout, b"may only switch it off" in done.stderr) == (b"false\n", True)


def test_a_project_raises_a_bar(machine: Machine) -> None:
    repository = settings(machine, "surfacing.min_relevance = 0.9\n")
    done = machine.run("config", "get", "surfacing.min_relevance", cwd=repository)
    assert (done.stdout, done.stderr) == (b"0.9\n", b"")
