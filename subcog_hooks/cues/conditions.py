"""The conditions of a memory on the facts of a hook call, such as branch, tool and source: do they hold? Pure."""

from __future__ import annotations

from subcog_hooks.core.errors import InvalidMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    Scalar: TypeAlias = bool | int | float | str

TOOLS = ("Edit", "Write", "MultiEdit", "NotebookEdit", "Read", "Bash", "Grep", "Glob")
READING = "Read"  # It shows the model a file.
SEARCHES = ("Grep", "Glob")  # They search files, and touch a file only if their path names it.
POWERSHELL = "PowerShell"  # On Windows without Git Bash it is the only shell.
# Parts of the names of other tools, such as a server's, that change a file or show it.
CHANGES, SHOWS = ("edit", "write", "replace", "insert", "patch"), ("read", "file")

MAX_TEXT = 1_000  # characters of a value
MAX_DEPTH = 4  # conditions nested by `not`

TRUTH, NUMBER, WHOLE, TEXT, PATH = "true or false", "a number", "a whole number", "a text", "a path"
FLAG = "true, false, a number or a text"

FACT_KINDS = {  # the kind of each fact; every other name is a flag of the user's
    "first_prompt": TRUTH,
    "first_session": TRUTH,
    "returning_user": TRUTH,
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


def conditions_hold(when: dict[str, object], facts: Mapping[str, Scalar]) -> bool:
    """Return whether all conditions hold. Texts compare exactly; true is not 1. Never raises.

    A glob follows `cues.globs` for a path, and `fnmatch` for any other text, where `*` goes past a `/`.

    A condition on an unknown fact, or a malformed one from an import, does not hold, and neither does its opposite.

    >>> conditions_hold({"branch": {"glob": "release/*"}}, {"branch": "release/7"})
    True
    >>> conditions_hold({}, {}), conditions_hold({"branch": {"not": "main"}}, {})
    (True, False)
    """
    return isinstance(when, dict) and all(
        name in facts and _judge_condition(name, condition, facts[name], 1) is True for name, condition in when.items()
    )


def as_operators(condition: object) -> dict[str, object]:
    """Return a condition by its operators: a list is one of its values, any other value must be equal.

    >>> as_operators("main"), as_operators(["main", "next"]), as_operators({"gte": 3})
    ({'eq': 'main'}, {'in': ['main', 'next']}, {'gte': 3})
    """
    return condition if isinstance(condition, dict) else {IN if isinstance(condition, list) else EQ: condition}


def _judge_condition(name: str, condition: object, fact: Scalar, depth: int) -> bool | None:
    """Return whether a condition holds, None if it cannot be judged."""
    if isinstance(condition, dict) and (not condition or depth > MAX_DEPTH):
        return None
    verdicts = [_judge_operator(name, operator, operand, fact, depth) for operator, operand in as_operators(condition).items()]
    return None if None in verdicts else all(verdicts)


def _judge_operator(name: str, operator: str, operand: object, fact: Scalar, depth: int) -> bool | None:
    if operator == EQ:
        return _equals(operand, fact)
    if operator == IN:
        verdicts = [_equals(value, fact) for value in operand] if isinstance(operand, list) else []
        return any(verdicts) if verdicts and None not in verdicts else None
    if operator in (GTE, LTE):
        if not is_number(operand) or not is_number(fact):
            return None
        return fact >= operand if operator == GTE else fact <= operand  # type: ignore[operator]  # both are numbers
    if operator == GLOB:
        if not isinstance(operand, str) or not isinstance(fact, str) or len(operand) > MAX_TEXT:
            return None
        if FACT_KINDS.get(name) == PATH:
            return _matches_path(name, operand, fact)
        from fnmatch import fnmatchcase  # Few conditions have a glob.

        return fnmatchcase(fact, operand)
    if operator == NOT:
        verdict = _judge_condition(name, operand, fact, depth + 1)
        return None if verdict is None else not verdict
    return None


def _equals(value: object, fact: Scalar) -> bool | None:
    if not is_scalar(value):
        return None
    return value == fact and isinstance(value, bool) == isinstance(fact, bool)


def is_scalar(value: object) -> bool:
    """Return whether a value is a text, a finite number, true or false."""
    return isinstance(value, str) or is_number(value) or isinstance(value, bool)


def is_number(value: object) -> bool:
    """Return whether a value is a finite number; true and false are no numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def _matches_path(name: str, glob: str, path: str) -> bool | None:
    from subcog_hooks.cues import globs  # Few conditions ask for a path.

    try:
        globs.check_glob(glob)
    except InvalidMemory:
        return None
    if name == "cwd" and not globs.is_absolute(glob):
        return None
    glob = globs.expand_home(glob)
    if globs.matches(glob, path):
        return True
    # Work in /srv/shop is work in /srv/shop/**, too.
    folder = glob.removesuffix("**").rstrip("/") if name == "cwd" and glob.endswith(("/", "/**")) else ""
    return bool(folder) and globs.matches(folder, path)
