"""The search that offers suggestions instead of nothing: primary, relaxed, partial words, suggestions."""

from __future__ import annotations

from subcog_hooks.cues import conditions
from subcog_hooks.recall import exact, pipeline, query, vectors, words
from subcog_hooks.recall import words as recall_words
from subcog_hooks.recall.candidates import HYBRID, Request, Sources, Strictness
from subcog_hooks.recall.hits import LOW, SEMANTIC, SPECULATIVE, Answer, Eligibility
from subcog_hooks.recall.vectors import Semantic
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.store_reader import audience_of, audiences_of
from subcog_hooks.text.vocabulary import EVERYDAY, STOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    import tantivy

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.recall.candidates import Request
    from subcog_hooks.store.index import LexicalIndex

MAX_SUGGESTIONS = 6
MAX_EDITS = 2  # between a word of the query and its suggestion
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
        nearest = query.similar_words(term.whole, index, MAX_EDITS, within)
        if len(term.whole) >= SHARED_LETTERS:
            beginning = term.whole[:SHARED_LETTERS]
            nearest += [tag for tag, _ in index.tags_with(beginning, MAX_READ_WORDS, within)]
            words = [word for word, _ in index.words_with(beginning, MAX_READ_WORDS, within)]
            nearest += sorted(words, key=lambda word: (abs(len(word) - len(term.whole)), word))
        suggestions += [word for word in dict.fromkeys(nearest) if word not in (term.whole, *STOP) and not word.isdigit()][
            :SUGGESTIONS_PER_WORD
        ]
    suggestions += [tag for tag, _ in index.tags_with("", MAX_READ_WORDS, within) if tag not in STOP]
    return list(dict.fromkeys(suggestions))[:MAX_SUGGESTIONS] or _common_words(index, within)


def _common_words(index: LexicalIndex, within: tantivy.Query) -> list[str]:
    words = [word for word, _ in index.words_with("", MAX_READ_WORDS, within) if len(word) >= SHARED_LETTERS and word.isalpha()]
    return [word for word in words if word not in STOP and word not in EVERYDAY][:MAX_SUGGESTIONS]


PRIMARY_SHARE = 0.5  # of the time: 150 of 300 ms in S1
STAGES = (  # (label, strictness, share of the remaining time: 100 of 150 ms in S1, then the rest; note)
    (LOW, Strictness(0.7, words.Beginnings), 2.0 / 3.0, "nothing matches as it stands; these come near"),
    (SPECULATIVE, Strictness(0.5, words.Pieces), 1.0, "nothing matches; these share pieces of words, or a distant meaning"),
)


def search_memories(request: Request, sources: Sources, deadline: Deadline, limit: int, offset: int = 0) -> Answer:
    """Search like `pipeline.search_page`, in wider stages until something is found; label the hits by stage.

    Hits of meaning alone count only if they are nearer than chance brings a memory. Words and tags with the query's beginnings
    come before them. Raises IndexUnusable, StoreError.
    """
    request = _with_exact_matches(request, sources, deadline)
    by_chance = _ChanceFilter(request, sources)
    if offset:  # a later page comes from the stage of the first page
        stage = _search_in_stages(request, sources, deadline, by_chance, 1).stage
        strictness = next((strictness for label, strictness, _, _ in STAGES if label == stage), request.strictness)
        page = pipeline.search_page(request.wider(strictness), sources, deadline, limit, offset)
        page.stage = stage
        return by_chance.leave_out(page) if page.by_meaning_alone or stage in (LOW, SPECULATIVE) else page
    return _search_in_stages(request, sources, deadline, by_chance, limit)


def _search_in_stages(request: Request, sources: Sources, deadline: Deadline, by_chance: _ChanceFilter, limit: int) -> Answer:
    answer = pipeline.search_page(request, sources, deadline.share(PRIMARY_SHARE), limit)
    is_far = answer.by_meaning_alone and request.mode == HYBRID
    if is_far:
        answer = by_chance.leave_out(answer)
    notes = [answer.note]
    for label, strictness, share, note in STAGES:
        if answer.is_degraded and not deadline.work_left_ms():
            break
        if answer.hits and not (is_far and label == LOW):
            break
        wider = by_chance.leave_out(pipeline.search_page(request.wider(strictness), sources, deadline.share(share), limit))
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


class _ChanceFilter:
    """Filter of hits that chance may bring. Its minimal cosine is computed once, and only if needed."""

    __slots__ = ("_min_cosine", "_request", "_sources")

    def __init__(self, request: Request, sources: Sources) -> None:
        self._request = request
        self._sources = sources
        self._min_cosine: float | None = None

    def leave_out(self, answer: Answer) -> Answer:
        """Return the answer without the hits of meaning alone that are no nearer than chance brings a memory."""
        space = self._sources.space
        is_alone = any(hit.found_by == (SEMANTIC,) for hit in answer.hits) or any(answer.cosines_alone.values())
        if space is None or self._request.mode != HYBRID or not is_alone:
            return answer
        if self._min_cosine is None:
            self._min_cosine = vectors.chance_cosine(Semantic(space, self._sources.store, -1.0), self._request.scope)
        return answer.without_far(self._min_cosine)


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
    return request.with_further(exact.match_prompt(text, facts, sources.store, eligible, deadline).lists())
