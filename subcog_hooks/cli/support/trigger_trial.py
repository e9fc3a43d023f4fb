"""Trial of triggers before a memory has them, for `subcog remember --dry-run`: on a text, or on the last prompts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from subcog_hooks.cli.decisions import lookup
from subcog_hooks.cli.support.output import pluralize, safe, terminal
from subcog_hooks.core.errors import NoDecision
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
    """A match of a trigger. line, column: its first character, from 1."""

    line: int
    column: int
    text: str


def try_trigger(pattern: str, text: str | None) -> bool:
    """Show the matches of a valid trigger in a text, or the last prompts that it matches. Return whether it matches the text.

    text: None for the last prompts, of which none has to match.
    """
    terminal.result(f"{safe(pattern)}: {_acceptance_text(triggers.any_of_literals(pattern))}")
    compiled = triggers.compile_trigger(pattern)
    if text is None:
        _try_on_prompts(compiled)
        return True
    matches = list(_find_matches(compiled, triggers.plain_text(text)))
    for match in matches[:MAX_MATCHES_SHOWN]:
        last = match.column + max(1, len(match.text)) - 1
        preview = cut(safe(match.text), _PREVIEW_CHARACTERS)
        terminal.result(f"line {match.line}, characters {match.column} to {last}: {preview}")
    if len(matches) > MAX_MATCHES_SHOWN:
        terminal.say(f"and {len(matches) - MAX_MATCHES_SHOWN:,} more")
    if not matches:
        terminal.say("no match")
    return bool(matches)


def _find_matches(compiled: _Regexp, text: str) -> Iterator[Match]:
    line, line_start, counted_to = 1, 0, 0
    for match in compiled.finditer(text):
        start, end = match.span()
        line += text.count("\n", counted_to, start)
        line_start = max(line_start, text.rfind("\n", counted_to, start) + 1)
        counted_to = start
        yield Match(line, start - line_start + 1, text[start:end])


def _try_on_prompts(compiled: _Regexp) -> None:
    prompts = _latest_prompts()
    matched = [decision for decision, text in prompts if compiled.search(triggers.plain_text(text))]
    if not prompts:
        terminal.say("no prompts are kept to try it on; give one with --on")
        return
    of_all = "the only prompt" if len(prompts) == 1 else f"the last {pluralize(len(prompts), 'prompt')}"
    terminal.result(f"would have matched {len(matched)} of {of_all}{':' if matched else ''}")
    for decision in matched[:MAX_MATCHES_SHOWN]:
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
        return f"looked for where a text has {words}"
    return f"each prompt is tried, since no word is in every match: at most {MAX_UNKEYED} such triggers are kept"
