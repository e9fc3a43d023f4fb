"""Proposals of a run over sessions: chosen, stored and reported."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from subcog_hooks.capture import importing
from subcog_hooks.capture.import_changes import ImportOptions, ImportReport
from subcog_hooks.capture.jsonl import Removed, Row, only_names_secret, sum_removed
from subcog_hooks.capture.repository_files import is_glob
from subcog_hooks.learn import turn_scores
from subcog_hooks.learn.caution import find_cautions
from subcog_hooks.learn.quoting import BY_AGENT, QuotedMemory, ShownTurn, is_different
from subcog_hooks.learn.transcript_files import SessionFolders, name_session
from subcog_hooks.learn.turn_scores import CALL_REFUSED, PACKAGED_FIT, Fit, TypedTurn
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
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import audience_of

AnyProposal = TypeVar("AnyProposal", bound="Proposal")

MAX_EVIDENCE = 500  # characters
STATE_DAYS = 14  # days until a note on the state of the work ends
DAY_MS = 86_400_000


@dataclass(slots=True, kw_only=True)
class Proposal:
    """A turn that may be worth remembering. id: of its memory, the same for a fork of the session.

    turn: shortened, since thousands are in memory. owner: its project's identity, None outside of any. removed: secrets and
    private spans of the turn. sessions, since: the number that said it, and the first time in milliseconds since the epoch.
    """

    id: str
    turn: TypedTurn
    text: str
    kind: str
    scope: str
    owner: str | None
    path: str
    certainty: float
    corrects: bool = False
    removed: Removed = ()
    sessions: int = 1
    since: int = 0

    @property
    def source(self) -> str:
        """The source of its memory: the session's transcript and the row."""
        return f"{SESSION_SOURCE}{self.path}:{self.turn.uuid or self.turn.offset}"

    def row(self, root: str | None, now_ms: int) -> Row:
        """Return it as a row of an import. root: of its project, for its paths; now_ms: used if its turn has no time."""
        is_projects = self.scope == "project"
        memory = Memory(
            id=self.id,
            content=self.text,
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
            "memory": self.text,
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
        """Return the glob of the files like the one whose change the turn corrects."""
        before = self.turn.before
        path = before.path.replace("\\", "/")
        base = (root or self.turn.folder).replace("\\", "/").rstrip("/")
        is_correction = self.kind == turn_scores.CORRECTION and (before.changed or before.outcome == CALL_REFUSED)
        if not is_correction or not base or not path.startswith(f"{base}/"):
            return ()
        folder, name = os.path.split(path[len(base) + 1 :])
        suffix = os.path.splitext(name)[1]
        glob = f"{folder}/*{suffix}" if folder and suffix else f"*{suffix}" if suffix else path[len(base) + 1 :]
        return (glob,) if is_glob(glob) else ()


@dataclass(slots=True, kw_only=True)
class WrittenProposal(Proposal):
    """A proposal in a model's words that quotes the turn, or the agent's last words to it.

    by: the model's provider; certainty: its score among the model's proposals; stated: the model's own certainty; cautions: the
    reasons to wait for the person; typed: the typed turns of its session, in lower case.
    """

    shown: ShownTurn
    written: QuotedMemory
    by: str
    typed: Sequence[str]
    stated: float
    is_active: bool = False
    cautions: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.cautions = self.find_cautions(self.text)

    def find_cautions(self, sentence: str) -> list[str]:
        """Return the reasons for which this sentence would wait, for all that the quoted words say."""
        turn = self.shown.reply if self.quotes_agent else self.shown.turn.text
        context = f"{self.shown.before}\n{self.shown.reply}\n{self.owner or ''}"
        return find_cautions(sentence, self.written.quote, turn, scope=self.scope, context=context, typed=self.typed)

    @property
    def quotes_agent(self) -> bool:
        """True if it quotes the agent, not the person."""
        return self.written.by == BY_AGENT

    @property
    def source(self) -> str:
        """The source of its memory: the session's transcript and the row of the quoted words."""
        uuid = (self.turn.reply_uuid if self.quotes_agent else "") or self.turn.uuid
        return f"{SESSION_SOURCE}{self.path}:{uuid or self.turn.offset}"

    @property
    def expires_at(self) -> int | None:
        """The time at which a note on the state of the work ends, milliseconds since the epoch; None for other kinds."""
        return self.turn.at_ms + STATE_DAYS * DAY_MS if self.kind == turn_scores.WORK_STATE and self.turn.at_ms else None

    def row(self, root: str | None, now_ms: int) -> Row:
        """Return it as a row of an import, marked as a model's."""
        row = Proposal.row(self, root, now_ms)
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
            **Proposal.line(self),
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


def make_written(
    shown: ShownTurn, written: QuotedMemory, by: str, path: str, owner: str | None, typed: Sequence[str]
) -> WrittenProposal:
    """Return a model's proposal. by: its provider; typed: the typed turns of its session, in lower case."""
    return WrittenProposal(
        # The id follows from the quote, since a model words the memory differently each time.
        id=_make_id(shown.turn, f"{written.quote}\0{MODEL}"),
        turn=shown.turn.with_text(shown.turn.text[:MAX_EVIDENCE]),
        text=written.memory,
        kind=written.kind,
        scope="project" if owner and written.scope == "project" else "user",
        owner=owner,
        path=path,
        certainty=written.certainty,
        since=shown.turn.at_ms,
        shown=shown,
        written=written,
        by=by,
        typed=typed,
        stated=written.certainty,
    )


def _make_id(turn: TypedTurn, words: str) -> str:
    moment = turn.at_ms or turn.uuid or f"{turn.session}:{turn.offset}"
    return SECTION_PREFIX + hash_content(f"{SESSION_SOURCE}{moment}\0{words}")[:12]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningOptions:
    """The options of a run over sessions. since: skips older turns, ms since the epoch; left_out: projects and folders."""

    since: int = 0
    left_out: Sequence[str] = ()
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


class LearningRun:
    """A run over sessions with its report. store, state: None if there is none yet and nothing will be written."""

    def __init__(self, store: Store | None, state: State | None, options: LearningOptions) -> None:
        self.store = store
        self.state = state
        self.options = options
        self.folders = SessionFolders(options.left_out)
        self.report = LearningReport()

    def excludes(self, turn: TypedTurn) -> bool:
        """Return whether the person excludes a turn's folder from learning."""
        return self.folders.is_excluded(turn.folder)

    def propose(self, turn: TypedTurn, path: str) -> Proposal | None:
        """Return a proposal without secrets and private spans; None if the turn says nothing else."""
        redacted = redact(turn.text)
        if redacted.removed:
            turn = turn.with_text(redacted.text)
        judgement = turn_scores.judge_turn(turn, self.options.fit)
        if judgement is None or not judgement.text or only_names_secret(judgement.text):
            return None
        kind, owner = turn_scores.turn_kind(turn, judgement), self.folders.owner_of(turn.folder)
        return Proposal(
            id=_make_id(turn, turn.text),
            turn=turn.with_text(turn.text[:MAX_EVIDENCE]),
            text=judgement.text,
            kind=kind,
            scope="project" if owner and turn_scores.turn_scope(judgement, kind) == "project" else "user",
            owner=owner,
            path=path,
            certainty=judgement.certainty,
            corrects=judgement.corrects,
            removed=redacted.removed,
            since=turn.at_ms,
        )

    def store_new(self, proposals: Sequence[AnyProposal]) -> list[AnyProposal]:
        """Store the new proposals, and return them; their faults go to the report. Raises StoreError."""
        store, report = self.store, self.report
        new_proposals = {proposal.id: proposal for proposal in proposals}
        if store and new_proposals:
            stored_ids = {*store.by_ids(list(new_proposals)), *store.purged_sections(list(new_proposals))}
            new_proposals = {id_: proposal for id_, proposal in new_proposals.items() if id_ not in stored_ids}
        if not new_proposals:
            return []
        time_ms = now_ms()
        rows = []
        for proposal in new_proposals.values():
            row = proposal.row(self.folders.root_of(proposal.turn.folder), time_ms)
            audiences = (audience_of("user", None), audience_of(row.memory.scope, row.memory.project))
            same = store.by_hash(row.memory.content_hash) if store else ()
            if not any(
                audience_of(other.scope, other.project) in audiences and not is_outdated(other, store) for other in same
            ):
                rows.append((proposal.source, row))
        import_options = ImportOptions(dry_run=self.options.dry_run)
        imported = importing.import_reading(rows, ImportReport(), store, import_options, lambda _: None)
        report.problems += [f"{problem.location}: {problem.message}" for problem in imported.problems]
        ids = [row.memory.id for _, row in rows]
        if store and not self.options.dry_run:
            ids = [id_ for id_ in ids if id_ in store.by_ids(ids)]
        report.removed = sum_removed([report.removed, *(new_proposals[id_].removed for id_ in ids)])
        return [new_proposals[id_] for id_ in ids]
