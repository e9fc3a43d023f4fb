"""`subcog intent`: the intent of a prompt, as the hook detects it."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

from rich.console import Group, RenderableType
from rich.text import Text
from typer import Argument, Option

from subcog_hooks.cli.decisions.lookup import bar_text
from subcog_hooks.cli.support import context, inputs
from subcog_hooks.cli.support.output import ACCENT, DIM, safe, terminal
from subcog_hooks.cli.support.results import plain_table
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

Rarity = Callable[[str], float | None]  # a word's rarity among the memories


def intent(
    prompt: Annotated[
        list[str] | None, Argument(metavar="PROMPT", help="The prompt, or - to read it from standard input.")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object with all details.")] = False,
    explain: Annotated[
        bool, Option("--explain", help="Show the words that counted, the LLM's answer, and the result of both.")
    ] = False,
    batch: Annotated[
        str | None,
        Option(
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
        providers.provider_of(settings, context.home())  # raises if it cannot be used, whether this prompt needs it or not
    with _open_sources() as (state, rarity_of):
        if batch:
            for key, text, _ in list(inputs.read_rows(batch, "prompt")):
                record = intent_record(text, _examine_prompt(text, settings, state, rarity_of), settings if explain else None)
                terminal.json({"id": key, **record})
            return
        text = inputs.text_of(prompt or [])
        examined = _examine_prompt(text, settings, state, rarity_of)
    if as_json:
        record = intent_record(text, examined, settings if explain else None)
        terminal.json(record, indent=1)
    else:
        terminal.page(intent_view(text, examined, settings, explain=explain))


@contextmanager
def _open_sources() -> Iterator[tuple[State | None, Rarity | None]]:
    home = context.home()
    state = None
    try:
        state = State.open(home, INTENT_WAIT_MS, terminal.say) if os.path.exists(home.state_db) else None
    except StoreError as error:  # the state is a cache: the intent is the same without it
        terminal.say(error.message)
    try:
        with context.reading() as store:
            yield state, words.rarity_in_index(context.index_of(store)) if store else None
    finally:
        if state is not None:
            state.close()


def _examine_prompt(text: str, settings: Settings, state: State | None, rarity_of: Rarity | None) -> Examined:
    """Return the intent as the hook detects it, without its deadline, and without an unusable state."""
    try:
        return detector.examine_prompt(text, settings, context.home(), state, disclosure.disclosable_text, rarity_of)
    except StoreError as error:
        if state is None:
            raise
        terminal.say(error.message)
        return detector.examine_prompt(text, settings, context.home(), None, disclosure.disclosable_text, rarity_of)


def intent_record(text: str, examined: Examined, explain: Settings | None = None) -> dict[str, object]:
    """Return an intent as the object that scripts read.

    explain: settings; adds the signals, the LLM's answer, and the hook's reaction with these settings.
    """
    detected = examined.intent
    record: dict[str, object] = {
        "intent_type": detected.type,
        "confidence": detected.confidence,
        "topics": list(detected.topics),
        "keywords": list(detected.keywords),
        "source": detected.source,
        "llm_status": detected.llm_status,
        "query_type": classify_query(text),
        "elapsed_ms": round(examined.seconds * 1000, 1),
    }
    if explain is not None:
        answer = examined.answer
        record["explain"] = {
            "signals": [
                {"name": signal.name, "family": signal.family, "weight": signal.weight, "text": signal.text}
                for signal in examined.reading.fired
            ],
            "shape": examined.reading.cues,
            "llm": {
                "intent_type": answer.type if answer else None,
                "confidence": answer.confidence if answer else None,
                "topics": list(answer.topics) if answer else [],
                "elapsed_ms": None if examined.llm_seconds is None else round(examined.llm_seconds * 1000, 1),
                "reason": examined.llm_reason or None,
            },
            "merge": examined.row,
            "speaks": examined.is_enough(explain) and examined.may_speak(explain),
        }
    return record


def _hook_reaction(examined: Examined, settings: Settings) -> str:
    if not examined.may_speak(settings):
        return "the hook stays silent"
    if examined.is_enough(settings):
        return "the hook speaks if a memory is relevant"
    needed = choose.threshold_for_prompt(examined, settings, is_small=False).needed
    return f"the hook stays silent unless a memory's relevance is {bar_text(needed)}"


def intent_view(text: str, examined: Examined, settings: Settings, *, explain: bool = False) -> RenderableType:
    """Return an intent for people; explain: with the signals and the LLM's answer."""
    detected = examined.intent
    line = Text()
    line.append(detected.type, style=DIM if detected.type == NONE else ACCENT)
    line.append(f"  {detected.confidence:.2f}")
    if detected.topics:
        line.append("  topics: " + ", ".join(map(safe, detected.topics)))
    about = [
        _hook_reaction(examined, settings),
        f"told by {detected.source}",
        f"llm {detected.llm_status}",
        f"{classify_query(text)} query",
    ]
    about.append(f"{examined.seconds * 1000:.1f} ms")
    if detected.keywords and not explain:
        about.insert(0, "signals: " + ", ".join(detected.keywords))
    parts: list[RenderableType] = [line, Text("; ".join(about), style=DIM)]
    if explain:
        parts += ["", *_explanation_rows(examined)]
    return Group(*parts)


def _explanation_rows(examined: Examined) -> list[RenderableType]:
    signals = plain_table()
    for name in ("signal", "family", "weight", "in the prompt"):
        is_short = name in ("family", "weight")
        signals.add_column(name, justify="right" if name == "weight" else "left", no_wrap=is_short, overflow="fold")
    for signal in examined.reading.fired:
        signals.add_row(Text(signal.name), Text(signal.family, style=ACCENT), f"{signal.weight:+.2f}", Text(safe(signal.text)))
    return [
        signals if examined.reading.fired else Text("no signal fired"),
        "",
        Text("shape  ", style=DIM) + Text(", ".join(examined.reading.cues) or "none"),
        Text("llm    ", style=DIM) + Text(_llm_summary(examined)),
        Text("merge  ", style=DIM) + Text(examined.row),
    ]


def _llm_summary(examined: Examined) -> str:
    duration = "" if examined.llm_seconds is None else f" after {examined.llm_seconds * 1000:.0f} ms"
    reason = f": {safe(examined.llm_reason)}" if examined.llm_reason else ""
    if examined.answer is None:
        return f"{examined.intent.llm_status}{duration}{reason}"
    answer = examined.answer
    topics = f", topics: {', '.join(map(safe, answer.topics))}" if answer.topics else ""
    return f"{answer.type} {answer.confidence:.2f}{topics}; {examined.intent.llm_status}{duration}"
