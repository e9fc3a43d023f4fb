"""The process that embeds what is pending after a command has ended: detached, niced, one thread, gone when it is done."""

import json
import os
import subprocess
import sys
import warnings

from subcog_hooks import log
from subcog_hooks.embed import catch_up, models, spaces
from subcog_hooks.errors import ModelError, StoreBusy, StoreError, SubcogError
from subcog_hooks.memory import vector_sync
from subcog_hooks.memory.lock import is_held
from subcog_hooks.memory.model import now_ms
from subcog_hooks.memory.store import Store
from subcog_hooks.memory.vector_file import ExtensionMissing
from subcog_hooks.memory.vectors import VectorStore
from subcog_hooks.paths import Home
from subcog_hooks.regular_files import read_regular
from subcog_hooks.settings import loading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # of JSON that this module has written itself

    from subcog_hooks.embed.space import Space

COMMAND = "embed-pending"
SWITCH = "SUBCOG_BACKGROUND"  # 0: no command starts the process, whatever the settings say
FAILURE = "embedding.failure"  # in the index's folder: why the last run ended early, by space
MAX_FAILURES = 64 * 1024  # bytes of it that are read
RETRY_MS = 24 * 3_600_000  # a model that failed is tried again then, or when its files have changed
_LEAST_PRIORITY = 19  # the most that `nice` takes


def start_if_pending(home: Home) -> bool:
    """Start the process when there is something for it to do and none is at it. Return whether one was started.

    For the end of a command, never for a hook. Whatever goes wrong is left for the next command, and to the log.
    """
    settings = loading.load(home)
    if not is_allowed(settings):
        return False
    try:
        if not any(_is_due(home, space) for space in spaces.in_use(home, settings)):
            return False
        _start(home)
    except (SubcogError, OSError) as error:
        log.write(home, f"embedding was not started: {error}")
        return False
    return True


def is_allowed(settings: loading.Settings) -> bool:
    """Return whether commands may start the process."""
    return os.environ.get(SWITCH) != "0" and bool(settings["embedding.background"])


def _is_due(home: Home, space: "Space") -> bool:
    """Return whether the process should start. A look of 2 ms.

    It should where something waits for its final vector, nobody is at it, and the model has not just failed.
    """
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


def _start(home: Home) -> None:
    # -P: the folder it starts in is data, not a place to import from
    command = [sys.executable, "-P", "-m", "subcog_hooks", COMMAND]
    quiet = subprocess.DEVNULL
    environment = {**os.environ, "SUBCOG_HOME": home.root}
    if sys.platform == "win32":
        flags = subprocess.DETACHED_PROCESS | subprocess.IDLE_PRIORITY_CLASS | subprocess.CREATE_NEW_PROCESS_GROUP
        process = subprocess.Popen(
            command, stdin=quiet, stdout=quiet, stderr=quiet, cwd=home.root, env=environment, creationflags=flags
        )
    else:
        process = subprocess.Popen(
            command, stdin=quiet, stdout=quiet, stderr=quiet, cwd=home.root, env=environment, start_new_session=True
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # that it is left to itself is what it is for
        del process


def run(home: Home) -> None:
    """Make every space's pending vectors, then end: the process itself.

    Why it ended early goes to the log and to `doctor`.
    """
    if hasattr(os, "nice"):
        os.nice(_LEAST_PRIORITY)
    try:
        models.chosen(home, loading.load(home))
    except SubcogError as error:
        log.write(home, str(error))
    seen: set[str] = set()
    while new := [space for space in _wanted(home) if space.name not in seen]:  # asked again: somebody may have chosen another
        seen.add(new[0].name)
        _catch_up(home, new[0])
        if not any(space.name == new[0].name for space in models.installed(home)):
            VectorStore.remove(home, new[0].name)  # made here just after `models remove` had taken them away


def _catch_up(home: Home, space: "Space") -> None:
    try:
        with Store.reader(home) as store:
            is_done = _finish(home, store, space)
    except StoreBusy:
        return  # another process is at it
    except Exception as error:  # noqa: BLE001 - nobody sees its traceback
        if not _is_wanted(home, space):
            return  # it was removed under us
        log.write(home, f"embedding ended early: {space.model}: {error}")
        note_failure(home, space, error)
    else:
        if is_done:
            forget_failure(home, space)


def _wanted(home: Home) -> "list[Space]":
    return spaces.in_use(home, loading.load(home))


def _is_wanted(home: Home, space: "Space") -> bool:
    return any(space.name == wanted.name for wanted in _wanted(home))


def _finish(home: Home, store: Store, space: "Space") -> bool:
    """Make a space's pending vectors. Return whether the model has shown that it works, or had nothing to do."""
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
        )
        return done > 0 or not vectors.pending(1)


# why the last run ended early


def last_failure(home: Home) -> str:
    """Return why the last run ended early, "" when it did not."""
    return "; ".join(str(told.get("why")) for told in _failures(home).values())


def note_failure(home: Home, space: "Space", error: Exception) -> None:
    """Write down why a space's vectors were not finished; of a model that failed, as what files."""
    files = _stamp(space) if isinstance(error, ModelError) else ""
    why = " ".join(f"{space.model}: {error}".split())
    _keep(home, {**_failures(home), space.name: {"why": why, "files": files, "at": now_ms()}})


def forget_failure(home: Home, space: "Space | None" = None) -> None:
    """Note that a space's vectors were finished, None for those of all."""
    failures = _failures(home)
    if failures:
        _keep(home, {name: told for name, told in failures.items() if space and name != space.name})


def _has_just_failed(home: Home, space: "Space") -> bool:
    told = _failures(home).get(space.name)
    return bool(told and told.get("files") == _stamp(space) and now_ms() - told.get("at", 0) < RETRY_MS)


def _stamp(space: "Space") -> str:
    """Return sizes and times of a model's files: another stamp is another chance."""
    found = []
    for folder, _, names in os.walk(space.folder):
        for name in names:
            status = os.stat(os.path.join(folder, name))
            found.append(f"{name} {status.st_size} {status.st_mtime_ns}")
    return ", ".join(sorted(found)) or "none"


def _failures(home: Home) -> "dict[str, dict[str, Any]]":
    try:
        told = json.loads(read_regular(os.path.join(home.index, FAILURE), MAX_FAILURES))
    except (OSError, ValueError):
        return {}
    return {name: why for name, why in told.items() if isinstance(why, dict)} if isinstance(told, dict) else {}


def _keep(home: Home, failures: "dict[str, dict[str, Any]]") -> None:
    path = os.path.join(home.index, FAILURE)
    try:
        if failures:
            with open(path, "w", encoding="utf-8") as file:
                json.dump(failures, file)
        elif os.path.exists(path):
            os.unlink(path)
    except OSError:
        pass  # the disk is full, which is what it would say; the log has it if there was room
