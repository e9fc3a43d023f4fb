"""Progress bars on stderr, on a terminal only. Elsewhere their module is not loaded."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from subcog_hooks.cli.support.output import terminal


@contextmanager
def track_items(label: str, total: int | None, *, with_rate: bool = False) -> Iterator[Callable[[int], None]]:
    """Show a bar that counts items; yield a function that adds to its count. with_rate: the bar shows the items per second."""
    if not _is_shown():
        yield lambda _: None
        return
    from subcog_hooks.cli.support import progress_bars

    with progress_bars.items_bar(with_rate=with_rate) as progress:
        task = progress.add_task(label, total=total)
        yield lambda count: progress.advance(task, count)


@contextmanager
def track_bytes(label: str) -> Iterator[Callable[[int, int | None], None]]:
    """Show a bar of bytes; yield a function that takes the bytes so far and, where known, the total."""
    if not _is_shown():
        yield lambda _, __: None
        return
    from subcog_hooks.cli.support import progress_bars

    with progress_bars.bytes_bar() as progress:
        task = progress.add_task(label, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _is_shown() -> bool:
    return not terminal.quiet and terminal.draws_remarks
