"""From a text to hits: candidates of all channels, their fused order, rows and relevance. The hook and `search` share it."""

from __future__ import annotations

from itertools import islice

from subcog_hooks.recall import fusion, logit, relevance, words
from subcog_hooks.recall.candidates import Candidates, Request, Sources, gather_candidates
from subcog_hooks.recall.hits import LABELS, LEXICAL, PATTERN, SEMANTIC, STATE, Answer, Hit
from subcog_hooks.settings.defaults import RRF
from subcog_hooks.store.store_reader import Filter, StoreReader
from subcog_hooks.text import languages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.intent.keywords import Intent
    from subcog_hooks.recall.exact import ExactMatches
    from subcog_hooks.recall.fusion import Tuning
    from subcog_hooks.recall.hits import Eligibility
    from subcog_hooks.store.index import LexicalIndex
    from subcog_hooks.store.memory import Memory

    ScoredMemory = tuple[Memory, float, float]  # its score, and the factor of its age on that

PROMPT_CANDIDATES = 15  # memories whose relevance the hook computes
ROWS_AT_ONCE = 20  # some more than the hook needs, because some have expired
MAX_UNINDEXED = 64  # memories newer than the index that the hook compares one by one

REORDERED = 20  # memories from the top of a search, which relevance may order
DIGITS = 9  # of a score: far reciprocal ranks differ in the seventh


def recall_for_prompt(
    text: str,
    sources: Sources,
    eligible: Eligibility,
    deadline: Deadline,
    *,
    prompt: str | None = None,
    exact: ExactMatches | None = None,
) -> Answer:
    """Return the hook's recall: the best candidates that may be handed over, most relevant first.

    prompt: the text that marks are compared with, None for `text`. exact: memories of triggers and conditions, which are always
    among the hits. Memories stored after the index's last commit are compared one by one: a crash or a busy writer hides none.
    Raises IndexUnusable, StoreError.
    """
    store, tuning = sources.store, sources.tuning
    scope = Filter(audiences=eligible.audiences)
    candidates = gather_candidates(Request(text, scope, further=exact.lists() if exact else ()), sources, deadline)
    alpha, alpha_reason = choose_alpha(candidates, tuning, lambda: words.count_memories(sources.index, scope))
    watermark = sources.index.watermark
    unindexed = store.changed_after(watermark, MAX_UNINDEXED) if watermark < store.revision() else []
    newer = {memory.seq: memory for memory in unindexed if eligible.allows(memory)}
    scores = {seq: score for seq, score in fused_scores(candidates, tuning, alpha).items() if seq not in newer}
    by_score = memories_by_score(scores, candidates.sole, store, tuning, eligible.now_ms, eligible.allows)
    placed = list(islice(by_score, PROMPT_CANDIDATES))
    candidates.leave_out_copies([memory for memory, _, _ in placed])
    hits = [candidates.hit(memory, score, factor) for memory, score, factor in placed]
    if exact:  # All of its memories come, in place of the last others.
        present_seqs = {hit.memory.seq for hit in hits} | newer.keys()
        missing = [candidates.hit(memory) for seq, memory in exact.memories.items() if seq not in present_seqs]
        others = [hit for hit in hits if not hit.is_exact][: max(0, PROMPT_CANDIDATES - len(exact.memories))]
        hits = [*(hit for hit in hits if hit.is_exact), *missing, *others]
    if newer:
        candidates.look_up(list(newer))
    hits += [candidates.hit(memory, is_indexed=False) for memory in newer.values()]
    if exact:
        exact.pin(hits)
    if candidates.query.is_foreign:
        favour_own_language(hits, text)
    discount_marked_hits(hits, text if prompt is None else prompt, store, lambda: sources.index)
    hits.sort(key=_relevance_key)
    return build_answer(hits, candidates, alpha, alpha_reason)


def recall_for_parts(
    text: str,
    parts: Sequence[str],
    sources: Sources,
    eligible: Eligibility,
    deadline: Deadline,
    *,
    prompt: str | None = None,
    exact: ExactMatches | None = None,
) -> Answer:
    """Return the hook's recall for a prompt and for its parts; a memory counts by the part it answers best.

    parts: sentences, or the line with an error; parts without time left are skipped. The other arguments and the errors are
    those of recall_for_prompt.
    """
    whole = recall_for_prompt(text, sources, eligible, deadline, prompt=prompt, exact=exact)
    best = {hit.memory.seq: hit for hit in whole.hits}
    for part in parts:
        if not deadline.work_left_ms():
            break
        hits = recall_for_prompt(part, sources, eligible, deadline, prompt=prompt).hits
        for hit in hits:
            hit.terms = (*hit.terms, (logit.PART_OF_PROMPT, 1.0, logit.PART_ADDS))
            hit.probability = logit.probability(hit.terms)
        _keep_better_hits(best, hits)
    whole.hits = sorted(best.values(), key=_relevance_key)[: max(PROMPT_CANDIDATES, len(whole.hits))]
    relevance.discount_siblings(whole.hits, whole.identifiers, sources.texts)
    whole.hits.sort(key=_relevance_key)
    return whole


def favour_own_language(hits: Sequence[Hit], text: str) -> None:
    """Weigh the memories that are not in English by their language, for a prompt in another language.

    The weights for other languages know stores in one language, and beside other memories a memory stands out less. Those in
    the prompt's language, or an unclear one, gain by the share of the others. Those in a third language lose.
    """
    possible = languages.possible_languages(text)
    foreign = [hit for hit in hits if languages.is_foreign(hit.memory.content)]
    others = []  # surely in another language than the prompt
    for hit in foreign:
        own = languages.possible_languages(hit.memory.content)
        others += [hit] if possible and own and possible.isdisjoint(own) else []
    share = 1.0 - (len(foreign) - len(others)) / max(1, len(hits))
    for hit in foreign:
        if hit in others:
            hit.terms = (*hit.terms, (logit.OTHER_LANGUAGE, 1.0, logit.OTHER_LANGUAGE_ADDS))
        else:
            hit.terms = logit.with_own_language(hit.terms, share)
        hit.probability = logit.probability(hit.terms)


def join_answers(first: Answer, second: Answer) -> None:
    """Add the hits of a second recall for the same prompt to the first; a memory in both keeps its higher relevance."""
    best = {hit.memory.seq: hit for hit in first.hits}
    _keep_better_hits(best, second.hits)
    first.hits = sorted(best.values(), key=_relevance_key)
    first.note = "; ".join(dict.fromkeys(filter(None, (first.note, second.note)))) or None


def _keep_better_hits(best: dict[int, Hit], hits: Iterable[Hit]) -> None:
    for hit in hits:
        earlier = best.get(hit.memory.seq)
        if earlier is None or (not earlier.is_exact and earlier.relevance < hit.relevance):
            best[hit.memory.seq] = hit


def discount_marked_hits(hits: Sequence[Hit], prompt: str, store: StoreReader, index: Callable[[], LexicalIndex]) -> None:
    """Discount the hits that the user has marked wrong for such prompts. Raises IndexUnusable, StoreError.

    index: opens the index, called only where a hit is marked.
    """
    if marks_of_hits := store.marks([hit.memory.seq for hit in hits]):
        from subcog_hooks.recall import alike  # .2 ms, and few memories are marked

        alike.discount_marked(hits, marks_of_hits, prompt, index())


def weigh_for_prompt(hits: Sequence[Hit], intent: Intent, prompt_number: int) -> None:
    """Weigh the hits by the intent: by its confidence, and by the namespaces that suit its type.

    prompt_number: of the prompt in its session, from 1. It does not change hits that the prompt names, and those of cues.
    """
    for hit in hits:
        number = 1 if hit.is_exact or hit.is_named else prompt_number
        if not hit.is_exact and relevance.is_note(hit.memory, hit.terms):
            hit.terms = relevance.weigh_note(hit.terms, intent.confidence, number)
        else:
            hit.terms = logit.with_prompt_number(relevance.with_intent(hit.terms, intent.confidence), number)
        hit.probability = logit.probability(hit.terms)
        hit.prior = fusion.namespace_prior(hit.memory.namespace, intent.type)
    lift_headings(hits)


def lift_headings(hits: Sequence[Hit]) -> None:
    """Let the sections whose heading is the query come before the lists that repeat its words."""
    asked = [hit for hit in hits if hit.is_asked and not hit.is_exact]
    lists = [hit for hit in hits if not (hit.is_asked or hit.is_exact) and relevance.is_list(hit.memory.content)]
    best = max([hit.probability for hit in lists], default=0.0) if asked else 0.0
    for hit in asked:
        hit.terms = logit.with_heading(hit.terms, best)
        hit.probability = logit.probability(hit.terms)


def sort_by_relevance(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits in the order in which a prompt gets them."""
    return sorted(hits, key=_relevance_key)


def _relevance_key(hit: Hit) -> tuple[bool, int, float, bool, float, int, str]:
    """Return the sort key of a hit: pinned hits first, by priority; hits of the session's state alone last."""
    group = -hit.memory.priority if hit.is_pinned else int(STATE in hit.ranks and PATTERN not in hit.ranks)
    return not hit.is_pinned, group, -hit.relevance, not hit.is_asked, -hit.score, -hit.memory.created_at, hit.memory.id


def remove_repeats(hits: Sequence[Hit], tuning: Tuning) -> list[Hit]:
    """Return the hits in their order, without near-duplicates of a better hit."""
    texts = [hit.memory.content for hit in hits]
    return [hits[position] for position in fusion.distinct_positions(texts, tuning.near_duplicate)]


def memories_by_score(
    scores: Mapping[int, float],
    sole: Sequence[int],
    store: StoreReader,
    tuning: Tuning,
    now_ms: int,
    is_visible: Callable[[Memory], bool],
) -> Iterator[ScoredMemory]:
    """Yield the visible memories with their scores and age factors, best first, then newest, then by id.

    sole: row numbers of the only holders of a rare identifier, which are lifted. Rows are read a few at a time: a common word
    brings hundreds, and ten are needed. Raises StoreError.
    """
    ages = store.ages(list(scores))
    aged: dict[int, tuple[float, float]] = {}
    for seq, (created_at, _) in ages.items():
        factor = fusion.recency_factor(created_at, now_ms, tuning.decay, tuning.floor)
        aged[seq] = round(scores[seq] * factor, DIGITS), factor  # Rounding makes the score equal on every machine.
    if sole:
        for seq, score in fusion.lift_scores(sole, {seq: score for seq, (score, _) in aged.items()}).items():
            aged[seq] = (score, aged[seq][1])
    placed = [(-score, -ages[seq][0], ages[seq][1], seq, factor) for seq, (score, factor) in aged.items()]
    placed.sort()
    for start in range(0, len(placed), ROWS_AT_ONCE):
        rows = store.by_seqs([seq for _, _, _, seq, _ in placed[start : start + ROWS_AT_ONCE]])
        for score, _, _, seq, factor in placed[start : start + ROWS_AT_ONCE]:
            if seq in rows and is_visible(rows[seq]):
                yield rows[seq], -score, factor


def build_answer(hits: list[Hit], candidates: Candidates, alpha: float, alpha_reason: str) -> Answer:
    return Answer(
        hits,
        candidates.strategies,
        "; ".join(candidates.failures) or None,
        is_degraded=bool(candidates.failures),
        identifiers=candidates.identifiers,
        alpha=alpha,
        alpha_reason=alpha_reason,
        replaced={term.whole: term.instead for term in candidates.query.terms if term.instead},
    )


def choose_alpha(candidates: Candidates, tuning: Tuning, corpus: Callable[[], int]) -> tuple[float, str]:
    """Return the share of meaning for this query, and the reason.

    corpus: counts the searched memories, called only where needed.
    """
    if SEMANTIC not in candidates.strategies:
        return 0.0, "words alone ran"
    if LEXICAL not in candidates.strategies:
        return 1.0, "meaning alone ran"
    if tuning.alpha is not None:
        return tuning.alpha, "fusion.alpha"
    by_type = float(getattr(tuning, candidates.query.type))
    return fusion.adaptive_alpha(candidates.query.type, by_type, corpus(), tuning.small, tuning.large)


def fused_scores(candidates: Candidates, tuning: Tuning, alpha: float) -> dict[int, float]:
    """Return the score of every candidate, by row number: its fused lists, raised by the channels' agreement."""
    scores: dict[int, float] = {}
    for amounts in channel_contributions(candidates, tuning, alpha).values():
        for seq, amount in amounts.items():
            scores[seq] = scores.get(seq, 0.0) + amount
    if tuning.agreement:
        scores = {seq: score * agreement_factor(seq, candidates, tuning) for seq, score in scores.items()}
    return scores


def channel_contributions(candidates: Candidates, tuning: Tuning, alpha: float) -> dict[str, dict[int, float]]:
    """Return each channel's addition to the scores of memories, by row number. Exact and relaxed words are one channel.

    The list of labels weighs as much as its rarest label is rare. A tag of every other memory says nothing: with it, devmem's
    nDCG@10 fell by .007.
    """
    by_labels = candidates.lists.get(LABELS, {})
    by_pattern, by_state = candidates.lists.get(PATTERN, {}), candidates.lists.get(STATE, {})
    weight = tuning.tags * max(candidates.named.values(), default=0.0)
    if len(candidates.named) >= fusion.MANY_LABELS:
        weight *= fusion.MANY_LABELS_FACTOR
    if tuning.mode != RRF:
        return {
            LEXICAL: fusion.weighted_sum(candidates.words, {}, alpha, candidates.full_words),
            SEMANTIC: fusion.weighted_sum({}, candidates.cosines, alpha),
            LABELS: {seq: weight / rank for seq, rank in by_labels.items()},
            PATTERN: {seq: tuning.pattern * fusion.PATTERN_IN_WEIGHTED / rank for seq, rank in by_pattern.items()},
            STATE: {seq: tuning.state * fusion.STATE_IN_WEIGHTED / rank for seq, rank in by_state.items()},
        }
    by_words = fusion.ranks_by_row(
        sorted(((score, seq) for seq, score in candidates.words.items()), key=lambda hit: (-hit[0], hit[1]))
    )
    weight *= fusion.LABELS_IN_RRF * (1.0 - alpha) / fusion.LABELS_IN_WEIGHTED
    lists = {
        SEMANTIC: (alpha, candidates.lists.get(SEMANTIC, {})),
        LEXICAL: (1.0 - alpha, by_words),
        PATTERN: (tuning.pattern * fusion.PATTERN_IN_RRF, by_pattern),
        STATE: (tuning.state * fusion.STATE_IN_RRF, by_state),
        LABELS: (weight, by_labels),
    }
    return {name: fusion.reciprocal_ranks([weighted_ranks], tuning.rrf_k) for name, weighted_ranks in lists.items()}


def agreement_factor(seq: int, candidates: Candidates, tuning: Tuning) -> float:
    """Return the factor of the strategies' agreement on a memory's score; 1.0 where none agree."""
    return 1.0 + tuning.agreement * candidates.agreement(seq)
