"""The table of settings: the values that each type accepts, and its refusals."""

import pytest

from subcog_hooks.core.errors import ConfigError
from subcog_hooks.settings.defaults import DEFAULTS, LEARN, PRESETS, SECOND_LOOK, Value
from subcog_hooks.settings.sources import KEYS, Key


def test_the_hook_has_the_default_of_every_setting() -> None:
    assert list(DEFAULTS) == list(KEYS)


@pytest.mark.parametrize("key", KEYS.values(), ids=lambda key: str(key.name))
def test_default_is_valid_and_written_as_it_is_read(key: Key) -> None:
    assert key.check_value(key.default) == key.default
    assert key.from_text(str(key.default)) == key.default
    assert type(key.from_text(str(key.default))) is type(key.default)
    assert key.help
    assert key.expected


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        *(("surfacing.enabled", text, True) for text in ("true", "1", "YES", " on ")),
        ("fusion.alpha", "Adaptive", "adaptive"),
        ("fusion.alpha", "0", 0.0),
        ("fusion.alpha", "1e-1", 0.1),
        ("fusion.preset", "RRF", "rrf"),
        ("fusion.preset", " vector-only ", "vector-only"),
        ("fusion.mode", "Weighted", "weighted"),
        ("fusion.large", "1e4", 10_000),
        ("recency.decay", "0.01", 0.01),
        ("search_intent.use_llm", "Off", False),
        ("search_intent.llm_timeout_ms", "1500", 1_500),
        ("search_intent.min_confidence", "1", 1.0),
        ("llm.provider", " OpenAI ", "openai"),
        ("llm.calls_a_day", "0", 0),
    ],
)
def test_a_typed_value_is_taken_in_the_keys_own_type(name: str, text: str, value: Value) -> None:
    taken = KEYS[name].from_text(text)
    assert (taken, type(taken)) == (value, type(value))


SHARE = "expected 0.0 to 1.0 or adaptive"
MODE = "expected relevance, weighted or rrf"
PRESET = f"expected {KEYS['fusion.preset'].expected}"


@pytest.mark.parametrize(
    ("name", "text", "message"),
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
        ("fusion.pattern", "0.05", "fusion.pattern is 0.05, expected 0.1 to 5.0"),
        ("search_intent.llm_timeout_ms", "0", "search_intent.llm_timeout_ms is 0, expected a whole number 1 to 10000"),
        ("search_intent.llm_timeout_ms", "10001", "search_intent.llm_timeout_ms is 10001, expected a whole number 1 to 10000"),
        ("search_intent.min_confidence", "50%", "search_intent.min_confidence is '50%', expected 0.0 to 1.0"),
        ("search_intent.llm_skip_confidence", "1.1", "search_intent.llm_skip_confidence is 1.1, expected 0.0 to 1.0"),
        ("llm.provider", "ollama", "llm.provider does not hold, expected none, anthropic or openai"),
        ("llm.calls_a_day", "10001", "llm.calls_a_day does not hold, expected a whole number 0 to 10000"),
        ("embedding.model", "two words", "embedding.model is 'two words', expected a model of `subcog models list`"),
    ],
)
def test_a_typed_value_that_does_not_hold_is_refused(name: str, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        KEYS[name].from_text(text)
    assert refused.value.message == message


@pytest.mark.parametrize(
    ("name", "value", "message"),
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
def test_a_value_of_a_file_that_does_not_hold_is_refused(name: str, value: object, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        KEYS[name].check_value(value)
    assert refused.value.message == message


def test_a_preset_is_made_of_settings_that_hold() -> None:
    for values in PRESETS.values():
        assert {name: KEYS[name].check_value(value) for name, value in values.items()} == values


def test_the_default_preset_says_what_the_defaults_say() -> None:
    of_preset = PRESETS[str(KEYS["fusion.preset"].default)]
    assert of_preset == {name: KEYS[name].default for name in of_preset}


def test_models_and_processes_are_for_the_user_alone() -> None:
    personal = {key.name for key in KEYS.values() if key.is_personal}
    llm = {name for name in KEYS if name.startswith("llm.")}
    capture = {
        *("capture.typed", "capture.agent", "capture.agents_declined", "capture.remind", "capture.claude_memory"),
        *("capture.sessions", "capture.sessions_except", "capture.clients_except"),
    }
    other = {
        "embedding.model",
        "embedding.background",
        "search_intent.use_llm",
        "surfacing.log_prompts",
        LEARN,
        SECOND_LOOK,
        *("sessions.keep", "sessions.lines"),
    }
    share = {name for name in KEYS if name.startswith("share.")}
    assert personal == capture | other | llm | share
    assert all(key.is_personal for key in KEYS.values() if key.form)


def test_a_list_of_words_takes_those_that_there_are() -> None:
    key = KEYS["capture.clients_except"]
    assert key.from_text(" Codex, claude,") == "codex,claude"
    assert key.from_text("") == ""
    with pytest.raises(ConfigError, match=r"bogus.*expected some of claude, codex"):
        key.from_text("codex,bogus")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("llm.model", ""),
        ("llm.model", "  "),
        ("llm.model", "llama3.2:3b-instruct-q4_K_M"),
        ("llm.model", "org/model@latest"),
        ("llm.base_url", ""),
        ("llm.base_url", "http://localhost:11434/v1"),
        ("llm.base_url", "https://llm.example.org"),
        ("llm.base_url", " HTTP://127.0.0.1/ "),
        ("llm.base_url", "http://[::1]:8080/v1"),
        ("llm.key_file", ""),
        ("llm.key_file", "/run/secrets/my llm key"),
        ("llm.key_file", "~/.keys/anthropic"),
    ],
)
def test_name_address_or_path_is_stripped_of_blanks_only(name: str, text: str) -> None:
    assert KEYS[name].from_text(text) == KEYS[name].check_value(text.strip()) == text.strip()


@pytest.mark.parametrize("text", ["", "two words", "a\u200bb", "tab\tbed", "x" * 201])
def test_a_name_is_one_printable_word(text: str) -> None:
    for name in ("llm.model", "embedding.model"):
        if text or KEYS[name].default:
            with pytest.raises(ConfigError):
                KEYS[name].check_value(text)


@pytest.mark.parametrize(
    "text",
    [
        *("localhost:11434", "localhost", "//localhost", "ftp://localhost", "file:///etc/passwd", "http://", "http:///v1"),
        *("http://localhost:port", "http://localhost:99999", "http://localhost:0", "http://[::1", "http://a b", "http://a\nb"),
        *("http://bücher.example", "http://x" + "y" * 200),
    ],
)
def test_invalid_server_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        KEYS["llm.base_url"].from_text(text)
    assert refused.value.message.startswith("llm.base_url does not hold, expected an address such as http://")


@pytest.mark.parametrize(
    "text", ["https://me:hunter2@host/v1", "https://hunter2@host", "https://host/v1?key=hunter2", "https://host/#hunter2"]
)
def test_address_with_a_possible_secret_is_refused_unshown(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        KEYS["llm.base_url"].check_value(text)
    assert refused.value.message.startswith("llm.base_url does not hold, expected an address such as ")
    assert "hunter2" not in refused.value.message


@pytest.mark.parametrize(
    "text", ["sk-ant-hunter2", "keys/hunter2", "./hunter2", "~hunter2", "~", "/a\nhunter2", "/" + "x" * 1_001]
)
def test_invalid_path_may_be_the_key_and_is_not_shown(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        KEYS["llm.key_file"].check_value(text)
    assert refused.value.message == "llm.key_file does not hold, expected the full path of a file, such as ~/.keys/llm"


@pytest.mark.parametrize("name", ["llm.model", "llm.base_url", "llm.key_file", "llm.provider"])
@pytest.mark.parametrize("value", [7, True, None, ["x"], {"x": 1}, 0.5])
def test_a_name_that_is_no_text_is_refused(name: str, value: object) -> None:
    with pytest.raises(ConfigError):
        KEYS[name].check_value(value)


@pytest.mark.parametrize("name", [name for name in KEYS if name.startswith("llm.")])
@pytest.mark.parametrize("value", ["sk-ant-hunter2 ", "hunter2\n", "hunter2 " * 90, ["hunter2"], {"hunter2": 1}])
def test_a_key_that_was_typed_into_another_setting_is_not_shown(name: str, value: object) -> None:
    for take in (KEYS[name].check_value, lambda value: KEYS[name].from_text(f"{value} x")):
        with pytest.raises(ConfigError) as refused:
            take(value)
        assert "hunter2" not in str(refused.value)
