"""`subcog models`; and the neural vectors of new memories, computed at once or later by the background jobs."""

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer
from typer import Argument, Option

from subcog_hooks.cli import background_jobs
from subcog_hooks.cli.background_jobs import JOBS
from subcog_hooks.cli.commands import AsJson, AsJsonl, run_alone
from subcog_hooks.cli.terminal import context, output
from subcog_hooks.cli.terminal.output import ACCENT, count_memories, pluralize, terminal
from subcog_hooks.core.errors import ModelError, StoreBusy, StoreError, UsageError
from subcog_hooks.core.paths import Home
from subcog_hooks.embed import catch_up, models
from subcog_hooks.embed.space import PACKAGED, Space
from subcog_hooks.hook import detached
from subcog_hooks.settings import loading
from subcog_hooks.store import vector_store
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_reader import ExtensionMissing
from subcog_hooks.store.vector_store import VectorStore

BRIEF_S = 2.0  # seconds that a person waits for without having asked
_BRIEF_WAIT = catch_up.Patience(1_000, is_urgent=True)


def start_background_jobs() -> None:
    """Start the background jobs if any is due; called at the very end of a command."""
    background_jobs.start_if_due(context.home(), JOBS)


def embed_now(store: Store, *, afresh: bool = False) -> int:
    """Compute the missing neural vectors with a progress bar and return their number. Raises StoreError, ModelError.

    afresh: check every memory again, and rebuild a damaged file. Without sqlite-vec a message says so.
    """
    home = store.home
    try:
        return sum(_embed_space(home, store, space, afresh=afresh) for space in models.spaces_in_use(home, context.settings()))
    except ExtensionMissing as error:
        terminal.say(str(error))
        return 0


def embed_briefly(store: Store, space: Space) -> int:
    """Compute missing neural vectors of a space for two seconds, and return their number. Raises StoreError, ModelError.

    They are left to another process that is at work on them and does not give way.
    """
    home = context.home()
    if not loading.load(home)["embedding.background"] or not os.access(home.root, os.W_OK):
        return 0
    ends_at = time.monotonic() + BRIEF_S
    try:
        return _embed_space(home, store, space, patience=_BRIEF_WAIT, is_wanted=lambda: time.monotonic() < ends_at)
    except StoreBusy:
        return 0


def _embed_space(
    home: Home,
    store: Store,
    space: Space,
    *,
    afresh: bool = False,
    patience: catch_up.Patience = catch_up.FOREGROUND,
    is_wanted: Callable[[], bool] = lambda: True,
) -> int:
    from subcog_hooks.embed.neural_encoder import DocumentEmbedder, count_cores

    with models.open_vectors(home, store, space, anew=afresh, wait_ms=vector_store.LONG_WAIT_MS) as vectors:
        if not (pending := len(vectors.pending())):
            return 0
        with output.track_items(f"embedding ({space.name})", pending) as advance:
            load = partial(DocumentEmbedder, space, count_cores())
            return catch_up.embed_pending(home, store, vectors, space, load, patience, progress=advance, is_wanted=is_wanted)


commands = typer.Typer(
    help="Choose the embedding model of `subcog search`. The hook always uses the packaged one.\n\nExample: subcog models"
)
_MEGA = 1_000_000


@commands.command(name="list")
def list_(as_json: AsJson = False, as_jsonl: AsJsonl = False) -> None:
    """List the installed models: their space, dimension, size, and how many memories have been embedded.

    Example: subcog models list
    """
    home = context.home()
    try:
        used = models.chosen_space(home, context.settings())
    except ModelError as error:
        used = PACKAGED
        terminal.say(str(error))
    total = _count_memories()
    records = []
    for space in models.installed_spaces(home):
        embedded, missing, size = _count_embedded(home, space), models.missing_files(space), models.size_of(space)
        pending = max(0, total - embedded)
        if as_json or as_jsonl:
            records.append(
                {
                    "space": space.name,
                    "model": space.model,
                    "dimension": space.dimension,
                    "size": size,  # bytes
                    "folder": space.folder,
                    "missing": missing,  # names of files
                    "hook": space.is_packaged,
                    "search": space.name == used.name,
                    "embedded": embedded,  # memories
                    "pending": pending,
                }
            )
            continue
        size_text = "incomplete" if missing else f"{size / _MEGA:.0f} MB"
        users = ", ".join(["hook"] * space.is_packaged + ["search"] * (space.name == used.name))
        counts = f"{count_memories(embedded)} embedded, {pending:,} to come"
        facts = f"{space.dimension} dimensions, {size_text}; {counts}; used by {users or 'nothing'}"
        terminal.pieces((space.name, ACCENT), (f"  {space.model}  {facts}", ""), indent=4)
    terminal.rows(records, as_json=as_json, as_jsonl=as_jsonl)


run_alone(commands, list_)


def _count_memories() -> int:
    with context.reading() as store:
        return sum(count for status, count in store.counts().items() if status != "deleted") if store else 0


def _count_embedded(home: Home, space: Space) -> int:
    try:
        with VectorStore.reader(home, space.name, space.dimension) as vectors:
            return vectors.counts()[0]
    except StoreError:
        return 0  # no vectors yet; `doctor` names any other reason


@commands.command()
def pull(
    name: Annotated[str, Argument(metavar="NAME", help="The name of a text model in fastembed's catalogue.")],
    from_: Annotated[str | None, Option("--from", metavar="DIR", help="The folder with its files.")] = None,
) -> None:
    """Install a model from a folder with its files, and without one tell where they are. It is tried out before it is kept.

    Example: subcog models pull BAAI/bge-small-en-v1.5 --from bge-small
    """
    from subcog_hooks.embed.models import pull_model  # fastembed takes 900 ms to load

    home = context.home()
    home.create()
    known_names = {space.name for space in models.installed_spaces(home) if not models.missing_files(space)}
    space = pull_model(home, name, from_)
    if space.name in known_names:
        terminal.say(f"{space.model} is installed already; `subcog models remove {space.name}` makes room for another copy")
    else:
        size = f"{space.dimension} dimensions, {models.size_of(space) / _MEGA:.0f} MB"
        terminal.say(f"{space.model}: {size}; `subcog models use {space.name}` searches with it")
    terminal.result(space.name)


@commands.command()
def use(name: Annotated[str, Argument(metavar="NAME", help="An installed model; `default` is the packaged one.")]) -> None:
    """Choose the model by which `subcog search` compares meanings. The hook keeps the packaged one.

    Example: subcog models use default
    """
    from subcog_hooks.cli.config import write_setting  # it loads tomlkit

    home = context.home()
    space = models.find_space(home, name)
    if not space.is_packaged:  # going back to the packaged model always works
        models.verify_model(space)
    write_setting(models.SETTING, None if space.is_packaged else space.name)
    pending = max(0, _count_memories() - _count_embedded(home, space))
    remark = ""
    if pending and loading.load(home)["embedding.background"] and detached.may_start():
        memories = pluralize(pending, "memory is", "memories are")
        remark = f"; {memories} embedded in the background, `subcog models list` counts them"
    elif pending:
        remark = f"; {pluralize(pending, 'memory waits', 'memories wait')} for `subcog doctor --fix` to be embedded"
    terminal.say(f"`subcog search` compares with {space.model} from now on{remark}")
    start_background_jobs()


@commands.command()
def remove(name: Annotated[str, Argument(metavar="NAME", help="An installed model.")]) -> None:
    """Delete a pulled model and its vectors. Memories are not touched.

    Example: subcog models remove BAAI/bge-small-en-v1.5
    """
    from subcog_hooks.cli.config import write_setting  # it loads tomlkit

    home = context.home()
    space = models.find_space(home, name)
    if space.is_packaged:
        raise UsageError(f"{space.name} is part of subcog", "`subcog models list` shows those that can be removed")
    if space.answers_to(str(context.settings()[models.SETTING])):
        write_setting(models.SETTING, None)
        terminal.say(f"`subcog search` compares with {PACKAGED.name} again")
    with catch_up.exclusive_work(home, space):
        for own_home in (home, home.sessions):  # vectors first: a process that writes them looks for the model before
            VectorStore.remove(own_home, space.name)
        models.remove_model(home, space)
    catch_up.remove_locks(home, space)
    terminal.say(f"removed {space.model} and its vectors")
