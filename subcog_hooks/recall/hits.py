"""Hits of recall: a memory with its ranks, scores and relevance, and the memories that are eligible."""

from __future__ import annotations

from subcog_hooks.store.decision import SECOND_LOOK
from subcog_hooks.store.store import audience_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from subcog_hooks.store.memory import Memory


class Eligibility:
    """The conditions that every channel checks before it brings a memory.

    audiences: whose memories; now_ms: milliseconds since the epoch; given: ids that the session has had, which come behind the
    others; holds: whether a memory's conditions do.
    """

    __slots__ = ("audiences", "given", "holds", "now_ms")

    def __init__(
        self,
        audiences: tuple[str, ...],
        now_ms: int,
        given: AbstractSet[str] = frozenset(),
        holds: Callable[[Memory], bool] = lambda _: True,
    ) -> None:
        self.audiences = audiences
        self.now_ms = now_ms
        self.given = given
        self.holds = holds

    def allows(self, memory: Memory) -> bool:
        """Return whether a memory may be handed over. Raises StoreError when its conditions can not be judged."""
        return self.includes(memory) and self.holds(memory)

    def includes(self, memory: Memory) -> bool:
        """Return whether a memory is live and of these audiences, whatever its conditions."""
        return memory.is_live(self.now_ms) and audience_of(memory.scope, memory.project) in self.audiences


LEXICAL, SEMANTIC, LABELS = "lexical", "semantic", "labels"  # strategies: exact and relaxed words are one
QUESTIONS = "questions"  # the channel of the words of a memory's questions
STRONG_RELEVANCE = 0.5  # one strategy alone gives the label `medium` from here on
IDENTIFIER = "identifier"  # no channel of its own: what lifts the only memory that has a rare identifier of the query
# what finds without a search: a memory's own triggers, conditions and paths; that it names a thing exactly; that it is pinned
# to the start of sessions; that the session has been using it
PATTERN, STATE, PATH, MENTION, PINNED, USED = "pattern", "state", "path", "mention", "pinned", "used"
ACTION = "action"  # of a tool, which a rule is about
BRIEF = "brief"  # it is worth knowing whatever comes
BEGUN = "begun"  # no channel: the evidence of how far the session has gone
EXACT_CHANNELS = frozenset((PATTERN, STATE, PATH, MENTION, ACTION, PINNED, USED, BRIEF))
AGREED = 5  # strategies agree on a memory when each has it among its first so many

VERY_HIGH, HIGH, MEDIUM, LOW, SPECULATIVE, NO_RESULTS = "very_high", "high", "medium", "low", "speculative", "no_results"


class Hit:
    """A memory that was found.

    score: the fused one, comparable within one answer. ranks (from 1) and scores (BM25, cosine, sum of label rarities): the
    channels' own, by the channel's name; a channel that has not found the memory gives no rank, and its score if it knows one.
    agreement: the share of the strategies that ran which have it among their first AGREED; labels: its tags and keywords that
    the query names; recency: the factor that its age had on the score. contributions: what each channel adds to the score;
    agreement_factor: what agreement makes of their sum. A search that explains itself tells these two. is_pinned: its trigger
    matched, and its priority puts it before all others, whatever its relevance. asked_like: the one of its questions that the
    query is like, None for none.

    What its relevance is made of: terms, each a name, a value and what that adds to the logit; probability, which these terms
    say; prior: the factor of its namespace for the intent; marked: what the user's marks leave, 1.0 where there are none;
    present: what is left because files that it is about are gone, 1.0 where some are there. No factor depends on another.
    is_loaded: the client has put it before the model in this session itself.
    """

    __slots__ = (
        "agreement",
        "agreement_factor",
        "asked_like",
        "contributions",
        "is_loaded",
        "is_pinned",
        "labels",
        "marked",
        "memory",
        "present",
        "prior",
        "probability",
        "ranks",
        "recency",
        "score",
        "scores",
        "terms",
    )

    def __init__(
        self,
        memory: Memory,
        score: float,
        probability: float,
        ranks: dict[str, int],
        scores: dict[str, float],
        agreement: float = 0.0,
        labels: Sequence[str] = (),
        recency: float = 1.0,
        terms: Sequence[tuple[str, float, float]] = (),
        asked_like: str | None = None,
    ) -> None:
        self.memory = memory
        self.score = score
        self.ranks = ranks
        self.scores = scores
        self.agreement = agreement
        self.labels = tuple(labels)
        self.recency = recency
        self.contributions: dict[str, float] = {}
        self.agreement_factor = 1.0
        self.terms = tuple(terms)
        self.asked_like = asked_like
        self.probability = probability
        self.prior = 1.0
        self.marked = 1.0
        self.present = 1.0
        self.is_pinned = False
        self.is_loaded = False

    @property
    def relevance(self) -> float:
        """The probability that the memory helps here, 0.0 to 1.0, by all of its factors."""
        return relevance_of(self.probability, self.prior, self.marked, self.present)

    @property
    def is_exact(self) -> bool:
        """True where something else than likeness has found it: its owner has said when it is wanted, or it names the thing."""
        return not EXACT_CHANNELS.isdisjoint(self.ranks)

    @property
    def is_judged(self) -> bool:
        """True where a second look has found it relevant enough, by a bar of its own."""
        return SECOND_LOOK in self.ranks

    @property
    def found_by(self) -> tuple[str, ...]:
        """The channels that found it, by name."""
        return tuple(sorted(self.ranks))


def relevance_of(probability: float, prior: float = 1.0, marked: float = 1.0, present: float = 1.0) -> float:
    """Return the relevance that these factors make together, 0.0 to 1.0. What they are is told by `Hit`.

    >>> relevance_of(0.5), relevance_of(0.95, prior=1.1), relevance_of(0.8, marked=0.5, present=0.5)
    (0.5, 1.0, 0.2)
    """
    return round(min(1.0, probability * marked * prior) * present, 4)


class Answer:
    """One page of hits, best first.

    strategies: what ran; note: what did not, or what else there is to know; is_degraded: something that should have run did
    not. stage: the most that any of its hits can be called, which is less when only looser matching found them. query_type,
    read_as, alpha, alpha_reason: how the query was taken, the text whose meaning was compared, and the share that meaning had.
    identifiers: those of the query that memories of its scope have as they stand. corrections: words that were taken for
    misspelt ones, with what they were taken for; suggestions: words and tags of the store to try instead. by_meaning_alone:
    nothing else has found any memory. cosines_alone, end: of every result, those of other pages too, by its place from 0 the
    cosine if meaning alone has found it, else None; and the place behind this page. Nothing and 0, unless the request asked for
    it.
    """

    __slots__ = (
        "alpha",
        "alpha_reason",
        "by_meaning_alone",
        "corrections",
        "cosines_alone",
        "end",
        "hits",
        "identifiers",
        "is_degraded",
        "note",
        "query_type",
        "read_as",
        "stage",
        "strategies",
        "suggestions",
    )

    def __init__(
        self,
        hits: list[Hit],
        strategies: tuple[str, ...],
        note: str | None = None,
        *,
        identifiers: Sequence[str] = (),
        is_degraded: bool = False,
        alpha: float | None = None,
        alpha_reason: str | None = None,
        corrections: dict[str, str] | None = None,
    ) -> None:
        self.hits = hits
        self.strategies = strategies
        self.note = note
        self.is_degraded = is_degraded
        self.stage = VERY_HIGH
        self.query_type: str | None = None
        self.read_as: str | None = None
        self.alpha = alpha
        self.alpha_reason = alpha_reason
        self.corrections = corrections or {}
        self.identifiers = tuple(identifiers)
        self.suggestions: list[str] = []
        self.by_meaning_alone = False
        self.cosines_alone: dict[int, float | None] = {}
        self.end = 0

    @property
    def total(self) -> int:
        """The number of results on all pages, as far as the search has looked."""
        return len(self.cosines_alone)

    @property
    def has_more(self) -> bool:
        """True where a further page has results."""
        return max(self.cosines_alone, default=-1) >= self.end

    def without_far(self, nearness: float) -> Answer:
        """Leave out what meaning alone has found and what is less near than `nearness` (a cosine). Return the answer."""
        self.hits = [hit for hit in self.hits if hit.found_by != (SEMANTIC,) or hit.scores[SEMANTIC] >= nearness]
        near = [(place, cosine) for place, cosine in self.cosines_alone.items() if cosine is None or cosine >= nearness]
        self.cosines_alone = dict(near)
        return self

    @property
    def confidence(self) -> str:
        """The label of the answer: that of its best hit."""
        return self.confidence_of(self.hits[0]) if self.hits else NO_RESULTS

    def confidence_of(self, hit: Hit) -> str:
        """Return the confidence in a hit: how many of the strategies that ran agree on it, and how relevant it is.

        All of them (two at least) and relevant: very_high; two: high; one, but relevant: medium; else low. A degraded answer
        has medium at most, one of looser matching `low` or `speculative`.
        """
        if self.stage in (LOW, SPECULATIVE):
            return self.stage
        strong = hit.relevance >= STRONG_RELEVANCE
        agreed = round(hit.agreement * len(self.strategies))
        if agreed > 1 and not self.is_degraded:
            return VERY_HIGH if strong and agreed == len(self.strategies) else HIGH
        return MEDIUM if strong or agreed > 1 else LOW
