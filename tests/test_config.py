"""Settings: types, ranges, places, the compiled form, and what a project may not say."""

import os
from pathlib import Path

import pytest

from subcog_hooks import config, keys
from subcog_hooks.paths import Home
from subcog_hooks.state import State


def write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def test_without_files_every_setting_has_its_default(home: Home) -> None:
    settings = config.load(home)
    assert all(settings[name] == key.default for name, key in keys.KEYS.items())


def test_the_users_file_wins_over_the_projects(home: Home, tmp_path: Path) -> None:
    write(str(tmp_path / "p" / ".subcog.toml"), "[surfacing]\nmax_memories = 1\nmax_characters = 500\n")
    write(home.config, "[surfacing]\nmax_memories = 2\n")
    settings = config.load(home, str(tmp_path / "p"))
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
    settings = config.load(home)
    assert len(settings.problems) == 1
    assert settings.problems[0].startswith(problem)
    assert settings["surfacing.max_memories"] == 6


def test_bytes_that_are_not_utf8_and_files_too_large_are_named(home: Home) -> None:
    home.create()
    with open(home.config, "wb") as file:
        file.write(b"# \xff")
    assert config.load(home).problems == ("config.toml is not UTF-8 at byte 2",)
    write(home.config, "#" * 70_000)
    assert config.load(home).problems == ("config.toml is larger than 65536 bytes",)


def test_the_compiled_form_is_used_until_the_file_changes(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.create()
    state = State.open(home, 100)
    write(home.config, "[surfacing]\nmax_memories = 2\nwrong = 1\n")
    first = config.load(home, None, state)
    monkeypatch.setattr(config, "parse", lambda *_: pytest.fail("parsed again"))
    again = config.load(home, None, state)
    assert again["surfacing.max_memories"] == first["surfacing.max_memories"] == 2
    assert again.problems == first.problems != ()
    monkeypatch.undo()
    monkeypatch.setenv("SUBCOG_HOME", home.root)
    write(home.config, "[surfacing]\nmax_memories = 33\n")
    os.utime(home.config, ns=(1, 1))
    assert config.load(home, None, state).problems[0].startswith("config.toml line 2: surfacing.max_memories is 33")


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
    settings = config.load(home)
    assert settings.problems == ()
    assert (settings["fusion.mode"], settings["fusion.alpha"]) == (mode, alpha)


def test_a_preset_of_the_users_wins_over_what_a_projects_file_sets(home: Home, tmp_path: Path) -> None:
    write(str(tmp_path / "p" / ".subcog.toml"), '[fusion]\nmode = "rrf"\nalpha = 0.9\n')
    write(home.config, '[fusion]\npreset = "lexical-only"\n')
    settings = config.load(home, str(tmp_path / "p"))
    assert (settings["fusion.mode"], settings["fusion.alpha"]) == ("weighted", 0.0)


def test_what_the_user_sets_wins_over_a_projects_preset(home: Home, tmp_path: Path) -> None:
    write(str(tmp_path / "p" / ".subcog.toml"), '[fusion]\npreset = "rrf"\n')
    write(home.config, "[fusion]\nalpha = 0.2\n")
    settings = config.load(home, str(tmp_path / "p"))
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
    settings = config.load(home, str(tmp_path / "p"))
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
    settings = config.load(home)
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
    settings = config.load(home)
    assert settings.problems == (problem,)
    assert settings["fusion.alpha"] == keys.ALPHA


def test_the_environment_wins_over_both_files_and_leaves_the_mode_to_them(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home.config, '[fusion]\nalpha = 0.2\npreset = "rrf"\n')
    write(str(tmp_path / "p" / ".subcog.toml"), "[fusion]\nalpha = 0.3\n")
    setenv(monkeypatch, "0.9", None)
    settings = config.load(home, str(tmp_path / "p"))
    assert (settings["fusion.mode"], settings["fusion.alpha"]) == ("rrf", 0.9)
    setenv(monkeypatch, "much", None)
    assert config.load(home, str(tmp_path / "p"))["fusion.alpha"] == 0.2


def test_the_environment_is_read_anew_beside_a_compiled_file(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.create()
    write(home.config, "[fusion]\nalpha = 0.2\n")
    state = State.open(home, 100)
    setenv(monkeypatch, "0.9", None)
    assert config.load(home, None, state)["fusion.alpha"] == 0.9
    monkeypatch.delenv(config.SEMANTIC_WEIGHT)
    assert config.load(home, None, state)["fusion.alpha"] == 0.2


def setenv(monkeypatch: pytest.MonkeyPatch, meaning: str | None, words: str | None) -> None:
    for name, value in ((config.SEMANTIC_WEIGHT, meaning), (config.KEYWORD_WEIGHT, words)):
        if value is not None:
            monkeypatch.setenv(name, value)
