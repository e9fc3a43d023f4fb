"""The race against a real local server that answers, hangs, drips, resets or answers too late."""

import _thread
import ast
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from subcog_hooks.intent.classifier import build_question, parse_answer
from subcog_hooks.llm import ask
from subcog_hooks.llm.providers import Provider
from tests import llm_server
from tests.llm.asked import ENDED, SECONDS
from tests.llm_server import Behaviour, LlmServer, says

ROOT = Path(__file__).parents[2]


def provider_at(server: LlmServer, model: str = "m") -> Provider:
    return Provider("openai", server.url_v1, model, "")


def start_call(provider: Provider, prompt: str = "", seconds: float = SECONDS) -> ask.Race:
    return ask.Race(provider, build_question(prompt), parse_answer, seconds)


def test_an_answer_in_time_is_a_success() -> None:
    with LlmServer(says("howto", 0.9, ["deploy"], delay_ms=20)) as server:
        outcome = start_call(provider_at(server), "How do we deploy?").join(SECONDS)
        assert "How do we deploy?" in server.requests[0].json["messages"][1]["content"]
    assert (outcome.status, outcome.reason) == ("success", "")
    assert outcome.answer is not None
    assert (outcome.answer.type, outcome.answer.confidence, outcome.answer.topics) == ("howto", 0.9, ("deploy",))
    assert outcome.seconds >= 0.02


@pytest.mark.parametrize("behaviour", [llm_server.never(), llm_server.drips(), says("howto", 0.9, delay_ms=60_000)])
def test_what_does_not_answer_is_left_behind(behaviour: Behaviour) -> None:
    with LlmServer(behaviour) as server:
        outcome = start_call(provider_at(server), seconds=60.0).join(ENDED)
    assert (outcome.status, outcome.answer, outcome.reason) == ("timeout", None, "no answer in time")
    assert ENDED <= outcome.seconds < SECONDS


@pytest.mark.parametrize(
    ("behaviour", "status", "reason"),
    [
        pytest.param(llm_server.resets(), "disconnected", "broke the connection", id="resets"),
        pytest.param(llm_server.hangs_up(), "disconnected", "broke the connection", id="hangs up"),
        pytest.param(llm_server.breaks_off(), "disconnected", "broke the connection", id="breaks off"),
        pytest.param(llm_server.garbage(), "error", "did not answer in HTTP", id="garbage"),
        pytest.param(llm_server.fails(500), "error", "500: its own failure", id="500"),
        pytest.param(llm_server.says_text("I would rather not."), "error", "answered nothing that can be used", id="prose"),
        pytest.param(says("a label", 0.9), "error", "answered nothing that can be used", id="unknown label"),
    ],
)
def test_every_failure_has_its_status_and_a_reason(behaviour: Behaviour, status: str, reason: str) -> None:
    with LlmServer(behaviour) as server:
        outcome = start_call(provider_at(server)).join(SECONDS)
    assert (outcome.status, outcome.answer) == (status, None)
    assert reason in outcome.reason


def test_a_call_gives_up_by_itself_after_its_time() -> None:
    with LlmServer(llm_server.never()) as server:
        outcome = start_call(provider_at(server), seconds=0.1).join(SECONDS)
    assert outcome.status == "timeout"
    assert outcome.reason.endswith(" did not answer in time")


def test_what_comes_after_the_join_is_dropped() -> None:
    may_answer = threading.Event()
    with LlmServer(llm_server.when(may_answer, says("howto", 0.9))) as server:
        call = start_call(provider_at(server))
        assert call.join(0.0).status == "timeout"
        may_answer.set()
        assert call._ended.acquire(timeout=SECONDS)
        assert call._result is not None
        assert call._result.status == "success"
        assert (call.join(SECONDS).status, call.join(SECONDS).answer) == ("timeout", None)


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_with_no_time_left_the_join_does_not_wait(seconds: float) -> None:
    with LlmServer(llm_server.never()) as server:
        assert start_call(provider_at(server)).join(seconds).status == "timeout"


class Deadly(Provider):
    """A provider whose address ends the thread that asks for it."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        if name == "base_url":
            raise SystemExit
        return super().__getattribute__(name)


def test_a_thread_that_dies_without_an_outcome_is_disconnected() -> None:
    outcome = start_call(Deadly("openai", "http://127.0.0.1:1", "m", "")).join(SECONDS)
    assert (outcome.status, outcome.answer, outcome.reason) == ("disconnected", None, "the call died")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a stack of any size may be had")
def test_without_a_thread_it_is_disconnected() -> None:
    usual = _thread.stack_size(1 << 47)  # more than there are addresses
    try:
        call = start_call(Provider("openai", "http://127.0.0.1:1", "m", ""))
    finally:
        _thread.stack_size(usual)
    assert call.join(SECONDS).status == "disconnected"


def test_a_mistake_of_ours_is_an_outcome() -> None:
    nothing: Any = None
    outcome = ask.Race(Provider("openai", "http://127.0.0.1:1", "m", ""), nothing, parse_answer, SECONDS).join(SECONDS)
    assert (outcome.status, outcome.reason) == ("error", "an internal error: AttributeError")


def test_many_calls_at_once_do_not_mix() -> None:
    def answer(handler: llm_server.Handler) -> None:
        model = json.loads(handler.body)["model"]
        says("howto", 0.9, [model])(handler)

    with LlmServer(answer) as server:
        calls = [start_call(provider_at(server, f"model {number}")) for number in range(8)]
        answers = [call.join(SECONDS).answer for call in calls]
    assert [answer.topics for answer in answers if answer] == [(f"model {number}",) for number in range(8)]


RUN = """
import sys, os
sys.path.insert(0, sys.argv[1])
bare = set(sys.modules)
from subcog_hooks.intent import classifier
from subcog_hooks.llm import ask
from subcog_hooks.llm.providers import Provider
before = set(sys.modules) - bare
call = ask.Race(Provider("openai", sys.argv[2], "m", ""), classifier.build_question(""), classifier.parse_answer, 60.0)
print([sorted(before), call.join(float(sys.argv[3])).status], flush=True)
"""


def ran(server: LlmServer, seconds: float, ending: str = "") -> tuple[set[str], str]:
    """The modules that the race itself loads, and the status, told by a process that then ends."""
    command = [sys.executable, "-I", "-c", RUN + ending, str(ROOT), server.url_v1, str(seconds)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=SECONDS)
    assert done.stderr == b""
    modules, status = ast.literal_eval(done.stdout.decode())
    return set(modules), status


def test_nothing_heavy_is_loaded_before_the_thread_is_there() -> None:
    with LlmServer(says("howto", 0.9)) as server:
        modules, status = ran(server, SECONDS)
    assert status == "success"
    assert not {"threading", "http.client", "socket", "ssl", "json", "re", "hashlib", "typing", "urllib.parse"} & modules


@pytest.mark.parametrize("ending", ["", "os._exit(0)", "sys.exit(0)"])
def test_a_hanging_call_does_not_keep_a_process_alive(ending: str) -> None:
    with LlmServer(llm_server.never()) as server:
        assert ran(server, ENDED, ending)[1] == "timeout"
