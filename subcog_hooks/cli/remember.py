"""`subcog remember`: store one memory, redacted, and show similar ones."""

from typing import Annotated

from typer import Argument, Option

from subcog_hooks.capture import jsonl
from subcog_hooks.capture.jsonl import redact_note
from subcog_hooks.cli import embedding
from subcog_hooks.cli.agents import claude_code
from subcog_hooks.cli.amendment import mark_superseded, similar_to
from subcog_hooks.cli.commands import Texts, id_option, namespace_option, project_option, tag_option
from subcog_hooks.cli.terminal import author, context, inputs
from subcog_hooks.cli.terminal.output import safe, terminal
from subcog_hooks.core.errors import InvalidMemory, UsageError
from subcog_hooks.cues import condition_syntax
from subcog_hooks.redaction.redact import describe_removed
from subcog_hooks.store import memory_checks
from subcog_hooks.store.memory import (
    DEFAULT_NAMESPACE,
    MAX_QUESTION,
    MAX_QUESTIONS,
    MAX_UNPINNED_PRIORITY,
    NAMESPACES,
    PENDING,
    IdMaker,
    Memory,
    now_ms,
)
from subcog_hooks.store.store import Store


def remember(
    text: Annotated[list[str], Argument(metavar="TEXT", help="The text to remember, or - to read it from standard input.")],
    namespace: Annotated[
        str, namespace_option("The kind of memory: " + ", ".join(NAMESPACES) + ", or a name of your own.")
    ] = DEFAULT_NAMESPACE,
    tag: Annotated[Texts, tag_option("A tag; may be given several times.")] = None,
    keyword: Annotated[
        Texts, Option(metavar="WORD", help="A word to find it by that is not in the text; may be given several times.")
    ] = None,
    trigger: Annotated[
        Texts,
        Option(
            metavar="REGEX",
            help="Give it when a prompt or a command matches this regular expression (RE2). It matches inside words too; "
            "\\b stands for a word's edge.",
        ),
    ] = None,
    path: Annotated[
        Texts, Option(metavar="GLOB", help="Give it when a tool touches a file of this glob, such as src/db/** or *.sql.")
    ] = None,
    when: Annotated[
        Texts,
        Option(
            metavar="CONDITION",
            help="Give it only while this holds: branch=main, prompts>=3, tool!=Bash, file~*.sql. "
            "Without a trigger or a path, it is given as soon as it holds.",
        ),
    ] = None,
    question: Annotated[
        Texts,
        Option(
            metavar="TEXT",
            help=f"A question that it answers, in other words; up to {MAX_QUESTIONS} of {MAX_QUESTION} characters.",
        ),
    ] = None,
    standing: Annotated[
        bool | None, Option(help="Say that it holds in every session, or that it does not; otherwise its text tells.")
    ] = None,
    priority: Annotated[
        int | None, Option(metavar="NUMBER", min=0, max=100, help="With 90 or more it is always given when a trigger matches.")
    ] = None,
    ask_before: Annotated[
        Texts, Option(metavar="COMMAND", help='Let Claude Code ask before a command such as "git push*", until the note ends.')
    ] = None,
    deny: Annotated[
        Texts, Option(metavar="COMMAND", help="Let Claude Code run no command that begins so, until the note ends.")
    ] = None,
    user: Annotated[bool, Option("--user", help="Remember it for all your projects, not only this one.")] = False,
    project: Annotated[str | None, project_option("Remember it for this project, not for this folder's.")] = None,
    expires: Annotated[str | None, Option(metavar="DATE", help="Forget it on this date, or after days such as 30d.")] = None,
    supersedes: Annotated[str | None, id_option("--supersedes", "The id of an older memory that it replaces.")] = None,
    json_: Annotated[bool, Option("--json", help="Print the stored memory as JSON.")] = False,
) -> None:
    """Remember a text.

    In a git repository it belongs to that project, elsewhere to all your projects. Secrets and <private> blocks are not stored.
    A text that says nothing without its secret is refused.
    If the same text is remembered already, that memory stays as it is. Memories that say
    nearly the same, or that contradict it, are shown. An agent's memory is marked as one.
    A prompt that is like one of its questions finds the memory, in other words too.

    Example: subcog remember "The SPA uses PKCE" --namespace decisions --tag spa
    """
    inputs.refuse_several({"--user": user, "--project": bool(project)})
    patterns = claude_code.read_patterns(ask_before, deny)
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
            triggers=(*(trigger or ()), *(claude_code.trigger_of(pattern) for _, pattern in patterns)),
            paths=tuple(path or ()),
            when=condition_syntax.parse_conditions(when or ()),
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
        memory = _store_memory(memory, store, supersedes)
    if removed:
        terminal.say(describe_removed(removed))
    if memory.id == new:
        terminal.say(inputs.moment_remark(memory))
    claude_code.add_rules(memory, patterns)
    if json_:
        terminal.raw(jsonl.dump(memory) + "\n")
    else:
        terminal.result(memory.id)
    embedding.start_background_jobs()


def _store_memory(memory: Memory, store: Store, supersedes: str | None) -> Memory:
    old = context.find_memory(store, supersedes) if supersedes else None
    if old:
        author.require_consent([old], as_user=False)
    for existing in store.by_hash(memory.content_hash):
        is_waiting = existing.status == memory.status == PENDING
        if context.audience(existing) == context.audience(memory) and (is_waiting or existing.is_live(memory.created_at)):
            if old and old.id != existing.id:
                mark_superseded(store, old, existing)
            terminal.say(f"already remembered as {existing.id}; `subcog edit {existing.id}` changes its fields")
            return existing
    if old:
        mark_superseded(store, old, memory)
    else:
        store.add([memory])
        similar = similar_to(memory, store)
        for near in similar:
            terminal.say(f"{near.likeness}: {near.memory.id} {safe(near.memory.content)}")
        if similar:
            terminal.say(f"if it takes the place of one: subcog supersede {similar[0].memory.id} {memory.id}")
    context.update_index_and_vectors(store)
    return memory
