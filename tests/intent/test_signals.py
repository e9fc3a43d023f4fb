"""The signal table: each row fires on its example and not on its counter-example, and none is there for nothing."""

import json
from pathlib import Path

import pytest

from subcog_hooks.core.files import read_rows
from subcog_hooks.intent import keywords
from subcog_hooks.intent.keywords import GAP, NAMES, NONE, SEEKING, TYPES, split_prompt
from subcog_hooks.text import vocabulary
from subcog_hooks.text.typed_prompt import prepare_prompt
from tests.intent.signal_examples import signal_examples

ROOT = Path(__file__).parents[2]
OWN = ROOT / "tests" / "data" / "intent" / "prompts.jsonl"
DEVELOPMENT = ROOT.parent / "shared" / "eval" / "intent" / "prompts.jsonl"

ROWS = read_rows(keywords.__file__, "signals.tsv")
PATTERNS = [row[0] for row in ROWS]
STRENGTHS = {"3.5", "1.5", "1.0", "0.5"}


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


def test_a_counter_example_is_a_near_miss() -> None:
    """It shares a word with the pattern or the example, or the beginning of one."""
    far = []
    for pattern, example, counter_example in signal_examples():
        near = {word[:4] for word in split_prompt(example.lower()) if len(word) > 1} | {
            choice[:4] for choice in choices(pattern)
        }
        if not near & {word[:4] for word in split_prompt(counter_example.lower())}:
            far.append(pattern)
    assert far == []


def test_a_row_has_a_family_a_strength_and_a_weight() -> None:
    assert {family for _, family, _, _ in ROWS} == {*TYPES, SEEKING}
    assert {strength for _, _, strength, _ in ROWS} == STRENGTHS
    assert min(float(weight) for _, _, _, weight in ROWS) >= 0.0


def test_no_pattern_stands_twice() -> None:
    assert [pattern for pattern in set(PATTERNS) if PATTERNS.count(pattern) > 1] == []


def test_the_words_of_a_pattern_are_such_as_a_prompt_can_have() -> None:
    """Lower case, no apostrophes, nothing that words_of takes off: else the choice never fits."""
    words = {choice for pattern in PATTERNS for choice in choices(pattern) if choice[0] != "@"} - {"?", "."}
    assert {word for word in words if split_prompt(word)[:-1] != [word]} == set()


def test_every_word_of_a_class_can_occur_in_a_prompt() -> None:
    words = frozenset().union(*vocabulary.CLASSES.values(), vocabulary.OPENERS, vocabulary.FILLERS)
    assert {word for word in words if word != word.lower() or split_prompt(word)[:-1] != [word]} == set()


def test_patterns_and_classes_name_each_other() -> None:
    named = {choice[1:] for pattern in PATTERNS for choice in choices(pattern) if choice[0] == "@"}
    assert named == set(vocabulary.CLASSES)


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
