"""Memories whose files are gone, and memories that the client itself puts before the model."""

from __future__ import annotations

import os

from subcog_hooks.recall.hits import PATH
from subcog_hooks.store.memory import is_from_instructions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.recall.hits import Hit

STALE_FACTOR = 0.5  # The relevance of a memory about missing files is halved.
MIN_ASKED = 0.05  # No hit of a lower relevance is told or pointed at. Asking for the client's files takes 1.5 ms.
_WILDCARDS = frozenset("*?[{")


def discount_absent(hits: Sequence[Hit], call: HookCall) -> None:
    """Discount the hits about deleted files, and mark the hits that the client itself shows. Raises StoreError.

    Deleted: the files were seen here and are all missing; the call keeps the existing ones. A memory that comes by the path of
    the touched file is not discounted: that file may be about to exist.
    """
    for hit in hits:
        memory, here = hit.memory, call.here
        if hit.relevance >= MIN_ASKED and is_from_instructions(memory.source):
            hit.is_loaded = call.shows_itself(memory.content)
        if not memory.paths or here is None or not here.root or memory.project not in here.names:
            continue
        files = find_beginnings(memory.paths, here.root)
        existing = [file for file in files if os.path.lexists(file)]
        call.seen_files.update(existing)
        if files and not existing and PATH not in hit.ranks and _were_seen(call, files):
            hit.present = STALE_FACTOR


def _were_seen(call: HookCall, files: Sequence[str]) -> bool:
    return all(call.state.run("SELECT 1 FROM seen_paths WHERE path = ?", (file,)) for file in files)


def find_beginnings(paths: Sequence[str], root: str) -> list[str]:
    """Return the file or folder that each glob begins with; none where the files of one may be anywhere. root: of the project.

    >>> find_beginnings(["src/db/pool.py", "src/web/**/*.ts", "/etc/hosts"], "/shop")
    ['/shop/src/db/pool.py', '/shop/src/web', '/etc/hosts']
    >>> find_beginnings(["src/web/**", "*.sql"], "/shop"), find_beginnings(["pool.py"], "/shop")
    ([], [])
    """
    from subcog_hooks.cues import globs  # .4 ms, and few memories have paths.

    beginnings = []
    for glob in paths:
        whole = globs.expand_home(glob)
        literal: list[str] = []
        for part in filter(None, whole.split("/")):
            if not _WILDCARDS.isdisjoint(part):
                break
            literal.append(part)
        if not literal or ("/" not in glob.rstrip("/") and not globs.is_absolute(glob)):
            return []
        name = "/".join(literal)  # Windows reads it, too: a drive with its folders is absolute.
        beginnings.append(("/" if whole.startswith("/") else "" if globs.is_absolute(whole) else f"{root}/") + name)
    return beginnings
