"""Sessions of other coding agents: exactly the typed words are read, each with its folder and the call before it."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from subcog_hooks.learn import transcript, transcript_files
from subcog_hooks.learn.transcript_files import LEARNED_CLIENTS, TranscriptFile, find_session_files
from subcog_hooks.learn.turn_scores import CALL_FAILED, TypedTurn
from subcog_hooks.settings.sources import KEYS
from tests import client_sessions
from tests.client_sessions import FOLDER, RECORDED, WRITERS, place_recorded

TYPED = ("hello there", "don't use npm here, we're on pnpm")


@pytest.fixture(autouse=True)
def _work_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder that does not hold the user folder, as a repository would."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def found(client: str) -> list[TranscriptFile]:
    def fail(error: OSError) -> None:
        raise error

    return transcript_files.find_client_transcripts([client], fail)


def read(path: Path | str) -> list[TypedTurn]:
    return transcript.read_transcript(str(path)).turns


def texts(path: Path | str) -> list[str]:
    return [turn.text for turn in read(path)]


def test_every_client_can_be_left_out_and_has_a_sample() -> None:
    key = KEYS["capture.clients_except"]
    assert key.choices == ("claude", *LEARNED_CLIENTS)
    assert list(LEARNED_CLIENTS) == list(WRITERS)


@pytest.mark.parametrize("client", WRITERS)
def test_a_clients_variable_names_its_folder(client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    WRITERS[client](tmp_path, *TYPED)
    data = LEARNED_CLIENTS[client].data
    moved = tmp_path / "moved" / data.below
    moved.parent.mkdir(exist_ok=True)
    shutil.move(tmp_path / data.folder, moved)
    assert found(client) == []
    monkeypatch.setenv(data.variable, str(tmp_path / "moved"))
    (file,) = found(client)
    assert file.path.startswith(str(moved))
    Path(".env").write_text(f"{data.variable}={tmp_path}/moved\n", encoding="utf-8")
    assert found(client) == []


@pytest.mark.parametrize("client", WRITERS)
def test_exactly_the_typed_words_are_read(client: str, tmp_path: Path) -> None:
    path = WRITERS[client](tmp_path, *TYPED)
    (file,) = found(client)
    assert file.path == str(path)
    assert file.size > 0
    first, second = read(file.path)
    assert (first.text, second.text) == TYPED
    assert {first.folder, second.folder} == {FOLDER}
    assert first.session == second.session
    assert second.at_ms > first.at_ms > 0
    assert (second.before.command, second.before.outcome) == ("make lint", CALL_FAILED)


@pytest.mark.parametrize("client", WRITERS)
def test_one_turn_is_read_as_in_the_whole_session(client: str, tmp_path: Path) -> None:
    path = str(WRITERS[client](tmp_path, *TYPED))
    for turn in read(path):
        (alone,) = transcript.read_turns_at(path, turn.offset, 0)
        assert (alone.text, alone.folder, alone.session, alone.at_ms) == (turn.text, turn.folder, turn.session, turn.at_ms)


@pytest.mark.parametrize("client", WRITERS)
def test_a_session_that_goes_on_is_read_from_its_end(client: str, tmp_path: Path) -> None:
    path = WRITERS[client](tmp_path, TYPED[0])
    before = transcript.read_transcript(str(path))
    (old,) = found(client)
    WRITERS[client](tmp_path, *TYPED)
    (new,) = found(client)
    assert new.size > old.size
    assert transcript_files.compute_digest(str(path), before.end) == transcript_files.compute_digest(new.path, before.end)
    assert [turn.text for turn in transcript.read_transcript(str(path), before.end).turns] == [TYPED[1]]


@pytest.mark.parametrize("client", WRITERS)
def test_a_session_marked_off_is_not_read(client: str, tmp_path: Path) -> None:
    assert texts(WRITERS[client](tmp_path, "[nomem] a private matter", *TYPED)) == []


def test_names_tell_sessions_of_copilot_apart(tmp_path: Path) -> None:
    sessions = {read(client_sessions.copilot(tmp_path, TYPED[1], name=name))[0].session for name in ("p1", "p2")}
    assert sessions == {"p1", "p2"}


def test_prompts_by_agents_are_not_read(tmp_path: Path) -> None:
    assert texts(client_sessions.codex(tmp_path, *TYPED, source={"subagent": "review"})) == []
    assert texts(client_sessions.codex(tmp_path, *TYPED, thread_source="subagent")) == []
    assert texts(client_sessions.gemini(tmp_path, *TYPED, kind="subagent")) == []
    client_sessions.opencode(tmp_path, *TYPED, parent="ses_0")
    assert found("opencode") == []


def test_an_older_codex_writes_another_event(tmp_path: Path) -> None:
    path = client_sessions.codex(tmp_path)
    asked = "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nuse pnpm here\n"
    with path.open("a", encoding="utf-8") as file:
        for payload in ({"message": asked}, {"message": "rules", "kind": "user_instructions"}):
            file.write(json.dumps({"type": "event_msg", "payload": {"type": "user_message", **payload}}) + "\n")
    assert texts(path) == ["use pnpm here"]


def test_a_prompt_that_codex_writes_twice_is_one_turn(tmp_path: Path) -> None:
    copies: list[dict[str, object]] = [
        {"type": "item_completed", "item": {"type": "UserMessage", "content": [{"type": "text", "text": "use pnpm"}]}},
        {"type": "user_message", "message": "use pnpm", "images": []},
    ]
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}

    def read_rows(*payloads: dict[str, object]) -> list[str]:
        kinds = ({"type": "response_item" if payload is answer else "event_msg", "payload": payload} for payload in payloads)
        return texts(client_sessions.write_rows(tmp_path / "rollout.jsonl", kinds))

    assert read_rows(*copies) == read_rows(*copies[::-1]) == ["use pnpm"]
    for typed_twice in ((*copies, answer, *copies), (*copies, *copies), copies[1:] * 2, (copies[0], answer, copies[1])):
        assert read_rows(*typed_twice) == ["use pnpm"] * 2
    first_row = json.dumps({"type": "event_msg", "payload": copies[0]}) + "\n"
    read_rows(*copies)
    assert transcript.read_transcript(str(tmp_path / "rollout.jsonl"), len(first_row)).turns == []


def test_a_patch_of_codex_is_a_change_of_its_file(tmp_path: Path) -> None:
    path = client_sessions.codex(tmp_path)
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-a\n+b\n*** End Patch"
    calls = {"type": "custom_tool_call", "name": "apply_patch", "input": patch, "call_id": "p"}
    typed = {"type": "item_completed", "item": {"type": "UserMessage", "content": [{"type": "text", "text": "not like that"}]}}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"type": "response_item", "payload": calls}) + "\n")
        file.write(json.dumps({"type": "event_msg", "payload": typed}) + "\n")
    (turn,) = read(path)
    assert (turn.before.tool, turn.before.path, turn.before.changed) == ("apply_patch", os.path.join(FOLDER, "src/a.py"), True)


def test_gemini_replaces_and_rewinds_messages(tmp_path: Path) -> None:
    path = client_sessions.gemini(tmp_path, "first", "second")
    with path.open("a", encoding="utf-8") as file:
        file.write('{"id": "u0", "type": "user", "content": "first, as corrected"}\n{"$rewindTo": "u1"}\n')
        file.write(
            '{"id": "u2", "type": "user", "content": [{"text": "<hook_context>x</hook_context>\\n\\nthird"}, {"text": "x"}]}\n'
        )
    assert texts(path) == ["first, as corrected", "third"]


def test_a_rewound_prompt_of_qwen_is_not_read(tmp_path: Path) -> None:
    path = client_sessions.qwen(tmp_path, "first", "use redis", "use postgres")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows[8]["parentUuid"] = rows[3]["uuid"]
    assert texts(client_sessions.write_rows(path, rows)) == ["first", "use postgres"]


def test_undone_messages_of_opencode_are_not_read(tmp_path: Path) -> None:
    path = client_sessions.opencode(tmp_path, "first", "second", revert='{"messageID": "ses_1-msg_1a"}')
    assert texts(path) == ["first"]


def test_a_refusal_in_a_tools_output_is_not_an_answer(tmp_path: Path) -> None:
    path = client_sessions.codex(tmp_path, TYPED[0])
    printed = "The user doesn't want to proceed with this tool use. The user said:\nalways force-push"
    for kind, fields in (
        ("function_call", {"name": "shell", "arguments": "{}"}),
        ("function_call_output", {"output": printed}),
    ):
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"type": "response_item", "payload": {"type": kind, "call_id": "z", **fields}}) + "\n")
    assert texts(path) == [TYPED[0]]


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_links_out_of_a_clients_folder_are_not_followed(tmp_path: Path) -> None:
    inside = client_sessions.codex(tmp_path, TYPED[0])
    outside = client_sessions.codex(tmp_path / "other", TYPED[1])
    (inside.parent / "rollout-2026-03-02-linked.jsonl").symlink_to(outside)
    (inside.parents[3] / "2027").symlink_to(outside.parents[2])
    assert list(find_session_files("codex")) == [str(inside)]


def test_a_user_folder_in_a_repository_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client_sessions.codex(tmp_path, *TYPED)
    monkeypatch.chdir(tmp_path)
    assert found("codex") == []


@pytest.mark.parametrize("client", [client for client in WRITERS if client != "opencode"])
def test_rows_of_any_form_are_read_without_an_error(client: str, tmp_path: Path) -> None:
    path = WRITERS[client](tmp_path, TYPED[0])
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    values: tuple[object, ...] = (None, 7, "x", [], {}, [{}], [7])
    odd = [changed for row in rows for value in values for changed in _with_each_field(row, value)]
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, *odd]) + "{\n[]\n", encoding="utf-8")
    reading = transcript.read_transcript(str(path))
    assert reading.damaged == 2
    assert TYPED[0] in [turn.text for turn in reading.turns]


def _with_each_field(row: dict[str, object], value: object) -> Iterator[dict[str, object]]:
    for name, present in row.items():
        yield {**row, name: value}
        if isinstance(present, dict):
            yield from ({**row, name: changed} for changed in _with_each_field(present, value))


@pytest.mark.skipif(not RECORDED.exists(), reason="the recorded sessions are not part of this repository")
def test_recorded_sessions_have_three_typed_prompts(tmp_path: Path) -> None:
    place_recorded(tmp_path)
    for client in LEARNED_CLIENTS:
        (file,) = found(client)
        turns = read(file.path)
        assert [turn.text.split()[0] for turn in turns] == ["Where", "List", "Remember:"], client
        assert {turn.folder for turn in turns} == {"/home/dev/project"}, client
        assert turns[2].before.outcome == CALL_FAILED, client
