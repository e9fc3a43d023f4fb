"""The parts of `scripts.relevance.fit`: its prompts and its table. The long run is by hand."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from subcog_hooks.core.files import read_rows
from subcog_hooks.recall import relevance
from tests.eval.collection import OWN, TUNING, half_of, rows

PROSE = "Two workers take the same lock, and the second one waits until the first has written its answer. Give each its own."


@pytest.fixture
def script() -> ModuleType:
    pytest.importorskip("scipy")
    from scripts.relevance import fit  # needs scipy, of the extra `eval`

    return fit


def lines(*of: Mapping[str, object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in of)


def test_no_prompt_of_a_reporting_half_is_fitted_to(script: ModuleType, tmp_path: Path) -> None:
    _, own = script.of_own()
    split = {row["prompt"]: row["split"] for row in rows(OWN / "prompts.jsonl")}
    assert {split[case.prompt] for case in own} == {TUNING}

    (tmp_path / "memories.jsonl").write_text(lines({"id": "m1", "content": PROSE, "tags": ["pool"]}), encoding="utf-8")
    ids = [f"q{number}" for number in range(20)]
    (tmp_path / "queries.jsonl").write_text(lines(*({"id": id_, "query": f"why {id_}"} for id_ in ids)), encoding="utf-8")
    (tmp_path / "qrels.tsv").write_text("query\tmemory\tgrade\n" + "".join(f"{id_}\tm1\t1\n" for id_ in ids))
    _, cases = script.of_more(tmp_path, (TUNING,), [])
    tuning = [id_ for id_ in ids if half_of(f"why {id_}") == TUNING]
    assert [(case.prompt, case.is_missing, case.owner) for case in cases] == [
        (f"why {id_}", is_missing, "pool") for id_ in tuning for is_missing in (False, True)
    ]


def test_the_package_has_a_row_for_every_weight(script: ModuleType) -> None:
    table = read_rows(relevance.__file__, "relevance.tsv")
    for model, weights in script.MODELS.items():
        assert script.replace_column(table, model, weights) == table
        changed = script.replace_column(table, model, dict.fromkeys(weights, 0.125))
        assert [cells[0] for cells in changed if "0.125" in cells] == list(weights)
    with pytest.raises(SystemExit, match=r"\['other'\] have no row in relevance.tsv"):
        script.replace_column(table, "WORDS_ALONE", {"other": 1.0})
