"""The person's stops on a command line: `remember --ask-before` and `--deny`, and how lists and remarks name them."""

from collections.abc import Mapping, Sequence

import typer

from subcog_hooks.cli.claude_code.registration import inspect_registration
from subcog_hooks.cli.support import author, context
from subcog_hooks.cli.support.output import nothing_found, safe, terminal
from subcog_hooks.clients.description import list_clients
from subcog_hooks.core.errors import StoreError, UsageError
from subcog_hooks.cues.command_patterns import check_command_pattern
from subcog_hooks.cues.conditions import conditions_hold
from subcog_hooks.store import stops
from subcog_hooks.store.memory import USER, Memory
from subcog_hooks.store.stops import ASK, DENY


def read_stop_options(ask_before: Sequence[str] | None, deny: Sequence[str] | None, *, yes: bool) -> dict[str, str]:
    """Return the answer to commands by pattern, once the person has confirmed each `--deny`.

    Raises InvalidMemory for a pattern that would not watch, UsageError for an agent, typer.Exit where the person says no.
    """
    answers = {pattern.strip(): ASK for pattern in ask_before or ()} | {pattern.strip(): DENY for pattern in deny or ()}
    if answers and author.is_agent():
        raise UsageError("only the person lets a note stop commands", "run this in a terminal of your own")
    for pattern in answers:
        check_command_pattern(pattern)
    if deny and not yes:
        named = stop_phrase({pattern: answer for pattern, answer in answers.items() if answer == DENY})
        if not terminal.interactive:
            raise UsageError(f"it would be a note that {named}, and nobody is asked here", "give --yes, or use --ask-before")
        if not typer.confirm(f"Store a note that {named}? Your agents then cannot ask you about it.", err=True):
            raise nothing_found("nothing is stored")
    return answers


def check_stop_conditions(answers: Mapping[str, str], when: dict[str, object]) -> None:
    """Raise UsageError for conditions that hold at no command, so that the stops would never count."""
    if not answers:
        return
    if "file" in when:
        raise UsageError("a command has no file, so this note would stop none", "leave the condition on file out")
    if "tool" in when and not conditions_hold({"tool": when["tool"]}, {"tool": "Bash"}):
        raise UsageError("commands are run by the tool Bash, so this note would stop none", "leave the condition on tool out")


def add_stops(memory: Memory, answers: Mapping[str, str]) -> None:
    """Let a stored memory stop commands. Raises UsageError for a memory of another author, StoreError."""
    if not answers:
        return
    if memory.trust != USER:
        raise UsageError(
            f"{memory.id} has this text already, {memory.noted}, and stops no command",
            f"`subcog edit {memory.id} --trust user` vouches for it; then repeat this",
        )
    stops.add_stops(context.home(), memory.id, answers)
    contracts = {client.title: client.contract for client in list_clients() if client.contract}
    able = [title for title, contract in contracts.items() if set(answers.values()) <= set(contract.decisions)]
    terminal.say(f"it {stop_phrase(answers)}, in {' and '.join(['Claude Code', *able])}; other agents only get the note")
    if not inspect_registration().is_running:
        terminal.say("Claude Code does not run the hook yet, so it stops nothing there: `subcog init` registers it")
    terminal.say("a script, an alias or a session elsewhere can hide a command from it")
    terminal.say(f"to end it, in a terminal of your own: subcog edit {memory.id} --no-stop")


def remove_stops(memory: Memory) -> bool:
    """Let a memory stop no command. Return whether it stopped any. Raises StoreError."""
    answers = stops.read_stops(context.home()).get(memory.id)
    if answers:
        stops.remove_stops(context.home(), [memory.id])
        terminal.say(f"it no longer {stop_phrase(answers)}")
    return bool(answers)


def read_stop_phrases() -> dict[str, str]:
    """Return the phrase of each memory that stops commands, by id; of none, with a line, where the file is damaged."""
    try:
        answers_by_id = stops.read_stops(context.home())
    except StoreError as error:
        terminal.say(f"no command is stopped: {error}")
        return {}
    return {id_: stop_phrase(answers) for id_, answers in answers_by_id.items()}


def stop_phrase(answers: Mapping[str, str]) -> str:
    """Say which commands a memory stops, "" for none.

    >>> stop_phrase({"git push*": "ask", "rm -rf *": "deny", "npm publish": "ask"})
    'asks you before `git push*` and `npm publish`, denies `rm -rf *`'
    """
    phrases = []
    for answer, verb in ((ASK, "asks you before"), (DENY, "denies")):
        if named := [f"`{safe(pattern)}`" for pattern in answers if answers[pattern] == answer]:
            phrases.append(f"{verb} {' and '.join(named)}")
    return ", ".join(phrases)
