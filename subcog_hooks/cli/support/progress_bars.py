"""The progress bars that rich draws."""

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


def items_bar(*, with_rate: bool) -> Progress:
    """Return a bar that counts items. with_rate: it shows the items per second."""
    return _bar(MofNCompleteColumn(), *([_Rate()] if with_rate else []))


def bytes_bar() -> Progress:
    """Return a bar that counts bytes and shows their speed."""
    return _bar(DownloadColumn(), TransferSpeedColumn())


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.0f}/s" if task.speed else "", style="progress.data.speed")


def _bar(*columns: ProgressColumn) -> Progress:
    ends = TextColumn("{task.description}"), BarColumn(), *columns, TimeRemainingColumn()
    return Progress(*ends, console=terminal.err, transient=True)
