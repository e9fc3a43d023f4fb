"""From a text to hits: the channels' candidates, the store's rows, relevance, order. What the hook and `search` share."""

from __future__ import annotations

from itertools import islice

from subcog_hooks.recall import diversity, fusion, logit, notes, ranking, relevance, words
from subcog_hooks.recall.candidates import Candidates, Request, Sources, gather
from subcog_hooks.recall.hits import IDENTIFIER, PATTERN, SEMANTIC, STATE, Answer, Hit
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.store import Filter, Store, audience_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.intent.kinds import Intent
    from subcog_hooks.recall.exact import Exact
    from subcog_hooks.recall.hits import Eligibility
    from subcog_hooks.recall.tuning import Tuning
    from subcog_hooks.store.index import LexicalIndex

    _Placed = tuple[Memory, float, float]  # its score, and what its age did to it
    _Fusion = tuple[dict[int, float], Candidates, float]  # scores by row number, what they were made of, the share of meaning

PROMPT_CANDIDATES = 15  # whose relevance the hook looks at
ROWS = 20  # that are read at a time: some more than the hook looks at, for what has expired
_LEAST_LIFT = 1e-7  # of a score: what is less was lost by rounding
LAGGING = 64  # memories newer than the index that the hook looks through by itself


def for_prompt(
    text: str,
    sources: Sources,
    eligible: Eligibility,
    deadline: Deadline,
    *,
    prompt: str | None = None,
    exact: Exact | None = None,
    left_out: AbstractSet[str] = frozenset(),
) -> Answer:
    """Return the hook's recall: the best candidates that may be handed over, most relevant first.

    prompt: what of `text` a decision keeps, which marks are compared with; None: all. exact: what triggers and conditions have
    brought, which is always among the hits. left_out: ids of memories that are not wanted; the others' lead is measured against
    them all the same. Memories that were stored after the index's last commit are looked through one by one, so that a crash or
    a busy writer hides nothing. Raises IndexUnusable, StoreError.
    """
    store, tuning = sources.store, sources.tuning
    scope = Filter(audiences=eligible.audiences)
    found = gather(Request(text, scope, further=exact.lists() if exact else ()), sources, deadline)
    alpha, why = ranking.alpha_of(found, tuning, lambda: words.count(sources.index, scope))
    unwanted = set(store.seqs_of(left_out)) if left_out else set()
    newer = [memory for memory in _not_indexed(sources.index, store) if memory.id not in left_out and eligible.allows(memory)]
    unwanted.update(memory.seq for memory in newer)
    scores = {seq: score for seq, score in ranking.fused_scores(found, tuning, alpha).items() if seq not in unwanted}
    best = islice(_in_order(scores, found.sole, store, tuning, eligible.now_ms, eligible.allows), PROMPT_CANDIDATES)
    hits = [found.hit(memory, score, factor) for memory, score, factor in best]
    if exact:
        hits = _with_exact(hits, exact, found, unwanted)
    hits += _unindexed_hits(found, newer)
    if exact:
        exact.pin(hits)
    discount_marked(hits, text if prompt is None else prompt, store, lambda: sources.index)
    hits.sort(key=_order_by_relevance)
    return _answer(hits, found, alpha, why)


def for_needs(
    text: str,
    parts: Sequence[str],
    sources: Sources,
    eligible: Eligibility,
    deadline: Deadline,
    *,
    prompt: str | None = None,
    exact: Exact | None = None,
) -> Answer:
    """Return the hook's recall for a prompt and for parts of it by themselves: a memory counts as what it answers best.

    parts: sentences, or the line that says what failed; one that there is no time for is left out. The others are for_prompt's,
    which says what is raised.
    """
    whole = for_prompt(text, sources, eligible, deadline, prompt=prompt, exact=exact)
    best = {hit.memory.seq: hit for hit in whole.hits}
    for part in parts:
        if deadline.left_ms() <= 0.0:
            break
        for hit in for_prompt(part, sources, eligible, deadline, prompt=prompt).hits:
            hit.terms = logit.with_part_of_prompt(hit.terms)
            hit.probability = logit.probability(hit.terms)
            known = best.get(hit.memory.seq)
            if known is None or (not known.is_exact and known.relevance < hit.relevance):
                best[hit.memory.seq] = hit
    whole.hits = sorted(best.values(), key=_order_by_relevance)[: max(PROMPT_CANDIDATES, len(whole.hits))]
    _discount_siblings(whole, sources)
    whole.hits.sort(key=_order_by_relevance)
    return whole


def _discount_siblings(answer: Answer, sources: Sources) -> None:
    """Discount the hits that are about the sibling of an identifier which the query names."""
    if answer.identifiers:
        from subcog_hooks.recall import identifiers  # few queries name one

        identifiers.discount_siblings(answer.hits, answer.identifiers, sources.texts)


def _with_exact(hits: list[Hit], exact: Exact, found: Candidates, unwanted: set[int]) -> list[Hit]:
    """Return the hits with all that triggers and conditions have brought, in the places of the last others."""
    known = {hit.memory.seq for hit in hits} | unwanted
    missing = [found.hit(memory) for seq, memory in exact.memories.items() if seq not in known]
    kept = [hit for hit in hits if not hit.is_exact][: max(0, PROMPT_CANDIDATES - len(exact.memories))]
    return [hit for hit in hits if hit.is_exact] + missing + kept


def discount_marked(hits: Sequence[Hit], prompt: str, store: Store, index: Callable[[], LexicalIndex]) -> None:
    """Discount the hits that the user has called wrong for such prompts. Raises IndexUnusable, StoreError.

    index: opens it, where any of them was called wrong.
    """
    if called_wrong := store.marks([hit.memory.seq for hit in hits]):
        from subcog_hooks.recall import marks  # .2 ms, and few memories are called wrong

        marks.discount_marked(hits, called_wrong, prompt, index())


def weigh_for_prompt(hits: Sequence[Hit], intent: Intent, place: int, tuning: Tuning) -> None:
    """Weigh the hits for a prompt of this intent: how surely it asks, and which namespaces suit its type.

    place: of the prompt in its session, from 1. What a trigger or a condition has brought is wanted at any place.
    """
    for hit in hits:
        if not hit.is_exact and notes.is_note(hit.memory, hit.terms):
            hit.terms = notes.terms_of_note(hit.terms, intent.confidence, place)
        else:
            hit.terms = relevance.with_intent(hit.terms, intent.confidence)
            if not hit.is_exact:
                hit.terms = logit.with_place(hit.terms, place)
        hit.probability = logit.probability(hit.terms)
        hit.prior = fusion.prior_of(hit.memory.namespace, intent.type, tuning.prior)


def ordered(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits in the order in which a prompt is given them."""
    return sorted(hits, key=_order_by_relevance)


def _order_by_relevance(hit: Hit) -> tuple[bool, int, float, float, int, str]:
    """Return the sort key of a hit: pinned hits first, by priority, and those that only the session's state brought last."""
    place = -hit.memory.priority if hit.is_pinned else int(STATE in hit.ranks and PATTERN not in hit.ranks)
    return not hit.is_pinned, place, -hit.relevance, -hit.score, -hit.memory.created_at, hit.memory.id


def _not_indexed(index: LexicalIndex, store: Store) -> list[Memory]:
    """Return the newest memories that the index has not reached."""
    watermark = index.watermark()
    return store.changed_after(watermark, LAGGING) if watermark < store.revision() else []


def _unindexed_hits(found: Candidates, memories: Sequence[Memory]) -> list[Hit]:
    """Return the hits for memories that the index has not reached."""
    if memories:
        found.look_up([memory.seq for memory in memories])
    return [found.hit(memory, is_indexed=False) for memory in memories]


def without_repeats(hits: Sequence[Hit], tuning: Tuning) -> list[Hit]:
    """Return the hits in their order, without those that nearly repeat a better one.

    Like hits are moved apart when that is set.
    """
    kept = [hits[place] for place in diversity.distinct([hit.memory.content for hit in hits], tuning.near_duplicate)]
    order = diversity.apart([hit.memory.content for hit in kept], [hit.relevance for hit in kept], tuning.mmr)
    return [kept[place] for place in order]


def search(request: Request, sources: Sources, deadline: Deadline, limit: int, offset: int = 0) -> Answer:
    """Return the hits from `offset`, best first: by score, then newest, then id. Pages of one query never overlap.

    The lists are made longer when expired memories took the places, or a page is far behind; what only the longer lists have
    stands behind the rest, so that an earlier page stays as it was. Raises IndexUnusable, StoreError.
    """
    tuning, store = sources.tuning, sources.store
    now = now_ms()
    may_be_shown = _filter(request, store, now)
    end = offset + limit
    needed = end if tuning.mmr >= 1.0 else max(end, diversity.WINDOW)
    ordered: list[_Placed] = []
    fusions: list[_Fusion] = []
    found = gather(request, sources, deadline)
    deeper = 1
    is_enough = False
    while True:
        if not is_enough:  # what is looked for further only counts: it does not change what is said of this page
            described = found
            alpha, why = ranking.alpha_of(found, tuning, lambda: words.count(sources.index, request.scope))
        before = {memory.seq for memory, _, _ in ordered}
        scores = {seq: score for seq, score in ranking.fused_scores(found, tuning, alpha).items() if seq not in before}
        fusions.append((scores, found, alpha))
        more = _in_order(scores, found.sole, store, tuning, now, may_be_shown)
        wanted = None if request.is_explained else needed
        places = islice(diversity.distinct(_texts(ordered, more), tuning.near_duplicate), wanted)
        kept = [ordered[place] for place in places]
        is_enough = len(kept) >= needed
        if found.is_complete or (len(kept) > needed if request.is_explained else is_enough):
            break
        deeper *= 4
        further = gather(request, sources, deadline, deeper)
        if further.failures:  # out of time, say: what was found stays, and is described as it was found
            if not is_enough:
                found.failures += [failure for failure in further.failures if failure not in found.failures]
            break
        found = further
    order = diversity.apart([memory.content for memory, _, _ in kept], [score for _, score, _ in kept], tuning.mmr)
    page = [kept[place] for place in order[offset:end]]
    answer = _answer([described.hit(memory, score, factor) for memory, score, factor in page], described, alpha, why)
    _discount_siblings(answer, sources)
    if request.is_explained:
        _tell_contributions(answer.hits, fusions, tuning)
        alone = [found.cosine_alone(kept[place][0].seq) for place in order]
        answer.cosines_alone, answer.end = dict(enumerate(alone)), end
    answer.by_meaning_alone = not any(ranks for name, ranks in described.lists.items() if name != SEMANTIC)
    answer.query_type = described.query.type
    answer.read_as = described.query.meant
    return answer


def _tell_contributions(hits: Sequence[Hit], fusions: Sequence[_Fusion], tuning: Tuning) -> None:
    """Tell each hit what its score is made of. fusions: in the order of the lists' depth; a memory's score is of the first."""
    for scores, found, alpha in fusions:
        scored = [hit for hit in hits if hit.memory.seq in scores]
        if not scored:
            continue
        by_channel = ranking.contributions(found, tuning, alpha)
        for hit in scored:
            seq = hit.memory.seq
            hit.contributions = {name: amounts[seq] for name, amounts in by_channel.items() if amounts.get(seq)}
            hit.agreement_factor = ranking.agreement_factor(seq, found, tuning)
            told = sum(hit.contributions.values())
            if seq in found.sole and (lifted := hit.score / (hit.agreement_factor * hit.recency) - told) > _LEAST_LIFT:
                hit.contributions[IDENTIFIER] = lifted


def _texts(ordered: list[_Placed], more: Iterator[_Placed]) -> Iterator[str]:
    """Yield the contents of the memories in `ordered`, then of `more`, each of which is put there when it is read."""
    for memory, _, _ in ordered:
        yield memory.content
    for placed in more:
        ordered.append(placed)
        yield placed[0].content


def _in_order(
    scores: Mapping[int, float],
    sole: Sequence[int],
    store: Store,
    tuning: Tuning,
    now: int,
    may_be_shown: Callable[[Memory], bool],
) -> Iterator[_Placed]:
    """Yield the memories that `may_be_shown` with their aged scores, best first, then newest, then by id.

    sole: the only ones that have a rare identifier of the query, which stand among the first. Raises StoreError.

    Rows are read a few at a time: a common word brings hundreds, of which ten are wanted.
    """
    ages = store.ages(list(scores))
    aged = {seq: ranking.aged_score(scores[seq], created_at, now, tuning) for seq, (created_at, _) in ages.items()}
    if sole:
        from subcog_hooks.recall import identifiers  # few queries name one

        for seq, score in identifiers.lift(sole, {seq: score for seq, (score, _) in aged.items()}).items():
            aged[seq] = (score, aged[seq][1])
    placed = [(-score, -ages[seq][0], ages[seq][1], seq, factor) for seq, (score, factor) in aged.items()]
    placed.sort()
    for start in range(0, len(placed), ROWS):
        rows = store.by_seqs([seq for _, _, _, seq, _ in placed[start : start + ROWS]])
        for score, _, _, seq, factor in placed[start : start + ROWS]:
            if seq in rows and may_be_shown(rows[seq]):
                yield rows[seq], -score, factor


def _filter(request: Request, store: Store, now: int) -> Callable[[Memory], bool]:
    """Return a test of whether a memory is still what the index took it for, and its conditions hold by the request's facts.

    The store has the last word.
    """
    scope, facts = request.scope, request.facts
    if facts is not None:
        from subcog_hooks.cues import conditions  # only where a person states facts
    on_path = None
    if scope.paths:
        on_path = set(store.matching_seqs(Filter(paths=scope.paths, statuses=(), include_expired=True)))

    def may_be_shown(memory: Memory) -> bool:
        if memory.status == "deleted" or (scope.statuses and memory.status not in scope.statuses):
            return False
        if not scope.include_expired and memory.expires_at is not None and memory.expires_at <= now:
            return False
        if scope.audiences is not None and audience_of(memory.scope, memory.project) not in scope.audiences:
            return False
        if scope.namespaces and memory.namespace not in scope.namespaces:
            return False
        if scope.since is not None and memory.created_at < scope.since:
            return False
        if facts is not None and memory.when and not conditions.holds(memory.when, facts):
            return False
        tags = {tag.lower() for tag in memory.tags}
        return tags.issuperset(tag.lower() for tag in scope.tags) and (on_path is None or memory.seq in on_path)

    return may_be_shown


def _answer(hits: list[Hit], found: Candidates, alpha: float, why: str) -> Answer:
    return Answer(
        hits,
        found.strategies,
        "; ".join(found.failures) or None,
        is_degraded=bool(found.failures),
        identifiers=found.identifiers,
        alpha=alpha,
        alpha_reason=why,
        corrections={term.typed: term.whole for term in found.query.terms if term.typed is not None},
    )
