"""Figures of the gate as text, for the terminal."""

from typing import Any  # of JSON

IN_GRID = ("answered", "unanswerable: silent", "unrelated: silent", "first precision", "precision", "fire")

Row = dict[str, Any]


def of(found: Row) -> str:
    """The figures at the threshold, the reliability curve, and the trade-off where there is one."""
    measured = f"{found['set']}, {found['memories']} memories, {found['prompts']} prompts ({found['half']})"
    lines = [
        f"{measured}, threshold {found['threshold']:g}",
        "",
        *(f"{name:30}{_interval(value)}  of {value['queries']}" for name, value in found["figures"].items()),
        "",
        "candidates by relevance: its mean, the share that answers, how many",
        *(
            f"{one['relevance']:6.3f}  {_interval(one['share'])}  of {one['candidates']}"
            for one in found["reliability by tenths"]
        ),
    ]
    if "thresholds" in found:
        lines += ["", "  ".join(("threshold", *IN_GRID)), *map(_of_threshold, found["thresholds"])]
    return "\n".join(lines)


def _of_threshold(row: Row) -> str:
    return f"{row['threshold']:9.2f}  " + "  ".join(f"{row[name]['mean']:{len(name)}.3f}" for name in IN_GRID)


def _interval(value: dict[str, float]) -> str:
    return f"{value['mean']:.3f} [{value['low']:.3f}, {value['high']:.3f}]"
