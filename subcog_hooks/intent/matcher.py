"""Finds the patterns of the signal table in the words of a prompt. A pattern looks like this:

    `how do|can|should i|we`   words, with alternatives
    `^add`                     the head of a request: a sentence's first word, behind "please", "can you", "i want to" ...
    `@fault`                   any word of a class
    `not .. @function`         at most MAX_GAP words between, in one sentence
    `?`                        a question mark; `.` any other end of a sentence
    `<9 again`                 only in a prompt of fewer than nine different words

Measured (scripts/bench/intent.py): in a process that reads one prompt, importing `re` or re2 alone takes longer than this
module. Each process would have to compile an re2.Set of the table anew. Time is linear in the number of words: a pattern is
tried only at its first word, and looks at most MAX_GAP words ahead for each gap.
"""

from __future__ import annotations

MAX_GAP = 4  # words
END, QUESTION = ".", "?"
GAP = ".."

_EDGES = "\"'`()[]{}<>*_,;:!.?~\u2014\u2013-|=+@"
_FULL_STOPS = (".", "!", ":", ";")

_CONTRACTED = frozenset("it that there here he she let one".split())  # contracted with is or us: no owners
_ASKING = ("what", "where", "who", "how", "why", "when")
_PAIRS = {  # contractions, with or without an apostrophe, that stand for two words
    f"{asking}{ending}": (len(asking), verb) for asking in _ASKING for ending, verb in (("s", "is"), ("d", "did"))
}
_PLUSES = "++"  # behind one letter it is a language's name

Element = frozenset[str] | None  # the alternatives at one position; None: a gap


class Pattern:
    """A pattern ready for matching.

    is_head: it only fits at the beginning of a request; below: it needs fewer words, 0 for any number; rest: the elements
    behind its first word.
    """

    __slots__ = ("below", "is_head", "rest")

    def __init__(self, written: str, classes: dict[str, frozenset[str]]) -> None:
        """Read a pattern. written: as in the table; classes: words by the class's name."""
        first, *elements = written.split(" ")
        self.below = 0
        if first[0] == "<":
            self.below = int(first[1:])
            first, *elements = elements
        self.is_head = first[0] == "^"
        self.rest = tuple(_parse_element(part, classes) for part in elements)


class Matcher:
    """The patterns of a table, by the words or classes that they begin with.

    A pattern is parsed at the first occurrence of its first word. Most patterns never are; parsing all takes a millisecond.
    """

    __slots__ = ("_by_class", "_by_word", "_classes", "_openers", "_read", "_table")

    def __init__(self, patterns: list[str], classes: dict[str, frozenset[str]], openers: frozenset[str]) -> None:
        """Prepare patterns for matching.

        patterns: as in the table; `find` returns their positions. classes: words by the class's name.
        """
        self._openers = openers
        self._classes = classes
        self._table = patterns
        self._read: dict[int, Pattern] = {}
        by_word: dict[str, list[int]] = {}
        by_class: dict[str, list[int]] = {}
        for position, written in enumerate(patterns):
            first = written.split(" ", 2)[1 if written[0] == "<" else 0].removeprefix("^")
            for choice in first.split("|") if "|" in first else (first,):
                if choice[0] == "@":
                    by_class.setdefault(choice[1:], []).append(position)
                elif choice in by_word:
                    by_word[choice].append(position)
                else:
                    by_word[choice] = [position]
        self._by_word = by_word
        self._by_class = [(classes[name], positions) for name, positions in by_class.items()]

    def find(self, words: list[str]) -> dict[int, str]:
        """Return the positions of the patterns that fit somewhere in `words`, each with the words of its first fit."""
        fits: dict[int, str] = {}
        count = count_words(words)
        head = True
        candidates: dict[str, list[int]] = {}
        for start, word in enumerate(words):
            if word not in candidates:
                candidates[word] = [
                    *self._by_word.get(word, ()),
                    *(position for members, positions in self._by_class if word in members for position in positions),
                ]
            for position in candidates[word]:
                if position in fits:
                    continue
                pattern = self._pattern(position)
                if (head or not pattern.is_head) and not 0 < pattern.below <= count:
                    end = _match_end(pattern.rest, words, start)
                    if end:
                        fits[position] = " ".join(words[start:end])
            head = word in (END, QUESTION) or (head and word in self._openers)
        return fits

    def _pattern(self, position: int) -> Pattern:
        pattern = self._read.get(position)
        if pattern is None:
            pattern = self._read[position] = Pattern(self._table[position], self._classes)
        return pattern


def split_prompt(text: str) -> list[str]:
    """Return the words of a prepared text without surrounding signs, and the ends of its sentences.

    >>> split_prompt("why's it red? see `core.ts` and @todo.md, please\\nok")
    ['why', 'is', 'it', 'red', '?', 'see', 'core.ts', 'and', 'todo.md', 'please', '.', 'ok', '.']
    >>> split_prompt("C++, .env (in .NET)")
    ['C++', '.env', 'in', '.NET', '.']
    """
    words: list[str] = []
    for line in text.split("\n"):
        for raw in line.split():
            bare = raw.strip(_EDGES)
            if bare:
                if bare != raw:
                    bare = _with_its_signs(bare, raw)
                _add_word(words, bare)
            if not bare or not raw.endswith(bare):
                last = raw.rstrip("\"')*`_")[-1:]
                if last == QUESTION:
                    words.append(QUESTION)
                elif last in _FULL_STOPS and last and words and words[-1] != END:
                    words.append(END)
        if words and words[-1] not in (END, QUESTION):
            words.append(END)
    return words


def _with_its_signs(bare: str, raw: str) -> str:
    """Return a word with the dot before it or the pluses behind it that belong to its name: `.env`, `C++`.

    raw: the word as typed.
    """
    start = raw.find(bare)
    if raw[:start].endswith(".") and not raw[:start].endswith("..") and bare[0].isalpha():
        return f".{bare}"
    return bare + _PLUSES if len(bare) == 1 and raw.startswith(_PLUSES, start + 1) else bare


def _add_word(words: list[str], word: str) -> None:
    if "'" in word:
        word = _without_apostrophe(word)
    length, verb = _PAIRS.get(word.lower(), (0, ""))
    if length:
        words += (word[:length], verb)
    elif word:
        words.append(word)


def _without_apostrophe(word: str) -> str:
    """Return a contraction as one word, a possessive as its owner.

    >>> [_without_apostrophe(word) for word in ("doesn't", "that's", "gateway's", "i've")]
    ['doesnt', 'thats', 'gateway', 'ive']
    """
    stem, _, ending = word.rpartition("'")
    if ending in ("s", "S") and stem.lower() not in _CONTRACTED and stem.lower() not in _ASKING:
        word = stem
    return word.replace("'", "")


def count_words(words: list[str]) -> int:
    """Return the number of different words without ends of sentences: repeated words say nothing more."""
    return len({*words} - {END, QUESTION})


def _parse_element(part: str, classes: dict[str, frozenset[str]]) -> Element:
    if part == GAP:
        return None
    words: set[str] = set()
    for choice in part.split("|"):
        if choice[0] == "@":
            words |= classes[choice[1:]]
        else:
            words.add(choice)
    return frozenset(words)


def _match_end(rest: tuple[Element, ...], words: list[str], start: int) -> int:
    """Return the end of a fit that begins at `start`, 0 without one. Behind a gap the first fitting word counts."""
    position = start + 1
    is_gap = False
    for element in rest:
        if element is None:
            is_gap = True
            continue
        if is_gap:
            last = min(position + MAX_GAP, len(words) - 1)
            while position <= last and words[position] not in element:
                if words[position] == END or words[position] == QUESTION:
                    return 0
                position += 1
            if position > last:
                return 0
            is_gap = False
        elif position >= len(words) or words[position] not in element:
            return 0
        position += 1
    return position
