"""Memories whose files are gone, and memories that the client itself has loaded."""

from __future__ import annotations

import os

from subcog_hooks.store import project
from subcog_hooks.store.memory import IN_CONTEXT, is_loaded_by_client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.recall.hits import Hit
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.project import Project

STALE_FACTOR = 0.5  # The relevance of a memory about missing files is halved.
_WILDCARDS = frozenset("*?[{")


def discount_gone_files(hits: Sequence[Hit], here: Project | None) -> None:
    """Discount the hits about missing files of the project at hand."""
    for hit in hits:
        if is_stale(hit.memory, here):
            hit.present = STALE_FACTOR


def is_stale(memory: Memory, here: Project | None) -> bool:
    """Return whether a memory belongs to the project at hand, and all its files are missing there."""
    if not memory.paths or here is None or not here.root or memory.project not in here.names:
        return False
    return are_gone(memory.paths, here.root)


def are_gone(paths: Sequence[str], root: str) -> bool:
    """Return whether no glob can match a file any more. root: the project's folder.

    A name or pattern without a folder is never gone: its files may be anywhere.
    """
    return all(_is_gone(glob, root) for glob in paths)


def _is_gone(glob: str, root: str) -> bool:
    from subcog_hooks.cues import globs  # .4 ms, and few memories have paths.

    whole = globs.expand_home(glob)
    parts = [part for part in whole.split("/") if part]
    literal: list[str] = []
    for part in parts:
        if not _WILDCARDS.isdisjoint(part):
            break
        literal.append(part)
    if not literal or ("/" not in glob.rstrip("/") and not globs.is_absolute(glob)):
        return False
    name = "/".join(literal)  # Windows reads it, too: a drive with its folders is absolute.
    start = "/" if whole.startswith("/") else "" if globs.is_absolute(whole) else f"{root}/"
    return not os.path.lexists(start + name)


def mark_loaded(hits: Sequence[Hit], call: HookCall) -> None:
    """Mark the hits that the client has loaded for a session in this folder."""
    folder, start_folder = _relative_folder(call), _start_folder_name(call)
    root = call.here.root if call.here else ""
    for hit in hits:
        source = hit.memory.source
        is_unchanged = hit.memory.updated_at == hit.memory.created_at  # The client does not see later changes.
        hit.is_loaded = is_unchanged and is_loaded(source, folder, start_folder, root) and _exists_in_worktree(source, root)


def is_loaded(source: str, folder: str, start_folder: str = "", root: str = "") -> bool:
    """Return whether the client has loaded a memory of this source for a session.

    folder: at hand, from the project's root; start_folder: the client's name of the folder in which the session began, which
    counts where it lies in `root`.

    >>> below = "claude:~/.claude:context:github.com/acme/shop::services/api::services/api/CLAUDE.md:1"
    >>> [is_loaded(below, folder) for folder in ("", "services", "services/api/src")]
    [False, False, True]
    >>> is_loaded("claude:~/.claude:context:github.com/acme/shop::::CLAUDE.md:1", ""), is_loaded("docs/adr/1.md:1", "")
    (True, False)
    """
    if not is_loaded_by_client(source):
        return False
    file_folder = source.partition(IN_CONTEXT)[2].split("::")[1]
    if not file_folder:
        return True
    if root and f"{start_folder}-".startswith(f"{project.slug_of(root)}-"):
        return f"{start_folder}-".startswith(f"{project.slug_of(os.path.join(root, file_folder))}-")
    return f"{folder}/".startswith(f"{file_folder}/")


def _exists_in_worktree(source: str, root: str) -> bool:
    """Return whether this worktree has the file of a source, too. Files outside of the project are not looked for."""
    owner, _, name = source.partition(IN_CONTEXT)[2].split("::", 2)
    file = name.rpartition(":")[0].partition("#")[0]
    is_own = bool(root) and "/" in owner and not file.startswith("/")
    return not is_own or os.path.isfile(os.path.join(root, file))


def _start_folder_name(call: HookCall) -> str:
    """Return the client's name of the folder in which the session began: the folder of its transcript."""
    transcript = call.payload.get("transcript_path")
    return os.path.basename(os.path.dirname(transcript)) if isinstance(transcript, str) else ""


def _relative_folder(call: HookCall) -> str:
    """Return the session's folder from the project's root, "" at the root and outside of any project."""
    folder = call.payload.get("cwd")
    if call.here is None or not isinstance(folder, str):
        return ""
    relative = os.path.relpath(os.path.realpath(folder), call.here.root)
    return "" if relative == os.curdir or relative.startswith(os.pardir) else relative.replace(os.sep, "/")
