"""Environment variables: the settings that have one, their precedence, and their limits."""

from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.settings import defaults, keys, loading, sources
from subcog_hooks.store.state import State
from subcog_hooks.store.state_values import CompiledSettings
from tests.settings.material import LOOSE, write

pytestmark = pytest.mark.usefixtures("usual_settings")


@pytest.mark.parametrize(
    ("meaning", "words", "alpha"),
    [
        ("0.9", None, 0.9),
        ("0", None, 0.0),
        ("1", None, 1.0),
        (None, "0.25", 0.75),
        (None, "0", 1.0),
        (None, "1.0", 0.0),
        ("0.6", "0.4", 0.6),
        ("0.3", "0.1", 0.75),
        ("1", "1", 0.5),
        ("0", "0.2", 0.0),
        (" 0.5 ", None, 0.5),
    ],
)
def test_weights_of_the_environment_are_taken_in_relation(
    home: Home, monkeypatch: pytest.MonkeyPatch, meaning: str | None, words: str | None, alpha: float
) -> None:
    setenv(monkeypatch, meaning, words)
    settings = loading.load(home)
    assert settings.problems == ()
    assert settings["fusion.alpha"] == pytest.approx(alpha)


@pytest.mark.parametrize(
    ("meaning", "words", "problem"),
    [
        ("much", None, "SUBCOG_SEMANTIC_WEIGHT is 'much', expected 0.0 to 1.0"),
        ("1.1", None, "SUBCOG_SEMANTIC_WEIGHT is '1.1', expected 0.0 to 1.0"),
        ("nan", None, "SUBCOG_SEMANTIC_WEIGHT is 'nan', expected 0.0 to 1.0"),
        ("inf", None, "SUBCOG_SEMANTIC_WEIGHT is 'inf', expected 0.0 to 1.0"),
        ("0.5", "-1", "SUBCOG_KEYWORD_WEIGHT is '-1', expected 0.0 to 1.0"),
        ("70%", "30%", "SUBCOG_SEMANTIC_WEIGHT is '70%', expected 0.0 to 1.0"),
        ("0", "0", "SUBCOG_SEMANTIC_WEIGHT and SUBCOG_KEYWORD_WEIGHT are both 0, expected one above it"),
    ],
)
def test_a_weight_that_is_none_is_named_and_left_out(
    home: Home, monkeypatch: pytest.MonkeyPatch, meaning: str | None, words: str | None, problem: str
) -> None:
    setenv(monkeypatch, meaning, words)
    settings = loading.load(home)
    assert settings.problems == (problem,)
    assert settings["fusion.alpha"] == defaults.ALPHA


def test_environment_wins_over_both_files_except_the_mode(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(home.config, '[fusion]\nalpha = 0.2\npreset = "rrf"\n')
    write(str(tmp_path / "p" / ".subcog.toml"), "[fusion]\nalpha = 0.3\n")
    setenv(monkeypatch, "0.9", None)
    settings = loading.load(home, str(tmp_path / "p"))
    assert (settings["fusion.mode"], settings["fusion.alpha"]) == ("rrf", 0.9)
    setenv(monkeypatch, "much", None)
    assert loading.load(home, str(tmp_path / "p"))["fusion.alpha"] == 0.2


def setenv(monkeypatch: pytest.MonkeyPatch, meaning: str | None, words: str | None) -> None:
    for name, value in ((sources.SEMANTIC_WEIGHT, meaning), (sources.KEYWORD_WEIGHT, words)):
        if value is not None:
            monkeypatch.setenv(name, value)


def test_exactly_the_tuning_settings_have_variables() -> None:
    personal = (
        *("llm.", "embedding.", "capture.", "share.", "second_look.", "surfacing.log_prompts", "surfacing.learn"),
        "surfacing.receipt",
    )
    assert {key.name: key.variable for key in keys.KEYS.values() if not key.name.startswith(personal)} == {
        name: "SUBCOG_" + name.replace(".", "_").upper() for name in sources.VARIABLES.values()
    }


def other_value(key: keys.Key) -> defaults.Value:
    """A value that is not the default and loosens nothing."""
    texts = key.choices or key.words[:2]
    values = [key.from_text(text) for text in texts]
    return next(new for new in values if new != key.default and not loading.is_loosened(key.name, new, key.default, key.way))


@pytest.mark.parametrize("name", sorted(sources.VARIABLES.values()))
def test_every_variable_sets_its_key_over_a_file_and_says_so(home: Home, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    key = keys.KEYS[name]
    written = f"'{key.default}'" if isinstance(key.default, str) else str(key.default).lower()
    write(home.config, f"# mine\n{name} = {written}\n")
    of_file = loading.load(home)
    assert (of_file[name], of_file.source_of(name)) == (key.default, "config.toml line 2")
    monkeypatch.setenv(key.variable, str(other_value(key)))
    settings = loading.load(home)
    assert (settings[name], settings.source_of(name)) == (other_value(key), key.variable)
    assert (settings.problems, settings.ignored) == ((), ())
    monkeypatch.setenv(key.variable, "nonsense" * 999)
    refused = loading.load(home)
    assert (refused[name], refused.source_of(name)) == (key.default, "config.toml line 2")
    assert refused.left_out == {name}
    assert refused.problems == (f"{key.variable} is '{'nonsense' * 10}', expected {key.expected}",)


@pytest.mark.parametrize("name", sorted(name for name, key in keys.KEYS.items() if not key.variable))
def test_personal_settings_have_no_variable(home: Home, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("SUBCOG_" + name.replace(".", "_").upper(), "false" if name == "surfacing.log_prompts" else "openai")
    settings = loading.load(home)
    assert (settings[name], settings.source_of(name)) == (keys.KEYS[name].default, "")
    assert (settings.problems, settings.ignored) == ((), ())


@pytest.mark.parametrize(("key", "loose"), [(key, loose) for key, loose, _ in LOOSE if loose is not None])
def test_a_variable_does_not_loosen_a_default(
    home: Home, monkeypatch: pytest.MonkeyPatch, key: str, loose: defaults.Value
) -> None:
    monkeypatch.setenv(keys.KEYS[key].variable, str(loose))
    settings = loading.load(home)
    assert (settings[key], settings.source_of(key), len(settings.ignored)) == (keys.KEYS[key].default, "", 1)


def test_preset_variable_wins_over_values_of_the_files(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    write(home.config, "[fusion]\nalpha = 0.2\n")
    monkeypatch.setenv("SUBCOG_FUSION_PRESET", "rrf")
    settings = loading.load(home)
    assert (settings["fusion.mode"], settings["fusion.alpha"]) == ("rrf", 0.5)
    assert [settings.source_of(name) for name in ("fusion.preset", "fusion.alpha")] == ["SUBCOG_FUSION_PRESET", "fusion.preset"]
    setenv(monkeypatch, "0.9", "0.1")
    settings = loading.load(home)
    assert settings["fusion.alpha"] == pytest.approx(0.9)
    assert settings.source_of("fusion.alpha") == "SUBCOG_SEMANTIC_WEIGHT and SUBCOG_KEYWORD_WEIGHT"
    monkeypatch.setenv("SUBCOG_FUSION_ALPHA", "0.3")
    assert loading.load(home)["fusion.alpha"] == 0.3


def test_variables_are_read_anew_beside_a_compiled_file(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.create()
    write(home.config, "[search_intent]\nmin_confidence = 0.2\n")
    state = State.open(home, 100)
    monkeypatch.setenv("SUBCOG_SEARCH_INTENT_MIN_CONFIDENCE", "0.9")
    assert loading.load(home, None, CompiledSettings(state))["search_intent.min_confidence"] == 0.9
    monkeypatch.delenv("SUBCOG_SEARCH_INTENT_MIN_CONFIDENCE")
    assert loading.load(home, None, CompiledSettings(state))["search_intent.min_confidence"] == 0.2
    state.close()


def test_every_one_way_key_is_covered_by_a_test() -> None:
    assert {key for key, *_ in LOOSE} | {"search_intent.use_llm"} == {name for name, key in keys.KEYS.items() if key.way}


@pytest.mark.parametrize(
    ("variable", "text", "line", "fault"),
    [
        (
            "SUBCOG_SEARCH_INTENT_MIN_CONFIDENCE",
            "0.1",
            "min_confidence = 0.7",
            "is 0.1, yours is 0.7; a variable may only raise it",
        ),
        ("SUBCOG_SEARCH_INTENT_ENABLED", "1", "enabled = false", "is true, yours is false; a variable may only switch it off"),
        ("SUBCOG_SEARCH_INTENT_USE_LLM", "on", "use_llm = false", "is true, yours is false; a variable may only switch it off"),
    ],
)
def test_a_variable_does_not_loosen_what_the_user_has_set(
    home: Home, monkeypatch: pytest.MonkeyPatch, variable: str, text: str, line: str, fault: str
) -> None:
    write(home.config, f"[search_intent]\n{line}\n")
    before = loading.load(home)
    monkeypatch.setenv(variable, text)
    settings = loading.load(home)
    key = sources.VARIABLES[variable]
    assert (settings[key], settings.problems) == (before[key], ())
    assert settings.ignored == (f"{variable}: {key} {fault}, so it is ignored",)
