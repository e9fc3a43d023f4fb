"""Settings: types, ranges, places, the compiled form, and what a project may not say."""

import os
from pathlib import Path

import pytest

from subcog_hooks.paths import Home
from subcog_hooks.settings import files, keys, loading, variables
from subcog_hooks.state.compiled_settings import CompiledSettings
from subcog_hooks.state.connection import State


def write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def test_without_files_every_setting_has_its_default(home: Home) -> None:
    settings = loading.load(home)
    assert all(settings[name] == key.default for name, key in keys.KEYS.items())


def test_the_users_file_wins_over_the_projects(home: Home, tmp_path: Path) -> None:
    write(str(tmp_path / "p" / ".subcog.toml"), "[surfacing]\nmax_memories = 1\nmax_characters = 500\n")
    write(home.config, "[surfacing]\nmax_memories = 2\n")
    settings = loading.load(home, str(tmp_path / "p"))
    assert settings["surfacing.max_memories"] == 2
    assert settings["surfacing.max_characters"] == 500


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[surfacing]\n\nmin_relevance = 1.7\n", "config.toml line 3: surfacing.min_relevance is 1.7, expected 0.0 to 1.0"),
        ("[surfacing]\nenabled = 1", "config.toml line 2: surfacing.enabled is 1, expected true or false"),
        ("surfacing.max_memories = true", "config.toml line 1: surfacing.max_memories is true, expected a whole number 1 to 6"),
        ("[surfacing]\nmax_memory = 2", "config.toml line 2: surfacing.max_memory is not a setting"),
        ("[surfacing", "config.toml is not TOML"),
        ("model = 'x'", "config.toml line 1: model is not a setting"),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_left_out(home: Home, text: str, problem: str) -> None:
    write(home.config, text)
    settings = loading.load(home)
    assert len(settings.problems) == 1
    assert settings.problems[0].startswith(problem)
    assert settings["surfacing.max_memories"] == 6


def test_bytes_that_are_not_utf8_and_files_too_large_are_named(home: Home) -> None:
    home.create()
    with open(home.config, "wb") as file:
        file.write(b"# \xff")
    assert loading.load(home).problems == ("config.toml is not UTF-8 at byte 2",)
    write(home.config, "#" * 70_000)
    assert loading.load(home).problems == ("config.toml is larger than 65536 bytes",)


def test_the_compiled_form_is_used_until_the_file_changes(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.create()
    state = State.open(home, 100)
    write(home.config, "[surfacing]\nmax_memories = 2\nwrong = 1\n")
    first = loading.load(home, None, CompiledSettings(state))
    monkeypatch.setattr(files, "parse", lambda *_, **__: pytest.fail("parsed again"))
    again = loading.load(home, None, CompiledSettings(state))
    assert again["surfacing.max_memories"] == first["surfacing.max_memories"] == 2
    assert again.problems == first.problems != ()
    assert again.left_out == first.left_out == {"surfacing.wrong"}
    monkeypatch.undo()
    monkeypatch.setenv("SUBCOG_HOME", home.root)
    write(home.config, "[surfacing]\nmax_memories = 33\n")
    os.utime(home.config, ns=(1, 1))
    assert (
        loading.load(home, None, CompiledSettings(state))
        .problems[0]
        .startswith("config.toml line 2: surfacing.max_memories is 33")
    )


# ---- presets --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "mode", "alpha"),
    [
        ("", "weighted", keys.ALPHA),
        ('preset = "fixed-70-30"', "weighted", 0.7),
        ('preset = "adaptive"', "weighted", "adaptive"),
        ('preset = "rrf"', "rrf", 0.5),
        ('preset = "vector-only"', "weighted", 1.0),
        ('preset = "lexical-only"', "weighted", 0.0),
        ('alpha = 0.2\npreset = "rrf"', "rrf", 0.2),
        ('preset = "adaptive"\nmode = "rrf"', "rrf", "adaptive"),
    ],
)
def test_a_preset_is_a_mode_and_an_alpha_unless_they_are_set_beside_it(
    home: Home, text: str, mode: str, alpha: float | str
) -> None:
    write(home.config, f"[fusion]\n{text}\n")
    settings = loading.load(home)
    assert settings.problems == ()
    assert (settings["fusion.mode"], settings["fusion.alpha"]) == (mode, alpha)


def test_a_preset_of_the_users_wins_over_what_a_projects_file_sets(home: Home, tmp_path: Path) -> None:
    write(str(tmp_path / "p" / ".subcog.toml"), '[fusion]\nmode = "rrf"\nalpha = 0.9\n')
    write(home.config, '[fusion]\npreset = "lexical-only"\n')
    settings = loading.load(home, str(tmp_path / "p"))
    assert (settings["fusion.mode"], settings["fusion.alpha"]) == ("weighted", 0.0)


def test_what_the_user_sets_wins_over_a_projects_preset(home: Home, tmp_path: Path) -> None:
    write(str(tmp_path / "p" / ".subcog.toml"), '[fusion]\npreset = "rrf"\n')
    write(home.config, "[fusion]\nalpha = 0.2\n")
    settings = loading.load(home, str(tmp_path / "p"))
    assert (settings["fusion.mode"], settings["fusion.alpha"]) == ("rrf", 0.2)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("alpha = 'much'", "fusion.alpha is 'much', expected 0.0 to 1.0 or adaptive"),
        ("mode = 'borda'", "fusion.mode is 'borda', expected weighted or rrf"),
        ("preset = 7", f"fusion.preset is '7', expected {keys.KEYS['fusion.preset'].expected}"),
    ],
)
@pytest.mark.parametrize("file", ["config.toml", ".subcog.toml"])
def test_a_wrong_word_is_named_with_its_place_and_left_out(
    home: Home, tmp_path: Path, file: str, text: str, problem: str
) -> None:
    write(home.config if file == "config.toml" else str(tmp_path / "p" / file), f"[fusion]\n{text}\n")
    settings = loading.load(home, str(tmp_path / "p"))
    assert settings.problems == (f"{file} line 2: {problem}",)
    assert (settings["fusion.mode"], settings["fusion.alpha"]) == ("weighted", keys.ALPHA)


# ---- the environment ------------------------------------------------------------------------------------------------------


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
    assert settings["fusion.alpha"] == keys.ALPHA


def test_the_environment_wins_over_both_files_and_leaves_the_mode_to_them(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home.config, '[fusion]\nalpha = 0.2\npreset = "rrf"\n')
    write(str(tmp_path / "p" / ".subcog.toml"), "[fusion]\nalpha = 0.3\n")
    setenv(monkeypatch, "0.9", None)
    settings = loading.load(home, str(tmp_path / "p"))
    assert (settings["fusion.mode"], settings["fusion.alpha"]) == ("rrf", 0.9)
    setenv(monkeypatch, "much", None)
    assert loading.load(home, str(tmp_path / "p"))["fusion.alpha"] == 0.2


def test_the_environment_is_read_anew_beside_a_compiled_file(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.create()
    write(home.config, "[fusion]\nalpha = 0.2\n")
    state = State.open(home, 100)
    setenv(monkeypatch, "0.9", None)
    assert loading.load(home, None, CompiledSettings(state))["fusion.alpha"] == 0.9
    monkeypatch.delenv(variables.SEMANTIC_WEIGHT)
    assert loading.load(home, None, CompiledSettings(state))["fusion.alpha"] == 0.2


def setenv(monkeypatch: pytest.MonkeyPatch, meaning: str | None, words: str | None) -> None:
    for name, value in ((variables.SEMANTIC_WEIGHT, meaning), (variables.KEYWORD_WEIGHT, words)):
        if value is not None:
            monkeypatch.setenv(name, value)


LOOSE = (  # key, a value that would loosen its default, one that tightens it
    ("surfacing.enabled", None, False),
    ("surfacing.tools", None, False),
    ("surfacing.session_start", None, False),
    ("surfacing.min_relevance", 0.1, 0.5),
    ("surfacing.max_memories", None, 2),
    ("surfacing.max_characters", 9_900, 300),
    ("search.min_similarity", 0.0, 0.6),
    ("diversity.near_duplicate", 1.0, 0.8),
    ("relevance.prior", 1.9, 1.0),
    ("search_intent.enabled", None, False),
    ("search_intent.min_confidence", 0.0, 0.9),
    ("search_intent.llm_skip_confidence", 1.0, 0.1),
)
INTENT = (  # variable, its key, texts with their values
    ("SUBCOG_SEARCH_INTENT_ENABLED", "search_intent.enabled", (("false", False), ("0", False), ("No", False), ("OFF", False))),
    ("SUBCOG_SEARCH_INTENT_ENABLED", "search_intent.enabled", (("true", True), ("1", True), ("yes", True), (" on ", True))),
    ("SUBCOG_SEARCH_INTENT_USE_LLM", "search_intent.use_llm", (("off", False), ("TRUE", True))),
    ("SUBCOG_SEARCH_INTENT_LLM_TIMEOUT_MS", "search_intent.llm_timeout_ms", (("1", 1), (" 350 ", 350), ("1e4", 10_000))),
    ("SUBCOG_SEARCH_INTENT_MIN_CONFIDENCE", "search_intent.min_confidence", (("1", 1.0), (".65", 0.65))),
)


@pytest.mark.parametrize(
    ("variable", "key", "text", "value"), [(variable, key, *pair) for variable, key, pairs in INTENT for pair in pairs]
)
def test_a_variable_wins_over_both_files(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, key: str, text: str, value: keys.Value
) -> None:
    others = {"enabled": True, "use_llm": True, "llm_timeout_ms": 77, "min_confidence": 0.33}
    name = key.partition(".")[2]
    line = f"[search_intent]\n{name} = {str(others[name]).lower()}\n"
    write(home.config, line)
    write(str(tmp_path / "p" / ".subcog.toml"), line if name != "use_llm" else "")
    assert loading.load(home, str(tmp_path / "p"))[key] == others[name]
    monkeypatch.setenv(variable, text)
    settings = loading.load(home, str(tmp_path / "p"))
    assert (settings[key], type(settings[key]), settings.problems) == (value, type(value), ())


@pytest.mark.parametrize(
    ("variable", "text", "problem"),
    [
        ("SUBCOG_SEARCH_INTENT_ENABLED", "maybe", "is 'maybe', expected true or false"),
        ("SUBCOG_SEARCH_INTENT_ENABLED", "", "is '', expected true or false"),
        ("SUBCOG_SEARCH_INTENT_USE_LLM", "2", "is '2', expected true or false"),
        ("SUBCOG_SEARCH_INTENT_USE_LLM", "ollama", "is 'ollama', expected true or false"),
        ("SUBCOG_SEARCH_INTENT_LLM_TIMEOUT_MS", "0", "is '0', expected a whole number 1 to 10000"),
        ("SUBCOG_SEARCH_INTENT_LLM_TIMEOUT_MS", "200ms", "is '200ms', expected a whole number 1 to 10000"),
        ("SUBCOG_SEARCH_INTENT_LLM_TIMEOUT_MS", "1" * 9_000, f"is '{'1' * 80}', expected a whole number 1 to 10000"),
        ("SUBCOG_SEARCH_INTENT_MIN_CONFIDENCE", "nan", "is 'nan', expected 0.0 to 1.0"),
        ("SUBCOG_SEARCH_INTENT_MIN_CONFIDENCE", "1.01", "is '1.01', expected 0.0 to 1.0"),
        ("SUBCOG_SEARCH_INTENT_MIN_CONFIDENCE", "1e999", "is '1e999', expected 0.0 to 1.0"),
    ],
)
def test_a_variable_that_holds_something_else_is_named_and_left_out(
    home: Home, monkeypatch: pytest.MonkeyPatch, variable: str, text: str, problem: str
) -> None:
    write(home.config, "[search_intent]\nenabled = false\nuse_llm = false\nllm_timeout_ms = 77\nmin_confidence = 0.33\n")
    of_file = loading.load(home)
    monkeypatch.setenv(variable, text)
    settings = loading.load(home)
    assert settings.problems == (f"{variable} {problem}",)
    assert settings.left_out == {variables.VARIABLES[variable]}
    assert all(settings[name] == of_file[name] for name in keys.KEYS)


def test_each_tuning_setting_has_the_variable_of_its_name_and_no_other_has_one() -> None:
    personal = ("llm.", "embedding.", "capture.", "share.", "surfacing.log_prompts")
    assert {key.name: key.variable for key in keys.KEYS.values() if not key.name.startswith(personal)} == {
        name: "SUBCOG_" + name.replace(".", "_").upper() for name in variables.VARIABLES.values()
    }
    assert all(variables.VARIABLES[variable] == key for variable, key, _ in INTENT)


def other_value(key: keys.Key) -> keys.Value:
    """A value that is not the default and loosens nothing."""
    if isinstance(key, keys.ChoiceKey):
        return next(choice for choice in key.choices if choice != key.default)
    if isinstance(key.default, bool):
        return not key.default
    ends = [kind(end) for kind in (type(key.default),) for end in (key.low, key.high)]
    return next(end for end in ends if end != key.default and not key.is_loosened(end, key.default))


@pytest.mark.parametrize("name", sorted(variables.VARIABLES.values()))
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
    monkeypatch.setenv(key.variable, "nonsense")
    refused = loading.load(home)
    assert (refused[name], refused.source_of(name)) == (key.default, "config.toml line 2")
    assert refused.left_out == {name}
    assert refused.problems == (f"{key.variable} is 'nonsense', expected {key.expected}",)


@pytest.mark.parametrize("name", sorted(name for name, key in keys.KEYS.items() if not key.variable))
def test_what_is_for_the_user_to_say_has_no_variable(home: Home, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("SUBCOG_" + name.replace(".", "_").upper(), "false" if name == "surfacing.log_prompts" else "openai")
    settings = loading.load(home)
    assert (settings[name], settings.source_of(name)) == (keys.KEYS[name].default, "")
    assert (settings.problems, settings.ignored) == ((), ())


@pytest.mark.parametrize(("key", "loose"), [(key, loose) for key, loose, _ in LOOSE if loose is not None])
def test_a_variable_does_not_loosen_a_default(home: Home, monkeypatch: pytest.MonkeyPatch, key: str, loose: keys.Value) -> None:
    monkeypatch.setenv(keys.KEYS[key].variable, str(loose))
    settings = loading.load(home)
    assert (settings[key], settings.source_of(key), len(settings.ignored)) == (keys.KEYS[key].default, "", 1)


def test_a_variable_of_a_preset_wins_over_what_the_files_set_beside_theirs(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_source_is_told_only_of_a_value_that_is_in_force(home: Home, tmp_path: Path) -> None:
    write(home.config, "[search]\nlimit = 5\n")
    write(str(tmp_path / "p" / ".subcog.toml"), "search.limit = 7\nsurfacing.min_relevance = 0.1\nfusion.tags = 0.2\n")
    settings = loading.load(home, str(tmp_path / "p"))
    assert {name: settings.source_of(name) for name in keys.KEYS if settings.source_of(name)} == {
        "search.limit": "config.toml line 2",
        "fusion.tags": ".subcog.toml line 3",
    }


def test_variables_are_read_anew_beside_a_compiled_file(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.create()
    write(home.config, "[search_intent]\nmin_confidence = 0.2\n")
    state = State.open(home, 100)
    monkeypatch.setenv("SUBCOG_SEARCH_INTENT_MIN_CONFIDENCE", "0.9")
    assert loading.load(home, None, CompiledSettings(state))["search_intent.min_confidence"] == 0.9
    monkeypatch.delenv("SUBCOG_SEARCH_INTENT_MIN_CONFIDENCE")
    assert loading.load(home, None, CompiledSettings(state))["search_intent.min_confidence"] == 0.2
    state.close()


# ---- what only the user may loosen ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "loose"), [(key, loose) for key, loose, _ in LOOSE if loose is not None])
def test_a_project_does_not_loosen_a_default(home: Home, tmp_path: Path, key: str, loose: keys.Value) -> None:
    write(str(tmp_path / "p" / ".subcog.toml"), f"# ours\n{key} = {loose}\n")
    settings = loading.load(home, str(tmp_path / "p"))
    default, way = keys.KEYS[key].default, keys.ONE_WAY[key]
    fault = f"is {loose}, yours is {default}; a project's file may only {way} it, so it is ignored"
    assert (settings[key], settings.problems) == (default, ())
    assert settings.ignored == (f".subcog.toml line 2: {key} {fault}",)


@pytest.mark.parametrize(("key", "tight"), [(key, tight) for key, _, tight in LOOSE])
def test_a_project_tightens_what_it_likes(home: Home, tmp_path: Path, key: str, tight: keys.Value) -> None:
    write(str(tmp_path / "p" / ".subcog.toml"), f"{key} = {str(tight).lower()}\n")
    settings = loading.load(home, str(tmp_path / "p"))
    assert (settings[key], settings.problems, settings.ignored) == (tight, (), ())


def test_each_key_that_goes_one_way_is_tried_here_or_by_a_variable() -> None:
    assert {key for key, *_ in LOOSE} | {"search_intent.use_llm"} == set(keys.ONE_WAY)


@pytest.mark.parametrize("name", ["surfacing.enabled", "surfacing.tools", "surfacing.session_start", "search_intent.enabled"])
def test_a_project_switches_nothing_on_that_the_user_has_switched_off(home: Home, tmp_path: Path, name: str) -> None:
    write(home.config, f"{name} = false\n")
    write(str(tmp_path / "p" / ".subcog.toml"), f"{name} = true\n")
    settings = loading.load(home, str(tmp_path / "p"))
    fault = "is true, yours is false; a project's file may only switch it off, so it is ignored"
    assert (settings[name], settings.ignored) == (False, (f".subcog.toml line 1: {name} {fault}",))


def test_what_the_user_allows_a_project_may_use(home: Home, tmp_path: Path) -> None:
    write(home.config, "surfacing.min_relevance = 0.1\n")
    write(str(tmp_path / "p" / ".subcog.toml"), "surfacing.min_relevance = 0.15\n")
    assert loading.load(home, str(tmp_path / "p")).ignored == ()


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
    key = variables.VARIABLES[variable]
    assert (settings[key], settings.problems) == (before[key], ())
    assert settings.ignored == (f"{variable}: {key} {fault}, so it is ignored",)


# ---- files that are made to be a burden -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("".join(f"k{number}=1\n" for number in range(8_190)), ".subcog.toml is larger than 8192 bytes"),
        ("a." * 2_000 + "a = 1\n", ".subcog.toml line 1 is longer than 1,200 bytes"),
        ("surfacing.max_memories = 0x" + "f" * 1_100, "expected a whole number 1 to 6"),
    ],
)
def test_a_project_file_that_would_take_long_is_one_line(home: Home, tmp_path: Path, text: str, problem: str) -> None:
    write(str(tmp_path / "p" / ".subcog.toml"), text)
    (told,) = loading.load(home, str(tmp_path / "p")).problems
    assert problem in told
    assert len(told) < 300


def test_a_hundred_faults_are_ten_lines_and_a_count(home: Home, tmp_path: Path) -> None:
    write(str(tmp_path / "p" / ".subcog.toml"), "".join(f"k{number} = 1\n" for number in range(100)))
    problems = loading.load(home, str(tmp_path / "p")).problems
    assert (len(problems), problems[-1]) == (11, ".subcog.toml has 90 more faults")
    assert problems[9].startswith(".subcog.toml line 10: k9 is not a setting")


# ---- what a project may not say -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "search_intent.use_llm = true",
        'llm.provider = "openai"',
        'llm.base_url = "http://localhost:1/v1"',
        'llm.model = "theirs"',
        'llm.key_file = "/etc/passwd"',
        "llm.cache_hours = 8760",
    ],
)
def test_a_project_names_no_provider_and_switches_none_on(home: Home, tmp_path: Path, line: str) -> None:
    name = line.partition(" ")[0]
    write(home.config, "search_intent.use_llm = false\n")
    write(str(tmp_path / "p" / ".subcog.toml"), line)
    settings = loading.load(home, str(tmp_path / "p"))
    assert settings.problems == (f".subcog.toml line 1: {name} is left to your own config.toml",)
    assert settings[name] == (False if name == "search_intent.use_llm" else keys.KEYS[name].default)


def test_a_project_may_tune_its_intent(home: Home, tmp_path: Path) -> None:
    write(str(tmp_path / "p" / ".subcog.toml"), "[search_intent]\nenabled = false\nmin_confidence = 0.7\nllm_timeout_ms = 50\n")
    settings = loading.load(home, str(tmp_path / "p"))
    assert settings.problems == ()
    assert (settings["search_intent.enabled"], settings["search_intent.min_confidence"]) == (False, 0.7)


# ---- what was left out ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        ("", set()),
        ("[search_intent]\nuse_llm = 'false'\nmin_confidence = .4\n".replace(".4", "0.4"), {"search_intent.use_llm"}),
        ("[search_intent]\nusellm = false\n[llm]\nmodel = 7\n", {"search_intent.usellm", "llm.model"}),
        ("use_llm = false\n", {"use_llm"}),
    ],
)
def test_the_keys_that_were_left_out_are_named(home: Home, text: str, left_out: set[str]) -> None:
    write(home.config, text)
    assert loading.load(home).left_out == left_out


def test_what_a_project_says_wrongly_is_not_among_them(home: Home, tmp_path: Path) -> None:
    write(str(tmp_path / "p" / ".subcog.toml"), "[search_intent]\nuse_llm = 'x'\nusellm = 1\n[llm]\nmodel = 7\n")
    settings = loading.load(home, str(tmp_path / "p"))
    assert (len(settings.problems), settings.left_out) == (3, frozenset())


def test_a_refused_value_of_the_llm_is_in_no_line(home: Home) -> None:
    lines = [
        'provider = "hunter2"',
        'model = "hun ter2"',
        'base_url = "hunter2"',
        'key_file = "hunter2"',
        'cache_hours = "hunter2"',
    ]
    write(home.config, "[llm]\n" + "\n".join(lines))
    problems = loading.load(home).problems
    assert len(problems) == len(lines)
    assert "ter2" not in str(problems)
