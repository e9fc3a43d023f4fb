"""The signs by which a sentence of a typed turn is worth remembering or not: how it is said, and what stood before it.

No sign knows a subject. `signs.tsv` has the patterns of sentences. Pure.
"""

from __future__ import annotations

import re

from subcog_hooks.core.tables import read_rows
from subcog_hooks.learn.turns import ANSWER, CALL_FAILED, CALL_REFUSED, TypedTurn
from subcog_hooks.text.needs import sentences
from subcog_hooks.text.typed import prepare

MOST_SENTENCES = 60  # of a turn that are looked at
LEAST_SENTENCE = 2  # of a sentence that can be worth anything
LONGEST_SENTENCE = 600  # characters; what is longer is data
INTERCEPT = "intercept"
WORD = "word: "  # begins the sign that a word is in a sentence; which words count, the weights say
OF_A_WORD = 0.8  # the value of such a sign: the other ones say more

_COMPILED = [(name, re.compile(pattern)) for name, pattern in read_rows(__file__, "signs.tsv")]
_PATTERN_OF = dict(_COMPILED)
_OBJECTIONS = ("no", "wrong", "said before", "missed", "time and again", "why you")
_NAMED = re.compile(
    r"`[^`]+`|@[\w./-]+|\b[\w-]+\."
    r"(?:py|js|ts|tsx|jsx|md|json|toml|yaml|yml|css|html|rs|go|java|rb|sh|sql|ex|exs|mdc|txt|cfg|env)\b"
)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_HEADING = re.compile(r"^#{1,6} |^\*\*.+\*\*:?$|:$")
_SLASH = re.compile(r"^/[a-z][\w-]*\s")
_WORD = re.compile(r"[a-z][a-z']*")
_CONTRACTED = {
    word.replace("'", ""): word
    for word in (
        *("don't", "doesn't", "didn't", "isn't", "aren't", "wasn't", "weren't", "can't", "won't", "wouldn't", "shouldn't"),
        *("couldn't", "haven't", "hasn't", "mustn't", "needn't", "that's", "there's", "you're", "they're", "i've"),
    )
}
_BARE = re.compile(rf"\b({'|'.join(_CONTRACTED)})\b")
_LENGTHS = ((3, "3 words"), (7, "7 words"), (14, "14 words"), (28, "28 words"), (60, "60 words"))
_TURN_LENGTHS = ((60, "turn of 60"), (160, "turn of 160"), (400, "turn of 400"), (1_200, "turn of 1,200"))


class Sentence:
    """A sentence of a turn: its text as it was typed, its place among them, and its signs."""

    __slots__ = ("place", "signs", "text")

    def __init__(self, text: str, place: int, signs: dict[str, float]) -> None:
        self.text = text
        self.place = place
        self.signs = signs


def sentences_of(turn: TypedTurn) -> list[Sentence]:
    """Return the sentences that a person typed in a turn, with their signs."""
    prepared = prepare(turn.text)
    texts = [text for text in sentences(prepared.text) if len(text) <= LONGEST_SENTENCE][:MOST_SENTENCES]
    of_turn = _signs_of_turn(turn, prepared.text, len(texts), prepared.pasted)
    objecting = [_objects(text) for text in texts]
    found = []
    for place, text in enumerate(texts):
        words = text.split()
        if len(words) >= LEAST_SENTENCE:
            signs = {INTERCEPT: 1.0, **_signs_of_sentence(text, len(words), place), **of_turn}
            if any(objecting[:place]) or any(objecting[place + 1 :]):
                signs["beside an objection"] = 1.0
            found.append(Sentence(text, place, signs))
    return found


def without_bullet(text: str) -> str:
    """Return a line of a list without its sign.

    >>> without_bullet("- no default exports"), without_bullet("2. run it")
    ('no default exports', 'run it')
    """
    return _BULLET.sub("", text)


def _signs_of_sentence(text: str, words: int, place: int) -> dict[str, float]:
    bare = _BULLET.sub("", text)
    plain = _with_apostrophes(_SLASH.sub("", bare).lower().replace("\u2019", "'"))
    found = {f"{WORD}{word}": OF_A_WORD for word in _WORD.findall(plain)}
    found |= {name: 1.0 for name, pattern in _COMPILED if pattern.search(plain)}
    if plain.rstrip().endswith("?"):
        found["question"] = 1.0
    if len(bare) < len(text):
        found["bullet"] = 1.0
    if _HEADING.search(text):
        found["heading"] = 1.0
    if _NAMED.search(bare):
        found["names code"] = 1.0
    if bare.isupper() or sum(word.isupper() and len(word) > 2 for word in bare.split()) > 1:
        found["loud"] = 1.0
    if "!" in bare:
        found["exclaims"] = 1.0
    if place == 0:
        found["first"] = 1.0
    for most, name in _LENGTHS:
        if words <= most:
            found[name] = 1.0
            break
    return found


def _objects(text: str) -> bool:
    """Return whether a sentence says that the agent did or believed something wrong."""
    plain = _with_apostrophes(text.lower().replace("\u2019", "'"))
    return any(_PATTERN_OF[name].search(plain) for name in _OBJECTIONS)


def _with_apostrophes(text: str) -> str:
    """Return a text in small letters with the apostrophes that people leave out.

    >>> _with_apostrophes("dont just tell me, thats still wrong")
    "don't just tell me, that's still wrong"
    """
    return _BARE.sub(lambda found: _CONTRACTED[found[0]], text)


def _signs_of_turn(turn: TypedTurn, typed: str, count: int, pasted: int) -> dict[str, float]:
    before = turn.before
    length = next((name for most, name in _TURN_LENGTHS if len(typed) <= most), "long turn")
    found = {
        length: True,
        "pasted": pasted > 0,
        "much pasted": pasted > 5,
        "document": len(turn.text) > 4_000,
        "alone": count == 1,
        "opens": turn.place == 0,
        "was asked": before.asked,
        "behind an edit": before.changed,
        "answers a call": turn.kind == ANSWER,
        "refused": before.outcome == CALL_REFUSED,
        "behind a failure": before.outcome == CALL_FAILED,
    }
    return {name: 1.0 for name, holds in found.items() if holds}
