"""When a note holds, by its own words: in every session, as rules do, or only on another system, branch, folder or day."""

from __future__ import annotations

import os
import time
from itertools import islice, pairwise
from math import exp

from subcog_hooks.core.files import read_weights, read_words
from subcog_hooks.core.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


MAX_READ = 600  # characters of a note, which begins with its rule
MAX_PIECES = 3
MIN_WORDS = 3  # words of a piece but the first: "No exceptions." says nothing by itself
REASONS = (" because", ", since", " otherwise", ", so that")  # Behind these a sentence gives its reason.
INTERCEPT = "intercept"
DEFAULT_CERTAINTY = 0.3  # the certainty of a note without signs
MAX_CERTAINTY = 0.99  # a higher certainty means that a person said so
MIN_RULE_CERTAINTY = 0.5  # from this certainty a note counts as a rule, unless a person decides

WEIGHTS = {sign: weight for sign, (weight,) in read_weights(__file__, "standing_weights.tsv").items()}

_WORDS = read_words(__file__, "standing.tsv")
ORDERS, _DUTIES, _GENERAL, _BARRED = _WORDS["orders"], _WORDS["duties"], _WORDS["general"], _WORDS["barred"]
_MOMENTS, _WISHES, _PERSON, _OTHERS = _WORDS["moments"], _WORDS["wishes"], _WORDS["person"], _WORDS["others"]
_PAST, _NOT_PAST, _STATE_OF_THINGS = _WORDS["past"], _WORDS["not past"], _WORDS["state of things"]
_CAUSES, _SMALL, _NAMES = _WORDS["causes"], _WORDS["small"], _WORDS["names"]
_BEFORE_NO_PAST = frozenset("is are be being the a an not get no".split())  # Behind these a word in -ed is a participle.


def certainty_of(text: str) -> float:
    """Return the probability that a note holds in every session, 0.0 to 1.0, by its surest piece.

    A rule may come with its reason, which is a fact, and an order may follow a fact.

    >>> certainty_of("Never push to main without a review.") > 0.8, certainty_of("The build broke on 3 May.") < 0.2
    (True, True)
    """
    pieces = signs_of(text)
    if all(len(signs) == 1 for signs in pieces):  # It has no known sign, as in another language.
        return DEFAULT_CERTAINTY
    total = max([sum([WEIGHTS.get(name, 0.0) * value for name, value in signs.items()]) for signs in pieces])
    return min(MAX_CERTAINTY, round(1.0 / (1.0 + exp(-max(-20.0, min(20.0, total)))), 4))


def is_standing(decided: bool | None, text: str) -> bool:
    """Return whether a note holds in every session. decided: a person's decision, None to judge the text."""
    return certainty_of(text) >= MIN_RULE_CERTAINTY if decided is None else decided


def signs_of(text: str) -> list[dict[str, float]]:
    """Return the signs of each piece of a note for or against a rule: 1.0 by the name of each sign.

    The pieces are its sentences without their reasons, split at colons, too.
    """
    text = text[:MAX_READ]
    for sign in (". ", "! ", "? ", "; ", ": "):
        text = text.replace(sign, sign.rstrip() + "\n")
    for sign in REASONS:
        text = text.replace(sign, f"{sign}\0")
    pieces = filter(None, [line.partition("\0")[0].strip() for line in text.split("\n")])
    signs: list[dict[str, float]] = []
    for index, piece in enumerate(islice(pieces, MAX_PIECES)):
        words = [bare for word in piece.lower().split() if (bare := word.strip("\"'`*_()[]{}<>.,;:!?-"))]
        if len(words) >= MIN_WORDS or (words and not signs):
            signs.append(_signs_of_piece(words, piece, is_first=not index))
    return signs or [{INTERCEPT: 1.0}]


def _signs_of_piece(words: Sequence[str], sentence: str, *, is_first: bool) -> dict[str, float]:
    word_set, first = {*words}, words[0]
    head = [word for word in words if word not in ("please", "always", "then", "and", "also", "just", "so")] or list(words)
    behind_comma = sentence.lower().partition(",")[2].split()[:1] if first in _MOMENTS else []
    is_name = first.endswith(("ss", "us", "is")) or first in _NAMES or sentence[:2].isupper()
    past = [word for word in words[1:] if word.endswith("ed") and len(word) > 4 and word not in _NOT_PAST]
    signs = {
        "order": head[0] in ORDERS or not ORDERS.isdisjoint(behind_comma),
        "barred first": first in ("no", "never", "not", "don't", "avoid", "nothing", "without", "stop"),
        "duty": bool(word_set & _DUTIES) or "have to" in sentence or "has to" in sentence,
        "general": bool(word_set & _GENERAL),
        "barred": bool(word_set & _BARRED) or "n't" in sentence,
        "moment first": first in _MOMENTS,
        "wish": bool(word_set & _WISHES),
        "person": bool(word_set & _PERSON),
        "told of others": bool(word_set & _OTHERS),
        "past": bool(word_set & _PAST)
        or any(word in past and before not in _BEFORE_NO_PAST for before, word in pairwise(words)),
        "state of things": bool(word_set & _STATE_OF_THINGS),
        "cause": bool(word_set & _CAUSES),
        "digits": any(map(str.isdigit, sentence)),
        "is done": any(word in ("is", "are") and other.endswith(("ed", "en")) for word, other in pairwise(words)),
        "of many": is_first and first.endswith("s") and first not in _SMALL and not is_name and head[0] not in ORDERS,
        "of one": is_first and first in _SMALL,
        "such as": "such as" in sentence or "e.g." in sentence,
        "colon": ":" in sentence,
    }
    return {INTERCEPT: 1.0, **{name: 1.0 for name, holds in signs.items() if holds}}


MAX_BETWEEN = 3  # words from "on" to the name of a system: "on the user's Windows machine"
_SYSTEMS = {
    **dict.fromkeys(("macos", "osx", "mac"), ("darwin",)),
    **dict.fromkeys(("linux", "ubuntu", "debian"), ("linux",)),
    "windows": ("win32", "cygwin"),
}
_SERVERS = frozenset("server servers container containers host hosts runner runners image images vm vms ci".split())
_SHARED_BRANCHES = frozenset("main master trunk develop head".split())  # every other branch leads there
_MONTHS = {name: number for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
_UNTIL = ("until", "till", "through")
_INSIDE = ("in ", "inside ", "under ", "within ")
_RARE = (*_SYSTEMS, "branch", *_UNTIL)
_MARKS = ".,;:!?()[]\"'“”‘’`"  # around a word


@record
class Surroundings:
    """Where and when a session begins: `sys.platform`, its branch and folder, its project's root, the day as YYYY-MM-DD.

    A branch or root that is unknown is "".
    """

    platform: str
    branch: str
    folder: str
    root: str
    today: str


def iso_day(time_ms: int) -> str:
    """Return the day of a time in UTC, as YYYY-MM-DD."""
    return time.strftime("%Y-%m-%d", time.gmtime(max(0, time_ms // 1000)))


def is_elsewhere(text: str, noted_ms: int, here: Surroundings) -> bool:
    """Return whether a note is for another system, branch or folder than the session's, or for a time that is over.

    A note that names the session's own system, branch or folder, too, is for the session. noted_ms: the note's date.

    >>> here = Surroundings("linux", "fix/tax", "/shop/web", "/shop", "2026-03-02")
    >>> notes = ("On macOS use gsed.", "On the `legacy` branch keep Python 3.8.", "Nothing is merged until 1 March 2026.")
    >>> [is_elsewhere(note, 1_700_000_000_000, here) for note in (*notes, "On Linux and macOS use rg.", "Merge into `main`.")]
    [True, True, True, False, False]
    """
    whole = text[:MAX_READ].lower()
    if not (any(word in whole for word in _RARE) or whole.startswith(_INSIDE)):  # This takes a twentieth of the time.
        return False
    raw = text[:MAX_READ].split()
    words = [word.strip(_MARKS) for word in raw]
    low = [word.lower() for word in words]
    if (systems := {*_systems_in(raw, words, low)}) and here.platform not in systems:
        return not any(here.platform in _SYSTEMS[word] for word in low if word in _SYSTEMS)
    if (branches := [*_branches_in(raw, words, low)]) and here.branch not in words:
        return not any(here.branch.startswith(name[:-1]) for name in branches if name.endswith("*"))
    return _is_for_another_folder(words, low, here) or any(day < here.today for day in _last_days(low, noted_ms))


def _systems_in(raw: Sequence[str], words: Sequence[str], low: Sequence[str]) -> Iterator[str]:
    for index, name in enumerate(low):
        if name not in _SYSTEMS or words[index] == "windows":  # A screen has windows, too.
            continue
        following = low[index + 1] if index + 1 < len(low) else ""
        is_head = raw[index].startswith("(") or following == "only" or (not index and raw[0].endswith(":"))
        before = low[max(0, index - MAX_BETWEEN) : index]
        if following not in _SERVERS and (is_head or "on" in before or "under" in before):
            yield from _SYSTEMS[name]


def _branches_in(raw: Sequence[str], words: Sequence[str], low: Sequence[str]) -> Iterator[str]:
    """Yield the names in "on branch NAME" and "on the NAME branch" that look like names."""
    for index, word in enumerate(low):
        before = low[max(0, index - 3) : index]
        if word != "branch" or ("on" not in before and "in" not in before):
            continue
        follows = before[-1] in ("on", "in", "the") and index + 1 < len(words)
        position = index + 1 if follows else index - 1
        name, is_quoted = words[position], raw[position][0] in "`\"'“‘"
        is_name = is_quoted or "/" in name or any(map(str.isdigit, name)) or (follows and (low[0] == "on" or "-" in name))
        if is_name and low[position] not in _SHARED_BRANCHES:
            yield name


def _is_for_another_folder(words: Sequence[str], low: Sequence[str], here: Surroundings) -> bool:
    """Return whether a note begins with "In FOLDER", and the session's folder lies neither in it nor around it."""
    if not here.folder or len(words) < 2 or f"{low[0]} " not in _INSIDE:
        return False
    folder = os.path.normpath(os.path.join(here.root or here.folder, os.path.expanduser(words[1])))
    mine = os.path.realpath(here.folder)
    around, within = sorted((folder + os.sep, mine + os.sep), key=len)
    if within.startswith(around) or not os.path.isdir(folder):
        return False
    return os.path.basename(mine).lower() not in {word.strip("/") for word in low[2:]}


def _last_days(low: Sequence[str], noted_ms: int) -> Iterator[str]:
    """Yield the days behind "until", "till" and "through". One without a year is the first after the note's date."""
    noted = iso_day(noted_ms)
    for index, word in enumerate(low):
        if word not in _UNTIL:
            continue
        parts = low[index + 1 : index + 4]
        if parts and len(parts[0]) == len(noted) and parts[0].replace("-", "").isdecimal():
            yield parts[0]
        month = next((_MONTHS[part[:3]] for part in parts[:2] if part[:3] in _MONTHS), 0)
        days = [int(digits) for part in parts[:2] if (digits := part.rstrip("stndrh")).isdecimal() and int(digits) < 32]
        year = parts[2] if len(parts) > 2 and len(parts[2]) == len("2026") and parts[2].isdecimal() else ""
        if month and days and (year or noted_ms):
            day = f"-{month:02}-{days[0]:02}"
            yield (year or str(int(noted[:4]) + (noted[4:] > day))) + day
