"""Data flows one way (DESIGN section 3): no module imports from a package to its left."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import subcog_hooks

ROOT = Path(subcog_hooks.__file__).parent
PLAIN = "plain"
RIGHT_OF = {  # what each package may import from, itself aside
    "cli": {"hooks", "capture", "recall", "intent", "embed", "memory", PLAIN},
    "hooks": {"capture", "recall", "intent", "embed", "memory", PLAIN},
    "capture": {"recall", "intent", "embed", "memory", PLAIN},
    "recall": {"intent", "embed", "memory", PLAIN},
    "intent": {"embed", "memory", PLAIN},
    "embed": {"memory", PLAIN},
    "memory": {PLAIN},
    PLAIN: set(),
}
ENTRY = "__main__.py"  # goes to the hook or to the terminal
MODULES = sorted(file for file in ROOT.rglob("*.py") if file.name != ENTRY)


def layer_of(dotted: str) -> str:
    """The layer of a module by its full name.

    >>> layer_of("subcog_hooks.recall.fusion"), layer_of("subcog_hooks.paths")
    ('recall', 'plain')
    """
    parts = dotted.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in RIGHT_OF else PLAIN


def imported(file: Path) -> Iterator[str]:
    """The full names of our modules that a module imports anywhere, in functions and for types too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("subcog_hooks"))
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name} imports relatively"
            if node.module and node.module.split(".")[0] == "subcog_hooks":
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("file", MODULES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_a_module_imports_nothing_from_its_left(file: Path) -> None:
    mine = layer_of(".".join(("subcog_hooks", *file.relative_to(ROOT).with_suffix("").parts)))
    allowed = {mine} | RIGHT_OF[mine]
    assert [name for name in imported(file) if layer_of(name) not in allowed] == []


def test_every_package_is_a_layer() -> None:
    assert {folder.name for folder in ROOT.iterdir() if (folder / "__init__.py").exists()} == {*RIGHT_OF} - {PLAIN}
