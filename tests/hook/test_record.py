"""The hook's records: every prompt leaves one verdict, with its nearest candidates."""

import os
import time
from pathlib import Path
from typing import NoReturn

import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import deliver, prompt, recalled, record
from subcog_hooks.hook.payload import TRIAL
from subcog_hooks.recall import pipeline
from subcog_hooks.store import past_runs, sessions, state_values, verdicts
from subcog_hooks.store.state import State
from subcog_hooks.store.verdicts import (
    BELOW,
    COUNT,
    DUPLICATE,
    EXACT,
    FAILED,
    GATE,
    GIVEN,
    INJECTED,
    INTENT,
    INTENT_READ,
    LLM,
    MAX_CANDIDATES,
    MAX_EXPLAINED,
    NOMEM,
    NOT_TYPED,
    NOTHING_FOUND,
    OFF,
    OPEN,
    OUT_OF_TIME,
    PAUSED,
    RECALL,
    RENDER,
    REPEATED,
    ROOM,
    SPOKE,
    START,
)
from tests import llm_server
from tests.hook.recorded import ORDER, QUESTION, Decide, configure, configure_llm, log_of, outcomes, past_verdicts, respond
from tests.llm_server import LlmServer, says

# ---- a prompt that is answered -------------------------------------------------------------------------------------------


def test_an_answer_is_recorded_with_all_that_led_to_it(decide: Decide, home: Home) -> None:
    configure(home, "[surfacing]\nmax_memories = 1\nmin_relevance = 0.1\n")
    verdict = decide()
    assert (verdict.outcome, verdict.reason, verdict.event, verdict.session) == (SPOKE, "", "UserPromptSubmit", "s")
    assert verdict.prompt == QUESTION
    assert verdict.intent is not None
    assert (verdict.intent.source, verdict.intent.llm_status) == ("keyword", "off")
    assert {"relay", "sensor"} & {*verdict.intent.topics}
    assert any(family == verdict.intent.type and weight > 0 for _, family, weight in verdict.intent.signals)
    assert verdict.settings is not None
    assert (verdict.settings.min_relevance, verdict.settings.max_memories) == (0.1, 1)
    assert [name for name, _ in verdict.stages] == [START, OPEN, INTENT_READ, EXACT, RECALL, GATE, RENDER]
    assert verdict.stages[0][1] >= 10.0
    assert 10.0 <= sum(ms for _, ms in verdict.stages) <= verdict.micros / 1000 < 5_000
    assert verdict.strategies == ("lexical", "semantic")
    assert verdict.units > 100


def test_candidates_tell_what_each_of_them_lacked(decide: Decide, home: Home) -> None:
    configure(home, "[surfacing]\nmax_memories = 1\nmin_relevance = 0.1\n")
    verdict = decide()
    assert len(verdict.candidates) <= MAX_CANDIDATES
    outcome_of = outcomes(verdict)
    (injected,) = verdict.injected
    assert injected in ("first", "again")
    assert {outcome_of["first"], outcome_of["again"]} == {INJECTED, DUPLICATE}
    assert COUNT in (outcome_of["drift"], outcome_of["volts"])
    assert {outcome_of[id_] for id_ in outcome_of if id_.startswith("cargo")} <= {BELOW}
    relevance = [candidate.relevance for candidate in verdict.candidates]
    assert relevance == sorted(relevance, reverse=True)
    best = verdict.candidates[0]
    assert best.namespace == "learnings"
    assert best.ranks
    assert best.scores
    assert all(not candidate.terms for candidate in verdict.candidates[MAX_EXPLAINED:])


def test_what_was_given_before_is_told_and_so_is_that_all_was(decide: Decide, home: Home) -> None:
    configure(home, "[surfacing]\nmax_memories = 2\nmin_relevance = 0.1\n")
    first = decide()
    second = decide()
    assert (first.outcome, second.outcome) == (SPOKE, SPOKE)
    assert {id_ for id_, outcome in outcomes(second).items() if outcome == GIVEN} == {*first.injected}
    assert not {*first.injected} & {*second.injected}
    third = decide()
    assert (third.outcome, third.injected) == (REPEATED, ())
    assert {outcomes(third)[id_] for id_ in (*first.injected, *second.injected)} == {GIVEN}


def test_what_does_not_fit_is_told(decide: Decide, home: Home) -> None:
    configure(home, "[surfacing]\nmax_characters = 250\nmin_relevance = 0.1\n")
    assert ROOM in outcomes(decide()).values()


def test_the_ledger_names_the_verdict_of_a_session(decide: Decide, home: Home) -> None:
    verdict = decide()
    state = State.open(home, 1_000)
    rows = sorted((id_, verdict.id) for id_ in verdict.injected)
    assert sorted(state.run("SELECT memory, verdict FROM ledger")) == rows
    alone = decide(session="")
    assert (alone.outcome, alone.session) == (SPOKE, "")


def test_the_project_is_named(decide: Decide, tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    assert decide(cwd=str(tmp_path / "shop")).project == os.path.realpath(tmp_path / "shop")
    assert decide(session="another").project == ""


def test_ids_sort_by_time(decide: Decide) -> None:
    ids = [decide("ok").id for _ in range(3)]
    assert ids == sorted(ids)
    assert all(len(id_) == 14 for id_ in ids)


# ---- silence ---------------------------------------------------------------------------------------------------------------


def test_a_silent_prompt_leaves_its_reason(decide: Decide, subtests: pytest.Subtests) -> None:
    cases = [
        (QUESTION + " [nomem]", NOMEM),
        ("/compact the lamp relay", NOT_TYPED),
        ("<task-notification>Why does it fail?", NOT_TYPED),
        ("", NOT_TYPED),
        (None, NOT_TYPED),
        ("ok", INTENT),
        (ORDER, INTENT),
        ("why?", INTENT),
        ("How do the papers of Jupiter move around their planet?", BELOW),
    ]
    for text, why in cases:
        with subtests.test(text=text):
            verdict = decide(text)
            assert (verdict.outcome, verdict.injected, verdict.units) == (why, (), 0)
            assert (verdict.intent is None) == (why in (NOMEM, NOT_TYPED))


def test_a_pause_and_a_switch_record_nothing_of_the_prompt(decide: Decide, home: Home) -> None:
    state = State.open(home, 1_000)
    state_values.begin_pause(state, 0, None)
    paused = decide()
    commanded = decide("/review the lamp relay")
    state_values.end_pause(state, 0)
    configure(home, "[surfacing]\nenabled = false\n")
    off = decide()
    configure(home, "[search_intent]\nenabled = false\n")
    assert [verdict.outcome for verdict in (paused, commanded, off, decide())] == [PAUSED, PAUSED, OFF, OFF]
    assert [verdict.prompt for verdict in (paused, commanded, off, decide(QUESTION + " [nomem]"))] == [None] * 4


def test_a_prompt_that_no_memory_has_a_word_of_finds_nothing(decide: Decide, home: Home) -> None:
    configure(home, "[fusion]\nalpha = 0.0\n")
    verdict = decide("Why does QXYZZY frobnicate the wombat?")
    assert (verdict.outcome, verdict.candidates) == (NOTHING_FOUND, ())


def test_what_was_almost_handed_over_is_told(decide: Decide, home: Home) -> None:
    configure(home, "[surfacing]\nmin_relevance = 1.0\n")
    verdict = decide()
    assert verdict.outcome == BELOW
    assert {"first", "drift", "volts"} <= {*outcomes(verdict)}
    assert {*outcomes(verdict).values()} == {BELOW}


def test_a_veto_holds_back_what_is_relevant(decide: Decide, home: Home) -> None:
    with LlmServer(says("none", 0.95)) as server:
        configure_llm(home, server, "[surfacing]", "min_relevance = 0.1")
        verdict = decide()
    assert (verdict.outcome, verdict.reason) == (INTENT, recalled.VETO)
    assert outcomes(verdict)["first"] == INTENT
    assert verdict.intent is not None
    assert (verdict.intent.llm_status, LLM in dict(verdict.stages)) == ("success", True)
    assert verdict.intent.llm_ms is not None


def test_an_answer_that_came_too_late_is_told(decide: Decide, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliver, "PRINT_MS", 60_000.0)
    verdict = decide()
    assert (verdict.outcome, verdict.injected) == (OUT_OF_TIME, ())
    assert OUT_OF_TIME in outcomes(verdict).values()


def test_a_failure_is_told_and_what_was_begun_is_undone(decide: Decide, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise ValueError("nothing can be rendered")

    with monkeypatch.context() as patch:
        patch.setattr(deliver, "render_block", fail)
        with pytest.raises(ValueError, match="rendered"):
            decide()
    (verdict,) = past_verdicts(home)
    assert (verdict.outcome, verdict.reason) == (FAILED, "ValueError: nothing can be rendered")
    assert FAILED in outcomes(verdict).values()
    assert decide().outcome == SPOKE


def test_a_recall_that_fails_is_told(decide: Decide, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise StoreError("memories.db cannot be read")

    monkeypatch.setattr(pipeline, "recall_for_prompt", fail)
    with pytest.raises(StoreError):
        decide()
    (verdict,) = past_verdicts(home)
    assert (verdict.outcome, verdict.reason) == (FAILED, "StoreError: memories.db cannot be read")
    assert verdict.intent is not None


def test_where_recall_fails_no_llm_is_waited_for_or_blamed(decide: Decide, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise StoreError("memories.db cannot be read")

    monkeypatch.setattr(pipeline, "recall_for_prompt", fail)
    with LlmServer(llm_server.never()) as server:
        configure_llm(home, server, timeout_ms=10_000)
        began = time.monotonic()
        with pytest.raises(StoreError):
            decide(budget_ms=20_000)
        assert time.monotonic() - began < 5.0
    (verdict,) = past_verdicts(home)
    assert verdict.intent is not None
    assert verdict.intent.llm_status == "timeout"
    assert State.open(home, 1_000).run("SELECT * FROM llm_failures") == []


@pytest.mark.parametrize(
    ("error", "why"), [(TimeoutError("the deadline has passed"), OUT_OF_TIME), (BrokenPipeError(), FAILED)]
)
def test_an_answer_that_nobody_took_was_not_given(home: Home, lighthouse: None, error: OSError, why: str) -> None:
    def refuse(_: bytes) -> NoReturn:
        raise error

    with pytest.raises(type(error)):
        prompt.respond({"prompt": QUESTION, "session_id": "s", "cwd": "/"}, home, refuse, Deadline(5_000))
    assert [(verdict.outcome, verdict.injected) for verdict in past_verdicts(home)] == [(why, ())]
    assert sessions.find_given(State.open(home, 1_000), "s") == set()


def test_a_failed_record_loses_neither_answer_nor_ledger(home: Home, lighthouse: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> NoReturn:
        raise RuntimeError("no record")

    monkeypatch.setattr(record, "record_of_prompt", fail)
    assert len(respond(home)) == 1
    assert sessions.find_given(State.open(home, 1_000), "s")
    assert "a decision was not recorded: RuntimeError: no record" in log_of(home)


def test_the_answer_is_written_before_anything_is_recorded(home: Home, lighthouse: None) -> None:
    def write(_: bytes) -> None:
        assert past_verdicts(home) == []

    prompt.respond({"prompt": QUESTION, "session_id": "s", "cwd": "/"}, home, write, Deadline(5_000))
    assert [verdict.outcome for verdict in past_verdicts(home)] == [SPOKE]


@pytest.mark.parametrize("text", [QUESTION, ORDER, "/compact"])
def test_of_a_trial_nothing_is_recorded_or_counted(home: Home, lighthouse: None, text: str) -> None:
    assert bool(respond(home, text, f"{TRIAL}1")) == (text == QUESTION)
    state = State.open(home, 1_000)
    assert (past_runs.find_latest(state, 9), past_runs.read_metrics(state)) == ([], [])
    assert not verdicts.may_hold_prompt_texts(state)
    state.close()


def test_without_memories_nothing_is_recorded(home: Home) -> None:
    assert respond(home) == []
    assert not os.path.exists(home.root)
