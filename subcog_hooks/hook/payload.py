"""The fields of a client's payload, as what they should be whatever they are."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PROMPT_EVENT = "UserPromptSubmit"  # the event of a prompt
TOOL_EVENT = "PreToolUse"  # of a tool's call
START_EVENT = "SessionStart"  # of a session's start
MAX_SESSION = 200  # characters of a session id that are kept
TRIAL = "doctor-"  # begins the id of a session in which `subcog doctor` tries the hook; a client's ids are UUIDs


def text_of(payload: Mapping[str, object], name: str, most: int | None = None) -> str:
    """Return a field of the payload, "" when it is no text.

    Half a surrogate pair, as a cut in JavaScript leaves it, becomes `?`.

    most: characters of it that are read.

    >>> text_of({"prompt": "a\\ud83d", "cwd": 3}, "prompt"), text_of({"cwd": 3}, "cwd")
    ('a?', '')
    """
    value = payload.get(name)
    if not isinstance(value, str):
        return ""
    value = value[:most]
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def session_of(payload: Mapping[str, object]) -> str:
    """Return the session's id, "" when the client names none."""
    return text_of(payload, "session_id")[:MAX_SESSION]
