"""The folders in which sessions ran: whose they are, and whether anybody is to listen there."""

from __future__ import annotations

import os

from subcog_hooks.memory import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Places:
    """The folders in which sessions ran, and whose they are."""

    __slots__ = ("_ends", "_found", "_is_left_out", "_left_out")

    def __init__(self, left_out: Sequence[str]) -> None:
        named = [project.identity_of(os.path.expanduser(name)) for name in left_out]
        self._left_out = {*named, *(os.path.realpath(name) for name in named if os.path.isabs(name))}
        # a project's name may have been meant as the end of a path
        ends = [os.path.normpath(name).casefold() for name in left_out if not os.path.isabs(os.path.expanduser(name))]
        self._ends = [os.path.join(os.sep, end, "") for end in ends]
        self._found: dict[str, project.Project | None] = {}
        self._is_left_out: dict[tuple[str, str | None], bool] = {}

    def owner_of(self, folder: str) -> str | None:
        """Return the identity of a folder's project; None outside of any, and the folder itself where that is gone.

        A folder that is gone is taken for the project's that it would lie in: a worktree for a task is soon removed.
        """
        if not folder:
            return None
        if at := self._project(folder):
            return at.identity
        return None if os.path.isdir(folder) else os.path.normpath(folder)

    def project_of(self, folder: str) -> project.Project | None:
        """Return a folder's project, None outside of any; of a folder that is gone what its path tells, without a root."""
        if at := self._project(folder) if folder else None:
            return at
        owner = self.owner_of(folder)
        return project.Project(owner, "", owner) if owner else None

    def heard_project_of(self, folder: str) -> project.Project | None:
        """Return a folder's project as `project_of` does; None also where nobody is to listen."""
        at = self.project_of(folder)
        return None if self.is_left_out(folder, at.identity if at else None) else at

    def root_of(self, folder: str) -> str | None:
        """Return the root of a folder's project, None outside of any, and of a folder that is gone."""
        at = self._project(folder) if folder else None
        return at.root if at and os.path.isdir(folder) else None

    def is_left_out(self, folder: str, owner: str | None) -> bool:
        """Return whether the person wants nothing learned from what is said in a folder."""
        if not self._left_out:
            return False
        if (folder, owner) not in self._is_left_out:
            self._is_left_out[folder, owner] = self._lies_in_left_out(folder, owner)
        return self._is_left_out[folder, owner]

    def _lies_in_left_out(self, folder: str, owner: str | None) -> bool:
        at = self._project(folder) if folder else None
        names = {owner, *(at.names if at else ())}
        if names & self._left_out or not folder:
            return bool(names & self._left_out)
        paths = [os.path.join(path, "") for path in (os.path.normpath(folder), os.path.realpath(folder))]
        is_below = any(path.startswith(os.path.join(name, "")) for name in self._left_out for path in paths)
        return is_below or any(end in path.casefold() for end in self._ends for path in paths)

    def _project(self, folder: str) -> project.Project | None:
        if folder not in self._found:
            self._found[folder] = project.find(folder) if os.path.isabs(folder) else None
        return self._found[folder]
