"""Decisions of the hook drawn for a terminal, with what they were made of, and what kept a memory away."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from rich.console import Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.text import Text

from subcog_hooks.cli.decisions import arithmetic
from subcog_hooks.cli.decisions.lookup import (
    KEPT_BACK,
    NEARLY,
    WORDS,
    against,
    later,
    moment,
    occasion_of,
    prompt_of,
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

MAX_WITH_WORDS = 3  # candidates of which is said which words they have
TOLD = 12  # words of a prompt that are named
ALMOST = 3  # candidates of which is said what they lacked
PREVIEW = 600  # characters of a prompt
MIN_WORDS_COLUMNS = 120  # columns from which a table of candidates has room for their words
BAR = 20  # columns
SMALL_BAR = 10
LONG = 24  # columns of a namespace or of ranks, before they wrap
RIGHT, WRONG = "green", "red"
GONE = "(no longer in the store)"

LACKED = {  # what kept a candidate back
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


class Shown(NamedTuple):
    """The material that is shown of a decision beside itself.

    memories: the candidates, as far as the store still has them; given: with which decisions the session was given some before;
    words: of the prompt, as far as a candidate has them; remedies: by id, what would make a memory come; is_explained: whether
    the arithmetic of each relevance is shown; look: the second look at the prompt, None where there was none; opened: ids that
    the agent opened from a line.
    """

    memories: Mapping[str, Memory]
    given: Mapping[str, str] = {}
    words: Mapping[str, Words] = {}
    remedies: Mapping[str, Sequence[Remedy]] = {}
    is_explained: bool = False
    look: Decision | None = None
    opened: AbstractSet[str] = frozenset()


def view(decision: Decision, shown: Shown) -> RenderableType:
    """Return a decision with all that it was made of."""
    where = f"in {safe(decision.project)}" if decision.project else "in no project"
    if decision.event != PROMPT_EVENT:
        where += f", at {occasion_of(decision)}"
    parts: list[RenderableType] = [
        Text(f"{safe(decision.id)}  {moment(decision.at)}  {where}", style=DIM),
        Text(prompt_of(decision, PREVIEW)),
        "",
        Text(sentence(decision), style=RIGHT if decision.outcome in (outcomes.SPOKE, outcomes.LINES) else "yellow"),
        *_almost(decision, shown.given),
        *_remedies(shown.remedies),
        *_look(shown.look),
        "",
        *_intent(decision),
        *_stages(decision),
    ]
    if decision.strategies or decision.note:
        ran = ", ".join(decision.strategies) or "nothing"
        parts.append(_named("recall", safe(f"{ran}{f'; {decision.note}' if decision.note else ''}")))
    if decision.candidates:
        parts += ["", *_candidates(decision, shown), *_words(decision, shown.words)]
        if shown.is_explained:
            parts += arithmetic.view(decision)
    return Group(*parts)


def _look(look: Decision | None) -> Iterator[Text]:
    """Yield what became of a second look."""
    if look is not None:
        yield Text(f"{later(look)}: {sentence(look)} ({safe(look.id)})")


def _named(name: str, what: str) -> Text:
    return Text.assemble((f"{name:<9}", DIM), what)


def _almost(decision: Decision, given: Mapping[str, str]) -> Iterator[Text]:
    """Yield what was kept back that was relevant, and what nearly was."""
    bar = decision.bars.needed if decision.bars else 0.0
    given_here = (outcomes.INJECTED, outcomes.POINTED)
    kept_back = [candidate for candidate in decision.candidates if candidate.outcome not in given_here]
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
        drawn += arithmetic.bar(ms / most if most else 0.0, _room(drawn), ACCENT)
        drawn.rstrip()
        yield drawn
    if decision.micros:
        yield _named("" if decision.stages else "stages", f"{'in all':<8}{decision.micros / 1000:7.1f} ms")


def _room(behind: Text) -> int:
    """Return the number of columns that are left for a bar."""
    return max(SMALL_BAR // 2, min(BAR, terminal.out.width - behind.cell_len)) if terminal.out.is_terminal else BAR


def _candidates(decision: Decision, shown: Shown) -> Iterator[RenderableType]:
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
        drawn = arithmetic.bar(candidate.relevance, SMALL_BAR, style or DIM, bar)
        number, distance = f"{candidate.relevance:.2f}", f"{candidate.relevance - bar:+.2f}"
        if BRIEF in candidate.ranks:  # nothing was asked that it could be relevant to
            drawn, number, distance = Text(" " * SMALL_BAR), "   -", " " * 5
        about = (safe(candidate.id), safe(candidate.namespace))
        ranks = ", ".join(f"{safe(name)} {rank}" for name, rank in sorted(candidate.ranks.items()))
        outcome = Text(safe(candidate.outcome) + (", opened" if candidate.id in shown.opened else ""), style=style)
        words = words_of(shown.memories.get(candidate.id))
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
    elif candidate.outcome in KEPT_BACK:
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
