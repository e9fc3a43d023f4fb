"""`why bad`: a memory marked wrong for a prompt does not come with similar prompts again, but with others."""

from pathlib import Path
from typing import Any

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.recall import alike
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Mark
from subcog_hooks.store.verdicts import BELOW
from tests.cli.conftest import Ask, Run
from tests.cli.decided import BEGINNING, TOOL, candidate, decided, keep, latest

pytestmark = pytest.mark.usefixtures("ask_again")

QUESTION = "How do we rotate the signing keys of the release service?"
PASTED = f"""{QUESTION}

```python
def settle(account: Account, day: date) -> Balance:
    rows = [row for row in account.rows if row.day <= day]
    total = sum(row.amount for row in rows)
    audit.note(account.id, total, ledger=account.ledger, currency=account.currency)
    return Balance(account.id, total, opened=account.opened, closed=account.closed)
```"""
PARAPHRASE = "What is the procedure for rotating the signing keys of our release service?"
OTHER = "Which runbook has the quarterly steps for the vault?"
KEYS = "The signing keys of the release service are rotated every quarter, with the steps of the runbook for the vault."


@pytest.fixture
def ask_again(ask: Ask, subcog: Run) -> Ask:
    """Ask QUESTION, for which `keys` is given, and return `ask`."""
    ask.remember(keys=KEYS, cookie="The session cookie is renewed every hour.")
    assert ask(QUESTION, "first") == ["keys"]
    return ask


def marks_of(home: Home, id_: str = "keys") -> list[Mark]:
    with Store.reader(home) as store:
        return store.marks([store.get(id_).seq])


def test_for_such_prompts_it_is_not_handed_over_again(subcog: Run, ask_again: Ask) -> None:
    id_ = latest(subcog)
    assert "wrong for" not in subcog("show", "keys").out
    done = subcog("why", "bad", "keys")
    assert (done.code, done.out) == (0, "")
    assert done.err.splitlines() == [
        f"marked as wrong for prompts like {QUESTION!r}: keys {KEYS[:80]}",
        f"`subcog why bad keys {id_} --undo` takes it back",
    ]
    assert f"wrong for     {id_}\n" in subcog("show", "keys").out
    assert ask_again(f"Please tell me: {QUESTION.lower()}", "third") == []
    assert ask_again(QUESTION, "second") == []
    out = subcog("why").out
    assert "; 1 marked as wrong for such prompts\n" in out
    assert "  marked as wrong for such prompts\n" in out


@pytest.mark.parametrize("later", [PASTED, QUESTION])
def test_what_was_pasted_into_the_prompt_does_not_count(subcog: Run, ask_again: Ask, later: str) -> None:
    assert ask_again(PASTED, "pasted") == ["keys"]
    assert subcog("why", "bad", "keys").code == 0
    assert ask_again(later, "again") == []


def test_for_other_prompts_it_is_handed_over_as_ever(subcog: Run, ask_again: Ask) -> None:
    assert ask_again(OTHER, "before") == ["keys"]
    subcog("why", "bad", "keys", subcog("why", "list", "-n", "2").out.split("\n")[1].split()[0])
    assert ask_again(OTHER, "after") == ["keys"]


def test_a_paraphrase_brings_it_less_surely(subcog: Run, ask_again: Ask) -> None:
    def relevance(session: str) -> float:
        ask_again(PARAPHRASE, session)
        return float(next(line for line in subcog("why").out.splitlines() if "  keys  " in line).split()[0])

    before = relevance("before")
    subcog("why", "bad", "keys", subcog("why", "list", "-n", "2").out.split("\n")[1].split()[0])
    assert relevance("after") < before / 2


def test_a_follow_up_is_marked_with_its_borrowed_topics(subcog: Run, ask_again: Ask, home: Home) -> None:
    ask_again("and the other one?", "first")
    subcog("why", "bad", "cookie")
    (mark,) = marks_of(home, "cookie")
    assert {"sign", "key"} <= {*alike.terms_from_text(mark.terms)}


def test_undo_takes_the_mark_away_once(subcog: Run, ask_again: Ask, home: Home) -> None:
    id_ = latest(subcog)
    subcog("why", "bad", "keys")
    ask_again(QUESTION, "second")  # the mark is found though the same prompt came again
    done = subcog("why", "bad", "keys", "--undo")
    assert (done.code, done.out, done.err) == (0, "", f"no longer marked as wrong ({id_}): keys {KEYS[:80]}\n")
    assert marks_of(home) == []
    assert ask_again(QUESTION, "third") == ["keys"]
    done = subcog("why", "bad", "keys", "--undo")
    assert (done.code, done.err) == (2, "subcog: keys is not marked; `subcog why bad MEMORY` marks one\n")


def test_undo_takes_all_marks_or_those_of_a_decision(subcog: Run, ask_again: Ask, home: Home) -> None:
    first = latest(subcog)
    ask_again(OTHER, "second")
    second = latest(subcog)
    for _ in range(2):
        assert [subcog("why", "bad", "keys", verdict).code for verdict in (first, second)] == [0, 0]
        assert subcog("why", "bad", "keys", first, "--undo").code == 0
        assert [mark.verdict for mark in marks_of(home)] == [second]
    done = subcog("why", "bad", "keys", first, "--undo")
    assert (done.code, done.out) == (2, "")
    assert done.err == f"subcog: keys is not marked for {first}; it is marked for the prompts of {second}\n"
    subcog("why", "bad", "keys", first)
    assert subcog("why", "bad", "keys", "--undo").code == 0
    assert marks_of(home) == []


def test_a_mark_outlives_its_verdict_and_is_undone_by_its_id(subcog: Run, home: Home) -> None:
    id_ = latest(subcog)
    subcog("why", "bad", "keys")
    for suffix in ("", "-wal", "-shm"):
        Path(home.state_db + suffix).unlink(missing_ok=True)
    assert subcog("why", "bad", "keys", id_, "--undo").code == 0
    assert marks_of(home) == []


def test_a_mark_is_made_once_and_does_not_hold_the_prompt(subcog: Run, home: Home) -> None:
    for prefix in ("keys", "ke"):
        assert subcog("why", "bad", prefix).code == 0
        (mark,) = marks_of(home)
    assert ("rotat" in mark.terms, "How do we" in mark.terms) == (True, False)


def test_a_forgotten_memory_has_no_marks(subcog: Run, home: Home) -> None:
    subcog("why", "bad", "keys")
    subcog("forget", "keys")
    assert marks_of(home) == []


def test_what_cannot_be_marked_is_one_line(subcog: Run, ask_again: Ask, home: Home) -> None:
    keep(home, decided("z", BELOW, [candidate("keys", 0.2)], prompt="?!"))
    empty = "the prompt of z has no words to recognise it by; nothing was marked"
    nobody = "no memory has the id nobody; `subcog list` shows the ids"
    for arguments, code, message in (
        (("nobody",), 1, nobody),
        (("nobody", "--undo"), 1, nobody),
        (("",), 2, "the id is empty; `subcog list` shows the ids"),
        (("keys", "z"), 2, empty),
    ):
        done = subcog("why", "bad", *arguments)
        assert (done.code, done.out, done.err) == (code, "", f"subcog: {message}\n")


def test_a_prompt_that_was_not_kept_says_what_to_do(subcog: Run, ask_again: Ask, home: Home) -> None:
    subcog("config", "set", "surfacing.log_prompts", "false")
    ask_again(QUESTION, "second")
    done = subcog("why", "bad", "keys")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.endswith(
        "so no other prompt can be compared with it; surfacing.log_prompts is false; set it to true, and ask again\n"
    )
    assert marks_of(home) == []


@pytest.mark.parametrize(
    ("event", "was", "means"),
    [(TOOL, "a tool's call", "paths and triggers"), (BEGINNING, "a session's start", "priority and conditions")],
)
def test_a_memory_from_a_cue_is_changed_by_its_cue(
    subcog: Run, home: Home, event: dict[str, Any], was: str, means: str
) -> None:
    keep(home, decided("z", candidates=[candidate("keys", 0.7)], **event))
    for named in ((), ("z",)):
        done = subcog("why", "bad", "keys", *named)
        assert (done.code, done.out) == (2, "")
        message = f"z was {was}, not a prompt; `subcog edit keys` changes its {means}"
        assert done.err == f"subcog: {message}\n"
    assert marks_of(home) == []


def test_a_call_that_gave_another_memory_is_not_meant(subcog: Run, home: Home) -> None:
    keep(home, decided("z", candidates=[candidate("cookie", 0.7)], **TOOL))
    assert f"marked as wrong for prompts like {QUESTION!r}" in subcog("why", "bad", "keys").err
    assert subcog("why", "bad", "keys", "z", "--undo").code == 2
    assert subcog("why", "bad", "keys", "--undo").code == 0
    assert marks_of(home) == []
