"""Projects in the store that may be the project at hand under another name, as after a move to another host."""

import os

from subcog_hooks.store import project
from subcog_hooks.store.project import Project
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter, audience_of

MAX_NAMESAKES = 3


def find_namesakes(store: Store, here: Project) -> list[str]:
    """Return the names of projects with memories that are named as the project at hand, and of a fork's upstream."""
    own_names = {name for member in here.with_parents() for name in member.names}
    upstream = project.find_upstream(here.root)
    alike = [
        name
        for name in store.projects()
        if name not in own_names
        and (name == upstream or _are_alike(name, here.identity))
        and store.count(Filter(audiences=(audience_of("project", name),)))
    ]
    return alike[:MAX_NAMESAKES]


def _are_alike(name: str, other: str) -> bool:
    """Return whether two names end alike: remotes in their last two parts, folders and a remote in the last one.

    >>> _are_alike("github.com/acme/shop", "git.acme.io/acme/shop"), _are_alike("github.com/acme/shop", "github.com/bob/shop")
    (True, False)
    >>> _are_alike("/old/shop", "github.com/acme/shop"), _are_alike("/old/shop", "/new/blog")
    (True, False)
    """
    parts, others = (_last_parts(text) for text in (name, other))
    length = 1 if os.path.isabs(name) or os.path.isabs(other) else 2
    return parts[-length:] == others[-length:]


def _last_parts(name: str) -> list[str]:
    return name.replace(os.sep, "/").lower().rstrip("/").removesuffix(".git").rstrip("/").split("/")
