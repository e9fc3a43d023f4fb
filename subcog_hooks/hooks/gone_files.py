"""Files of memories that are gone, as far as a look at each can tell: nothing is walked through."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.memory.model import Memory
    from subcog_hooks.memory.project import Project
    from subcog_hooks.recall.hits import Hit

LEFT = 0.5  # of the relevance of such a memory
_WILD = frozenset("*?[{")


def discount_gone_files(hits: Sequence[Hit], here: Project | None) -> None:
    """Discount the hits whose memory is of the project at hand, and about files that are gone."""
    for hit in hits:
        if is_stale(hit.memory, here):
            hit.present = LEFT


def is_stale(memory: Memory, here: Project | None) -> bool:
    """Return whether a memory is of the project at hand, and all of its files are gone there."""
    if not memory.paths or here is None or not here.root or memory.project not in here.names:
        return False
    return are_gone(memory.paths, here.root)


def are_gone(paths: Sequence[str], root: str) -> bool:
    """Return whether none of these globs can mean a file any more. root: the project's folder.

    A name or pattern that may stand in any folder is not looked for: its files may be anywhere.
    """
    return all(_is_gone(glob, root) for glob in paths)


def _is_gone(glob: str, root: str) -> bool:
    from subcog_hooks.cues import globs  # .4 ms, and few memories have paths

    whole = globs.absolute(glob)
    parts = [part for part in whole.split("/") if part]
    literal: list[str] = []
    for part in parts:
        if not _WILD.isdisjoint(part):
            break
        literal.append(part)
    if not literal or ("/" not in glob.rstrip("/") and not globs.is_absolute(glob)):
        return False
    return not os.path.lexists(os.path.join(os.sep if whole.startswith("/") else root, *literal))
