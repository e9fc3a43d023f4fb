"""Questions that a language model writes for memories: asked of a real server, checked, stored where they help."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from subcog_hooks.store.home_files import is_held
from tests.e2e.machine import LONGEST_S, Machine, assert_one_line_error, wait_until, write_program
from tests.llm_server import Behaviour, Handler, LlmServer, fails, says_text, unless

CRANE = "The harbour crane is inspected on Mondays, before the first ship arrives."
ROPE = "Ropes are replaced every spring, by the harbour's own people."
FILLERS = (
    "Nightly Postgres backups go to the cold bucket.",
    "Feature flags live in the admin service.",
    "Release notes are written by hand.",
)
ABOUT_CRANE = "When do we look after the lifting gear of the crane?"
ABOUT_ROPE = "How old may the ropes of a mooring get?"
ASKED = "we look after the lifting gear next week, when is that due?"


@pytest.fixture
def server() -> Iterator[LlmServer]:
    """A server that answers as the tests say."""
    with LlmServer(writes({})) as server:
        yield server


@pytest.fixture
def asking(bare: Machine, server: LlmServer) -> Machine:
    """A machine with memories, whose owner has chosen that server for the work at rest."""
    for text in (CRANE, ROPE, *FILLERS):
        bare.run("remember", text)
    bare.configure(llm__at_rest="openai", llm__base_url=server.url_v1, llm__model="small")
    return bare


def writes(questions: dict[str, list[str]]) -> Behaviour:
    """Answers with these questions for the notes that begin so, whatever their numbers are."""

    def behave(handler: Handler) -> None:
        asked = handler.asked
        notes = [note.partition(":\n")[2] for note in asked.split("\n\nNote ")]
        written = [
            {"number": number, "questions": next((found for begun, found in questions.items() if note.startswith(begun)), [])}
            for number, note in enumerate(notes, 1)
        ]
        content = json.dumps({"notes": written})
        body = json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()
        handler.answer(200, body)

    return behave


def questions(machine: Machine) -> dict[str, list[object]]:
    """What each memory answers, of those that have questions."""
    return {text: row["questions"] for text, row in machine.stored().items() if "questions" in row}


def test_what_is_written_brings_its_memory_and_says_who_wrote_it(asking: Machine, server: LlmServer) -> None:
    assert asking.recall(ASKED) == []
    server.play(writes({"The harbour": [ABOUT_CRANE], "Ropes": [ABOUT_ROPE]}))
    seen = asking.run("enrich", "--dry-run")
    assert (seen.code, questions(asking)) == (0, {})
    assert f"   {ABOUT_CRANE}\n" in seen.stdout.decode()
    done = asking.run("enrich")
    assert done.code == 0, done.stderr
    assert b"openai (small) is sent the texts of 5 memories, in 1 call" in done.stderr
    assert questions(asking) == {CRANE: [{"text": ABOUT_CRANE, "by": "model"}], ROPE: [{"text": ABOUT_ROPE, "by": "model"}]}
    assert len(asking.recall(ASKED)) == 1
    sent = json.dumps([request.json for request in server.requests])
    assert all(text in sent for text in (CRANE, ROPE, *FILLERS))
    again = asking.run("enrich")
    assert (again.code, again.stderr) == (1, b"there is no memory to write questions for\n")
    assert len(server.requests) == 2


def test_a_question_that_does_not_hold_is_left_out_with_why(asking: Machine, server: LlmServer) -> None:
    asking.run("edit", ids(asking)[ROPE], "--question", ABOUT_ROPE)
    of_another = "Where is the cold bucket of nightly Postgres backups?"
    server.play(writes({"The harbour": [CRANE, ABOUT_ROPE, of_another, ABOUT_CRANE]}))
    done = asking.run("enrich")
    assert questions(asking)[CRANE] == [{"text": ABOUT_CRANE, "by": "model"}]
    assert questions(asking)[ROPE] == [ABOUT_ROPE]
    said = done.stderr.decode()
    assert "left out: they repeat the memory or another question" in said
    assert said.count("left out: they") >= 2


def test_a_new_memory_gets_questions_in_the_background(asking: Machine, server: LlmServer) -> None:
    server.play(writes({"The harbour": [ABOUT_CRANE], "Ropes": [ABOUT_ROPE]}))
    asking.environment["SUBCOG_BACKGROUND"] = "1"  # however busy the machine is
    asking.run("remember", "Tugs are booked by telephone.")
    time.sleep(0.5)  # in which a process that should not be there would have asked
    assert server.requests == []
    asking.run("config", "set", "llm.enrich", "true")
    asking.run("config", "set", "llm.calls_a_day", "1")
    asking.run("remember", "Pilots come on board at buoy 4.")
    wait_until(lambda: CRANE in questions(asking), LONGEST_S)
    assert questions(asking)[CRANE] == [{"text": ABOUT_CRANE, "by": "model"}]
    asking.run("remember", "Bollards are painted yellow.")
    time.sleep(0.5)
    assert len(server.requests) == 1  # the call of the day is made
    wait_until(lambda: b"the calls of the day are made" in asking.run("doctor").stdout, LONGEST_S)
    wait_until(lambda: not is_held(str(asking.home / "at-rest.lock")), LONGEST_S)  # nothing goes on without one
    assert len(server.requests) == 1


def ids(machine: Machine) -> dict[str, str]:
    return {text: row["id"] for text, row in machine.stored().items()}


def test_the_days_calls_are_limited_and_resumed(asking: Machine, server: LlmServer) -> None:
    asking.imports(
        *({"id": f"m-{number}", "content": f"Machine {number} stands in hall {number * 7}."} for number in range(20))
    )
    asking.run("config", "set", "llm.calls_a_day", "2")
    done = asking.run("enrich")
    assert b"the 2 calls of today are made (llm.calls_a_day)" in done.stderr
    assert len(server.requests) == 2
    assert b"2 of 2 calls today" in asking.run("doctor").stdout
    assert len(server.requests) == 2
    asking.run("config", "set", "llm.calls_a_day", "9")
    asking.run("enrich")
    assert len(server.requests) == 4  # 25 memories, 16 of which were tried


def test_an_answer_of_another_form_stores_nothing(asking: Machine, server: LlmServer, tmp_path: Path) -> None:
    for body in (b"no JSON", *(b'{"choices": [{"message": {"content": "%s"}}]}' % text for text in (b"{}", b"[[[["))):
        server.play(partial(Handler.answer, status=200, body=body))
        assert_one_line_error(asking.run("--quiet", "enrich"), 5)
    asking.run("config", "set", "llm.at_rest", "claude")
    asking.environment["PATH"] = str(tmp_path)
    assert_one_line_error(asking.run("enrich"), 4)
    for text, said in (
        ("echo 'error: unknown option --safe-mode' >&2; exit 1", "and no answer"),
        ('echo \'{"is_error": true, "result": "Please run /login"}\'', "is not logged in"),
        ("head -c 5000000 /dev/zero", "and no answer"),
        ("echo prose", "and no answer"),
    ):
        write_program(tmp_path / "claude", f"PATH=/bin:/usr/bin\ncat >/dev/null\n{text}")
        done = asking.run("--quiet", "enrich")
        assert_one_line_error(done, 5)
        assert said in done.stderr.decode()
    assert questions(asking) == {}


def test_nothing_is_asked_without_a_choice_or_of_secrets(asking: Machine, server: LlmServer) -> None:
    asking.environment["CLAUDECODE"] = "1"
    assert_one_line_error(asking.run("enrich"), 2)
    del asking.environment["CLAUDECODE"]
    asking.run("config", "set", "llm.at_rest", "default")
    assert_one_line_error(asking.run("enrich"), 5)
    assert server.requests == []


@pytest.mark.parametrize("failure", [fails(400), says_text("I would rather not.")])
def test_a_memory_that_gets_no_answer_stops_no_other(asking: Machine, server: LlmServer, failure: Behaviour) -> None:
    server.play(unless(FILLERS[-1], failure, writes({"The harbour": [ABOUT_CRANE], "Ropes": [ABOUT_ROPE]})))
    done = asking.run("enrich")
    assert (done.code, set(questions(asking))) == (0, {CRANE, ROPE}), done.stderr
    assert b"the answer about it cannot be used; it is not asked about again" in done.stderr
    count = len(server.requests)
    assert asking.run("enrich").code == 1
    assert len(server.requests) == count


def test_secrets_and_forgotten_memories_are_not_sent(asking: Machine, server: LlmServer) -> None:
    asking.run("remember", "The gate's password is: sunflower1, as it always was.")
    asking.run("forget", ids(asking)[ROPE])
    gone = [row["id"] for row in asking.stored("deleted").values()]
    assert_one_line_error(asking.run("enrich", *gone), 2)
    server.play(writes({"The harbour": [ABOUT_CRANE]}))
    assert asking.run("enrich", "--limit", "5").code == 0
    assert CRANE in questions(asking)
    sent = json.dumps([request.json for request in server.requests])
    assert not [text for text in ("sunflower", ROPE) if text in sent]
