"""The words of the house: a stranger understands a name without its neighbours, and a sentence at first reading."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import subcog_hooks

ROOT = Path(subcog_hooks.__file__).parent
TESTS = Path(__file__).parent
SOURCES = {path: path.read_text(encoding="utf-8") for path in sorted(ROOT.rglob("*.py"))}
TREES = {path: ast.parse(source) for path, source in SOURCES.items()}
TOPICS = {path: path.read_text(encoding="utf-8") for path in sorted(ROOT.rglob("topics/*.md"))}

# A relative or a stand-in without its noun. The noun is named instead: memory, hit, prompt, threshold, author.
HEADLESS = re.compile(
    r"\b(what|whatever|whoever|those (that|who|of)|that of|the ones?|so (many|much)|of which|as above|where that|all that)\b",
    re.IGNORECASE,
)
MAX_HEADLESS = 0.02  # of first docstring lines
# Variables that name neither the thing nor the unit
VAGUE = frozenset(("one", "at", "told", "most", "least", "place", "known", "said", "found"))
MAX_VAGUE = 40
PARTICIPLES = frozenset(
    "told shown held kept said known found given made sought written read set put left taken drawn chosen brought bought "
    "thought meant spent sent lent built cut seen done gone begun borne".split()
)
VERBS = frozenset(("read", "set", "put", "cut", "feed", "need", "seed", "embed", "proceed", "shed"))
# Names that are no word of the field
METAPHORS = frozenset("worth sought occasion rest breath decided upkeep".split())
MAX_TEST_NAME = 60  # characters


def definitions() -> Iterator[tuple[Path, ast.FunctionDef | ast.ClassDef | ast.Module]]:
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                yield path, node


def is_participle(name: str) -> bool:
    """Return whether a name is a participle alone.

    >>> is_participle("_weighed"), is_participle("told"), is_participle("read"), is_participle("shown_memories")
    (True, True, False, False)
    """
    word = name.strip("_")
    return word not in VERBS and (word in PARTICIPLES or bool(re.fullmatch(r"[a-z]+ed", word)))


def test_first_lines_of_docstrings_name_their_noun() -> None:
    lines = []
    for path, node in definitions():
        if text := ast.get_docstring(node):
            lines.append(f"{path.relative_to(ROOT)}: {text.splitlines()[0]}")
    headless = [line for line in lines if HEADLESS.search(line)]
    assert len(headless) <= MAX_HEADLESS * len(lines), "\n".join(headless)


def test_no_function_is_a_bare_participle() -> None:
    bare = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path, node in definitions()
        if isinstance(node, ast.FunctionDef) and is_participle(node.name) and not is_property(node)
    ]
    assert bare == []


def is_property(node: ast.FunctionDef) -> bool:
    return any(isinstance(decorator, ast.Name) and decorator.id == "property" for decorator in node.decorator_list)


def test_variables_name_the_thing_and_the_unit() -> None:
    vague = []
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE:
                vague.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.id}")
            elif isinstance(node, ast.arg) and node.arg in VAGUE:
                vague.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.arg}")
    assert len(vague) <= MAX_VAGUE, "\n".join(vague)


def test_no_module_or_class_is_a_metaphor() -> None:
    modules = [path for path in TREES if path.stem in METAPHORS or path.parent.name in METAPHORS]
    classes = [node.name for _, node in definitions() if isinstance(node, ast.ClassDef) and node.name.lower() in METAPHORS]
    assert (modules, classes) == ([], [])


def test_no_two_modules_share_a_name() -> None:
    paths_by_name = defaultdict(list)
    for path in TREES:
        if path.stem != "__init__" and path.parent.name != "cli":  # a command has the name of its feature
            paths_by_name[path.stem].append(str(path.relative_to(ROOT)))
    assert [paths for paths in paths_by_name.values() if len(paths) > 1] == []


def test_cannot_is_one_word() -> None:
    split = [path.name for path, text in (SOURCES | TOPICS).items() if re.search(r"\bcan not\b", text)]
    assert split == []


def test_names_of_tests_are_short() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(TESTS.rglob("test_*.py"))]
    names = [node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    long = [name for name in names if name.startswith("test_") and len(name) > MAX_TEST_NAME]
    assert long == []
