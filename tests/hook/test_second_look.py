"""The second look: its task, the prompts that get one, and the delivery of its answer."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.cli.proposals import enrichment_questions
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import detached, second_look, tool
from subcog_hooks.hook.second_look_start import Task
from subcog_hooks.intent import classifier
from subcog_hooks.llm import breaker
from subcog_hooks.store import decision_log, hook_traces, second_looks, state_values
from subcog_hooks.store.decision import HANDED_OVER, MOVED_ON, WAITING, Decision
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.second_looks import Finding
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from tests.conftest import Maker
from tests.hook.conftest import follow
from tests.hook.recorded import QUESTION, configure, decisions, printed_ids, respond

UNSURE = "Why does the cargo office keep a relay?"
_text = st.text(max_size=40).map(lambda text: text.encode("utf-8", "replace").decode())


@given(_text, _text, st.lists(_text, max_size=3), st.integers(0, 2**50), st.floats(0, 1), st.booleans())
def test_a_task_reads_back_as_it_was_written(
    asked: str, session: str, needs: list[str], prompt_ms: int, confidence: float, is_enough: bool
) -> None:
    flags = {"is_enough": is_enough, "is_seeking": not is_enough}
    task = Task("d", prompt_ms, session, "/", "", asked, needs, "howto", confidence, 1.0, 3, late_key="k", **flags)
    again = Task.from_text(task.to_text())
    assert {name: getattr(again, name) for name in Task.__slots__} == {name: getattr(task, name) for name in Task.__slots__}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | _text, lambda inner: st.lists(inner) | st.dictionaries(_text, inner)
    )
)
def test_no_other_text_is_a_task(value: object) -> None:
    with pytest.raises(ValueError, match=r"task|JSON"):
        Task.from_text(json.dumps(value))


# ---- which prompts get one -------------------------------------------------------------------------------------------------


@pytest.fixture
def started_tasks(lighthouse: None, home: Home) -> Iterator[list[Task]]:
    """Collect the tasks instead of starting second looks."""
    configure(home, "[surfacing]\nbrief_characters = 0\n")
    tasks: list[Task] = []

    def start(_: Home, words: tuple[str, ...], content: bytes) -> None:
        assert words == ("hook", "--second-look")
        tasks.append(Task.from_text(content.decode()))

    with patch.dict(os.environ, {detached.SWITCH_OFF: "1"}), patch.object(detached, "start_process", start):
        yield tasks


def ask(home: Home, text: str, session: str = "s", cwd: str = "/") -> list[str]:
    """Return the ids that a prompt brings."""
    return printed_ids(respond(home, text, session, cwd=cwd))


def call(home: Home, session: str = "s", **more: object) -> list[str]:
    """Return the ids that a tool call brings."""
    printed: list[bytes] = []
    payload: dict[str, object] = {"session_id": session, "cwd": "/", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    tool.respond({**payload, **more}, home, printed.append, Deadline(5_000))
    return printed_ids(printed)


def test_a_prompt_to_which_nothing_came_near_enough_gets_one(started_tasks: list[Task], home: Home) -> None:
    configure(home, "[surfacing]\nbrief_characters = 0\nmin_relevance = 1.0\n")
    assert ask(home, QUESTION) == []
    (task,) = started_tasks
    (decision,) = decisions(home)
    assert (task.decision, task.session, task.search_text, task.prompt_ms) == (decision.id, "s", QUESTION, decision.at_ms)


@pytest.mark.parametrize(("model", "looks"), [("none", 0), ("openai", 1)])
def test_a_near_note_starts_a_look_only_with_a_model(
    started_tasks: list[Task], home: Home, store: Store, make: Maker, tmp_path: Path, model: str, looks: int
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text('[remote "origin"]\n\turl = https://git.example/notes.git\n')
    store.add([make("The greenhouse vents open at 24 degrees.", id="note", project="git.example/notes")])
    follow(home, store)
    configure(home, f'[surfacing]\nbrief_characters = 0\nmin_relevance = 1.0\n[llm]\nat_rest = "{model}"\n')
    assert ask(home, "At what temperature do the greenhouse vents open?", cwd=str(tmp_path)) == []
    assert len(started_tasks) == looks


ALWAYS = '[surfacing]\nbrief_characters = 0\n[second_look]\nmode = "always"\n'
FAR = "Why is the moon made of cheese?"


def test_what_is_answered_or_asks_for_nothing_gets_none(started_tasks: list[Task], home: Home) -> None:
    configure(home, ALWAYS)
    for number, text in enumerate((QUESTION, "ok", "thanks", "commit this", "/compact", "[nomem] " + UNSURE, "")):
        ask(home, text, f"s{number}")
        assert started_tasks == [], text


def test_what_was_given_before_gets_none(started_tasks: list[Task], home: Home) -> None:
    assert ask(home, QUESTION) != []
    assert ask(home, QUESTION) == []
    assert started_tasks == []


def test_no_look_starts_for_a_trial_or_where_it_is_switched_off(started_tasks: list[Task], home: Home) -> None:
    configure(home, ALWAYS)
    for session in ("", "doctor-1"):
        ask(home, FAR, session)
    with patch.dict(os.environ, {detached.SWITCH_OFF: "0"}):
        ask(home, FAR)
    for switch in ("[fusion]\nalpha = 0.0\n", "[surfacing]\nenabled = false\n"):
        configure(home, f'{switch}[second_look]\nmode = "always"\n')
        ask(home, FAR)
    assert started_tasks == []


def test_a_failure_to_start_costs_the_prompt_nothing(started_tasks: list[Task], home: Home) -> None:
    configure(home, ALWAYS)
    with patch.object(detached, "start_process", side_effect=OSError("no process left")):
        assert ask(home, FAR) == []
    assert len(decisions(home)) == 1
    state = State.open(home, 1_000)
    assert state.run("SELECT * FROM second_looks") == []
    state.close()


# ---- how its answer joins --------------------------------------------------------------------------------------------------


def store_finding(home: Home, *ids: str, session: str = "s", decision: str = "d") -> None:
    """Store the findings of a second look for a session."""
    state = State.open(home, 1_000)
    now = now_ms()
    state.begin()
    assert second_looks.begin_look(state, decision, session, now - 500)  # a look takes a while
    assert second_looks.end_look(state, decision, "look", [Finding(id_, 0.4) for id_ in ids], now)
    decision_log.keep_decision(
        state, Decision("look", now, decision_log.LOOK_EVENT, session, "", WAITING, looked_at=decision), now
    )
    state.commit()
    state.close()


def look(home: Home) -> Decision:
    (look_decision,) = [decision for decision in decisions(home) if decision.event == decision_log.LOOK_EVENT]
    return look_decision


@pytest.mark.usefixtures("lighthouse")
def test_it_comes_with_a_call_and_once(home: Home) -> None:
    store_finding(home, "cargo-1", "cargo-2")
    assert call(home) == ["cargo-1", "cargo-2"]
    assert call(home) == []
    assert (look(home).outcome, look(home).reason) == (HANDED_OVER, decisions(home)[0].id)


@pytest.mark.usefixtures("lighthouse")
def test_a_call_carries_no_more_than_three_with_it(home: Home) -> None:
    store_finding(home, *(f"cargo-{number}" for number in range(1, 6)))
    assert call(home) == ["cargo-1", "cargo-2", "cargo-3"]
    assert call(home) == []


@pytest.mark.usefixtures("lighthouse")
def test_it_comes_behind_what_a_prompt_brings_within_the_most(home: Home) -> None:
    first = ask(home, QUESTION, "other")
    store_finding(home, "cargo-1")
    ask(home, "ok", "s")
    store_finding(home, "cargo-2", decision="e", session="t")
    configure(home, f"[surfacing]\nmax_memories = {len(first)}\n")
    assert call(home, "t") == ["cargo-2"]


@pytest.mark.usefixtures("lighthouse")
def test_a_memory_that_the_prompt_brings_itself_comes_once(home: Home) -> None:
    ask(home, "Which lighthouse lamp relay?", "other")
    store_finding(home, "first")
    ids = ask(home, QUESTION)
    assert len(ids) == len(set(ids))


@pytest.mark.usefixtures("lighthouse")
def test_an_answer_waits_for_the_next_prompt_with_tools_off(home: Home) -> None:
    configure(home, "[surfacing]\ntools = false\n")
    store_finding(home, "cargo-1")
    assert call(home) == []
    assert ask(home, "ok") == ["cargo-1"]


@pytest.mark.usefixtures("lighthouse")
def test_a_session_whose_account_is_spent_hears_nothing(home: Home) -> None:
    store_finding(home, "cargo-1")
    state = State.open(home, 1_000)
    state.run("INSERT INTO sessions VALUES ('s', '', '', 1, 1, 1, NULL, 1000000)")
    state.close()
    assert call(home) == []
    assert (look(home).outcome, look(home).reason) == (MOVED_ON, "spent")


@pytest.mark.usefixtures("lighthouse")
def test_a_prompt_gets_its_memories_beside_another_writer(home: Home) -> None:
    store_finding(home, "cargo-1")
    other = State.open(home, 1_000)
    other.begin()
    printed = respond(home, deadline=Deadline(100.0, work_ms=5_000.0))
    other.roll_back()
    other.close()
    assert "first" in printed_ids(printed)
    assert call(home) == []  # that was another topic
    assert (look(home).outcome, look(home).reason) == (MOVED_ON, "another topic")
    assert hook_traces.find_latest_silent_calls(home, 10) == []


@pytest.mark.usefixtures("lighthouse")
def test_an_answer_waits_for_another_writer_and_comes_once(home: Home) -> None:
    store_finding(home, "cargo-1")
    other = State.open(home, 1_000)
    other.begin()
    printed: list[bytes] = []
    payload: dict[str, object] = {"session_id": "s", "cwd": "/", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    tool.respond(payload, home, printed.append, Deadline(100.0, work_ms=5_000.0))
    other.roll_back()
    other.close()
    assert printed == []
    assert [call(home), call(home)] == [["cargo-1"], []]


@pytest.mark.usefixtures("lighthouse")
@pytest.mark.parametrize("switch", ["pause", "surfacing", "search_intent"])
def test_a_silenced_prompt_leaves_nothing_for_later(home: Home, switch: str) -> None:
    store_finding(home, "cargo-1")
    silence(home, switch)
    assert ask(home, "Which colour does the gradient of the button have?") == []
    speak_again(home)
    assert call(home) == []
    assert look(home).outcome == MOVED_ON


@pytest.mark.usefixtures("lighthouse")
@pytest.mark.parametrize("switch", ["pause", "surfacing", "search_intent", "second_look"])
def test_one_that_is_silenced_meanwhile_finds_nothing(home: Home, switch: str) -> None:
    state = State.open(home, 1_000)
    state.begin()
    assert second_looks.begin_look(state, "d", "s", now_ms())
    state.commit()
    state.close()
    silence(home, switch)
    task = Task("d", now_ms(), "s", "/", "", QUESTION, [], "howto", 0.9, 0.9, 1, is_enough=True, is_seeking=False)
    second_look.take_second_look(task, home)
    speak_again(home)
    assert decisions(home) == []
    assert call(home) == []


@pytest.mark.usefixtures("lighthouse")
def test_a_look_takes_the_topics_of_a_late_answer(home: Home) -> None:
    state = State.open(home, 1_000)
    answer = classifier.answer_to_text(classifier.Classification("howto", 0.9, ("lighthouse lamp relay", "tide sensor")))
    breaker.cache_answer(state, "late", answer, now_ms(), 10_000)
    best = {}
    for key in ("", "late"):
        state.begin()
        assert second_looks.begin_look(state, key, "s", now_ms())
        state.commit()
        asked = "Why is it like that?"
        task = Task(
            key, now_ms(), "s", "/", "", asked, [], "howto", 0.9, 0.9, 1, is_enough=True, is_seeking=False, late_key=key
        )
        second_look.take_second_look(task, home)
        best[key] = decisions(home)[0].candidates[0]
    state.close()
    assert best["late"].id in ("first", "again", "drift", "volts")
    assert best["late"].relevance > 2 * best[""].relevance


def silence(home: Home, switch: str) -> None:
    """Pause the hook, or switch off one of its sections."""
    if switch == "pause":
        state = State.open(home, 1_000)
        state_values.begin_pause(state, 0, None)
        state.close()
    else:
        off = 'mode = "off"' if switch == "second_look" else "enabled = false"
        configure(home, f"[{switch}]\n{off}\n")


def speak_again(home: Home) -> None:
    state = State.open(home, 1_000)
    state_values.end_pause(state, now_ms())
    state.close()
    configure(home, "")


@pytest.mark.parametrize("shown_of", [second_look.masked_excerpt, enrichment_questions.disclosed_text])
@pytest.mark.parametrize("max_chars", [second_look.MAX_EXCERPT, enrichment_questions.MAX_TEXT])
def test_a_model_is_shown_no_half_of_a_secret(make: Maker, max_chars: int, shown_of: Callable[[Memory], str | None]) -> None:
    url = "postgres://admin:Sup3rSecretPw9911@db.example.com/prod"
    for cut in range(len(url)):
        assert "Sup3r" not in (shown_of(make("y " * ((max_chars - cut) // 2) + url)) or "")


def test_a_pipe_that_has_no_room_starts_no_process(home: Home) -> None:
    home.create()
    with patch.object(os, "write", lambda _, content: len(content) - 1), pytest.raises(OSError, match="no room"):
        detached.start_process(home, ["hook", "--second-look"], b"x" * 100)
    with pytest.raises(ValueError, match="more than a pipe takes"):
        detached.start_process(home, ["hook", "--second-look"], b"x" * (detached.MAX_INPUT_BYTES + 1))


def test_it_goes_to_no_session_of_another_project(home: Home, store: Store, make: Maker) -> None:
    store.add([make("The relay needs 24 V.", id="theirs", project="git.example/theirs")])
    follow(home, store)
    store_finding(home, "theirs")
    assert call(home) == []
    assert look(home).outcome == MOVED_ON


@pytest.mark.usefixtures("lighthouse")
def test_one_that_finds_its_row_gone_writes_nothing(home: Home) -> None:
    task = Task("gone", 1, "s", "/", "", QUESTION, [], "howto", 0.9, 0.9, 1, is_enough=True, is_seeking=False)
    second_look.take_second_look(task, home)
    assert decisions(home) == []
