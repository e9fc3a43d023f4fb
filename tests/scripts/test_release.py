"""A release: what goes into the wheel and the source distribution, and a page of changes."""

import hashlib
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from subcog_hooks import __version__

ROOT = Path(__file__).parents[2]
MAX_BYTES = 75_000_000  # of the files in the wheel, before compression; PyPI refuses a wheel of more than 100 MB
LARGE = 1_000  # bytes
MAX_LINES = 65  # of a page


@pytest.fixture(scope="module")
def wheel() -> dict[str, Path]:
    """The files of the package in the wheel, by their place there."""
    return {file.distribution_path: Path(file.path) for file in WheelBuilder(str(ROOT)).recurse_included_files()}


@pytest.fixture(scope="module")
def tracked() -> set[str]:
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout of git")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return set(listed.strip("\0").split("\0"))


def test_the_wheel_has_the_package_and_nothing_else(wheel: dict[str, Path], tracked: set[str]) -> None:
    assert set(wheel) == {name for name in tracked if name.startswith("subcog_hooks/")}


def test_the_source_distribution_has_every_file(tracked: set[str]) -> None:
    always = {".gitignore", "pyproject.toml"}  # hatchling adds them itself
    assert {file.distribution_path for file in SdistBuilder(str(ROOT)).recurse_included_files()} | always == tracked


def test_no_large_file_lies_in_the_wheel_twice(wheel: dict[str, Path]) -> None:
    contents = [path.read_bytes() for path in wheel.values()]
    assert sum(map(len, contents)) < MAX_BYTES
    sums = Counter(hashlib.sha256(content).digest() for content in contents if len(content) > LARGE)
    assert max(sums.values()) == 1


def test_changes_begin_with_this_version_on_a_page() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    (first, *earlier) = [number for number, line in enumerate(lines) if line.startswith("## ") and line[3].isdecimal()]
    assert lines[first].startswith(f"## {__version__} (")
    assert (earlier or [len(lines)])[0] - first <= MAX_LINES
