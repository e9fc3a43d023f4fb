"""Draws decisions of the hook for a terminal, with the reasons for each candidate's outcome."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from rich.console import Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.text import Text

from subcog_hooks.cli.decisions import arithmetic
from subcog_hooks.cli.decisions.lookup import (
    ALMOST_SHARE,
    BELOW_THRESHOLD,
    MAX_CHARS,
    delay_phrase,
    event_name,
    local_time,
    number_and_bar,
    prompt_text,
    sentence,
    why_not_found,
)
from subcog_hooks.cli.decisions.remedies import Remedy, Words
from subcog_hooks.cli.support.output import ACCENT, DIM, safe, terminal
from subcog_hooks.cli.support.views import plain_table
from subcog_hooks.hook.payload import PROMPT_EVENT
from subcog_hooks.recall.hits import BRIEF
from subcog_hooks.store import decision as outcomes
from subcog_hooks.store.decision import Decision
from subcog_hooks.store.memory import Memory
from subcog_hooks.text.sanitise import cut

MAX_WITH_WORDS = 3  # candidates whose words are listed
MAX_LISTED_WORDS = 12  # words of a prompt
MAX_ALMOST = 3  # candidates listed as almost handed over
PREVIEW = 600  # characters of a prompt
MIN_WORDS_COLUMNS = 120  # columns that a table of candidates with their words needs
BAR = 20  # columns
SMALL_BAR = 10
MAX_WRAPPED = 24  # columns of a namespace or of ranks; longer texts wrap
RIGHT, WRONG = "green", "red"
GONE = "(no longer in the store)"

OUTCOME_REASONS = {  # outcome of a candidate in words
    outcomes.INJECTED: "handed over",
    outcomes.FOUND: "found by a second look",
    outcomes.POINTED: "pointed at by a line",
    outcomes.BELOW: "not relevant enough",
    outcomes.GIVEN: "given in this session before",
    outcomes.LOADED: "Claude Code puts it before the model itself",
    outcomes.DUPLICATE: "nearly repeats a better one",
    outcomes.COUNT: "others took the places",
    outcomes.ROOM: "others took the room",
    outcomes.SPENT: "the session has had its characters",
    outcomes.STALE: "the files that it is about are gone",
    outcomes.BAD: "marked as wrong for such prompts",
}


class ViewData(NamedTuple):
    """The data shown with a decision.

    memories: candidates that the store still has; given: by memory id, the earlier decision that handed it over; words: by
    memory id, the words of the prompt that it has and lacks; remedies: by memory id; is_explained: show the arithmetic of each
    relevance; look: the second look at the prompt, None without one; opened: ids that the agent opened from a pointer line.
    """

    memories: Mapping[str, Memory]
    given: Mapping[str, str] = {}
    words: Mapping[str, Words] = {}
    remedies: Mapping[str, Sequence[Remedy]] = {}
    is_explained: bool = False
    look: Decision | None = None
    opened: AbstractSet[str] = frozenset()


def decision_view(decision: Decision, data: ViewData) -> RenderableType:
    """Draw a decision with its reasons, candidates and times."""
    occasion = f"in {safe(decision.project)}" if decision.project else "in no project"
    if decision.event != PROMPT_EVENT:
        occasion += f", at {event_name(decision)}"
    parts: list[RenderableType] = [
        Text(f"{safe(decision.id)}  {local_time(decision.at_ms)}  {occasion}", style=DIM),
        Text(prompt_text(decision, PREVIEW)),
        "",
        Text(sentence(decision), style=RIGHT if decision.outcome in (outcomes.SPOKE, outcomes.LINES) else "yellow"),
        *_almost_lines(decision, data.given),
        *_remedy_lines(data.remedies),
        *_second_look(data.look),
        "",
        *_intent(decision),
        *_stages(decision),
    ]
    if decision.strategies or decision.note:
        ran = ", ".join(decision.strategies) or "nothing"
        parts.append(_label_line("recall", safe(f"{ran}{f'; {decision.note}' if decision.note else ''}")))
    if decision.candidates:
        parts += ["", *_candidates(decision, data), *_words(decision, data.words)]
        if data.is_explained:
            parts += arithmetic.arithmetic_view(decision)
    return Group(*parts)


def _second_look(look: Decision | None) -> Iterator[Text]:
    if look is not None:
        yield Text(f"{delay_phrase(look)}: {sentence(look)} ({safe(look.id)})")


def _label_line(name: str, text: str) -> Text:
    return Text.assemble((f"{name:<9}", DIM), text)


def _almost_lines(decision: Decision, given: Mapping[str, str]) -> Iterator[Text]:
    bar = decision.thresholds.needed if decision.thresholds else 0.0
    handed_over = (outcomes.INJECTED, outcomes.POINTED)
    kept_back = [candidate for candidate in decision.candidates if candidate.outcome not in handed_over]
    others = [candidate for candidate in kept_back if candidate.outcome != outcomes.BELOW]
    below = [
        candidate
        for candidate in kept_back
        if candidate.outcome == outcomes.BELOW and candidate.relevance >= ALMOST_SHARE * bar
    ][:1]
    for candidate in (others + below)[:MAX_ALMOST]:
        if candidate.outcome == outcomes.BELOW:
            reason = f"{number_and_bar(candidate.relevance, bar)} was needed"
        else:
            reason = f"{candidate.raw:.2f}, {OUTCOME_REASONS.get(candidate.outcome, safe(candidate.outcome))}"
            if candidate.outcome == outcomes.GIVEN and given.get(candidate.id):
                reason += f", with {safe(given[candidate.id])}"
        yield Text(f"almost: {safe(candidate.id)} with {reason}")


def _intent(decision: Decision) -> Iterator[Text]:
    intent = decision.intent
    if intent is None:
        return
    threshold = f", {decision.thresholds.min_confidence:.2f} needed" if decision.thresholds else ""
    yield _label_line(
        "intent", safe(f"{intent.type} {intent.confidence:.2f}{threshold}; told by {intent.source}; llm {intent.llm_status}")
    )
    if intent.topics:
        yield _label_line("topics", ", ".join(map(safe, intent.topics)))
    if decision.borrowed:
        yield _label_line("borrowed", ", ".join(map(safe, decision.borrowed)) + ", from the prompt before")
    fired = sorted(intent.signals, key=lambda signal: (-abs(signal[2]), signal[0]))
    if fired:
        yield _label_line(
            "signals",
            "; ".join(f"{safe(name)} {weight:+.2f} {safe(family)}" for name, family, weight in fired),
        )
    if intent.cues:
        yield _label_line("shape", ", ".join(map(safe, intent.cues)))
    if intent.llm_ms is not None:
        yield _label_line("merge", f"{safe(intent.row)}; the LLM took {intent.llm_ms:.0f} ms")


def _stages(decision: Decision) -> Iterator[Text]:
    longest = max((ms for _, ms in decision.stages), default=0.0)
    for number, (name, ms) in enumerate(decision.stages):
        drawn = _label_line("" if number else "stages", f"{safe(name):<8}{ms:7.1f} ms  ")
        drawn += arithmetic.bar(ms / longest if longest else 0.0, _room(drawn), ACCENT)
        drawn.rstrip()
        yield drawn
    if decision.micros:
        yield _label_line("" if decision.stages else "stages", f"{'in all':<8}{decision.micros / 1000:7.1f} ms")


def _room(label: Text) -> int:
    return max(SMALL_BAR // 2, min(BAR, terminal.out.width - label.cell_len)) if terminal.out.is_terminal else BAR


def _candidates(decision: Decision, data: ViewData) -> Iterator[RenderableType]:
    bar = decision.thresholds.needed if decision.thresholds else 0.0
    is_table = terminal.out.is_terminal and terminal.out.width >= MIN_WORDS_COLUMNS
    table = plain_table(is_wide=True)
    for name in ("", "relevance", f"to {bar:.2f}", "id", "namespace", "ranks", "outcome"):
        is_short = name not in ("namespace", "ranks")
        justify: JustifyMethod = "right" if name.startswith("to") else "left"
        table.add_column(name, no_wrap=is_short, justify=justify, overflow="fold", max_width=None if is_short else MAX_WRAPPED)
    table.add_column("memory", ratio=1, overflow="fold")
    for candidate in decision.candidates:
        style = RIGHT if candidate.outcome == outcomes.INJECTED else ""
        drawn = arithmetic.bar(candidate.relevance, SMALL_BAR, style or DIM, bar)
        number, distance = f"{candidate.relevance:.2f}", f"{candidate.relevance - bar:+.2f}"
        if BRIEF in candidate.ranks:  # A session start has no prompt to be relevant to.
            drawn, number, distance = Text(" " * SMALL_BAR), "   -", " " * 5
        about = (safe(candidate.id), safe(candidate.namespace))
        ranks = ", ".join(f"{safe(name)} {rank}" for name, rank in sorted(candidate.ranks.items()))
        outcome = Text(safe(candidate.outcome) + (", opened" if candidate.id in data.opened else ""), style=style)
        words = first_words(data.memories.get(candidate.id))
        if is_table:
            table.add_row(number, drawn, distance, *map(Text, (*about, ranks)), outcome, words)
        else:
            yield Text.assemble(f"{number} ", drawn, f" {distance}  {about[0]}  {about[1]}  ", outcome)
            yield indent(Text.assemble((f"{ranks or 'no ranks'}; ", DIM), words))
    if is_table:
        yield table


def indent(text: Text) -> RenderableType:
    return Padding(text, (0, 0, 0, 4)) if terminal.out.is_terminal else Text("    ") + text


def first_words(memory: Memory | None) -> Text:
    """Return the first words of a memory, or a note that it is forgotten or gone."""
    if memory is None or memory.status == "deleted":
        return Text(GONE, style=DIM)
    return Text(cut(safe(memory.content), MAX_CHARS))


def missed_view(
    original: Decision, repeated: Decision, memory: Memory, words: Words, remedies: Sequence[Remedy] | None
) -> RenderableType:
    """Draw the reasons that kept a memory away from a prompt.

    now: the prompt decided again; remedies: None where none was searched for.
    """
    candidate = next((other for other in repeated.candidates if other.id == memory.id), None)
    bar = repeated.thresholds.needed if repeated.thresholds else 0.0
    if candidate is None:
        reason = "it is not among what the prompt finds" + why_not_found(memory, original)
    elif candidate.outcome == outcomes.INJECTED:
        reason = f"asked again, the prompt brings it, with {candidate.relevance:.2f}"
    elif candidate.outcome in BELOW_THRESHOLD:
        reason = f"its relevance is {number_and_bar(candidate.relevance, bar)} is needed"
    else:
        reason = (
            f"its relevance is {candidate.relevance:.2f}; {OUTCOME_REASONS.get(candidate.outcome, safe(candidate.outcome))}"
        )
    parts: list[RenderableType] = [
        Text(f"{safe(original.id)}  {local_time(original.at_ms)}", style=DIM),
        Text(prompt_text(original, PREVIEW)),
        "",
        Text.assemble((f"{safe(memory.id)}  ", ACCENT), first_words(memory)),
        Text(reason, style="yellow"),
        Text.assemble(_word_list("has", words.has), "; ", _word_list("lacks", words.lacks)),
        *(_remedy_lines({memory.id: remedies}) if remedies is not None else ()),
    ]
    return Group(*parts)


def _words(decision: Decision, words: Mapping[str, Words]) -> Iterator[RenderableType]:
    for candidate in [candidate for candidate in decision.candidates if candidate.id in words][:MAX_WITH_WORDS]:
        comparison = words[candidate.id]
        yield ""
        yield Text.assemble(
            (f"{safe(candidate.id)}  ", ACCENT), _word_list("has", comparison.has), "; ", _word_list("lacks", comparison.lacks)
        )
        if comparison.asked_like:
            yield Text.assemble("  ", ("asked like this: ", DIM), safe(comparison.asked_like))


def _word_list(verb: str, words: Sequence[str]) -> Text:
    more = f" and {len(words) - MAX_LISTED_WORDS} more" if len(words) > MAX_LISTED_WORDS else ""
    return Text.assemble((f"{verb} ", DIM), safe(", ".join(words[:MAX_LISTED_WORDS])) + more if words else "none of the words")


def _remedy_lines(remedies: Mapping[str, Sequence[Remedy]]) -> Iterator[Text]:
    for id_, of_memory in remedies.items():
        if not of_memory:
            yield Text(f"no keyword and no trigger of these words makes {safe(id_)} come: its text says something else")
            continue
        yield Text(
            f"{safe(id_)} comes to this prompt with {'any of these' if len(of_memory) > 1 else 'this'}, tried on a copy:"
        )
        for remedy in of_memory:
            yield Text.assemble("  ", (safe(remedy.command), ACCENT), (f"  # relevance {remedy.relevance:.2f}", DIM))
