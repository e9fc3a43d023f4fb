"""`config` and the variables of the environment: what is taken, what is refused, and in which words."""

from pathlib import Path

import pytest

from subcog_hooks.keys import KEYS
from subcog_hooks.paths import Home
from tests.cli.conftest import Run

WRONG = (
    ("SUBCOG_SEARCH_INTENT_ENABLED", "maybe", "expected true or false"),
    ("SUBCOG_SEARCH_INTENT_USE_LLM", "", "expected true or false"),
    ("SUBCOG_SEARCH_INTENT_LLM_TIMEOUT_MS", "200ms", "expected a whole number 1 to 10000"),
    ("SUBCOG_SEARCH_INTENT_MIN_CONFIDENCE", "50%", "expected 0.0 to 1.0"),
    ("SUBCOG_SEMANTIC_WEIGHT", "much", "expected 0.0 to 1.0"),
)


@pytest.mark.parametrize("command", [("search", "berths"), ("config", "list"), ("config", "get", "search.limit")])
@pytest.mark.parametrize(("variable", "text", "expected"), WRONG)
def test_a_wrong_variable_stops_whatever_reads_settings(
    subcog: Run, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], variable: str, text: str, expected: str
) -> None:
    monkeypatch.setenv(variable, text)
    done = subcog(*command)
    assert (done.code, done.out) == (4, "")
    assert done.err == f"subcog: {variable} is {text!r}, {expected}; correct the variable\n"


@pytest.mark.parametrize(("variable", "text", "expected"), WRONG)
def test_a_wrong_variable_is_named_by_doctor(
    subcog: Run, monkeypatch: pytest.MonkeyPatch, variable: str, text: str, expected: str
) -> None:
    monkeypatch.setenv(variable, text)
    done = subcog("doctor")
    assert (done.code, f" BAD  {variable} is {text!r}, {expected}" in done.out) == (4, True)


def test_the_value_in_force_is_the_environments(subcog: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    subcog("config", "set", "search_intent.min_confidence", "0.7")
    monkeypatch.setenv("SUBCOG_SEARCH_INTENT_MIN_CONFIDENCE", "0.9")
    assert subcog("config", "get", "search_intent.min_confidence").out == "0.9\n"


# ---- names, addresses and paths -------------------------------------------------------------------------------------------

SET = (
    ("llm.provider", "openai"),
    ("llm.model", "llama3.2:3b"),
    ("llm.base_url", "http://[::1]:11434/v1"),
    ("llm.key_file", "/run/secrets/my llm key"),
)


@pytest.mark.parametrize(("key", "value"), SET)
def test_a_text_is_written_read_and_taken_back(subcog: Run, home: Home, key: str, value: str) -> None:
    assert subcog("config", "set", key, value).err.splitlines()[0] == f"{key} = {value}"
    assert subcog("config", "get", key).out == f"{value}\n"
    assert subcog("config", "set", key, "default").code == 0
    assert subcog("config", "get", key).out == f"{KEYS[key].default}\n"
    assert key.partition(".")[2] not in Path(home.config).read_text()


@pytest.mark.parametrize("key", ["llm.model", "llm.base_url", "llm.key_file"])
def test_no_text_is_the_default_of_these_too(subcog: Run, key: str) -> None:
    subcog("config", "set", key, dict(SET)[key])
    assert subcog("config", "set", key, "").code == 0
    assert subcog("config", "get", key).out == "\n"


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("llm.base_url", "localhost:11434", "llm.base_url is no address, expected an address such as"),
        ("llm.base_url", "https://me:hunter2@llm.example.org", "llm.base_url has a password or a query in it, expected an"),
        ("llm.key_file", "sk-hunter2", "llm.key_file is no full path, expected that of a file, such as ~/.keys/llm"),
        ("llm.provider", "ollama", "llm.provider does not hold, expected none, anthropic or openai"),
        ("llm.model", "two words", "llm.model does not hold, expected the name that the provider has for it"),
        ("embedding.model", "", "embedding.model is '', expected a model of `subcog models list`"),
    ],
)
def test_what_does_not_hold_is_refused_without_a_secret(subcog: Run, home: Home, key: str, value: str, said: str) -> None:
    done = subcog("config", "set", key, value)
    assert (done.code, done.out, done.err.count("\n")) == (4, "", 1)
    assert done.err.startswith(f"subcog: {said}")
    assert "hunter2" not in done.err
    assert not Path(home.config).exists()


def test_a_list_says_what_is_not_set(subcog: Run) -> None:
    lines = subcog("config", "list").out.splitlines()
    assert {"llm.model = (not set)", "llm.base_url = (not set)", "llm.key_file = (not set)"} <= {*lines}
    assert subcog("config", "get", "llm.model").out == "\n"


def test_brackets_of_a_value_are_no_markup(subcog: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    subcog("config", "set", "llm.base_url", "http://[::1]:11434/v1")
    monkeypatch.setattr("subcog_hooks.cli.output.terminal.out._force_terminal", True)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "http://[::1]:11434/v1" in subcog("config", "list").out


def test_setting_up_an_llm_says_what_it_still_lacks(subcog: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    lacks = subcog("config", "set", "llm.provider", "openai").err.splitlines()[1]
    assert lacks.startswith("no LLM is asked yet: llm.model is not set; ")
    assert subcog("config", "set", "llm.base_url", "http://localhost:11434/v1").err.splitlines()[1] == lacks
    assert subcog("config", "set", "llm.model", "tiny").err == "llm.model = tiny\n"


def test_a_switch_that_is_set_wrongly_is_said_when_an_llm_is_set_up(subcog: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    subcog("config", "set", "llm.base_url", "http://localhost:11434/v1")
    subcog("config", "set", "llm.model", "tiny")
    monkeypatch.setenv("SUBCOG_SEARCH_INTENT_USE_LLM", "flase")
    said = subcog("config", "set", "llm.provider", "openai").err.splitlines()[1]
    assert said.startswith("no LLM is asked yet: search_intent.use_llm can not be used as it is set; ")
