"""nDCG@10 against the share of meaning, drawn as SVG: a panel a collection, a line a query vector, the presets marked."""

import math
from collections.abc import Sequence
from html import escape
from typing import Any  # of JSON

from subcog_hooks.settings.defaults import ADAPTIVE, RRF

WIDTH, HEIGHT = 460, 330  # of a panel
LEFT, RIGHT, TOP, BOTTOM = 62, 42, 46, 92
STEP = 0.05  # between two lines of the grid
COLOURS = {"neural": "#1b6ca8", "static": "#c8553d"}
MARKS = {ADAPTIVE: "M-5,4 L5,4 L0,-5 Z", RRF: "M-4.5,-4.5 H4.5 V4.5 H-4.5 Z"}  # presets that are no share of meaning
ASIDE = 20  # behind the axis: a preset whose share differs from query to query
DEFAULT_RADIUS = 7

Rows = Sequence[dict[str, Any]]


def of_alpha(rows: Rows) -> str:
    """The plot of a sweep's rows: those of the dimensions `alpha` and `preset`."""
    names = list(dict.fromkeys(row["set"] for row in rows if row["dimension"] == "alpha"))
    panels = [_panel([row for row in rows if row["set"] == name], name, place * WIDTH) for place, name in enumerate(names)]
    width = WIDTH * len(names)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}" '
        'font-family="system-ui, sans-serif" font-size="12" fill="#222">\n'
        f'<rect width="{width}" height="{HEIGHT}" fill="#fff"/>\n' + "\n".join(panels) + "\n</svg>\n"
    )


class _Scale:
    """From figures to places in a panel."""

    def __init__(self, low: float, high: float, shift: float) -> None:
        self.low = math.floor(low / STEP) * STEP
        self.high = math.ceil(high / STEP) * STEP
        self._shift = shift

    def x(self, share: float) -> float:
        return self._shift + LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, figure: float) -> float:
        return HEIGHT - BOTTOM - (figure - self.low) / (self.high - self.low) * (HEIGHT - TOP - BOTTOM)


def _panel(rows: Rows, name: str, shift: float) -> str:
    shares = [row for row in rows if row["dimension"] == "alpha" and row["value"] != ADAPTIVE]
    presets = [row for row in rows if row["dimension"] == "preset" and row["value"] in MARKS]
    figures = [row["ndcg@10"] for row in (*shares, *presets)]
    scale = _Scale(min(figures), max(figures), shift)
    parts = [_axes(scale, name)]
    for query, colour in COLOURS.items():
        line = [row for row in shares if row["query"] == query]
        points = " ".join(f"{scale.x(float(row['value'])):.1f},{scale.y(row['ndcg@10']):.1f}" for row in line)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for row in line:
            x, y = scale.x(float(row["value"])), scale.y(row["ndcg@10"])
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>')
            if row["is_default"]:
                parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{DEFAULT_RADIUS}" fill="none" stroke="{colour}"/>')
        for row in presets:
            if row["query"] != query:
                continue
            x = scale.x(0.5) if row["value"] == RRF else scale.x(1.0) + ASIDE
            y = scale.y(row["ndcg@10"])
            parts.append(
                f'<path d="{MARKS[row["value"]]}" transform="translate({x:.1f},{y:.1f})" fill="#fff" stroke="{colour}"/>'
            )
    parts.append(_legend(shift + LEFT))
    return "\n".join(parts)


def _axes(scale: _Scale, name: str) -> str:
    left, right, bottom = scale.x(0.0), scale.x(1.0), HEIGHT - BOTTOM
    parts = [f'<text x="{left:.1f}" y="{TOP - 24}" font-size="14" font-weight="600">{escape(name)}, tuning half</text>']
    for tick in range(round((scale.high - scale.low) / STEP) + 1):
        figure = scale.low + tick * STEP
        y = scale.y(figure)
        parts.append(f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e3e3e3"/>')
        parts.append(f'<text x="{left - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{figure:.2f}</text>')
    for tenth in range(0, 11, 2):
        x = scale.x(tenth / 10)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{bottom + 4}" stroke="#444"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{tenth / 10:g}</text>')
    parts.append(f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{bottom}" y2="{bottom}" stroke="#444"/>')
    middle, up = (left + right) / 2, (TOP + bottom) / 2
    parts.append(f'<text x="{middle:.1f}" y="{bottom + 38}" text-anchor="middle">alpha: words alone 0, meaning alone 1</text>')
    side = left - 46
    parts.append(f'<text x="{side:.1f}" y="{up}" text-anchor="middle" transform="rotate(-90 {side:.1f} {up})">nDCG@10</text>')
    return "\n".join(parts)


def _legend(left: float) -> str:
    y = HEIGHT - 30
    parts = []
    for place, (query, colour) in enumerate(COLOURS.items()):
        x = left + 106 * place
        parts.append(f'<line x1="{x}" x2="{x + 18}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{x + 23}" y="{y + 4}">{query} query</text>')
    x = left + 220
    parts.append(f'<circle cx="{x}" cy="{y}" r="{DEFAULT_RADIUS}" fill="none" stroke="#444"/>')
    parts.append(f'<text x="{x + 12}" y="{y + 4}">default</text>')
    for place, (name, mark) in enumerate(MARKS.items()):
        at = x + 68 + 74 * place
        parts.append(f'<path d="{mark}" transform="translate({at},{y})" fill="#fff" stroke="#444"/>')
        parts.append(f'<text x="{at + 9}" y="{y + 4}">{name}</text>')
    return "\n".join(parts)
