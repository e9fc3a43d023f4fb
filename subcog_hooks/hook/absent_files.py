"""Memories whose files are gone, and memories that the client itself has loaded."""

from __future__ import annotations

import os

from subcog_hooks.store import project
from subcog_hooks.store.memory import IN_CONTEXT, is_loaded_by_client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.hook.call import Occasion
    from subcog_hooks.recall.hits import Hit
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.project import Project

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


def note_loaded(hits: Sequence[Hit], occasion: Occasion) -> None:
    """Mark those hits that the client puts before the model of a session in this folder."""
    at, began = _folder_of(occasion), _began_in(occasion)
    root = occasion.here.root if occasion.here else ""
    for hit in hits:
        is_as_there = hit.memory.updated_at == hit.memory.created_at  # what a person has changed here, the client has not
        hit.is_loaded = is_as_there and is_loaded(hit.memory.source, at, began, root) and _is_there(hit.memory.source, root)


def is_loaded(source: str, at: str, began: str = "", root: str = "") -> bool:
    """Return whether a memory of this source is in the context of a session.

    at: the folder at hand, from the project's root; began: how the client calls the folder in which the session began, which
    counts where it is known to lie in `root`.

    >>> below = "claude:~/.claude:context:github.com/acme/shop::services/api::services/api/CLAUDE.md:1"
    >>> [is_loaded(below, at) for at in ("", "services", "services/api/src")]
    [False, False, True]
    >>> is_loaded("claude:~/.claude:context:github.com/acme/shop::::CLAUDE.md:1", ""), is_loaded("docs/adr/1.md:1", "")
    (True, False)
    """
    if not is_loaded_by_client(source):
        return False
    folder = source.partition(IN_CONTEXT)[2].split("::")[1]
    if not folder:
        return True
    if root and f"{began}-".startswith(f"{project.slug_of(root)}-"):
        return f"{began}-".startswith(f"{project.slug_of(os.path.join(root, folder))}-")
    return f"{at}/".startswith(f"{folder}/")


def _is_there(source: str, root: str) -> bool:
    """Return whether this worktree has the file, too. Of what is not the project's own nothing is looked for."""
    of, _, name = source.partition(IN_CONTEXT)[2].split("::", 2)
    file = name.rpartition(":")[0].partition("#")[0]
    is_own = bool(root) and "/" in of and not file.startswith("/")
    return not is_own or os.path.isfile(os.path.join(root, file))


def _began_in(occasion: Occasion) -> str:
    """Return how the client calls the folder in which the session began: it keeps the session below that name."""
    kept = occasion.payload.get("transcript_path")
    return os.path.basename(os.path.dirname(kept)) if isinstance(kept, str) else ""


def _folder_of(occasion: Occasion) -> str:
    """Return the session's folder from the project's root, "" at the root and outside of any project."""
    at = occasion.payload.get("cwd")
    if occasion.here is None or not isinstance(at, str):
        return ""
    relative = os.path.relpath(os.path.realpath(at), occasion.here.root)
    return "" if relative == os.curdir or relative.startswith(os.pardir) else relative.replace(os.sep, "/")
