"""UserPromptSubmit inside one process: the memories that triggers and conditions bring."""

from collections.abc import Callable

import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import prompt_search
from subcog_hooks.recall import alike
from subcog_hooks.recall.hits import PATTERN, SEMANTIC
from subcog_hooks.store import sessions
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Mark
from subcog_hooks.store.verdicts import BAD, BELOW, INJECTED, INTENT, REPEATED, ROOM, SPOKE
from tests.conftest import Maker
from tests.hook.conftest import follow
from tests.hook.recorded import QUESTION, configure, configure_llm, log_of, outcomes, past_verdicts, printed_ids, respond
from tests.llm_server import LlmServer, says

Ask = Callable[..., list[str]]


ORDER = "ok, force push it"


@pytest.fixture
def remember(home: Home, store: Store, make: Maker) -> Callable[..., None]:
    def store_memory(id_: str, content: str = "Mind the gap.", **more: object) -> None:
        store.add([make(content, id=id_, **more)])
        follow(home, store)

    return store_memory


@pytest.fixture
def ask(home: Home, lighthouse: None, remember: Callable[..., None]) -> Ask:
    """Ask the hook, and return the printed ids. A trigger matches ORDER, another DEPLOY."""
    remember("push", "A force push needs a word in the channel first.", triggers=("force[- ]?push",))
    remember("freeze", "Look at the freeze calendar.", triggers=("deploy(ing)? to prod",), priority=50)

    def ask_hook(text: str = ORDER, session: str = "s", budget_ms: float = 5_000, **more: object) -> list[str]:
        return printed_ids(respond(home, text, session, deadline=Deadline(budget_ms), **more))

    return ask_hook


def test_without_time_for_a_search_what_is_triggered_comes_alone(ask: Ask, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    text = QUESTION + " We are deploying to prod."
    assert len(ask(text)) > 1
    monkeypatch.setattr(prompt_search, "RECALL_MS", 60_000.0)
    assert ask(text, session="late") == ["freeze"]
    assert past_verdicts(home)[0].strategies == (PATTERN,)
    assert "triggers and conditions alone: no time was left to search" in log_of(home)


def test_without_time_for_meaning_what_words_have_found_comes(ask: Ask, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(QUESTION)
    assert SEMANTIC in past_verdicts(home)[0].strategies
    monkeypatch.setattr(prompt_search, "AFTERWARDS_MS", 60_000.0)
    assert ask(QUESTION, session="late")
    verdict = past_verdicts(home)[0]
    assert (verdict.outcome, SEMANTIC in verdict.strategies) == (SPOKE, False)
    assert "semantic: no time was left for it" in (verdict.note or "")


def test_a_trigger_brings_its_memory_once_a_session(ask: Ask, home: Home) -> None:
    assert ask() == ["push"]
    assert ask() == []
    assert ask(session="another") == ["push"]
    second, first = past_verdicts(home)[1:]
    assert (first.outcome, first.strategies, first.injected) == (SPOKE, (PATTERN,), ("push",))
    assert (second.outcome, second.candidates) == (REPEATED, ())


def test_a_trigger_that_does_not_match_leaves_an_order_silent(ask: Ask, home: Home) -> None:
    assert ask("ok, push it by force") == []
    assert past_verdicts(home)[0].outcome == INTENT


def test_a_trigger_is_held_against_the_whole_prompt(ask: Ask) -> None:
    assert ask("commit this\n```\n" + "x = 1\n" * 5_000 + "```\n" + "forcepush " + "y = 2\n" * 2_000) == ["push"]


def test_a_question_gets_answers_and_triggered_memories(ask: Ask, home: Home) -> None:
    ids = ask(QUESTION + " We are deploying to prod.")
    assert "freeze" in ids
    assert {"first", "again"} & {*ids}
    verdict = past_verdicts(home)[0]
    ranks = {candidate.id: candidate.ranks for candidate in verdict.candidates}
    assert ranks["freeze"][PATTERN] == 1
    assert PATTERN in verdict.strategies


def test_the_bar_holds_for_triggered_but_not_pinned_memories(ask: Ask, remember: Callable[..., None], home: Home) -> None:
    remember("pinned", "Never on Fridays.", triggers=("force push",), priority=90)
    remember("imported", "Some other rule.", triggers=("force push",), priority=95, trust="import")
    assert ask(session="1") == ["pinned", "imported", "push"]
    configure(home, "[surfacing]\nmin_relevance = 0.95\n")
    assert ask(session="2") == ["pinned"]
    assert outcomes(past_verdicts(home)[0]) == {"pinned": INJECTED, "imported": BELOW, "push": BELOW}
    assert ask("commit this", session="3") == []


def test_five_pinned_memories_come_whatever_the_ceiling(ask: Ask, remember: Callable[..., None], home: Home) -> None:
    for number in range(7):
        remember(f"pin{number}", f"Rule {number} of the harbour. " * 10, triggers=("force push",), priority=100 - number)
    five = [f"pin{number}" for number in range(5)]
    assert ask(session="1") == five
    configure(home, "[surfacing]\nmax_memories = 1\n")
    assert ask(session="2") == five
    configure(home, "[surfacing]\nmax_characters = 250\n")
    assert ask(session="3") == ["pin0"]


def test_what_comes_next_makes_room_of_what_was_given(ask: Ask, remember: Callable[..., None]) -> None:
    for number in range(7):
        remember(f"pin{number}", f"Rule {number} of the harbour.", triggers=("force push",), priority=100 - number)
    assert [ask(), ask(), ask()] == [[f"pin{number}" for number in range(5)], ["pin5", "pin6", "push"], []]


def test_a_pinned_memory_comes_where_the_session_is_spent(ask: Ask, remember: Callable[..., None], home: Home) -> None:
    remember("pinned", "Never on Fridays.", triggers=("force push",), priority=90)
    state = State.open(home, 1_000)
    sessions.add_units(state, "spent", "", 12_000, 1)
    state.close()
    assert ask(session="spent") == ["pinned"]
    assert outcomes(past_verdicts(home)[0]) == {"pinned": INJECTED, "push": ROOM}


def test_a_memory_marked_bad_for_an_order_stays_away(ask: Ask, home: Home, store: Store) -> None:
    assert ask(session="1") == ["push"]
    terms = alike.terms_to_text(alike.prompt_terms(ORDER, LexicalIndex.open(home)))
    store.mark(Mark(store.get("push").seq, "d", terms, 1))
    assert ask(session="2") == []
    assert outcomes(past_verdicts(home)[0]) == {"push": BAD}
    assert ask("we use forcepush for the lighthouse keepers of the northern quay", session="3") == ["push"]


def test_a_veto_of_the_llm_does_not_hold_back_what_is_triggered(ask: Ask, home: Home) -> None:
    with LlmServer(says("none", 0.97)) as server:
        configure_llm(home, server, "[surfacing]", "min_relevance = 0.1")
        assert ask(QUESTION + " We are deploying to prod.") == ["freeze"]
    outcome_of = outcomes(past_verdicts(home)[0])
    assert (outcome_of["freeze"], outcome_of["first"]) == (INJECTED, INTENT)


def test_a_memory_is_handed_over_only_while_its_conditions_hold(ask: Ask, remember: Callable[..., None]) -> None:
    remember("both", "Rule two of the harbour.", triggers=("force push",), when={"permission_mode": "plan"})
    assert ask(permission_mode="plan", session="1") == ["both", "push"]
    assert ask(permission_mode="default", session="2") == ["push"]
    assert ask("ok", permission_mode="plan", session="3") == []


def test_conditions_hold_back_what_words_have_found(ask: Ask, remember: Callable[..., None]) -> None:
    remember("horn", "The foghorn of pier nine is tested on Mondays.", paths=("horn/**",), when={"permission_mode": "plan"})
    question = "When is the foghorn of pier nine tested?"
    assert "horn" in ask(question, permission_mode="plan", session="1")
    assert "horn" not in ask(question, permission_mode="default", session="2")
