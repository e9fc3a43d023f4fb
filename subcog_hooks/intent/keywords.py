"""The keyword detector: the signals and the shape of a prompt speak for an intent."""

from __future__ import annotations

from math import exp

from subcog_hooks.core.tables import read_rows, read_weights
from subcog_hooks.intent.kinds import GENERAL, MAX_CONFIDENCE, NONE, SEEKING, TYPES, Intent
from subcog_hooks.intent.matcher import END, QUESTION, Matcher, count_words, words_of
from subcog_hooks.text import vocabulary
from subcog_hooks.text.typed import Prompt, is_latin, is_typed, prepare, runs_between_signs
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


NEEDED = 0.74  # the least confidence of a type other than none: three of four prompts that need no memories stay under it
UNREAD = 0.5  # of a prompt in another script: the least at which the hook looks further by default

SIGNALS = [(pattern, family, float(weight)) for pattern, family, _, weight in read_rows(__file__, "signals.tsv")]
CUES = read_weights(__file__, "cues.tsv")  # a weight for each of TYPES
BIAS = CUES.pop("bias")
MATCHER = Matcher([pattern for pattern, _, _ in SIGNALS], vocabulary.CLASSES, vocabulary.OPENERS)
_NONE = TYPES.index(NONE)


class Fired:
    """A signal that a prompt has. family: the type it speaks for; weight: what it adds to its logit; text: the words."""

    __slots__ = ("family", "name", "text", "weight")

    def __init__(self, name: str, family: str, weight: float, text: str) -> None:
        self.name = name
        self.family = family
        self.weight = weight
        self.text = text


class Reading:
    """The detector's result for one prompt.

    intent: without topics; fired: the signals, those for its type first; cues: of the prompt's shape; probabilities: of each of
    TYPES; prompt: as it was prepared, None for one that nobody has typed.
    """

    __slots__ = ("cues", "fired", "intent", "probabilities", "prompt")

    def __init__(
        self, intent: Intent, fired: list[Fired], cues: list[str], probabilities: list[float], prompt: Prompt | None
    ) -> None:
        self.intent = intent
        self.fired = fired
        self.cues = cues
        self.probabilities = probabilities
        self.prompt = prompt

    def words(self) -> list[str]:
        """Return the words of the prompt as they were typed, and of the error that was pasted, if there is one."""
        return words_of(f"{self.prompt.text}\n{self.prompt.error}") if self.prompt else []


def read(prompt: str) -> Reading:
    """Return the reading of a prompt as it was typed: its intent, and why.

    >>> kinds = ["How do we rotate the signing keys?", "make it blue", "thanks!", "tests are failing with exit code 101"]
    >>> [read(prompt).intent.type for prompt in kinds]
    ['howto', 'none', 'none', 'troubleshoot']
    """
    if not is_typed(prompt):
        return Reading(Intent(NONE, 0.0), [], [], [0.0] * _NONE + [1.0], None)
    prepared = prepare(prompt)
    if not prepared.text.isascii() and not is_latin(prepared.text) and any(map(str.isalnum, prepared.text)):
        return _unread(prepared)
    words = words_of(prepared.text.lower())
    logits = list(BIAS)
    fired = []
    for position, text in MATCHER.find(words).items():
        name, family, weight = SIGNALS[position]
        if family == SEEKING:
            logits[_NONE] -= weight
        else:
            logits[TYPES.index(family)] += weight
        fired.append(Fired(name, family, weight, text))
    shown = cues(prepared, words)
    for name in shown:
        for kind, weight in enumerate(CUES[name]):
            logits[kind] += weight
    probabilities = _softmax(logits)
    confidence = round(min(MAX_CONFIDENCE, 1.0 - probabilities[_NONE]), 4)
    intent_type = NONE
    if confidence >= NEEDED:
        is_named = bool(prepared.error) or any(
            signal.family in TYPES[:_NONE] for signal in fired
        )  # a shape alone names no type
        likeliest = max(range(_NONE), key=probabilities.__getitem__)  # the first of equals: TYPES has the order of ties
        intent_type = TYPES[likeliest] if is_named else GENERAL
    fired.sort(key=lambda signal: (signal.family != intent_type, -signal.weight, signal.name))
    texts = dict.fromkeys(signal.text for signal in fired if signal.family in (intent_type, SEEKING))
    return Reading(Intent(intent_type, confidence, keywords=tuple(texts)), fired, shown, probabilities, prepared)


def _unread(prompt: Prompt) -> Reading:
    """Return the reading of a prompt in a script that no signal knows.

    Nothing speaks for or against it, and recall may try.
    """
    parts = runs_between_signs(prompt.text)
    is_talk = bool(parts) and all(part in vocabulary.ACKNOWLEDGED for part in parts)
    intent = Intent(NONE, 0.0) if is_talk else Intent(GENERAL, UNREAD)
    return Reading(intent, [], [], [float(kind == intent.type) for kind in TYPES], prompt)


def _softmax(logits: list[float]) -> list[float]:
    top = max(logits)
    powers = [exp(logit - top) for logit in logits]
    total = sum(powers)
    return [power / total for power in powers]
