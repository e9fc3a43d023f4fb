"""`subcog eval`: retrieval figures over the user's own queries."""

import random
from collections.abc import Collection, Mapping, Sequence
from math import log2
from statistics import fmean
from typing import Annotated, NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text
from typer import Argument, Option

from subcog_hooks.cli.support import context, inputs, searching
from subcog_hooks.cli.support.output import DIM, pluralize, safe, terminal
from subcog_hooks.cli.support.results import plain_table
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import NoMemory, UsageError
from subcog_hooks.recall.candidates import Request, Sources
from subcog_hooks.recall.hits import SEMANTIC
from subcog_hooks.settings.loading import Settings
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.project import resolve_identity
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter, audiences_of

BOOTSTRAP_SAMPLES = 1_000
SEED = 20260101  # fixed: the same file gives the same interval
_TAILS = (0.025, 0.975)


class Mean(NamedTuple):
    """A mean over queries, and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float


def hit_rate(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Return 1.0 if a relevant id is among the first k, else 0.0.

    >>> hit_rate(["a", "b"], {"b"}, 1), hit_rate(["a", "b"], {"b"}, 2)
    (0.0, 1.0)
    """
    return float(any(id_ in relevant for id_ in ranked[:k]))


def reciprocal_rank(ranked: Sequence[str], relevant: Collection[str]) -> float:
    """Return 1 / rank of the first relevant id, 0.0 without any.

    >>> reciprocal_rank(["a", "b"], {"b"}), reciprocal_rank(["a"], {"b"})
    (0.5, 0.0)
    """
    return next((1.0 / rank for rank, id_ in enumerate(ranked, 1) if id_ in relevant), 0.0)


def ndcg(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Return nDCG@k with binary gains (Järvelin and Kekäläinen 2002).

    >>> ndcg(["a", "b"], {"a"}, 10), round(ndcg(["b", "a"], {"a"}, 10), 3), ndcg(["b"], {"a"}, 10)
    (1.0, 0.631, 0.0)
    """
    gain = sum(1.0 / log2(rank + 1) for rank, id_ in enumerate(ranked[:k], 1) if id_ in relevant)
    return gain / sum(1.0 / log2(rank + 1) for rank in range(1, min(k, len(relevant)) + 1))


def mean_of(values: Sequence[float]) -> Mean:
    """Return the mean of one value a query, and its bootstrap percentile interval (Efron 1979).

    >>> mean_of([1.0, 1.0])
    Mean(mean=1.0, low=1.0, high=1.0)
    """
    drawn = random.Random(SEED)  # noqa: S311 - draws a sample, no secret
    means = sorted(fmean(drawn.choices(values, k=len(values))) for _ in range(BOOTSTRAP_SAMPLES))
    low, high = (means[min(BOOTSTRAP_SAMPLES - 1, int(tail * BOOTSTRAP_SAMPLES))] for tail in _TAILS)
    return Mean(fmean(values), low, high)


DEPTH = 10  # results of a query that count
ALPHAS = tuple(tenth / 10 for tenth in range(11))  # values of fusion.alpha that the sweep tries
LINE_FORMAT = '{"query", "ids", "project"?}'
MIN_GAIN = 0.02  # nDCG; a smaller gain may be chance


class JudgedQuery(NamedTuple):
    """A query, and the ids of the memories that answer it. project: "" searches all projects."""

    query: str
    ids: frozenset[str]
    project: str = ""


def evaluate(
    file: Annotated[
        str,
        Argument(
            metavar="FILE",
            help=f"Your queries as JSONL, or - for standard input. A line is {LINE_FORMAT}; "
            "without a project all are searched.",
        ),
    ],
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
    fast: Annotated[bool, Option("--fast", help="Search as the hook does, without the neural model.")] = False,
) -> None:
    """Measure how well your own queries find your own memories, and try other shares of meaning (`fusion.alpha`).

    Brackets hold 95 % intervals over the queries. Nothing is changed.

    Example: subcog eval queries.jsonl --fast
    """
    rows = _read_queries(file)
    settings = context.settings()
    with context.reading() as store:
        if store is None:
            raise NoMemory("there are no memories", "`subcog remember` makes the first")
        _require_findable(rows, store)
        notes: dict[str, None] = {}
        # SEMANTIC also with fusion.alpha = 0: the sweep tries other values
        with searching.open_sources(store, settings, SEMANTIC, fast=fast) as opened:
            means = _compute_means([_rank_ids(row, opened, settings, notes) for row in rows], rows)
            by_alpha = _sweep_alphas(rows, opened, settings) if opened.space is not None else {}
    for note in notes:
        terminal.say(note)
    if as_json:
        measures = {name: {part: round(value, 4) for part, value in mean._asdict().items()} for name, mean in means.items()}
        by_alpha_text = {f"{alpha:.1f}": round(mean.mean, 4) for alpha, mean in by_alpha.items()}
        terminal.json({"queries": len(rows), "measures": measures, f"ndcg@{DEPTH} by fusion.alpha": by_alpha_text}, indent=1)
        return
    _print_tables(rows, means, by_alpha, settings)


def _read_queries(source: str) -> list[JudgedQuery]:
    rows = []
    for number, row in inputs.read_objects(source, LINE_FORMAT):
        query = _parse_query(row)
        if query is None:
            raise UsageError(f"{inputs.name_of(source)} line {number}: expected {LINE_FORMAT}", "correct the line")
        rows.append(query)
    if not rows:
        raise UsageError(f"{inputs.name_of(source)} has no query", f"a line is {LINE_FORMAT}")
    return rows


def _parse_query(row: Mapping[str, object]) -> JudgedQuery | None:
    query, ids, project = row.get("query"), row.get("ids"), row.get("project") or ""
    if not isinstance(query, str) or not query.strip() or not isinstance(ids, list) or not isinstance(project, str):
        return None
    named = frozenset(inputs.readable(id_) for id_ in ids if isinstance(id_, str))
    if not named or not all(isinstance(id_, str) for id_ in ids):
        return None
    return JudgedQuery(inputs.readable(query), named, inputs.readable(project))


def _require_findable(rows: Sequence[JudgedQuery], store: Store) -> None:
    """Raise NoMemory for an id that its query cannot find: it would count as missed."""
    memories = store.by_ids(sorted({id_ for row in rows for id_ in row.ids}))
    now = now_ms()
    for row in rows:
        for id_ in sorted(row.ids):
            memory = memories.get(id_)
            if memory is None or memory.status != "active" or (memory.expires_at is not None and memory.expires_at <= now):
                raise NoMemory(f"no active memory has the id {safe(id_)[:80]}", "correct the file")
            audiences = audiences_of(resolve_identity(row.project)) if row.project else None
            if audiences and context.audience(memory) not in audiences:
                raise NoMemory(f"{safe(id_)[:80]} is not of the project {safe(row.project)[:80]}", "correct the file")


def _rank_ids(query: JudgedQuery, opened: Sources, settings: Settings, notes: dict[str, None] | None = None) -> list[str]:
    """Return the ids that a query finds, best first. Adds the remarks of a degraded search to `notes`."""
    scope = Filter(audiences=audiences_of(resolve_identity(query.project)) if query.project else None)
    deadline = Deadline(float(settings["search.timeout_ms"]))
    answer = searching.search_sources(Request(query.query, scope, is_typed=True), opened, deadline, DEPTH)
    if notes is not None and answer.is_degraded and answer.note:
        notes[answer.note] = None
    return [hit.memory.id for hit in answer.hits]


def _compute_means(rankings: Sequence[Sequence[str]], rows: Sequence[JudgedQuery]) -> dict[str, Mean]:
    pairs = [(ids, row.ids) for ids, row in zip(rankings, rows, strict=True)]
    return {
        "hit rate@1": mean_of([hit_rate(ids, relevant, 1) for ids, relevant in pairs]),
        "hit rate@5": mean_of([hit_rate(ids, relevant, 5) for ids, relevant in pairs]),
        f"hit rate@{DEPTH}": mean_of([hit_rate(ids, relevant, DEPTH) for ids, relevant in pairs]),
        f"MRR@{DEPTH}": mean_of([reciprocal_rank(ids, relevant) for ids, relevant in pairs]),
        f"nDCG@{DEPTH}": mean_of([ndcg(ids, relevant, DEPTH) for ids, relevant in pairs]),
    }


def _sweep_alphas(rows: Sequence[JudgedQuery], opened: Sources, settings: Settings) -> dict[float, Mean]:
    values_by_alpha: dict[float, list[float]] = {alpha: [] for alpha in ALPHAS}
    original = opened.tuning.alpha
    for row in rows:  # the outer loop, so that each query is embedded once
        for alpha, values in values_by_alpha.items():
            opened.tuning.alpha = alpha
            values.append(ndcg(_rank_ids(row, opened, settings), row.ids, DEPTH))
    opened.tuning.alpha = original
    return {alpha: mean_of(values) for alpha, values in values_by_alpha.items()}


def _print_tables(
    rows: Sequence[JudgedQuery], means: Mapping[str, Mean], by_alpha: Mapping[float, Mean], settings: Settings
) -> None:
    parts: list[RenderableType] = [_table_of_means((pluralize(len(rows), "query", "queries"), "", ""), means)]
    if by_alpha:
        shares = _table_of_means(("fusion.alpha", f"nDCG@{DEPTH}", ""), by_alpha)
        parts += ["", shares, "", Text(_sweep_verdict(by_alpha, means[f"nDCG@{DEPTH}"], settings), style=DIM)]
    terminal.page(Group(*parts))


def _table_of_means(heads: Sequence[str], means: Mapping[str, Mean] | Mapping[float, Mean]) -> RenderableType:
    table = plain_table()
    for head in heads:
        table.add_column(head, no_wrap=True)
    for name, mean in means.items():
        table.add_row(str(name), f"{mean.mean:.3f}", f"[{mean.low:.3f}, {mean.high:.3f}]")
    return table


def _sweep_verdict(by_alpha: Mapping[float, Mean], now: Mean, settings: Settings) -> str:
    best = max(by_alpha, key=lambda alpha: by_alpha[alpha].mean)
    if by_alpha[best].mean - now.mean < MIN_GAIN:
        return f"fusion.alpha is {settings['fusion.alpha']}; no other share finds notably more of them"
    return f"`subcog config set fusion.alpha {best}` would find more of these; try it on queries that were not measured here"
