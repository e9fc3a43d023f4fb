"""Payloads of other clients, and the outputs that reach their models."""

import json
import re

import pytest

from subcog_hooks.clients.description import list_clients
from subcog_hooks.hook.payload import COMPACTING, FIRST, FORGET, RESUMED, START_KIND, WITHOUT_CALLS
from subcog_hooks.hook.translation import Translator, find_translator

BLOCK = '<subcog-memories source="the user\'s own notes">\n[learnings 2026-03-02 a1] Rope < chain.\n</subcog-memories>'
EVENTS = {  # a client's events: prompt, a tool's call, compaction
    "codex": ("UserPromptSubmit", "PreToolUse", "SessionStart"),
    "gemini": ("BeforeAgent", "AfterTool", "PreCompress"),
    "qwen": ("UserPromptSubmit", "PostToolUse", "SessionStart"),
    "opencode": ("chat.message", "tool.execute.after", "session.compacted"),
    "copilot": ("UserPromptSubmit", "PreToolUse", "PreCompact"),
    "cursor": ("beforeSubmitPrompt", "postToolUse", "preCompact"),
    "droid": ("UserPromptSubmit", "PostToolUse", "SessionStart"),
}
EDITS: dict[str, tuple[str, dict[str, str]]] = {  # how each client edits a file
    "codex": ("apply_patch", {"command": "*** Begin Patch\n*** Update File: a b.py\n@@\n-old\n+new\n*** End Patch\n"}),
    "gemini": ("replace", {"file_path": "a b.py", "old_string": "old", "new_string": "new", "instruction": "Rename it."}),
    "qwen": ("edit", {"file_path": "a b.py", "old_string": "old", "new_string": "new"}),
    "opencode": ("edit", {"filePath": "a b.py", "oldString": "old", "newString": "new"}),
    "copilot": ("Edit", {"path": "a b.py", "old_str": "old", "new_str": "new"}),
    "cursor": ("Edit", {"file_path": "a b.py", "old_string": "old", "new_string": "new"}),
    "droid": ("Edit", {"file_path": "a b.py", "old_str": "old", "new_str": "new"}),
}


def client_of(name: str) -> Translator:
    client = find_translator(["hook", "--client", name])
    assert client is not None
    return client


def read(name: str, event: str, **fields: object) -> list[dict[str, object]]:
    return client_of(name).read({"hook_event_name": event, "session_id": "s", "cwd": "/srv/quay", **fields})


def test_each_client_has_a_contract() -> None:
    assert {client.name for client in list_clients() if client.contract} == set(EVENTS)
    assert [client_of(name).name for name in EVENTS] == list(EVENTS)
    assert find_translator(["hook"]) is None


@pytest.mark.parametrize("words", [["hook", "--client"], ["hook", "--client", "os"], ["hook", "--client", "zed"]])
def test_a_client_without_hooks_is_refused(words: list[str]) -> None:
    with pytest.raises(ValueError, match="has hooks"):
        find_translator(words)


@pytest.mark.parametrize("name", EVENTS)
def test_a_prompt_is_read_without_our_own_blocks(name: str) -> None:
    escaped = re.sub(r"<(/?subcog-memories[^<>]*)>", r"[\1]", BLOCK)
    texts = (
        *(f"<hook_context>{BLOCK}</hook_context>\n\nWhich rope?", f"{BLOCK}\nWhich rope?", f"{escaped}\nWhich rope?"),
        "Which rope?",
    )
    for text in texts:
        *_, payload = read(name, EVENTS[name][0], prompt=text)
        assert (payload["hook_event_name"], payload["prompt"]) == ("UserPromptSubmit", "Which rope?")
        assert payload["session_id"] == f"{name}:s"


def test_blocks_without_an_end_are_read_in_linear_time() -> None:
    prompt = "<hook_context><subcog-memories " * 20_000 + "</hook_context>"  # It would take hours in quadratic time.
    assert read("gemini", EVENTS["gemini"][0], prompt=prompt) == []


@pytest.mark.parametrize("name", EVENTS)
def test_a_prompt_of_nothing_is_none(name: str) -> None:
    assert read(name, EVENTS[name][0], prompt="") == read(name, EVENTS[name][0], prompt=BLOCK) == []


@pytest.mark.parametrize("name", EVENTS)
def test_an_edit_is_read_in_each_clients_own_way(name: str) -> None:
    tool, tool_input = EDITS[name]
    [payload] = read(name, EVENTS[name][1], tool_name=tool, tool_input=tool_input)
    assert (payload["hook_event_name"], payload["tool_name"]) == ("PreToolUse", "Edit")
    edit = payload["tool_input"]
    assert isinstance(edit, dict)
    assert {field: edit[field] for field in ("file_path", "old_string", "new_string")} == {
        "file_path": "a b.py",
        "old_string": "old",
        "new_string": "new",
    }


def test_a_patch_of_many_files_is_read_for_the_first_three() -> None:
    files = "".join(f"*** Add File: {number}.py\n+line {number}\n" for number in range(9))
    payloads = read("codex", "PreToolUse", tool_name="apply_patch", tool_input={"command": f"*** Begin Patch\n{files}"})
    inputs = [payload["tool_input"] for payload in payloads]
    assert inputs == [{"file_path": f"{n}.py", "old_string": "", "new_string": f"line {n}"} for n in range(3)]


@pytest.mark.parametrize("name", ["gemini", "copilot", "opencode", "cursor"])
def test_a_session_begins_with_its_first_prompt_where_it_must(name: str) -> None:
    prompt_event, _, compaction = EVENTS[name]
    assert [payload.get(START_KIND) for payload in read(name, prompt_event, prompt="Which rope?")] == [FIRST, None]
    assert [payload[START_KIND] for payload in read(name, compaction, trigger="manual")] == [
        COMPACTING if name == "gemini" else FORGET
    ]


def test_gemini_alone_announces_each_request_as_a_compaction() -> None:
    assert read("gemini", "PreCompress", trigger="auto") == []
    for name, event in (("copilot", "PreCompact"), ("cursor", "preCompact")):
        assert [payload[START_KIND] for payload in read(name, event, trigger="auto")] == [FORGET]


def test_a_prompt_that_gemini_drops_on_resume_forgets_the_given() -> None:
    payloads = read("gemini", "BeforeAgent", prompt="<hook_context>Mind the gap.</hook_context>\n\nWhich rope?")
    assert [payload.get(START_KIND) for payload in payloads] == [FORGET, FIRST, None]


def test_a_start_without_a_source_may_be_a_resumed_session() -> None:
    assert [payload[START_KIND] for payload in read("cursor", "sessionStart")] == [RESUMED]
    assert START_KIND not in read("codex", "SessionStart", source="startup")[0]


def test_a_resumed_copilot_has_lost_the_texts_of_its_calls_alone() -> None:
    assert [payload[START_KIND] for payload in read("copilot", "SessionStart", source="resume")] == [WITHOUT_CALLS]
    assert read("copilot", "SessionStart", source="new") == []


def test_unknown_events_and_failed_tools_bring_nothing() -> None:
    assert [read(name, "Notification") for name in EVENTS] == [[]] * len(EVENTS)
    failed = {"tool_name": "read_file", "tool_input": {"file_path": "a"}, "tool_response": {"error": {"message": "not there"}}}
    assert read("gemini", "AfterTool", **failed) == []


@pytest.mark.parametrize("name", EVENTS)
def test_a_text_reaches_the_model_as_the_client_reads_it(name: str) -> None:
    event = EVENTS[name][0]
    output = client_of(name).write(event, BLOCK)
    assert (output.isascii(), output.count(b"\n")) == (True, 1)
    answer = json.loads(output)
    tops = {"copilot": "additionalContext", "cursor": "additional_context"}
    context = answer[tops[name]] if name in tops else answer["hookSpecificOutput"]["additionalContext"]
    begin = "[" if name in ("gemini", "qwen") else "<"
    assert re.findall(r"[<\[]/?subcog-memories", context) == [f"{begin}subcog-memories", f"{begin}/subcog-memories"]
    assert "Rope < chain." in context


def test_a_text_that_would_be_cut_is_refused() -> None:
    with pytest.raises(OSError, match="codex cuts a text of more than 10000 bytes"):
        client_of("codex").write("UserPromptSubmit", "ж" * 5_001)
