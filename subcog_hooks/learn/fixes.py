"""Commands that failed and then worked in another form, in at least two sessions of a project: waiting memories.

One session is not enough evidence. Until a second one shows the fix, only its hash and the session's id are stored. If the
failed form works in a later session, the fix is dropped.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from subcog_hooks.capture.jsonl import Row
from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.cues import triggers
from subcog_hooks.learn import turn_scores
from subcog_hooks.learn.repetition import MIN_SESSIONS
from subcog_hooks.learn.shell_commands import Fix, command_forms, read_command
from subcog_hooks.learn.transcript_files import SessionFolders
from subcog_hooks.store import learned
from subcog_hooks.store.memory import PENDING, SECTION_PREFIX, SESSION_SOURCE, Memory, hash_content
from subcog_hooks.store.state import State

TOOL_TRUST = "tool"  # the trust of memories that a program observed
_FORM_KEY_LENGTH = 8  # letters of a key that identify the failing form
_FIELDS = "session uuid role by memory kind scope standing questions replaces certainty score active evidence"
EMPTY_LINE: dict[str, object] = {**dict.fromkeys(_FIELDS.split()), "by": "floor", "questions": [], "active": False}
SessionTimes = dict[str, int]  # by session: when it showed the fix, milliseconds since the epoch


@dataclass(slots=True)
class FixProposal:
    """A command that fails in a project, and its working form. path: of the latest transcript; seen: by session."""

    fix: Fix
    path: str
    owner: str
    removed: tuple[tuple[str, int], ...] = ()  # a command with a secret is no proposal
    seen: SessionTimes = field(default_factory=dict)
    kind: ClassVar[str] = turn_scores.COMMAND_KIND

    @property
    def text(self) -> str:
        return f"`{self.fix.change.failed}` fails here; `{self.fix.change.worked}` works."

    @property
    def id(self) -> str:
        """The id of its memory, which follows from the project and the two forms."""
        return SECTION_PREFIX + self._pair

    @property
    def key(self) -> str:
        return f"{_form_key(self.owner, self.fix.change.failed)}{self._pair}"

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
        return min((time_ms for time_ms in self.seen.values() if time_ms), default=0)

    @property
    def is_repeated(self) -> bool:
        """Return whether enough sessions showed it to propose it."""
        return len(self.seen) >= MIN_SESSIONS

    def add_session(self, earlier: Mapping[str, int]) -> None:
        """Add this session to earlier ones. A copy of a session, which has the row at the same time, does not count."""
        self.seen = {**earlier}
        if not self.fix.at_ms or self.fix.at_ms not in earlier.values():
            self.seen.setdefault(self.fix.session, self.fix.at_ms)

    def row(self, root: str | None, now_ms: int) -> Row:  # noqa: ARG002 - other proposals need it
        """Return it as a row of an import, with a trigger for the failing form. now_ms: used if its row has no time."""
        at_ms = self.fix.at_ms or now_ms
        memory = Memory(
            id=self.id,
            content=self.text,
            namespace="learnings",
            scope="project",
            project=self.owner,
            triggers=build_trigger(self.fix.change.failed),
            status=PENDING,
            source=self.source,
            trust=TOOL_TRUST,
            created_at=at_ms,
            updated_at=at_ms,
        )
        return Row(memory, has_id=True, is_section=True)

    def line(self) -> dict[str, object]:
        """Return it as a line of `learn --jsonl`. Its score follows the rule of succession: it has worked each time."""
        score = round((len(self.seen) + 1) / (len(self.seen) + 2), 2)
        return {
            **EMPTY_LINE,
            "session": self.fix.session,
            "uuid": self.fix.uuid,
            "role": "tool",
            "memory": self.text,
            "kind": self.kind,
            "scope": "project",
            "certainty": score,
            "score": score,
            "evidence": " ".join(sorted(self.seen)),  # the sessions that showed it
        }


def build_trigger(form: str) -> tuple[str, ...]:
    """Return a trigger for commands that begin with a form; none if the trigger is invalid.

    >>> build_trigger("npm test"), build_trigger("python")
    (('(^|[;&|] *)npm +test\\\\b',), ('(^|[;&|] *)python\\\\b',))
    """
    words = " +".join(map(re.escape, form.split()))
    trigger = f"(^|[;&|] *){words}" + ("\\b" if form[-1:].isalnum() else "")
    try:
        triggers.check_trigger(trigger)
    except InvalidMemory:
        return ()
    return (trigger,)


def collect_fixes(
    fixes: Sequence[Fix], path: str, session_folders: SessionFolders, state: State | None, seen: dict[str, SessionTimes]
) -> list[FixProposal]:
    """Return the fixes of a transcript, each with the sessions that showed it. Raises StoreError.

    seen: the sessions of this run by key, to which these are added. A working command in a folder of the project counts only if
    the other form had failed at the project's root.
    """
    proposals: dict[str, FixProposal] = {}
    for fix in fixes:
        owner = session_folders.owner_of(fix.folder)
        is_elsewhere = fix.change.is_in_folder and fix.folder != session_folders.root_of(fix.folder)
        if owner is None or is_elsewhere or session_folders.is_excluded(fix.folder, owner):
            continue
        proposal = FixProposal(fix, path, owner)
        if proposal.key not in seen:
            seen[proposal.key] = learned.find_fix_sessions(state, proposal.key) if state else {}
        proposal.add_session(seen[proposal.key])
        seen[proposal.key] = proposal.seen
        proposals[proposal.key] = proposal
    return list(proposals.values())


def refute_fixes(
    working_commands: Mapping[str, str], session_folders: SessionFolders, state: State | None, seen: dict[str, SessionTimes]
) -> list[str]:
    """Drop the known fixes whose failing form works in this session, and return their keys. Raises StoreError.

    working_commands: with their folders; only commands at a project's root count. seen: as in `collect_fixes`; its entries for
    these keys are emptied.
    """
    if not working_commands or not (seen or (state and learned.has_fixes(state))):
        return []
    forms: set[str] = set()
    for text, folder in working_commands.items():
        owner = session_folders.owner_of(folder)
        command = read_command(text, folder) if session_folders.root_of(folder) in (folder, None) else None
        if owner and command:
            forms.update(_form_key(owner, form) for form in command_forms(command))
    known_keys = {*seen, *(learned.find_fix_keys(state) if state else ())}
    refuted = [key for key in known_keys if key[:_FORM_KEY_LENGTH] in forms]
    seen.update({key: {} for key in refuted})
    return refuted


def _form_key(owner: str, form: str) -> str:
    return hash_content(f"{SESSION_SOURCE}{owner}\0{form}")[:_FORM_KEY_LENGTH]


def store_fixes(state: State, fixes: Sequence[FixProposal], refuted: Sequence[str]) -> None:
    """Store a session's fixes and refuted fixes, and the numbers of sessions of proposed ones. Raises StoreError."""
    for key in refuted:
        learned.forget_fix(state, key)
    for proposal in fixes:
        if proposal.fix.session in proposal.seen:
            learned.note_fix(state, proposal.key, proposal.fix.session, proposal.seen[proposal.fix.session])
        if proposal.is_repeated:
            learned.note_proposed(state, proposal.id, learned.ProposalRecord(0.0, len(proposal.seen), proposal.since, 0.0))
