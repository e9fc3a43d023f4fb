"""Previews of the hook: `subcog intent`, `block` and `why PROMPT` for a prompt, `brief` for a session."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text
from typer import Argument, Option

from subcog_hooks.cli.commands import Texts
from subcog_hooks.cli.results import plain_table
from subcog_hooks.cli.terminal import author, context, inputs
from subcog_hooks.cli.terminal.inputs import answer_lines
from subcog_hooks.cli.terminal.output import ACCENT, DIM, count_memories, nothing_found, safe, terminal
from subcog_hooks.cli.verdicts import lookup, verdict_view
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, StoreError, UsageError
from subcog_hooks.core.files import working_folder
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import brief as briefs
from subcog_hooks.hook import dry_run
from subcog_hooks.hook import session as hook_session
from subcog_hooks.hook.brief import BriefScore
from subcog_hooks.hook.call import HookCall, close_left_open
from subcog_hooks.hook.choose import Verdict
from subcog_hooks.hook.dry_run import decide_dry
from subcog_hooks.hook.payload import START_EVENT
from subcog_hooks.intent import detector
from subcog_hooks.intent.keywords import NONE, Intent
from subcog_hooks.intent.query_type import classify_query
from subcog_hooks.intent.topics import extract_topics
from subcog_hooks.llm import providers
from subcog_hooks.recall import words
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import Settings
from subcog_hooks.store import project
from subcog_hooks.store.state import State
from subcog_hooks.text.sanitise import utf16_units

INTENT_WAIT_MS = 200
DECIDING_MS = 10_000.0  # nobody waits for a prompt here


def show_preview(text: str, *, as_json: bool, explain: bool) -> None:
    """Show the intent of a prompt and the hook's decision on it. A configured LLM is asked, nothing is given or counted."""
    settings = context.settings()
    with open_examiner() as examine:
        examined = examine(text)
    with context.reading() as store:
        verdict = None
        if store is None:
            terminal.say("there are no memories yet, so the hook is silent; `subcog remember` makes the first")
        else:
            context.index_of(store)  # a hook without an index is silent
            try:
                with context.open_state(terminal.say) as state:
                    verdict = decide_dry(text, context.home(), context.here(), settings, state, Deadline(DECIDING_MS))
            except StoreError as error:
                terminal.say_once(error.message)
        if as_json:
            record = intent_record(text, examined, settings if explain else None)
            terminal.json({**record, "decision": verdict and lookup.verdict_fields(verdict)}, indent=1)
            return
        parts: list[RenderableType] = []
        if verdict is not None and store is not None:
            memories = store.by_ids([candidate.id for candidate in verdict.candidates])
            parts = [*verdict_view.outcome_view(verdict, verdict_view.ViewData(memories, is_explained=explain)), ""]
    terminal.page(Group(*parts, intent_view(text, examined, explain=explain)))


@contextmanager
def open_examiner() -> Iterator[Callable[[str], Intent]]:
    """Yield a function that returns the intent of a prompt, as the hook detects it. Raises ConfigError for an unusable LLM."""
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
        yield lambda text: examine_prompt(text, settings, context.home(), state, rarity_of)


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
        with suppress(StoreError):  # The answer counts all the same.
            detection.learn(state, keeps_answers=bool(settings["surfacing.log_prompts"]))
    return intent


def intent_record(text: str, examined: Intent, explain: Settings | None = None) -> dict[str, object]:
    """Return an intent for scripts. explain: settings; adds signals, the LLM's answer, and the hook's reaction with them."""
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
    topics = f"  topics: {', '.join(map(safe, examined.topics))}" if examined.topics else ""
    style = DIM if examined.type == NONE else ACCENT
    signs = f"signals: {', '.join(examined.keywords)}; " if examined.keywords and not explain else ""
    took = f"{examined.seconds * 1000:.1f} ms"
    about = f"told by {examined.source}; llm {examined.llm_status}; {classify_query(text)} query; {took}"
    parts: list[RenderableType] = [
        Text.assemble((examined.type, style), f"  {examined.confidence:.2f}{topics}"),
        Text(signs + about, style=DIM),
    ]
    if not explain:
        return Group(*parts)
    reading = examined.reading
    assert reading is not None
    signals = plain_table()
    for name in ("signal", "family", "weight", "in the prompt"):
        is_short = name in ("family", "weight")
        signals.add_column(name, justify="right" if name == "weight" else "left", no_wrap=is_short, overflow="fold")
    for signal in reading.fired:
        signals.add_row(Text(signal.name), Text(signal.family, style=ACCENT), f"{signal.weight:+.2f}", Text(safe(signal.text)))
    parts += ["", signals if reading.fired else Text("no signal fired"), ""]
    shape, llm = ", ".join(reading.cues) or "none", _llm_summary(examined)
    for name, line in (("shape", shape), ("llm", llm), ("merge", examined.row)):
        parts.append(Text.assemble((f"{name:<7}", DIM), line))
    return Group(*parts)


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
        Option(metavar="FILE", help='Read prompts from a JSONL file, or - for standard input. A line is {"id", "prompt"}.'),
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


MAX_NEXT = 5  # memories shown that have no room in the brief
PREVIEW_CHARACTERS = 80  # of each memory


def brief(
    folder: Annotated[Path | None, Option("--cwd", metavar="DIR", help="Where the session begins; without it, here.")] = None,
    explain: Annotated[
        bool, Option("--explain", help="Show the score of each memory, and the memories that come next.")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the memories that a session here would begin with. The exit code is 1 when there are none.

    Example: subcog brief --explain
    """
    root = os.path.abspath(folder) if folder else working_folder()
    if not os.path.isdir(root):
        raise UsageError(f"{root or 'the removed folder'} is no folder", "--cwd takes the folder where a session would begin")
    home = context.home()
    if not context.has_store(home):
        raise nothing_found("there are no memories; `subcog remember` makes the first")
    here = project.find_project(root)
    settings = loading.load(home, here.root if here else None)
    for fault in (*settings.problems, *settings.ignored):
        terminal.say(fault)
    with context.open_state(terminal.say) as state, ExitStack() as cleanup:
        cleanup.callback(close_left_open)
        payload = {"session_id": "", "cwd": root, "hook_event_name": START_EVENT, "source": "startup"}
        call = HookCall(payload, "", here, settings, state, home, Deadline(context.STATE_WAIT_MS))
        if why := hook_session.silence_reason(call):
            if author.is_agent():
                raise nothing_found(f"no brief for an agent: {why}")
            terminal.say(f"none of it is given now: {why}")
        delivery = hook_session.preview_start(call)
        scored = briefs.rank_memories(call) if explain or as_json else []
    next_items = [item for item in scored if item.memory.id not in delivery.ids][:MAX_NEXT]
    if as_json:
        terminal.json(
            {
                "ids": list(delivery.ids),
                "characters": delivery.units,
                "memory_characters": _memory_units(delivery.text),
                "text": delivery.text,
                "worth": {item.memory.id: _score_record(item) for item in scored if item.memory.id in delivery.ids},
                "next": [{"id": item.memory.id, **_score_record(item)} for item in next_items],
            },
            indent=1,
        )
    elif delivery.ids:
        terminal.verbatim(delivery.text)
    if not delivery.ids:
        is_off = not settings[hook_session.BRIEF_UNITS_SETTING]
        why = f"{hook_session.BRIEF_UNITS_SETTING} is 0" if is_off else "no memory is for all sessions here"
        raise nothing_found(f"a session would begin with nothing: {why}")
    if explain and not as_json:
        terminal.draw(_explanation_view(scored, delivery, next_items))


def _memory_units(block: str) -> int:
    """Return the UTF-16 units of the memories' texts in a block; the setting bounds these."""
    return sum(utf16_units(line.partition("] ")[2]) for line in block.split("\n")[1:-1])


def _score_record(scored: BriefScore) -> dict[str, float]:
    parts = {name: round(value, 2) for name, value in scored.parts.items()}
    return {"worth": round(scored.total, 2), **parts}


def _explanation_view(scored: list[BriefScore], delivery: Verdict, next_items: list[BriefScore]) -> Group:
    scored_by_id = {item.memory.id: item for item in scored}
    memories, units = count_memories(len(delivery.ids)), _memory_units(delivery.text)
    head = f"{memories} of {units:,} characters, {delivery.units:,} with the lines around them"
    rows = [Text(""), Text(head, style=ACCENT)]
    rows += [
        _memory_line(scored_by_id[id_]) if id_ in scored_by_id else Text(f"{safe(id_)}  pinned, or its conditions hold")
        for id_ in delivery.ids
    ]
    if next_items:
        rows += [Text(""), Text("no room, next in line", style=DIM)]
        rows += [_memory_line(item) for item in next_items]
    return Group(*rows)


def _memory_line(scored: BriefScore) -> Text:
    parts = ", ".join(f"{name} {value:+.2f}" for name, value in scored.parts.items())
    preview = " ".join(scored.memory.content.split())[:PREVIEW_CHARACTERS]
    return Text.assemble((f"{safe(scored.memory.id)}  ", ACCENT), f"{scored.total:+.2f}  ({parts})  ", (safe(preview), DIM))


def block(
    prompt: Annotated[str, Argument(metavar="PROMPT", help="The prompt; - reads it from standard input.")],
    as_json: Annotated[bool, Option("--json", help="Print one JSON object, with the memories and their relevance.")] = False,
) -> None:
    """Print the text that the hook would give an agent with a prompt, as fast as the hook. Nothing is recorded or counted.

    The exit code is 1 when the hook would be silent.

    Example: subcog block "How long before they expire are tokens refreshed?"
    """
    text = dry_run.read_stdin() if prompt == dry_run.STDIN else prompt
    answer = dry_run.block_for_prompt(text, working_folder(), terminal.say)
    if answer is None:
        raise typer.Exit(EXIT_NOTHING_FOUND)
    if as_json:
        terminal.raw(dry_run.block_to_json(answer))
    else:
        terminal.verbatim(answer.text)
