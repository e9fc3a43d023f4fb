"""Runs of the hook that were cut off, because a busy machine left them no time: read from the trace that each leaves.

A run that is cut off can not write to state.db; it appends a line to a file beside it, which may be deleted at any time.
"""

from subcog_hooks.errors import StoreError
from subcog_hooks.paths import Home

MAX_CUT_OFF_BYTES = 128 * 1024  # bytes; the hook stops writing at half of that
KEPT_DAYS = 30

_DAY_MS = 86_400_000


class CutOff:
    """A run that was cut off. at: milliseconds since the epoch; event: the client's name of it."""

    __slots__ = ("at", "event")

    def __init__(self, at: int, event: str) -> None:
        self.at = at
        self.event = event


def read(home: Home, now_ms: int) -> list[CutOff]:
    """Return the runs of the last KEPT_DAYS that were cut off, the newest first; none where the file can not be read."""
    try:
        with open(home.cut_offs, "rb") as file:
            lines = file.read(MAX_CUT_OFF_BYTES).splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        at, _, event = line.decode("ascii", "replace").partition(" ")
        if at.isdigit() and len(at) < 16 and event.isalpha() and now_ms - KEPT_DAYS * _DAY_MS <= int(at) <= now_ms:
            found.append(CutOff(int(at), event))
    return sorted(found, key=lambda cut_off: -cut_off.at)


def forget(home: Home) -> None:
    """Delete the trace. Raises StoreError."""
    import os

    try:
        os.unlink(home.cut_offs)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise StoreError(f"{home.cut_offs} can not be deleted: {error.strerror}", "delete it") from None
