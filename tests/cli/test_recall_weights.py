"""Whose word on fusion holds in the terminal: environment, config.toml, a project's .subcog.toml, presets; wrong words."""

import json
from pathlib import Path

import pytest

from subcog_hooks.settings.keys import KEYS
from tests.cli.conftest import Run

MEANING, WORDS = "SUBCOG_SEMANTIC_WEIGHT", "SUBCOG_KEYWORD_WEIGHT"
DEFAULT = KEYS["fusion.alpha"].default
PRESETS = KEYS["fusion.preset"].expected
QUERY = ("search", "cats in the server room", "--fast")


@pytest.fixture
def filled(subcog: Run) -> Run:
    subcog("remember", "The office cat sleeps on the warm server rack in winter.")
    return subcog


@pytest.fixture
def shop(tmp_path: Path, filled: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings file of a project, which commands are started in from here on."""
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop")
    return tmp_path / "shop" / ".subcog.toml"


def share(subcog: Run) -> tuple[float, str]:
    """The alpha of an answer and its reason, as the JSON and the lines of --explain both say."""
    explain = json.loads(subcog(*QUERY, "--json").out)["results"][0]["explain"]
    alpha, reason = explain["alpha"], explain["alpha_reason"]
    assert f"meaning has a share of {alpha:g} ({reason})" in subcog(*QUERY, "--explain").out
    return alpha, reason


@pytest.mark.parametrize(
    ("meaning", "words", "alpha"),
    [("0.9", None, 0.9), (None, "0.9", 0.1), ("0.6", "0.4", 0.6), ("0.3", "0.1", 0.75), ("1", "1", 0.5)],
)
def test_weights_of_the_environment_change_the_share_of_meaning(
    filled: Run, monkeypatch: pytest.MonkeyPatch, meaning: str | None, words: str | None, alpha: float
) -> None:
    assert share(filled) == (DEFAULT, "fusion.alpha")
    for name, value in ((MEANING, meaning), (WORDS, words)):
        if value is not None:
            monkeypatch.setenv(name, value)
    assert share(filled)[0] == pytest.approx(alpha)


@pytest.mark.parametrize(
    ("name", "value", "channels", "reason"),
    [
        (MEANING, "1", ["semantic"], "meaning alone ran"),
        (WORDS, "0", ["semantic"], "meaning alone ran"),
        (MEANING, "0", ["lexical_relaxed"], "words alone ran"),
        (WORDS, "1", ["lexical_relaxed"], "words alone ran"),
    ],
)
def test_a_weight_at_its_end_leaves_the_other_side_out(
    filled: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: str, channels: list[str], reason: str
) -> None:
    monkeypatch.setenv(name, value)
    result = json.loads(filled(*QUERY, "--json").out)["results"][0]
    assert (result["found_by"], result["explain"]["alpha_reason"]) == (channels, reason)


def test_the_environment_wins_over_the_users_file_and_that_over_the_projects(
    filled: Run, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.write_text("[fusion]\nalpha = 0.3\n")
    assert share(filled)[0] == 0.3
    filled("config", "set", "fusion.alpha", "0.2")
    assert share(filled)[0] == 0.2
    monkeypatch.setenv(MEANING, "0.9")
    assert share(filled)[0] == 0.9
    assert filled("config", "get", "fusion.alpha").out == "0.9\n"


@pytest.mark.parametrize(
    ("meaning", "words", "said"),
    [
        ("much", None, f"{MEANING} is 'much', expected 0.0 to 1.0"),
        ("0.5", "1.5", f"{WORDS} is '1.5', expected 0.0 to 1.0"),
        ("0", "0", f"{MEANING} and {WORDS} are both 0, expected one above it"),
        ("nan", None, f"{MEANING} is 'nan', expected 0.0 to 1.0"),
        ("x" * 9_000, None, f"{MEANING} is '{'x' * 80}', expected 0.0 to 1.0"),
    ],
)
def test_a_weight_that_is_none_is_one_line_and_exit_code_four(
    filled: Run, monkeypatch: pytest.MonkeyPatch, meaning: str, words: str | None, said: str
) -> None:
    monkeypatch.setenv(MEANING, meaning)
    if words is not None:
        monkeypatch.setenv(WORDS, words)
    done = filled(*QUERY, "--json")
    assert (done.code, done.out, done.err.count("\n")) == (4, "", 1)
    assert done.err.startswith(f"subcog: {said}; ")
    assert done.err.endswith("; correct the variable\n")


# ---- presets and projects -------------------------------------------------------------------------------------------------


def test_a_key_that_is_set_beside_a_preset_wins_over_it(filled: Run) -> None:
    filled("config", "set", "fusion.preset", "adaptive")
    assert share(filled)[1].startswith("exploratory asks for 0.7")
    filled("config", "set", "fusion.alpha", "0.4")
    assert share(filled) == (0.4, "fusion.alpha")
    assert filled("config", "get", "fusion.preset").out == "adaptive\n"
    filled("config", "set", "fusion.alpha", "default")
    assert share(filled)[1].startswith("exploratory asks for 0.7")


def test_choosing_a_preset_says_which_settings_win_over_it(filled: Run) -> None:
    filled("config", "set", "fusion.alpha", "0.4")
    said = filled("config", "set", "fusion.preset", "rrf").err.splitlines()
    assert said == ["fusion.preset = rrf", "fusion.alpha = 0.4 is set as well, and wins"]
    filled("config", "set", "fusion.alpha", "default")
    assert filled("config", "set", "fusion.preset", "adaptive").err == "fusion.preset = adaptive\n"


@pytest.mark.usefixtures("usual_settings")
def test_the_list_of_settings_shows_what_a_preset_says(filled: Run) -> None:
    def listed() -> dict[str, str]:
        return dict(line.split(" = ") for line in filled("config", "list").out.splitlines())

    assert listed() == {name: str(key.default).lower() or "(not set)" for name, key in KEYS.items()}
    filled("config", "set", "fusion.preset", "rrf")
    assert (listed()["fusion.mode"], listed()["fusion.alpha"]) == ("rrf  # fusion.preset", "0.5  # fusion.preset")
    assert filled("config", "get", "fusion.mode").out == "rrf\n"


def test_the_table_of_settings_says_what_is_allowed(filled: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subcog_hooks.cli.support.output.terminal.out._force_terminal", True)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    rows = {line.split()[0]: " ".join(line.split()) for line in filled("config", "list").out.splitlines()}
    assert rows["fusion.alpha"].startswith(f"fusion.alpha {DEFAULT} 0.0 to 1.0 or adaptive How much meaning counts")
    assert rows["fusion.mode"].startswith("fusion.mode weighted weighted or rrf How ")
    assert PRESETS in rows["fusion.preset"]


@pytest.mark.usefixtures("usual_settings")
@pytest.mark.parametrize(
    ("text", "alpha"), [("alpha = 0.3", 0.3), ('preset = "adaptive"', 0.6), ('preset = "rrf"\nalpha = 0.35', 0.35)]
)
def test_a_project_may_tune_fusion(filled: Run, shop: Path, text: str, alpha: float) -> None:
    shop.write_text(f"[fusion]\n{text}\n")
    assert share(filled)[0] == alpha


def test_what_is_wrong_in_a_projects_file_is_said_and_the_default_holds(filled: Run, shop: Path) -> None:
    shop.write_text('[fusion]\nalpha = "much"\nmode = "borda"\n')
    done = filled(*QUERY, "--json")
    assert done.err.splitlines() == [
        ".subcog.toml line 2: fusion.alpha is 'much', expected 0.0 to 1.0 or adaptive",
        ".subcog.toml line 3: fusion.mode is 'borda', expected weighted or rrf",
    ]
    assert json.loads(done.out)["results"][0]["explain"]["alpha"] == DEFAULT


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("fusion.alpha", "much", "fusion.alpha is 'much', expected 0.0 to 1.0 or adaptive"),
        ("fusion.mode", "borda", "fusion.mode is 'borda', expected weighted or rrf"),
        ("fusion.preset", "s4", f"fusion.preset is 's4', expected {PRESETS}"),
        ("diversity.mmr", "2", "diversity.mmr is 2, expected 0.0 to 1.0"),
        ("fusion.small", "many", "fusion.small is 'many', expected a whole number 0 to 10000000"),
    ],
)
def test_a_value_that_does_not_hold_is_refused_wherever_it_is_written(
    filled: Run, tmp_path: Path, key: str, value: str, said: str
) -> None:
    done = filled("config", "set", key, value)
    assert (done.code, done.out, done.err) == (4, "", f"subcog: {said}\n")
    section, _, name = key.partition(".")
    written = value if value.isdigit() else f'"{value}"'
    Path(tmp_path, "subcog", "config.toml").write_text(f"[{section}]\n{name} = {written}\n")
    done = filled(*QUERY)
    assert (done.code, done.out, done.err) == (4, "", f"subcog: config.toml line 2: {said}; correct the file\n")
