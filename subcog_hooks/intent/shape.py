"""The shape of a prompt: cues that are no words, such as its length, a question mark, a file that it names."""

from __future__ import annotations

from subcog_hooks.intent.matcher import END, QUESTION, count_words
from subcog_hooks.text.vocabulary import FILLERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.text.typed import Prompt

LENGTHS = (  # of the prompt: below so many different words
    *((3, "1 or 2 words"), (5, "3 or 4 words"), (8, "5 to 7 words"), (13, "8 to 12 words"), (21, "13 to 20 words")),
    *((36, "21 to 35 words"), (71, "36 to 70 words"), (1 << 30, "over 70 words")),
)
CONTENTS = (  # below so many different words that are no fillers
    *((1, "nothing telling"), (2, "1 telling word"), (3, "2 telling words"), (5, "3 or 4 telling words")),
    *((8, "5 to 7 telling words"), (13, "8 to 12 telling words"), (21, "13 to 20 telling words")),
    (1 << 30, "over 20 telling words"),
)

NAMES = (
    *(name for _, name in LENGTHS),
    *(name for _, name in CONTENTS),
    *("a question mark", "a question at the end", "pasted lines", "an error in pasted lines", "a file", "a file by @", "code"),
    *("a number", "a quotation", "a list", "over 3 lines", "over 3 sentences"),
)

_LIST = ("- ", "* ", "1.", "1)", "2.", "2)")
PLATFORM = ".net"
LONGEST_ENDING = 5  # letters behind the dot of a file's name


def cues(prompt: Prompt, words: list[str]) -> list[str]:
    """Return the names of the cues that a prepared prompt shows, of NAMES; `words` are matcher.words_of(prompt.text)."""
    text = prompt.text
    lines = text.split("\n")
    telling = len({word for word in words if word not in FILLERS} - {END, QUESTION})
    count = count_words(words)
    shown = [next(name for below, name in LENGTHS if count < below), next(name for below, name in CONTENTS if telling < below)]
    tests = (
        ("a question mark", QUESTION in words),
        ("a question at the end", QUESTION in words[-2:]),
        ("pasted lines", prompt.pasted > 0),
        ("an error in pasted lines", bool(prompt.error)),
        ("a file", any(map(is_file, words))),
        ("a file by @", "@" in text),
        ("code", "`" in text or "()" in text),
        ("a number", any(map(str.isdigit, words))),
        ("a quotation", text.count('"') > 1),
        ("a list", any(line.startswith(_LIST) for line in lines)),
        ("over 3 lines", len({*lines}) > 3),
        ("over 3 sentences", len({sentence.strip() for sentence in " ".join(words).split(f" {END}")} - {""}) > 3),
    )
    return shown + [name for name, is_shown in tests if is_shown]


def is_file(word: str) -> bool:
    """Return whether a word looks like a file's name or path.

    >>> [is_file(word) for word in ("core.ts", "src/app", "2.17.0", "e.g", "and/or", "...", ".env", ".5")]
    [True, True, False, True, True, False, True, False]
    """
    stem, dot, ending = word.rpartition(".")
    if dot and stem.strip(".") and 0 < len(ending) <= LONGEST_ENDING and ending.isalnum() and not ending.isdigit():
        return True
    return (dot and not stem and ending[:1].isalpha() and word.lower() != PLATFORM) or ("/" in word and len(word) > 3)
