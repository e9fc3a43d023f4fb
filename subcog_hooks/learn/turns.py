"""A turn that the person typed, and what stood before it in the session."""

from __future__ import annotations

from subcog_hooks.capture.compose import storable

TYPED, QUEUED, ANSWER, NOTE, ACCEPTED = "typed", "queued", "answer", "note", "accepted"  # how a turn came
CALL_FAILED, CALL_REFUSED = "failed", "refused"  # what became of the tool call before it


class Before:
    """All that stood before a turn, since the turn before that.

    tool, path, command: the last tool call and what it was about, "" where there is none; outcome: CALL_FAILED, CALL_REFUSED or
    ""; changed: some call changed a file; asked: the agent's last words were a question.
    """

    __slots__ = ("asked", "changed", "command", "outcome", "path", "tool")

    def __init__(
        self,
        tool: str = "",
        path: str = "",
        command: str = "",
        outcome: str = "",
        *,
        changed: bool = False,
        asked: bool = False,
    ) -> None:
        self.tool = tool
        self.path = path
        self.command = command
        self.outcome = outcome
        self.changed = changed
        self.asked = asked


class TypedTurn:
    """A turn that the person typed.

    kind: how it came; uuid: of its row, "" where rows have none; session: its id; at: milliseconds since the epoch, 0 for
    unknown; folder: where the session ran; place: how many turns stood before it; offset: of its row, bytes from the beginning.
    Half a surrogate pair in a text, a session's id or a folder is U+FFFD.
    """

    __slots__ = ("at", "before", "branch", "folder", "kind", "offset", "place", "session", "text", "uuid")

    def __init__(
        self,
        text: str,
        before: Before,
        *,
        kind: str = TYPED,
        uuid: str = "",
        session: str = "",
        at: int = 0,
        folder: str = "",
        branch: str = "",
        place: int = 0,
        offset: int = 0,
    ) -> None:
        self.text = storable(text)
        self.before = before
        self.kind = kind
        self.uuid = uuid
        self.session = storable(session)
        self.at = at
        self.folder = storable(folder)
        self.branch = branch
        self.place = place
        self.offset = offset

    def with_text(self, text: str) -> TypedTurn:
        """Return a copy with another text."""
        return TypedTurn(
            text,
            self.before,
            kind=self.kind,
            uuid=self.uuid,
            session=self.session,
            at=self.at,
            folder=self.folder,
            branch=self.branch,
            place=self.place,
            offset=self.offset,
        )
