"""Conditions checked, read from text and written as text."""

from __future__ import annotations

import os

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import InvalidMemory, UsageError
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from subcog_hooks.cues.conditions import Scalar

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


_SIGNS = (">=", "<=", "!=", "!~", "=", "~")  # a sign stands before those that it begins with
_SIGN_CHARACTERS = frozenset("=<>!~")


def from_text(text: str) -> tuple[str, object]:
    """Return a condition's name and the condition itself. Raises InvalidMemory as `condition_checks.check` does.

    `=` and `!=` take one value or several with commas; a text in double quotes is taken as it is.

    >>> from_text("branch=main"), from_text("source!=clear,compact"), from_text("clinician_mode")
    (('branch', 'main'), ('source', {'not': ['clear', 'compact']}), ('clinician_mode', True))
    >>> from_text("days_since_last_session>=7"), from_text("branch~release/*")
    (('days_since_last_session', {'gte': 7}), ('branch', {'glob': 'release/*'}))
    """
    name, rest = _split_at_sign(text)
    sign = next((each for each in _SIGNS if rest.startswith(each)), "")
    given = rest[len(sign) :].strip()
    if not is_name(name):
        raise InvalidMemory(f"when has {name[:80]!r}", EXPECTED_NAME)
    if rest and (not sign or given[:1] == "="):
        raise fault(name, shown_value(rest), "expected one of " + " ".join(_SIGNS) + ", for instance branch=main or prompts>=3")
    kind = KNOWN.get(name, FLAG)
    if not sign and kind not in (TRUTH, FLAG):
        raise fault(name, "it has no value", f"expected {kind}, for instance {name}={_instance(name, kind)}")
    condition = _condition(sign, given, kind)
    check({name: condition})
    return name, condition


def _instance(name: str, kind: str) -> str:
    if name in CHOICES:
        return CHOICES[name][0]
    if kind == TRUTH:
        return "true"
    return (
        "7"
        if kind in (NUMBER, WHOLE)
        else {"branch": "main", "cwd": "/srv/shop", "tool": "Bash", "permission_mode": "plan"}.get(name, "…")
    )


def _condition(sign: str, given: str, kind: str) -> object:
    if not sign:
        return True
    if sign in (">=", "<="):
        return {GTE if sign == ">=" else LTE: _parsed_value(given, kind)}
    if sign in ("~", "!~"):
        like = {GLOB: _unquoted(given)}
        return like if sign == "~" else {NOT: like}
    is_list = "," in given and not _is_quoted(given)
    values = [_parsed_value(each.strip(), kind) for each in given.split(",")] if is_list else _parsed_value(given, kind)
    return values if sign == "=" else {NOT: values}


def from_texts(texts: Sequence[str]) -> dict[str, object]:
    """Return the conditions of several texts, by name: all of a name's hold.

    Raises InvalidMemory, also where two of a name can not be joined.

    >>> from_texts(["prompts>=3", "prompts<=9", "tool!=Bash", "tool!=Edit"])
    {'prompts': {'gte': 3, 'lte': 9}, 'tool': {'not': ['Bash', 'Edit']}}
    """
    when: dict[str, object] = {}
    for text in texts:
        name, condition = from_text(text)
        when[name] = _conjunction(name, when[name], condition) if name in when else condition
    check(when)
    return when


def _conjunction(name: str, first: object, second: object) -> object:
    """Return one condition that holds where both of these do."""
    if first == second:
        return first
    joined = dict(_as_operators(first))
    for operator, operand in _as_operators(second).items():
        if operator not in joined:
            joined[operator] = operand
        elif operator == NOT and not isinstance(joined[NOT], dict) and not isinstance(operand, dict):
            joined[NOT] = [*_listed(joined[NOT]), *_listed(operand)]
        elif joined[operator] != operand:
            raise fault(name, "two conditions that can not be joined", "give one; several values have commas between them")
    return joined


def _as_operators(condition: object) -> dict[str, object]:
    if isinstance(condition, dict):
        return condition
    return {IN if isinstance(condition, list) else EQ: condition}


def _listed(condition: object) -> list[object]:
    return condition if isinstance(condition, list) else [condition]


def flag_from_text(text: str) -> tuple[str, Scalar]:
    """Return a flag's name and its value, true when it has none.

    Raises UsageError, also for a fact that is known without being set.

    >>> flag_from_text("clinician_mode=true"), flag_from_text("mood=tired, but well"), flag_from_text('build="7"')
    (('clinician_mode', True), ('mood', 'tired, but well'), ('build', '7'))
    """
    name, rest = _split_at_sign(text)
    check_flag(name)
    given = rest[1:].strip()
    if rest and (rest[0] != "=" or given[:1] == "="):
        raise UsageError(f"{text[:80]!r} does not set a flag", f"for instance {name}=true")
    value = _parsed_value(given, FLAG) if rest else True
    if isinstance(value, str) and (len(value) > MAX_TEXT or not value.isprintable()):
        raise UsageError(f"{name} is {shown_value(value)}", f"a text has at most {MAX_TEXT:,} characters, in one line")
    return name, value


def fact_from_text(text: str) -> tuple[str, Scalar]:
    """Return the name and the value of a fact or a flag, true when it has none. Raises UsageError.

    >>> fact_from_text("branch=main"), fact_from_text("prompts=3"), fact_from_text("first_prompt"), fact_from_text("mood=ill")
    (('branch', 'main'), ('prompts', 3), ('first_prompt', True), ('mood', 'ill'))
    """
    name, rest = _split_at_sign(text)
    kind = KNOWN.get(name)
    if kind is None:
        return flag_from_text(text)
    given = rest[1:].strip()
    if (rest and rest[0] != "=") or given[:1] == "=" or (not rest and kind != TRUTH):
        raise UsageError(f"{text[:80]!r} does not state a fact", f"for instance {name}={_instance(name, kind)}")
    value = _parsed_value(given, kind) if rest else True
    if kind == PATH:
        value = str(value).replace(os.sep, "/")
    try:
        check({name: value})
    except InvalidMemory as error:
        raise UsageError(f"{name} is {shown_value(value)}", error.hint) from error
    return name, value


def check_flag(name: str) -> None:
    """Raise UsageError unless `name` can be a flag's."""
    if name in KNOWN:
        raise UsageError(f"{name} is known without being set", "a flag has a name of its own, for instance clinician_mode")
    if not is_name(name):
        raise UsageError(f"{name[:80]!r} is no name of a flag", EXPECTED_NAME)


def near(name: str, flags: Collection[str]) -> str | None:
    """Return the known name that a misspelt one is nearest to.

    None for the name of a fact or of a flag that is set, and where none is like it.

    >>> near("brnach", ()), near("permision-mode", ()), near("days_since", ()), near("tools", ["tools"]), near("mood", ())
    ('branch', 'permission_mode', 'days_since_last_session', None, None)
    """
    if name in KNOWN or name in flags:
        return None
    plain = name.lower().replace("-", "_")
    likest = min(KNOWN, key=lambda fact: _distance(plain, fact))
    if _distance(plain, likest) <= (1 if len(plain) < 6 else 2):
        return likest
    return next((fact for fact in KNOWN if len(plain) > 2 and fact.startswith(plain)), None)


def _distance(one: str, other: str) -> int:
    """Return Levenshtein's distance: how many characters are put in, left out or changed."""
    row = list(range(len(other) + 1))
    for place, character in enumerate(one, 1):
        diagonal, row[0] = row[0], place
        for at, their in enumerate(other, 1):
            diagonal, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, diagonal + (character != their))
    return row[-1]


def _split_at_sign(text: str) -> tuple[str, str]:
    """Return the name that a text begins with, and the rest from its sign on."""
    end = next((place for place, character in enumerate(text) if character in _SIGN_CHARACTERS), len(text))
    return text[:end].strip(), text[end:]


def _parsed_value(text: str, kind: str) -> Scalar:
    """Return the value that a text gives a fact of this kind: true, false and numbers as JSON writes them, else a text.

    >>> _parsed_value("7", NUMBER), _parsed_value("7", TEXT)
    (7, '7')
    >>> _parsed_value('"7"', FLAG), _parsed_value("007", FLAG), _parsed_value("NaN", FLAG)
    ('7', '007', 'NaN')
    """
    if kind in (TEXT, PATH):
        return _unquoted(text)
    try:
        value = light_json.loads(text)
    except ValueError:
        return text
    return value if is_scalar(value) else text  # type: ignore[return-value]  # checked


def _is_quoted(text: str) -> bool:
    return len(text) >= 2 and text[0] == text[-1] == '"' and '"' not in text[1:-1]


def _unquoted(text: str) -> str:
    return text[1:-1] if _is_quoted(text) else text
