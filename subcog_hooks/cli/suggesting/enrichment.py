"""The run of `subcog enrich`, by a command or at rest: whom a model is asked about, and what becomes of its answer."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from subcog_hooks.cli.decided import trial
from subcog_hooks.cli.suggesting import enriching
from subcog_hooks.cli.suggesting.calls import CALL_S, Calls
from subcog_hooks.cli.suggesting.enriching import Checked
from subcog_hooks.cli.support import session
from subcog_hooks.cli.support.amendment import amend, changed
from subcog_hooks.errors import ProviderError
from subcog_hooks.llm import providers
from subcog_hooks.memory.model import Memory
from subcog_hooks.memory.store import Filter, Store
from subcog_hooks.pace import FULL_PACE, Pace
from subcog_hooks.paths import Home
from subcog_hooks.settings.defaults import ENRICH
from subcog_hooks.state import llm_calls
from subcog_hooks.state.connection import State

CALLS_WAIT_MS = 2_000.0
MOST_AT_REST = 80  # memories of a run at rest: ten calls

Batch = Sequence[tuple[Memory, str]]  # memories, each with what is sent of it


@contextmanager
def opened_state() -> Iterator[State]:
    """Yield the state, made as needed, closed in the end. Raises StoreError."""
    home = session.home()
    home.create()
    state = State.open(home, CALLS_WAIT_MS)
    try:
        yield state
    finally:
        state.close()


def find_without_questions(store: Store, state: State, limit: int) -> list[Memory]:
    """Return the memories that have no questions and about which nobody was asked yet, the newest first."""
    without = {memory.id: memory for memory in store.select(Filter()) if not memory.questions}
    hashes = {id_: memory.content_hash for id_, memory in without.items()}
    return [without[id_] for id_ in llm_calls.untried(state, hashes)[:limit]]


def batches_of(memories: Sequence[Memory]) -> list[Batch]:
    """Return what is sent of memories, as many together as one call is about; without those that may hold a secret."""
    sent = [(memory, text) for memory in memories if (text := enriching.shown(memory)) is not None]
    return [sent[start : start + enriching.BATCH] for start in range(0, len(sent), enriching.BATCH)]


def ask_about(batch: Batch, provider: providers.Provider, copy: trial.Trial) -> Iterator[Checked]:
    """Yield what a model has written for each memory, as far as it holds. Raises ProviderError, StoreError."""
    question = enriching.question_about([text for _, text in batch])
    answer = enriching.read_answer(providers.ask(provider, question, CALL_S), len(batch))
    if answer is None:
        raise ProviderError(f"{provider.name} answered in another form than was asked for", "try it again")
    for (memory, _), written in zip(batch, answer, strict=True):
        yield enriching.check_all(memory, written, copy)


def keep(checked: Checked, by: str, state: State) -> None:
    """Store the questions that hold, let what else is proposed wait for `review`, and note that the memory was asked about.

    by: who has written them, for the person. Raises StoreError, InvalidMemory.
    """
    memory = checked.memory
    if checked.kept:
        with session.writing() as store:
            _store_questions(checked, store)
    for field, value in checked.proposed:
        enriching.suggest(state, memory.id, field, value, by)
    llm_calls.note_tried(state, memory.id, memory.content_hash)


def _store_questions(checked: Checked, store: Store) -> None:
    def asked(stored: Memory) -> Memory:
        if stored.content_hash != checked.memory.content_hash or stored.status != "active":
            return stored  # another by now
        return changed(stored, {"questions": enriching.with_written(stored, checked.kept)})

    amend(store.get(checked.memory.id), asked, store, [])
    session.follow(store)


def at_rest(home: Home, pace: Pace = FULL_PACE) -> str:
    """Let the model of `llm.at_rest` write questions for what is new, where the person has chosen that. Raises SubcogError.

    Returns what came of it, "" for nothing. It ends when the calls of the day are made, or at the first failure.
    """
    settings = session.settings()
    provider = providers.provider_at_rest(settings, home) if settings[ENRICH] else None
    if provider is None or not session.has_store(home):
        return ""
    asked = 0
    with opened_state() as state:
        with Store.reader(home) as store:
            revision = store.revision()
            batches = batches_of(find_without_questions(store, state, MOST_AT_REST))
        if not batches:
            llm_calls.note_asked_revision(state, revision)
            return ""
        calls = Calls(provider, state, settings)
        if not calls.may_begin(pace):
            return ""
        with trial.begun() as copy:
            for batch in batches:
                if not pace.goes_on() or not calls.take(pace):
                    break
                with calls.watched():
                    for checked in ask_about(batch, provider, copy):
                        keep(checked, provider.name, state)
                asked += len(batch)
    return _asked(asked) if asked else ""


def _asked(count: int) -> str:
    return f"{count} {'memory' if count == 1 else 'memories'} asked about"
