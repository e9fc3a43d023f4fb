"""Embedding of pending memories in the background, and the reason when the last run ended early."""

from __future__ import annotations

import json
import os

from subcog_hooks.core import log
from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.core.errors import ModelError, StoreBusy, StoreError, SubcogError
from subcog_hooks.core.files import read_regular
from subcog_hooks.embed import catch_up, models, spaces
from subcog_hooks.settings import loading
from subcog_hooks.store import vector_store
from subcog_hooks.store.home_files import is_held
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_reader import ExtensionMissing
from subcog_hooks.store.vector_store import VectorStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # of JSON that this module has written itself

    from subcog_hooks.core.paths import Home
    from subcog_hooks.embed.space import Space
    from subcog_hooks.settings.defaults import Settings

FAILURE = "embedding.failure"  # in the index's folder: the reason for an early end, by space
MAX_FAILURES = 64 * 1024  # bytes
RETRY_MS = 24 * 3_600_000  # a failed model is tried again after this time, or when its files have changed


def is_enabled(settings: Settings) -> bool:
    """Return whether the user wants memories to be embedded in the background."""
    return bool(settings["embedding.background"])


def is_embedding_due(home: Home) -> bool:
    """Return whether a memory waits for its final vector. An error goes to the log, and counts as not due."""
    if not os.path.exists(home.memories_db):
        return False
    try:
        return any(_is_space_due(home, space) for space in spaces.spaces_in_use(home, loading.load(home)))
    except (SubcogError, OSError) as error:
        log.write_line(home, f"memories without vectors could not be counted: {error}")
        return False


def _is_space_due(home: Home, space: Space) -> bool:
    """Return whether a memory waits, no process works on it, and the model has not just failed. It takes 2 ms."""
    if is_held(catch_up.lock_of(home, space)) or _has_just_failed(home, space):
        return False
    try:
        with VectorStore.reader(home, space.name, space.dimension) as vectors:
            if vectors.pending(1):
                return True
            embedded_revision = vectors.watermark()
    except ExtensionMissing:
        return False
    except StoreError:
        embedded_revision = -1  # there are no vectors yet, or they have to be made anew
    with Store.reader(home) as store:
        return embedded_revision < store.revision()


def embed_all_pending(home: Home, pace: Pace = FULL_PACE) -> int:
    """Make every space's pending vectors, with the pauses and the end that `pace` gives. Return the number of texts.

    The reason for an unfinished space goes to the log and to `doctor`.
    """
    try:
        models.chosen_space(home, loading.load(home))
    except SubcogError as error:
        log.write_line(home, str(error))
    done = 0
    seen: set[str] = set()
    # The spaces are listed again each time: the user may have chosen another one meanwhile.
    while new := [space for space in _spaces_in_use(home) if space.name not in seen]:
        if not pace.goes_on():
            break
        seen.add(new[0].name)
        done += _embed_space(home, new[0], pace)
        if not any(space.name == new[0].name for space in models.installed_spaces(home)):
            VectorStore.remove(home, new[0].name)  # made here just after `models remove` had deleted them
            catch_up.remove_locks(home, new[0])  # made anew as well
    return done


def _embed_space(home: Home, space: Space, pace: Pace) -> int:
    try:
        with Store.reader(home) as store:
            done, is_sound = _finish_vectors(home, store, space, pace)
    except StoreBusy:
        return 0  # another process works on it
    except Exception as error:  # noqa: BLE001 - a background process has no terminal
        if not _is_in_use(home, space):
            return 0  # it was removed meanwhile
        log.write_line(home, f"embedding ended early: {space.model}: {error}")
        record_failure(home, space, error)
        return 0
    if is_sound:
        forget_failure(home, space)
    return done


def _spaces_in_use(home: Home) -> list[Space]:
    return spaces.spaces_in_use(home, loading.load(home))


def _is_in_use(home: Home, space: Space) -> bool:
    return any(space.name == wanted.name for wanted in _spaces_in_use(home))


def _finish_vectors(home: Home, store: Store, space: Space, pace: Pace) -> tuple[int, bool]:
    """Make a space's pending vectors. Return their number, and whether the model works or had nothing to do."""
    from subcog_hooks.embed.documents import DocumentEmbedder  # 200 ms with its libraries

    with spaces.open_vectors(home, store, space, parts=True, wait_ms=vector_store.LONG_WAIT_MS) as vectors:
        done = catch_up.embed_pending(
            home,
            store,
            vectors,
            space,
            lambda: DocumentEmbedder(space),
            catch_up.BACKGROUND,
            is_wanted=lambda: _is_in_use(home, space),
            pace=pace,
        )
        if done:
            vector_store.part_cells_anew(home, space.name, vectors)
        return done, done > 0 or not vectors.pending(1)


def last_failure(home: Home) -> str:
    """Return the reasons why the last run ended early, "" when it did not."""
    return "; ".join(str(failure.get("why")) for failure in _read_failures(home).values())


def record_failure(home: Home, space: Space, error: Exception) -> None:
    """Record why a space's vectors were not finished; for a failing model, with the stamp of its files."""
    files = _stamp(space) if isinstance(error, ModelError) else ""
    reason = " ".join(f"{space.model}: {error}".split())
    _write_failures(home, {**_read_failures(home), space.name: {"why": reason, "files": files, "at": now_ms()}})


def forget_failure(home: Home, space: Space | None = None) -> None:
    """Delete the failure of a finished space, None for all spaces."""
    failures = _read_failures(home)
    if failures:
        _write_failures(home, {name: failure for name, failure in failures.items() if space and name != space.name})


def _has_just_failed(home: Home, space: Space) -> bool:
    failure = _read_failures(home).get(space.name)
    return bool(failure and failure.get("files") == _stamp(space) and now_ms() - failure.get("at", 0) < RETRY_MS)


def _stamp(space: Space) -> str:
    """Return sizes and times of a model's files, so that changed files are tried again."""
    entries = []
    for folder, _, names in os.walk(space.folder):
        for name in names:
            status = os.stat(os.path.join(folder, name))
            entries.append(f"{name} {status.st_size} {status.st_mtime_ns}")
    return ", ".join(sorted(entries)) or "none"


def _read_failures(home: Home) -> dict[str, dict[str, Any]]:
    try:
        failures = json.loads(read_regular(os.path.join(home.index, FAILURE), MAX_FAILURES))
    except (OSError, ValueError):
        return {}
    return (
        {name: failure for name, failure in failures.items() if isinstance(failure, dict)} if isinstance(failures, dict) else {}
    )


def _write_failures(home: Home, failures: dict[str, dict[str, Any]]) -> None:
    path = os.path.join(home.index, FAILURE)
    try:
        if failures:
            with open(path, "w", encoding="utf-8") as file:
                json.dump(failures, file)
        elif os.path.exists(path):
            os.unlink(path)
    except OSError:
        pass  # the disk is full; the log has the failure if there was room
