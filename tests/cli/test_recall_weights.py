"""Precedence of fusion settings: environment, config.toml, .subcog.toml, presets; invalid values."""

from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.settings.keys import KEYS
from tests.cli.conftest import MonkeyPatch, Run

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


def test_environment_wins_over_user_file_over_project_file(with_memories: Run, shop: Path, monkeypatch: MonkeyPatch) -> None:
    assert share(with_memories) == (DEFAULT, "fusion.alpha")
    shop.write_text("[fusion]\nalpha = 0.3\n")
    assert share(with_memories)[0] == 0.3
    with_memories("config", "set", "fusion.alpha", "0.2")
    assert share(with_memories)[0] == 0.2
    for weights, alpha in (({MEANING: "0.9"}, 0.9), ({WORDS: "0.9"}, 0.1), ({MEANING: "0.3", WORDS: "0.1"}, 0.75)):
        with monkeypatch.context() as environment:
            for name, value in weights.items():
                environment.setenv(name, value)
            assert share(with_memories)[0] == pytest.approx(alpha)
            assert float(with_memories("config", "get", "fusion.alpha").out) == pytest.approx(alpha)
    monkeypatch.setenv(WORDS, "0")
    result = with_memories(*QUERY, "--json").json["results"][0]
    assert (result["found_by"], result["explain"]["alpha_reason"]) == (["semantic"], "meaning alone ran")
    monkeypatch.setenv(MEANING, "0")
    done = with_memories(*QUERY, "--json")
    message = f"{MEANING} and {WORDS} are both 0, expected one above it"
    assert (done.code, done.out, done.err.count("\n"), done.err.startswith(f"subcog: {message}; ")) == (4, "", 1, True)


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


def test_an_invalid_value_is_refused_in_every_source(with_memories: Run, home: Home) -> None:
    for key, value, expected in (
        ("fusion.alpha", "'much'", "0.0 to 1.0 or adaptive"),
        ("fusion.preset", "'s4'", PRESETS),
        ("recency.floor", "2", "0.0 to 1.0"),
        ("fusion.small", "'many'", "a whole number 0 to 10000000"),
    ):
        Path(home.config).unlink(missing_ok=True)
        message = f"{key} is {value}, expected {expected}"
        done = with_memories("config", "set", key, value.strip("'"))
        assert (done.code, done.out, done.err) == (4, "", f"subcog: {message}\n")
        section, _, name = key.partition(".")
        Path(home.config).write_text(f"[{section}]\n{name} = {value}\n")
        done = with_memories(*QUERY)
        assert (done.code, done.out, done.err) == (4, "", f"subcog: config.toml line 2: {message}; correct the file\n")
