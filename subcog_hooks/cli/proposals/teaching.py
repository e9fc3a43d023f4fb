"""Learns questions from prompts: the agent opened the memory from a line, or a second look found it and the session used it."""

import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing
from dataclasses import dataclass
from typing import NamedTuple

from subcog_hooks.cli.decisions import lookup, remedies, usage
from subcog_hooks.cli.decisions.remedies import Rerun, Trial
from subcog_hooks.cli.proposals import enrichment_questions
from subcog_hooks.cli.support import context
from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.core.paths import Home
from subcog_hooks.hook.payload import PROMPT_EVENT
from subcog_hooks.llm.answer_texts import SHORTEST_QUESTION, is_plain
from subcog_hooks.redaction.masking import MASK
from subcog_hooks.settings.defaults import LEARN
from subcog_hooks.store import hook_traces, recorded_decisions, sessions, suggestions
from subcog_hooks.store.decision import FOUND, HANDED_OVER, INJECTED, MODEL_CHOICE, Candidate, Decision
from subcog_hooks.store.decision_log import MAX_DECISIONS
from subcog_hooks.store.hook_traces import SilentCall
from subcog_hooks.store.memory import LEARNED, MAX_QUESTIONS, AnsweredQuestion, Memory, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.suggestions import QUESTION, Suggestion

OPENED, USED, CHOSEN = "the agent opened it", "the session used it", "a model ranked it first"  # why the memory was right


class Sighting(NamedTuple):
    """A memory that the first look did not hand over. memory: its id; prompt: the prompt's decision; how: one of the above."""

    memory: str
    prompt: Decision
    how: str


def find_sightings(
    decisions: Sequence[Decision], silent: Sequence[SilentCall], openings: Sequence[tuple[str, str]] = ()
) -> list[Sighting]:
    """Return the sightings in recent decisions, openings first, then the newest.

    openings: memories that were opened from a line, each with the id of the line's decision.

    A prompt without a stored text or a session does not count, nor a prompt with a masked secret.
    """
    prompts = {
        decision.id: decision
        for decision in decisions
        if decision.event == PROMPT_EVENT and decision.session and decision.prompt is not None and MASK not in decision.prompt
    }
    used = usage.find_used_later(decisions, silent)
    looks = [look for look in decisions if look.looked_at in prompts]
    return [Sighting(memory, prompts[decision], OPENED) for memory, decision in openings if decision in prompts] + [
        Sighting(candidate.id, prompts[look.looked_at], how)
        for look in sorted(looks, key=lambda look: -look.at_ms)
        for candidate, how in _right_candidates(look, used)
    ]


def _right_candidates(look: Decision, used: set[tuple[str, str]]) -> Iterator[tuple[Candidate, str]]:
    for candidate in look.candidates:
        if candidate.outcome == FOUND:
            if look.outcome == HANDED_OVER and (look.reason, candidate.id) in used:
                yield candidate, USED
            elif candidate.ranks.get(MODEL_CHOICE) == 1:
                yield candidate, CHOSEN


MAX_NEEDS = 4  # texts of a prompt tried as a question
MAX_PROMPTS = 6  # latest prompts that missed a memory
MAX_TEACHING = 3  # prompts of these whose texts are tried
MAX_CALLS = 1_000  # silent tool calls that are searched
SUGGESTED_BY = "second look"


class Lesson(NamedTuple):
    """A question that brings a memory to its prompt. position: its position among the prompt's needs.

    served: other prompts that it brings the memory to, if one is of another session; () without such a confirmation.
    """

    text: str
    position: int
    prompt: Decision
    served: Sequence[Decision]


def teach_in_background(home: Home, pace: Pace = FULL_PACE) -> str:
    """Learn questions from new sightings, and forget those whose prompt is gone; at most every half an hour.

    Return a summary, "" for nothing done. Raises SubcogError.
    """
    if not context.has_store(home):
        return ""
    with closing(State.open(home, context.STATE_WAIT_MS)) as state:
        if suggestions.take_teaching(state, now_ms()):
            forget_unrecorded(state)
            if context.settings()[LEARN]:
                return _teach(home, state, pace)
            forget_all(state)
        return ""


def forget_unrecorded(state: State) -> None:
    """Remove the questions and suggestions that came from prompts without a record."""
    recorded = recorded_decisions.find_recorded_prompts(state)
    suggestions.remove_unrecorded(state, recorded)
    _forget(recorded)


def forget_all(state: State | None) -> None:
    """Remove everything learned from prompts without the person. state: None where there is none."""
    if state:
        suggestions.remove_learned(state)
    _forget(set())


def _forget(recorded: AbstractSet[str]) -> None:
    def without(stored: Memory) -> Memory:
        return stored.with_changes(
            questions=tuple(
                [question for question in stored.questions if not question.decision or question.decision in recorded]
            )
        )

    if not context.has_store(context.home()):
        return
    with context.reading() as store:
        affected = store.with_recorded_questions() if store else []
    stale = [memory.id for memory in affected if without(memory).questions != memory.questions]
    if stale:
        with context.writing() as store:
            store.modify(stale, without)
            context.update_index_and_vectors(store)


def _teach(home: Home, state: State, pace: Pace) -> str:
    recorded = recorded_decisions.find_latest(state, MAX_DECISIONS)
    silent = hook_traces.find_latest_silent_calls(home, MAX_CALLS)
    seen = find_sightings(recorded, silent, sessions.find_openings(state))
    seen += _earlier_sightings(seen, state)
    by_memory = _open_sightings(seen, state)
    checksum = zlib.crc32(
        repr([(memory.id, [sighting.prompt.id for sighting in sightings]) for memory, sightings in by_memory]).encode()
    )
    if not by_memory or not suggestions.has_news(state, checksum):
        return ""
    suggested = 0
    taught: set[str] = set()
    with remedies.open_trial() as copy:
        trials = _QuestionTrials(home, copy, [decision for decision in recorded if decision.event == PROMPT_EVENT], state)
        for memory, sightings in by_memory:
            if not pace.goes_on():
                return _summary(len(taught), suggested)
            lesson = trials.find_lesson(memory, [sighting.prompt for sighting in sightings if sighting.prompt.id not in taught])
            opened = {sighting.prompt.id for sighting in sightings if sighting.how == OPENED}
            if lesson and (lesson.served or lesson.prompt.id in opened):
                learn_question(memory.id, lesson.text, lesson.prompt.id, state)
                enrichment_questions.record_change(
                    state, memory.id, QUESTION, str(lesson.position), SUGGESTED_BY, lesson.prompt.id
                )
                taught.add(lesson.prompt.id)
                for prompt in lesson.served:
                    suggestions.remove_of_prompt(state, memory.id, prompt.id)
            elif lesson:
                copy.change(memory.id, {"questions": memory.questions})  # The next memories are tried without it.
                enrichment_questions.add_suggestion(
                    state, memory.id, QUESTION, str(lesson.position), SUGGESTED_BY, lesson.prompt.id
                )
                suggested += 1
    suggestions.note_taught_stamp(state, checksum)
    return _summary(len(taught), suggested)


def _summary(learned: int, suggested: int) -> str:
    parts = [f"{learned} learned"] if learned else []
    parts += [f"{suggested} for `subcog review`"] if suggested else []
    return ", ".join(parts)


def _earlier_sightings(seen: Sequence[Sighting], state: State) -> list[Sighting]:
    """Return the sightings of open suggestions, whose other records may be gone."""
    seen_keys = {(sighting.memory, sighting.prompt.id) for sighting in seen}
    sightings = []
    for suggestion in suggestions.find_open_suggestions(state):
        if suggestion.field == QUESTION and (suggestion.memory, suggestion.decision) not in seen_keys:
            decision = recorded_decisions.find_decision(state, suggestion.decision)
            if decision is not None and decision.id == suggestion.decision and decision.prompt is not None:
                sightings.append(Sighting(suggestion.memory, decision, USED))
    return sightings


def _open_sightings(seen: Sequence[Sighting], state: State) -> list[tuple[Memory, list[Sighting]]]:
    """Return the memories that may learn, with the prompts that missed them. Each prompt teaches once."""
    with context.reading() as store:
        if store is None:
            return []
        memories = store.by_ids(list(dict.fromkeys(sighting.memory for sighting in seen)))
        bad = {mark.decision for mark in store.marks([memory.seq for memory in memories.values()])}
    dropped, taught = suggestions.find_settled_prompts(state)
    by_memory: defaultdict[str, list[Sighting]] = defaultdict(list)
    for sighting in seen:
        if sighting.prompt.id not in taught | bad and (sighting.memory, sighting.prompt.id) not in dropped:
            by_memory[sighting.memory].append(sighting)
    return [
        (memories[id_], sightings)
        for id_, sightings in by_memory.items()
        if id_ in memories and memories[id_].is_live(now_ms()) and len(memories[id_].questions) < MAX_QUESTIONS
    ]


@dataclass(frozen=True, slots=True)
class _QuestionTrials:
    """The trials of questions on a copy of the store, with earlier prompts."""

    home: Home
    copy: Trial
    prompts: Sequence[Decision]
    state: State

    def find_lesson(self, memory: Memory, prompts: Sequence[Decision]) -> Lesson | None:
        """Return a lesson for a memory from prompts that missed it, the newest first; a confirmed one if possible.

        The copy has the question of a confirmed lesson.
        """
        missed = [prompt for prompt in prompts[:MAX_PROMPTS] if not self._comes(memory, prompt, self.home)]
        first: Lesson | None = None
        for prompt in missed[:MAX_TEACHING]:
            others = [other for other in missed if other is not prompt]
            if first and all(other.session == prompt.session for other in others):
                continue
            lesson = self._lesson(memory, prompt, others)
            if lesson and lesson.served:
                return lesson
            first = first or lesson
        return first

    def _lesson(self, memory: Memory, prompt: Decision, others: Sequence[Decision]) -> Lesson | None:
        first: Lesson | None = None
        for position, text in enumerate(remedies.needs_of(prompt)[:MAX_NEEDS]):
            if len(text) < SHORTEST_QUESTION or not is_plain(text):
                continue
            holds = bool(enrichment_questions.check_questions(memory, [text], self.copy, LEARNED).kept)
            if holds and self._comes(memory, prompt, self.copy.home):
                served = [other for other in others if self._comes(memory, other, self.copy.home)]
                if any(other.session != prompt.session for other in served):
                    return Lesson(text, position, prompt, served)
                first = first or Lesson(text, position, prompt, ())
            self.copy.change(memory.id, {"questions": memory.questions})
            if first and not others:
                break
        return first

    def _comes(self, memory: Memory, prompt: Decision, home: Home) -> bool:
        """Return whether the first look would bring a memory to a prompt, with the memories of this home."""
        rerun = Rerun(prompt, set(), lookup.position_among(self.prompts, prompt), self.state)
        candidate = remedies.candidate_of(rerun.decide(home), memory.id)
        return candidate is not None and candidate.outcome == INJECTED


def learn_question(id_: str, text: str, decision: str, state: State, *, for_good: bool = False) -> Memory | None:
    """Give a memory a question from a prompt and return it; None where it has the question, or its maximum.

    for_good: the person has confirmed it; otherwise it is removed with the record of the prompt. Other suggestions from that
    prompt are removed, as a prompt teaches once. The memory's time of change stays.
    """
    before: list[Memory] = []
    question = AnsweredQuestion(text, LEARNED, "" if for_good else decision)

    def add_question(stored: Memory) -> Memory:
        is_known = any(text == asked.text for asked in stored.questions)
        if is_known or not stored.is_live(now_ms()) or len(stored.questions) >= MAX_QUESTIONS:
            return stored
        before.append(stored)
        return stored.with_changes(questions=(*stored.questions, question))

    with context.writing() as store:
        (after,) = store.modify([id_], add_question)
        context.update_index_and_vectors(store)
    for suggestion in suggestions.find_open_suggestions(state):
        if suggestion.decision == decision:
            suggestions.remove_suggestion(state, suggestion.id)
    return after if before else None


def text_of(suggestion: Suggestion, state: State) -> str | None:
    """Return the suggested question, None where the record of its prompt is gone."""
    prompt = recorded_decisions.find_decision(state, suggestion.decision)
    if prompt is None or prompt.id != suggestion.decision or prompt.prompt is None:
        return None
    texts = remedies.needs_of(prompt)
    return texts[int(suggestion.value)] if int(suggestion.value) < len(texts) else None
