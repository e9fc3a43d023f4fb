"""Decisions of the hook for people: found by their id, asked what they tell, told in a sentence. Nothing is drawn here."""

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import dropwhile

from subcog_hooks.cli.support import context
from subcog_hooks.cli.support.output import counted, redact_line, safe, terminal
from subcog_hooks.core.errors import NoDecision, UsageError
from subcog_hooks.hook.payload import PROMPT_EVENT, START_EVENT, TOOL_EVENT
from subcog_hooks.store import decision as outcomes
from subcog_hooks.store import decision_log
from subcog_hooks.store.decision import Candidate, Decision
from subcog_hooks.store.decision_log import LOOK_EVENT, MAX_DECISIONS
from subcog_hooks.store.hook_traces import CutOff, SilentCall
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.state import State
from subcog_hooks.text.sanitise import cut

WAIT_MS = 2_000
NEARLY = 0.5  # of the threshold: one that is further below was not almost handed over
WORDS = 90  # characters of a memory, or of a prompt in a list

NOT_KEPT = "(the prompt was not kept)"

KEPT_BACK = (outcomes.BELOW, outcomes.INTENT, outcomes.POINTED)  # candidates that lacked relevance to be told
DECIDED_BY_RELEVANCE = (
    outcomes.SPOKE,
    outcomes.LINES,
    outcomes.NOTHING_FOUND,
    outcomes.BELOW,
    outcomes.REPEATED,
    outcomes.SPENT,
    outcomes.INTENT,
)

_SILENT = {  # why; those that need numbers are told below
    outcomes.PAUSED: "the hook was paused; `subcog resume` ends it",
    outcomes.OFF: "switched off by a setting",
    outcomes.NOMEM: "[nomem] was in the prompt",
    outcomes.NOT_TYPED: "it is a command of the client, or what it sends by itself",
    outcomes.INTENT: "memories could hardly help with it",
    outcomes.BELOW: "nothing was relevant enough",
    outcomes.NOTHING_FOUND: "no memory is near to it, or has a word of it",
    outcomes.REPEATED: "what is relevant was given in this session before",
    outcomes.SPENT: "the session has been given surfacing.session_characters",
    outcomes.OUT_OF_TIME: "out of time",
    outcomes.FAILED: "it failed",
}
HAPPENED = {
    TOOL_EVENT: "a tool's call",
    START_EVENT: "a session's start",
    LOOK_EVENT: "a second look",
}  # where no prompt was typed


# ---- finding --------------------------------------------------------------------------------------------------------------


@contextmanager
def opened() -> Iterator[State]:
    """Yield the state, closed in the end. Raises NoDecision when there is none yet, StoreError."""
    home = context.home()
    if not os.path.exists(home.state_db):
        raise NoDecision("the hook has not decided anything yet", "`subcog doctor` says whether it is registered")
    state = State.open(home, WAIT_MS, terminal.say)
    try:
        yield state
    finally:
        state.close()


def find(state: State, id_or_prefix: str | None) -> Decision:
    """Return the decision of this id, or the only one whose id begins so; the latest without one.

    Raises NoDecision, UsageError.
    """
    found = decision_log.find(state, id_or_prefix)
    if found is None and id_or_prefix:
        raise NoDecision(f"no decision has the id {safe(id_or_prefix)[:80]}", "`subcog why --list` shows the latest")
    if found is None:
        raise NoDecision("the hook has not decided anything yet", "`subcog doctor` says whether it is registered")
    if id_or_prefix and found.id != id_or_prefix:
        ids = [other.id for other in decision_log.latest(state, MAX_DECISIONS) if other.id.startswith(id_or_prefix)]
        if len(ids) > 1:
            raise UsageError(f"{id_or_prefix} begins several ids ({', '.join(ids[:3])}, …)", "give more of it")
    return found


def find_prompt(state: State, id_or_prefix: str | None, hint: str) -> Decision:
    """Return the decision on a prompt of this id, or with an id that begins so; the latest prompt's without one.

    hint: what to do where the id is another event's. Raises NoDecision, UsageError.
    """
    if id_or_prefix:
        found = find(state, id_or_prefix)
        if found.event != PROMPT_EVENT:
            raise UsageError(f"{found.id} was {occasion_of(found)}, and no prompt", hint)
        return found
    latest = decision_log.latest(state, 1, event=PROMPT_EVENT)
    if not latest:
        raise NoDecision("no prompt has been decided on yet", "`subcog doctor` says whether the hook is registered")
    return latest[0]


def given_before(state: State, decision: Decision) -> set[str]:
    """Return the ids that a decision's session had been given by then. Raises StoreError."""
    before = [
        other
        for other in decision_log.latest(state, MAX_DECISIONS)
        if decision.session and other.session == decision.session and other.at < decision.at
    ]
    given = {id_ for other in before for id_ in other.injected}
    given -= set(decision.injected)  # it had been forgotten by then, as after a compaction
    return given | {candidate.id for candidate in decision.candidates if candidate.outcome == outcomes.GIVEN}


def place_of(state: State, decision: Decision) -> int:
    """Return the place of a decision's prompt in its session, from 1, as far as those before are kept. Raises StoreError."""
    return place_among(decision_log.latest(state, MAX_DECISIONS, event=PROMPT_EVENT), decision) if decision.session else 1


def place_among(prompts: Sequence[Decision], decision: Decision) -> int:
    """Return the place of a decision's prompt in its session, from 1. prompts: those that are kept, newest first."""
    before = dropwhile(lambda other: other.id != decision.id, prompts)
    return max(1, sum(bool(decision.session) and other.session == decision.session for other in before))


def described(decision: Decision) -> dict[str, object]:
    """Return a decision as it is kept, for scripts; no memory's content is in it."""
    return {
        "id": decision.id,
        "at": decision.at,
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
    """Return whether the hook would have spoken with this `surfacing.min_relevance`, all else as it was."""
    if decision.outcome not in DECIDED_BY_RELEVANCE or decision.reason:  # a reason of its own: an LLM's veto
        return False
    needed = decision.bars.needed_at(bar) if decision.bars else bar
    return any(
        candidate.relevance >= needed and candidate.outcome not in (outcomes.GIVEN, outcomes.DUPLICATE)
        for candidate in decision.candidates
    )


def nearly_given(decision: Decision) -> Candidate | None:
    """Return the best memory that was kept back for its relevance alone, where the hook was silent and it was near the bar."""
    if decision.outcome not in (outcomes.BELOW, outcomes.INTENT, outcomes.LINES) or decision.reason:
        return None
    bar = decision.bars.needed if decision.bars else 0.0
    below = [candidate for candidate in decision.candidates if candidate.outcome in KEPT_BACK]
    return next((one for one in below if one.relevance >= NEARLY * bar), None)


def may_come(candidate: Candidate | None) -> bool:
    """Return whether a memory lacks nothing but relevance, so that words and triggers may help."""
    return candidate is None or candidate.outcome in (*KEPT_BACK, outcomes.NOTHING_FOUND)


# ---- in a sentence --------------------------------------------------------------------------------------------------------


def sentence(decision: Decision) -> str:
    """Return what became of it, in one plain sentence."""
    looked_at = counted(len(decision.candidates), "candidate")
    if told := _say_found(decision):
        return told
    if decision.outcome == outcomes.SPOKE:
        lines = f", {counted(len(decision.pointed), 'line')}" if decision.pointed else ""
        return f"spoke: {len(decision.injected)} of {looked_at} handed over{lines}, {decision.units} characters"
    if decision.outcome == outcomes.LINES:
        return f"lines: pointed at {len(decision.pointed)} of {looked_at}, {decision.units} characters"
    why = _SILENT.get(decision.outcome, safe(decision.outcome))
    limits = decision.bars
    if decision.outcome == outcomes.INTENT and decision.intent is not None and limits is not None:
        if decision.intent.confidence < limits.min_confidence:
            why += f": {against(decision.intent.confidence, limits.min_confidence)} was needed"
            if decision.candidates:
                why += f", or a memory of {shown_bar(limits.needed)}; the best reached {decision.candidates[0].relevance:.2f}"
    elif decision.outcome == outcomes.BELOW and decision.candidates and limits is not None:
        best = decision.candidates[0].relevance
        why = f"the best of {looked_at} reached {against(best, limits.needed)} was needed"
        if marked := sum(candidate.outcome == outcomes.BAD for candidate in decision.candidates):
            why += f"; {marked} marked as wrong for such prompts"
    return f"silent: {why}" + (f": {safe(decision.reason)}" if decision.reason and decision.event == PROMPT_EVENT else "")


def _say_found(decision: Decision) -> str:
    """Return what became of what a second look has found, or of one that failed; "" for anything else."""
    found = counted(sum(candidate.outcome == outcomes.FOUND for candidate in decision.candidates), "memory", "memories")
    if not decision.looked_at:
        return ""
    return {
        outcomes.WAITING: f"{found} found, for the session's next tool call or prompt",
        outcomes.HANDED_OVER: f"{found} found, and handed over with {safe(decision.reason)}",
        outcomes.MOVED_ON: f"{found} found, and dropped: {safe(decision.reason) or 'the session has moved on'}",
        outcomes.FAILED: f"failed: {safe(decision.reason)}",
    }.get(decision.outcome, "")


def later(look: Decision) -> str:
    """Return how long after its prompt a second look has ended, as it is named by that."""
    return f"second look, {look.later_ms / 1000:.1f} s later"


def against(value: float, bar: float) -> str:
    """Return a number and the one that it is measured against, with as many digits as tell them apart.

    >>> against(0.21, 0.25), against(0.2496, 0.25)
    ('0.21, 0.25', '0.2496, 0.2500')
    """
    digits = 2 if f"{value:.2f}" != f"{bar:.2f}" or value == bar else 4
    return f"{value:.{digits}f}, {bar:.{digits}f}"


def shown_bar(needed: float) -> str:
    """Return a bar with two digits, or that it is above every relevance.

    >>> shown_bar(0.44), shown_bar(1.2)
    ('0.44', 'more than 1')
    """
    return f"{needed:.2f}" if needed <= 1.0 else "more than 1"


def line(decision: Decision) -> str:
    """Return a decision in a line.

    It has its id, when, what became of it, how many memories were handed over, and the prompt's first words or the event.
    """
    injected = len(decision.injected)
    return f"{safe(decision.id)}  {moment(decision.at)}  {safe(decision.outcome):<13}  {injected}  {prompt_of(decision, WORDS)}"


def silent_line(call: SilentCall) -> str:
    """Return a tool call without a decision, in a line: when, the tool and what was looked up, and why nothing came."""
    about = safe(", ".join(call.about)) or "a command without a name to look up"
    why = f"{', '.join(map(safe, call.given))} given in this session before" if call.given else "no memory is about it"
    return f"{'-':<14}  {moment(call.at)}  silent         0  {safe(call.tool)}: {about}; {why}"


def cut_off_line(cut_off: CutOff) -> str:
    """Return a run that was cut off, in a line: when, and of which event."""
    return f"{'-':<14}  {moment(cut_off.at)}  cut off        0  {safe(cut_off.event)}: this machine was too busy to finish it"


def prompt_of(decision: Decision, most: int) -> str:
    """Return the prompt; where none was typed the event, and of what: the tool, or how the session began."""
    if decision.looked_at:
        return safe(f"{later(decision)}: {decision.looked_at}")
    if decision.event != PROMPT_EVENT:
        return safe(f"{decision.event}: {decision.reason}" if decision.reason else decision.event)
    return NOT_KEPT if decision.prompt is None else cut(redact_line(decision.prompt), most)


def occasion_of(decision: Decision) -> str:
    return HAPPENED.get(decision.event, safe(decision.event))


def why_not_kept() -> str:
    """Return the reason why a prompt is not known, and what to do."""
    if not context.settings()["surfacing.log_prompts"]:
        return "surfacing.log_prompts is false; set it to true, and ask again"
    return "it may have held a secret, or asked for silence; ask in other words"


def moment(at_ms: int) -> str:
    """Return a time, as the clock on the wall showed it."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at_ms // 1000))
    except (OSError, OverflowError, ValueError):
        return "at no time"


def why_not_found(memory: Memory, was: Decision) -> str:
    """Return what keeps a memory from being looked at, whatever its words are; empty where nothing does."""
    if memory.status != "active":
        return f": it is {memory.status}"
    if memory.project and memory.project != was.project:
        return f": it is of the project {safe(memory.project)}"
    return ""


def named(memory: Memory) -> str:
    """Return a memory's id and the beginning of its text, for a line."""
    return f"{memory.id} {safe(memory.content)[:80]}"
