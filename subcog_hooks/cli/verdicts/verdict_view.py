"""A verdict as text: its prompt, its hits and how each relevance was computed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from subcog_hooks.cli.terminal.output import ACCENT, DIM, safe, terminal
from subcog_hooks.cli.verdicts import lookup
from subcog_hooks.core.files import read_rows
from subcog_hooks.hook.payload import PROMPT_EVENT
from subcog_hooks.recall import relevance
from subcog_hooks.recall.hits import BRIEF
from subcog_hooks.store import verdicts as outcomes
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.verdicts import Candidate, PromptIntent, RecordedVerdict
from subcog_hooks.text.sanitise import cut

MAX_EXPLAINED = 3  # candidates
NAME_WIDTH = 13  # columns for the name of an evidence
MEANINGS = dict(read_rows(relevance.__file__, "evidence.tsv"))  # of each evidence, by its name
RIGHT = "green"
FACTORS = ("for its namespace", "for marks (`why bad`)")  # in the order of a candidate's factors


def arithmetic_view(verdict: RecordedVerdict) -> Iterator[RenderableType]:
    """Yield the computation of the relevance of the best candidates."""
    with_terms = [candidate for candidate in verdict.candidates if candidate.terms]
    bar = verdict.settings.needed if verdict.settings else 0.0
    for candidate in sorted(with_terms, key=lambda candidate: -candidate.raw)[:MAX_EXPLAINED]:
        weights = relevance.model_weights(tuple(candidate.terms))
        yield ""
        yield Text.assemble((safe(candidate.id), ACCENT), f"  relevance {candidate.relevance:.4f}, {bar:.4f} needed")
        yield Text(f"  {'evidence':<{NAME_WIDTH}} {'value':>8}   {'weight':>8}   {'adds':>8}", style=DIM)
        for name, value, adds in sorted(candidate.terms, key=lambda term: (-abs(term[2]), term[0])):
            if adds:
                weight = weights.get(name, adds / value if value else 0.0)
                row = f"  {safe(name):<{NAME_WIDTH}} {value:8.4f} x {weight:8.4f} = {adds:+8.4f}"
                yield Text.assemble(row, (f"  {MEANINGS[name]}" if name in MEANINGS else "", DIM))
        if without_effect := [safe(name) for name, _, adds in candidate.terms if not adds]:
            yield _step("adds nothing", ", ".join(without_effect))
        total = sum(adds for _, _, adds in candidate.terms)
        yield _step("sum", f"{total:.4f}")
        yield _step("probability", f"1 / (1 + e^{-total:.4f}) = {candidate.raw:.4f}")
        yield _step("relevance", product(candidate))


def _step(name: str, text: str) -> Text:
    return Text(f"  {name:<{NAME_WIDTH}} {text}")


def product(candidate: Candidate) -> str:
    """Describe how the factors turn the probability into the relevance.

    >>> product(Candidate("a", "b", 0.55, 0.5, "injected", factors=(1.1, 1.0)))
    '0.5000 x 1.1 for its namespace = 0.5500'
    >>> product(Candidate("a", "b", 0.5, 0.5, "injected", factors=(1.0, 1.0)))
    '0.5000: no factor changes it'
    """
    applied = [f" x {factor:g} {why}" for factor, why in zip(candidate.factors, FACTORS, strict=False) if factor != 1.0]
    if not applied:
        return f"{candidate.raw:.4f}: no factor changes it"
    capped = ", at most 1" if candidate.raw * math.prod(candidate.factors) > 1.0 else ""
    return f"{candidate.raw:.4f}{''.join(applied)} = {candidate.relevance:.4f}{capped}"


PREVIEW = 600  # characters of a prompt
GONE = "(no longer in the store)"


class ViewData(NamedTuple):
    """The data shown with a verdict.

    memories: candidates that the store still has; given: by memory id, the earlier verdict that handed it over; is_explained:
    show the signals, the time of each stage and the arithmetic; look: the second look at the prompt, None without one; opened:
    ids that the agent opened from a pointer line.
    """

    memories: Mapping[str, Memory]
    given: Mapping[str, str] = {}
    is_explained: bool = False
    look: RecordedVerdict | None = None
    opened: AbstractSet[str] = frozenset()


def verdict_view(verdict: RecordedVerdict, data: ViewData) -> RenderableType:
    """Draw a verdict with its reasons, candidates and times."""
    occasion = f"in {safe(verdict.project)}" if verdict.project else "in no project"
    if verdict.event != PROMPT_EVENT:
        occasion += f", at {lookup.event_name(verdict)}"
    parts: list[RenderableType] = [
        Text(f"{safe(verdict.id)}  {lookup.local_time(verdict.at_ms)}  {occasion}", style=DIM),
        Text(lookup.prompt_text(verdict, PREVIEW)),
        "",
        _outcome_line(verdict),
    ]
    if look := data.look:
        parts.append(Text(f"{lookup.delay_phrase(look)}: {lookup.sentence(look)} ({safe(look.id)})"))
    if verdict.candidates:
        parts += ["", *_candidates(verdict, data)]
    if verdict.intent:
        parts += ["", *_intent(verdict, verdict.intent, is_explained=data.is_explained)]
    if data.is_explained:
        parts += [*_stages(verdict), *arithmetic_view(verdict)]
    return Group(*parts)


def outcome_view(verdict: RecordedVerdict, data: ViewData) -> Iterator[RenderableType]:
    """Yield the outcome of a verdict and its candidates, without its prompt, intent and times."""
    yield _outcome_line(verdict)
    if verdict.candidates:
        yield ""
        yield from _candidates(verdict, data)
        if data.is_explained:
            yield from arithmetic_view(verdict)


def _label_line(name: str, text: str) -> Text:
    return Text.assemble((f"{name:<9}", DIM), text)


def _outcome_line(verdict: RecordedVerdict) -> Text:
    return Text(lookup.sentence(verdict), style=RIGHT if verdict.outcome in (outcomes.SPOKE, outcomes.LINES) else "yellow")


def _intent(verdict: RecordedVerdict, intent: PromptIntent, *, is_explained: bool) -> Iterator[Text]:
    threshold = f", {verdict.settings.min_confidence:.2f} needed" if verdict.settings else ""
    yield _label_line(
        "intent", safe(f"{intent.type} {intent.confidence:.2f}{threshold}; told by {intent.source}; llm {intent.llm_status}")
    )
    if intent.topics:
        yield _label_line("topics", ", ".join(map(safe, intent.topics)))
    if verdict.borrowed:
        yield _label_line("borrowed", ", ".join(map(safe, verdict.borrowed)) + ", from the prompt before")
    if not is_explained:
        return
    fired = sorted(intent.signals, key=lambda signal: (-abs(signal[2]), signal[0]))
    if fired:
        yield _label_line("signals", "; ".join(f"{safe(name)} {weight:+.2f} {safe(family)}" for name, family, weight in fired))
    if intent.cues:
        yield _label_line("shape", ", ".join(map(safe, intent.cues)))
    if intent.llm_ms is not None:
        yield _label_line("merge", f"{safe(intent.row)}; the LLM took {intent.llm_ms:.0f} ms")
    if intent.reasoning:
        yield _label_line("reason", safe(intent.reasoning))


def _stages(verdict: RecordedVerdict) -> Iterator[Text]:
    for number, (name, ms) in enumerate(verdict.stages):
        yield _label_line("" if number else "stages", f"{safe(name):<8}{ms:7.1f} ms")
    if verdict.micros:
        yield _label_line("" if verdict.stages else "stages", f"{'in all':<8}{verdict.micros / 1000:7.1f} ms")
    if verdict.strategies or verdict.note:
        ran = ", ".join(verdict.strategies) or "nothing"
        yield _label_line("recall", safe(f"{ran}{f'; {verdict.note}' if verdict.note else ''}"))


def _candidates(verdict: RecordedVerdict, data: ViewData) -> Iterator[RenderableType]:
    bar = verdict.settings.needed if verdict.settings else 0.0
    for candidate in verdict.candidates:
        style = RIGHT if candidate.outcome == outcomes.INJECTED else ""
        number, distance = f"{candidate.relevance:.2f}", f"{candidate.relevance - bar:+.2f}"
        if BRIEF in candidate.ranks:  # No prompt to be relevant to.
            number, distance = "   -", " " * 5
        ranks = ", ".join(
            f"{rank} by {lookup.CHANNEL_NAMES.get(name, safe(name))}" for name, rank in sorted(candidate.ranks.items())
        )
        fate = lookup.FATES.get(candidate.outcome, safe(candidate.outcome))
        if candidate.outcome == outcomes.GIVEN and data.given.get(candidate.id):
            fate += f", with {safe(data.given[candidate.id])}"
        outcome = Text(fate + (", opened" if candidate.id in data.opened else ""), style=style)
        yield Text.assemble(f"{number}  {distance}  {safe(candidate.id)}  {safe(candidate.namespace)}  ", outcome)
        memory = data.memories.get(candidate.id)
        if memory is None or memory.status == "deleted":
            words = Text(GONE, style=DIM)
        else:
            words = Text(cut(safe(memory.content), lookup.MAX_CHARS))
        line = Text.assemble(words, (f"  (rank {ranks})" if ranks else "", DIM))
        yield Padding(line, (0, 0, 0, 4)) if terminal.out.is_terminal else Text("    ") + line
