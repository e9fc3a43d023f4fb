"""The gate's figures as rows, ready for JSON."""

from collections.abc import Iterator, Sequence

from tests.eval.bench import DIGITS, Row, shown
from tests.eval.gate import figures
from tests.eval.gate.trials import Trial

TENTHS = tuple(tenth / 10 for tenth in range(11))


def measured(trials: Sequence[Trial], threshold: float) -> Row:
    """All figures of one threshold."""
    return {
        "prompts": len(trials),
        "threshold": threshold,
        "figures": {
            **shares(trials),
            "ece": shown(figures.calibration_error(trials)),
            "ece of the first": shown(figures.calibration_error(trials, 1)),
        },
        "reliability": _curve(figures.reliability(trials)),
        "reliability by tenths": _curve(figures.reliability(trials, TENTHS)),
    }


def shares(trials: Sequence[Trial]) -> Row:
    return {name: shown(value) for name, value in figures.shares(trials).items()}


def told(trials: Sequence[Trial]) -> Iterator[Row]:
    """What the hook did with each prompt, a row a prompt."""
    for trial in trials:
        yield {
            "id": trial.prompt.id,
            "kind": trial.prompt.kind,
            "prompt": trial.prompt.text,
            "relevant": sorted(trial.prompt.relevant),
            "given": trial.given,
            "candidates": [{"id": one.id, "relevance": one.relevance} for one in trial.candidates],
        }


def _curve(bins: Sequence[figures.Bin]) -> list[Row]:
    return [
        {"relevance": round(one.relevance, DIGITS), "share": shown(one.share), "candidates": one.candidates} for one in bins
    ]
