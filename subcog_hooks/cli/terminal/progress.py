"""Progress bars on stderr, on a terminal only. Elsewhere rich's are not loaded."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from subcog_hooks.cli.terminal.output import terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn


@contextmanager
def track_items(label: str, total: int | None, *, with_rate: bool = False) -> Iterator[Callable[[int], None]]:
    """Show a bar that counts items; yield a function that adds to its count. with_rate: the bar shows the items per second."""
    if terminal.quiet or not terminal.draws_remarks:
        yield lambda _: None
        return
    from rich import progress

    rate = [progress.TaskProgressColumn("", show_speed=True)] if with_rate else []
    with _draw_bar(progress.MofNCompleteColumn(), *rate) as bar:
        task = bar.add_task(label, total=total)
        yield lambda count: bar.advance(task, count)


@contextmanager
def track_bytes(label: str) -> Iterator[Callable[[int, int | None], None]]:
    """Show a bar of bytes and their speed; yield a function that takes the bytes so far and, where known, the total."""
    if terminal.quiet or not terminal.draws_remarks:
        yield lambda _, __: None
        return
    from rich import progress

    with _draw_bar(progress.DownloadColumn(), progress.TransferSpeedColumn()) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _draw_bar(*columns: "ProgressColumn") -> "Progress":
    from rich import progress

    ends = progress.TextColumn("{task.description}"), progress.BarColumn(), *columns, progress.TimeRemainingColumn()
    return progress.Progress(*ends, console=terminal.err, transient=True)
