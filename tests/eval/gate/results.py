"""The gate's figures, ready for JSON, and as text for the terminal."""

from collections.abc import Sequence
from typing import Any  # of JSON

from tests.eval.gate import figures
from tests.eval.gate.trials import Trial
from tests.eval.measures import Estimate

Row = dict[str, Any]

DIGITS = 4
TENTHS = tuple(tenth / 10 for tenth in range(11))
IN_GRID = ("answered", "unanswerable: silent", "unrelated: silent", "first precision", "precision", "fire")


def measured(trials: Sequence[Trial], threshold: float) -> Row:
    """All figures of one threshold."""
    return {
        "prompts": len(trials),
        "threshold": threshold,
        "figures": {
            **shares(trials),
            "ece": _shown(figures.calibration_error(trials)),
            "ece of the first": _shown(figures.calibration_error(trials, 1)),
        },
        "reliability": [
            {"relevance": round(one.relevance, DIGITS), "share": _shown(one.share), "candidates": one.candidates}
            for one in figures.reliability(trials, TENTHS)
        ],
    }


def shares(trials: Sequence[Trial]) -> Row:
    return {name: _shown(value) for name, value in figures.shares(trials).items()}


def _shown(value: Estimate) -> Row:
    return {
        "mean": round(value.mean, DIGITS),
        "low": round(value.low, DIGITS),
        "high": round(value.high, DIGITS),
        "queries": value.queries,
    }


def table(found: Row) -> str:
    """The figures at the threshold, the reliability curve, and the trade-off where there is one."""
    lines = [
        f"{found['set']}, {found['memories']} memories, {found['prompts']} prompts, threshold {found['threshold']:g}",
        *(f"{name:30}{_interval(value)}  of {value['queries']}" for name, value in found["figures"].items()),
        "candidates by relevance: its mean, the share that answers, how many",
        *(f"{one['relevance']:6.3f}  {_interval(one['share'])}  of {one['candidates']}" for one in found["reliability"]),
    ]
    if "thresholds" in found:
        lines.append("  ".join(("threshold", *IN_GRID)))
        for row in found["thresholds"]:
            cells = (f"{row[name]['mean']:{len(name)}.3f}" for name in IN_GRID)
            lines.append("  ".join((f"{row['threshold']:9.2f}", *cells)))
    return "\n".join(lines)


def _interval(value: dict[str, float]) -> str:
    return f"{value['mean']:.3f} [{value['low']:.3f}, {value['high']:.3f}]"
