"""The intent of a prompt by its keywords: a table of signals, matched against the words. Pure."""

from __future__ import annotations

from math import exp

from subcog_hooks.core.files import read_rows, read_weights
from subcog_hooks.core.records import record
from subcog_hooks.text import ACKNOWLEDGED, CLASSES, FILLERS, OPENERS
from subcog_hooks.text.languages import is_foreign, is_function_word
from subcog_hooks.text.typed_prompt import Prompt, is_typed, prepare_prompt, runs_between_signs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.settings.defaults import Settings

# The types of request that a prompt can make, in the order for breaking ties.
COMPARISON, TROUBLESHOOT, LOCATION, HOWTO = "comparison", "troubleshoot", "location", "howto"
EXPLANATION, GENERAL, NONE = "explanation", "general", "none"
TYPES = (COMPARISON, TROUBLESHOOT, LOCATION, HOWTO, EXPLANATION, GENERAL, NONE)
ABOUT_CODE = (EXPLANATION, LOCATION, COMPARISON)

KEYWORD, LLM, HYBRID = "keyword", "llm", "hybrid"  # sources of an intent

# The status of the LLM without a finished call (llm.ask has the status of a finished call).
OFF = "off"  # no LLM is configured, or use_llm is false
SKIPPED = "skipped"  # the words were sure, the prompt may not be disclosed, or no time was left
CACHED = "cached"  # it answered this prompt before
RESTING = "resting"  # it failed too often lately

# No types, but families of signals: the prompt asks for a memory. RECENT ones mean the running session late in it.
SEEKING, RECENT = "seeking", "recent"
EARLY_PROMPTS = 3  # first prompts of a session, at which "again" means an earlier session

MAX_CONFIDENCE = 0.95  # of a merged intent
MAX_TOPICS = 5  # of a prompt
NOTHING_SURELY = 0.1  # below it the words are sure that memories cannot help: "ok" needs no LLM


@record
class Intent:
    """The kind of request that a prompt makes: by its words, by an LLM, or by both.

    type: one of TYPES. confidence: the probability that memories could help with the prompt, 0.0 to 0.95, independent of the
    type; a prompt of type `none` may have .4. An LLM's own is the probability of its type, 0.0 to 1.0. topics: at most five
    search terms, the most telling first. keywords: words of the prompt that support its type. source: keyword, llm or hybrid.
    llm_status: of the LLM. reasoning: of an LLM.

    Of the intent that counts: row: of the table by which an LLM's answer is merged. certainty: the confidence without the
    deduction for a failed LLM, which is no reason to hand over less. is_vetoed: the LLM is sure enough that memories would not
    help. reading: of the words. answer: of the LLM, None without one; llm_seconds: the wait for it, None when no LLM was asked;
    llm_reason: the reason for a missing answer, else ""; timed_out_by: the exceeded limit, else "". seconds: from the prompt to
    the intent.
    """

    type: str
    confidence: float
    topics: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    source: str = KEYWORD
    llm_status: str = OFF
    reasoning: str = ""
    row: str = ""
    certainty: float = 0.0
    is_vetoed: bool = False
    reading: Reading | None = None
    answer: Intent | None = None
    llm_seconds: float | None = None
    llm_reason: str = ""
    timed_out_by: str = ""
    seconds: float = 0.0

    def is_enough(self, settings: Settings) -> bool:
        """Return whether the confidence says that memories could help, even if it is too low to name a type.

        The type does not matter, because relevance decides anyway.
        """
        return self.confidence >= float(settings["search_intent.min_confidence"])

    def may_speak(self, settings: Settings) -> bool:
        """Return whether the hook searches for memories. A low confidence needs stronger evidence; a veto silences it."""
        if self.is_vetoed or not self.topics:
            return False
        return self.is_enough(settings) or (self.reading is not None and self.reading.is_unclear)

    @property
    def is_about_code(self) -> bool:
        """True for a question that reading the code answers: a definition or a location, not a reason."""
        return self.type in ABOUT_CODE and self.reading is not None and "why" not in map(str.lower, self.reading.words())

    @property
    def is_seeking(self) -> bool:
        """True for a prompt that asks for a memory: "what did we decide", "last time"."""
        return self.reading is not None and self.reading.is_seeking


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
        self._read: dict[int, tuple[int, bool, tuple[Element, ...]]] = {}
        by_word: dict[str, list[int]] = {}
        by_class: dict[str, list[int]] = {}
        for position, written in enumerate(patterns):
            first = written.split(" ", 2)[1 if written[0] == "<" else 0].removeprefix("^")
            for choice in first.split("|"):
                if choice[0] == "@":
                    by_class.setdefault(choice[1:], []).append(position)
                else:
                    by_word.setdefault(choice, []).append(position)
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
                if position not in self._read:
                    self._read[position] = _parse_pattern(self._table[position], self._classes)
                below, is_head, rest = self._read[position]
                if (head or not is_head) and not 0 < below <= count and (end := _match_end(rest, words, start)):
                    fits[position] = " ".join(words[start:end])
            head = word in (END, QUESTION) or (head and word in self._openers)
        return fits


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
                word = _without_apostrophe(bare) if "'" in bare else bare
                length, verb = _PAIRS.get(word.lower(), (0, ""))
                if length:
                    words += (word[:length], verb)
                elif word:
                    words.append(word)
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
    """Return a word with the dot or the pluses that belong to its name: `.env`, `C++`. raw: the word as typed."""
    start = raw.find(bare)
    if raw[:start].endswith(".") and not raw[:start].endswith("..") and bare[0].isalpha():
        return f".{bare}"
    return bare + _PLUSES if len(bare) == 1 and raw.startswith(_PLUSES, start + 1) else bare


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


def _parse_pattern(written: str, classes: dict[str, frozenset[str]]) -> tuple[int, bool, tuple[Element, ...]]:
    """Return the limit of a prompt's words (0 for none), whether only a request's beginning fits, and the further elements."""
    first, *elements = written.split(" ")
    below = 0
    if first[0] == "<":
        below = int(first[1:])
        first, *elements = elements
    return below, first[0] == "^", tuple(_parse_element(part, classes) for part in elements)


def _parse_element(part: str, classes: dict[str, frozenset[str]]) -> Element:
    if part == GAP:
        return None
    return frozenset().union(*(classes[choice[1:]] if choice[0] == "@" else (choice,) for choice in part.split("|")))


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


LENGTHS = (  # (limit of different words in the prompt, name)
    *((3, "1 or 2 words"), (5, "3 or 4 words"), (8, "5 to 7 words"), (13, "8 to 12 words"), (21, "13 to 20 words")),
    *((36, "21 to 35 words"), (71, "36 to 70 words"), (1 << 30, "over 70 words")),
)
CONTENTS = (  # (limit of different words without fillers, name)
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
LONGEST_ENDING = 5  # letters of a file's extension


def find_cues(prompt: Prompt, words: list[str]) -> list[str]:
    """Return the names, of NAMES, of a prepared prompt's cues; `words` are split_prompt(prompt.text)."""
    text = prompt.text
    lines = text.split("\n")
    telling = len({word for word in words if word not in FILLERS} - {END, QUESTION})
    count = count_words(words)
    names = [next(name for below, name in LENGTHS if count < below), next(name for below, name in CONTENTS if telling < below)]
    tests = (
        ("a question mark", QUESTION in words),
        ("a question at the end", QUESTION in words[-2:]),
        ("pasted lines", prompt.pasted > 0),
        ("an error in pasted lines", bool(prompt.failures)),
        ("a file", any(map(is_file, words))),
        ("a file by @", "@" in text),
        ("code", "`" in text or "()" in text),
        ("a number", any(map(str.isdigit, words))),
        ("a quotation", text.count('"') > 1),
        ("a list", any(line.startswith(_LIST) for line in lines)),
        ("over 3 lines", len({*lines}) > 3),
        ("over 3 sentences", len({sentence.strip() for sentence in " ".join(words).split(f" {END}")} - {""}) > 3),
    )
    return names + [name for name, applies in tests if applies]


def is_file(word: str) -> bool:
    """Return whether a word looks like a file's name or path.

    >>> [is_file(word) for word in ("core.ts", "src/app", "2.17.0", "e.g", "and/or", "...", ".env", ".5")]
    [True, True, False, True, True, False, True, False]
    """
    stem, dot, ending = word.rpartition(".")
    if dot and stem.strip(".") and 0 < len(ending) <= LONGEST_ENDING and ending.isalnum() and not ending.isdigit():
        return True
    return (dot and not stem and ending[:1].isalpha() and word.lower() != PLATFORM) or ("/" in word and len(word) > 3)


MIN_TYPE_CONFIDENCE = 0.74  # a type other than none needs it; three of four prompts that need no memories stay under it
UNREAD_CONFIDENCE = 0.5  # of a prompt in another script: the lowest with which the hook searches by default

SIGNALS = [(pattern, family, float(weight)) for pattern, family, _, weight in read_rows(__file__, "signals.tsv")]
CUES = read_weights(__file__, "cues.tsv")  # one weight for each of TYPES
BIAS = CUES.pop("bias")
MATCHER = Matcher([pattern for pattern, _, _ in SIGNALS], CLASSES, OPENERS)
_NONE = TYPES.index(NONE)


@record
class FiredSignal:
    """A signal in a prompt. family: the type that it supports; weight: its addition to the logit; text: its words."""

    name: str
    family: str
    weight: float
    text: str


@record
class Reading:
    """The detector's result for one prompt.

    intent: without topics; fired: the signals, those of its type first; cues: of the prompt's shape; probabilities: of each of
    TYPES; prompt: as it was prepared, None for a prompt that nobody has typed; is_late: the session has had EARLY_PROMPTS.
    """

    intent: Intent
    fired: list[FiredSignal]
    cues: list[str]
    probabilities: list[float]
    prompt: Prompt | None
    is_foreign: bool = False
    is_late: bool = False

    @property
    def is_about_past(self) -> bool:
        """True for a prompt that asks about an earlier session."""
        return any(signal.family == SEEKING or (signal.family == RECENT and not self.is_late) for signal in self.fired)

    @property
    def is_seeking(self) -> bool:
        """True for a prompt that asks for a memory, so that a memory needs less relevance: by a signal with a weight."""
        return self.is_about_past and any(signal.family in (SEEKING, RECENT) and signal.weight for signal in self.fired)

    @property
    def is_unclear(self) -> bool:
        """True for words that leave open if memories help: a title, an error code, an order.

        There a memory's own evidence decides, if it is strong. A surer question stays under a higher min_confidence.
        """
        return NOTHING_SURELY <= self.intent.confidence < UNREAD_CONFIDENCE

    def words(self) -> list[str]:
        """Return the words of the prompt as typed, and of a pasted error."""
        if self.prompt is None:
            return []
        text = "\n".join((self.prompt.text, *self.prompt.failures[:1]))
        if not text.isascii():
            from subcog_hooks.text import languages  # Most prompts have spaces between all words.

            text = languages.spread_telling_words(text)
        words = split_prompt(text)
        return [word for word in words if not is_function_word(word)] if self.is_foreign else words


def read_prompt(prompt: str) -> Reading:
    """Return the reading of a prompt: its intent, and the evidence.

    >>> kinds = ["How do we rotate the signing keys?", "make it blue", "thanks!", "tests are failing with exit code 101"]
    >>> [read_prompt(prompt).intent.type for prompt in kinds]
    ['howto', 'none', 'none', 'troubleshoot']
    """
    if not is_typed(prompt):
        return Reading(Intent(NONE, 0.0), [], [], [0.0] * _NONE + [1.0], None)
    prepared = prepare_prompt(prompt)
    if is_foreign(prepared.text):  # a language without signals: recall may try
        parts = runs_between_signs(prepared.text)
        is_talk = bool(parts) and all(part in ACKNOWLEDGED for part in parts)
        intent = Intent(NONE, 0.0) if is_talk else Intent(GENERAL, UNREAD_CONFIDENCE)
        return Reading(intent, [], [], [float(kind == intent.type) for kind in TYPES], prepared, is_foreign=True)
    words = split_prompt(prepared.text.lower())
    logits = list(BIAS)
    fired = []
    for position, text in MATCHER.find(words).items():
        name, family, weight = SIGNALS[position]
        if family in (SEEKING, RECENT):
            logits[_NONE] -= weight
        else:
            logits[TYPES.index(family)] += weight
        fired.append(FiredSignal(name, family, weight, text))
    cue_names = find_cues(prepared, words)
    for name in cue_names:
        for kind, weight in enumerate(CUES[name]):
            logits[kind] += weight
    top = max(logits)
    powers = [exp(logit - top) for logit in logits]
    total = sum(powers)
    probabilities = [power / total for power in powers]
    confidence = round(min(MAX_CONFIDENCE, 1.0 - probabilities[_NONE]), 4)
    intent_type = NONE
    if confidence >= MIN_TYPE_CONFIDENCE:
        # A shape alone names no type.
        is_named = bool(prepared.failures) or any(signal.family in TYPES[:_NONE] for signal in fired)
        likeliest = max(range(_NONE), key=probabilities.__getitem__)  # TYPES has the order of ties
        intent_type = TYPES[likeliest] if is_named else GENERAL
    fired.sort(key=lambda signal: (signal.family != intent_type, -signal.weight, signal.name))
    texts = dict.fromkeys(signal.text for signal in fired if signal.family in (intent_type, SEEKING, RECENT))
    return Reading(Intent(intent_type, confidence, keywords=tuple(texts)), fired, cue_names, probabilities, prepared)
