"""When an LLM may be asked at all, by the settings, and the part of a prompt that leaves the machine."""

from pathlib import Path

import pytest

from subcog_hooks.core.errors import ConfigError
from subcog_hooks.core.paths import Home
from subcog_hooks.intent import detector
from subcog_hooks.llm import providers
from subcog_hooks.llm.disclosure import disclosable_text as may_be_shown
from subcog_hooks.redaction.masking import MASK
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import Value
from subcog_hooks.store.state import State
from subcog_hooks.store.state_values import CompiledSettings
from tests.intent.asked import BY_WORDS, LONG_MS, ORDER, QUESTION, YES, asking, examine_with, metric_values, status
from tests.llm_server import LlmServer

FAULTS: list[tuple[dict[str, Value], str]] = [
    ({"llm__model": ""}, "llm.model is not set"),
    ({"llm__base_url": "localhost:11434"}, "llm.base_url is no address"),
    ({"llm__key_file": "no-such-file"}, "no-such-file cannot be read"),
]


@pytest.mark.parametrize(("setting", "message"), FAULTS)
def test_the_terminal_is_told_what_is_wrong(home: Home, state: State, setting: dict[str, Value], message: str) -> None:
    with LlmServer(YES) as server, pytest.raises(ConfigError, match=message):
        detector.examine_prompt(QUESTION, asking(server, **setting), home, state, may_be_shown)
    assert server.requests == []


@pytest.mark.parametrize(("setting", "message"), FAULTS)
def test_the_hook_has_the_words_and_can_say_it(home: Home, state: State, setting: dict[str, Value], message: str) -> None:
    with LlmServer(YES) as server:
        settings = asking(server, **setting)
        begun = detector.begin_detection(QUESTION, settings, home, state, may_be_shown, LONG_MS / 1000.0)
        result = begun.settle(("session",), settings, LONG_MS)
        begun.record_metrics(result, state)
    assert message in str(begun.fault)
    assert not begun.may_change
    assert (result.intent.type, result.intent.llm_status) == ("howto", "off")
    assert metric_values(state) == BY_WORDS


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ('base_url = "localhost:11434/v1"', "llm.base_url"),
        ('key_file = "key"', "llm.key_file"),
        ('baseurl = "http://localhost/v1"', "llm.baseurl"),
        ("[search_intent]\nuse_llm = 'false'", "search_intent.use_llm"),
        ("[search_intent]\nuse_llm = 0", "search_intent.use_llm"),
        ("[search_intent]\nuse-llm = false", "search_intent.use-llm"),
    ],
)
@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_rejected_setting_is_not_replaced_by_its_default(
    home: Home, state: State, lines: str, name: str, is_compiled: bool
) -> None:
    with LlmServer(YES) as server:
        address = "" if "base" in name else f'base_url = "{server.url_v1}"\n'
        Path(home.config).write_text(f'[llm]\nprovider = "openai"\nmodel = "m"\n{address}{lines}\n')
        for _ in range(1 + is_compiled):
            settings = loading.load(home, None, CompiledSettings(state))
        begun = detector.begin_detection(ORDER, settings, home, state, may_be_shown, LONG_MS / 1000.0)
        assert not begun.may_change
        assert server.requests == []
    assert name in str(begun.fault)


def test_a_mistyped_variable_sends_nothing(home: Home, state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    with LlmServer(YES) as server:
        Path(home.config).write_text(f'[llm]\nprovider = "openai"\nmodel = "m"\nbase_url = "{server.url_v1}"\n')
        monkeypatch.setenv("SUBCOG_SEARCH_INTENT_USE_LLM", "flase")
        assert not detector.begin_detection(ORDER, loading.load(home), home, state, may_be_shown, LONG_MS / 1000.0).may_change
        monkeypatch.delenv("SUBCOG_SEARCH_INTENT_USE_LLM")
        assert status(home, state, loading.load(home), ORDER) == "success"


def test_a_project_can_not_keep_an_llm_from_being_asked(home: Home, state: State, tmp_path: Path) -> None:
    with LlmServer(YES) as server:
        Path(home.config).write_text(f'[llm]\nprovider = "openai"\nmodel = "m"\nbase_url = "{server.url_v1}"\n')
        Path(tmp_path, ".subcog.toml").write_text('[llm]\nbase_url = "http://elsewhere/v1"\nmodel = 3\n')
        settings = loading.load(home, str(tmp_path))
        assert len(settings.problems) == 2
        assert providers.provider_of(settings, home) is not None
        begun = detector.begin_detection(ORDER, settings, home, state, may_be_shown, LONG_MS / 1000.0)
        assert (begun.fault, begun.may_change) == (None, True)
        begun.settle((), settings, 0.0)


TOKEN = "ghp_" + "0aB1cD2eF3" * 4
KEY_LINES = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" + f"{number:02}" * 16 for number in range(40)]
KEY = "\n".join(["-----BEGIN PRIVATE KEY-----", *KEY_LINES, "-----END PRIVATE KEY-----"])


def sent_prompt(home: Home, prompt: str) -> str:
    with LlmServer(YES) as server:
        assert status(home, None, asking(server), prompt) == "success"
        return str(server.requests[0].json["messages"][1]["content"])


def test_the_prompt_is_shown_without_its_secrets(home: Home) -> None:
    text = sent_prompt(home, f"Why does git push with {TOKEN} fail? <private>the bank's code is 4711</private> It worked.")
    assert f"Why does git push with {MASK} fail?" in text
    assert "It worked." in text
    assert TOKEN not in text
    assert "4711" not in text


@pytest.mark.parametrize("before", range(1_200, 2_100, 100))
def test_a_secret_across_the_cut_of_a_prompt_is_not_sent(home: Home, before: int) -> None:
    prompt = "Why is this key refused?\n".ljust(before, "-") + "\n" + KEY + "\n" + "." * 1_000
    text = sent_prompt(home, prompt)
    assert "Why is this key refused?" in text
    assert "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" not in text
    assert all(line[-20:] not in text for line in KEY_LINES)
    private = sent_prompt(home, f"Why?{'.' * (before + 500)}<private>{'the bank code ' * 200}</private>{'Because.' * 10}")
    assert ("bank" in private, "Because." in private) == (False, True)


@pytest.mark.parametrize("secret", ["STRIPE_KEY=sk" + "_live_" + "0aB1cD2eF3" * 3, "dop_v1" + "_" + "9f86d081884c7d65" * 4])
def test_of_a_prompt_with_a_known_token_the_rest_is_shown(home: Home, secret: str) -> None:
    text = sent_prompt(home, f"Why is this refused: {secret}")
    assert "Why is this refused" in text
    assert secret[-20:] not in text


def test_of_a_long_prompt_head_and_tail_are_shown(home: Home) -> None:
    text = sent_prompt(home, "Why does it fail? " + "a lot " * 4_000 + "of it " * 4_000 + " The end of it.")
    assert "Why does it fail?" in text
    assert "The end of it." in text
    assert len(text) < 5_000


@pytest.mark.parametrize(
    "secret",
    [
        *("password=hunter2hunter2", "Authorization: Bearer " + "0aB1cD2eF3" * 3, "SG" + "." + "0aB1cD2eF3" * 3),
        *("AccountKey=" + "QUJD" * 22, "sk-or-v1" + "-" + "9f86d081884c7d65" * 4),
    ],
)
def test_a_prompt_that_may_hold_another_secret_is_not_sent(home: Home, state: State, secret: str) -> None:
    with LlmServer(YES) as server:
        result = examine_with(home, state, asking(server), f"{QUESTION} {secret}")
        assert server.requests == []
    assert (result.intent.llm_status, result.llm_reason) == ("skipped", "the prompt may hold a secret")
    assert result.intent.confidence == result.reading.intent.confidence
    assert metric_values(state) == BY_WORDS
