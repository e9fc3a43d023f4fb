"""The folders of trials: throw-away copies of the store in the home, each locked by the process that made it.

A copy may hold memories that are purged meanwhile. So the next command that opens the store removes the folders of killed
processes, and a purge ends running trials.
"""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from subcog_hooks.core.errors import StoreBusy, StoreError, SubcogError
from subcog_hooks.core.paths import Home
from subcog_hooks.store.lock import ProcessLock, is_held

REMOVALS = 40  # attempts to remove a folder
BETWEEN_S = 0.05  # between attempts: two seconds in all
MAKING_WAIT_MS = 10_000  # Another process may be removing large folders.
_PREFIX = "subcog-trial-"  # Only folders with this prefix are removed.
_LOCK = ".lock"  # beside the folder


@contextmanager
def hold_folder(home: Home) -> Iterator[str]:
    """Yield a new private folder for a trial, which is removed at the end.

    Raises OSError, StoreError, also where a purge has ended the trial.
    """
    import tempfile  # It loads `random`, which a check for old folders does not need.

    with ExitStack() as held:
        with _creation_lock(home):
            _remove_folders(_find_abandoned(home))
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
    """Return the folders of trials, each with whether its process still runs."""
    try:
        names = sorted(os.listdir(home.trials))
    except OSError:
        return {}
    folder_names = {name.partition(_LOCK)[0] for name in names if name.startswith(_PREFIX)}
    return {folder: is_held(folder + _LOCK) for folder in (os.path.join(home.trials, name) for name in sorted(folder_names))}


def remove_abandoned(home: Home) -> int:
    """Remove the folders of killed processes, as far as possible. Return their number."""
    if not _find_abandoned(home):
        return 0
    try:
        with _creation_lock(home):
            return _remove_folders(_find_abandoned(home))
    except StoreError:
        return 0


def remove_all(home: Home) -> None:
    """Remove all trials, also running ones, which then fail. Raises StoreBusy where a process holds a file open."""
    try:
        for folder in find_folders(home):
            _remove_lock(folder)  # A missing lock tells the running process.
            remove_folder(folder)
    except OSError as error:
        raise StoreBusy("purged, but a trial under way still has a copy", "it goes when that process ends") from error


def remove_folder(folder: str) -> None:
    """Remove a folder. Raises OSError.

    An index in it may still be merging in the background, which adds files during the removal.
    """
    import shutil  # Imported late, as `tempfile` is.

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


def _creation_lock(home: Home) -> ProcessLock:
    return ProcessLock(os.path.join(home.trials, "making.lock"), MAKING_WAIT_MS, "making or removing trials")


def _find_abandoned(home: Home) -> list[str]:
    return [folder for folder, is_running in find_folders(home).items() if not is_running]


def _remove_folders(folders: list[str]) -> int:
    removed = 0
    for folder in folders:
        with suppress(OSError):
            remove_folder(folder)
            _remove_lock(folder)
            removed += 1
    return removed


def _remove_lock(folder: str) -> None:
    for suffix in ("", "-journal"):  # A killed process leaves SQLite's journal.
        with suppress(OSError):
            os.unlink(f"{folder}{_LOCK}{suffix}")
