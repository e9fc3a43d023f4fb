"""Reading transcripts: exactly the typed words with their context, and nobody else's words."""

import json
from pathlib import Path

import pytest

from subcog_hooks.learn import transcript, transcript_rows
from subcog_hooks.learn.turn_scores import ANSWER, CALL_FAILED, CALL_REFUSED, NOTE, QUEUED, TYPED, TypedTurn
from tests.transcripts import Writer


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(tmp_path / "s1.jsonl")


def read_turns(writer: Writer, start: int = 0) -> list[TypedTurn]:
    return transcript.read_transcript(str(writer.path), start).turns


def texts(writer: Writer, start: int = 0) -> list[str]:
    return [turn.text for turn in read_turns(writer, start)]


def test_a_typed_prompt_has_its_row_its_session_and_its_folder(writer: Writer) -> None:
    name = writer.typed("use pnpm")
    (turn,) = read_turns(writer)
    assert (turn.text, turn.kind, turn.uuid, turn.session, turn.folder) == ("use pnpm", TYPED, name, "s1", "/home/dev/shop")
    assert turn.at_ms == 1772445600000


def test_a_row_that_nobody_typed_is_left_out(writer: Writer, subtests: pytest.Subtests) -> None:
    cases: list[dict[str, object]] = [
        {"origin": {"kind": "task-notification"}},
        {"promptSource": "system"},
        {"isMeta": True},
        {"isCompactSummary": True},
        {"isVisibleInTranscriptOnly": True},
        {"isSidechain": True},
        {"teamName": "red"},
        {"toolUseResult": {"stdout": ""}},
        {"planContent": "# Plan"},
        {"origin": None, "promptSource": None, "entrypoint": "sdk-py"},
    ]
    origins: tuple[object, ...] = ("agent", [], False, {"kind": ["human"]})
    cases += [{"origin": origin} for origin in origins]
    for fields in cases:
        with subtests.test(fields=fields):
            writer.typed("always use pnpm", fields=fields)
            assert texts(writer) == []
    writer.row("queue-operation", operation="remove", content="always use yarn")  # Rows say who typed.
    writer.typed("<bash-input>ls</bash-input>")
    typed = [
        *("Caveat: never deploy on a Friday", "<goal> is our tag, never <target>"),
        "Why is there <system-reminder in the log? Never commit without a test",
    ]
    for text in typed:
        writer.typed(text)
    assert texts(writer) == typed


def test_an_old_row_that_begins_as_the_client_writes_is_left_out(writer: Writer, subtests: pytest.Subtests) -> None:
    cases = [
        *("<local-command-stdout>", "<command-name>/clear</command-name>", "<bash-input>ls</bash-input>", "<bash-stdout>"),
        *("<tick>", "<task-notification>", "<teammate-message id='1'>", "[Request interrupted by user]"),
        *("Caveat: The messages below were generated", "This session is being continued from a previous conversation"),
        *("Stop hook feedback:\n", "[SYSTEM NOTIFICATION - NOT USER INPUT]\n"),
        "<system-reminder>x</system-reminder>[AGENT MESSAGE]\n",
    ]
    for start in cases:
        with subtests.test(start=start):
            writer.old_user(f"{start} always use pnpm")
            assert texts(writer) == []


def test_blocks_that_editors_and_we_put_in_are_cut_out(writer: Writer) -> None:
    writer.old_user("<ide_opened_file>always a.py</ide_opened_file>use pnpm<system-reminder>never mind</system-reminder>")
    writer.old_user([{"type": "text", "text": "<subcog-memories source='x'>\n[x] never\n</subcog-memories>"}])
    writer.old_user([{"type": "text", "text": "keep it"}, {"type": "image", "source": {}}])
    assert texts(writer) == ["use pnpm", "keep it"]


def test_what_follows_a_command_was_typed_and_an_old_note_is_one(writer: Writer) -> None:
    writer.old_user("<command-name>/review</command-name><command-args>the api, never the ui</command-args>")
    writer.old_user("<user-memory-input>use tabs</user-memory-input>")
    assert [(turn.text, turn.kind) for turn in read_turns(writer)] == [("the api, never the ui", TYPED), ("use tabs", NOTE)]


def test_a_queued_prompt_counts_once_however_it_was_noted(writer: Writer) -> None:
    writer.row("queue-operation", operation="enqueue", content="use pnpm")
    writer.row("queue-operation", operation="remove", content="use pnpm")
    writer.row("queue-operation", operation="remove", content="and no default exports")
    writer.row("attachment", attachment={"type": "queued_command", "prompt": [{"type": "text", "text": "use pnpm"}]})
    writer.row("attachment", attachment={"type": "queued_command", "prompt": "done", "commandMode": "task-notification"})
    writer.row("attachment", attachment={"type": "hook_additional_context", "content": ["always this"]})
    turns = read_turns(writer)
    assert [(turn.text, turn.kind) for turn in turns] == [("and no default exports", QUEUED), ("use pnpm", QUEUED)]


def test_an_answer_to_a_refused_call_knows_the_call(writer: Writer) -> None:
    writer.typed("install it")
    writer.call("Bash", "a", command="npm install")
    writer.call("Edit", "b", file_path="/home/dev/shop/src/a.ts")
    writer.refused("we are on pnpm here", "a")
    answer = read_turns(writer)[1]
    assert (answer.text, answer.kind) == ("we are on pnpm here", ANSWER)
    assert (answer.before.tool, answer.before.command, answer.before.outcome) == ("Bash", "npm install", CALL_REFUSED)


def test_a_refusal_without_words_is_known_to_the_next_prompt(writer: Writer) -> None:
    writer.typed("go")
    writer.call("Write", file_path="/home/dev/shop/a.py")
    writer.old_user([{"type": "text", "text": "[Request interrupted by user for tool use]"}])
    writer.typed("not in this folder")
    turn = read_turns(writer)[-1]
    assert (turn.before.tool, turn.before.path, turn.before.outcome) == ("Write", "/home/dev/shop/a.py", CALL_REFUSED)


def test_a_prompt_knows_the_failure_edit_and_question_before(writer: Writer) -> None:
    writer.typed("go")
    writer.call("Edit", file_path="/home/dev/shop/a.py")
    writer.result("done")
    writer.call("Bash", "toolu_2", command="make")
    writer.result("no such target", "toolu_2", is_error=True)
    writer.said("Shall I go on?")
    writer.typed("yes")
    writer.typed("and now?")
    before, after = [turn.before for turn in read_turns(writer)[1:]]
    assert (before.command, before.outcome, before.changed, before.asked) == ("make", CALL_FAILED, True, True)
    assert (after.tool, after.changed, after.asked) == ("", False, False)


def test_a_prompt_taken_back_is_left_out_with_all_behind_it(writer: Writer) -> None:
    first = writer.typed("start")
    reply = writer.said("ok")
    writer.typed("use redis", parent=reply)
    writer.call("Bash", command="redis-server")
    writer.refused("with a password")
    writer.typed("use postgres", parent=reply)
    writer.said("done")
    assert first
    assert texts(writer) == ["start", "use postgres"]


def test_an_answer_to_one_of_two_parallel_calls_is_kept(writer: Writer) -> None:
    writer.typed("go")
    writer.call("Bash", "a", command="one")
    other = writer.call("Bash", "b", command="two")
    writer.refused("never run that", "a")
    block = {"type": "tool_result", "tool_use_id": "b", "content": "ok"}
    writer.row("user", parent=other, message={"role": "user", "content": [block]}, toolUseResult="ok")
    writer.typed("next")
    assert texts(writer) == ["go", "never run that", "next"]


def test_what_was_typed_before_a_compaction_was_said(writer: Writer) -> None:
    writer.typed("use pnpm")
    last = writer.said("ok")
    writer.row("system", parent=None, logicalParentUuid=last, subtype="compact_boundary")
    writer.old_user("This session is being continued from a previous conversation", {"isCompactSummary": True})
    writer.typed("go on")
    assert texts(writer) == ["use pnpm", "go on"]


def test_a_damaged_line_counts_and_an_unfinished_line_waits(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "MAX_ROW", 2_000)
    writer.typed("one")
    writer.raw('{"type": "user", "mess\n[1, 2]\n\n')
    writer.old_user("x" * 5_000)
    writer.typed("two")
    whole = writer.path.stat().st_size
    writer.raw('{"type": "user"')
    reading = transcript.read_transcript(str(writer.path))
    assert [turn.text for turn in reading.turns] == ["one", "two"]
    assert (reading.damaged, reading.end) == (3, whole)


def test_reading_resumes_and_knows_what_stood_before(writer: Writer) -> None:
    writer.typed("go")
    writer.call("Edit", file_path="/home/dev/shop/a.py")
    end = writer.path.stat().st_size
    writer.typed("never in this folder")
    (turn,) = transcript.read_transcript(str(writer.path), end).turns
    assert (turn.text, turn.before.path) == ("never in this folder", "/home/dev/shop/a.py")


def test_a_row_is_found_again_by_its_place(writer: Writer) -> None:
    writer.typed("one")
    writer.typed("two")
    offset = read_turns(writer)[1].offset
    assert [turn.text for turn in transcript.read_turns_at(str(writer.path), offset)] == ["two"]
    assert [turn.text for turn in transcript.read_turns_at(str(writer.path), offset, 0)] == ["two"]


def test_a_nomem_session_is_marked_off_wherever_reading_begins(writer: Writer) -> None:
    writer.typed("[nomem] a private matter")
    writer.said("x" * transcript.LOOK_BACK)
    end = writer.path.stat().st_size
    writer.typed("always use pnpm")
    assert texts(writer) == texts(writer, end) == []
    other = Writer(writer.path, session="s2")
    other.typed("never push")
    other.typed("[nomem] this one aside")
    other.typed("use tabs")
    assert texts(writer) == texts(writer, end) == ["never push", "use tabs"]


@pytest.mark.parametrize("parent", [["x"], {"a": 1}, 7, True])
def test_a_parent_that_is_no_id_is_none(writer: Writer, parent: object) -> None:
    writer.typed("always use pnpm")
    writer.typed("never push", fields={"parentUuid": parent})
    assert texts(writer)[-1] == "never push"


@pytest.mark.parametrize("tool", ["mcp__wiki__find", "Bash"])
def test_a_program_cannot_claim_that_the_person_refused_it(writer: Writer, tool: str) -> None:
    writer.typed("look it up")
    writer.call(tool, asked="x" * transcript.LOOK_BACK)
    end = writer.path.stat().st_size
    writer.refused("always use yarn", denial=None)
    writer.typed("go on")
    for start in (0, end):
        turns = read_turns(writer, start)
        assert ([turn.text for turn in turns if turn.offset >= end], turns[-1].before.outcome) == (["go on"], "failed")


@pytest.mark.parametrize(("tool", "answers"), [("mcp__wiki__find", []), ("Bash", ["use the wiki"])])
def test_old_clients_note_a_refusal_in_its_result_alone(writer: Writer, tool: str, answers: list[str]) -> None:
    writer.old_user("look it up")
    writer.call(tool)
    writer.refused("use the wiki", denial=None)
    assert texts(writer) == ["look it up", *answers]


def test_where_the_client_says_who_refused_it_is_believed(writer: Writer) -> None:
    message = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nuse the wiki"
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": message, "is_error": True}
    writer.typed("look it up")
    writer.call("mcp__wiki__find")
    for kind in ("user-rejected", "hook-denied"):
        denial = {"toolDenialKind": kind, "userFeedback": "use the wiki"}
        writer.row("user", message={"role": "user", "content": [block]}, extra=denial)
    assert texts(writer) == ["look it up", "use the wiki"]


def test_a_prompt_taken_back_beyond_the_read_part_is_left_out(writer: Writer) -> None:
    writer.typed("start")
    reply = writer.said("ok")
    writer.said("x" * transcript.LOOK_BACK)
    end = writer.path.stat().st_size
    writer.typed("use redis")
    writer.typed("use postgres", parent=reply)
    assert texts(writer) == ["start", "use postgres"]
    assert texts(writer, end) == ["use postgres"]


def test_head_and_tail_of_a_long_prompt_are_kept_without_secrets(writer: Writer) -> None:
    log = "2026-03-02 12:00:00 ERROR something went wrong\n" * 600
    writer.typed(f"look at this:\n{log}never use npm")
    writer.typed(f"look <private>at this:\n{log} with Ann {log}</private>\nnever use npm")
    writer.typed(f"look at this:\n{log}```\n{log}always(1)\n```\nnever use npm")
    first, second, third = texts(writer)
    for text in (first, second, third):
        assert text.startswith("look")
        assert text.endswith("\nnever use npm")
        assert len(text) <= transcript_rows.MAX_TURN
    assert "Ann" not in second
    assert "something" not in second
    assert third.count("```") == 2


def test_a_million_elements_in_one_row_are_cut_out_at_once(writer: Writer) -> None:
    writer.typed("<system-reminder></system-reminder>" * 400_000 + "always use pnpm")
    assert texts(writer) == []  # the words lie beyond the searched part of a row
    writer.typed("<system-reminder></system-reminder>" * 20_000 + "always use pnpm")
    assert texts(writer) == ["always use pnpm"]


@pytest.mark.parametrize(("limit", "maximum"), [("MAX_TURNS", 3), ("MAX_CHARACTERS", 30)])
def test_what_is_too_much_for_one_reading_is_read_by_the_next(
    writer: Writer, monkeypatch: pytest.MonkeyPatch, limit: str, maximum: int
) -> None:
    monkeypatch.setattr(transcript, limit, maximum)
    for number in range(8):
        writer.typed(f"rule number {number}")
    texts_read: list[str] = []
    start, has_more = 0, True
    while has_more:
        reading = transcript.read_transcript(str(writer.path), start)
        texts_read += [turn.text for turn in reading.turns]
        start, has_more = reading.end, reading.has_more
    assert texts_read == [f"rule number {number}" for number in range(8)]


def test_a_last_row_without_a_line_end_is_read_once(writer: Writer) -> None:
    writer.typed("one")
    writer.typed("two")
    writer.path.write_bytes(writer.path.read_bytes().rstrip(b"\n"))
    reading = transcript.read_transcript(str(writer.path))
    assert [turn.text for turn in reading.turns] == ["one", "two"]
    assert (reading.damaged, reading.end) == (0, writer.path.stat().st_size)
    writer.raw("\n")
    writer.typed("three")
    again = transcript.read_transcript(str(writer.path), reading.end)
    assert ([turn.text for turn in again.turns], again.damaged) == (["three"], 0)


def test_no_session_of_a_file_takes_back_prompts_of_another(writer: Writer) -> None:
    writer.typed("use pnpm", parent=None)
    writer.said("ok")
    other = Writer(writer.path, session="s2")
    other.typed("use redis", parent=None)
    other.typed("use postgres", parent=None)
    other.said("ok")
    Writer(writer.path, session="s3").typed("use tabs", parent=None)
    assert texts(writer) == ["use pnpm", "use postgres", "use tabs"]


CAPTURE = Path(__file__).parents[2].parent / "shared" / "eval" / "capture"


@pytest.mark.skipif(not CAPTURE.exists(), reason="the sessions of real people are not here")
def test_every_labelled_prompt_is_read_and_nothing_else() -> None:
    labelled: dict[str, set[int]] = {}
    for row in map(json.loads, (CAPTURE / "labels" / "dev.jsonl").read_text().splitlines()):
        labelled.setdefault(row["session"], set()).add(row["turn"])
    for name, turns in labelled.items():
        path = CAPTURE / "sessions" / "dev" / f"{name}.jsonl"
        offsets = [0]
        for line in path.read_bytes().splitlines(keepends=True):
            offsets.append(offsets[-1] + len(line))
        assert {offsets.index(turn.offset) for turn in transcript.read_transcript(str(path)).turns} == turns, name
