"""The examples in docstrings: each gives what it says."""

import doctest
import importlib
import pkgutil

import pytest

import subcog_hooks

MODULES = [
    module.name for module in pkgutil.walk_packages(subcog_hooks.__path__, "subcog_hooks.") if "__main__" not in module.name
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_hold(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
