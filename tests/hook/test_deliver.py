"""Delivery without a search: the ledger, the record, and failures."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import StoreBusy, StoreError
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import deliver as hook_deliver
from subcog_hooks.hook import record
from subcog_hooks.hook import session as starts
from subcog_hooks.hook.call import HookCall
from subcog_hooks.hook.choose import Verdict, offer_exact
from subcog_hooks.recall.exact import ExactMatches
from subcog_hooks.recall.hits import ACTION, PATH
from subcog_hooks.settings.loading import load
from subcog_hooks.store import sessions, verdicts
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.state import State
from subcog_hooks.store.verdicts import BELOW, COUNT, DUPLICATE, GIVEN, INJECTED, REPEATED, ROOM, SPENT, SPOKE
from tests.hook.recorded import log_of, outcomes, past_verdicts, printed_ids

Opened = Callable[..., HookCall]
EVENT = "PreToolUse"
MARCH_2 = 1_772_409_600_000


@pytest.fixture
def make_call(home: Home) -> Opened:
    def call(session: str = "s", budget_ms: float = 5_000, busy_ms: float = 100) -> HookCall:
        home.create()
        return HookCall({}, session, None, load(home), State.open(home, busy_ms), home, Deadline(budget_ms))

    return call


def exact_of(*ids: str, channel: str = PATH) -> ExactMatches:
    return ExactMatches(
        {channel: [Memory(id=id_, content=f"Rule of {id_}.", seq=ord(id_[0]), created_at=MARCH_2) for id_ in ids]},
        "some were left out",
    )


Terms = tuple[float, int, int, bool]


def terms(min_relevance: float = 0.5, max_memories: int = 3, max_units: int = 2_000, *, repeats_given: bool = False) -> Terms:
    return min_relevance, max_memories, max_units, repeats_given


def offer(call: HookCall, exact: ExactMatches, on: Terms) -> Verdict:
    return offer_exact(call, exact, "Edit", *on[:3], repeats_given=on[3])


def deliver(call: HookCall, exact: ExactMatches, on: Terms, write: Callable[[bytes], None]) -> tuple[str, ...]:
    """Offer, deliver and record as at a tool call."""
    verdict = offer(call, exact, on)
    hook_deliver.deliver(call, EVENT, verdict, write)
    if verdict.outcome != REPEATED:
        record.record_call(call, EVENT, verdict)
    return verdict.ids


def hand_over(call: HookCall, exact: ExactMatches, on: Terms) -> list[str]:
    """Deliver, and return the printed ids; the verdict has the same ids."""
    printed: list[bytes] = []
    ids = deliver(call, exact, on, printed.append)
    assert [*ids] == printed_ids(printed)
    return [*ids]


def test_what_passes_is_printed_kept_in_the_ledger_and_recorded(make_call: Opened, home: Home) -> None:
    call = make_call()
    assert hand_over(call, exact_of("anchor", "buoy"), terms()) == ["anchor", "buoy"]
    assert sessions.find_given(call.state, "s") == {"anchor", "buoy"}
    (verdict,) = past_verdicts(home)
    assert (verdict.outcome, verdict.reason, verdict.event, verdict.session) == (SPOKE, "Edit", EVENT, "s")
    assert (verdict.strategies, verdict.note, verdict.prompt) == ((PATH,), "some were left out", None)
    assert verdict.settings is not None
    assert (verdict.settings.min_relevance, verdict.settings.max_memories, verdict.settings.max_characters) == (0.5, 3, 2_000)
    assert call.state.run("SELECT session, verdict FROM ledger WHERE memory = 'buoy'") == [("s", verdict.id)]
    assert verdict.units > 100


def test_each_candidate_is_told_what_it_lacked(make_call: Opened, home: Home) -> None:
    call = make_call()
    sessions.record_given(call.state, "s", ("given",), 1, "d")
    exact = exact_of("given", "anchor", "buoy", "crane")
    exact.channels[ACTION] = (Memory(id="named", content="x", seq=1),)
    assert hand_over(call, exact, terms(0.7, max_memories=2)) == ["anchor", "buoy"]
    passed = {"anchor": INJECTED, "buoy": INJECTED}
    assert outcomes(past_verdicts(home)[0]) == {"given": GIVEN, **passed, "crane": COUNT, "named": BELOW}


def test_what_repeats_a_better_one_or_does_not_fit_stays_behind(make_call: Opened, home: Home) -> None:
    exact = exact_of("anchor", "buoy")
    exact.channels[PATH] = (*exact.channels[PATH], Memory(id="again", content="Rule of anchor!", seq=7))
    assert hand_over(make_call(), exact, terms(max_units=150)) == ["anchor"]
    assert outcomes(past_verdicts(home)[0]) == {"anchor": INJECTED, "buoy": ROOM, "again": DUPLICATE}


def test_a_session_gets_its_characters_until_it_is_compacted(make_call: Opened, home: Home) -> None:
    home.create()
    Path(home.config).write_text("[surfacing]\nsession_characters = 500\n", encoding="utf-8")
    assert hand_over(make_call(), exact_of("anchor"), terms()) == ["anchor"]
    first = sessions.count_units(make_call().state, "s")
    assert first == past_verdicts(home)[0].units > 100
    assert hand_over(make_call(), exact_of("buoy", "crane"), terms()) == ["buoy", "crane"]
    spent = sessions.count_units(make_call().state, "s")
    assert spent == first + past_verdicts(home)[0].units > 300
    assert hand_over(make_call(), exact_of("derrick"), terms()) == []
    assert (past_verdicts(home)[0].outcome, outcomes(past_verdicts(home)[0])) == (SPENT, {"derrick": SPENT})
    assert hand_over(make_call("another"), exact_of("derrick"), terms()) == ["derrick"]
    starts.forget_session(make_call().state, "s")
    assert hand_over(make_call(), exact_of("derrick"), terms()) == ["derrick"]


def test_a_preview_has_the_room_of_a_session(make_call: Opened, home: Home) -> None:
    home.create()
    Path(home.config).write_text("[surfacing]\nsession_characters = 500\n", encoding="utf-8")
    exact = ExactMatches(
        {
            PATH: [
                Memory(id=f"m{n}", content=f"Rule {n} " + "of the quay " * 30, seq=n + 1, created_at=MARCH_2) for n in range(3)
            ]
        }
    )
    preview, verdict = (offer(make_call(""), exact, terms()) for _ in range(2))
    hook_deliver.preview_delivery(make_call(""), preview)
    assert 0 < preview.units <= 500
    hook_deliver.deliver(make_call("t"), EVENT, verdict, lambda _: None)
    assert verdict.ids == preview.ids


def test_repeats_are_neither_printed_nor_recorded(make_call: Opened, home: Home) -> None:
    assert hand_over(make_call(), exact_of("anchor"), terms()) == ["anchor"]
    assert hand_over(make_call(), exact_of("anchor"), terms()) == []
    assert hand_over(make_call(), exact_of("anchor"), terms(repeats_given=True)) == ["anchor"]
    assert [verdict.outcome for verdict in past_verdicts(home)] == [SPOKE, SPOKE]


def test_without_a_session_there_is_no_ledger_to_wait_for(make_call: Opened, home: Home) -> None:
    home.create()
    other = State.open(home, 100)
    other.begin()
    call = make_call("")
    assert hand_over(call, exact_of("anchor"), terms()) == ["anchor"]
    other.commit()
    assert past_verdicts(home) == []
    assert hand_over(call, exact_of("anchor"), terms()) == ["anchor"]
    assert [verdict.outcome for verdict in past_verdicts(home)] == [SPOKE]


def test_a_ledger_that_can_not_be_locked_costs_its_entry_alone(make_call: Opened, home: Home) -> None:
    call = make_call(budget_ms=30)
    other = State.open(home, 100)
    other.begin()
    assert hand_over(call, exact_of("anchor"), terms()) == ["anchor"]
    other.commit()
    assert sessions.find_given(call.state, "s") == set()
    assert "handed over without the ledger: " in log_of(home)


@pytest.mark.parametrize(
    ("module", "name", "complaint"),
    [(sessions, "record_given", "the ledger was not kept"), (verdicts, "keep_verdict", "a decision was not recorded")],
)
def test_a_failed_write_is_logged_and_loses_no_answer(
    make_call: Opened, home: Home, monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, complaint: str
) -> None:
    def fail(*_: object) -> NoReturn:
        raise StoreError("the disk is full")

    monkeypatch.setattr(module, name, fail)
    call = make_call()
    assert hand_over(call, exact_of("anchor"), terms()) == ["anchor"]
    assert f"{complaint}: the disk is full" in log_of(home)
    assert sessions.find_given(call.state, "s") == ({"anchor"} if module is verdicts else set())
    monkeypatch.undo()
    assert hand_over(call, exact_of("anchor"), terms()) == ([] if module is verdicts else ["anchor"])


def test_the_answer_is_written_before_the_ledger_is_kept(make_call: Opened, home: Home) -> None:
    home.create()
    other = State.open(home, 100)

    def write(_: bytes) -> None:
        assert sessions.find_given(other, "s") == set()
        with pytest.raises(StoreBusy):
            other.begin()

    assert deliver(make_call(), exact_of("anchor"), terms(), write) == ("anchor",)
    assert sessions.find_given(other, "s") == {"anchor"}


def test_what_no_relevance_suffices_for_is_told_as_such(make_call: Opened, home: Home) -> None:
    assert hand_over(make_call(), exact_of("anchor"), terms(0.95)) == []
    (verdict,) = past_verdicts(home)
    assert (verdict.outcome, outcomes(verdict)) == (BELOW, {"anchor": BELOW})
    assert verdict.outcome != REPEATED
