"""What .ci/constraints.txt pins: all that pyproject.toml asks for, within its ranges, on every Python that it names."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PYTHONS = [
    name.rpartition(" ")[2]
    for name in PROJECT["project"]["classifiers"]
    if name.startswith("Programming Language :: Python :: 3.")
]
SYSTEMS = {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}


def pinned(python: str, system: str) -> dict[str, str]:
    """The version of each package by its name, as pip reads the file there."""
    lines = (ROOT / ".ci" / "constraints.txt").read_text(encoding="utf-8").splitlines()
    requirements = [Requirement(line) for line in lines if line and not line.startswith("#")]
    here = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": system,
        "platform_system": SYSTEMS[system],
        "platform_machine": "x86_64",
        "platform_python_implementation": "CPython",
    }
    found: dict[str, str] = {}
    for one in requirements:
        if one.marker is None or one.marker.evaluate(here):
            name = canonicalize_name(one.name)
            assert name not in found
            (exact,) = one.specifier
            assert exact.operator == "=="
            found[name] = exact.version
    return found


def test_every_dependency_has_one_version_within_its_range(subtests: pytest.Subtests) -> None:
    for system in SYSTEMS:
        for python in PYTHONS:
            with subtests.test(system=system, python=python):
                project, versions = PROJECT["project"], pinned(python, system)
                asked = [*project["dependencies"], *PROJECT["build-system"]["requires"], "pip"]
                asked += [line for extra in project["optional-dependencies"].values() for line in extra]
                wrong = {
                    line: versions.get(canonicalize_name(Requirement(line).name))
                    for line in asked
                    if not Requirement(line).specifier.contains(versions.get(canonicalize_name(Requirement(line).name), "0"))
                }
                assert wrong == {}
