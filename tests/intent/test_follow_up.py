"""Follow-ups: prompts that continue the earlier one, and the topics they borrow."""

import pytest

from subcog_hooks.intent import keywords
from subcog_hooks.intent.follow_up import borrowed_topics, follow_up_confidence, is_follow_up, own_topics
from subcog_hooks.intent.topics import extract_topics
from subcog_hooks.store.sessions import LastPrompt

RELAY = LastPrompt(("lamp", "relay", "Tide"), 0.8)


def goes_on(prompt: str) -> bool:
    """Whether a prompt is a follow-up, as the hook reads it."""
    reading = keywords.read_prompt(prompt)
    return is_follow_up(reading.words(), extract_topics(reading.words()), reading.intent.confidence)


def test_goes_on_from_the_prompt_before() -> None:
    cases = [
        *("and the other one?", "And the second one?", "what about the second?", "What about redis", "how about the tests?"),
        *("ok, and in production?", "OK, and on Windows?", "hm, and the second", "and why is that?", "and what about redis?"),
        *("is there another one?", "what else?", "any others?", "does it hold for the second?", "same for the sensor"),
        *("same question for redis", "thanks! what about the first?", "and that one?"),
    ]
    assert [prompt for prompt in cases if not goes_on(prompt)] == []


def test_stands_for_itself() -> None:
    cases = [
        *("ok", "ok?", "thanks", "thanks!", "continue", "go on", "yes", "no", "looks good"),
        *("sounds good, thanks", "", "/clear"),
        *("and fix it", "and now commit", "and run the tests", "and push", "how about you open it and tell me"),
        *("why?", "really?", "are you sure?", "did it work?", "which one?", "is that the only one?", "the other one"),
        *("What is a thunk?", "Why does Go not have exceptions?", "What other companies use Go?", "When is the next release?"),
        *("what about the relay timeout in src/x.py?", "and how does the lamp relay use the tide sensor?"),
        *("и второй?", "和另一个?", "?", "and"),
    ]
    assert [prompt for prompt in cases if goes_on(prompt)] == []


def test_what_it_names_itself_is_not_borrowed() -> None:
    assert borrowed_topics(("tide",), RELAY) == ("lamp", "relay")
    assert borrowed_topics((), RELAY) == RELAY.topics


def test_words_that_only_point_are_no_topics() -> None:
    assert own_topics(("other", "Redis", "second")) == ("Redis",)


@pytest.mark.parametrize(
    ("own", "earlier", "confidence"), [(0.3, 0.8, 0.8), (0.9, 0.8, 0.9), (0.3, 0.5, 0.5), (0.3, 0.49, 0.3), (0.7, 0.4, 0.7)]
)
def test_is_as_sure_as_the_prompt_before_if_that_was_sure_enough(own: float, earlier: float, confidence: float) -> None:
    assert follow_up_confidence(own, LastPrompt(("relay",), earlier), 0.5) == confidence
