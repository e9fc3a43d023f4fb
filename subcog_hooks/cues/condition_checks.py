"""Conditions at entry: what is wrong with them, said in one line. What can never hold is refused."""

from __future__ import annotations

from subcog_hooks.cues.conditions import (
    EQ,
    FLAG,
    GLOB,
    GTE,
    IN,
    KNOWN,
    LTE,
    MAX_DEPTH,
    MAX_TEXT,
    NOT,
    NUMBER,
    PATH,
    TEXT,
    TRUTH,
    WHOLE,
    is_number,
    is_scalar,
)
from subcog_hooks.cues.tools import TOOLS
from subcog_hooks.errors import InvalidMemory

MAX_CONDITIONS = 200  # of a memory: as many as any list of it may have entries (model.MAX_LIST)
MAX_VALUES = 200  # of a list
MAX_NAME = 64  # characters

CHOICES = {  # all that a fact can be
    "source": ("startup", "resume", "clear", "compact"),
    "platform": ("linux", "macos", "windows"),
}
MODES = ("default", "acceptEdits", "plan", "bypassPermissions", "auto", "dontAsk")  # the client's, which may get others
OPERATORS = (EQ, IN, GTE, LTE, GLOB, NOT)
EXPECTED_NAME = f"a name has 1 to {MAX_NAME} letters, digits, _ - and ., and begins with a letter"

_NAME_MARKS = frozenset("_-.")


def check(when: dict[str, object]) -> None:
    """Raise InvalidMemory for the first condition that can not hold. The message says what is expected of it.

    >>> check({"branch": "main", "prompts": {"gte": 3, "not": [5, 7]}, "clinician_mode": True})
    """
    if len(when) > MAX_CONDITIONS:
        raise InvalidMemory(f"when has {len(when)} conditions", f"at most {MAX_CONDITIONS} are kept")
    for name, condition in when.items():
        if not is_name(name):
            raise InvalidMemory(f"when has {name[:80]!r}", EXPECTED_NAME)
        _check_condition(name, condition, 1)


def is_name(name: str) -> bool:
    """Return whether a fact or a flag may have this name."""
    return 0 < len(name) <= MAX_NAME and name[0].isalpha() and all(each.isalnum() or each in _NAME_MARKS for each in name)


def _check_condition(name: str, condition: object, depth: int) -> None:
    if isinstance(condition, list):
        _check_operator(name, IN, condition, depth)
    elif not isinstance(condition, dict):
        _check_operator(name, EQ, condition, depth)
    elif depth > MAX_DEPTH:
        raise fault(name, "conditions within conditions", f"at most {MAX_DEPTH} of them")
    elif not condition:
        raise fault(name, "{}", "expected an operator: " + ", ".join(OPERATORS))
    else:
        for operator, operand in condition.items():
            _check_operator(name, operator, operand, depth)


def _check_operator(name: str, operator: str, operand: object, depth: int) -> None:
    kind = KNOWN.get(name, FLAG)
    if operator == EQ:
        _check_value(name, "", operand, kind)
    elif operator == IN:
        if not isinstance(operand, list) or not 0 < len(operand) <= MAX_VALUES:
            raise fault(name, f"one of {shown_value(operand)}", f"expected a list of 1 to {MAX_VALUES} values")
        for value in operand:
            _check_value(name, "one of ", value, kind)
    elif operator in (GTE, LTE):
        if kind not in (NUMBER, WHOLE, FLAG):
            raise fault(name, operator, f"it is {kind}, which is not more or less than another")
        _check_value(name, f"{operator} ", operand, NUMBER)
    elif operator == GLOB:
        _check_glob(name, operand, kind)
    elif operator == NOT:
        _check_condition(name, operand, depth + 1)
    else:
        raise fault(name, f"the operator {shown_value(operator)}", "expected one of " + ", ".join(OPERATORS))


def _check_value(name: str, before: str, value: object, kind: str) -> None:
    """Raise InvalidMemory unless a fact of this kind can be this value.

    before: what stands before it in the message.
    """
    choices = CHOICES.get(name)
    if choices and value not in choices:
        raise fault(name, before + shown_value(value), "expected one of " + ", ".join(choices))
    if not is_scalar(value) or not _can_be(value, kind):
        raise fault(name, before + shown_value(value), f"expected {kind}")
    if isinstance(value, str) and not _is_short(value, kind):
        raise fault(name, before + shown_value(value), f"a text has {'0' if kind == FLAG else '1'} to {MAX_TEXT:,} characters")
    _check_can_hold(name, before, value)


def _check_can_hold(name: str, before: str, value: object) -> None:
    """Raise InvalidMemory where no session has this value, although it is of the right kind."""
    known = TOOLS if name == "tool" else MODES if name == "permission_mode" else ()
    if known and value not in known:
        meant = next((each for each in known if each.lower() == str(value).lower()), "")
        if meant or name == "tool":
            expected = f"expected {meant}: case counts" if meant else "expected one of " + ", ".join(known)
            raise fault(name, before + shown_value(value), expected)
    if name == "cwd" and not _is_whole(str(value)):
        raise fault(name, before + shown_value(value), "expected the full path, for instance /srv/shop")


def _is_whole(path: str) -> bool:
    return path.startswith("/") or path[1:3] == ":/"


def _is_short(value: str, kind: str) -> bool:
    return len(value) <= MAX_TEXT and (kind == FLAG or bool(value))


def _can_be(value: object, kind: str) -> bool:
    if kind == TRUTH:
        return isinstance(value, bool)
    if kind == NUMBER:
        return is_number(value)
    if kind == WHOLE:
        return is_number(value) and isinstance(value, int)
    return kind == FLAG or isinstance(value, str)


def _check_glob(name: str, glob: object, kind: str) -> None:
    if name in CHOICES:
        raise fault(name, GLOB, "expected one of " + ", ".join(CHOICES[name]))
    if kind not in (TEXT, PATH, FLAG):
        raise fault(name, GLOB, f"it is {kind}, and no text")
    if not isinstance(glob, str) or not 0 < len(glob) <= MAX_TEXT:
        raise fault(name, f"{GLOB} {shown_value(glob)}", f"expected a pattern of 1 to {MAX_TEXT:,} characters")
    from fnmatch import fnmatchcase  # few conditions have a glob

    if name == "tool" and not any(fnmatchcase(tool, glob) for tool in TOOLS):
        raise fault(name, f"{GLOB} {shown_value(glob)}", "expected to match one of " + ", ".join(TOOLS))
    if kind != PATH:
        return
    from subcog_hooks.cues import globs  # .3 ms, as below

    try:
        globs.check(glob)
    except InvalidMemory as error:
        reason = error.message.removeprefix(f"paths has {glob[:80]!r}: ")
        raise fault(name, f"{GLOB} {shown_value(glob)}: {reason}", error.hint) from error
    if name == "cwd" and not globs.is_absolute(glob):
        raise fault(name, f"{GLOB} {shown_value(glob)}", "expected the full path, beginning with / or ~/")


def fault(name: str, what: str, expected: str) -> InvalidMemory:
    """Return the error of a condition: its name, what is wrong with it, and what is expected."""
    return InvalidMemory(f"when has {name!r}: {what}", expected)


def shown_value(value: object) -> str:
    """Return a value as a message shows it.

    >>> shown_value("main"), len(shown_value("m" * 100)), shown_value([["main"]])
    ("'main'", 80, 'a list')
    """
    if isinstance(value, list | dict):  # which may be nested deeper than repr can go
        return "a list" if isinstance(value, list) else "an object"
    shown = repr(value[:80] if isinstance(value, str) else value)
    return shown if len(shown) <= 80 else shown[:79] + "…"
