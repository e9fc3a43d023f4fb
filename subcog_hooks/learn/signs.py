"""A typed turn, the events before it in its session, and the signs that it is worth remembering."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass, field, replace

from subcog_hooks.capture.compose import replace_surrogates
from subcog_hooks.core.files import read_rows
from subcog_hooks.text.prompt_needs import split_sentences
from subcog_hooks.text.typed_prompt import prepare_prompt

TYPED, QUEUED, ANSWER, NOTE, ACCEPTED = "typed", "queued", "answer", "note", "accepted"  # the kinds of turns
CALL_FAILED, CALL_REFUSED = "failed", "refused"  # outcomes of the tool call before a turn


@dataclass(slots=True)
class Before:
    """The events between a turn and the turn before.

    tool, path, command: the last tool call and its arguments, "" for none; outcome: CALL_FAILED, CALL_REFUSED or ""; changed: a
    call changed a file; asked: the agent's last words were a question.
    """

    tool: str = ""
    path: str = ""
    command: str = ""
    outcome: str = ""
    changed: bool = field(default=False, kw_only=True)
    asked: bool = field(default=False, kw_only=True)


@dataclass(slots=True)
class TypedTurn:
    """A turn that the person typed.

    kind: how it was entered; uuid: of its row, "" if rows have none; session: its id; at_ms: milliseconds since the epoch, 0
    for unknown; folder: the session's; position: the number of turns before it; offset: of its row, bytes from the beginning.
    reply: the agent's closing words before the next turn, without code; reply_uuid: of their row. Lone surrogates become
    U+FFFD.
    """

    text: str
    before: Before
    _: KW_ONLY
    kind: str = TYPED
    uuid: str = ""
    session: str = ""
    at_ms: int = 0
    folder: str = ""
    branch: str = ""
    position: int = 0
    offset: int = 0
    reply: str = ""
    reply_uuid: str = ""

    def __post_init__(self) -> None:
        self.text = replace_surrogates(self.text)
        self.session = replace_surrogates(self.session)
        self.folder = replace_surrogates(self.folder)

    def with_text(self, text: str) -> TypedTurn:
        return replace(self, text=text)


MAX_SENTENCES = 60  # sentences of a turn
MIN_SENTENCE_WORDS = 2  # words of a sentence that can be proposed
MAX_SENTENCE_LENGTH = 600  # characters; a longer sentence is data
INTERCEPT = "intercept"
WORD_PREFIX = "word: "  # prefix of the sign for a word; only words with a weight count
WORD_VALUE = 0.8  # the value of such a sign, since other signs say more

_PATTERNS = [(name, re.compile(pattern)) for name, pattern in read_rows(__file__, "signs.tsv")]
_PATTERN_OF = dict(_PATTERNS)
_OBJECTIONS = ("no", "wrong", "said before", "missed", "time and again", "why you")
_CODE_NAME = re.compile(
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
_WITHOUT_APOSTROPHE = re.compile(rf"\b({'|'.join(_CONTRACTED)})\b")
_LENGTHS = ((3, "3 words"), (7, "7 words"), (14, "14 words"), (28, "28 words"), (60, "60 words"))
_TURN_LENGTHS = ((60, "turn of 60"), (160, "turn of 160"), (400, "turn of 400"), (1_200, "turn of 1,200"))


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a turn as it was typed, with its position and its signs."""

    text: str
    position: int
    signs: dict[str, float]


def read_sentences(turn: TypedTurn) -> list[Sentence]:
    """Return the typed sentences of a turn with their signs."""
    prepared = prepare_prompt(turn.text)
    texts = [text for text in split_sentences(prepared.text) if len(text) <= MAX_SENTENCE_LENGTH][:MAX_SENTENCES]
    of_turn = _turn_signs(turn, prepared.text, len(texts), prepared.pasted)
    objecting = [_is_objection(text) for text in texts]
    typed_sentences = []
    for position, text in enumerate(texts):
        words = text.split()
        if len(words) >= MIN_SENTENCE_WORDS:
            signs = {INTERCEPT: 1.0, **_sentence_signs(text, len(words), position), **of_turn}
            if any(objecting[:position]) or any(objecting[position + 1 :]):
                signs["beside an objection"] = 1.0
            typed_sentences.append(Sentence(text, position, signs))
    return typed_sentences


def strip_bullet(text: str) -> str:
    """Return a list's line without its bullet.

    >>> strip_bullet("- no default exports"), strip_bullet("2. run it")
    ('no default exports', 'run it')
    """
    return _BULLET.sub("", text)


def _sentence_signs(text: str, words: int, position: int) -> dict[str, float]:
    bare = _BULLET.sub("", text)
    plain = _restore_apostrophes(_SLASH.sub("", bare).lower().replace("\u2019", "'"))
    signs = {f"{WORD_PREFIX}{word}": WORD_VALUE for word in _WORD.findall(plain)}
    signs |= {name: 1.0 for name, pattern in _PATTERNS if pattern.search(plain)}
    length = next((name for max_words, name in _LENGTHS if words <= max_words), "")
    forms = {
        "question": plain.rstrip().endswith("?"),
        "bullet": len(bare) < len(text),
        "heading": _HEADING.search(text),
        "names code": _CODE_NAME.search(bare),
        "loud": bare.isupper() or sum(word.isupper() and len(word) > 2 for word in bare.split()) > 1,
        "exclaims": "!" in bare,
        "first": position == 0,
        length: length,
    }
    return signs | {name: 1.0 for name, holds in forms.items() if holds}


def _is_objection(text: str) -> bool:
    plain = _restore_apostrophes(text.lower().replace("\u2019", "'"))
    return any(_PATTERN_OF[name].search(plain) for name in _OBJECTIONS)


def _restore_apostrophes(text: str) -> str:
    """Return a lower-case text with the apostrophes that people leave out.

    >>> _restore_apostrophes("dont just tell me, thats still wrong")
    "don't just tell me, that's still wrong"
    """
    return _WITHOUT_APOSTROPHE.sub(lambda match: _CONTRACTED[match[0]], text)


def _turn_signs(turn: TypedTurn, typed: str, count: int, pasted: int) -> dict[str, float]:
    before = turn.before
    length = next((name for max_length, name in _TURN_LENGTHS if len(typed) <= max_length), "long turn")
    signs = {
        length: True,
        "pasted": pasted > 0,
        "much pasted": pasted > 5,
        "document": len(turn.text) > 4_000,
        "alone": count == 1,
        "opens": turn.position == 0,
        "was asked": before.asked,
        "behind an edit": before.changed,
        "answers a call": turn.kind == ANSWER,
        "refused": before.outcome == CALL_REFUSED,
        "behind a failure": before.outcome == CALL_FAILED,
    }
    return {name: 1.0 for name, holds in signs.items() if holds}
