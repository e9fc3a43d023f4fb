"""UserPromptSubmit inside one process: every setting changes the block, and no memory comes twice."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import StoreBusy
from subcog_hooks.core.paths import Home
from subcog_hooks.intent.classifier import COMPLETED
from subcog_hooks.intent.detector import DURATION
from subcog_hooks.recall import pipeline
from subcog_hooks.store import past_runs
from subcog_hooks.store.past_runs import Counter
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from tests import llm_server
from tests.conftest import Maker
from tests.hook.conftest import follow
from tests.hook.recorded import ORDER as OTHER_ORDER
from tests.hook.recorded import QUESTION, configure, configure_llm, log_of, printed_ids, respond
from tests.llm_server import LlmServer, says

Ask = Callable[..., list[str]]


ORDER = "rename the lighthouse lamp relay of the tide sensor"


@pytest.fixture
def ask(home: Home, store: Store, make: Maker, tmp_path: Path) -> Ask:
    """Ask the hook, and return the printed ids in order. Five memories answer QUESTION, less and less."""
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

    def ask_hook(text: str = QUESTION, session: str = "s", cwd: str | None = None) -> list[str]:
        return printed_ids(respond(home, text, session, cwd=cwd or str(tmp_path)))

    return ask_hook


def intent_metrics(home: Home) -> dict[str, float]:
    """Return the metrics of intents: their counts."""
    state = State.open(home, 1_000)
    values = {
        f"{metric.name}{{{metric.labels}}}": metric.value if isinstance(metric, Counter) else metric.count
        for metric in past_runs.read_metrics(state)
        if metric.name.startswith("search_intent")
    }
    state.close()
    return values


def test_what_answers_is_handed_over_once_a_session(ask: Ask) -> None:
    first = ask()
    assert first
    assert set(first) <= {"m0", "m1", "m2", "m3", "m4"}
    assert not set(first) & set(ask())
    assert ask(session="another") == ask(session="") == ask(session="") == first  # without a session no ledger is kept


def test_what_has_been_handed_over_makes_room_for_the_next_best(ask: Ask, home: Home) -> None:
    configure(home, "[surfacing]\nmin_relevance = 0.0\nmax_memories = 1\n")
    assert sorted(ask()[0] for _ in range(5)) == ["m0", "m1", "m2", "m3", "m4"]


def test_a_higher_bar_lets_less_through_and_a_lower_one_more(ask: Ask, home: Home) -> None:
    usual = len(ask("Where is the tide?", session="1"))
    configure(home, "[surfacing]\nmin_relevance = 0.0\n")
    assert len(ask("Where is the tide?", session="2")) > usual
    configure(home, "[surfacing]\nmin_relevance = 1.0\n")
    assert ask(session="3") == []


def test_the_number_of_memories_has_a_ceiling(ask: Ask, home: Home) -> None:
    configure(home, "[surfacing]\nmin_relevance = 0.0\nmax_characters = 9900\n")
    many = ask(session="1")
    configure(home, "[surfacing]\nmin_relevance = 0.0\nmax_characters = 9900\nmax_memories = 1\n")
    assert ask(session="2") == many[:1]
    assert len(many) > 1


def test_fewer_characters_show_less(ask: Ask, home: Home) -> None:
    configure(home, "[surfacing]\nmin_relevance = 0.0\nmax_characters = 250\n")
    assert len(ask(session="1")) < len(ask(session="2", cwd="/")) + 1
    assert len(json.loads(respond(home, session="3")[0])["hookSpecificOutput"]["additionalContext"]) <= 250


def test_a_project_or_the_user_may_switch_it_off(ask: Ask, home: Home, tmp_path: Path) -> None:
    (tmp_path / "quiet" / ".git").mkdir(parents=True)
    (tmp_path / "quiet" / ".subcog.toml").write_text("[surfacing]\nenabled = false\n")
    assert ask(session="1", cwd=str(tmp_path / "quiet")) == []
    assert ask(session="2")
    configure(home, "[surfacing]\nenabled = false\n")
    assert ask(session="3") == []


def test_faults_of_a_settings_file_are_logged_once_it_is_read(ask: Ask, home: Home) -> None:
    configure(home, "[surfacing]\nmin_relevance = 7\n")
    assert ask()
    assert "config.toml line 2: surfacing.min_relevance is 7" in log_of(home)


def test_two_hooks_at_once_hand_a_memory_over_once(ask: Ask, home: Home) -> None:
    given: list[str] = []
    threads = [threading.Thread(target=lambda: given.extend(ask())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(given) == len(set(given)) > 0


def test_a_silent_prompt_waits_for_no_writer(ask: Ask, home: Home) -> None:
    for text in ("ok", OTHER_ORDER, "How do the moons of Jupiter move?"):
        assert ask(text) == []
        before = intent_metrics(home)
        other = State.open(home, 100)
        other.begin()
        deadline = Deadline(60_000)
        for _ in range(3):
            assert respond(home, text, deadline=deadline) == []
        assert deadline.left_ms() > 30_000
        assert not os.path.exists(home.log)
        other.commit()
        assert intent_metrics(home) == before
        assert ask(text) == []
        assert intent_metrics(home) != before


def test_each_prompt_is_counted_once(ask: Ask, home: Home) -> None:
    for number, text in enumerate(("ok", "make it blue", OTHER_ORDER, "How do the moons of Jupiter move?", QUESTION), 1):
        assert bool(ask(text)) == (text == QUESTION)
        assert intent_metrics(home) == {f'{DURATION}{{source="keyword"}}': number}


def test_a_word_in_the_prompt_asks_for_silence(ask: Ask) -> None:
    assert ask(QUESTION + " [nomem]") == []
    assert ask()


def test_half_a_surrogate_pair_in_a_prompt_does_no_harm(ask: Ask) -> None:
    assert ask(QUESTION + " \ud83d")


def test_a_prompt_below_min_confidence_is_silent(ask: Ask, home: Home) -> None:
    configure(home, "[search_intent]\nmin_confidence = 1.0\n")
    assert ask() == []
    configure(home, "[search_intent]\nmin_confidence = 0.2\n")
    assert ask()


def test_intents_can_be_switched_off(ask: Ask, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(home, "[search_intent]\nenabled = false\n")
    assert ask() == []
    assert intent_metrics(home) == {}
    monkeypatch.setenv("SUBCOG_SEARCH_INTENT_ENABLED", "true")  # a variable, which a repository may have set, only tightens
    assert ask() == []
    configure(home, "")
    assert ask(session="1")
    monkeypatch.setenv("SUBCOG_SEARCH_INTENT_ENABLED", "false")
    assert ask(session="2") == []


@pytest.fixture
def ask_anew(ask: Ask, home: Home) -> Ask:
    """Ask the hook without stored answers of an LLM."""

    def ask_hook(text: str = QUESTION, session: str = "s") -> list[str]:
        if Path(home.state_db).exists():
            apsw.Connection(home.state_db).execute("DELETE FROM llm_answers")
        return ask(text, session)

    return ask_hook


@pytest.fixture
def llm(home: Home) -> Iterator[LlmServer]:
    """Yield an LLM that is asked about every prompt."""
    with LlmServer(llm_server.fails(500)) as server:
        configure_llm(home, server)
        yield server


def test_a_more_certain_intent_lets_more_memories_in(ask_anew: Ask, home: Home, llm: LlmServer) -> None:
    configure_llm(home, llm, "[surfacing]", "min_relevance = 0.0", "max_characters = 9900")
    llm.play(says("howto", 0.5), says("howto", 0.9))
    assert [len(ask_anew(session=session)) for session in ("1", "2")] == [3, 5]


def remember_buoys(store: Store, make: Maker) -> None:
    """Store two memories of the same words, which only their namespaces tell apart."""
    store.add([make("Buoys are painted on land by hand.", id="patterns", namespace="patterns")])
    store.add([make("By hand, buoys are painted on land.", id="config", namespace="config")])


def test_the_type_alone_changes_what_is_handed_over(
    ask_anew: Ask, home: Home, llm: LlmServer, store: Store, make: Maker
) -> None:
    remember_buoys(store, make)
    follow(home, store)
    configure_llm(home, llm, "[surfacing]", "min_relevance = 0.0", "max_memories = 1")
    llm.play(says("howto", 0.9), says("location", 0.9), says("howto", 0.9))
    given = [ask_anew("buoys painted on land", session=session) for session in ("1", "2", "3")]
    assert given == [["patterns"], ["config"], ["patterns"]]


def test_a_signal_for_another_type_changes_what_is_handed_over(ask: Ask, home: Home, store: Store, make: Maker) -> None:
    remember_buoys(store, make)
    follow(home, store)
    configure(home, "[surfacing]\nmin_relevance = 0.0\nmax_memories = 1\n")
    assert ask("How do we paint buoys?", session="1") == ["patterns"]
    assert ask("Where do we paint buoys?", session="2") == ["config"]


@pytest.mark.parametrize("text", [ORDER, "Lighthouse relay"])
def test_with_unclear_words_a_memory_needs_twice_the_relevance(ask: Ask, home: Home, text: str) -> None:
    assert ask(text, session="1") != []
    configure(home, "[surfacing]\nmin_relevance = 0.49\n")
    assert ask(text, session="2") == []
    configure(home, "[surfacing]\nmin_relevance = 0.49\n[search_intent]\nmin_confidence = 0.1\n")
    assert ask(text, session="3") != []


def test_a_late_yes_finds_what_the_words_alone_did_not_ask_for(ask: Ask, home: Home, llm: LlmServer) -> None:
    with open(home.config, "a", encoding="utf-8") as file:
        file.write("[surfacing]\nmin_relevance = 0.45\n")
    without = ask(ORDER)
    llm.play(says("troubleshoot", 0.95))
    assert without == []
    assert set(ask(ORDER)) & {"m0", "m1", "m2", "m3", "m4"}


def test_a_no_that_is_surer_than_the_words_silences_a_question(ask_anew: Ask, llm: LlmServer) -> None:
    llm.play(says("none", 0.97), says("none", 0.6), says("none", 0.2))
    assert ask_anew() == []
    assert ask_anew()
    assert ask_anew(session="another")


NO_TYPE = "the lighthouse lamp relay of the tide sensor"


def test_an_unsure_answer_takes_nothing_from_a_prompt_of_no_type(ask_anew: Ask, llm: LlmServer) -> None:
    llm.play(llm_server.fails(500), says("none", 0.9), says("none", 0.4), says("howto", 0.4), says("howto", 0.1))
    given = [ask_anew(NO_TYPE, session=str(number)) for number in range(5)]
    assert given[0]
    assert given[1] == []
    assert all(set(ids) <= set(given[0]) and ids for ids in given[2:])


def test_acknowledgements_and_secrets_are_not_sent_to_an_llm(ask: Ask, home: Home, llm: LlmServer) -> None:
    llm.play(llm_server.never())
    for number, text in enumerate(("ok", "thanks!", "go on", "make it blue"), 1):
        assert ask(text) == []
        assert intent_metrics(home) == {f'{DURATION}{{source="keyword"}}': number}
    assert ask(QUESTION + " password=hunter2")
    assert llm.requests == []


def test_a_failed_second_recall_leaves_the_first_answer(
    ask_anew: Ask, home: Home, llm: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm.play(says("howto", 0.95), says("howto", 0.95, ["QXYZZY"]))
    first = ask_anew(session="1")
    recall = pipeline.recall_for_prompt

    def failing(text: str, *others: Any, **more: Any) -> Any:
        if "QXYZZY" in text:
            raise StoreBusy("memories.db is locked")
        return recall(text, *others, **more)

    monkeypatch.setattr(pipeline, "recall_for_prompt", failing)
    assert ask_anew(session="2") == first != []
    assert "recall with the topics of the LLM: memories.db is locked" in log_of(home)
    assert intent_metrics(home)[f'{COMPLETED}{{status="success"}}'] == 2


def test_topics_of_the_llm_find_what_the_words_do_not(ask_anew: Ask, home: Home, llm: LlmServer) -> None:
    llm.play(says("howto", 0.95))
    assert ask_anew("Why is it broken again?") == []
    llm.play(says("howto", 0.95, ["lighthouse lamp relay", "tide sensor"]))
    assert "m0" in ask_anew("Why is it broken again?")
    busy = Deadline(0.0, work_ms=5_000.0)  # The answer is cached now, and nothing is left for waiting.
    assert "m0" in printed_ids(respond(home, "Why is it broken again?", "another", deadline=busy))


@pytest.mark.parametrize("text", [QUESTION, ORDER, "Where is the tide sensor?", "the lamp relay needs how many volts"])
def test_an_llm_that_fails_takes_nothing_away(ask: Ask, home: Home, llm: LlmServer, text: str) -> None:
    given = ask(text, session="1")
    configure(home, "[search_intent]\nuse_llm = false\n")
    assert ask(text, session="2") == given
    assert len(llm.requests) == 1


def test_what_an_llm_failed_at_goes_to_the_log(ask: Ask, home: Home, llm: LlmServer) -> None:
    assert ask()
    assert f"the LLM: {llm.url_v1} answered 500" in log_of(home)


def test_a_wrong_provider_is_logged_and_words_are_answered(ask: Ask, home: Home) -> None:
    llm = '[llm]\nprovider = "openai"\nbase_url = "http://localhost:1/v1"\n'
    configure(home, f"{llm}[search_intent]\nllm_skip_confidence = 1.0\n")
    assert ask()
    assert "no LLM is asked: llm.model is not set" in log_of(home)
