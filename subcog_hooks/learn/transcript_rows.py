"""The words in a row of a transcript that the person typed. Most rows of type `user` hold none: results, commands, injections.

A row says so itself where its client was new enough (`origin`, `promptSource`); else its fields and its beginning tell. Pure.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from subcog_hooks.learn.turns import ACCEPTED, ANSWER, NOTE, QUEUED, TYPED
from subcog_hooks.redaction.redact import redact
from subcog_hooks.text.typed import FENCES

Row = Mapping[str, object]

MAX_TURN = 20_000  # characters of a turn that are kept: what is longer was pasted, and head and tail of it tell
NO_MEMORY = "[nomem]"  # the person wants a prompt to have nothing to do with memories, or the session that it begins

_SOURCES = {"typed": TYPED, "queued": QUEUED, "suggestion_accepted": ACCEPTED}  # by `promptSource`
_NOT_THE_PERSON = (
    *("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "teamName", "agentId"),
    "planContent",  # an agent's plan, which the client hands on in the person's name
)
_INJECTED = (  # begins what the client writes in the person's name
    *("<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>"),
    *("<bash-input>", "<bash-stdout>", "<bash-stderr>"),
    *("<session-start-hook>", "<user-prompt-submit-hook>", "<tick>", "<goal>", "<task-notification", "<teammate-message"),
    *("[request interrupted by user", "caveat: ", "this session is being continued from a previous conversation"),
)
_COMMAND = ("<command-name>", "<command-message>")
_CUT_OUT = (  # elements that editors, the client and we put into a prompt
    *("system-reminder", "ide_opened_file", "ide_selection", "ide_diagnostics", "subcog-memories", "new-diagnostics"),
    "local-command-caveat",
)
_BY_THE_PERSON = "user-rejected"  # of the reasons for which newer clients say that a call did not run
_OF_PROGRAMS = ("sdk-py", "sdk-ts")  # the entry points of programs that drive the client
_MAX_READ = 1_000_000  # characters of a text in which elements are looked for
_INTERRUPTED = "[request interrupted by user"
_REFUSED = ("the user doesn't want to proceed with this tool use", "the user doesn't want to take this action")
_LONGEST_BEGINNING = 200  # characters in which that stands
# searched for in the text as it is: in small letters some of it is longer ("\u0130" becomes two)
_SAID = re.compile("the user said:", re.IGNORECASE | re.ASCII)
_ADDED_BEHIND = re.compile("\n\nnote: the user's next message", re.IGNORECASE | re.ASCII)  # what the client adds there


def words_in(row: Row) -> list[tuple[str, str]]:
    """Return the texts that the person typed in a row, each behind how it came. Never fails.

    >>> words_in({"type": "user", "message": {"role": "user", "content": "use pnpm"}, "promptSource": "typed"})
    [('typed', 'use pnpm')]
    >>> words_in({"type": "user", "message": {"role": "user", "content": "<tick>"}})
    []
    """
    return [(kind, _kept_of(text)) for kind, text in _typed_in(row) if NO_MEMORY not in text]


def marks_off(row: Row) -> bool | None:
    """Return whether what the person typed in a row wants nothing to do with memories; None where nothing was typed."""
    typed = _typed_in(row)
    return any(NO_MEMORY in text for _, text in typed) if typed else None


def _typed_in(row: Row) -> list[tuple[str, str]]:
    if any(row.get(name) for name in _NOT_THE_PERSON):
        return []
    if row.get("type") == "user":
        found = _words_of_user(row)
    elif row.get("type") == "attachment":
        found = _words_of_attachment(row)
    elif row.get("type") == "queue-operation" and row.get("operation") == "remove":  # how old clients noted what was queued
        found = [(QUEUED, _typed_part(text_of(row.get("content")))[1])]
    else:
        found = []
    return [(kind, text) for kind, text in found if text]


def _kept_of(text: str) -> str:
    """Return a text, or head and tail of a long one: without secrets, since half of one would look like none.

    >>> log = "it failed\\n" * 4_000
    >>> kept = _kept_of(f"look at this:\\n{log}never use npm")
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
    is_open = sum(line.lstrip().startswith(FENCES) for line in dropped.splitlines()) % 2  # code stays code
    return f"{head}\n{FENCES[0]}\n{tail}" if is_open else f"{head}\n{tail}"


def says_who_typed(row: Row) -> bool:
    """Return whether a row is of a client that notes who typed what."""
    attachment = row.get("attachment")
    told = (row, attachment) if isinstance(attachment, Mapping) else (row,)
    return any(name in fields for fields in told for name in ("origin", "promptSource"))


def says_who_refused(row: Row) -> bool:
    """Return whether a row is of a client that notes why a call did not run, and it was the person's doing."""
    return row.get("toolDenialKind") == _BY_THE_PERSON


def is_refusal(row: Row) -> bool:
    """Return whether a row says that the person refused or interrupted a tool call."""
    if row.get("type") != "user":
        return False
    content = _content_of(row)
    if isinstance(content, str):
        return content.lower().startswith(_INTERRUPTED)
    return any(
        text_of(block.get("content") if block.get("type") == "tool_result" else block.get("text"))
        .lower()
        .startswith((_INTERRUPTED, *_REFUSED))
        for block in _blocks(content)
    )


def _words_of_user(row: Row) -> list[tuple[str, str]]:
    content = _content_of(row)
    results = [block for block in _blocks(content) if block.get("type") == "tool_result"]
    if results:
        return [(ANSWER, text) for text in _answers_in(row, results) if text]
    kind = _kind_told(row)
    if not kind or "toolUseResult" in row:
        return []
    how, text = _typed_part(text_of(content))
    return [(how if how == NOTE else kind, text)]


def _words_of_attachment(row: Row) -> list[tuple[str, str]]:
    attachment = row.get("attachment")
    if not isinstance(attachment, Mapping) or attachment.get("type") != "queued_command":
        return []
    if attachment.get("commandMode", "prompt") != "prompt" or attachment.get("isMeta"):
        return []
    if not _kind_told(row) or not _kind_told(attachment):
        return []
    return [(QUEUED, _typed_part(text_of(attachment.get("prompt")))[1])]


def _kind_told(row: Row) -> str:
    """Return how a row came by what it says itself, "" where that was not by the person."""
    origin, source = row.get("origin"), row.get("promptSource")
    if origin is not None and not (isinstance(origin, Mapping) and origin.get("kind") == "human"):
        return ""
    if source is None:
        is_programs = origin is None and str(row.get("entrypoint", "")).startswith(_OF_PROGRAMS)
        return "" if is_programs else TYPED
    return _SOURCES.get(source, "") if isinstance(source, str) else ""


def _answers_in(row: Row, results: Sequence[Row]) -> list[str]:
    """Return what the person said to the tool calls of a row's results, "" for nothing."""
    feedback = row.get("userFeedback")
    if says_who_refused(row) and isinstance(feedback, str):
        return [feedback.strip()]
    if "toolDenialKind" in row and not says_who_refused(row):
        return []
    return [_answer_in(text_of(block.get("content"))) for block in results if block.get("is_error")]


def _answer_in(result: str) -> str:
    """Return what the person said to a tool call instead of letting it run, "" for nothing.

    >>> _answer_in("The user doesn't want to proceed with this tool use. … the user said:\\nuse pnpm here")
    'use pnpm here'
    """
    if not result.lstrip()[:_LONGEST_BEGINNING].lower().startswith(_REFUSED):
        return ""
    said = _SAID.search(result)
    return _ADDED_BEHIND.split(result[said.end() :], maxsplit=1)[0].strip() if said else ""


def _typed_part(text: str) -> tuple[str, str]:
    """Return how a text came where it says so itself, and what of it was typed; "" for nothing."""
    start = text.lstrip()[:60].lower()
    if start.startswith(_INJECTED):
        return "", ""
    if start.startswith(_COMMAND):
        return "", _inside(text, "command-args").strip()
    if start.startswith("<user-memory-input>"):
        return NOTE, _inside(text, "user-memory-input").strip()
    if len(text) > _MAX_READ:
        head = text[:_MAX_READ]
        text = head.rpartition("<")[0] or head  # no half of an element is taken for words
    for name in _CUT_OUT:
        text = _without(text, name)
    return "", text.strip()


def _without(text: str, name: str) -> str:
    """Return a text without all elements of a name; what is not closed goes to the end."""
    begin, close = f"<{name}", f"</{name}>"
    kept, at = [], 0
    while (start := text.find(begin, at)) >= 0:
        kept.append(text[at:start])
        end = text.find(close, start)
        if end < 0:
            return "".join(kept)
        at = end + len(close)
    kept.append(text[at:])
    return "".join(kept)


def _inside(text: str, name: str) -> str:
    behind = text.partition(f"<{name}>")[2]
    return behind.partition(f"</{name}>")[0]


def _content_of(row: Row) -> object:
    message = row.get("message")
    return message.get("content") if isinstance(message, Mapping) else None


def _blocks(content: object) -> Iterator[Row]:
    if isinstance(content, Sequence) and not isinstance(content, str):
        for block in content:
            if isinstance(block, Mapping):
                yield block


def text_of(content: object) -> str:
    """Return the text of a message's content, or of a tool's result: a text, or blocks of it."""
    if isinstance(content, str):
        return content
    texts = [block.get("text") for block in _blocks(content) if block.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))
