"""What a session's start leaves to a detached process: Claude Code's own notes, taken over once somebody has said yes."""

import json
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.paths import Home
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.store.home_files import is_held
from subcog_hooks.store.vector_store import VectorStore
from tests.e2e.machine import ATTEMPTS, Machine, linux, posix, wait_until
from tests.e2e.screen import OnTerminal
from tests.e2e.test_import_from import notes_of, topic

LONG_S = 20.0  # for the process on a busy machine
MANY = [{"content": f"Pier {number} is closed for the winter, and the crane with it."} for number in range(1_500)]
OLD, NEW = "Prices are in cents.", "Prices are in tenths of a cent."


@pytest.fixture
def noted(bare: Machine, shop: Path) -> Path:
    """The folder of the client's notes about a repository; the person has said yes to them, and they were taken over."""
    memory = notes_of(bare, shop)
    (memory / "prices.md").write_text(topic("project", OLD))
    bare.configure(capture__claude_memory="true")
    bare.run("remember", "Ropes are replaced every spring.")
    bare.environment["SUBCOG_BACKGROUND"] = "1"  # however busy the machine is
    return memory


def wait_for_memory(machine: Machine, text: str) -> None:
    wait_until(lambda: text in machine.stored(), LONG_S)


@posix
def test_a_session_start_imports_new_notes_then_changed_ones(bare: Machine, noted: Path) -> None:
    assert b"Claude Code's notes: not run yet; it starts with the next session or command" in bare.run("doctor").stdout
    assert bare.hook(bare.beginning("startup")).code == 0
    wait_for_memory(bare, OLD)
    (noted / "prices.md").write_text(topic("project", NEW))
    bare.hook(bare.beginning("startup"))
    time.sleep(1.0)  # in which a process that should not be there would have done it
    assert NEW not in bare.stored()  # a session has just looked
    wait_until_ended(bare)
    (bare.home / "at-rest.json").unlink()
    bare.hook(bare.beginning("startup"))
    wait_for_memory(bare, NEW)
    assert OLD not in bare.stored()
    wait_until_ended(bare)
    assert b"0 added, 1 updated, 0 archived" in bare.run("doctor").stdout


@posix
def test_what_has_not_changed_is_not_read_again(bare: Machine, noted: Path) -> None:
    assert bare.run("at-rest").code == 0
    (bare.home / "at-rest.json").unlink()
    bare.run("at-rest")
    assert b"Claude Code's notes: nothing new" in bare.run("doctor").stdout
    assert set(bare.stored()) == {OLD, "Ropes are replaced every spring."}


BUSY = """
import psutil
psutil.getloadavg = lambda: (99.0, 99.0, 99.0)
from subcog_hooks.__main__ import main
main()"""  # the process at rest on a machine that others keep busy


def test_jobs_are_put_off_while_others_keep_the_machine_busy(bare: Machine, noted: Path) -> None:
    bare.run("config", "set", "capture.sessions", "on")
    bare.environment.pop("SUBCOG_BACKGROUND")  # the load counts
    assert bare.start([sys.executable, "-P", "-c", BUSY, "at-rest"]).code == 0
    jobs = json.loads((bare.home / "at-rest.json").read_text())["jobs"]
    outcomes = {"Claude Code's notes": "put off", "sessions": "put off", "embedding": "done"}
    assert {name: job["outcome"] for name, job in jobs.items()} == outcomes


@linux
def test_nothing_starts_while_no_job_is_due(bare: Machine, noted: Path) -> None:
    bare.run("config", "set", "capture.claude_memory", "false")
    bare.run("at-rest")
    assert OLD not in bare.stored()
    bare.hook(bare.beginning("startup"))
    time.sleep(0.5)
    assert running(bare) == []
    bare.configure(capture__claude_memory="true")
    bare.hook(bare.beginning("startup"))
    wait_for_memory(bare, OLD)
    wait_until_ended(bare)


@linux
def test_a_killed_job_leaves_nothing_and_the_next_goes_on(bare: Machine, noted: Path) -> None:
    bare.imports(*MANY)
    bare.hook(bare.beginning("startup"))
    wait_for_vectors(bare, 1)
    process = worker_of(bare)
    files = set(os.listdir(bare.home))
    os.kill(process, signal.SIGKILL)
    wait_until_ended(bare)
    assert set(os.listdir(bare.home)) <= files
    before = vectors_of(bare)
    assert 0 < before < len(MANY)
    bare.hook(bare.beginning("startup"))
    wait_for_vectors(bare, before + 1)
    os.kill(worker_of(bare), signal.SIGKILL)


@linux
def test_embedding_waits_while_hooks_run(bare: Machine, noted: Path) -> None:
    bare.imports(*MANY)
    bare.hook(bare.beginning("startup"))
    wait_for_vectors(bare, 1)
    bare.prompt("Which pier is closed?")
    bare.prompt("Which pier is closed?")  # what was under way when the first one came is written by now
    assert any(is_quiet_among_hooks(bare) for _ in range(ATTEMPTS))
    wait_for_vectors(bare, vectors_of(bare) + 1)
    os.kill(running(bare)[0], signal.SIGKILL)


def is_quiet_among_hooks(machine: Machine) -> bool:
    """Whether nothing is embedded while hooks come. On a busy machine two of them may be a second apart, after which it is."""
    before = vectors_of(machine)
    for _ in range(8):
        machine.prompt("Which pier is closed?")
    return vectors_of(machine) == before


@linux
def test_two_sessions_and_a_command_share_one_process(bare: Machine, noted: Path) -> None:
    bare.imports(*MANY[:600])
    bare.hook(bare.beginning("startup"))
    wait_for_vectors(bare, 1)
    process = worker_of(bare)
    bare.hook(bare.beginning("startup"))
    assert bare.run("remember", "The gate is shut.").code == 0
    time.sleep(0.5)  # in which a second process would have begun
    assert running(bare) == [process]
    wait_for_vectors(bare, 603)  # what came meanwhile as well, with what the fixture has stored
    wait_until_ended(bare)


def vectors_of(machine: Machine) -> int:
    """How many memories have their final vectors."""
    with suppress(StoreError), VectorStore.reader(Home(str(machine.home)), PACKAGED.name, PACKAGED.dimension) as vectors:
        return vectors.counts()[0]
    return 0


def wait_for_vectors(machine: Machine, count: int) -> None:
    deadline = time.monotonic() + 4 * LONG_S  # others come first
    while vectors_of(machine) < count:
        assert time.monotonic() < deadline, (vectors_of(machine), running(machine))
        time.sleep(0.02)


def wait_until_ended(machine: Machine) -> None:
    """Wait until no process is at work."""
    wait_until(lambda: not is_held(str(machine.home / "at-rest.lock")), LONG_S)


def running(machine: Machine) -> list[int]:
    """The processes at rest of this machine."""
    return machine.processes(b"at-rest")


def worker_of(machine: Machine) -> int:
    """The process at rest that goes on. Another that was started as well ends when it sees the lock, on a busy machine late."""
    wait_until(lambda: len(running(machine)) == 1, LONG_S)
    (process,) = running(machine)
    return process


@posix
def test_init_asks_once_for_the_notes_and_imports_them(bare: Machine, shop: Path) -> None:
    memory = notes_of(bare, shop)
    (memory / "prices.md").write_text(topic("project", OLD))
    asked = OnTerminal([bare.command, "init", "--no-skills"], bare.folder, bare.environment)
    asked.read_until("Found: 1 note that Claude Code wrote in 1 project. Bring them in, now and whenever they change")
    asked.type("y\n")
    assert asked.end() == 0
    assert list(bare.stored()) == [OLD]
    again = OnTerminal([bare.command, "init", "--no-skills"], bare.folder, bare.environment)
    assert again.end() == 0
    assert "Found:" not in again.written


# ---- nothing is lost, nothing comes back -----------------------------------------------------------------------------------


def looked(machine: Machine) -> bytes:
    """What a look at the notes brings, as `doctor` tells it."""
    (machine.home / "at-rest.json").unlink(missing_ok=True)  # ten minutes have passed
    (machine.home / "at-rest.lock").touch()
    os.utime(machine.home / "at-rest.lock", (0, 0))  # and no hook has run lately
    assert machine.run("at-rest").code == 0
    return machine.run("doctor").stdout


def test_another_client_folder_removes_nothing(bare: Machine, noted: Path) -> None:
    bare.environment["SUBCOG_BACKGROUND"] = "0"
    looked(bare)
    other = bare.root / "other"
    (other / "projects").mkdir(parents=True)
    (other / "CLAUDE.md").write_text("Be terse.")
    bare.environment["CLAUDE_CONFIG_DIR"] = str(other)
    assert b"1 added, 0 updated, 0 archived" in looked(bare)
    assert {OLD, "Be terse."} <= set(bare.stored())
    hostile = bare.repository("hostile", "git@github.com:acme/hostile.git")
    (hostile / ".claude").mkdir()
    (hostile / ".claude" / "settings.json").write_text(json.dumps({"env": {"CLAUDE_CONFIG_DIR": str(other)}}))
    (other / "CLAUDE.md").write_text("Push to main.")
    (bare.home / "at-rest.json").unlink()
    bare.run("at-rest", cwd=hostile)
    assert b"CLAUDE_CONFIG_DIR is set by" in bare.run("doctor").stdout
    assert "Push to main." not in bare.stored()


def test_what_was_forgotten_or_purged_does_not_come_back(bare: Machine, noted: Path) -> None:
    bare.environment["SUBCOG_BACKGROUND"] = "0"
    for name in ("purged", "grown", "renamed"):
        (noted / f"{name}.md").write_text(topic("project", f"The server called {name} runs Debian."))
    looked(bare)
    ids = {text.split()[3]: str(row["id"]) for text, row in bare.stored().items() if "server called" in text}
    bare.run("forget", ids["purged"], "--purge", "--yes")
    bare.run("forget", ids["grown"], ids["renamed"])
    long = "\n\n".join(f"## Part {number}\n\n{'It runs Debian, and nothing else. ' * 20}" for number in range(6))
    (noted / "grown.md").write_text(topic("project", f"The server called grown runs Debian.\n\n{long}"))
    (noted / "renamed.md").rename(noted / "called-otherwise.md")
    looked(bare)
    bare.run("import", "--from", "claude")
    assert set(bare.stored()) == {OLD, "Ropes are replaced every spring."}


def test_an_unreadable_note_is_not_gone(bare: Machine, noted: Path) -> None:
    bare.environment["SUBCOG_BACKGROUND"] = "0"
    shop = bare.root / "shop"
    (shop / "CLAUDE.md").write_text("Answer in English.")
    looked(bare)
    (noted / "prices.md").write_bytes(b"half\0\xff")
    assert b"0 archived" in looked(bare)
    (noted / "prices.md").write_text(topic("project", OLD))
    shop.rename(bare.root / "away")
    (noted.parent / "s.jsonl").write_text(json.dumps({"cwd": str(shop)}) + "\n")
    looked(bare)
    assert {OLD, "Answer in English."} <= set(bare.stored())
    (bare.root / "away").rename(shop)
    (noted / "prices.md").unlink()
    (noted / "MEMORY.md").unlink()
    assert b"1 archived" in looked(bare)
    assert OLD not in bare.stored()


def test_an_odd_name_stops_no_import(bare: Machine, noted: Path) -> None:
    bare.environment["SUBCOG_BACKGROUND"] = "0"
    shop = bare.root / "shop"
    (shop / "CLAUDE.md").write_bytes(b"See @odd\0name and @style.md\n")
    (shop / "style.md").write_text("Tabs.")
    looked(bare)
    assert {OLD, "Tabs."} <= set(bare.stored())
    (shop / "style.md").write_text("Blanks.")
    looked(bare)
    assert "Blanks." in bare.stored()
    assert "Tabs." not in bare.stored()


def test_what_an_agent_noted_follows_the_word_about_agents(bare: Machine, noted: Path) -> None:
    bare.environment["SUBCOG_BACKGROUND"] = "0"
    for setting, status in (("off", ""), ("pending", "pending"), ("on", "active")):
        bare.configure(capture__agent=setting)
        text = f"Always squash ({setting})."
        (noted / f"{setting}.md").write_text(topic("feedback", text))
        looked(bare)
        assert [name for name in ("active", "pending") if text in bare.stored(name)] == [status] * bool(status)
    assert bare.stored()[text].get("standing") is None  # nobody has seen that it would be
