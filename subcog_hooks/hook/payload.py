"""Read the fields of a client's payload, with a fallback for fields of another type."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PROMPT_EVENT = "UserPromptSubmit"
TOOL_EVENT = "PreToolUse"
FAILURE_EVENT = "PostToolUseFailure"
START_EVENT = "SessionStart"
SUBAGENT_EVENT = "SubagentStart"
OF_CLIENT = "subcog_client"  # the field with another client's name
NO_CLIENT = "none"  # in place of that name, for a program of whose session nothing is known
MAX_BYTES = "subcog_bytes"  # the field with the longest text that another client takes, in bytes
START_KIND = "subcog_start"  # the field with the kind of another client's start
# A session begins with its first prompt, it was compacted, it will be compacted and then start anew, or it is resumed: with all
# the texts that it was given, or without those of its tool calls.
FIRST, FORGET, COMPACTING, RESUMED, WITHOUT_CALLS = "first", "forget", "compacting", "resumed", "without calls"
MAX_SESSION = 200  # characters of a session id
TRIAL = "doctor-"  # The session ids of `subcog doctor` begin with it; a client's ids are UUIDs.


def text_of(payload: Mapping[str, object], name: str, max_chars: int | None = None) -> str:
    """Return a field of the payload, at most `max_chars` of it, "" when it is no text.

    Half a surrogate pair, as a cut in JavaScript leaves it, becomes `?`.

    >>> text_of({"prompt": "a\\ud83d", "cwd": 3}, "prompt"), text_of({"cwd": 3}, "cwd")
    ('a?', '')
    """
    value = payload.get(name)
    if not isinstance(value, str):
        return ""
    value = value[:max_chars]
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def input_of(payload: Mapping[str, object]) -> dict[str, object]:
    """Return the input of a tool call, {} where the client names none."""
    tool_input = payload.get("tool_input")
    return tool_input if isinstance(tool_input, dict) else {}


def session_of(payload: Mapping[str, object]) -> str:
    """Return the session's id, "" when the client names none."""
    return text_of(payload, "session_id")[:MAX_SESSION]
