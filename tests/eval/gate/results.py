"""The gate's figures, ready for JSON, and as text for the terminal."""

from collections.abc import Sequence
from typing import Any  # of JSON

from tests.eval.gate import figures
from tests.eval.gate.trials import Trial
from tests.eval.measures import Estimate

Row = dict[str, Any]

DIGITS = 4


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
    """The figures at the threshold."""
    lines = [
        f"{found['set']}, {found['memories']} memories, {found['prompts']} prompts, threshold {found['threshold']:g}",
        *(f"{name:30}{_interval(value)}  of {value['queries']}" for name, value in found["figures"].items()),
    ]
    return "\n".join(lines)


def _interval(value: dict[str, float]) -> str:
    return f"{value['mean']:.3f} [{value['low']:.3f}, {value['high']:.3f}]"
