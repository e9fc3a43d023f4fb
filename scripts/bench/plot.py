"""Draw recall's median and 95th percentile against the number of memories, as SVG."""

from collections.abc import Callable, Sequence
from html import escape
from math import ceil, floor, log10

from scripts.bench.machine import describe_machine

WIDTH, HEIGHT = 760, 460
LEFT, RIGHT, TOP, BOTTOM = 76, 24, 84, 84  # margins
LINES = (  # in the order of the legend: what, its figure, colour, dashes
    ("the hook's recall, median", "hook_median_ms", "#14508c", ""),
    ("p95", "hook_p95_ms", "#14508c", "7 4"),
    ("search, median", "search_median_ms", "#b4460f", ""),
    ("p95", "search_p95_ms", "#b4460f", "7 4"),
)
LEGEND_AT = (0, 232, 332, 502)  # where each entry begins, from LEFT


def draw_plot(sizes: Sequence[dict[str, object]], environment: dict[str, object]) -> str:
    """Draw an SVG of milliseconds against memories, both on logarithmic axes."""
    sizes = sorted(sizes, key=lambda size: int(str(size["memories"])))
    counts = [float(str(size["memories"])) for size in sizes]
    times = [float(str(size[key])) for size in sizes for _, key, _, _ in LINES]
    x = _scale(counts[0] / 1.25, counts[-1] * 1.25, LEFT, WIDTH - RIGHT)
    marks = _ticks(min(times), max(times))
    y = _scale(marks[0], marks[-1], HEIGHT - BOTTOM, TOP)
    font = 'font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#1a1a1a"'
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" {font}>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        _text(LEFT, 28, "Recall within one process, by the number of memories", more='font-size="16" font-weight="bold"'),
    ]
    for mark in marks:
        drawn += [_line(LEFT, y(mark), WIDTH - RIGHT, y(mark)), _text(LEFT - 10, y(mark) + 4.5, f"{mark:,g}", "end")]
    for count in counts:
        drawn += [
            _line(x(count), TOP, x(count), HEIGHT - BOTTOM),
            _text(x(count), HEIGHT - BOTTOM + 20, f"{count:,.0f}", "middle"),
        ]
    middle = (TOP + HEIGHT - BOTTOM) / 2
    drawn += [
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 44, "memories in the store", "middle"),
        _text(24, middle, "milliseconds per query", "middle", f'transform="rotate(-90 24 {middle:g})"'),
        _text(LEFT, HEIGHT - 12, describe_machine(environment), more='font-size="10.5" fill="#555555"'),
    ]
    for (title, key, colour, dashes), at in zip(LINES, LEGEND_AT, strict=True):
        points = [(x(count), y(float(str(size[key])))) for count, size in zip(counts, sizes, strict=True)]
        path = " ".join(f"{across:.1f},{down:.1f}" for across, down in points)
        style = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes or "none"}"'
        drawn += [
            f'<polyline points="{path}" fill="none" stroke-linejoin="round" {style}/>',
            *(f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3.5" fill="{colour}"/>' for across, down in points),
            f'<line x1="{LEFT + at}" y1="54" x2="{LEFT + at + 30}" y2="54" {style}/>',
            _text(LEFT + at + 38, 58.5, title),
        ]
    return "\n".join([*drawn, "</svg>", ""])


def _scale(low: float, high: float, first: float, last: float) -> Callable[[float], float]:
    """Return what maps a value between `low` and `high` to its place between `first` and `last` on a logarithmic axis."""
    return lambda value: first + (last - first) * (log10(value) - log10(low)) / (log10(high) - log10(low))


def _ticks(low: float, high: float) -> list[float]:
    """Return 1, 2, 5, 10 ... (any power of ten of them): from the last that is not above `low` to the first above `high`."""
    marks = [step * 10.0**power for power in range(floor(log10(low)), ceil(log10(high)) + 1) for step in (1, 2, 5)]
    first = max(number for number, mark in enumerate(marks) if mark <= low)
    last = min(number for number, mark in enumerate(marks) if mark > high)
    return marks[first : last + 1]


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#dddddd"/>'


def _text(x: float, y: float, text: str, anchor: str = "start", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(text)}</text>'
