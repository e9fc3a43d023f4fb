"""A memory's questions, and whether it holds in every session, through the commands that take and show them."""

from pathlib import Path

import pytest

from tests.cli.conftest import Ask, MonkeyPatch, Run

KEYS = "The signing keys of the release service are rotated every quarter."
ASKED = ("--question", "who renews the certificates?", "--question", "how often do secrets change")


def shown_questions(subcog: Run, id_: str) -> object:
    return subcog("show", id_, "--json").json.get("questions")


def test_remember_stores_and_show_tells_them(subcog: Run) -> None:
    id_ = subcog("remember", KEYS, *ASKED).out.strip()
    assert shown_questions(subcog, id_) == ["who renews the certificates?", "how often do secrets change"]
    lines = [line.split(maxsplit=1) for line in subcog("show", id_).out.splitlines()]
    assert ["questions", "who renews the certificates?"] in lines
    assert subcog("list", "--jsonl").json["questions"] == shown_questions(subcog, id_)


def test_an_agents_questions_are_marked_as_its_own(subcog: Run, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    id_ = subcog("remember", KEYS, *ASKED[:2]).out.strip()
    assert shown_questions(subcog, id_) == [{"text": "who renews the certificates?", "by": "agent"}]
    assert "who renews the certificates? (agent)" in subcog("show", id_).out


def test_edit_replaces_them_and_takes_them_away(subcog: Run) -> None:
    id_ = subcog("remember", KEYS, *ASKED).out.strip()
    assert subcog("edit", id_, "--question", "when do keys change").code == 0
    assert shown_questions(subcog, id_) == ["when do keys change"]
    assert subcog("edit", id_, "--question", "").code == 0
    assert shown_questions(subcog, id_) is None


def test_edit_leaves_the_origin_of_a_question_that_stays(subcog: Run, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    id_ = subcog("remember", KEYS, "--question", "who renews them").out.strip()
    monkeypatch.delenv("CLAUDECODE")
    subcog("edit", id_, "--question", "who renews them", "--question", "when")
    assert shown_questions(subcog, id_) == [{"text": "who renews them", "by": "agent"}, "when"]


def test_secrets_do_not_come_in_through_a_question(subcog: Run) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    done = subcog("remember", KEYS, "--question", f"what does {token}  open?")
    assert token not in subcog("export").out
    assert "removed" in done.err
    assert token not in str(shown_questions(subcog, done.out.strip()))


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        (["x" * 201], "has 201 characters, at most 200 are kept; put it shorter"),
        ([f"number {number}" for number in range(9)], "there are 9 questions, at most 8 are kept; keep the likeliest"),
    ],
)
def test_too_long_and_too_many_are_refused_with_one_line(subcog: Run, questions: list[str], message: str) -> None:
    done = subcog("remember", KEYS, *(word for question in questions for word in ("--question", question)))
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert message in done.err
    assert subcog("list").code == 1


PROMPT = "Who renews the certificates of the release service?"


def test_a_prompt_like_a_question_brings_its_memory(subcog: Run, ask: Ask, monkeypatch: MonkeyPatch) -> None:
    ask.remember()
    monkeypatch.setenv("COLUMNS", "150")
    id_ = subcog("remember", "The vault's keeper does it on the first Monday of a quarter.", *ASKED).out.strip()
    assert ask(PROMPT) == [id_]
    printed = subcog("why", "--explain").out
    assert "the prompt is like a question that it answers" in printed
    assert "handed over" in printed


def test_without_its_questions_the_memory_does_not_come(subcog: Run, ask: Ask) -> None:
    ask.remember()
    id_ = subcog("remember", "The vault's keeper does it on the first Monday of a quarter.", *ASKED).out.strip()
    for change, ids in (
        (("edit", "--question", ""), []),
        (("edit", *ASKED[:2]), [id_]),
        (("edit", "--status", "archived"), []),
        (("edit", "--status", "active"), [id_]),
        (("forget",), []),
    ):
        assert subcog(change[0], id_, *change[1:]).code == 0
        assert ask(PROMPT, f"after {change}") == ids
    assert id_ not in subcog("search", "who renews the certificates").out


def test_search_explains_by_which_question_it_found(subcog: Run) -> None:
    subcog("remember", "The vault's keeper does it on the first Monday of a quarter.", *ASKED)
    printed = subcog("search", "who renews certificates", "--explain").out
    assert "asked like this: who renews the certificates?" in printed
    assert "questions rank 1" in printed
    (row,) = subcog("search", "who renews certificates", "--json").json["results"]
    assert row["explain"]["asked_like"] == "who renews the certificates?"


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
    id_ = store_text(subcog, RULE, "--standing")
    for change, code, after in (("yes/perhaps", 2, True), ("yes/no", 0, False), ("no/", 0, None)):
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
