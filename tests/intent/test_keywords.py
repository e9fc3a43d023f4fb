"""The keyword detector: prompts that ask for something, their types, and prompts that do not."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.core.files import read_rows
from subcog_hooks.intent import keywords
from subcog_hooks.intent.keywords import (
    COMPARISON,
    EXPLANATION,
    GAP,
    GENERAL,
    HOWTO,
    KEYWORD,
    LOCATION,
    MAX_CONFIDENCE,
    NAMES,
    NONE,
    OFF,
    RECENT,
    SEEKING,
    TROUBLESHOOT,
    TYPES,
    Intent,
    read_prompt,
    split_prompt,
)
from subcog_hooks.settings.sources import KEYS
from subcog_hooks.text import CLASSES, FILLERS, OPENERS
from subcog_hooks.text.typed_prompt import prepare_prompt
from tests.intent.signal_examples import signal_examples

ROOT = Path(__file__).parents[2]


OWN = ROOT / "tests" / "data" / "intent" / "prompts.jsonl"


REAL = ROOT.parent / "shared" / "eval" / "intent" / "prompts.jsonl"


TRACEBACK = 'Traceback (most recent call last):\n  File "app.py", line 3, in run\n    load(path)\nValueError: empty path'


anything = st.text(st.characters(exclude_categories=()))


def test_a_prompt_that_asks_for_something_has_its_type(subtests: pytest.Subtests) -> None:
    cases = [
        ("tests are failing with exit code 101", TROUBLESHOOT),
        ("I'm stuck on this async code", TROUBLESHOOT),
        (TRACEBACK, TROUBLESHOOT),
        ("The build keeps failing", TROUBLESHOOT),
        ("the login page doesn't load anymore", TROUBLESHOOT),
        ("/usr/lib/x.so is not found, why does the loader fail", TROUBLESHOOT),
        ("What is the difference between let and const?", COMPARISON),
        ("what is the difference between the two queues", COMPARISON),
        ("sqlite vs postgres for the session store?", COMPARISON),
        ("where is the retry logic", LOCATION),
        ("Where can I find the signing keys?", LOCATION),
        ("which file has the routes for billing", LOCATION),
        ("How do we deploy to staging?", HOWTO),
        ("how to rotate the signing keys", HOWTO),
        ("what's the best way to mock the clock in tests?", HOWTO),
        ("explain how the outbox table works", EXPLANATION),
        ("What does the outbox table hold?", EXPLANATION),
        ("why did we choose sqlite for the sessions?", EXPLANATION),
        ("refactor the allocation service into two modules with tests for each", GENERAL),
        ("let's implement the importer, users should be able to upload a csv", GENERAL),
    ]
    for prompt, kind in cases:
        with subtests.test(prompt=prompt):
            intent = read_prompt(prompt).intent
            assert (intent.type, intent.confidence >= keywords.MIN_TYPE_CONFIDENCE) == (kind, True)


FLOOR = {  # the forms that the seeds name, and their short siblings, with | between
    TROUBLESHOOT: (
        "the API is not working|API not working|not working|it's not working|the build is not working|"
        "npm install is not working|npm install doesn't work|npm install does not work|the webhook doesn't work|"
        "docker compose isn't working|this isn't working|auth stopped working|search no longer works|"
        "git push not working|vpn not working on macos|my tests don't work|the job does not run|why is it not working?|"
        "error in the parser|the deploy failed|exit code 101|pagination is broken|unable to connect to the database"
    ),
    EXPLANATION: (
        "how does auth work|how does auth work?|How does sensor fusion work?|how do webhooks work?|What is SLAM?|"
        "what is SLAM|what is X|what are spans?|What's a monad?|what is forward kinematics|define SLAM|Define X|"
        "define idempotency|meaning of SLO|what does CQRS mean|explain FK|Explain SLAM algorithms|"
        "why did we choose sqlite?"
    ),
    COMPARISON: (
        "redis vs memcached|redis versus memcached|REST vs GraphQL?|compare redis with memcached|compare a to b|"
        "compare redis and memcached|redis compared to memcached|redis or memcached?|pros and cons of redis|"
        "is redis better than memcached?|What is the difference between redis and memcached?"
    ),
    HOWTO: ("how do I rotate the keys|how to deploy|how do we deploy|steps to deploy|how can I squash commits?"),
    LOCATION: ("where is the config|where is auth defined?|find the parser|locate the config file|where are the tests"),
    NONE: (
        "the API is working|it is working now|not now|no, not yet|don't work on that|do not run the tests|what?|"
        "define the constant MAX in config.py|ok, works|compare|run npm install"
    ),
}


def test_a_short_form_has_its_type() -> None:
    cases = [(kind, prompt) for kind, prompts in FLOOR.items() for prompt in prompts.split("|")]
    assert [(prompt, actual) for kind, prompt in cases if (actual := read_prompt(prompt).intent.type) != kind] == []


def test_a_prompt_that_asks_for_nothing_has_none() -> None:
    cases = [
        *("make it blue", "fix the typo", "commit this", "commit this and push the branch", "rename foo to bar"),
        *("ok", "Thanks!", "yes, please", "go on", "hm", "ok thanks, now commit and push everything", "please run the tests"),
        *("yes do that", "option 2", "the second one", "stop", "try again", "continue", "\u597d\u7684", "npm run build", "k"),
    ]
    assert [(prompt, actual) for prompt in cases if (actual := read_prompt(prompt).intent.type) != NONE] == []


def test_what_nobody_has_typed_is_not_read() -> None:
    cases = [
        *("", " \n", "/clear", "/compact keep the names", "!ls -la"),
        "<task-notification>\n<task-id>b1</task-id> why did it fail with an error?",
        "<command-name>/cost</command-name>",
        "[Request interrupted by user]",
        "This session is being continued from a previous conversation that ran out of context. How do we deploy?",
    ]
    for reading in map(read_prompt, cases):
        assert (reading.intent.type, reading.intent.confidence, reading.prompt) == (NONE, 0.0, None)
        assert (reading.fired, reading.words()) == ([], [])


def test_later_in_a_session_some_forms_mean_the_session_itself() -> None:
    table = (
        ("how did we fix the login?", True, True),
        ("which port did we agree on last time", True, True),
        ("why did credo complain about line endings?", True, False),
        ("what was the final process loop?", True, False),
        ("what is the port again?", True, False),
        ("same error as before: the store is not started", True, False),
        ("undo the previous step", True, False),
        ("test it again", False, False),
        ("did you push the changes?", False, False),
    )
    for prompt, early, late in table:
        reading = read_prompt(prompt)
        assert reading.is_about_past is early, prompt
        reading.is_late = True
        assert reading.is_about_past is late, prompt


@pytest.mark.parametrize(
    ("plain", "seeking"),
    [
        ("how do tokens refresh", "how did we decide that tokens refresh"),
        ("how do we name branches", "remind me how we name branches"),
        ("do the migration", "do the migration the way we did it last time"),
        ("cache the query", "cache the query, as we discussed"),
    ],
)
def test_asking_for_what_was_decided_raises_the_confidence(plain: str, seeking: str) -> None:
    assert read_prompt(seeking).intent.confidence > read_prompt(plain).intent.confidence
    assert SEEKING in {signal.family for signal in read_prompt(seeking).fired}


def test_a_shape_alone_names_no_type() -> None:
    reading = read_prompt("Wie deployen wir auf Staging?")
    assert reading.fired == []
    assert reading.intent.type == GENERAL


def test_a_type_is_told_from_the_confidence_on_that_is_needed() -> None:
    for prompt in (json.loads(line)["prompt"] for line in OWN.read_text(encoding="utf-8").splitlines()):
        intent = read_prompt(prompt).intent
        assert (intent.type == NONE) == (intent.confidence < keywords.MIN_TYPE_CONFIDENCE)


def test_the_signals_of_the_type_come_first() -> None:
    reading = read_prompt("why is the build broken, how do we fix the error?")
    families = [signal.family == reading.intent.type for signal in reading.fired]
    assert families == sorted(families, reverse=True)
    assert reading.fired[0].family == reading.intent.type


def test_a_reading_says_what_it_has_read() -> None:
    reading = read_prompt("Why does parse_args fail?\n```\nTypeError: no\n```")
    assert reading.prompt is not None
    assert (reading.prompt.text, reading.prompt.failures) == ("Why does parse_args fail?", ["TypeError: no"])
    assert reading.words() == ["Why", "does", "parse_args", "fail", "?", "TypeError", ".", "no", "."]
    assert (reading.intent.source, reading.intent.llm_status, reading.intent.topics) == (KEYWORD, OFF, ())


ORDERS = ("make it blue", "commit this", "push it", "rename foo to bar", "run the tests", "fix the typo", "yes do that", "ok")


ADDED_WORDS = ("i have a cat.", "the weather is nice.", "my coffee is cold.", "it is late.", "you are very kind.")


def test_an_order_says_no_more_for_being_repeated() -> None:
    for order in ORDERS:
        once = read_prompt(order).intent.confidence
        for times in (2, 5, 100):
            assert read_prompt(". ".join([order] * times)).intent.confidence == once
            assert read_prompt("\n".join(["", *[order] * times, " \n"])).intent.confidence == once
            assert read_prompt(" ".join([order] * times)).intent.type == NONE


def test_an_order_is_no_request_for_idle_talk_behind_it() -> None:
    prompts = [
        " ".join([f"{order}.", *ADDED_WORDS[:count]]) for order in ORDERS[:4] for count in range(1, len(ADDED_WORDS) + 1)
    ]
    assert [prompt for prompt in prompts if read_prompt(prompt).intent.type != NONE] == []


@given(anything)
def test_any_text_has_an_intent(text: str) -> None:
    reading = read_prompt(text)
    assert reading.intent.type in TYPES
    assert 0.0 <= reading.intent.confidence <= MAX_CONFIDENCE
    assert abs(sum(reading.probabilities) - 1.0) < 1e-9
    again = read_prompt(text)
    assert (again.intent.type, again.intent.confidence, again.intent.keywords) == (
        reading.intent.type,
        reading.intent.confidence,
        reading.intent.keywords,
    )


def f1(kind: str, predictions: list[str], labels: list[str]) -> float:
    hits = sum(predicted == label == kind for predicted, label in zip(predictions, labels, strict=True))
    return 2 * hits / max(1, predictions.count(kind) + labels.count(kind))


def calibration_error(intents: list[Intent], asks: list[bool], bins: int = 10) -> float:
    """Between confidence and the share that asks, over bins of equal mass."""
    order = sorted(range(len(asks)), key=lambda row: intents[row].confidence)
    parts = [order[bin_ * len(order) // bins : (bin_ + 1) * len(order) // bins] for bin_ in range(bins)]
    return sum(abs(sum(intents[row].confidence - asks[row] for row in part)) for part in parts) / len(order)


def test_the_projects_own_prompts_are_told_as_well_as_before() -> None:
    """The weights are fitted to these prompts among others: this guards against breakage and proves nothing about quality."""
    rows = [json.loads(line) for line in OWN.read_text(encoding="utf-8").splitlines()]
    labels = [row["label"] for row in rows]
    intents = [read_prompt(row["prompt"]).intent for row in rows]
    predictions = [intent.type for intent in intents]
    asks = [label != NONE for label in labels]
    heard = [kind != NONE for kind in predictions]
    figures = {
        "recall": sum(a and h for a, h in zip(asks, heard, strict=True)) / sum(asks),
        "specificity": sum(not a and not h for a, h in zip(asks, heard, strict=True)) / (len(asks) - sum(asks)),
        "accuracy": sum(predicted == label for predicted, label in zip(predictions, labels, strict=True)) / len(labels),
        "macro-F1": sum(f1(kind, predictions, labels) for kind in TYPES) / len(TYPES),
    }
    minimums = {"recall": 0.81, "specificity": 0.93, "accuracy": 0.71, "macro-F1": 0.71}
    assert {name: round(value, 3) for name, value in figures.items() if value < minimums[name]} == {}
    assert calibration_error(intents, asks) <= 0.09


@pytest.mark.skipif(not REAL.exists(), reason="the real prompts are not at hand")
def test_prompts_of_unseen_people_reach_the_wanted_accuracy() -> None:
    pytest.importorskip("scipy")
    from scripts.intent import fit  # needs scipy, of the extra `eval`

    own, real = fit.read(str(OWN)), fit.read(str(REAL))
    rows = fit.Rows(
        [*real, *own],
        [*(row["stratum"] for row in real), *("own" for _ in own)],
        [*(row["repo_hash"] for row in real), *("own" for _ in own)],
    )
    figures = fit.judged(fit.cross_validated(rows), rows)
    assert figures["recall"] >= 0.85
    assert figures["specificity"] >= 0.80
    assert figures["accuracy of seven types"] >= 0.68
    assert figures["macro-F1, enriched too"] >= 0.56
    assert figures["calibration error"] <= 0.08


def test_a_prompt_in_another_script_is_left_to_recall() -> None:
    bar = float(KEYS["search_intent.min_confidence"].default)
    for prompt in (
        "認証サーバーのタイムアウトはどこで設定していますか",
        "为什么构建失败",
        "почему падает сборка на CI",
        "빌드가 왜 실패하나요",
    ):
        intent = read_prompt(prompt).intent
        assert (intent.type, intent.confidence) == (GENERAL, bar)
    for acknowledgement in ("继续", "はい", "谢谢！", "спасибо", "👍"):
        intent = read_prompt(acknowledgement).intent
        assert (intent.type, intent.confidence < bar) == (NONE, True)


DEVELOPMENT = ROOT.parent / "shared" / "eval" / "intent" / "prompts.jsonl"


ROWS = read_rows(keywords.__file__, "signals.tsv")


PATTERNS = [row[0] for row in ROWS]


STRENGTHS = {"3.5", "1.5", "1.0", "0.5", "0.0"}


def signals_of(prompt: str) -> set[str]:
    return {signal.name for signal in keywords.read_prompt(prompt).fired}


def choices(pattern: str) -> set[str]:
    """The words and classes of a pattern, `<9`, `^` and gaps aside."""
    parts = [part for part in pattern.split() if not (part[0] == "<" and part[1:].isdigit()) and part != GAP]
    return {choice for part in parts for choice in part.removeprefix("^").split("|")}


def test_every_signal_has_an_example_and_a_counter_example() -> None:
    assert [pattern for pattern, _, _ in signal_examples()] == PATTERNS


def test_a_signal_fires_on_its_example_alone() -> None:
    assert [pattern for pattern, example, _ in signal_examples() if pattern not in signals_of(example)] == []
    assert [pattern for pattern, _, counter_example in signal_examples() if pattern in signals_of(counter_example)] == []


def test_a_row_has_a_family_a_strength_and_a_weight() -> None:
    assert {family for _, family, _, _ in ROWS} == {*TYPES, SEEKING, RECENT}
    assert {strength for _, _, strength, _ in ROWS} == STRENGTHS
    assert min(float(weight) for _, _, _, weight in ROWS) >= 0.0


def test_no_pattern_stands_twice() -> None:
    assert [pattern for pattern in set(PATTERNS) if PATTERNS.count(pattern) > 1] == []


def test_the_words_of_a_pattern_are_such_as_a_prompt_can_have() -> None:
    """Lower case, no apostrophes, nothing that words_of takes off: else the choice never fits."""
    words = {choice for pattern in PATTERNS for choice in choices(pattern) if choice[0] != "@"} - {"?", "."}
    assert {word for word in words if split_prompt(word)[:-1] != [word]} == set()


def test_every_word_of_a_class_can_occur_in_a_prompt() -> None:
    words = frozenset().union(*CLASSES.values(), OPENERS, FILLERS)
    assert {word for word in words if word != word.lower() or split_prompt(word)[:-1] != [word]} == set()


def test_patterns_and_classes_name_each_other() -> None:
    named = {choice[1:] for pattern in PATTERNS for choice in choices(pattern) if choice[0] == "@"}
    assert named == set(CLASSES)


def test_a_weight_is_at_most_three_times_its_strength() -> None:
    """Fitted weights stay near the strengths that people judged, so the table describes its effect."""
    assert [pattern for pattern, _, strength, weight in ROWS if float(weight) > 3 * float(strength)] == []


def test_every_cue_of_the_shape_has_a_weight_for_each_type() -> None:
    assert tuple(keywords.CUES) == NAMES
    assert {len(weights) for weights in (*keywords.CUES.values(), keywords.BIAS)} == {len(TYPES)}


def test_the_bias_alone_speaks_for_none() -> None:
    assert max(keywords.BIAS) == keywords.BIAS[TYPES.index(NONE)]


@pytest.mark.skipif(not DEVELOPMENT.exists(), reason="the development set is not at hand")
def test_no_signal_is_dead_on_real_prompts_and_the_projects_own() -> None:
    """A short form that the seeds name may be too rare to be among a thousand real prompts."""
    positions: set[int] = set()
    for path in (DEVELOPMENT, OWN):
        for line in path.read_text(encoding="utf-8").splitlines():
            positions.update(keywords.MATCHER.find(split_prompt(prepare_prompt(json.loads(line)["prompt"]).text.lower())))
    assert [pattern for position, pattern in enumerate(PATTERNS) if position not in positions] == []
