"""Finds decisions of the hook by id and describes them in sentences, without drawing."""

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import NamedTuple

from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import count_memories, nothing_found, pluralize, redact_line, safe, terminal
from subcog_hooks.core.errors import NoDecision, UsageError
from subcog_hooks.hook.payload import FAILURE_EVENT, PROMPT_EVENT, START_EVENT, TOOL_EVENT
from subcog_hooks.store import past_runs
from subcog_hooks.store import verdicts as outcomes
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.past_runs import CutOff, SilentCall
from subcog_hooks.store.state import State
from subcog_hooks.store.verdicts import LOOK_EVENT, MAX_DECISIONS, Decision
from subcog_hooks.text.sanitise import cut

ALMOST_SHARE = 0.5  # share of the threshold that counts as almost handed over
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

_SILENT = {  # reasons; `sentence` adds numbers to some
    outcomes.PAUSED: "the hook was paused; `subcog resume` ends it",
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
    LOOK_EVENT: "a second look",
}  # events without a prompt


@contextmanager
def open_state() -> Iterator[State]:
    """Yield the state. Raises NoDecision when there is none yet, StoreError."""
    home = context.home()
    if not os.path.exists(home.state_db):
        raise NoDecision("the hook has not decided anything yet", "`subcog doctor` says whether it is registered")
    with closing(State.open(home, context.STATE_WAIT_MS, terminal.say)) as state:
        yield state


def find_decision(state: State, id_or_prefix: str) -> Decision:
    """Return the decision with this id or unique prefix. Raises NoDecision, UsageError."""
    decision = past_runs.find_decision(state, id_or_prefix)
    if decision is None:
        raise NoDecision(f"no decision has the id {safe(id_or_prefix)[:80]}", "`subcog why --list` shows the latest")
    if decision.id != id_or_prefix:
        ids = [other.id for other in past_runs.find_latest(state, MAX_DECISIONS) if other.id.startswith(id_or_prefix)]
        if len(ids) > 1:
            raise UsageError(
                f"{id_or_prefix} begins several ids ({', '.join(ids[:3])}{', …' * (len(ids) > 3)})", "give more of it"
            )
    return decision


class PromptChoice(NamedTuple):
    """The prompt that a command is about.

    id: of its decision, or the beginning of the id; without it, the latest prompt of the current project. everywhere: the
    latest of any project; is_sure: the person wants no question.
    """

    id: str | None = None
    everywhere: bool = False
    is_sure: bool = False

    def find(self, state: State, hint: str) -> Decision:
        """Return the decision on the prompt. hint: the remedy where the id belongs to another event.

        Raises NoDecision, UsageError.
        """
        if self.id:
            decision = find_decision(state, self.id)
            if decision.event != PROMPT_EVENT:
                raise UsageError(f"{decision.id} was {event_name(decision)}, not a prompt", hint)
            return decision
        latest = past_runs.find_latest(state, MAX_DECISIONS, event=PROMPT_EVENT)
        if not latest:
            raise NoDecision("no prompt has been decided on yet", "`subcog doctor` says whether the hook is registered")
        if own := self.keep_own(latest):
            return own[0]
        here = context.here()
        project = f"of {safe(here.identity)}" if here else "outside of all projects"
        raise NoDecision(f"no prompt {project} has been decided on yet", "--everywhere takes the latest of all")

    def keep_own(self, decisions: Sequence[Decision]) -> Sequence[Decision]:
        """Return the decisions of the current project, or all with `everywhere`."""
        here = context.here()
        names = here.names if here else ("",)
        return decisions if self.everywhere else [decision for decision in decisions if decision.project in names]

    def require_named(self, prompt: Decision, command: str) -> None:
        """Raise UsageError where the prompt is a guess that nobody can be asked about. command: names the prompt instead."""
        if not (self.id or self.is_sure or terminal.interactive):
            latest = f"the latest prompt{'' if self.everywhere else ' here'} is {prompt_text(prompt, MAX_CHARS)!r}"
            raise UsageError(f"{latest}, and nobody can be asked whether it is meant", f"`{command} {prompt.id}`, or --yes")

    def confirm(self, question: str) -> None:
        """Ask whether a guessed prompt is meant. Raises typer.Exit after a no."""
        if not (self.id or self.is_sure or terminal.confirm(question)):
            raise nothing_found("nothing was changed")


def decision_fields(decision: Decision) -> dict[str, object]:
    """Return a decision as an object for scripts, without the content of memories."""
    return {
        "id": decision.id,
        "at": decision.at_ms,
        "event": decision.event,
        "session": decision.session,
        "project": decision.project or None,
        "outcome": decision.outcome,
        "injected": list(decision.injected),
        "pointed": list(decision.pointed),
        "units": decision.units,
        "micros": decision.micros,
        **json.loads(decision.to_text()),
    }


def would_speak(decision: Decision, bar: float) -> bool:
    """Return whether the hook would have spoken with this `surfacing.min_relevance`, all else being equal."""
    if decision.outcome not in DECIDED_BY_RELEVANCE or decision.reason:  # A reason other than relevance: an LLM's veto.
        return False
    threshold = decision.settings.needed_at(bar) if decision.settings else bar
    return any(
        candidate.relevance >= threshold and candidate.outcome not in (outcomes.GIVEN, outcomes.DUPLICATE)
        for candidate in decision.candidates
    )


def sentence(decision: Decision) -> str:
    """Describe the outcome of a decision in one sentence."""
    candidates = pluralize(len(decision.candidates), "candidate")
    if second_look := _second_look_sentence(decision):
        return second_look
    if decision.outcome == outcomes.SPOKE:
        lines = f", {pluralize(len(decision.pointed), 'line')}" if decision.pointed else ""
        return f"spoke: {len(decision.injected)} of {candidates} handed over{lines}, {decision.units} characters"
    if decision.outcome == outcomes.LINES:
        return f"lines: pointed at {len(decision.pointed)} of {candidates}, {decision.units} characters"
    why = _SILENT.get(decision.outcome, safe(decision.outcome))
    held_back = {candidate.outcome for candidate in decision.candidates}
    if decision.outcome == outcomes.REPEATED and outcomes.LOADED in held_back and outcomes.GIVEN not in held_back:
        why = "the client puts the relevant memories before the model itself"
    limits = decision.settings
    if decision.outcome == outcomes.INTENT and decision.intent is not None and limits is not None:
        if decision.intent.confidence < limits.min_confidence:
            why += f": {number_and_bar(decision.intent.confidence, limits.min_confidence)} was needed"
            if decision.candidates:
                best = decision.candidates[0].relevance
                why += f"; a memory of {bar_text(limits.needed)} would have come, the best has {best:.2f}"
    elif decision.outcome == outcomes.BELOW and decision.candidates and limits is not None:
        best = decision.candidates[0].relevance
        why = f"the best of {candidates} reached {number_and_bar(best, limits.needed)} was needed"
        if marked := sum(candidate.outcome == outcomes.BAD for candidate in decision.candidates):
            why += f"; {marked} marked as wrong for such prompts"
    return f"silent: {why}" + (f": {safe(decision.reason)}" if decision.reason and decision.event == PROMPT_EVENT else "")


def _second_look_sentence(decision: Decision) -> str:
    if not decision.looked_at:
        return ""
    memories = count_memories(sum(candidate.outcome == outcomes.FOUND for candidate in decision.candidates))
    return {
        outcomes.WAITING: f"{memories} found, for the session's next tool call",
        outcomes.HANDED_OVER: f"{memories} found, and handed over with {safe(decision.reason)}",
        outcomes.MOVED_ON: f"{memories} found, and dropped: {safe(decision.reason) or 'the session has moved on'}",
        outcomes.NOTHING_FOUND: f"the model chose none of {count_memories(len(decision.candidates))}",
        outcomes.FAILED: f"failed: {safe(decision.reason)}",
    }.get(decision.outcome, "")


def delay_phrase(look: Decision) -> str:
    """Name a second look by its delay after the prompt."""
    return f"second look, {look.later_ms / 1000:.1f} s later"


def number_and_bar(value: float, bar: float) -> str:
    """Return a number and its threshold, with enough digits to differ.

    >>> number_and_bar(0.21, 0.25), number_and_bar(0.2496, 0.25)
    ('0.21, 0.25', '0.2496, 0.2500')
    """
    digits = 2 if f"{value:.2f}" != f"{bar:.2f}" or value == bar else 4
    return f"{value:.{digits}f}, {bar:.{digits}f}"


def bar_text(needed: float) -> str:
    """Return a threshold with two digits, or "more than 1" above every relevance.

    >>> bar_text(0.44), bar_text(1.2)
    ('0.44', 'more than 1')
    """
    return f"{needed:.2f}" if needed <= 1.0 else "more than 1"


def decision_line(decision: Decision) -> str:
    """Format a decision as a line.

    It has the id, time, outcome, number of memories, and the prompt's first words or the event.
    """
    outcome, prompt = safe(decision.outcome), prompt_text(decision, MAX_CHARS)
    return f"{safe(decision.id)}  {local_time(decision.at_ms)}  {outcome:<13}  {len(decision.injected)}  {prompt}"


def silent_line(call: SilentCall) -> str:
    """Format a tool call without a decision as a line: time, tool, names looked up, reason of silence."""
    about = safe(", ".join(call.about)) or "a command without a name to look up"
    held_back = (call.given, "given in this session before"), (call.lines, "had a line, or none was left for it")
    why = ", ".join(f"{', '.join(map(safe, ids))} {had}" for ids, had in held_back if ids) or "no memory is about it"
    return f"{'-':<14}  {local_time(call.at_ms)}  silent         0  {safe(call.tool)}: {about}; {why}"


def cut_off_line(cut_off: CutOff) -> str:
    """Format a run that was cut off as a line: time and event."""
    what = f"{safe(cut_off.event)}: this machine was too busy to finish it"
    return f"{'-':<14}  {local_time(cut_off.at_ms)}  cut off        0  {what}"


def prompt_text(decision: Decision, max_chars: int) -> str:
    """Return the prompt of a decision; for another event its name and its tool or source."""
    if decision.looked_at:
        return safe(f"{delay_phrase(decision)}: {decision.looked_at}")
    if decision.event != PROMPT_EVENT:
        return safe(f"{decision.event}: {decision.reason}" if decision.reason else decision.event)
    return PROMPT_NOT_STORED if decision.prompt is None else cut(redact_line(decision.prompt), max_chars)


def quoted_prompt(decision: Decision) -> str:
    """Return a prompt in quotes with its time and project."""
    project = f" in {safe(decision.project)}" if decision.project else ""
    return f"{prompt_text(decision, MAX_CHARS)!r} ({local_time(decision.at_ms)}{project})"


def event_name(decision: Decision) -> str:
    return EVENT_NAMES.get(decision.event, safe(decision.event))


def channel_name(channel: str) -> str:
    return CHANNEL_NAMES.get(channel, safe(channel))


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
