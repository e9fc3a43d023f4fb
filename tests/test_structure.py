"""Names: a function's says what is done to what, and no name stands for several things."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import subcog_hooks

ROOT = Path(subcog_hooks.__file__).parent
TREES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts): ast.parse(file.read_text(encoding="utf-8"))
    for file in sorted(ROOT.rglob("*.py"))
}

# Names that tell nothing without the body: `of(settings)`, `lower(hits)`, `_parts(text)`, `_of_bars(value)`, `_by_path(file)`.
VAGUE = re.compile(r"of|_of|lower|parts|_parts|_read|_(of|to|by)_\w+")


def vague_functions() -> set[str]:
    """Return the functions whose names say nothing, each behind its module."""
    return {
        f"{module}.{node.name}"
        for module, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and VAGUE.fullmatch(node.name)
    }


def repeated_classes() -> set[str]:
    """Return the names of classes that several modules define."""
    modules = defaultdict(set)
    for module, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                modules[node.name].add(module)
    return {name for name, defining in modules.items() if len(defining) > 1}


def repeated_constants() -> set[str]:
    """Return the names of public constants that more than two modules define, and not all with one value."""
    values = defaultdict(list)
    for tree in TREES.values():
        for name, value in constants(tree).items():
            values[name].append(value)
    return {name for name, defined in values.items() if len(defined) > 2 and len(set(defined)) > 1}


def constants(tree: ast.Module) -> dict[str, str]:
    """Return the public constants of a module with their values as they are written.

    >>> constants(ast.parse("WAIT_MS, MAX_READ = 20, 4_000\\n_HINT = 'try'\\nLIMIT: int = 3\\nRED, GREEN = range(2)"))
    {'WAIT_MS': '20', 'MAX_READ': '4000', 'LIMIT': '3', 'RED': '0 of range(2)', 'GREEN': '1 of range(2)'}
    """
    found = {}
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                for place, name in enumerate(names):
                    if isinstance(name, ast.Name) and name.id.isupper() and not name.id.startswith("_"):
                        found[name.id] = value_at(node.value, place, len(names))
    return found


def value_at(value: ast.expr, place: int, names: int) -> str:
    """Return what the name at this place is given, where that stands there by itself."""
    if names == 1:
        return ast.unparse(value)
    if isinstance(value, ast.Tuple) and len(value.elts) == names:
        return ast.unparse(value.elts[place])
    return f"{place} of {ast.unparse(value)}"


def test_a_functions_name_says_what_is_done_to_what() -> None:
    assert vague_functions() == set()


def test_a_class_has_its_name_for_itself() -> None:
    assert repeated_classes() == set()


def test_a_constants_name_says_what_it_bounds() -> None:
    assert repeated_constants() == set()
