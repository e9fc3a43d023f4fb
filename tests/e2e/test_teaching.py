"""What only second looks found becomes a question of the memory: when it was of use twice, or the person says yes to it."""

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.store.state import State
from tests.e2e.machine import Machine, linux
from tests.e2e.test_second_look import LATE, PAYROLL, WAGES, called, paid, payroll, rest, silent

AGAIN = "when do our employees receive the salary?"
ALIKE = "When will employees receive their salaries?"

__all__ = ["paid", "payroll"]  # the fixtures
pytestmark = linux


@pytest.fixture
def at_work(paid: Machine) -> Machine:
    """A machine on which nothing is done at rest but by a test's own word."""
    state = State.open(Home(str(paid.home)), 1_000)
    state.run("INSERT INTO flags VALUES ('at rest', 9e12)")
    state.close()
    return paid


def used(machine: Machine, text: str, session: str) -> None:
    """A prompt that only the second look answers, and a session that goes on with what was handed over."""
    silent(machine, text, session)
    rest(machine)
    assert called(machine, session) == [LATE]
    assert machine.recall(PAYROLL, session) == []  # it has been given


def taught(machine: Machine) -> list[object]:
    """What the memory answers once what was seen has been taught."""
    state = State.open(Home(str(machine.home)), 1_000)
    state.run("DELETE FROM flags WHERE name = 'teaching'")
    state.close()
    assert machine.run("at-rest").code == 0
    return questions(machine)


def questions(machine: Machine) -> list[object]:
    (row,) = [row for row in machine.stored().values() if row["id"] == LATE]
    found: list[object] = row.get("questions", [])
    return found


def suggestions(machine: Machine) -> list[dict[str, object]]:
    return [row for row in machine.rows("review", "--jsonl") if "suggests" in row]


def test_a_memory_used_twice_is_learned_and_found(at_work: Machine) -> None:
    used(at_work, WAGES, "one")
    assert taught(at_work) == []
    assert [(one["memory"], one["value"]) for one in suggestions(at_work)] == [(LATE, WAGES)]
    used(at_work, AGAIN, "two")
    (question,) = taught(at_work)
    assert isinstance(question, dict)
    assert (question["text"] in (WAGES, AGAIN), question["by"]) == (True, "learned")
    assert at_work.recall(ALIKE, "three") == [LATE]
    assert suggestions(at_work) == []
    assert b"employees" not in at_work.run("export", "-").stdout
    (at_work.home / "state.db").unlink()
    assert taught(at_work) == []
    assert b"employees" not in (at_work.home / "memories.db").read_bytes()
