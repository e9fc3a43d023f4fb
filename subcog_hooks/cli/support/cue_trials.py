"""Trials of cues before a memory has them: triggers on texts, and the actions for which a note can be promised."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence

from subcog_hooks.cli.decisions import lookup
from subcog_hooks.cli.support import context
from subcog_hooks.cli.support.output import pluralize, safe, terminal
from subcog_hooks.core.errors import SubcogError
from subcog_hooks.core.paths import working_folder
from subcog_hooks.cues import triggers
from subcog_hooks.hook import dry_run
from subcog_hooks.store import recorded_decisions
from subcog_hooks.store.cue_tables import MAX_UNKEYED
from subcog_hooks.store.decision import Decision
from subcog_hooks.store.decision_log import MAX_DECISIONS
from subcog_hooks.store.memory import Memory
from subcog_hooks.text import actions
from subcog_hooks.text.sanitise import cut
from subcog_hooks.text.standing_rules import is_standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re2 import _Regexp

MAX_TRIED = 4  # calls that are tried for an action

MAX_PROMPTS = 100  # latest prompts that are tried
MAX_MATCHES_SHOWN = 20
_PREVIEW_CHARACTERS = 100


def find_governed(memory: Memory) -> Sequence[str]:
    """Return the actions that a rule is to come at, by its text."""
    return actions.actions_of_rule(memory.content) if is_standing(memory.standing, memory.content) else ()


def find_promised(memory: Memory) -> Sequence[str]:
    """Return the actions at which the hook brings a memory, after a remark about the others.

    A memory that waits, has conditions, or is of another project cannot be tried here: its text decides.
    """
    governed = find_governed(memory)
    here = context.here()
    is_here = memory.project is None or (here is not None and memory.project in here.names)
    if not governed or memory.when or not is_here or not memory.is_live(memory.updated_at):
        return governed
    folder = here.root if here else working_folder()
    promised = []
    for action in governed:
        calls = actions.example_calls(action, memory.content)[:MAX_TRIED]
        if any(_brings(memory, tool, tool_input, folder) for tool, tool_input in calls):
            promised.append(action)
        else:
            remedy = _describe_remedy(memory, [tool_input["command"] for tool, tool_input in calls if tool == "Bash"])
            terminal.say(f"it does not come when the agent is about to {actions.describe_action(action)}{remedy}")
    return promised


def _describe_remedy(memory: Memory, commands: Sequence[str]) -> str:
    if not context.settings()["surfacing.tools"]:
        return ": surfacing.tools is false"
    return f'; to make it come: subcog edit {memory.id} --trigger "{commands[0]}"' if commands else ""


def _brings(memory: Memory, tool: str, tool_input: dict[str, str], folder: str) -> bool:
    if "file_path" in tool_input:
        tool_input = {**tool_input, "file_path": os.path.join(folder, tool_input["file_path"])}
    try:
        return memory.id in dry_run.find_ids_at_call(tool, tool_input, folder, context.home())
    except (SubcogError, OSError):
        return False


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
    for line, column, matched in matches[:MAX_MATCHES_SHOWN]:
        last = column + max(1, len(matched)) - 1
        terminal.result(f"line {line}, characters {column} to {last}: {cut(safe(matched), _PREVIEW_CHARACTERS)}")
    if len(matches) > MAX_MATCHES_SHOWN:
        terminal.say(f"and {len(matches) - MAX_MATCHES_SHOWN:,} more")
    if not matches:
        terminal.say("no match")
    return bool(matches)


def _find_matches(compiled: _Regexp, text: str) -> Iterator[tuple[int, int, str]]:
    """Yield each match of a trigger with the line and column of its first character, from 1."""
    line, line_start, counted_to = 1, 0, 0
    for match in compiled.finditer(text):
        start, end = match.span()
        line += text.count("\n", counted_to, start)
        line_start = max(line_start, text.rfind("\n", counted_to, start) + 1)
        counted_to = start
        yield line, start - line_start + 1, text[start:end]


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
    with context.existing_state(context.home(), tell=terminal.say) as state:
        latest = recorded_decisions.find_latest(state, MAX_DECISIONS) if state else []
    return [(decision, decision.prompt) for decision in latest if decision.prompt is not None][:MAX_PROMPTS]


def _acceptance_text(literals: tuple[str, ...]) -> str:
    if literals:
        words = " or ".join(safe(json.dumps(literal, ensure_ascii=False)) for literal in literals)
        return f"looked for where a text has {words}"
    return f"each prompt is tried, since no word is in every match: at most {MAX_UNKEYED} such triggers are kept"
