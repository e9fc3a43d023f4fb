"""Where a long text is cut into passages: overlapping windows over its tokens. Pure functions of the tokens' places in it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Span = tuple[int, int]  # of characters: the first, and the one behind the last

# Less than half of what a vector of the packaged model holds, so that a passage says what the whole's vector blurs. A text that
# is no longer has none.
WINDOW = 110  # tokens
STEP = 80  # tokens from one passage's beginning to the next one's: a sentence of up to 30 is whole in one of them
# The first 3,870 tokens, some 14,000 characters, for half a second of embedding; what lies behind is found by its words.
MAX_PASSAGES = 48


def spans(tokens: Sequence[Span], window: int = WINDOW) -> list[Span]:
    """Return the passages of a text, given the places of its tokens.

    There are none for a text of at most `window` tokens. The last one ends with the text.

    window: tokens of a passage, for a model that reads fewer than WINDOW; they overlap as much in proportion.

    >>> spans([(at, at + 1) for at in range(150)])
    [(0, 110), (80, 150)]
    >>> spans([(at, at + 1) for at in range(110)])
    []
    """
    step = STEP * window // WINDOW
    starts = range(0, max(0, len(tokens) - window) + step, step) if len(tokens) > window else range(0)
    return [(tokens[start][0], tokens[min(start + window, len(tokens)) - 1][1]) for start in starts[:MAX_PASSAGES]]


def reach(window: int = WINDOW) -> int:
    """Return how many tokens of a text its passages reach."""
    return window + (MAX_PASSAGES - 1) * (STEP * window // WINDOW)
