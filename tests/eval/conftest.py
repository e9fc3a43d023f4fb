"""What the tests of quality share: the folder in which homes are kept, so that the ground truth is imported once."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")
