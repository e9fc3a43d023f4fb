"""Find verdicts of the hook by id, describe them in sentences, and search again for the prompts of earlier ones."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from subcog_hooks.cli.search_sources import open_sources
from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import count_memories, pluralize, redact_line, safe, terminal
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import NoVerdict, UsageError
from subcog_hooks.hook.payload import FAILURE_EVENT, PROMPT_EVENT, START_EVENT, SUBAGENT_EVENT, TOOL_EVENT
from subcog_hooks.intent.keywords import Intent
from subcog_hooks.recall import pipeline
from subcog_hooks.recall.candidates import Request
from subcog_hooks.recall.search import search_page
from subcog_hooks.store import past_runs
from subcog_hooks.store import verdicts as outcomes
from subcog_hooks.store.memory import LEARNED, MAX_QUESTION, AnsweredQuestion, Memory
from subcog_hooks.store.past_runs import CutOff, SilentCall
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter, audiences_of
from subcog_hooks.store.verdicts import LOOK_EVENT, MAX_VERDICTS, RecordedVerdict
from subcog_hooks.text import typed_prompt
from subcog_hooks.text.sanitise import cut
from subcog_hooks.text.typed_prompt import prepare_prompt, query_text

MAX_CHARS = 90  # characters of a memory or a prompt in a list

PROMPT_NOT_STORED = "(the prompt was not kept)"

DECIDED_BY_RELEVANCE = (
    outcomes.SPOKE,
    outcomes.LINES,
    outcomes.NOTHING_FOUND,
    outcomes.BELOW,
    outcomes.REPEATED,
    outcomes.SPENT,
    outcomes.INTENT,
)


SILENCES = {  # why a run was silent, by its outcome
    outcomes.PAUSED: "the hook was paused then",
    outcomes.OFF: "switched off by a setting",
    outcomes.NOMEM: "[nomem] was in the prompt",
    outcomes.NOT_TYPED: "it is a command of the client, or the client sent it by itself",
    outcomes.INTENT: "it does not seem to need a memory",
    outcomes.BELOW: "nothing was relevant enough",
    outcomes.NOTHING_FOUND: "no memory is similar to it or shares a word with it",
    outcomes.REPEATED: "this session has the relevant memories already",
    outcomes.SPENT: "the session has had all its characters (surfacing.session_characters)",
    outcomes.OUT_OF_TIME: "out of time",
    outcomes.FAILED: "it failed",
}
FATES = {  # the outcome for one memory that was not given
    outcomes.BELOW: "not relevant enough",
    outcomes.SPENT: "the session has had its characters",
    outcomes.FOUND: "found by a second look",
    outcomes.GIVEN: "given in this session before",
    outcomes.LOADED: "the agent puts it before the model itself",
    outcomes.DUPLICATE: "nearly repeats a better one",
    outcomes.COUNT: "others took the places",
    outcomes.ROOM: "others took the room",
    outcomes.BAD: "marked as wrong for such prompts",
}
CHANNEL_NAMES = {
    "lexical_exact": "all words",
    "lexical_relaxed": "some words",
    "lexical_beginnings": "beginnings of words",
    "lexical_pieces": "parts of words",
    "semantic": "meaning",
    "questions": "its questions",
    "pattern": "a trigger",
    "exact": "an exact name",
    "brief": "start of a session",
    "action": "rule about an action",
    "labels": "its tags",
}
EVENT_NAMES = {
    TOOL_EVENT: "a tool's call",
    FAILURE_EVENT: "a failed tool call",
    START_EVENT: "a session's start",
    SUBAGENT_EVENT: "a subagent's start",
    LOOK_EVENT: "a second look",
}  # events without a prompt


@contextmanager
def open_state() -> Iterator[State]:
    """Yield the state. Raises NoVerdict when there is none yet, StoreError."""
    with context.existing_state(context.home(), tell=terminal.say) as state:
        if state is None:
            raise NoVerdict("the hook has not decided anything yet", "`subcog doctor` says whether it is registered")
        yield state


def find_verdict(state: State, id_or_prefix: str) -> RecordedVerdict:
    """Return the verdict with this id or unique prefix. Raises NoVerdict, UsageError."""
    verdict = past_runs.find_verdict(state, id_or_prefix)
    if verdict is None:
        raise NoVerdict(f"no decision has the id {safe(id_or_prefix)[:80]}", "`subcog why list` shows the latest")
    if verdict.id != id_or_prefix:
        ids = [other.id for other in past_runs.find_latest(state, MAX_VERDICTS) if other.id.startswith(id_or_prefix)]
        if len(ids) > 1:
            raise context.ambiguous_prefix(id_or_prefix, ids)
    return verdict


def find_prompt(state: State, id_: str = "", *, everywhere: bool = False) -> RecordedVerdict:
    """Return the verdict with this id or unique prefix, on a prompt; without one, on the latest prompt of this project.

    everywhere: the latest of any project. Raises NoVerdict, UsageError.
    """
    if id_:
        verdict = find_verdict(state, id_)
        if verdict.event != PROMPT_EVENT:
            hint = "only a prompt can miss a memory; `subcog why list` shows them"
            raise UsageError(f"{verdict.id} was {event_name(verdict)}, not a prompt", hint)
        return verdict
    latest = past_runs.find_latest(state, MAX_VERDICTS, event=PROMPT_EVENT)
    if not latest:
        raise NoVerdict("no prompt has been decided on yet", "`subcog doctor` says whether the hook is registered")
    if own := latest if everywhere else keep_own(latest):
        return own[0]
    here = context.here()
    project = f"of {safe(here.identity)}" if here else "outside of all projects"
    raise NoVerdict(f"no prompt {project} has been decided on yet", "`subcog why list` shows those of other projects")


def keep_own(past_verdicts: Sequence[RecordedVerdict]) -> list[RecordedVerdict]:
    """Return the verdicts of the current project."""
    here = context.here()
    names = here.names if here else ("",)
    return [verdict for verdict in past_verdicts if verdict.project in names]


def verdict_fields(verdict: RecordedVerdict) -> dict[str, object]:
    """Return a verdict as an object for scripts, without the content of memories."""
    return {
        "id": verdict.id,
        "at": verdict.at_ms,
        "event": verdict.event,
        "session": verdict.session,
        "project": verdict.project or None,
        "outcome": verdict.outcome,
        "injected": list(verdict.injected),
        "pointed": list(verdict.pointed),
        "units": verdict.units,
        "micros": verdict.micros,
        **json.loads(verdict.to_text()),
    }


def would_point(verdict: RecordedVerdict, bar: float) -> bool:
    """Return whether a line would have come with this `surfacing.maybe_relevance`, all else being equal."""
    possible = (outcomes.POINTED, outcomes.BELOW, outcomes.INTENT, outcomes.COUNT)
    is_possible = bar > 0.0 and verdict.outcome in DECIDED_BY_RELEVANCE and not verdict.reason
    return is_possible and any(found.relevance >= bar and found.outcome in possible for found in verdict.candidates)


def would_speak(verdict: RecordedVerdict, bar: float) -> bool:
    """Return whether the hook would have spoken with this `surfacing.min_relevance`, all else being equal."""
    if verdict.outcome not in DECIDED_BY_RELEVANCE or verdict.reason:  # A reason other than relevance: an LLM's veto.
        return False
    limits = verdict.settings
    threshold = bar * limits.needed / limits.min_relevance if limits and limits.min_relevance else bar
    return any(
        candidate.relevance >= threshold and candidate.outcome not in (outcomes.GIVEN, outcomes.DUPLICATE)
        for candidate in verdict.candidates
    )


def sentence(verdict: RecordedVerdict) -> str:
    """Describe the outcome of a verdict in one sentence."""
    candidates = pluralize(len(verdict.candidates), "candidate")
    if verdict.looked_at:
        memories = count_memories(sum(candidate.outcome == outcomes.FOUND for candidate in verdict.candidates))
        of_look = {
            outcomes.WAITING: f"{memories} found, for the session's next tool call",
            outcomes.HANDED_OVER: f"{memories} found, and handed over with {safe(verdict.reason)}",
            outcomes.MOVED_ON: f"{memories} found, and dropped: {safe(verdict.reason) or 'the session has moved on'}",
            outcomes.NOTHING_FOUND: f"the model chose none of {count_memories(len(verdict.candidates))}",
            outcomes.FAILED: f"failed: {safe(verdict.reason)}",
        }
        if verdict.outcome in of_look:
            return of_look[verdict.outcome]
    if verdict.outcome == outcomes.SPOKE:
        lines = f", {pluralize(len(verdict.pointed), 'line')}" if verdict.pointed else ""
        return f"spoke: {len(verdict.injected)} of {candidates} handed over{lines}, {verdict.units} characters"
    if verdict.outcome == outcomes.LINES:
        pointed = f"{len(verdict.pointed)} of {candidates}" if verdict.pointed else "past sessions"
        return f"lines: pointed at {pointed}, {verdict.units} characters"
    why = SILENCES.get(verdict.outcome, safe(verdict.outcome))
    limits = verdict.settings
    if verdict.outcome == outcomes.INTENT and verdict.intent is not None and limits is not None:
        if verdict.intent.confidence < limits.min_confidence:
            why += f": {number_and_bar(verdict.intent.confidence, limits.min_confidence)} was needed"
            if verdict.candidates:
                needed = f"{limits.needed:.2f}" if limits.needed <= 1.0 else "more than 1"
                why += f"; a memory of {needed} would have come, the best has {verdict.candidates[0].relevance:.2f}"
    elif verdict.outcome == outcomes.BELOW and verdict.candidates and limits is not None:
        best = verdict.candidates[0].relevance
        why = f"the best of {candidates} reached {number_and_bar(best, limits.needed)} was needed"
        if marked := sum(candidate.outcome == outcomes.BAD for candidate in verdict.candidates):
            why += f"; {marked} marked as wrong for such prompts"
    return f"silent: {why}" + (f": {safe(verdict.reason)}" if verdict.reason and verdict.event == PROMPT_EVENT else "")


def delay_phrase(look: RecordedVerdict) -> str:
    """Name a second look by its delay after the prompt."""
    return f"second look, {look.later_ms / 1000:.1f} s later"


def number_and_bar(value: float, bar: float) -> str:
    """Return a number and its threshold, with enough digits to differ.

    >>> number_and_bar(0.21, 0.25), number_and_bar(0.2496, 0.25)
    ('0.21, 0.25', '0.2496, 0.2500')
    """
    digits = 2 if f"{value:.2f}" != f"{bar:.2f}" or value == bar else 4
    return f"{value:.{digits}f}, {bar:.{digits}f}"


def run_line(run: RecordedVerdict | SilentCall | CutOff) -> str:
    """Format a run of the hook as a line: its id, time, outcome, number of memories, and the prompt or the event."""
    if isinstance(run, RecordedVerdict):
        id_, outcome, count, about = safe(run.id), safe(run.outcome), len(run.injected), prompt_text(run, MAX_CHARS)
    elif isinstance(run, CutOff):
        id_, outcome, count, about = f"{'-':<14}", "cut off", 0, f"{safe(run.event)}: this machine was too busy to finish it"
    else:
        names = safe(", ".join(run.about)) or "a command without a name to look up"
        held_back = (run.given, "given in this session before"), (run.lines, "had a line, or none was left for it")
        why = ", ".join(f"{', '.join(map(safe, ids))} {had}" for ids, had in held_back if ids) or "no memory is about it"
        id_, outcome, count, about = f"{'-':<14}", "silent", 0, f"{safe(run.tool)}: {names}; {why}"
    return f"{id_}  {local_time(run.at_ms)}  {outcome:<13}  {count}  {about}"


def prompt_text(verdict: RecordedVerdict, max_chars: int) -> str:
    """Return the prompt of a verdict; for another event its name and its tool or source."""
    if verdict.looked_at:
        return safe(f"{delay_phrase(verdict)}: {verdict.looked_at}")
    if verdict.event != PROMPT_EVENT:
        return safe(f"{verdict.event}: {verdict.reason}" if verdict.reason else verdict.event)
    return PROMPT_NOT_STORED if verdict.prompt is None else cut(redact_line(verdict.prompt), max_chars)


def event_name(verdict: RecordedVerdict) -> str:
    return EVENT_NAMES.get(verdict.event, safe(verdict.event))


def why_not_stored() -> str:
    """Explain why a prompt was not stored, and the remedy."""
    if not context.settings()["surfacing.log_prompts"]:
        return "surfacing.log_prompts is false; set it to true, and ask again"
    return "it may have held a secret, or asked for silence; ask in other words"


def local_time(at_ms: int) -> str:
    """Format a time in the local time zone."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at_ms // 1000))


def memory_line(memory: Memory) -> str:
    """Return a memory's id and the beginning of its text."""
    return f"{memory.id} {safe(memory.content)[:80]}"


MAX_OTHERS = 50  # prompts from which a learned question may take no memory
SEARCH_MS = 10_000.0  # No prompt waits for this search.


def find_coming(prompts: Sequence[RecordedVerdict], store: Store) -> list[list[str]]:
    """Return by prompt the ids of the memories that its words and limits bring, the best first. Raises StoreError."""
    coming: list[list[str]] = []
    with open_sources(store, context.settings(), fast=True) as sources:
        for prompt in prompts:
            if not (prompt.prompt and prompt.intent and prompt.settings and prompt.strategies) or prompt.reason:
                coming.append([])  # The hook did not search, or a language model's veto kept it silent.
                continue
            text = "\n".join((query_text(prompt.prompt), *prompt.borrowed))
            scope = Filter(audiences=audiences_of(*filter(None, [prompt.project])))
            hits = search_page(Request(text, scope), sources, Deadline(SEARCH_MS), pipeline.PROMPT_CANDIDATES).hits
            pipeline.weigh_for_prompt(hits, Intent(prompt.intent.type, prompt.intent.confidence), 1)
            pipeline.discount_marked_hits(hits, text, sources.store, lambda: sources.index)
            relevant = [hit for hit in pipeline.sort_by_relevance(hits) if hit.relevance >= prompt.settings.needed]
            coming.append([hit.memory.id for hit in relevant[: prompt.settings.max_memories]])
    return coming


def needs_of(verdict: RecordedVerdict) -> list[str]:
    """Return the texts of a verdict's prompt that can serve as a question, the likeliest first."""
    prepared = prepare_prompt(verdict.prompt or "")
    typed = query_text(verdict.prompt or "", prepared)
    parts = typed_prompt.separate_needs(typed)
    borrowed = [" ".join((typed, *verdict.borrowed))] if verdict.borrowed else []
    texts = [*borrowed, *filter(typed_prompt.is_question, parts), typed, *parts, *prepared.failures]
    return list(dict.fromkeys(_shorten(" ".join(text.split())) for text in texts if text.strip()))


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_QUESTION else text[: MAX_QUESTION + 1].rpartition(" ")[0] or text[:MAX_QUESTION]


def learn_question(memory: Memory, texts: Sequence[str], missed: RecordedVerdict, state: State, verdict: str = "") -> str:
    """Give a memory the first question that brings it to a prompt, and return it; "" for none.

    A question that takes a memory from another of the last prompts is removed again. verdict: the question is removed with
    this record. Raises StoreError.
    """
    recorded = past_runs.find_latest(state, MAX_VERDICTS, event=PROMPT_EVENT)
    others = [other for other in recorded if other.injected and other.prompt != missed.prompt][:MAX_OTHERS]
    with context.writing() as store:
        before = find_coming(others, store)
        for text in texts:
            question = AnsweredQuestion(text, LEARNED, verdict)
            is_right = False
            try:
                store.modify([memory.id], partial(_with_question, question=question))
                coming, *after = find_coming([missed, *others], store)
                is_right = memory.id in coming and not any({*had} - {*has} for had, has in zip(before, after, strict=True))
            finally:
                if not is_right:
                    store.modify([memory.id], partial(without_questions, removed=[question]))
                context.update_index_and_vectors(store)
            if is_right:
                return text
    return ""


def _with_question(memory: Memory, question: AnsweredQuestion) -> Memory:
    return memory.with_changes(questions=(*memory.questions, question))


def without_questions(memory: Memory, removed: Collection[AnsweredQuestion]) -> Memory:
    """Return a memory without these questions."""
    return memory.with_changes(questions=tuple([question for question in memory.questions if question not in removed]))
