"""The installed executable, for tests that start it as a user or a client does."""

import os
import shutil
import sys

import pytest


@pytest.fixture(scope="session")
def subcog_command() -> str:
    """The path of the installed `subcog` executable."""
    beside = os.path.join(os.path.dirname(sys.executable), "subcog")
    found = beside if os.path.exists(beside) else shutil.which("subcog")
    assert found, "subcog is not installed: pip install -e '.[dev]'"
    return found
