"""Proposals of a run over sessions: chosen, stored and reported."""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from subcog_hooks.capture import importing
from subcog_hooks.capture.compose import Removed, only_names_secret, sum_removed
from subcog_hooks.capture.import_changes import ImportOptions, ImportReport
from subcog_hooks.capture.jsonl import Row
from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.cues import globs
from subcog_hooks.learn import turn_scores
from subcog_hooks.learn.caution import find_cautions
from subcog_hooks.learn.quoting import BY_AGENT, QuotedMemory, ShownTurn
from subcog_hooks.learn.repetition import is_different
from subcog_hooks.learn.signs import CALL_REFUSED, TypedTurn
from subcog_hooks.learn.transcript_files import SessionFolders, name_session
from subcog_hooks.learn.turn_scores import PACKAGED_FIT, Fit, JudgedTurn, judge_turn
from subcog_hooks.redaction.redact import redact
from subcog_hooks.store import learned
from subcog_hooks.store.memory import (
    ACTIVE,
    AGENT,
    IMPORTED,
    MODEL,
    PENDING,
    SECTION_PREFIX,
    SESSION_SOURCE,
    TRANSCRIPT,
    AnsweredQuestion,
    Memory,
    hash_content,
    now_ms,
)
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import audience_of

AnyProposal = TypeVar("AnyProposal", bound="Proposal")

MAX_EVIDENCE = 500  # characters
STATE_DAYS = 14  # days until a note on the state of the work ends
DAY_MS = 86_400_000


class Proposal:
    """A turn that may be worth remembering.

    id: of its memory; it follows from the turn's time and text, so a fork of the session has the same one. turn, judgement:
    shortened, since thousands are in memory. removed: secrets and private spans of the turn. owner: its project's identity,
    None outside of any. sessions: the number of sessions that said it. since: the first time, milliseconds since the epoch.
    """

    __slots__ = tuple("certainty id judgement kind owner path removed scope sessions since turn".split())

    def __init__(self, turn: TypedTurn, judgement: JudgedTurn, path: str, owner: str | None) -> None:
        self.id = self._id_of(turn, turn.text)
        self.turn = turn.with_text(turn.text[:MAX_EVIDENCE])
        self.judgement = JudgedTurn(judgement.certainty, judgement.text, {}, corrects=judgement.corrects)
        self.path = path
        self.kind = turn_scores.turn_kind(turn, judgement)
        self.scope = "project" if owner and turn_scores.turn_scope(judgement, self.kind) == "project" else "user"
        self.owner = owner
        self.certainty = judgement.certainty
        self.sessions = 1
        self.removed: Removed = ()
        self.since = turn.at_ms

    @staticmethod
    def _id_of(turn: TypedTurn, words: str) -> str:
        moment = turn.at_ms or turn.uuid or f"{turn.session}:{turn.offset}"
        return SECTION_PREFIX + hash_content(f"{SESSION_SOURCE}{moment}\0{words}")[:12]

    @property
    def folder(self) -> str:
        return self.turn.folder

    @property
    def source(self) -> str:
        return f"{SESSION_SOURCE}{self.path}:{self.turn.uuid or self.turn.offset}"

    def row(self, root: str | None, now_ms: int) -> Row:
        """Return it as a row of an import. root: of its project, for its paths; now_ms: used if its turn has no time."""
        is_projects = self.scope == "project"
        memory = Memory(
            id=self.id,
            content=self.judgement.text,
            namespace=turn_scores.NAMESPACES[self.kind],
            scope=self.scope,
            project=self.owner if is_projects else None,
            paths=self._paths(root) if is_projects else (),
            status=PENDING,
            source=self.source,
            trust=TRANSCRIPT,
            created_at=self.turn.at_ms or now_ms,
            updated_at=self.turn.at_ms or now_ms,
        )
        return Row(memory, has_id=True, is_section=True)

    def line(self) -> dict[str, object]:
        """Return it as a line of `learn --jsonl`; all lines have the same fields."""
        return {
            "session": self.turn.session,
            "uuid": self.turn.uuid,
            "role": "user",
            "by": "floor",
            "memory": self.judgement.text,
            "kind": self.kind,
            "scope": self.scope,
            "standing": None,
            "questions": [],
            "replaces": None,
            "certainty": self.certainty,
            "score": self.certainty,
            "active": False,
            "evidence": self.turn.text,
        }

    def _paths(self, root: str | None) -> tuple[str, ...]:
        before = self.turn.before
        if self.kind != turn_scores.CORRECTION or not before.path or not (before.changed or before.outcome == CALL_REFUSED):
            return ()
        path = before.path.replace("\\", "/")
        base = (root or self.turn.folder).replace("\\", "/").rstrip("/")
        if not base or not path.startswith(f"{base}/"):
            return ()
        folder, name = os.path.split(path[len(base) + 1 :])
        suffix = os.path.splitext(name)[1]
        glob = f"{folder}/*{suffix}" if folder and suffix else f"*{suffix}" if suffix else path[len(base) + 1 :]
        try:
            globs.check_glob(glob)
        except InvalidMemory:
            return ()
        return (glob,)


class WrittenProposal(Proposal):
    """A proposal in a model's words that quotes the turn, or the agent's last words to it.

    by: the model's provider; certainty: its score among the model's proposals; stated: the certainty that the model gave.
    cautions: the reasons for which it waits for the person. is_active: it is not to wait.
    """

    __slots__ = ("_shown", "_typed", "by", "cautions", "is_active", "stated", "written")

    def __init__(
        self, shown: ShownTurn, written: QuotedMemory, by: str, path: str, owner: str | None, typed: Sequence[str]
    ) -> None:
        """Collect a proposal. typed: the typed turns of its session, in lower case."""
        super().__init__(shown.turn, JudgedTurn(shown.certainty, written.memory, {}), path, owner)
        self.kind = written.kind
        self.scope = "project" if owner and written.scope == "project" else "user"
        # the id follows from the quote, since a model words the memory differently each time
        self.id = self._id_of(shown.turn, f"{written.quote}\0{MODEL}")
        self.written = written
        self.by = by
        self.stated = self.certainty = written.certainty
        self._shown = shown
        self._typed = typed
        self.cautions = self.find_cautions(written.memory)
        self.is_active = False

    def find_cautions(self, sentence: str) -> list[str]:
        """Return the reasons for which this sentence would wait, for all that the quoted words say."""
        shown = self._shown
        turn = shown.reply if self.quotes_agent else shown.turn.text
        context = f"{shown.before}\n{shown.reply}\n{self.owner or ''}"
        return find_cautions(sentence, self.written.quote, turn, scope=self.scope, context=context, typed=self._typed)

    @property
    def quotes_agent(self) -> bool:
        return self.written.by == BY_AGENT

    @property
    def source(self) -> str:
        uuid = self.turn.reply_uuid if self.quotes_agent else ""
        return f"{SESSION_SOURCE}{self.path}:{uuid}" if uuid else super().source

    @property
    def expires_at(self) -> int | None:
        """The time at which a note on the state of the work ends, milliseconds since the epoch; None for other kinds."""
        return self.turn.at_ms + STATE_DAYS * DAY_MS if self.kind == turn_scores.WORK_STATE and self.turn.at_ms else None

    def row(self, root: str | None, now_ms: int) -> Row:
        """Return it as a row of an import, marked as a model's."""
        row = super().row(root, now_ms)
        row.memory = row.memory.with_changes(
            questions=tuple(AnsweredQuestion(text, MODEL) for text in self.written.questions),
            standing=True if self.written.is_standing else None,
            trust=AGENT,
            status=ACTIVE if self.is_active else PENDING,
            expires_at=self.expires_at,
        )
        return row

    def line(self) -> dict[str, object]:
        """Return it as a line of `learn --jsonl`."""
        return {
            **super().line(),
            "uuid": self.turn.reply_uuid if self.quotes_agent else self.turn.uuid,
            "role": "assistant" if self.quotes_agent else "user",
            "by": self.written.by,
            "standing": self.written.is_standing or None,
            "questions": list(self.written.questions),
            "replaces": self.written.replaces or None,
            "certainty": self.stated,
            "active": self.is_active,
            "evidence": self.written.quote,
        }


def is_written_by_model(memory: Memory) -> bool:
    """Return whether a memory came from a session in the words of a model."""
    return is_from_session(memory) and memory.trust == AGENT


def is_from_session(memory: Memory) -> bool:
    """Return whether a memory came from a session here. Another program's has the trust of an import."""
    return memory.source.startswith(SESSION_SOURCE) and memory.trust != IMPORTED


def is_outdated(memory: Memory, store: Store | None) -> bool:
    """Return whether a memory from a session was superseded by another value, which a newer turn may take back."""
    if not store or not memory.superseded_by or not is_from_session(memory):
        return False
    return any(is_different(new.content, memory.content) for new in store.by_ids([memory.superseded_by]).values())


def session_id(memory: Memory) -> str:
    """Return the id of the session that a memory came from, which names the session's transcript.

    >>> session_id(Memory(id="a", content="x", source="session:/home/me/.claude/projects/-shop/4f56.jsonl:b1c2"))
    '4f56'
    """
    return name_session(memory.source.removeprefix(SESSION_SOURCE).rpartition(":")[0])


def propose(turn: TypedTurn, path: str, owner: str | None, fit: Fit = PACKAGED_FIT) -> Proposal | None:
    """Return a proposal without secrets and private spans; None if the turn says nothing else. owner: the turn's project."""
    redacted = redact(turn.text)
    if redacted.removed:
        turn = turn.with_text(redacted.text)
    judgement = judge_turn(turn, fit)
    if judgement is None or not judgement.text or only_names_secret(judgement.text):
        return None
    proposal = Proposal(turn, judgement, path, owner)
    proposal.removed = redacted.removed
    return proposal


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningOptions:
    """The options of a run over sessions.

    since: older turns are skipped, milliseconds since the epoch; left_out: excluded projects and folders; never: kinds that are
    not proposed; dry_run: nothing is stored or noted; fit: the weights that judge turns.
    """

    since: int = 0
    left_out: Sequence[str] = ()
    never: Collection[str] = ()
    dry_run: bool = False
    fit: Fit = PACKAGED_FIT


@dataclass(slots=True)
class LearningReport:
    """The outcome of a run: counts, and new proposals. is_cut_short: the pace ended it, and the next run compares the turns."""

    read: int = 0  # transcripts
    unchanged: int = 0
    turns: int = 0
    damaged: int = 0  # rows
    left_out: int = 0  # turns that the setting excludes
    problems: list[str] = field(default_factory=list)
    proposed: list[Proposal] = field(default_factory=list)
    removed: Removed = ()
    heard: list[learned.HeardTurn] = field(default_factory=list)  # only in a run that notes nothing
    is_cut_short: bool = False


def store_new(
    proposals: Sequence[AnyProposal],
    store: Store | None,
    options: LearningOptions,
    session_folders: SessionFolders,
    report: LearningReport,
) -> list[AnyProposal]:
    """Store the new proposals, and return them; their faults go to `report`. Raises StoreError."""
    new_proposals = {proposal.id: proposal for proposal in proposals}
    if store and new_proposals:
        stored_ids = {*store.by_ids(list(new_proposals)), *store.purged_sections(list(new_proposals))}
        new_proposals = {id_: proposal for id_, proposal in new_proposals.items() if id_ not in stored_ids}
    if not new_proposals:
        return []
    time_ms = now_ms()
    rows = []
    for proposal in new_proposals.values():
        row = proposal.row(session_folders.root_of(proposal.folder), time_ms)
        audiences = (audience_of("user", None), audience_of(row.memory.scope, row.memory.project))
        same = store.by_hash(row.memory.content_hash) if store else ()
        if not any(audience_of(other.scope, other.project) in audiences and not is_outdated(other, store) for other in same):
            rows.append((proposal.source, row))
    import_options = ImportOptions(dry_run=options.dry_run)
    imported = importing.import_reading(rows, ImportReport(), store, import_options, lambda _: None)
    report.problems += [f"{problem.location}: {problem.message}" for problem in imported.problems]
    ids = [row.memory.id for _, row in rows]
    if store and not options.dry_run:
        ids = [id_ for id_ in ids if id_ in store.by_ids(ids)]
    report.removed = sum_removed([report.removed, *(new_proposals[id_].removed for id_ in ids)])
    return [new_proposals[id_] for id_ in ids]
