"""Whether a memory holds in every session, through the commands that take and show it."""

from pathlib import Path

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


def test_the_editor_takes_yes_no_and_nothing(subcog: Run, monkeypatch: MonkeyPatch) -> None:
    for change, code, after in (("yes/perhaps", 2, True), ("yes/no", 0, False), ("yes/", 0, None)):
        id_ = store_text(subcog, RULE, "--standing")
        monkeypatch.setenv("EDITOR", f"sed -i.bak '/^standing:/s/{change}/'")
        done = subcog("edit", id_)
        assert (done.code, standing(subcog, id_)) == (code, after)
        assert code == 0 or "standing is 'perhaps'" in done.err


def test_what_is_neither_true_nor_false_is_refused_with_one_line(subcog: Run, tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text(f'{{"content": "{RULE}", "standing": "yes"}}\n')
    assert 'standing is "yes"; expected true or false' in subcog("import", str(tmp_path / "one.jsonl")).err
    assert subcog("list").code == 1


def test_remember_says_when_a_rule_will_come(subcog: Run) -> None:
    assert "when the agent is about to push" in subcog("remember", RULE).err
    assert "at the start of sessions, as far as there is room" in subcog("remember", FACT, "--standing").err
    assert "about to" not in subcog("remember", f"{FACT} The push was late.").err
