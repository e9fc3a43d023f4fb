"""The folders of trials: throw-away copies of the store, in the home. Each is held by a lock that dies with its maker.

A copy holds memories, also such as are purged meanwhile. So what a killed process has left goes with the next command that
opens the store, and a purge ends the trials that are under way.
"""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from subcog_hooks.core.errors import StoreBusy, StoreError, SubcogError
from subcog_hooks.core.paths import Home
from subcog_hooks.store.lock import ProcessLock, is_held

REMOVALS = 40  # attempts
BETWEEN_S = 0.05  # of them: two seconds in all
MAKING_WAIT_MS = 10_000  # for another process, which may be removing large ones
_PREFIX = "subcog-trial-"  # nothing else is removed, whatever folder the home is
_LOCK = ".lock"  # beside the folder


@contextmanager
def hold_folder(home: Home) -> Iterator[str]:
    """Yield a new folder for a trial, for the user alone, which is gone in the end.

    Raises OSError, StoreError, also where a purge has ended the trial.
    """
    import tempfile  # with `random`: not for each command that looks whether something was left

    with ExitStack() as held:
        with _making(home):
            _remove(_find_left(home))
            folder = tempfile.mkdtemp(prefix=_PREFIX, dir=home.trials)
            held.callback(_remove_lock, folder)
            held.enter_context(ProcessLock(folder + _LOCK, 0, "trying something on a copy"))
        try:
            yield folder
        except (SubcogError, OSError) as error:
            if os.path.exists(folder + _LOCK):
                raise
            raise StoreError("memories were purged meanwhile, and the copy of them with it", "run it again") from error
        finally:
            remove_folder(folder)


def find_folders(home: Home) -> dict[str, bool]:
    """Return the folders of trials, each with whether its maker is still at work."""
    try:
        names = sorted(os.listdir(home.trials))
    except OSError:
        return {}
    found = {name.partition(_LOCK)[0] for name in names if name.startswith(_PREFIX)}
    return {folder: is_held(folder + _LOCK) for folder in (os.path.join(home.trials, name) for name in sorted(found))}


def remove_left(home: Home) -> int:
    """Remove what killed processes have left, as far as that can be done. Return how many folders that were."""
    if not _find_left(home):
        return 0
    try:
        with _making(home):
            return _remove(_find_left(home))
    except StoreError:
        return 0


def remove_all(home: Home) -> None:
    """Remove all trials, also those under way, which fail by that. Raises StoreBusy where a process holds one open."""
    try:
        for folder in find_folders(home):
            _remove_lock(folder)  # whose absence tells the maker
            remove_folder(folder)
    except OSError as error:
        raise StoreBusy("purged, but a trial under way still has a copy", "it goes when that process ends") from error


def remove_folder(folder: str) -> None:
    """Remove a folder. Raises OSError.

    An index in it may still be merging in the background, and then files come while others go.
    """
    import shutil  # as above

    for left in reversed(range(REMOVALS)):
        try:
            if os.path.isdir(folder):
                shutil.rmtree(folder)
        except OSError:
            if not left:
                raise
            time.sleep(BETWEEN_S)
        if not os.path.exists(folder):
            return


def _making(home: Home) -> ProcessLock:
    """Return the lock under which a folder is made and gets its own, and those without a maker are removed."""
    return ProcessLock(os.path.join(home.trials, "making.lock"), MAKING_WAIT_MS, "making or removing trials")


def _find_left(home: Home) -> list[str]:
    return [folder for folder, is_at_work in find_folders(home).items() if not is_at_work]


def _remove(folders: list[str]) -> int:
    removed = 0
    for folder in folders:
        with suppress(OSError):
            remove_folder(folder)
            _remove_lock(folder)
            removed += 1
    return removed


def _remove_lock(folder: str) -> None:
    for suffix in ("", "-journal"):  # SQLite's, which a killed process leaves
        with suppress(OSError):
            os.unlink(f"{folder}{_LOCK}{suffix}")
