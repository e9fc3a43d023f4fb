"""The topics of a prompt: few, telling, whole, and none where nothing is asked about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.intent import keywords
from subcog_hooks.intent.keywords import MAX_TOPICS
from subcog_hooks.intent.topics import (
    LONGEST_TOPIC,
    MAX_ASKED,
    borrowed_topics,
    drop_pointing_words,
    extract_topics,
    follow_up_confidence,
    is_follow_up,
)
from subcog_hooks.store.sessions import LastPrompt

anything = st.text(st.characters(exclude_categories=()))


def of(prompt: str, rarity: dict[str, float] | None = None) -> tuple[str, ...]:
    """The topics of a prompt as it was typed; rarity: of the words that a store has, without a store None."""
    return extract_topics(
        keywords.read_prompt(prompt).words(), None if rarity is None else lambda word: rarity.get(word.lower())
    )


def test_the_telling_words_of_a_prompt() -> None:
    cases = [
        ("why does parse_args drop --timeout in src/cli/app.py?", ("parse_args", "src/cli/app.py", "drop", "timeout")),
        ("the useEffect in ProfileCard.tsx fires twice", ("useEffect", "ProfileCard.tsx", "twice", "fires")),
        ("is `Store::open()` safe since v2.17.0?", ("Store::open", "v2.17.0", "safe")),
        ("it ends with E0308 and exit code 101", ("E0308", "101", "ends", "exit", "code")),
        ("What did we decide about caching in the Gateway?", ("decide", "caching", "gateway")),
        # what many prompts say is left out or comes last
        ("what's the difference between redis and memcached", ("redis", "memcached")),
        ("how did the retry work last time", ("retry", "work", "time")),
        ("where's the retry", ("retry",)),
        ("wheres the retry", ("retry",)),
        ("why'd we take redis", ("redis",)),
        # a poor topic is better than none
        ("what's next?", ("next",)),
        ("what's the difference?", ("difference",)),
        ("what happens between them?", ("happens", "between")),
        # a contraction is no topic
        *((prompt, ()) for prompt in ("what's it?", "where's that", "how's it", "who's there", "when's it", "why'd you do it")),
        ("Redis, redis or REDIS?", ("redis",)),
        ("the first 20 rows", ("rows",)),
        ("why is it slow\n```\nlighthouse = Tide()\n```", ("slow",)),
        (f"decode {'x' * (LONGEST_TOPIC + 1)} for me", ("decode",)),
    ]
    assert [(prompt, found) for prompt, topics in cases if (found := of(prompt)) != topics] == []


def test_an_identifier_stays_whole_and_as_it_is_written() -> None:
    cases = ["parse_args", "MAX_READ", "useEffect", "XMLParser", "src/db.py", "Cargo.toml", "a::b", "OAuth2"]
    assert [actual for word in cases if (actual := of(f"where is {word} used by the importer?")[0]) != word] == []


def test_a_name_with_signs_stays_as_it_is_written() -> None:
    for word in ("C++", "C#", "F#", ".NET", "Node.js", ".env", ".github", ".github/workflows", "C", "R"):
        assert of(f"how do we build the importer with {word}?")[0] == of(f"the {word}, please")[0] == word


def test_words_of_the_store_come_first_and_rare_words_lead() -> None:
    prompt = "how do the webhook, the billing job and the lighthouse relate"
    assert of(prompt, {})[0] == "webhook"
    assert of(prompt, {"billing": 0.2, "lighthouse": 0.9})[:2] == ("lighthouse", "billing")


def test_an_identifier_comes_before_a_word_of_the_store() -> None:
    assert of("does the lighthouse call parse_args", {"lighthouse": 1.0})[:2] == ("parse_args", "lighthouse")


def test_the_error_that_was_pasted_has_topics() -> None:
    assert "ModuleNotFoundError" in of("Traceback (most recent call last):\nModuleNotFoundError: No module named 'discord'")
    assert "discord" in of("Traceback (most recent call last):\nModuleNotFoundError: No module named 'discord'")


def test_an_acknowledgement_has_none() -> None:
    cases = [
        *("ok", "Ok!", "thanks", "yes please", "go ahead", "perfect, thank you so much", "looks good to me", "sounds good"),
        *("do it", "lgtm", "continue", "\u597d\u7684", "\u306f\u3044", "", "?!", "/compact keep the names", "..."),
    ]
    assert [(prompt, actual) for prompt in cases if (actual := of(prompt)) != ()] == []


def test_the_rarity_of_a_long_prompt_is_asked_for_at_once() -> None:
    asked: list[str] = []

    def rarity(word: str) -> None:
        asked.append(word)

    extract_topics([f"word{number}" for number in range(1_000)], rarity)
    assert len(asked) == MAX_ASKED


@given(anything)
def test_any_text_has_at_most_five_topics_that_stand_in_it(text: str) -> None:
    words = keywords.read_prompt(text).words()
    topics = extract_topics(words)
    assert len(topics) <= MAX_TOPICS
    assert len({topic.lower() for topic in topics}) == len(topics)
    assert {topic.lower() for topic in topics} <= {word.lower() for word in words}
    assert all(len(topic) <= LONGEST_TOPIC for topic in topics)


@given(st.lists(st.sampled_from("lighthouse tide relay parse_args E0308 fix add the of".split()), max_size=12))
def test_the_order_is_that_of_the_prompt_among_equals(words: list[str]) -> None:
    topics = extract_topics(words)
    names = [word for word in dict.fromkeys(words) if word in {"parse_args", "E0308"}]
    plain = [word for word in dict.fromkeys(words) if word in {"lighthouse", "tide", "relay"}]
    assert list(topics[: len(names) + len(plain)]) == [*names, *plain][:MAX_TOPICS]


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
    assert drop_pointing_words(("other", "Redis", "second")) == ("Redis",)


@pytest.mark.parametrize(
    ("own", "earlier", "confidence"), [(0.3, 0.8, 0.8), (0.9, 0.8, 0.9), (0.3, 0.5, 0.5), (0.3, 0.49, 0.3), (0.7, 0.4, 0.7)]
)
def test_is_as_sure_as_the_prompt_before_if_that_was_sure_enough(own: float, earlier: float, confidence: float) -> None:
    assert follow_up_confidence(own, LastPrompt(("relay",), earlier), 0.5) == confidence
