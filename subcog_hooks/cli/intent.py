"""`subcog why "PROMPT"` and `subcog intent`: the intent of a prompt that was never sent, and the hook's decision on it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Annotated

from rich.console import Group, RenderableType
from rich.text import Text
from typer import Argument, Option

from subcog_hooks.cli.command_table import Texts
from subcog_hooks.cli.results import plain_table
from subcog_hooks.cli.terminal import context, inputs
from subcog_hooks.cli.terminal.inputs import answer_lines
from subcog_hooks.cli.terminal.output import ACCENT, DIM, safe, terminal
from subcog_hooks.cli.verdicts import lookup, verdict_view
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import StoreError, UsageError
from subcog_hooks.core.paths import Home
from subcog_hooks.hook.dry_run import decide_dry
from subcog_hooks.intent import detector
from subcog_hooks.intent.keywords import NONE, Intent
from subcog_hooks.intent.query_type import classify_query
from subcog_hooks.intent.topics import extract_topics
from subcog_hooks.llm import providers
from subcog_hooks.recall import words
from subcog_hooks.settings.defaults import Settings
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.verdicts import RecordedVerdict

INTENT_WAIT_MS = 200
DECIDING_MS = 10_000.0  # nobody waits for a prompt here


def show_preview(text: str, *, as_json: bool, explain: bool) -> None:
    """Show the intent of a prompt, and the decision that the hook would make on it. Nothing is handed over or counted.

    A configured LLM is asked for the intent. explain: with the signals, the LLM's answer and the arithmetic.
    """
    settings = context.settings()
    with open_examiner() as examine:
        examined = examine(text)
    with context.reading() as store:
        verdict = _decide(text, settings, store)
        if as_json:
            record = intent_record(text, examined, settings if explain else None)
            terminal.json({**record, "decision": verdict and lookup.verdict_fields(verdict)}, indent=1)
            return
        parts: list[RenderableType] = []
        if verdict is not None and store is not None:
            memories = store.by_ids([candidate.id for candidate in verdict.candidates])
            parts = [*verdict_view.outcome_view(verdict, verdict_view.ViewData(memories, is_explained=explain)), ""]
    terminal.page(Group(*parts, intent_view(text, examined, explain=explain)))


def _decide(text: str, settings: Settings, store: Store | None) -> RecordedVerdict | None:
    """Return the hook's decision on a prompt at the beginning of a session; None without a store or a usable state."""
    if store is None:
        terminal.say("there are no memories yet, so the hook is silent; `subcog remember` makes the first")
        return None
    context.index_of(store)  # a hook without an index is silent
    try:
        with context.open_state(terminal.say) as state:
            return decide_dry(text, context.home(), context.here(), settings, state, Deadline(DECIDING_MS))
    except StoreError as error:
        terminal.say_once(error.message)
        return None


@contextmanager
def open_examiner() -> Iterator[Callable[[str], Intent]]:
    """Yield a function that returns the intent of a prompt, as the hook detects it.

    Raises ConfigError where an LLM is set, but cannot be used.
    """
    settings = context.settings()
    if settings["search_intent.use_llm"]:
        providers.provider_of(settings, context.home())  # raises if it cannot be used, whether these prompts need it or not
    with ExitStack() as opened:
        state = None
        try:
            state = opened.enter_context(context.existing_state(context.home(), INTENT_WAIT_MS, terminal.say))
        except StoreError as error:  # the state is a cache: the intent is the same without it
            terminal.say_once(error.message)
        store = opened.enter_context(context.reading())
        rarity_of = words.rarity_in_index(context.index_of(store)) if store else None

        def examine(text: str, usable_state: State | None = state) -> Intent:
            try:
                return examine_prompt(text, settings, context.home(), usable_state, rarity_of)
            except StoreError as error:
                if usable_state is None:
                    raise
                terminal.say_once(error.message)
                return examine(text, None)

        yield examine


def examine_prompt(
    prompt: str, settings: Settings, home: Home, state: State | None, rarity_of: Callable[[str], float | None] | None = None
) -> Intent:
    """Return the intent of a prompt as the hook detects it; llm_timeout_ms alone limits the wait, and nothing is counted.

    rarity_of: of a word in the store. Raises ConfigError for an unusable provider, StoreError.
    """
    limit_ms = float(settings["search_intent.llm_timeout_ms"])
    detection = detector.begin_detection(prompt, settings, home, state, limit_ms / 1000.0)
    if detection.fault is not None:
        raise detection.fault
    intent = detection.settle(extract_topics(detection.reading.words(), rarity_of), settings, limit_ms)
    if state is not None:
        detection.learn(state, keeps_answers=bool(settings["surfacing.log_prompts"]))
    return intent


def intent_record(text: str, examined: Intent, explain: Settings | None = None) -> dict[str, object]:
    """Return an intent as the object that scripts read.

    explain: settings; adds the signals, the LLM's answer, and the hook's reaction with these settings.
    """
    record: dict[str, object] = {
        "intent_type": examined.type,
        "confidence": examined.confidence,
        "topics": list(examined.topics),
        "keywords": list(examined.keywords),
        "source": examined.source,
        "llm_status": examined.llm_status,
        "query_type": classify_query(text),
        "elapsed_ms": round(examined.seconds * 1000, 1),
    }
    if explain is not None:
        answer, reading = examined.answer, examined.reading
        assert reading is not None
        record["explain"] = {
            "signals": [
                {"name": signal.name, "family": signal.family, "weight": signal.weight, "text": signal.text}
                for signal in reading.fired
            ],
            "shape": reading.cues,
            "llm": {
                "intent_type": answer.type if answer else None,
                "confidence": answer.confidence if answer else None,
                "topics": list(answer.topics) if answer else [],
                "reasoning": (answer.reasoning if answer else "") or None,
                "elapsed_ms": None if examined.llm_seconds is None else round(examined.llm_seconds * 1000, 1),
                "reason": examined.llm_reason or None,
            },
            "merge": examined.row,
            "speaks": examined.is_enough(explain) and examined.may_speak(explain),
        }
    return record


def intent_view(text: str, examined: Intent, *, explain: bool = False) -> RenderableType:
    """Return an intent for people; explain: with the signals and the LLM's answer."""
    line = Text()
    line.append(examined.type, style=DIM if examined.type == NONE else ACCENT)
    line.append(f"  {examined.confidence:.2f}")
    if examined.topics:
        line.append("  topics: " + ", ".join(map(safe, examined.topics)))
    about = [f"told by {examined.source}", f"llm {examined.llm_status}", f"{classify_query(text)} query"]
    about.append(f"{examined.seconds * 1000:.1f} ms")
    if examined.keywords and not explain:
        about.insert(0, "signals: " + ", ".join(examined.keywords))
    parts: list[RenderableType] = [line, Text("; ".join(about), style=DIM)]
    if explain:
        parts += ["", *_explanation_rows(examined)]
    return Group(*parts)


def _explanation_rows(examined: Intent) -> list[RenderableType]:
    reading = examined.reading
    assert reading is not None
    signals = plain_table()
    for name in ("signal", "family", "weight", "in the prompt"):
        is_short = name in ("family", "weight")
        signals.add_column(name, justify="right" if name == "weight" else "left", no_wrap=is_short, overflow="fold")
    for signal in reading.fired:
        signals.add_row(Text(signal.name), Text(signal.family, style=ACCENT), f"{signal.weight:+.2f}", Text(safe(signal.text)))
    return [
        signals if reading.fired else Text("no signal fired"),
        "",
        Text("shape  ", style=DIM) + Text(", ".join(reading.cues) or "none"),
        Text("llm    ", style=DIM) + Text(_llm_summary(examined)),
        Text("merge  ", style=DIM) + Text(examined.row),
    ]


def _llm_summary(examined: Intent) -> str:
    duration = "" if examined.llm_seconds is None else f" after {examined.llm_seconds * 1000:.0f} ms"
    reason = f": {safe(examined.llm_reason)}" if examined.llm_reason else ""
    if examined.answer is None:
        return f"{examined.llm_status}{duration}{reason}"
    answer = examined.answer
    topics = f", topics: {', '.join(map(safe, answer.topics))}" if answer.topics else ""
    reasoning = f': "{safe(answer.reasoning)}"' if answer.reasoning else ""
    return f"{answer.type} {answer.confidence:.2f}{topics}; {examined.llm_status}{duration}{reasoning}"


def intent(
    words: Annotated[Texts, Argument(metavar="PROMPT", help="The prompt; - reads it from standard input.")] = None,
    batch: Annotated[
        str | None,
        Option(
            "--batch",
            metavar="FILE",
            help='Read prompts from a JSONL file, or - for standard input. A line is {"id", "prompt"}.',
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
    explain: Annotated[bool, Option("--explain", help="Add the signals, the LLM's answer, and the result of both.")] = False,
) -> None:
    """Print the intent of a prompt, or of each prompt in a file. `subcog why "PROMPT"` adds the hook's decision.

    Example: subcog intent "where is the login stored?"
    """
    inputs.refuse_several({"a prompt": bool(words), "--batch": batch is not None})
    settings = context.settings() if explain else None
    with open_examiner() as examine:
        if batch is not None:
            answer_lines(batch, "prompt", lambda text, _: intent_record(text, examine(text), settings))
            return
        if not words:
            raise UsageError("no prompt was given", "give one, or --batch FILE")
        text = inputs.text_of(words)
        if as_json:
            terminal.json(intent_record(text, examine(text), settings), indent=1)
        else:
            terminal.page(intent_view(text, examine(text), explain=explain))
