"""Input of commands: texts, paths, options and conditions as a person types them, single keys, and queries of a file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress

from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import day, safe, terminal
from subcog_hooks.core.errors import InvalidMemory, UsageError
from subcog_hooks.core.files import working_folder
from subcog_hooks.cues import condition_syntax, globs
from subcog_hooks.cues.conditions import EQ, FACT_KINDS, GLOB, GTE, IN, LTE, NOT
from subcog_hooks.hook import facts
from subcog_hooks.store.memory import PENDING, STATUSES, Memory
from subcog_hooks.store.memory_checks import format_time, parse_time
from subcog_hooks.text import actions
from subcog_hooks.text.standing_rules import is_standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    Answer = Callable[[str, str | None], Mapping[str, object]]  # a text and the optional text, to the fields of its answer

_SIGN_OF = {EQ: "=", IN: "=", GTE: ">=", LTE: "<=", GLOB: "~", NOT: "!="}


def next_key() -> str:
    """Return the next key, without Enter; keys that come at once are one. Raises KeyboardInterrupt at the end of input."""
    from typer import getchar  # loading it takes longer than a search

    try:
        key = getchar()
    except EOFError:
        key = ""
    if not key:
        raise KeyboardInterrupt
    return key


STDIN = "-"


def text_of(words: Sequence[str]) -> str:
    """Return the text that the arguments make; `-` alone reads standard input. Raises UsageError when it is not UTF-8."""
    if list(words) != [STDIN]:
        return readable(" ".join(words))
    return decode(sys.stdin.buffer.read(), "standard input")


def statuses(given: Sequence[str] | None) -> tuple[str, ...]:
    """Return the statuses that `--status` names; () stands for all."""
    if not given:
        return ("active",)
    for name in given:
        if name not in (*STATUSES, "all"):
            raise UsageError(f"--status is {name!r}", "expected one of " + ", ".join((*STATUSES, "all")))
    return () if "all" in given else tuple(given)


def refuse_several(given: Mapping[str, bool]) -> None:
    """Raise UsageError where more than one of these options is given."""
    names = [name for name, is_given in given.items() if is_given]
    if len(names) > 1:
        raise UsageError(f"{' and '.join(names[:2])} exclude each other", "give one of them")


def files_of(paths: Sequence[str] | None, root: str | None) -> list[str]:
    """Return paths in the form that globs match: relative to the project's root where they are below it, with slashes.

    A relative path is resolved against the current folder if it exists there, else against the root.
    """
    files = []
    for name in paths or ():
        path = name
        if root and name and not name.endswith("/"):
            full = os.path.abspath(name if os.path.exists(name) else os.path.join(root, name))
            path = globs.relative_path(full, root) or name
        files.append(path.replace(os.sep, "/").removeprefix("./"))
    return files


def readable(text: str) -> str:
    """Replace each character that UTF-8 cannot encode by `?`, such as half a surrogate pair."""
    return text.encode("utf-8", "replace").decode("utf-8")


def decode(raw: bytes, name: str) -> str:
    """Return a text. Raises UsageError where it is not UTF-8."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not UTF-8 at byte {error.start}", "convert it") from error


def parse_since(text: str | None) -> int | None:
    """Return the time of `--since` in milliseconds, None for none. Raises UsageError."""
    if text is None:
        return None
    try:
        return parse_time(text)
    except ValueError as error:
        raise UsageError(f"--since is {text!r}", "expected a date such as 2026-03-02") from error


def read_expiry(text: str, now: int) -> int:
    """Return the time of `--expires` in milliseconds. Raises InvalidMemory for an invalid or past time."""
    try:
        expires_ms = (
            now + int(text[:-1]) * 86_400_000
            if text.endswith("d") and text[:-1].isascii() and text[:-1].isdecimal()
            else parse_time(text)
        )
        format_time(expires_ms)  # raises OverflowError after the year 9999
    except (ValueError, OverflowError) as error:
        raise InvalidMemory(f"--expires is {text!r}", "expected a date such as 2027-01-31, or days such as 30d") from error
    if expires_ms <= now:
        raise InvalidMemory(f"--expires is {text}, which is past", "give a date to come, or days such as 30d")
    return expires_ms


Value = bool | int | float | str


def stated_facts(texts: Iterable[str]) -> dict[str, Value]:
    """Return the facts that texts such as `branch=main` state, and those of user and folder. Raises UsageError, StoreError."""
    given: dict[str, Value] = {}
    for text in texts:
        name, value = condition_syntax.parse_fact(text)
        if name in given:
            raise UsageError(f"{safe(name)} is stated twice", "a fact has one value")
        given[name] = value
    return {**flag_facts(), **facts_of_place(), **given}


def flag_facts() -> dict[str, Value]:
    """Return the flags that the user has set. Raises StoreError."""
    with context.existing_state(context.home(), tell=terminal.say) as state:
        flags = facts.find_flags(state) if state else {}
    return {name: value for name, value in flags.items() if name not in FACT_KINDS}


def facts_of_place() -> dict[str, Value]:
    """Return the facts known without a session: about the current folder and this machine."""
    return facts.folder_facts(working_folder(), context.here())


def condition_texts(when: Mapping[str, object]) -> list[str]:
    """Return the texts that `parse_conditions` reads as these conditions, in order; JSON, to be shown, where none exist.

    >>> condition_texts({"branch": ["main", "dev"], "prompts": {"gte": 3, "lte": 9}, "calm": True, "a": {"not": {"not": "b"}}})
    ['branch=main,dev', 'prompts>=3', 'prompts<=9', 'calm', '{"a": {"not": {"not": "b"}}}']
    """
    return [text for name, condition in when.items() for text in _texts_of_condition(name, condition)]


def _texts_of_condition(name: str, condition: object) -> list[str]:
    parts = condition if isinstance(condition, dict) else {IN if isinstance(condition, list) else EQ: condition}
    for quote in ("", '"'):
        texts = [_short_text(name, operator, operand, quote) for operator, operand in parts.items()]
        with suppress(InvalidMemory):  # A text of another form.
            is_same = json.dumps(condition_syntax.parse_conditions(texts)) == json.dumps({name: condition})  # 1 and true differ
            if is_same and all(text.isprintable() and text == text.strip() for text in texts):
                return texts
    text = json.dumps({name: condition}, ensure_ascii=False)
    return [text if text.isprintable() else json.dumps({name: condition})]


def _short_text(name: str, operator: str, operand: object, quote: str) -> str:
    """Return a condition of one operator in its short form, which may read as another condition, or as none."""
    if operator == EQ and operand is True:
        return name
    sign = _SIGN_OF.get(operator, "")
    if operator == NOT and isinstance(operand, dict) and list(operand) == [GLOB]:
        sign, operand = "!~", operand[GLOB]
    values = operand if isinstance(operand, list) else [operand]
    return name + sign + ",".join(f"{quote}{value}{quote}" if isinstance(value, str) else json.dumps(value) for value in values)


def moment_remark(memory: Memory) -> str:
    """Describe the scope of a memory and when it is handed over.

    >>> moment_remark(Memory(id="a", content="x", scope="project", project="github.com/acme/shop", paths=("src/**",)))
    'kept in learnings of github.com/acme/shop; it comes when a prompt is about it, or when a tool touches src/**'
    >>> moment_remark(Memory(id="a", content="Run just tidy before you commit."))
    'kept in learnings, for all your projects; it comes when a prompt is about it, or when the agent is about to commit'
    >>> moment_remark(Memory(id="a", content="x", namespace="config", when={"branch": "main"}))
    'kept in config, for all your projects; it comes as soon as branch=main'
    """
    owner = f" of {safe(memory.project)}" if memory.project else ", for all your projects"
    by = f", {memory.noted}" if memory.noted else ""
    waits = "once `subcog review` has accepted it, " if memory.status == PENDING else ""
    return f"kept in {memory.namespace}{owner}{by}; {waits}it comes {_moment_phrase(memory)}"


def _moment_phrase(memory: Memory) -> str:
    when = _join(condition_texts(memory.when), " and ")
    expiry = f", until {day(memory.expires_at)}" if memory.expires_at is not None else ""
    has_cues = bool(memory.triggers or memory.paths)
    if when and not has_cues:
        return f"as soon as {when}{expiry}"
    moments = []
    if not has_cues and memory.is_pinnable:
        moments.append("at the start of every session")
    elif not has_cues and memory.standing:
        moments.append("at the start of sessions, as far as there is room")
    moments.append("when a prompt is about it")
    if memory.keywords:
        moments.append(f"when it names {_join(memory.keywords, ' or ')}")
    if memory.triggers:
        moments.append(f"when a prompt or a command matches {_join(memory.triggers, ' or ')}")
    if memory.paths:
        moments.append(f"when a tool touches {_join(memory.paths, ' or ')}")
    if is_standing(memory.standing, memory.content) and (governed := actions.actions_of_rule(memory.content)):
        moments.append("when the agent is about to " + " or ".join(dict.fromkeys(map(actions.describe_action, governed))))
    joined = ", ".join(moments[:-1]) + ", or " * (len(moments) > 1) + moments[-1]
    return joined + (f", only while {when}" if when else "") + expiry


def _join(values: Iterable[str], word: str) -> str:
    return word.join(map(safe, values))


def answer_lines(source: str, field: str, answer: Answer, *, optional: str = "") -> None:
    """Answer each line of a file or of standard input by a line of JSON with the same id, written at once.

    field: the name of the text in a line; optional: the name of a second text that a line may have. An invalid line is answered
    by its error. Raises UsageError for a file that cannot be read, and the errors of `answer`.
    """
    expected = f'{{"id", "{field}"' + (f', "{optional}"?}}' if optional else "}")
    name = "standard input" if source == STDIN else source
    try:
        lines = nullcontext(sys.stdin.buffer) if source == STDIN else open(source, "rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}", "give a JSONL file, or -") from error
    with lines as opened:
        for number, line in enumerate(opened, 1):
            if not line.strip():
                continue
            key: object = None
            try:
                row = json.loads(line.decode("utf-8-sig"))
                key = row["id"]
                text, other = row[field], row.get(optional)
                if not isinstance(text, str) or not isinstance(other, str | None):
                    raise TypeError
            except (ValueError, TypeError, KeyError, RecursionError):
                terminal.json({"id": key, "error": f"{name} line {number}: expected {expected}"})
            else:
                terminal.json({"id": key, **answer(readable(text), other)})
            terminal.flush()  # the other process may wait for this answer before it asks again
