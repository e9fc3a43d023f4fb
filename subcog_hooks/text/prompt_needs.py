"""The needs of a prompt: its questions among sentences that only describe, and the phrases it quotes. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.text.typed_prompt import Prompt

# Opening marks with their closing marks; an apostrophe is mostly no quote.
QUOTES = {'"': '"', "\u201c": "\u201d", "\u201e": "\u201c\u201d", "\u00ab": "\u00bb", "\u300c": "\u300d", "\u300e": "\u300f"}
_MARKS = frozenset(QUOTES) | frozenset("".join(QUOTES.values()))
_JSON_VALUE = tuple('"[{0123456789-')
_FENCE = "```"


def quoted_phrases(text: str) -> list[str]:
    """Return the texts in balanced double quotes, straight or typographic, in order.

    Each has a word of two letters or more.

    A pair is balanced within its line; of nested ones the outer counts. A straight mark opens only where a word begins and
    closes only where one ends, so an inch is no quote. Strings of code are syntax and no phrases: fences, backticks, arguments
    directly behind `(` or `=`, and JSON have none.

    >>> quoted_phrases('who said "not a conventional company" of the 27" screen?')
    ['not a conventional company']
    >>> quoted_phrases("don't; 'single'; “typographic ones”"), quoted_phrases('printf("hello there"); name = "Ada"')
    (['typographic ones'], [])
    """
    if text.isascii() and '"' not in text:
        return []
    return [phrase for line in lines_outside_code(text) for phrase in _phrases_of(line)]


def lines_outside_code(text: str) -> list[str]:
    """Return the lines of a text outside fences of code."""
    lines = text.splitlines()
    if _FENCE not in text:
        return lines
    outside = []
    fenced = False
    for line in lines:
        if line.lstrip().startswith(_FENCE):
            fenced ^= line.count(_FENCE) % 2 == 1  # A fence that closes in its own line opens nothing.
        elif not fenced:
            outside.append(line)
    return outside


def _phrases_of(line: str) -> list[str]:
    if _MARKS.isdisjoint(line):
        return []
    pairs: list[tuple[int, int]] = []
    opened: dict[str, int] = {}  # opening mark -> its latest position
    position = -1
    while (position := position + 1) < len(line):
        mark = line[position]
        if mark == "`":
            position = max(position, line.find("`", position + 1))
        if mark not in _MARKS:
            continue
        before, after = line[position - 1 : position], line[position + 1 : position + 2]
        straight = mark == '"'
        start = max([opened_at for opener, opened_at in opened.items() if mark in QUOTES[opener]], default=-1)
        if start >= 0 and not (straight and (before.isspace() or before == "\\" or after.isalnum())):
            opened = {opener: opened_at for opener, opened_at in opened.items() if opened_at < start}
            while pairs and pairs[-1][0] > start:  # They are nested in this pair.
                pairs.pop()
            pairs.append((start, position))
        elif mark in QUOTES and not (straight and (before.isalnum() or before == "\\" or after.isspace())):
            opened[mark] = position
    return [line[start + 1 : end].strip() for start, end in pairs if _is_phrase(line, start, end)]


def _is_phrase(line: str, start: int, end: int) -> bool:
    letters = "".join([c if c.isalpha() else " " for c in line[start + 1 : end]])
    if not any(len(word) > 1 for word in letters.split()):
        return False
    before, after = line[max(0, start - 3) : start].rstrip(), line[end + 1 : end + 4]
    if before.endswith("(") and (before[-2:-1].isalnum() or before[-2:-1] == "_"):
        return False
    if before.endswith(("=", "{", "[", '":')) or after.startswith(("}", "]")):
        return False
    return not (after.startswith(":") and after[1:].lstrip().startswith(_JSON_VALUE))


# Each need is searched by itself, at the cost of the whole prompt. With two, three or four needs, as many development prompts
# are answered (with two, one of 96 more, and one more wrongly), and as many of people's histories.
MAX_PARTS = 1
FEW_SENTENCES = 3  # up to here, sentences that are no questions count
MIN_PART_WORDS = 4  # words; "right?" is no question
_ENDS = (".", "?", "!")
_CLOSING = "\"')]"
_ASKING = frozenset(
    "how what why where when which who whose is are was were do does did has have can could should would will any".split()
)


def needs_of(prepared: Prompt) -> list[str]:
    """Return the parts of a prompt that are needs by themselves: the messages of a failure, else a sentence."""
    return list(prepared.failures or separate_needs(prepared.text))


def separate_needs(typed: str) -> list[str]:
    """Return the typed sentence that is a need by itself: a question before any other, then the longest.

    >>> separate_needs("I am at the ticket again. How are the keys rotated? Thanks!")
    ['How are the keys rotated?']
    >>> separate_needs("How are the keys rotated?"), separate_needs("Rename it. Thanks.")
    ([], [])
    """
    every = split_sentences(typed)
    if len(every) < 2:
        return []
    long = [part for part in every if len(part.split()) >= MIN_PART_WORDS]
    candidates = long if len(every) <= FEW_SENTENCES else [part for part in long if is_question(part)]
    return sorted(candidates, key=lambda part: (not is_question(part), -len(part.split())))[:MAX_PARTS]


def split_sentences(typed: str) -> list[str]:
    """Return the typed sentences, line by line.

    >>> split_sentences("See a.py. It fails?\\nYes, in v1.2")
    ['See a.py.', 'It fails?', 'Yes, in v1.2']
    """
    sentences = []
    for line in typed.split("\n"):
        begun: list[str] = []
        for word in line.split():
            begun.append(word)
            if word.rstrip(_CLOSING).endswith(_ENDS):
                sentences.append(" ".join(begun))
                begun = []
        if begun:
            sentences.append(" ".join(begun))
    return sentences


def is_question(sentence: str) -> bool:
    """Return whether a sentence is a question, with or without its mark.

    >>> is_question("is there a lint rule"), is_question("Rename it.")
    (True, False)
    """
    return sentence.rstrip(_CLOSING).endswith("?") or sentence.split(None, 1)[0].lower().strip(",") in _ASKING
