"""The search that offers suggestions instead of nothing: primary, relaxed, partial words, suggestions."""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from math import sqrt

import tantivy

from subcog_hooks.core.records import replace
from subcog_hooks.cues import conditions
from subcog_hooks.recall import exact, fusion, pipeline, query, relevance
from subcog_hooks.recall import words as recall_words
from subcog_hooks.recall.candidates import HYBRID, Request, Sources, Strictness, gather_candidates
from subcog_hooks.recall.hits import BY_RELEVANCE, IDENTIFIER, LOW, SEMANTIC, SPECULATIVE, Answer, Eligibility
from subcog_hooks.recall.vectors import Semantic
from subcog_hooks.settings.defaults import ALPHA, RELEVANCE
from subcog_hooks.store.index import LABEL
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.store_reader import Filter, StoreReader, audience_of, audiences_of
from subcog_hooks.text import EVERYDAY, STOP
from subcog_hooks.text.analysis import EXACT, spread_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.recall.candidates import Candidates
    from subcog_hooks.recall.fusion import Tuning
    from subcog_hooks.recall.hits import Hit
    from subcog_hooks.recall.pipeline import ScoredMemory
    from subcog_hooks.recall.query import Term
    from subcog_hooks.store.index import LexicalIndex

    _Fusion = tuple[dict[int, float], Candidates, float]  # scores by row number, their candidates, the share of meaning

_MIN_LIFT = 1e-7  # of a score; a smaller difference comes from rounding
MAX_SUGGESTIONS = 6
MAX_EDITS = 2  # between a word of the query and another; the limit of tantivy's fuzzy queries, too
SHARED_LETTERS = 4  # first letters in common with a suggested word
SUGGESTIONS_PER_WORD = 2
MAX_READ_WORDS = 200  # words of the same beginning


def suggest_words(request: Request, index: LexicalIndex) -> list[str]:
    """Return words and tags of the scope's memories: the nearest to the query's words, then common tags.

    Raises IndexUnusable.
    """
    within = recall_words.scope_query(index, request.scope)
    suggestions: list[str] = []
    for term in query.analyse_query(request.text, index).terms:
        if term.whole in STOP:
            continue
        nearest = similar_words(term.whole, index, MAX_EDITS, within)
        if len(term.whole) >= SHARED_LETTERS:
            beginning = term.whole[:SHARED_LETTERS]
            nearest += [tag for tag, _ in index.tags_with(beginning, MAX_READ_WORDS, within)]
            words = [word for word, _ in index.words_with(beginning, MAX_READ_WORDS, within)]
            nearest += sorted(words, key=lambda word: (abs(len(word) - len(term.whole)), word))
        useful = [word for word in dict.fromkeys(nearest) if word not in (term.whole, *STOP) and not word.isdigit()]
        suggestions += useful[:SUGGESTIONS_PER_WORD]
    suggestions += [tag for tag, _ in index.tags_with("", MAX_READ_WORDS, within) if tag not in STOP]
    if not suggestions:
        words = [word for word, _ in index.words_with("", MAX_READ_WORDS, within) if word.isalpha()]
        suggestions = [word for word in words if len(word) >= SHARED_LETTERS and not (word in STOP or word in EVERYDAY)]
    return list(dict.fromkeys(suggestions))[:MAX_SUGGESTIONS]


MAX_REPLACED = 3  # unknown words of one query: each costs half a millisecond
REPLACED_WEIGHT = 0.8  # of an unknown word with others in its place
MAX_BEGUN = 100  # words with the same beginning
SHORTEST_MISSPELT = 4  # letters of a word that others may replace; of three letters, every other combination is a word
LENGTH_FOR_TWO_EDITS = 12  # letters; in shorter words two edits turn `transform` into `transport`
KEPT_LETTERS = 2  # first letters that count as correct: people seldom err there, and a dictionary is sorted
MAX_TRIED = 5  # candidates
MAX_CANDIDATES = 5_000  # words with these first letters, the frequent words first


def correct_words(terms: list[Term], index: LexicalIndex, within: tantivy.Query | None) -> None:
    """Replace words that no memory has: by words and tags that begin with them, frequent ones first, else by a similar one."""
    terms = [term for term in terms if term.whole not in EVERYDAY] or terms  # "how does it work" asks for no worker
    unknown = [term for term in terms if not (term.is_known or term.is_identifier or term.is_cjk)]
    for term in unknown[:MAX_REPLACED]:
        words: list[str] = []
        if len(term.whole) >= SHORTEST_MISSPELT:
            counts = index.words_with(term.whole, MAX_BEGUN, within) + index.tags_with(term.whole, MAX_BEGUN, within)
            words = list(dict.fromkeys(word for word, _ in sorted(counts, key=lambda count: (-count[1], count[0]))))
        if not words and (nearest := nearest_word(term.whole, index, within)):
            words = [nearest]
        if words:
            stems = dict.fromkeys(stem for word in words for stem in index.analysers.body.analyze(spread_words(word)))
            begun = [stem for stem in stems if stem.startswith(term.whole) or term.whole.startswith(stem)]
            term.instead, term.stems = tuple(words), tuple(begun or stems)
            query.weigh_term(term, index)
            term.weight *= REPLACED_WEIGHT


def nearest_word(word: str, index: LexicalIndex, within: tantivy.Query | None = None) -> str | None:
    """Return the nearest word of the memories: fewest edits, then in most memories, then by the alphabet.

    An edit is an added, missing or other letter, or two swapped. Words of 4 to 11 letters may have one, longer words two. None
    without such a word. Raises IndexUnusable.
    """
    max_edits = 2 if len(word) >= LENGTH_FOR_TWO_EDITS else 1
    for other in similar_words(word, index, max_edits)[:MAX_TRIED]:
        clauses = [tantivy.Query.term_query(index.schema, EXACT, other), *([within] if within is not None else [])]
        # Counting all words within these memories takes 1 to 5 ms.
        if within is None or index.count(tantivy.Query.boolean_query([(tantivy.Occur.Must, clause) for clause in clauses])):
            return other
    return None


def similar_words(word: str, index: LexicalIndex, max_edits: int, within: tantivy.Query | None = None) -> list[str]:
    """Return the words within `max_edits` of `word`, nearest first, of all memories or of `within`."""
    if len(word) < SHORTEST_MISSPELT or not word.isalpha():
        return []
    candidates: list[tuple[int, int, str]] = []
    for prefix in {word[:KEPT_LETTERS], word[0] + word[2]}:  # The second letter may have changed places with the third.
        for other, frequency in index.words_with(prefix, MAX_CANDIDATES, within):
            if abs(len(other) - len(word)) <= max_edits and other.isalpha():
                candidates.append((edit_distance(word, other, max_edits), -frequency, other))
    return list(dict.fromkeys(other for edits, _, other in sorted(candidates) if edits <= max_edits))


def edit_distance(a: str, b: str, max_edits: int) -> int:
    """Return the edits between two words (optimal string alignment), `max_edits` + 1 as soon as there are more.

    >>> edit_distance("kuberntes", "kubernetes", 2), edit_distance("teh", "the", 1), edit_distance("port", "queue", 2)
    (1, 1, 3)
    """
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        older, before, row = before, row, [i]
        for j, other in enumerate(b, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                best = min(best, older[j - 2] + 1)
            row.append(best)
        if min(row) > max_edits:
            return max_edits + 1
    return min(row[-1], max_edits + 1)


BEGINNING, ENDING = 5, 3  # letters: the minimal beginning of a word, and the ending that may differ
PIECE = 3  # minimal letters of a word that may match inside others
LETTERS_PER_EDIT = 4  # letters; two edits in five letters turn any word into any other
MAX_PATTERNS = 8  # words of one query; each pattern reads the whole dictionary


def _plain_terms(parsed_query: query.Query, min_length: int) -> list[str]:
    return [term.whole for term in parsed_query.terms if term.whole.isalnum() and len(term.whole) >= min_length][:MAX_PATTERNS]


class Beginnings(recall_words.WordChannel):
    """Memories with a word, tag or keyword that begins, at least nearly, with one of the query's words."""

    name = "lexical_beginnings"

    def _matching(self, parsed_query: query.Query) -> tantivy.Query | None:
        make, schema = tantivy.Query, self._index.schema
        beginnings = [word[: max(BEGINNING, len(word) - ENDING)] for word in _plain_terms(parsed_query, BEGINNING)]
        words = _plain_terms(parsed_query, PIECE)
        begun = [make.regex_query(schema, EXACT, f"{start}.*") for start in (*words, *beginnings)]
        begun += [make.regex_query(schema, LABEL, f"(.* )?{word}.*") for word in words]
        return recall_words.any_of(begun) if begun else None


class Pieces(recall_words.WordChannel):
    """Memories with a word that contains one of the query's words, or differs in one or two letters."""

    name = "lexical_pieces"

    def _matching(self, parsed_query: query.Query) -> tantivy.Query | None:
        make, schema = tantivy.Query, self._index.schema
        words = _plain_terms(parsed_query, PIECE)
        edits = {word: min(MAX_EDITS, len(word) // LETTERS_PER_EDIT) for word in words if len(word) > PIECE + 1}
        matching = [make.regex_query(schema, EXACT, f".*{word}.*") for word in words]
        matching += [make.fuzzy_term_query(schema, EXACT, word, max_edits) for word, max_edits in edits.items()]
        return recall_words.any_of(matching) if matching else None


PRIMARY_SHARE = 0.5  # of the time: 150 of 300 ms in S1
_NEAR = "nothing matches as it stands; these come near"
_FAR = "nothing matches; these share pieces of words, or a distant meaning"
STAGES = (  # (label, strictness, share of the remaining time: 100 of 150 ms in S1, then the rest; note)
    (LOW, Strictness(0.7, (Beginnings,)), 2.0 / 3.0, _NEAR),
    (SPECULATIVE, Strictness(0.5, (Pieces,)), 1.0, _FAR),
)


def search_memories(request: Request, sources: Sources, deadline: Deadline, limit: int, offset: int = 0) -> Answer:
    """Search like `search_page`, in wider stages until something is found; label the hits by stage.

    Hits of meaning alone count only if they are nearer than chance brings a memory. Words and tags with the query's beginnings
    come before them. Raises IndexUnusable, StoreError.
    """
    if request.mode == HYBRID and sources.tuning.alpha == 1.0:
        request = replace(request, mode=SEMANTIC)
    request = _with_exact_matches(request, sources, deadline)
    by_chance = _ChanceFilter(request, sources)
    if offset:  # a later page comes from the stage of the first page
        stage = _search_in_stages(request, sources, deadline, by_chance, 1).stage
        strictness = next((strictness for label, strictness, _, _ in STAGES if label == stage), request.strictness)
        page = search_page(replace(request, strictness=strictness), sources, deadline, limit, offset)
        page.stage = stage
        return by_chance.leave_out(page) if page.by_meaning_alone or stage in (LOW, SPECULATIVE) else page
    return _search_in_stages(request, sources, deadline, by_chance, limit)


def _search_in_stages(request: Request, sources: Sources, deadline: Deadline, by_chance: _ChanceFilter, limit: int) -> Answer:
    answer = search_page(request, sources, deadline.share(PRIMARY_SHARE), limit)
    is_far = answer.by_meaning_alone and request.mode == HYBRID
    if is_far:
        answer = by_chance.leave_out(answer)
    notes = [answer.note]
    for label, strictness, share, note in STAGES:
        if answer.is_degraded and not deadline.work_left_ms():
            break
        if answer.hits and not (is_far and label == LOW):
            break
        wider = by_chance.leave_out(search_page(replace(request, strictness=strictness), sources, deadline.share(share), limit))
        if answer.hits and (wider.by_meaning_alone or not wider.hits):
            break
        wider.stage = label
        wider.is_degraded = wider.is_degraded or answer.is_degraded
        notes += [note if wider.hits else None, wider.note]
        answer = wider
    else:
        answer.suggestions = suggest_words(request, sources.index)
    answer.note = "; ".join(dict.fromkeys(filter(None, notes))) or None
    return answer


# Made-up words. Other made-up words, and English words that no memory had, exceeded the cosine below in 2 of 100 cases among
# 3,118 memories, in 4 of 100 among six. Of 1,348 real questions 3 found nothing, all among six memories without their words.
PROBES = (
    *("vexuno dralit", "xqzvbrt", "plomkirat fenud", "wubaxi", "zhqorv kjtwyp", "mirtulon"),
    *("gavetok sibru", "qpfhzl", "tosmeduba", "yrkvnw dcxo", "belfarino", "hutigax ropel zuma"),
)
DEVIATIONS = 3.0  # standard deviations above the mean; with 2.5, 10 in 100 passed on either half


class _ChanceFilter:
    """Filter of hits that chance may bring."""

    def __init__(self, request: Request, sources: Sources) -> None:
        self._request = request
        self._sources = sources

    @cached_property
    def _min_cosine(self) -> float:
        """The cosine that a text without meaning hardly reaches in the scope. Raises StoreError, ModelError."""
        assert self._sources.space is not None
        semantic = Semantic(self._sources.space, self._sources.store, -1.0)
        nearest = [cosine for probe in PROBES if (cosine := semantic.nearest(probe, self._request.scope)) is not None]
        if not nearest:
            return -1.0
        mean = sum(nearest) / len(nearest)
        deviation = sqrt(sum([(cosine - mean) ** 2 for cosine in nearest]) / len(nearest))
        return round(mean + DEVIATIONS * deviation, 4)  # rounded like the hits'

    def leave_out(self, answer: Answer) -> Answer:
        """Remove the hits of meaning alone that are no nearer than chance brings a memory. Return the answer."""
        alone = answer.cosines_alone
        is_alone = any(hit.found_by == (SEMANTIC,) for hit in answer.hits) or any(alone.values())
        if self._sources.space is None or self._request.mode != HYBRID or not is_alone:
            return answer
        limit = self._min_cosine
        answer.hits = [hit for hit in answer.hits if hit.found_by != (SEMANTIC,) or hit.scores[SEMANTIC] >= limit]
        near = [(position, cosine) for position, cosine in alone.items() if cosine is None or cosine >= limit]
        answer.cosines_alone = dict(near)
        return answer


def _with_exact_matches(request: Request, sources: Sources, deadline: Deadline) -> Request:
    """Return the request with the memories that triggers and conditions of its scope bring. Raises StoreError.

    A person may ask in the words of a prompt. Conditions bring memories only where the request has facts.
    """
    has_triggers, has_conditions = sources.store.has_cues()
    facts = request.facts if has_conditions else None
    if request.mode != HYBRID or not (has_triggers or facts is not None):
        return request
    audiences = request.scope.audiences
    if audiences is None:
        audiences = (*audiences_of(), *(audience_of("project", name) for name in sources.store.projects()))

    def holds(memory: Memory) -> bool:
        return facts is None or not memory.when or conditions.conditions_hold(memory.when, facts)

    eligible = Eligibility(audiences, now_ms(), holds=holds)
    text = request.text if has_triggers else ""
    return replace(request, further=tuple(exact.match_prompt(text, facts, sources.store, eligible, deadline).lists()))


def search_page(request: Request, sources: Sources, deadline: Deadline, limit: int, offset: int = 0) -> Answer:
    """Return the hits from `offset`, best first: by score, then newest, then id; long ones by relevance.

    Pages of one query never overlap.

    The lists grow where expired memories took positions, or for a far page. Memories of only the longer lists come behind the
    others, so an earlier page stays as it was. Raises IndexUnusable, StoreError.
    """
    tuning, store = sources.tuning, sources.store
    read_at_ms = now_ms()
    may_be_shown = _visibility_test(request, store, read_at_ms)
    end = offset + limit
    ordered: list[ScoredMemory] = []
    fusions: list[_Fusion] = []
    candidates = gather_candidates(request, sources, deadline)
    deeper = 1
    has_page = False
    while True:
        if not has_page:  # a longer search only counts results: it does not change this page
            page_candidates = candidates
            alpha, alpha_reason = pipeline.choose_alpha(
                candidates, tuning, lambda: recall_words.count_memories(sources.index, request.scope)
            )
        earlier_seqs = {memory.seq for memory, _, _ in ordered}
        scores = {
            seq: score for seq, score in pipeline.fused_scores(candidates, tuning, alpha).items() if seq not in earlier_seqs
        }
        fusions.append((scores, candidates, alpha))
        placed = pipeline.memories_by_score(scores, candidates.sole, store, tuning, read_at_ms, may_be_shown)
        max_distinct = None if request.is_explained else max(end, pipeline.REORDERED)
        places = [*islice(fusion.distinct_positions(_read_contents(ordered, placed), tuning.near_duplicate), max_distinct)]
        distinct = [ordered[position] for position in places]
        has_page = len(distinct) >= end
        if deeper == 1:
            last = places[pipeline.REORDERED - 1] if len(places) >= pipeline.REORDERED else len(ordered)
            first_hits = _hits_by_relevance(distinct[: pipeline.REORDERED], ordered[: last + 1], candidates, request, sources)
        if candidates.is_complete or (len(distinct) > end if request.is_explained else has_page):
            break
        deeper *= 4
        further = gather_candidates(request, sources, deadline, deeper)
        if further.failures:  # for instance out of time: the earlier results stay
            if not has_page:
                candidates.failures += [failure for failure in further.failures if failure not in candidates.failures]
            break
        candidates = further
    if first_hits:
        distinct[: len(first_hits)] = [(hit.memory, hit.score, hit.recency) for hit in first_hits.values()]
        alpha_reason += BY_RELEVANCE if offset < len(first_hits) else ""
    order = _order_of_results([memory for memory, _, _ in distinct], page_candidates, sources)
    page = [distinct[position] for position in order[offset:end]]
    page_candidates.leave_out_copies([memory for memory, _, _ in ordered[: fusion.WINDOW]])
    answer = pipeline.build_answer(
        [first_hits.get(scored[0].seq) or page_candidates.hit(*scored) for scored in page], page_candidates, alpha, alpha_reason
    )
    relevance.discount_siblings(answer.hits, answer.identifiers, sources.texts)
    if request.is_explained:
        _explain_scores(answer.hits, fusions, tuning)
        alone = [candidates.cosine_alone(distinct[position][0].seq) for position in order]
        answer.cosines_alone, answer.end = dict(enumerate(alone)), end
    answer.by_meaning_alone = not any(ranks for name, ranks in page_candidates.lists.items() if name != SEMANTIC)
    answer.query_type = page_candidates.query.type
    answer.read_as = page_candidates.query.meant
    return answer


NEAR_COPY = 0.6  # similarity of the stems
FIRST_RESULTS, MAX_COPIES = 5, 2  # the first results, and the most near copies among these
SPREAD = 20  # results from the top among which near copies are moved back


def spread_copies(texts: Sequence[frozenset[str]]) -> list[int]:
    """Return the positions of texts with at most MAX_COPIES near copies among the first FIRST_RESULTS; others follow these.

    texts: the stems of each. A near copy has much the same words, and no number of its own.

    >>> spread_copies([frozenset(words) for words in ("abcd", "abcde", "abcd5", "abcdf", "abcdg", "xyz", "wvu")])
    [0, 1, 2, 5, 6, 3, 4]
    """
    first: list[int] = []
    for position, words in enumerate(texts):
        near = [texts[other] for other in first if fusion.similarity(words, texts[other]) >= NEAR_COPY]
        copies = [other for other in near if not any(map(str.isdigit, "".join(words ^ other)))]
        if len(copies) < MAX_COPIES:
            first.append(position)
        if len(first) == FIRST_RESULTS:
            break
    return [*first, *(position for position in range(len(texts)) if position not in first)]


def _order_of_results(memories: Sequence[Memory], candidates: Candidates, sources: Sources) -> list[int]:
    """Return the positions of memories, with near copies apart.

    Of a query without a known word, memories near in meaning alone come last: that is a guess upon a guess.
    """
    first = [sources.texts.words_of(memory).has for memory in memories[:SPREAD]]
    order = [*spread_copies(first), *range(len(first), len(memories))]
    if (terms := candidates.query.terms) and all(term.instead for term in terms):
        order.sort(key=lambda position: candidates.cosine_alone(memories[position].seq) is not None)
    return order


def _hits_by_relevance(
    scored: Sequence[ScoredMemory], read: Sequence[ScoredMemory], candidates: Candidates, request: Request, sources: Sources
) -> dict[int, Hit]:
    """Return the first memories of a search as hits by row number, most relevant first; none where the score orders better.

    read: these and their copies. They are the same for each page. Relevance is fitted on sections of documentation, and orders
    them better where most are longer than a note. Its order has an nDCG@10 of .771 on devmem (score: .757), .870 and .764 on
    part A of gate and real (.857, .746), .732 and .595 on part B (.717, .584). Among short notes it is worse: .853 on the
    project's own (.863), but there a section whose heading is the query would stand behind the lists that repeat it.
    """
    is_hybrid = request.mode == HYBRID and SEMANTIC in candidates.strategies
    is_usual = sources.tuning.mode == RELEVANCE and sources.tuning.alpha == ALPHA
    long = sum(len(memory.content.split()) > relevance.LONGEST_NOTE for memory, _, _ in scored)
    is_better = 2 * long > len(scored) or any(candidates.is_asked(memory) for memory, _, _ in scored)
    if not (is_hybrid and is_usual and is_better) or candidates.sole:
        return {}
    candidates.leave_out_copies([memory for memory, _, _ in read])
    hits = [candidates.hit(*one) for one in scored]
    relevance.discount_siblings(hits, candidates.identifiers, sources.texts)
    pipeline.lift_headings(hits)
    return {hit.memory.seq: hit for hit in sorted(hits, key=lambda hit: (-hit.relevance * hit.recency, not hit.is_asked))}


def _explain_scores(hits: Sequence[Hit], fusions: Sequence[_Fusion], tuning: Tuning) -> None:
    """Set the contributions of each hit. fusions: in the order of the lists' depth; the first with a memory counts."""
    for scores, candidates, alpha in fusions:
        scored = [hit for hit in hits if hit.memory.seq in scores]
        if not scored:
            continue
        by_channel = pipeline.channel_contributions(candidates, tuning, alpha)
        for hit in scored:
            seq = hit.memory.seq
            hit.contributions = {name: amounts[seq] for name, amounts in by_channel.items() if amounts.get(seq)}
            hit.agreement_factor = pipeline.agreement_factor(seq, candidates, tuning)
            total = sum(hit.contributions.values())
            if seq in candidates.sole and (lifted := hit.score / (hit.agreement_factor * hit.recency) - total) > _MIN_LIFT:
                hit.contributions[IDENTIFIER] = lifted


def _read_contents(ordered: list[ScoredMemory], more: Iterator[ScoredMemory]) -> Iterator[str]:
    """Yield the contents of the memories in `ordered`, then of `more`; append each of these to `ordered`."""
    for memory, _, _ in ordered:
        yield memory.content
    for placed in more:
        ordered.append(placed)
        yield placed[0].content


def _visibility_test(request: Request, store: StoreReader, now_ms: int) -> Callable[[Memory], bool]:
    """Return a test for a memory's row in the store, since the index may be behind: the scope and the conditions allow it."""
    scope, facts = request.scope, request.facts
    on_path = None
    if scope.paths:
        on_path = set(store.matching_seqs(Filter(paths=scope.paths, statuses=(), include_expired=True)))

    def is_visible(memory: Memory) -> bool:
        return (
            memory.status != "deleted"
            and (not scope.statuses or memory.status in scope.statuses)
            and (scope.include_expired or memory.expires_at is None or memory.expires_at > now_ms)
            and (scope.audiences is None or audience_of(memory.scope, memory.project) in scope.audiences)
            and (not scope.namespaces or memory.namespace in scope.namespaces)
            and (scope.since is None or memory.created_at >= scope.since)
            and (facts is None or not memory.when or conditions.conditions_hold(memory.when, facts))
            and {tag.lower() for tag in memory.tags}.issuperset(tag.lower() for tag in scope.tags)
            and (on_path is None or memory.seq in on_path)
        )

    return is_visible
