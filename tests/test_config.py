"""Settings: types, ranges, places, the compiled form, and what a project may not say."""

import os
from pathlib import Path

import pytest

from subcog_hooks import config
from subcog_hooks.errors import ConfigError
from subcog_hooks.paths import Home
from subcog_hooks.state import State


def write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def test_without_files_every_setting_has_its_default(home: Home) -> None:
    settings = config.load(home)
    assert all(settings[name] == key.default for name, key in config.KEYS.items())


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


@pytest.mark.parametrize("text", ["true", "1", "YES", "on"])
def test_people_write_true_in_several_ways(text: str) -> None:
    assert config.KEYS["surfacing.enabled"].from_text(text) is True


@pytest.mark.parametrize(
    ("name", "text"), [("surfacing.enabled", "maybe"), ("surfacing.max_memories", "2.5"), ("search.limit", "many")]
)
def test_a_typed_value_that_does_not_hold_is_refused(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} is"):
        config.KEYS[name].from_text(text)
