"""Memories whose files are gone, and memories that the client itself has loaded."""

from __future__ import annotations

import os

from subcog_hooks.hook.payload import text_of
from subcog_hooks.recall.hits import PATH
from subcog_hooks.store import project, state_values
from subcog_hooks.store.memory import IN_CONTEXT, is_loaded_by_client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.recall.hits import Hit

STALE_FACTOR = 0.5  # The relevance of a memory about missing files is halved.
_WILDCARDS = frozenset("*?[{")


def discount_absent(hits: Sequence[Hit], call: HookCall) -> None:
    """Discount the hits about deleted files, and mark the hits that the client has loaded. Raises StoreError.

    Deleted: the files were seen here and are all missing; the call keeps the existing ones. A memory that comes by the path of
    the touched file is not discounted: that file may be about to exist.
    """
    if any(is_loaded_by_client(hit.memory.source) for hit in hits):
        _mark_loaded(hits, call)
    for hit in hits:
        memory, here = hit.memory, call.here
        if not memory.paths or here is None or not here.root or memory.project not in here.names:
            continue
        files = find_beginnings(memory.paths, here.root)
        existing = [file for file in files if os.path.lexists(file)]
        call.seen_files.update(existing)
        if files and not existing and PATH not in hit.ranks and state_values.were_seen(call.state, files):
            hit.present = STALE_FACTOR


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


def _mark_loaded(hits: Sequence[Hit], call: HookCall) -> None:
    """Mark the hits that the client has loaded for a session in this folder."""
    # The folder of the transcript is the client's name of the folder in which the session began.
    start_folder = os.path.basename(os.path.dirname(text_of(call.payload, "transcript_path")))
    folder = _relative_folder(call)
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


def _relative_folder(call: HookCall) -> str:
    """Return the session's folder from the project's root, "" at the root and outside of any project."""
    folder = call.payload.get("cwd")
    if call.here is None or not isinstance(folder, str):
        return ""
    relative = os.path.relpath(os.path.realpath(folder), call.here.root)
    return "" if relative == os.curdir or relative.startswith(os.pardir) else relative.replace(os.sep, "/")
