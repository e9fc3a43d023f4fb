"""Conditions on the state of a session: whether they hold, by facts that are passed in. Pure.

`when` maps names to conditions, and all of them must hold. A condition is a value (the fact is it), a list (the fact is one of
them), or operators by name, of which all hold: eq, in, gte, lte, glob, and not, whose condition has the same forms.
"""

from __future__ import annotations

import os

from subcog_hooks.core.errors import InvalidMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    Scalar: TypeAlias = bool | int | float | str

MAX_TEXT = 1_000  # characters of a value
MAX_DEPTH = 4  # conditions within each other by `not`

TRUTH, NUMBER, WHOLE, TEXT, PATH = "true or false", "a number", "a whole number", "a text", "a path"
FLAG = "true, false, a number or a text"

KNOWN = {  # the facts, and what each is; every other name is a flag of the user's
    "first_prompt": TRUTH,
    "first_session": TRUTH,
    "source": TEXT,
    "days_since_last_session": NUMBER,
    "branch": TEXT,
    "cwd": PATH,
    "project": TEXT,
    "permission_mode": TEXT,
    "tool": TEXT,
    "file": PATH,
    "prompts": WHOLE,
    "platform": TEXT,
}

EQ, IN, GTE, LTE, GLOB, NOT = "eq", "in", "gte", "lte", "glob", "not"

_ENDLESS = float("inf")


def holds(when: dict[str, object], facts: Mapping[str, Scalar]) -> bool:
    """Return whether all conditions hold. Texts compare exactly; true is not 1.

    A glob follows `cues.globs` for a path, and `fnmatch` for any other text, where `*` goes past a `/`.

    A condition that can not be judged does not hold, and neither does its opposite: the fact is unknown, or what an import has
    brought here makes no sense. Never raises.

    >>> holds({"branch": {"glob": "release/*"}}, {"branch": "release/7"}), holds({"branch": {"not": "main"}}, {})
    (True, False)
    """
    return isinstance(when, dict) and all(
        name in facts and _judged(name, condition, facts[name], 1) is True for name, condition in when.items()
    )


def _judged(name: str, condition: object, fact: Scalar, depth: int) -> bool | None:
    """Return whether a condition holds, None where that can not be judged."""
    if isinstance(condition, list):
        return _judged_by(name, IN, condition, fact, depth)
    if not isinstance(condition, dict):
        return _judged_by(name, EQ, condition, fact, depth)
    if not condition or depth > MAX_DEPTH:
        return None
    verdicts = [_judged_by(name, operator, operand, fact, depth) for operator, operand in condition.items()]
    return None if None in verdicts else all(verdicts)


def _judged_by(name: str, operator: str, operand: object, fact: Scalar, depth: int) -> bool | None:
    if operator == EQ:
        return _is(operand, fact)
    if operator == IN:
        verdicts = [_is(value, fact) for value in operand] if isinstance(operand, list) else []
        return any(verdicts) if verdicts and None not in verdicts else None
    if operator in (GTE, LTE):
        if not is_number(operand) or not is_number(fact):
            return None
        return fact >= operand if operator == GTE else fact <= operand  # type: ignore[operator]  # both are numbers
    if operator == GLOB:
        if not isinstance(operand, str) or not isinstance(fact, str) or len(operand) > MAX_TEXT:
            return None
        if KNOWN.get(name) == PATH:
            return _is_like_path(name, operand, fact)
        from fnmatch import fnmatchcase  # few conditions have a glob

        return fnmatchcase(fact, operand)
    if operator == NOT:
        verdict = _judged(name, operand, fact, depth + 1)
        return None if verdict is None else not verdict
    return None


def _is(value: object, fact: Scalar) -> bool | None:
    if not is_scalar(value):
        return None
    return value == fact and isinstance(value, bool) == isinstance(fact, bool)


def is_scalar(value: object) -> bool:
    """Return whether a value is a text, a finite number, true or false."""
    return isinstance(value, str) or is_number(value) or isinstance(value, bool)


def is_number(value: object) -> bool:
    """Return whether a value is a finite number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _ENDLESS


def _is_like_path(name: str, glob: str, path: str) -> bool | None:
    from subcog_hooks.cues import globs  # few conditions ask for a path

    try:
        globs.check(glob)
    except InvalidMemory:
        return None
    if name == "cwd" and not globs.is_absolute(glob):
        return None
    glob = globs.absolute(glob, os.path.expanduser("~"))
    if globs.matches(glob, path):
        return True
    # work in /srv/shop is work in /srv/shop/** too
    folder = glob.removesuffix("**").rstrip("/") if name == "cwd" and glob.endswith(("/", "/**")) else ""
    return bool(folder) and globs.matches(folder, path)
