"""SessionStart inside one process: the first block, equal bytes for equal state, and compactions."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import session as hook_session
from subcog_hooks.hook.payload import TRIAL
from subcog_hooks.store import sessions
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.sessions import LastPrompt
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.verdicts import SPOKE
from tests.conftest import Maker
from tests.hook.recorded import configure, past_verdicts, printed_ids

Start = Callable[..., list[bytes]]


@pytest.fixture
def start(home: Home, store: Store, make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Begin a session in the project `shop`, without a brief, and return the output.

    It has a pinned memory, conditions on the branch, and others.
    """
    monkeypatch.setenv("SUBCOG_SURFACING_BRIEF_CHARACTERS", "0")
    shop = tmp_path / "shop"
    (shop / ".git").mkdir(parents=True)
    (shop / ".git" / "HEAD").write_text("ref: refs/heads/release/7\n")
    name = str(shop.resolve())
    store.add([make("The release train leaves on Tuesdays.", id="pinned", priority=95, project=name)])
    store.add([make("On a release branch only fixes are merged.", id="branch", when={"branch": {"glob": "release/*"}})])
    store.add([make("Main is open for all.", id="other-branch", when={"branch": "main"})])
    store.add([make("The tide sensor needs 24 V.", id="plain")])

    def begin_session(
        source: object = "startup", session: object = "s", budget_ms: float = 5_000, **more: object
    ) -> list[bytes]:
        payload: dict[str, object] = {"source": source, "session_id": session, "cwd": name, "hook_event_name": "SessionStart"}
        printed: list[bytes] = []
        hook_session.respond({**payload, **more}, home, printed.append, Deadline(budget_ms))
        return printed

    return begin_session


@pytest.fixture
def state(home: Home) -> State:
    home.create()
    return State.open(home, 1_000)


def give(state: State, session: str, *ids: str) -> None:
    for number, id_ in enumerate(ids, 1):
        sessions.record_given(state, session, (id_,), now_ms() - 1_000 + number, "d")


def test_a_start_prints_pinned_memories_and_true_conditions(start: Start) -> None:
    assert printed_ids(start()) == ["pinned", "branch"]


def test_what_was_printed_is_in_the_ledger_and_in_a_verdict(start: Start, state: State, home: Home) -> None:
    start()
    assert sessions.find_given(state, "s") == {"pinned", "branch"}
    (verdict,) = past_verdicts(home)
    assert (verdict.outcome, verdict.event, verdict.reason) == (SPOKE, "SessionStart", "startup")
    assert (verdict.prompt, verdict.strategies) == (None, ("pinned", "state"))
    assert {candidate.id: tuple(candidate.ranks) for candidate in verdict.candidates} == {
        "pinned": ("pinned",),
        "branch": ("state",),
    }


def test_only_live_own_memories_of_this_project_are_pinned(start: Start, store: Store, make: Maker) -> None:
    kept: list[dict[str, object]] = [{"trust": "import"}, {"priority": 89}, {"project": "another"}]
    kept += [{"triggers": ("release train",)}, {"when": {"branch": "main"}}, {"status": "superseded"}, {"status": "archived"}]
    kept += [{"priority": 100, "expires_at": 1} for _ in range(10)]
    store.add([make(f"Pier {n} is closed.", **{"id": f"pier{n}", "priority": 95, **more}) for n, more in enumerate(kept)])
    assert printed_ids(start()) == ["pinned", "branch"]


def test_five_are_pinned_at_most_those_of_the_highest_priority(start: Start, store: Store, make: Maker) -> None:
    words = "anchor buoy crane dock engine ferry".split()
    store.add([make(f"Mind the {word}.", id=word, priority=100 - number) for number, word in enumerate(words)])
    assert printed_ids(start()) == ["anchor", "buoy", "crane", "dock", "engine", "branch"]


def test_no_more_than_1500_characters_are_printed(start: Start, store: Store, make: Maker, home: Home) -> None:
    words = "anchor buoy crane dock engine".split()
    store.add([make(f"{word} rope " * 400, id=word, priority=99) for word in words])
    context = json.loads(start()[0])["hookSpecificOutput"]["additionalContext"]
    assert 1_300 < len(context) <= 1_500
    configure(home, "[surfacing]\nmax_characters = 300\n")
    assert len(json.loads(start()[0])["hookSpecificOutput"]["additionalContext"]) <= 300


@pytest.mark.parametrize("text", ["[surfacing]\nsession_start = false\n", "[surfacing]\nenabled = false\n"])
def test_a_switch_silences_it_but_the_session_is_noted(start: Start, home: Home, state: State, text: str) -> None:
    configure(home, text)
    assert start() == []
    assert sessions.find_session(state, "s") is not None
    configure(home, "[surfacing]\ntools = false\n[search_intent]\nenabled = false\n")
    assert printed_ids(start(session="another")) == ["pinned", "branch"]


def test_a_pause_silences_it_and_what_was_given_comes_again(start: Start, state: State) -> None:
    give(state, "s", "pinned")
    state.run("INSERT INTO pause VALUES (0, NULL)")
    assert start() == []
    state.run("DELETE FROM pause")
    assert printed_ids(start()) == ["pinned", "branch"]


def test_without_a_session_or_for_a_trial_nothing_is_kept(start: Start, state: State, home: Home) -> None:
    assert printed_ids(start(session=f"{TRIAL}1")) == ["pinned", "branch"]
    assert past_verdicts(home) == []
    for session in ("", None, 3):
        assert printed_ids(start(session=session)) == ["pinned", "branch"]
    assert state.run("SELECT * FROM ledger") == state.run("SELECT * FROM sessions") == []


def test_an_odd_folder_is_outside_of_any_project(start: Start) -> None:
    odd: list[object] = [3, "shop", "/" + "a/" * 1_000_000, "/a\0b", ""]
    assert [start(session=f"s{number}", cwd=cwd) for number, cwd in enumerate(odd)] == [[]] * len(odd)


def test_a_resumed_session_hears_what_it_heard_byte_for_byte(start: Start, state: State, store: Store, make: Maker) -> None:
    first = start()
    store.add([make("The pier is closed.", id="pier", priority=99)])
    give(state, "s", "plain")
    assert start("resume") == first
    assert printed_ids(start("startup", "another")) == ["pier", "pinned", "branch"]


def test_a_resumed_session_without_a_block_gets_none(start: Start, store: Store, make: Maker) -> None:
    store.modify(["pinned", "branch"], lambda memory: memory.with_changes(status="archived"))
    assert start() == []
    store.modify(["pinned"], lambda memory: memory.with_changes(status="active"))
    assert start("resume") == []


def test_a_resumed_session_gets_its_live_memories_again(start: Start, store: Store) -> None:
    start()
    store.modify(["pinned"], lambda memory: memory.with_changes(status="superseded"))
    assert printed_ids(start("resume")) == ["branch"]
    store.modify(["pinned"], lambda memory: memory.with_changes(status="active"))
    assert printed_ids(start("resume")) == ["pinned", "branch"]


def test_a_resumed_unknown_session_begins_as_a_new_one(start: Start, store: Store, make: Maker) -> None:
    first = start("resume")
    assert printed_ids(first) == ["pinned", "branch"]
    store.add([make("The pier is closed.", id="pier", priority=99)])
    assert start("resume") == first


def test_a_compaction_brings_the_latest_memories_again(start: Start, state: State) -> None:
    start()
    give(state, "s", "other-branch", "plain")
    assert printed_ids(start("compact")) == ["pinned", "branch", "plain"]  # it is no longer on the other branch
    assert sessions.find_given(state, "s") == {"pinned", "branch", "plain"}


def test_a_compaction_brings_six_and_forgets_the_others(start: Start, state: State, store: Store, make: Maker) -> None:
    words = "anchor buoy crane dock engine ferry gull".split()
    store.add([make(f"Mind the {word}.", id=word) for word in words])
    give(state, "s", *words)
    give(state, "another", "anchor")
    assert printed_ids(start("compact")) == ["pinned", "branch", "gull", "ferry", "engine", "dock", "crane", "buoy"]
    assert sessions.find_given(state, "s") == {"pinned", "branch", *words[1:]}
    assert sessions.find_given(state, "another") == {"anchor"}


def test_a_compaction_brings_only_eligible_memories(start: Start, state: State, store: Store, make: Maker) -> None:
    store.add([make("Theirs.", id="theirs", project="another"), make("Gone.", id="gone", expires_at=1)])
    give(state, "s", "theirs", "gone", "purged", "plain")
    assert printed_ids(start("compact")) == ["pinned", "branch", "plain"]


def test_a_session_resumed_after_a_compaction_repeats_its_block(start: Start, state: State) -> None:
    start()
    give(state, "s", "plain")
    compacted = start("compact")
    assert "plain" in printed_ids(compacted)
    assert start("resume") == compacted


@pytest.mark.parametrize("switch", ["[surfacing]\nsession_start = false\n", "[surfacing]\nenabled = false\n"])
def test_a_compaction_resets_the_ledger_also_of_a_silent_session(start: Start, state: State, home: Home, switch: str) -> None:
    configure(home, switch)
    give(state, "s", "plain")
    assert start("compact") == []
    assert sessions.find_given(state, "s") == set()


def test_only_the_compaction_of_a_session_resets_its_ledger(start: Start, state: State) -> None:
    give(state, "s", "plain")
    for source in ("startup", "resume", "clear", "fork", "", None, 3, "COMPACT"):
        assert "plain" not in printed_ids(start(source))
    for session in ("", None, 3):
        start("compact", session)
    assert "plain" in sessions.find_given(state, "s")


def test_a_compaction_leaves_what_the_prompt_before_was_about(start: Start, state: State) -> None:
    now = now_ms()
    sessions.keep_last_prompt(state, "s", LastPrompt(("relay",), 0.8), now)
    start("compact")
    assert sessions.find_last_prompt(state, "s", now) is not None
