"""Runs `subcog search --team` on the team's server, and prints the answer."""

import time
from contextlib import closing

from subcog_hooks.cli import results
from subcog_hooks.cli.search_options import SearchOptions
from subcog_hooks.cli.team import sharing
from subcog_hooks.cli.terminal import context, inputs
from subcog_hooks.cli.terminal.output import DIM, day, safe, terminal
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, ModelError, UsageError
from subcog_hooks.core.log import to_json
from subcog_hooks.embed.query_encoder import StaticEncoder, encode_between, encode_by_language
from subcog_hooks.intent.query_type import classify_query
from subcog_hooks.recall import tuning
from subcog_hooks.recall.fusion import adaptive_alpha
from subcog_hooks.recall.hits import HIGH, LEXICAL, LOW, NO_RESULTS, SEMANTIC, VERY_HIGH
from subcog_hooks.settings.defaults import Settings
from subcog_hooks.share import team_search
from subcog_hooks.share.team_search import TeamHit, TeamRequest
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.project import resolve_identity

PREVIEW_OF_TEAM = 600  # characters of a memory in the table


def require_supported(options: SearchOptions) -> None:
    """Raise UsageError for options that the server does not support."""
    for name in ("batch", "progressive", "state", "status", "tag", "path", "since"):
        if getattr(options, name) not in (None, (), [], False):
            hint = "the server is asked by words, meaning, project and namespace"
            raise UsageError(f"--team does not go with --{name}", hint)


def run_team_search(options: SearchOptions, *, is_fast: bool) -> int:
    """Search on the server and print its answer. Return the exit code. Raises ServerError, ConfigError, UsageError."""
    settings = context.settings()
    url = sharing.url_of(settings)
    text = inputs.readable(" ".join(options.query))
    if not text.strip():
        raise UsageError("no query was given", "for instance: subcog search --team token refresh")
    count = options.limit or int(settings["search.limit"])
    numbers = tuning.tuning_from_settings(settings)
    vector, note = _vector(text, options.mode, is_fast=is_fast)
    request = TeamRequest(
        "" if options.mode == SEMANTIC else text,
        _projects(options, settings),
        vector,
        namespaces=options.namespace,
        limit=count,
        offset=(options.page - 1) * count,
    )
    query_type = classify_query(text)
    with sharing.connect(url) as (server, tables):
        alpha, why = _alpha(numbers, query_type)
        started = time.perf_counter()
        hits = team_search.search_server(server, tables, request, numbers, alpha, now_ms())
        elapsed = (time.perf_counter() - started) * 1_000
        compared = team_search.count_without_graph(server, tables, request)
    if note:
        terminal.say(note)
    if compared:
        terminal.say(f"the server compares each of {compared:,} vectors; `subcog share init` of its owner makes a faster graph")
    if options.shape == results.TABLE:
        _print_hits(hits, options, f"{query_type} query; meaning has a share of {alpha:g} ({why})", request.offset)
        if not hits:
            terminal.say("the team's server has found nothing; try fewer or other words, or --all-projects")
    elif options.shape == results.JSON:
        confidence = _label(hits[0]) if hits else NO_RESULTS
        head = {"query": text, "query_type": query_type, "confidence": confidence, "note": note or None}
        rows = [_result_row(hit, explain=True) for hit in hits]
        terminal.json({**head, "elapsed_ms": round(elapsed, 1), "page": options.page, "results": rows}, indent=1)
    else:
        is_ids = options.shape == results.IDS
        lines = (hit.memory.id if is_ids else to_json(_result_row(hit, explain=options.explain)) for hit in hits)
        terminal.raw("".join(f"{line}\n" for line in lines))
    return 0 if hits else EXIT_NOTHING_FOUND


def _projects(options: SearchOptions, settings: Settings) -> list[str]:
    shared = sharing.projects_of(settings)
    if options.all_projects:
        return list(shared)
    if options.project:
        return [resolve_identity(options.project)]
    current = context.here()
    if current is None:
        raise UsageError("this folder is in no project", "give --project NAME or --all-projects")
    return [current.identity]


def _vector(text: str, mode: str, *, is_fast: bool) -> tuple[bytes | None, str]:
    """Return the vector of the query, None for a search by words, and a remark on the model."""
    if mode == LEXICAL:
        return None, ""
    note = ""
    with closing(StaticEncoder.open()) as encoder:
        encode = encode_by_language(encoder.encode)
        if not is_fast:
            try:
                from subcog_hooks.embed.documents import DocumentEmbedder  # 0.3 s with its libraries
                from subcog_hooks.embed.space import PACKAGED

                encode = encode_by_language(encode_between(DocumentEmbedder(PACKAGED).query, encoder.encode))
            except ModelError as error:
                note = error.message
        return encode(text), note


def _alpha(numbers: tuning.Tuning, query_type: str) -> tuple[float, str]:
    if numbers.alpha is not None:
        return numbers.alpha, "fusion.alpha"
    by_type = float(getattr(numbers, query_type))
    return adaptive_alpha(query_type, by_type, numbers.large, numbers.small, numbers.large)


def _label(hit: TeamHit) -> str:
    """Return the confidence of a hit by the number of channels that rank it high; relevance is not computed there."""
    return VERY_HIGH if hit.agreement == 1.0 and len(hit.ranks) > 1 else HIGH if len(hit.ranks) > 1 else LOW


def _result_row(hit: TeamHit, *, explain: bool) -> dict[str, object]:
    row: dict[str, object] = {
        **results.memory_fields(hit.memory),
        "author": hit.author,
        "score": hit.score,
        "relevance": None,
        "confidence": _label(hit),
        "found_by": sorted(hit.ranks),
        "ranks": hit.ranks,
        "scores": hit.scores,
    }
    if explain:
        row["explain"] = {
            "agreement": hit.agreement,
            "contributions": hit.contributions,
            "factors": {"agreement": hit.lift, "recency": hit.age},
        }
    return row


def _print_hits(hits: list[TeamHit], options: SearchOptions, read_as: str, offset: int) -> None:
    if hits and terminal.is_drawn and not options.explain:
        from subcog_hooks.cli.results import memories_view  # rich, needed on a terminal only

        labels = [_label(hit).replace("_", " ") for hit in hits]
        terminal.draw(memories_view([hit.memory for hit in hits], PREVIEW_OF_TEAM, labels))
        return
    for number, hit in enumerate(hits, offset + 1):
        memory = hit.memory
        terminal.result(f"{memory.id}  {memory.namespace}  {day(memory.created_at)}  {safe(memory.content)}  ({memory.noted})")
        if options.explain:
            channels = "; ".join(f"{name} rank {rank}, {hit.scores[name]:.4g}" for name, rank in hit.ranks.items())
            added = ", ".join(f"{name} {amount:.4g}" for name, amount in hit.contributions.items())
            for line in (
                f"{number}. score {hit.score:g}, confidence {_label(hit)}",
                f"found by {channels or 'its neighbours alone'}",
                read_as,
                f"the score is the sum of {added}, times {hit.lift:.4g} for agreement and {hit.age:.4g} for age",
            ):
                terminal.pieces((f"    {line}", DIM))
