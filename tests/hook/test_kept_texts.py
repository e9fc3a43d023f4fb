"""The stored texts of a prompt: no secrets, and none against the user's wish."""

from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.store import sessions
from subcog_hooks.store.state import State
from subcog_hooks.store.verdicts import INTENT, MAX_PROMPT, SPOKE
from tests.hook.recorded import ORDER, QUESTION, SECRET, Decide, configure, log_of, past_verdicts


def test_a_secret_is_masked_and_is_no_topic(decide: Decide, home: Home) -> None:
    verdict = decide(f"How does the lighthouse lamp relay take {SECRET} from the tide sensor?")
    assert verdict.prompt == "How does the lighthouse lamp relay take [redacted] from the tide sensor?"
    assert verdict.intent is not None
    assert "lighthouse" in verdict.intent.topics or "relay" in verdict.intent.topics
    assert_unknown(home, SECRET)


def test_of_a_prompt_that_may_hold_a_secret_nothing_is_kept(decide: Decide, home: Home) -> None:
    for text in (QUESTION + " password=hunter2xyz", QUESTION * 2_000 + " password=hunter2xyz"):
        verdict = decide(text)
        assert verdict.prompt is None
        assert verdict.intent is not None
        assert verdict.intent.topics == ()
    assert_unknown(home, "hunter2xyz")


def test_a_private_span_is_left_out_also_where_the_prompt_is_cut(decide: Decide, home: Home) -> None:
    verdict = decide(QUESTION + " <private>" + "the harbourmaster's XYZZY " * 400 + "</private> Thanks.")
    assert verdict.prompt is not None
    assert verdict.prompt.startswith(QUESTION)
    assert_unknown(home, "XYZZY")


def test_of_a_long_prompt_the_beginning_is_kept(decide: Decide) -> None:
    verdict = decide(QUESTION + " It blinks." * 1_000)
    assert verdict.prompt is not None
    assert len(verdict.prompt) == MAX_PROMPT


def assert_unknown(home: Home, text: str) -> None:
    """Assert that no file of the state has this text."""
    for suffix in ("", "-wal"):
        file = Path(home.state_db + suffix)
        assert not file.exists() or text.encode() not in file.read_bytes()


OFF_SWITCHES = [
    "[surfacing]\nlog_prompts = false\n",
    "[surfacing]\nlog_prompts = 'false'\n",
    "[surfacing]\nlog-prompts = false\n",
    "[surfacing\nlog_prompts = false\n",
]


@pytest.mark.parametrize("switch", OFF_SWITCHES)
def test_no_text_of_a_prompt_is_stored_against_the_users_wish(decide: Decide, home: Home, switch: str) -> None:
    configure(home, switch)
    for text in (QUESTION, ORDER, "/compact the lamp relay", "and the other one?"):
        verdict = decide(text)
        assert (verdict.prompt, verdict.borrowed) == (None, ())
        assert verdict.intent is None or (verdict.intent.topics, bool(verdict.intent.type)) == ((), True)
    for word in ("lighthouse", "relay", "sensor"):
        assert_unknown(home, word)


def test_what_was_kept_is_forgotten_at_the_next_prompt(decide: Decide, home: Home) -> None:
    for text in (QUESTION, ORDER):
        decide(text)
    configure(home, OFF_SWITCHES[0])
    decide("ok")
    kept = past_verdicts(home)
    assert [verdict.outcome for verdict in kept] == [INTENT, INTENT, SPOKE]
    assert [verdict.prompt for verdict in kept] == [None] * 3
    assert all(verdict.intent is not None and verdict.intent.topics == () for verdict in kept)
    assert kept[2].candidates
    assert sessions.find_last_prompt(State.open(home, 1_000), "s", kept[0].at_ms) is None


def test_a_project_can_not_switch_it_on(decide: Decide, home: Home, tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / ".subcog.toml").write_text("[surfacing]\nlog_prompts = true\n")
    configure(home, OFF_SWITCHES[0])
    assert decide(cwd=str(tmp_path / "shop")).prompt is None
    assert "surfacing.log_prompts is left to your own config.toml" in log_of(home)
