"""The gate's reliability curve, and its trade-off over thresholds, drawn side by side as SVG for light and dark pages."""

from collections.abc import Sequence
from html import escape
from typing import Any  # of JSON

SIDE = 300  # of a panel's square
LEFT, GAP, TOP, BOTTOM, RIGHT = 62, 84, 58, 96, 24
WIDTH, HEIGHT = LEFT + SIDE + GAP + SIDE + RIGHT, TOP + SIDE + BOTTOM
PAGE, INK, GRID = ("#ffffff", "#14171a"), ("#222222", "#dcdcdc"), ("#e3e3e3", "#33383d")  # on a light page, on a dark one
LINES = ("answered", "unanswerable: silent", "unrelated: silent", "first precision")  # of the trade-off
COLOURS = (("#1b6ca8", "#62b0e8"), ("#c8553d", "#ef8a70"), ("#3b7f4b", "#74c288"), ("#7a4fa3", "#bb94e0"))

Row = dict[str, Any]


def of(found: Row) -> str:
    """The drawing of what `python -m tests.eval.gate` has measured; the trade-off is empty where no grid was asked for."""
    title = f"{found['set']}: {found['memories']:,} memories, {found['prompts']} prompts"
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="system-ui, sans-serif" font-size="12">',
        f"<style>{_style(0)} .dashed {{ stroke-dasharray: 4 4 }} @media (prefers-color-scheme: dark) {{ {_style(1)} }}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" class="page"/>',
        _text(LEFT, 24, title, 'font-size="14" font-weight="600"'),
        *_reliability(found),
        *_trade_off(found),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _style(theme: int) -> str:
    """The rules of a theme, 0 light, 1 dark."""
    page, ink, grid = PAGE[theme], INK[theme], GRID[theme]
    rules = [
        f".page {{ fill: {page} }} text {{ fill: {ink} }} .grid {{ stroke: {grid} }} .axis {{ stroke: {ink}; fill: none }}",
        *(
            f".line{place} {{ stroke: {pair[theme]}; fill: none; stroke-width: 2 }} .dot{place} {{ fill: {pair[theme]} }}"
            for place, pair in enumerate(COLOURS)
        ),
        f".ring {{ stroke: {COLOURS[1][theme]}; fill: {page} }}",
    ]
    return " ".join(rules)


class _Panel:
    """A square from 0 to 1 in both directions."""

    def __init__(self, left: float) -> None:
        self.left = left

    def x(self, value: float) -> float:
        return self.left + value * SIDE

    def y(self, value: float) -> float:
        return TOP + (1.0 - value) * SIDE

    def axes(self, title: str, across: str) -> list[str]:
        bottom = TOP + SIDE
        parts = [_text(self.left, TOP - 12, title)]
        for tenth in range(0, 11, 2):
            x, y = self.x(tenth / 10), self.y(tenth / 10)
            parts += [
                f'<line class="grid" x1="{self.left}" x2="{self.left + SIDE}" y1="{y:.1f}" y2="{y:.1f}"/>',
                _text(self.left - 8, y + 4, f"{tenth / 10:g}", 'text-anchor="end"'),
                f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{bottom + 4}"/>',
                _text(x, bottom + 18, f"{tenth / 10:g}", 'text-anchor="middle"'),
            ]
        parts += [
            f'<line class="axis" x1="{self.left}" x2="{self.left + SIDE}" y1="{bottom}" y2="{bottom}"/>',
            _text(self.left + SIDE / 2, bottom + 38, across, 'text-anchor="middle"'),
        ]
        return parts

    def path(self, points: Sequence[tuple[float, float]]) -> str:
        return " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)


def _reliability(found: Row) -> list[str]:
    """Candidates in tenths of relevance as dots with intervals, in ten bins of equal mass as rings."""
    panel = _Panel(LEFT)
    parts = panel.axes("share of the candidates that answer", "relevance")
    parts.append(f'<polyline class="axis dashed" points="{panel.path([(0.0, 0.0), (1.0, 1.0)])}"/>')
    tenths = found["reliability by tenths"]
    points = [(one["relevance"], one["share"]["mean"]) for one in tenths]
    parts.append(f'<polyline class="line0" points="{panel.path(points)}"/>')
    for one in tenths:
        x, low, high = panel.x(one["relevance"]), panel.y(one["share"]["low"]), panel.y(one["share"]["high"])
        parts += [
            f'<line class="line0" x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>',
            f'<circle class="dot0" cx="{x:.1f}" cy="{panel.y(one["share"]["mean"]):.1f}" r="3.5"/>',
        ]
    parts += [
        f'<circle class="ring" cx="{panel.x(one["relevance"]):.1f}" cy="{panel.y(one["share"]["mean"]):.1f}" r="4"/>'
        for one in found["reliability"]
    ]
    error = found["figures"]["ece"]
    y = TOP + SIDE + 62
    parts += [
        f'<circle class="dot0" cx="{LEFT + 4}" cy="{y}" r="3.5"/>',
        _text(LEFT + 14, y + 4, "tenths"),
        f'<circle class="ring" cx="{LEFT + 72}" cy="{y}" r="4"/>',
        _text(LEFT + 82, y + 4, "equal mass"),
        _text(LEFT + 160, y + 4, f"ECE {error['mean']:.3f} [{error['low']:.3f}, {error['high']:.3f}]"),
    ]
    return parts


def _trade_off(found: Row) -> list[str]:
    """The shares against the threshold, the one in force marked."""
    panel = _Panel(LEFT + SIDE + GAP)
    parts = panel.axes("share of prompts, and precision", "threshold")
    at = panel.x(found["threshold"])
    parts.append(f'<line class="axis dashed" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{TOP + SIDE}"/>')
    for place, name in enumerate(LINES):
        points = [(row["threshold"], row[name]["mean"]) for row in found.get("thresholds", ())]
        parts.append(f'<polyline class="line{place}" points="{panel.path(points)}"/>')
        x, y = panel.left + place % 2 * SIDE / 2, TOP + SIDE + 62 + place // 2 * 18
        parts += [f'<line class="line{place}" x1="{x}" x2="{x + 16}" y1="{y}" y2="{y}"/>', _text(x + 21, y + 4, name)]
    return parts


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(text)}</text>'
