"""Groups of commands, such as `subcog config`: a group alone runs the command that lists."""

from collections.abc import Callable

import typer


def run_alone(group: typer.Typer, function: Callable[[], None]) -> None:
    """Let a group run this function when it is called without one of its commands."""

    def call_alone(call: typer.Context) -> None:
        if call.invoked_subcommand is None:
            function()

    group.callback(invoke_without_command=True)(call_alone)
