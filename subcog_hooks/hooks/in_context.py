"""Memories that the client has put before the model in this session by itself: they are not handed over a second time."""

import os

from subcog_hooks.memory.model import IN_CONTEXT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.hooks.occasion import Occasion
    from subcog_hooks.recall.hits import Hit


def note_loaded(hits: "Sequence[Hit]", occasion: "Occasion") -> None:
    """Mark those hits that the client puts before the model of a session in this folder."""
    at = _folder_of(occasion)
    for hit in hits:
        hit.is_loaded = is_loaded(hit.memory.source, at)


def is_loaded(source: str, at: str) -> bool:
    """Return whether a memory of this source is in the context of a session. at: its folder, from the project's root.

    >>> [is_loaded("claude:context:services/api:CLAUDE.md:1", at) for at in ("", "services", "services/api/src")]
    [False, False, True]
    >>> is_loaded("claude:context::CLAUDE.md:1", ""), is_loaded("docs/adr/1.md:1", "")
    (True, False)
    """
    if not source.startswith(IN_CONTEXT):
        return False
    folder = source.removeprefix(IN_CONTEXT).partition(":")[0]
    return not folder or f"{at}/".startswith(f"{folder}/")


def _folder_of(occasion: "Occasion") -> str:
    """Return the session's folder from the project's root, "" at the root and outside of any project."""
    at = occasion.payload.get("cwd")
    if occasion.here is None or not isinstance(at, str):
        return ""
    relative = os.path.relpath(os.path.realpath(at), occasion.here.root)
    return "" if relative == os.curdir or relative.startswith(os.pardir) else relative.replace(os.sep, "/")
