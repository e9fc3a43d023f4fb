"""What the hook records of its runs: every prompt leaves one decision, with what was almost handed over, and no secrets."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from subcog_hooks import metrics
from subcog_hooks.deadline import Deadline
from subcog_hooks.decision import (
    BELOW,
    COUNT,
    DUPLICATE,
    FAILED,
    GATE,
    GIVEN,
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
    REPEATED,
    ROOM,
    SPOKE,
    START,
    Decision,
)
from subcog_hooks.errors import StoreError
from subcog_hooks.hooks import prompt, record, surfacing
from subcog_hooks.hooks.payload import TRIAL
from subcog_hooks.memory.store import Store
from subcog_hooks.paths import Home
from subcog_hooks.recall import pipeline
from subcog_hooks.state import State
from tests.conftest import Maker
from tests.hooks.conftest import follow
from tests.llm_server import LlmServer, says

Ask = Callable[..., Decision]
ROOT = Path(__file__).parents[2]
QUESTION = "How does the lighthouse lamp relay work with the tide sensor?"
ORDER = "rename the helper of the cargo manifest"
SECRET = "ghp_0aB1cD2eF30aB1cD2eF30aB1cD2eF30aB1cD2"


@pytest.fixture
def lighthouse(home: Home, store: Store, make: Maker) -> None:
    """Four memories that answer QUESTION, of which two nearly say the same, and others."""
    texts = {
        "first": "The lighthouse lamp relay is driven by the tide sensor.",
        "again": "The lighthouse lamp relay is driven by the tide sensor!",
        "drift": "Replace the lighthouse lamp relay when the tide sensor reports drift.",
        "volts": "A lamp relay of the lighthouse tide sensor needs 24 V.",
    }
    store.add([make(text, id=id_) for id_, text in texts.items()])
    store.add([make(f"Notes on cargo number {i} and its papers.", id=f"cargo-{i}") for i in range(50)])
    follow(home, store)


@pytest.fixture
def ask(home: Home, lighthouse: None) -> Ask:
    """Asks the hook; the decision that it leaves."""

    def asked(text: object = QUESTION, session: str = "s", cwd: str = "/", budget_ms: float = 5_000) -> Decision:
        before = len(decisions(home))
        payload: dict[str, object] = {"prompt": text, "session_id": session, "cwd": cwd}
        printed: list[bytes] = []
        prompt.respond(payload, home, printed.append, Deadline(budget_ms, spent_ms=10.0))
        kept = decisions(home)
        assert len(kept) == before + 1
        assert bool(printed) == (kept[0].outcome == SPOKE)
        return kept[0]

    return asked


def decisions(home: Home) -> list[Decision]:
    """All that are kept, the newest first."""
    state = State.open(home, 1_000)
    found = state.decisions(100)
    state.close()
    return found


def outcomes(decision: Decision) -> dict[str, str]:
    return {candidate.id: candidate.outcome for candidate in decision.candidates}


def configure(home: Home, text: str) -> None:
    Path(home.config).write_text(text)


# ---- a prompt that is answered -------------------------------------------------------------------------------------------


def test_an_answer_is_recorded_with_all_that_led_to_it(ask: Ask, home: Home) -> None:
    configure(home, "[surfacing]\nmax_memories = 1\nmin_relevance = 0.1\n")
    decision = ask()
    assert (decision.outcome, decision.reason, decision.event, decision.session) == (SPOKE, "", "UserPromptSubmit", "s")
    assert decision.prompt == QUESTION
    assert decision.intent is not None
    assert (decision.intent.source, decision.intent.llm_status) == ("keyword", "off")
    assert {"relay", "sensor"} & {*decision.intent.topics}
    assert any(family == decision.intent.type and weight > 0 for _, family, weight in decision.intent.signals)
    assert decision.bars is not None
    assert (decision.bars.min_relevance, decision.bars.max_memories) == (0.1, 1)
    assert [name for name, _ in decision.stages] == [START, OPEN, INTENT_READ, RECALL, GATE, RENDER]
    assert decision.stages[0][1] >= 10.0
    assert 10.0 <= sum(ms for _, ms in decision.stages) <= decision.micros / 1000 < 5_000
    assert decision.strategies == ("lexical", "semantic")
    assert decision.units > 100


def test_candidates_tell_what_each_of_them_lacked(ask: Ask, home: Home) -> None:
    configure(home, "[surfacing]\nmax_memories = 1\nmin_relevance = 0.1\n")
    decision = ask()
    assert len(decision.candidates) <= MAX_CANDIDATES
    told = outcomes(decision)
    (injected,) = decision.injected
    assert injected in ("first", "again")
    assert {told["first"], told["again"]} == {INJECTED, DUPLICATE}
    assert COUNT in (told["drift"], told["volts"])
    assert {told[id_] for id_ in told if id_.startswith("cargo")} <= {BELOW}
    relevance = [candidate.relevance for candidate in decision.candidates]
    assert relevance == sorted(relevance, reverse=True)
    best = decision.candidates[0]
    assert best.namespace == "learnings"
    assert best.ranks
    assert best.scores
    assert all(not candidate.terms for candidate in decision.candidates[MAX_EXPLAINED:])


def test_what_was_given_before_is_told_and_so_is_that_all_was(ask: Ask, home: Home) -> None:
    configure(home, "[surfacing]\nmax_memories = 2\nmin_relevance = 0.1\n")
    first = ask()
    second = ask()
    assert (first.outcome, second.outcome) == (SPOKE, SPOKE)
    assert {id_ for id_, outcome in outcomes(second).items() if outcome == GIVEN} == {*first.injected}
    assert not {*first.injected} & {*second.injected}
    third = ask()
    assert (third.outcome, third.injected) == (REPEATED, ())
    assert {outcomes(third)[id_] for id_ in (*first.injected, *second.injected)} == {GIVEN}


def test_what_does_not_fit_is_told(ask: Ask, home: Home) -> None:
    configure(home, "[surfacing]\nmax_characters = 250\nmin_relevance = 0.1\n")
    assert ROOM in outcomes(ask()).values()


def test_the_ledger_names_the_decision(ask: Ask, home: Home) -> None:
    decision = ask()
    state = State.open(home, 1_000)
    rows = state.run("SELECT memory, decision FROM ledger")
    assert sorted(rows) == sorted((id_, decision.id) for id_ in decision.injected)


def test_without_a_session_it_is_recorded_too(ask: Ask) -> None:
    decision = ask(session="")
    assert (decision.outcome, decision.session) == (SPOKE, "")


def test_the_project_is_named(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    assert ask(cwd=str(tmp_path / "shop")).project == os.path.realpath(tmp_path / "shop")
    assert ask(session="another").project == ""


def test_ids_sort_by_time(ask: Ask) -> None:
    ids = [ask("ok").id for _ in range(3)]
    assert ids == sorted(ids)
    assert all(len(id_) == 14 for id_ in ids)


# ---- silence ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (QUESTION + " [nomem]", NOMEM),
        ("/compact the lamp relay", NOT_TYPED),
        ("<task-notification>Why does it fail?", NOT_TYPED),
        ("", NOT_TYPED),
        (None, NOT_TYPED),
        ("ok", INTENT),
        (ORDER, INTENT),
        ("why?", INTENT),
        ("How do the papers of Jupiter move around their planet?", BELOW),
    ],
)
def test_a_silent_prompt_leaves_its_reason(ask: Ask, text: object, why: str) -> None:
    decision = ask(text)
    assert (decision.outcome, decision.injected, decision.units) == (why, (), 0)
    assert (decision.intent is None) == (why in (NOMEM, NOT_TYPED))


def test_a_pause_and_a_switch_leave_theirs_and_nothing_of_the_prompt(ask: Ask, home: Home) -> None:
    state = State.open(home, 1_000)
    state.pause(None)
    paused = ask()
    commanded = ask("/review the lamp relay")
    state.resume(0)
    configure(home, "[surfacing]\nenabled = false\n")
    off = ask()
    configure(home, "[search_intent]\nenabled = false\n")
    assert [decision.outcome for decision in (paused, commanded, off, ask())] == [PAUSED, PAUSED, OFF, OFF]
    assert [decision.prompt for decision in (paused, commanded, off, ask(QUESTION + " [nomem]"))] == [None] * 4


def test_a_prompt_that_no_memory_has_a_word_of_finds_nothing(ask: Ask, home: Home) -> None:
    configure(home, "[fusion]\nalpha = 0.0\n")
    decision = ask("Why does QXYZZY frobnicate the wombat?")
    assert (decision.outcome, decision.candidates) == (NOTHING_FOUND, ())


def test_what_was_almost_handed_over_is_told(ask: Ask, home: Home) -> None:
    configure(home, "[surfacing]\nmin_relevance = 1.0\n")
    decision = ask()
    assert decision.outcome == BELOW
    assert {"first", "drift", "volts"} <= {*outcomes(decision)}
    assert {*outcomes(decision).values()} == {BELOW}


def test_a_veto_holds_back_what_is_relevant(ask: Ask, home: Home) -> None:
    with LlmServer(says("none", 0.95)) as server:
        configure(
            home,
            f'[llm]\nprovider = "openai"\nmodel = "m"\nbase_url = "{server.url_v1}"\n'
            "[search_intent]\nllm_skip_confidence = 1.0\nllm_timeout_ms = 4000\n[surfacing]\nmin_relevance = 0.1\n",
        )
        decision = ask()
    assert (decision.outcome, decision.reason) == (INTENT, surfacing.VETO)
    assert outcomes(decision)["first"] == INTENT
    assert decision.intent is not None
    assert (decision.intent.llm_status, LLM in dict(decision.stages)) == ("success", True)
    assert decision.intent.llm_ms is not None


def test_an_answer_that_came_too_late_is_told(ask: Ask, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surfacing, "PRINT_MS", 60_000.0)
    decision = ask()
    assert (decision.outcome, decision.injected) == (OUT_OF_TIME, ())
    assert OUT_OF_TIME in outcomes(decision).values()


def test_a_failure_is_told_and_what_was_begun_is_undone(ask: Ask, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise ValueError("nothing can be rendered")

    monkeypatch.setattr(surfacing, "render_block", fail)
    with pytest.raises(ValueError, match="rendered"):
        ask()
    (decision,) = decisions(home)
    assert (decision.outcome, decision.reason) == (FAILED, "ValueError: nothing can be rendered")
    assert FAILED in outcomes(decision).values()
    monkeypatch.undo()
    assert ask().outcome == SPOKE


def test_a_recall_that_fails_is_told(ask: Ask, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise StoreError("memories.db can not be read")

    monkeypatch.setattr(pipeline, "for_prompt", fail)
    with pytest.raises(StoreError):
        ask()
    (decision,) = decisions(home)
    assert (decision.outcome, decision.reason) == (FAILED, "StoreError: memories.db can not be read")
    assert decision.intent is not None


@pytest.mark.parametrize(
    ("error", "why"), [(TimeoutError("the deadline has passed"), OUT_OF_TIME), (BrokenPipeError(), FAILED)]
)
def test_an_answer_that_nobody_took_was_not_given(home: Home, lighthouse: None, error: OSError, why: str) -> None:
    def refuse(_: bytes) -> NoReturn:
        raise error

    with pytest.raises(type(error)):
        prompt.respond({"prompt": QUESTION, "session_id": "s", "cwd": "/"}, home, refuse, Deadline(5_000))
    assert [(decision.outcome, decision.injected) for decision in decisions(home)] == [(why, ())]
    assert State.open(home, 1_000).injected("s") == set()


def test_a_record_that_fails_loses_neither_the_answer_nor_the_ledger(
    home: Home, lighthouse: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> NoReturn:
        raise RuntimeError("no record")

    monkeypatch.setattr(record, "of", fail)
    printed: list[bytes] = []
    prompt.respond({"prompt": QUESTION, "session_id": "s", "cwd": "/"}, home, printed.append, Deadline(5_000))
    assert len(printed) == 1
    assert State.open(home, 1_000).injected("s")
    assert "a decision was not recorded: RuntimeError: no record" in Path(home.log, "hook.log").read_text()


def test_the_answer_is_written_before_anything_is_recorded(home: Home, lighthouse: None) -> None:
    def write(_: bytes) -> None:
        assert decisions(home) == []

    prompt.respond({"prompt": QUESTION, "session_id": "s", "cwd": "/"}, home, write, Deadline(5_000))
    assert [decision.outcome for decision in decisions(home)] == [SPOKE]


@pytest.mark.parametrize("text", [QUESTION, ORDER, "/compact"])
def test_of_a_trial_nothing_is_recorded_or_counted(home: Home, lighthouse: None, text: str) -> None:
    printed: list[bytes] = []
    payload: dict[str, object] = {"prompt": text, "session_id": f"{TRIAL}1", "cwd": "/"}
    prompt.respond(payload, home, printed.append, Deadline(5_000))
    assert bool(printed) == (text == QUESTION)
    state = State.open(home, 1_000)
    assert (state.decisions(9), metrics.read(state), state.has_prompts()) == ([], [], False)
    state.close()


def test_without_memories_nothing_is_recorded(home: Home) -> None:
    prompt.respond({"prompt": QUESTION, "session_id": "s"}, home, lambda _: pytest.fail("spoke"), Deadline(5_000))
    assert not os.path.exists(home.root)


# ---- what may be kept of a prompt --------------------------------------------------------------------------------------------


def test_a_secret_is_masked_and_is_no_topic(ask: Ask, home: Home) -> None:
    decision = ask(f"How does the lighthouse lamp relay take {SECRET} from the tide sensor?")
    assert decision.prompt == "How does the lighthouse lamp relay take [redacted] from the tide sensor?"
    assert decision.intent is not None
    assert "lighthouse" in decision.intent.topics or "relay" in decision.intent.topics
    assert_unknown(home, SECRET)


@pytest.mark.parametrize("text", [QUESTION + " password=hunter2xyz", QUESTION * 2_000 + " password=hunter2xyz"])
def test_of_a_prompt_that_may_hold_a_secret_nothing_is_kept(ask: Ask, home: Home, text: str) -> None:
    decision = ask(text)
    assert decision.prompt is None
    assert decision.intent is not None
    assert decision.intent.topics == ()
    assert_unknown(home, "hunter2xyz")


def test_a_private_span_is_left_out_also_where_the_prompt_is_cut(ask: Ask, home: Home) -> None:
    decision = ask(QUESTION + " <private>" + "the harbourmaster's XYZZY " * 400 + "</private> Thanks.")
    assert decision.prompt is not None
    assert decision.prompt.startswith(QUESTION)
    assert_unknown(home, "XYZZY")


def test_of_a_long_prompt_the_beginning_is_kept(ask: Ask) -> None:
    decision = ask(QUESTION + " It blinks." * 1_000)
    assert decision.prompt is not None
    assert len(decision.prompt) == MAX_PROMPT


def assert_unknown(home: Home, text: str) -> None:
    """None of the files of the state holds this text."""
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
def test_without_the_users_wish_nothing_that_a_prompt_says_is_kept(ask: Ask, home: Home, switch: str) -> None:
    configure(home, switch)
    for text in (QUESTION, ORDER, "/compact the lamp relay", "and the other one?"):
        decision = ask(text)
        assert (decision.prompt, decision.borrowed) == (None, ())
        assert decision.intent is None or (decision.intent.topics, bool(decision.intent.type)) == ((), True)
    for word in ("lighthouse", "relay", "sensor"):
        assert_unknown(home, word)


def test_what_was_kept_is_forgotten_at_the_next_prompt(ask: Ask, home: Home) -> None:
    for text in (QUESTION, ORDER):
        ask(text)
    configure(home, OFF_SWITCHES[0])
    ask("ok")
    kept = decisions(home)
    assert [decision.outcome for decision in kept] == [INTENT, INTENT, SPOKE]
    assert [decision.prompt for decision in kept] == [None] * 3
    assert all(decision.intent is not None and decision.intent.topics == () for decision in kept)
    assert kept[2].candidates
    assert State.open(home, 1_000).last_topics("s", kept[0].at) is None


def test_a_project_can_not_switch_it_on(ask: Ask, home: Home, tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / ".subcog.toml").write_text("[surfacing]\nlog_prompts = true\n")
    configure(home, OFF_SWITCHES[0])
    assert ask(cwd=str(tmp_path / "shop")).prompt is None
    assert "surfacing.log_prompts is left to your own config.toml" in Path(home.log, "hook.log").read_text()


# ---- follow-ups --------------------------------------------------------------------------------------------------------------


def test_a_follow_up_borrows_what_the_prompt_before_was_about(ask: Ask, home: Home) -> None:
    configure(home, "[surfacing]\nmax_memories = 1\nmin_relevance = 0.1\n")
    first = ask()
    second = ask("and the other one?")
    assert first.intent is not None
    assert second.intent is not None
    assert second.borrowed == first.intent.topics
    assert second.intent.confidence == first.intent.confidence
    assert second.outcome == SPOKE
    assert {*second.injected} <= {"drift", "volts"}
    third = ask("and what about the third?")
    assert third.borrowed == second.borrowed


@pytest.mark.parametrize("text", ["ok", "thanks!", "continue", "go on", "ok?", "and fix it", "make it blue"])
def test_an_acknowledgement_or_an_order_borrows_nothing(ask: Ask, home: Home, text: str) -> None:
    configure(home, "[surfacing]\nmax_memories = 1\nmin_relevance = 0.1\n")
    ask()
    decision = ask(text)
    assert (decision.outcome, decision.borrowed) == (INTENT, ())


def test_an_acknowledgement_between_does_not_part_them(ask: Ask, home: Home) -> None:
    configure(home, "[surfacing]\nmax_memories = 1\nmin_relevance = 0.1\n")
    ask()
    ask("ok, thanks")
    assert ask("and the other one?").outcome == SPOKE


def test_a_follow_up_of_an_order_stays_silent(ask: Ask, home: Home) -> None:
    configure(home, "[surfacing]\nmin_relevance = 0.5\n")
    ask(ORDER)
    decision = ask("and the other one?")
    assert decision.outcome == INTENT
    assert decision.borrowed != ()


def test_nothing_is_borrowed_from_another_session_or_without_one(ask: Ask, home: Home) -> None:
    configure(home, "[surfacing]\nmax_memories = 1\nmin_relevance = 0.1\n")
    ask(session="one")
    ask(session="")
    assert [ask("and the other one?", session=session).borrowed for session in ("two", "")] == [(), ()]


# ---- two at once -------------------------------------------------------------------------------------------------------------


HOOK = f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.argv = ['subcog', 'hook']\n"
HOOK += "from subcog_hooks.__main__ import main; main()"
ROUNDS = 10  # a busy machine may end some processes without an answer


def both(payload: dict[str, object]) -> list[bytes]:
    """What two hooks print on one payload at once."""
    command = [sys.executable, "-I", "-c", HOOK]
    started = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
    for process in started:
        assert process.stdin is not None
        process.stdin.write(json.dumps(payload).encode())
        process.stdin.flush()
    return [process.communicate(timeout=60)[0] for process in started]


def test_of_two_processes_at_once_each_memory_comes_from_one(home: Home, lighthouse: None) -> None:
    configure(home, "[surfacing]\nmax_memories = 2\nmin_relevance = 0.1\n")
    payload: dict[str, object] = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/", "prompt": QUESTION}
    printed: list[bytes] = []
    for _ in range(ROUNDS):
        printed += both(payload)
        if sum(output.count(b"[learnings ") for output in printed) == 3:
            break
    text = b"".join(printed)
    given = State.open(home, 1_000).injected("s")
    assert sorted(text.count(f" {id_}] ".encode()) for id_ in given) == [1, 1, 1]
    injected = [id_ for decision in decisions(home) for id_ in decision.injected]
    assert sorted(injected) == sorted(given)
