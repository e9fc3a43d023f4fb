"""`subcog list` and `subcog show`: memories without a search."""

import json
from collections.abc import Sequence
from typing import Annotated

from typer import Argument, Option

from subcog_hooks.capture import jsonl
from subcog_hooks.cli import past_sessions
from subcog_hooks.cli.agents import claude_code
from subcog_hooks.cli.commands import AsJson, AsJsonl, Texts, namespace_option, project_option, status_option, tag_option
from subcog_hooks.cli.terminal import context, inputs
from subcog_hooks.cli.terminal.output import DIM, count_memories, day, memory_remark, nothing_found, owner_label, safe, terminal
from subcog_hooks.cues import triggers
from subcog_hooks.store.memory import EPISODE_PREFIX, PERSON, STATUSES, UNDATED, Memory
from subcog_hooks.store.memory_checks import format_date, format_time
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter
from subcog_hooks.text.standing_rules import certainty_of, is_standing

_PREVIEW_CHARACTERS = 300  # of a memory in the table


def list_(
    limit: Annotated[int, Option("--limit", "-n", metavar="NUMBER", min=1, max=1_000_000, help="How many memories.")] = 50,
    page: Annotated[int, Option("--page", metavar="NUMBER", min=1, max=1_000_000, help="Which page of the list.")] = 1,
    namespace: Annotated[Texts, namespace_option("Only memories of this namespace; give it several times for several.")] = None,
    tag: Annotated[Texts, tag_option("Only memories with this tag; several tags must all be there.")] = None,
    trigger: Annotated[
        str | None,
        Option("--trigger", metavar="TEXT", help="Only memories with a trigger that matches this prompt or command."),
    ] = None,
    path: Annotated[Texts, Option("--path", metavar="FILE", help="Only memories with a glob that matches this file.")] = None,
    project: Annotated[
        str | None, project_option("List the memories of this project alone, without your memories for all projects.")
    ] = None,
    all_projects: Annotated[bool, Option("--all-projects", help="List the memories of all projects.")] = False,
    status: Annotated[
        Texts, status_option("Memories of another status than active: " + ", ".join(STATUSES[1:]) + ", all.")
    ] = None,
    standing: Annotated[
        bool, Option("--standing", help="Only memories that hold in every session, with how surely: 1.00 where you said so.")
    ] = False,
    as_json: AsJson = False,
    as_jsonl: AsJsonl = False,
    ids: Annotated[bool, Option("--ids", help="Print only the ids, one per line.")] = False,
) -> None:
    """List memories, the newest first. The exit code is 1 when there are none.

    Example: subcog list --namespace decisions -n 20
    """
    criteria = context.filter_of_options(
        namespaces=namespace,
        tags=tag,
        paths=inputs.files_of(path, context.root_of(project)),
        project_name=project,
        all_projects=all_projects,
        statuses=inputs.statuses(status),
        alone=True,
    )
    hint = ""
    with context.reading() as store:
        memories, total = _select_page(store, criteria, (page - 1) * limit, limit, trigger, standing) if store else ([], 0)
        is_narrowed = any((project, all_projects, namespace, tag, trigger, path, status, standing))
        if store and not total and not is_narrowed and (here := context.here()):
            from subcog_hooks.cli.doctor_checks import find_namesakes  # Few lists are empty.

            hint = "; `subcog doctor` names projects that may be this one" if find_namesakes(store, here) else ""
    rows = (json.loads(jsonl.dump(memory)) for memory in memories)
    if terminal.rows(rows, as_json=as_json, as_jsonl=as_jsonl):
        pass  # as `export` writes them
    elif ids:
        terminal.raw("".join(memory.id + "\n" for memory in memories))
    elif terminal.is_drawn and memories:
        from subcog_hooks.cli import results

        certainties = list(map(_certainty_text, memories)) if standing else ()
        terminal.page(results.memories_view(memories, _PREVIEW_CHARACTERS, certainties))
    else:
        for memory in memories:
            remark = memory_remark(memory)
            note = f"  ({remark})" if remark else ""
            head = f"{_certainty_text(memory)}  " * standing + f"{memory.id}  {memory.namespace}  {day(memory.created_at)}"
            terminal.result(f"{head}  {safe(memory.content)}{note}")
    if total > len(memories) > 0:
        has_more = page * limit < total
        terminal.say(f"{len(memories)} of {total}; --page {page + 1} shows more" if has_more else f"the last of {total}")
    if not memories:
        if not total:
            raise nothing_found("no memories" + hint)
        verb = "is" if total == 1 else "are"
        raise nothing_found(f"there {verb} only {count_memories(total)}; give a smaller --page")


def _select_page(
    store: Store, criteria: Filter, offset: int, limit: int, trigger: str | None, standing: bool
) -> tuple[list[Memory], int]:
    """Return the memories of a page, and the number on all pages. trigger: the text that a trigger must match."""
    if trigger is None and not standing:
        return store.select(criteria, limit, offset), store.count(criteria)
    text = triggers.plain_text(inputs.readable(trigger or ""))
    memories = [
        memory
        for memory in store.select(criteria)
        if (trigger is None or any(triggers.compile_trigger(pattern).search(text) for pattern in memory.triggers))
        and (not standing or is_standing(memory.standing, memory.content))
    ]
    return memories[offset : offset + limit], len(memories)


def _certainty_text(memory: Memory) -> str:
    return f"{certainty_of(memory.content) if memory.standing is None else float(memory.standing):.2f}"


def show(
    id_: Annotated[str, Argument(metavar="ID", help="The id, its beginning, or a URN.")],
    as_json: Annotated[bool, Option("--json", help="Print it as JSON, as `export` writes it.")] = False,
) -> None:
    """Show one memory with all of its fields.

    Example: subcog show 1m7x59
    """
    if id_.startswith(EPISODE_PREFIX):
        past_sessions.show_episode(id_, as_json=as_json)
        return
    with context.reading() as store:
        memory = context.find_memory(store, id_)
        wrong_for = [mark.verdict for mark in store.marks([memory.seq])] if store else []
    if as_json:
        terminal.raw(jsonl.dump(memory) + "\n")
        return
    standing = f"by its text, {_certainty_text(memory)}" if is_standing(None, memory.content) else ""
    rows = [
        ("id", memory.id),
        ("urn", memory.urn),
        ("namespace", memory.namespace),
        ("scope", owner_label(memory)),
        ("status", memory.status + (f", by {memory.superseded_by}" if memory.superseded_by else "")),
        ("created", format_date(memory.created_at) or day(UNDATED)),
        ("updated", format_time(memory.updated_at) if memory.updated_at != memory.created_at else ""),
        ("expires", format_time(memory.expires_at) if memory.expires_at is not None else ""),
        *cue_rows(memory),
        ("standing", standing if memory.standing is None else "yes" if memory.standing else "no"),
        ("priority", priority_text(memory)),
        ("source", memory.source),
        ("trust", memory.trust + (f" ({memory.noted})" if memory.noted else "")),
        ("rules", claude_code.describe_rules(memory)),
        ("wrong for", ", ".join(wrong_for)),
    ]
    for name, value in rows:
        if value:
            terminal.pieces((f"{name:<14}", DIM), (safe(value), ""), indent=14)
    terminal.result("")
    for line in memory.content.split("\n"):
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        terminal.result(indent + safe(line))


def cue_rows(memory: Memory) -> list[tuple[str, str]]:
    """Return the names and values of the fields that bring a memory beside its text; some values are empty."""
    return [
        ("branch", memory.branch or ""),
        ("tags", ", ".join(memory.tags)),
        ("keywords", ", ".join(memory.keywords)),
        *_value_rows("triggers", memory.triggers),
        *_value_rows("paths", memory.paths),
        *_value_rows("when", inputs.condition_texts(memory.when)),
        *_value_rows("questions", [q.text if q.by == PERSON else f"{q.text} ({q.by})" for q in memory.questions]),
    ]


def priority_text(memory: Memory) -> str:
    """Return a memory's priority and whether it is pinned, "" without one."""
    return str(memory.priority) + (", pinned" if memory.is_pinnable else "") if memory.priority else ""


def _value_rows(name: str, values: Sequence[str]) -> list[tuple[str, str]]:
    """Return one row a value, the field's name beside the first: values may contain commas and blanks."""
    return [("" if number else name, value) for number, value in enumerate(values)]
