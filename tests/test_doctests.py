"""The examples in the docstrings of the package hold."""

import doctest
import importlib
import pkgutil

import subcog_hooks

MODULES = [
    module.name for module in pkgutil.walk_packages(subcog_hooks.__path__, "subcog_hooks.") if "__main__" not in module.name
]


def test_examples_in_docstrings_hold() -> None:
    assert [name for name in MODULES if doctest.testmod(importlib.import_module(name)).failed] == []
