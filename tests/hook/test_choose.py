"""The gate: the hits that pass, their order, and the reasons for rejections."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.hook.choose import (
    SMALL_STORE_LINE,
    SOLE_LINE,
    SURE,
    Judgement,
    LineBars,
    Offer,
    Threshold,
    bars_for_lines,
    choose_pointers,
    judge_hits,
    max_memories_for,
    threshold_for_prompt,
)
from subcog_hooks.intent.keywords import GENERAL, Intent, Reading, read_prompt
from subcog_hooks.recall.hits import PATTERN, Hit
from subcog_hooks.settings.defaults import Settings
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.verdicts import BAD, BELOW, COUNT, DUPLICATE, GIVEN, INJECTED, INTENT, NOTHING_FOUND, POINTED, REPEATED

BAR = 0.5
USUAL = Threshold(BAR, BAR)
DOUBTFUL = Threshold(BAR, 0.8)


def make_hit(id_: str, relevance: float, marked: float = 1.0) -> Hit:
    """Return a hit. marked: the factor of its marks."""
    hit = Hit(Memory(id=id_, content=id_), 1.0, relevance, {}, {})
    hit.marked = marked
    return hit


def everything(hits: Sequence[Hit]) -> Sequence[Hit]:
    return hits


def first_of_each_letter(hits: Sequence[Hit]) -> list[Hit]:
    """Keep the first of the ids that begin alike, as `distinct` keeps one of near-duplicates."""
    return [
        hit for position, hit in enumerate(hits) if hit.memory.id[0] not in {other.memory.id[0] for other in hits[:position]}
    ]


def outcomes(judgements: Sequence[Judgement]) -> dict[str, str]:
    return {judgement.hit.memory.id: judgement.outcome for judgement in judgements}


def test_what_is_relevant_passes_up_to_the_ceiling() -> None:
    hits = [make_hit("a", 0.9), make_hit("b", 0.8), make_hit("c", 0.5), make_hit("d", 0.49)]
    assert outcomes(judge_hits(hits, set(), USUAL, 2, everything)) == {"a": INJECTED, "b": INJECTED, "c": COUNT, "d": BELOW}
    assert outcomes(judge_hits(hits, set(), USUAL, 6, everything)) == {"a": INJECTED, "b": INJECTED, "c": INJECTED, "d": BELOW}


def test_what_was_given_leaves_its_place_to_the_next() -> None:
    hits = [make_hit("a", 0.9), make_hit("b", 0.8), make_hit("c", 0.7)]
    assert outcomes(judge_hits(hits, {"a"}, USUAL, 1, everything)) == {"a": GIVEN, "b": INJECTED, "c": COUNT}


def test_repeats_of_better_or_given_memories_do_not_pass() -> None:
    hits = [make_hit("a1", 0.9), make_hit("a2", 0.8), make_hit("b1", 0.7), make_hit("b2", 0.6)]
    judgements = judge_hits(hits, {"b1"}, USUAL, 6, first_of_each_letter)
    assert outcomes(judgements) == {"a1": INJECTED, "a2": DUPLICATE, "b1": GIVEN, "b2": DUPLICATE}


def test_marked_bad_differs_from_below_threshold() -> None:
    hits = [make_hit("a", 0.9, marked=0.5), make_hit("b", 0.3, marked=0.5), make_hit("c", 0.3)]
    assert outcomes(judge_hits(hits, set(), USUAL, 6, everything)) == {"a": BAD, "b": BELOW, "c": BELOW}


def test_what_was_called_wrong_for_this_prompt_never_passes() -> None:
    assert outcomes(judge_hits([make_hit("a", 0.9, marked=0.0)], set(), Threshold(0.0, 0.0), 6, everything)) == {"a": BAD}


def test_similar_memories_are_kept_apart() -> None:
    hits = [make_hit("a", 0.9), make_hit("b", 0.8), make_hit("c", 0.7)]
    judgements = judge_hits(hits, set(), USUAL, 2, lambda relevant: [relevant[0], relevant[2], relevant[1]])
    assert [judgement.hit.memory.id for judgement in judgements if judgement.outcome == INJECTED] == ["a", "c"]


@pytest.mark.parametrize(
    ("hits", "given_ids", "why"),
    [
        ([], set(), NOTHING_FOUND),
        ([make_hit("a", 0.4)], set(), BELOW),
        ([make_hit("a", 0.4)], {"a"}, BELOW),
        ([make_hit("a", 0.9), make_hit("b", 0.4)], {"a"}, REPEATED),
        ([make_hit("a1", 0.9), make_hit("a2", 0.8)], {"a1"}, REPEATED),
    ],
)
def test_a_silence_has_its_reason(hits: list[Hit], given_ids: set[str], why: str) -> None:
    offer = Offer(hits, USUAL, 6, 2_000, first_of_each_letter)
    assert offer.silence_reason(offer.judge(given_ids)) == why


def test_a_doubtful_prompt_needs_a_more_relevant_memory() -> None:
    hits = [make_hit("a", 0.9), make_hit("b", 0.7), make_hit("c", 0.4)]
    assert outcomes(judge_hits(hits, set(), DOUBTFUL, 6, everything)) == {"a": INJECTED, "b": INTENT, "c": BELOW}
    doubtful = Offer(hits[1:], DOUBTFUL, 6, 2_000, everything, is_enough=False)
    assert doubtful.silence_reason(doubtful.judge(set())) == INTENT
    doubtful.hits = hits
    assert doubtful.silence_reason(doubtful.judge({"a"})) == REPEATED


@given(st.floats(0.001, 1.0))
def test_asking_for_memories_lowers_the_threshold_above_zero(min_relevance: float) -> None:
    settings = Settings({"surfacing.min_relevance": min_relevance})
    readings = {False: read_prompt("Why is the deploy slow?"), True: read_prompt("what did we decide about the deploys?")}

    def needed(confidence: float, reading: Reading) -> float:
        intent = Intent(GENERAL, confidence, ("deploy",), reading=reading)
        return threshold_for_prompt(intent, settings, is_small=False).needed

    assert {kind: reading.is_seeking for kind, reading in readings.items()} == {False: False, True: True}
    of = {(sure > 0.5, seeking): needed(sure, readings[seeking]) for sure in (0.4, 0.9) for seeking in readings}
    assert of[True, False] == min_relevance
    assert 0.0 < of[True, True] < min_relevance
    assert of[False, True] == of[False, False] >= min_relevance


def exact(id_: str, relevance: float, marked: float = 1.0, *, is_pinned: bool = False) -> Hit:
    """Return a hit that a trigger brings."""
    hit = make_hit(id_, relevance, marked)
    hit.ranks = {PATTERN: 1}
    hit.is_pinned = is_pinned
    return hit


def test_a_triggered_memory_needs_the_usual_relevance() -> None:
    hits = [exact("a", 0.6), make_hit("b", 0.6), exact("c", 0.4)]
    assert outcomes(judge_hits(hits, set(), DOUBTFUL, 6, everything)) == {"a": INJECTED, "b": INTENT, "c": BELOW}
    assert outcomes(judge_hits(hits, set(), USUAL, 6, everything)) == {"a": INJECTED, "b": INJECTED, "c": BELOW}


def test_a_pinned_memory_needs_no_relevance_and_comes_once() -> None:
    never = Threshold(1.0, 2.0)
    hits = [exact(id_, 0.1, is_pinned=True) for id_ in "abc"] + [exact("d", 0.9)]
    assert outcomes(judge_hits(hits, {"a"}, never, 1, everything)) == {"a": GIVEN, "b": INJECTED, "c": INJECTED, "d": BELOW}


def test_a_pinned_memory_that_is_marked_bad_stays_behind() -> None:
    hits = [exact("a", 0.9, marked=0.0, is_pinned=True), exact("b", 0.9, 0.5, is_pinned=True), exact("c", 0.9, marked=0.5)]
    assert outcomes(judge_hits(hits, set(), USUAL, 6, everything)) == {"a": BAD, "b": INJECTED, "c": BAD}


@pytest.mark.parametrize(("certainty", "max_memories"), [(0.0, 3), (0.64, 3), (0.65, 4), (0.79, 4), (0.8, 6), (0.95, 6)])
def test_the_surer_the_prompt_the_more_may_pass(certainty: float, max_memories: int) -> None:
    assert max_memories_for(certainty, 6) == max_memories
    assert max_memories_for(certainty, 2) == 2


@given(
    st.lists(st.tuples(st.floats(0.0, 1.0), st.booleans()), max_size=20),
    st.integers(0, 6),
    st.sampled_from([everything, first_of_each_letter]),
)
def test_every_hit_gets_one_outcome_and_few_pass(
    rows: list[tuple[float, bool]], max_memories: int, distinct: Callable[[Sequence[Hit]], Sequence[Hit]]
) -> None:
    hits = [make_hit(f"{'abc'[number % 3]}{number}", relevance) for number, (relevance, _) in enumerate(rows)]
    hits.sort(key=lambda hit: -hit.relevance)
    given_ids = {f"{'abc'[number % 3]}{number}" for number, (_, was_given) in enumerate(rows) if was_given}
    judgements = judge_hits(hits, given_ids, USUAL, max_memories, distinct)
    assert sorted(judgement.hit.memory.id for judgement in judgements) == sorted(hit.memory.id for hit in hits)
    passed = [judgement.hit for judgement in judgements if judgement.outcome == INJECTED]
    assert len(passed) <= max_memories
    assert all(hit.relevance >= BAR and hit.memory.id not in given_ids for hit in passed)


def outcomes_with_lines(
    hits: Sequence[Hit],
    *,
    before: frozenset[str] = frozenset(),
    given: frozenset[str] = frozenset(),
    usual: float = 0.02,
    sole: float = 0.02,
) -> dict[str, str]:
    """Return the outcomes of hits where lines may point at them."""
    judgements = judge_hits(hits, given, USUAL, 1, first_of_each_letter)
    choose_pointers(judgements, before, LineBars(usual, sole), 3, first_of_each_letter)
    return outcomes(judgements)


def test_lines_point_at_the_three_nearest_that_are_not_told() -> None:
    relevances = {"a": 0.55, "b": 0.52, "c": 0.3, "d": 0.1, "e": 0.05, "f": 0.01}
    hits = [make_hit(id_, relevance) for id_, relevance in relevances.items()]
    assert outcomes_with_lines(hits) == {"a": INJECTED, "b": POINTED, "c": POINTED, "d": POINTED, "e": BELOW, "f": BELOW}


def test_a_faint_line_comes_only_alone_in_a_small_store() -> None:
    def lines(*relevances: float) -> dict[str, str]:
        hits = [make_hit("abc"[number], relevance) for number, relevance in enumerate(relevances)]
        return outcomes_with_lines(hits, usual=0.08, sole=0.05)

    assert lines(0.1, 0.07) == {"a": POINTED, "b": BELOW}
    assert lines(0.07, 0.06) == {"a": POINTED, "b": BELOW}
    assert lines(0.04) == {"a": BELOW}


def test_only_a_question_in_a_small_store_needs_more_for_a_line() -> None:
    bars = [
        bars_for_lines(Intent(GENERAL, confidence, topics=("cache",)), Settings({}), is_small=is_small)
        for confidence, is_small in ((0.9, True), (0.9, False), (0.55, True))
    ]
    assert [(found.usual, found.sole) for found in bars] == [(SMALL_STORE_LINE, SOLE_LINE), (0.02, 0.02), (0.02, 0.02)]


def test_no_line_stands_beside_a_memory_that_is_surely_right() -> None:
    assert outcomes_with_lines([make_hit("a", SURE), make_hit("b", 0.3)]) == {"a": INJECTED, "b": BELOW}


def test_a_line_repeats_nothing_that_came_before() -> None:
    hits = [make_hit("a1", 0.55), make_hit("a2", 0.4), make_hit("b", 0.3), make_hit("c", 0.2)]
    assert outcomes_with_lines(hits, before=frozenset("b")) == {"a1": INJECTED, "a2": BELOW, "b": BELOW, "c": POINTED}
    assert outcomes_with_lines([make_hit("a", 0.9)], given=frozenset("a")) == {"a": GIVEN}


def test_no_line_points_at_a_memory_that_the_client_has_loaded() -> None:
    hits = [make_hit("a", 0.4), make_hit("b", 0.3)]
    hits[0].is_loaded = True
    assert outcomes_with_lines(hits) == {"a": BELOW, "b": POINTED}


def test_no_line_points_at_a_memory_that_was_called_wrong() -> None:
    assert outcomes_with_lines([make_hit("a", 0.9, marked=0.3)]) == {"a": BAD}
