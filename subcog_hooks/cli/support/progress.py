"""Progress bars: on stderr, on a terminal only, gone when they are done."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

from subcog_hooks.cli.support.output import terminal


@contextmanager
def of_items(label: str, total: int | None, *, with_rate: bool = False) -> Iterator[Callable[[int], None]]:
    """Show a bar of things that are counted; yield a function that takes how many more are done.

    with_rate: it shows how many a second.
    """
    with _shown(MofNCompleteColumn(), *([_Rate()] if with_rate else [])) as progress:
        task = progress.add_task(label, total=total)
        yield lambda count: progress.advance(task, count)


@contextmanager
def of_bytes(label: str) -> Iterator[Callable[[int, int | None], None]]:
    """Show a bar of bytes; yield a function that takes how many have come, and of how many as far as is known."""
    with _shown(DownloadColumn(), TransferSpeedColumn()) as progress:
        task = progress.add_task(label, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


class _Rate(ProgressColumn):
    """The column that shows how many are done in a second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.0f}/s" if task.speed else "", style="progress.data.speed")


def _shown(*columns: ProgressColumn) -> Progress:
    hidden = terminal.quiet or not terminal.err.is_terminal
    ends = TextColumn("{task.description}"), BarColumn(), *columns, TimeRemainingColumn()
    return Progress(*ends, console=terminal.err, transient=True, disable=hidden)
