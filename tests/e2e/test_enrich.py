"""Questions that a language model writes for memories: asked of a real server, tried on a copy, stored where they help."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.machine import Machine, assert_one_line_error
from tests.llm_server import Behaviour, Handler, LlmServer

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
    for key, value in (("llm.at_rest", "openai"), ("llm.base_url", server.url_v1), ("llm.model", "small")):
        assert bare.run("config", "set", key, value).code == 0
    return bare


def writes(questions: "dict[str, list[str]]") -> Behaviour:
    """Answers with these questions for the notes that begin so, whatever their numbers are."""

    def behave(handler: Handler) -> None:
        asked = handler.server.owner.requests[-1].json["messages"][-1]["content"]
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
    rows = map(json.loads, machine.run("list", "--jsonl").stdout.splitlines())
    return {row["content"]: row["questions"] for row in rows if "questions" in row}


def test_what_is_written_brings_its_memory_and_says_who_wrote_it(asking: Machine, server: LlmServer) -> None:
    assert asking.recall(ASKED) == []
    server.play(writes({"The harbour": [ABOUT_CRANE], "Ropes": [ABOUT_ROPE]}))
    seen = asking.run("enrich", "--dry-run")
    assert (seen.code, questions(asking)) == (0, {})
    assert f"   {ABOUT_CRANE}\n" in seen.stdout.decode()
    done = asking.run("enrich")
    assert done.code == 0, done.stderr
    assert b"openai (small) is sent the texts of 5 memories, in 1 call" in done.stderr
    assert questions(asking) == {
        CRANE: [{"text": ABOUT_CRANE, "by": "model"}],
        ROPE: [{"text": ABOUT_ROPE, "by": "model"}],
    }
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


def ids(machine: Machine) -> dict[str, str]:
    return {row["content"]: row["id"] for row in map(json.loads, machine.run("list", "--jsonl").stdout.splitlines())}


def test_a_day_has_so_many_calls_and_the_next_goes_on_with_the_rest(asking: Machine, server: LlmServer) -> None:
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


@pytest.mark.parametrize(
    "body",
    [b"no JSON", b'{"choices": [{"message": {"content": "{}"}}]}', b'{"choices": [{"message": {"content": "[[[["}}]}'],
)
def test_an_answer_of_another_form_is_one_line_and_stores_nothing(asking: Machine, server: LlmServer, body: bytes) -> None:
    server.play(lambda handler: handler.answer(200, body))
    assert_one_line_error(asking.run("--quiet", "enrich"), 5)
    assert questions(asking) == {}


def test_nothing_is_asked_without_a_choice_by_an_agent_or_of_what_may_be_secret(asking: Machine, server: LlmServer) -> None:
    asking.environment["CLAUDECODE"] = "1"
    assert_one_line_error(asking.run("enrich"), 2)
    del asking.environment["CLAUDECODE"]
    asking.run("config", "set", "llm.at_rest", "default")
    assert_one_line_error(asking.run("enrich"), 2)
    assert server.requests == []


def test_what_is_forgotten_is_not_sent_and_eight_questions_are_enough(asking: Machine, server: LlmServer) -> None:
    asking.run("forget", ids(asking)[ROPE])
    gone = [json.loads(line)["id"] for line in asking.run("list", "--status", "deleted", "--jsonl").stdout.splitlines()]
    assert_one_line_error(asking.run("enrich", *gone), 2)
    assert server.requests == []
    own = [option for number in range(8) for option in ("--question", f"Who paints crane number {number} of the harbour?")]
    asking.run("edit", ids(asking)[CRANE], *own)
    server.play(writes({"The harbour": [ABOUT_CRANE]}))
    assert asking.run("enrich", ids(asking)[CRANE]).code == 0
    assert len(questions(asking)[CRANE]) == 8


def test_a_client_that_is_not_there_or_not_ours_is_one_line(bare: Machine, tmp_path: Path) -> None:
    bare.run("remember", CRANE)
    bare.run("config", "set", "llm.at_rest", "claude")
    bare.environment["PATH"] = str(tmp_path)
    assert_one_line_error(bare.run("enrich"), 4)
    for text, said in (
        ("echo 'error: unknown option --safe-mode' >&2; exit 1", "is too old"),
        ('echo \'{"is_error": true, "result": "Please run /login"}\'', "is not logged in"),
        ("head -c 5000000 /dev/zero", "printed more than"),
        ("echo prose", "and no answer"),
        ('echo \'{"structured_output": {"notes": [{"number": 7, "questions": ["whose is this?"]}]}}\'', ""),
    ):
        client = tmp_path / "claude"
        client.write_text(f"#!/bin/sh\nPATH=/bin:/usr/bin\ncat >/dev/null\n{text}\n")
        client.chmod(0o755)
        done = bare.run("--quiet", "enrich")
        if said:
            assert_one_line_error(done, 5)
            assert said in done.stderr.decode()
    assert questions(bare) == {}


def test_a_repository_chooses_neither_the_client_nor_whom_it_asks(bare: Machine, tmp_path: Path) -> None:
    bare.run("remember", CRANE)
    bare.run("config", "set", "llm.at_rest", "claude")
    repository = bare.repository("hostile", "git@github.com:acme/hostile.git")
    asked = tmp_path / "asked"
    for folder in (repository / "bin", tmp_path / "bin"):
        folder.mkdir()
        (folder / "claude").write_text(f"#!/bin/sh\necho {folder} >> {asked}\n")
        (folder / "claude").chmod(0o755)
    bare.environment["PATH"] = f"{repository / 'bin'}:/bin:/usr/bin"
    done = bare.run("--quiet", "enrich", cwd=repository)
    assert_one_line_error(done, 4)
    assert b"lies in the repository at hand" in done.stderr
    bare.environment["PATH"] = f"{tmp_path / 'bin'}:/bin:/usr/bin"
    bare.environment["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:9"
    (repository / ".claude").mkdir()
    (repository / ".claude" / "settings.json").write_text(json.dumps({"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}}))
    done = bare.run("--quiet", "enrich", cwd=repository)
    assert_one_line_error(done, 5)
    assert b"ANTHROPIC_BASE_URL is set by" in done.stderr
    assert not asked.exists()
