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
# Phrases of messages that had to be read twice, and a plain form of each
READ_TWICE = {
    r"nothing is found (of|there)": "no notes of these programs were found",
    r"\b(is|was|are) (not )?told\b": "is not listed; decides",
    r"\bnot looked (for|at)\b": "was not checked",
    r"\b(is|it is) known since\b": "is recorded only since",
    r"\bwhether .* (is|are) (gone |stale )?(is )?not known\b": "was not checked",
    r"\bnone is that far|results that far\b": "there are no more results",
    r"\bhold no longer\b": "no longer hold",
    r"\bcould hardly\b": "does not seem to",
    r"\bnothing else (speaks|but)\b": "nothing else supports it",
    r"\bmemories here know\b": "are about",
    r"\bnot looked after\b|\bleft alone for\b": "is not asked for",
    r"\bnear to it\b|\bnearly there\b": "similar to it",
    r"\bnothing can be like\b|\bothers could be like\b": "cannot be compared",
    r"\bto know it by\b": "to recognise it by",
    r"\bas far as the memories\b": "reached the memories",
    r"\btoo large, or too much\b": "too large, or too many",
    r"\bno(thing)? less\b|\bless than\b|\bnot least\b": "at least; fewer than",
    r"\bwhat (agents|a machine|a model) (note|write)s?\b|\bwhat (was|is) kept\b|\bwhat they would\b": "a noun",
    r"\bsince it is wanted\b": "not run yet",
    r"\bwhat is (here|there) stays\b": "memories stay here and on the server",
}
NOUNS = "memories|prompts|sessions|projects|notes|questions|files"
COUNTED = rf"\{{(?!(\w+\.)?[A-Z_]+\}})[^{{}}]+\}} (more |new |other |moved )*({NOUNS})\b(?!, at most)"


def messages() -> Iterator[tuple[str, str]]:
    """Yield the place and the text of each string that a person may read, the code of a value in braces."""
    for path, tree in TREES.items():
        documented = ast.FunctionDef, ast.ClassDef, ast.Module
        docs = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, documented)}
        parts = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", "".join(map(text_of, node.values))
            elif isinstance(node, ast.Constant) and node not in parts and node.value not in docs:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", text_of(node)


def text_of(part: ast.expr) -> str:
    if isinstance(part, ast.FormattedValue):
        return f"{{{ast.unparse(part.value)}}}"
    return part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else ""


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


def test_messages_are_understood_at_first_reading() -> None:
    found = []
    for where, text in messages():
        found += [f"{where} {text!r}: {plain}" for phrase, plain in READ_TWICE.items() if re.search(phrase, text)]
    assert found == []


def test_counted_nouns_have_a_singular() -> None:
    counted = [f"{where} {text!r}: use `pluralize`" for where, text in messages() if re.search(COUNTED, text)]
    assert counted == []
