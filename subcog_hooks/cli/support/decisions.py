"""Decisions of the hook for people: found by their id, told in a sentence, drawn with what they were made of."""

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import dropwhile
from typing import NamedTuple

from rich.console import Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.text import Text

from subcog_hooks.cli.support import arithmetic, bars, session
from subcog_hooks.cli.support.output import ACCENT, DIM, plain_table, safe, terminal
from subcog_hooks.cli.support.remedies import Remedy, Words
from subcog_hooks.errors import NoDecision, UsageError
from subcog_hooks.hooks.payload import PROMPT_EVENT, START_EVENT, TOOL_EVENT
from subcog_hooks.hooks.sanitise import cut
from subcog_hooks.memory.model import Memory
from subcog_hooks.state import decision as outcomes
from subcog_hooks.state import decision_log
from subcog_hooks.state.connection import State
from subcog_hooks.state.cut_offs import CutOff
from subcog_hooks.state.decision import Candidate, Decision
from subcog_hooks.state.decision_log import MAX_DECISIONS
from subcog_hooks.state.silent_calls import SilentCall

WAIT_MS = 2_000
MAX_WITH_WORDS = 3  # candidates of which is said which words they have
TOLD = 12  # words of a prompt that are named
ALMOST = 3  # candidates of which is said what they lacked
NEARLY = 0.5  # of the threshold: one that is further below was not almost handed over
PREVIEW = 600  # characters of a prompt
WORDS = 90  # characters of a memory, or of a prompt in a list
MIN_WORDS_COLUMNS = 120  # columns from which a table of candidates has room for their words
BAR = 20  # columns
SMALL_BAR = 10
LONG = 24  # columns of a namespace or of ranks, before they wrap
RIGHT, WRONG = "green", "red"

NOT_KEPT = "(the prompt was not kept)"
GONE = "(no longer in the store)"

DECIDED_BY_RELEVANCE = (outcomes.SPOKE, outcomes.NOTHING_FOUND, outcomes.BELOW, outcomes.REPEATED, outcomes.INTENT)

_SILENT = {  # why; those that need numbers are told below
    outcomes.PAUSED: "the hook was paused; `subcog resume` ends it",
    outcomes.OFF: "switched off by a setting",
    outcomes.NOMEM: "[nomem] was in the prompt",
    outcomes.NOT_TYPED: "it is a command of the client, or what it sends by itself",
    outcomes.INTENT: "memories could hardly help with it",
    outcomes.BELOW: "nothing was relevant enough",
    outcomes.NOTHING_FOUND: "no memory is near to it, or has a word of it",
    outcomes.REPEATED: "what is relevant was given in this session before",
    outcomes.OUT_OF_TIME: "out of time",
    outcomes.FAILED: "it failed",
}
HAPPENED = {TOOL_EVENT: "a tool's call", START_EVENT: "a session's start"}  # where no prompt was typed
LACKED = {  # what kept a candidate back
    outcomes.INJECTED: "handed over",
    outcomes.BELOW: "not relevant enough",
    outcomes.GIVEN: "given in this session before",
    outcomes.DUPLICATE: "nearly repeats a better one",
    outcomes.COUNT: "others took the places",
    outcomes.ROOM: "others took the room",
    outcomes.STALE: "the files that it is about are gone",
    outcomes.BAD: "marked as wrong for such prompts",
}


# ---- finding --------------------------------------------------------------------------------------------------------------


@contextmanager
def opened() -> Iterator[State]:
    """Yield the state, closed in the end. Raises NoDecision when there is none yet, StoreError."""
    home = session.home()
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


# ---- in a sentence --------------------------------------------------------------------------------------------------------


def sentence(decision: Decision) -> str:
    """Return what became of it, in one plain sentence."""
    looked_at = counted(len(decision.candidates), "candidate")
    if decision.outcome == outcomes.SPOKE:
        return f"spoke: {len(decision.injected)} of {looked_at} handed over, {decision.units} characters"
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


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun in the singular or the plural.

    >>> counted(1, "candidate"), counted(7, "candidate"), counted(2, "memory", "memories")
    ('1 candidate', '7 candidates', '2 memories')
    """
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


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
    if decision.event != PROMPT_EVENT:
        return safe(f"{decision.event}: {decision.reason}" if decision.reason else decision.event)
    return NOT_KEPT if decision.prompt is None else cut(safe(decision.prompt), most)


def occasion_of(decision: Decision) -> str:
    return HAPPENED.get(decision.event, safe(decision.event))


def why_not_kept() -> str:
    """Return the reason why a prompt is not known, and what to do."""
    if not session.settings()["surfacing.log_prompts"]:
        return "surfacing.log_prompts is false; set it to true, and ask again"
    return "it may have held a secret, or asked for silence; ask in other words"


def moment(at_ms: int) -> str:
    """Return a time, as the clock on the wall showed it."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at_ms // 1000))
    except (OSError, OverflowError, ValueError):
        return "at no time"


# ---- drawn ----------------------------------------------------------------------------------------------------------------


class Shown(NamedTuple):
    """The material that is shown of a decision beside itself.

    memories: the candidates, as far as the store still has them; given: with which decisions the session was given some before;
    words: of the prompt, as far as a candidate has them; remedies: by id, what would make a memory come; is_explained: whether
    the arithmetic of each relevance is shown.
    """

    memories: Mapping[str, Memory]
    given: Mapping[str, str] = {}
    words: Mapping[str, Words] = {}
    remedies: Mapping[str, Sequence[Remedy]] = {}
    is_explained: bool = False


def view(decision: Decision, shown: Shown) -> RenderableType:
    """Return a decision with all that it was made of."""
    where = f"in {safe(decision.project)}" if decision.project else "in no project"
    if decision.event != PROMPT_EVENT:
        where += f", at {occasion_of(decision)}"
    parts: list[RenderableType] = [
        Text(f"{safe(decision.id)}  {moment(decision.at)}  {where}", style=DIM),
        Text(prompt_of(decision, PREVIEW)),
        "",
        Text(sentence(decision), style=RIGHT if decision.outcome == outcomes.SPOKE else "yellow"),
        *_almost(decision, shown.given),
        *_remedies(shown.remedies),
        "",
        *_intent(decision),
        *_stages(decision),
    ]
    if decision.strategies or decision.note:
        ran = ", ".join(decision.strategies) or "nothing"
        parts.append(_named("recall", safe(f"{ran}{f'; {decision.note}' if decision.note else ''}")))
    if decision.candidates:
        parts += ["", *_candidates(decision, shown.memories), *_words(decision, shown.words)]
        if shown.is_explained:
            parts += arithmetic.view(decision)
    return Group(*parts)


def _named(name: str, what: str) -> Text:
    return Text.assemble((f"{name:<9}", DIM), what)


def _almost(decision: Decision, given: Mapping[str, str]) -> Iterator[Text]:
    """Yield what was kept back that was relevant, and what nearly was."""
    bar = decision.bars.needed if decision.bars else 0.0
    kept_back = [candidate for candidate in decision.candidates if candidate.outcome != outcomes.INJECTED]
    others = [candidate for candidate in kept_back if candidate.outcome != outcomes.BELOW]
    below = [one for one in kept_back if one.outcome == outcomes.BELOW and one.relevance >= NEARLY * bar][:1]
    for candidate in (others + below)[:ALMOST]:
        if candidate.outcome == outcomes.BELOW:
            lacked = f"{against(candidate.relevance, bar)} was needed"
        else:
            lacked = f"{candidate.raw:.2f}, {LACKED.get(candidate.outcome, safe(candidate.outcome))}"
            if candidate.outcome == outcomes.GIVEN and given.get(candidate.id):
                lacked += f", with {safe(given[candidate.id])}"
        yield Text(f"almost: {safe(candidate.id)} with {lacked}")


def _intent(decision: Decision) -> Iterator[Text]:
    told = decision.intent
    if told is None:
        return
    needed = f", {decision.bars.min_confidence:.2f} needed" if decision.bars else ""
    yield _named("intent", safe(f"{told.type} {told.confidence:.2f}{needed}; told by {told.source}; llm {told.llm_status}"))
    if told.topics:
        yield _named("topics", ", ".join(map(safe, told.topics)))
    if decision.borrowed:
        yield _named("borrowed", ", ".join(map(safe, decision.borrowed)) + ", from the prompt before")
    fired = sorted(told.signals, key=lambda signal: (-abs(signal[2]), signal[0]))
    if fired:
        yield _named(
            "signals",
            "; ".join(f"{safe(name)} {weight:+.2f} {safe(family)}" for name, family, weight in fired),
        )
    if told.cues:
        yield _named("shape", ", ".join(map(safe, told.cues)))
    if told.llm_ms is not None:
        yield _named("merge", f"{safe(told.row)}; the LLM took {told.llm_ms:.0f} ms")


def _stages(decision: Decision) -> Iterator[Text]:
    most = max((ms for _, ms in decision.stages), default=0.0)
    for number, (name, ms) in enumerate(decision.stages):
        drawn = _named("" if number else "stages", f"{safe(name):<8}{ms:7.1f} ms  ")
        drawn += bars.bar(ms / most if most else 0.0, _room(drawn), ACCENT)
        drawn.rstrip()
        yield drawn
    if decision.micros:
        yield _named("" if decision.stages else "stages", f"{'in all':<8}{decision.micros / 1000:7.1f} ms")


def _room(behind: Text) -> int:
    """Return the number of columns that are left for a bar."""
    return max(SMALL_BAR // 2, min(BAR, terminal.out.width - behind.cell_len)) if terminal.out.is_terminal else BAR


def _candidates(decision: Decision, memories: Mapping[str, Memory]) -> Iterator[RenderableType]:
    """Yield the candidates: in a table where there is room for one, else with two lines each."""
    bar = decision.bars.needed if decision.bars else 0.0
    is_table = terminal.out.is_terminal and terminal.out.width >= MIN_WORDS_COLUMNS
    table = plain_table(is_wide=True)
    for name in ("", "relevance", f"to {bar:.2f}", "id", "namespace", "ranks", "outcome"):
        is_short = name not in ("namespace", "ranks")
        justify: JustifyMethod = "right" if name.startswith("to") else "left"
        table.add_column(name, no_wrap=is_short, justify=justify, overflow="fold", max_width=None if is_short else LONG)
    table.add_column("memory", ratio=1, overflow="fold")
    for candidate in decision.candidates:
        style = RIGHT if candidate.outcome == outcomes.INJECTED else ""
        drawn = bars.bar(candidate.relevance, SMALL_BAR, style or DIM, bar)
        number, distance = f"{candidate.relevance:.2f}", f"{candidate.relevance - bar:+.2f}"
        about = (safe(candidate.id), safe(candidate.namespace))
        ranks = ", ".join(f"{safe(name)} {rank}" for name, rank in sorted(candidate.ranks.items()))
        outcome = Text(safe(candidate.outcome), style=style)
        words = words_of(memories.get(candidate.id))
        if is_table:
            table.add_row(number, drawn, distance, *map(Text, (*about, ranks)), outcome, words)
        else:
            yield Text.assemble(f"{number} ", drawn, f" {distance}  {about[0]}  {about[1]}  ", outcome)
            yield indented(Text.assemble((f"{ranks or 'no ranks'}; ", DIM), words))
    if is_table:
        yield table


def indented(text: Text) -> RenderableType:
    return Padding(text, (0, 0, 0, 4)) if terminal.out.is_terminal else Text("    ") + text


def words_of(memory: Memory | None) -> Text:
    """Return a memory's first words; of one that is forgotten, or gone, that it is."""
    if memory is None or memory.status == "deleted":
        return Text(GONE, style=DIM)
    return Text(cut(safe(memory.content), WORDS))


def named(memory: Memory) -> str:
    """Return a memory's id and the beginning of its text, for a line."""
    return f"{memory.id} {safe(memory.content)[:80]}"


def nearly_given(decision: Decision) -> Candidate | None:
    """Return the best memory that was kept back for its relevance alone, where the hook was silent and it was near the bar."""
    if decision.outcome not in (outcomes.BELOW, outcomes.INTENT) or decision.reason:
        return None
    bar = decision.bars.needed if decision.bars else 0.0
    below = [one for one in decision.candidates if one.outcome in (outcomes.BELOW, outcomes.INTENT)]
    return next((one for one in below if one.relevance >= NEARLY * bar), None)


def may_come(candidate: Candidate | None) -> bool:
    """Return whether a memory lacks nothing but relevance, so that words and triggers may help."""
    return candidate is None or candidate.outcome in (outcomes.BELOW, outcomes.INTENT, outcomes.NOTHING_FOUND)


def missed_view(
    was: Decision, now: Decision, memory: Memory, words: Words, remedies: Sequence[Remedy] | None
) -> RenderableType:
    """Return a view of what kept a memory away from a prompt.

    now: the same prompt decided anew; remedies: None where none was looked for.
    """
    candidate = next((one for one in now.candidates if one.id == memory.id), None)
    bar = now.bars.needed if now.bars else 0.0
    if candidate is None:
        told = "it is not among what the prompt finds" + why_not_found(memory, was)
    elif candidate.outcome == outcomes.INJECTED:
        told = f"asked again, the prompt brings it, with {candidate.relevance:.2f}"
    elif candidate.outcome in (outcomes.BELOW, outcomes.INTENT):
        told = f"its relevance is {against(candidate.relevance, bar)} is needed"
    else:
        told = f"its relevance is {candidate.relevance:.2f}; {LACKED.get(candidate.outcome, safe(candidate.outcome))}"
    parts: list[RenderableType] = [
        Text(f"{safe(was.id)}  {moment(was.at)}", style=DIM),
        Text(prompt_of(was, PREVIEW)),
        "",
        Text.assemble((f"{safe(memory.id)}  ", ACCENT), words_of(memory)),
        Text(told, style="yellow"),
        Text.assemble(_listed("has", words.has), "; ", _listed("lacks", words.lacks)),
        *(_remedies({memory.id: remedies}) if remedies is not None else ()),
    ]
    return Group(*parts)


def why_not_found(memory: Memory, was: Decision) -> str:
    """Return what keeps a memory from being looked at, whatever its words are; empty where nothing does."""
    if memory.status != "active":
        return f": it is {memory.status}"
    if memory.project and memory.project != was.project:
        return f": it is of the project {safe(memory.project)}"
    return ""


def _words(decision: Decision, words: Mapping[str, Words]) -> Iterator[RenderableType]:
    """Yield which words of the prompt the best candidates have, and which they lack."""
    for candidate in [one for one in decision.candidates if one.id in words][:MAX_WITH_WORDS]:
        found = words[candidate.id]
        yield ""
        yield Text.assemble((f"{safe(candidate.id)}  ", ACCENT), _listed("has", found.has), "; ", _listed("lacks", found.lacks))
        if found.asked_like:
            yield Text.assemble("  ", ("asked like this: ", DIM), safe(found.asked_like))


def _listed(verb: str, words: Sequence[str]) -> Text:
    more = f" and {len(words) - TOLD} more" if len(words) > TOLD else ""
    return Text.assemble((f"{verb} ", DIM), safe(", ".join(words[:TOLD])) + more if words else "none of the words")


def _remedies(remedies: Mapping[str, Sequence[Remedy]]) -> Iterator[Text]:
    """Yield the remedies that would make a memory come. Each has been tried."""
    for id_, found in remedies.items():
        if not found:
            yield Text(f"no keyword and no trigger of these words makes {safe(id_)} come: its text says something else")
            continue
        yield Text(f"{safe(id_)} comes to this prompt with {'any of these' if len(found) > 1 else 'this'}, tried on a copy:")
        for remedy in found:
            yield Text.assemble("  ", (safe(remedy.command), ACCENT), (f"  # relevance {remedy.relevance:.2f}", DIM))
