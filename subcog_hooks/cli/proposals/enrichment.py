"""Enrichment of stored memories by a language model, within the day's calls."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from subcog_hooks.cli.decisions import trial
from subcog_hooks.cli.proposals import enriching
from subcog_hooks.cli.proposals.enriching import Checked
from subcog_hooks.cli.support import context
from subcog_hooks.cli.support.amendment import amend, changed
from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.core.errors import ProviderError, SubcogError
from subcog_hooks.core.paths import Home
from subcog_hooks.llm import breaker, providers
from subcog_hooks.llm.providers import Provider
from subcog_hooks.settings.defaults import ENRICH
from subcog_hooks.settings.loading import Settings
from subcog_hooks.store import state_values
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Filter, Store

CALLS_SETTING = "llm.calls_a_day"
CALL_S = 120.0  # for one call


class Calls:
    """The calls that a provider may still be asked today. Every method raises StoreError."""

    __slots__ = ("_provider", "_state", "most")

    def __init__(self, provider: Provider, state: State, settings: Settings) -> None:
        self._provider = provider
        self._state = state
        self.most = int(settings[CALLS_SETTING])

    def may_begin(self, pace: Pace) -> bool:
        """Return whether the provider is asked at rest now; one that fails again and again is left alone, which puts it off."""
        if breaker.may_call(self._state, self._provider.identity, now_ms()):
            return True
        pace.put_off(f"{self._provider.name} has failed a short while ago")
        return False

    def take(self, pace: Pace) -> bool:
        """Return whether there may be one call more; it is counted then, whatever becomes of it. Else the work is put off."""
        if state_values.take_llm_call(self._state, now_ms(), self.most):
            return True
        pace.put_off("the calls of the day are made")
        return False

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Note how a call ends, which is made inside."""
        try:
            yield
        except SubcogError:
            breaker.record_call_failure(self._state, self._provider.identity, now_ms())
            raise
        breaker.record_call_success(self._state, self._provider.identity)


CALLS_WAIT_MS = 2_000.0
MOST_AT_REST = 80  # memories of a run at rest: ten calls

Batch = Sequence[tuple[Memory, str]]  # memories, each with what is sent of it


@contextmanager
def opened_state() -> Iterator[State]:
    """Yield the state, made as needed, closed in the end. Raises StoreError."""
    home = context.home()
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
    return [without[id_] for id_ in state_values.find_untried(state, hashes)[:limit]]


def batches_of(memories: Sequence[Memory]) -> list[Batch]:
    """Return what is sent of memories, as many together as one call is about; without those that may hold a secret."""
    sent = [(memory, text) for memory in memories if (text := enriching.shown(memory)) is not None]
    return [sent[start : start + enriching.BATCH] for start in range(0, len(sent), enriching.BATCH)]


def ask_about(batch: Batch, provider: providers.Provider, copy: trial.Trial) -> Iterator[Checked]:
    """Yield what a model has written for each memory, as far as it holds. Raises ProviderError, StoreError."""
    question = enriching.question_about([text for _, text in batch])
    answer = enriching.read_answer(providers.ask_provider(provider, question, CALL_S), len(batch))
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
        with context.writing() as store:
            _store_questions(checked, store)
    for field, value in checked.proposed:
        enriching.suggest(state, memory.id, field, value, by)
    state_values.note_tried(state, memory.id, memory.content_hash)


def _store_questions(checked: Checked, store: Store) -> None:
    def asked(stored: Memory) -> Memory:
        if stored.content_hash != checked.memory.content_hash or stored.status != "active":
            return stored  # another by now
        return changed(stored, {"questions": enriching.with_written(stored, checked.kept)})

    amend(store.get(checked.memory.id), asked, store, [])
    context.follow(store)


def at_rest(home: Home, pace: Pace = FULL_PACE) -> str:
    """Let the model of `llm.at_rest` write questions for what is new, where the person has chosen that. Raises SubcogError.

    Returns what came of it, "" for nothing. It ends when the calls of the day are made, or at the first failure.
    """
    settings = context.settings()
    provider = providers.background_provider(settings, home) if settings[ENRICH] else None
    if provider is None or not context.has_store(home):
        return ""
    asked = 0
    with opened_state() as state:
        with Store.reader(home) as store:
            revision = store.revision()
            batches = batches_of(find_without_questions(store, state, MOST_AT_REST))
        if not batches:
            state_values.note_asked_revision(state, revision)
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
