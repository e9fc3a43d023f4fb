"""The hook's records: every prompt leaves one verdict, with its nearest candidates."""

from pathlib import Path
from typing import NoReturn

import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import deliver, prompt, prompt_search
from subcog_hooks.hook.payload import TRIAL
from subcog_hooks.recall import pipeline
from subcog_hooks.store import past_runs, sessions, verdicts
from subcog_hooks.store.state import State
from subcog_hooks.store.verdicts import (
    BELOW,
    COUNT,
    DUPLICATE,
    EXACT,
    FAILED,
    GATE,
    INJECTED,
    INTENT,
    INTENT_READ,
    LLM,
    MAX_CANDIDATES,
    MAX_EXPLAINED,
    MAX_PROMPT,
    NOMEM,
    NOT_TYPED,
    NOTHING_FOUND,
    OFF,
    OPEN,
    OUT_OF_TIME,
    PAUSED,
    RECALL,
    RENDER,
    SPOKE,
    START,
)
from tests import llm_server
from tests.hook.recorded import (
    ORDER,
    QUESTION,
    SECRET,
    Decide,
    configure,
    configure_llm,
    log_of,
    outcomes,
    past_verdicts,
    respond,
)
from tests.llm_server import LlmServer, says


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
    state.run("INSERT INTO pause VALUES (0, NULL)")
    paused = decide()
    commanded = decide("/review the lamp relay")
    state.run("DELETE FROM pause")
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
    with LlmServer(says("none", 0.97)) as server:
        configure_llm(home, server, "[surfacing]", "min_relevance = 0.1")
        verdict = decide()
    assert (verdict.outcome, verdict.reason) == (INTENT, prompt_search.VETO)
    assert outcomes(verdict)["first"] == INTENT
    assert verdict.intent is not None
    assert (verdict.intent.llm_status, LLM in dict(verdict.stages)) == ("success", True)
    assert verdict.intent.llm_ms is not None


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


def test_where_recall_fails_no_llm_is_waited_for_or_blamed(decide: Decide, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise StoreError("memories.db cannot be read")

    monkeypatch.setattr(pipeline, "recall_for_prompt", fail)
    with LlmServer(llm_server.never()) as server:
        configure_llm(home, server, timeout_ms=10_000)
        with pytest.raises(StoreError):
            decide(budget_ms=20_000)
    (verdict,) = past_verdicts(home)
    assert (verdict.outcome, verdict.reason) == (FAILED, "StoreError: memories.db cannot be read")
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


@pytest.mark.parametrize("text", [QUESTION, ORDER, "/compact"])
def test_of_a_trial_nothing_is_recorded_or_counted(home: Home, lighthouse: None, text: str) -> None:
    assert bool(respond(home, text, f"{TRIAL}1")) == (text == QUESTION)
    state = State.open(home, 1_000)
    assert (past_runs.find_latest(state, 9), past_runs.read_metrics(state)) == ([], [])
    assert not verdicts.may_hold_prompt_texts(state)
    state.close()


def test_a_secret_is_masked_and_is_no_topic(decide: Decide, home: Home) -> None:
    verdict = decide(f"How does the lighthouse lamp relay take {SECRET} from the tide sensor?")
    assert verdict.prompt == "How does the lighthouse lamp relay take [redacted] from the tide sensor?"
    assert verdict.intent is not None
    assert "lighthouse" in verdict.intent.topics or "relay" in verdict.intent.topics
    assert_unknown(home, SECRET)


def test_of_a_prompt_that_may_hold_a_secret_nothing_is_kept(decide: Decide, home: Home) -> None:
    for text in (QUESTION + " password=hunter2xyz", QUESTION * 2_000 + " password=hunter2xyz"):
        verdict = decide(text)
        assert verdict.prompt is None
        assert verdict.intent is not None
        assert verdict.intent.topics == ()
    assert_unknown(home, "hunter2xyz")


def test_a_private_span_is_left_out_also_where_the_prompt_is_cut(decide: Decide, home: Home) -> None:
    verdict = decide(QUESTION + " <private>" + "the harbourmaster's XYZZY " * 400 + "</private> Thanks.")
    assert verdict.prompt is not None
    assert verdict.prompt.startswith(QUESTION)
    assert_unknown(home, "XYZZY")


def test_of_a_long_prompt_the_beginning_is_kept(decide: Decide) -> None:
    verdict = decide(QUESTION + " It blinks." * 1_000)
    assert verdict.prompt is not None
    assert len(verdict.prompt) == MAX_PROMPT


def assert_unknown(home: Home, text: str) -> None:
    """Assert that no file of the state has this text."""
    for suffix in ("", "-wal"):
        file = Path(home.state_db + suffix)
        assert not file.exists() or text.encode() not in file.read_bytes()


OFF_SWITCHES = [
    "[surfacing]\nlog_prompts = false\n",
    "[surfacing]\nlog_prompts = 'false'\n",
    "[surfacing]\nlog-prompts = false\n",
    "[surfacing\nlog_prompts = false\n",
]


@pytest.mark.parametrize("switch", OFF_SWITCHES)
def test_no_text_of_a_prompt_is_stored_against_the_users_wish(decide: Decide, home: Home, switch: str) -> None:
    configure(home, switch)
    for text in (QUESTION, ORDER, "/compact the lamp relay", "and the other one?"):
        verdict = decide(text)
        assert (verdict.prompt, verdict.borrowed) == (None, ())
        assert verdict.intent is None or (verdict.intent.topics, bool(verdict.intent.type)) == ((), True)
    for word in ("lighthouse", "relay", "sensor"):
        assert_unknown(home, word)


def test_what_was_kept_is_forgotten_at_the_next_prompt(decide: Decide, home: Home) -> None:
    for text in (QUESTION, ORDER):
        decide(text)
    configure(home, OFF_SWITCHES[0])
    decide("ok")
    kept = past_verdicts(home)
    assert [verdict.outcome for verdict in kept] == [INTENT, INTENT, SPOKE]
    assert [verdict.prompt for verdict in kept] == [None] * 3
    assert all(verdict.intent is not None and verdict.intent.topics == () for verdict in kept)
    assert kept[2].candidates
    assert sessions.find_last_prompt(State.open(home, 1_000), "s", kept[0].at_ms) is None


def test_a_project_can_not_switch_it_on(decide: Decide, home: Home, tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / ".subcog.toml").write_text("[surfacing]\nlog_prompts = true\n")
    configure(home, OFF_SWITCHES[0])
    assert decide(cwd=str(tmp_path / "shop")).prompt is None
    assert "surfacing.log_prompts is left to your own config.toml" in log_of(home)
