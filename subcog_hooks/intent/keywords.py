"""The keyword detector: the signals and the shape of a prompt as evidence for an intent."""

from __future__ import annotations

from math import exp

from subcog_hooks.core.tables import read_rows, read_weights
from subcog_hooks.intent.kinds import GENERAL, MAX_CONFIDENCE, NONE, SEEKING, TYPES, Intent
from subcog_hooks.intent.matcher import END, QUESTION, Matcher, count_words, split_prompt
from subcog_hooks.text import vocabulary
from subcog_hooks.text.typed_prompt import Prompt, is_latin, is_typed, prepare_prompt, runs_between_signs
from subcog_hooks.text.vocabulary import FILLERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.text.typed_prompt import Prompt

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
    """Return the names, of NAMES, of a prepared prompt's cues; `words` are matcher.split_prompt(prompt.text)."""
    text = prompt.text
    lines = text.split("\n")
    telling = len({word for word in words if word not in FILLERS} - {END, QUESTION})
    count = count_words(words)
    names = [next(name for below, name in LENGTHS if count < below), next(name for below, name in CONTENTS if telling < below)]
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
MATCHER = Matcher([pattern for pattern, _, _ in SIGNALS], vocabulary.CLASSES, vocabulary.OPENERS)
_NONE = TYPES.index(NONE)


class FiredSignal:
    """A signal in a prompt. family: the type that it supports; weight: its addition to the logit; text: its words."""

    __slots__ = ("family", "name", "text", "weight")

    def __init__(self, name: str, family: str, weight: float, text: str) -> None:
        self.name = name
        self.family = family
        self.weight = weight
        self.text = text


class Reading:
    """The detector's result for one prompt.

    intent: without topics; fired: the signals, those of its type first; cues: of the prompt's shape; probabilities: of each of
    TYPES; prompt: as it was prepared, None for a prompt that nobody has typed.
    """

    __slots__ = ("cues", "fired", "intent", "probabilities", "prompt")

    def __init__(
        self, intent: Intent, fired: list[FiredSignal], cues: list[str], probabilities: list[float], prompt: Prompt | None
    ) -> None:
        self.intent = intent
        self.fired = fired
        self.cues = cues
        self.probabilities = probabilities
        self.prompt = prompt

    def words(self) -> list[str]:
        """Return the words of the prompt as typed, and of a pasted error."""
        return split_prompt(f"{self.prompt.text}\n{self.prompt.error}") if self.prompt else []


def read_prompt(prompt: str) -> Reading:
    """Return the reading of a prompt: its intent, and the evidence.

    >>> kinds = ["How do we rotate the signing keys?", "make it blue", "thanks!", "tests are failing with exit code 101"]
    >>> [read_prompt(prompt).intent.type for prompt in kinds]
    ['howto', 'none', 'none', 'troubleshoot']
    """
    if not is_typed(prompt):
        return Reading(Intent(NONE, 0.0), [], [], [0.0] * _NONE + [1.0], None)
    prepared = prepare_prompt(prompt)
    if not prepared.text.isascii() and not is_latin(prepared.text) and any(map(str.isalnum, prepared.text)):
        return _read_other_script(prepared)
    words = split_prompt(prepared.text.lower())
    logits = list(BIAS)
    fired = []
    for position, text in MATCHER.find(words).items():
        name, family, weight = SIGNALS[position]
        if family == SEEKING:
            logits[_NONE] -= weight
        else:
            logits[TYPES.index(family)] += weight
        fired.append(FiredSignal(name, family, weight, text))
    cue_names = find_cues(prepared, words)
    for name in cue_names:
        for kind, weight in enumerate(CUES[name]):
            logits[kind] += weight
    probabilities = _softmax(logits)
    confidence = round(min(MAX_CONFIDENCE, 1.0 - probabilities[_NONE]), 4)
    intent_type = NONE
    if confidence >= MIN_TYPE_CONFIDENCE:
        is_named = bool(prepared.error) or any(
            signal.family in TYPES[:_NONE] for signal in fired
        )  # a shape alone names no type
        likeliest = max(range(_NONE), key=probabilities.__getitem__)  # TYPES has the order of ties
        intent_type = TYPES[likeliest] if is_named else GENERAL
    fired.sort(key=lambda signal: (signal.family != intent_type, -signal.weight, signal.name))
    texts = dict.fromkeys(signal.text for signal in fired if signal.family in (intent_type, SEEKING))
    return Reading(Intent(intent_type, confidence, keywords=tuple(texts)), fired, cue_names, probabilities, prepared)


def _read_other_script(prompt: Prompt) -> Reading:
    """Return the reading of a prompt in a script without signals, with which recall may try."""
    parts = runs_between_signs(prompt.text)
    is_talk = bool(parts) and all(part in vocabulary.ACKNOWLEDGED for part in parts)
    intent = Intent(NONE, 0.0) if is_talk else Intent(GENERAL, UNREAD_CONFIDENCE)
    return Reading(intent, [], [], [float(kind == intent.type) for kind in TYPES], prompt)


def _softmax(logits: list[float]) -> list[float]:
    top = max(logits)
    powers = [exp(logit - top) for logit in logits]
    total = sum(powers)
    return [power / total for power in powers]
