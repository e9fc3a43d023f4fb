"""A typed turn, and the events before it in its session."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace

from subcog_hooks.capture.compose import replace_surrogates

TYPED, QUEUED, ANSWER, NOTE, ACCEPTED = "typed", "queued", "answer", "note", "accepted"  # the kinds of turns
CALL_FAILED, CALL_REFUSED = "failed", "refused"  # outcomes of the tool call before a turn


@dataclass(slots=True)
class Before:
    """The events between a turn and the turn before.

    tool, path, command: the last tool call and its arguments, "" for none; outcome: CALL_FAILED, CALL_REFUSED or ""; changed: a
    call changed a file; asked: the agent's last words were a question.
    """

    tool: str = ""
    path: str = ""
    command: str = ""
    outcome: str = ""
    changed: bool = field(default=False, kw_only=True)
    asked: bool = field(default=False, kw_only=True)


@dataclass(slots=True)
class TypedTurn:
    """A turn that the person typed.

    kind: how it was entered; uuid: of its row, "" if rows have none; session: its id; at_ms: milliseconds since the epoch, 0
    for unknown; folder: the session's; position: the number of turns before it; offset: of its row, bytes from the beginning.
    Lone surrogates in text, session and folder become U+FFFD.
    """

    text: str
    before: Before
    _: KW_ONLY
    kind: str = TYPED
    uuid: str = ""
    session: str = ""
    at_ms: int = 0
    folder: str = ""
    branch: str = ""
    position: int = 0
    offset: int = 0

    def __post_init__(self) -> None:
        self.text = replace_surrogates(self.text)
        self.session = replace_surrogates(self.session)
        self.folder = replace_surrogates(self.folder)

    def with_text(self, text: str) -> TypedTurn:
        return replace(self, text=text)
