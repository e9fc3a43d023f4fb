"""Conditions on the state of a session (S3's state_conditions): checked at entry, judged by facts that are passed in. Pure.

`when` maps names to conditions, and all of them must hold. A condition is a value (the fact is it), a list (the fact is one of
them), or operators by name, of which all hold: eq, in, gte, lte, glob, and not, whose condition has the same forms.
"""

import os

from subcog_hooks import wire
from subcog_hooks.errors import InvalidMemory, UsageError
from subcog_hooks.memory import wildcards

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import TypeAlias

    Scalar: TypeAlias = bool | int | float | str

MAX_CONDITIONS = 200
MAX_VALUES = 200  # of a list
MAX_NAME = 64  # characters
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
CHOICES = {  # all that a fact can be
    "source": ("startup", "resume", "clear", "compact"),
    "platform": ("linux", "macos", "windows"),
}
TOOLS = ("Edit", "Write", "MultiEdit", "NotebookEdit", "Read", "Bash", "Grep", "Glob")  # before which a hook looks
MODES = ("default", "acceptEdits", "plan", "bypassPermissions", "auto", "dontAsk")  # the client's, which may get others

EQ, IN, GTE, LTE, GLOB, NOT = "eq", "in", "gte", "lte", "glob", "not"
OPERATORS = (EQ, IN, GTE, LTE, GLOB, NOT)

_SIGNS = (">=", "<=", "!=", "!~", "=", "~")  # a sign stands before those that it begins with
_SIGN_CHARACTERS = frozenset("=<>!~")
_NAME_MARKS = frozenset("_-.")
_EXPECTED_NAME = f"a name has 1 to {MAX_NAME} letters, digits, _ - and ., and begins with a letter"
_ENDLESS = float("inf")


# ---- at entry -------------------------------------------------------------------------------------------------------------


def check(when: "dict[str, object]") -> None:
    """Raises InvalidMemory naming the first condition that does not hold, and what is expected of it.

    >>> check({"branch": "main", "prompts": {"gte": 3, "not": [5, 7]}, "clinician_mode": True})
    """
    if len(when) > MAX_CONDITIONS:
        raise InvalidMemory(f"when has {len(when)} conditions", f"at most {MAX_CONDITIONS} are kept")
    for name, condition in when.items():
        if not _is_name(name):
            raise InvalidMemory(f"when has {name[:80]!r}", _EXPECTED_NAME)
        _check_condition(name, condition, 1)


def _is_name(name: str) -> bool:
    return 0 < len(name) <= MAX_NAME and name[0].isalpha() and all(each.isalnum() or each in _NAME_MARKS for each in name)


def _check_condition(name: str, condition: object, depth: int) -> None:
    if isinstance(condition, list):
        _check_operator(name, IN, condition, depth)
    elif not isinstance(condition, dict):
        _check_operator(name, EQ, condition, depth)
    elif depth > MAX_DEPTH:
        raise _fault(name, "conditions within conditions", f"at most {MAX_DEPTH} of them")
    elif not condition:
        raise _fault(name, "{}", "expected an operator: " + ", ".join(OPERATORS))
    else:
        for operator, operand in condition.items():
            _check_operator(name, operator, operand, depth)


def _check_operator(name: str, operator: str, operand: object, depth: int) -> None:
    kind = KNOWN.get(name, FLAG)
    if operator == EQ:
        _check_value(name, "", operand, kind)
    elif operator == IN:
        if not isinstance(operand, list) or not 0 < len(operand) <= MAX_VALUES:
            raise _fault(name, f"one of {_cut(operand)}", f"expected a list of 1 to {MAX_VALUES} values")
        for value in operand:
            _check_value(name, "one of ", value, kind)
    elif operator in (GTE, LTE):
        if kind not in (NUMBER, WHOLE, FLAG):
            raise _fault(name, operator, f"it is {kind}, which is not more or less than another")
        _check_value(name, f"{operator} ", operand, NUMBER)
    elif operator == GLOB:
        _check_glob(name, operand, kind)
    elif operator == NOT:
        _check_condition(name, operand, depth + 1)
    else:
        raise _fault(name, f"the operator {_cut(operator)}", "expected one of " + ", ".join(OPERATORS))


def _check_value(name: str, before: str, value: object, kind: str) -> None:
    """Raises InvalidMemory unless a fact of this kind can be this value. before: what stands before it in the message."""
    choices = CHOICES.get(name)
    if choices and value not in choices:
        raise _fault(name, before + _cut(value), "expected one of " + ", ".join(choices))
    if not _is_scalar(value) or not _can_be(value, kind):
        raise _fault(name, before + _cut(value), f"expected {kind}")
    if isinstance(value, str) and not _is_short(value, kind):
        raise _fault(name, before + _cut(value), f"a text has {'0' if kind == FLAG else '1'} to {MAX_TEXT:,} characters")
    _check_can_hold(name, before, value)


def _check_can_hold(name: str, before: str, value: object) -> None:
    """Raises InvalidMemory where no session has this value, although it is of the right kind."""
    known = TOOLS if name == "tool" else MODES if name == "permission_mode" else ()
    if known and value not in known:
        meant = next((each for each in known if each.lower() == str(value).lower()), "")
        if meant or name == "tool":
            expected = f"expected {meant}: case counts" if meant else "expected one of " + ", ".join(known)
            raise _fault(name, before + _cut(value), expected)
    if name == "cwd" and not _is_whole(str(value)):
        raise _fault(name, before + _cut(value), "expected the full path, for instance /srv/shop")


def _is_whole(path: str) -> bool:
    return path.startswith("/") or path[1:3] == ":/"


def _is_short(value: str, kind: str) -> bool:
    return len(value) <= MAX_TEXT and (kind == FLAG or bool(value))


def _can_be(value: object, kind: str) -> bool:
    if kind == TRUTH:
        return isinstance(value, bool)
    if kind == NUMBER:
        return _is_number(value)
    if kind == WHOLE:
        return _is_number(value) and isinstance(value, int)
    return kind == FLAG or isinstance(value, str)


def _check_glob(name: str, glob: object, kind: str) -> None:
    if name in CHOICES:
        raise _fault(name, GLOB, "expected one of " + ", ".join(CHOICES[name]))
    if kind not in (TEXT, PATH, FLAG):
        raise _fault(name, GLOB, f"it is {kind}, and no text")
    if not isinstance(glob, str) or not 0 < len(glob) <= MAX_TEXT:
        raise _fault(name, f"{GLOB} {_cut(glob)}", f"expected a pattern of 1 to {MAX_TEXT:,} characters")
    if name == "tool" and not any(wildcards.matches(glob, tool) for tool in TOOLS):
        raise _fault(name, f"{GLOB} {_cut(glob)}", "expected to match one of " + ", ".join(TOOLS))
    if kind != PATH:
        return
    from subcog_hooks.memory import globs  # .3 ms, as below

    try:
        globs.check(glob)
    except InvalidMemory as error:
        reason = error.message.removeprefix(f"paths has {glob[:80]!r}: ")
        raise _fault(name, f"{GLOB} {_cut(glob)}: {reason}", error.hint) from error
    if name == "cwd" and not globs.is_absolute(glob):
        raise _fault(name, f"{GLOB} {_cut(glob)}", "expected the full path, beginning with / or ~/")


def _fault(name: str, what: str, expected: str) -> InvalidMemory:
    return InvalidMemory(f"when has {name!r}: {what}", expected)


def _cut(value: object) -> str:
    """A value as a message shows it.

    >>> _cut("main"), len(_cut("m" * 100)), _cut([["main"]])
    ("'main'", 80, 'a list')
    """
    if isinstance(value, list | dict):  # which may be nested deeper than repr can go
        return "a list" if isinstance(value, list) else "an object"
    shown = repr(value[:80] if isinstance(value, str) else value)
    return shown if len(shown) <= 80 else shown[:79] + "…"


# ---- in a hook ------------------------------------------------------------------------------------------------------------


def holds(when: "dict[str, object]", facts: "Mapping[str, Scalar]") -> bool:
    """Whether all conditions hold. Texts compare exactly; true is not 1. A glob is one of `memory.globs` for a path, and of
    `memory.wildcards` for any other text.

    A condition that can not be judged does not hold, and neither does its opposite: the fact is unknown, or what an import has
    brought here makes no sense. Never raises.

    >>> holds({"branch": {"glob": "release/*"}}, {"branch": "release/7"}), holds({"branch": {"not": "main"}}, {})
    (True, False)
    """
    return isinstance(when, dict) and all(
        name in facts and _judged(name, condition, facts[name], 1) is True for name, condition in when.items()
    )


def _judged(name: str, condition: object, fact: "Scalar", depth: int) -> bool | None:
    """Whether a condition holds, None where that can not be judged."""
    if isinstance(condition, list):
        return _judged_by(name, IN, condition, fact, depth)
    if not isinstance(condition, dict):
        return _judged_by(name, EQ, condition, fact, depth)
    if not condition or depth > MAX_DEPTH:
        return None
    verdicts = [_judged_by(name, operator, operand, fact, depth) for operator, operand in condition.items()]
    return None if None in verdicts else all(verdicts)


def _judged_by(name: str, operator: str, operand: object, fact: "Scalar", depth: int) -> bool | None:
    if operator == EQ:
        return _is(operand, fact)
    if operator == IN:
        verdicts = [_is(value, fact) for value in operand] if isinstance(operand, list) else []
        return any(verdicts) if verdicts and None not in verdicts else None
    if operator in (GTE, LTE):
        if not _is_number(operand) or not _is_number(fact):
            return None
        return fact >= operand if operator == GTE else fact <= operand  # type: ignore[operator]  # both are numbers
    if operator == GLOB:
        if not isinstance(operand, str) or not isinstance(fact, str) or len(operand) > MAX_TEXT:
            return None
        is_path = KNOWN.get(name) == PATH
        return _is_like_path(name, operand, fact) if is_path else wildcards.matches(operand, fact)
    if operator == NOT:
        verdict = _judged(name, operand, fact, depth + 1)
        return None if verdict is None else not verdict
    return None


def _is(value: object, fact: "Scalar") -> bool | None:
    if not _is_scalar(value):
        return None
    return value == fact and isinstance(value, bool) == isinstance(fact, bool)


def _is_scalar(value: object) -> bool:
    return isinstance(value, str) or _is_number(value) or isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _ENDLESS


def _is_like_path(name: str, glob: str, path: str) -> bool | None:
    from subcog_hooks.memory import globs  # few conditions ask for a path

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


# ---- as people write them -------------------------------------------------------------------------------------------------


def from_text(text: str) -> "tuple[str, object]":
    """A condition's name and the condition itself. Raises InvalidMemory as `check` does.

    `=` and `!=` take one value or several with commas; a text in double quotes is taken as it is.

    >>> from_text("branch=main"), from_text("source!=clear,compact"), from_text("clinician_mode")
    (('branch', 'main'), ('source', {'not': ['clear', 'compact']}), ('clinician_mode', True))
    >>> from_text("days_since_last_session>=7"), from_text("branch~release/*")
    (('days_since_last_session', {'gte': 7}), ('branch', {'glob': 'release/*'}))
    """
    name, rest = _split(text)
    sign = next((each for each in _SIGNS if rest.startswith(each)), "")
    given = rest[len(sign) :].strip()
    if not _is_name(name):
        raise InvalidMemory(f"when has {name[:80]!r}", _EXPECTED_NAME)
    if rest and (not sign or given[:1] == "="):
        raise _fault(name, _cut(rest), "expected one of " + " ".join(_SIGNS) + ", for instance branch=main or prompts>=3")
    kind = KNOWN.get(name, FLAG)
    if not sign and kind not in (TRUTH, FLAG):
        raise _fault(name, "it has no value", f"expected {kind}, for instance {name}={_instance(name, kind)}")
    condition = _condition(sign, given, kind)
    check({name: condition})
    return name, condition


def _instance(name: str, kind: str) -> str:
    if name in CHOICES:
        return CHOICES[name][0]
    return (
        "7"
        if kind in (NUMBER, WHOLE)
        else {"branch": "main", "cwd": "/srv/shop", "tool": "Bash", "permission_mode": "plan"}.get(name, "…")
    )


def _condition(sign: str, given: str, kind: str) -> object:
    if not sign:
        return True
    if sign in (">=", "<="):
        return {GTE if sign == ">=" else LTE: _value(given, kind)}
    if sign in ("~", "!~"):
        like = {GLOB: _unquoted(given)}
        return like if sign == "~" else {NOT: like}
    is_list = "," in given and not _is_quoted(given)
    values = [_value(each.strip(), kind) for each in given.split(",")] if is_list else _value(given, kind)
    return values if sign == "=" else {NOT: values}


def from_texts(texts: "Sequence[str]") -> "dict[str, object]":
    """The conditions of several texts: all of a name's hold. Raises InvalidMemory, also where two of a name can not be joined.

    >>> from_texts(["prompts>=3", "prompts<=9", "tool!=Bash", "tool!=Edit"])
    {'prompts': {'gte': 3, 'lte': 9}, 'tool': {'not': ['Bash', 'Edit']}}
    """
    when: dict[str, object] = {}
    for text in texts:
        name, condition = from_text(text)
        when[name] = _both(name, when[name], condition) if name in when else condition
    check(when)
    return when


def _both(name: str, first: object, second: object) -> object:
    """One condition that holds where both do."""
    if first == second:
        return first
    joined = dict(_by_operator(first))
    for operator, operand in _by_operator(second).items():
        if operator not in joined:
            joined[operator] = operand
        elif operator == NOT and not isinstance(joined[NOT], dict) and not isinstance(operand, dict):
            joined[NOT] = [*_listed(joined[NOT]), *_listed(operand)]
        elif joined[operator] != operand:
            raise _fault(name, "two conditions that can not be joined", "give one; several values have commas between them")
    return joined


def _by_operator(condition: object) -> "dict[str, object]":
    if isinstance(condition, dict):
        return condition
    return {IN if isinstance(condition, list) else EQ: condition}


def _listed(condition: object) -> "list[object]":
    return condition if isinstance(condition, list) else [condition]


def flag_from_text(text: str) -> "tuple[str, Scalar]":
    """A flag's name and its value, true when it has none. Raises UsageError, also for a fact that is known without being set.

    >>> flag_from_text("clinician_mode=true"), flag_from_text("mood=tired, but well"), flag_from_text('build="7"')
    (('clinician_mode', True), ('mood', 'tired, but well'), ('build', '7'))
    """
    name, rest = _split(text)
    check_flag(name)
    given = rest[1:].strip()
    if rest and (rest[0] != "=" or given[:1] == "="):
        raise UsageError(f"{text[:80]!r} does not set a flag", f"for instance {name}=true")
    value = _value(given, FLAG) if rest else True
    if isinstance(value, str) and (len(value) > MAX_TEXT or not value.isprintable()):
        raise UsageError(f"{name} is {_cut(value)}", f"a text has at most {MAX_TEXT:,} characters, in one line")
    return name, value


def check_flag(name: str) -> None:
    """Raises UsageError unless `name` can be a flag's."""
    if name in KNOWN:
        raise UsageError(f"{name} is known without being set", "a flag has a name of its own, for instance clinician_mode")
    if not _is_name(name):
        raise UsageError(f"{name[:80]!r} is no name of a flag", _EXPECTED_NAME)


def near(name: str, flags: "Collection[str]") -> str | None:
    """The fact that was probably meant by a name that is neither one nor a flag that is set; None where none is like it.

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
    """Levenshtein's: how many characters are put in, left out or changed."""
    row = list(range(len(other) + 1))
    for place, character in enumerate(one, 1):
        diagonal, row[0] = row[0], place
        for at, their in enumerate(other, 1):
            diagonal, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, diagonal + (character != their))
    return row[-1]


def _split(text: str) -> tuple[str, str]:
    """The name, and the rest from its sign on."""
    end = next((place for place, character in enumerate(text) if character in _SIGN_CHARACTERS), len(text))
    return text[:end].strip(), text[end:]


def _value(text: str, kind: str) -> "Scalar":
    """What a text says to a fact of this kind: true, false and numbers as JSON writes them, else a text.

    >>> _value("7", NUMBER), _value("7", TEXT), _value('"7"', FLAG), _value("007", FLAG), _value("NaN", FLAG)
    (7, '7', '7', '007', 'NaN')
    """
    if kind in (TEXT, PATH):
        return _unquoted(text)
    try:
        value = wire.loads(text)
    except ValueError:
        return text
    return value if _is_scalar(value) else text  # type: ignore[return-value]  # checked


def _is_quoted(text: str) -> bool:
    return len(text) >= 2 and text[0] == text[-1] == '"' and '"' not in text[1:-1]


def _unquoted(text: str) -> str:
    return text[1:-1] if _is_quoted(text) else text
