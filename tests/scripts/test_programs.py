"""The programs under scripts/: each says what it does, and the benchmarks measure what is installed."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = {  # with what they import that only an extra brings
    "scripts.bench.hook": "",
    "scripts.bench.peers": "",
    "scripts.bench.public": "",
    "scripts.bench.recall": "",
    "scripts.bench.sessions": "",
    "scripts.bench.share": "psycopg",
    "scripts.bench.together": "",
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
ATTEMPTS = 5  # a busy machine may end the hook at its deadline, and then nothing is measured


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


@pytest.mark.skipif(sys.platform == "win32", reason="needs os.wait4")
def test_the_hook_is_measured_beside_a_bare_interpreter(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    options = ["--subcog", str(Path(sys.executable).with_name("subcog")), "--sizes", "100", "--runs", "3", "--search-runs", "1"]
    for _ in range(ATTEMPTS):
        done = run("scripts.bench.hook", *options, "--json", str(file))
        if done.returncode == 0:
            break
    assert done.returncode == 0, done.stderr
    (size,) = json.loads(file.read_text(encoding="utf-8"))["sizes"]
    assert (size["memories"], len(size["hook_ms"])) == (100, 3)
    assert size["hook_median_ms"] > size["bare_median_ms"] > 0.0


@pytest.mark.skipif(sys.platform == "win32", reason="needs the module resource")
def test_recall_is_measured_and_drawn(tmp_path: Path) -> None:
    file, plot = tmp_path / "figures.json", tmp_path / "recall.svg"
    done = run("scripts.bench.recall", "--sizes", "100", "--queries", "8", "--json", str(file), "--plot", str(plot))
    assert done.returncode == 0, done.stderr
    (size,) = json.loads(file.read_text(encoding="utf-8"))["sizes"]
    assert (size["memories"], len(size["hook_ms"]), len(size["search_ms"])) == (100, 8, 8)
    assert plot.read_text(encoding="utf-8").count("<polyline") == 4
