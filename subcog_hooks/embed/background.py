"""Embedding what is pending in the background, and why the last run of it ended early."""

from __future__ import annotations

import json
import os

from subcog_hooks.core import log
from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.core.errors import ModelError, StoreBusy, StoreError, SubcogError
from subcog_hooks.core.regular_files import read_regular
from subcog_hooks.embed import catch_up, models, spaces
from subcog_hooks.settings import loading
from subcog_hooks.store import vector_sync
from subcog_hooks.store.lock import is_held
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_file import ExtensionMissing
from subcog_hooks.store.vector_store import VectorStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # of JSON that this module has written itself

    from subcog_hooks.core.paths import Home
    from subcog_hooks.embed.space import Space

FAILURE = "embedding.failure"  # in the index's folder: why the last run ended early, by space
MAX_FAILURES = 64 * 1024  # bytes of it that are read
RETRY_MS = 24 * 3_600_000  # a model that failed is tried again then, or when its files have changed


def is_wanted(settings: loading.Settings) -> bool:
    """Return whether the person wants memories to be embedded in the background."""
    return bool(settings["embedding.background"])


def is_due(home: Home) -> bool:
    """Return whether something waits for its final vector. What can not be looked at goes to the log, and is not due."""
    if not os.path.exists(home.memories_db):
        return False
    try:
        return any(_is_due(home, space) for space in spaces.in_use(home, loading.load(home)))
    except (SubcogError, OSError) as error:
        log.write(home, f"whether anything is to be embedded is not known: {error}")
        return False


def _is_due(home: Home, space: Space) -> bool:
    """Return whether something of a space waits, nobody is at it, and the model has not just failed. A look of 2 ms."""
    if is_held(catch_up.lock_of(home, space)) or _has_just_failed(home, space):
        return False
    try:
        with VectorStore.reader(home, space.name, space.dimension) as vectors:
            if vectors.pending(1):
                return True
            reached = vectors.watermark()
    except ExtensionMissing:
        return False
    except StoreError:
        reached = -1  # there are none yet, or they have to be made anew
    with Store.reader(home) as store:
        return reached < store.revision()


def run(home: Home, pace: Pace = FULL_PACE) -> int:
    """Make every space's pending vectors, pausing and ending as `pace` says. Return how many texts got theirs.

    Why a space's were not finished goes to the log and to `doctor`.
    """
    try:
        models.chosen(home, loading.load(home))
    except SubcogError as error:
        log.write(home, str(error))
    done = 0
    seen: set[str] = set()
    while new := [space for space in _wanted(home) if space.name not in seen]:  # asked again: somebody may have chosen another
        if not pace.goes_on():
            break
        seen.add(new[0].name)
        done += _catch_up(home, new[0], pace)
        if not any(space.name == new[0].name for space in models.installed(home)):
            VectorStore.remove(home, new[0].name)  # made here just after `models remove` had taken them away
            catch_up.remove_locks(home, new[0])  # as are these
    return done


def _catch_up(home: Home, space: Space, pace: Pace) -> int:
    try:
        with Store.reader(home) as store:
            done, is_sound = _finish(home, store, space, pace)
    except StoreBusy:
        return 0  # another process is at it
    except Exception as error:  # noqa: BLE001 - nobody sees its traceback
        if not _is_wanted(home, space):
            return 0  # it was removed under us
        log.write(home, f"embedding ended early: {space.model}: {error}")
        note_failure(home, space, error)
        return 0
    if is_sound:
        forget_failure(home, space)
    return done


def _wanted(home: Home) -> list[Space]:
    return spaces.in_use(home, loading.load(home))


def _is_wanted(home: Home, space: Space) -> bool:
    return any(space.name == wanted.name for wanted in _wanted(home))


def _finish(home: Home, store: Store, space: Space, pace: Pace) -> tuple[int, bool]:
    """Make a space's pending vectors. Return how many, and whether the model has shown that it works, or had nothing to do."""
    from subcog_hooks.embed.documents import DocumentEmbedder  # 200 ms with its libraries

    with spaces.open_following(home, store, space, parts=True, wait_ms=vector_sync.LONG_WAIT_MS) as vectors:
        done = catch_up.embed_pending(
            home,
            store,
            vectors,
            space,
            lambda: DocumentEmbedder(space),
            catch_up.BACKGROUND,
            is_wanted=lambda: _is_wanted(home, space),
            pace=pace,
        )
        if done:
            vector_sync.part_anew(home, space.name, vectors)
        return done, done > 0 or not vectors.pending(1)


# why the last run ended early


def last_failure(home: Home) -> str:
    """Return why the last run ended early, "" when it did not."""
    return "; ".join(str(told.get("why")) for told in _failures(home).values())


def note_failure(home: Home, space: Space, error: Exception) -> None:
    """Write down why a space's vectors were not finished; of a model that failed, as what files."""
    files = _stamp(space) if isinstance(error, ModelError) else ""
    why = " ".join(f"{space.model}: {error}".split())
    _keep(home, {**_failures(home), space.name: {"why": why, "files": files, "at": now_ms()}})


def forget_failure(home: Home, space: Space | None = None) -> None:
    """Note that a space's vectors were finished, None for those of all."""
    failures = _failures(home)
    if failures:
        _keep(home, {name: told for name, told in failures.items() if space and name != space.name})


def _has_just_failed(home: Home, space: Space) -> bool:
    told = _failures(home).get(space.name)
    return bool(told and told.get("files") == _stamp(space) and now_ms() - told.get("at", 0) < RETRY_MS)


def _stamp(space: Space) -> str:
    """Return sizes and times of a model's files: another stamp is another chance."""
    found = []
    for folder, _, names in os.walk(space.folder):
        for name in names:
            status = os.stat(os.path.join(folder, name))
            found.append(f"{name} {status.st_size} {status.st_mtime_ns}")
    return ", ".join(sorted(found)) or "none"


def _failures(home: Home) -> dict[str, dict[str, Any]]:
    try:
        told = json.loads(read_regular(os.path.join(home.index, FAILURE), MAX_FAILURES))
    except (OSError, ValueError):
        return {}
    return {name: why for name, why in told.items() if isinstance(why, dict)} if isinstance(told, dict) else {}


def _keep(home: Home, failures: dict[str, dict[str, Any]]) -> None:
    path = os.path.join(home.index, FAILURE)
    try:
        if failures:
            with open(path, "w", encoding="utf-8") as file:
                json.dump(failures, file)
        elif os.path.exists(path):
            os.unlink(path)
    except OSError:
        pass  # the disk is full, which is what it would say; the log has it if there was room
