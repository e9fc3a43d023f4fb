"""The walk through the table of agents runs the installed executable, as the tests in `e2e` do."""

from tests.e2e.conftest import bare, subcog_command

__all__ = ["bare", "subcog_command"]
