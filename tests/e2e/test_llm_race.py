"""S0's chaos tests (CHAOS-H3) on the whole executable: whatever an LLM's server does, the hook ends in time with what it has.

A busy machine can make any one run of the hook late, and its answer with it: whatever it then does must be harmless, but it
shows nothing. What became of a run is told by its metrics; where they are missing, the deadline has ended it. Runs are repeated
until what is to be shown was seen. Where it was not, the hook is timed with no LLM: what that leaves too little time for is
skipped, because nothing but the machine was shown.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import NamedTuple

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.intent.detector import COMPLETED, DURATION, STARTED, TIMEOUTS
from subcog_hooks.llm import breaker, providers
from subcog_hooks.settings import loading
from subcog_hooks.store import past_runs
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.past_runs import Counter
from subcog_hooks.store.state import State
from subcog_hooks.store.verdicts import PromptIntent
from tests import llm_server
from tests.e2e.machine import (
    ANSWER,
    LONGEST_S,
    QUESTION,
    RELATED,
    REMOTE,
    Done,
    Machine,
    assert_harmless,
    assert_silent,
    context_of,
    ids_in,
    linux,
    wait_until,
)
from tests.llm_server import Behaviour, LlmServer, fails, says

BUDGET_S = 0.2
RUNS, MANY_RUNS, MAX_RUNS = 3, 15, 60  # of one case: as a rule, until it is asked whether the machine is busy, and at most
ENOUGH_S = 0.12  # what the hook may take with no LLM, so that there is time for one: 80 ms on an idle machine
ORDER = "rename the cookie of the session token"  # the words alone ask for nothing
NAMELESS = "Why is it like that?"
UNRELATED = "it is still the blue one"  # and these name nothing that there is, either

COMPARISON = ("comparison", 0.9, ["HttpOnly cookie", "localStorage"])
ALWAYS = "[search_intent]\nllm_skip_confidence = 1.0\n"  # ask however sure the words are


class Run(NamedTuple):
    """One process of the hook. bare: seconds of a bare interpreter just before; metrics: what this run has added."""

    done: Done
    bare: float
    metrics: dict[str, float]

    @property
    def status(self) -> str:
        """How the call ended, "" when the deadline ended the process before that was noted, or none was started."""
        ended = [name for name in self.metrics if name.startswith(COMPLETED)]
        return ended[0].split('"')[1] if ended else ""

    @property
    def ids(self) -> list[str]:
        return ids_in(context_of(self.done)) if self.done.stdout else []


class Track:
    """A machine whose hook has an LLM to ask. Every run begins with the state that the first began with."""

    def __init__(self, machine: Machine, base_url: str, settings: str = "", llm: str = "") -> None:
        """settings: more of config.toml; llm: more of its section."""
        self.machine = machine
        lines = ["[llm]", 'provider = "openai"', 'model = "m"', f'base_url = "{base_url}"', llm, settings]
        (machine.home / "config.toml").write_text("\n".join(lines), encoding="utf-8")
        for file in machine.home.glob("state.db*"):
            file.unlink()
        machine.environment["SUBCOG_SEARCH_INTENT_ENABLED"] = "false"
        assert_silent(machine.prompt(QUESTION))  # compiles the settings
        del machine.environment["SUBCOG_SEARCH_INTENT_ENABLED"]
        self.state().close()  # brings what is in the WAL into the file
        self._begin = (machine.home / "state.db").read_bytes()

    def state(self) -> State:
        return State.open(Home(str(self.machine.home)), 2_000)

    def metrics(self) -> dict[str, float]:
        """How often each of an intent's was counted or observed, by its name and label."""
        state = self.state()
        found = {
            f"{metric.name}{{{metric.labels}}}": metric.value if isinstance(metric, Counter) else metric.count
            for metric in past_runs.read_metrics(state)
            if metric.name.startswith("search_intent")
        }
        state.close()
        return found

    def reset(self) -> None:
        for file in self.machine.home.glob("state.db*"):
            file.unlink()
        (self.machine.home / "state.db").write_bytes(self._begin)

    def run(self, prompt: str = QUESTION) -> Run:
        """One prompt of a new session."""
        self.reset()
        bare = self.machine.start([sys.executable, "-c", "pass"]).seconds
        done = self.machine.run("hook", stdin=self.machine.asking(prompt))
        assert_harmless(done)
        return Run(done, bare, self.metrics())

    def runs(self, enough: Callable[[list[Run]], bool], prompt: str = QUESTION) -> list[Run]:
        """RUNS runs, and more until they are enough."""
        runs: list[Run] = []
        while len(runs) < RUNS or (len(runs) < MAX_RUNS and not enough(runs)):
            runs.append(self.run(prompt))
            if len(runs) % MANY_RUNS == 0 and not enough(runs):
                self.skip_if_busy()
        return runs

    def seen(self, status: str, prompt: str = QUESTION) -> Run:
        """The run whose call ended so. It is the last one."""
        for _ in range(MAX_RUNS // MANY_RUNS):
            for _ in range(MANY_RUNS):
                run = self.run(prompt)
                if run.status == status:
                    return run
            self.skip_if_busy()
        raise AssertionError(f"no call in {MAX_RUNS} ended as {status!r}")

    def skip_if_busy(self) -> None:
        """Skip the test where the hook is too slow with no LLM to wait for one. What is not too slow has to show its case."""
        with self.no_llm():
            slowest = max(self.run().done.seconds for _ in range(RUNS))
        if slowest > ENOUGH_S:
            pytest.skip(f"busy machine: the hook takes {slowest * 1000:.0f} ms with no LLM to ask")

    @contextmanager
    def no_llm(self) -> Iterator[None]:
        """Nobody is asked, whatever else is set."""
        before = dict(self.machine.environment)
        self.machine.environment["SUBCOG_SEARCH_INTENT_USE_LLM"] = "false"
        yield
        self.machine.environment.clear()
        self.machine.environment.update(before)

    def words_alone(self, prompt: str = QUESTION) -> Done:
        """What the hook does with no LLM."""
        with self.no_llm():
            runs = self.runs(lambda runs: any(run.metrics for run in runs), prompt)
        assert {run.status for run in runs} == {""}
        return max((run.done for run in runs), key=lambda done: len(done.stdout))


def noted(status: str, reason: str = "deadline") -> dict[str, float]:
    """The metrics of one call that ended so. reason: of a timeout."""
    source = "hybrid" if status == "success" else "keyword"
    found: dict[str, float] = {
        f"{STARTED}{{}}": 1,
        f'{COMPLETED}{{status="{status}"}}': 1,
        f'{DURATION}{{source="{source}"}}': 1,
    }
    return found | ({f'{TIMEOUTS}{{reason="{reason}"}}': 1} if status == "timeout" else {})


@contextmanager
def served(machine: Machine, behaviour: Behaviour, settings: str = ALWAYS, **others: str) -> Iterator[tuple[Track, LlmServer]]:
    with LlmServer(behaviour) as server:
        yield Track(machine, server.url_v1, settings, **others), server


# ---- the race -------------------------------------------------------------------------------------------------------------

IN_TIME, TOO_LATE = "success", "timeout"
BY_MACHINE = "either"  # what is left of 200 ms when interpreter and modules are there: 140 ms, or 90 where they are slow
DELAYS_MS = {20: IN_TIME, 100: IN_TIME, 130: BY_MACHINE, 190: TOO_LATE, 250: TOO_LATE, 2_000: TOO_LATE}
SERVERS = [
    *(pytest.param(says(*COMPARISON, delay_ms=delay), status, id=f"{delay} ms") for delay, status in DELAYS_MS.items()),
    pytest.param(llm_server.never(), TOO_LATE, id="never"),
    pytest.param(llm_server.drips(*COMPARISON), TOO_LATE, id="slow drip"),
    pytest.param(llm_server.resets(), "disconnected", id="RST"),
    pytest.param(llm_server.hangs_up(), "disconnected", id="hangs up"),
    pytest.param(llm_server.garbage(), "error", id="garbage"),
    pytest.param(llm_server.says_text("I would rather not say."), "error", id="prose"),
    pytest.param(llm_server.redirects("http://127.0.0.1:1/"), "error", id="redirect"),
    pytest.param(llm_server.floods(), "error", id="10 MB"),
    pytest.param(llm_server.floods(tells_length=False), "error", id="10 MB of unknown length"),
    pytest.param("http://127.0.0.1:1/v1", "error", id="connection refused"),
    pytest.param("http://llm.invalid/v1", "error", id="no such name"),
]


@pytest.mark.parametrize(("behaviour", "status"), SERVERS)
def test_the_hook_ends_in_time_with_what_it_has(machine: Machine, behaviour: Behaviour | str, status: str) -> None:
    with LlmServer(behaviour if callable(behaviour) else llm_server.never()) as server:
        track = Track(machine, server.url_v1 if callable(behaviour) else behaviour, ALWAYS)
        by_words = track.words_alone().stdout
        assert server.requests == []
        assert b'intent=\\"howto\\"' in by_words

        def is_enough(runs: list[Run]) -> bool:
            return shown(runs, status) and median_overrun(runs) <= 0

        runs = track.runs(is_enough)
    assert shown(runs, status)
    assert median_overrun(runs) <= 0
    for run in runs:
        assert run.status in ("", TOO_LATE, IN_TIME if status == BY_MACHINE else status)
        # on a busy machine the call may have begun so late that its own limit is the nearer one
        assert not run.status or run.metrics in (noted(run.status), noted(run.status, "llm_timeout_ms"))
        if run.status == IN_TIME and run.done.stdout:
            assert b'intent=\\"comparison\\"' in run.done.stdout
            assert ANSWER in run.ids
        elif run.status:
            assert run.done.stdout in (by_words, b"")


def shown(runs: list[Run], status: str) -> bool:
    """Whether the hook spoke: with the merge of an answer that was in time, or though the call failed or took too long."""
    wanted = {IN_TIME, TOO_LATE} if status == BY_MACHINE else {status, IN_TIME if status == IN_TIME else TOO_LATE}
    return any(run.done.stdout and run.status in wanted for run in runs)


def median_overrun(runs: list[Run]) -> float:
    """By how many seconds most runs took longer than the hook may; below 0 when they did not."""
    return median(run.done.seconds - run.bare - BUDGET_S for run in runs)


def test_an_answer_after_20_ms_is_in_time_as_a_rule(machine: Machine) -> None:
    def is_the_rule(runs: list[Run]) -> bool:
        return sum(run.status == IN_TIME for run in runs[-RUNS:]) * 2 > RUNS

    with served(machine, says(*COMPARISON, delay_ms=20)) as (track, _):
        assert is_the_rule(track.runs(is_the_rule))


@pytest.mark.parametrize("is_variable", [False, True], ids=["config.toml", "environment"])
def test_a_shorter_time_for_the_llm_ends_the_wait(machine: Machine, is_variable: bool) -> None:
    settings = ALWAYS if is_variable else ALWAYS + "llm_timeout_ms = 20\n"
    if is_variable:
        machine.environment["SUBCOG_SEARCH_INTENT_LLM_TIMEOUT_MS"] = "20"
    with served(machine, llm_server.never(), settings) as (track, _):
        runs = track.runs(lambda runs: any(run.metrics == noted(TOO_LATE, "llm_timeout_ms") for run in runs))
    assert noted(TOO_LATE, "llm_timeout_ms") in [run.metrics for run in runs]


def test_what_has_been_counted_is_shown_by_stats(machine: Machine) -> None:
    with served(machine, says(*COMPARISON)) as (track, _):
        track.seen(IN_TIME)
    lines = machine.run("report", "--prometheus").stdout.decode().splitlines()
    assert f"{STARTED} 1" in lines
    assert f'{COMPLETED}{{status="success"}} 1' in lines
    assert f'{COMPLETED}{{status="timeout"}} 0' in lines
    assert f'{DURATION}_count{{source="hybrid"}} 1' in lines


# ---- what an answer changes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", [QUESTION, RELATED, "Where does allocate_berth retry on SQLSTATE 23P01?", ORDER, UNRELATED])
@pytest.mark.parametrize("behaviour", [llm_server.resets(), fails(500), llm_server.never()], ids=["RST", "500", "never"])
def test_a_failure_changes_nothing_that_is_injected(machine: Machine, prompt: str, behaviour: Behaviour) -> None:
    with served(machine, behaviour) as (track, server):
        done = track.words_alone(prompt)
        alone = ids_in(context_of(done)) if done.stdout else []
        assert server.requests == []
        runs = track.runs(lambda runs: any(run.status and run.ids == alone for run in runs), prompt)
    assert any(run.status and run.ids == alone for run in runs)
    assert all(run.ids in (alone, []) for run in runs)


def test_topics_of_an_answer_take_no_memory_away(machine: Machine) -> None:
    machine.folder = machine.repository("harbour", REMOTE)
    prompt = "How do staff sign in?"
    topics = ["authentication", "passwordless login", "credentials", "SSO", "access control"]  # in no memory
    with served(machine, says("explanation", 0.8, topics)) as (track, _):
        assert ids_in(context_of(track.words_alone(prompt))) == ["tp-0026"]
        assert track.seen(IN_TIME, prompt).ids == ["tp-0026"]


def test_an_unsure_answer_changes_neither_type_nor_confidence(machine: Machine) -> None:
    with served(machine, says("comparison", 0.4, ["localStorage"])) as (track, _):
        by_words = track.words_alone()
        without = intent_of(machine)
        run = track.seen(IN_TIME)
        answered = intent_of(machine)
    assert run.done.stdout == by_words.stdout
    assert (answered.type, answered.confidence, answered.source) == (without.type, without.confidence, "hybrid")


def test_a_question_that_names_nothing_gets_topics_of_the_llm(machine: Machine) -> None:
    with served(machine, says("explanation", 0.9, ["session token", "HttpOnly cookie", "localStorage"]), "") as (track, server):
        assert track.words_alone(NAMELESS).stdout == b""
        assert server.requests == []
        runs = track.runs(lambda runs: any(run.ids for run in runs), NAMELESS)  # a busy machine has no time to search again
    assert {tuple(run.ids) for run in runs if run.ids} == {(ANSWER,)}


def test_why_explains_an_answer_by_its_reasoning(machine: Machine) -> None:
    fields = {"intent_type": "howto", "confidence": 0.9, "topics": ["cookie"], "reasoning": "asks how tokens are stored"}
    with served(machine, llm_server.says_text(json.dumps(fields))) as (track, server):
        track.seen(IN_TIME)
        assert "reasoning" in server.requests[0].json["response_format"]["json_schema"]["schema"]["required"]
    explained = machine.run("why", "--explain").stdout.decode()
    assert re.search(r"^ *reason +asks how tokens are stored$", explained, re.MULTILINE), explained
    again = machine.run("why", QUESTION, "--explain").stdout.decode()  # by the answer that was kept
    assert 'cached: "asks how tokens are stored"' in again


def intent_of(machine: Machine) -> PromptIntent:
    """The intent in the last prompt's record."""
    intent = machine.past_verdicts()[0].intent
    assert intent is not None
    return intent


# ---- over several processes -----------------------------------------------------------------------------------------------


def count_rows(track: Track, table: str) -> int:
    """The rows of a table of the state."""
    state = track.state()
    ((count,),) = state.run(f"SELECT count(*) FROM {table}")
    state.close()
    return int(str(count))


def fail_three_times(track: Track) -> None:
    """Three hooks whose call fails, on one state."""
    track.reset()
    for _ in range(MAX_RUNS):
        track.machine.prompt(QUESTION)
        if count_rows(track, "llm_failures") >= breaker.FAILURES:
            return
    track.skip_if_busy()
    raise AssertionError("no three failures were noted")


def test_after_three_failures_no_request_reaches_the_server(machine: Machine) -> None:
    with served(machine, llm_server.resets()) as (track, server):
        fail_three_times(track)
        asked = len(server.requests)
        assert machine.recall(QUESTION) == [ANSWER]
        assert machine.recall(RELATED)
        assert len(server.requests) == asked


def test_after_its_rest_one_request_tries_the_server(machine: Machine) -> None:
    with served(machine, llm_server.resets()) as (track, server):
        fail_three_times(track)
        provider = providers.provider_of(loading.load(Home(str(machine.home))), Home(str(machine.home)))
        assert provider is not None
        state = track.state()
        breaker.open_breaker(state, provider.circuit, now_ms() - 1)
        asked = len(server.requests)
        for _ in range(3):
            machine.prompt(QUESTION)
        assert len(server.requests) <= asked + 1
        server.play(says(*COMPARISON))
        for _ in range(MAX_RUNS):
            breaker.open_breaker(state, provider.circuit, now_ms() - 1)
            machine.prompt(QUESTION)
            if breaker.open_until(state, provider.circuit) is None:
                break
        else:
            track.skip_if_busy()
        assert breaker.open_until(state, provider.circuit) is None
        state.close()


def test_the_same_prompt_is_asked_about_once(machine: Machine) -> None:
    with served(machine, says(*COMPARISON)) as (track, server):
        track.seen(IN_TIME)
        asked = len(server.requests)
        context = machine.answer(machine.asking())
        assert 'intent="comparison"' in context
        assert ids_in(context) == [ANSWER]
        assert len(server.requests) == asked


def count_answers(track: Track) -> int:
    """The answers in the cache, once no hook is at work."""
    wait_until(lambda: not track.machine.processes(b"\0hook\0"), LONGEST_S)
    return count_rows(track, "llm_answers")


@linux
def test_a_late_answer_is_kept_and_nobody_waits_for_it(machine: Machine) -> None:
    with served(machine, says(*COMPARISON, delay_ms=1_200)) as (track, server):
        machine.environment["SUBCOG_BACKGROUND"] = "1"
        for _ in range(MANY_RUNS):
            assert track.seen(TOO_LATE).done.seconds < 1.0  # the waiting copy of the process holds no stream of the client
            if count_answers(track):
                break
        else:
            track.skip_if_busy()
        asked = len(server.requests)
        assert 'intent="comparison"' in machine.answer(machine.asking())
        assert len(server.requests) == asked


@linux
@pytest.mark.parametrize(("background", "settings"), [("0", ""), ("1", "[surfacing]\nlog_prompts = false\n")])
def test_no_late_answer_is_kept_where_that_is_off(machine: Machine, background: str, settings: str) -> None:
    with served(machine, says(*COMPARISON, delay_ms=250), ALWAYS + settings) as (track, server):
        machine.environment["SUBCOG_BACKGROUND"] = background
        track.seen(TOO_LATE)
        assert count_answers(track) == 0
        assert server.requests


def test_a_hook_that_starts_late_fails_nobody(machine: Machine) -> None:
    with served(machine, llm_server.never()) as (track, server):
        for _ in range(MANY_RUNS):
            track.reset()
            process = machine.begin("hook")
            server.closing.wait(0.1)  # of the 200 ms: the client was slow
            process.communicate(machine.asking())
            if f'{TIMEOUTS}{{reason="deadline"}}' in track.metrics():
                break
        else:
            track.skip_if_busy()
        assert count_rows(track, "llm_failures") == 0


# ---- whether anybody is asked ---------------------------------------------------------------------------------------------


def test_a_key_is_shown_to_the_server_alone(machine: Machine) -> None:
    key = "sk-test-0aB1cD2eF3gH4iJ5kL6m"
    file = machine.root / "key"
    file.write_text(key + "\n")
    file.chmod(0o600)
    refusal = fails(401, b'{"error": {"type": "invalid_key", "message": "no such key: ' + key.encode() + b'"}}')
    with served(machine, refusal, llm=f'key_file = "{file}"') as (track, server):
        run = track.seen("error")
        assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {key}"}
    assert key.encode() not in run.done.stdout
    assert "401: the key is refused" in (machine.home / "log" / "hook.log").read_text()
    assert not any(key.encode() in path.read_bytes() for path in machine.home.rglob("*") if path.is_file())


def test_a_variable_silences_the_hook(machine: Machine) -> None:
    for name, value in (("SUBCOG_SEARCH_INTENT_ENABLED", "off"), ("SUBCOG_SEARCH_INTENT_MIN_CONFIDENCE", "1")):
        machine.environment[name] = value
        for prompt in (QUESTION, RELATED):
            assert_silent(machine.prompt(prompt))
        del machine.environment[name]


def test_a_variable_that_is_wrong_is_logged_and_left_out(machine: Machine) -> None:
    machine.environment["SUBCOG_SEARCH_INTENT_ENABLED"] = "perhaps"
    assert machine.recall(QUESTION) == [ANSWER]
    assert "SUBCOG_SEARCH_INTENT_ENABLED is 'perhaps'" in (machine.home / "log" / "hook.log").read_text()
