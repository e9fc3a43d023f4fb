"""The things that a command works on: the home, the store, the index brought up to date, the project at hand."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from subcog_hooks.cli.support import trial_folders
from subcog_hooks.cli.support.output import safe, terminal
from subcog_hooks.core.errors import ConfigError, ModelError, NoMemory, StoreBusy, StoreCorrupt, StoreError, UsageError
from subcog_hooks.core.homes import IN_AN_AGENT, find_home
from subcog_hooks.core.paths import Home
from subcog_hooks.embed import spaces
from subcog_hooks.embed.space import PACKAGED, Space
from subcog_hooks.settings import loading
from subcog_hooks.store import index_sync, project
from subcog_hooks.store.index import LexicalIndex, has_indexed
from subcog_hooks.store.memory import NAMESPACES, Memory
from subcog_hooks.store.store import Filter, Store, audience_of, audiences_of
from subcog_hooks.store.vector_file import ExtensionMissing
from subcog_hooks.store.vector_store import VectorStore

NEAR = 0.75  # share of common letters from which a namespace is taken for a misspelt one


def home() -> Home:
    """Return the home; an agent's, whose variables a repository can set, is found as the hook's is. Raises StoreError."""
    if not os.environ.get(IN_AN_AGENT):
        return Home.find()
    found, ignored = find_home()
    if ignored:
        terminal.say_once(ignored)
    return found


def here() -> project.Project | None:
    """Return the project of the folder this command was started in."""
    try:
        return project.find(os.getcwd())
    except FileNotFoundError:
        return None  # the folder has been removed


def root_of(project_name: str | None) -> str | None:
    """Return the folder that paths are named from: that of the project at hand; None for another project."""
    at = here() if project_name is None else None
    return at.root if at else None


def settings() -> loading.Settings:
    """Return the settings in force. Raises ConfigError naming the first thing that is wrong in a file."""
    at = here()
    found = loading.load(home(), at.root if at else None)
    for problem in found.problems:
        if not problem.startswith(loading.PROJECT_FILE):  # somebody else's file is no reason to stop
            raise ConfigError(problem, "correct the variable" if problem.startswith("SUBCOG_") else "correct the file")
        terminal.say(problem)
    for line in found.ignored:
        terminal.say(line)
    return found


@contextmanager
def writing() -> Iterator[Store]:
    """Yield the store for writing, closed in the end. Raises StoreError, also rather than begin anew where it has lost all."""
    at = home()
    has_store(at)
    trial_folders.remove_left(at)
    with Store.writer(at) as store:
        yield store


def check_store() -> None:
    """Open the store for writing, where there is one. Raises StoreError where a hook could not use it."""
    if has_store(home()):
        with writing():
            pass


def has_store(at: Home) -> bool:
    """Return whether there is a store in this home. Raises StoreError when that can not be seen, or when it has lost all."""
    try:
        size = os.stat(at.memories_db).st_size
    except FileNotFoundError:
        return False
    except NotADirectoryError as error:
        raise StoreError(f"{at.root} is not a folder", "move it away, or set SUBCOG_HOME") from error
    except OSError as error:
        raise StoreError(f"{at.root} can not be read: {error.strerror}", "check its permissions") from error
    if not size and has_indexed(at):
        remedy = "restore a backup, or move it away and import your last export"
        raise StoreCorrupt(f"{at.memories_db} is empty, but the index knows memories", remedy)
    return size > 0


def require_store(id_: str) -> None:
    """Raise NoMemory where there is no store yet, so that no memory has this id. Raises StoreError."""
    if not has_store(home()):
        raise NoMemory(f"no memory has the id {safe(id_)[:80]}", "nothing has been remembered yet")


@contextmanager
def reading() -> Iterator[Store | None]:
    """Yield the store for reading, None when there is none yet."""
    at = home()
    if not has_store(at):
        yield None
        return
    trial_folders.remove_left(at)
    with Store.reader(at) as store:
        yield store


def index_of(store: Store, progress: Callable[[int], None] | None = None) -> LexicalIndex:
    """Return the index, caught up with the store; in a home that can not be written, one in memory. Raises StoreError."""
    at = home()
    return index_sync.catch_up(at, store, progress) if os.access(at.root, os.W_OK) else index_sync.in_memory(store)


def follow(store: Store, progress: Callable[[int], None] | None = None) -> None:
    """Bring index and vectors up to date after a write. The memory is safe already: a failure is said, and is no failure.

    progress: told of each chunk, once by the index and once by the vectors.
    """
    try:
        index_of(store, progress)
    except StoreError as error:
        terminal.say(f"the index will follow with the next command ({error.message})")
    try:
        vectors_of(store, PACKAGED, progress).close()
    except ExtensionMissing:
        pass  # `doctor` says so, not every command
    except (StoreError, ModelError) as error:
        terminal.say(f"the vectors will follow with the next command ({error.message})")


def vectors_of(store: Store, space: Space, progress: Callable[[int], None] | None = None) -> VectorStore:
    """Return the vectors of a space, caught up with the store. As they are in a home that can not be written, and while another
    process is at it for long: that one brings what is missing too.

    Raises StoreError, ExtensionMissing without sqlite-vec, ModelError when the packaged encoder is damaged.
    """
    at = home()
    if not os.access(at.root, os.W_OK):
        return VectorStore.reader(at, space.name, space.dimension)
    try:
        return spaces.open_vectors(at, store, space, progress, parts=True)
    except StoreBusy:
        return VectorStore.reader(at, space.name, space.dimension)


def wanted(
    *,
    namespaces: Sequence[str] | None,
    tags: Sequence[str] | None,
    paths: Sequence[str] | None,
    project_name: str | None,
    all_projects: bool,
    since: int | None,
    statuses: tuple[str, ...] = ("active",),
    alone: bool = False,
) -> Filter:
    """Return the filter that a command's options describe: by default this project, the user and the organisation.

    alone: a project that is named is wanted without the user's and the organisation's memories.
    """
    if project_name and all_projects:
        raise UsageError("--project and --all-projects exclude each other", "give one of them")
    at = None if project_name else here()
    names = (project.identity_of(project_name),) if project_name else at.names if at else ()
    audiences = audiences_of(*names)
    if alone and project_name:
        audiences = tuple(audience_of("project", name) for name in names)
    return Filter(
        audiences=None if all_projects else audiences,
        statuses=statuses,
        namespaces=tuple(namespaces or ()),
        tags=tuple(tags or ()),
        paths=tuple(paths or ()),
        since=since,
        include_expired=statuses != ("active",),
    )


def scope_of(memory: Memory) -> Filter:
    """Return the scope in which a memory is looked for: its project's, with what is for all projects."""
    return Filter(audiences=audiences_of(*([memory.project] if memory.project else [])))


def note_unknown_project(store: Store, name: str | None) -> None:
    """Say so when no memory is of the project that an option names."""
    if name is not None and project.identity_of(name) not in (known := store.projects()):
        terminal.say(f"no memory is of the project {name!r}; there are: {', '.join(known) or 'none'}")


def note_unknown_namespaces(store: Store, names: Sequence[str], *, is_given: bool = False) -> None:
    """Say which namespaces no memory has, and what they may be misspelt for.

    is_given: a memory is given this namespace, which may be a name of the user's own; then only what looks misspelt is said.
    """
    if not names:
        return
    import difflib  # names are rarely given, and the rest of the module is for every search

    known = list(dict.fromkeys((*NAMESPACES, *store.namespaces()))) if set(names) - set(NAMESPACES) else []
    for name in names:
        near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=NEAR)
        if known and name not in known and (near or not is_given):
            meant = f"; did you mean {near[0]}?" if near else ""
            terminal.say(f"no {'other ' * is_given}memory is in the namespace {safe(name)[:80]!r}{meant}")


def find(store: Store, id_or_prefix: str) -> Memory:
    """Return the memory with this id, or the only one whose id begins so. Raises NoMemory, UsageError when several do."""
    if not id_or_prefix:
        raise UsageError("the id is empty", "`subcog list` shows the ids")
    if not id_or_prefix.startswith("subcog://"):
        ids = store.with_prefix(id_or_prefix, 3)
        if id_or_prefix not in ids and len(ids) == 1:
            return store.get(ids[0])
        if id_or_prefix not in ids and len(ids) > 1:
            raise UsageError(f"{id_or_prefix} begins several ids ({', '.join(ids)}, …)", "give more of it")
    return store.get(id_or_prefix.rpartition("/")[2] if id_or_prefix.startswith("subcog://") else id_or_prefix)


def audience(memory: Memory) -> str:
    return audience_of(memory.scope, memory.project)
