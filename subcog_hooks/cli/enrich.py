"""`subcog enrich`: a language model of the user's choice writes the questions that memories answer."""

from collections.abc import Callable, Sequence
from typing import Annotated

import typer
from typer import Argument, Option

from subcog_hooks.cli.decisions import remedies
from subcog_hooks.cli.proposals import enrichment, enrichment_questions
from subcog_hooks.cli.proposals.enrichment import CALL_S, CALLS_SETTING, CallBudget
from subcog_hooks.cli.proposals.enrichment_questions import (
    CheckedSuggestions,
    Pair,
    batches_of,
    conflict_question,
    find_pairs,
    read_conflicts,
)
from subcog_hooks.cli.support import author, completion, context, embedding, progress
from subcog_hooks.cli.support.output import pluralize, safe, terminal
from subcog_hooks.core.deadline import FULL_PACE
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, ProviderError, UsageError
from subcog_hooks.llm import providers
from subcog_hooks.llm.providers import Provider
from subcog_hooks.store import state_values
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter
from subcog_hooks.store.suggestions import CONFLICT

DEFAULT_LIMIT = 40  # memories: five calls


def enrich(
    ids: Annotated[
        list[str] | None,
        Argument(
            metavar="[ID]...",
            help="The memories; without any, memories without questions, the newest first.",
            autocompletion=completion.ids,
        ),
    ] = None,
    limit: Annotated[
        int, Option("--limit", "-n", metavar="NUMBER", min=1, max=10_000, help="The largest number of memories.")
    ] = DEFAULT_LIMIT,
    dry_run: Annotated[bool, Option("--dry-run", help="Ask, show the questions, and store nothing.")] = False,
    conflicts: Annotated[
        bool, Option("--conflicts", help="Ask instead which memories contradict others that are near to them.")
    ] = False,
    as_user: Annotated[bool, Option("--as-user", help=author.AS_USER_HELP)] = False,
) -> None:
    """Let a language model write the questions that memories answer, so that prompts in other words find them.

    `llm.at_rest` says which model; `claude` is your own Claude Code, with its login. It is sent the texts of the memories. A
    question is stored only where a trial shows that it brings its memory, and takes none of another's away. Keywords, files,
    standing rules and contradictions are proposed: they wait for `subcog review`.

    Example: subcog enrich --limit 8 --dry-run
    """
    if author.is_agent() and not as_user:
        raise author.needs_consent("it sends memories to a language model")
    settings = context.settings()
    provider = providers.background_provider(settings, context.home())
    if provider is None:
        raise ProviderError("llm.at_rest is none", "choose who writes: `subcog config set llm.at_rest claude`")
    with enrichment.open_state() as state:
        if conflicts:
            memories = _find_memories(ids, limit, lambda store: store.select(Filter(), limit))
            _ask_for_conflicts(memories, provider, state, dry_run=dry_run)
        else:
            memories = _find_memories(ids, limit, lambda store: enrichment.find_without_questions(store, state, limit))
            _ask_for_questions(memories, provider, state, dry_run=dry_run)
    if not dry_run:
        embedding.start_background_jobs()


def _ask_for_questions(memories: Sequence[Memory], provider: Provider, state: State, *, dry_run: bool) -> None:
    batches = enrichment.batches_of(memories)
    count = sum(map(len, batches))
    if count < len(memories):
        terminal.say(f"left out {len(memories) - count}, which may hold a secret")
    if not batches:
        terminal.say("there is no memory to write questions for")
        raise typer.Exit(EXIT_NOTHING_FOUND)
    _announce_calls(provider, pluralize(count, "memory", "memories"), len(batches))
    calls = CallBudget(provider, state, context.settings())
    with remedies.open_trial() as copy, progress.track_items("asking", count) as advance:
        for batch in batches:
            if not _may_ask(calls, enrichment.count_characters(batch)):
                break
            for checked in enrichment.ask_about(batch, provider, copy):
                if not dry_run:
                    enrichment.store_suggestions(checked, provider.name, state)
                _print_checked(checked)
            advance(len(batch))


def _ask_for_conflicts(memories: Sequence[Memory], provider: Provider, state: State, *, dry_run: bool) -> None:
    """Ask which memories contradict their neighbours; contradictions wait for `review`.

    Raises ProviderError, StoreError, Exit without a pair of memories.
    """
    pairs: list[Pair] = []
    if memories:
        with remedies.open_trial() as copy:
            pairs = find_pairs(memories, copy, state)
    if not pairs:
        terminal.say("there are no two memories to compare")
        raise typer.Exit(EXIT_NOTHING_FOUND)
    batches = list(batches_of(pairs))
    _announce_calls(provider, pluralize(len(pairs), "pair") + " of memories", len(batches))
    calls = CallBudget(provider, state, context.settings())
    conflict_count = 0
    with progress.track_items("asking", len(pairs)) as advance:
        for batch in batches:
            question = conflict_question(batch)
            if not _may_ask(calls, len(question.user)):
                break
            numbers = read_conflicts(providers.ask_provider(provider, question, CALL_S), len(batch))
            if numbers is None:
                raise ProviderError(f"{provider.name} answered in another form than was asked for", "try it again")
            for number, pair in enumerate(batch, 1):
                if number in numbers:
                    conflict_count += 1
                    _print_conflict(pair)
                    if not dry_run:
                        enrichment_questions.add_suggestion(state, pair.older.id, CONFLICT, pair.newer.id, provider.name)
                if not dry_run:
                    state_values.note_tried(state, pair.key, pair.digest)
            advance(len(batch))
    waits = "" if dry_run or not conflict_count else "; `subcog review` asks which of them hold"
    terminal.say(f"{pluralize(conflict_count, 'contradiction')} in {pluralize(len(pairs), 'pair')}{waits}")


def _print_conflict(pair: Pair) -> None:
    for memory in (pair.older, pair.newer):
        terminal.result(f"{memory.id}  {safe(memory.content)[:80]}".replace("\n", " "))
    terminal.result("   contradict each other")


def _announce_calls(provider: Provider, subject: str, calls: int) -> None:
    model = f"{safe(provider.name)} ({safe(provider.model)})"
    terminal.say(f"{model} is sent the texts of {subject}, in {pluralize(calls, 'call')}")


def _may_ask(calls: CallBudget, characters: int) -> bool:
    is_allowed = calls.take(FULL_PACE, state_values.QUESTIONS_JOB, characters)
    if not is_allowed:
        terminal.say(f"the {calls.daily_limit} calls of today are made ({CALLS_SETTING}); the same command goes on tomorrow")
    return is_allowed


def _find_memories(ids: Sequence[str] | None, limit: int, find_others: Callable[[Store], list[Memory]]) -> list[Memory]:
    with context.reading() as store:
        if store is None:
            return []
        if not ids:
            return find_others(store)
        named = context.find_memories(store, ids)
    if inactive := [memory for memory in named if not memory.is_live(now_ms())]:
        raise UsageError(f"{inactive[0].id} is {inactive[0].status}, so nothing brings it", "name others")
    return named[:limit]


def _print_checked(checked: CheckedSuggestions) -> None:
    memory = checked.memory
    terminal.result(f"{memory.id}  {safe(memory.content)[:80]}".replace("\n", " "))
    for text in checked.kept:
        terminal.result(f"   {safe(text)}")
    for field, value in checked.proposed:
        terminal.result(f"   {field}: {safe(value)} (waits for `subcog review`)")
    for reason, count in checked.dropped.items():
        terminal.say(f"   {pluralize(count, 'question')} left out: they {reason}")
