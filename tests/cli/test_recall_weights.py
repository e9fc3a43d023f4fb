"""Precedence of fusion settings: environment, config.toml, .subcog.toml, presets; invalid values."""

from pathlib import Path

import pytest

from subcog_hooks.settings.keys import KEYS
from tests.cli.conftest import MonkeyPatch, Run, wide

MEANING, WORDS = "SUBCOG_SEMANTIC_WEIGHT", "SUBCOG_KEYWORD_WEIGHT"
DEFAULT = KEYS["fusion.alpha"].default
PRESETS = KEYS["fusion.preset"].expected
QUERY = ("search", "cats in the server room", "--fast")


@pytest.fixture
def with_memories(subcog: Run) -> Run:
    subcog("remember", "The office cat sleeps on the warm server rack in winter.")
    return subcog


@pytest.fixture
def shop(tmp_path: Path, with_memories: Run, monkeypatch: MonkeyPatch) -> Path:
    """Return the settings file of a project, and start commands there from now on."""
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop")
    return tmp_path / "shop" / ".subcog.toml"


def share(subcog: Run) -> tuple[float, str]:
    """Return the alpha of an answer and its reason, after checking that JSON and --explain agree."""
    explain = subcog(*QUERY, "--json").json["results"][0]["explain"]
    alpha, reason = explain["alpha"], explain["alpha_reason"]
    assert f"meaning has a share of {alpha:g} ({reason})" in subcog(*QUERY, "--explain").out
    return alpha, reason


@pytest.mark.parametrize(
    ("meaning", "words", "alpha"),
    [("0.9", None, 0.9), (None, "0.9", 0.1), ("0.6", "0.4", 0.6), ("0.3", "0.1", 0.75), ("1", "1", 0.5)],
)
def test_weights_of_the_environment_change_the_share_of_meaning(
    with_memories: Run, monkeypatch: MonkeyPatch, meaning: str | None, words: str | None, alpha: float
) -> None:
    assert share(with_memories) == (DEFAULT, "fusion.alpha")
    for name, value in ((MEANING, meaning), (WORDS, words)):
        if value is not None:
            monkeypatch.setenv(name, value)
    assert share(with_memories)[0] == pytest.approx(alpha)


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
    with_memories: Run, monkeypatch: MonkeyPatch, name: str, value: str, channels: list[str], reason: str
) -> None:
    monkeypatch.setenv(name, value)
    result = with_memories(*QUERY, "--json").json["results"][0]
    assert (result["found_by"], result["explain"]["alpha_reason"]) == (channels, reason)


def test_environment_wins_over_user_file_over_project_file(with_memories: Run, shop: Path, monkeypatch: MonkeyPatch) -> None:
    shop.write_text("[fusion]\nalpha = 0.3\n")
    assert share(with_memories)[0] == 0.3
    with_memories("config", "set", "fusion.alpha", "0.2")
    assert share(with_memories)[0] == 0.2
    monkeypatch.setenv(MEANING, "0.9")
    assert share(with_memories)[0] == 0.9
    assert with_memories("config", "get", "fusion.alpha").out == "0.9\n"


@pytest.mark.parametrize(
    ("meaning", "words", "message"),
    [
        ("much", None, f"{MEANING} is 'much', expected 0.0 to 1.0"),
        ("0.5", "1.5", f"{WORDS} is '1.5', expected 0.0 to 1.0"),
        ("0", "0", f"{MEANING} and {WORDS} are both 0, expected one above it"),
        ("nan", None, f"{MEANING} is 'nan', expected 0.0 to 1.0"),
        ("x" * 9_000, None, f"{MEANING} is '{'x' * 80}', expected 0.0 to 1.0"),
    ],
)
def test_a_weight_that_is_none_is_one_line_and_exit_code_four(
    with_memories: Run, monkeypatch: MonkeyPatch, meaning: str, words: str | None, message: str
) -> None:
    monkeypatch.setenv(MEANING, meaning)
    if words is not None:
        monkeypatch.setenv(WORDS, words)
    done = with_memories(*QUERY, "--json")
    assert (done.code, done.out, done.err.count("\n")) == (4, "", 1)
    assert done.err.startswith(f"subcog: {message}; ")
    assert done.err.endswith("; correct the variable\n")


def test_a_key_that_is_set_beside_a_preset_wins_over_it(with_memories: Run) -> None:
    with_memories("config", "set", "fusion.preset", "adaptive")
    assert share(with_memories)[1].startswith("exploratory asks for 0.7")
    with_memories("config", "set", "fusion.alpha", "0.4")
    assert share(with_memories) == (0.4, "fusion.alpha")
    assert with_memories("config", "get", "fusion.preset").out == "adaptive\n"
    with_memories("config", "set", "fusion.alpha", "default")
    assert share(with_memories)[1].startswith("exploratory asks for 0.7")


def test_choosing_a_preset_says_which_settings_win_over_it(with_memories: Run) -> None:
    with_memories("config", "set", "fusion.alpha", "0.4")
    messages = with_memories("config", "set", "fusion.preset", "rrf").err.splitlines()
    assert messages == ["fusion.preset = rrf", "fusion.alpha = 0.4 is set as well, and wins"]
    with_memories("config", "set", "fusion.alpha", "default")
    assert with_memories("config", "set", "fusion.preset", "adaptive").err == "fusion.preset = adaptive\n"


@pytest.mark.usefixtures("usual_settings")
def test_the_list_of_settings_shows_what_a_preset_says(with_memories: Run) -> None:
    def list_values() -> dict[str, str]:
        return dict(line.split(" = ") for line in with_memories("config", "list").out.splitlines())

    assert list_values() == {name: str(key.default).lower() or "(not set)" for name, key in KEYS.items()}
    with_memories("config", "set", "fusion.preset", "rrf")
    assert (list_values()["fusion.mode"], list_values()["fusion.alpha"]) == ("rrf  # fusion.preset", "0.5  # fusion.preset")
    assert with_memories("config", "get", "fusion.mode").out == "rrf\n"


def test_the_table_of_settings_says_what_is_allowed(with_memories: Run, monkeypatch: MonkeyPatch) -> None:
    wide(monkeypatch, 200)
    rows = {line.split()[0]: " ".join(line.split()) for line in with_memories("config", "list").out.splitlines()}
    assert rows["fusion.alpha"].startswith(f"fusion.alpha {DEFAULT} 0.0 to 1.0 or adaptive How much meaning counts")
    assert rows["fusion.mode"].startswith("fusion.mode relevance relevance, weighted or rrf How ")
    assert PRESETS.rpartition(" or ")[0] in rows["fusion.preset"]


@pytest.mark.usefixtures("usual_settings")
@pytest.mark.parametrize(
    ("text", "alpha"), [("alpha = 0.3", 0.3), ('preset = "adaptive"', 0.6), ('preset = "rrf"\nalpha = 0.35', 0.35)]
)
def test_a_project_may_tune_fusion(with_memories: Run, shop: Path, text: str, alpha: float) -> None:
    shop.write_text(f"[fusion]\n{text}\n")
    assert share(with_memories)[0] == alpha


def test_a_projects_wrong_value_is_named_and_the_default_holds(with_memories: Run, shop: Path) -> None:
    shop.write_text('[fusion]\nalpha = "much"\nmode = "borda"\n')
    done = with_memories(*QUERY, "--json")
    assert done.err.splitlines() == [
        ".subcog.toml line 2: fusion.alpha is 'much', expected 0.0 to 1.0 or adaptive",
        ".subcog.toml line 3: fusion.mode is 'borda', expected relevance, weighted or rrf",
    ]
    assert done.json["results"][0]["explain"]["alpha"] == DEFAULT


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("fusion.alpha", "much", "fusion.alpha is 'much', expected 0.0 to 1.0 or adaptive"),
        ("fusion.mode", "borda", "fusion.mode is 'borda', expected relevance, weighted or rrf"),
        ("fusion.preset", "s4", f"fusion.preset is 's4', expected {PRESETS}"),
        ("diversity.mmr", "2", "diversity.mmr is 2, expected 0.0 to 1.0"),
        ("fusion.small", "many", "fusion.small is 'many', expected a whole number 0 to 10000000"),
    ],
)
def test_an_invalid_value_is_refused_in_every_source(
    with_memories: Run, tmp_path: Path, key: str, value: str, message: str
) -> None:
    done = with_memories("config", "set", key, value)
    assert (done.code, done.out, done.err) == (4, "", f"subcog: {message}\n")
    section, _, name = key.partition(".")
    written = value if value.isdigit() else f'"{value}"'
    Path(tmp_path, "subcog", "config.toml").write_text(f"[{section}]\n{name} = {written}\n")
    done = with_memories(*QUERY)
    assert (done.code, done.out, done.err) == (4, "", f"subcog: config.toml line 2: {message}; correct the file\n")
