"""`why --again`: the hook's decision of today compared with the earlier one, by the real hook, store and index."""

import re
from pathlib import Path
from typing import Any

import pytest

from subcog_hooks.cli.decisions.second_decision import MIN_DIFFERENCE
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import prompt
from subcog_hooks.hook.prompt_reading import PromptReading
from subcog_hooks.hook.verdict import Verdict
from subcog_hooks.store.decision import BELOW, SPOKE
from subcog_hooks.store.state import State
from tests.cli.conftest import Ask, MonkeyPatch, Run
from tests.cli.decided import BEGINNING, TOOL, candidate, decided, keep

QUESTION = "How do we rotate the signing keys of the release service?"
KEYS = "The signing keys of the release service are rotated every quarter, see the runbook."


def again_json(subcog: Run, *arguments: str) -> Any:
    return subcog("why", *arguments, "--again", "--json").json


def everything_kept(home: Home) -> list[tuple[object, ...]]:
    """Return the rows that a hook leaves: ledger, decisions, topics, metrics."""
    state = State.open(home, 1_000)
    rows: list[tuple[object, ...]] = []
    for table in ("ledger", "decisions", "topics", "counters", "histograms"):
        rows += state.run(f"SELECT * FROM {table}")
    state.close()
    return rows


@pytest.fixture
def ask_again(ask: Ask) -> Ask:
    """Store three memories and ask QUESTION once, for which `keys` is given; return `ask`."""
    ask.remember(keys=KEYS, cookie="The session cookie is renewed every hour.", port="The tunnel listens on port 2333.")
    assert ask(QUESTION) == ["keys"]
    return ask


@pytest.mark.usefixtures("ask_again")
def test_an_unchanged_decision_says_so_and_leaves_nothing(subcog: Run, home: Home) -> None:
    before = everything_kept(home)
    done = subcog("why", "--again")
    assert done.code == 0
    lines = done.out.splitlines()
    assert [line[:11] for line in lines[3:5]] == ["was  spoke:", "is   spoke:"]
    assert lines[-1] == "nothing has changed"
    assert "<subcog-memories" not in done.out
    assert everything_kept(home) == before


def test_a_little_more_or_less_is_no_change(subcog: Run, ask_again: Ask, home: Home) -> None:
    was = subcog("why", "--json").json["candidates"][0]
    state = State.open(home, 1_000)
    for shift, count in ((MIN_DIFFERENCE / 2, 0), (-3 * MIN_DIFFERENCE, 1)):
        state.run("UPDATE decisions SET record = json_set(record, '$.candidates[0].relevance', ?)", (was["relevance"] + shift,))
        assert len(again_json(subcog)["changes"]) == count
    state.close()


@pytest.mark.usefixtures("ask_again")
def test_a_memory_that_has_come_and_one_that_has_gone_are_shown(subcog: Run) -> None:
    subcog("remember", "The signing keys of the release service are rotated by the release team in the vault, by hand.")
    subcog("forget", "keys")
    out = subcog("why", "--again").out
    assert re.search(r"^keys  [01]\.\d\d injected -> not found\n    \(no longer in the store\)$", out, re.MULTILINE)
    assert re.search(r"  not found -> [01]\.\d\d injected\n    The signing keys of the release service are rotated by the", out)
    assert (change_of(subcog, "keys")["was"] is None, change_of(subcog, "keys")["is"]) == (False, None)


def change_of(subcog: Run, id_: str) -> dict[str, object]:
    change_: dict[str, object] = next(change for change in again_json(subcog)["changes"] if change["id"] == id_)
    return change_


@pytest.mark.usefixtures("ask_again")
def test_todays_settings_decide(subcog: Run) -> None:
    subcog("config", "set", "search_intent.min_confidence", "1.0")
    answer = again_json(subcog)
    assert (answer["was"]["outcome"], answer["is"]["outcome"]) == ("spoke", "intent")
    assert "is   silent: it does not seem to need a memory: " in subcog("why", "--again").out
    subcog("config", "set", "surfacing.enabled", "false")
    assert again_json(subcog)["is"]["outcome"] == "off"


@pytest.mark.usefixtures("ask_again")
def test_a_mark_counts_at_once(subcog: Run) -> None:
    subcog("why", "--bad", "keys", "--yes")
    assert change_of(subcog, "keys")["is"] == {"relevance": 0.0, "outcome": "bad"}


def test_memories_given_earlier_in_the_session_do_not_repeat(subcog: Run, ask_again: Ask) -> None:
    assert ask_again(QUESTION) == []
    assert again_json(subcog)["is"]["outcome"] == "repeated"
    first = [row["id"] for row in subcog("why", "--list", "--json").json][-1]
    assert again_json(subcog, first)["is"]["outcome"] == "spoke"  # a later memory was not given yet


def test_it_is_asked_in_its_own_project(subcog: Run, ask: Ask, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    (shop / ".git").mkdir(parents=True)
    (shop / ".git" / "config").write_text('[remote "origin"]\nurl = git@github.com:acme/shop.git\n')
    ask.remember(project="github.com/acme/shop", keys=KEYS)
    assert ask(QUESTION, cwd=str(shop)) == ["keys"]
    assert subcog("why", "--again").err.startswith("subcog: no prompt outside of all projects has been decided on yet; ")
    done = subcog("why", "--again", "--everywhere")
    assert "nothing has changed" in done.out
    assert done.err == "a .subcog.toml of github.com/acme/shop is only heeded in its folder\n"


def test_borrowed_topics_are_borrowed_again(subcog: Run, ask_again: Ask) -> None:
    ask_again("and for the other one?", session="s")
    borrowed = subcog("why", "--json").json["borrowed"]
    assert borrowed
    assert again_json(subcog)["is"]["borrowed"] == borrowed


def test_no_llm_is_asked(subcog: Run, ask_again: Ask, monkeypatch: MonkeyPatch) -> None:
    subcog("config", "set", "llm.base_url", "http://127.0.0.1:9/v1")
    subcog("config", "set", "llm.model", "tiny")
    subcog("config", "set", "llm.provider", "openai")
    subcog("config", "set", "search_intent.llm_skip_confidence", "1.0")
    assert again_json(subcog)["is"]["intent"]["llm_status"] == "off"


def test_a_prompt_that_was_not_kept_cannot_be_asked_again(subcog: Run, home: Home) -> None:
    keep(home, decided("d1", BELOW, prompt=None))
    done = subcog("why", "--again")
    assert (done.code, done.out) == (2, "")
    remedy = "it may have held a secret, or asked for silence; ask in other words"
    assert done.err == f"subcog: the prompt of d1 was not kept, so it cannot be asked again; {remedy}\n"
    subcog("config", "set", "surfacing.log_prompts", "false")
    assert subcog("why", "--again").err.endswith("; surfacing.log_prompts is false; set it to true, and ask again\n")


@pytest.mark.usefixtures("ask_again")
def test_only_prompts_are_decided_again(subcog: Run, home: Home) -> None:
    keep(home, decided("d1", candidates=[candidate("keys", 0.7)], **TOOL), decided("d2", **BEGINNING))
    assert subcog("why", "--again").out.splitlines()[1] == QUESTION
    for id_, was in (("d1", "a tool's call"), ("d2", "a session's start")):
        done = subcog("why", id_, "--again")
        assert (done.code, done.out) == (2, "")
        hint = "only a prompt can be decided again; `subcog why --list` shows them"
        assert done.err == f"subcog: {id_} was {was}, not a prompt; {hint}\n"


@pytest.mark.usefixtures("ask_again")
def test_an_incomplete_prompt_is_decided_again_with_a_remark(subcog: Run, home: Home) -> None:
    keep(home, decided("a", prompt="How is [redacted] rotated?", project=""))
    assert subcog("why", "a", "--again").err == "a secret was taken out of the prompt, which is asked without it\n"
    keep(home, decided("b", prompt="How is it? " * 200, project=""))
    assert subcog("why", "b", "--again").err.startswith("of the prompt only the first 2,000 characters were kept")


def test_without_state_prompt_or_memories_it_is_one_line(subcog: Run, home: Home) -> None:
    done = subcog("why", "--again")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    keep(home, decided("d1", **TOOL))
    done = subcog("why", "--again")
    message = "no prompt has been decided on yet; `subcog doctor` says whether the hook is registered"
    assert (done.code, done.out, done.err) == (1, "", f"subcog: {message}\n")
    keep(home, decided("a", SPOKE, [candidate("m", 0.7)]))
    done = subcog("why", "--again")
    assert (done.code, done.out, done.err) == (1, "", "subcog: there are no memories; `subcog remember` makes the first\n")


def test_it_goes_through_the_hooks_own_code(subcog: Run, ask_again: Ask, monkeypatch: MonkeyPatch) -> None:
    seen: list[str] = []

    def decide_and_note(turn: PromptReading) -> Verdict:
        seen.append(turn.prompt)
        return prompt.decide_prompt(turn)

    monkeypatch.setattr("subcog_hooks.hook.dry_run.decide_prompt", decide_and_note)
    assert "nothing has changed" in subcog("why", "--again").out
    assert seen == [QUESTION]


def test_a_prompt_is_asked_again_at_its_place_in_the_session(subcog: Run, ask_again: Ask) -> None:
    question = "Why are the signing keys of the release service rotated every quarter?"
    ask_again(question, "short")
    first = again_json(subcog)["is"]["candidates"][0]
    for _ in range(4):
        ask_again("ok, thanks", "long")
    ask_again(question, "long")
    later = again_json(subcog)
    assert later["changes"] == []
    assert later["is"]["candidates"][0]["terms"] == later["was"]["candidates"][0]["terms"]
    assert later["is"]["candidates"][0]["raw"] < first["raw"]
