"""The gate: which hits pass, in which order, and what the others lack."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.hook.choose import SURE, Judged, Threshold, ceiling, held_back, judge, point, silence, threshold
from subcog_hooks.recall.hits import PATTERN, Hit
from subcog_hooks.store.decision import BAD, BELOW, COUNT, DUPLICATE, GIVEN, INJECTED, INTENT, NOTHING_FOUND, POINTED, REPEATED
from subcog_hooks.store.memory import Memory

BAR = 0.5
USUAL = Threshold(BAR, BAR)
DOUBTFUL = Threshold(BAR, 0.8)


def hit(id_: str, relevance: float, marked: float = 1.0) -> Hit:
    """A hit; marked: what marks have left of its relevance."""
    found = Hit(Memory(id=id_, content=id_), 1.0, relevance, {}, {})
    found.marked = marked
    return found


def everything(hits: Sequence[Hit]) -> Sequence[Hit]:
    return hits


def first_of_each_letter(hits: Sequence[Hit]) -> list[Hit]:
    """As near-duplicates are left out: of the ids that begin alike the first stays."""
    return [one for place, one in enumerate(hits) if one.memory.id[0] not in {other.memory.id[0] for other in hits[:place]}]


def outcomes(judged: Sequence[Judged]) -> dict[str, str]:
    return {one.hit.memory.id: one.outcome for one in judged}


def test_what_is_relevant_passes_up_to_the_ceiling() -> None:
    hits = [hit("a", 0.9), hit("b", 0.8), hit("c", 0.5), hit("d", 0.49)]
    assert outcomes(judge(hits, set(), USUAL, 2, everything)) == {"a": INJECTED, "b": INJECTED, "c": COUNT, "d": BELOW}
    assert outcomes(judge(hits, set(), USUAL, 6, everything)) == {"a": INJECTED, "b": INJECTED, "c": INJECTED, "d": BELOW}


def test_what_was_given_leaves_its_place_to_the_next() -> None:
    hits = [hit("a", 0.9), hit("b", 0.8), hit("c", 0.7)]
    assert outcomes(judge(hits, {"a"}, USUAL, 1, everything)) == {"a": GIVEN, "b": INJECTED, "c": COUNT}


def test_what_repeats_a_better_one_or_one_that_was_given_does_not_pass() -> None:
    hits = [hit("a1", 0.9), hit("a2", 0.8), hit("b1", 0.7), hit("b2", 0.6)]
    judged = judge(hits, {"b1"}, USUAL, 6, first_of_each_letter)
    assert outcomes(judged) == {"a1": INJECTED, "a2": DUPLICATE, "b1": GIVEN, "b2": DUPLICATE}


def test_what_was_called_wrong_is_told_from_what_never_was_relevant() -> None:
    hits = [hit("a", 0.9, marked=0.5), hit("b", 0.3, marked=0.5), hit("c", 0.3)]
    assert outcomes(judge(hits, set(), USUAL, 6, everything)) == {"a": BAD, "b": BELOW, "c": BELOW}


def test_what_was_called_wrong_for_this_prompt_never_passes() -> None:
    assert outcomes(judge([hit("a", 0.9, marked=0.0)], set(), Threshold(0.0, 0.0), 6, everything)) == {"a": BAD}


def test_they_are_handed_over_in_the_order_that_keeps_like_ones_apart() -> None:
    hits = [hit("a", 0.9), hit("b", 0.8), hit("c", 0.7)]
    judged = judge(hits, set(), USUAL, 2, lambda relevant: [relevant[0], relevant[2], relevant[1]])
    assert [one.hit.memory.id for one in judged if one.outcome == INJECTED] == ["a", "c"]


@pytest.mark.parametrize(
    ("hits", "given_ids", "why"),
    [
        ([], set(), NOTHING_FOUND),
        ([hit("a", 0.4)], set(), BELOW),
        ([hit("a", 0.4)], {"a"}, BELOW),
        ([hit("a", 0.9), hit("b", 0.4)], {"a"}, REPEATED),
        ([hit("a1", 0.9), hit("a2", 0.8)], {"a1"}, REPEATED),
    ],
)
def test_a_silence_has_its_reason(hits: list[Hit], given_ids: set[str], why: str) -> None:
    assert silence(judge(hits, given_ids, USUAL, 6, first_of_each_letter), is_enough=True) == why


def test_with_a_prompt_that_hardly_asks_for_anything_a_memory_needs_more() -> None:
    hits = [hit("a", 0.9), hit("b", 0.7), hit("c", 0.4)]
    assert outcomes(judge(hits, set(), DOUBTFUL, 6, everything)) == {"a": INJECTED, "b": INTENT, "c": BELOW}
    assert silence(judge(hits[1:], set(), DOUBTFUL, 6, everything), is_enough=False) == INTENT
    assert silence(judge(hits, {"a"}, DOUBTFUL, 6, everything), is_enough=False) == REPEATED


@given(st.floats(0.001, 1.0))
def test_asking_for_what_is_remembered_lowers_the_threshold_but_not_to_zero(least: float) -> None:
    of = {
        (enough, seeking): threshold(least, is_enough=enough, is_seeking=seeking).needed
        for enough in (False, True)
        for seeking in (False, True)
    }
    assert of[True, False] == least
    assert 0.0 < of[True, True] < least
    assert of[False, True] == of[False, False] >= least


def test_where_all_are_held_back_those_that_are_relevant_say_why() -> None:
    assert outcomes(held_back([hit("a", 0.9), hit("b", 0.4)], BAR, INTENT)) == {"a": INTENT, "b": BELOW}


def exact(id_: str, relevance: float, marked: float = 1.0, *, is_pinned: bool = False) -> Hit:
    """A hit that a trigger has found."""
    found = hit(id_, relevance, marked)
    found.ranks = {PATTERN: 1}
    found.is_pinned = is_pinned
    return found


def test_what_a_trigger_has_found_needs_no_more_with_a_prompt_that_asks_for_nothing() -> None:
    hits = [exact("a", 0.6), hit("b", 0.6), exact("c", 0.4)]
    assert outcomes(judge(hits, set(), DOUBTFUL, 6, everything)) == {"a": INJECTED, "b": INTENT, "c": BELOW}
    assert outcomes(judge(hits, set(), USUAL, 6, everything)) == {"a": INJECTED, "b": INJECTED, "c": BELOW}


def test_what_is_pinned_needs_no_relevance_but_a_place_and_is_handed_over_once() -> None:
    never = Threshold(1.0, 2.0)
    hits = [exact(id_, 0.1, is_pinned=True) for id_ in "abc"] + [exact("d", 0.9)]
    assert outcomes(judge(hits, {"a"}, never, 1, everything)) == {"a": GIVEN, "b": INJECTED, "c": COUNT, "d": BELOW}


def test_what_was_called_wrong_is_not_handed_over_although_it_is_pinned() -> None:
    hits = [
        exact("a", 0.9, marked=0.0, is_pinned=True),
        exact("b", 0.9, marked=0.5, is_pinned=True),
        exact("c", 0.9, marked=0.5),
    ]
    assert outcomes(judge(hits, set(), USUAL, 6, everything)) == {"a": BAD, "b": INJECTED, "c": BAD}


@pytest.mark.parametrize(("certainty", "most"), [(0.0, 3), (0.64, 3), (0.65, 4), (0.79, 4), (0.8, 6), (0.95, 6)])
def test_the_surer_the_prompt_the_more_may_pass(certainty: float, most: int) -> None:
    assert ceiling(certainty, 6) == most
    assert ceiling(certainty, 2) == 2


@given(
    st.lists(st.tuples(st.floats(0.0, 1.0), st.booleans()), max_size=20),
    st.integers(0, 6),
    st.sampled_from([everything, first_of_each_letter]),
)
def test_every_hit_gets_one_outcome_and_no_more_than_allowed_pass(
    rows: list[tuple[float, bool]], most: int, distinct: Callable[[Sequence[Hit]], Sequence[Hit]]
) -> None:
    hits = [hit(f"{'abc'[number % 3]}{number}", relevance) for number, (relevance, _) in enumerate(rows)]
    hits.sort(key=lambda one: -one.relevance)
    given_ids = {f"{'abc'[number % 3]}{number}" for number, (_, was_given) in enumerate(rows) if was_given}
    judged = judge(hits, given_ids, USUAL, most, distinct)
    assert sorted(one.hit.memory.id for one in judged) == sorted(one.memory.id for one in hits)
    passed = [one.hit for one in judged if one.outcome == INJECTED]
    assert len(passed) <= most
    assert all(one.relevance >= BAR and one.memory.id not in given_ids for one in passed)


# ---- lines ----------------------------------------------------------------------------------------------------------------

LINE_BAR = 0.02


def pointed(
    hits: Sequence[Hit], *, before: frozenset[str] = frozenset(), given: frozenset[str] = frozenset()
) -> dict[str, str]:
    """The outcomes of hits where lines may point at them."""
    judged = judge(hits, given, USUAL, 1, first_of_each_letter)
    point(judged, before, LINE_BAR, 3, first_of_each_letter)
    return outcomes(judged)


def test_lines_point_at_the_three_nearest_that_are_not_told() -> None:
    hits = [hit("a", 0.55), hit("b", 0.52), hit("c", 0.3), hit("d", 0.1), hit("e", 0.05), hit("f", 0.01)]
    assert pointed(hits) == {"a": INJECTED, "b": POINTED, "c": POINTED, "d": POINTED, "e": BELOW, "f": BELOW}


def test_no_line_stands_beside_a_memory_that_is_surely_right() -> None:
    assert pointed([hit("a", SURE), hit("b", 0.3)]) == {"a": INJECTED, "b": BELOW}


def test_a_line_repeats_nothing_that_came_before() -> None:
    hits = [hit("a1", 0.55), hit("a2", 0.4), hit("b", 0.3), hit("c", 0.2)]
    assert pointed(hits, before=frozenset("b")) == {"a1": INJECTED, "a2": BELOW, "b": BELOW, "c": POINTED}
    assert pointed([hit("a", 0.9)], given=frozenset("a")) == {"a": GIVEN}


def test_no_line_points_at_a_memory_that_was_called_wrong() -> None:
    assert pointed([hit("a", 0.9, marked=0.3)]) == {"a": BAD}
