"""The figures of the gate agree with sums done by hand, and are the same each time."""

import json
import math
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.eval.collection import Prompt
from tests.eval.gate import results
from tests.eval.gate.figures import ANSWERABLE, UNANSWERABLE, UNRELATED, calibration_error, reliability, shares
from tests.eval.gate.trials import Candidate, Trial, ids_in
from tests.eval.measures import estimate, ratio

_numbers = count()


def trial(kind: str = ANSWERABLE, given: str = "", candidates: list[tuple[float, bool]] | None = None) -> Trial:
    """A prompt that the memories r and s answer, if any do.

    given: ids of one letter; candidates: of each its relevance and whether it answers.
    """
    looked_at = [Candidate(f"c{place}", *one) for place, one in enumerate(candidates or [])]
    relevant = frozenset("rs" if kind == ANSWERABLE else "")
    return Trial(Prompt(f"p{next(_numbers)}", "what", kind, relevant), tuple(looked_at), tuple(given))


TRIALS = [
    trial(given="r", candidates=[(0.9, True), (0.1, False)]),
    trial(given="xrs", candidates=[(0.8, False), (0.7, True)]),
    trial(given="x"),
    trial(candidates=[(0.2, True)]),
    trial(UNANSWERABLE),
    trial(UNANSWERABLE, given="xy"),
    trial(UNRELATED),
    trial(UNRELATED),
    trial(UNRELATED),
    trial(UNRELATED, given="z"),
]


def test_a_share_is_what_its_name_says(subtests: pytest.Subtests) -> None:
    cases = [
        ("answered", 2 / 4, 4),
        ("found", 3 / 4, 4),
        ("answerable: spoke", 3 / 4, 4),
        ("unanswerable: silent", 1 / 2, 2),
        ("unrelated: silent", 3 / 4, 4),
        ("false fire", 2 / 6, 6),
        ("fire", 5 / 10, 10),
        ("first precision", 1 / 5, 5),
        ("precision", 3 / 8, 5),
        ("memories per speaking prompt", 8 / 5, 5),
    ]
    assert {name for name, _, _ in cases} == shares(TRIALS).keys()
    for name, value, counted in cases:
        with subtests.test(name=name):
            found = shares(TRIALS)[name]
            assert found.mean == pytest.approx(value)
            assert found.queries == counted
            assert found.low <= found.mean <= found.high


def test_of_no_trials_every_figure_is_zero() -> None:
    assert {value.mean for value in shares([]).values()} == {0.0}
    assert calibration_error([]).mean == 0.0
    assert reliability([], [0.0, 1.0]) == []


def test_a_ratio_of_single_queries_is_their_mean() -> None:
    values = [0.0] * 30 + [1.0] * 70
    ours, theirs = ratio(values, [1.0] * 100), estimate(values)
    assert ours.mean == theirs.mean
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_the_error_is_the_mean_distance_of_ten_equal_bins() -> None:
    tenths = [trial(candidates=[(tenth / 10, place < tenth)]) for tenth in range(10) for place in range(10)]
    twenty = [trial(candidates=[(place / 20, place >= 10)]) for place in range(20)]
    alike = {right: [trial(candidates=[(0.3, place < right)]) for place in range(10)] for right in (0, 3, 10)}
    cases = [
        (tenths, 0.0),
        (twenty, sum(abs((2 * tenth + 0.5) / 20 - (tenth >= 5)) for tenth in range(10)) / 10),
        *((same, abs(0.3 - right / 10)) for right, same in alike.items()),
    ]
    assert [calibration_error(trials).mean for trials, _ in cases] == pytest.approx([error for _, error in cases])


def test_the_error_of_the_first_leaves_the_others_out() -> None:
    both = [trial(candidates=[(0.6, True), (0.5, False)]), trial(candidates=[(0.6, False), (0.1, True)])]
    assert calibration_error(both, first=1).mean == pytest.approx(0.1)


CANDIDATES = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]), st.booleans()), max_size=4)


@settings(deadline=None, max_examples=25)
@given(st.lists(CANDIDATES, min_size=1, max_size=8), st.randoms())
def test_an_error_lies_in_its_interval_in_any_order(looked_at: list[list[tuple[float, bool]]], chance: object) -> None:
    found = calibration_error([trial(candidates=one) for one in looked_at])
    assert 0.0 <= found.low <= found.mean <= found.high <= 1.0
    backwards = calibration_error([trial(candidates=one[::-1]) for one in reversed(looked_at)])
    assert math.isclose(backwards.mean, found.mean, abs_tol=1e-12)


def test_the_curve_has_the_share_that_answers_in_each_bin() -> None:
    looked_at = [trial(candidates=[(0.05, False), (0.95, place < 3)]) for place in range(4)]
    low, high = reliability(looked_at, [0.0, 0.5, 1.0])
    assert [one.relevance for one in (low, high)] == pytest.approx([0.05, 0.95])
    assert [(one.share.mean, one.candidates) for one in (low, high)] == [(0.0, 4), (0.75, 4)]
    (last,) = reliability([trial(candidates=[(1.0, True)])], [0.0, 0.5, 1.0])
    assert last.share.mean == 1.0


def test_a_table_has_a_line_for_every_figure_bin_and_threshold() -> None:
    found: results.Row = {"set": "own", "memories": 3} | results.measured(TRIALS, 0.25)
    found["thresholds"] = [{"threshold": one, **results.shares(TRIALS)} for one in (0.2, 0.4)]
    first, *others = results.table(found).splitlines()
    assert first == "own, 3 memories, 10 prompts, threshold 0.25"
    assert len(others) == len(found["figures"]) + 1 + len(found["reliability"]) + 1 + 2
    assert "first precision               0.200 [0.000, 0.600]  of 5" in others


def test_ids_are_read_from_the_heads_of_the_printed_lines_alone() -> None:
    lines = ["<subcog-memories>", "[decisions 2026-03-02 a1] [learnings 2026-05-11 no] text", "[- 1970-01-01 b.2] more"]
    printed = json.dumps({"hookSpecificOutput": {"additionalContext": "\n".join(lines)}}).encode()
    assert ids_in([printed]) == ("a1", "b.2")
    assert ids_in([]) == ()
