"""The figures of the gate agree with sums done by hand, and are the same each time."""

from itertools import count

import pytest

from tests.eval.collection import Prompt
from tests.eval.gate.figures import ANSWERABLE, UNANSWERABLE, UNRELATED, calibration_error, shares
from tests.eval.gate.trials import Candidate, Trial

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


def test_the_error_is_the_mean_distance_of_ten_equal_bins() -> None:
    tenths = [trial(candidates=[(tenth / 10, place < tenth)]) for tenth in range(10) for place in range(10)]
    twenty = [trial(candidates=[(place / 20, place >= 10)]) for place in range(20)]
    alike = [trial(candidates=[(0.3, place < 3)]) for place in range(10)]
    far = sum(abs((2 * tenth + 0.5) / 20 - (tenth >= 5)) for tenth in range(10)) / 10
    assert [calibration_error(trials).mean for trials in (tenths, twenty, alike)] == pytest.approx([0.0, far, 0.0])
    both = [trial(candidates=[(0.6, True), (0.5, False)]), trial(candidates=[(0.6, False), (0.1, True)])]
    assert calibration_error(both, first=1).mean == pytest.approx(0.1)
