"""Whether a memory holds in every session, through the commands that take and show it."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import MonkeyPatch, Run

RULE = "Never push to main without a review."
FACT = "The build broke on 3 May, the cache was full."


def standing(subcog: Run, id_: str) -> object:
    return subcog("show", id_, "--json").json.get("standing")


def store_text(subcog: Run, *arguments: str) -> str:
    return subcog("remember", *arguments).out.strip()


def test_remember_and_edit_store_the_flag_only_if_given(subcog: Run) -> None:
    rule, fact = store_text(subcog, FACT, "--standing"), store_text(subcog, RULE, "--no-standing")
    plain = store_text(subcog, "Branches are named after the ticket.")
    assert [standing(subcog, id_) for id_ in (rule, fact, plain)] == [True, False, None]
    assert subcog("edit", rule, "--no-standing").code == 0
    assert standing(subcog, rule) is False
    assert subcog("edit", fact, "--tag", "git").code == 0
    assert standing(subcog, fact) is False


def test_the_list_shows_whom_it_takes_for_what(subcog: Run) -> None:
    declared, fact, inferred = (
        store_text(subcog, FACT, "--standing"),
        store_text(subcog, f"{FACT} Twice."),
        store_text(subcog, RULE),
    )
    lines = {line.split()[1]: line.split()[0] for line in subcog("list", "--standing").out.splitlines()}
    assert set(lines) == {declared, inferred}
    assert lines[declared] == "1.00"
    assert 0.5 <= float(lines[inferred]) < 1.0
    assert fact in subcog("list", "--ids").out
    subcog("edit", inferred, "--no-standing")
    assert subcog("list", "--standing", "--ids").out.split() == [declared]


def test_show_says_who_says_so(subcog: Run) -> None:
    inferred, declared, fact = (
        store_text(subcog, RULE),
        store_text(subcog, f"{RULE} Ever.", "--standing"),
        store_text(subcog, FACT),
    )
    rows = [[line.split(maxsplit=1) for line in subcog("show", id_).out.splitlines()] for id_ in (inferred, declared, fact)]
    assert any(row[0] == "standing" and row[1].startswith("by its text, 0.") for row in rows[0] if len(row) > 1)
    assert ["standing", "yes"] in rows[1]
    assert not any(row[:1] == ["standing"] for row in rows[2])


def test_a_text_that_is_there_already_takes_it_over(subcog: Run) -> None:
    id_ = store_text(subcog, FACT)
    assert "its standing is taken over" in subcog("remember", FACT, "--no-standing").err
    assert standing(subcog, id_) is False
    assert "already remembered" in subcog("remember", FACT).err
    assert standing(subcog, id_) is False


@pytest.mark.parametrize(("change", "after"), [("yes/no", False), ("yes/", None)])
def test_the_editor_shows_it(subcog: Run, monkeypatch: MonkeyPatch, change: str, after: object) -> None:
    id_ = store_text(subcog, RULE, "--standing")
    monkeypatch.setenv("EDITOR", f"sed -i.bak '/^standing:/s/{change}/'")
    assert subcog("edit", id_).code == 0
    assert standing(subcog, id_) is after


def test_the_editor_takes_yes_and_no_alone(subcog: Run, monkeypatch: MonkeyPatch) -> None:
    id_ = store_text(subcog, RULE, "--standing")
    monkeypatch.setenv("EDITOR", "sed -i.bak '/^standing:/s/yes/perhaps/'")
    done = subcog("edit", id_)
    assert done.code == 2
    assert "standing is 'perhaps'" in done.err
    assert standing(subcog, id_) is True


def test_it_survives_an_export_and_an_import_byte_for_byte(subcog: Run, monkeypatch: MonkeyPatch, tmp_path: Path) -> None:
    for options in (("--standing",), ("--no-standing",), ()):
        subcog("remember", f"{RULE} {options}", *options)
    exported = subcog("export").out
    (tmp_path / "all.jsonl").write_text(exported, encoding="utf-8")
    monkeypatch.setenv("SUBCOG_HOME", str(tmp_path / "another"))
    assert subcog("import", str(tmp_path / "all.jsonl"), "--trust", "user").code == 0
    assert subcog("export").out == exported
    assert [json.loads(line).get("standing") for line in exported.splitlines()] == [True, False, None]


@pytest.mark.parametrize("value", ['"yes"', "1", "[]"])
def test_what_is_neither_true_nor_false_is_refused_with_one_line(subcog: Run, tmp_path: Path, value: str) -> None:
    (tmp_path / "one.jsonl").write_text(f'{{"content": "{RULE}", "standing": {value}}}\n')
    done = subcog("import", str(tmp_path / "one.jsonl"))
    assert f"standing is {value}; expected true or false" in done.err
    assert subcog("list").code == 1


def test_remember_says_when_a_rule_will_come(subcog: Run) -> None:
    assert "when the agent is about to push" in subcog("remember", RULE).err
    assert "at the start of sessions, as far as there is room" in subcog("remember", FACT, "--standing").err
    assert "about to" not in subcog("remember", f"{FACT} The push was late.").err
