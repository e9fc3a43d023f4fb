"""From a prompt to its intent with real settings, a real state.db and a real local server: what is asked, kept and counted."""

from pathlib import Path

import pytest

from subcog_hooks import config
from subcog_hooks.capture.disclosure import shown as may_be_shown
from subcog_hooks.capture.leaks import MASK
from subcog_hooks.errors import ConfigError
from subcog_hooks.intent import breaker, classifier, detection, keywords, providers, race
from subcog_hooks.intent.detection import COMPLETED, DURATION, HOUR_MS, MAX_SHOWN, STARTED, TIMEOUTS, Detection, Examined
from subcog_hooks.intent.providers import Provider
from subcog_hooks.intent.topics import topics
from subcog_hooks.keys import Value
from subcog_hooks.memory.model import now_ms
from subcog_hooks.paths import Home
from subcog_hooks.state import Counter, State
from tests import llm_server
from tests.llm_server import Behaviour, LlmServer, says

QUESTION = "How do we store the session token in the browser, and why not in localStorage?"
ORDER = "rename the cookie of the session token"
ANOTHER = "Why are the session tokens of the browser not in localStorage?"

YES = says("troubleshoot", 0.9, ["session token", "cookie"])
NO = says("none", 0.9)
LONG_MS = 20_000  # where an answer is expected; no test waits for so long
SHORT_MS = 40  # where none is


@pytest.fixture
def state(home: Home) -> State:
    home.create()
    return State.open(home, 1_000)


def asking(server: LlmServer, **others: Value) -> config.Settings:
    """Settings with which this server is asked whatever the words say. others: settings, with __ for the dot."""
    values: dict[str, Value] = {
        "llm.provider": "openai",
        "llm.model": "a-model",
        "llm.base_url": server.url_v1,
        "search_intent.llm_timeout_ms": LONG_MS,
        "search_intent.llm_skip_confidence": 1.0,
    }
    return config.Settings({**values, **{name.replace("__", "."): value for name, value in others.items()}})


def examined(home: Home, state: State | None, settings: config.Settings, prompt: str = QUESTION) -> Examined:
    """The intent as the hook finds it, but for the hook's deadline, and what is kept of it."""
    begun = detection.begin(prompt, settings, home, state, may_be_shown, LONG_MS / 1000.0)
    told = begun.settle(topics(begun.reading.words()), settings, LONG_MS)
    if state is not None:
        begun.count(told, state)
        begun.learn(state, settings)
    return told


def status(home: Home, state: State | None, settings: config.Settings, prompt: str = QUESTION) -> str:
    return examined(home, state, settings, prompt).intent.llm_status


def provider_of(settings: config.Settings, home: Home) -> Provider:
    provider = providers.of(settings, home)
    assert provider is not None
    return provider


def counted(state: State) -> dict[str, float]:
    """The metrics: how often each was counted or observed."""
    found = {}
    for metric in state.metrics():
        name = f"{metric.name}{{{metric.labels}}}" if metric.labels else metric.name
        found[name] = metric.value if isinstance(metric, Counter) else metric.count
    return found


BY_WORDS = {f'{DURATION}{{source="keyword"}}': 1}


def call(status: str, reason: str = "") -> dict[str, float]:
    """What one call leaves in the metrics."""
    source = "hybrid" if status == "success" else "keyword"
    timeouts = {f'{TIMEOUTS}{{reason="{reason}"}}': 1} if reason else {}
    return {f'{DURATION}{{source="{source}"}}': 1, STARTED: 1, f'{COMPLETED}{{status="{status}"}}': 1, **timeouts}


# ---- nobody is asked ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "setting", [{"llm__provider": "none"}, {"search_intent__use_llm": False}], ids=["no provider", "use_llm is false"]
)
def test_without_an_llm_the_words_alone_tell(home: Home, state: State, setting: dict[str, Value]) -> None:
    with LlmServer(NO) as server:
        found = examined(home, state, asking(server, **setting))
    assert server.requests == []
    assert (found.intent.llm_status, found.intent.source, found.intent.type) == ("off", "keyword", "howto")
    assert found.intent.confidence == keywords.read(QUESTION).intent.confidence
    assert (found.answer, found.llm_seconds, found.llm_reason) == (None, None, "")
    assert counted(state) == BY_WORDS


def test_words_that_are_sure_are_taken_as_they_are(home: Home, state: State) -> None:
    with LlmServer(NO) as server:
        settings = asking(server, search_intent__llm_skip_confidence=0.8)
        found = examined(home, state, settings)
        assert server.requests == []
        assert status(home, state, settings, ORDER) == "success"
    assert (found.intent.llm_status, found.intent.source, found.intent.type) == ("skipped", "keyword", "howto")


def test_the_bar_for_asking_is_a_setting(home: Home, state: State) -> None:
    sure = keywords.read(QUESTION).intent.confidence
    with LlmServer(YES) as server:
        assert status(home, state, asking(server, search_intent__llm_skip_confidence=sure)) == "skipped"
        assert status(home, state, asking(server, search_intent__llm_skip_confidence=sure + 0.001)) == "success"


@pytest.mark.parametrize("prompt", ["", " \n", "/compact", "!ls", "<task-notification>Why does the build fail?"])
def test_of_a_prompt_that_nobody_typed_nobody_is_asked(home: Home, state: State, prompt: str) -> None:
    with LlmServer(YES) as server:
        found = examined(home, state, asking(server), prompt)
    assert server.requests == []
    assert (found.intent.type, found.intent.confidence, found.intent.llm_status) == ("none", 0.0, "off")
    assert counted(state) == BY_WORDS


def test_of_a_prompt_too_long_to_look_for_secrets_in_nobody_is_asked(home: Home, state: State) -> None:
    with LlmServer(YES) as server:
        found = examined(home, state, asking(server), QUESTION.ljust(MAX_SHOWN + 1, "."))
        assert server.requests == []
        assert (found.intent.llm_status, found.llm_reason) == ("skipped", "the prompt is too long")
        assert status(home, state, asking(server), QUESTION.ljust(MAX_SHOWN, ".")) == "success"


def test_with_no_time_left_nobody_is_asked_and_nobody_has_failed(home: Home, state: State) -> None:
    with LlmServer(YES) as server:
        settings = asking(server)
        begun = detection.begin(QUESTION, settings, home, state, may_be_shown, 0.0)
        told = begun.settle(("session",), settings, 0.0)
        begun.count(told, state)
    assert server.requests == []
    assert (told.intent.llm_status, told.llm_reason) == ("skipped", "no time was left")
    assert told.intent.confidence == keywords.read(QUESTION).intent.confidence
    assert counted(state) == BY_WORDS


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ("ok", "the words are sure that it asks for nothing"),
        ("thanks!", "the words are sure that it asks for nothing"),
        ("make it blue", "the words are sure that it asks for nothing"),
        ("go on", "it names nothing to look for"),
    ],
)
def test_over_an_acknowledgement_nobody_is_asked(home: Home, state: State, prompt: str, reason: str) -> None:
    with LlmServer(llm_server.never()) as server:
        found = examined(home, state, asking(server), prompt)
        assert server.requests == []
    assert (found.intent.llm_status, found.llm_reason, found.intent.type) == ("skipped", reason, "none")
    assert counted(state) == BY_WORDS


# ---- somebody is asked ----------------------------------------------------------------------------------------------------


def test_an_answer_is_merged_and_counted(home: Home, state: State) -> None:
    with LlmServer(YES) as server:
        found = examined(home, state, asking(server))
    words = keywords.read(QUESTION).intent
    assert (found.intent.type, found.intent.source, found.intent.llm_status) == ("troubleshoot", "hybrid", "success")
    assert found.intent.confidence == pytest.approx(0.7 * 0.9 + 0.3 * words.confidence, abs=1e-4)
    assert found.intent.topics[:2] == ("session token", "cookie")
    assert found.answer is not None
    assert found.llm_seconds is not None
    assert (found.answer.type, found.llm_reason, found.timed_out_by) == ("troubleshoot", "", "")
    assert 0.0 < found.llm_seconds <= found.seconds
    assert counted(state) == call("success")


def test_a_late_yes_speaks_for_a_prompt_whose_words_ask_for_nothing(home: Home, state: State) -> None:
    assert keywords.read(ORDER).intent.type == "none"
    with LlmServer(YES) as server:
        found = examined(home, state, asking(server), ORDER)
    assert found.intent.type == "troubleshoot"
    assert found.intent.confidence > 0.5


def test_where_no_signal_of_a_type_fired_the_answer_stands_alone(home: Home, state: State) -> None:
    assert all(signal.family == "none" for signal in keywords.read(ORDER).fired)
    with LlmServer(says("howto", 0.66)) as server:
        found = examined(home, state, asking(server), ORDER)
    assert (found.intent.source, found.intent.confidence) == ("llm", 0.66)
    assert found.intent.topics == topics(keywords.read(ORDER).words())
    assert counted(state)[f'{DURATION}{{source="llm"}}'] == 1


NO_TYPE = "the lighthouse lamp relay of the tide sensor"


@pytest.mark.parametrize(
    ("kind", "confidence", "prompt", "speaks"),
    [
        ("none", 0.9, QUESTION, False),
        ("none", 0.6, QUESTION, False),
        ("none", 0.4, QUESTION, True),
        ("none", 0.6, NO_TYPE, False),
        ("none", 0.4, NO_TYPE, True),
        ("howto", 0.4, NO_TYPE, True),
        ("howto", 0.1, NO_TYPE, True),
        ("howto", 0.4, ORDER, False),
        ("howto", 0.9, ORDER, True),
    ],
)
def test_an_unsure_answer_silences_nothing_and_a_sure_no_does(
    home: Home, state: State, kind: str, confidence: float, prompt: str, speaks: bool
) -> None:
    with LlmServer(says(kind, confidence, ["topic"])) as server:
        settings = asking(server)
        found = examined(home, state, settings, prompt)
    assert found.intent.llm_status == "success"
    assert found.is_vetoed is (kind == "none" and confidence >= 0.5)
    assert found.speaks(settings) is speaks


def test_a_no_that_is_sure_silences_a_prompt_whose_words_ask(home: Home, state: State) -> None:
    with LlmServer(NO) as server:
        found = examined(home, state, asking(server))
    assert found.intent.type == "none"
    assert found.intent.confidence < 0.5


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        pytest.param(llm_server.garbage(), "error", id="garbage"),
        pytest.param(llm_server.floods(), "error", id="10 MB"),
        pytest.param(llm_server.redirects("http://127.0.0.1:1/"), "error", id="redirect"),
        pytest.param(llm_server.fails(500), "error", id="500"),
        pytest.param(llm_server.says_text("no idea"), "error", id="prose"),
        pytest.param(llm_server.resets(), "disconnected", id="RST"),
        pytest.param(llm_server.hangs_up(), "disconnected", id="hangs up"),
    ],
)
def test_a_failure_leaves_what_the_words_say(home: Home, state: State, behaviour: Behaviour, expected: str) -> None:
    with LlmServer(behaviour) as server:
        found = examined(home, state, asking(server))
    words = keywords.read(QUESTION).intent
    assert (found.intent.llm_status, found.intent.source) == (expected, "keyword")
    assert (found.intent.type, found.intent.confidence) == (words.type, words.confidence)
    assert found.intent.topics == topics(keywords.read(QUESTION).words())
    assert found.answer is None
    assert found.llm_reason
    assert counted(state) == call(expected)


@pytest.mark.parametrize("behaviour", [llm_server.never(), llm_server.drips()], ids=["never", "drips"])
def test_the_setting_ends_the_wait(home: Home, state: State, behaviour: Behaviour) -> None:
    with LlmServer(behaviour) as server:
        found = examined(home, state, asking(server, search_intent__llm_timeout_ms=SHORT_MS))
    assert (found.intent.llm_status, found.intent.type, found.timed_out_by) == ("timeout", "howto", "llm_timeout_ms")
    assert found.llm_seconds is not None
    assert found.llm_seconds >= SHORT_MS / 1000.0
    assert counted(state) == call("timeout", "llm_timeout_ms")


@pytest.mark.parametrize("left_ms", [SHORT_MS, 0.0, -7.0])
def test_the_deadline_ends_the_wait_where_it_is_nearer(home: Home, state: State, left_ms: float) -> None:
    with LlmServer(llm_server.never()) as server:
        settings = asking(server)
        begun = detection.begin(QUESTION, settings, home, state, may_be_shown, LONG_MS / 1000.0)
        told = begun.settle(topics(begun.reading.words()), settings, left_ms)
        begun.count(told, state)
    assert (told.intent.llm_status, told.intent.type, told.timed_out_by) == ("timeout", "howto", "deadline")
    assert counted(state) == call("timeout", "deadline")


def test_nothing_is_written_before_it_is_kept(home: Home, state: State) -> None:
    with LlmServer(YES) as server:
        settings = asking(server)
        begun = detection.begin(QUESTION, settings, home, state, may_be_shown, LONG_MS / 1000.0)
        told = begun.settle(("session",), settings, LONG_MS)
        assert counted(state) == {}
        begun.count(told, state)
        assert counted(state) == call("success")


def test_the_terminal_learns_from_an_answer_and_counts_nothing(home: Home, state: State) -> None:
    with LlmServer(YES, llm_server.fails(500)) as server:
        settings = asking(server)
        statuses = [
            detection.examine(prompt, settings, home, state, may_be_shown).intent.llm_status
            for prompt in (QUESTION, QUESTION, *[ANOTHER] * 4)
        ]
    assert statuses == ["success", "cached", "error", "error", "error", "resting"]
    assert counted(state) == {}


def test_several_calls_add_up(home: Home, state: State) -> None:
    with LlmServer(YES, llm_server.fails(500), llm_server.resets()) as server:
        settings = asking(server, llm__cache_hours=0)
        assert [status(home, state, settings) for _ in range(3)] == ["success", "error", "disconnected"]
    assert counted(state) == {
        STARTED: 3,
        **{f'{COMPLETED}{{status="{status}"}}': 1 for status in ("success", "error", "disconnected")},
        f'{DURATION}{{source="hybrid"}}': 1,
        f'{DURATION}{{source="keyword"}}': 2,
    }


def test_without_a_state_it_is_asked_all_the_same(home: Home) -> None:
    with LlmServer(YES) as server:
        assert [status(home, None, asking(server)) for _ in range(2)] == ["success", "success"]
        assert len(server.requests) == 2


# ---- answers that are known -----------------------------------------------------------------------------------------------


def test_an_answer_is_asked_for_once(home: Home, state: State) -> None:
    with LlmServer(YES) as server:
        first = examined(home, state, asking(server))
        second = examined(home, state, asking(server))
        assert len(server.requests) == 1
    assert (first.intent.llm_status, second.intent.llm_status) == ("success", "cached")
    for name in ("type", "confidence", "topics", "keywords", "source"):
        assert getattr(second.intent, name) == getattr(first.intent, name)
    assert (second.llm_seconds, second.llm_reason) == (None, "")
    assert counted(state) == {**call("success"), f'{DURATION}{{source="hybrid"}}': 2}


def test_another_prompt_or_model_or_server_asks_again(home: Home, state: State) -> None:
    with LlmServer(YES) as server, LlmServer(NO) as other:
        assert status(home, state, asking(server)) == "success"
        assert status(home, state, asking(server), ANOTHER) == "success"
        assert status(home, state, asking(server, llm__model="another-model")) == "success"
        assert status(home, state, asking(other)) == "success"
        assert [request.json["model"] for request in server.requests] == ["a-model", "a-model", "another-model"]
        assert status(home, state, asking(server)) == "cached"


@pytest.mark.parametrize(("age_ms", "expected"), [(HOUR_MS // 2, "cached"), (HOUR_MS, "success"), (30 * HOUR_MS, "success")])
def test_an_answer_is_kept_for_its_hours(home: Home, state: State, age_ms: int, expected: str) -> None:
    with LlmServer(YES) as server:
        settings = asking(server, llm__cache_hours=1)
        key = race.cache_key(provider_of(settings, home), QUESTION)
        state.keep_llm_answer(key, classifier.to_text(classifier.Answer("howto", 0.9)), now_ms() - age_ms, HOUR_MS)
        assert status(home, state, settings) == expected
        assert len(server.requests) == (expected == "success")


def test_an_answer_of_an_hour_is_not_kept_for_two(home: Home, state: State) -> None:
    with LlmServer(YES) as server:
        settings = asking(server, llm__cache_hours=1)
        assert status(home, state, settings) == "success"
        key = race.cache_key(provider_of(settings, home), QUESTION)
    assert state.llm_answer(key, now_ms() + HOUR_MS // 2) is not None
    assert state.llm_answer(key, now_ms() + HOUR_MS) is None


def test_with_no_hours_nothing_is_kept_or_looked_up(home: Home, state: State) -> None:
    with LlmServer(YES) as server:
        none = asking(server, llm__cache_hours=0)
        assert [status(home, state, none) for _ in range(2)] == ["success", "success"]
        assert status(home, state, asking(server)) == "success"  # none was kept
        assert status(home, state, asking(server)) == "cached"
        assert status(home, state, none) == "success"  # none is looked up


def test_a_failure_is_not_kept_as_an_answer(home: Home, state: State) -> None:
    with LlmServer(llm_server.fails(500), YES) as server:
        assert [status(home, state, asking(server)) for _ in range(2)] == ["error", "success"]


def test_an_answer_that_can_not_be_read_any_more_is_asked_for_again(home: Home, state: State) -> None:
    with LlmServer(YES) as server:
        settings = asking(server)
        state.keep_llm_answer(race.cache_key(provider_of(settings, home), QUESTION), "not JSON", now_ms(), HOUR_MS)
        assert status(home, state, settings) == "success"


# ---- a provider that fails again and again --------------------------------------------------------------------------------


def rested(state: State, settings: config.Settings, home: Home) -> None:
    """Let the provider's rest be over."""
    state.let_llm_rest(provider_of(settings, home).identity, now_ms() - 1)


def test_after_three_failures_it_is_left_alone(home: Home, state: State) -> None:
    with LlmServer(llm_server.fails(500), llm_server.resets(), llm_server.garbage()) as server:
        settings = asking(server)
        assert [status(home, state, settings) for _ in range(4)] == ["error", "disconnected", "error", "resting"]
        assert len(server.requests) == breaker.FAILURES
        found = examined(home, state, settings)
        assert len(server.requests) == breaker.FAILURES
    assert found.llm_reason == "it failed too often lately"
    assert found.intent.confidence == keywords.read(QUESTION).intent.confidence
    assert counted(state)[STARTED] == breaker.FAILURES


def test_timeouts_are_failures(home: Home, state: State) -> None:
    with LlmServer(llm_server.never()) as server:
        settings = asking(server, search_intent__llm_timeout_ms=SHORT_MS)
        assert [status(home, state, settings) for _ in range(4)] == ["timeout"] * 3 + ["resting"]


def test_an_answer_that_is_known_is_told_during_a_rest(home: Home, state: State) -> None:
    with LlmServer(YES, llm_server.fails(500)) as server:
        settings = asking(server)
        statuses = [status(home, state, settings, prompt) for prompt in (QUESTION, *[ANOTHER] * 4, QUESTION)]
    assert statuses == ["success", "error", "error", "error", "resting", "cached"]


def test_another_model_is_asked_during_a_rest(home: Home, state: State) -> None:
    with LlmServer(llm_server.fails(500)) as server:
        for _ in range(3):
            status(home, state, asking(server))
        assert status(home, state, asking(server, llm__model="another-model")) == "error"


def test_a_try_that_fails_begins_another_rest(home: Home, state: State) -> None:
    with LlmServer(llm_server.fails(500)) as server:
        settings = asking(server)
        for _ in range(3):
            status(home, state, settings)
        rested(state, settings, home)
        assert [status(home, state, settings) for _ in range(3)] == ["error", "resting", "resting"]
        assert len(server.requests) == breaker.FAILURES + 1


def test_a_try_that_can_not_be_noted_is_none(home: Home, state: State) -> None:
    with LlmServer(YES) as server:
        settings = asking(server)
        for _ in range(3):
            breaker.failed(state, provider_of(settings, home).identity, now_ms())
        rested(state, settings, home)
        other = State.open(home, 1_000)
        other.begin()
        assert not detection.begin(QUESTION, settings, home, state, may_be_shown, LONG_MS / 1000.0).may_change
        other.commit()
        assert status(home, state, settings) == "success"


def test_while_one_tries_the_others_do_not(home: Home, state: State) -> None:
    with LlmServer(llm_server.never()) as server:
        settings = asking(server)
        for _ in range(3):
            breaker.failed(state, provider_of(settings, home).identity, now_ms())
        rested(state, settings, home)
        begun = [detection.begin(QUESTION, settings, home, state, may_be_shown, LONG_MS / 1000.0) for _ in range(3)]
        assert [one.may_change for one in begun] == [True, False, False]
        begun[0].settle((), settings, 0.0)


def test_a_try_that_succeeds_ends_the_rest(home: Home, state: State) -> None:
    with LlmServer(*[llm_server.fails(500)] * 3, YES) as server:
        settings = asking(server, llm__cache_hours=0)
        for _ in range(3):
            status(home, state, settings)
        rested(state, settings, home)
        assert [status(home, state, settings) for _ in range(3)] == ["success"] * 3


# ---- a provider that is set up wrongly ------------------------------------------------------------------------------------

FAULTS: list[tuple[dict[str, Value], str]] = [
    ({"llm__model": ""}, "llm.model is not set"),
    ({"llm__base_url": "localhost:11434"}, "llm.base_url is no address"),
    ({"llm__key_file": "no-such-file"}, "no-such-file can not be read"),
]


@pytest.mark.parametrize(("setting", "said"), FAULTS)
def test_the_terminal_is_told_what_is_wrong(home: Home, state: State, setting: dict[str, Value], said: str) -> None:
    with LlmServer(YES) as server, pytest.raises(ConfigError, match=said):
        detection.examine(QUESTION, asking(server, **setting), home, state, may_be_shown)
    assert server.requests == []


@pytest.mark.parametrize(("setting", "said"), FAULTS)
def test_the_hook_has_the_words_and_can_say_it(home: Home, state: State, setting: dict[str, Value], said: str) -> None:
    with LlmServer(YES) as server:
        settings = asking(server, **setting)
        begun = detection.begin(QUESTION, settings, home, state, may_be_shown, LONG_MS / 1000.0)
        told = begun.settle(("session",), settings, LONG_MS)
        begun.count(told, state)
    assert said in str(begun.fault)
    assert not begun.may_change
    assert (told.intent.type, told.intent.llm_status) == ("howto", "off")
    assert counted(state) == BY_WORDS


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
def test_a_setting_that_was_left_out_is_not_replaced_by_the_default(
    home: Home, state: State, lines: str, name: str, is_compiled: bool
) -> None:
    with LlmServer(YES) as server:
        address = "" if "base" in name else f'base_url = "{server.url_v1}"\n'
        Path(home.config).write_text(f'[llm]\nprovider = "openai"\nmodel = "m"\n{address}{lines}\n')
        for _ in range(1 + is_compiled):
            settings = config.load(home, None, state)
        begun = detection.begin(ORDER, settings, home, state, may_be_shown, LONG_MS / 1000.0)
        assert not begun.may_change
        assert server.requests == []
    assert name in str(begun.fault)


def test_a_mistyped_variable_sends_nothing(home: Home, state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    with LlmServer(YES) as server:
        Path(home.config).write_text(f'[llm]\nprovider = "openai"\nmodel = "m"\nbase_url = "{server.url_v1}"\n')
        monkeypatch.setenv("SUBCOG_SEARCH_INTENT_USE_LLM", "flase")
        assert not detection.begin(ORDER, config.load(home), home, state, may_be_shown, LONG_MS / 1000.0).may_change
        monkeypatch.delenv("SUBCOG_SEARCH_INTENT_USE_LLM")
        assert status(home, state, config.load(home), ORDER) == "success"


def test_a_project_can_not_keep_an_llm_from_being_asked(home: Home, state: State, tmp_path: Path) -> None:
    with LlmServer(YES) as server:
        Path(home.config).write_text(f'[llm]\nprovider = "openai"\nmodel = "m"\nbase_url = "{server.url_v1}"\n')
        Path(tmp_path, ".subcog.toml").write_text('[llm]\nbase_url = "http://elsewhere/v1"\nmodel = 3\n')
        settings = config.load(home, str(tmp_path))
        assert len(settings.problems) == 2
        assert providers.of(settings, home) is not None
        begun = detection.begin(ORDER, settings, home, state, may_be_shown, LONG_MS / 1000.0)
        assert (begun.fault, begun.may_change) == (None, True)
        begun.settle((), settings, 0.0)


# ---- what leaves the machine ----------------------------------------------------------------------------------------------

TOKEN = "ghp_" + "0aB1cD2eF3" * 4
KEY_LINES = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" + f"{number:02}" * 16 for number in range(40)]
KEY = "\n".join(["-----BEGIN PRIVATE KEY-----", *KEY_LINES, "-----END PRIVATE KEY-----"])


def shown(home: Home, prompt: str) -> str:
    """What the server is sent of a prompt."""
    with LlmServer(YES) as server:
        assert status(home, None, asking(server), prompt) == "success"
        return str(server.requests[0].json["messages"][1]["content"])


def test_the_prompt_is_shown_without_its_secrets(home: Home) -> None:
    text = shown(home, f"Why does git push with {TOKEN} fail? <private>the bank's code is 4711</private> It worked.")
    assert f"Why does git push with {MASK} fail?" in text
    assert "It worked." in text
    assert TOKEN not in text
    assert "4711" not in text


@pytest.mark.parametrize("before", range(1_200, 2_100, 100))
def test_a_secret_across_the_cut_of_a_long_prompt_is_not_shown_in_part(home: Home, before: int) -> None:
    prompt = "Why is this key refused?\n".ljust(before, "-") + "\n" + KEY + "\n" + "." * 1_000
    text = shown(home, prompt)
    assert "Why is this key refused?" in text
    assert "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" not in text
    assert all(line[-20:] not in text for line in KEY_LINES)


def test_a_private_span_across_the_cut_is_not_shown_in_part(home: Home) -> None:
    text = shown(home, "Why?" + "." * 2_500 + "<private>" + "the bank's code " * 200 + "</private>" + "Because." * 10)
    assert "bank" not in text
    assert "Because." in text


def test_of_a_long_prompt_head_and_tail_are_shown(home: Home) -> None:
    text = shown(home, "Why does it fail? " + "a lot " * 4_000 + "of it " * 4_000 + " The end of it.")
    assert "Why does it fail?" in text
    assert "The end of it." in text
    assert len(text) < 5_000


@pytest.mark.parametrize(
    "secret",
    [
        "STRIPE_KEY=sk" + "_live_" + "0aB1cD2eF3" * 3,
        "password=hunter2hunter2",
        "Authorization: Bearer " + "0aB1cD2eF3" * 3,
        "SG" + "." + "0aB1cD2eF3" * 3,
        "AccountKey=" + "QUJD" * 22,
        "sk-or-v1" + "-" + "9f86d081884c7d65" * 4,
        "dop_v1" + "_" + "9f86d081884c7d65" * 4,
    ],
)
def test_a_prompt_that_may_hold_another_secret_is_not_shown_at_all(home: Home, state: State, secret: str) -> None:
    with LlmServer(YES) as server:
        found = examined(home, state, asking(server), f"{QUESTION} {secret}")
        assert server.requests == []
    assert (found.intent.llm_status, found.llm_reason) == ("skipped", "the prompt may hold a secret")
    assert found.intent.confidence == found.reading.intent.confidence
    assert counted(state) == BY_WORDS


# ---- before it is settled -------------------------------------------------------------------------------------------------


def may_change(home: Home, state: State, settings: config.Settings, prompt: str = QUESTION) -> bool:
    begun: Detection = detection.begin(prompt, settings, home, state, may_be_shown, LONG_MS / 1000.0)
    changes = begun.may_change
    begun.settle((), settings, LONG_MS)
    return changes


def test_it_may_change_as_long_as_an_llm_has_a_say(home: Home, state: State) -> None:
    with LlmServer(YES) as server:
        assert may_change(home, state, asking(server), ORDER)
        assert not may_change(home, state, asking(server, search_intent__use_llm=False), ORDER)
        assert not may_change(home, state, asking(server), "/compact")
        examined(home, state, asking(server), ORDER)
        assert may_change(home, state, asking(server), ORDER)  # by the answer that was kept


def test_with_no_topics_at_all_there_is_nothing_to_search_for(home: Home, state: State) -> None:
    with LlmServer(says("howto", 0.9)) as server:
        for settings in (asking(server), asking(server, search_intent__use_llm=False)):
            begun = detection.begin(QUESTION, settings, home, state, may_be_shown, LONG_MS / 1000.0)
            told = begun.settle((), settings, LONG_MS)
            assert (told.intent.type, told.intent.confidence, told.intent.topics) == ("none", 0.0, ())
