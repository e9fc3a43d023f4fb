"""The providers: from the settings and a key to a request of either API, and the text of its answer.

No message, representation or error of this module holds a key, nor a server's text, which may repeat the key.
"""

from __future__ import annotations

import os
import time

from subcog_hooks import __version__
from subcog_hooks.core import light_json
from subcog_hooks.core.errors import ConfigError, ProviderError, UnusableAnswer
from subcog_hooks.core.files import open_regular
from subcog_hooks.core.records import record
from subcog_hooks.llm.question import Address
from subcog_hooks.settings.defaults import ANTHROPIC, BACKGROUND_LLM, CLAUDE, DEFAULTS, NO_LLM, OPENAI, PROMPT_LLM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any  # of an answer whose shape is not known

    from subcog_hooks.core.paths import Home
    from subcog_hooks.llm.question import Question
    from subcog_hooks.settings.defaults import Settings

ADDRESSES = {ANTHROPIC: "https://api.anthropic.com", OPENAI: "https://api.openai.com/v1"}
VARIABLES = {ANTHROPIC: "ANTHROPIC_API_KEY", OPENAI: "OPENAI_API_KEY"}
MODELS = {ANTHROPIC: "claude-haiku-4-5", OPENAI: ""}  # openai: every server has other models
MAX_KEY = 4096  # bytes of a key file
REASONING_TOKENS = 4_000  # room for the reasoning of OpenAI's newer models, which counts as a part of the answer
# Models that take a temperature; newer models of both companies answer 400 to it. Other servers all take it.
_TEMPERED = ("claude-3", "claude-haiku-4", "claude-sonnet-4", "gpt-3.5", "gpt-4", "chatgpt-4o")
_HARMLESS = ("search_intent.llm_timeout_ms", "search_intent.llm_skip_confidence")  # their defaults disclose nothing more
_ABOUT_THE_QUESTION = (400, 413, 422)  # the question may be too long for the model
_REASONS = {
    400: "the request is refused",
    401: "the key is refused",
    403: "the key may not be used for this",
    404: "no such model or address",
    429: "too many requests, or no credit",
    529: "overloaded",
}


@record
class Provider:
    """An LLM that can be asked. base_url: without a last slash, or the client's executable; key: "" for none."""

    name: str
    base_url: str
    model: str
    key: str
    setting: str = PROMPT_LLM  # that chooses it

    @property
    def identity(self) -> str:
        """The provider without its key: answers are stored by it."""
        return f"{self.name} {self.base_url} {self.model}"

    @property
    def circuit(self) -> str:
        """The key of its circuit breaker: timeouts of hooks say nothing about work without a deadline on the same server."""
        return f"{self.setting} {self.identity}"

    def __repr__(self) -> str:
        return f"Provider({self.name!r}, {self.base_url!r}, {self.model!r}, key: {'yes' if self.key else 'none'})"


def provider_of(settings: Settings, home: Home) -> Provider | None:
    """Return the configured provider, None for `none`. Raises ConfigError for one that cannot be used as it is set up.

    The key comes from llm.key_file; for the provider's own host, the environment's key replaces it.
    """
    return None if settings[PROMPT_LLM] == NO_LLM else _http_provider(PROMPT_LLM, settings, home)


def background_provider(settings: Settings, home: Home) -> Provider | None:
    """Return the provider for background work, None for none; over HTTP it is as `provider_of`. Raises ConfigError."""
    if settings[BACKGROUND_LLM] == CLAUDE:
        from subcog_hooks.llm import claude_client  # needed only for this choice

        program = claude_client.find_program(str(settings["llm.client"]))
        return Provider(CLAUDE, program, claude_client.CLAUDE_MODEL, "", BACKGROUND_LLM)
    return None if settings[BACKGROUND_LLM] == NO_LLM else _http_provider(BACKGROUND_LLM, settings, home)


def _http_provider(setting: str, settings: Settings, home: Home) -> Provider:
    name = str(settings[setting])
    if {settings[PROMPT_LLM], settings[BACKGROUND_LLM]} == {ANTHROPIC, OPENAI}:
        remedy = "choose the same for both, or claude or none for one"
        raise ConfigError(f"{PROMPT_LLM} and {BACKGROUND_LLM} differ, but share one address, model and key", remedy)
    if doubtful := sorted(filter(_may_be_about_llm, settings.left_out)):
        raise ConfigError(f"{' and '.join(doubtful)} cannot be used as it is set", "`subcog doctor` names the place")
    base_url = str(settings["llm.base_url"]).rstrip("/") or ADDRESSES[name]
    if name == ANTHROPIC and base_url.endswith("/v1"):
        base_url = base_url.removesuffix("/v1")  # users write the other provider's address like this
    address = Address(base_url)
    is_its_own = address.host.lower() == Address(ADDRESSES[name]).host
    model = str(settings["llm.model"]) or MODELS[name]
    if not model:
        raise ConfigError("llm.model is not set", "name a model that the server has: subcog config set llm.model NAME")
    path = str(settings["llm.key_file"])
    key = _key_from_file(path, home) if path else _key_from_environment(VARIABLES[name]) if is_its_own else ""
    if key and not (address.is_secure or address.is_here):
        raise ConfigError("llm.base_url begins with http://: the key would travel in the clear", "use https")
    if not key and is_its_own:
        raise ConfigError(f"{name} needs a key", f"set {VARIABLES[name]}, or llm.key_file to a file that holds it")
    return Provider(name, base_url, model, key, setting)


def _may_be_about_llm(name: str) -> bool:
    """Return whether a rejected setting may have said to ask no LLM, or which LLM to ask.

    Its default would take effect: an LLM that was switched off with a typing error, or the provider's own address instead of a
    local server's.

    >>> [_may_be_about_llm(name) for name in ("llm.base_url", "search_intent.use-llm", "search_intent.enable", "search.limit")]
    [True, True, True, False]
    """
    lowered = name.lower()
    return name not in _HARMLESS and ("llm" in lowered or ("intent" in lowered and name not in DEFAULTS))


def _key_from_environment(variable: str) -> str:
    """Return the key in a variable, "" when it is not set. Raises ConfigError, also if a repository can set it."""
    if variable in os.environ:
        from subcog_hooks.core.repository_variables import find_setter  # needed only for an LLM

        if setter := find_setter(variable):
            remedy = "set llm.key_file to a file that holds yours"
            raise ConfigError(f"{variable} is ignored: {setter} can set it, and a repository names no key", remedy)
    return _validate_key(os.environ.get(variable, "").strip(), variable)


def _key_from_file(path: str, home: Home) -> str:
    path = os.path.join(home.root, os.path.expanduser(path))
    try:
        with open(open_regular(path), "rb") as file:
            status = os.fstat(file.fileno())
            raw = file.read(MAX_KEY)
    except OSError as error:
        raise ConfigError(f"llm.key_file: {path} cannot be read: {error.strerror}", "write the key into it") from None
    if os.name != "nt" and status.st_uid != os.getuid():
        raise ConfigError(f"llm.key_file: {path} belongs to another user", "expected a file of your own")
    if os.name != "nt" and status.st_mode & 0o077:
        raise ConfigError(f"llm.key_file: {path} can be read or written by others", f"chmod 600 {path}")
    key = _validate_key(raw.decode("utf-8", "replace").strip(), f"llm.key_file: {path}")
    if not key:
        raise ConfigError(f"llm.key_file: {path} is empty", "write the key into it")
    return key


def _validate_key(key: str, source: str) -> str:
    """Return a key that fits into a header line. Raises ConfigError for another; source: of the key."""
    if not key.isascii() or not key.isprintable() or " " in key or len(key) >= MAX_KEY:
        raise ConfigError(f"{source} does not hold a key", "expected one word, nothing else")
    return key


def ask_provider(provider: Provider, question: Question, seconds: float, *extend: Callable[[], float]) -> str:
    """Return the LLM's answer, within `seconds`. extend: of `http_post.post`. Raises ProviderError of each kind."""
    if provider.name == CLAUDE:
        from subcog_hooks.llm import claude_client

        return claude_client.ask_claude(provider.base_url, provider.model, question, seconds)
    until = time.monotonic() + seconds
    from subcog_hooks.llm.http_post import post  # needed only for an LLM

    base_url = provider.base_url
    make_request = _anthropic_request if provider.name == ANTHROPIC else _openai_request
    path, headers, content = make_request(provider, question)
    headers["User-Agent"] = f"subcog/{__version__}"
    status, body = post(base_url, path, headers, content, until, *extend)
    if 300 <= status < 400:
        raise ProviderError(f"{base_url} redirects ({status}), which is not followed", "set llm.base_url to where it leads")
    if status != 200:
        reason = "its own failure" if status >= 500 else "an error"
        error = UnusableAnswer if status in _ABOUT_THE_QUESTION else ProviderError
        raise error(f"{base_url} answered {status}: {_REASONS.get(status, reason)}")
    text = _answer_text(provider, body)
    if not text:
        raise UnusableAnswer(f"{base_url} answered without a text that can be read")
    return text


# The two APIs: path, headers and content of a request; the text of an answer.


def _anthropic_request(provider: Provider, question: Question) -> tuple[str, dict[str, str], dict[str, object]]:
    """Return a request of the Messages API; a tool that has to be called makes the answer follow the schema."""
    headers = {"anthropic-version": "2023-06-01"} | ({"x-api-key": provider.key} if provider.key else {})
    content: dict[str, object] = {
        "model": provider.model,
        "max_tokens": question.longest,
        "system": question.system,
        "messages": [{"role": "user", "content": question.user}],
        "tools": [{"name": question.name, "description": question.purpose, "input_schema": question.schema}],
        "tool_choice": {"type": "tool", "name": question.name},
    }
    return "/v1/messages", headers, content | _temperature(provider)


def _openai_request(provider: Provider, question: Question) -> tuple[str, dict[str, str], dict[str, object]]:
    """Return a request of chat completions with structured output, also for Ollama, LM Studio, llama.cpp and vLLM."""
    headers = {"Authorization": f"Bearer {provider.key}"} if provider.key else {}
    limit = "max_completion_tokens" if provider.base_url == ADDRESSES[OPENAI] else "max_tokens"
    max_tokens = question.longest + (0 if _is_plain_model(provider) else REASONING_TOKENS)
    schema = {"name": question.name, "strict": True, "schema": question.schema}
    content: dict[str, object] = {
        "model": provider.model,
        limit: max_tokens,
        "messages": [{"role": "system", "content": question.system}, {"role": "user", "content": question.user}],
        "response_format": {"type": "json_schema", "json_schema": schema},
    }
    return "/chat/completions", headers, content | _temperature(provider)


def _temperature(provider: Provider) -> dict[str, object]:
    """Return temperature 0, so that equal prompts get equal answers, where the model takes it."""
    return {"temperature": 0} if _is_plain_model(provider) else {}


def _is_plain_model(provider: Provider) -> bool:
    return provider.base_url not in ADDRESSES.values() or provider.model.startswith(_TEMPERED)


def _answer_text(provider: Provider, body: bytes) -> str:
    try:
        answer: Any = light_json.loads(body.decode("utf-8", "replace"))
        if provider.name == ANTHROPIC:
            return _text_of_blocks(answer["content"])
        content = answer["choices"][0]["message"]["content"]
        return content if isinstance(content, str) else _text_of_blocks(content)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):  # another shape
        return ""


def _text_of_blocks(blocks: list[dict[str, object]]) -> str:
    import json

    for block in blocks:
        if block.get("type") == "tool_use":
            return json.dumps(block["input"])
    return "".join(str(block["text"]) for block in blocks if block.get("type") == "text")
