"""Explains how a relevance was computed, and draws numbers as bars."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from subcog_hooks.cli.support.output import ACCENT, DIM, safe, terminal
from subcog_hooks.recall import relevance
from subcog_hooks.store.decision import Candidate, Decision

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_HEIGHTS = "▁▂▃▄▅▆▇█"
_ASCII_HEIGHTS = "_.-=+*%#"
_MARK, _ASCII_MARK = "┃", "|"


def bar(share: float, width: int, style: str = "", mark: float | None = None) -> Text:
    """Draw a share of 0.0 to 1.0 as a bar of `width` columns. mark: another share, drawn as a line."""
    blocks = _has_blocks()
    text = Text(filled_bar(share, width, blocks=blocks), style=style)
    if mark is None:
        return text
    position = min(width - 1, int(clamp(mark) * width))
    return text[:position] + Text(_MARK if blocks else _ASCII_MARK, style=DIM) + text[position + 1 :]


def _has_blocks() -> bool:
    return terminal.has_blocks and not terminal.out.legacy_windows


def filled_bar(share: float, width: int, *, blocks: bool) -> str:
    """Draw a share of 0.0 to 1.0 as a bar of `width` characters. blocks: use block characters instead of ASCII.

    >>> filled_bar(0.5, 4, blocks=True), filled_bar(0.3, 4, blocks=True), filled_bar(0.3, 4, blocks=False)
    ('██  ', '█▎  ', '#   ')
    """
    eighths = round(clamp(share) * width * 8)
    if not blocks:
        return ("#" * round(eighths / 8)).ljust(width)
    whole, remainder = divmod(eighths, 8)
    return ("█" * whole + (_EIGHTHS[remainder] if remainder else "")).ljust(width)


def sparkline(values: Sequence[float | None]) -> str:
    """Draw a character for each value, its height relative to the largest; a blank for None."""
    return height_characters(values, _HEIGHTS if _has_blocks() else _ASCII_HEIGHTS)


def height_characters(values: Sequence[float | None], characters: str = _HEIGHTS) -> str:
    """Return a character for each value, its height relative to the largest. characters: from low to high.

    >>> height_characters([0.0, 1.0, None, 8.0]), height_characters([0.0, 0.0]), height_characters([])
    ('▁▂ █', '▁▁', '')
    """
    highest = max((value for value in values if value is not None), default=0.0)
    top = len(characters) - 1
    return "".join(" " if value is None else characters[round(top * value / highest) if highest > 0 else 0] for value in values)


def clamp(share: float) -> float:
    return min(1.0, max(0.0, share))


MAX_EXPLAINED = 3  # candidates
BAR = 16  # columns
NAME_WIDTH = 13  # columns for the name of an evidence
RIGHT, WRONG = "green", "red"
FACTORS = ("for its namespace", "for marks (`why --bad`)", "for files that are gone")  # in the order of a candidate's factors


def arithmetic_view(decision: Decision) -> Iterator[RenderableType]:
    """Yield the computation of the relevance of the best candidates."""
    with_terms = [candidate for candidate in decision.candidates if candidate.terms]
    explained = sorted(with_terms, key=lambda candidate: -candidate.raw)[:MAX_EXPLAINED]
    highest = max((abs(adds) for candidate in explained for _, _, adds in candidate.terms), default=0.0)
    bar = decision.thresholds.needed if decision.thresholds else 0.0
    for candidate in explained:
        weights = relevance.model_weights(candidate.terms)
        yield ""
        yield Text.assemble((safe(candidate.id), ACCENT), f"  relevance {candidate.relevance:.4f}, {bar:.4f} needed")
        yield Text(f"  {'evidence':<{NAME_WIDTH}} {'value':>8}   {'weight':>8}   {'adds':>8}", style=DIM)
        for name, value, adds in sorted(candidate.terms, key=lambda term: (-abs(term[2]), term[0])):
            if adds:
                weight = weights.get(name, adds / value if value else 0.0)
                yield from _term(safe(name), value, weight, adds, abs(adds) / highest if highest else 0.0)
        if without_effect := [safe(name) for name, _, adds in candidate.terms if not adds]:
            yield _step("adds nothing", ", ".join(without_effect))
        total = sum(adds for _, _, adds in candidate.terms)
        yield _step("sum", f"{total:.4f}")
        yield _step("probability", f"1 / (1 + e^{-total:.4f}) = {candidate.raw:.4f}")
        yield _step("relevance", product(candidate))


def _term(name: str, value: float, weight: float, adds: float, share: float) -> Iterator[RenderableType]:
    drawn = Text(f"  {name:<{NAME_WIDTH}} {value:8.4f} x {weight:8.4f} = {adds:+8.4f}  ")
    drawn += bar(share, BAR, RIGHT if adds >= 0 else WRONG)
    meaning = relevance.NAMES.get(name, "")
    if not terminal.out.is_terminal or drawn.cell_len + 2 + len(meaning) <= terminal.out.width:
        drawn += Text(f"  {meaning}", style=DIM)
        drawn.rstrip()
        yield drawn
        return
    drawn.rstrip()
    yield drawn
    if meaning:
        yield Padding(Text(meaning, style=DIM), (0, 0, 0, 4))


def _step(name: str, text: str) -> Text:
    return Text(f"  {name:<{NAME_WIDTH}} {text}")


def product(candidate: Candidate) -> str:
    """Describe how the factors turn the probability into the relevance.

    >>> product(Candidate("a", "b", 0.55, 0.5, "injected", factors=(1.1, 1.0, 1.0)))
    '0.5000 x 1.1 for its namespace = 0.5500'
    >>> product(Candidate("a", "b", 0.5, 0.5, "injected", factors=(1.0, 1.0, 1.0)))
    '0.5000: no factor changes it'
    """
    if len(candidate.factors) != len(FACTORS):
        return f"{candidate.relevance:.4f}, by factors that were not kept"
    applied = [f" x {factor:g} {why}" for factor, why in zip(candidate.factors, FACTORS, strict=True) if factor != 1.0]
    if not applied:
        return f"{candidate.raw:.4f}: no factor changes it"
    capped = ", at most 1" if candidate.raw * candidate.factors[0] * candidate.factors[1] > 1.0 else ""
    return f"{candidate.raw:.4f}{''.join(applied)} = {candidate.relevance:.4f}{capped}"
