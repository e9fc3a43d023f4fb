"""The merge of keywords and LLM: S0's table row by row, and its invariants."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcog_hooks.intent import classifier
from subcog_hooks.intent.classifier import Classification, merge_intents
from subcog_hooks.intent.kinds import (
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
from subcog_hooks.llm.race import TIMEOUT

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
    lambda kind, confidence, topics: Classification(kind, confidence, tuple(topics)), st.sampled_from(TYPES), shares, words
)


def fields_of(result: classifier.MergedIntent) -> tuple[object, ...]:
    intent = result.intent
    return (intent.type, intent.confidence, intent.topics, intent.keywords, intent.source, intent.llm_status, result.row)


# S0's topic table

SOME, FEW, SURE = 0.7, 0.6, 0.8


@pytest.mark.parametrize(
    ("theirs", "ours", "confidence", "topics", "expected", "row"),
    [
        pytest.param(("rust", "error"), ("rust", "error"), SOME, ("rust", "error"), 0.8, classifier.MATCH, id="topics match"),
        pytest.param(
            ("async", "tokio"), ("rust",), SOME, ("async", "tokio", "rust"), 0.7, classifier.DIFFER, id="topics differ"
        ),
        pytest.param(("database",), (), SOME, ("database",), 0.7, classifier.NO_KEYWORD_TOPICS, id="no keyword topics"),
        pytest.param(None, ("rust", "panic"), SOME, ("rust", "panic"), 0.6, classifier.FAILED, id="timeout"),
        pytest.param(None, ("how to", "example"), SURE, ("how to", "example"), 0.8, classifier.FAILED_SURE, id="timeout, sure"),
        pytest.param((), (), SOME, (), 0.0, classifier.NOTHING, id="both empty"),
        pytest.param(None, (), SURE, (), 0.0, classifier.NOTHING, id="timeout, no topics"),
        pytest.param((), ("rust",), SOME, ("rust",), 0.7, classifier.NO_LLM_TOPICS, id="no LLM topics"),
    ],
)
def test_the_table_of_s0(
    theirs: tuple[str, ...] | None, ours: tuple[str, ...], confidence: float, topics: tuple[str, ...], expected: float, row: str
) -> None:
    answer = None if theirs is None else Classification(HOWTO, SOME, theirs)
    result = merge_intents(Intent(HOWTO, confidence, ours), answer, attempted=True, min_confidence=MIN)
    assert (result.intent.topics, result.intent.confidence, result.row) == (topics, expected, row)
    assert result.intent.type == (HOWTO if topics else NONE)


# confidence


def test_the_llm_weighs_seven_tenths() -> None:
    result = merge_intents(
        Intent(HOWTO, 0.4, ("a",)), Classification(LOCATION, 0.9, ("b",)), attempted=True, min_confidence=MIN
    )
    assert result.intent.confidence == 0.75


@pytest.mark.parametrize(
    ("theirs", "ours", "bonus"),
    [
        (("rust", "error"), ("RUST", "Error"), 0.1),
        (("rust", "error"), ("rust",), 0.1),  # one of two
        (("rust", "error", "tokio"), ("rust", "tokio", "db"), 0.1),  # two of four
        (("rust", "error", "tokio"), ("rust",), 0.0),  # one of three
        (("rust",), ("error",), 0.0),
    ],
)
def test_the_bonus_is_for_topics_of_which_half_are_shared(theirs: tuple[str, ...], ours: tuple[str, ...], bonus: float) -> None:
    result = merge_intents(Intent(HOWTO, 0.6, ours), Classification(HOWTO, 0.6, theirs), attempted=True, min_confidence=MIN)
    assert result.intent.confidence == pytest.approx(0.6 + bonus)


def test_nothing_is_surer_than_the_cap() -> None:
    both = merge_intents(Intent(HOWTO, 0.95, ("a",)), Classification(HOWTO, 1.0, ("a",)), attempted=True, min_confidence=MIN)
    alone = merge_intents(None, Classification(HOWTO, 1.0, ("a",)), attempted=True, min_confidence=MIN)
    assert (both.intent.confidence, alone.intent.confidence) == (MAX_CONFIDENCE, MAX_CONFIDENCE)


def test_a_failed_llm_costs_a_tenth_but_never_the_threshold() -> None:
    cases = [(0.95, 0.95), (0.8, 0.8), (0.79, 0.69), (0.6, 0.5), (0.55, 0.5), (0.5, 0.5), (0.49, 0.39), (0.05, 0.0)]
    failures = [
        (before, actual)
        for before, after in cases
        if (actual := merge_intents(Intent(HOWTO, before, ("a",)), None, attempted=True, min_confidence=MIN).intent.confidence)
        != after
    ]
    assert failures == []


def test_an_llm_that_was_not_asked_costs_nothing() -> None:
    result = merge_intents(Intent(HOWTO, 0.6, ("a",)), None, attempted=False, min_confidence=MIN)
    assert (result.intent.confidence, result.row) == (0.6, classifier.NOT_ASKED)


# the type


@pytest.mark.parametrize(("confidence", "kind"), [(0.5, TROUBLESHOOT), (0.49, HOWTO)])
def test_the_llm_decides_the_type_from_min_confidence_on(confidence: float, kind: str) -> None:
    result = merge_intents(
        Intent(HOWTO, 0.6, ("a",)), Classification(TROUBLESHOOT, confidence, ("b",)), attempted=True, min_confidence=MIN
    )
    assert (result.intent.type, result.intent.source) == (kind, HYBRID)


def test_a_sure_no_of_the_llm_silences_the_keywords() -> None:
    result = merge_intents(Intent(HOWTO, 0.7, ("a",)), Classification(NONE, 0.9, ()), attempted=True, min_confidence=MIN)
    assert (result.intent.type, result.intent.confidence) == (NONE, 0.28)


@pytest.mark.parametrize("kind", [NONE, GENERAL, HOWTO])
def test_an_unsure_answer_adds_its_topics_and_nothing_else(kind: str) -> None:
    for keyword in (Intent(HOWTO, 0.7, ("a",)), Intent(NONE, 0.1, ("a",))):
        result = merge_intents(keyword, Classification(kind, 0.49, ("b",)), attempted=True, min_confidence=MIN)
        assert (result.intent.type, result.intent.confidence, result.certainty) == (
            keyword.type,
            keyword.confidence,
            keyword.confidence,
        )
        assert (result.intent.topics, result.intent.source, result.row) == (("b", "a"), HYBRID, classifier.UNSURE)


def test_a_yes_of_the_llm_overrules_keywords_that_found_nothing() -> None:
    result = merge_intents(
        Intent(NONE, 0.1, ("async",)), Classification(TROUBLESHOOT, 0.9, ("async", "tokio")), attempted=True, min_confidence=MIN
    )
    assert (result.intent.type, result.intent.confidence) == (TROUBLESHOOT, 0.76)


# the veto, and what a failure costs


def test_a_veto_is_a_none_that_the_llm_is_sure_of(subtests: pytest.Subtests) -> None:
    kinds = [(NONE, 0.9, True), (NONE, MIN, True), (NONE, 0.49, False), (HOWTO, 0.9, False)]
    keywords = [None, Intent(HOWTO, 0.9, ("a",)), Intent(NONE, 0.6, ("a",))]
    for kind, confidence, is_vetoed in kinds:
        for keyword in keywords:
            with subtests.test(kind=kind, confidence=confidence):
                result = merge_intents(keyword, Classification(kind, confidence, ("a",)), attempted=True, min_confidence=MIN)
                assert result.is_vetoed is is_vetoed


def test_keywords_that_found_no_type_are_no_veto() -> None:
    keyword = Intent(NONE, 0.6, ("a",))
    assert not merge_intents(keyword, None, attempted=True, min_confidence=MIN).is_vetoed
    assert not merge_intents(keyword, Classification(GENERAL, 0.45, ("a",)), attempted=True, min_confidence=MIN).is_vetoed


@pytest.mark.parametrize("before", [0.95, 0.79, 0.66, 0.55])
def test_a_failure_leaves_the_certainty_as_it_was(before: float) -> None:
    assert merge_intents(Intent(HOWTO, before, ("a",)), None, attempted=True, min_confidence=MIN).certainty == before


def test_an_answer_is_as_certain_as_the_intent_that_it_makes() -> None:
    result = merge_intents(Intent(HOWTO, 0.6, ("a",)), Classification(HOWTO, 0.8, ("b",)), attempted=True, min_confidence=MIN)
    assert result.certainty == result.intent.confidence == 0.74


# where one side is missing


def test_an_answer_stands_alone_without_a_keyword_result() -> None:
    result = merge_intents(None, Classification(LOCATION, 0.6, ("db",)), attempted=True, min_confidence=MIN)
    assert fields_of(result)[:5] == (LOCATION, 0.6, ("db",), (), LLM)
    assert merge_intents(None, Classification(NONE, 0.6, ("db",)), attempted=True, min_confidence=MIN).intent.confidence == 0.4


def test_the_words_have_topics_also_where_they_say_nothing() -> None:
    result = merge_intents(
        None, Classification(LOCATION, 0.6, ("db",)), attempted=True, min_confidence=MIN, words=("tokio", "DB")
    )
    assert (result.intent.topics, result.intent.confidence, result.intent.source) == (("db", "tokio"), 0.6, LLM)
    alone = merge_intents(None, Classification(LOCATION, 0.6), attempted=True, min_confidence=MIN, words=("tokio",))
    assert (alone.intent.type, alone.intent.topics) == (LOCATION, ("tokio",))


@pytest.mark.parametrize("attempted", [True, False])
def test_of_nothing_comes_none(attempted: bool) -> None:
    result = merge_intents(None, None, attempted=attempted, min_confidence=MIN)
    assert fields_of(result)[:5] == (NONE, 0.0, (), (), KEYWORD)


def test_signals_and_status_are_passed_on() -> None:
    keyword = Intent(HOWTO, 0.6, ("a",), ("how-do-i",))
    result = merge_intents(keyword, None, attempted=True, min_confidence=MIN, llm_status=TIMEOUT)
    assert (result.intent.keywords, result.intent.llm_status, result.intent.source) == (("how-do-i",), TIMEOUT, KEYWORD)


# whatever comes in


@settings(deadline=None)
@given(intents, shares)
def test_a_failed_call_never_removes_a_keyword_result(keyword: Intent, threshold: float) -> None:
    failed = merge_intents(keyword, None, attempted=True, min_confidence=threshold).intent
    unasked = merge_intents(keyword, None, attempted=False, min_confidence=threshold).intent
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
    keyword: Intent | None, answer: Classification | None, attempted: bool, threshold: float
) -> None:
    result = merge_intents(keyword, answer, attempted=attempted, min_confidence=threshold)
    assert fields_of(result) == fields_of(merge_intents(keyword, answer, attempted=attempted, min_confidence=threshold))
    intent = result.intent
    assert 0.0 <= intent.confidence <= MAX_CONFIDENCE
    assert intent.type in TYPES
    assert len(intent.topics) <= MAX_TOPICS
    assert len({topic.casefold() for topic in intent.topics}) == len(intent.topics)
    if not intent.topics:
        assert (intent.type, intent.confidence) == (NONE, 0.0)


@settings(deadline=None)
@given(intents, answers, shares)
def test_topics_of_the_llm_come_first(keyword: Intent, answer: Classification, threshold: float) -> None:
    topics = merge_intents(keyword, answer, attempted=True, min_confidence=threshold).intent.topics
    theirs = {topic.casefold() for topic in answer.topics}
    are_theirs = [topic.casefold() in theirs for topic in topics]
    assert are_theirs == sorted(are_theirs, reverse=True)
    assert sum(are_theirs) == min(len(theirs), MAX_TOPICS)


@settings(deadline=None)
@given(intents, answers, shares)
def test_a_surer_llm_never_lowers_the_confidence(keyword: Intent, answer: Classification, threshold: float) -> None:
    if answer.type != NONE and answer.confidence >= threshold:
        surer = Classification(answer.type, min(1.0, answer.confidence + 0.1), answer.topics)
        results = [merge_intents(keyword, each, attempted=True, min_confidence=threshold) for each in (answer, surer)]
        assert results[0].intent.confidence <= results[1].intent.confidence
