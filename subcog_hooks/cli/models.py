"""`subcog models`: list, install, choose and remove embedding models."""

from typing import Annotated, NamedTuple

import typer
from typer import Argument, Option

from subcog_hooks.cli import command_table, config, embedding
from subcog_hooks.cli.terminal import context, progress
from subcog_hooks.cli.terminal.output import ACCENT, count_memories, pluralize, terminal
from subcog_hooks.core.errors import ModelError, StoreError
from subcog_hooks.core.paths import Home
from subcog_hooks.embed import catch_up, models
from subcog_hooks.embed.space import PACKAGED, Space
from subcog_hooks.hook import detached
from subcog_hooks.settings import loading
from subcog_hooks.store.vector_store import VectorStore

commands = typer.Typer(
    help="Choose the embedding model of `subcog search`. The hook always uses the packaged one.\n\nExample: subcog models"
)
_MEGA = 1_000_000


class _Row(NamedTuple):
    """A model in the order of its JSON keys. size: bytes; missing: file names; embedded, pending: memories."""

    space: str
    model: str
    dimension: int
    size: int
    folder: str
    missing: list[str]
    hook: bool
    search: bool
    embedded: int
    pending: int


@commands.command(name="list")
def list_(json_: Annotated[bool, Option("--json", help="Print the list as JSON.")] = False) -> None:
    """List the installed models: their space, dimension, size, and how many memories have been embedded.

    Example: subcog models list
    """
    home = context.home()
    used = _find_used_space(home)
    total = _count_memories()
    rows = [_make_row(home, space, used, total) for space in models.installed_spaces(home)]
    if json_:
        terminal.json([row._asdict() for row in rows])
        return
    for row in rows:
        terminal.pieces((row.space, ACCENT), (f"  {_row_text(row)}", ""), indent=4)


command_table.run_alone(commands, list_)


def _make_row(home: Home, space: Space, used: Space, total: int) -> _Row:
    embedded = _count_embedded(home, space)
    return _Row(
        space=space.name,
        model=space.model,
        dimension=space.dimension,
        size=models.size_of(space),
        folder=space.folder,
        missing=models.missing_files(space),
        hook=space.is_packaged,
        search=space.name == used.name,
        embedded=embedded,
        pending=max(0, total - embedded),
    )


def _row_text(row: _Row) -> str:
    size = "incomplete" if row.missing else f"{row.size / _MEGA:.0f} MB"
    users = ", ".join(name for name, is_user in (("hook", row.hook), ("search", row.search)) if is_user)
    counts = f"{count_memories(row.embedded)} embedded, {row.pending:,} to come"
    return f"{row.model}  {row.dimension} dimensions, {size}; {counts}; used by {users or 'nothing'}"


def _find_used_space(home: Home) -> Space:
    try:
        return models.chosen_space(home, context.settings())
    except ModelError as error:
        missing = models.missing_files(PACKAGED)
        terminal.say(f"{error}; until then search uses {'the encoder of the hook' if missing else PACKAGED.name}")
        return PACKAGED


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
    from_: Annotated[
        str | None, Option("--from", metavar="DIR", help="Copy its files from this folder, without the network.")
    ] = None,
) -> None:
    """Install a model, from the network or from a folder with its files. It is tried out before it is kept.

    Example: subcog models pull BAAI/bge-small-en-v1.5 --from bge-small
    """
    from subcog_hooks.embed.pull import pull_model  # fastembed takes 900 ms to load

    home = context.home()
    home.create()
    known_names = {space.name for space in models.installed_spaces(home) if not models.missing_files(space)}
    with progress.track_bytes(name) as advance:
        space = pull_model(home, name, from_, advance)
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
    home = context.home()
    space = models.find_space(home, name)
    if not space.is_packaged:  # going back to the packaged model always works
        models.verify_model(space)
    catch_up.forget_failure(home)
    config.write_setting(models.SETTING, None if space.is_packaged else space.name)
    pending = max(0, _count_memories() - _count_embedded(home, space))
    terminal.say(f"`subcog search` compares with {space.model} from now on" + _pending_remark(home, pending))
    embedding.start_background_jobs()


def _pending_remark(home: Home, pending: int) -> str:
    if not pending:
        return ""
    if catch_up.is_enabled(loading.load(home)) and detached.may_start():
        memories = pluralize(pending, "memory is", "memories are")
        return f"; {memories} embedded in the background, `subcog models list` counts them"
    return f"; {pluralize(pending, 'memory waits', 'memories wait')} for `subcog doctor --fix` to be embedded"


@commands.command()
def remove(name: Annotated[str, Argument(metavar="NAME", help="An installed model.")]) -> None:
    """Delete a pulled model and its vectors. Memories are not touched.

    Example: subcog models remove BAAI/bge-small-en-v1.5
    """
    home = context.home()
    space = models.find_pulled_space(home, name)
    if space.answers_to(str(context.settings()[models.SETTING])):
        config.write_setting(models.SETTING, None)
        terminal.say(f"`subcog search` compares with {PACKAGED.name} again")
    with catch_up.exclusive_work(home, space):
        VectorStore.remove(home, space.name)  # vectors first: a process that writes them looks for the model before
        models.remove_model(home, space)
    catch_up.remove_locks(home, space)
    catch_up.forget_failure(home, space)
    terminal.say(f"removed {space.model} and its vectors")
