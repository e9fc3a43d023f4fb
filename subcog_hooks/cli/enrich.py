"""`subcog enrich`: a language model of the user's choice writes the questions that memories answer."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

import typer

from subcog_hooks.cli.support import author, completion, embedding, enriching, progress, session, trial
from subcog_hooks.cli.support.amendment import amend, changed
from subcog_hooks.cli.support.decisions import counted
from subcog_hooks.cli.support.enriching import Checked
from subcog_hooks.cli.support.output import safe, terminal
from subcog_hooks.errors import EXIT_NOTHING_FOUND, ProviderError, UsageError
from subcog_hooks.llm import providers
from subcog_hooks.memory.model import Memory, now_ms
from subcog_hooks.memory.store import Filter, Store
from subcog_hooks.state import llm_calls
from subcog_hooks.state.connection import State

SECONDS = 120.0  # for one call
CALLS_WAIT_MS = 2_000.0
USUAL_LIMIT = 40  # memories: five calls


def register(app: typer.Typer) -> None:
    app.command()(enrich)


def enrich(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID]...",
            help="The memories; without one, those that have no questions, the newest first.",
            autocompletion=completion.ids,
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="NUMBER", min=1, max=10_000, help="At most so many memories.")
    ] = USUAL_LIMIT,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Ask, show what would be stored, and store nothing.")] = False,
    as_user: Annotated[bool, typer.Option("--as-user", help=author.AS_USER_HELP)] = False,
) -> None:
    """Let a language model write the questions that memories answer, so that prompts in other words find them.

    `llm.at_rest` says which model; `claude` is your own Claude Code, with its login. It is sent the texts of the memories. A
    question is stored only where a trial shows that it brings its memory, and takes none of another's away.

    Example: subcog enrich --limit 8 --dry-run
    """
    if author.is_agent() and not as_user:
        raise author.needs_consent("it sends memories to a language model")
    settings = session.settings()
    provider = providers.provider_at_rest(settings, session.home())
    if provider is None:
        raise UsageError("llm.at_rest is none", "choose who writes: subcog config set llm.at_rest claude")
    with _calls() as state:
        memories = _chosen(ids or [], limit, state)
        sent = [(memory, text) for memory in memories if (text := enriching.shown(memory)) is not None]
        if len(sent) < len(memories):
            terminal.say(f"left out {len(memories) - len(sent)}, which may hold a secret")
        if not sent:
            terminal.say("there is no memory to write questions for")
            raise typer.Exit(EXIT_NOTHING_FOUND)
        batches = [sent[start : start + enriching.BATCH] for start in range(0, len(sent), enriching.BATCH)]
        terminal.say(
            f"{safe(provider.name)} ({safe(provider.model)}) is sent the texts of {counted(len(sent), 'memory', 'memories')}, "
            f"in {counted(len(batches), 'call')}"
        )
        most = int(settings["llm.calls_a_day"])
        with trial.begun() as copy, progress.of_items("asking", len(sent)) as advance:
            for batch in batches:
                if not llm_calls.take(state, now_ms(), most):
                    terminal.say(f"the {most} calls of today are made (llm.calls_a_day); the same command goes on tomorrow")
                    break
                for checked in _asked(batch, provider, copy):
                    _settle(checked, state, dry_run=dry_run)
                advance(len(batch))
    if not dry_run:
        embedding.afterwards()


@contextmanager
def _calls() -> Iterator[State]:
    home = session.home()
    home.create()
    state = State.open(home, CALLS_WAIT_MS)
    try:
        yield state
    finally:
        state.close()


def _chosen(ids: Sequence[str], limit: int, state: State) -> list[Memory]:
    """Return the memories that are to get questions. Raises NoMemory, UsageError."""
    with session.reading() as store:
        if store is None:
            return []
        if ids:
            named = list({memory.id: memory for memory in (session.find(store, id_) for id_ in ids)}.values())
            if away := [memory for memory in named if not memory.is_live(now_ms())]:
                raise UsageError(f"{away[0].id} is {away[0].status}, so nothing brings it", "name others")
            return named[:limit]
        without = {memory.id: memory for memory in store.select(Filter()) if not memory.questions}
        hashes = {id_: memory.content_hash for id_, memory in without.items()}
        return [without[id_] for id_ in llm_calls.untried(state, hashes)[:limit]]


def _asked(batch: Sequence[tuple[Memory, str]], provider: providers.Provider, copy: trial.Trial) -> Iterator[Checked]:
    """Yield what a model has written for each memory, as far as it holds. Raises ProviderError, StoreError."""
    question = enriching.question_about([text for _, text in batch])
    answer = enriching.read_answer(providers.ask(provider, question, SECONDS), len(batch))
    if answer is None:
        raise ProviderError(f"{provider.name} answered in another form than was asked for", "try it again")
    for (memory, _), questions in zip(batch, answer, strict=True):
        yield enriching.check(memory, questions, copy)


def _settle(checked: Checked, state: State, *, dry_run: bool) -> None:
    """Store the questions that hold, and say what becomes of all."""
    memory = checked.memory
    terminal.result(f"{memory.id}  {safe(memory.content)[:80]}".replace("\n", " "))
    for text in checked.kept:
        terminal.result(f"   {safe(text)}")
    for reason, count in checked.dropped.items():
        terminal.say(f"   {counted(count, 'question')} left out: they {reason}")
    if dry_run:
        return
    if checked.kept:
        with session.writing() as store:
            _store(checked, store)
    llm_calls.note_tried(state, memory.id, memory.content_hash)


def _store(checked: Checked, store: Store) -> None:
    def asked(stored: Memory) -> Memory:
        if stored.content_hash != checked.memory.content_hash or stored.status != "active":
            return stored  # another by now
        return changed(stored, {"questions": enriching.with_written(stored, checked.kept)})

    amend(store.get(checked.memory.id), asked, store, [])
    session.follow(store)
