"""Notes tied by their own words to an operating system, a branch, a folder or a time: other sessions begin without them."""

from __future__ import annotations

import os
import time

from subcog_hooks.core.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_READ = 600  # characters of a note
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
