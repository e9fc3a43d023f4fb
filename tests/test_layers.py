"""Data flows one way (DESIGN section 3): no module imports from its left, no two each other, not for types either."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import subcog_hooks

ROOT = Path(subcog_hooks.__file__).parent
PLAIN = (  # each may import from those behind it
    *("child_environment", "project_variables", "homes", "accepted_homes"),
    *("quiet_imports", "whole_files", "database", "log", "control_characters"),
    *("paths", "regular_files", "deadline", "pace", "wire", "errors", "tables"),
)
LAYERS = (  # each may import from those behind it, and from the plain modules; packages of one layer from none of each other
    ("cli",),
    ("hooks",),
    ("sharing",),
    ("capture",),
    ("recall",),
    ("intent",),
    ("llm", "embed"),
    ("memory",),
    ("cues", "text", "redaction"),
    ("state",),
    ("settings",),
)
PACKAGES = {name for layer in LAYERS for name in layer}
ENTRY = "__main__"  # goes to the hook or to the terminal


def modules() -> dict[str, Path]:
    """All of them by their names below the package, a package's own by the package's."""
    found = {}
    for file in sorted(ROOT.rglob("*.py")):
        name = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        found[name.removesuffix("__init__").rstrip(".")] = file
    return {name: file for name, file in found.items() if name not in ("", ENTRY)}


MODULES = modules()


def imported(file: Path) -> Iterator[str]:
    """The names below the package of what a module imports anywhere, in functions and for types too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name} imports relatively"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            package, _, below = name.partition(".")
            if package == "subcog_hooks" and below:
                yield next((known for known in (below, below.rpartition(".")[0]) if known in MODULES), "")


GRAPH = {name: {other for other in imported(file) if other} for name, file in MODULES.items()}


def place_of(module: str) -> int:
    """How far to the right a module's package stands; plain modules stand behind all packages, in their own order.

    >>> place_of("cli.support.output"), place_of("text.typed") == place_of("cues.globs"), place_of("wire") < place_of("errors")
    (0, True, True)
    """
    package = package_of(module)
    if package in PACKAGES:
        return next(place for place, layer in enumerate(LAYERS) if package in layer)
    return len(LAYERS) + PLAIN.index(package)


def package_of(module: str) -> str:
    return module.split(".", maxsplit=1)[0]


def test_no_module_imports_from_its_left() -> None:
    wrong = [
        (module, other)
        for module in MODULES
        for other in sorted(GRAPH[module])
        if package_of(other) != package_of(module) and place_of(other) <= place_of(module)
    ]
    assert wrong == []


def test_no_modules_import_each_other() -> None:
    try:
        TopologicalSorter(GRAPH).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_every_package_and_every_plain_module_has_its_place() -> None:
    assert {folder.name for folder in ROOT.iterdir() if (folder / "__init__.py").exists()} == PACKAGES
    assert {name for name in MODULES if "." not in name} - PACKAGES == {*PLAIN}


def test_a_circle_is_found() -> None:
    with pytest.raises(CycleError):
        TopologicalSorter({"one": {"other"}, "other": {"one"}}).prepare()
