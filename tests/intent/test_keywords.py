"""The keyword gate: what asks for something, and what does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.intent import keywords


@pytest.mark.parametrize(
    ("prompt", "type_"),
    [
        ("How do we deploy to staging?", "howto"),
        ("where is the retry logic", "location"),
        ("What is the difference between the two queues?", "comparison"),
        ("tests are failing with exit code 101", "troubleshoot"),
        ("I'm stuck on this async code", "troubleshoot"),
        ("Traceback (most recent call last):\n  File x", "troubleshoot"),
        ("what does the outbox table hold", "explanation"),
        ("remind me, did we pick PKCE?", "general"),
        ("refactor the allocation service into two modules", "general"),
        ("認証の仕組み", "general"),
        ("/usr/lib/x.so is not found, why does the loader fail", "troubleshoot"),
    ],
)
def test_a_prompt_that_asks_has_a_type_and_passes_the_bar(prompt: str, type_: str) -> None:
    intent = keywords.detect(prompt)
    assert (intent.type, intent.confidence >= 0.5) == (type_, True)


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "   \n",
        "ok",
        "Thanks!",
        "yes, please",
        "go on",
        "make it blue",
        "commit this and push the branch",
        "rename foo to bar",
        "fix the typo",
        "ok thanks, now commit and push everything",
        "好的",
        "please run the tests",
        "/clear",
        "/compact keep the names",
        "!ls -la",
        "# remember this",
        "<task-notification>\n<task-id>b1</task-id> failed with an error",
        "<command-name>/cost</command-name>",
        "[Request interrupted by user]",
        "This session is being continued from a previous conversation that ran out of context.",
        "hm",
    ],
)
def test_a_prompt_that_asks_for_nothing_stays_under_the_bar(prompt: str) -> None:
    assert keywords.detect(prompt).confidence < 0.5


def test_asking_for_what_was_decided_raises_the_confidence() -> None:
    plain = keywords.detect("how do tokens refresh")
    seeking = keywords.detect("how did we decide that tokens refresh")
    assert seeking.confidence > plain.confidence


@given(st.text())
def test_any_text_has_an_intent_of_some_confidence(text: str) -> None:
    intent = keywords.detect(text)
    assert 0.0 <= intent.confidence <= keywords.MAX_CONFIDENCE
    assert (intent.type == "none") == (intent.confidence == 0.0)


def test_of_a_long_prompt_head_and_tail_are_read() -> None:
    middle = "x " * 4000
    assert keywords.detect(middle + " why does it crash").type == "troubleshoot"
    assert len(keywords.ends_of(middle)) == 2 * keywords.MAX_READ + 1
