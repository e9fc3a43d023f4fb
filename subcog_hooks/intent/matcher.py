"""Finds the patterns of the signal table in the words of a prompt. A pattern is written as it reads:

    `how do|can|should i|we`   words, with alternatives
    `^add`                     the head of a request: a sentence's first word, behind "please", "can you", "i want to" ...
    `@fault`                   any word of a class
    `not .. @function`         at most MAX_GAP words between, in one sentence
    `?`                        a question mark; `.` any other end of a sentence
    `<9 again`                 only in a prompt of fewer than nine different words

Measured (scripts/bench/intent.py): in a process that reads one prompt, importing `re` or re2 alone takes longer than all this,
and an re2.Set of the table would have to be compiled anew by each process. Time is linear in the number of words: a pattern is
tried only where its first word stands, and looks at most MAX_GAP words ahead for each gap.
"""

from __future__ import annotations

MAX_GAP = 4  # words
END, QUESTION = ".", "?"
GAP = ".."

_EDGES = "\"'`()[]{}<>*_,;:!.?~\u2014\u2013-|=+@"
_FULL_STOPS = (".", "!", ":", ";")

_CONTRACTED = frozenset("it that there here he she let one".split())  # with is or us: no owners
_ASKING = ("what", "where", "who", "how", "why", "when")
_PAIRS = {  # what is said in one word, with an apostrophe or without, and is two
    f"{asking}{ending}": (len(asking), verb) for asking in _ASKING for ending, verb in (("s", "is"), ("d", "did"))
}
_PLUSES = "++"  # behind one letter a language's name

Element = frozenset[str] | None  # the words of which one must stand there; None: a gap


class Pattern:
    """A pattern as it is matched.

    is_head: it only fits where a request begins; below: it needs fewer words, 0 for any number; rest: what has to stand behind
    its first word.
    """

    __slots__ = ("below", "is_head", "rest")

    def __init__(self, written: str, classes: dict[str, frozenset[str]]) -> None:
        """Read a pattern. written: as in the table; classes: words by the class's name."""
        first, *rest = written.split(" ")
        self.below = 0
        if first[0] == "<":
            self.below = int(first[1:])
            first, *rest = rest
        self.is_head = first[0] == "^"
        self.rest = tuple(_element(part, classes) for part in rest)


class Matcher:
    """The patterns of a table, by the words or classes that they begin with.

    A pattern is read when its first word has been met: most never are, and to read all takes a millisecond of each process.
    """

    __slots__ = ("_by_class", "_by_word", "_classes", "_openers", "_read", "_table")

    def __init__(self, patterns: list[str], classes: dict[str, frozenset[str]], openers: frozenset[str]) -> None:
        """Prepare patterns for matching.

        patterns: as in the table; a fit is told by its place there. classes: words by the class's name.
        """
        self._openers = openers
        self._classes = classes
        self._table = patterns
        self._read: dict[int, Pattern] = {}
        by_word: dict[str, list[int]] = {}
        by_class: dict[str, list[int]] = {}
        for place, written in enumerate(patterns):
            first = written.split(" ", 2)[1 if written[0] == "<" else 0].removeprefix("^")
            for choice in first.split("|") if "|" in first else (first,):
                if choice[0] == "@":
                    by_class.setdefault(choice[1:], []).append(place)
                elif choice in by_word:
                    by_word[choice].append(place)
                else:
                    by_word[choice] = [place]
        self._by_word = by_word
        self._by_class = [(classes[name], begun) for name, begun in by_class.items()]

    def find(self, words: list[str]) -> dict[int, str]:
        """Return the places of the patterns that fit somewhere in `words`, each with the words of its first fit."""
        found: dict[int, str] = {}
        count = count_words(words)
        head = True
        known: dict[str, list[int]] = {}
        for start, word in enumerate(words):
            if word not in known:
                known[word] = [
                    *self._by_word.get(word, ()),
                    *(place for of, begun in self._by_class if word in of for place in begun),
                ]
            for place in known[word]:
                if place in found:
                    continue
                pattern = self._pattern(place)
                if (head or not pattern.is_head) and not 0 < pattern.below <= count:
                    end = _fits(pattern.rest, words, start)
                    if end:
                        found[place] = " ".join(words[start:end])
            head = word in (END, QUESTION) or (head and word in self._openers)
        return found

    def _pattern(self, place: int) -> Pattern:
        pattern = self._read.get(place)
        if pattern is None:
            pattern = self._read[place] = Pattern(self._table[place], self._classes)
        return pattern


def words_of(text: str) -> list[str]:
    """Return the words of a prepared text, without what surrounds them, and the ends of its sentences.

    >>> words_of("why's it red? see `core.ts` and @todo.md, please\\nok")
    ['why', 'is', 'it', 'red', '?', 'see', 'core.ts', 'and', 'todo.md', 'please', '.', 'ok', '.']
    >>> words_of("C++, .env (in .NET)")
    ['C++', '.env', 'in', '.NET', '.']
    """
    words: list[str] = []
    for line in text.split("\n"):
        for raw in line.split():
            bare = raw.strip(_EDGES)
            if bare:
                if bare != raw:
                    bare = _with_its_signs(bare, raw)
                _add(words, bare)
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
    """Return a word with the dot before it or the pluses behind that are of its name, as in `.env` and `C++`.

    raw: the word as it was typed.
    """
    place = raw.find(bare)
    if raw[:place].endswith(".") and not raw[:place].endswith("..") and bare[0].isalpha():
        return f".{bare}"
    return bare + _PLUSES if len(bare) == 1 and raw.startswith(_PLUSES, place + 1) else bare


def _add(words: list[str], word: str) -> None:
    """Add a word, or the two that it is."""
    if "'" in word:
        word = _without_apostrophe(word)
    length, verb = _PAIRS.get(word.lower(), (0, ""))
    if length:
        words += (word[:length], verb)
    elif word:
        words.append(word)


def _without_apostrophe(word: str) -> str:
    """Return a contraction as one word, and of a possessive the owner.

    >>> [_without_apostrophe(word) for word in ("doesn't", "that's", "gateway's", "i've")]
    ['doesnt', 'thats', 'gateway', 'ive']
    """
    stem, _, ending = word.rpartition("'")
    if ending in ("s", "S") and stem.lower() not in _CONTRACTED and stem.lower() not in _ASKING:
        word = stem
    return word.replace("'", "")


def count_words(words: list[str]) -> int:
    """Return how many different words there are, ends of sentences aside: repeated words tell nothing more."""
    return len({*words} - {END, QUESTION})


def _element(part: str, classes: dict[str, frozenset[str]]) -> Element:
    if part == GAP:
        return None
    words: set[str] = set()
    for choice in part.split("|"):
        if choice[0] == "@":
            words |= classes[choice[1:]]
        else:
            words.add(choice)
    return frozenset(words)


def _fits(rest: tuple[Element, ...], words: list[str], start: int) -> int:
    """Return where a fit that begins at `start` ends, 0 when there is none. Behind a gap the first word that fits is taken."""
    place = start + 1
    is_gap = False
    for element in rest:
        if element is None:
            is_gap = True
            continue
        if is_gap:
            last = min(place + MAX_GAP, len(words) - 1)
            while place <= last and words[place] not in element:
                if words[place] == END or words[place] == QUESTION:
                    return 0
                place += 1
            if place > last:
                return 0
            is_gap = False
        elif place >= len(words) or words[place] not in element:
            return 0
        place += 1
    return place
