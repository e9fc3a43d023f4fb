"""`subcog enrich`: a language model of the user's choice writes the questions that memories answer."""

from collections.abc import Sequence
from typing import Annotated

from typer import Argument, Option

from subcog_hooks.cli import embedding
from subcog_hooks.cli.command_table import Texts
from subcog_hooks.cli.proposals import memory_questions
from subcog_hooks.cli.proposals.memory_questions import CALLS_SETTING, CallBudget, CheckedQuestions
from subcog_hooks.cli.terminal import context, output
from subcog_hooks.cli.terminal.output import count_memories, nothing_found, pluralize, safe, terminal
from subcog_hooks.core.errors import ProviderError, UsageError
from subcog_hooks.llm import providers
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.state import State

DEFAULT_LIMIT = 40  # memories: five calls


def enrich(
    ids: Annotated[
        Texts, Argument(metavar="[ID]...", help="The memories; without any, memories without questions, the newest first.")
    ] = None,
    limit: Annotated[
        int, Option("--limit", "-n", metavar="NUMBER", min=1, max=10_000, help="The largest number of memories.")
    ] = DEFAULT_LIMIT,
    dry_run: Annotated[bool, Option("--dry-run", help="Ask, show the questions, and store nothing.")] = False,
) -> None:
    """Let a language model write the questions that memories answer, so that prompts in other words find them.

    `llm.at_rest` says which model; `claude` is your own Claude Code, with its login. It is sent the texts of the memories. A
    question is stored only where a search for it finds its memory, and no other memory has that question.

    Example: subcog enrich --limit 8 --dry-run
    """
    settings = context.settings()
    provider = providers.background_provider(settings, context.home())
    if provider is None:
        raise ProviderError("llm.at_rest is none", "choose who writes: `subcog config set llm.at_rest claude`")
    memory_questions.require_calls(settings)
    with context.open_state() as state:
        calls, memories = CallBudget(provider, state, settings), _find_memories(ids, state)
        texts = memory_questions.disclose(memories, limit)
        if len(texts) < limit and (left_out_count := len(memories) - len(texts)):
            terminal.say(f"left out {left_out_count}, which may hold a secret")
        if not texts:
            raise nothing_found("there is no memory to write questions for")
        model = f"{safe(provider.name)} ({safe(provider.model)})"
        call_count = pluralize(-(-len(texts) // memory_questions.BATCH), "call")
        terminal.say(f"{model} is sent the texts of {count_memories(len(texts))}, in {call_count}")
        with output.track_items("asking", len(texts)) as advance:
            for checked in memory_questions.ask_about(texts, calls):
                _print_checked(checked if dry_run else memory_questions.store_questions(checked, state))
                advance(1)
    if calls.is_used_up:
        terminal.say(f"the {calls.daily_limit} calls of today are made ({CALLS_SETTING}); the same command goes on tomorrow")
    if not dry_run:
        embedding.start_background_jobs()


def _find_memories(ids: Sequence[str] | None, state: State) -> list[Memory]:
    with context.reading() as store:
        if store is None:
            return []
        if not ids:
            return memory_questions.find_without_questions(store, state)
        named = context.find_memories(store, ids)
    if inactive := [memory for memory in named if not memory.is_live(now_ms())]:
        raise UsageError(f"{inactive[0].id} is {inactive[0].status}, so nothing brings it", "name others")
    return named


def _print_checked(checked: CheckedQuestions) -> None:
    memory = checked.memory
    terminal.result(f"{memory.id}  {safe(memory.content)[:80]}")
    for text in checked.kept:
        terminal.result(f"   {safe(text)}")
    for reason, count in checked.dropped.items():
        if reason == memory_questions.UNREADABLE:
            terminal.say("   the answer about it cannot be used; it is not asked about again")
            continue
        terminal.say(f"   {pluralize(count, 'question')} left out: they {reason}")
