"""The questions of a memory through the commands that take and show them."""

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


def test_a_text_that_is_there_already_takes_them_over_once(subcog: Run) -> None:
    id_ = subcog("remember", KEYS, *ASKED[:2]).out.strip()
    assert "its questions are taken over" in subcog("remember", KEYS, *ASKED).err
    assert "already remembered" in subcog("remember", KEYS, *ASKED).err
    assert shown_questions(subcog, id_) == ["who renews the certificates?", "how often do secrets change"]


def test_edit_replaces_them_and_takes_them_away(subcog: Run) -> None:
    id_ = subcog("remember", KEYS, *ASKED).out.strip()
    assert subcog("edit", id_, "--question", "when do keys change").code == 0
    assert shown_questions(subcog, id_) == ["when do keys change"]
    assert subcog("edit", id_, "--no-questions").code == 0
    assert shown_questions(subcog, id_) is None
    assert subcog("edit", id_, "--no-questions", "--question", "who").code == 2


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
    printed = subcog("why").out
    assert "asked like this: who renews the certificates?" in printed
    assert "the prompt is like a question that it answers" in subcog("why", "--explain").out
    assert "handed over" in printed


def test_without_its_questions_the_memory_does_not_come(subcog: Run, ask: Ask) -> None:
    ask.remember()
    id_ = subcog("remember", "The vault's keeper does it on the first Monday of a quarter.", *ASKED).out.strip()
    for change, ids in (
        (("edit", "--no-questions"), []),
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
