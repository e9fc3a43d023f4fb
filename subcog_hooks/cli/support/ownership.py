"""Whose a memory is, by the name of a project that a person gives."""

from subcog_hooks.cli.support import session
from subcog_hooks.errors import UsageError
from subcog_hooks.memory.project import identity_of

HERE = "here"  # in the place of a project's name: the project of this folder


def names_of(name: str) -> tuple[str, ...]:
    """Return all names under which memories of a project are kept, its identity first.

    Raises UsageError for `here` outside of any project.
    """
    if name != HERE:
        return (identity_of(name),)
    at = session.here()
    if at is None:
        raise UsageError("this folder is in no project", "name the project, or go there")
    return at.names


def of_project(name: str) -> dict[str, object]:
    """Return the fields that make a memory one of this project's. Raises UsageError as `names_of` does."""
    return {"scope": "project", "project": names_of(name)[0]}
