"""A command loads its own module, not all of them, and none is left out of the list."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from subcog_hooks import cli
from subcog_hooks.cli.commands import MODULES


def test_the_list_names_the_commands_of_each_module(subtests: pytest.Subtests) -> None:
    for module in MODULES:
        with subtests.test(module=module):
            alone = typer.Typer()
            importlib.import_module(f"subcog_hooks.cli.{module}").register(alone)
            alone.callback()(lambda: None)
            group = typer.main.get_command(alone)
            assert isinstance(group, typer.core.TyperGroup)
            assert sorted(group.commands) == sorted(MODULES[module])


def test_the_list_has_every_module_with_commands() -> None:
    modules = {path.stem for path in Path(cli.__path__[0]).glob("*.py") if "def register(" in path.read_text()}
    assert set(MODULES) == modules


def test_a_command_loads_no_other_ones_module() -> None:
    script = (
        "import sys; sys.argv = ['subcog', 'help']\n"
        "from subcog_hooks.cli.app import run\n"
        "try: run()\n"
        "finally: sys.stderr.write(' '.join(m for m in sys.modules if m.startswith('subcog_hooks.cli.')))"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, encoding="utf-8")
    loaded = {name.rpartition(".")[2] for name in done.stderr.splitlines()[-1].split()}
    assert loaded & set(MODULES) == {"help_topics"}
