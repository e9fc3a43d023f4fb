"""The docstrings: each says in its first word what is done, and each example in them gives what it says."""

import ast
import doctest
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import subcog_hooks

MODULES = [
    module.name for module in pkgutil.walk_packages(subcog_hooks.__path__, "subcog_hooks.") if "__main__" not in module.name
]

# What a function does, in the imperative. A new one is added here by whoever needs it: no noun and no other form of a verb.
VERBS = frozenset(
    """
    Add Answer Append Archive Ask Begin Break Bring Build Change Check Choose Copy Decide Delete Derive
    Close Count Discount Draw Embed Empty End Erase Explain Export Fetch Find Forget Give Hand Hold Import Index Install Join
    Judge Keep Leave Let List Load Look Make Mark Measure Move Name Note Open Pack Pin Prepare Print Propose Put Raise Read
    Rebuild Record Refuse Register Remember Remove Replace Replay Return Run Say Search See Send Set Show Silence
    Start Store Switch Take Tell Test Turn Undo Wait Weigh Work Write Yield
    Activate Apply Assign Collect Compile Compute Convert Describe Drop Extend Fold Format Group Insert Inspect Learn
    Lower Parse Plan Quote Resolve Restore Split Synchronise Trim Update
    """.split()
)
# "What …", "Whether …" leave out the verb; "The same …", "As …" can not be understood without the neighbour.
BANNED = re.compile(r"(What|Whether|Which|How|The same|As|They)\b")
# An `__init__` may say nothing but what its arguments mean: "given: ids of …", "wait_ms, work_ms: milliseconds …".
ARGUMENTS = re.compile(r"[a-z_]+(, [a-z_]+)*: ")


def docstrings(name: str) -> Iterator[tuple[str, str, bool]]:
    """Yield each docstring of a module: whose it is, its text, and whether it has to begin with a verb."""
    path = importlib.import_module(name).__file__
    assert path is not None
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node)
            if text is not None:
                is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not is_property(node)
                is_of_arguments = getattr(node, "name", "") == "__init__" and ARGUMENTS.match(text) is not None
                yield getattr(node, "name", name), text, is_function and not is_of_arguments


def is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function is read like a field, so that a noun describes it."""
    return any(ast.unparse(decorator).endswith("property") for decorator in function.decorator_list)


def first_word(text: str) -> str:
    """Return the first word of a docstring as it is written.

    >>> first_word("Return it."), first_word("`text` in one case"), first_word("Finds it")
    ('Return', '`text`', 'Finds')
    """
    return text.split(maxsplit=1)[0].rstrip(",.:;")


def test_the_examples_in_docstrings_hold() -> None:
    assert [name for name in MODULES if doctest.testmod(importlib.import_module(name)).failed] == []


def test_a_function_docstring_begins_with_a_verb() -> None:
    faults = [
        (name, owner, text.split("\n")[0])
        for name in MODULES
        for owner, text, says_an_act in docstrings(name)
        if says_an_act and first_word(text) not in VERBS
    ]
    assert faults == []


def test_a_docstring_is_understood_without_its_neighbour() -> None:
    faults = [
        (name, owner, text.split("\n")[0]) for name in MODULES for owner, text, _ in docstrings(name) if BANNED.match(text)
    ]
    assert faults == []


def test_each_verb_is_in_the_imperative() -> None:
    assert [verb for verb in VERBS if not verb.istitle() or (verb.endswith("s") and not verb.endswith("ss"))] == []
