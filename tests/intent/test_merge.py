"""The merge of keywords and LLM: S0's table row by row, and its invariants."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcog_hooks.intent import classifier
from subcog_hooks.intent.classifier import merge_intents
from subcog_hooks.intent.keywords import (
    GENERAL,
    HOWTO,
    HYBRID,
    KEYWORD,
    LLM,
    LOCATION,
    MAX_CONFIDENCE,
    MAX_TOPICS,
    NONE,
    TROUBLESHOOT,
    TYPES,
    Intent,
)

MIN = 0.5

shares = st.floats(0.0, 1.0).map(lambda share: round(share, 4))
words = st.lists(st.sampled_from(["rust", "Rust", "error", "tokio", "async", "panic", "straße", "STRASSE", "db"]), max_size=5)
intents = st.builds(
    lambda kind, confidence, topics: Intent(kind, min(confidence, MAX_CONFIDENCE), tuple(topics), ("a signal",)),
    st.sampled_from(TYPES),
    shares,
    words,
)
answers = st.builds(
    lambda kind, confidence, topics: Intent(kind, confidence, tuple(topics)), st.sampled_from(TYPES), shares, words
)


def merge(keyword: Intent | None, answer: Intent | None = None, *, attempted: bool = True) -> Intent:
    return merge_intents(keyword, answer, attempted=attempted, min_confidence=MIN)


def howto(confidence: float, *topics: str) -> Intent:
    return Intent(HOWTO, confidence, topics)


def fields_of(result: Intent) -> tuple[object, ...]:
    return (result.type, result.confidence, result.topics, result.keywords, result.source, result.row)


SOME, SURE = 0.7, 0.8


@pytest.mark.parametrize(
    ("theirs", "ours", "confidence", "topics", "expected", "row"),
    [
        (("rust", "error"), ("rust", "error"), SOME, ("rust", "error"), 0.8, classifier.MATCH),
        (("async", "tokio"), ("rust",), SOME, ("async", "tokio", "rust"), 0.7, classifier.DIFFER),
        (("database",), (), SOME, ("database",), 0.7, classifier.NO_KEYWORD_TOPICS),
        (None, ("rust", "panic"), SOME, ("rust", "panic"), 0.6, classifier.FAILED),
        (None, ("how to", "example"), SURE, ("how to", "example"), 0.8, classifier.FAILED_SURE),
        ((), (), SOME, (), 0.0, classifier.NOTHING),
        (None, (), SURE, (), 0.0, classifier.NOTHING),
        ((), ("rust",), SOME, ("rust",), 0.7, classifier.NO_LLM_TOPICS),
    ],
)
def test_the_table_of_s0(
    theirs: tuple[str, ...] | None, ours: tuple[str, ...], confidence: float, topics: tuple[str, ...], expected: float, row: str
) -> None:
    result = merge(howto(confidence, *ours), None if theirs is None else Intent(HOWTO, SOME, theirs))
    assert (result.topics, result.confidence, result.row) == (topics, expected, row)
    assert result.type == (HOWTO if topics else NONE)


# confidence and type


def test_the_llm_weighs_seven_tenths_half_shared_topics_more() -> None:
    cases = [
        ("rust error", "RUST Error", 0.1),
        ("rust error", "rust", 0.1),  # one of two
        ("rust error tokio", "rust tokio db", 0.1),  # two of four
        ("rust error tokio", "rust", 0.0),  # one of three
        ("rust", "error", 0.0),
    ]
    for theirs, ours, bonus in cases:
        result = merge(howto(0.4, *ours.split()), Intent(HOWTO, 0.8, tuple(theirs.split())))
        assert result.confidence == pytest.approx(0.7 * 0.8 + 0.3 * 0.4 + bonus)
        assert result.certainty == result.confidence


def test_nothing_is_surer_than_the_cap() -> None:
    answer = Intent(HOWTO, 1.0, ("a",))
    assert [merge(keyword, answer).confidence for keyword in (howto(0.95, "a"), None)] == [MAX_CONFIDENCE] * 2


def test_a_failed_llm_costs_a_tenth_but_never_the_threshold() -> None:
    cases = {0.95: 0.95, 0.8: 0.8, 0.79: 0.69, 0.6: 0.5, 0.55: 0.5, 0.5: 0.5, 0.49: 0.39, 0.05: 0.0}
    assert {before: merge(howto(before, "a")).confidence for before in cases} == cases
    assert {before: merge(howto(before, "a")).certainty for before in cases} == {before: before for before in cases}
    unasked = merge(howto(0.6, "a"), attempted=False)
    assert (unasked.confidence, unasked.row) == (0.6, classifier.NOT_ASKED)


def test_the_llm_decides_the_type_from_min_confidence_on() -> None:
    cases = [
        (howto(0.6, "a"), TROUBLESHOOT, MIN, TROUBLESHOOT, 0.53),
        (howto(0.7, "a"), NONE, 0.9, NONE, 0.28),  # a sure no silences the words
        (Intent(NONE, 0.1, ("b",)), TROUBLESHOOT, 0.9, TROUBLESHOOT, 0.76),  # and a yes overrules words that found nothing
    ]
    for keyword, kind, confidence, expected, merged in cases:
        intent = merge(keyword, Intent(kind, confidence, ("b", "c")))
        assert (intent.type, intent.confidence, intent.source) == (expected, merged, HYBRID)


@pytest.mark.parametrize("kind", [NONE, GENERAL, HOWTO])
def test_an_unsure_answer_adds_its_topics_and_nothing_else(kind: str) -> None:
    for keyword in (howto(0.7, "a"), Intent(NONE, 0.1, ("a",))):
        result = merge(keyword, Intent(kind, 0.49, ("b",)))
        assert (result.type, result.confidence) == (keyword.type, keyword.confidence)
        assert result.certainty == keyword.confidence
        assert (result.topics, result.source, result.row) == (("b", "a"), HYBRID, classifier.UNSURE)


def test_a_veto_is_a_none_that_the_llm_is_sure_of() -> None:
    kinds = [(NONE, 0.9, True), (NONE, MIN, True), (NONE, 0.49, False), (HOWTO, 0.9, False), (GENERAL, 0.45, False)]
    for keyword in (None, howto(0.9, "a"), Intent(NONE, 0.6, ("a",))):
        for kind, confidence, is_vetoed in kinds:
            assert merge(keyword, Intent(kind, confidence, ("a",))).is_vetoed is is_vetoed
        assert not merge(keyword).is_vetoed


# where one side is missing


def test_an_answer_stands_alone_without_a_keyword_result() -> None:
    result = merge(None, Intent(LOCATION, 0.6, ("db",)))
    assert fields_of(result)[:5] == (LOCATION, 0.6, ("db",), (), LLM)
    assert merge(None, Intent(NONE, 0.6, ("db",))).confidence == 0.4


def test_the_words_have_topics_also_where_they_say_nothing() -> None:
    for theirs, words, topics in ((("db",), ("tokio", "DB"), ("db", "tokio")), ((), ("tokio",), ("tokio",))):
        answer = Intent(LOCATION, 0.6, theirs)
        intent = merge_intents(None, answer, attempted=True, min_confidence=MIN, words=words)
        assert (intent.type, intent.topics, intent.confidence, intent.source) == (LOCATION, topics, 0.6, LLM)


def test_of_nothing_comes_none_and_signals_are_passed_on() -> None:
    for attempted in (True, False):
        assert fields_of(merge(None, attempted=attempted))[:5] == (NONE, 0.0, (), (), KEYWORD)
    keyword = Intent(HOWTO, 0.6, ("a",), ("how-do-i",))
    intent = merge_intents(keyword, None, attempted=True, min_confidence=MIN)
    assert (intent.keywords, intent.source) == (("how-do-i",), KEYWORD)


# whatever comes in


@settings(deadline=None)
@given(intents, shares)
def test_a_failed_call_never_removes_a_keyword_result(keyword: Intent, threshold: float) -> None:
    failed = merge_intents(keyword, None, attempted=True, min_confidence=threshold)
    unasked = merge_intents(keyword, None, attempted=False, min_confidence=threshold)
    assert (failed.type, failed.topics, failed.keywords, failed.source) == (
        unasked.type,
        unasked.topics,
        unasked.keywords,
        unasked.source,
    )
    assert (failed.confidence >= threshold) == (unasked.confidence >= threshold)
    assert failed.confidence <= unasked.confidence <= failed.confidence + 0.1001


@settings(deadline=None)
@given(st.none() | intents, st.none() | answers, st.booleans(), shares)
def test_the_merge_is_deterministic_and_within_its_bounds(
    keyword: Intent | None, answer: Intent | None, attempted: bool, threshold: float
) -> None:
    result = merge_intents(keyword, answer, attempted=attempted, min_confidence=threshold)
    assert fields_of(result) == fields_of(merge_intents(keyword, answer, attempted=attempted, min_confidence=threshold))
    intent = result
    assert 0.0 <= intent.confidence <= MAX_CONFIDENCE
    assert intent.type in TYPES
    assert len(intent.topics) <= MAX_TOPICS
    assert len({topic.casefold() for topic in intent.topics}) == len(intent.topics)
    if not intent.topics:
        assert (intent.type, intent.confidence) == (NONE, 0.0)


@settings(deadline=None)
@given(intents, answers, shares)
def test_topics_of_the_llm_come_first(keyword: Intent, answer: Intent, threshold: float) -> None:
    topics = merge_intents(keyword, answer, attempted=True, min_confidence=threshold).topics
    theirs = {topic.casefold() for topic in answer.topics}
    are_theirs = [topic.casefold() in theirs for topic in topics]
    assert are_theirs == sorted(are_theirs, reverse=True)
    assert sum(are_theirs) == min(len(theirs), MAX_TOPICS)


@settings(deadline=None)
@given(intents, answers, shares)
def test_a_surer_llm_never_lowers_the_confidence(keyword: Intent, answer: Intent, threshold: float) -> None:
    if answer.type != NONE and answer.confidence >= threshold:
        surer = Intent(answer.type, min(1.0, answer.confidence + 0.1), answer.topics)
        results = [merge_intents(keyword, each, attempted=True, min_confidence=threshold) for each in (answer, surer)]
        assert results[0].confidence <= results[1].confidence
