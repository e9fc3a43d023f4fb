"""The table of settings: what each type takes, and in which words it refuses the rest."""

import pytest

from subcog_hooks.errors import ConfigError
from subcog_hooks.keys import KEYS, PRESETS, ChoiceKey, Key, NameKey, ShareKey, Value


@pytest.mark.parametrize("key", KEYS.values(), ids=lambda key: str(key.name))
def test_a_default_holds_is_written_as_it_is_read_and_has_a_meaning(key: Key) -> None:
    assert key.checked(key.default) == key.default
    assert key.from_text(str(key.default)) == key.default
    assert type(key.from_text(str(key.default))) is type(key.default)
    assert key.help
    assert key.expected


@pytest.mark.parametrize("text", ["true", "1", "YES", " on "])
def test_people_write_true_in_several_ways(text: str) -> None:
    assert KEYS["surfacing.enabled"].from_text(text) is True


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("fusion.alpha", "Adaptive", "adaptive"),
        ("fusion.alpha", "0", 0.0),
        ("fusion.alpha", "1e-1", 0.1),
        ("fusion.preset", "RRF", "rrf"),
        ("fusion.preset", " vector-only ", "vector-only"),
        ("fusion.mode", "Weighted", "weighted"),
        ("fusion.large", "1e4", 10_000),
        ("recency.decay", "0.01", 0.01),
    ],
)
def test_a_typed_value_is_taken_in_the_keys_own_type(name: str, text: str, value: Value) -> None:
    taken = KEYS[name].from_text(text)
    assert (taken, type(taken)) == (value, type(value))


SHARE = "expected 0.0 to 1.0 or adaptive"
MODE = "expected weighted or rrf"
PRESET = f"expected {KEYS['fusion.preset'].expected}"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("surfacing.enabled", "maybe", "surfacing.enabled is 'maybe', expected true or false"),
        ("surfacing.max_memories", "2.5", "surfacing.max_memories is 2.5, expected a whole number 1 to 6"),
        ("search.limit", "many", "search.limit is 'many', expected a whole number 1 to 1000"),
        ("search.timeout_ms", "0", "search.timeout_ms is 0, expected a whole number 1 to 600000"),
        ("search.min_similarity", "nan", "search.min_similarity is 'nan', expected 0.0 to 1.0"),
        ("fusion.alpha", "much", f"fusion.alpha is 'much', {SHARE}"),
        ("fusion.alpha", "1.1", f"fusion.alpha is 1.1, {SHARE}"),
        ("fusion.alpha", "", f"fusion.alpha is '', {SHARE}"),
        ("fusion.mode", "borda", f"fusion.mode is 'borda', {MODE}"),
        ("fusion.preset", "fixed", f"fusion.preset is 'fixed', {PRESET}"),
        ("fusion.rrf_k", "0", "fusion.rrf_k is 0, expected a whole number 1 to 1000"),
        ("fusion.small", "1e999", "fusion.small is inf, expected a whole number 0 to 10000000"),
        ("recency.floor", "-1e-9", "recency.floor is -1e-09, expected 0.0 to 1.0"),
        ("diversity.near_duplicate", "0.4", "diversity.near_duplicate is 0.4, expected 0.5 to 1.0"),
        ("embedding.model", "two words", "embedding.model is 'two words', expected a model of `subcog models list`"),
    ],
)
def test_a_typed_value_that_does_not_hold_is_refused(name: str, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        KEYS[name].from_text(text)
    assert refused.value.message == said


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("fusion.alpha", "much", f"fusion.alpha is 'much', {SHARE}"),
        ("fusion.alpha", True, f"fusion.alpha is true, {SHARE}"),
        ("fusion.alpha", 7, f"fusion.alpha is 7, {SHARE}"),
        ("fusion.alpha", [0.5], f"fusion.alpha is [0.5], {SHARE}"),
        ("fusion.mode", 1, f"fusion.mode is '1', {MODE}"),
        ("fusion.mode", "RRF", f"fusion.mode is 'RRF', {MODE}"),  # a file is data: it is written as documented
        ("fusion.preset", None, f"fusion.preset is 'None', {PRESET}"),
        ("search.limit", 2.5, "search.limit is 2.5, expected a whole number 1 to 1000"),
    ],
)
def test_a_value_of_a_file_that_does_not_hold_is_refused(name: str, value: object, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        KEYS[name].checked(value)
    assert refused.value.message == said


def test_choices_are_listed_as_in_a_sentence() -> None:
    assert ChoiceKey("x", "a", ("a", "b", "c"), "").expected == "a, b or c"


def test_a_choice_of_any_length_is_refused_in_one_short_line() -> None:
    with pytest.raises(ConfigError) as refused:
        KEYS["fusion.mode"].checked("x" * 10_000)
    assert len(refused.value.message) < 300


def test_a_preset_is_made_of_settings_that_hold() -> None:
    for values in PRESETS.values():
        assert {name: KEYS[name].checked(value) for name, value in values.items()} == values


def test_the_default_preset_says_what_the_defaults_say() -> None:
    of_preset = PRESETS[str(KEYS["fusion.preset"].default)]
    assert of_preset == {name: KEYS[name].default for name in of_preset}


def test_what_names_a_model_or_starts_a_process_is_for_the_user_alone() -> None:
    personal = {key.name for key in KEYS.values() if key.is_personal}
    assert personal == {"embedding.model", "embedding.background"}
    assert all(key.is_personal for key in KEYS.values() if isinstance(key, NameKey))
    assert not any(key.is_personal for key in KEYS.values() if isinstance(key, ChoiceKey | ShareKey))
