"""Conditions and flags as people write them: branch=main, prompts>=3, tool!=Bash, clinician_mode."""

from __future__ import annotations

import os

from subcog_hooks import wire
from subcog_hooks.cues.condition_checks import CHOICES, EXPECTED_NAME, check, fault, is_name, shown_value
from subcog_hooks.cues.conditions import (
    EQ,
    FLAG,
    GLOB,
    GTE,
    IN,
    KNOWN,
    LTE,
    MAX_TEXT,
    NOT,
    NUMBER,
    PATH,
    TEXT,
    TRUTH,
    WHOLE,
    is_scalar,
)
from subcog_hooks.errors import InvalidMemory, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from subcog_hooks.cues.conditions import Scalar

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
        value = wire.loads(text)
    except ValueError:
        return text
    return value if is_scalar(value) else text  # type: ignore[return-value]  # checked


def _is_quoted(text: str) -> bool:
    return len(text) >= 2 and text[0] == text[-1] == '"' and '"' not in text[1:-1]


def _unquoted(text: str) -> str:
    return text[1:-1] if _is_quoted(text) else text
