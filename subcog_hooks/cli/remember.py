"""`subcog remember`: store one memory, redacted, and show similar ones; and the actions that a rule is about."""

import os
from collections.abc import Sequence
from typing import Annotated

import typer
from typer import Argument, Option

from subcog_hooks.capture import jsonl
from subcog_hooks.capture.compose import redact_note
from subcog_hooks.capture.duplicates import NearDuplicate
from subcog_hooks.cli import embedding
from subcog_hooks.cli.agents import permission_rules
from subcog_hooks.cli.amendment import amend, apply_changes, mark_superseded, merge_changes, similar_to
from subcog_hooks.cli.command_table import Texts, id_option, namespace_option, project_option, tag_option
from subcog_hooks.cli.terminal import author, context, inputs
from subcog_hooks.cli.terminal.output import nothing_found, safe, terminal
from subcog_hooks.core.errors import InvalidMemory, SubcogError, UsageError
from subcog_hooks.core.files import working_folder
from subcog_hooks.cues import condition_checks
from subcog_hooks.hook import dry_run
from subcog_hooks.redaction.redact import describe_removed
from subcog_hooks.store import memory_checks
from subcog_hooks.store.memory import (
    DEFAULT_NAMESPACE,
    MAX_QUESTION,
    MAX_QUESTIONS,
    MAX_UNPINNED_PRIORITY,
    NAMESPACES,
    PENDING,
    USER,
    IdMaker,
    Memory,
    now_ms,
)
from subcog_hooks.store.store import Store
from subcog_hooks.text import actions
from subcog_hooks.text.standing_rules import is_standing

_KEEP, _CANCEL = "k", "c"
_MERGED_FIELDS = {  # fields that a stored memory with the same text takes over, and their names in messages
    "tags": "tags",
    "keywords": "keywords",
    "triggers": "triggers",
    "paths": "paths",
    "when": "conditions",
    "questions": "questions",
    "standing": "standing",
    "priority": "priority",
    "expires_at": "date of expiry",
}


def remember(
    text: Annotated[list[str], Argument(metavar="TEXT", help="The text to remember, or - to read it from standard input.")],
    namespace: Annotated[
        str, namespace_option("The kind of memory: " + ", ".join(NAMESPACES) + ", or a name of your own.")
    ] = DEFAULT_NAMESPACE,
    tag: Annotated[Texts, tag_option("A tag; may be given several times.")] = None,
    keyword: Annotated[
        Texts,
        Option("--keyword", metavar="WORD", help="A word to find it by that is not in the text; may be given several times."),
    ] = None,
    trigger: Annotated[
        Texts,
        Option(
            "--trigger",
            metavar="REGEX",
            help="Give it to the agent when a prompt or a command matches this regular expression (RE2). It matches inside "
            "words too; \\b stands for a word's edge.",
        ),
    ] = None,
    path: Annotated[
        Texts,
        Option(
            "--path",
            metavar="GLOB",
            help="Give it to the agent when a tool touches a file that matches this glob, such as src/db/** or *.sql.",
        ),
    ] = None,
    when: Annotated[
        Texts,
        Option(
            "--when",
            metavar="CONDITION",
            help="Give it only while this holds: branch=main, prompts>=3, tool!=Bash, file~*.sql. "
            "Without a trigger or a path, it is given as soon as it holds.",
        ),
    ] = None,
    question: Annotated[
        Texts,
        Option(
            "--question",
            metavar="TEXT",
            help="A question that it answers, in other words than its own; up to "
            f"{MAX_QUESTIONS}, of {MAX_QUESTION} characters each.",
        ),
    ] = None,
    standing: Annotated[
        bool | None,
        Option(
            "--standing/--no-standing",
            help="Say that it holds in every session, or that it does not; otherwise its text tells.",
        ),
    ] = None,
    priority: Annotated[
        int | None,
        Option(
            "--priority",
            metavar="NUMBER",
            min=0,
            max=100,
            help="With 90 or more it is always given when one of its triggers matches.",
        ),
    ] = None,
    ask_before: Annotated[
        Texts,
        Option(
            "--ask-before",
            metavar="COMMAND",
            help='Let Claude Code ask you before a command that begins so, such as "git push*", until the note ends.',
        ),
    ] = None,
    deny: Annotated[
        Texts, Option("--deny", metavar="COMMAND", help="Let Claude Code run no command that begins so, until the note ends.")
    ] = None,
    user: Annotated[bool, Option("--user", help="Remember it for all your projects, not only this one.")] = False,
    project: Annotated[str | None, project_option("Remember it for this project, not for this folder's.")] = None,
    expires: Annotated[
        str | None, Option("--expires", metavar="DATE", help="Forget it on this date, or after days such as 30d.")
    ] = None,
    supersedes: Annotated[str | None, id_option("--supersedes", "The id of an older memory that it replaces.")] = None,
    json_: Annotated[bool, Option("--json", help="Print the stored memory as JSON.")] = False,
) -> None:
    """Remember a text.

    In a git repository it belongs to that project, elsewhere to all your projects. Secrets and <private> blocks are not stored.
    A text that says nothing without its secret is refused.
    If the same text is remembered already, your options are added to that memory. Memories that say
    nearly the same, or that contradict it, are shown; on a terminal you are asked first. An agent's memory is marked as one.
    A prompt that is like one of its questions finds the memory, in other words too.

    Example: subcog remember "The SPA uses PKCE" --namespace decisions --tag spa
    """
    inputs.refuse_several({"--user": user, "--project": bool(project)})
    patterns = permission_rules.read_patterns(ask_before, deny)
    project_here = None if user or project else context.here()
    owner = author.names_of(project)[0] if project else project_here.identity if project_here else None
    now = now_ms()
    memory, removed = redact_note(
        Memory(
            id=IdMaker().new(),
            content=inputs.text_of(text) if text == [inputs.STDIN] else " ".join(text),
            namespace=namespace,
            scope="project" if owner else "user",
            project=owner,
            tags=tuple(tag or ()),
            keywords=tuple(keyword or ()),
            triggers=(*(trigger or ()), *(permission_rules.trigger_of(pattern) for _, pattern in patterns)),
            paths=tuple(path or ()),
            when=condition_checks.parse_conditions(when or ()),
            questions=memory_checks.questions_by(question or (), author.origin()),
            standing=standing,
            priority=priority or 0,
            trust=author.trust(),
            status=author.status(),
            created_at=now,
            updated_at=now,
            expires_at=inputs.read_expiry(expires, now) if expires is not None else None,
        )
    )
    if patterns and memory.when:
        raise UsageError("a rule of Claude Code has no conditions", "leave --when out")
    if memory.priority > MAX_UNPINNED_PRIORITY and not memory.is_pinnable:
        raise InvalidMemory(
            f"priority is {memory.priority}, and an agent's note may have {MAX_UNPINNED_PRIORITY} at most",
            "the person can pin it afterwards: subcog edit ID --priority 90 --trust user",
        )
    if memory.status == PENDING and supersedes:
        raise UsageError(f"this memory waits for the person, and cannot replace {supersedes} yet", "leave --supersedes out")
    new = memory.id
    with context.writing() as store:
        memory = _store_memory(memory, store, supersedes, has_priority=priority is not None)
    if removed:
        terminal.say(describe_removed(removed))
    if memory.id == new:
        terminal.say(inputs.moment_remark(memory, find_promised(memory)))
    permission_rules.add_rules(memory, patterns)
    if json_:
        terminal.raw(jsonl.dump(memory) + "\n")
    else:
        terminal.result(memory.id)
    embedding.start_background_jobs()


def _store_memory(memory: Memory, store: Store, supersedes: str | None, *, has_priority: bool) -> Memory:
    old = context.find_memory(store, supersedes) if supersedes else None
    if old:
        author.require_consent([old], as_user=False)
    for existing in store.by_hash(memory.content_hash):
        is_waiting = existing.status == memory.status == PENDING
        if context.audience(existing) == context.audience(memory) and (is_waiting or existing.is_live(memory.created_at)):
            after = _add_fields(existing, memory, store, has_priority=has_priority)
            if old and old.id != existing.id:
                mark_superseded(store, old, after)
            return after
    is_asked = terminal.interactive and old is None
    if is_asked and (similar := similar_to(memory, store)):
        old = _ask_about_similar(similar)  # asked before storing: Ctrl-C changes nothing
    if old:
        mark_superseded(store, old, memory)
    else:
        store.add([memory])
    if not old and not is_asked and (similar := similar_to(memory, store)):
        for near in similar:
            terminal.say(f"{near.likeness}: {near.memory.id} {safe(near.memory.content)}")
        terminal.say(f"if it takes the place of one: subcog supersede {similar[0].memory.id} {memory.id}")
    context.update_index_and_vectors(store)
    return memory


def _add_fields(existing: Memory, memory: Memory, store: Store, *, has_priority: bool) -> Memory:
    """Add the fields of a memory to one that has the same text, and return that."""
    is_given = {"priority": has_priority, "standing": memory.standing is not None}
    values = {field: getattr(memory, field) for field in _MERGED_FIELDS}
    fields = {field: value for field, value in values.items() if value or is_given.get(field)}
    changes = merge_changes(existing, fields)
    if changes and author.is_agent() and existing.trust == USER:
        raise author.needs_consent(f"{existing.id} has this text already and was written by the person")
    if changes:
        author.require_storing_rights(existing, as_user=False)
    after = amend(existing, lambda stored: apply_changes(stored, merge_changes(stored, fields)), store, [])
    if after is None:
        terminal.say(f"already remembered as {existing.id}; `subcog edit {existing.id}` changes its fields")
        return existing
    names = [_MERGED_FIELDS[field] for field in changes]
    is_singular = names in (["priority"], ["date of expiry"], ["standing"])
    listed = ", ".join(names[:-1]) + " and " * (len(names) > 1) + names[-1]
    terminal.say(f"already remembered as {existing.id}; its {listed} {'is' if is_singular else 'are'} taken over")
    context.update_index_and_vectors(store)
    return after


def _ask_about_similar(similar: list[NearDuplicate]) -> Memory | None:
    """Ask whether to keep, supersede or cancel. Return the memory to supersede, if any. Raises typer.Exit."""
    terminal.say("There are memories like it:")
    for number, near in enumerate(similar, 1):
        terminal.say(f"  {number}. {near.memory.id} ({near.likeness})")
        terminal.say(f"     {safe(near.memory.content)}")
    numbers = [str(number) for number in range(1, len(similar) + 1)]
    choices = numbers[0] if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    question = f"Keep both ({_KEEP}), supersede the old one ({choices}), or cancel ({_CANCEL})?"
    while True:
        answer = str(typer.prompt(question, default=_KEEP, err=True)).strip().lower()
        if answer == _KEEP:
            return None
        if answer == _CANCEL:
            raise nothing_found("nothing is stored")
        if answer in numbers:
            return similar[int(answer) - 1].memory
        terminal.say(f"{answer[:20]!r} is none of these")


MAX_TRIED = 4  # calls that are tried for an action


def find_promised(memory: Memory) -> Sequence[str]:
    """Return the actions at which the hook brings a memory, after a remark about the others.

    A memory that waits, has conditions, or is of another project cannot be tried here: its text decides.
    """
    governed = actions.actions_of_rule(memory.content) if is_standing(memory.standing, memory.content) else ()
    here = context.here()
    is_here = memory.project is None or (here is not None and memory.project in here.names)
    if not governed or memory.when or not is_here or not memory.is_live(memory.updated_at):
        return governed
    folder = here.root if here else working_folder()
    promised = []
    for action in governed:
        calls = actions.example_calls(action, memory.content)[:MAX_TRIED]
        if any(_brings(memory, tool, tool_input, folder) for tool, tool_input in calls):
            promised.append(action)
        else:
            commands = [tool_input["command"] for tool, tool_input in calls if tool == "Bash"]
            remedy = f'; to make it come: subcog edit {memory.id} --trigger "{commands[0]}"' if commands else ""
            if not context.settings()["surfacing.tools"]:
                remedy = ": surfacing.tools is false"
            terminal.say(f"it does not come when the agent is about to {actions.describe_action(action)}{remedy}")
    return promised


def _brings(memory: Memory, tool: str, tool_input: dict[str, str], folder: str) -> bool:
    if "file_path" in tool_input:
        tool_input = {**tool_input, "file_path": os.path.join(folder, tool_input["file_path"])}
    try:
        return memory.id in dry_run.find_ids_at_call(tool, tool_input, folder, context.home())
    except (SubcogError, OSError):
        return False
