"""The progress bars that rich draws."""

from rich import progress
from rich.text import Text

from subcog_hooks.cli.support.output import terminal


def items_bar(*, with_rate: bool) -> progress.Progress:
    """Return a bar that counts items. with_rate: it shows the items per second."""
    return _bar(progress.MofNCompleteColumn(), *([_Rate()] if with_rate else []))


def bytes_bar() -> progress.Progress:
    """Return a bar that counts bytes and shows their speed."""
    return _bar(progress.DownloadColumn(), progress.TransferSpeedColumn())


class _Rate(progress.ProgressColumn):
    def render(self, task: progress.Task) -> Text:
        return Text(f"{task.speed:.0f}/s" if task.speed else "", style="progress.data.speed")


def _bar(*columns: progress.ProgressColumn) -> progress.Progress:
    ends = progress.TextColumn("{task.description}"), progress.BarColumn(), *columns, progress.TimeRemainingColumn()
    return progress.Progress(*ends, console=terminal.err, transient=True)
