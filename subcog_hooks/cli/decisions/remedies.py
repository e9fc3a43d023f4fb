"""Remedies that make a memory come to a prompt: a question, words, triggers, each tried on a copy of the store."""

import operator
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import re2

from subcog_hooks.cli.decisions import trial
from subcog_hooks.cli.decisions.trial import Trial
from subcog_hooks.cli.support import context
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.core.paths import Home
from subcog_hooks.cues import triggers
from subcog_hooks.embed import static
from subcog_hooks.hook.dry_run import DryPrompt, decide_dry
from subcog_hooks.recall import asked_like, logit, query
from subcog_hooks.recall.query import Term
from subcog_hooks.recall.relevance import AskedTerms as Comparison
from subcog_hooks.settings import loading
from subcog_hooks.settings.loading import Settings
from subcog_hooks.store.decision import INJECTED, Candidate, Decision
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.memory import LEARNED, MAX_QUESTION, MAX_QUESTIONS, AnsweredQuestion, Memory
from subcog_hooks.store.project import Project
from subcog_hooks.store.sessions import Earlier
from subcog_hooks.store.state import State
from subcog_hooks.text import needs
from subcog_hooks.text.typed import asked_in, prepare

BUDGET_MS = 10_000.0  # nobody waits for a prompt here
SHORTEST = 3  # letters of a word that is worth a keyword
KEYWORDS = (1, 2, 4)  # so many missing words are tried together


class Words(NamedTuple):
    """The telling words of a prompt, as far as a memory has them or lacks them, the rarest first.

    asked_like: the memory's question that the prompt is like, None for none.
    """

    has: list[str]
    lacks: list[str]
    asked_like: str | None = None


class Remedy(NamedTuple):
    """A command that makes a memory come to a prompt. relevance: what the memory would have then."""

    command: str
    relevance: float


class Learned(NamedTuple):
    """A question by which a memory comes to a prompt. relevance: what the memory has then."""

    question: str
    relevance: float


class Rerun:
    """A prompt of before, and where it is decided anew: in which project, with which settings and which session."""

    __slots__ = ("asked", "here", "settings", "state")

    def __init__(self, was: Decision, given: set[str], place: int, state: State) -> None:
        """given: ids that the session is taken to have been given; place: of the prompt in it; state: read, never written."""
        earlier = Earlier(was.borrowed, was.intent.confidence if was.intent else 0.0) if was.borrowed else None
        self.asked = DryPrompt(was.prompt or "", was.session, given if was.session else set(), earlier, place)
        self.here = _project(was.project)
        self.settings: Settings = loading.load(context.home(), self.here.root if self.here and self.here.root else None)
        self.state = state

    def decide(self, home: Home) -> Decision:
        """Return what the hook would decide with the memories of this home. Raises StoreError."""
        return decide_dry(self.asked, home, self.here, self.settings, self.state, Deadline(BUDGET_MS))


def _project(identity: str) -> Project | None:
    """Return the project of a decision: the one at hand if it is that, else what is known of it by its name."""
    here = context.here()
    if here is not None and here.identity == identity:
        return here
    return Project(identity, "", identity) if identity else None


def words_of(decision: Decision, memory: Memory, index: LexicalIndex) -> Words:
    """Return which words of a decision's prompt a memory has, and which it lacks, by what it says today."""
    has, lacks = _split(decision, memory, index)
    return Words([_shown(term) for term in has], [_shown(term) for term in lacks], _asked_like(decision, memory, index))


def _asked_like(decision: Decision, memory: Memory, index: LexicalIndex) -> str | None:
    """Return the question that a memory's relevance for a prompt was raised for, of those that it has today."""
    added = [term for one in decision.candidates if one.id == memory.id for term in one.terms if term[0] == logit.ASKED_LIKE]
    if not (memory.questions and added and added[0][2] > 0.0):
        return None
    text = asked_in(decision.prompt or "")
    encoder = static.StaticEncoder.open()
    try:
        asked, *theirs = map(encoder.vector, (text, *(one.text for one in memory.questions)))
    finally:
        encoder.close()
    near = {place: sum(map(operator.mul, asked, vector)) for place, vector in enumerate(theirs)}
    return asked_like.most_alike_question(text, memory.questions, near, index.analysers).question


def _split(decision: Decision, memory: Memory, index: LexicalIndex) -> tuple[list[Term], list[Term]]:
    text = "\n".join((asked_in(decision.prompt or ""), *decision.borrowed))
    return Comparison(query.analyse_query(text, index), index.analysers).split_by(memory, index.analysers)


def _shown(term: Term) -> str:
    return term.typed or term.whole


def tried(rerun: Rerun, was: Decision, memory: Memory, index: LexicalIndex) -> list[Remedy]:
    """Return the commands that make a memory come to the prompt: one that gives it a question, one with keywords, one with a
    trigger, as far as they do.

    Raises SubcogError, OSError.
    """
    has, lacks = _split(was, memory, index)
    found: list[Remedy] = []
    with trial.begun() as copy:
        if learned := question_that_helps(copy, rerun, was, memory):
            found.append(Remedy(f"subcog why --missed {memory.id} {was.id}", learned.relevance))
        for option, field, ideas in (
            ("--keyword", "keywords", list(_keywords(memory, lacks))),
            ("--trigger", "triggers", list(_triggers(memory, was.prompt or "", [*lacks, *has]))),
        ):
            copy.change(memory.id, {"questions": memory.questions})
            for values in ideas:
                relevance = _relevance_with(copy, rerun, memory, {field: values})
                if relevance is not None:
                    given = " ".join(f"{option} {shlex.quote(value)}" for value in values)
                    found.append(Remedy(f"subcog edit {memory.id} {given}", relevance))
                    break
            copy.change(memory.id, {field: getattr(memory, field)})
    return found


def question_that_helps(copy: Trial, rerun: Rerun, was: Decision, memory: Memory) -> Learned | None:
    """Return the first of a prompt's needs with which, as a question that it answers, a memory comes to the prompt.

    None where none helps, or no place is left for one. The copy keeps it. Raises SubcogError.
    """
    if len(memory.questions) >= MAX_QUESTIONS:
        return None
    for text in needs_of(was):
        relevance = _relevance_with(copy, rerun, memory, {"questions": (*memory.questions, AnsweredQuestion(text, LEARNED))})
        if relevance is not None:
            return Learned(text, relevance)
    return None


def needs_of(decision: Decision) -> list[str]:
    """Return the texts that the need of a decision's prompt can be put in as a question, the likeliest first.

    A prompt that goes on from the one before is put with what it borrowed; then its questions, all that was typed, its other
    sentences, and the line that says what failed.
    """
    prepared = prepare(decision.prompt or "")
    typed = asked_in(decision.prompt or "", prepared)
    parts = needs.parts_of(typed)
    borrowed = [" ".join((typed, *decision.borrowed))] if decision.borrowed else []
    texts = [*borrowed, *filter(needs.asks, parts), typed, *parts, prepared.failure]
    return list(dict.fromkeys(_shortened(" ".join(text.split())) for text in texts if text.strip()))


def _shortened(text: str) -> str:
    """Return as many words of a text as a question may have."""
    return text if len(text) <= MAX_QUESTION else text[: MAX_QUESTION + 1].rpartition(" ")[0] or text[:MAX_QUESTION]


def _relevance_with(copy: Trial, rerun: Rerun, memory: Memory, changes: Mapping[str, object]) -> float | None:
    """Return the relevance that a memory has for the prompt once it is changed so; None where it does not come."""
    try:
        copy.change(memory.id, changes)
    except InvalidMemory:
        return None
    came = candidate_of(rerun.decide(copy.home), memory.id)
    return came.relevance if came is not None and came.outcome == INJECTED else None


def candidate_of(decision: Decision, id_: str) -> Candidate | None:
    """Return what became of a memory in a decision, None where it was not looked at."""
    return next((candidate for candidate in decision.candidates if candidate.id == id_), None)


def _keywords(memory: Memory, lacks: Sequence[Term]) -> Iterator[tuple[str, ...]]:
    """Yield keywords to try: the old ones, which `edit` would replace, and the rarest words that the memory lacks."""
    words = [_shown(term) for term in lacks if len(term.whole) >= SHORTEST and not term.whole.isdecimal()]
    for number in KEYWORDS:
        if len(words) >= number:
            yield (*memory.keywords, *words[:number])


def _triggers(memory: Memory, prompt: str, terms: Sequence[Term]) -> Iterator[tuple[str, ...]]:
    """Yield triggers to try: an identifier, or two telling words as they follow each other in the prompt.

    One word of English would call the memory up at prompts about anything.
    """
    plain = triggers.plain(prompt).lower()
    known = [term for term in terms if len(term.whole) >= SHORTEST and _shown(term).lower() in plain]
    words = [_shown(term).lower() for term in known]
    for term in [term for term in known if term.is_identifier][:1]:
        yield (*memory.triggers, f"\\b{re2.escape(_shown(term))}")
    if len(words) > 1:
        first, second = sorted(words[:2], key=plain.index)
        yield (*memory.triggers, f"\\b{re2.escape(first)}.*\\b{re2.escape(second)}")
