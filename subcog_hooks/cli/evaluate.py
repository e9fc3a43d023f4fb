"""`subcog eval`: retrieval figures over the user's own queries."""

import random
from collections.abc import Collection, Mapping, Sequence
from math import log2
from statistics import fmean
from typing import Annotated, NamedTuple

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from subcog_hooks.cli.support import context, inputs, sources
from subcog_hooks.cli.support.output import DIM, counted, safe, terminal
from subcog_hooks.cli.support.views import plain_table
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import NoMemory, UsageError
from subcog_hooks.recall.candidates import Request, Sources
from subcog_hooks.recall.hits import SEMANTIC
from subcog_hooks.settings.loading import Settings
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.project import identity_of
from subcog_hooks.store.store import Filter, Store, audiences_of

DRAWS = 1_000  # of a bootstrap
SEED = 20260101  # the same file has the same interval
_TAILS = (0.025, 0.975)


class Mean(NamedTuple):
    """A mean over queries, and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float


def hit_rate(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Return 1.0 if one of the first k is relevant, else 0.0.

    >>> hit_rate(["a", "b"], {"b"}, 1), hit_rate(["a", "b"], {"b"}, 2)
    (0.0, 1.0)
    """
    return float(any(id_ in relevant for id_ in ranked[:k]))


def reciprocal_rank(ranked: Sequence[str], relevant: Collection[str]) -> float:
    """Return one divided by the rank of the first that is relevant, 0.0 where none is.

    >>> reciprocal_rank(["a", "b"], {"b"}), reciprocal_rank(["a"], {"b"})
    (0.5, 0.0)
    """
    return next((1.0 / rank for rank, id_ in enumerate(ranked, 1) if id_ in relevant), 0.0)


def ndcg(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Return the normalised discounted gain of the first k (nDCG, Järvelin and Kekäläinen 2002); each relevant one is 1.

    >>> ndcg(["a", "b"], {"a"}, 10), round(ndcg(["b", "a"], {"a"}, 10), 3), ndcg(["b"], {"a"}, 10)
    (1.0, 0.631, 0.0)
    """
    gain = sum(1.0 / log2(rank + 1) for rank, id_ in enumerate(ranked[:k], 1) if id_ in relevant)
    return gain / sum(1.0 / log2(rank + 1) for rank in range(1, min(k, len(relevant)) + 1))


def mean_of(values: Sequence[float]) -> Mean:
    """Return the mean of values, one a query, and the percentile interval of its bootstrap (Efron 1979).

    >>> mean_of([1.0, 1.0])
    Mean(mean=1.0, low=1.0, high=1.0)
    """
    drawn = random.Random(SEED)  # noqa: S311 - draws a sample, no secret
    means = sorted(fmean(drawn.choices(values, k=len(values))) for _ in range(DRAWS))
    low, high = (means[min(DRAWS - 1, int(tail * DRAWS))] for tail in _TAILS)
    return Mean(fmean(values), low, high)


DEPTH = 10  # results that count
SHARES = tuple(tenth / 10 for tenth in range(11))  # of meaning, that are tried
NEED = '{"query", "ids", "project"?}'
TIED = 0.02  # of nDCG: a smaller gain may be chance


class JudgedQuery(NamedTuple):
    """A query, and the ids of the memories that answer it. project: "" for all of them."""

    query: str
    ids: frozenset[str]
    project: str = ""


def register(app: typer.Typer) -> None:
    app.command("eval")(evaluate)


def evaluate(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help=f"Your queries as JSONL, or - for standard input. A line is {NEED}; without a project all are searched.",
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    fast: Annotated[bool, typer.Option("--fast", help="Search as the hook does, without the neural model.")] = False,
) -> None:
    """Measure how well your own queries find your own memories, and try other shares of meaning (`fusion.alpha`).

    Brackets hold 95 % intervals over the queries. Nothing is changed.

    Example: subcog eval queries.jsonl --fast
    """
    rows = _rows(file)
    settings = context.settings()
    with context.reading() as store:
        if store is None:
            raise NoMemory("there are no memories", "`subcog remember` makes the first")
        _require_known(rows, store)
        notes: dict[str, None] = {}
        # with meaning also where that has no share: the sweep gives it one
        with sources.opened(store, settings, SEMANTIC, fast=fast) as opened:
            measured = _measured([_ranked(one, opened, settings, notes) for one in rows], rows)
            by_share = _swept(rows, opened, settings) if opened.space is not None else {}
    for note in notes:
        terminal.say(note)
    if as_json:
        told = {name: {part: round(value, 4) for part, value in one._asdict().items()} for name, one in measured.items()}
        shares = {f"{share:.1f}": round(one.mean, 4) for share, one in by_share.items()}
        terminal.json({"queries": len(rows), "measures": told, f"ndcg@{DEPTH} by fusion.alpha": shares}, indent=1)
        return
    _show(rows, measured, by_share, settings)


def _rows(source: str) -> list[JudgedQuery]:
    """Return the queries of a file. Raises UsageError naming the first line that does not hold, or where there is none."""
    rows = []
    for number, row in inputs.objects(source, NEED):
        asked = _judged_query(row)
        if asked is None:
            raise UsageError(f"{inputs.name_of(source)} line {number}: expected {NEED}", "correct the line")
        rows.append(asked)
    if not rows:
        raise UsageError(f"{inputs.name_of(source)} has no query", f"a line is {NEED}")
    return rows


def _judged_query(row: Mapping[str, object]) -> JudgedQuery | None:
    """Return the query that a line is, None where it is none."""
    query, ids, project = row.get("query"), row.get("ids"), row.get("project") or ""
    if not isinstance(query, str) or not query.strip() or not isinstance(ids, list) or not isinstance(project, str):
        return None
    named = frozenset(inputs.readable(id_) for id_ in ids if isinstance(id_, str))
    if not named or not all(isinstance(id_, str) for id_ in ids):
        return None
    return JudgedQuery(inputs.readable(query), named, inputs.readable(project))


def _require_known(rows: Sequence[JudgedQuery], store: Store) -> None:
    """Raise NoMemory naming an id that its query can not find: that would count as missed."""
    known = store.by_ids(sorted({id_ for row in rows for id_ in row.ids}))
    now = now_ms()
    for row in rows:
        for id_ in sorted(row.ids):
            memory = known.get(id_)
            if memory is None or memory.status != "active" or (memory.expires_at is not None and memory.expires_at <= now):
                raise NoMemory(f"no active memory has the id {safe(id_)[:80]}", "correct the file")
            audiences = audiences_of(identity_of(row.project)) if row.project else None
            if audiences and context.audience(memory) not in audiences:
                raise NoMemory(f"{safe(id_)[:80]} is not of the project {safe(row.project)[:80]}", "correct the file")


def _ranked(asked: JudgedQuery, opened: Sources, settings: Settings, notes: dict[str, None] | None = None) -> list[str]:
    """Return the ids that a query finds, best first. notes: what did not run is added to them."""
    scope = Filter(audiences=audiences_of(identity_of(asked.project)) if asked.project else None)
    deadline = Deadline(float(settings["search.timeout_ms"]))
    answer = sources.search(Request(asked.query, scope, is_typed=True), opened, deadline, DEPTH)
    if notes is not None and answer.is_degraded and answer.note:
        notes[answer.note] = None
    return [hit.memory.id for hit in answer.hits]


def _measured(ranked: Sequence[Sequence[str]], rows: Sequence[JudgedQuery]) -> dict[str, Mean]:
    """Return the means of the measures over all queries, by name."""
    pairs = [(ids, row.ids) for ids, row in zip(ranked, rows, strict=True)]
    return {
        "hit rate@1": mean_of([hit_rate(ids, relevant, 1) for ids, relevant in pairs]),
        "hit rate@5": mean_of([hit_rate(ids, relevant, 5) for ids, relevant in pairs]),
        f"hit rate@{DEPTH}": mean_of([hit_rate(ids, relevant, DEPTH) for ids, relevant in pairs]),
        f"MRR@{DEPTH}": mean_of([reciprocal_rank(ids, relevant) for ids, relevant in pairs]),
        f"nDCG@{DEPTH}": mean_of([ndcg(ids, relevant, DEPTH) for ids, relevant in pairs]),
    }


def _swept(rows: Sequence[JudgedQuery], opened: Sources, settings: Settings) -> dict[float, Mean]:
    """Return the nDCG that each share of meaning has."""
    gains: dict[float, list[float]] = {share: [] for share in SHARES}
    usual = opened.tuning.alpha
    for row in rows:  # a query is embedded once for all shares
        for share, values in gains.items():
            opened.tuning.alpha = share
            values.append(ndcg(_ranked(row, opened, settings), row.ids, DEPTH))
    opened.tuning.alpha = usual
    return {share: mean_of(values) for share, values in gains.items()}


def _show(
    rows: Sequence[JudgedQuery], measured: Mapping[str, Mean], by_share: Mapping[float, Mean], settings: Settings
) -> None:
    table = plain_table()
    for name in (counted(len(rows), "query", "queries"), "", ""):
        table.add_column(name, no_wrap=True)
    for name, one in measured.items():
        table.add_row(name, f"{one.mean:.3f}", _interval(one))
    parts: list[RenderableType] = [table]
    if by_share:
        shares = plain_table()
        for name in ("fusion.alpha", f"nDCG@{DEPTH}", ""):
            shares.add_column(name, no_wrap=True)
        for share, one in by_share.items():
            shares.add_row(f"{share:.1f}", f"{one.mean:.3f}", _interval(one))
        parts += ["", shares, "", Text(_verdict(by_share, measured[f"nDCG@{DEPTH}"], settings), style=DIM)]
    terminal.page(Group(*parts))


def _interval(measured: Mean) -> str:
    return f"[{measured.low:.3f}, {measured.high:.3f}]"


def _verdict(by_share: Mapping[float, Mean], now: Mean, settings: Settings) -> str:
    """Return in a sentence what the sweep says of the share that is set."""
    best = max(by_share, key=lambda share: by_share[share].mean)
    if by_share[best].mean - now.mean < TIED:
        return f"fusion.alpha is {settings['fusion.alpha']}; no other share finds notably more of them"
    return f"`subcog config set fusion.alpha {best}` would find more of these; try it on queries that were not measured here"
