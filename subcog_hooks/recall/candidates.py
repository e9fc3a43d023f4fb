"""The candidates for one query: every memory in any channel's list, with its scores, in no order yet.

The cosine of a memory found by words is looked up. The BM25 score of a memory found by meaning alone counts as none. Looking
that score up changed no measure by more than .003 and took 2 ms among 100,000 memories.
"""

from __future__ import annotations

from itertools import pairwise

from subcog_hooks.core.errors import SubcogError
from subcog_hooks.core.records import record
from subcog_hooks.recall import fusion, logit, query, relevance
from subcog_hooks.recall import words as recall_words
from subcog_hooks.recall.hits import AGREEMENT_DEPTH, LEXICAL, QUESTIONS, SEMANTIC, ChannelResult, Hit
from subcog_hooks.recall.vectors import Semantic
from subcog_hooks.store.index import IndexUnusable
from subcog_hooks.text import analysis, languages
from subcog_hooks.text.typed_prompt import ends_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from typing import Protocol

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.cues.conditions import Scalar
    from subcog_hooks.recall.hits import Ranked
    from subcog_hooks.recall.logit import Terms
    from subcog_hooks.recall.vectors import SearchSpace
    from subcog_hooks.store.index import LexicalIndex
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.store_reader import Filter, StoreReader

    class Channel(Protocol):
        """A way of finding memories.

        name: in answers and notes; strategy: for counting agreement (S1: exact and relaxed words are one strategy).
        is_floor: it runs even without time left, so that there is always an answer.
        """

        name: str
        strategy: str
        is_floor: bool

        def search(self, parsed_query: query.Query, scope: Filter, k: int, deadline: Deadline) -> Ranked:
            """Return the best `k` memories of `scope`, and all memories that score like the last. Raises SubcogError."""


HYBRID = "hybrid"
MODES = (HYBRID, LEXICAL, SEMANTIC)
EVERYDAY_WORD = 1 / 3  # weight of a keyword in lower-case letters alone
LABELS_DEPTH = 5  # memories
NEAR_COSINES = 0.01  # difference between the cosines of a text and its near-copy


_USUAL = fusion.Tuning()


@record
class Sources:
    """The stores that recall reads.

    space: where meaning is compared, None for words alone; note: the reason for a missing space.
    """

    index: LexicalIndex
    store: StoreReader
    space: SearchSpace | None = None
    tuning: fusion.Tuning = _USUAL
    note: str | None = None

    def __post_init__(self) -> None:
        self.texts = relevance.MemoryTexts(self.index.analysers)


@record
class Strictness:
    """The closeness that a memory has to match with.

    nearness: the share of min_similarity that meaning needs; words: the channels of words.
    """

    nearness: float
    words: tuple[Callable[[LexicalIndex], Channel], ...]


PRIMARY = Strictness(1.0, (recall_words.ExactWords, recall_words.Relaxed))


@record
class Request:
    """A request to recall: the text, the scope and the ranking.

    mode: one of MODES; strictness: how closely a memory has to match; correct: corrects the words of a typed query, which may
    be misspelt or cut short; is_explained: whether the answer counts the results of all pages and explains each score; facts:
    for judging conditions, None where conditions do not count; further: lists that were found without a search.
    """

    text: str
    scope: Filter
    mode: str = HYBRID
    correct: query.Correct | None = None
    is_explained: bool = False
    facts: Mapping[str, Scalar] | None = None
    strictness: Strictness = PRIMARY
    further: Sequence[ChannelResult] = ()


class Candidates:
    """The union of the channels' lists for one query.

    words: the best BM25 score of each memory found by words, by row number; full_words: the score of a memory with the whole
    query; cosines: by row number; lists: the ranks, from 1, by channel; named: the labels that the query names, with their
    rarities; identifiers: the query's identifiers that memories of the scope have; sole: row numbers of the only holders of a
    rare identifier; strategies: the strategies that ran; failures: a sentence for each that failed; is_complete: whether longer
    lists would bring no further memory.
    """

    def __init__(
        self,
        parsed_query: query.Query,
        index: LexicalIndex,
        texts: relevance.MemoryTexts,
        results: Sequence[ChannelResult],
        named: dict[str, float],
        semantic: Semantic | None,
        *,
        is_complete: bool,
    ) -> None:
        """Join the channels' lists. semantic: the channel for looking up further cosines."""
        ran = [result for result in results if result.failure is None]
        self.query = parsed_query
        self.named = named
        self.lists = {result.name: fusion.ranks_by_row(result.ranked) for result in ran}
        self._scores = {result.name: {seq: score for score, seq in result.ranked} for result in ran}
        self._strategy_of = {result.name: result.strategy for result in ran}
        self.strategies = tuple(dict.fromkeys(result.strategy for result in ran))
        self.failures = [result.failure for result in results if result.failure is not None]
        self.full_words = recall_words.full_score(index, parsed_query)
        self.is_complete = is_complete
        self.identifiers: list[str] = []
        self.sole: list[int] = []
        self._copies_of: dict[int, set[int]] = {}
        self._repeats: set[int] = set()
        self.words: dict[int, float] = {}
        for result in ran:
            if result.strategy == LEXICAL:
                for score, seq in result.ranked:
                    self.words[seq] = max(score, self.words.get(seq, 0.0))
        self.cosines = dict(self._scores.get(SEMANTIC, {}))
        self._asked = relevance.AskedTerms(parsed_query, index.analysers)
        self._standings: relevance.Standings | None = None  # computed after the cosines are looked up
        self._index = index
        self._texts = texts
        self._semantic = semantic

    def __iter__(self) -> Iterator[int]:
        """Yield the row numbers of all candidates."""
        return iter(dict.fromkeys(seq for ranks in self.lists.values() for seq in ranks))

    def look_up(self, seqs: Sequence[int]) -> None:
        """Look up the cosines of these memories. Raises StoreError, ModelError."""
        if self._semantic is not None:
            self.cosines.update(self._semantic.cosines(self.query, [seq for seq in seqs if seq not in self.cosines]))
            self._standings = None

    def leave_out_copies(self, memories: Sequence[Memory]) -> None:
        """Let each text count once where memories are compared with others. memories: the first of the ranking, in order."""
        for memory, other in self._likely_copies(memories):
            copies = self._copies_of.get(memory.seq, {memory.seq})
            if other.seq not in copies and fusion.is_copy(memory.content, other.content):
                copies = copies | self._copies_of.get(other.seq, {other.seq})
                self._copies_of.update(dict.fromkeys(copies, copies))
        for memory in memories:
            if memory.seq not in self._repeats:
                self._repeats |= self._copies_of.get(memory.seq, {memory.seq}) - {memory.seq}
        ranked_seqs = {memory.seq for memory in memories}
        scores = {(self.words.get(seq), self.cosines.get(seq)) for seq in ranked_seqs}
        for seq in (self.cosines.keys() & self.words.keys()) - ranked_seqs:
            # Their texts are not read. Two equal scores are no accident, while equal cosines alone may be one.
            if (score := (self.words[seq], self.cosines[seq])) in scores:
                self._repeats.add(seq)
            scores.add(score)
        self._standings = None

    def _likely_copies(self, memories: Sequence[Memory]) -> Iterator[tuple[Memory, Memory]]:
        """Yield the pairs of memories that may be copies: neighbours by meaning, and texts with the same end."""
        near = sorted([(self.cosines[memory.seq], memory.seq, memory) for memory in memories if memory.seq in self.cosines])
        for (cosine, _, memory), (next_cosine, _, other) in pairwise(near):
            if next_cosine - cosine <= NEAR_COSINES:
                yield memory, other
        first_by_ending: dict[str, Memory] = {}
        for memory in memories:
            first = first_by_ending.setdefault(fusion.plain_ending(memory.content), memory)
            if first is not memory:
                yield first, memory

    def agreement(self, seq: int) -> float:
        """Return the share of the strategies that rank the memory among their first AGREEMENT_DEPTH.

        It is 0.0 where only one strategy ran, because it has no other to agree with.
        """
        last_rank = AGREEMENT_DEPTH
        found_by = {self._strategy_of[name] for name, ranks in self.lists.items() if ranks.get(seq, last_rank + 1) <= last_rank}
        return len(found_by) / len(self.strategies) if len(self.strategies) > 1 else 0.0

    def cosine_alone(self, seq: int) -> float | None:
        """Return a memory's cosine if meaning alone has found it, else None."""
        return self.cosines.get(seq) if [name for name, ranks in self.lists.items() if seq in ranks] == [SEMANTIC] else None

    def is_asked(self, memory: Memory) -> bool:
        """Return whether a memory is a section whose heading is the query."""
        return self._asked.is_heading(self._texts.words_of(memory, self.query.language))

    def hit(self, memory: Memory, score: float = 0.0, recency: float = 1.0, *, is_indexed: bool = True) -> Hit:
        """Return a memory as a hit. Its matched terms replace a BM25 score that says nothing."""
        seq = memory.seq
        text = self._texts.words_of(memory, self.query.language)
        evidence = self._asked.found_in(text)
        share = None
        if not is_indexed or self._asked.is_unspaced:  # BM25 scores bigrams low, because most are no words
            share = evidence["covered"] / max(self._asked.total, relevance.MIN_ASKED)
        cosine = self.cosines.get(seq)
        if self._standings is None:
            self._standings = self._standings_without(self._repeats)
        standings = self._standings
        if seq in self._copies_of:
            standings = self._standings_without((self._repeats | self._copies_of[seq]) - {seq})
        evidence |= standings.evidence_of(seq, share)
        terms = relevance.weigh_evidence(evidence, is_foreign=self.query.is_foreign)
        if self.query.is_foreign and not languages.is_foreign(memory.content):
            # Names may tell as much as in an English prompt.
            terms = max(terms, relevance.weigh_evidence(evidence), key=logit.probability)
        ranks = {name: ranks[seq] for name, ranks in self.lists.items() if seq in ranks}
        terms = logit.with_channels(terms, ranks)
        if rarity := self._rarest_keyword(memory):
            terms = logit.with_keyword(terms, rarity)
        asked_like: str | None = None
        if memory.questions:
            asked_like, terms = self._with_question(memory, terms)
        scores = {name: round(scores_by_row[seq], 4) for name, scores_by_row in self._scores.items() if seq in scores_by_row}
        if cosine is not None:
            scores[SEMANTIC] = round(cosine, 4)
        own_labels = {analysis.label_form(label): label for label in (*memory.tags, *memory.keywords)} if self.named else {}
        hit = Hit(
            memory,
            score,
            logit.probability(terms),
            ranks,
            scores,
            agreement=self.agreement(seq),
            labels=tuple(own_labels[label] for label in self.named if label in own_labels),
            recency=recency,
            terms=terms,
            asked_like=asked_like,
        )
        hit.is_asked = self.is_asked(memory)
        hit.is_named = rarity > 0.0 or asked_like is not None or seq in self.sole
        hit.is_guess = self._asked.has_replaced and not (hit.is_named or self._asked.is_typed_in(text))
        return hit

    def _standings_without(self, copies: AbstractSet[int]) -> relevance.Standings:
        words = {seq: score for seq, score in self.words.items() if seq not in copies}
        cosines = {seq: cosine for seq, cosine in self.cosines.items() if seq not in copies}
        return relevance.Standings(words, cosines, self.full_words)

    def _with_question(self, memory: Memory, terms: Terms) -> tuple[str | None, Terms]:
        """Return the question that the query is like, None without one, and the terms with its evidence."""
        from subcog_hooks.recall import alike  # few memories have questions

        cosines: dict[int, float] = {}
        if self._semantic is not None:
            try:
                cosines = self._semantic.question_cosines(self.query, memory.seq)
            except SubcogError as error:
                self.failures.append(f"{QUESTIONS}: {error.message}")
        likeness = alike.most_alike_question(self.query.text, memory.questions, cosines, self._index.analysers)
        if cosines:
            leads = max(cosines.values()) >= self.cosines.get(memory.seq, -1.0)
        else:
            leads = self._scores.get(QUESTIONS, {}).get(memory.seq, -1.0) >= self.words.get(memory.seq, 0.0)
        terms = logit.with_question(terms, likeness.value, likeness.min_value, leads=leads)
        return likeness.question if likeness.value > likeness.min_value else None, terms

    def _rarest_keyword(self, memory: Memory) -> float:
        """Return the rarity of the rarest keyword of a memory that the query names, 0.0 without one.

        Tags do not count: they only sort memories. A single everyday word ("calm") counts less, because a prompt may use it in
        another sense.
        """
        if not self.named or not memory.keywords:
            return 0.0
        factors = {word: EVERYDAY_WORD if word.isalpha() and word.islower() else 1.0 for word in memory.keywords}
        return max([self.named.get(analysis.label_form(word), 0.0) * factor for word, factor in factors.items()])


def gather_candidates(request: Request, sources: Sources, deadline: Deadline, deeper: int = 1) -> Candidates:
    """Run the channels of the request's mode and join their lists.

    deeper: a factor on the usual length of the lists. A channel that fails or runs out of time adds to `failures`. Words run
    first, and also answer where meaning alone was asked and fails. Raises IndexUnusable.
    """
    index, tuning, scope = sources.index, sources.tuning, request.scope
    by_words = request.mode == LEXICAL or (request.mode == HYBRID and tuning.alpha != 1.0)
    by_meaning = request.mode == SEMANTIC or (request.mode == HYBRID and tuning.alpha != 0.0)
    parsed_query, results, semantic = _run_channels(
        request, sources, deadline, deeper, by_words=by_words, by_meaning=by_meaning and sources.space is not None
    )
    depths = {SEMANTIC: tuning.semantic_depth * deeper}
    is_complete = all(len(result.ranked) < depths.get(result.name, tuning.lexical_depth * deeper) for result in results)
    named = recall_words.labels_named_in(request.text, index, scope) if by_words else {}
    if named:
        labelled = run_channel(recall_words.Labels(index, named), parsed_query, scope, LABELS_DEPTH, deadline)
        results += [labelled] if labelled.ranked or labelled.failure else []  # tags of other projects do not count
    results += request.further
    candidates = Candidates(parsed_query, index, sources.texts, results, named, semantic, is_complete=is_complete)
    if semantic is not None:
        try:
            candidates.look_up(list(candidates))
        except SubcogError as error:
            candidates.failures.append(f"{SEMANTIC}: {error.message}")
    if by_words and any(term.is_identifier for term in parsed_query.terms):
        candidates.identifiers, candidates.sole = recall_words.find_holders(parsed_query, index, scope)
    if by_meaning and sources.note:
        candidates.failures.append(sources.note)
    return candidates


def _run_channels(
    request: Request, sources: Sources, deadline: Deadline, deeper: int, *, by_words: bool, by_meaning: bool
) -> tuple[query.Query, list[ChannelResult], Semantic | None]:
    """Return the query, the results of words and meaning, and the semantic channel if it could answer.

    The semantic search runs beside the others as soon as its text is known. For most prompts that is before their analysis.
    """
    index, tuning, scope = sources.index, sources.tuning, request.scope
    depth = tuning.semantic_depth * deeper
    semantic: Semantic | None = None
    if by_meaning and sources.space is not None:
        semantic = Semantic(sources.space, sources.store, tuning.min_similarity * request.strictness.nearness)
    beside = semantic if by_words else None
    word_channels = [channel_type(index) for channel_type in request.strictness.words]
    if index.max_questions and recall_words.Relaxed in request.strictness.words:
        word_channels.append(recall_words.AskedLike(index))

    def search_words() -> list[ChannelResult]:
        return [run_channel(words, parsed_query, scope, tuning.lexical_depth * deeper, deadline) for words in word_channels]

    try:
        if beside is not None and request.correct is None:
            beside.begin(ends_of(request.text), scope, depth, deadline)
        within = recall_words.scope_query(index, scope)
        parsed_query = query.analyse_query(request.text, index, within=within, correct=request.correct)
        if beside is not None:
            beside.begin(parsed_query.meant, scope, depth, deadline)
        results = search_words() if by_words else []
        if semantic is not None:
            results.append(run_channel(semantic, parsed_query, scope, depth, deadline))
    finally:
        if semantic is not None:
            semantic.end()
    if semantic is not None and results[-1].failure is not None:
        semantic = None
    if semantic is None and not by_words:  # words are better than nothing
        results += search_words()
    return parsed_query, results, semantic


def run_channel(channel: Channel, parsed_query: query.Query, scope: Filter, k: int, deadline: Deadline) -> ChannelResult:
    """Run a channel's search; record a failure or a passed deadline in the result.

    Raises IndexUnusable: without words there is no answer, and a writer rebuilds the index.
    """
    if not channel.is_floor and not deadline.work_left_ms():
        return ChannelResult(channel.name, channel.strategy, [], f"{channel.name}: no time was left for it")
    try:
        return ChannelResult(channel.name, channel.strategy, channel.search(parsed_query, scope, k, deadline))
    except IndexUnusable:
        raise
    except SubcogError as error:
        reason = error.message if deadline.work_left_ms() else "out of time"
        return ChannelResult(channel.name, channel.strategy, [], f"{channel.name}: {reason}")
