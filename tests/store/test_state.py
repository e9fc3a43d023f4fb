"""state.db: ledger, verdicts, pause and counters, and that nothing in it is missed when it is gone."""

import os
from typing import Any

import apsw
import pytest

from subcog_hooks.core.errors import StoreBusy
from subcog_hooks.core.paths import Home
from subcog_hooks.llm import ask
from subcog_hooks.store import past_runs, sessions, verdicts
from subcog_hooks.store.past_runs import Counter, Histogram, read_verdict
from subcog_hooks.store.sessions import TOPICS_MS, LastPrompt
from subcog_hooks.store.state import BUCKETS, LONG_WAL, MADE_ANEW, MAX_STEP_MS, CompiledSettings, State, is_paused
from subcog_hooks.store.verdicts import (
    BELOW,
    DUPLICATE,
    GATE,
    GIVEN,
    INJECTED,
    MAX_VERDICTS,
    PRUNED_AT_ONCE,
    RECALL,
    SPOKE,
    START,
    Candidate,
    PromptIntent,
    RecordedVerdict,
    Thresholds,
)

DAY = 86_400_000


@pytest.mark.parametrize("jump", [1_000 * DAY, -1_000 * DAY])
def test_ledger_survives_a_clock_that_jumps_and_returns(state: State, jump: int) -> None:
    now = 20_000 * DAY
    for time_ms, memory in ((now, "before"), (now + jump, "meanwhile"), (now + 1, "after")):
        sessions.record_given(state, "one", (memory,), time_ms, "d1")
    assert sessions.find_given(state, "one") == {"before", "meanwhile", "after"}
    assert state.run("SELECT memory FROM ledger ORDER BY at DESC LIMIT 1") == [("after",)]


def test_oldest_entries_go_after_a_clock_that_was_ahead(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MAX_ENTRIES", 4)
    for number, time_ms in enumerate((1_000, 2_000, 9_000_000, 9_000_001, 3_000, 4_000)):
        sessions.record_given(state, f"s{number}", ("a",), time_ms, "d1")
    assert [number for number in range(6) if sessions.find_given(state, f"s{number}")] == [2, 3, 4, 5]


@pytest.mark.parametrize(("now_ms", "topics"), [(999, None), (1000, ("lamp", "Relais")), (1000 + TOPICS_MS + 1, None)])
def test_topics_of_a_prompt_are_kept_for_a_while(state: State, now_ms: int, topics: tuple[str, ...] | None) -> None:
    sessions.keep_last_prompt(state, "one", LastPrompt(("lamp", "Relais"), 0.7), 1000)
    earlier = sessions.find_last_prompt(state, "one", now_ms)
    assert (earlier.topics if earlier else None) == topics
    assert sessions.find_last_prompt(state, "two", now_ms) is None


def test_only_the_last_prompt_is_kept_and_for_a_while(state: State, home: Home) -> None:
    sessions.keep_last_prompt(state, "one", LastPrompt(("lamp",), 0.7), 1000)
    sessions.keep_last_prompt(state, "one", LastPrompt(("tide",), 0.6), 2000)
    earlier = sessions.find_last_prompt(state, "one", 2000)
    assert earlier is not None
    assert (earlier.topics, earlier.confidence) == (("tide",), 0.6)
    sessions.keep_last_prompt(state, "two", LastPrompt(("pilot",), 0.6), 2001 + TOPICS_MS)
    assert apsw.Connection(home.state_db).execute("SELECT session FROM topics").fetchall() == [("two",)]


def test_texts_of_prompts_are_deleted_and_the_rest_stays(state: State, home: Home) -> None:
    assert not verdicts.may_hold_prompt_texts(state)
    verdicts.keep_verdict(state, make_verdict("d1", 1000), 1000)
    assert not verdicts.may_hold_prompt_texts(state)
    verdicts.keep_verdict(state, make_verdict("d2", 1001, "Why does the XYZZY retry?"), 1001)
    sessions.keep_last_prompt(state, "one", LastPrompt(("XYZZY",), 0.7), 1001)
    assert verdicts.may_hold_prompt_texts(state)
    past_runs.forget_prompt_texts(state)
    assert not verdicts.may_hold_prompt_texts(state)
    assert [verdict.to_text() for verdict in past_runs.find_latest(state, 2)] == [make_verdict("d", 1).to_text()] * 2
    assert sessions.find_last_prompt(state, "one", 1001) is None
    for suffix in ("", "-wal"):
        with open(home.state_db + suffix, "rb") as file:
            assert b"XYZZY" not in file.read()


def test_the_hook_forgets_a_few_prompts_at_a_time(state: State) -> None:
    for number in range(5):
        verdicts.keep_verdict(state, make_verdict(f"d{number}", 1000 + number, "Why does the XYZZY retry?"), 1000)
    sessions.keep_last_prompt(state, "one", LastPrompt(("XYZZY",), 0.7), 1001)
    ask.cache_answer(state, "key", '{"topics": ["XYZZY"]}', 1001, 9_000)
    left = []
    while verdicts.may_hold_prompt_texts(state):
        verdicts.forget_texts(state, 2)
        left.append(sum(verdict.prompt is not None for verdict in past_runs.find_latest(state, 10)))
        assert sessions.find_last_prompt(state, "one", 1001) is None
        assert ask.find_cached_answer(state, "key", 1002) is None
    assert left == [3, 1, 0]


def test_new_texts_are_deleted_again(state: State) -> None:
    for id_ in ("d1", "d2"):
        verdicts.keep_verdict(state, make_verdict(id_, 1000, "Why does the XYZZY retry?"), 1000)
    verdicts.forget_texts(state, 1)
    verdicts.keep_verdict(state, make_verdict("d3", 1000, "Why does the XYZZY retry?"), 1000)
    for _ in range(4):
        verdicts.forget_texts(state, 1)
    assert [verdict.prompt for verdict in past_runs.find_latest(state, 10)] == [None] * 3
    assert not verdicts.may_hold_prompt_texts(state)


def test_a_pause_ends_by_itself_or_by_hand(state: State) -> None:
    assert not is_paused(state, 0)
    state.run("INSERT INTO pause VALUES (0, 1000)")
    assert is_paused(state, 999)
    assert not is_paused(state, 1000)
    state.run("UPDATE pause SET until = NULL")
    assert is_paused(state, 10**15)
    assert is_paused(state, -(10**15))
    state.run("DELETE FROM pause")
    assert not is_paused(state, 0)


def test_a_pause_ends_when_a_clock_that_was_ahead_is_put_back(state: State) -> None:
    state.run("INSERT INTO pause VALUES (?, ?)", (10**12, 10**12 + 1_000))
    assert is_paused(state, 10**12 - MAX_STEP_MS)
    assert not is_paused(state, 10**12 - MAX_STEP_MS - 1)
    assert is_paused(state, 10**12)


def test_hooks_that_never_close_leave_a_short_log_behind(state: State, home: Home) -> None:
    kept = []
    for i in range(3 * LONG_WAL):
        state.begin()
        sessions.record_given(state, f"session {i}", ("a",), i, "d1")
        state.commit()
        kept.append(state)  # a hook never closes it, because it ends by os._exit
        state = State.open(home, 100)
    assert os.path.getsize(home.state_db + "-wal") < 2 * LONG_WAL * 4200


def test_a_state_from_before_0_1_0_is_made_anew(home: Home, state: State) -> None:
    sessions.record_given(state, "one", ("a",), 1, "d1")
    state.run("PRAGMA user_version = 10")
    state.close()
    messages: list[str] = []
    assert sessions.find_given(State.open(home, 100, messages.append), "one") == set()
    assert messages == [f"{home.state_db} is of a version before 0.1.0; {MADE_ANEW}"]


def test_optional_writes_do_not_wait_for_another_writer(home: Home) -> None:
    home.create()
    other = State.open(home, 100)
    other.run("INSERT INTO llm_rests VALUES ('one', 1000)")
    other.begin()
    patient = State.open(home, 60_000)  # a wait of this length would be noticed
    with pytest.raises(StoreBusy):
        patient.begin_briefly()
    with pytest.raises(StoreBusy):
        CompiledSettings(patient).keep_compiled("config.toml", 1, 1, "{}")
    with pytest.raises(StoreBusy):
        ask.may_call(patient, "one", 2000)
    assert patient._connection.pragma("busy_timeout") == 60_000
    other.commit()
    patient.begin_briefly()


def test_a_counter_adds_up_by_its_labels(state: State) -> None:
    state.increase_counter("asked")
    state.increase_counter("asked", by=2)
    state.increase_counter("answered", 'status="success"')
    state.increase_counter("answered", 'status="error"')
    state.increase_counter("answered", 'status="success"')
    counted = [
        (metric.name, metric.labels, metric.value) for metric in past_runs.read_metrics(state) if isinstance(metric, Counter)
    ]
    assert counted == [("answered", 'status="error"', 1), ("answered", 'status="success"', 2), ("asked", "", 3)]


def test_a_histogram_tells_how_many_took_at_most_so_long(state: State) -> None:
    for seconds in (0.0, 0.0005, 0.0006, 0.2, 0.21, 99.0):
        state.observe_duration("took", 'source="keyword"', seconds)
    (took,) = past_runs.read_metrics(state)
    assert isinstance(took, Histogram)
    assert (took.name, took.labels, took.count) == ("took", 'source="keyword"', 6)
    assert took.sum == pytest.approx(99.4111)
    at_most = dict(took.buckets)
    assert tuple(at_most) == (*BUCKETS, float("inf"))
    assert [at_most[bound] for bound in (0.0005, 0.001, 0.1, 0.2, 0.5, 5.0, float("inf"))] == [2, 3, 3, 4, 5, 5, 6]


COLUMNS: dict[str, Any] = {
    "id": "01k0a",
    "at_ms": 1_000,
    "event": "UserPromptSubmit",
    "session": "s",
    "project": "github.com/x/y",
    "outcome": SPOKE,
    "units": 312,
    "micros": 31_250,
}


def whole() -> RecordedVerdict:
    return RecordedVerdict(
        **COLUMNS,
        reason="as it was asked for",
        prompt='Warum "PKCE", und nicht implicit?\n…',
        intent=PromptIntent(
            "explanation",
            0.82,
            0.9,
            ("PKCE", "implicit"),
            source="hybrid",
            llm_status="success",
            llm_ms=12.5,
            row="the LLM answered, topics differ",
            signals=[("why", "explanation", 1.75)],
            cues=["question"],
        ),
        settings=Thresholds(0.25, 0.5, 6, 2_000, 0.25),
        stages=[(START, 11.2), (RECALL, 7.0), (GATE, 0.3)],
        strategies=("lexical", "semantic"),
        note="semantic: out of time",
        borrowed=("OAuth2",),
        candidates=[
            Candidate("a", "decisions", 0.91, 0.83, INJECTED, {"exact": 1}, {"exact": 7.25}, [("coverage", 0.8, 1.9)]),
            Candidate("b", "patterns", 0.6, 0.6, GIVEN),
            Candidate("c", "patterns", 0.5, 0.5, INJECTED),
            Candidate("d", "patterns", 0.4, 0.4, DUPLICATE),
            Candidate("e", "context", 0.1, 0.1, BELOW),
        ],
    )


def values(thing: object) -> object:
    if isinstance(thing, list | tuple):
        return [values(item) for item in thing]
    names = getattr(type(thing), "__annotations__", None)
    return {name: values(getattr(thing, name)) for name in names} if names else thing


def read_back(text: str) -> RecordedVerdict:
    return read_verdict(text, **COLUMNS)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '{"v":9,"later":[1]}', '{"stages":[["start",1e999]]}'])
def test_damaged_or_foreign_record_leaves_the_columns(text: str) -> None:
    verdict = read_back(text)
    assert (verdict.id, verdict.outcome, verdict.units) == ("01k0a", SPOKE, 312)
    assert (verdict.prompt, verdict.intent, verdict.settings, verdict.candidates) == (None, None, None, ())


def make_verdict(id_: str, at_ms: int, prompt: str | None = None, outcome: str = "spoke") -> RecordedVerdict:
    """A verdict with two candidates; the first was injected."""
    candidates = [Candidate("a", "decisions", 0.9, 0.8, "injected"), Candidate("b", "config", 0.1, 0.1, "below")]
    return RecordedVerdict(
        *(id_, at_ms, "UserPromptSubmit", "s", "github.com/x/y", outcome),
        units=300,
        micros=31_000,
        prompt=prompt,
        intent=PromptIntent("howto", 0.8, 0.8, ("webhook",) if prompt else ()),
        borrowed=("retry",) if prompt else (),
        candidates=candidates,
    )


def test_verdict_is_found_by_its_id_or_prefix(state: State) -> None:
    assert past_runs.find_verdict(state) is None
    for number, id_ in enumerate(("01aa", "01ab", "02aa", "01")):
        verdicts.keep_verdict(state, make_verdict(id_, 1000 + number), 1000)
    past_verdicts = [past_runs.find_verdict(state, prefix) for prefix in (None, "01aa", "01a", "02", "01", "03", "%", "0_a")]
    assert [verdict.id if verdict else None for verdict in past_verdicts] == [
        *("01", "01aa", "01ab", "02aa", "01"),
        *(None, None, None),
    ]


def test_a_verdict_comes_back_as_it_was_kept(state: State, home: Home) -> None:
    verdicts.keep_verdict(state, make_verdict("d1", 1000, "Why does the webhook retry?"), 1000)
    verdict = past_runs.find_verdict(State.open(home, 100), "d1")
    assert verdict is not None
    assert verdict.to_text() == make_verdict("d1", 1000, "Why does the webhook retry?").to_text()
    assert (verdict.at_ms, verdict.event, verdict.session, verdict.project) == (1000, "UserPromptSubmit", "s", "github.com/x/y")
    assert (verdict.outcome, verdict.units, verdict.micros) == ("spoke", 300, 31_000)
    assert apsw.Connection(home.state_db).execute("SELECT injected FROM verdicts").fetchall() == [(1,)]


def test_clock_that_was_ahead_does_not_hide_later_verdicts(state: State) -> None:
    for id_, time_ms in (("before", 1000), ("ahead", 400 * DAY), ("after", 2000)):
        verdicts.keep_verdict(state, make_verdict(id_, time_ms), time_ms)
    assert [verdict.id for verdict in past_runs.find_latest(state, 2)] == ["after", "ahead"]
    latest = past_runs.find_verdict(state)
    assert latest is not None
    assert latest.id == "after"


def test_verdict_behind_a_lesson_stays_until_too_old(state: State) -> None:
    state.run("INSERT INTO lessons VALUES ('d2')")
    state.begin()
    for number in range(MAX_VERDICTS + 2 * PRUNED_AT_ONCE + 1):
        verdicts.keep_verdict(state, make_verdict(f"d{number}", 1000 + number), 1000)
    state.commit()
    kept = [verdict.id for verdict in past_runs.find_latest(state, 2 * MAX_VERDICTS)]
    assert kept[-2:] == [f"d{3 * PRUNED_AT_ONCE + 1}", "d2"]
    verdicts.keep_verdict(state, make_verdict("new", 32 * DAY), 32 * DAY)
    assert [verdict.id for verdict in past_runs.find_latest(state, 10)] == ["new"]


def test_written_verdict_is_read_back() -> None:
    verdict = whole()
    assert values(read_back(verdict.to_text())) == values(verdict)
