"""The folders of a project in which texts for agents may stand."""

import os
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

MOST_FOLDERS = 5_000  # of a project, that are looked through
DEEPEST = 6  # folders below the root
PASSED_OVER = frozenset(("node_modules", "venv", "vendor", "dist", "build", "target", "__pycache__"))


def folders_below(root: str, hidden: AbstractSet[str] = frozenset()) -> Iterator[tuple[str, list[str]]]:
    """Yield the folders of a project, from its root and "" for that, each with the names of its regular files and links.

    Left out are dependencies, what a build has made, other repositories and worktrees, and hidden folders but for those named.
    No link is followed.
    """
    left = MOST_FOLDERS
    for parent, below, names in os.walk(root):
        relative = os.path.relpath(parent, root).replace(os.sep, "/")
        folder = "" if relative == os.curdir else relative
        left -= 1
        if left < 0:
            return
        if folder and (".git" in below or ".git" in names):
            below.clear()
            continue
        yield folder, [name for name in sorted(names) if os.path.isfile(os.path.join(parent, name))]
        depth = folder.count("/") + 1 if folder else 0
        wanted = [name for name in sorted(below) if name not in PASSED_OVER and (name in hidden or not name.startswith("."))]
        below[:] = wanted if depth < DEEPEST else []
