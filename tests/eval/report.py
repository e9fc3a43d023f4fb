"""A sweep's results as Markdown tables, beside the JSON, and the plot that goes with them.

Example: python tests/eval/report.py tests/eval/results/1a2b3c4.json
"""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any  # of JSON

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.eval import plot

Rows = list[dict[str, Any]]

BASELINES = (
    "*Textbook* is BM25 of stemmed words and one vector a memory, by equal reciprocal ranks. The other baseline is fusion "
    "alone: our own lists by equal reciprocal ranks, without labels. Gains are paired."
)
GATE = (
    "What the hook hands over, by the prior over namespaces; 1.0 favours no namespace. The namespaces of "
    "these memories (`pattern`, `learning`) are not those that an intent favours (`patterns`, `learnings`): nothing can change."
)
PRIOR = "The same for the project's own prompts, whose memories have the namespaces that an intent favours."


def write(results: Path) -> list[Path]:
    """Write `<commit>.md` and `<commit>.svg` beside `<commit>.json`; what was written."""
    found = json.loads(results.read_text(encoding="utf-8"))
    tables, drawing = results.with_suffix(".md"), results.with_suffix(".svg")
    has_alpha = any(row["dimension"] == "alpha" for row in found["sweep"])
    tables.write_text(markdown(found, drawing.name if has_alpha else None), encoding="utf-8")
    if not has_alpha:
        return [tables]
    drawing.write_text(plot.of_alpha(found["sweep"]), encoding="utf-8")
    return [tables, drawing]


def markdown(found: dict[str, Any], drawing: str | None) -> str:
    """All tables. drawing: the plot's file, None where alpha was not swept."""
    parts = [
        f"# Recall at {found['commit']}",
        f"{found['machine']}, Python {found['python']}. "
        + ", ".join(f"{name} {version}" for name, version in found["packages"].items())
        + ". The queries of each collection are halved by their ids: settings are compared on the tuning half, the defaults "
        "and their gain are told of the other half too. Brackets hold 95 % bootstrap intervals over queries. "
        f"Ages are those of {found['clock']}.",
        "Defaults: " + ", ".join(f"{name} {value}" for name, value in found["default"].items()) + ".",
        "## The defaults",
        _defaults([*found["defaults"], *found["split"]]),
        f"With ages as of the day of the run, {found['day']}, all queries:",
        _defaults(found["today"]),
        "## By stratum",
        _strata(found["defaults"]),
        "## Against reciprocal rank fusion",
        BASELINES,
        _gains(found["gains"]),
        "## Ablation",
        "nDCG@10, tuning half / reporting half.",
        _ablation(found["ablation"]),
    ]
    if "gate" in found:
        parts += ["## The gate", GATE, _gate(found["gate"])]
    if "prior" in found:
        parts += ["## The prior over namespaces", PRIOR, _gate(found["prior"])]
    if drawing:
        parts += ["## The share of meaning", f"![nDCG@10 by the share of meaning]({drawing})"]
    if found["sweep"]:
        parts += ["## One number at a time", "nDCG@10 / Recall@10 on the tuning half; the default in bold, the best with *."]
        for name in dict.fromkeys(row["dimension"] for row in found["sweep"]):
            parts += [f"### {name}", _dimension([row for row in found["sweep"] if row["dimension"] == name])]
    parts += ["## Time", _latency(found["latency"])]
    return "\n\n".join(parts) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _interval(value: dict[str, float], *, signed: bool = False) -> str:
    sign = "+" if signed else ""
    return f"{value['mean']:{sign}.3f} [{value['low']:{sign}.3f}, {value['high']:{sign}.3f}]"


def _defaults(rows: Rows) -> str:
    names = list(rows[0]["measures"])
    lines = []
    for row in rows:
        queries = str(row["measures"][names[0]]["queries"])
        figures = (_interval(row["measures"][name]) for name in names)
        lines.append([row["set"], row["query"], row["half"], queries, *figures])
    return _table(["collection", "query", "half", "queries", *names], lines)


def _strata(rows: Rows) -> str:
    lines = []
    for row in rows:
        if row["half"] == "both":
            for stratum, value in row["strata"]["success@5"].items():
                figures = (_interval(value), _interval(row["strata"]["ndcg@10"][stratum]))
                lines.append([row["set"], row["query"], stratum, str(value["queries"]), *figures])
    return _table(["collection", "query", "stratum", "queries", "success@5", "ndcg@10"], lines)


def _gains(rows: Rows) -> str:
    names = ("set", "query", "half", "measure", "baseline")
    lines = [
        [*(row[name] for name in names), f"{row['theirs']:.3f}", f"{row['ours']:.3f}", _interval(row["gain"], signed=True)]
        for row in rows
    ]
    return _table(["collection", "query", "half", "measure", "against", "theirs", "ours", "gain"], lines)


def _ablation(rows: Rows) -> str:
    def cell(group: Rows) -> str:
        return " / ".join(f"{row['ndcg@10']:.3f}" for row in group)

    return _by_place(rows, "system", cell)


def _dimension(rows: Rows) -> str:
    best = {place: max(row["ndcg@10"] for row in rows if _place(row) == place) for place in map(_place, rows)}

    def cell(group: Rows) -> str:
        (row,) = group
        star = " *" if row["ndcg@10"] == best[_place(row)] else ""
        return f"{row['ndcg@10']:.4f} / {row['recall@10']:.4f}{star}"

    return _by_place(rows, "value", cell)


def _by_place(rows: Rows, first: str, cell: Callable[[Rows], str]) -> str:
    """A line for each value, a column for each collection and query vector."""
    places = list(dict.fromkeys(map(_place, rows)))
    lines = []
    for value in dict.fromkeys(row["value"] for row in rows):
        of_value = [row for row in rows if row["value"] == value]
        name = f"**{value}**" if of_value[0]["is_default"] else value
        lines.append([name, *(cell([row for row in of_value if _place(row) == place]) for place in places)])
    return _table([first, *places], lines)


def _place(row: dict[str, Any]) -> str:
    return f"{row['set']}, {row['query']}"


def _gate(rows: Rows) -> str:
    return _table(
        list(rows[0]), [[_interval(value) if isinstance(value, dict) else str(value) for value in row.values()] for row in rows]
    )


def _latency(rows: Rows) -> str:
    return (
        "Milliseconds a query in one process; a neural query's vector was at hand. Other work may have shared the machine.\n\n"
        + _table(
            ["collection", "query", "p50", "p95"],
            [[row["set"], row["query"], f"{row['p50_ms']:.1f}", f"{row['p95_ms']:.1f}"] for row in rows],
        )
    )


if __name__ == "__main__":
    for path in write(Path(sys.argv[1])):
        print(path)
