"""Hits of recall: a memory with its ranks, scores and relevance; and the eligibility of memories."""

from __future__ import annotations

from subcog_hooks.core.records import record
from subcog_hooks.store.store_reader import audience_of
from subcog_hooks.store.verdicts import SECOND_LOOK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from typing import Any

    from subcog_hooks.store.memory import Memory

    Ranked = list[tuple[float, int]]  # (a channel's own score, row number), best first

_NOTHING: Mapping[Any, Any] = {}

LEXICAL, SEMANTIC, LABELS = "lexical", "semantic", "labels"  # strategies: exact and relaxed words are one strategy
QUESTIONS = "questions"  # the channel of the words of a memory's questions
IDENTIFIER = "identifier"  # no channel: the lift of the only memory with a rare identifier of the query
# Channels without a search: triggers, conditions, paths, pins to the start of sessions, use by the session.
PATTERN, STATE, PATH, PINNED, USED = "pattern", "state", "path", "pinned", "used"
ACTION = "action"  # a rule about the use of a tool
WORDS = "shared"  # rare words that it shares with a tool call
BRIEF = "brief"  # a memory for the start of any session
BEGUN = "begun"  # no channel: the evidence of the session's progress
EXACT_CHANNELS = frozenset((PATTERN, STATE, PATH, WORDS, ACTION, PINNED, USED, BRIEF))
AGREEMENT_DEPTH = 5  # the last rank with which a strategy agrees on a memory

BY_RELEVANCE = "; by relevance"  # the end of the reason of an answer in that order
VERY_HIGH, HIGH, MEDIUM, LOW, SPECULATIVE, NO_RESULTS = "very_high", "high", "medium", "low", "speculative", "no_results"


@record
class Eligibility:
    """The conditions that every channel checks before it brings a memory.

    audiences: whose memories; now_ms: milliseconds since the epoch; given: ids that the session has had, which rank behind the
    others; holds: returns whether a memory's conditions hold.
    """

    audiences: tuple[str, ...]
    now_ms: int
    given: AbstractSet[str] = frozenset()
    holds: Callable[[Memory], bool] = lambda _: True

    def allows(self, memory: Memory) -> bool:
        """Return whether a memory may be handed over. Raises StoreError when its conditions cannot be judged."""
        return self.includes(memory) and self.holds(memory)

    def includes(self, memory: Memory) -> bool:
        """Return whether a memory is live and of these audiences, regardless of its conditions."""
        return memory.is_live(self.now_ms) and audience_of(memory.scope, memory.project) in self.audiences


@record
class ChannelResult:
    """The list of one channel, or the reason for a failure. An empty list without a failure is an answer."""

    name: str
    strategy: str
    ranked: Ranked
    failure: str | None = None


@record
class Hit:
    """A memory that was found.

    score: the fused score, comparable within one answer. ranks (from 1) and scores (BM25, cosine, sum of label rarities): by
    channel name; a channel that has not found the memory gives no rank, but a score if it has one. agreement: the share of the
    strategies with the memory among their first AGREEMENT_DEPTH; labels: its tags and keywords that the query names; recency:
    the factor of its age on the score. contributions: the amount that each channel adds to the score; agreement_factor: the
    factor on their sum. Only an explained search fills these two. is_pinned: its trigger matched, and its priority puts it
    before all others. asked_like: its question that the query is like, None without one. is_named: the query has one of its
    keywords, its question, or a rare identifier that it alone holds.

    The relevance has these parts. terms: each a name, a value and its addition to the logit; probability: of these terms;
    prior: the factor of its namespace for the intent; marked: the factor of the user's marks, 1.0 without any. is_loaded: the
    client has shown it to the model in this session itself. is_asked: it is a section whose heading is the query. is_guess: it
    has none of the query's own words, only words in place of some.
    """

    memory: Memory
    score: float
    probability: float
    ranks: dict[str, int]
    scores: dict[str, float]
    agreement: float = 0.0
    labels: Sequence[str] = ()
    recency: float = 1.0
    terms: tuple[tuple[str, float, float], ...] = ()
    asked_like: str | None = None
    contributions: Mapping[str, float] = _NOTHING
    agreement_factor: float = 1.0
    prior: float = 1.0
    marked: float = 1.0
    is_pinned: bool = False
    is_loaded: bool = False
    is_named: bool = False
    is_asked: bool = False
    is_guess: bool = False

    @property
    def relevance(self) -> float:
        """The probability that the memory helps here, 0.0 to 1.0, with all of its factors."""
        return combined_relevance(self.probability, self.prior, self.marked)

    @property
    def is_exact(self) -> bool:
        """True where a channel without a search has found it: its owner's cue, or a rule's action."""
        return not EXACT_CHANNELS.isdisjoint(self.ranks)

    @property
    def is_cued(self) -> bool:
        """True where such a channel has found it, or the query names one of its keywords."""
        return self.is_exact or not set(self.memory.keywords).isdisjoint(self.labels)

    @property
    def is_judged(self) -> bool:
        """True where a language model has chosen it in a second look."""
        return SECOND_LOOK in self.ranks

    @property
    def found_by(self) -> tuple[str, ...]:
        """The names of the channels that found it."""
        return tuple(sorted(self.ranks))


def combined_relevance(probability: float, prior: float = 1.0, marked: float = 1.0) -> float:
    """Return the relevance of a probability and the factors on it, 0.0 to 1.0. `Hit` explains these.

    >>> combined_relevance(0.5), combined_relevance(0.95, prior=1.1), combined_relevance(0.8, marked=0.5)
    (0.5, 1.0, 0.4)
    """
    return round(min(1.0, probability * marked * prior), 4)


@record
class Answer:
    """One page of hits, best first.

    strategies: the strategies that ran; note: failures and other remarks; is_degraded: something that should have run did not.
    stage: the highest label for its hits, lower when only looser matching found them. query_type, read_as, alpha, alpha_reason:
    the type of the query, the text whose meaning was compared, and the share of meaning. identifiers: the query's identifiers
    that memories of its scope have unchanged. replaced: words of the query that no memory has, with the words in their place;
    suggestions: words and tags of the store to try instead. by_meaning_alone: meaning alone has found memories. cosines_alone:
    for the results of all pages, by position from 0, the cosine if meaning alone has found it, else None. end: the position
    behind this page. Both are empty unless the request is explained. labels_by_words: the labels that words alone give, by
    memory id, where vectors are pending.
    """

    hits: list[Hit]
    strategies: tuple[str, ...]
    note: str | None = None
    identifiers: Sequence[str] = ()
    is_degraded: bool = False
    alpha: float | None = None
    alpha_reason: str | None = None
    replaced: Mapping[str, Sequence[str]] = _NOTHING
    stage: str = VERY_HIGH
    query_type: str | None = None
    read_as: str | None = None
    suggestions: Sequence[str] = ()
    by_meaning_alone: bool = False
    cosines_alone: Mapping[int, float | None] = _NOTHING
    end: int = 0
    labels_by_words: Mapping[str, str] = _NOTHING
