"""`subcog learn`: repeated statements of several sessions become one proposal, also after interrupted runs."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from subcog_hooks.cli.proposals import learning_runs as support
from subcog_hooks.core.paths import Home
from subcog_hooks.learn import learning, transcript_files
from subcog_hooks.learn.proposals import LearningOptions
from subcog_hooks.learn.turn_scores import CALIBRATIONS, WEIGHTS, Fit
from subcog_hooks.store import learned
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from tests.cli.conftest import MonkeyPatch, Run
from tests.cli.learned import AGAIN, RULE, STAGING, waiting
from tests.e2e.machine import posix
from tests.transcripts import session

pytestmark = pytest.mark.usefixtures("hooks_are_over")

UNSURE = LearningOptions(fit=Fit(WEIGHTS, CALIBRATIONS, (0.99, 0.99)))  # nothing is proposed by itself


def stop(*_: object) -> None:
    raise KeyboardInterrupt


def reader(sessions: Path, store: Store, state: State) -> Callable[[], list[str]]:
    """Return a function that reads the sessions and returns the texts that wait."""

    def read() -> list[str]:
        learning.learn(transcript_files.find_transcripts(str(sessions)), store, state, UNSURE, lambda _: None)
        return [memory.content for memory in store.all(("pending",))]

    return read


def test_what_was_dropped_is_not_proposed_in_other_words(subcog: Run, sessions: Path) -> None:
    session(sessions, "one", RULE)
    subcog("learn")
    subcog("review", "--reject", *(str(memory["id"]) for memory in waiting(subcog)))
    session(sessions, "two", AGAIN, day="2026-03-05")
    subcog("learn")
    assert subcog("review", "--list").code == 1


def test_what_sessions_repeat_in_other_words_is_one_proposal(subcog: Run, sessions: Path) -> None:
    session(sessions, "zero", STAGING)
    for number, text in enumerate((RULE, AGAIN, AGAIN)):
        session(sessions, f"s{number}", text, day=f"2026-03-0{number + 2}")
        done = subcog("learn")
        (heard,) = [heard.sessions for heard in support.load_proposal_records().values() if heard.sessions > 1] or [1]
        assert (len(waiting(subcog)), heard) == (2, number + 1)
    assert "said" not in done.out
    assert {memory["content"] for memory in waiting(subcog)} <= {RULE, AGAIN, STAGING}


@pytest.mark.parametrize("is_stopped", [True, False])
def test_a_proposal_raised_by_repetition_goes_on_waiting(
    sessions: Path, home: Home, monkeypatch: MonkeyPatch, is_stopped: bool
) -> None:
    with Store.writer(home) as store:
        state = State.open(home, 1_000)

        read = reader(sessions, store, state)
        session(sessions, "one", RULE)
        assert read() == []
        session(sessions, "two", AGAIN, day="2026-03-05")
        if is_stopped:
            with monkeypatch.context() as patch:
                patch.setattr(learned, "note_turns_compared", stop)
                with pytest.raises(KeyboardInterrupt):
                    read()
            state.roll_back()
        (raised,) = read()
        session(sessions, "three", "hello there", day="2026-03-06")
        assert read() == [raised]
        session(sessions, "four", AGAIN, day="2026-03-07")
        assert read() == [raised]
        assert [proposal.sessions for proposal in learned.find_proposals(state).values()] == [3]
        state.close()


def test_what_is_gone_is_let_go_of_only_when_all_is_compared(sessions: Path, home: Home, monkeypatch: MonkeyPatch) -> None:
    session(sessions, "one", AGAIN)
    session(sessions, "two", RULE, day="2026-03-03")
    gone = session(sessions, "gone", STAGING, day="2026-03-04")
    monkeypatch.setattr(learning, "MAX_HEARD", 2)  # the first is not among them, while the last is still heard

    with Store.writer(home) as store:
        state = State.open(home, 1_000)

        read = reader(sessions, store, state)
        for step in ("propose_repeated", "note_turns_compared"):  # it is killed before and after the comparison
            with monkeypatch.context() as patch:
                patch.setattr(learning if step == "propose_repeated" else learned, step, stop)
                with pytest.raises(KeyboardInterrupt):
                    read()
            state.roll_back()
            gone.path.write_text("")
        assert read() == []
        assert [Path(heard.path).stem for heard in learned.find_heard_turns(state, 9)] == ["two", "one"]
        state.close()


@posix
def test_a_transcript_that_cannot_be_read_for_now_is_kept(sessions: Path, home: Home) -> None:
    locked = session(sessions, "one", AGAIN)
    session(sessions, "two", RULE, day="2026-03-03")
    with Store.writer(home) as store:
        state = State.open(home, 1_000)
        read = reader(sessions, store, state)
        read()
        heard = {Path(turn.path).stem for turn in learned.find_heard_turns(state, 9)}
        locked.path.rename(sessions / "aside")
        locked.path.mkdir()  # to read a folder is an error, as a lock is
        session(sessions, "three", STAGING, day="2026-03-04")
        read()
        assert "one" in heard
        assert {Path(turn.path).stem for turn in learned.find_heard_turns(state, 9)} >= heard
        state.close()


def test_a_fork_that_repeats_a_prompt_proposes_nothing_new(subcog: Run, sessions: Path) -> None:
    written = session(sessions, "one", RULE)
    (written.path.parent / "fork.jsonl").write_text(written.path.read_text())
    subcog("learn")
    assert len(waiting(subcog)) == 1


def test_what_was_erased_comes_again_only_when_it_is_said_again(subcog: Run, sessions: Path) -> None:
    for name, day in (("one", "2026-03-02"), ("two", "2026-03-04"), ("three", "2026-03-06"), ("more", "2026-03-07")):
        session(sessions, name, RULE if name == "one" else AGAIN, day=day)
    subcog("learn")
    listed = subcog("list", "--all-projects", "--status", "all", "--jsonl").out.splitlines()
    assert len(listed) == 2  # one stands for the other
    subcog("forget", "--purge", "--yes", *(json.loads(line)["id"] for line in listed))
    session(sessions, "four", STAGING, day="2026-03-08")
    subcog("learn")
    assert [memory["content"] for memory in waiting(subcog)] == [STAGING]
    session(sessions, "five", AGAIN, day="2026-03-10")
    subcog("learn")
    assert len(waiting(subcog)) == 2


def test_an_erased_memory_does_not_return_after_a_cut_short_run(subcog: Run, sessions: Path, monkeypatch: MonkeyPatch) -> None:
    for name, day in (("one", "2026-03-02"), ("two", "2026-03-04"), ("three", "2026-03-06")):
        session(sessions, name, AGAIN, day=day)
    subcog("learn")
    listed = subcog("list", "--all-projects", "--status", "all", "--ids").out.split()
    subcog("forget", "--purge", "--yes", *listed)
    session(sessions, "four", "hello there", day="2026-03-08")
    files, _ = support.find_idle_transcripts(None, None)

    with support.open_store_and_state(dry_run=False) as (store, state), monkeypatch.context() as patch:
        patch.setattr(learning, "propose_repeated", stop)  # killed between reading and learning
        with pytest.raises(KeyboardInterrupt):
            learning.learn(files, store, state, LearningOptions(), lambda _: None)
    subcog("learn")
    assert subcog("review", "--list").code == 1
