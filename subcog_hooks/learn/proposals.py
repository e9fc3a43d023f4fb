"""Typed turns into proposals: memories in the person's own words that wait for the person's word, with where they come from."""

import os

from subcog_hooks.capture.jsonl import Row
from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.cues import globs
from subcog_hooks.learn import turn_scores
from subcog_hooks.learn.quoting import QuotedMemory, ShownTurn
from subcog_hooks.learn.turn_scores import PACKAGED_FIT, Fit, JudgedTurn, judge
from subcog_hooks.learn.turns import CALL_REFUSED, TypedTurn
from subcog_hooks.redaction.redact import redact
from subcog_hooks.store.memory import (
    AGENT,
    MODEL,
    PENDING,
    SECTION_PREFIX,
    SESSION_SOURCE,
    AnsweredQuestion,
    Memory,
    hash_content,
)

Removed = tuple[tuple[str, int], ...]
TRANSCRIPT, IMPORTED = "transcript", "import"  # the trust of it; and that of what another program says came from one
MOST_EVIDENCE = 500  # characters
BY_PERSON = "person"  # whose words a line of `learn --jsonl` has


class Proposal:
    """A turn that may be worth remembering.

    id: of its memory, which follows from when it was said and what: in a fork of a session it is the same; turn, worth: the
    turn's beginning and the judgement on it, without what thousands of them have no room for; removed: secrets and private
    spans that were in the turn; owner: its project's identity, None outside of any; sessions: how many said it; since: when
    first, milliseconds since the epoch; known_at: when there was enough to propose it.
    """

    __slots__ = (
        *("certainty", "id", "kind", "known_at", "owner", "path", "removed", "scope", "sessions", "since", "turn"),
        "worth",
    )

    def __init__(self, turn: TypedTurn, worth: JudgedTurn, path: str, owner: str | None) -> None:
        self.id = self._id_of(turn, turn.text)
        self.turn = turn.with_text(turn.text[:MOST_EVIDENCE])
        self.worth = JudgedTurn(worth.certainty, worth.text, {}, corrects=worth.corrects)
        self.path = path
        self.kind = turn_scores.kind_of(turn, worth)
        self.scope = "project" if owner and turn_scores.scope_of(worth, self.kind) == "project" else "user"
        self.owner = owner
        self.certainty = worth.certainty
        self.sessions = 1
        self.removed: Removed = ()
        self.since = turn.at
        self.known_at = turn.at

    @staticmethod
    def _id_of(turn: TypedTurn, words: str) -> str:
        said = turn.at or turn.uuid or f"{turn.session}:{turn.offset}"
        return SECTION_PREFIX + hash_content(f"{SESSION_SOURCE}{said}\0{words}")[:12]

    @property
    def folder(self) -> str:
        return self.turn.folder

    @property
    def source(self) -> str:
        return f"{SESSION_SOURCE}{self.path}:{self.turn.uuid or self.turn.offset}"

    def row(self, root: str | None, now: int) -> Row:
        """Return it as a row of an import. root: of its project, from which its paths are named; now: where it has no time."""
        is_projects = self.scope == "project"
        memory = Memory(
            id=self.id,
            content=self.worth.text,
            namespace=turn_scores.NAMESPACES[self.kind],
            scope=self.scope,
            project=self.owner if is_projects else None,
            paths=self._paths(root) if is_projects else (),
            status=PENDING,
            source=self.source,
            trust=TRANSCRIPT,
            created_at=self.turn.at or now,
            updated_at=self.turn.at or now,
        )
        return Row(memory, has_id=True, is_section=True)

    def line(self) -> dict[str, object]:
        """Return it as a line of `learn --jsonl`; all lines have the same fields."""
        return {
            "session": self.turn.session,
            "uuid": self.turn.uuid,
            "role": "user",
            "memory": self.worth.text,
            "kind": self.kind,
            "scope": self.scope,
            "score": self.certainty,
            "evidence": self.turn.text,
            "by": BY_PERSON,
        }

    def _paths(self, root: str | None) -> tuple[str, ...]:
        """Return the files that it is about, as globs: those of the kind that a corrected call touched, beside it."""
        before = self.turn.before
        if self.kind != turn_scores.CORRECTION or not before.path or not (before.changed or before.outcome == CALL_REFUSED):
            return ()
        path = before.path.replace("\\", "/")
        at = (root or self.turn.folder).replace("\\", "/").rstrip("/")
        if not at or not path.startswith(f"{at}/"):
            return ()
        folder, name = os.path.split(path[len(at) + 1 :])
        suffix = os.path.splitext(name)[1]
        glob = f"{folder}/*{suffix}" if folder and suffix else f"*{suffix}" if suffix else path[len(at) + 1 :]
        try:
            globs.check(glob)
        except InvalidMemory:
            return ()
        return (glob,)


class WrittenProposal(Proposal):
    """A proposal in the words of a model, which quote the turn. by: the model's provider; its certainty is the floor's."""

    __slots__ = ("by", "questions", "quote")

    def __init__(self, shown: ShownTurn, written: QuotedMemory, by: str, path: str, owner: str | None) -> None:
        super().__init__(shown.turn, JudgedTurn(shown.certainty, written.memory, {}), path, owner)
        self.kind = written.kind
        self.scope = "project" if owner and written.scope == "project" else "user"
        # it follows from the words that it quotes: asked again, a model may put it otherwise
        self.id = self._id_of(shown.turn, f"{written.quote}\0{MODEL}")
        self.quote = written.quote
        self.questions = written.questions
        self.by = by

    def row(self, root: str | None, now: int) -> Row:
        """Return it as a row of an import, marked as a model's."""
        row = super().row(root, now)
        questions = tuple(AnsweredQuestion(text, MODEL) for text in self.questions)
        row.memory = row.memory.with_changes(questions=questions, trust=AGENT)
        return row

    def line(self) -> dict[str, object]:
        """Return it as a line of `learn --jsonl`; how sure it is says the floor, of the turn that it quotes."""
        return {**super().line(), "evidence": self.quote, "by": self.by}


def is_written_by_model(memory: Memory) -> bool:
    """Return whether a memory came from a session in the words of a model."""
    return is_from_session(memory) and memory.trust == AGENT


def is_from_session(memory: Memory) -> bool:
    """Return whether a memory came from a session."""
    return memory.source.startswith(SESSION_SOURCE) and memory.trust != IMPORTED


def session_of(memory: Memory) -> str:
    """Return the id of the session that a memory came from: its transcript has that name.

    >>> session_of(Memory(id="a", content="x", source="session:/home/me/.claude/projects/-shop/4f56.jsonl:b1c2"))
    '4f56'
    """
    path = memory.source.removeprefix(SESSION_SOURCE).rpartition(":")[0]
    return os.path.basename(path).removesuffix(".jsonl")


def propose(turn: TypedTurn, path: str, owner: str | None, fit: Fit = PACKAGED_FIT) -> Proposal | None:
    """Return what a turn may be worth, without secrets and private spans; None where it says nothing.

    path: of its transcript; owner: the identity of the project it was said in.
    """
    redacted = redact(turn.text)
    if redacted.removed:
        turn = turn.with_text(redacted.text)
    worth = judge(turn, fit)
    if worth is None or not worth.text:
        return None
    proposal = Proposal(turn, worth, path, owner)
    proposal.removed = redacted.removed
    return proposal
