"""Handing over without a search: the ledger's word, what is recorded, and what becomes of failures."""

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import StoreBusy, StoreError
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import deliver as hook_deliver
from subcog_hooks.hook import record
from subcog_hooks.hook.call import Occasion
from subcog_hooks.hook.exact_offer import Terms, offer_exact
from subcog_hooks.recall.exact import Exact
from subcog_hooks.recall.hits import MENTION, PATH, PATTERN
from subcog_hooks.settings.loading import load
from subcog_hooks.store import decision_log, ledger, sessions
from subcog_hooks.store.decision import BELOW, COUNT, DUPLICATE, GIVEN, INJECTED, OUT_OF_TIME, REPEATED, ROOM, SPENT, SPOKE
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.state import State
from tests.hook.recorded import decisions, outcomes, shown

Opened = Callable[..., Occasion]
EVENT = "PreToolUse"


@pytest.fixture
def opened(home: Home) -> Opened:
    def occasion(session: str = "s", budget_ms: float = 5_000, busy_ms: float = 100) -> Occasion:
        home.create()
        return Occasion({}, session, None, load(home), State.open(home, busy_ms), home, Deadline(budget_ms))

    return occasion


def found(*ids: str, channel: str = PATH) -> Exact:
    return Exact({channel: [Memory(id=id_, content=f"Rule of {id_}.", seq=ord(id_[0])) for id_ in ids]}, "some were left out")


def terms(least: float = 0.5, most: int = 3, units: int = 2_000, *, again: bool = False) -> Terms:
    return Terms(least, most, units, again=again)


def deliver(occasion: Occasion, exact: Exact, on: Terms, write: Callable[[bytes], None]) -> tuple[str, ...]:
    """Offered, delivered and recorded as at a tool's call."""
    verdict = offer_exact(occasion, exact, on, "Edit")
    assert verdict.offer is not None
    found = hook_deliver.deliver(occasion, EVENT, verdict.offer, write)
    if found.outcome != REPEATED:
        record.keep(occasion, EVENT, verdict, found)
    return found.ids


def hand_over(occasion: Occasion, exact: Exact, on: Terms) -> list[str]:
    """The ids that are printed, which are those that are said to be."""
    printed: list[bytes] = []
    ids = deliver(occasion, exact, on, printed.append)
    assert [*ids] == shown(printed)
    return [*ids]


def test_what_passes_is_printed_kept_in_the_ledger_and_recorded(opened: Opened, home: Home) -> None:
    occasion = opened()
    assert hand_over(occasion, found("anchor", "buoy"), terms()) == ["anchor", "buoy"]
    assert ledger.given_to(occasion.state, "s") == {"anchor", "buoy"}
    (decision,) = decisions(home)
    assert (decision.outcome, decision.reason, decision.event, decision.session) == (SPOKE, "Edit", EVENT, "s")
    assert (decision.strategies, decision.note, decision.prompt) == ((PATH,), "some were left out", None)
    assert decision.bars is not None
    assert (decision.bars.min_relevance, decision.bars.max_memories, decision.bars.max_characters) == (0.5, 3, 2_000)
    assert ledger.decision_of(occasion.state, "s", "buoy") == decision.id
    assert decision.units > 100


def test_each_candidate_is_told_what_it_lacked(opened: Opened, home: Home) -> None:
    occasion = opened()
    ledger.record_given(occasion.state, "s", ("given",), 1, "d")
    exact = found("given", "anchor", "buoy", "crane")
    exact.channels[MENTION] = (Memory(id="named", content="x", seq=1),)
    assert hand_over(occasion, exact, terms(0.7, most=2)) == ["anchor", "buoy"]
    assert outcomes(decisions(home)[0]) == {
        "given": GIVEN,
        "anchor": INJECTED,
        "buoy": INJECTED,
        "crane": COUNT,
        "named": BELOW,
    }


def test_what_repeats_a_better_one_or_does_not_fit_stays_behind(opened: Opened, home: Home) -> None:
    exact = found("anchor", "buoy")
    exact.channels[PATH] = (*exact.channels[PATH], Memory(id="again", content="Rule of anchor!", seq=7))
    assert hand_over(opened(), exact, terms(units=150)) == ["anchor"]
    assert outcomes(decisions(home)[0]) == {"anchor": INJECTED, "buoy": ROOM, "again": DUPLICATE}


def test_a_session_is_given_no_more_than_its_characters_until_it_is_compacted(opened: Opened, home: Home) -> None:
    home.create()
    Path(home.config).write_text("[surfacing]\nsession_characters = 500\n", encoding="utf-8")
    assert hand_over(opened(), found("anchor"), terms()) == ["anchor"]
    first = sessions.units_given(opened().state, "s")
    assert first == decisions(home)[0].units > 100
    assert hand_over(opened(), found("buoy", "crane"), terms()) == ["buoy", "crane"]
    spent = sessions.units_given(opened().state, "s")
    assert spent == first + decisions(home)[0].units > 300
    assert hand_over(opened(), found("derrick"), terms()) == []
    assert (decisions(home)[0].outcome, outcomes(decisions(home)[0])) == (SPENT, {"derrick": SPENT})
    assert hand_over(opened("another"), found("derrick"), terms()) == ["derrick"]
    sessions.forget_units(opened().state, "s")
    assert hand_over(opened(), found("derrick"), terms()) == ["derrick"]


def test_a_hook_beside_it_does_not_spend_the_account_twice(opened: Opened, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.create()
    Path(home.config).write_text("[surfacing]\nsession_characters = 500\n", encoding="utf-8")
    lock = hook_deliver._lock

    def after_another(occasion: Occasion) -> bool:
        other = opened().state
        sessions.add_units(other, "s", "", 400, 1)
        other.close()
        return lock(occasion)

    monkeypatch.setattr(hook_deliver, "_lock", after_another)
    assert hand_over(opened(), found("anchor"), terms()) == []
    assert decisions(home)[0].outcome == SPENT
    assert sessions.units_given(opened().state, "s") == 400


def test_a_preview_has_the_room_of_a_session(opened: Opened, home: Home) -> None:
    home.create()
    Path(home.config).write_text("[surfacing]\nsession_characters = 500\n", encoding="utf-8")
    exact = Exact({PATH: [Memory(id=f"m{n}", content=f"Rule {n} " + "of the quay " * 30, seq=n + 1) for n in range(3)]})
    verdict = offer_exact(opened(""), exact, terms(), "Edit")
    assert verdict.offer is not None
    would_be = hook_deliver.preview(opened(""), verdict.offer)
    assert 0 < would_be.units <= 500
    printed: list[bytes] = []
    assert hook_deliver.deliver(opened("t"), EVENT, verdict.offer, printed.append).ids == would_be.ids


def test_where_all_was_given_before_nothing_is_printed_or_recorded(opened: Opened, home: Home) -> None:
    assert hand_over(opened(), found("anchor"), terms()) == ["anchor"]
    assert hand_over(opened(), found("anchor"), terms()) == []
    assert hand_over(opened(), found("anchor"), terms(again=True)) == ["anchor"]
    assert [decision.outcome for decision in decisions(home)] == [SPOKE, SPOKE]


def test_a_pinned_memory_needs_no_relevance_and_comes_first(opened: Opened) -> None:
    pinned = Memory(id="pinned", content="x", seq=1, priority=90)
    exact = Exact({PATH: found("anchor").channels[PATH], PATTERN: [pinned]})
    assert hand_over(opened(), exact, terms(0.85)) == ["pinned", "anchor"]
    assert hand_over(opened("2"), exact, terms(0.95)) == ["pinned"]


def test_without_a_session_there_is_no_ledger_to_wait_for(opened: Opened, home: Home) -> None:
    home.create()
    other = State.open(home, 100)
    other.begin()
    occasion = opened("")
    assert hand_over(occasion, found("anchor"), terms()) == ["anchor"]
    other.commit()
    assert decisions(home) == []
    assert hand_over(occasion, found("anchor"), terms()) == ["anchor"]
    assert [decision.outcome for decision in decisions(home)] == [SPOKE]


def test_a_ledger_that_can_not_be_locked_costs_its_entry_alone(opened: Opened, home: Home) -> None:
    occasion = opened(budget_ms=30)
    other = State.open(home, 100)
    other.begin()
    assert hand_over(occasion, found("anchor"), terms()) == ["anchor"]
    other.commit()
    assert ledger.given_to(occasion.state, "s") == set()
    assert "handed over without the ledger: " in Path(home.log, "hook.log").read_text()


def test_where_no_time_is_left_nothing_is_printed_and_it_is_told(opened: Opened, home: Home) -> None:
    occasion = opened(budget_ms=1)
    assert deliver(occasion, found("anchor"), terms(), lambda _: pytest.fail("spoke")) == ()
    assert [(decision.outcome, decision.injected) for decision in decisions(home)] == [(OUT_OF_TIME, ())]
    assert ledger.given_to(occasion.state, "s") == set()


@pytest.mark.parametrize("error", [TimeoutError("the deadline has passed"), BrokenPipeError()])
def test_an_answer_that_nobody_took_was_not_given(opened: Opened, error: OSError) -> None:
    def refuse(_: bytes) -> NoReturn:
        raise error

    occasion = opened()
    with pytest.raises(type(error)):
        deliver(occasion, found("anchor"), terms(), refuse)
    assert hand_over(occasion, found("anchor"), terms()) == ["anchor"]  # nothing is left open


def test_a_ledger_that_can_not_be_kept_is_a_line_in_the_log(
    opened: Opened, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> NoReturn:
        raise StoreError("the disk is full")

    monkeypatch.setattr(ledger, "record_given", fail)
    occasion = opened()
    assert hand_over(occasion, found("anchor"), terms()) == ["anchor"]
    assert "the ledger was not kept: the disk is full" in Path(home.log, "hook.log").read_text()
    monkeypatch.undo()
    assert hand_over(occasion, found("anchor"), terms()) == ["anchor"]


def test_a_failed_record_loses_neither_answer_nor_ledger(opened: Opened, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> NoReturn:
        raise StoreError("the disk is full")

    monkeypatch.setattr(decision_log, "keep", fail)
    occasion = opened()
    assert hand_over(occasion, found("anchor"), terms()) == ["anchor"]
    assert ledger.given_to(occasion.state, "s") == {"anchor"}
    assert "a decision was not recorded: the disk is full" in Path(home.log, "hook.log").read_text()


def test_the_answer_is_written_before_the_ledger_is_kept(opened: Opened, home: Home) -> None:
    home.create()
    other = State.open(home, 100)

    def write(_: bytes) -> None:
        assert ledger.given_to(other, "s") == set()
        with pytest.raises(StoreBusy):
            other.begin()

    assert deliver(opened(), found("anchor"), terms(), write) == ("anchor",)
    assert ledger.given_to(other, "s") == {"anchor"}


def test_what_no_relevance_suffices_for_is_told_as_such(opened: Opened, home: Home) -> None:
    assert hand_over(opened(), found("anchor"), terms(0.95)) == []
    (decision,) = decisions(home)
    assert (decision.outcome, outcomes(decision)) == (BELOW, {"anchor": BELOW})
    assert decision.outcome != REPEATED
