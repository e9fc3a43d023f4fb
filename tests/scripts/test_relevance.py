"""The parts of `scripts.relevance.fit`: documentation as memories and prompts, the fit, the table. The long run is by hand."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from scripts.relevance import corpus, logistic
from scripts.relevance.corpus import ADVICE, QUESTION, TITLE, Section, sections
from scripts.relevance.evidence import Case, Rows, Shelf
from subcog_hooks.core.files import read_rows
from subcog_hooks.core.paths import Home
from subcog_hooks.recall import relevance
from tests.eval.collection import OWN, TUNING, half_of, rows
from tests.eval.homes import home_of

MARKDOWN = """\
# The guide

Read on.

## Why is it slow? ##

```sh
# not a heading
run --profile
```

Because of the locks.

Setext works
------------

Too.
"""

RESTRUCTURED = """\
==========
 The guide
==========

.. _slow:

Why is it slow?
---------------

Because of the locks: ---- is no line.

# a remark
"""

PROSE = "Two workers take the same lock, and the second one waits until the first has written its answer. Give each its own."


def test_markdown_sections_are_read_outside_code() -> None:
    found = list(sections(MARKDOWN, is_markdown=True))
    assert [part.heading for part in found] == ["", "The guide", "Why is it slow?", "Setext works"]
    assert "# not a heading" in found[2].body
    assert found[3] == Section("Setext works", "Too.")


def test_restructured_text_sections_are_read() -> None:
    found = list(sections(RESTRUCTURED, is_markdown=False))
    assert [part.heading for part in found] == ["", "Why is it slow?"]
    assert found[1].body.splitlines()[0] == "Because of the locks: ---- is no line."
    assert found[1].body.endswith("# a remark")


def test_a_heading_is_a_prompt_when_it_asks_or_says_enough() -> None:
    cases = [
        ("Why is my task run twice?", False, QUESTION),
        ("The worker hangs at exit", True, ADVICE),
        ("The worker hangs at exit", False, TITLE),
        ("Installation", True, ""),
        ("Release notes of version 3.2", False, ""),
        ("Why?", True, ""),
    ]
    assert [corpus.kind_of(heading, is_advice=is_advice) for heading, is_advice, _ in cases] == [kind for *_, kind in cases]


def pages(number: int) -> dict[str, str]:
    return {
        "doc/faq.md": "".join(f"# Why does part {place} wait?\n\nPart {place}. {PROSE}\n\n" for place in range(number)),
        "doc/guide.rst": f"Notes\n=====\n\n{PROSE}\n",
        "doc/changes.md": f"# 1.0\n\n{PROSE}\n\n- Fixed the lock that two workers took at once in the pool of their threads\n",
        "doc/locale/faq.md": f"# Why is this page here?\n\n{PROSE}\n",
    }


def test_a_heading_is_taken_from_its_memory_and_asked() -> None:
    memories = corpus.memories_of("pool", pages(2))
    assert sorted((memory.namespace, memory.page, memory.heading) for memory in memories) == [
        ("change", "changes", ""),
        ("learning", "faq", "Why does part 0 wait?"),
        ("learning", "faq", "Why does part 1 wait?"),
        ("pattern", "guide", "Notes"),
    ]
    assert not [memory for memory in memories if memory.heading and memory.heading in memory.content]
    _, prompts = corpus.chosen(memories)
    assert sorted(prompt.text for prompt in prompts) == ["Why does part 0 wait?", "Why does part 1 wait?"]
    assert {prompt.answer for prompt in prompts} == {memory.id for memory in memories if memory.namespace == "learning"}


def test_stores_are_the_same_each_time(tmp_path: Path) -> None:
    documentation = {name: pages(corpus.ASKED + 5) for name in ("pool", "queue", "socket")}
    found = corpus.stores(documentation, 2)
    assert found == corpus.stores(dict(reversed(documentation.items())), 2)
    assert sum(len(store.prompts) for store in found) == 3 * corpus.ASKED
    for store in found:
        written = [json.loads(line) for line in Path(store.write(str(tmp_path))).read_text(encoding="utf-8").splitlines()]
        assert {prompt.answer for prompt in store.prompts} <= {row["id"] for row in written}


def drawn(rows: int) -> tuple[logistic.Floats, logistic.Flags]:
    """Values of a known model, on scales of their own, and answers drawn by its probabilities."""
    random = np.random.default_rng(6)
    values = random.normal([0.5, 10.0, 0.0], [0.2, 5.0, 1.0], (rows, 3))
    known = logistic.Model(-1.0, np.array([3.0, -0.2, 0.0]), np.zeros(3))
    return values, random.random(rows) < known.probabilities(values)


def test_a_fit_finds_the_weights_that_made_the_answers() -> None:
    values, answers = drawn(40_000)
    ones = np.ones(len(answers))
    model = logistic.fit(values, answers, ones, 2.0)
    assert model.intercept == pytest.approx(-1.0, abs=0.1)
    assert model.coefficients == pytest.approx([3.0, -0.2, 0.0], abs=0.1)
    assert model.sizes == pytest.approx(model.coefficients * values.std(axis=0))
    again = logistic.fit(values, answers, ones, 2.0)
    assert (again.intercept, again.coefficients.tolist()) == (model.intercept, model.coefficients.tolist())
    probable = logistic.cross_validated(values, answers, ones, [str(place % 50) for place in range(len(answers))], 2.0)
    assert logistic.calibration_error(probable, answers, ones) < 0.01
    assert logistic.calibration_error(probable / 2, answers, ones) > 0.05
    assert logistic.log_loss(probable, answers, ones) < logistic.log_loss(probable / 2, answers, ones)


def test_a_prompt_without_its_answer_is_asked_of_the_rest(tmp_path: Path) -> None:
    memories = tmp_path / "small" / "memories.jsonl"
    memories.parent.mkdir()
    contents = {"xlocks": PROSE, "xpages": "The pages of the guide are built at night, and links between them are checked."}
    memories.write_text(
        "".join(json.dumps({"id": name, "content": content}) + "\n" for name, content in contents.items()), encoding="utf-8"
    )
    case = Case("why does the second worker wait for the lock?", frozenset({"xlocks"}), "me", "own")
    found = Rows([name for name in relevance.WITH_MEANING if name != "intercept"])
    home: Home = home_of(memories, tmp_path / "homes")
    with Shelf(home) as shelf:
        assert shelf.holds(case.relevant)
        assert not shelf.holds({"xother"})
        for one in (case, case._replace(is_missing=True)):
            found.add(one, shelf.hits(one, by_meaning=True))
        assert "xlocks" not in [hit.memory.id for hit in shelf.hits(case._replace(is_missing=True), by_meaning=False)]
    answers = [bool(answers) for answers in found.answers()]
    assert answers[0]
    assert answers.count(True) == 1
    assert found.values().shape == (len(answers), len(found.names))


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
