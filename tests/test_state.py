"""state.db: ledger, pause, metrics, an LLM's answers and failures, and that nothing in it is missed when it is gone."""

import os

import apsw
import pytest

from subcog_hooks import database
from subcog_hooks.errors import StoreBusy
from subcog_hooks.paths import Home
from subcog_hooks.state import BUCKETS, LONG_WAL, MAX_ANSWERS, SCHEMA, Counter, Histogram, State

DAY = 86_400_000


@pytest.fixture
def state(home: Home) -> State:
    home.create()
    return State.open(home, 100)


def test_a_session_knows_what_it_was_given_and_others_do_not(state: State) -> None:
    state.begin()
    state.record("one", ("a", "b"), 1000)
    state.commit()
    assert state.injected("one") == {"a", "b"}
    assert state.injected("two") == set()


def test_sessions_of_long_ago_are_forgotten(state: State) -> None:
    for session, at in (("old", DAY), ("new", 32 * DAY)):
        state.begin()
        state.record(session, ("a",), at)
        state.commit()
    assert state.injected("old") == set()
    assert state.injected("new") == {"a"}


def test_a_second_hook_waits_for_the_first_one_of_its_session(state: State, home: Home) -> None:
    state.begin()
    with pytest.raises(StoreBusy):
        State.open(home, 1).begin()


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
        state.record(f"session {i}", ("a",), i)
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


def test_a_counter_adds_up_by_its_labels(state: State) -> None:
    state.count("asked")
    state.count("asked", by=2)
    state.count("answered", 'status="success"')
    state.count("answered", 'status="error"')
    state.count("answered", 'status="success"')
    counted = [(metric.name, metric.labels, metric.value) for metric in state.metrics() if isinstance(metric, Counter)]
    assert counted == [("answered", 'status="error"', 1), ("answered", 'status="success"', 2), ("asked", "", 3)]


def test_a_histogram_tells_how_many_took_at_most_so_long(state: State) -> None:
    for seconds in (0.0, 0.0005, 0.0006, 0.2, 0.21, 99.0):
        state.observe("took", 'source="keyword"', seconds)
    (took,) = state.metrics()
    assert isinstance(took, Histogram)
    assert (took.name, took.labels, took.count) == ("took", 'source="keyword"', 6)
    assert took.sum == pytest.approx(99.4111)
    at_most = dict(took.buckets)
    assert tuple(at_most) == (*BUCKETS, float("inf"))
    assert [at_most[bound] for bound in (0.0005, 0.001, 0.1, 0.2, 0.5, 5.0, float("inf"))] == [2, 3, 3, 4, 5, 5, 6]


def test_metrics_come_sorted_whatever_they_are(state: State) -> None:
    state.observe("b", "", 1.0)
    state.count("c")
    state.count("a")
    assert [metric.name for metric in state.metrics()] == ["a", "b", "c"]


def test_metrics_belong_to_the_transaction_that_counts_them(state: State, home: Home) -> None:
    state.begin()
    state.count("asked")
    state.observe("took", "", 0.1)
    assert State.open(home, 100).metrics() == []
    state.commit()
    assert [metric.name for metric in State.open(home, 100).metrics()] == ["asked", "took"]


@pytest.mark.parametrize(("now_ms", "answer"), [(999, None), (1000, "{}"), (1499, "{}"), (1500, None)])
def test_an_answer_is_kept_for_its_time_and_not_believed_by_a_clock_set_back(
    state: State, now_ms: int, answer: str | None
) -> None:
    state.keep_llm_answer("key", "{}", 1000, 500)
    assert state.llm_answer("key", now_ms) == answer
    assert state.llm_answer("other", now_ms) is None


def test_an_answer_with_no_time_is_not_kept(state: State) -> None:
    state.keep_llm_answer("key", "{}", 1000, 0)
    assert state.llm_answer("key", 1000) is None


def test_a_newer_answer_takes_the_place_of_an_older_one(state: State) -> None:
    state.keep_llm_answer("key", "old", 1000, 500)
    state.keep_llm_answer("key", "new", 1400, 500)
    assert state.llm_answer("key", 1600) == "new"


def test_of_too_many_answers_the_oldest_go(state: State) -> None:
    state.begin()
    for number in range(MAX_ANSWERS + 3):
        state.keep_llm_answer(f"key {number}", "{}", 1000 + number, DAY)
    state.commit()
    kept = [number for number in range(MAX_ANSWERS + 3) if state.llm_answer(f"key {number}", 3000)]
    assert kept == list(range(3, MAX_ANSWERS + 3))


def test_answers_whose_time_is_over_leave_the_file(state: State, home: Home) -> None:
    state.keep_llm_answer("old", "{}", 1000, 500)
    state.keep_llm_answer("new", "{}", 2000, 500)
    assert apsw.Connection(home.state_db).execute("SELECT key FROM llm_answers").fetchall() == [("new",)]


def test_a_provider_has_failures_of_its_own(state: State) -> None:
    for at_ms in (100, 200, 200, 300):
        state.note_llm_failure("one", at_ms)
    state.note_llm_failure("two", 200)
    assert state.llm_failures("one", 200, 250) == 2
    assert state.llm_failures("one", 0, 1000) == 3  # the first is forgotten
    assert state.llm_failures("two", 0, 1000) == 1
    state.trust_llm("one")
    assert (state.llm_failures("one", 0, 1000), state.llm_failures("two", 0, 1000)) == (0, 1)


def test_of_two_processes_one_prolongs_a_rest(state: State, home: Home) -> None:
    assert state.llm_rest("one") is None
    assert not state.prolong_llm_rest("one", 1000, 2000)
    state.let_llm_rest("one", 1000)
    other = State.open(home, 100)
    seen, seen_by_other = state.llm_rest("one"), other.llm_rest("one")
    assert seen is not None
    assert seen == seen_by_other == 1000
    assert [each.prolong_llm_rest("one", seen, 2000) for each in (state, other)] == [True, False]
    assert other.llm_rest("one") == 2000
    state.trust_llm("one")
    assert other.llm_rest("one") is None


def test_a_state_of_the_first_version_keeps_what_it_has(home: Home) -> None:
    home.create()
    database.open_writer(home.state_db, database.Schema(SCHEMA.migrations[:1], "NORMAL"), 100).execute(
        "INSERT INTO ledger VALUES ('one', 'a', 1)"
    )
    state = State.open(home, 100)
    state.count("asked")
    assert (state.injected("one"), len(state.metrics())) == ({"a"}, 1)


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
        patient.prolong_llm_rest("one", 1000, 2000)
    assert patient._connection.pragma("busy_timeout") == 60_000
    other.commit()
    patient.begin_briefly()
