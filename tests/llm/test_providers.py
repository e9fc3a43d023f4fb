"""From settings and a key to a request and the text of its answer, against real misbehaving HTTP servers."""

import os
import stat
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from subcog_hooks import __version__
from subcog_hooks.core.errors import ConfigError, ProviderError, UnusableAnswer
from subcog_hooks.core.paths import Home
from subcog_hooks.intent import classifier
from subcog_hooks.intent.classifier import ANSWER_SCHEMA, build_question
from subcog_hooks.llm import providers
from subcog_hooks.llm.providers import Provider, ask_provider
from subcog_hooks.llm.question import Question
from subcog_hooks.settings import defaults, loading
from subcog_hooks.settings.defaults import Settings
from tests import llm_server
from tests.llm.asked import ENDED, KEY, SECONDS, key_file, provider_at, provider_with, settings
from tests.llm_server import Behaviour, LlmServer, says, says_raw, says_text


def test_nobody_is_asked_by_default(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert providers.provider_of(settings(), home) is None


def test_a_config_file_names_the_provider(home: Home, tmp_path: Path) -> None:
    home.create()
    path = key_file(tmp_path)
    Path(home.config).write_text(
        f'[llm]\nprovider = "openai"\nmodel = "qwen3:4b"\nbase_url = "http://localhost:11434/v1/"\nkey_file = "{path}"\n'
    )
    provider = providers.provider_of(loading.load(home), home)
    assert provider is not None
    named = (provider.name, provider.base_url, provider.model, provider.key)
    assert named == ("openai", "http://localhost:11434/v1", "qwen3:4b", KEY)


def test_a_key_file_wins_over_the_environment(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", f" {KEY}\n")
    provider = provider_with(home, provider="anthropic")
    assert (provider.base_url, provider.model, provider.key) == ("https://api.anthropic.com", "claude-haiku-4-5", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "another")
    provider = provider_with(home, provider="openai", model="gpt-4.1-nano", key_file=key_file(tmp_path))
    assert (provider.base_url, provider.key) == ("https://api.openai.com/v1", KEY)


@pytest.mark.parametrize("choose", [providers.provider_of, providers.background_provider])
def test_two_services_do_not_share_a_key(home: Home, tmp_path: Path, choose: Callable[..., Provider | None]) -> None:
    both = settings(provider="anthropic", at_rest="openai", model="gpt-4o", key_file=key_file(tmp_path))
    with pytest.raises(ConfigError, match="differ, but share one address, model and key"):
        choose(both, home)


@pytest.mark.parametrize("path", ["~/key", "../key"])
def test_a_key_file_may_lie_in_the_users_home_or_in_subcogs(home: Home, tmp_path: Path, path: str) -> None:
    home.create()
    key_file(tmp_path)
    assert provider_with(home, provider="anthropic", key_file=path).key == KEY


def test_of_settings_that_may_have_said_no_nobody_is_asked(home: Home, subtests: pytest.Subtests) -> None:
    cases = [
        ("llm.base_url", False),
        ("llm.baseurl", False),
        ("search_intent.use_llm", False),
        ("search_intent.use-llm", False),
        ("search-intent.enabled", False),
        ("use_llm", False),
        ("search_intent.enabled", True),
        ("search_intent.llm_timeout_ms", True),
        ("search_intent.llm_skip_confidence", True),
        ("search.limit", True),
    ]
    for left_out, may_be_asked in cases:
        with subtests.test(left_out=left_out):
            values: dict[str, defaults.Value] = {
                "llm.provider": "openai",
                "llm.model": "m",
                "llm.base_url": "http://localhost/v1",
            }
            provider = Settings(values, ("a problem",), frozenset({left_out}))
            if may_be_asked:
                assert providers.provider_of(provider, home)
            else:
                with pytest.raises(ConfigError, match=f"{left_out} cannot be used as it is set"):
                    providers.provider_of(provider, home)
            assert providers.provider_of(Settings({}, ("a problem",), frozenset({left_out})), home) is None


@pytest.mark.parametrize(
    ("values", "fact"),
    [
        ({"provider": "openai"}, "llm.model is not set"),
        ({"provider": "openai", "model": "gpt-4.1"}, "openai needs a key"),
        ({"provider": "anthropic"}, "anthropic needs a key"),
        ({"provider": "anthropic", "base_url": "https://API.anthropic.com"}, "anthropic needs a key"),
    ],
)
def test_what_can_not_be_used_is_said_in_one_line(home: Home, values: dict[str, str], fact: str) -> None:
    with pytest.raises(ConfigError) as raised:
        providers.provider_of(settings(**values), home)
    assert raised.value.message.startswith(fact)
    assert "\n" not in str(raised.value)


@pytest.mark.skipif(os.name == "nt", reason="modes mean nothing there")
@pytest.mark.parametrize(
    ("mode", "is_good"), [(0o600, True), (0o400, True), (0o640, False), (0o604, False), (0o620, False), (0o644, False)]
)
def test_a_key_file_is_for_its_owner_alone(home: Home, tmp_path: Path, mode: int, is_good: bool) -> None:
    named = settings(provider="anthropic", key_file=key_file(tmp_path, mode=mode))
    if is_good:
        assert providers.provider_of(named, home)
    else:
        with pytest.raises(ConfigError, match="can be read or written by others; chmod 600 "):
            providers.provider_of(named, home)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        (f"{KEY}\n{KEY}\n", "does not hold a key"),
        (f"{KEY}\r\nX-Evil: 1", "does not hold a key"),
        ("ключ", "does not hold a key"),
        ("two words", "does not hold a key"),
        ("\0", "does not hold a key"),
        ("k" * 5_000, "does not hold a key"),
    ],
)
def test_a_key_file_holds_one_key(home: Home, tmp_path: Path, text: str, fact: str) -> None:
    with pytest.raises(ConfigError, match=fact) as raised:
        providers.provider_of(settings(provider="anthropic", key_file=key_file(tmp_path, text)), home)
    assert KEY not in str(raised.value)


@pytest.mark.skipif(os.name == "nt", reason="there are no named pipes of this kind")
def test_a_key_file_that_is_none_is_named(home: Home, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", stat.S_IRUSR | stat.S_IWUSR)  # It does not hang.
    for path, fact in (("missing", "No such file"), ("", "not a regular file"), ("pipe", "not a regular file")):
        with pytest.raises(ConfigError, match=fact):
            providers.provider_of(settings(provider="anthropic", key_file=str(tmp_path / path)), home)


def test_a_key_of_the_environment_that_is_none_is_not_shown(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY + "\nX-Evil: 1")
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY does not hold a key") as raised:
        providers.provider_of(settings(provider="anthropic"), home)
    assert KEY not in str(raised.value)


def test_a_provider_shows_no_key() -> None:
    provider = Provider("openai", "http://localhost/v1", "m", KEY)
    assert KEY not in repr(provider) + str(provider) + provider.identity
    assert provider.identity == "openai http://localhost/v1 m"


def put(system: str, user: str) -> Question:
    return Question(system, user, "intent", "Notes what it asks for.", ANSWER_SCHEMA)


def test_what_anthropic_is_sent() -> None:
    with LlmServer(says("howto", 0.9, ["deploy"])) as server:
        text = ask_provider(provider_at(server, "anthropic"), put("the system", "the user"), SECONDS)
        (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/v1/messages")
    assert {name: request.headers.get(name) for name in ("x-api-key", "anthropic-version", "content-type", "user-agent")} == {
        "x-api-key": KEY,
        "anthropic-version": "2023-06-01",
        "content-type": "application/json",
        "user-agent": f"subcog/{__version__}",
    }
    assert "authorization" not in request.headers
    sent = request.json
    assert (sent["model"], sent["system"], sent["max_tokens"], sent["temperature"]) == ("a-model", "the system", 200, 0)
    assert sent["messages"] == [{"role": "user", "content": "the user"}]
    assert [tool["input_schema"] for tool in sent["tools"]] == [ANSWER_SCHEMA]
    assert sent["tool_choice"] == {"type": "tool", "name": sent["tools"][0]["name"]}
    answer = classifier.parse_answer(text)
    assert answer is not None
    assert (answer.type, answer.confidence, answer.topics) == ("howto", 0.9, ("deploy",))


def test_what_an_openai_compatible_server_is_sent() -> None:
    with LlmServer(says("location", 0.7, ["db"])) as server:
        text = ask_provider(provider_at(server), put("the system", "the user: ü"), SECONDS)
        (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["user-agent"] == f"subcog/{__version__}"
    assert "x-api-key" not in request.headers
    sent = request.json
    assert (sent["model"], sent["max_tokens"], sent["temperature"]) == ("a-model", 200, 0)
    assert [(each["role"], each["content"]) for each in sent["messages"]] == [("system", "the system"), ("user", "the user: ü")]
    assert sent["response_format"]["type"] == "json_schema"
    sent_schema = sent["response_format"]["json_schema"]
    assert (sent_schema["strict"], sent_schema["schema"]) == (True, ANSWER_SCHEMA)
    answer = classifier.parse_answer(text)
    assert answer is not None
    assert (answer.type, answer.confidence, answer.topics) == ("location", 0.7, ("db",))


@pytest.mark.parametrize("name", ["anthropic", "openai"])
def test_without_a_key_none_is_sent(name: str) -> None:
    with LlmServer(says("none", 0.9)) as server:
        ask_provider(provider_at(server, name, key=""), build_question(""), SECONDS)
        (request,) = server.requests
    assert not {"x-api-key", "authorization"} & set(request.headers)


def content_for(name: str, base_url: str, model: str) -> dict[str, object]:
    provider = Provider(name, base_url, model, KEY)
    return (providers._anthropic_request if name == "anthropic" else providers._openai_request)(provider, build_question(""))[2]


def test_a_model_gets_a_temperature_and_a_limit_as_it_takes_them() -> None:
    local, longest = "http://localhost:8000/v1", build_question("").longest
    reasoning = {"max_completion_tokens": longest + providers.REASONING_TOKENS}
    for name, model, fields in (
        ("anthropic", "claude-haiku-4-5", {"max_tokens": longest, "temperature": 0}),
        ("anthropic", "claude-opus-4-8", {"max_tokens": longest}),
        ("openai", "gpt-4.1-nano", {"max_completion_tokens": longest, "temperature": 0}),
        ("openai", "gpt-5-mini", reasoning),
        ("openai", "o4-mini", reasoning),
    ):
        for address, expected in ((providers.ADDRESSES[name], fields), (local, {"max_tokens": longest, "temperature": 0})):
            content = content_for(name, address, model)
            assert {field: content[field] for field in content if field.startswith(("max_", "temp"))} == expected, model


def test_a_text_is_taken_as_the_model_wrote_it() -> None:
    parts = b'{"choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}}]}'
    fenced = "```json\n{}\n```"
    for name, behaviour, text in (
        *((name, says_text(fenced), fenced) for name in ("anthropic", "openai")),
        ("openai", says_raw(parts), "ab"),
    ):
        with LlmServer(behaviour) as server:
            assert ask_provider(provider_at(server, name), build_question(""), SECONDS) == text


def test_an_answer_of_another_shape_is_an_error(subtests: pytest.Subtests) -> None:
    bodys = [
        *(b"", b"not json", b"null", b"[]", b'"text"', b"{}", b'{"content": 1, "choices": 1}'),
        *(b'{"content": [], "choices": []}', b'{"content": [1], "choices": [1]}'),
        b'{"content": [{"type": "tool_use"}], "choices": [{"message": {"content": null, "refusal": "no"}}]}',
        *(b'{"content": [{"type": "text"}], "choices": [{"message": {"content": [{"type": "image"}]}}]}', b"\xff\xfe\x00"),
        b"[" * 60_000,
    ]
    for name in ["anthropic", "openai"]:
        for body in bodys:
            with subtests.test(name=name, body=body):
                server = LlmServer(says_raw(body))
                with server, pytest.raises(UnusableAnswer, match="without a text that can be read"):
                    ask_provider(provider_at(server, name), build_question(""), SECONDS)


def test_a_status_is_told_in_a_few_words(subtests: pytest.Subtests) -> None:
    status_cases = [
        (400, "400: the request is refused"),
        (401, "401: the key is refused"),
        (404, "404: no such model or address"),
        (418, "418: an error"),
        (429, "429: too many requests, or no credit"),
        (500, "500: its own failure"),
        (529, "529: overloaded"),
    ]
    for name in ["anthropic", "openai"]:
        for status, reason in status_cases:
            with subtests.test(name=name, status=status):
                with LlmServer(llm_server.fails(status)) as server, pytest.raises(ProviderError) as raised:
                    ask_provider(provider_at(server, name), build_question(""), SECONDS)
                assert raised.value.message.endswith(f" answered {reason}")
                assert raised.value.exit_code == 5


@pytest.mark.parametrize("body", [b"Incorrect API key provided: " + KEY.encode(), b'{"error": {"code": "invalid"}}'])
def test_what_a_server_writes_into_an_error_is_not_repeated(body: bytes) -> None:
    with LlmServer(llm_server.fails(401, body)) as server, pytest.raises(ProviderError) as raised:
        ask_provider(provider_at(server), build_question(""), SECONDS)
    assert raised.value.message.endswith(" answered 401: the key is refused")


@pytest.mark.parametrize(
    "behaviour",
    [
        llm_server.fails(401),
        llm_server.garbage(),
        llm_server.resets(),
        llm_server.never(),
        llm_server.redirects("http://127.0.0.1:1/"),
        llm_server.floods(),
        says_raw(KEY.encode()),
    ],
)
def test_no_error_holds_the_key(behaviour: Behaviour) -> None:
    with LlmServer(behaviour) as server, pytest.raises(ProviderError) as raised:
        ask_provider(provider_at(server), build_question(""), ENDED)
    assert KEY not in "".join(traceback.format_exception(raised.value)) + repr(raised.value)
