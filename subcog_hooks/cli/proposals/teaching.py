"""Learns questions from prompts: the agent opened a memory from a line, so the prompt needed it."""

import zlib
from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from subcog_hooks.cli.proposals import enrichment_questions
from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.verdicts import past_prompts
from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.core.paths import Home
from subcog_hooks.hook.payload import PROMPT_EVENT
from subcog_hooks.learn.quoting import SHORTEST_QUESTION, is_plain
from subcog_hooks.redaction.masking import MASK
from subcog_hooks.settings.defaults import LEARN
from subcog_hooks.store import learned, past_runs, sessions
from subcog_hooks.store.memory import MAX_QUESTIONS, Memory, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.verdicts import MAX_VERDICTS, RecordedVerdict

MAX_NEEDS = 4  # texts of a prompt that may become a question
MAX_PROMPTS = 3  # latest prompts of a memory that may teach it


def find_opened_prompts(
    past_verdicts: Sequence[RecordedVerdict], openings: Sequence[tuple[str, str]]
) -> list[tuple[str, RecordedVerdict]]:
    """Return (memory id, prompt) of each opening in recent verdicts, in the given order.

    openings: opened memories, each with the id of the line's verdict. A prompt without a stored text or a session does not
    count, nor a prompt with a masked secret.
    """
    prompts = {
        verdict.id: verdict
        for verdict in past_verdicts
        if verdict.event == PROMPT_EVENT and verdict.session and verdict.prompt is not None and MASK not in verdict.prompt
    }
    return [(memory, prompts[verdict]) for memory, verdict in openings if verdict in prompts]


def teach_in_background(home: Home, pace: Pace = FULL_PACE) -> str:
    """Learn questions from openings, and forget those whose prompt is gone; at most every half an hour.

    Return a summary, "" for nothing done. Raises SubcogError.
    """
    if not context.has_store(home):
        return ""
    with context.open_state() as state:
        if learned.take_teaching(state, now_ms()):
            recorded = past_runs.find_recorded_prompts(state)  # The others are gone, and so are their questions.
            learned.forget_lessons(state, recorded)
            _forget(recorded)
            if context.settings()[LEARN]:
                return _teach(state, pace)
            forget_all(state)
        return ""


def forget_all(state: State | None) -> None:
    """Remove everything learned from prompts without the person. state: None where there is none."""
    if state:
        learned.forget_lessons(state)
    _forget(set())


def _forget(recorded: AbstractSet[str]) -> None:
    def without(stored: Memory) -> Memory:
        kept = [question for question in stored.questions if not question.verdict or question.verdict in recorded]
        return stored.with_changes(questions=tuple(kept))

    if not context.has_store(context.home()):
        return
    with context.reading() as store:
        affected = store.with_recorded_questions() if store else []
    stale = [memory.id for memory in affected if without(memory).questions != memory.questions]
    if stale:
        with context.writing() as store:
            store.modify(stale, without)
            context.update_index_and_vectors(store)


def _teach(state: State, pace: Pace) -> str:
    recorded = past_runs.find_latest(state, MAX_VERDICTS)
    by_memory = _open_lessons(find_opened_prompts(recorded, sessions.find_openings(state)), state)
    checksum = zlib.crc32(repr([(memory.id, [prompt.id for prompt in prompts]) for memory, prompts in by_memory]).encode())
    if not by_memory or learned.find_progress(state).taught_stamp == checksum:
        return ""
    taught: set[str] = set()
    for memory, prompts in by_memory:
        if not pace.goes_on():
            return _summary(taught)
        if prompt := _teach_memory(memory, [prompt for prompt in prompts if prompt.id not in taught][:MAX_PROMPTS], state):
            taught.add(prompt)
    learned.note_progress(state, taught_stamp=checksum)
    return _summary(taught)


def _teach_memory(memory: Memory, prompts: Sequence[RecordedVerdict], state: State) -> str:
    """Teach a memory from the latest of these prompts that misses it and can teach. Return the prompt's id, "" for none."""
    with Store.reader(context.home()) as store:
        coming = past_prompts.find_coming(prompts, store)
    for prompt in [prompt for prompt, ids in zip(prompts, coming, strict=True) if memory.id not in ids]:
        needs = past_prompts.needs_of(prompt)
        usable = [text for text in needs[:MAX_NEEDS] if len(text) >= SHORTEST_QUESTION and is_plain(text)]
        texts = [text for text in usable if enrichment_questions.check_questions(memory, [text]).kept]
        if past_prompts.learn_question(memory, texts, prompt, state, prompt.id):
            learned.note_lesson(state, prompt.id)
            return prompt.id
    return ""


def _summary(taught: AbstractSet[str]) -> str:
    return f"{len(taught)} learned" if taught else ""


def _open_lessons(opened: Sequence[tuple[str, RecordedVerdict]], state: State) -> list[tuple[Memory, list[RecordedVerdict]]]:
    """Return the memories that may learn, with the prompts at which they were opened. Each prompt teaches once."""
    with context.reading() as store:
        if store is None:
            return []
        memories = store.by_ids(list(dict.fromkeys(id_ for id_, _ in opened)))
        bad = {mark.verdict for mark in store.marks([memory.seq for memory in memories.values()])}
    settled = learned.find_lessons(state) | bad
    by_memory: defaultdict[str, list[RecordedVerdict]] = defaultdict(list)
    for id_, prompt in opened:
        if prompt.id not in settled:
            by_memory[id_].append(prompt)
    return [
        (memories[id_], prompts)
        for id_, prompts in by_memory.items()
        if id_ in memories and memories[id_].is_live(now_ms()) and len(memories[id_].questions) < MAX_QUESTIONS
    ]
