"""The second look: the prompts that get one, its process, and the delivery of its answer."""

import json
import os
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest

from subcog_hooks.cli.proposals import memory_questions
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import detached, tool
from subcog_hooks.llm.ask import MAX_EXCERPT, masked_excerpt
from subcog_hooks.store import past_runs, verdicts
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.verdicts import HANDED_OVER, MOVED_ON, WAITING, RecordedVerdict
from tests.conftest import Maker
from tests.hook.conftest import follow
from tests.hook.recorded import QUESTION, configure, log_of, past_verdicts, printed_ids, respond

WITH_MODEL = '[surfacing]\nbrief_characters = 0\nmin_relevance = 1.0\n[llm]\nat_rest = "openai"\n'


@pytest.fixture
def started_tasks(lighthouse: None, home: Home) -> Iterator[list[dict[str, Any]]]:
    """Collect the tasks instead of starting second looks."""
    configure(home, WITH_MODEL)
    tasks: list[dict[str, Any]] = []

    def start(_: Home, words: tuple[str, ...], content: bytes) -> None:
        assert words == ("hook", "--second-look")
        tasks.append(json.loads(content))

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


def test_a_prompt_with_near_memories_gets_one(started_tasks: list[dict[str, Any]], home: Home) -> None:
    lines = ask(home, QUESTION)
    (task,) = started_tasks
    (verdict,) = past_verdicts(home)
    assert (task["verdict"], task["session_id"], task["text"], task["at_ms"]) == (verdict.id, "s", QUESTION, verdict.at_ms)
    assert 0 < len(task["near"]) <= 15
    assert list(task["near"].values()) == sorted(task["near"].values(), reverse=True)
    assert set(lines) <= set(task["near"])


def test_what_is_answered_or_asks_for_nothing_gets_none(started_tasks: list[dict[str, Any]], home: Home) -> None:
    for number, text in enumerate(("ok", "thanks", "commit this", "/compact", "[nomem] " + QUESTION, "")):
        ask(home, text, f"s{number}")
        assert started_tasks == [], text
    configure(home, WITH_MODEL.replace("min_relevance = 1.0", ""))
    assert ask(home, QUESTION) != []
    assert ask(home, QUESTION) == []  # the session has them
    assert started_tasks == []


def test_no_look_starts_for_a_trial_or_where_it_is_off(started_tasks: list[dict[str, Any]], home: Home) -> None:
    for session in ("", "doctor-1"):
        ask(home, QUESTION, session)
    with patch.dict(os.environ, {detached.SWITCH_OFF: "0"}):
        ask(home, QUESTION)
    for settings in (WITH_MODEL.replace("openai", "none"), f'{WITH_MODEL}[second_look]\nmode = "off"\n'):
        configure(home, settings)
        ask(home, QUESTION)
    assert started_tasks == []


def test_far_memories_start_one_only_where_it_is_always(started_tasks: list[dict[str, Any]], home: Home) -> None:
    for mode, started in (("auto", 0), ("always", 1)):
        configure(home, f'{WITH_MODEL}[second_look]\nmode = "{mode}"\n')
        ask(home, "Where do I find the notes about ferries in spring?", mode)
        assert len(started_tasks) == started


def test_a_failure_to_start_costs_the_prompt_nothing(started_tasks: list[dict[str, Any]], home: Home) -> None:
    with patch.object(detached, "start_process", side_effect=OSError("no process left")):
        ask(home, QUESTION)
    assert len(past_verdicts(home)) == 1
    assert "no second look was started: no process left" in log_of(home)


def store_finding(home: Home, *ids: str, session: str = "s", verdict: str = "d") -> None:
    """Store the findings of a second look for a session."""
    state = State.open(home, 1_000)
    now = now_ms()
    state.begin()
    assert past_runs.begin_look(state, verdict, session, now - 500)  # a look takes a while
    assert past_runs.end_look(state, verdict, "look", [(id_, 0.4) for id_ in ids], now)
    verdicts.keep_verdict(
        state, RecordedVerdict("look", now, verdicts.LOOK_EVENT, session, "", WAITING, looked_at=verdict), now
    )
    state.commit()
    state.close()


def look(home: Home) -> RecordedVerdict:
    (look_verdict,) = [verdict for verdict in past_verdicts(home) if verdict.event == verdicts.LOOK_EVENT]
    return look_verdict


@pytest.mark.usefixtures("lighthouse")
def test_three_come_with_a_call_and_once(home: Home) -> None:
    store_finding(home, *(f"cargo-{number}" for number in range(1, 6)))
    assert call(home) == ["cargo-1", "cargo-2", "cargo-3"]
    assert call(home) == []
    assert (look(home).outcome, look(home).reason) == (HANDED_OVER, past_verdicts(home)[0].id)


@pytest.mark.usefixtures("lighthouse")
@pytest.mark.parametrize("switch", ["pause", "surfacing", "search_intent"])
def test_a_silenced_prompt_leaves_nothing_for_later(home: Home, switch: str) -> None:
    store_finding(home, "cargo-1")
    if switch == "pause":
        state = State.open(home, 1_000)
        state.run("INSERT INTO pause VALUES (0, NULL)")
        state.close()
    else:
        configure(home, f"[{switch}]\nenabled = false\n")
    assert ask(home, "Which colour does the gradient of the button have?") == []
    state = State.open(home, 1_000)
    state.run("DELETE FROM pause")
    state.close()
    configure(home, "")
    assert call(home) == []
    assert (look(home).outcome, look(home).reason) == (MOVED_ON, "another prompt")


@pytest.mark.parametrize("max_chars", [MAX_EXCERPT, memory_questions.MAX_TEXT])
def test_a_model_is_shown_no_half_of_a_secret(make: Maker, max_chars: int) -> None:
    url = "postgres://admin:Sup3rSecretPw9911@db.example.com/prod"
    for cut in range(len(url)):
        assert "Sup3r" not in (masked_excerpt(make("y " * ((max_chars - cut) // 2) + url), max_chars) or "")


def test_it_goes_to_no_session_of_another_project(home: Home, store: Store, make: Maker) -> None:
    store.add([make("The relay needs 24 V.", id="theirs", project="git.example/theirs")])
    follow(home, store)
    store_finding(home, "theirs")
    assert call(home) == []
    assert look(home).outcome == MOVED_ON
