"""The programs under scripts/: each says what it does, and each dependency has one version."""

import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]


PROGRAMS = {  # with what they import that only an extra brings
    "scripts.bench.busy": "",
    "scripts.bench.hook": "",
    "scripts.bench.peers": "",
    "scripts.bench.public": "",
    "scripts.bench.share": "psycopg",
    "scripts.demo": "pyte",
    "scripts.encoder.build_document_model": "",
    "scripts.encoder.build_multilingual_encoder": "",
    "scripts.encoder.build_query_encoder": "",
    "scripts.intent.fit": "scipy",
    "scripts.learn.fit": "numpy",
    "scripts.redaction.catalogue": "kingfisher_sdk",
    "scripts.relevance.fit": "scipy",
    "scripts.relevance.fit_foreign": "scipy",
    "scripts.relevance.fit_notes": "scipy",
    "scripts.standing.fit": "numpy",
}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def test_each_says_how_it_is_run_and_what_it_does(subtests: pytest.Subtests) -> None:
    for program, extra in PROGRAMS.items():
        with subtests.test(program=program):
            if extra:
                pytest.importorskip(extra)
            done = run(program, "--help")
            assert (done.returncode, done.stderr) == (0, "")
            assert " ".join(done.stdout.split()).startswith(f"usage: python -m {program} [-h] ")
            first = (importlib.import_module(program).__doc__ or "").partition("\n")[0].split()
            assert " ".join(first) in " ".join(done.stdout.split())


def test_these_are_all() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "scripts").rglob("*.py")}
    runnable = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path, text in sources.items() if "__main__" in text}
    assert runnable == set(PROGRAMS)


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
