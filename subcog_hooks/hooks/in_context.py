"""Memories that the client has put before the model in this session by itself: they are not handed over a second time."""

from __future__ import annotations

import os

from subcog_hooks.memory import project
from subcog_hooks.memory.model import IN_CONTEXT, is_loaded_by_client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.hooks.occasion import Occasion
    from subcog_hooks.recall.hits import Hit


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
