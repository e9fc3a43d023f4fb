"""`subcog import` and `export`: many memories at once."""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Annotated

import typer
from typer import Argument, Option

from subcog_hooks.capture import importing, jsonl
from subcog_hooks.capture.import_changes import ImportOptions, ImportReport
from subcog_hooks.capture.sources import catalogue
from subcog_hooks.cli import embedding, import_from
from subcog_hooks.cli.commands import AsUser, project_option
from subcog_hooks.cli.proposals import learning_runs
from subcog_hooks.cli.terminal import author, context, inputs, output
from subcog_hooks.cli.terminal.output import nothing_found, pluralize, safe, terminal
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, EXIT_STORE, EXIT_USAGE, StoreCorrupt, UsageError
from subcog_hooks.core.files import WholeFile
from subcog_hooks.redaction.redact import describe_removed
from subcog_hooks.store import home_files, memory_checks
from subcog_hooks.store.memory import FILE, PENDING, STATUSES, USER, Memory, now_ms
from subcog_hooks.store.store import Store
from subcog_hooks.text.sanitise import cut

MAX_FIELDS = 300  # characters of the remark on unknown fields
MAX_BEGINNING = 80  # characters of a memory that would come


def import_(
    source: Annotated[
        str | None,
        Argument(metavar="SOURCE", help="A .jsonl file, - (standard input), a Markdown file, or a folder such as docs/adr."),
    ] = None,
    origin: Annotated[
        str | None,
        Option(
            "--from",
            metavar="NAME",
            help=f"Import the notes of another program: {', '.join(catalogue.SOURCE_NAMES)}. `list` shows those that are here; "
            "`sessions` makes the past sessions of your agents searchable. SOURCE is then the file or folder, if it is not the "
            "usual one.",
        ),
    ] = None,
    replace: Annotated[
        bool, Option("--replace", help="Overwrite memories of the same id, and imported sections that you have edited.")
    ] = False,
    trust: Annotated[
        str,
        Option("--trust", metavar="WHO", help="Give `user` if you vouch for the file: then its trust and priorities are kept."),
    ] = "import",
    dry_run: Annotated[bool, Option("--dry-run", help="Show the memories that would come, and import nothing.")] = False,
    user: Annotated[bool, Option("--user", help="Import for all your projects, not only the file's or this one.")] = False,
    wait: Annotated[bool, Option("--wait", help="Wait until the neural model has embedded all memories.")] = False,
    again: Annotated[
        bool, Option("--again", help="Repeat the imports into the project of this folder; outside of any, all imports.")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="With `--from list`: print one JSON array.")] = False,
    as_jsonl: Annotated[bool, Option("--jsonl", help="With `--from list`: print JSON, an object a line.")] = False,
    as_user: AsUser = False,
) -> None:
    """Import memories from JSONL, Markdown or another program. --from names the program.

    An invalid line is named and left out; the rest is stored. Then the exit code is 2.

    A JSONL line without "project" is for all your projects; Markdown is for the project of this folder. A repository's file is
    about that repository alone and brings no cues, unless you give --user or --trust user. A later
    import updates changed sections and archives missing ones; it comes by itself, or with --again. The same holds with --from:
    nothing is changed there, and automatic notes wait for `subcog review`.

    Example: subcog import docs/adr --dry-run
    """
    is_list = origin == catalogue.LIST
    inputs.refuse_several({"an import": not is_list, "--json": as_json, "--jsonl": as_jsonl})
    if is_list or origin == learning_runs.SESSIONS:
        inputs.refuse_several({f"--from {origin}": True, "--dry-run": dry_run, "--again": again, "--user": user})
        if is_list:
            raise typer.Exit(import_from.list_sources(as_json=as_json, as_jsonl=as_jsonl))
        raise typer.Exit(learning_runs.import_sessions(source, wait=wait))
    is_agents = author.is_agent() and not as_user
    _check_options(source, origin, trust, is_for_all=user, is_again=again, is_agents=is_agents)
    waits = is_agents and not dry_run and author.status() == PENDING
    options = ImportOptions(trusted=trust == USER, replace=replace, dry_run=dry_run, keeps_users=is_agents, waits=waits)
    if again:
        raise typer.Exit(_import_again(options, wait=wait))
    here, path = context.here(), source or ""
    reading = catalogue.read_source(origin, source, import_from.surroundings()) if origin else None
    if reading is None:
        options = import_from.options_for_path(options, path, here, for_all=user)
    else:
        options = import_from.options_in_project(options, here)
    entry = None if dry_run else import_from.describe_import(source, origin, options)
    with context.reading() if dry_run else context.writing() as store:
        if reading is None:
            with output.track_items("reading", None) as advance:
                report = import_from.import_path(path, store, options, advance)
        else:
            report = import_from.import_source(reading, store, options)
            import_from.print_reading(reading, source, store, dry_run=dry_run)
        if store and not dry_run:
            import_from.finish_import(report, store)
    _print_report(report, dry_run=dry_run)
    import_from.record_import(entry)
    if options.is_repositorys and report.added and path.lower().endswith(importing.JSONL_SUFFIXES):
        terminal.say(f"it lies in {safe(options.project or '')} and is about that alone; `--user` or `--trust user` lifts that")
    if options.waits and report.added + report.replaced:
        terminal.say("an agent imported that: it waits for `subcog review`")
    if not dry_run:
        _embed_memories(wait=wait)
    if report.problems:
        raise typer.Exit(EXIT_USAGE)


def _import_again(options: ImportOptions, *, wait: bool) -> int:
    """Repeat the recorded imports. Return the exit code."""
    here, entries = context.here(), home_files.read_imports(context.home())
    entries = [entry for entry in entries if here is None or entry.root == here.root]
    if not entries:
        terminal.say("nothing was imported here yet")
        return EXIT_NOTHING_FOUND
    has_problems = False
    for entry in entries:
        terminal.say(f"{safe(import_from.describe_place(entry))}:")
        try:
            with context.reading() if options.dry_run else context.writing() as store:
                report = import_from.repeat_import(entry, store, options)
                if store and not options.dry_run:
                    import_from.finish_import(report, store)
        except UsageError as error:
            context.complain(error.message, error.hint)
            has_problems = True
            continue
        _print_report(report, dry_run=options.dry_run)
        has_problems |= bool(report.problems)
    if not options.dry_run:
        _embed_memories(wait=wait)
    return EXIT_USAGE if has_problems else 0


def _check_options(
    source: str | None, origin: str | None, trust: str, *, is_for_all: bool, is_again: bool, is_agents: bool
) -> None:
    if is_again and (source or origin or is_for_all or trust == USER):
        raise UsageError("--again repeats imports as they were", "give it alone, or with --dry-run")
    if not (source or origin or is_again):
        raise UsageError("nothing to import is named", "give a file or a folder, or --from; `subcog import --from list`")
    if origin and (is_for_all or trust == USER):
        hint = "leave them out: a source says whose its memories are"
        raise UsageError("--user and --trust user are for Markdown and JSONL", hint)
    if trust not in ("user", "import"):
        raise UsageError(f"--trust is {trust!r}", "expected user or import")
    if trust == USER and is_agents:
        raise author.needs_consent("--trust user says that the person vouches for the file")


def _embed_memories(*, wait: bool) -> None:
    if wait:
        with context.writing() as store:
            embedding.embed_now(store)
    else:
        embedding.start_background_jobs()


def _print_report(report: ImportReport, *, dry_run: bool) -> None:
    learning_runs.print_problems([f"{problem.location}: {problem.message}" for problem in report.problems])
    import_from.print_remarks(report.remarks)
    if report.unknown:
        terminal.say(cut(f"fields without a meaning were left out: {', '.join(sorted(report.unknown))}", MAX_FIELDS))
    if report.removed:
        terminal.say(describe_removed(sorted(report.removed.items())))
    if report.withheld:
        remark = f"{report.withheld} are a file's or a colleague's word and come without their cues and questions"
        terminal.say(f"{remark}: `--trust user --replace` brings those too, if you vouch for it")
    for location, content in report.first if dry_run else ():
        terminal.result(f"{safe(content[: 2 * MAX_BEGINNING])[:MAX_BEGINNING]}  ({safe(location.rpartition('::')[2])})")
    if dry_run and (others := report.added + report.replaced - len(report.first)) > 0:
        terminal.result(f"and {others} more")
    for folder, count in report.kept.items():
        stays = pluralize(count, "memory from it stays", "memories from it stay")
        terminal.say(f"{safe(folder)} is empty or cannot be read, so {stays}; delete it if it is empty for good")
    parts = (
        (True, f"{'would add' if dry_run else 'added'} {report.added}"),
        (report.set_aside, f"{report.set_aside} of them hidden by their own words"),
        (report.replaced, f"{'would replace' if dry_run else 'replaced'} {report.replaced}"),
        (report.archived, f"{'would archive' if dry_run else 'archived'} {report.archived}"),
        (report.skipped, f"already there {report.skipped}"),
        (report.forgotten, f"forgotten here {report.forgotten} (--replace brings them back)"),
        (report.problems, f"refused {len(report.problems)}"),
    )
    terminal.result(", ".join(text for count, text in parts if count))


def export(
    file: Annotated[str, Argument(metavar="FILE", help="The file to write, or - for standard output.")] = "-",
    deleted: Annotated[bool, Option("--deleted", help="Export the forgotten memories too.")] = False,
    learned: Annotated[
        bool, Option("--learned", help="Export also the questions that were learned from your prompts (surfacing.learn).")
    ] = False,
    project: Annotated[
        str | None,
        project_option("Export the memories of this project, for its repository; `here` is the project of this folder."),
    ] = None,
) -> None:
    """Export the memories of all projects as JSONL, sorted by id. `import --trust user` reads the file back unchanged.

    With --project the file is for colleagues: the active memories of that project alone, as a file's word. An import
    leaves their cues and questions out, unless it has --trust user.

    Example: subcog export memories.jsonl
    """
    inputs.refuse_several({"--deleted": deleted, "--project": bool(project)})
    names = author.names_of(project) if project else None
    damage: list[StoreCorrupt] = []
    statuses = ("active",) if names else STATUSES if deleted else STATUSES[:-1]
    with context.reading() as store:
        stored = _read_all(store, statuses, damage) if store else iter(())
        memories = _prepare_memories(stored, names, with_learned=learned)
        if (first := next(memories, None)) is None:
            raise nothing_found(f"no memories of {safe(names[0])}" if names else "no memories")
        memories = chain((first,), memories)
        if file == "-":
            for memory in memories:
                terminal.raw(jsonl.dump(memory) + "\n")
        else:
            try:
                count = _write_export(file, memories, damage)
            except OSError as error:
                raise UsageError(f"{file} cannot be written: {error.strerror}", "check the folder and the disk") from error
            terminal.say(f"exported {count}")
    if damage:
        raise typer.Exit(EXIT_STORE)


def _read_all(store: Store, statuses: tuple[str, ...], damage: list[StoreCorrupt]) -> Iterator[Memory]:
    """Yield the memories by id; of a damaged store, the readable ones. damage: gets the error then."""
    done: set[str] = set()
    try:
        for memory in store.all(statuses):
            done.add(memory.id)
            yield memory
    except StoreCorrupt as error:
        damage.append(error)
        terminal.complain(f"subcog: {error.message}; the rest was exported")
        for memory in store.readable():
            if memory.id not in done and memory.status in statuses:
                yield memory


def _prepare_memories(memories: Iterable[Memory], names: tuple[str, ...] | None, *, with_learned: bool) -> Iterator[Memory]:
    """Yield the memories of an export. names: of the one project whose live memories are exported, None for all memories."""
    for memory in memories:
        # Questions learned from prompts without a person's approval stay here.
        questions = [question for question in memory.questions if with_learned or not question.verdict]
        leaving = memory.with_changes(questions=memory_checks.without_records(questions))
        if names is None:
            yield leaving
        elif memory.project in names and memory.is_live(now_ms()):
            yield leaving.with_changes(project=names[0], trust=FILE, source="")


def _write_export(file: str, memories: Iterator[Memory], damage: Sequence[StoreCorrupt]) -> int:
    """Write the memories to a file, and return their number. An older export is replaced only as a whole; a link is followed.

    The readable part of a damaged store goes into another file beside an older export. Raises UsageError, OSError.
    """
    if os.path.exists(file) and not os.path.isfile(file):
        if os.path.isdir(file):
            raise UsageError(f"{file} is a folder", "name a file, or give - for standard output")
        with open(file, "w", encoding="utf-8", newline="") as pipe:  # as in >(age -e), or a device
            return sum(1 for memory in memories if pipe.write(jsonl.dump(memory) + "\n"))
    count = 0
    with WholeFile(os.path.realpath(file)) as whole:
        for count, memory in enumerate(memories, 1):  # noqa: B007 - the last number is returned
            whole.file.write(jsonl.dump(memory) + "\n")
        if damage and os.path.exists(whole.target):
            whole.target += ".salvaged"
            terminal.complain(f"subcog: {file} is left as it was; what could be read is in {whole.target}")
    return count
