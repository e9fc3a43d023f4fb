"""Progress: bars on stderr, on a terminal only, gone when they are done. Elsewhere nothing of them is loaded."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from subcog_hooks.cli.support.output import terminal


@contextmanager
def of_items(label: str, total: int | None, *, with_rate: bool = False) -> Iterator[Callable[[int], None]]:
    """Show a bar of things that are counted; yield a function that takes how many more are done.

    with_rate: it shows how many a second.
    """
    if not _is_shown():
        yield lambda _: None
        return
    from subcog_hooks.cli.support import progress_bars

    with progress_bars.of_items(with_rate=with_rate) as progress:
        task = progress.add_task(label, total=total)
        yield lambda count: progress.advance(task, count)


@contextmanager
def of_bytes(label: str) -> Iterator[Callable[[int, int | None], None]]:
    """Show a bar of bytes; yield a function that takes how many have come, and of how many as far as is known."""
    if not _is_shown():
        yield lambda _, __: None
        return
    from subcog_hooks.cli.support import progress_bars

    with progress_bars.of_bytes() as progress:
        task = progress.add_task(label, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _is_shown() -> bool:
    return not terminal.quiet and terminal.draws_remarks
