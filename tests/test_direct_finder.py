"""The hook's own way to its modules: the same modules, and the usual way wherever bytecode is not what the source says."""

import importlib.util
import os
import py_compile
import sys
from pathlib import Path

import pytest

from subcog_hooks.__main__ import DirectFinder

NAME = "subcog_hooks.wharf"


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """The source of a module, beside its bytecode."""
    source = tmp_path / "wharf.py"
    source.write_text("berths = 12\n")
    py_compile.compile(str(source), doraise=True)
    return source


def found(folder: Path, name: str = NAME) -> dict[str, object] | None:
    """What a module holds that the finder finds in a folder, None where it leaves it to the usual way."""
    spec = DirectFinder.find_spec(name, [str(folder)])
    if spec is None or spec.loader is None:
        return None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return vars(loaded)


def test_bytecode_that_is_the_sources_is_run(module: Path) -> None:
    known = found(module.parent)
    assert known is not None
    assert (known["berths"], known["__name__"], known["__package__"]) == (12, NAME, "subcog_hooks")
    assert Path(str(known["__file__"])) == module


def test_a_package_has_its_folder(tmp_path: Path) -> None:
    (tmp_path / "wharf").mkdir()
    source = tmp_path / "wharf" / "__init__.py"
    source.write_text("berths = 12\n")
    assert found(tmp_path) is None
    py_compile.compile(str(source), doraise=True)
    known = found(tmp_path)
    assert known is not None
    assert (known["__path__"], known["__package__"]) == ([f"{tmp_path}/wharf"], NAME)


@pytest.mark.parametrize("text", ["berths = 13\n", "berths = 120\n"])
def test_a_source_that_changed_is_left_to_the_usual_way(module: Path, text: str) -> None:
    module.write_text(text)
    os.utime(module, (2_000_000_000, 2_000_000_000))
    assert found(module.parent) is None


def test_bytecode_of_another_interpreter_or_checked_in_another_way_is_left_to_the_usual_way(module: Path) -> None:
    cached = Path(importlib.util.cache_from_source(str(module)))
    data = cached.read_bytes()
    cached.write_bytes(b"\0\0\r\n" + data[4:])
    assert found(module.parent) is None
    cached.write_bytes(data[:4] + b"\x03\0\0\0" + data[8:])
    assert found(module.parent) is None
    cached.write_bytes(data[:9])
    assert found(module.parent) is None


def test_modules_of_others_and_those_without_bytecode_are_left_to_the_usual_way(module: Path) -> None:
    assert found(module.parent, "elsewhere.wharf") is None
    assert DirectFinder.find_spec("subcog_hooks") is None
    os.unlink(importlib.util.cache_from_source(str(module)))
    assert found(module.parent) is None


def test_it_serves_no_more_than_the_hook() -> None:
    assert not any(isinstance(finder, DirectFinder) for finder in sys.meta_path)
