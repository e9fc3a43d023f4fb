"""Patterns of `*` and `?`: they say what the standard library's say, and take no time that grows with their stars."""

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.cues import wildcards

LETTERS = st.text("ab/*?", max_size=12)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("release/*", "release/7/hotfix", True),
        ("release/*", "Release/7", False),
        ("*-wip", "tide-wip", True),
        ("*-wip", "tide-wip-2", False),
        ("v?.?", "v1.2", True),
        ("v?", "v12", False),
        ("*", "", True),
        ("?", "", False),
        ("", "", True),
        ("", "a", False),
        ("**a***", "a", True),
        ("[ab]", "a", False),
        ("hafen-?", "hafen-ö", True),
    ],
)
def test_a_star_is_any_characters_and_a_question_mark_one(pattern: str, text: str, matches: bool) -> None:
    assert wildcards.matches(pattern, text) is matches


@given(LETTERS, LETTERS)
def test_a_pattern_means_what_it_means_to_the_standard_library(pattern: str, text: str) -> None:
    assert wildcards.matches(pattern, text) == fnmatch.fnmatchcase(text, pattern)


def test_many_stars_are_no_more_work_than_one() -> None:
    assert not wildcards.matches("*a" * 400 + "b", "a" * 100_000)  # backtracking would never end
    assert wildcards.matches("*" * 1_000 + "b", "a" * 1_000 + "b")
