"""Finds verdicts of the hook by id and describes them in sentences, without drawing."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import count_memories, pluralize, redact_line, safe, terminal
from subcog_hooks.core.errors import NoVerdict, UsageError
from subcog_hooks.hook.payload import FAILURE_EVENT, PROMPT_EVENT, START_EVENT, SUBAGENT_EVENT, TOOL_EVENT
from subcog_hooks.store import past_runs
from subcog_hooks.store import verdicts as outcomes
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.past_runs import CutOff, SilentCall
from subcog_hooks.store.state import State
from subcog_hooks.store.verdicts import LOOK_EVENT, MAX_VERDICTS, RecordedVerdict
from subcog_hooks.text.sanitise import cut

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
    outcomes.REPEATED: "the relevant memories were given earlier in this session",
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
    outcomes.STALE: "the files that it is about are gone",
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
    if second_look := _second_look_sentence(verdict):
        return second_look
    if verdict.outcome == outcomes.SPOKE:
        lines = f", {pluralize(len(verdict.pointed), 'line')}" if verdict.pointed else ""
        return f"spoke: {len(verdict.injected)} of {candidates} handed over{lines}, {verdict.units} characters"
    if verdict.outcome == outcomes.LINES:
        pointed = f"{len(verdict.pointed)} of {candidates}" if verdict.pointed else "past sessions"
        return f"lines: pointed at {pointed}, {verdict.units} characters"
    why = SILENCES.get(verdict.outcome, safe(verdict.outcome))
    held_back = {candidate.outcome for candidate in verdict.candidates}
    if verdict.outcome == outcomes.REPEATED and outcomes.LOADED in held_back and outcomes.GIVEN not in held_back:
        why = "the agent puts the relevant memories before the model itself"
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


def _second_look_sentence(verdict: RecordedVerdict) -> str:
    if not verdict.looked_at:
        return ""
    memories = count_memories(sum(candidate.outcome == outcomes.FOUND for candidate in verdict.candidates))
    return {
        outcomes.WAITING: f"{memories} found, for the session's next tool call",
        outcomes.HANDED_OVER: f"{memories} found, and handed over with {safe(verdict.reason)}",
        outcomes.MOVED_ON: f"{memories} found, and dropped: {safe(verdict.reason) or 'the session has moved on'}",
        outcomes.NOTHING_FOUND: f"the model chose none of {count_memories(len(verdict.candidates))}",
        outcomes.FAILED: f"failed: {safe(verdict.reason)}",
    }.get(verdict.outcome, "")


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
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at_ms // 1000))
    except (OSError, OverflowError, ValueError):
        return "at no time"


def memory_line(memory: Memory) -> str:
    """Return a memory's id and the beginning of its text."""
    return f"{memory.id} {safe(memory.content)[:80]}"
