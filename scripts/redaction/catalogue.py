"""Write subcog_hooks/redaction/catalogue.json from the catalogue of secret patterns that Kingfisher's package carries.

    pip install 'subcog[patterns]' && python -m scripts.redaction.catalogue

The catalogue is that of Betterleaks (MIT, by the author of gitleaks) with a few detectors of Google's Veles (Apache-2.0). The
package is no dependency of subcog itself: its library of 36 MB compiles its rules for seconds, and takes half a second when it
finds them compiled. Its patterns are written for RE2, so the table alone is enough.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

import re2
from kingfisher_sdk import Rules

TABLE = Path(__file__).parents[2] / "subcog_hooks" / "redaction" / "catalogue.json"
SHORTEST_LITERAL = 3  # letters of a literal that a text must hold before a pattern is tried
TOO_GENERAL = {"key", "secret", "token", "password"}  # what stands behind such a name is judged anyway, and better
MOST_LITERALS = 40  # that stand for one pattern
MOST_OF_CLASS = 4  # characters of a class that are written out into literals
TOO_MANY = re.compile(r"\{(\d+),(?:1\d{3}|[2-9]\d{3})\}")  # RE2 counts to 1,000
# What reports names, addresses and hashes of anything.
LEFT_OUT = re.compile(
    r"-(?:id|url|domain|host|username|name)(?:\.\d+)?$|jwt-base64|generic-|kubernetes-secret|private-key|gcp-service-account|curl-auth"
)


def main() -> int:
    argparse.ArgumentParser(prog="python -m scripts.redaction.catalogue", description=__doc__).parse_args()
    rows = []
    rules = Rules(confidence="low", cache=False)
    for entry in sorted(rules.metadata(), key=lambda entry: entry["id"]):
        rule = rules.detail(entry["id"])
        if not rule["visible"] or LEFT_OUT.search(rule["id"]):
            continue
        pattern = TOO_MANY.sub(r"{\1,}", rule["detection_regex"].removeprefix("(?x)"))
        literals = literals_of(pattern)
        if not literals or len(literals) > MOST_LITERALS or literals & TOO_GENERAL:
            print(f"left out, for no literal of its own stands for it: {rule['id']}", file=sys.stderr)
        elif not compiles(pattern):
            print(f"left out, for RE2 refuses it: {rule['id']}", file=sys.stderr)
        else:
            entropy = entropy_of(rule["betterleaks_filter"])
            rows.append([kind_of(rule["id"]), sorted(literals), pattern, rule["betterleaks_secret_group"], entropy])
    lines = ",\n".join(json.dumps(row, ensure_ascii=True) for row in rows)
    TABLE.write_text(f"[\n{lines}\n]\n", encoding="utf-8", newline="\n")
    print(f"{len(rows)} patterns in {TABLE}")
    return 0


def kind_of(identifier: str) -> str:
    """Return what people are told of a rule: its id without its origin and number, in words."""
    name = re.sub(r"\.\d+$", "", identifier.partition(".")[2]).removeprefix("secrets/")
    return name.replace("-", " ").replace("_", " ")


def compiles(pattern: str) -> bool:
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error:
        return False
    return True


def entropy_of(node: object) -> float:
    """Return the bits a character at which the catalogue's own filter begins to believe in a secret, 0 if it has none."""
    found = 0.0
    if isinstance(node, dict):
        if node.get("kind") == "binary" and node.get("operator") in {"<=", "<"} and "entropy" in json.dumps(node.get("left")):
            return float(node["right"]["value"])
        found = max((entropy_of(child) for child in node.values()), default=0.0)
    elif isinstance(node, list):
        found = max((entropy_of(child) for child in node), default=0.0)
    return found


def literals_of(pattern: str) -> set[str]:
    """Return texts in small letters of which every match holds one, or nothing where there are none long enough."""
    plain = re.sub(r"\(\?[a-zA-Z]+\)", "", pattern).replace("[[:alnum:]]", "[a-zA-Z0-9]").replace(r"\z", r"\Z")
    plain = re.sub(r"\(\?-?[a-zA-Z]*(?:-[a-zA-Z]+)?:", "(?:", plain)
    try:
        tree = re._parser.parse(plain)  # type: ignore[attr-defined]  # noqa: SLF001  # private, and so untyped: the only parser there is
    except re.error:
        return set()
    return {literal.lower() for literal in required(tree) or set()}


def required(tree: Any) -> set[str] | None:
    """Return texts of which every match of a parsed pattern holds one, None where there are none."""
    best: set[str] | None = None
    runs: set[str] = {""}
    for kind, argument in [*tree, (None, None)]:
        letters = letters_of(kind, argument)
        if letters and len(runs) * len(letters) <= MOST_LITERALS:
            runs = {run + letter for run in runs for letter in letters}
            continue
        best = better(best, runs)
        runs = set(letters) if letters else {""}
        name = str(kind)
        if name == "SUBPATTERN":
            best = better(best, required(argument[3]))
        elif name == "BRANCH":
            branches = [required(branch) for branch in argument[1]]
            best = better(best, {text for branch in branches for text in branch or ()} if all(branches) else None)
        elif name in {"MAX_REPEAT", "MIN_REPEAT"} and argument[0] >= 1:
            best = better(best, required(argument[2]))
    return best


def letters_of(kind: object, argument: Any) -> list[str]:
    if str(kind) == "LITERAL":
        return [chr(argument)]
    if str(kind) == "IN" and all(str(part) == "LITERAL" for part, _ in argument) and len(argument) <= MOST_OF_CLASS:
        return [chr(code) for _, code in argument]
    return []


def better(one: set[str] | None, other: set[str] | None) -> set[str] | None:
    candidates = [literals for literals in (one, other) if literals and min(map(len, literals)) >= SHORTEST_LITERAL]
    return max(candidates, key=lambda literals: min(map(len, literals)), default=None)


if __name__ == "__main__":
    sys.exit(main())
