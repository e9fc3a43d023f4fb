"""Commands that failed and worked in another form, in two sessions of a project at least: memories that wait.

One session may have had a bad day. Until a second one shows it, what was shown is kept as a hash, with the session's id; where
the form that failed works in a session after that, it is let go of.
"""

from __future__ import annotations

import re

from subcog_hooks.capture.jsonl import Row
from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.cues import triggers
from subcog_hooks.learn import turn_scores
from subcog_hooks.learn.repetition import LEAST_SESSIONS
from subcog_hooks.learn.shell_commands import forms_of, read_command
from subcog_hooks.store import learned
from subcog_hooks.store.memory import PENDING, SECTION_PREFIX, SESSION_SOURCE, Memory, hash_content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from subcog_hooks.learn.shell_commands import Fix
    from subcog_hooks.learn.transcript_files import Places
    from subcog_hooks.store.state import State

TOOL_TRUST = "tool"  # of what no person and no model has said
NAMESPACE = "learnings"
_FORM_KEY = 8  # letters of a key that tell the form that fails
BY_COMMANDS = "commands"  # whose word a line of `learn --jsonl` has
Seen = dict[str, int]  # when each session has shown it, milliseconds since the epoch


class FixProposal:
    """A command that fails in a project, and how it works. path: of the transcript that has shown it now; owner: the project's
    identity; seen: the sessions that have shown it."""

    __slots__ = ("fix", "owner", "path", "removed", "seen")
    kind = turn_scores.COMMAND

    def __init__(self, fix: Fix, path: str, owner: str) -> None:
        self.fix = fix
        self.path = path
        self.owner = owner
        self.removed: tuple[tuple[str, int], ...] = ()  # one with a secret is none
        self.seen: Seen = {}

    @property
    def text(self) -> str:
        return f"`{self.fix.change.failed}` fails here; `{self.fix.change.worked}` works."

    @property
    def id(self) -> str:
        """The id of its memory, which follows from the project and the two forms."""
        return SECTION_PREFIX + self._pair

    @property
    def key(self) -> str:
        return f"{_key_of_form(self.owner, self.fix.change.failed)}{self._pair}"

    @property
    def _pair(self) -> str:
        return hash_content(f"{SESSION_SOURCE}{self.owner}\0{self.fix.change.failed}\0{self.fix.change.worked}")[:12]

    @property
    def source(self) -> str:
        return f"{SESSION_SOURCE}{self.path}:{self.fix.uuid or self.fix.offset}"

    @property
    def folder(self) -> str:
        return self.fix.folder

    @property
    def since(self) -> int:
        return min((at for at in self.seen.values() if at), default=0)

    @property
    def is_repeated(self) -> bool:
        """Return whether so many sessions have shown it that it is proposed."""
        return len(self.seen) >= LEAST_SESSIONS

    def see(self, before: Mapping[str, int]) -> None:
        """Count this session among those before it. A copy of a session, which has the row at the same time, is none."""
        self.seen = {**before}
        if not self.fix.at or self.fix.at not in before.values():
            self.seen.setdefault(self.fix.session, self.fix.at)

    def row(self, root: str | None, now: int) -> Row:  # noqa: ARG002 - as other proposals need it
        """Return it as a row of an import, which comes beside a call of the form that fails. now: where it has no time."""
        at = self.fix.at or now
        memory = Memory(
            id=self.id,
            content=self.text,
            namespace=NAMESPACE,
            scope="project",
            project=self.owner,
            triggers=trigger_for(self.fix.change.failed),
            status=PENDING,
            source=self.source,
            trust=TOOL_TRUST,
            created_at=at,
            updated_at=at,
        )
        return Row(memory, has_id=True, is_section=True)

    def line(self) -> dict[str, object]:
        """Return it as a line of `learn --jsonl`; nobody has measured how sure it is."""
        return {
            "session": self.fix.session,
            "uuid": self.fix.uuid,
            "role": "tool",
            "memory": self.text,
            "kind": self.kind,
            "scope": "project",
            "score": None,
            "evidence": " ".join(sorted(self.seen)),  # the sessions that have shown it
            "by": BY_COMMANDS,
        }


def trigger_for(form: str) -> tuple[str, ...]:
    """Return a trigger for commands that begin so, none where it does not hold.

    >>> trigger_for("npm test"), trigger_for("python")
    (('(^|[;&|] *)npm +test\\\\b',), ('(^|[;&|] *)python\\\\b',))
    """
    words = " +".join(map(re.escape, form.split()))
    trigger = f"(^|[;&|] *){words}" + ("\\b" if form[-1:].isalnum() else "")
    try:
        triggers.check(trigger)
    except InvalidMemory:
        return ()
    return (trigger,)


def hold_together(
    found: Sequence[Fix], path: str, places: Places, state: State | None, seen: dict[str, Seen]
) -> list[FixProposal]:
    """Return what a transcript has shown, each with the sessions that have shown it. Raises StoreError.

    seen: which have in this run, by the keys; it knows of this one then. What worked in a folder of the project counts only
    where it had failed at the project's root.
    """
    shown: dict[str, FixProposal] = {}
    for fix in found:
        owner = places.owner_of(fix.folder)
        is_elsewhere = fix.change.is_in_folder and fix.folder != places.root_of(fix.folder)
        if owner is None or is_elsewhere or places.is_left_out(fix.folder, owner):
            continue
        one = FixProposal(fix, path, owner)
        if one.key not in seen:
            seen[one.key] = learned.find_fix_sessions(state, one.key) if state else {}
        one.see(seen[one.key])
        seen[one.key] = one.seen
        shown[one.key] = one
    return list(shown.values())


def hold_against(worked: Mapping[str, str], places: Places, state: State | None, seen: dict[str, Seen]) -> list[str]:
    """Take from what was shown before what a session has shown to work as it was. Return the keys of that. Raises StoreError.

    worked: commands, each with its folder; at a project's root they count. seen: as of `hold_together`; it knows of that then.
    """
    if not worked or not (seen or (state and learned.has_fixes(state))):
        return []
    forms: set[str] = set()
    for text, folder in worked.items():
        owner = places.owner_of(folder)
        command = read_command(text, folder) if places.root_of(folder) in (folder, None) else None
        if owner and command:
            forms.update(_key_of_form(owner, form) for form in forms_of(command))
    known = {*seen, *(learned.find_fix_keys(state) if state else ())}
    refuted = [key for key in known if key[:_FORM_KEY] in forms]
    seen.update({key: {} for key in refuted})
    return refuted


def _key_of_form(owner: str, form: str) -> str:
    return hash_content(f"{SESSION_SOURCE}{owner}\0{form}")[:_FORM_KEY]


def note_shown(state: State, shown: Sequence[FixProposal], refuted: Sequence[str]) -> None:
    """Note what a session has shown and refuted, and of what is proposed how many sessions have shown it. Raises StoreError."""
    for key in refuted:
        learned.forget_fix(state, key)
    for one in shown:
        if one.fix.session in one.seen:
            learned.note_fix(state, one.key, one.fix.session, one.seen[one.fix.session])
        if one.is_repeated:
            learned.note_proposed(state, one.id, learned.ProposalRecord(0.0, len(one.seen), one.since, 0.0))
