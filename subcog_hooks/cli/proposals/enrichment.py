"""Enriches stored memories with a language model, within the daily limit of calls."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from subcog_hooks.cli.decisions import remedies
from subcog_hooks.cli.proposals import enrichment_questions
from subcog_hooks.cli.proposals.enrichment_questions import CheckedSuggestions
from subcog_hooks.cli.support import context
from subcog_hooks.cli.support.amendment import amend, apply_changes
from subcog_hooks.cli.support.output import pluralize
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
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter

CALLS_SETTING = "llm.calls_a_day"
CALL_S = 120.0  # timeout of a call


@dataclass(frozen=True, slots=True)
class CallBudget:
    """The remaining calls of a provider today. Every method raises StoreError."""

    provider: Provider
    state: State
    settings: Settings

    @property
    def daily_limit(self) -> int:
        return int(self.settings[CALLS_SETTING])

    def may_begin(self, pace: Pace) -> bool:
        """Return whether background work may call the provider now; after repeated failures it is put off."""
        if breaker.may_call(self.state, self.provider.identity, now_ms()):
            return True
        pace.put_off(f"{self.provider.name} has failed a short while ago")
        return False

    def take(self, pace: Pace, job: str, characters: int) -> bool:
        """Count one more call of a job and return True; return False and put the work off at the limit."""
        if state_values.take_llm_call(self.state, now_ms(), self.daily_limit, job, characters):
            return True
        pace.put_off("the calls of the day are made")
        return False

    @contextmanager
    def record_outcome(self) -> Iterator[None]:
        """Record the outcome of the call made in this context, for the circuit breaker."""
        try:
            yield
        except SubcogError:
            breaker.record_call_failure(self.state, self.provider.identity, now_ms())
            raise
        breaker.record_call_success(self.state, self.provider.identity)


MAX_IN_BACKGROUND = 80  # memories of a background run: ten calls

Batch = Sequence[tuple[Memory, str]]  # memories, each with the text that is sent


def count_characters(batch: Batch) -> int:
    """Return the characters of a batch that are sent."""
    return sum(len(text) for _, text in batch)


@contextmanager
def open_state() -> Iterator[State]:
    """Yield the state, created if missing. Raises StoreError."""
    home = context.home()
    home.create()
    with closing(State.open(home, context.STATE_WAIT_MS)) as state:
        yield state


def find_without_questions(store: Store, state: State, limit: int) -> list[Memory]:
    """Return the memories without questions that no model was asked about yet, the newest first."""
    without = {memory.id: memory for memory in store.select(Filter()) if not memory.questions}
    hashes = {id_: memory.content_hash for id_, memory in without.items()}
    return [without[id_] for id_ in state_values.find_untried(state, hashes)[:limit]]


def batches_of(memories: Sequence[Memory]) -> list[Batch]:
    """Return the texts of memories in batches of one call, without texts that may hold a secret."""
    texts = [(memory, text) for memory in memories if (text := enrichment_questions.disclosed_text(memory)) is not None]
    return [texts[start : start + enrichment_questions.BATCH] for start in range(0, len(texts), enrichment_questions.BATCH)]


def ask_about(batch: Batch, provider: providers.Provider, copy: remedies.Trial) -> Iterator[CheckedSuggestions]:
    """Yield a model's valid suggestions for each memory. Raises ProviderError, StoreError."""
    question = enrichment_questions.question_about([text for _, text in batch])
    answer = enrichment_questions.read_answer(providers.ask_provider(provider, question, CALL_S), len(batch))
    if answer is None:
        raise ProviderError(f"{provider.name} answered in another form than was asked for", "try it again")
    for (memory, _), written in zip(batch, answer, strict=True):
        yield enrichment_questions.check_all(memory, written, copy)


def store_suggestions(checked: CheckedSuggestions, by: str, state: State) -> None:
    """Store valid questions, leave other changes for `review`, and record that the memory was asked about.

    by: the author's name for the person. Raises StoreError, InvalidMemory.
    """
    memory = checked.memory
    if checked.kept:
        with context.writing() as store:
            _store_questions(checked, store)
    for field, value in checked.proposed:
        enrichment_questions.add_suggestion(state, memory.id, field, value, by)
    state_values.note_tried(state, memory.id, memory.content_hash)


def _store_questions(checked: CheckedSuggestions, store: Store) -> None:
    def add_questions(stored: Memory) -> Memory:
        if stored.content_hash != checked.memory.content_hash or stored.status != "active":
            return stored  # It has changed meanwhile.
        return apply_changes(stored, {"questions": enrichment_questions.with_written(stored, checked.kept)})

    amend(store.get(checked.memory.id), add_questions, store, [])
    context.update_index_and_vectors(store)


def enrich_in_background(home: Home, pace: Pace = FULL_PACE) -> str:
    """Let the model of `llm.at_rest` write questions for new memories, where the setting says so. Raises SubcogError.

    Return a summary, "" for nothing done. It ends at the daily limit, or at the first failure.
    """
    settings = context.settings()
    provider = providers.background_provider(settings, home) if settings[ENRICH] else None
    if provider is None or not context.has_store(home):
        return ""
    asked_count = 0
    with open_state() as state:
        with Store.reader(home) as store:
            revision = store.revision()
            batches = batches_of(find_without_questions(store, state, MAX_IN_BACKGROUND))
        if not batches:
            state_values.note_asked_revision(state, revision)
            return ""
        calls = CallBudget(provider, state, settings)
        if not calls.may_begin(pace):
            return ""
        with remedies.open_trial() as copy:
            for batch in batches:
                if not pace.goes_on() or not calls.take(pace, state_values.QUESTIONS_JOB, count_characters(batch)):
                    break
                with calls.record_outcome():
                    for checked in ask_about(batch, provider, copy):
                        store_suggestions(checked, provider.name, state)
                asked_count += len(batch)
    return f"{pluralize(asked_count, 'memory', 'memories')} asked about" if asked_count else ""
