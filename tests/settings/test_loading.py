"""Settings: types, ranges, sources, the compiled form, and the limits of a project's file."""

import os
from pathlib import Path

import pytest

from subcog_hooks import __version__
from subcog_hooks.core.paths import Home
from subcog_hooks.settings import defaults, loading, sources
from subcog_hooks.store.state import CompiledSettings, State
from tests.settings.material import LOOSE, write

pytestmark = pytest.mark.usefixtures("usual_settings")


def test_without_files_every_setting_has_its_default(home: Home) -> None:
    settings = loading.load(home)
    assert all(settings[name] == key.default for name, key in sources.KEYS.items())


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
def test_faulty_value_is_named_with_its_line_and_left_out(home: Home, text: str, problem: str) -> None:
    write(home.config, text)
    settings = loading.load(home)
    assert len(settings.problems) == 1
    assert settings.problems[0].startswith(problem)
    assert settings["surfacing.max_memories"] == 6


def test_bytes_that_are_not_utf8_and_files_too_large_are_named(home: Home) -> None:
    home.create()
    with open(home.config, "wb") as file:
        file.write(b"# \xff")
    assert (
        loading.load(home).problems[0].startswith("config.toml is not TOML: 'utf-8' codec can't decode byte 0xff in position 2")
    )
    write(home.config, "#" * 70_000)
    assert loading.load(home).problems == ("config.toml is larger than 65536 bytes",)


SWITCHES = ("surfacing.enabled", "surfacing.tools", "surfacing.session_start", "project.parents")


@pytest.mark.parametrize(
    ("raw", "off"),
    [
        (b"[surfacing]\nenabled = false\nmin_relevance 0.3\n", SWITCHES[:1]),
        (b'[surfacing]\ntools = "false"\nsession_start = true\n', SWITCHES[1:2]),
        (b"[surfacing]\nmin_relevance 0.3\n", ()),
        ("[surfacing]\nenabled = false\n".encode("utf-16"), SWITCHES),
        (b"#" * 70_000, SWITCHES),
        (b"[project]\nparents = 0\n" + b"#" * 6_000, SWITCHES[3:]),
    ],
)
def test_a_fault_switches_nothing_on(home: Home, tmp_path: Path, raw: bytes, off: tuple[str, ...]) -> None:
    home.create()
    Path(home.config).write_bytes(raw)
    write(str(tmp_path / "p" / ".subcog.toml"), "[surfacing]\nenabled = true\n")
    settings = loading.load(home, str(tmp_path / "p"))
    assert len(settings.problems) == 1
    assert tuple(name for name in SWITCHES if settings[name] is False) == off


def test_the_compiled_form_is_used_until_the_file_changes(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.create()
    state = State.open(home, 100)
    write(home.config, "[surfacing]\nmax_memories = 2\nwrong = 1\n")
    first = loading.load(home, None, CompiledSettings(state))
    monkeypatch.setattr(sources, "parse_file", lambda *_, **__: pytest.fail("parsed again"))
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


def test_files_of_one_time_and_size_are_told_apart(home: Home, tmp_path: Path) -> None:
    home.create()
    state = State.open(home, 100)
    for number in (3, 4):  # as in a store that gives all files one time
        write(str(tmp_path / str(number)), f"[surfacing]\nmax_memories = {number}\n")
        os.utime(tmp_path / str(number), ns=(1, 1))
        Path(home.config).unlink(missing_ok=True)
        Path(home.config).symlink_to(tmp_path / str(number))
        assert loading.load(home, None, CompiledSettings(state))["surfacing.max_memories"] == number
    state.close()


def test_a_form_of_another_version_is_compiled_anew() -> None:
    text = defaults.compile_settings(defaults.Settings({"search.limit": 5}, sources={"search.limit": "x line 1"}))
    compiled = defaults.load_compiled(text)
    assert compiled is not None
    assert (compiled.values, compiled.sources) == ({"search.limit": 5}, {"search.limit": "x line 1"})
    assert defaults.load_compiled(text.replace(__version__, "0.0.1")) is None


@pytest.mark.parametrize(
    ("text", "mode", "alpha"),
    [
        ("", "relevance", defaults.ALPHA),
        ('preset = "fixed-70-30"', "weighted", 0.7),
        ('preset = "adaptive"', "weighted", "adaptive"),
        ('preset = "rrf"', "rrf", 0.5),
        ('preset = "vector-only"', "weighted", 1.0),
        ('preset = "lexical-only"', "weighted", 0.0),
        ('alpha = 0.2\npreset = "rrf"', "rrf", 0.2),
        ('preset = "adaptive"\nmode = "rrf"', "rrf", "adaptive"),
    ],
)
def test_preset_gives_mode_and_alpha_unless_they_are_set(home: Home, text: str, mode: str, alpha: float | str) -> None:
    write(home.config, f"[fusion]\n{text}\n")
    settings = loading.load(home)
    assert settings.problems == ()
    assert (settings["fusion.mode"], settings["fusion.alpha"]) == (mode, alpha)


def test_users_preset_wins_over_a_projects_values(home: Home, tmp_path: Path) -> None:
    write(str(tmp_path / "p" / ".subcog.toml"), '[fusion]\nmode = "rrf"\nalpha = 0.9\n')
    write(home.config, '[fusion]\npreset = "lexical-only"\n')
    settings = loading.load(home, str(tmp_path / "p"))
    assert (settings["fusion.mode"], settings["fusion.alpha"]) == ("weighted", 0.0)


def test_a_source_is_told_only_of_a_value_that_is_in_force(home: Home, tmp_path: Path) -> None:
    write(home.config, "[search]\nlimit = 5\n")
    write(str(tmp_path / "p" / ".subcog.toml"), "search.limit = 7\nsurfacing.min_relevance = 0.1\nfusion.tags = 0.2\n")
    settings = loading.load(home, str(tmp_path / "p"))
    assert {name: settings.source_of(name) for name in sources.KEYS if settings.source_of(name)} == {
        "search.limit": "config.toml line 2",
        "fusion.tags": ".subcog.toml line 3",
    }


@pytest.mark.parametrize(("key", "loose"), [(key, loose) for key, loose, _ in LOOSE if loose is not None])
def test_a_project_does_not_loosen_a_default(home: Home, tmp_path: Path, key: str, loose: defaults.Value) -> None:
    write(str(tmp_path / "p" / ".subcog.toml"), f"# ours\n{key} = {loose}\n")
    settings = loading.load(home, str(tmp_path / "p"))
    default, way = sources.KEYS[key].default, sources.KEYS[key].way
    fault = f"is {loose}, yours is {default}; a project's file may only {way} it, so it is ignored"
    assert (settings[key], settings.problems) == (default, ())
    assert settings.ignored == (f".subcog.toml line 2: {key} {fault}",)


@pytest.mark.parametrize(("key", "tight"), [(key, tight) for key, _, tight in LOOSE])
def test_a_project_tightens_what_it_likes(home: Home, tmp_path: Path, key: str, tight: defaults.Value) -> None:
    write(str(tmp_path / "p" / ".subcog.toml"), f"{key} = {str(tight).lower()}\n")
    settings = loading.load(home, str(tmp_path / "p"))
    assert (settings[key], settings.problems, settings.ignored) == (tight, (), ())


@pytest.mark.parametrize("name", ["surfacing.enabled", "surfacing.tools", "surfacing.session_start", "search_intent.enabled"])
def test_project_cannot_switch_on_what_the_user_switched_off(home: Home, tmp_path: Path, name: str) -> None:
    write(home.config, f"{name} = false\n")
    write(str(tmp_path / "p" / ".subcog.toml"), f"{name} = true\n")
    settings = loading.load(home, str(tmp_path / "p"))
    fault = "is true, yours is false; a project's file may only switch it off, so it is ignored"
    assert (settings[name], settings.ignored) == (False, (f".subcog.toml line 1: {name} {fault}",))


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
    (line,) = loading.load(home, str(tmp_path / "p")).problems
    assert problem in line
    assert len(line) < 300


def test_a_hundred_faults_are_ten_lines_and_a_count(home: Home, tmp_path: Path) -> None:
    write(str(tmp_path / "p" / ".subcog.toml"), "".join(f"k{number} = 1\n" for number in range(100)))
    problems = loading.load(home, str(tmp_path / "p")).problems
    assert (len(problems), problems[-1]) == (11, ".subcog.toml has 90 more faults")
    assert problems[9].startswith(".subcog.toml line 10: k9 is not a setting")


@pytest.mark.parametrize(
    "line",
    [
        *("search_intent.use_llm = true", 'llm.provider = "openai"', 'llm.base_url = "http://localhost:1/v1"'),
        *('llm.model = "theirs"', 'llm.key_file = "/etc/passwd"', "llm.calls_a_day = 10000"),
    ],
)
def test_a_project_names_no_provider_and_switches_none_on(home: Home, tmp_path: Path, line: str) -> None:
    name = line.partition(" ")[0]
    write(home.config, "search_intent.use_llm = false\n")
    write(str(tmp_path / "p" / ".subcog.toml"), line)
    settings = loading.load(home, str(tmp_path / "p"))
    assert settings.problems == (f".subcog.toml line 1: {name} is left to your own config.toml",)
    assert settings[name] == (False if name == "search_intent.use_llm" else sources.KEYS[name].default)


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


def test_a_refused_value_of_the_llm_is_in_no_line(home: Home) -> None:
    lines = [
        *('provider = "hunter2"', 'model = "hun ter2"', 'base_url = "hunter2"', 'key_file = "hunter2"'),
        'calls_a_day = "hunter2"',
    ]
    write(home.config, "[llm]\n" + "\n".join(lines))
    problems = loading.load(home).problems
    assert len(problems) == len(lines)
    assert "ter2" not in str(problems)


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


def setenv(monkeypatch: pytest.MonkeyPatch, meaning: str | None, words: str | None) -> None:
    for name, value in ((sources.SEMANTIC_WEIGHT, meaning), (sources.KEYWORD_WEIGHT, words)):
        if value is not None:
            monkeypatch.setenv(name, value)


def test_exactly_the_tuning_settings_have_variables() -> None:
    personal = (
        "llm.",
        "embedding.",
        "capture.",
        "share.",
        "second_look.",
        "sessions.",
        "surfacing.log_prompts",
        "surfacing.learn",
    )
    assert {key.name: key.variable for key in sources.KEYS.values() if not key.name.startswith(personal)} == {
        name: "SUBCOG_" + name.replace(".", "_").upper() for name in sources.VARIABLES.values()
    }


def other_value(key: sources.Key) -> defaults.Value:
    """A value that is not the default and loosens nothing."""
    texts = key.choices or key.words[:2]
    values = [key.from_text(text) for text in texts]
    return next(new for new in values if new != key.default and not loading.is_loosened(key.name, new, key.default, key.way))


@pytest.mark.parametrize("name", sorted(sources.VARIABLES.values()))
def test_every_variable_sets_its_key_over_a_file_and_says_so(home: Home, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    key = sources.KEYS[name]
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


@pytest.mark.parametrize("name", sorted(name for name, key in sources.KEYS.items() if not key.variable))
def test_personal_settings_have_no_variable(home: Home, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("SUBCOG_" + name.replace(".", "_").upper(), "false" if name == "surfacing.log_prompts" else "openai")
    settings = loading.load(home)
    assert (settings[name], settings.source_of(name)) == (sources.KEYS[name].default, "")
    assert (settings.problems, settings.ignored) == ((), ())


@pytest.mark.parametrize(("key", "loose"), [(key, loose) for key, loose, _ in LOOSE if loose is not None])
def test_a_variable_does_not_loosen_a_default(
    home: Home, monkeypatch: pytest.MonkeyPatch, key: str, loose: defaults.Value
) -> None:
    monkeypatch.setenv(sources.KEYS[key].variable, str(loose))
    settings = loading.load(home)
    assert (settings[key], settings.source_of(key), len(settings.ignored)) == (sources.KEYS[key].default, "", 1)


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
    assert {key for key, *_ in LOOSE} | {"search_intent.use_llm"} == {name for name, key in sources.KEYS.items() if key.way}


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
