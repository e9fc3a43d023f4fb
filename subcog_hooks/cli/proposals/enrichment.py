"""Enriches stored memories with a language model, within the daily limit of calls."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, repeat
from typing import TypeVar

from subcog_hooks.cli.amendment import amend, apply_changes
from subcog_hooks.cli.proposals import enrichment_questions
from subcog_hooks.cli.proposals.enrichment_questions import CHANGED, UNREADABLE, CheckedQuestions
from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import count_memories
from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.core.errors import ProviderError, UnusableAnswer
from subcog_hooks.core.paths import Home
from subcog_hooks.llm import ask, providers
from subcog_hooks.llm.providers import Provider
from subcog_hooks.llm.question import Question
from subcog_hooks.settings.defaults import ENRICH, Settings
from subcog_hooks.store import state_values
from subcog_hooks.store.memory import MAX_QUESTIONS, Memory, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter

CALLS_SETTING = "llm.calls_a_day"
CALL_S = 120.0  # timeout of a call
MAX_UNUSABLE = 6  # unusable answers in a row; then the model is not suitable. A batch of eight is halved to one memory by four.
MAX_IN_BACKGROUND = 80  # memories of a background run: ten calls

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Texts = Sequence[tuple[Memory, str]]  # memories, each with the text that is sent


class CallBudget:
    """The remaining calls of a provider today. is_used_up: none was left. Every method raises StoreError."""

    def __init__(self, provider: Provider, state: State, settings: Settings) -> None:
        self.provider = provider
        self.daily_limit = int(settings[CALLS_SETTING])
        self.is_used_up = False
        self._state = state

    def may_begin(self, pace: Pace) -> bool:
        """Return whether background work may call the provider now; after repeated failures it is put off."""
        if ask.may_call(self._state, self.provider.circuit, now_ms()):
            return True
        pace.put_off(f"{self.provider.name} has failed a short while ago")
        return False

    def ask_in_batches(
        self,
        items: Iterable[Item],
        size: int,
        make_question: Callable[[Sequence[Item]], Question],
        read: Callable[[str, int], Answer | None],
        job: str,
        pace: Pace = FULL_PACE,
    ) -> Iterator[tuple[Sequence[Item], Answer | None]]:
        """Yield batches of items with the answers, until a limit; None for the answer about one item that cannot be used.

        A batch is halved where its answer cannot be used. read: parses an answer about a number of items, None for an unusable
        one. Raises ProviderError, also where no answer can be used.
        """
        remaining, halves = iter(items), list[Sequence[Item]]()
        unanswered = list[Sequence[Item]]()
        failures = list[UnusableAnswer]()  # in a row
        has_answer = False
        while pace.goes_on() and (batch := halves.pop(0) if halves else list(islice(remaining, size))):
            question = make_question(batch)
            if not self._take_call(pace, job, len(question.user)):
                break
            try:
                answer = self._ask(question, read, len(batch))
            except UnusableAnswer as error:
                failures.append(error)
                middle = len(batch) // 2
                halves[:0] = [batch[:middle], batch[middle:]] if middle else []
                unanswered += [] if middle else [batch]
                if len(failures) == MAX_UNUSABLE:
                    break
                continue
            has_answer, failures = True, []
            yield batch, answer
        if has_answer:
            yield from ((batch, None) for batch in unanswered)
        if failures and (not has_answer or len(failures) == MAX_UNUSABLE):
            raise failures[-1]

    def _take_call(self, pace: Pace, job: str, characters: int) -> bool:
        if state_values.take_llm_call(self._state, now_ms(), self.daily_limit, job, characters):
            return True
        self.is_used_up = True
        pace.put_off("the calls of the day are made")
        return False

    def _ask(self, question: Question, read: Callable[[str, int], Answer | None], count: int) -> Answer:
        answer = read(ask.ask_recorded(self._state, self.provider, question, CALL_S), count)
        if answer is None:
            message = f"{self.provider.name} answered in another form than was asked for"
            raise UnusableAnswer(message, "try it again, or another model")
        return answer


def require_calls(settings: Settings) -> None:
    """Raise ProviderError where the settings allow no call on any day."""
    if not settings[CALLS_SETTING]:
        raise ProviderError(f"{CALLS_SETTING} is 0, so no model is asked", f"raise it: `subcog config set {CALLS_SETTING} 50`")


def find_without_questions(store: Store, state: State) -> list[Memory]:
    """Return the memories without questions that no model was asked about yet, the newest first."""
    without = {memory.id: memory for memory in store.select(Filter()) if not memory.questions}
    hashes = {id_: memory.content_hash for id_, memory in without.items()}
    return [without[id_] for id_ in state_values.find_untried(state, hashes)]


def disclose(memories: Iterable[Memory], limit: int) -> Texts:
    """Return the first memories with a text that holds no secret."""
    texts = ((memory, text) for memory in memories if (text := enrichment_questions.disclosed_text(memory)) is not None)
    return list(islice(texts, limit))


def ask_about(texts: Texts, calls: CallBudget, pace: Pace = FULL_PACE) -> Iterator[CheckedQuestions]:
    """Yield a model's valid questions for each memory. Raises ProviderError, StoreError."""
    ask, read = enrichment_questions.question_about, enrichment_questions.read_answer
    for batch, answer in calls.ask_in_batches(texts, enrichment_questions.BATCH, ask, read, state_values.QUESTIONS_JOB, pace):
        for (memory, _), written in zip(batch, answer or repeat(None), strict=False):
            if written is None:
                yield CheckedQuestions(memory, (), Counter({UNREADABLE: 1}))
            else:
                yield enrichment_questions.check_questions(memory, written)


def store_questions(checked: CheckedQuestions, state: State) -> CheckedQuestions:
    """Store valid questions, and record that the memory was asked about. Return the stored ones.

    Raises StoreError, InvalidMemory.
    """
    with context.writing() as store:
        stored = _add_questions(checked, store)
    state_values.note_tried(state, checked.memory.id, checked.memory.content_hash)
    return stored


def _add_questions(checked: CheckedQuestions, store: Store) -> CheckedQuestions:
    def is_unchanged(stored: Memory) -> bool:
        return stored.content_hash == checked.memory.content_hash and stored.status == "active"

    def add_questions(stored: Memory) -> Memory:
        questions = enrichment_questions.with_written(stored, checked.kept)[:MAX_QUESTIONS]
        return apply_changes(stored, {"questions": questions}) if is_unchanged(stored) else stored

    memory = store.by_ids([checked.memory.id]).get(checked.memory.id)
    if memory is None or not is_unchanged(memory):
        return checked._replace(kept=(), dropped=checked.dropped + Counter({CHANGED: len(checked.kept)}))
    after = amend(memory, add_questions, store, [])
    if after is None:
        return checked._replace(kept=())
    context.update_index_and_vectors(store)
    answered = [question.text for question in after.questions]
    return checked._replace(kept=tuple(text for text in checked.kept if text in answered))


def enrich_in_background(home: Home, pace: Pace = FULL_PACE) -> str:
    """Let the model of `llm.at_rest` write questions for new memories, where the setting says so. Raises SubcogError.

    Return a summary, "" for nothing done. It ends at the daily limit, or where the model fails.
    """
    settings = context.settings()
    provider = providers.background_provider(settings, home) if settings[ENRICH] else None
    if provider is None or not context.has_store(home):
        return ""
    asked_count = 0
    with context.open_state() as state:
        with Store.reader(home) as store:
            revision = store.revision()
            texts = disclose(find_without_questions(store, state), MAX_IN_BACKGROUND)
        if not texts:
            state_values.note_asked_revision(state, revision)
            return ""
        calls = CallBudget(provider, state, settings)
        if not calls.may_begin(pace):
            return ""
        try:
            for checked in ask_about(texts, calls, pace):
                store_questions(checked, state)
                asked_count += 1
        except UnusableAnswer:
            state_values.note_asked_revision(state, revision)  # the same question waits for a change of the store
            raise
    return f"{count_memories(asked_count)} asked about" if asked_count else ""
