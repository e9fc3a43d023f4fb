"""The hook's gate on the project's own prompts: it answers as often as it did, and is silent as often.

A bound lies just beyond what was measured; whoever improves a figure moves its bound. The development set's bounds are those
that it is to reach; minutes of embedding the first time, so only with SUBCOG_EVAL=1 (homes are kept in SUBCOG_EVAL_HOMES, else
.cache/eval).
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.hook import prompt as hook
from tests.eval import homes
from tests.eval.collection import OWN, REPORTING, ROOT, gate, gate_set, half_of, rows
from tests.eval.gate import results
from tests.eval.gate.figures import ANSWERABLE, UNANSWERABLE, UNRELATED, calibration_error, shares
from tests.eval.gate.trials import DEFAULT_THRESHOLD, Hook, Trial, ids_in
from tests.eval.systems import PATIENCE_MS

LEAST = {"answered": 0.53, "unanswerable: silent": 0.70, "unrelated: silent": 0.95, "first precision": 0.57}
MOST = {None: 0.015, 1: 0.08}  # calibration error: of all candidates, of each prompt's first
LEAST_PROMPTS = 70  # of each kind

DEMANDED = {"answered": 0.52, "unanswerable: silent": 0.80, "unrelated: silent": 0.98, "first precision": 0.60}
DEMANDED_ERROR = 0.08

needs_patience = pytest.mark.skipif(os.environ.get("SUBCOG_EVAL") != "1", reason="minutes long; set SUBCOG_EVAL=1")


@pytest.fixture(scope="module")
def trials(kept: Path) -> list[Trial]:
    memories, prompts = gate_set(OWN)
    with Hook(homes.home_of(memories, kept)) as opened:
        return opened.trials(prompts)


@pytest.mark.parametrize("measure", LEAST)
def test_the_gate_is_as_good_as_it_was(trials: list[Trial], measure: str) -> None:
    found = shares(trials)[measure]
    print(f"{measure}: {found}")
    assert found.mean >= LEAST[measure], f"{measure} {found}\n{failures(trials)}"


@pytest.mark.parametrize("first", MOST)
def test_relevance_can_be_believed_as_far_as_it_could(trials: list[Trial], first: int | None) -> None:
    found = calibration_error(trials, first)
    print(f"calibration error of {'all candidates' if first is None else 'the first'}: {found}")
    assert found.mean <= MOST[first]


def failures(trials: Sequence[Trial]) -> str:
    """The prompts at which the hook should have done something else, one a line."""
    return "\n".join(
        f"{trial.prompt.id} {trial.prompt.text!r}: expected {', '.join(sorted(trial.prompt.relevant)) or 'silence'}, "
        f"got {', '.join(trial.given) or 'silence'}"
        for trial in trials
        if (not trial.right if trial.prompt.relevant else trial.speaks)
    )


def test_what_is_measured_is_what_the_hook_prints(trials: list[Trial], kept: Path) -> None:
    home = homes.home_of(gate_set(OWN).memories, kept)
    for trial in [trial for trial in trials if trial.speaks][:5] + [trial for trial in trials if not trial.speaks][:5]:
        printed: list[bytes] = []
        hook.respond({"prompt": trial.prompt.text}, home, printed.append, Deadline(PATIENCE_MS))
        assert ids_in(printed) == trial.given


def test_the_command_writes_the_same_in_every_process(trials: list[Trial], kept: Path, tmp_path: Path) -> None:
    out = tmp_path / "gate.json"
    command: list[str | Path] = [sys.executable, "-m", "tests.eval.gate", "--homes", kept, "--out", out]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": "7"}, capture_output=True, text=True, check=True
    )
    found = json.loads(out.read_text(encoding="utf-8"))
    about = {"set": OWN.name, "memories": len(rows(gate_set(OWN).memories)), "half": "both"}
    assert found == about | results.measured(trials, DEFAULT_THRESHOLD)
    assert done.stdout == results.table(found) + "\n"


def test_there_are_many_prompts_of_each_kind() -> None:
    memories, prompts = gate_set(OWN)
    ids = {row["id"] for row in rows(memories)}
    told = rows(OWN / "prompts.jsonl")
    assert len({prompt.id for prompt in prompts}) == len({prompt.text for prompt in prompts}) == len(prompts)
    for kind in (ANSWERABLE, UNANSWERABLE, UNRELATED):
        of_kind = [prompt for prompt in prompts if prompt.kind == kind]
        assert len(of_kind) >= LEAST_PROMPTS
        assert all(bool(prompt.relevant) == (kind == ANSWERABLE) and prompt.relevant <= ids for prompt in of_kind)
    assert all(row["split"] == half_of(row["prompt"]) for row in told)
    paraphrased = [row["paraphrase"] for row in told if row["kind"] == ANSWERABLE]
    assert sum(paraphrased) >= len(paraphrased) / 2


@pytest.fixture(scope="module")
def developed() -> list[Trial]:
    found = gate()
    if found is None:
        pytest.skip("the development set is not at hand")
    with Hook(homes.home_of(found.memories, Path(os.environ.get("SUBCOG_EVAL_HOMES", homes.DEFAULT)))) as opened:
        return opened.trials(found.prompts)


@pytest.mark.slow
@needs_patience
@pytest.mark.parametrize("measure", DEMANDED)
def test_the_gate_reaches_what_it_has_to(developed: list[Trial], measure: str) -> None:
    found = shares(developed)[measure]
    print(f"{measure}: {found}")
    assert found.mean >= DEMANDED[measure]


@pytest.mark.slow
@needs_patience
def test_relevance_is_calibrated_on_the_unfitted_half(developed: list[Trial]) -> None:
    found = calibration_error([trial for trial in developed if trial.prompt.half == REPORTING])
    print(f"calibration error: {found}")
    assert found.mean <= DEMANDED_ERROR
