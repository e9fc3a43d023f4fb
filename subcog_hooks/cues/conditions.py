"""The conditions of a memory on the facts of a hook call, such as branch, tool and source: do they hold? Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeAlias

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


def conditions_hold(when: Mapping[str, object], facts: Mapping[str, Scalar]) -> bool:
    """Return whether all conditions hold, which `condition_syntax` has checked. Texts compare exactly; true is not 1.

    A glob follows `cues.globs` for a path, and `fnmatch` for any other text, where `*` goes past a `/`. A condition on an
    unknown fact does not hold, and neither does its opposite.

    >>> conditions_hold({"branch": {"glob": "release/*"}}, {"branch": "release/7"})
    True
    >>> conditions_hold({}, {}), conditions_hold({"branch": {"not": "main"}}, {})
    (True, False)
    """
    return all(name in facts and _holds(name, condition, facts[name]) for name, condition in when.items())


def as_operators(condition: object) -> dict[str, Any]:
    """Return a condition by its operators: a list is one of its values, any other value must be equal.

    >>> as_operators("main"), as_operators(["main", "next"]), as_operators({"gte": 3})
    ({'eq': 'main'}, {'in': ['main', 'next']}, {'gte': 3})
    """
    return condition if isinstance(condition, dict) else {IN if isinstance(condition, list) else EQ: condition}


def _holds(name: str, condition: object, fact: Scalar) -> bool:
    return all(_operator_holds(name, operator, operand, fact) for operator, operand in as_operators(condition).items())


def _operator_holds(name: str, operator: str, operand: Any, fact: Scalar) -> bool:
    if operator == NOT:
        return not _holds(name, operand, fact)
    if operator in (EQ, IN):
        values = operand if operator == IN else [operand]
        return any(value == fact and isinstance(value, bool) == isinstance(fact, bool) for value in values)
    if operator == GTE:
        return is_number(fact) and bool(fact >= operand)
    if operator == LTE:
        return is_number(fact) and bool(fact <= operand)
    if not isinstance(fact, str):
        return False
    if FACT_KINDS.get(name) == PATH:
        return _matches_path(name, operand, fact)
    from fnmatch import fnmatchcase  # Few conditions have a glob.

    return fnmatchcase(fact, operand)


def is_scalar(value: object) -> bool:
    """Return whether a value is a text, a finite number, true or false."""
    return isinstance(value, str | bool) or is_number(value)


def is_number(value: object) -> bool:
    """Return whether a value is a finite number; true and false are no numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def _matches_path(name: str, glob: str, path: str) -> bool:
    from subcog_hooks.cues import globs  # Few conditions ask for a path.

    glob = globs.expand_home(glob)
    # Work in /srv/shop is work in /srv/shop/**, too.
    folder = glob.removesuffix("**").rstrip("/") if name == "cwd" and glob.endswith(("/", "/**")) else ""
    return globs.matches(glob, path) or (folder != "" and globs.matches(folder, path))
