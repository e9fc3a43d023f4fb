"""`subcog enrich`: a language model of the user's choice writes the questions that memories answer."""

from collections.abc import Callable, Sequence
from typing import Annotated

from typer import Argument, Option

from subcog_hooks.cli.decisions import remedies
from subcog_hooks.cli.proposals import enrichment, enrichment_questions
from subcog_hooks.cli.proposals.enrichment import CALLS_SETTING, CallBudget
from subcog_hooks.cli.proposals.enrichment_questions import (
    COMPARED,
    PAIRS,
    CheckedSuggestions,
    Pair,
    conflict_question,
    find_pairs,
)
from subcog_hooks.cli.support import completion, context, embedding, progress
from subcog_hooks.cli.support.common_options import Texts
from subcog_hooks.cli.support.output import count_memories, nothing_found, pluralize, safe, terminal
from subcog_hooks.core.errors import ProviderError, UsageError
from subcog_hooks.llm import providers
from subcog_hooks.llm.providers import Provider
from subcog_hooks.llm.question import read_numbers
from subcog_hooks.store import state_values
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store

DEFAULT_LIMIT = 40  # memories: five calls


def enrich(
    ids: Annotated[
        Texts,
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
) -> None:
    """Let a language model write the questions that memories answer, so that prompts in other words find them.

    `llm.at_rest` says which model; `claude` is your own Claude Code, with its login. It is sent the texts of the memories. A
    question is stored only where a trial shows that it brings its memory, and takes none of another's away. Keywords, files,
    standing rules and contradictions are proposed: they wait for `subcog review`.

    Example: subcog enrich --limit 8 --dry-run
    """
    settings = context.settings()
    provider = providers.background_provider(settings, context.home())
    if provider is None:
        raise ProviderError("llm.at_rest is none", "choose who writes: `subcog config set llm.at_rest claude`")
    enrichment.require_calls(settings)
    with context.open_state() as state:
        calls = CallBudget(provider, state, settings)
        if conflicts:
            memories = _find_memories(ids, lambda store: enrichment_questions.find_uncompared(store, state))
            _ask_for_conflicts(memories, limit, calls, state, dry_run=dry_run)
        else:
            memories = _find_memories(ids, lambda store: enrichment.find_without_questions(store, state))
            _ask_for_questions(memories, limit, calls, state, dry_run=dry_run)
    if not dry_run:
        embedding.start_background_jobs()


def _ask_for_questions(memories: Sequence[Memory], limit: int, calls: CallBudget, state: State, *, dry_run: bool) -> None:
    texts = enrichment.disclose(memories, limit)
    if len(texts) < limit and (left_out_count := len(memories) - len(texts)):
        terminal.say(f"left out {left_out_count}, which may hold a secret")
    if not texts:
        raise nothing_found("there is no memory to write questions for")
    _announce_calls(calls.provider, count_memories(len(texts)), len(texts), enrichment_questions.BATCH)
    with remedies.open_trial() as copy, progress.track_items("asking", len(texts)) as advance:
        for checked in enrichment.ask_about(texts, calls, copy):
            _print_checked(checked if dry_run else enrichment.store_suggestions(checked, calls.provider.name, state))
            advance(1)
    _print_limit(calls)


def _ask_for_conflicts(memories: Sequence[Memory], limit: int, calls: CallBudget, state: State, *, dry_run: bool) -> None:
    """Ask which memories contradict their neighbours; contradictions wait for `review`.

    Raises ProviderError, StoreError, Exit without a pair of memories.
    """
    pairs: list[Pair] = []
    compared = memories[:0]
    if memories:
        with remedies.open_trial() as copy:
            while not pairs and len(compared) < len(memories):
                start = len(compared)
                compared = memories[: start + limit]
                pairs = find_pairs(compared[start:], copy, state)
    if pairs:
        _announce_calls(calls.provider, pluralize(len(pairs), "pair") + " of memories", len(pairs), PAIRS)
    conflict_count = 0
    batches = calls.ask_in_batches(pairs, PAIRS, conflict_question, read_numbers, state_values.QUESTIONS_JOB)
    with progress.track_items("asking", len(pairs)) as advance:
        for batch, numbers in batches:
            for number, pair in enumerate(batch, 1):
                is_conflict = number in (numbers or ())
                conflict_count += is_conflict
                if is_conflict:
                    _print_conflict(pair)
                if numbers is None and not dry_run:
                    state_values.note_tried(state, pair.key, pair.digest)
                elif not dry_run:
                    enrichment_questions.settle_pair(state, pair, calls.provider.name, is_conflict=is_conflict)
            advance(len(batch))
    if not dry_run and not calls.is_used_up:
        for memory in compared:
            state_values.note_tried(state, f"{memory.id}{COMPARED}", memory.content_hash)
    if not pairs:
        raise nothing_found("there are no two memories to compare")
    _print_limit(calls)
    waits = "" if dry_run or not conflict_count else "; `subcog review` asks which of them hold"
    terminal.say(f"{pluralize(conflict_count, 'contradiction')} in {pluralize(len(pairs), 'pair')}{waits}")


def _print_conflict(pair: Pair) -> None:
    for memory in (pair.older, pair.newer):
        terminal.result(f"{memory.id}  {safe(memory.content)[:80]}")
    terminal.result("   contradict each other")


def _announce_calls(provider: Provider, subject: str, count: int, size: int) -> None:
    model = f"{safe(provider.name)} ({safe(provider.model)})"
    terminal.say(f"{model} is sent the texts of {subject}, in {pluralize(-(-count // size), 'call')}")


def _print_limit(calls: CallBudget) -> None:
    if calls.is_used_up:
        terminal.say(f"the {calls.daily_limit} calls of today are made ({CALLS_SETTING}); the same command goes on tomorrow")


def _find_memories(ids: Sequence[str] | None, find_others: Callable[[Store], list[Memory]]) -> list[Memory]:
    with context.reading() as store:
        if store is None:
            return []
        if not ids:
            return find_others(store)
        named = context.find_memories(store, ids)
    if inactive := [memory for memory in named if not memory.is_live(now_ms())]:
        raise UsageError(f"{inactive[0].id} is {inactive[0].status}, so nothing brings it", "name others")
    return named


def _print_checked(checked: CheckedSuggestions) -> None:
    memory = checked.memory
    terminal.result(f"{memory.id}  {safe(memory.content)[:80]}")
    for text in checked.kept:
        terminal.result(f"   {safe(text)}")
    for field, value in checked.proposed:
        terminal.result(f"   {field}: {safe(value)} (waits for `subcog review`)")
    for reason, count in checked.dropped.items():
        if reason == enrichment_questions.UNREADABLE:
            terminal.say("   the answer about it cannot be used; it is not asked about again")
            continue
        terminal.say(f"   {pluralize(count, 'question')} left out: they {reason}")
