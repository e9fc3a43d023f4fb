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

MAX_ROWS = 10_000  # in a table
MAX_ROWS_BYTES = 4_500_000  # for the rows of all tables of a page
MAX_INITIAL_ROWS = 500  # page.css hides the rest until the person asks: a browser needs 3 s to lay out 10,000
MAX_CELL, MAX_CELL_OF_MANY = 240, 120  # characters of a cell, and of a cell in a long table
MIN_LONG_TABLE = 2_000  # rows
MAX_MASKED = 4_000  # characters of a text that are searched for secrets; fewer are shown
MIN_FILTERED_ROWS = 20  # Longer tables have a filter field.
_FOLDER = os.path.dirname(os.path.abspath(__file__))
_WIDTH, _HEIGHT, _FOOT = 1_000, 120, 18  # of a time line, in SVG units
_LABELS = 8  # at most, on a time line


class Column(NamedTuple):
    """A column of a table. is_number: sorted by value, the largest first."""

    title: str
    is_number: bool = False


class Moment(NamedTuple):
    """A bar of a time line. whole: its count; marked: how many of them are marked."""

    name: str
    whole: int
    marked: int = 0


Cell = str | int | float


class Page:
    """A page that is being built, from top to bottom."""

    def __init__(self, title: str, about: str) -> None:
        self._title = html_text(title)
        head = f"<div><h1>{self._title}</h1><p>{html_text(about)}</p></div>"
        self._parts = [f'<header>{head}<button id="theme">dark / light</button></header>']
        self._room = MAX_ROWS_BYTES

    def add_figures(self, figures: Sequence[tuple[str, str]]) -> None:
        """Add figures, each behind its name."""
        pairs = "".join(f"<div><dt>{html_text(name)}</dt><dd>{html_text(value)}</dd></div>" for name, value in figures)
        self._parts.append(f"<dl>{pairs}</dl>")

    def add_heading(self, title: str, note: str = "") -> None:
        """Add a heading and a sentence below it."""
        self._parts.append(f"<h2>{html_text(title)}</h2>" + (f"<p>{html_text(note)}</p>" if note else ""))

    def add_table(self, columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> None:
        """Add a table within MAX_ROWS and the rest of MAX_ROWS_BYTES, and note the number of rows left out."""
        if not rows:
            self._parts.append("<p>None.</p>")
            return
        head = "".join(
            f'<th scope="col"{_class_of(column)}><button>{html_text(column.title)}</button></th>' for column in columns
        )
        max_chars = MAX_CELL_OF_MANY if len(rows) > MIN_LONG_TABLE else MAX_CELL
        lines = []
        for row in rows[:MAX_ROWS]:
            cells = [_cell(value, column, max_chars) for value, column in zip(row, columns, strict=True)]
            line = f"<tr>{''.join(cells)}</tr>\n"
            if (size := len(line.encode())) > self._room:
                break
            self._room -= size
            lines.append(line)
        field = '<input type="search" placeholder="filter" aria-label="filter">' if len(rows) >= MIN_FILTERED_ROWS else ""
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
        more = f'<label><input type="checkbox">all {len(lines):,} rows</label>' if len(lines) > MAX_INITIAL_ROWS else ""
        self._parts.append(f'<section>{field}{more}<div class="wide">{table}</div></section>')
        if len(rows) > len(lines):
            self._parts.append(f"<p>Of {len(rows):,} the first {len(lines):,} are shown.</p>")

    def add_time_line(self, moments: Sequence[Moment]) -> None:
        """Add bars side by side, the oldest first."""
        highest = max((moment.whole for moment in moments), default=0)
        if not highest:
            return
        step = _WIDTH / len(moments)
        every = -(-len(moments) // _LABELS)
        bars = []
        for position, moment in enumerate(moments):
            x, width = f"{position * step + step * 0.1:.1f}", f"{step * 0.8:.1f}"
            label = f"{moment.name}: {moment.whole:,}" + (f", {moment.marked:,}" if moment.marked else "")
            bars.append(f"<g><title>{html_text(label)}</title>")
            for name, count in (("all", moment.whole), ("part", moment.marked)):
                height = (_HEIGHT - _FOOT) * count / highest
                if count:
                    y = f"{_HEIGHT - _FOOT - height:.1f}"
                    bars.append(f'<rect class="{name}" x="{x}" y="{y}" width="{width}" height="{height:.1f}"/>')
            bars.append("</g>")
            if position % every == 0:
                bars.append(f'<text class="label" x="{x}" y="{_HEIGHT - 4}">{html_text(moment.name)}</text>')
        self._parts.append(f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">{"".join(bars)}</svg>')

    def render(self) -> str:
        """Return the page as HTML."""
        style, script = _read_asset("page.css"), _read_asset("page.js")
        policy = (
            f"default-src 'none'; style-src '{_csp_hash(style)}'; script-src '{_csp_hash(script)}'; "
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


def html_text(text: str) -> str:
    """Return a text as escaped HTML: one visible line, without secrets.

    >>> html_text('<script>alert("1")</script>\\n&\\u202e')
    '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp;'
    """
    return escape(redact_line(text))


def _cell(value: Cell, column: Column, max_chars: int) -> str:
    """Return a table cell. Numbers are shown short, and sorted by their value. max_chars: length limit of a text."""
    if isinstance(value, float):
        return f'<td class="n" data-v="{value!r}">{value:,.2f}</td>'
    if isinstance(value, int):
        return f'<td class="n">{value:,}</td>'
    searched = value[:MAX_MASKED]  # Masked before it is cut. Ids and days take the quick path.
    text = redact_line(searched) if " " in searched else safe(searched)
    return f"<td{_class_of(column)}>{escape(cut(text, max_chars))}</td>"


def _class_of(column: Column) -> str:
    return ' class="n"' if column.is_number else ""


def _read_asset(name: str) -> str:
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return file.read()


def _csp_hash(text: str) -> str:
    """Return the source expression that lets a style or script run under the content policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def write_page(page: Page, path: str) -> None:
    """Write a page to a file and report it; to standard output for "-". Raises UsageError where the file cannot be written.

    A link is followed. A pipe or a device is written to directly.
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
        raise UsageError(f"{safe(path)} cannot be written: {error.strerror}", "name another file") from error
    terminal.say(f"written to {safe(path)} ({len(text) / 1e6:.1f} MB); open it in a browser")
