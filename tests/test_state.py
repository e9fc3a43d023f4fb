"""state.db: ledger, decisions, pause, and that nothing in it is missed when it is gone."""

import os

import apsw
import pytest

from subcog_hooks import database, llm_state, metrics, session_state
from subcog_hooks.decision import Candidate, Decision, Understood
from subcog_hooks.errors import StoreBusy
from subcog_hooks.paths import Home
from subcog_hooks.state import LONG_WAL, MAX_DECISIONS, PRUNED, SCHEMA, TOPICS_MS, Earlier, State, delete_damaged

DAY = 86_400_000


@pytest.fixture
def state(home: Home) -> State:
    home.create()
    return State.open(home, 100)


def test_a_session_knows_what_it_was_given_and_others_do_not(state: State) -> None:
    state.begin()
    state.record("one", ("a", "b"), 1000, "d1")
    state.commit()
    assert state.injected("one") == {"a", "b"}
    assert state.injected("two") == set()


def test_sessions_of_long_ago_are_forgotten(state: State) -> None:
    for session, at in (("old", DAY), ("new", 32 * DAY)):
        state.begin()
        state.record(session, ("a",), at, "d1")
        state.commit()
    assert state.injected("old") == set()
    assert state.injected("new") == {"a"}


def test_a_second_hook_waits_for_the_first_one_of_its_session(state: State, home: Home) -> None:
    state.begin()
    with pytest.raises(StoreBusy):
        State.open(home, 1).begin()


def test_a_session_that_was_compacted_hears_everything_again(state: State) -> None:
    state.record("one", ("a",), 1000, "d1")
    state.record("two", ("a",), 1000, "d2")
    state.forget_ledger("one")
    assert (state.injected("one"), state.injected("two")) == (set(), {"a"})


def test_the_ledger_knows_with_which_decision_a_memory_was_given(state: State, home: Home) -> None:
    state.record("one", ("a", "b"), 1000, "d1")
    rows = apsw.Connection(home.state_db).execute("SELECT memory, decision FROM ledger ORDER BY memory").fetchall()
    assert rows == [("a", "d1"), ("b", "d1")]


def test_the_ledger_is_bounded(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subcog_hooks.state.MAX_LEDGER", 3)
    for number in range(5):
        state.record("one", (f"m{number}",), 1000 + number, "d")
    assert state.injected("one") == {"m2", "m3", "m4"}


def test_what_was_begun_can_be_left_undone(state: State) -> None:
    state.roll_back()  # where nothing was
    state.begin()
    state.record("one", ("a",), 1000, "d1")
    state.roll_back()
    assert state.injected("one") == set()
    state.begin()


# ---- decisions -------------------------------------------------------------------------------------------------------------


def made(id_: str, at: int, prompt: str | None = None, outcome: str = "spoke") -> Decision:
    """A decision with two candidates, of which one was injected."""
    candidates = [Candidate("a", "decisions", 0.9, 0.8, "injected"), Candidate("b", "config", 0.1, 0.1, "below")]
    return Decision(
        *(id_, at, "UserPromptSubmit", "s", "github.com/x/y", outcome),
        units=300,
        micros=31_000,
        prompt=prompt,
        intent=Understood("howto", 0.8, 0.8, ("webhook",) if prompt else ()),
        borrowed=("retry",) if prompt else (),
        candidates=candidates,
    )


def test_a_decision_is_found_by_its_id_or_what_it_begins_with(state: State) -> None:
    assert state.decision() is None
    for number, id_ in enumerate(("01aa", "01ab", "02aa", "01")):
        state.keep_decision(made(id_, 1000 + number), 1000)
    found = [state.decision(sought) for sought in (None, "01aa", "01a", "02", "01", "03", "%", "0_a")]
    assert [decision.id if decision else None for decision in found] == [
        *("01", "01aa", "01ab", "02aa", "01"),
        *(None, None, None),
    ]


def test_a_decision_comes_back_as_it_was_kept(state: State, home: Home) -> None:
    state.keep_decision(made("d1", 1000, "Why does the webhook retry?"), 1000)
    decision = State.open(home, 100).decision("d1")
    assert decision is not None
    assert decision.to_text() == made("d1", 1000, "Why does the webhook retry?").to_text()
    assert (decision.at, decision.event, decision.session, decision.project) == (
        1000,
        "UserPromptSubmit",
        "s",
        "github.com/x/y",
    )
    assert (decision.outcome, decision.units, decision.micros) == ("spoke", 300, 31_000)
    assert apsw.Connection(home.state_db).execute("SELECT injected FROM decisions").fetchall() == [(1,)]


def test_decisions_come_newest_first(state: State) -> None:
    for number in range(5):
        state.keep_decision(made(f"d{number}", 1000 + number // 2), 1000)
    assert [decision.id for decision in state.decisions(3)] == ["d4", "d3", "d2"]
    assert [decision.id for decision in state.decisions(10, since_ms=1001)] == ["d4", "d3", "d2"]


def test_a_clock_that_was_ahead_for_a_while_does_not_hide_what_came_later(state: State) -> None:
    for id_, at in (("before", 1000), ("ahead", 400 * DAY), ("after", 2000)):
        state.keep_decision(made(id_, at), at)
    assert [decision.id for decision in state.decisions(2)] == ["after", "ahead"]
    latest = state.decision()
    assert latest is not None
    assert latest.id == "after"


def test_decisions_of_long_ago_are_forgotten(state: State) -> None:
    state.keep_decision(made("old", DAY), DAY)
    state.keep_decision(made("new", 32 * DAY), 32 * DAY)
    assert [decision.id for decision in state.decisions(10)] == ["new"]


def test_of_too_many_decisions_the_oldest_go(state: State) -> None:
    state.begin()
    for number in range(MAX_DECISIONS):
        state.keep_decision(made(f"d{number}", 1000 + number), 1000)
    assert len(state.decisions(2 * MAX_DECISIONS)) == MAX_DECISIONS
    for number in range(MAX_DECISIONS, MAX_DECISIONS + 3):
        state.keep_decision(made(f"d{number}", 1000 + number), 1000)
    state.commit()
    kept = [decision.id for decision in state.decisions(2 * MAX_DECISIONS)]
    assert (len(kept), kept[0], kept[-1]) == (MAX_DECISIONS - PRUNED + 2, f"d{MAX_DECISIONS + 2}", f"d{PRUNED + 1}")


# ---- the topics of the last prompt -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("now_ms", "topics"), [(999, None), (1000, ("lamp", "Relais")), (1000 + TOPICS_MS + 1, None)])
def test_what_a_prompt_was_about_is_known_for_its_time(state: State, now_ms: int, topics: tuple[str, ...] | None) -> None:
    state.keep_topics("one", Earlier(("lamp", "Relais"), 0.7), 1000)
    earlier = state.last_topics("one", now_ms)
    assert (earlier.topics if earlier else None) == topics
    assert state.last_topics("two", now_ms) is None


def test_only_the_last_prompt_of_a_session_is_known_and_only_for_a_while(state: State, home: Home) -> None:
    state.keep_topics("one", Earlier(("lamp",), 0.7), 1000)
    state.keep_topics("one", Earlier(("tide",), 0.6), 2000)
    earlier = state.last_topics("one", 2000)
    assert earlier is not None
    assert (earlier.topics, earlier.confidence) == (("tide",), 0.6)
    state.keep_topics("two", Earlier(("pilot",), 0.6), 2001 + TOPICS_MS)
    assert apsw.Connection(home.state_db).execute("SELECT session FROM topics").fetchall() == [("two",)]


# ---- the texts of prompts ----------------------------------------------------------------------------------------------------


def test_what_prompts_said_can_be_forgotten_and_the_rest_stays(state: State, home: Home) -> None:
    assert not state.has_prompts()
    state.keep_decision(made("d1", 1000), 1000)
    assert not state.has_prompts()
    state.keep_decision(made("d2", 1001, "Why does the XYZZY retry?"), 1001)
    state.keep_topics("one", Earlier(("XYZZY",), 0.7), 1001)
    assert state.has_prompts()
    state.forget_prompts()
    assert not state.has_prompts()
    assert [decision.to_text() for decision in state.decisions(2)] == [made("d", 1).to_text()] * 2
    assert state.last_topics("one", 1001) is None
    for suffix in ("", "-wal"):
        with open(home.state_db + suffix, "rb") as file:
            assert b"XYZZY" not in file.read()


def test_the_hook_forgets_a_few_prompts_at_a_time(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subcog_hooks.state.FORGOTTEN", 2)
    for number in range(5):
        state.keep_decision(made(f"d{number}", 1000 + number, "Why does the XYZZY retry?"), 1000)
    state.keep_topics("one", Earlier(("XYZZY",), 0.7), 1001)
    llm_state.keep_answer(state, "key", '{"topics": ["XYZZY"]}', 1001, 9_000)
    left = []
    while state.has_prompts():
        state.forget_some_prompts()
        left.append(sum(decision.prompt is not None for decision in state.decisions(10)))
        assert state.last_topics("one", 1001) is None
        assert llm_state.answer(state, "key", 1002) is None
    assert left == [3, 1, 0]


def test_what_is_kept_again_is_forgotten_again(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subcog_hooks.state.FORGOTTEN", 1)
    for id_ in ("d1", "d2"):
        state.keep_decision(made(id_, 1000, "Why does the XYZZY retry?"), 1000)
    state.forget_some_prompts()
    state.keep_decision(made("d3", 1000, "Why does the XYZZY retry?"), 1000)
    for _ in range(4):
        state.forget_some_prompts()
    assert [decision.prompt for decision in state.decisions(10)] == [None] * 3
    assert not state.has_prompts()


def test_what_was_put_aside_can_be_deleted(home: Home) -> None:
    home.create()
    with open(f"{home.state_db}.damaged", "wb") as file:
        file.write(b"a prompt")
    delete_damaged(home)
    delete_damaged(home)
    assert not os.path.exists(f"{home.state_db}.damaged")


def test_a_pause_ends_by_itself_or_by_hand(state: State) -> None:
    assert not state.paused(0)
    state.pause(until_ms=1000)
    assert state.paused(999)
    assert not state.paused(1000)
    state.pause(until_ms=None)
    assert state.paused(10**15)
    assert state.resume(0)
    assert not state.resume(0)
    assert not state.paused(0)


def test_a_damaged_file_is_put_aside_and_made_anew(state: State, home: Home) -> None:
    state.pause(None)
    state.close()
    with open(home.state_db, "wb") as file:
        file.write(b"not a database at all, but long enough to be read as one" * 100)
    assert not State.open(home, 100).paused(0)
    assert os.path.exists(home.state_db + ".damaged")


def test_hooks_that_never_close_leave_a_short_log_behind(state: State, home: Home) -> None:
    kept = []
    for i in range(3 * LONG_WAL):
        state.begin()
        state.record(f"session {i}", ("a",), i, "d1")
        state.commit()
        kept.append(state)  # as a hook does, which ends by os._exit
        state = State.open(home, 100)
    assert os.path.getsize(home.state_db + "-wal") < 2 * LONG_WAL * 4200


def test_a_state_of_another_program_is_not_trusted(home: Home) -> None:
    home.create()
    other = apsw.Connection(home.state_db)
    other.execute("CREATE TABLE flags (x)")
    other.close()
    assert not State.open(home, 100).paused(0)


def test_a_state_of_the_first_version_keeps_what_it_has(home: Home) -> None:
    home.create()
    database.open_writer(home.state_db, database.Schema(SCHEMA.migrations[:1], "NORMAL"), 100).execute(
        "INSERT INTO ledger VALUES ('one', 'a', 1)"
    )
    state = State.open(home, 100)
    metrics.count(state, "asked")
    assert (state.injected("one"), len(metrics.read(state))) == ({"a"}, 1)


def test_a_state_of_the_third_version_keeps_what_it_has_and_knows_its_sessions(home: Home) -> None:
    home.create()
    older = database.open_writer(home.state_db, database.Schema(SCHEMA.migrations[:3], "NORMAL"), 100)
    older.execute("INSERT INTO ledger VALUES ('one', 'a', 1, 'd1')")
    row = "INSERT INTO decisions VALUES (NULL, ?, ?, ?, ?, 'github.com/x/y', 'spoke', 1, 300, 9, '{}')"
    for number, (event, session) in enumerate(
        [("UserPromptSubmit", "one"), ("UserPromptSubmit", "one"), ("UserPromptSubmit", ""), ("PreToolUse", "two")]
    ):
        older.execute(row, (f"d{number}", 1000 + number, event, session))
    older.close()
    state = State.open(home, 100)
    known = session_state.known(state, "one")
    assert known is not None
    assert (known.project, known.source, known.started_at, known.last_at, known.prompts) == (
        "github.com/x/y",
        "",
        1000,
        1001,
        2,
    )
    assert (state.injected("one"), len(state.decisions(10))) == ({"a"}, 4)
    assert [session_state.known(state, session) for session in ("", "two")] == [None, None]


def test_what_may_be_left_undone_does_not_wait_for_another_writer(home: Home) -> None:
    home.create()
    other = State.open(home, 100)
    other.begin()
    patient = State.open(home, 60_000)  # a wait of this length would be noticed
    with pytest.raises(StoreBusy):
        patient.begin_briefly()
    with pytest.raises(StoreBusy):
        patient.keep_compiled("config.toml", 1, 1, "{}")
    with pytest.raises(StoreBusy):
        llm_state.prolong_rest(patient, "one", 1000, 2000)
    assert patient._connection.pragma("busy_timeout") == 60_000
    other.commit()
    patient.begin_briefly()
