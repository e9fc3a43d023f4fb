"""Questions learned from sessions: needs at which a memory was given and used."""

import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from subcog_hooks.cli.decisions import lookup, remedies, trial, usage
from subcog_hooks.cli.decisions.remedies import Rerun
from subcog_hooks.cli.decisions.trial import Trial
from subcog_hooks.cli.proposals import enriching
from subcog_hooks.cli.support import context
from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.core.paths import Home
from subcog_hooks.hook.payload import PROMPT_EVENT
from subcog_hooks.llm.answer_texts import SHORTEST_QUESTION, is_plain
from subcog_hooks.redaction.leaks import MASK
from subcog_hooks.settings.defaults import LEARN
from subcog_hooks.store import decision_log, hook_traces, suggestions
from subcog_hooks.store.decision import FOUND, HANDED_OVER, INJECTED, MODEL_CHOICE, Candidate, Decision
from subcog_hooks.store.decision_log import MAX_DECISIONS
from subcog_hooks.store.hook_traces import SilentCall
from subcog_hooks.store.memory import LEARNED, MAX_QUESTIONS, AnsweredQuestion, Memory, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.suggestions import QUESTION, Suggestion

USED, CHOSEN = "the session used it", "a model ranked it first"  # how it was right


class Sighting(NamedTuple):
    """A memory that the first look missed. memory: its id; prompt: the decision about it; how: USED or CHOSEN."""

    memory: str
    prompt: Decision
    how: str


def find_sightings(decisions: Sequence[Decision], silent: Sequence[SilentCall]) -> list[Sighting]:
    """Return the sightings of the last decisions, the newest first.

    A prompt that may have held a secret is none, nor is one whose text is not kept, nor one without a session.
    """
    prompts = {one.id: one for one in decisions if one.event == PROMPT_EVENT and one.session and _may_teach(one.prompt)}
    used = usage.used_later(decisions, silent)
    looks = [look for look in decisions if look.looked_at in prompts]
    return [
        Sighting(candidate.id, prompts[look.looked_at], how)
        for look in sorted(looks, key=lambda look: -look.at)
        for candidate, how in _right_ones(look, used)
    ]


def _right_ones(look: Decision, used: set[tuple[str, str]]) -> Iterator[tuple[Candidate, str]]:
    for candidate in look.candidates:
        if candidate.outcome == FOUND:
            if look.outcome == HANDED_OVER and (look.reason, candidate.id) in used:
                yield candidate, USED
            elif candidate.ranks.get(MODEL_CHOICE) == 1:
                yield candidate, CHOSEN


def _may_teach(prompt: str | None) -> bool:
    return prompt is not None and MASK not in prompt


MOST_NEEDS = 4  # texts of a prompt that are tried as a question
MOST_PROMPTS = 6  # at which a memory was missed, the latest
MOST_TEACHING = 3  # of them whose texts are tried
MOST_CALLS = 1_000  # silent tool calls that are looked through
BY = "second look"  # who suggests a question


class Lesson(NamedTuple):
    """A question that brings a memory to the prompt whose words it has. place: of its text among the needs of that.

    served: other prompts to which it brings the memory, if one of them is of another session; () where nothing confirms it.
    """

    text: str
    place: int
    prompt: Decision
    served: Sequence[Decision]


def at_rest(home: Home, pace: Pace = FULL_PACE) -> str:
    """Take up as questions what was seen since, and forget what went with its record; at most every half an hour.

    Returns what came of it, "" for nothing. Raises SubcogError.
    """
    if not context.has_store(home):
        return ""
    state = State.open(home, lookup.WAIT_MS)
    try:
        if suggestions.take_teaching(state, now_ms()):
            forget_unrecorded(state)
            if context.settings()[LEARN]:
                return _teach(home, state, pace)
            forget_all(state)
        return ""
    finally:
        state.close()


def forget_unrecorded(state: State) -> None:
    """Take away the questions, and what was suggested, that came from prompts which are not kept any more."""
    recorded = decision_log.recorded_prompts(state)
    suggestions.remove_unrecorded(state, recorded)
    _forget(recorded)


def forget_all(state: State | None) -> None:
    """Take away all that was learned from prompts without a person's word. state: None where there is none."""
    if state:
        suggestions.remove_learned(state)
    _forget(set())


def _forget(kept: AbstractSet[str]) -> None:
    """Take away the questions whose prompts are not among the kept decisions."""

    def without(stored: Memory) -> Memory:
        return stored.replaced(questions=tuple([one for one in stored.questions if not one.decision or one.decision in kept]))

    if not context.has_store(context.home()):
        return
    with context.reading() as store:
        found = store.with_recorded_questions() if store else []
    stale = [memory.id for memory in found if without(memory).questions != memory.questions]
    if stale:
        with context.writing() as store:
            store.modify(stale, without)
            context.follow(store)


def _teach(home: Home, state: State, pace: Pace) -> str:
    """Store the questions that two prompts speak for, and suggest those that one does. Return how many it were."""
    recorded = decision_log.latest(state, MAX_DECISIONS)
    seen = find_sightings(recorded, hook_traces.latest_silent_calls(home, MOST_CALLS))
    seen += _suggested_before(seen, state)
    by_memory = _open_sightings(seen, state)
    checksum = zlib.crc32(repr([(memory.id, [one.prompt.id for one in found]) for memory, found in by_memory]).encode())
    if not by_memory or not suggestions.is_news(state, checksum):
        return ""
    suggested = 0
    taught: set[str] = set()
    with trial.begun() as copy:
        school = _School(home, copy, recorded, state)
        for memory, found in by_memory:
            if not pace.goes_on():
                return _told(len(taught), suggested)
            lesson = school.find_lesson(memory, [one.prompt for one in found if one.prompt.id not in taught])
            if lesson and lesson.served:
                learn(memory.id, lesson.text, lesson.prompt.id, state)
                enriching.note_made(state, memory.id, QUESTION, str(lesson.place), BY, lesson.prompt.id)
                taught.add(lesson.prompt.id)
                for one in lesson.served:
                    suggestions.remove_of_prompt(state, memory.id, one.id)
            elif lesson:
                copy.change(memory.id, {"questions": memory.questions})  # the others are tried without it
                enriching.suggest(state, memory.id, QUESTION, str(lesson.place), BY, lesson.prompt.id)
                suggested += 1
    suggestions.note_taught(state, checksum)
    return _told(len(taught), suggested)


def _told(learned: int, suggested: int) -> str:
    parts = [f"{learned} learned"] if learned else []
    parts += [f"{suggested} for `subcog review`"] if suggested else []
    return ", ".join(parts)


def _suggested_before(seen: Sequence[Sighting], state: State) -> list[Sighting]:
    """Return the sightings that are suggestions by now, and of which nothing else may be recorded any more."""
    known = {(one.memory, one.prompt.id) for one in seen}
    found = []
    for one in suggestions.find_open(state):
        if one.field == QUESTION and (one.memory, one.decision) not in known:
            was = decision_log.find(state, one.decision)
            if was is not None and was.id == one.decision and was.prompt is not None:
                found.append(Sighting(one.memory, was, USED))
    return found


def _open_sightings(seen: Sequence[Sighting], state: State) -> list[tuple[Memory, list[Sighting]]]:
    """Return the memories that may learn, each with where they were missed. A prompt teaches once."""
    with context.reading() as store:
        if store is None:
            return []
        memories = store.by_ids(list(dict.fromkeys(one.memory for one in seen)))
        bad = {mark.decision for mark in store.marks([memory.seq for memory in memories.values()])}
    dropped, taught = suggestions.find_settled(state)
    by_memory: defaultdict[str, list[Sighting]] = defaultdict(list)
    for one in seen:
        if one.prompt.id not in taught | bad and (one.memory, one.prompt.id) not in dropped:
            by_memory[one.memory].append(one)
    return [
        (memories[id_], found)
        for id_, found in by_memory.items()
        if id_ in memories and memories[id_].is_live(now_ms()) and len(memories[id_].questions) < MAX_QUESTIONS
    ]


class _School:
    """The trial of questions: on a copy of the store, by prompts of before. recorded: the decisions that are kept."""

    __slots__ = ("_copy", "_home", "_of_prompts", "_state")

    def __init__(self, home: Home, copy: Trial, recorded: Sequence[Decision], state: State) -> None:
        self._home = home
        self._copy = copy
        self._of_prompts = [one for one in recorded if one.event == PROMPT_EVENT]
        self._state = state

    def find_lesson(self, memory: Memory, prompts: Sequence[Decision]) -> Lesson | None:
        """Return what a memory may learn from prompts at which it was missed, the newest first; confirmed, if it can be.

        The copy has the question of a lesson that is confirmed.
        """
        missed = [was for was in prompts[:MOST_PROMPTS] if not self._comes(memory, was, self._home)]
        first: Lesson | None = None
        for was in missed[:MOST_TEACHING]:
            others = [other for other in missed if other is not was]
            if first and all(other.session == was.session for other in others):
                continue
            lesson = self._lesson(memory, was, others)
            if lesson and lesson.served:
                return lesson
            first = first or lesson
        return first

    def _lesson(self, memory: Memory, was: Decision, others: Sequence[Decision]) -> Lesson | None:
        """Return a question out of a prompt that holds and brings a memory to it; to one of the others, too, if any does."""
        first: Lesson | None = None
        for place, text in enumerate(remedies.needs_of(was)[:MOST_NEEDS]):
            if len(text) < SHORTEST_QUESTION or not is_plain(text):
                continue
            holds = bool(enriching.check(memory, [text], self._copy, LEARNED).kept)
            if holds and self._comes(memory, was, self._copy.home):
                served = [other for other in others if self._comes(memory, other, self._copy.home)]
                if any(other.session != was.session for other in served):
                    return Lesson(text, place, was, served)
                first = first or Lesson(text, place, was, ())
            self._copy.change(memory.id, {"questions": memory.questions})
            if first and not others:
                break
        return first

    def _comes(self, memory: Memory, was: Decision, home: Home) -> bool:
        """Return whether the first look would bring a memory to a prompt, with the memories of this home."""
        rerun = Rerun(was, set(), lookup.place_among(self._of_prompts, was), self._state)
        candidate = remedies.candidate_of(rerun.decide(home), memory.id)
        return candidate is not None and candidate.outcome == INJECTED


def learn(id_: str, text: str, decision: str, state: State, *, for_good: bool = False) -> Memory | None:
    """Give a memory a question out of the prompt of a decision, and return it; None where it has it, or no place for one.

    for_good: the person has said so; otherwise it goes with the record of the prompt. What else was to be learned from that
    prompt is not wanted any more: a prompt teaches once. It is no change that anybody is to see as the memory's last one.
    """
    before: list[Memory] = []
    question = AnsweredQuestion(text, LEARNED, "" if for_good else decision)

    def taught(stored: Memory) -> Memory:
        has_it = any(text == one.text for one in stored.questions)
        if has_it or not stored.is_live(now_ms()) or len(stored.questions) >= MAX_QUESTIONS:
            return stored
        before.append(stored)
        return stored.replaced(questions=(*stored.questions, question))

    with context.writing() as store:
        (after,) = store.modify([id_], taught)
        context.follow(store)
    for one in suggestions.find_open(state):
        if one.decision == decision:
            suggestions.remove(state, one.id)
    return after if before else None


def text_of(suggestion: Suggestion, state: State) -> str | None:
    """Return the question that is suggested, None where the record of its prompt is gone."""
    was = decision_log.find(state, suggestion.decision)
    if was is None or was.id != suggestion.decision or was.prompt is None:
        return None
    texts = remedies.needs_of(was)
    return texts[int(suggestion.value)] if int(suggestion.value) < len(texts) else None
