"""`subcog test-trigger`: what a trigger would match, before a memory has it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, NamedTuple

import typer

from subcog_hooks.cli.decisions import lookup
from subcog_hooks.cli.support import inputs
from subcog_hooks.cli.support.output import safe, terminal
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, NoDecision, UsageError
from subcog_hooks.cues import triggers
from subcog_hooks.store import decision_log
from subcog_hooks.store.cue_tables import MAX_UNKEYED
from subcog_hooks.store.decision import Decision
from subcog_hooks.store.decision_log import MAX_DECISIONS
from subcog_hooks.text.sanitise import cut

TRIED = 100  # prompts
MAX_MATCHES_SHOWN = 20  # matches, or prompts
_PREVIEW = 100  # characters of a match

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re2 import _Regexp


def register(app: typer.Typer) -> None:
    app.command(name="test-trigger")(trial)


class Match(NamedTuple):
    """A place where a trigger matches. line, column: of its first character, from 1; start, end: in the whole text, from 0."""

    line: int
    column: int
    start: int
    end: int
    text: str


def trial(
    pattern: Annotated[
        str, typer.Argument(metavar="REGEX", help="The trigger: a regular expression as RE2 reads it. Case does not matter.")
    ],
    text: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="A prompt or a command to try it on, or - to read it from standard input."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object with all matches.")] = False,
) -> None:
    """Test a regular expression before you give it to `remember --trigger`. Without a text it is tried on your last prompts.

    It matches inside words too: "api" is in "rapid". \\b stands for a word's edge, as in "\\bapi\\b".

    The exit code is 1 when it does not match the text, and 2 when it is no valid trigger.

    Example: subcog test-trigger "deploy(s|ed)?" "we deployed it on Friday"
    """
    if not pattern.isascii() and inputs.readable(pattern) != pattern:
        raise UsageError("the trigger is not UTF-8", "convert it")
    triggers.check(pattern)
    tried_on = inputs.text_of(text) if text else None
    literals = triggers.literals(pattern)
    compiled = triggers.compiled(pattern)
    if tried_on is None:
        _try_on_prompts(pattern, literals, compiled, as_json=as_json)
        return
    found = list(_matches(compiled, triggers.plain(tried_on)))
    if as_json:
        _print({"trigger": pattern, "literals": list(literals), "matches": [one._asdict() for one in found]})
    else:
        terminal.result(_taken(literals))
        for one in found[:MAX_MATCHES_SHOWN]:
            last = one.column + max(1, one.end - one.start) - 1
            shown = cut(safe(one.text), _PREVIEW)
            terminal.result(f"line {one.line}, characters {one.column} to {last}: {shown}")
        if len(found) > MAX_MATCHES_SHOWN:
            terminal.say(f"and {len(found) - MAX_MATCHES_SHOWN:,} more")
    if not found:
        terminal.say("no match")
        raise typer.Exit(EXIT_NOTHING_FOUND)


def _matches(compiled: _Regexp, text: str) -> Iterator[Match]:
    line, begins, seen = 1, 0, 0
    for found in compiled.finditer(text):
        start, end = found.span()
        line += text.count("\n", seen, start)
        begins = max(begins, text.rfind("\n", seen, start) + 1)
        seen = start
        yield Match(line, start - begins + 1, start, end, text[start:end])


def _try_on_prompts(pattern: str, literals: tuple[str, ...], compiled: _Regexp, *, as_json: bool) -> None:
    prompts = _prompts()
    matched = [(decision, found) for decision, text in prompts if (found := compiled.search(triggers.plain(text)))]
    if as_json:
        rows = [{"decision": decision.id, "at": decision.at, "text": found.group()} for decision, found in matched]
        _print({"trigger": pattern, "literals": list(literals), "prompts": len(prompts), "matched": rows})
        return
    terminal.result(_taken(literals))
    if not prompts:
        terminal.say("no prompts are kept to try it on; give a text")
        return
    of_all = "the only prompt" if len(prompts) == 1 else f"the last {len(prompts)} prompts"
    terminal.result(f"would have matched {len(matched)} of {of_all}{':' if matched else ''}")
    for decision, _ in matched[:MAX_MATCHES_SHOWN]:
        terminal.result(f"  {safe(decision.id)}  {lookup.prompt_of(decision, lookup.WORDS)}")
    if len(matched) > MAX_MATCHES_SHOWN:
        terminal.say(f"and {len(matched) - MAX_MATCHES_SHOWN} more")


def _prompts() -> list[tuple[Decision, str]]:
    """Return the last prompts that are kept, the latest first, each with its decision."""
    try:
        with lookup.opened() as state:
            kept = [(one, one.prompt) for one in decision_log.latest(state, MAX_DECISIONS) if one.prompt is not None]
    except NoDecision:
        return []
    return kept[:TRIED]


def _taken(literals: tuple[str, ...]) -> str:
    if literals:
        words = " or ".join(safe(json.dumps(one, ensure_ascii=False)) for one in literals)
        return f"taken; looked for where a text has {words}"
    return f"taken; each prompt is tried, since no word is in every match: at most {MAX_UNKEYED} such triggers are kept"


def _print(known: dict[str, object]) -> None:
    terminal.raw(json.dumps(known, indent=1) + "\n")
