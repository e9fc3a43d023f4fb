"""Checks of conditions, and their textual form."""

from __future__ import annotations

import os

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import InvalidMemory, UsageError
from subcog_hooks.cues import conditions
from subcog_hooks.cues.conditions import EQ, FLAG, GLOB, GTE, IN, LTE, MAX_TEXT, NOT, NUMBER, PATH, TEXT, TRUTH, WHOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.cues.conditions import Scalar

MAX_CONDITIONS = 200  # conditions of a memory, as many as entries of any of its lists (model.MAX_LIST)
MAX_VALUES = 200  # values of a list
MAX_NAME = 64  # characters

CHOICES = {  # the only values of these facts
    "source": ("startup", "resume", "clear", "compact", "fork"),
    "platform": ("linux", "macos", "windows"),
    "tool": conditions.TOOLS,
}
OPERATORS = (EQ, IN, GTE, LTE, GLOB, NOT)
EXPECTED_NAME = f"a name has 1 to {MAX_NAME} letters, digits, _ - and ., and begins with a letter"


def check_conditions(when: dict[str, object]) -> None:
    """Raise InvalidMemory for the first condition that cannot hold, with the expected form.

    >>> check_conditions({"branch": "main", "prompts": {"gte": 3, "not": [5, 7]}, "clinician_mode": True})
    """
    if len(when) > MAX_CONDITIONS:
        raise InvalidMemory(f"when has {len(when)} conditions", f"at most {MAX_CONDITIONS} are kept")
    for name, condition in when.items():
        if not is_valid_name(name):
            raise InvalidMemory(f"when has {name[:80]!r}", EXPECTED_NAME)
        _check_condition(name, condition, 1)


def is_valid_name(name: str) -> bool:
    """Return whether a fact or a flag may have this name."""
    is_plain = all(character.isalnum() or character in "_-." for character in name)
    return is_plain and 0 < len(name) <= MAX_NAME and name[0].isalpha()


def _check_condition(name: str, condition: object, depth: int) -> None:
    if isinstance(condition, dict) and depth > conditions.MAX_DEPTH:
        raise condition_error(name, "conditions within conditions", f"at most {conditions.MAX_DEPTH} of them")
    if condition == {}:
        raise condition_error(name, "{}", "expected an operator: " + ", ".join(OPERATORS))
    for operator, operand in conditions.as_operators(condition).items():
        _check_operator(name, operator, operand, depth)


def _check_operator(name: str, operator: str, operand: object, depth: int) -> None:
    kind = conditions.FACT_KINDS.get(name, FLAG)
    if operator == EQ:
        _check_value(name, "", operand, kind)
    elif operator == IN:
        if not isinstance(operand, list) or not 0 < len(operand) <= MAX_VALUES:
            raise condition_error(name, f"one of {format_value(operand)}", f"expected a list of 1 to {MAX_VALUES} values")
        for value in operand:
            _check_value(name, "one of ", value, kind)
    elif operator in (GTE, LTE):
        if kind not in (NUMBER, WHOLE, FLAG):
            raise condition_error(name, operator, f"it is {kind}, which has no order")
        _check_value(name, f"{operator} ", operand, NUMBER)
    elif operator == GLOB:
        _check_glob(name, operand, kind)
    elif operator == NOT:
        _check_condition(name, operand, depth + 1)
    else:
        raise condition_error(name, f"the operator {format_value(operator)}", "expected one of " + ", ".join(OPERATORS))


def _check_value(name: str, prefix: str, value: object, kind: str) -> None:
    """Raise InvalidMemory unless a session can have this value of a fact. prefix: begins the message's value."""
    if expected := _expected_value(name, value, kind):
        raise condition_error(name, prefix + format_value(value), expected)


def _expected_value(name: str, value: object, kind: str) -> str:
    """Return the form that a value of a fact should have, "" for a value that some session has."""
    choices = CHOICES.get(name)
    if choices and value not in choices:
        return "expected one of " + ", ".join(choices)
    if kind == TRUTH:
        has_kind = isinstance(value, bool)
    elif kind in (NUMBER, WHOLE):
        has_kind = conditions.is_number(value) and (kind == NUMBER or isinstance(value, int))
    else:
        has_kind = isinstance(value, str) if kind != FLAG else conditions.is_scalar(value)
    if not has_kind:
        return f"expected {kind}"
    min_length = 0 if kind == FLAG else 1
    if isinstance(value, str) and not min_length <= len(value) <= MAX_TEXT:
        return f"a text has {min_length} to {MAX_TEXT:,} characters"
    text = str(value)
    if kind == PATH and "\\" in text:
        return "use / between folders, on Windows too"
    if name == "cwd" and not text.startswith("/") and text[1:3] != ":/":
        return "expected the full path, for instance /srv/shop"
    return ""


def _check_glob(name: str, glob: object, kind: str) -> None:
    if kind not in (TEXT, PATH, FLAG):
        raise condition_error(name, GLOB, f"it is {kind}, and no text")
    problem = f"{GLOB} {format_value(glob)}"
    if not isinstance(glob, str) or not 0 < len(glob) <= MAX_TEXT:
        raise condition_error(name, problem, f"expected a pattern of 1 to {MAX_TEXT:,} characters")
    if kind != PATH:
        from fnmatch import fnmatchcase  # Few conditions have a glob.

        if name in CHOICES and not any(fnmatchcase(choice, glob) for choice in CHOICES[name]):
            raise condition_error(name, problem, f"expected to match one of {', '.join(CHOICES[name])}")
        return
    from subcog_hooks.cues import globs  # The import takes .3 ms.

    try:
        globs.check_glob(glob)
    except InvalidMemory as error:
        reason = error.message.removeprefix(f"paths has {glob[:80]!r}: ")
        raise condition_error(name, f"{problem}: {reason}", error.hint) from error
    if name == "cwd" and not globs.is_absolute(glob):
        raise condition_error(name, problem, "expected the full path, beginning with / or ~/")


def condition_error(name: str, problem: str, expected: str) -> InvalidMemory:
    """Return the error of a condition: its name, the problem, and the expectation."""
    return InvalidMemory(f"when has {name!r}: {problem}", expected)


def format_value(value: object) -> str:
    """Return a value as a message shows it.

    >>> format_value("main"), len(format_value("m" * 100)), format_value([["main"]])
    ("'main'", 80, 'a list')
    """
    if isinstance(value, list | dict):  # It may be nested deeper than repr can go.
        return "a list" if isinstance(value, list) else "an object"
    text = repr(value[:80] if isinstance(value, str) else value)
    return text if len(text) <= 80 else text[:79] + "…"


_EXAMPLES = "for instance branch=main or prompts>=3"
_SIGNS = (">=", "<=", "!=", "!~", "=", "~")  # A longer sign stands before its own beginning.


def parse_condition(text: str) -> tuple[str, object]:
    """Parse a condition, and return its name and value. Raises InvalidMemory like `check_conditions`.

    `=` and `!=` take one value or several with commas; a text in double quotes is taken literally.

    >>> parse_condition("branch=main"), parse_condition("source!=clear,compact"), parse_condition("clinician_mode")
    (('branch', 'main'), ('source', {'not': ['clear', 'compact']}), ('clinician_mode', True))
    >>> parse_condition("days_since_last_session>=7"), parse_condition("branch~release/*")
    (('days_since_last_session', {'gte': 7}), ('branch', {'glob': 'release/*'}))
    """
    name, rest = _split_at_sign(text)
    sign = next((candidate for candidate in _SIGNS if rest.startswith(candidate)), "")
    operand = rest[len(sign) :].strip()
    if not is_valid_name(name):
        raise InvalidMemory(f"when has {name[:80]!r}", EXPECTED_NAME)
    if rest and (not sign or operand[:1] == "="):
        raise condition_error(name, format_value(rest), f"expected one of {' '.join(_SIGNS)}, {_EXAMPLES}")
    kind = conditions.FACT_KINDS.get(name, FLAG)
    if not sign and kind not in (TRUTH, FLAG):
        raise condition_error(name, "it has no value", f"expected {kind}, {_EXAMPLES}")
    condition: object = True
    if sign in (">=", "<="):
        condition = {GTE if sign == ">=" else LTE: _parse_value(operand, kind)}
    elif sign in ("~", "!~"):
        condition = {GLOB: _unquote(operand)}
    elif sign:
        values = [operand] if _is_quoted(operand) else operand.split(",")
        parsed = [_parse_value(value.strip(), kind) for value in values]
        condition = parsed if len(parsed) > 1 else parsed[0]
    if sign.startswith("!"):
        condition = {NOT: condition}
    check_conditions({name: condition})
    return name, condition


def parse_conditions(texts: Sequence[str]) -> dict[str, object]:
    """Parse several conditions into a map by name; all conditions of a name must hold.

    Raises InvalidMemory, also where two conditions of a name cannot be joined.

    >>> parse_conditions(["prompts>=3", "prompts<=9", "tool!=Bash,Edit"])
    {'prompts': {'gte': 3, 'lte': 9}, 'tool': {'not': ['Bash', 'Edit']}}
    """
    when: dict[str, object] = {}
    for text in texts:
        name, condition = parse_condition(text)
        if name in when and when[name] != condition:
            first, second = conditions.as_operators(when[name]), conditions.as_operators(condition)
            if not first.keys().isdisjoint(second):
                hint = "give one; several values have commas between them"
                raise condition_error(name, "two conditions that cannot be joined", hint)
            condition = {**first, **second}
        when[name] = condition
    check_conditions(when)
    return when


def parse_flag(text: str) -> tuple[str, Scalar]:
    """Parse a flag, and return its name and value, true without a value.

    Raises UsageError, also for the name of a fact.

    >>> parse_flag("clinician_mode=true"), parse_flag("mood=tired, but well"), parse_flag('build="7"')
    (('clinician_mode', True), ('mood', 'tired, but well'), ('build', '7'))
    """
    name, rest = _split_at_sign(text)
    check_flag(name)
    value_text = rest[1:].strip()
    if rest and (rest[0] != "=" or value_text[:1] == "="):
        raise UsageError(f"{text[:80]!r} does not set a flag", f"for instance {name}=true")
    value = _parse_value(value_text, FLAG) if rest else True
    if isinstance(value, str) and (len(value) > MAX_TEXT or not value.isprintable()):
        raise UsageError(f"{name} is {format_value(value)}", f"a text has at most {MAX_TEXT:,} characters, in one line")
    return name, value


def parse_fact(text: str) -> tuple[str, Scalar]:
    """Parse a fact or a flag, and return its name and value, true without a value. Raises UsageError.

    >>> parse_fact("branch=main"), parse_fact("prompts=3"), parse_fact("first_prompt"), parse_fact("mood=ill")
    (('branch', 'main'), ('prompts', 3), ('first_prompt', True), ('mood', 'ill'))
    """
    name, rest = _split_at_sign(text)
    kind = conditions.FACT_KINDS.get(name)
    if kind is None:
        return parse_flag(text)
    value_text = rest[1:].strip()
    if (rest and rest[0] != "=") or value_text[:1] == "=" or (not rest and kind != TRUTH):
        raise UsageError(f"{text[:80]!r} does not state a fact", "for instance branch=main")
    value = _parse_value(value_text, kind) if rest else True
    if kind == PATH:
        value = str(value).replace(os.sep, "/")
    try:
        check_conditions({name: value})
    except InvalidMemory as error:
        raise UsageError(f"{name} is {format_value(value)}", error.hint) from error
    return name, value


def check_flag(name: str) -> None:
    """Raise UsageError unless a flag may have this name."""
    if name in conditions.FACT_KINDS:
        raise UsageError(f"{name} is known without being set", "a flag has a name of its own, for instance clinician_mode")
    if not is_valid_name(name):
        raise UsageError(f"{name[:80]!r} is no name of a flag", EXPECTED_NAME)


def _split_at_sign(text: str) -> tuple[str, str]:
    end = next((index for index, character in enumerate(text) if character in "=<>!~"), len(text))
    return text[:end].strip(), text[end:]


def _parse_value(text: str, kind: str) -> Scalar:
    """Parse a fact's value: true, false and numbers as in JSON, other texts as they are.

    >>> _parse_value("7", NUMBER), _parse_value("7", TEXT)
    (7, '7')
    >>> _parse_value('"7"', FLAG), _parse_value("007", FLAG), _parse_value("NaN", FLAG)
    ('7', '007', 'NaN')
    """
    if kind in (TEXT, PATH):
        return _unquote(text)
    try:
        value = light_json.loads(text)
    except ValueError:
        return text
    return value if conditions.is_scalar(value) else text  # type: ignore[return-value]  # is_scalar checks it


def _is_quoted(text: str) -> bool:
    return len(text) >= 2 and text[0] == text[-1] == '"' and '"' not in text[1:-1]


def _unquote(text: str) -> str:
    return text[1:-1] if _is_quoted(text) else text
