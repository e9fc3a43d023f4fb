"""The candidates for one query, joined from all channels: every memory in any list, with all that is known of it. No order yet.

The cosine of a memory found by words is looked up. The BM25 score of one found by meaning alone, behind the first hundred by
words, counts as none: looking it up changed no measure by more than .003 and took 2 ms among 100,000 memories.
"""

from __future__ import annotations

from subcog_hooks.core.errors import SubcogError
from subcog_hooks.recall import channel, fusion, labels, logit, query, relevance
from subcog_hooks.recall import words as recall_words
from subcog_hooks.recall.hits import AGREED, LEXICAL, QUESTIONS, SEMANTIC, Hit
from subcog_hooks.recall.tuning import Tuning
from subcog_hooks.recall.vectors import SearchSpace, Semantic
from subcog_hooks.text import analysis
from subcog_hooks.text.typed import ends_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.cues.conditions import Scalar
    from subcog_hooks.recall.logit import Terms
    from subcog_hooks.store.index import LexicalIndex
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.store import Filter, Store

HYBRID = "hybrid"
MODES = (HYBRID, LEXICAL, SEMANTIC)
EVERYDAY_WORD = 1 / 3  # what a keyword of small letters without a blank, a hyphen or a digit counts
LABELS_DEPTH = 5  # memories that labels lift


class Sources:
    """The stores that recall reads.

    space: where meaning is compared, None for words alone; note: why there is none; texts: the words of the memories that were
    looked at last.
    """

    __slots__ = ("index", "note", "space", "store", "texts", "tuning")

    def __init__(
        self,
        index: LexicalIndex,
        store: Store,
        space: SearchSpace | None = None,
        tuning: Tuning | None = None,
        note: str | None = None,
    ) -> None:
        self.index = index
        self.store = store
        self.space = space
        self.tuning = tuning or Tuning()
        self.note = note
        self.texts = relevance.MemoryTexts(index.analysers)


class Net:
    """A measure of how closely a memory has to match.

    words: the channels; nearness: the share of min_similarity that meaning needs.
    """

    __slots__ = ("nearness", "words")

    def __init__(self, nearness: float, *words: Callable[[LexicalIndex], channel.Channel]) -> None:
        self.nearness = nearness
        self.words = words


PRIMARY = Net(1.0, recall_words.ExactWords, recall_words.Relaxed)


class Request:
    """A request to recall: the text, the scope and the ranking that are asked for.

    mode: one of MODES; net: how closely a memory has to match; is_typed: a person's query, whose words may be misspelt, not a
    prompt; by_labels: whether the tags and keywords that it names count; is_explained: whether the answer says
    how many results all pages have, and each hit what its score is made of; facts: those by which conditions are
    judged, None where conditions do not count; further: what was found without a search.
    """

    __slots__ = ("by_labels", "facts", "further", "is_explained", "is_typed", "mode", "net", "scope", "text")

    def __init__(
        self,
        text: str,
        scope: Filter,
        *,
        mode: str = HYBRID,
        is_typed: bool = False,
        by_labels: bool = True,
        is_explained: bool = False,
        facts: Mapping[str, Scalar] | None = None,
        net: Net = PRIMARY,
        further: Sequence[channel.Found] = (),
    ) -> None:
        self.text = text
        self.scope = scope
        self.mode = mode
        self.is_typed = is_typed
        self.by_labels = by_labels
        self.is_explained = is_explained
        self.facts = facts
        self.net = net
        self.further = tuple(further)

    def about(self, text: str, scope: Filter) -> Request:
        """Return this request with another text and another scope."""
        return self._with(self.net, self.further, text, scope)

    def wider(self, net: Net) -> Request:
        """Return this request with another net."""
        return self._with(net, self.further)

    def with_further(self, further: Sequence[channel.Found]) -> Request:
        """Return this request with lists that were found without a search."""
        return self._with(self.net, further)

    def _with(
        self, net: Net, further: Sequence[channel.Found], text: str | None = None, scope: Filter | None = None
    ) -> Request:
        return Request(
            self.text if text is None else text,
            scope or self.scope,
            mode=self.mode,
            is_typed=self.is_typed,
            by_labels=self.by_labels,
            is_explained=self.is_explained,
            facts=self.facts,
            net=net,
            further=further,
        )


class Candidates:
    """The union of the channels' lists for one query.

    words: the best BM25 score of each memory that a channel of words found, by row number; full_words: that of a memory which
    has all of the query; cosines: of all that have one; lists: the ranks, from 1, by channel; named: the labels that the query
    names, with their rarities; identifiers: those of the query that memories of the scope have; sole: the memories that alone
    have a rare one, by row number; strategies: what ran; failures: what did not, each in a sentence; is_complete: whether
    longer lists would bring nobody else.
    """

    __slots__ = (
        "_asked",
        "_index",
        "_scores",
        "_semantic",
        "_standings",
        "_strategy_of",
        "_texts",
        "cosines",
        "failures",
        "full_words",
        "identifiers",
        "is_complete",
        "lists",
        "named",
        "query",
        "sole",
        "strategies",
        "words",
    )

    def __init__(
        self,
        asked: query.Query,
        index: LexicalIndex,
        texts: relevance.MemoryTexts,
        found: Sequence[channel.Found],
        named: dict[str, float],
        semantic: Semantic | None = None,
        *,
        full_words: float = 0.0,
        is_complete: bool = True,
    ) -> None:
        """Join what the channels found.

        semantic: where further cosines are looked up; is_complete: whether longer lists would bring nobody else.
        """
        ran = [one for one in found if one.failure is None]
        self.query = asked
        self.named = named
        self.lists = {one.name: fusion.ranks_of(one.ranked) for one in ran}
        self._scores = {one.name: {seq: score for score, seq in one.ranked} for one in ran}
        self._strategy_of = {one.name: one.strategy for one in ran}
        self.strategies = tuple(dict.fromkeys(one.strategy for one in ran))
        self.failures = [one.failure for one in found if one.failure is not None]
        self.full_words = full_words
        self.is_complete = is_complete
        self.identifiers: list[str] = []
        self.sole: list[int] = []
        self.words: dict[int, float] = {}
        for one in ran:
            if one.strategy == LEXICAL:
                for score, seq in one.ranked:
                    self.words[seq] = max(score, self.words.get(seq, 0.0))
        self.cosines = dict(self._scores.get(SEMANTIC, {}))
        self._asked = relevance.AskedTerms(asked, index.analysers)
        self._standings: relevance.Standings | None = None  # made when cosines have been looked up
        self._index = index
        self._texts = texts
        self._semantic = semantic

    def __iter__(self) -> Iterator[int]:
        """Yield the row numbers of all candidates."""
        return iter(dict.fromkeys(seq for ranks in self.lists.values() for seq in ranks))

    def look_up(self, seqs: Sequence[int]) -> None:
        """Make the cosines of these memories known. Raises StoreError, ModelError."""
        if self._semantic is not None:
            self.cosines.update(self._semantic.cosines(self.query, [seq for seq in seqs if seq not in self.cosines]))
            self._standings = None

    def agreement(self, seq: int) -> float:
        """Return the share of the strategies that ran which have the memory among their first AGREED."""
        found_by = {self._strategy_of[name] for name, ranks in self.lists.items() if ranks.get(seq, AGREED + 1) <= AGREED}
        return fusion.agreement(len(found_by), len(self.strategies))

    def cosine_alone(self, seq: int) -> float | None:
        """Return a memory's cosine if meaning alone has found it, else None."""
        return self.cosines.get(seq) if [name for name, ranks in self.lists.items() if seq in ranks] == [SEMANTIC] else None

    def hit(self, memory: Memory, score: float = 0.0, recency: float = 1.0, *, is_indexed: bool = True) -> Hit:
        """Return the hit that a memory is, with its relevance.

        Its terms stand for its score where no score tells anything.
        """
        seq = memory.seq
        found = self._asked.found_in(self._texts.words_of(memory, self.query.language))
        share = None
        if not is_indexed or self._asked.is_unspaced:  # BM25 makes little of bigrams, most of which are no words
            share = found["covered"] / max(self._asked.total, relevance.LEAST_ASKED)
        cosine = self.cosines.get(seq)
        if self._standings is None:
            self._standings = relevance.Standings(self.words, self.cosines, self.full_words)
        terms = relevance.weigh_evidence(found | self._standings.evidence_of(seq, share))
        ranks = {name: ranks[seq] for name, ranks in self.lists.items() if seq in ranks}
        terms = logit.with_channels(terms, ranks)
        if rarity := self._rarest_keyword(memory):
            terms = logit.with_keyword(terms, rarity)
        asked_like: str | None = None
        if memory.questions:
            asked_like, terms = self._with_question(memory, terms)
        scores = {name: round(known[seq], 4) for name, known in self._scores.items() if seq in known}
        if cosine is not None:
            scores[SEMANTIC] = round(cosine, 4)
        own = {analysis.label_form(label): label for label in (*memory.tags, *memory.keywords)} if self.named else {}
        return Hit(
            memory,
            score,
            logit.probability(terms),
            ranks,
            scores,
            agreement=self.agreement(seq),
            labels=[own[label] for label in self.named if label in own],
            recency=recency,
            terms=terms,
            asked_like=asked_like,
        )

    def _with_question(self, memory: Memory, terms: Terms) -> tuple[str | None, Terms]:
        """Return the question of a memory that the query is like, None for none, and the terms with that evidence."""
        from subcog_hooks.recall import asked_like  # few memories have questions

        seq = memory.seq
        cosines = self._question_cosines(seq)
        found = asked_like.most_like(self.query.text, memory.questions, cosines, self._index.analysers)
        if cosines:
            leads = max(cosines.values()) >= self.cosines.get(seq, -1.0)
        else:
            leads = self._scores.get(QUESTIONS, {}).get(seq, -1.0) >= self.words.get(seq, 0.0)
        is_like = found.value > found.least
        return found.question if is_like else None, logit.with_question(terms, found.value, found.least, leads=leads)

    def _question_cosines(self, seq: int) -> dict[int, float]:
        if self._semantic is None:
            return {}
        try:
            return self._semantic.question_cosines(self.query, seq)
        except SubcogError as error:
            self.failures.append(f"{QUESTIONS}: {error.message}")
            return {}

    def _rarest_keyword(self, memory: Memory) -> float:
        """Return the rarity of the rarest of a memory's keywords that the query names, 0.0 without one.

        A tag only sorts memories.

        An everyday word that stands alone ("calm") counts less: a prompt may well use it in another sense.
        """
        if not self.named or not memory.keywords:
            return 0.0
        return max(
            [
                self.named.get(analysis.label_form(word), 0.0) * (EVERYDAY_WORD if word.isalpha() and word.islower() else 1.0)
                for word in memory.keywords
            ]
        )


def gather(request: Request, sources: Sources, deadline: Deadline, deeper: int = 1) -> Candidates:
    """Run the channels that the request's mode names and join their lists.

    deeper: how many times as long as usual the lists may be. A channel that fails, or is out of time, is among the `failures`.
    Words come first, and answer where meaning was wanted alone and fails. Raises IndexUnusable.
    """
    index, tuning, scope = sources.index, sources.tuning, request.scope
    by_words, by_meaning = _wanted(request.mode, tuning)
    asked, found, semantic = _run_channels(request, sources, deadline, deeper)
    depths = {SEMANTIC: tuning.semantic_depth * deeper}
    is_complete = all(len(one.ranked) < depths.get(one.name, tuning.lexical_depth * deeper) for one in found)
    named = labels.named_by(request.text, index, scope) if by_words and request.by_labels else {}
    if named:
        carried = channel.run_channel(labels.Labels(index, named), asked, scope, LABELS_DEPTH, deadline)
        found += [carried] if carried.ranked or carried.failure else []  # tags of other projects have no say
    found += request.further
    full_words = recall_words.full_score(index, asked)
    candidates = Candidates(asked, index, sources.texts, found, named, semantic, full_words=full_words, is_complete=is_complete)
    if semantic is not None:
        try:
            candidates.look_up(list(candidates))
        except SubcogError as error:
            candidates.failures.append(f"{SEMANTIC}: {error.message}")
    if by_words and any(term.is_identifier for term in asked.terms):
        from subcog_hooks.recall import identifiers  # few queries name one

        candidates.identifiers, candidates.sole = identifiers.look_up(asked, index, scope)
    if by_meaning and sources.note:
        candidates.failures.append(sources.note)
    return candidates


def _run_channels(
    request: Request, sources: Sources, deadline: Deadline, deeper: int
) -> tuple[query.Query, list[channel.Found], Semantic | None]:
    """Return the query, what the channels of words and meaning found for it, and the latter if it could answer.

    Meaning is searched beside words, from when its text is known. Most prompts mean what they say: before they are analysed.
    """
    index, tuning, scope = sources.index, sources.tuning, request.scope
    by_words, by_meaning = _wanted(request.mode, tuning)
    depth = tuning.semantic_depth * deeper
    semantic: Semantic | None = None
    if by_meaning and sources.space is not None:
        semantic = Semantic(sources.space, sources.store, tuning.min_similarity * request.net.nearness)
    beside = semantic if by_words else None
    try:
        if beside is not None and not request.is_typed:
            beside.begin(ends_of(request.text), scope, depth, deadline)
        asked = query.analyse(request.text, index, within=recall_words.scope(index, scope), correct=request.is_typed)
        if beside is not None:
            beside.begin(asked.meant, scope, depth, deadline)
        found = _search_words(request, asked, sources, deadline, deeper) if by_words else []
        if semantic is not None:
            found.append(channel.run_channel(semantic, asked, scope, depth, deadline))
    finally:
        if semantic is not None:
            semantic.end()
    if semantic is not None and found[-1].failure is not None:
        semantic = None
    if semantic is None and not by_words:  # words are better than nothing
        found += _search_words(request, asked, sources, deadline, deeper)
    return asked, found, semantic


def _search_words(
    request: Request, asked: query.Query, sources: Sources, deadline: Deadline, deeper: int
) -> list[channel.Found]:
    depth = sources.tuning.lexical_depth * deeper
    kinds = [kind(sources.index) for kind in request.net.words]
    if sources.index.most_questions and recall_words.Relaxed in request.net.words:
        kinds.append(recall_words.AskedLike(sources.index))
    return [channel.run_channel(kind, asked, request.scope, depth, deadline) for kind in kinds]


def _wanted(mode: str, tuning: Tuning) -> tuple[bool, bool]:
    """Return whether words, and meaning, are asked.

    A share of 0 or 1 leaves the other side out, as the modes do.
    """
    if mode == HYBRID:
        return tuning.alpha != 1.0, tuning.alpha != 0.0
    return mode == LEXICAL, mode == SEMANTIC
