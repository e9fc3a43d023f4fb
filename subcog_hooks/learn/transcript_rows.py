"""The typed words in a row of a transcript. Most rows of type `user` hold none: results, commands, injections.

New clients say so in the row (`origin`, `promptSource`); for old ones its fields and its beginning decide. Pure.
"""

import re
from collections.abc import Mapping, Sequence

from subcog_hooks.capture.markdown import drop_elements
from subcog_hooks.learn.client_rows import Row, list_blocks
from subcog_hooks.learn.signs import ACCEPTED, ANSWER, NOTE, QUEUED, TYPED
from subcog_hooks.redaction.redact import redact
from subcog_hooks.text.typed_prompt import FENCES, is_from_client

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
        kinds_and_texts = _texts_of_attachment(row)
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
    attachment = row.get("attachment")
    sources = (row, attachment) if isinstance(attachment, Mapping) else (row,)
    return any(name in fields for fields in sources for name in ("origin", "promptSource", "toolDenialKind"))


def is_refused_by_user(row: Row) -> bool:
    """Return whether a row's client notes that the person refused its call."""
    return row.get("toolDenialKind") == "user-rejected"


def is_refusal(row: Row, *, says_who_typed: bool) -> bool:
    """Return whether a row says that the person refused or interrupted a tool call.

    says_who_typed: its session's rows do, so a refusal in a tool's result is the tool's own text unless the row notes it.
    """
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
        return [(ANSWER, text) for text in _read_answers(row, results) if text]
    kind = _declared_kind(row)
    if not kind or "toolUseResult" in row:
        return []
    text_kind, text = _extract_typed(content_text(content), row)
    return [(text_kind if text_kind == NOTE else kind, text)]


def _texts_of_attachment(row: Row) -> list[tuple[str, str]]:
    attachment = row.get("attachment")
    if not isinstance(attachment, Mapping) or attachment.get("type") != "queued_command":
        return []
    if attachment.get("commandMode", "prompt") != "prompt" or attachment.get("isMeta"):
        return []
    if not _declared_kind(row) or not _declared_kind(attachment):
        return []
    return [(QUEUED, _extract_typed(content_text(attachment.get("prompt")), row)[1])]


def _declared_kind(row: Row) -> str:
    origin, source = row.get("origin"), row.get("promptSource")
    if origin is not None and not (isinstance(origin, Mapping) and origin.get("kind") == "human"):
        return ""
    if source is None:
        is_programs = origin is None and str(row.get("entrypoint", "")).startswith(("sdk-py", "sdk-ts"))
        return "" if is_programs else TYPED
    return _SOURCES.get(source, "") if isinstance(source, str) else ""


def _read_answers(row: Row, results: Sequence[Row]) -> list[str]:
    feedback = row.get("userFeedback")
    if is_refused_by_user(row) and isinstance(feedback, str):
        return [feedback.strip()]
    if "toolDenialKind" in row and not is_refused_by_user(row):
        return []
    return [_read_answer(content_text(block.get("content"))) for block in results if block.get("is_error")]


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
    message = row.get("message")
    return message.get("content") if isinstance(message, Mapping) else None


def content_text(content: object) -> str:
    """Return the text of a message's content or of a tool's result: a text, or blocks with texts."""
    if isinstance(content, str):
        return content
    texts = [block.get("text") for block in list_blocks(content) if block.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))
