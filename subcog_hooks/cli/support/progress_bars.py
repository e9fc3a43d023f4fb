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


def of_items(*, with_rate: bool) -> Progress:
    """Return a bar of things that are counted. with_rate: it shows how many a second."""
    return _bar(MofNCompleteColumn(), *([_Rate()] if with_rate else []))


def of_bytes() -> Progress:
    """Return a bar of bytes, with their speed."""
    return _bar(DownloadColumn(), TransferSpeedColumn())


class _Rate(ProgressColumn):
    """The column that shows how many are done in a second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.0f}/s" if task.speed else "", style="progress.data.speed")


def _bar(*columns: ProgressColumn) -> Progress:
    ends = TextColumn("{task.description}"), BarColumn(), *columns, TimeRemainingColumn()
    return Progress(*ends, console=terminal.err, transient=True)
