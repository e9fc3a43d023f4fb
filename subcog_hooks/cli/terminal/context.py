"""The context of a command: its settings, its home and project; and its failures, each as one line and an exit code."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress

from subcog_hooks.cli.terminal.output import OutputFailed, ReaderGone, safe, terminal
from subcog_hooks.core import errors
from subcog_hooks.core.errors import ConfigError, ModelError, NoMemory, StoreError, SubcogError, UsageError
from subcog_hooks.core.files import working_folder
from subcog_hooks.core.paths import Home, find_agent, find_home
from subcog_hooks.embed import models
from subcog_hooks.embed.space import PACKAGED, Space
from subcog_hooks.settings import defaults, loading
from subcog_hooks.settings.defaults import Settings
from subcog_hooks.store import index_writer, project
from subcog_hooks.store.index import LexicalIndex, has_indexed_memories
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter, audience_of, audiences_of
from subcog_hooks.store.vector_reader import ExtensionMissing
from subcog_hooks.store.vector_store import VectorStore


def guard(work: Callable[[], int], *, is_debugged: bool) -> int:
    """Run a command, flush its output and return its exit code. Never raises. is_debugged: a failure prints its traceback."""
    try:
        if callable(signal.getsignal(signal.SIGINT)):  # `__main__` has made it end the process at once.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = work()
        terminal.flush()
    except KeyboardInterrupt:
        _flush_output()
        sys.stderr.write("interrupted\n")  # without rich, which another thread may be importing
        return errors.EXIT_INTERRUPTED
    except (ReaderGone, BrokenPipeError):  # The reader has closed the pipe: `subcog list | head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except OutputFailed as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        complain(f"the output cannot be written: {error}", "what the command changes is stored all the same")
        return errors.EXIT_STORE
    except Exception as error:  # noqa: BLE001 - no traceback reaches a user who did not ask for one
        _flush_output()
        if is_debugged:
            import traceback  # 40 ms, and rarely wanted

            for line in traceback.format_exc().splitlines():
                terminal.complain(line)
        if isinstance(error, SubcogError):
            complain(error.message, error.hint)
            return error.exit_code
        complain(f"{type(error).__name__}: {error}", "run it again with --debug and report it")
        return errors.EXIT_STORE
    return code


def complain(message: str, hint: str) -> None:
    """Print an error and its remedy in one line."""
    terminal.complain(" ".join(f"subcog: {message}{'; ' if hint else ''}{hint}".split()), style="red")


def _flush_output() -> None:
    with suppress(ReaderGone, OutputFailed):
        terminal.flush()


STATE_WAIT_MS = 2_000.0  # for a state that another process has locked


def home() -> Home:
    """Return the home in force. Raises StoreError."""
    is_agents = bool(find_agent())
    left = os.environ.get("OLDPWD", "") if is_agents else ""  # `cd /tmp && subcog …` keeps the project's variables
    found, warning = find_home(left, is_typed=not is_agents)
    if warning:
        terminal.say_once(warning)
    return found


def here() -> project.Project | None:
    """Return the project of the current folder, None outside of any."""
    folder = working_folder()
    return project.find_project(folder) if folder else None


def root_of(project_name: str | None) -> str | None:
    """Return the root that paths are relative to: the current project's, None for another project."""
    current = here() if project_name is None else None
    return current.root if current else None


def settings(*, obeys_variables: bool = False) -> Settings:
    """Return the settings in force. Raises ConfigError naming the first fault in a file or a variable.

    obeys_variables: a person's variables may also loosen the settings. The hook's may not, nor those of an agent's commands.
    """
    current = here()
    loaded = loading.load(home(), current.root if current else None, obeys_variables=obeys_variables and not find_agent())
    for problem in loaded.problems:
        if not problem.startswith(loading.PROJECT_FILE):  # A fault in somebody else's file does not stop a command.
            raise ConfigError(problem, "correct the variable" if problem.startswith("SUBCOG_") else "correct the file")
        terminal.say(problem)
    for line in loaded.ignored:
        terminal.say(line)
    return loaded


def writing() -> Store:
    """Open the store for writing. Raises StoreError, also where the store is empty but the index is not."""
    folder = home()
    has_store(folder)
    return Store.writer(folder)


def has_store(folder: Home) -> bool:
    """Return whether this home has a store. Raises StoreError where the file cannot be read, or has lost its content."""
    try:
        size = os.stat(folder.memories_db).st_size
    except FileNotFoundError:
        size = 0
    except NotADirectoryError as error:
        raise StoreError(f"{folder.root} is not a folder", "move it away, or set SUBCOG_HOME") from error
    except OSError as error:
        raise StoreError(f"{folder.root} cannot be read: {error.strerror}", "check its permissions") from error
    if not size and has_indexed_memories(folder):
        state = "empty" if os.path.exists(folder.memories_db) else "missing"
        remedy = f"restore a backup, or delete {folder.index} and import your last export"
        raise errors.StoreCorrupt(f"{folder.memories_db} is {state}, but the index has memories", remedy)
    return size > 0


def require_store(id_: str) -> None:
    """Raise NoMemory where there is no store yet, so no memory has this id. Raises StoreError."""
    if not has_store(home()):
        find_memory(None, id_)


def reading() -> AbstractContextManager[Store | None]:
    """Open the store for reading; a `with` gets None when there is none yet. Raises StoreError."""
    folder = home()
    return Store.reader(folder) if has_store(folder) else nullcontext()


def existing_state(
    folder: Home, wait_ms: float = STATE_WAIT_MS, tell: Callable[[str], None] | None = None
) -> AbstractContextManager[State | None]:
    """Open the state of a home; a `with` gets None without one. tell: called when it is made anew. Raises StoreError."""
    return State.open(folder, wait_ms, tell) if os.path.exists(folder.state_db) else nullcontext()


def open_state(tell: Callable[[str], None] | None = None) -> State:
    """Return the state, made if missing. tell: called when it is made anew. Raises StoreError."""
    folder = home()
    folder.create()
    return State.open(folder, STATE_WAIT_MS, tell)


def index_of(store: Store, progress: Callable[[int], None] | None = None) -> LexicalIndex:
    """Return the index, brought up to date; in memory where the home is read-only. Raises StoreError."""
    if not os.access(store.home.root, os.W_OK):
        return index_writer.index_in_memory(store)
    return index_writer.bring_up_to_date(store.home, store, progress)


def update_index_and_vectors(store: Store, progress: Callable[[int], None] | None = None) -> None:
    """Bring index and vectors up to date after a write. A failure is printed only, as the memory is stored already."""
    try:
        index_of(store, progress)
    except StoreError as error:
        terminal.say(f"the index will follow with the next command ({error.message})")
    try:
        vectors_of(store, PACKAGED, progress).close()
    except ExtensionMissing:
        pass  # `doctor` reports it, so not every command has to.
    except (StoreError, ModelError) as error:
        terminal.say(f"the vectors will follow with the next command ({error.message})")


def vectors_of(store: Store, space: Space, progress: Callable[[int], None] | None = None) -> VectorStore:
    """Return the vectors of a space, brought up to date unless the home is read-only or another process is at it for long.

    Raises StoreError, ExtensionMissing without sqlite-vec, ModelError when the packaged encoder is damaged.
    """
    folder = store.home
    if not os.access(folder.root, os.W_OK):
        return VectorStore.reader(folder, space.name, space.dimension)
    try:
        return models.open_vectors(folder, store, space, progress)
    except errors.StoreBusy:
        return VectorStore.reader(folder, space.name, space.dimension)


def filter_of_options(
    *,
    namespaces: Sequence[str] | None,
    tags: Sequence[str] | None,
    paths: Sequence[str] | None,
    project_name: str | None,
    all_projects: bool,
    since: int | None = None,
    statuses: tuple[str, ...] = ("active",),
    alone: bool = False,
) -> Filter:
    """Build the filter that a command's options describe: by default this project, the user and the organisation.

    A submodule's project has its parents' memories, too, where the settings want it.
    alone: leave the user's and the organisation's memories out where a project is named.
    """
    if project_name and all_projects:
        raise UsageError("--project and --all-projects exclude each other", "give one of them")
    current = None if project_name else here()
    names = project.names_of(current, working_folder())
    if project_name:
        names = (project.resolve_identity(project_name),)
    elif current and current.parent is not None and settings()[defaults.PARENTS]:
        names = tuple(name for member in current.with_parents() for name in member.names)
    audiences = tuple(audience_of("project", name) for name in names) if alone and project_name else audiences_of(*names)
    return Filter(
        audiences=None if all_projects else audiences,
        statuses=statuses,
        namespaces=tuple(namespaces or ()),
        tags=tuple(tags or ()),
        paths=tuple(paths or ()),
        since=since,
        include_expired=statuses != ("active",),
    )


def find_memory(store: Store | None, id_or_prefix: str) -> Memory:
    """Return the memory with this id or unique prefix. Raises NoMemory, and UsageError for an ambiguous prefix."""
    if store is None:
        raise NoMemory(f"no memory has the id {safe(id_or_prefix)[:80]}", "nothing has been remembered yet")
    if not id_or_prefix:
        raise UsageError("the id is empty", "`subcog list` shows the ids")
    if not id_or_prefix.startswith("subcog://"):
        sql = "SELECT id FROM memories WHERE id >= ? AND id < ? ORDER BY id LIMIT 4"
        ids = [id_ for (id_,) in store.run(sql, (id_or_prefix, id_or_prefix + "\U0010ffff"))]
        if id_or_prefix not in ids and len(ids) == 1:
            return store.get(ids[0])
        if id_or_prefix not in ids and len(ids) > 1:
            raise ambiguous_prefix(id_or_prefix, ids)
    return store.get(id_or_prefix.rpartition("/")[2] if id_or_prefix.startswith("subcog://") else id_or_prefix)


def ambiguous_prefix(prefix: str, ids: Sequence[str]) -> UsageError:
    """Return the error for the beginning of several ids."""
    return UsageError(f"{prefix} begins several ids ({', '.join(ids[:3])}{', …' * (len(ids) > 3)})", "give more of it")


def find_memories(store: Store, ids: Sequence[str]) -> list[Memory]:
    """Return the memories with these ids or unique prefixes, each once. Raises NoMemory, UsageError."""
    return list({memory.id: memory for memory in (find_memory(store, id_) for id_ in ids)}.values())


def audience(memory: Memory) -> str:
    return audience_of(memory.scope, memory.project)
