"""UserPromptSubmit inside one process: every setting changes what is handed over, and nothing is handed over twice."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from subcog_hooks.deadline import Deadline
from subcog_hooks.errors import StoreBusy
from subcog_hooks.hooks import prompt
from subcog_hooks.memory.store import Store
from subcog_hooks.paths import Home
from subcog_hooks.state import State
from tests.conftest import Maker
from tests.hooks.conftest import follow

Ask = Callable[..., list[str]]
QUESTION = "How does the lighthouse lamp relay work with the tide sensor?"


@pytest.fixture
def ask(home: Home, store: Store, make: Maker, tmp_path: Path) -> Ask:
    """Asks the hook; the ids that it hands over, in order. Five memories answer QUESTION, less and less."""
    texts = [
        "The lighthouse lamp relay is driven by the tide sensor.",
        "Replace the lighthouse lamp relay when the tide sensor reports drift.",
        "The tide sensor of the lighthouse feeds the lamp relay through a debounce of 300 ms, measured twice. " * 4,
        "A lamp relay of the lighthouse tide sensor needs 24 V.",
        "Spare lamp relay parts for the lighthouse tide sensor are in the shed.",
    ]
    store.add([make(text, id=f"m{i}") for i, text in enumerate(texts)])
    store.add([make(f"Notes on cargo number {i} and its papers.") for i in range(50)])
    follow(home, store)

    def asked(text: str = QUESTION, session: str = "s", cwd: str | None = None) -> list[str]:
        written: list[bytes] = []
        payload: dict[str, object] = {"prompt": text, "session_id": session, "cwd": cwd or str(tmp_path)}
        prompt.respond(payload, home, written.append, Deadline(5_000))
        assert len(written) <= 1
        if not written:
            return []
        context = json.loads(written[0])["hookSpecificOutput"]["additionalContext"]
        return [line.split("]")[0].split()[-1] for line in context.splitlines()[1:-1]]

    return asked


def configure(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    Path(path).write_text(text)


def test_what_answers_is_handed_over_once_a_session(ask: Ask) -> None:
    first = ask()
    assert first
    assert set(first) <= {"m0", "m1", "m2", "m3", "m4"}
    second = ask()
    assert not set(first) & set(second)
    assert ask(session="another") == first


def test_what_has_been_handed_over_makes_room_for_the_next_best(ask: Ask, home: Home) -> None:
    configure(home.config, "[surfacing]\nmin_relevance = 0.0\nmax_memories = 1\n")
    assert sorted(ask()[0] for _ in range(5)) == ["m0", "m1", "m2", "m3", "m4"]


def test_without_a_session_nothing_is_remembered_of_what_was_given(ask: Ask) -> None:
    assert ask(session="") == ask(session="")


def test_surfacing_can_be_switched_off(ask: Ask, home: Home) -> None:
    configure(home.config, "[surfacing]\nenabled = false\n")
    assert ask() == []


def test_a_higher_bar_lets_less_through_and_a_lower_one_more(ask: Ask, home: Home) -> None:
    usual = len(ask("the lighthouse tide", session="1"))
    configure(home.config, "[surfacing]\nmin_relevance = 0.0\n")
    assert len(ask("the lighthouse tide", session="2")) > usual
    configure(home.config, "[surfacing]\nmin_relevance = 1.0\n")
    assert ask(session="3") == []


def test_the_number_of_memories_has_a_ceiling(ask: Ask, home: Home) -> None:
    configure(home.config, "[surfacing]\nmin_relevance = 0.0\nmax_characters = 9900\n")
    many = ask(session="1")
    configure(home.config, "[surfacing]\nmin_relevance = 0.0\nmax_characters = 9900\nmax_memories = 1\n")
    assert ask(session="2") == many[:1]
    assert len(many) > 1


def test_a_more_certain_intent_lets_more_memories_in(ask: Ask, home: Home) -> None:
    configure(home.config, "[surfacing]\nmin_relevance = 0.0\nmax_characters = 9900\n")
    unsure = ask("lighthouse lamp relay tide sensor", session="1")
    sure = ask("remind me how does the lighthouse lamp relay work, why is the tide sensor error there", session="2")
    assert (len(unsure), len(sure)) == (3, 5)


def test_fewer_characters_show_less(ask: Ask, home: Home) -> None:
    configure(home.config, "[surfacing]\nmin_relevance = 0.0\nmax_characters = 250\n")
    assert len(ask(session="1")) < len(ask(session="2", cwd="/")) + 1
    written: list[bytes] = []
    prompt.respond({"prompt": QUESTION, "session_id": "3", "cwd": "/"}, home, written.append, Deadline(5_000))
    assert len(json.loads(written[0])["hookSpecificOutput"]["additionalContext"]) <= 250


def test_a_project_may_tune_its_own_sessions(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "quiet" / ".git").mkdir(parents=True)
    configure(str(tmp_path / "quiet" / ".subcog.toml"), "[surfacing]\nenabled = false\n")
    assert ask(session="1", cwd=str(tmp_path / "quiet")) == []
    assert ask(session="2")


def test_what_is_wrong_in_a_settings_file_goes_to_the_log_once_it_is_read(ask: Ask, home: Home) -> None:
    configure(home.config, "[surfacing]\nmin_relevance = 7\n")
    assert ask()
    assert "config.toml line 2: surfacing.min_relevance is 7" in Path(home.log, "hook.log").read_text()


def test_a_pause_silences_until_it_ends(ask: Ask, home: Home) -> None:
    state = State.open(home, 100)
    state.pause(None)
    assert ask() == []
    state.resume(0)
    assert ask()


def test_two_hooks_of_one_session_at_once_do_not_both_hand_a_memory_over(ask: Ask, home: Home) -> None:
    given: list[str] = []
    threads = [threading.Thread(target=lambda: given.extend(ask())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(given) == len(set(given)) > 0


def test_a_ledger_that_can_not_be_locked_keeps_the_hook_silent(ask: Ask, home: Home) -> None:
    state = State.open(home, 100)
    state.begin()
    written: list[bytes] = []
    with pytest.raises(StoreBusy):
        prompt.respond({"prompt": QUESTION, "session_id": "s", "cwd": "/"}, home, written.append, Deadline(30))
    assert written == []


@pytest.mark.parametrize("text", [None, 3, "", "ok", "/clear", "make it blue"])
def test_prompts_that_ask_for_nothing_do_not_even_open_the_state(home: Home, store: Store, text: object) -> None:
    prompt.respond({"prompt": text, "session_id": "s"}, home, lambda _: pytest.fail("spoke"), Deadline(5_000))
    assert not os.path.exists(home.state_db)


def test_without_a_store_nothing_is_made(home: Home) -> None:
    prompt.respond({"prompt": QUESTION, "session_id": "s"}, home, lambda _: pytest.fail("spoke"), Deadline(5_000))
    assert not os.path.exists(home.root)


def test_a_word_in_the_prompt_asks_for_silence(ask: Ask) -> None:
    assert ask(QUESTION + " [nomem]") == []
    assert ask()


def test_half_a_surrogate_pair_in_a_prompt_does_no_harm(ask: Ask) -> None:
    assert ask(QUESTION + " \ud83d")


def test_a_damaged_ledger_is_made_anew_at_once(ask: Ask, home: Home) -> None:
    first = ask()
    for suffix in ("", "-wal"):
        if os.path.exists(home.state_db + suffix):
            with open(home.state_db + suffix, "r+b") as file:
                file.seek(4096)
                file.write(b"\xff" * 60_000)
    prompt._left_open.clear()
    assert ask() == first
