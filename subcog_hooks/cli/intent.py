"""`subcog intent`: what a prompt asks for, as the hook takes it."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from subcog_hooks.cli.decisions.lookup import shown_bar
from subcog_hooks.cli.support import context, inputs
from subcog_hooks.cli.support.output import ACCENT, DIM, safe, terminal
from subcog_hooks.cli.support.views import plain_table
from subcog_hooks.core.errors import StoreError, UsageError
from subcog_hooks.hook import choose
from subcog_hooks.intent import detector
from subcog_hooks.intent.detector import Examined
from subcog_hooks.intent.kinds import NONE
from subcog_hooks.intent.query_type import classify_query
from subcog_hooks.llm import disclosure, providers
from subcog_hooks.recall import words
from subcog_hooks.settings.loading import Settings
from subcog_hooks.store.state import State

INTENT_WAIT_MS = 200

Rarity = Callable[[str], float | None]  # of a word among the memories


def register(app: typer.Typer) -> None:
    app.command()(intent)


def intent(
    prompt: Annotated[
        list[str] | None, typer.Argument(metavar="PROMPT", help="The prompt, or - to read it from standard input.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object with all details.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the words that counted, the LLM's answer, and the result of both.")
    ] = False,
    batch: Annotated[
        str | None,
        typer.Option(
            "--batch",
            metavar="FILE",
            help='Read many prompts from a JSONL file, or - for standard input. A line is {"id", "prompt"}.',
        ),
    ] = None,
) -> None:
    """Show the intent of a prompt, the probability that memories help with it, and its topics. A configured LLM is asked too.

    Example: subcog intent "the tests are failing with exit code 101" --explain
    """
    if batch and (prompt or as_json):
        raise UsageError("--batch takes no prompt and no form of output", "its answers are JSON lines: leave --json out")
    if not batch and not prompt:
        raise UsageError("no prompt was given", "for instance: subcog intent how do we rotate the keys")
    settings = context.settings()
    if settings["search_intent.use_llm"]:
        providers.provider_of(settings, context.home())  # raises when it can not be used, whether this prompt needs it or not
    with _opened() as (state, rarity_of):
        if batch:
            for key, text, _ in list(inputs.rows(batch, "prompt")):
                told = described(text, _examined(text, settings, state, rarity_of), settings if explain else None)
                terminal.json({"id": key, **told})
            return
        text = inputs.text_of(prompt or [])
        found = _examined(text, settings, state, rarity_of)
    if as_json:
        told = described(text, found, settings if explain else None)
        terminal.json(told, indent=1)
    else:
        terminal.page(view(text, found, settings, explain=explain))


@contextmanager
def _opened() -> Iterator[tuple[State | None, Rarity | None]]:
    """Yield the state and the words of the memories, as far as there are any: nothing is made where there is no home yet."""
    home = context.home()
    state = None
    try:
        state = State.open(home, INTENT_WAIT_MS, terminal.say) if os.path.exists(home.state_db) else None
    except StoreError as error:  # a cache: the intent is the same without it
        terminal.say(error.message)
    try:
        with context.reading() as store:
            yield state, words.rarity_in_index(context.index_of(store)) if store else None
    finally:
        if state is not None:
            state.close()


def _examined(text: str, settings: Settings, state: State | None, rarity_of: Rarity | None) -> Examined:
    """Return the intent as the hook finds it, but for the hook's deadline; without the state where that is unusable."""
    try:
        return detector.examine_prompt(text, settings, context.home(), state, disclosure.disclosable_text, rarity_of)
    except StoreError as error:
        if state is None:
            raise
        terminal.say(error.message)
        return detector.examine_prompt(text, settings, context.home(), None, disclosure.disclosable_text, rarity_of)


def described(text: str, found: Examined, explain: Settings | None = None) -> dict[str, object]:
    """Return an intent as the object that scripts read.

    explain: with what it was made of, and what comes of it with these settings.
    """
    told = found.intent
    known: dict[str, object] = {
        "intent_type": told.type,
        "confidence": told.confidence,
        "topics": list(told.topics),
        "keywords": list(told.keywords),
        "source": told.source,
        "llm_status": told.llm_status,
        "query_type": classify_query(text),
        "elapsed_ms": round(found.seconds * 1000, 1),
    }
    if explain is not None:
        answer = found.answer
        known["explain"] = {
            "signals": [
                {"name": signal.name, "family": signal.family, "weight": signal.weight, "text": signal.text}
                for signal in found.reading.fired
            ],
            "shape": found.reading.cues,
            "llm": {
                "intent_type": answer.type if answer else None,
                "confidence": answer.confidence if answer else None,
                "topics": list(answer.topics) if answer else [],
                "elapsed_ms": None if found.llm_seconds is None else round(found.llm_seconds * 1000, 1),
                "reason": found.llm_reason or None,
            },
            "merge": found.row,
            "speaks": found.is_enough(explain) and found.may_speak(explain),
        }
    return known


def _consequence(found: Examined, settings: Settings) -> str:
    if not found.may_speak(settings):
        return "the hook stays silent"
    if found.is_enough(settings):
        return "the hook speaks if a memory is relevant"
    needed = choose.threshold_for_prompt(found, settings, is_small=False).needed
    return f"the hook stays silent unless a memory's relevance is {shown_bar(needed)}"


def view(text: str, found: Examined, settings: Settings, *, explain: bool = False) -> RenderableType:
    """Return an intent for people: a line of what matters, a line of the rest; explain: with what it was made of."""
    told = found.intent
    line = Text()
    line.append(told.type, style=DIM if told.type == NONE else ACCENT)
    line.append(f"  {told.confidence:.2f}")
    if told.topics:
        line.append("  topics: " + ", ".join(map(safe, told.topics)))
    about = [_consequence(found, settings), f"told by {told.source}", f"llm {told.llm_status}", f"{classify_query(text)} query"]
    about.append(f"{found.seconds * 1000:.1f} ms")
    if told.keywords and not explain:
        about.insert(0, "signals: " + ", ".join(told.keywords))
    parts: list[RenderableType] = [line, Text("; ".join(about), style=DIM)]
    if explain:
        parts += ["", *_reasons(found)]
    return Group(*parts)


def _reasons(found: Examined) -> list[RenderableType]:
    signals = plain_table()
    for name in ("signal", "family", "weight", "in the prompt"):
        is_short = name in ("family", "weight")
        signals.add_column(name, justify="right" if name == "weight" else "left", no_wrap=is_short, overflow="fold")
    for signal in found.reading.fired:
        signals.add_row(Text(signal.name), Text(signal.family, style=ACCENT), f"{signal.weight:+.2f}", Text(safe(signal.text)))
    return [
        signals if found.reading.fired else Text("no signal fired"),
        "",
        Text("shape  ", style=DIM) + Text(", ".join(found.reading.cues) or "none"),
        Text("llm    ", style=DIM) + Text(_said(found)),
        Text("merge  ", style=DIM) + Text(found.row),
    ]


def _said(found: Examined) -> str:
    """Return what the LLM has answered and how long it took, or why it has not."""
    took = "" if found.llm_seconds is None else f" after {found.llm_seconds * 1000:.0f} ms"
    reason = f": {safe(found.llm_reason)}" if found.llm_reason else ""
    if found.answer is None:
        return f"{found.intent.llm_status}{took}{reason}"
    answer = found.answer
    topics = f", topics: {', '.join(map(safe, answer.topics))}" if answer.topics else ""
    return f"{answer.type} {answer.confidence:.2f}{topics}; {found.intent.llm_status}{took}"
