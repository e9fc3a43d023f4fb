"""A command loads its own module, not all of them, and none is left out of the list."""

import subprocess
import sys

import typer

from subcog_hooks.cli.command_table import COMMANDS
from subcog_hooks.cli.commands import first_sentence
from tests.cli.conftest import whole_application


def test_the_table_has_every_command_with_its_summary() -> None:
    group = typer.main.get_command(whole_application())
    assert isinstance(group, typer.core.TyperGroup)
    summaries = {name: "" if command.hidden else first_sentence(command.help or "") for name, command in group.commands.items()}
    assert {name: command.summary for name, command in COMMANDS.items()} == summaries


def test_a_command_loads_its_own_module_alone() -> None:
    script = (
        "import sys; sys.argv = ['subcog', 'help']\n"
        "from subcog_hooks.cli.commands import run_command_line\n"
        "try: run_command_line()\n"
        "finally: sys.stderr.write(' '.join(m for m in sys.modules if m.startswith('subcog_hooks.cli.')))"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, encoding="utf-8")
    loaded = {name.rpartition(".")[2] for name in done.stderr.splitlines()[-1].split()}
    assert loaded & {command.module for command in COMMANDS.values()} == {"help_topics"}
