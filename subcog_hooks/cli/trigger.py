"""`subcog test-trigger`: try a trigger before a memory has it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, NamedTuple

import typer
from typer import Argument, Option

from subcog_hooks.cli.decisions import lookup
from subcog_hooks.cli.support import inputs
from subcog_hooks.cli.support.output import safe, terminal
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, NoDecision, UsageError
from subcog_hooks.cues import triggers
from subcog_hooks.store import recorded_decisions
from subcog_hooks.store.cue_tables import MAX_UNKEYED
from subcog_hooks.store.decision import Decision
from subcog_hooks.store.decision_log import MAX_DECISIONS
from subcog_hooks.text.sanitise import cut

MAX_PROMPTS = 100  # latest prompts that are tried
MAX_MATCHES_SHOWN = 20
_PREVIEW_CHARACTERS = 100

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re2 import _Regexp


class Match(NamedTuple):
    """A match of a trigger. line, column: its first character, from 1; start, end: offsets in the text, from 0."""

    line: int
    column: int
    start: int
    end: int
    text: str


def try_trigger(
    pattern: Annotated[
        str, Argument(metavar="REGEX", help="The trigger: a regular expression as RE2 reads it. Case does not matter.")
    ],
    text: Annotated[
        list[str] | None,
        Argument(metavar="TEXT", help="A prompt or a command to try it on, or - to read it from standard input."),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object with all matches.")] = False,
) -> None:
    """Test a regular expression before you give it to `remember --trigger`. Without a text it is tried on your last prompts.

    It matches inside words too: "api" is in "rapid". \\b stands for a word's edge, as in "\\bapi\\b".

    The exit code is 1 when it does not match the text, and 2 when it is no valid trigger.

    Example: subcog test-trigger "deploy(s|ed)?" "we deployed it on Friday"
    """
    if not pattern.isascii() and inputs.readable(pattern) != pattern:
        raise UsageError("the trigger is not UTF-8", "convert it")
    triggers.check_trigger(pattern)
    tried_on = inputs.text_of(text) if text else None
    literals = triggers.any_of_literals(pattern)
    compiled = triggers.compile_trigger(pattern)
    if tried_on is None:
        _try_on_prompts(pattern, literals, compiled, as_json=as_json)
        return
    matches = list(_find_matches(compiled, triggers.plain_text(tried_on)))
    if as_json:
        _print_json({"trigger": pattern, "literals": list(literals), "matches": [match._asdict() for match in matches]})
    else:
        terminal.result(_acceptance_text(literals))
        for match in matches[:MAX_MATCHES_SHOWN]:
            last = match.column + max(1, match.end - match.start) - 1
            preview = cut(safe(match.text), _PREVIEW_CHARACTERS)
            terminal.result(f"line {match.line}, characters {match.column} to {last}: {preview}")
        if len(matches) > MAX_MATCHES_SHOWN:
            terminal.say(f"and {len(matches) - MAX_MATCHES_SHOWN:,} more")
    if not matches:
        terminal.say("no match")
        raise typer.Exit(EXIT_NOTHING_FOUND)


def _find_matches(compiled: _Regexp, text: str) -> Iterator[Match]:
    line, line_start, counted_to = 1, 0, 0
    for match in compiled.finditer(text):
        start, end = match.span()
        line += text.count("\n", counted_to, start)
        line_start = max(line_start, text.rfind("\n", counted_to, start) + 1)
        counted_to = start
        yield Match(line, start - line_start + 1, start, end, text[start:end])


def _try_on_prompts(pattern: str, literals: tuple[str, ...], compiled: _Regexp, *, as_json: bool) -> None:
    prompts = _latest_prompts()
    matched = [(decision, match) for decision, text in prompts if (match := compiled.search(triggers.plain_text(text)))]
    if as_json:
        rows = [{"decision": decision.id, "at": decision.at_ms, "text": match.group()} for decision, match in matched]
        _print_json({"trigger": pattern, "literals": list(literals), "prompts": len(prompts), "matched": rows})
        return
    terminal.result(_acceptance_text(literals))
    if not prompts:
        terminal.say("no prompts are kept to try it on; give a text")
        return
    of_all = "the only prompt" if len(prompts) == 1 else f"the last {len(prompts)} prompts"
    terminal.result(f"would have matched {len(matched)} of {of_all}{':' if matched else ''}")
    for decision, _ in matched[:MAX_MATCHES_SHOWN]:
        terminal.result(f"  {safe(decision.id)}  {lookup.prompt_text(decision, lookup.MAX_CHARS)}")
    if len(matched) > MAX_MATCHES_SHOWN:
        terminal.say(f"and {len(matched) - MAX_MATCHES_SHOWN} more")


def _latest_prompts() -> list[tuple[Decision, str]]:
    try:
        with lookup.open_state() as state:
            prompts = [
                (decision, decision.prompt)
                for decision in recorded_decisions.find_latest(state, MAX_DECISIONS)
                if decision.prompt is not None
            ]
    except NoDecision:
        return []
    return prompts[:MAX_PROMPTS]


def _acceptance_text(literals: tuple[str, ...]) -> str:
    if literals:
        words = " or ".join(safe(json.dumps(literal, ensure_ascii=False)) for literal in literals)
        return f"taken; looked for where a text has {words}"
    return f"taken; each prompt is tried, since no word is in every match: at most {MAX_UNKEYED} such triggers are kept"


def _print_json(record: dict[str, object]) -> None:
    terminal.raw(json.dumps(record, indent=1) + "\n")
