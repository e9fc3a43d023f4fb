"""An LLM that is asked about a prompt, for the tests of detection: the settings, the run, and its traces."""

from subcog_hooks.core.paths import Home
from subcog_hooks.intent import detector
from subcog_hooks.intent.classifier import COMPLETED, STARTED, TIMEOUTS
from subcog_hooks.intent.detector import DURATION
from subcog_hooks.intent.keywords import Intent
from subcog_hooks.intent.topics import extract_topics
from subcog_hooks.llm import providers
from subcog_hooks.llm.providers import Provider
from subcog_hooks.settings.defaults import Settings, Value
from subcog_hooks.store import past_runs
from subcog_hooks.store.past_runs import Counter
from subcog_hooks.store.state import State
from tests.llm_server import LlmServer, says

QUESTION = "How do we store the session token in the browser, and why not in localStorage?"
ORDER = "rename the cookie of the session token"
ANOTHER = "Why are the session tokens of the browser not in localStorage?"
YES = says("troubleshoot", 0.9, ["session token", "cookie"])
NO = says("none", 0.9)
LONG_MS = 20_000  # where an answer is expected; no test waits for so long
SHORT_MS = 40  # where none is


def asking(server: LlmServer, **others: Value) -> Settings:
    """Settings with which this server is always asked. others: settings, with __ for the dot."""
    values: dict[str, Value] = {
        "llm.provider": "openai",
        "llm.model": "a-model",
        "llm.base_url": server.url_v1,
        "search_intent.llm_timeout_ms": LONG_MS,
        "search_intent.llm_skip_confidence": 1.0,
    }
    return Settings({**values, **{name.replace("__", "."): value for name, value in others.items()}})


def examine_with(
    home: Home, state: State | None, settings: Settings, prompt: str = QUESTION, *, keeps_answers: bool = True
) -> Intent:
    """The intent as the hook finds it, without the hook's deadline, and with its traces in the state."""
    detection = detector.begin_detection(prompt, settings, home, state, LONG_MS / 1000.0)
    result = detection.settle(extract_topics(detection.reading.words()), settings, LONG_MS)
    if state is not None:
        detection.record_metrics(result, state)
        detection.learn(state, keeps_answers=keeps_answers)
    return result


def status(home: Home, state: State | None, settings: Settings, prompt: str = QUESTION, *, keeps_answers: bool = True) -> str:
    return examine_with(home, state, settings, prompt, keeps_answers=keeps_answers).llm_status


def provider_of(settings: Settings, home: Home) -> Provider:
    provider = providers.provider_of(settings, home)
    assert provider is not None
    return provider


def metric_values(state: State) -> dict[str, float]:
    """The metrics: how often each was counted or observed."""
    values = {}
    for metric in past_runs.read_metrics(state):
        name = f"{metric.name}{{{metric.labels}}}" if metric.labels else metric.name
        values[name] = metric.value if isinstance(metric, Counter) else metric.count
    return values


BY_WORDS = {f'{DURATION}{{source="keyword"}}': 1}


def call(status: str, reason: str = "") -> dict[str, float]:
    """The metrics of one call."""
    source = "hybrid" if status == "success" else "keyword"
    timeouts = {f'{TIMEOUTS}{{reason="{reason}"}}': 1} if reason else {}
    return {f'{DURATION}{{source="{source}"}}': 1, STARTED: 1, f'{COMPLETED}{{status="{status}"}}': 1, **timeouts}
