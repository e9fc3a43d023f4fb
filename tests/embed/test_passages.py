"""Splitting a text into passages, by its tokens' spans."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.embed.documents import MAX_PASSAGES, STEP, WINDOW, passage_reach, passage_spans


def letters(count: int) -> list[tuple[int, int]]:
    """Tokens of three letters, a blank between them."""
    return [(4 * number, 4 * number + 3) for number in range(count)]


def tokens_in(span: tuple[int, int]) -> range:
    return range(span[0] // 4, (span[1] + 1) // 4)


@given(st.integers(0, WINDOW))
def test_a_text_of_no_more_than_a_window_has_none(count: int) -> None:
    assert passage_spans(letters(count)) == []


def test_windows_of_110_tokens_begin_every_80() -> None:
    assert list(map(tokens_in, passage_spans(letters(111)))) == [range(110), range(80, 111)]
    assert list(map(tokens_in, passage_spans(letters(190)))) == [range(110), range(80, 190)]
    assert list(map(tokens_in, passage_spans(letters(191)))) == [range(110), range(80, 190), range(160, 191)]


@given(st.integers(WINDOW + 1, passage_reach() + 500))
def test_every_token_is_in_a_passage_as_far_as_they_reach(count: int) -> None:
    passages = [tokens_in(span) for span in passage_spans(letters(count))]
    assert 2 <= len(passages) <= MAX_PASSAGES
    assert {token for passage in passages for token in passage} == set(range(min(count, passage_reach())))
    assert all(len(passage) == WINDOW for passage in passages[:-1])
    assert all(later.start - earlier.start == STEP for earlier, later in pairwise(passages))


def test_a_book_has_48() -> None:
    passages = passage_spans(letters(100_000))
    assert (len(passages), tokens_in(passages[-1]).stop) == (MAX_PASSAGES, passage_reach()) == (48, 3_870)


@given(st.integers(3, WINDOW), st.integers(0, 9_000))
def test_narrower_windows_leave_nothing_between_them(window: int, count: int) -> None:
    passages = [tokens_in(span) for span in passage_spans(letters(count), window)]
    assert all(len(passage) <= window for passage in passages)
    assert len({token for passage in passages for token in passage}) == (
        min(count, passage_reach(window)) if count > window else 0
    )
