"""`subcog search`: the engine of the hook for people and for scripts. A script is answered by `light_search`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.live import Live

from subcog_hooks.cli.support import answers, completion, results, searching
from subcog_hooks.cli.support.output import terminal
from subcog_hooks.cli.support.views import first_screen
from subcog_hooks.memory.model import STATUSES
from subcog_hooks.recall.candidates import HYBRID
from subcog_hooks.recall.hits import VERY_HIGH


def register(app: typer.Typer) -> None:
    app.command()(search)


def search(
    query: Annotated[list[str] | None, typer.Argument(metavar="QUERY", help="The words or the question to look for.")] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print one JSON object with the results and all that is known about them. `total` counts the results of all "
            "pages, as far as the search has looked. A score is the sum of its `contributions` times its `factors`.",
        ),
    ] = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Print one JSON object per line, one for each result.")] = False,
    ids: Annotated[bool, typer.Option("--ids", help="Print only the ids, one per line.")] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", "-n", metavar="NUMBER", min=1, max=1000, help="How many results; the setting search.limit without it."
        ),
    ] = None,
    page: Annotated[int, typer.Option("--page", metavar="NUMBER", min=1, max=1_000_000, help="Which page of results.")] = 1,
    namespace: Annotated[
        list[str] | None,
        typer.Option(
            "--namespace",
            "-s",
            metavar="NAME",
            help="Only memories of this namespace; give it several times for several.",
            autocompletion=completion.namespaces,
        ),
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(
            "--tag",
            "-t",
            metavar="TAG",
            help="Only memories with this tag; several tags must all be there.",
            autocompletion=completion.tags,
        ),
    ] = None,
    path: Annotated[
        list[str] | None, typer.Option("--path", metavar="FILE", help="Only memories whose globs match this file.")
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(
            "--project",
            metavar="NAME",
            help="Search another project than that of this folder.",
            autocompletion=completion.projects,
        ),
    ] = None,
    all_projects: Annotated[bool, typer.Option("--all-projects", help="Search the memories of all projects.")] = False,
    since: Annotated[
        str | None, typer.Option("--since", metavar="DATE", help="Only memories created on this date or later.")
    ] = None,
    status: Annotated[
        list[str] | None,
        typer.Option(
            "--status",
            metavar="STATUS",
            help="Memories of another status than active: " + ", ".join(STATUSES[1:-1]) + ", all.",
            autocompletion=completion.statuses,
        ),
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            "--mode",
            metavar="MODE",
            help="How to search: hybrid (words and meaning), lexical (words) or semantic (meaning).",
            autocompletion=completion.modes,
        ),
    ] = HYBRID,
    fast: Annotated[
        bool, typer.Option("--fast", help="Search as fast as the hook does: without loading the neural model.")
    ] = False,
    progressive: Annotated[
        bool,
        typer.Option(
            "--progressive",
            help="With --jsonl: print two lines, first what words find (`preliminary`), then the answer (`final`).",
        ),
    ] = False,
    state: Annotated[
        list[str] | None,
        typer.Option(
            "--state",
            metavar="NAME=VALUE",
            help="Judge the conditions of memories by this fact or flag, and by those of `subcog state get`: those that hold "
            "bring their memories, the others hold theirs back. Without it conditions do not count.",
        ),
    ] = None,
    no_tags: Annotated[bool, typer.Option("--no-tags", help="Give no bonus for tags that the query names.")] = False,
    rank: Annotated[
        bool,
        typer.Option(
            "--rank",
            help="Let the language model of llm.at_rest order the first 15 results. It is sent the query and their texts.",
        ),
    ] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say for each result how it got its place.")] = False,
    team: Annotated[
        bool,
        typer.Option(
            "--team",
            help="Search on the team's server (`subcog help sharing`): this folder's project, the one of --project, or all "
            "shared ones with --all-projects.",
        ),
    ] = False,
    batch: Annotated[
        str | None,
        typer.Option(
            "--batch",
            metavar="FILE",
            help='Answer many queries from a JSONL file, or - for standard input. A line is {"id", "query", "project"?}; '
            "without a project all are searched.",
        ),
    ] = None,
) -> None:
    """Search memories by words and meaning. The exit code is 1 when nothing is found.

    Example: subcog search token refresh -n 5
    """
    asked = searching.SearchOptions()
    asked.query = query or ()
    asked.shape = results.form(as_json=as_json, jsonl=jsonl, ids=ids)
    asked.limit = limit
    asked.page = page
    asked.namespace = namespace or ()
    asked.tag = tag or ()
    asked.path = path or ()
    asked.project = project
    asked.all_projects = all_projects
    asked.since = since
    asked.status = status or ()
    asked.mode = mode
    asked.fast = fast
    asked.progressive = progressive
    asked.state = state or ()
    asked.no_tags = no_tags
    asked.explain = explain
    asked.rank = rank
    asked.batch = batch
    if team:
        from subcog_hooks.cli.team import team_results  # few have a team's server

        team_results.require_plain(asked)
        raise typer.Exit(team_results.run(asked, is_fast=fast))

    def show(found: results.ResultPage) -> None:
        if asked.shape == results.TABLE:
            answers.show(found, is_explained=explain)
        else:
            results.show(found, asked.shape, is_explained=explain)

    is_seen = asked.shape == results.TABLE and terminal.is_drawn and mode == HYBRID and not fast and not explain
    raise typer.Exit(searching.run(asked, show, _words_first if is_seen else None))


@contextmanager
def _words_first(look: searching.Look) -> Iterator[None]:
    """Show what words find while the neural model is loaded; it gives way to the answer (S1's progressive results)."""
    first = look.by_words()
    if not first.hits or first.stage != VERY_HIGH:
        yield
        return
    with Live(first_screen(answers.view(first)), console=terminal.out, transient=True, auto_refresh=False):
        yield
