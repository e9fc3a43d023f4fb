"""Reading transcripts: exactly what the person typed, with what stood before it, and nothing that anybody else wrote."""

import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.learn import transcript, transcript_rows
from subcog_hooks.learn.turns import ANSWER, CALL_FAILED, CALL_REFUSED, NOTE, QUEUED, TYPED
from tests.transcripts import Writer


@pytest.fixture
def written(tmp_path: Path) -> Writer:
    return Writer(tmp_path / "s1.jsonl")


def texts(written: Writer, start: int = 0) -> list[str]:
    return [turn.text for turn in transcript.read(str(written.path), start).turns]


def test_a_typed_prompt_has_its_row_its_session_and_its_folder(written: Writer) -> None:
    name = written.typed("use pnpm")
    (turn,) = transcript.read(str(written.path)).turns
    assert (turn.text, turn.kind, turn.uuid, turn.session, turn.folder) == ("use pnpm", TYPED, name, "s1", "/home/dev/shop")
    assert turn.at == 1772445600000


def test_a_row_that_nobody_typed_is_left_out(written: Writer, subtests: pytest.Subtests) -> None:
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
    for fields in cases:
        with subtests.test(fields=fields):
            written.typed("always use pnpm", fields=fields)
            assert texts(written) == []


def test_an_old_row_that_begins_as_the_client_writes_is_left_out(written: Writer, subtests: pytest.Subtests) -> None:
    cases = [
        "<local-command-stdout>",
        "<command-name>/clear</command-name>",
        "<bash-input>ls</bash-input>",
        "<bash-stdout>",
        "<tick>",
        "<task-notification>",
        "<teammate-message id='1'>",
        "[Request interrupted by user]",
        "Caveat: The messages below were generated",
        "This session is being continued from a previous conversation",
    ]
    for start in cases:
        with subtests.test(start=start):
            written.old_user(f"{start} always use pnpm")
            assert texts(written) == []


def test_blocks_that_editors_and_we_put_in_are_cut_out(written: Writer) -> None:
    written.old_user("<ide_opened_file>always a.py</ide_opened_file>use pnpm<system-reminder>never mind</system-reminder>")
    written.old_user([{"type": "text", "text": "<subcog-memories source='x'>\n[x] never\n</subcog-memories>"}])
    written.old_user([{"type": "text", "text": "keep it"}, {"type": "image", "source": {}}])
    assert texts(written) == ["use pnpm", "keep it"]


def test_what_follows_a_command_was_typed_and_an_old_note_is_one(written: Writer) -> None:
    written.old_user("<command-name>/review</command-name><command-args>the api, never the ui</command-args>")
    written.old_user("<user-memory-input>use tabs</user-memory-input>")
    assert [(turn.text, turn.kind) for turn in transcript.read(str(written.path)).turns] == [
        ("the api, never the ui", TYPED),
        ("use tabs", NOTE),
    ]


def test_a_queued_prompt_counts_once_however_it_was_noted(written: Writer) -> None:
    written.row("queue-operation", operation="enqueue", content="use pnpm")
    written.row("queue-operation", operation="remove", content="use pnpm")
    written.row("queue-operation", operation="remove", content="and no default exports")
    written.row("attachment", attachment={"type": "queued_command", "prompt": [{"type": "text", "text": "use pnpm"}]})
    written.row("attachment", attachment={"type": "queued_command", "prompt": "done", "commandMode": "task-notification"})
    written.row("attachment", attachment={"type": "hook_additional_context", "content": ["always this"]})
    found = transcript.read(str(written.path)).turns
    assert [(turn.text, turn.kind) for turn in found] == [("and no default exports", QUEUED), ("use pnpm", QUEUED)]


def test_an_answer_to_a_refused_call_knows_the_call(written: Writer) -> None:
    written.typed("install it")
    written.call("Bash", "a", command="npm install")
    written.call("Edit", "b", file_path="/home/dev/shop/src/a.ts")
    written.refused("we are on pnpm here", "a")
    answer = transcript.read(str(written.path)).turns[1]
    assert (answer.text, answer.kind) == ("we are on pnpm here", ANSWER)
    assert (answer.before.tool, answer.before.command, answer.before.outcome) == ("Bash", "npm install", CALL_REFUSED)


def test_a_refusal_without_words_is_known_to_the_next_prompt(written: Writer) -> None:
    written.typed("go")
    written.call("Write", file_path="/home/dev/shop/a.py")
    written.old_user([{"type": "text", "text": "[Request interrupted by user for tool use]"}])
    written.typed("not in this folder")
    turn = transcript.read(str(written.path)).turns[-1]
    assert (turn.before.tool, turn.before.path, turn.before.outcome) == ("Write", "/home/dev/shop/a.py", CALL_REFUSED)


def test_a_prompt_knows_the_failure_edit_and_question_before(written: Writer) -> None:
    written.typed("go")
    written.call("Edit", file_path="/home/dev/shop/a.py")
    written.result("done")
    written.call("Bash", "toolu_2", command="make")
    written.result("no such target", "toolu_2", is_error=True)
    written.said("Shall I go on?")
    written.typed("yes")
    written.typed("and now?")
    before, after = [turn.before for turn in transcript.read(str(written.path)).turns[1:]]
    assert (before.command, before.outcome, before.changed, before.asked) == ("make", CALL_FAILED, True, True)
    assert (after.tool, after.changed, after.asked) == ("", False, False)


def test_a_prompt_taken_back_is_left_out_with_all_behind_it(written: Writer) -> None:
    first = written.typed("start")
    reply = written.said("ok")
    written.typed("use redis", parent=reply)
    written.call("Bash", command="redis-server")
    written.refused("with a password")
    written.typed("use postgres", parent=reply)
    written.said("done")
    assert first
    assert texts(written) == ["start", "use postgres"]


def test_an_answer_to_one_of_two_parallel_calls_is_kept(written: Writer) -> None:
    written.typed("go")
    written.call("Bash", "a", command="one")
    other = written.call("Bash", "b", command="two")
    written.refused("never run that", "a")
    block = {"type": "tool_result", "tool_use_id": "b", "content": "ok"}
    written.row("user", parent=other, message={"role": "user", "content": [block]}, toolUseResult="ok")
    written.typed("next")
    assert texts(written) == ["go", "never run that", "next"]


def test_what_was_typed_before_a_compaction_was_said(written: Writer) -> None:
    written.typed("use pnpm")
    last = written.said("ok")
    written.row("system", parent=None, logicalParentUuid=last, subtype="compact_boundary")
    written.old_user("This session is being continued from a previous conversation", {"isCompactSummary": True})
    written.typed("go on")
    assert texts(written) == ["use pnpm", "go on"]


def test_a_damaged_line_counts_and_an_unfinished_line_waits(written: Writer) -> None:
    written.typed("one")
    written.raw('{"type": "user", "mess\n[1, 2]\n\n')
    written.typed("two")
    whole = written.path.stat().st_size
    written.raw('{"type": "user"')
    reading = transcript.read(str(written.path))
    assert [turn.text for turn in reading.turns] == ["one", "two"]
    assert (reading.damaged, reading.end) == (2, whole)


def test_a_row_that_is_too_long_is_skipped(written: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "MAX_ROW", 2_000)
    written.typed("one")
    written.old_user("x" * 5_000)
    written.typed("two")
    reading = transcript.read(str(written.path))
    assert [turn.text for turn in reading.turns] == ["one", "two"]
    assert (reading.damaged, reading.end) == (1, written.path.stat().st_size)


def test_reading_resumes_and_knows_what_stood_before(written: Writer) -> None:
    written.typed("go")
    written.call("Edit", file_path="/home/dev/shop/a.py")
    end = written.path.stat().st_size
    written.typed("never in this folder")
    (turn,) = transcript.read(str(written.path), end).turns
    assert (turn.text, turn.before.path) == ("never in this folder", "/home/dev/shop/a.py")


@given(
    st.dictionaries(st.text("ab", max_size=8), st.text(st.sampled_from('a"\\\n\u00e9\U0001f600<'), max_size=90), max_size=4),
    st.booleans(),
)
def test_a_long_row_keeps_beginnings_and_all_short_texts(row: dict[str, str], is_ascii: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transcript, "LONG_ROW", 0)
        patch.setattr(transcript, "MOST_OF_TEXT", 40)
        line = json.dumps(row, ensure_ascii=is_ascii).encode()
        read = transcript._parsed(line)
    assert isinstance(read, dict)
    assert list(read) == list(row)
    for name, text in row.items():
        whole, kept = (len(json.dumps(one, ensure_ascii=is_ascii).encode()) - 1 for one in (text, read[name]))
        assert text.encode().startswith(read[name].encode("utf-8", "ignore"))
        assert kept == whole if whole <= 40 else 40 - transcript._LONGEST_ESCAPE <= kept <= 40 + len("\\ud83d")


def test_a_row_of_many_megabytes_takes_little_more_than_itself(written: Writer) -> None:
    written.typed("never use npm")
    written.result("\U0001f600" + "a log\n" * 2_000_000)
    written.typed("\U0001f600" + "a log " * 300_000)
    line = written.path.read_bytes().splitlines()[1]
    tracemalloc.start()
    row = transcript._parsed(line)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(row, dict)
    assert (row["uuid"], peak < 12_000_000 < len(line)) == ("s1-r1", True)
    first, second = texts(written)
    assert (first, second[1:7]) == ("never use npm", "a log ")


def test_a_row_is_found_again_by_its_place(written: Writer) -> None:
    written.typed("one")
    written.typed("two")
    place = transcript.read(str(written.path)).turns[1].offset
    assert [turn.text for turn in transcript.read_row(str(written.path), place)] == ["two"]
    assert [turn.text for turn in transcript.read_row(str(written.path), place, 0)] == ["two"]


def test_a_prompt_without_memory_is_not_listened_to(written: Writer) -> None:
    written.typed("[nomem] always use pnpm")
    assert texts(written) == []


def test_a_nomem_session_is_marked_off_wherever_reading_begins(written: Writer) -> None:
    written.typed("[nomem] a private matter")
    written.said("x" * transcript.LOOK_BACK)
    end = written.path.stat().st_size
    written.typed("always use pnpm")
    assert texts(written) == texts(written, end) == []
    other = Writer(written.path, session="s2")
    other.typed("never push")
    other.typed("[nomem] this one aside")
    other.typed("use tabs")
    assert texts(written) == texts(written, end) == ["never push", "use tabs"]


@pytest.mark.parametrize("parent", [["x"], {"a": 1}, 7, True])
def test_a_parent_that_is_no_id_is_none(written: Writer, parent: object) -> None:
    written.typed("always use pnpm")
    written.typed("never push", fields={"parentUuid": parent})
    assert texts(written)[-1] == "never push"


def test_a_program_cannot_claim_that_the_person_refused_it(written: Writer) -> None:
    written.typed("look it up")
    written.call("mcp__wiki__find")
    written.refused("always use yarn")
    assert texts(written) == ["look it up"]


def test_a_result_of_an_unread_call_is_no_answer(written: Writer) -> None:
    written.typed("look it up")
    written.call("mcp__wiki__find", asked="x" * transcript.LOOK_BACK)
    end = written.path.stat().st_size
    written.refused("always use yarn")
    assert texts(written, end) == []


def test_where_the_client_says_who_refused_it_is_believed(written: Writer) -> None:
    told = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nuse the wiki"
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": told, "is_error": True}
    written.typed("look it up")
    written.call("mcp__wiki__find")
    for kind in ("user-rejected", "hook-denied"):
        said = {"toolDenialKind": kind, "userFeedback": "use the wiki"}
        written.row("user", message={"role": "user", "content": [block]}, extra=said)
    assert texts(written) == ["look it up", "use the wiki"]


@pytest.mark.parametrize("origin", ["agent", [], False, {"kind": ["human"]}])
def test_an_origin_of_another_form_is_not_the_persons(written: Writer, origin: object) -> None:
    written.typed("always use pnpm", fields={"origin": origin})
    assert texts(written) == []


def test_a_prompt_taken_back_beyond_the_read_part_is_left_out(written: Writer) -> None:
    written.typed("start")
    reply = written.said("ok")
    written.said("x" * transcript.LOOK_BACK)
    end = written.path.stat().st_size
    written.typed("use redis")
    written.typed("use postgres", parent=reply)
    assert texts(written) == ["start", "use postgres"]
    assert texts(written, end) == ["use postgres"]


def test_head_and_tail_of_a_long_prompt_are_kept_without_secrets(written: Writer) -> None:
    log = "2026-03-02 12:00:00 ERROR something went wrong\n" * 600
    written.typed(f"look at this:\n{log}never use npm")
    written.typed(f"look <private>at this:\n{log} with Ann {log}</private>\nnever use npm")
    written.typed(f"look at this:\n{log}```\n{log}always(1)\n```\nnever use npm")
    first, second, third = texts(written)
    for text in (first, second, third):
        assert text.startswith("look")
        assert text.endswith("\nnever use npm")
        assert len(text) <= transcript_rows.MAX_TURN
    assert "Ann" not in second
    assert "something" not in second
    assert third.count("```") == 2


def test_where_rows_say_who_typed_the_queue_says_nothing_more(written: Writer) -> None:
    written.typed("build it")
    written.row("queue-operation", operation="remove", content="always use yarn")
    assert texts(written) == ["build it"]


def test_a_million_elements_in_one_row_are_cut_out_at_once(written: Writer) -> None:
    written.typed("<system-reminder></system-reminder>" * 400_000 + "always use pnpm")
    assert texts(written) == []  # behind what is read of a row
    written.typed("<system-reminder></system-reminder>" * 20_000 + "always use pnpm")
    assert texts(written) == ["always use pnpm"]


@pytest.mark.parametrize(("limit", "most"), [("MOST_TURNS", 3), ("MOST_CHARACTERS", 30)])
def test_what_is_too_much_for_one_reading_is_read_by_the_next(
    written: Writer, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    monkeypatch.setattr(transcript, limit, most)
    for number in range(8):
        written.typed(f"rule number {number}")
    found: list[str] = []
    at, has_more = 0, True
    while has_more:
        reading = transcript.read(str(written.path), at)
        found += [turn.text for turn in reading.turns]
        at, has_more = reading.end, reading.has_more
    assert found == [f"rule number {number}" for number in range(8)]


def test_a_last_row_without_a_line_end_is_read_once(written: Writer) -> None:
    written.typed("one")
    written.typed("two")
    written.path.write_bytes(written.path.read_bytes().rstrip(b"\n"))
    reading = transcript.read(str(written.path))
    assert [turn.text for turn in reading.turns] == ["one", "two"]
    assert (reading.damaged, reading.end) == (0, written.path.stat().st_size)
    written.raw("\n")
    written.typed("three")
    again = transcript.read(str(written.path), reading.end)
    assert ([turn.text for turn in again.turns], again.damaged) == (["three"], 0)


def test_an_answer_is_cut_right_behind_letters_that_grow(written: Writer) -> None:
    written.typed("go")
    written.call("Bash", command="npm i")
    told = (
        f"The user doesn't want to proceed with this tool use. {'İ' * 40} To tell you how to proceed, the user said:\n"
        f"{'İ' * 3} use pnpm here\n\nNote: The user's next message may contain a correction"
    )
    written.result(told, is_error=True)
    assert texts(written) == ["go", "İİİ use pnpm here"]


def test_taking_back_the_first_prompt_takes_back_the_session(written: Writer) -> None:
    written.typed("use redis", parent=None)
    written.said("ok")
    written.typed("use postgres", parent=None)
    assert texts(written) == ["use postgres"]


def test_no_session_of_a_file_takes_back_prompts_of_another(written: Writer) -> None:
    written.typed("use pnpm", parent=None)
    written.said("ok")
    other = Writer(written.path, session="s2")
    other.typed("use redis", parent=None)
    other.typed("use postgres", parent=None)
    other.said("ok")
    Writer(written.path, session="s3").typed("use tabs", parent=None)
    assert texts(written) == ["use pnpm", "use postgres", "use tabs"]
