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


@pytest.fixture
def repository(machine: Machine) -> Path:
    return machine.repository("harbour", REMOTE)


def write_settings(repository: Path, text: str) -> None:
    (repository / ".subcog.toml").write_text(text, encoding="utf-8")


def test_a_project_file_that_is_a_burden_is_one_line(machine: Machine, repository: Path, subtests: pytest.Subtests) -> None:
    for burden, text in BURDENS.items():
        with subtests.test(burden=burden):
            write_settings(repository, text)
            before = machine.log()
            assert machine.recall(QUESTION, cwd=repository) == [ANSWER]
            lines = machine.log()[len(before) :]
            assert (len(lines) <= 5, all(".subcog.toml" in line and len(line) < 600 for line in lines)) == (True, True)
            done = machine.run("config", "get", "search.limit", cwd=repository)
            assert (done.code, done.stdout, done.stderr.count(b"\n"), len(done.stderr) < 300) == (0, b"10\n", 1, True)
            assert done.seconds < SOON_SECONDS


def test_a_project_does_not_lower_the_users_bars(machine: Machine, repository: Path, subtests: pytest.Subtests) -> None:
    for key, loose, own in (
        ("surfacing.min_relevance", "0.01", "0.22"),
        ("search_intent.min_confidence", "0.0", "0.5"),
        ("surfacing.max_characters", "9900", "2000"),
        ("search.min_similarity", "0.0", "0.25"),
    ):
        with subtests.test(key=key):
            write_settings(repository, f"# ours\n{key} = {loose}\n")
            done = machine.run("config", "get", key, cwd=repository)
            assert (done.stdout.decode(), done.stderr.count(b"\n")) == (f"{own}\n", 1)
            said = f".subcog.toml line 2: {key} is {loose}"
            assert done.stderr.decode().startswith(f"{said}, yours is {own}; a project's file may only ")
            assert f"note  {said}" in machine.run("doctor", cwd=repository).stdout.decode()


def test_a_project_switches_surfacing_off_and_raises_a_bar(machine: Machine, repository: Path) -> None:
    write_settings(repository, "surfacing.enabled = false\n")
    assert machine.run("config", "get", "surfacing.enabled", cwd=repository).stdout == b"false\n"
    write_settings(repository, "surfacing.enabled = true\n")
    machine.configure(surfacing__enabled="false")
    done = machine.run("config", "get", "surfacing.enabled", cwd=repository)
    assert (done.stdout, b"may only switch it off" in done.stderr) == (b"false\n", True)
    write_settings(repository, "surfacing.min_relevance = 0.9\n")
    done = machine.run("config", "get", "surfacing.min_relevance", cwd=repository)
    assert (done.stdout, done.stderr) == (b"0.9\n", b"")
