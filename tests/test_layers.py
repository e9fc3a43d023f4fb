"""Data flows one way: no module imports from its left, no two each other, not for types either."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import subcog_hooks

ROOT = Path(subcog_hooks.__file__).parent
LAYERS = (  # a package imports from those behind it, and packages of one layer not from each other
    ("cli",),
    ("hook", "share"),
    ("episodes",),
    ("learn",),
    ("capture",),
    ("recall",),
    ("intent",),
    ("llm", "embed"),
    ("store",),
    ("cues", "redaction"),
    ("text",),
    ("settings",),
    ("clients",),
    ("core",),
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


def layer_of(module: str) -> int:
    """Return the number of a module's layer, counted from the left.

    >>> layer_of("cli.terminal.output"), layer_of("cues.globs") < layer_of("core.errors")
    (0, True)
    """
    return next(number for number, layer in enumerate(LAYERS) if package_of(module) in layer)


def package_of(module: str) -> str:
    return module.split(".", maxsplit=1)[0]


def test_no_module_imports_from_its_left() -> None:
    wrong = [
        (module, other)
        for module in MODULES
        for other in sorted(GRAPH[module])
        if package_of(other) != package_of(module) and layer_of(other) <= layer_of(module)
    ]
    assert wrong == []


def test_no_modules_import_each_other() -> None:
    try:
        TopologicalSorter(GRAPH).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_every_package_has_its_layer() -> None:
    assert {folder.name for folder in ROOT.iterdir() if (folder / "__init__.py").exists()} == PACKAGES
    assert {name for name in MODULES if "." not in name} == PACKAGES


def test_a_circle_is_found() -> None:
    with pytest.raises(CycleError):
        TopologicalSorter({"one": {"other"}, "other": {"one"}}).prepare()
