"""Permission rules of Claude Code that notes own, written by `remember --ask-before` and `--deny` until the note ends."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce

from subcog_hooks.cli.agents import claude_code, hook_entries
from subcog_hooks.cli.terminal import author, context
from subcog_hooks.cli.terminal.output import abbreviate_home, safe, terminal
from subcog_hooks.core.errors import InvalidMemory, SubcogError, UsageError
from subcog_hooks.core.paths import Home
from subcog_hooks.store.home_files import OwnedRule, change_rules, read_rules
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.store import Store

PERMISSIONS = "permissions"  # in Claude Code's settings
ASK, DENY = "ask", "deny"  # the lists of rules there
HINT = 'give the beginning of one command, such as "git push*"'
# A rule matches the beginning of one simple command: no operators, assignments, quotes around a program, or escapes.
_COMMAND = re.compile(r"[\w./~@+-][\w./~@+*-]*(?: [^;&|<>()`\\]*)?")


def read_patterns(ask_before: Sequence[str] | None, deny: Sequence[str] | None) -> list[tuple[str, str]]:
    """Return (list, pattern of commands) pairs. Raises UsageError for an agent, InvalidMemory for an inexpressible pattern."""
    given = [(ASK, pattern) for pattern in ask_before or ()] + [(DENY, pattern) for pattern in deny or ()]
    patterns = [(kind, " ".join(pattern.replace(":*", " *").split())) for kind, pattern in given]
    if patterns and author.is_agent():
        raise UsageError("only the person sets rules of Claude Code", "run this in a terminal of your own")
    for _, pattern in patterns:
        if not _COMMAND.fullmatch(pattern):
            raise InvalidMemory(f"no rule of Claude Code expresses {pattern[:80]!r}", HINT)
    return patterns


def rule_of(pattern: str) -> str:
    """Return the rule for commands that begin as a pattern says.

    >>> rule_of("git push*"), rule_of("git push")
    ('Bash(git push*)', 'Bash(git push *)')
    """
    return f"Bash({pattern})" if "*" in pattern else f"Bash({pattern} *)"


def trigger_of(pattern: str) -> str:
    r"""Return the trigger that brings a note beside such a command.

    >>> trigger_of("git push*"), trigger_of("rm -rf *"), trigger_of("kubectl * delete")
    ('\\bgit\\s+push', '\\brm\\s+\\-rf\\b', '\\bkubectl\\s+.*\\s+delete\\b')
    """
    words = pattern.removesuffix("*").split()
    is_open = pattern.endswith("*") and not pattern.endswith(" *")
    regex = r"\s+".join(".*".join(map(re.escape, word.split("*"))) for word in words)
    begins, ends = words[0][0].isalnum(), words[-1][-1].isalnum() and not is_open
    return r"\b" * begins + regex + r"\b" * ends


def add_rules(memory: Memory, patterns: Sequence[tuple[str, str]]) -> None:
    """Write rules into the person's settings. A stored memory owns the new rules. Raises ConfigError, StoreError."""
    if not patterns:
        return
    if not os.path.isdir(claude_code.config_folder()):
        terminal.say(f"no rule is set: Claude Code has no settings in {claude_code.config_folder()}; agents only get the note")
        return
    home, path = context.home(), claude_code.settings_files()[claude_code.USER]
    rules = [OwnedRule(memory.id, path, kind, rule_of(pattern)) for kind, pattern in patterns]
    before, _ = _change_settings(path, lambda text: reduce(_with_rule, rules, text))
    owned = {rule.place for rule in read_rules(home)}
    own = [rule for rule in rules if rule.place in owned or _with_rule(before, rule) != before]
    change_rules(home, lambda earlier: list(dict.fromkeys((*earlier, *own))))
    for rule in rules:
        fact = "until this note ends" if rule in own else "which had it before, so it stays when this note ends"
        terminal.say(f"{rule.kind}: {safe(rule.rule)} in {abbreviate_home(path)}, {fact}")
    terminal.say("it holds in all projects, in Claude Code alone; scripts, aliases and `bash -c` pass: `subcog help cues`")


def take_back_ended(home: Home) -> None:
    """Remove the rules of memories that have ended, and say so."""
    try:
        rules = read_rules(home)
        if not rules:
            return
        with Store.reader(home) as store:
            memory_of, now = store.by_ids([rule.memory for rule in rules]), now_ms()
        ended = [rule for rule in rules if rule.memory not in memory_of or not memory_of[rule.memory].is_live(now)]
        kept = {rule.place for rule in rules if rule not in ended}
        for rule in ended:
            if rule.place not in kept:
                _change_settings(rule.path, partial(remove_rules, [rule]))
                where = abbreviate_home(rule.path)
                terminal.say(f"{rule.kind}: {safe(rule.rule)} is taken out of {where}, as the note {rule.memory} has ended")
        if ended:
            change_rules(home, lambda rules: [rule for rule in rules if rule not in ended])
    except SubcogError as error:  # The next command tries again.
        terminal.say(f"a rule of a note that has ended stays: {error}")


def describe_rules(memory: Memory) -> str:
    """Return the rules that a memory owns, "" for none."""
    return ", ".join(f"{rule.kind}: {rule.rule}" for rule in read_rules(context.home()) if rule.memory == memory.id)


def _change_settings(path: str, change: Callable[[str | None], str | None]) -> tuple[str | None, str | None]:
    with claude_code.faults_named(f"{path} has no rules as Claude Code writes them"):
        return claude_code.change_settings(path, change)


def _with_rule(text: str | None, rule: OwnedRule) -> str:
    if text is None:
        return hook_entries.dump_json({PERMISSIONS: {rule.kind: [rule.rule]}})
    hook_entries.refuse_comments(text)
    return text if _find_rule(text, rule) else hook_entries.add_to_list(text, (PERMISSIONS, rule.kind), rule.rule)


def remove_rules(rules: Iterable[OwnedRule], text: str | None) -> str | None:
    """Return settings (None for no file) without these rules. Raises ValueError for invalid JSON."""
    for rule in rules:
        if text is not None and (element := _find_rule(text, rule)):
            path = [*hook_entries.find_path(text, PERMISSIONS, rule.kind), element]
            text = hook_entries.drop_emptied(text, hook_entries.remove_last(text, path), PERMISSIONS)
    return text


def _find_rule(text: str, rule: OwnedRule) -> hook_entries.Member | None:
    elements = hook_entries.list_elements(text, PERMISSIONS, rule.kind)
    return next((element for element in elements if element.value == rule.rule), None)
