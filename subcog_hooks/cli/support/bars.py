"""Numbers as bars and sparklines: of block characters, or of ASCII where the terminal has no others."""

from collections.abc import Sequence

from rich.text import Text

from subcog_hooks.cli.support.output import DIM, terminal

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_HEIGHTS = "▁▂▃▄▅▆▇█"
_ASCII_HEIGHTS = "_.-=+*%#"
_MARK, _ASCII_MARK = "┃", "|"


def bar(share: float, width: int, style: str = "", mark: float | None = None) -> Text:
    """Return a share of 0.0 to 1.0 as a bar of so many columns; mark: another share, at which a line stands."""
    blocks = _has_blocks()
    text = Text(filled(share, width, blocks=blocks), style=style)
    if mark is None:
        return text
    place = min(width - 1, int(clamped(mark) * width))
    return text[:place] + Text(_MARK if blocks else _ASCII_MARK, style=DIM) + text[place + 1 :]


def _has_blocks() -> bool:
    return terminal.has_blocks and not terminal.out.legacy_windows


def filled(share: float, width: int, *, blocks: bool) -> str:
    """Return a share of 0.0 to 1.0 as a bar of so many characters; blocks: else in ASCII.

    >>> filled(0.5, 4, blocks=True), filled(0.3, 4, blocks=True), filled(0.3, 4, blocks=False), filled(7.0, 2, blocks=False)
    ('██  ', '█▎  ', '#   ', '##')
    """
    eighths = round(clamped(share) * width * 8)
    if not blocks:
        return ("#" * round(eighths / 8)).ljust(width)
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_EIGHTHS[rest] if rest else "")).ljust(width)


def sparkline(values: Sequence[float | None]) -> str:
    """Return a character for each value, as high as its share of the largest; a blank where there is none."""
    return heights(values, _HEIGHTS if _has_blocks() else _ASCII_HEIGHTS)


def heights(values: Sequence[float | None], characters: str = _HEIGHTS) -> str:
    """Return a character for each value, as high as its share of the largest; characters: from the lowest to the highest.

    >>> heights([0.0, 1.0, None, 8.0]), heights([0.0, 0.0]), heights([])
    ('▁▂ █', '▁▁', '')
    """
    most = max((value for value in values if value is not None), default=0.0)
    top = len(characters) - 1
    return "".join(" " if value is None else characters[round(top * value / most) if most > 0 else 0] for value in values)


def clamped(share: float) -> float:
    return min(1.0, max(0.0, share))
