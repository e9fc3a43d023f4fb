"""HTML pages of reports: built, escaped and written."""

import base64
import hashlib
import os
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from subcog_hooks.cli.support.output import redact_line, safe, terminal
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.whole_files import WholeFile
from subcog_hooks.text.sanitise import cut

MOST_ROWS = 10_000  # of a table
MOST_BYTES = 4_500_000  # of the rows of all tables of a page, whatever stands in them
ROWS_AT_ONCE = 500  # that are laid out before the person asks for all, as the style has it: 10,000 took a browser three seconds
MOST_SHOWN, SHOWN_OF_MANY = 240, 120  # characters of a cell, and of one among many rows
MANY_ROWS = 2_000
MOST_MASKED = 4_000  # characters of a text that are looked through for secrets, of which the first ones are shown
LEAST_FILTERED = 20  # rows from which on a table has a field to filter it
_FOLDER = os.path.dirname(os.path.abspath(__file__))
_WIDTH, _HEIGHT, _FOOT = 1_000, 120, 18  # of a time line, in its own units
_LABELS = 8  # of a time line at most


class Column(NamedTuple):
    """A column of a table. is_number: sorted by value, the largest first."""

    title: str
    is_number: bool = False


class Moment(NamedTuple):
    """A bar of a time line: its name, how many, and how many of these are marked."""

    name: str
    whole: int
    marked: int = 0


Cell = str | int | float


class Page:
    """A page that is being built, from top to bottom."""

    def __init__(self, title: str, about: str) -> None:
        self._title = shown(title)
        self._parts = [
            f'<header><div><h1>{self._title}</h1><p>{shown(about)}</p></div><button id="theme">dark / light</button></header>'
        ]
        self._room = MOST_BYTES

    def add_figures(self, figures: Sequence[tuple[str, str]]) -> None:
        """Add figures, each behind its name."""
        pairs = "".join(f"<div><dt>{shown(name)}</dt><dd>{shown(value)}</dd></div>" for name, value in figures)
        self._parts.append(f"<dl>{pairs}</dl>")

    def add_heading(self, title: str, note: str = "") -> None:
        """Add the heading of what follows, with a sentence about it."""
        self._parts.append(f"<h2>{shown(title)}</h2>" + (f"<p>{shown(note)}</p>" if note else ""))

    def add_table(self, columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> None:
        """Add a table, of at most MOST_ROWS rows and what is left of MOST_BYTES. Said is how many are left out."""
        if not rows:
            self._parts.append("<p>None.</p>")
            return
        head = "".join(f'<th scope="col"{_class_of(column)}><button>{shown(column.title)}</button></th>' for column in columns)
        most = SHOWN_OF_MANY if len(rows) > MANY_ROWS else MOST_SHOWN
        lines = []
        for row in rows[:MOST_ROWS]:
            line = (
                "<tr>" + "".join([_cell(value, column, most) for value, column in zip(row, columns, strict=True)]) + "</tr>\n"
            )
            if (size := len(line.encode())) > self._room:
                break
            self._room -= size
            lines.append(line)
        field = '<input type="search" placeholder="filter" aria-label="filter">' if len(rows) >= LEAST_FILTERED else ""
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
        more = f'<label><input type="checkbox">all {len(lines):,} rows</label>' if len(lines) > ROWS_AT_ONCE else ""
        self._parts.append(f'<section>{field}{more}<div class="wide">{table}</div></section>')
        if len(rows) > len(lines):
            self._parts.append(f"<p>Of {len(rows):,} the first {len(lines):,} are shown.</p>")

    def add_time_line(self, moments: Sequence[Moment]) -> None:
        """Add bars side by side, the oldest first."""
        most = max((one.whole for one in moments), default=0)
        if not most:
            return
        step = _WIDTH / len(moments)
        every = -(-len(moments) // _LABELS)
        bars = []
        for place, one in enumerate(moments):
            x, width = f"{place * step + step * 0.1:.1f}", f"{step * 0.8:.1f}"
            told = f"{one.name}: {one.whole:,}" + (f", {one.marked:,}" if one.marked else "")
            bars.append(f"<g><title>{shown(told)}</title>")
            for name, count in (("all", one.whole), ("part", one.marked)):
                height = (_HEIGHT - _FOOT) * count / most
                if count:
                    y = f"{_HEIGHT - _FOOT - height:.1f}"
                    bars.append(f'<rect class="{name}" x="{x}" y="{y}" width="{width}" height="{height:.1f}"/>')
            bars.append("</g>")
            if place % every == 0:
                bars.append(f'<text class="label" x="{x}" y="{_HEIGHT - 4}">{shown(one.name)}</text>')
        self._parts.append(f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">{"".join(bars)}</svg>')

    def render(self) -> str:
        """Return the page as HTML."""
        style, script = _packaged("page.css"), _packaged("page.js")
        policy = (
            f"default-src 'none'; style-src '{_hashed(style)}'; script-src '{_hashed(script)}'; "
            "base-uri 'none'; form-action 'none'"
        )
        body = "\n".join(self._parts)
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            '<meta name="referrer" content="no-referrer">\n<meta name="viewport" content="width=device-width">\n'
            f"<title>{self._title}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n"
            f"<script>{script}</script>\n</body>\n</html>\n"
        )


def shown(text: str) -> str:
    """Return a text as HTML: in one visible line, without secrets, and escaped.

    >>> shown('<script>alert("1")</script>\\n&\\u202e')
    '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp;'
    """
    return escape(redact_line(text))


def _cell(value: Cell, column: Column, most: int) -> str:
    """Return a cell. Numbers are shown short, and sorted by what they are. most: characters of a text."""
    if isinstance(value, float):
        return f'<td class="n" data-v="{value!r}">{value:,.2f}</td>'
    if isinstance(value, int):
        return f'<td class="n">{value:,}</td>'
    whole = value[:MOST_MASKED]  # masked before it is cut; of ids and days there are many
    text = redact_line(whole) if " " in whole else safe(whole)
    return f"<td{_class_of(column)}>{escape(cut(text, most))}</td>"


def _class_of(column: Column) -> str:
    return ' class="n"' if column.is_number else ""


def _packaged(name: str) -> str:
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return file.read()


def _hashed(text: str) -> str:
    """Return the source expression of a style or script that may act."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def write_page(page: Page, path: str) -> None:
    """Write a page to a file, and say so; to standard output for "-". Raises UsageError where that can not be done.

    A link is followed; what is no regular file (a pipe, a device) is written to as it is.
    """
    if path == "-":
        terminal.raw(page.render())
        return
    if not os.path.basename(path) or os.path.isdir(path):
        raise UsageError(f"{safe(path)!r} names no file", "name the file for the page, as --html page.html")
    text = page.render()
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
        else:
            with WholeFile(os.path.realpath(path)) as whole:
                whole.file.write(text)
    except OSError as error:
        raise UsageError(f"{safe(path)} can not be written: {error.strerror}", "name another file") from error
    terminal.say(f"written to {safe(path)} ({len(text) / 1e6:.1f} MB); open it in a browser")
