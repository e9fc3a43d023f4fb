"""Names in a sentence: paths, addresses, identifiers, numbers."""

import re
from collections.abc import Iterator

EDGES = "\"'`()[],;:!?.…“”‘’"  # around a word
_NAME_CHARACTERS = frozenset("`<>{}\\@$=|_/#~")


def find_names(sentence: str) -> Iterator[str]:
    """Yield the words of a sentence that name something: paths, addresses, identifiers, numbers; in lower case.

    >>> list(find_names("Run `make lint` from src/api, never curl https://x.example/run."))
    ['make', 'lint', 'src/api', 'https://x.example/run']
    """
    in_code = False
    for word in sentence.casefold().split():
        ticks = word.count("`")
        bare = word.strip(EDGES)
        has_dot = "." in bare and len(bare) > len("e.g")
        if bare and (in_code or ticks or has_dot or set(bare) & _NAME_CHARACTERS or any(map(str.isdigit, bare))):
            yield bare
        in_code ^= bool(ticks % 2)


def has_name(text: str, name: str) -> bool:
    """Return whether a text in lower case has a whole name: 1984 does not contain 8.

    >>> has_name("stage 18, in src/api/v2", "src/api"), has_name("stage 18", "8")
    (True, False)
    """
    return name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def has_parts(text: str, name: str) -> bool:
    """Return whether a text has all parts of a name: elixir and phoenix for elixir/phoenix."""
    parts = [part.removesuffix("s") for part in re.split(r"[-/_.`]", name) if part]
    return len(name) > 1 and all(len(part) > 1 and re.search(rf"(?<!\w){re.escape(part)}", text) for part in parts)
