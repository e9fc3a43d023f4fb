"""Rows of other clients' sessions as rows of Claude Code's transcripts, so that one reader and one detector serve all.

Only typed text becomes a typed prompt: the clients' contexts, the texts of hooks and the prompts of agents do not.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping

from subcog_hooks.capture.markdown import drop_elements
from subcog_hooks.learn.turn_scores import ACCEPTED, ANSWER, NOTE, QUEUED, TYPED
from subcog_hooks.redaction.redact import redact
from subcog_hooks.text.typed_prompt import FENCES, is_from_client

Row = Mapping[str, object]

AGENT_SESSION = "agentSession"  # marks a row whose whole session has prompts by agents
MESSAGE_ID, REWOUND_TO = "messageId", "rewoundTo"  # A message replaces another with its id; a rewind drops it and all later.
TYPED_AS = "typedAs"  # The kind of a typed prompt's row: some versions of Codex write each prompt as two kinds.
_COMMANDS, _PATHS = ("command", "cmd"), ("file_path", "filePath", "path", "absolute_path")
_EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit Code:|<exited with exit code) ([1-9]\d{0,2})\b", re.MULTILINE)
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_IDE_REQUEST = "## My request for Codex:"  # editors put their context before it
_CONTEXTS = ("hook_context", "session_context")  # elements of Gemini CLI, also at the beginning of a prompt
_LOCATED = ("uuid", "parentUuid", "sessionId", "timestamp", "cwd")


def read_client_row(row: Row) -> Iterator[Row]:
    """Yield a row of any client as rows of Claude Code's transcripts. Never fails.

    >>> [typed["message"] for typed in read_client_row({"type": "user.message", "data": {"content": "use pnpm"}})]
    [{'role': 'user', 'content': 'use pnpm'}]
    >>> list(read_client_row({"type": "progress", "data": {}}))
    [{'type': 'progress', 'data': {}}]
    """
    return next((read(row) for wrote, read in READERS.values() if wrote(row)), iter((row,)))


def writer_of(row: Row) -> str:
    """Return the name of the client that wrote a row, "" for Claude Code and unknown ones."""
    return next((name for name, (wrote, _) in READERS.items() if wrote(row)), "")


def typed_row(text: str, located: Row) -> Row:
    """Return the row of a typed prompt. located: fields for the row's time, folder and position."""
    author = {"origin": {"kind": "human"}, "promptSource": "typed"}
    return {**located, "type": "user", **author, "message": {"role": "user", "content": text}}


def answer_rows(text: str, located: Row) -> Iterator[Row]:
    """Yield the row of an agent's words, none without words."""
    if text.strip():
        yield {**located, "type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}


def call_row(identifier: object, name: object, arguments: object, located: Row) -> Row:
    """Return the row of a tool call, with the names of tools and arguments that Claude Code uses."""
    tool = "create_file" if name == "create" else _text(name)  # our reader knows by this name that it changes a file
    given = arguments if isinstance(arguments, Mapping) else {}
    command = next((given[field] for field in _COMMANDS if field in given), "")
    words = [word for word in command if isinstance(word, str)] if isinstance(command, list) else [_text(command)]
    path = next((value for field in _PATHS if (value := text_field(given, field))), "")
    patched = _PATCHED.search(arguments) if isinstance(arguments, str) else None
    fields = {"command": words[-1] if words else "", "file_path": patched[1] if patched else path}
    block = {"type": "tool_use", "id": _text(identifier), "name": tool, "input": fields}
    return {**located, "type": "assistant", "message": {"content": [block]}}


def result_row(identifier: object, text: str, located: Row, *, is_error: bool) -> Row:
    """Return the row of a tool's result, which never holds the person's answer: its text is the tool's."""
    has_failed = is_error or _EXIT_CODE.search(text) is not None
    block = {"type": "tool_result", "tool_use_id": _text(identifier), "content": text, "is_error": has_failed}
    return {**located, "type": "user", "toolDenialKind": "", "message": {"content": [block]}}


def _read_codex(row: Row) -> Iterator[Row]:
    payload, located = object_field(row, "payload"), {"timestamp": row.get("timestamp")}
    kind = payload.get("type") if row.get("type") in ("event_msg", "response_item") else row.get("type")
    if kind == "session_meta":
        source, thread = payload.get("source"), payload.get("thread_source") or "user"
        is_agents = isinstance(source, Mapping) or source == "mcp" or thread != "user"
        yield {**located, "type": "system", "cwd": payload.get("cwd"), AGENT_SESSION: is_agents}
    elif kind == "turn_context":
        yield {**located, "type": "system", "cwd": payload.get("cwd")}
    elif kind == "item_completed" and object_field(payload, "item").get("type") == "UserMessage":
        yield typed_row(_without_ide_context(_joined_texts(object_field(payload, "item"))), {**located, TYPED_AS: kind})
    elif kind == "user_message" and payload.get("kind") in (None, "plain"):  # older versions
        yield typed_row(_without_ide_context(text_field(payload, "message")), {**located, TYPED_AS: kind})
    elif kind == "message" and payload.get("role") == "assistant":
        yield from answer_rows(_joined_texts(payload), located)
    elif kind in ("function_call", "custom_tool_call"):
        arguments = payload.get("arguments", payload.get("input"))
        yield call_row(payload.get("call_id"), payload.get("name"), _parsed_arguments(arguments), located)
    elif kind in ("function_call_output", "custom_tool_call_output"):
        text = text_field(payload, "output")
        yield result_row(payload.get("call_id"), text, located, is_error=text.startswith("Command blocked by"))


def _without_ide_context(text: str) -> str:
    return (text.partition(_IDE_REQUEST)[2] or text).strip()


def _parsed_arguments(arguments: object) -> object:
    try:
        return json.loads(arguments) if isinstance(arguments, str) and arguments.startswith("{") else arguments
    except (ValueError, RecursionError):
        return {}


def _read_gemini(row: Row) -> Iterator[Row]:
    located = {"timestamp": row.get("timestamp"), MESSAGE_ID: row.get("id")}
    if "projectHash" in row:
        yield {"type": "system", AGENT_SESSION: row.get("kind", "main") != "main"}
    elif "$rewindTo" in row:
        yield {"type": "system", REWOUND_TO: row["$rewindTo"]}
    elif row.get("type") == "user":
        content = row.get("displayContent", row.get("content"))
        parts = [{"text": content}] if isinstance(content, str) else list(list_blocks(content))
        is_result = any("functionResponse" in part for part in parts)
        texts = (_without_context(text_field(part, "text")) for part in parts if not is_result)
        yield typed_row(next(filter(None, texts), ""), located)
    elif row.get("type") == "gemini":
        yield from answer_rows(text_field(row, "content"), located)
        for call in list_blocks(row.get("toolCalls")):
            yield call_row(call.get("id"), call.get("name"), call.get("args"), located)
            responses = (
                object_field(object_field(result, "functionResponse"), "response") for result in list_blocks(call.get("result"))
            )
            printed = "\n".join(_text(response.get("error", response.get("output"))) for response in responses)
            yield result_row(call.get("id"), printed, located, is_error=call.get("status") == "error")


def _without_context(text: str) -> str:
    """Return a text without the contexts at its beginning.

    >>> _without_context("<hook_context>x</hook_context> use pnpm"), _without_context("<session_context>x")
    ('use pnpm', '')
    """
    text = text.strip()
    while name := next((name for name in _CONTEXTS if text.startswith(f"<{name}>")), ""):
        text = text.partition(f"</{name}>")[2].strip()
    return text


def _read_qwen(row: Row) -> Iterator[Row]:
    located = {name: row[name] for name in _LOCATED if name in row}
    parts = list(list_blocks(object_field(row, "message").get("parts")))
    yield {**located, "type": "system"}  # it is a node of the tree, also without words
    if row.get("type") == "user" and row.get("provenance") == "real_user":
        shown = text_field(object_field(row, "systemPayload"), "displayText")
        yield typed_row(shown or next((text_field(part, "text") for part in parts), ""), located)
    elif row.get("type") == "assistant":
        yield from answer_rows(
            "\n".join(_text(part["text"]) for part in parts if "text" in part and not part.get("thought")), located
        )
        for call in (object_field(part, "functionCall") for part in parts if "functionCall" in part):
            yield call_row(call.get("id"), call.get("name"), call.get("args"), located)
    elif row.get("type") == "tool_result":
        is_error = object_field(row, "toolCallResult").get("status") == "error"
        for result in (object_field(part, "functionResponse") for part in parts):
            response = object_field(result, "response")
            printed = _text(response.get("error", response.get("output")))
            yield result_row(result.get("id"), printed, located, is_error=is_error)


def _read_copilot(row: Row) -> Iterator[Row]:
    data, located = object_field(row, "data"), {"timestamp": row.get("timestamp")}
    kind = text_field(row, "type")
    if row.get("agentId"):  # an event of a subagent
        return
    if kind in ("session.start", "session.resume"):
        yield {**located, "type": "system", "cwd": object_field(data, "context").get("cwd")}
    elif kind == "user.message" and data.get("source", "user") in ("", "user", None):
        yield typed_row(text_field(data, "content"), located)
    elif kind == "assistant.message":
        yield from answer_rows(text_field(data, "content"), located)
        for call in list_blocks(data.get("toolRequests")):
            yield call_row(call.get("toolCallId"), call.get("name"), call.get("arguments"), located)
    elif kind == "tool.execution_complete":
        is_error = data.get("success") is False
        printed = object_field(data, "error").get("message") if is_error else object_field(data, "result").get("content")
        yield result_row(data.get("toolCallId"), _text(printed), located, is_error=is_error)


_COPILOT_EVENTS = ("session.", "user.", "assistant.", "tool.", "hook.", "system.", "subagent.", "skill.", "permission.")
READERS: dict[str, tuple[Callable[[Row], bool], Callable[[Row], Iterator[Row]]]] = {  # whether a client wrote a row; its reader
    "codex": (lambda row: isinstance(row.get("payload"), Mapping) and "message" not in row, _read_codex),
    "copilot": (lambda row: "data" in row and text_field(row, "type").startswith(_COPILOT_EVENTS), _read_copilot),
    "qwen": (lambda row: "provenance" in row or "parts" in object_field(row, "message"), _read_qwen),
    "gemini": (
        lambda row: (
            not {"projectHash", "$rewindTo", "$set"}.isdisjoint(row)
            or (row.get("type") in ("user", "gemini") and "message" not in row)
        ),
        _read_gemini,
    ),
}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def text_field(fields: Row, name: str) -> str:
    """Return a text of an object, "" for none."""
    return _text(fields.get(name))


def object_field(fields: Row, name: str) -> Row:
    """Return an object in an object, an empty one for none."""
    value = fields.get(name)
    return value if isinstance(value, Mapping) else {}


def list_blocks(value: object) -> Iterator[Row]:
    """Yield the objects of a list, such as the blocks of a message's content; none for a text."""
    return (entry for entry in value if isinstance(entry, Mapping)) if isinstance(value, list) else iter(())


def _joined_texts(fields: Row) -> str:
    return "\n".join(text for part in list_blocks(fields.get("content")) if (text := text_field(part, "text")))


MAX_TURN = 20_000  # characters of a turn; a longer one was pasted, and its head and tail suffice
NO_MEMORY = "[nomem]"  # the person excludes a prompt, or the session that it begins, from memory

_SOURCES = {"typed": TYPED, "queued": QUEUED, "suggestion_accepted": ACCEPTED}  # by `promptSource`
_OTHER_AUTHOR_FIELDS = (
    *("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "teamName", "agentId"),
    "planContent",  # an agent's plan, which the client passes on in the person's name
)
_INSERTED_ELEMENTS = (  # elements that editors, the client and we put into a prompt
    *("system-reminder", "ide_opened_file", "ide_selection", "ide_diagnostics", "subcog-memories", "new-diagnostics"),
)
_MAX_SEARCHED = 1_000_000  # characters of a text that are searched for elements
_INTERRUPTED = "[request interrupted by user"
_REFUSAL_PREFIXES = ("the user doesn't want to proceed with this tool use", "the user doesn't want to take this action")
_MAX_REFUSAL_START = 200  # characters; a refusal begins within them
# the text is not lowered, since some letters become longer ("\u0130" becomes two)
_USER_SAID = re.compile("the user said:", re.IGNORECASE | re.ASCII)
# the client's addition behind the person's words
_CLIENT_NOTE = re.compile("\n\nnote: the user's next message", re.IGNORECASE | re.ASCII)


def typed_texts(row: Row) -> list[tuple[str, str]]:
    """Return the texts that the person typed in a row, each behind its kind. Never fails.

    >>> typed_texts({"type": "user", "message": {"role": "user", "content": "use pnpm"}, "promptSource": "typed"})
    [('typed', 'use pnpm')]
    >>> typed_texts({"type": "user", "message": {"role": "user", "content": "<tick>"}})
    []
    """
    return [(kind, _truncate_turn(text)) for kind, text in _find_typed(row) if NO_MEMORY not in text]


def is_marked_off(row: Row) -> bool | None:
    """Return whether a row's typed text excludes it from memory; None if nothing was typed."""
    typed = _find_typed(row)
    return any(NO_MEMORY in text for _, text in typed) if typed else None


def _find_typed(row: Row) -> list[tuple[str, str]]:
    if any(row.get(name) for name in _OTHER_AUTHOR_FIELDS):
        return []
    if row.get("type") == "user":
        kinds_and_texts = _texts_of_user(row)
    elif row.get("type") == "attachment":
        attachment = object_field(row, "attachment")
        is_prompt = attachment.get("type") == "queued_command" and attachment.get("commandMode", "prompt") == "prompt"
        is_typed = is_prompt and not attachment.get("isMeta") and _declared_kind(row) and _declared_kind(attachment)
        kinds_and_texts = [(QUEUED, _extract_typed(content_text(attachment.get("prompt")), row)[1])] if is_typed else []
    elif row.get("type") == "queue-operation" and row.get("operation") == "remove":  # old clients' note of a queued prompt
        kinds_and_texts = [(QUEUED, _extract_typed(content_text(row.get("content")), row)[1])]
    else:
        kinds_and_texts = []
    return [(kind, text) for kind, text in kinds_and_texts if text]


def _truncate_turn(text: str) -> str:
    """Return a text, or head and tail of a long text. Secrets are redacted first, since half a secret may not look like one.

    >>> log = "it failed\\n" * 4_000
    >>> kept = _truncate_turn(f"look at this:\\n{log}never use npm")
    >>> len(kept) <= MAX_TURN, kept[:13], kept[-13:]
    (True, 'look at this:', 'never use npm')
    """
    if len(text) <= MAX_TURN:
        return text
    text = redact(text).text
    if len(text) <= MAX_TURN:
        return text
    half = MAX_TURN // 2 - len(FENCES[0]) - 2
    head, tail = text[:half].rpartition("\n")[0] or text[:half], text[-half:].partition("\n")[2]
    dropped = text[len(head) : len(text) - len(tail)]
    is_open = sum(line.lstrip().startswith(FENCES) for line in dropped.splitlines()) % 2  # keep an open code block open
    return f"{head}\n{FENCES[0]}\n{tail}" if is_open else f"{head}\n{tail}"


def notes_author(row: Row) -> bool:
    """Return whether a row's client notes the author of each prompt."""
    sources = (row, object_field(row, "attachment"))
    return any(name in fields for fields in sources for name in ("origin", "promptSource", "toolDenialKind"))


def is_refused_by_user(row: Row) -> bool:
    """Return whether a row's client notes that the person refused its call."""
    return row.get("toolDenialKind") == "user-rejected"


def is_refusal(row: Row, *, says_who_typed: bool) -> bool:
    """Return whether the person refused or interrupted a call; a result may only print so where rows note who typed."""
    if row.get("type") != "user":
        return False
    content = content_of(row)
    if isinstance(content, str):
        return content.lower().startswith(_INTERRUPTED)
    if is_refused_by_user(row):
        return True
    for block in list_blocks(content):
        is_result = block.get("type") == "tool_result"
        text = content_text(block.get("content") if is_result else block.get("text"))
        if text.lower().startswith((_INTERRUPTED, *_REFUSAL_PREFIXES)) and not (is_result and says_who_typed):
            return True
    return False


def _texts_of_user(row: Row) -> list[tuple[str, str]]:
    content = content_of(row)
    results = [block for block in list_blocks(content) if block.get("type") == "tool_result"]
    if results:
        feedback, is_refused = row.get("userFeedback"), is_refused_by_user(row)
        if is_refused and isinstance(feedback, str):
            answers = [feedback.strip()]
        elif "toolDenialKind" in row and not is_refused:
            answers = []
        else:
            answers = [_read_answer(content_text(block.get("content"))) for block in results if block.get("is_error")]
        return [(ANSWER, text) for text in answers if text]
    kind = _declared_kind(row)
    if not kind or "toolUseResult" in row:
        return []
    text_kind, text = _extract_typed(content_text(content), row)
    return [(text_kind if text_kind == NOTE else kind, text)]


def _declared_kind(row: Row) -> str:
    origin, source = row.get("origin"), row.get("promptSource")
    if origin is not None and not (isinstance(origin, Mapping) and origin.get("kind") == "human"):
        return ""
    if source is None:
        is_programs = origin is None and str(row.get("entrypoint", "")).startswith(("sdk-py", "sdk-ts"))
        return "" if is_programs else TYPED
    return _SOURCES.get(source, "") if isinstance(source, str) else ""


def _read_answer(result: str) -> str:
    """Return the person's answer in the result of a refused tool call, "" for none.

    >>> _read_answer("The user doesn't want to proceed with this tool use. … the user said:\\nuse pnpm here")
    'use pnpm here'
    """
    if not result.lstrip()[:_MAX_REFUSAL_START].lower().startswith(_REFUSAL_PREFIXES):
        return ""
    match = _USER_SAID.search(result)
    return _CLIENT_NOTE.split(result[match.end() :], maxsplit=1)[0].strip() if match else ""


def _extract_typed(text: str, row: Row) -> tuple[str, str]:
    """Return the kind that a text names itself, and its typed part; "" for none. row: it may note that the person typed it."""
    start = text.lstrip()[:60].lower()
    if start.startswith(("<command-name>", "<command-message>")):
        return "", _element_text(text, "command-args").strip()
    if start.startswith("<user-memory-input>"):
        return NOTE, _element_text(text, "user-memory-input").strip()
    is_short = len(text) <= MAX_TURN  # A longer text may have been cut inside of an element.
    if len(text) > _MAX_SEARCHED:
        head = text[:_MAX_SEARCHED]
        text = head.rpartition("<")[0] or head  # half an element is not taken for words
    for name in _INSERTED_ELEMENTS:
        text = drop_elements(text, f"<{name}", f"</{name}>", keeps_unclosed=is_short)
    is_typed_tag = notes_author(row) and text.lstrip().startswith("<") and "</" not in text
    return "", "" if is_from_client(text) and not is_typed_tag else text.strip()


def _element_text(text: str, name: str) -> str:
    behind = text.partition(f"<{name}>")[2]
    return behind.partition(f"</{name}>")[0]


def content_of(row: Row) -> object:
    """Return the content of a row's message, None without one."""
    return object_field(row, "message").get("content")


def content_text(content: object) -> str:
    """Return the text of a message's content or of a tool's result: a text, or blocks with texts."""
    if isinstance(content, str):
        return content
    return "\n".join(text_field(block, "text") for block in list_blocks(content) if block.get("type") == "text")
