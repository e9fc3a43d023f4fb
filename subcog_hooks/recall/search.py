"""The search that never returns nothing without a suggestion: primary, relaxed, partial words, suggestions."""

from __future__ import annotations

from subcog_hooks.cues import conditions
from subcog_hooks.recall import exact, pipeline, query, spelling, vectors, words
from subcog_hooks.recall import words as recall_words
from subcog_hooks.recall.candidates import HYBRID, Net, Request, Sources
from subcog_hooks.recall.hits import LOW, SEMANTIC, SPECULATIVE, Answer, Eligibility
from subcog_hooks.recall.vectors import Semantic
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.store import audience_of, audiences_of
from subcog_hooks.text.vocabulary import EVERYDAY, STOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    import tantivy

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.recall.candidates import Request
    from subcog_hooks.store.index import LexicalIndex

MAX_SUGGESTIONS = 6  # suggestions
EDITS = 2  # between what was written and a word that is suggested for it
SHARED = 4  # first letters that a suggested word shares
A_WORD = 2  # suggestions for one word of the query
READ = 200  # words of the same beginning that are looked at


def nearby_words(request: Request, index: LexicalIndex) -> list[str]:
    """Return words and tags of the memories in the request's scope: the nearest to the query's words, then common tags.

    Raises IndexUnusable.
    """
    within = recall_words.scope(index, request.scope)
    found: list[str] = []
    for term in query.analyse(request.text, index).terms:
        if term.whole in STOP:
            continue
        nearest = spelling.similar(term.whole, index, EDITS, within)
        if len(term.whole) >= SHARED:
            beginning = term.whole[:SHARED]
            nearest += [tag for tag, _ in index.tags_with(beginning, READ, within)]
            words = [word for word, _ in index.words_with(beginning, READ, within)]
            nearest += sorted(words, key=lambda word: (abs(len(word) - len(term.whole)), word))
        found += [word for word in dict.fromkeys(nearest) if word not in (term.whole, *STOP) and not word.isdigit()][:A_WORD]
    found += [tag for tag, _ in index.tags_with("", READ, within) if tag not in STOP]
    return list(dict.fromkeys(found))[:MAX_SUGGESTIONS] or _common(index, within)


def _common(index: LexicalIndex, within: tantivy.Query) -> list[str]:
    """Return the words that most memories have, where they have no tags: what there is to ask for at all."""
    words = [word for word, _ in index.words_with("", READ, within) if len(word) >= SHARED and word.isalpha()]
    return [word for word in words if word not in STOP and word not in EVERYDAY][:MAX_SUGGESTIONS]


PRIMARY_SHARE = 0.5  # of the time: S1's 150 of 300 ms
STAGES = (  # (label, net, share of the time that is left then: S1's 100 of 150 ms, and the rest; what is said)
    (LOW, Net(0.7, words.Beginnings), 2.0 / 3.0, "nothing matches as it stands; these come near"),
    (SPECULATIVE, Net(0.5, words.Pieces), 1.0, "nothing matches; these share pieces of words, or a distant meaning"),
)


def search(request: Request, sources: Sources, deadline: Deadline, limit: int, offset: int = 0) -> Answer:
    """Search as `pipeline.search` does, wider stage by stage until something is found, and label the hits by their stage.

    What meaning alone finds counts only where it is nearer than chance brings a memory; words and tags that begin as the
    query's do come before it. Raises IndexUnusable, StoreError.
    """
    request = _with_exact(request, sources, deadline)
    by_chance = _Chance(request, sources)
    if offset:  # a page is of the stage that has the first one
        stage = _widened(request, sources, deadline, by_chance, 1).stage
        net = next((net for label, net, _, _ in STAGES if label == stage), request.net)
        page = pipeline.search(request.wider(net), sources, deadline, limit, offset)
        page.stage = stage
        return by_chance.leave_out(page) if page.by_meaning_alone or stage in (LOW, SPECULATIVE) else page
    return _widened(request, sources, deadline, by_chance, limit)


def _widened(request: Request, sources: Sources, deadline: Deadline, by_chance: _Chance, limit: int) -> Answer:
    """Return the first page of the first stage that finds something."""
    answer = pipeline.search(request, sources, deadline.share(PRIMARY_SHARE), limit)
    is_far = answer.by_meaning_alone and request.mode == HYBRID
    if is_far:
        answer = by_chance.leave_out(answer)
    notes = [answer.note]
    for label, net, share, note in STAGES:
        if answer.is_degraded and not deadline.work_left_ms():
            break
        if answer.hits and not (is_far and label == LOW):
            break
        wider = by_chance.leave_out(pipeline.search(request.wider(net), sources, deadline.share(share), limit))
        if answer.hits and (wider.by_meaning_alone or not wider.hits):
            break
        wider.stage = label
        wider.is_degraded = wider.is_degraded or answer.is_degraded
        notes += [note if wider.hits else None, wider.note]
        answer = wider
    else:
        answer.suggestions = nearby_words(request, sources.index)
    answer.note = "; ".join(dict.fromkeys(filter(None, notes))) or None
    return answer


class _Chance:
    """Leaves out what chance may have brought, by a bar that is looked for once, and only where it is needed."""

    __slots__ = ("_bar", "_request", "_sources")

    def __init__(self, request: Request, sources: Sources) -> None:
        self._request = request
        self._sources = sources
        self._bar: float | None = None

    def leave_out(self, answer: Answer) -> Answer:
        """Return the answer without the hits of meaning alone, unless they are nearer than chance brings a memory."""
        space = self._sources.space
        is_alone = any(hit.found_by == (SEMANTIC,) for hit in answer.hits) or any(answer.cosines_alone.values())
        if space is None or self._request.mode != HYBRID or not is_alone:
            return answer
        if self._bar is None:
            self._bar = vectors.chance_bar(Semantic(space, self._sources.store, -1.0), self._request.scope)
        return answer.without_far(self._bar)


def _with_exact(request: Request, sources: Sources, deadline: Deadline) -> Request:
    """Return the request with the memories that the triggers of its scope bring, and their conditions. Raises StoreError.

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
        return facts is None or not memory.when or conditions.holds(memory.when, facts)

    eligible = Eligibility(audiences, now_ms(), holds=holds)
    text = request.text if has_triggers else ""
    return request.with_further(exact.match_prompt(text, facts, sources.store, eligible, deadline).lists())
