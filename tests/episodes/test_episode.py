"""How an episode is cut from the turns of a session: the words asked, the outcome, errors and their fixes, files."""

import os
from collections.abc import Sequence

import pytest

from subcog_hooks.episodes.episode_store import failure_key
from subcog_hooks.episodes.reading import MAX_ASKED, MAX_OUTCOME, Episode, cut_episodes, is_reply, read_asked, read_outcome
from subcog_hooks.learn.turn_scores import AgentWork, Before, MadeCall, TypedTurn

FAILED = "FAILED tests/test_cart.py::test_total\nE   KeyError: 'currency of the cart is missing'"
KEY = failure_key("KeyError: 'currency of the cart is missing'")
TOKEN = "ghp_" + "k7Qz" * 9


def turn(text: str, closing: str = "Done here.", *calls: MadeCall, uuid: str = "", at_ms: int = 0) -> TypedTurn:
    work = AgentWork(closing, f"{uuid}-reply", list(calls))
    return TypedTurn(text, Before(), uuid=uuid, session="s", at_ms=at_ms, folder="/shop", work=work)


def call(tool: str, path: str = "", command: str = "", failure: str = "") -> MadeCall:
    return MadeCall(tool, path, command, failure, changed=tool == "Edit", has_ended=True)


def cut(turns: Sequence[TypedTurn]) -> list[Episode]:
    return list(cut_episodes(turns, "claude", lambda folder: folder, lambda folder, path: os.path.relpath(path, folder)))


def test_typed_words_are_kept_without_code_and_logs() -> None:
    table = (
        ("Why is the cart empty?", "Why is the cart empty?"),
        ("Why?\n```python\nprint(cart)\n```", "Why?"),
        ("getting this:\n```\nTypeError: x is undefined\n```", "getting this: TypeError: x is undefined"),
        (f"push with {TOKEN} please", "push with [redacted: GitHub Token] please"),
        ("the code is <private>4711</private>, use it", "the code is , use it"),
    )
    assert [read_asked(text) for text, _ in table] == [asked for _, asked in table]
    assert len(read_asked("word " * 1_000)) <= MAX_ASKED


def test_outcomes_lose_narration_offers_code_and_secrets() -> None:
    table = (
        ("The key lacked the locale.", "The key lacked the locale."),
        ("Let me look at the cache.\n\nThe key lacked the locale.", "The key lacked the locale."),
        ("Great! The key lacked the locale. Would you like me to add a test?", "The key lacked the locale."),
        ("The key is fixed:\n```py\nkey = locale\n```\n- **Locale** is part of it.", "The key is fixed: Locale is part of it."),
        (f"I pushed with {TOKEN}.", "I pushed with [redacted: GitHub Token]."),
        ("It says <private>\n```\nsecret words\n```\n</private> so.", "It says so."),
        ("Perfect!", ""),
    )
    assert [read_outcome(text) for text, _ in table] == [outcome for _, outcome in table]
    assert len(read_outcome("The cause was this. " * 200)) <= MAX_OUTCOME


def test_agreement_belongs_to_the_turn_before() -> None:
    asked = turn("Add a discount", "I would add a column. Shall I?", uuid="u1", at_ms=1)
    agreed = turn("yes, go on", "The column discount is there.", uuid="u2", at_ms=2)
    (episode, other) = cut([asked, agreed, turn("And now the docs", uuid="u3", at_ms=3)])
    assert (episode.asked, other.asked) == ("Add a discount", "And now the docs")
    assert "The column discount is there." in episode.outcome
    assert episode.rows == ("u1", "u2", "u1-reply", "u2-reply")
    assert (episode.position, other.position) == (0, 1)


@pytest.mark.parametrize("text", ["yes", "ok thanks", "please continue", "1", "好的"])
def test_replies_are_known(text: str) -> None:
    assert is_reply(text)
    assert not is_reply(f"{text}, with pnpm")


def test_a_failure_is_past_when_its_call_succeeds() -> None:
    failing, passing = call("Bash", command="pytest -q tests", failure=FAILED), call("Bash", command="cd /shop && pytest -x")
    edit = call("Edit", path="/shop/src/cart.py")
    table = (
        ([failing], ""),
        ([failing, edit], ""),
        ([failing, edit, passing], "a change of cart.py"),
        ([failing, call("Bash", command="pip install money"), passing], "`pip install money`"),
        ([failing, edit, call("Bash", command="ls tests")], ""),
        ([failing, edit, passing, failing], ""),
        ([failing, edit, call("Bash", command="pytest", failure="E   KeyError: another thing entirely is missing")], ""),
    )
    for calls, fix in table:
        (episode,) = cut([turn("fix the tests", "The cart has a currency.", *calls, at_ms=1)])
        assert episode.failures[KEY] == fix


def test_a_later_turn_gets_past_the_failure_of_an_earlier_one() -> None:
    first = turn("run it", "It fails.", call("Bash", command="pytest", failure=FAILED), at_ms=1)
    fix = turn("add it then", "Added.", call("Edit", path="/shop/src/cart.py"), call("Bash", command="pytest"), at_ms=2)
    failed, fixed = cut([first, fix])
    assert next(iter(failed.failures.values())) == "a change of cart.py"
    assert (fixed.failures, fixed.files) == ({}, ("src/cart.py",))


def test_a_pasted_failure_is_past_when_the_next_turn_has_another() -> None:
    pasted = f"why?\n```\n{FAILED}\n```"
    first = turn(pasted, "The currency is set now.", call("Edit", path="/shop/src/cart.py"), at_ms=1)
    for following, fix in (("thanks, now the docs", "a change of cart.py"), (pasted, "")):
        failed, _ = cut([first, turn(following, at_ms=2)])
        assert {*failed.failures.values()} == {fix}


def test_failure_keys_ignore_what_differs_between_runs() -> None:
    same = (
        "2026-03-02 10:00:01 ERROR connection to 10.0.0.7:5432 was refused by host",
        "ERROR connection to was refused by host",
    )
    assert len({failure_key(line) for line in same}) == 1
    wrappers = ("BUILD FAILED in 3s", "Error: Process exited with code 1", "Command failed", "FAILED (errors=2)", "")
    assert {failure_key(line) for line in wrappers} == {""}


def test_a_fork_of_a_session_has_the_same_episode() -> None:
    (first,) = cut([turn("Why is the cart empty?", uuid="u1", at_ms=5)])
    (fork,) = cut([turn("Why is the cart empty?", uuid="u9", at_ms=5)])
    assert first.id == fork.id
