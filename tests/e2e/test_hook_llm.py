"""A language model beside the hook: whatever its server does, the hook answers with what it has, or is silent.

A busy machine can end any run of the hook before the model is asked, so no test wants an answer in time. Times are measured by
scripts/bench/hook.py.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.store.state import State
from tests import llm_server
from tests.e2e.machine import ANSWER, ATTEMPTS, LONGEST_S, QUESTION, Machine, assert_harmless, assert_silent, linux, wait_until
from tests.llm_server import Behaviour, LlmServer, fails, says

COMPARISON = ("comparison", 0.9, ["HttpOnly cookie", "localStorage"])
LATE_MS = 1_200  # many times what a hook has
SERVERS: dict[str, Behaviour | str] = {
    "in time, perhaps": says("howto", 0.9, ["cookie"]),
    "never": llm_server.never(),
    "slow drip": llm_server.drips(*COMPARISON),
    "RST": llm_server.resets(),
    "hangs up": llm_server.hangs_up(),
    "500": fails(500),
    "garbage": llm_server.garbage(),
    "prose": llm_server.says_text("I would rather not say."),
    "redirect": llm_server.redirects("http://127.0.0.1:1/"),
    "10 MB of unknown length": llm_server.floods(tells_length=False),
    "connection refused": "http://127.0.0.1:1/v1",
    "no such name": "http://llm.invalid/v1",
}


def configure(machine: Machine, base_url: str, *more: str) -> None:
    """Let the hook ask a server about every prompt, with a state of its own. more: lines of the section llm, or others."""
    for file in machine.home.glob("state.db*"):
        file.unlink()
    lines = ["[llm]", 'provider = "openai"', 'model = "m"', f'base_url = "{base_url}"', *more]
    (machine.home / "config.toml").write_text("\n".join([*lines, "[search_intent]", "llm_skip_confidence = 1.0"]))


@contextmanager
def served(machine: Machine, behaviour: Behaviour, *more: str) -> Iterator[LlmServer]:
    with LlmServer(behaviour) as server:
        configure(machine, server.url_v1, *more)
        yield server


def test_whatever_a_server_does_the_words_are_answered(machine: Machine, subtests: pytest.Subtests) -> None:
    by_words = machine.hook(machine.asking()).stdout
    assert b'intent=\\"howto\\"' in by_words
    for name, behaviour in SERVERS.items():
        with subtests.test(name=name), LlmServer(behaviour if callable(behaviour) else llm_server.never()) as server:
            configure(machine, server.url_v1 if callable(behaviour) else behaviour)
            done = machine.hook(machine.asking())
            assert_harmless(done)
            assert done.stdout in (by_words, b"") or (name == "in time, perhaps" and ANSWER.encode() in done.stdout)


def count_answers(machine: Machine) -> int:
    """The answers in the cache, once no hook is at work."""
    wait_until(lambda: not machine.processes(b"\0hook\0"), LONGEST_S)
    with State.open(Home(str(machine.home)), 2_000) as state:
        ((count,),) = state.run("SELECT count(*) FROM llm_answers")
    return int(str(count))


@linux
def test_a_late_answer_is_kept_for_the_same_prompt(machine: Machine) -> None:
    with served(machine, says(*COMPARISON, delay_ms=LATE_MS)) as server:
        machine.environment["SUBCOG_BACKGROUND"] = "1"
        for _ in range(ATTEMPTS):
            machine.hook(machine.asking())
            if count_answers(machine):
                break
        asked = len(server.requests)
        if not asked:
            pytest.skip("this machine is too busy for a hook that asks a model")
        told = json.loads(machine.run("why", QUESTION, "--json").stdout)
        assert (told["intent_type"], len(server.requests)) == ("comparison", asked)


@linux
@pytest.mark.parametrize(("background", "more"), [("0", ()), ("1", ("[surfacing]", "log_prompts = false"))])
def test_no_late_answer_is_kept_where_that_is_off(machine: Machine, background: str, more: tuple[str, ...]) -> None:
    with served(machine, says(*COMPARISON, delay_ms=LATE_MS), *more) as server:
        machine.environment["SUBCOG_BACKGROUND"] = background
        for _ in range(ATTEMPTS):
            machine.hook(machine.asking())
            if server.requests:
                break
        assert count_answers(machine) == 0


def test_a_key_is_shown_to_the_server_alone(machine: Machine) -> None:
    key = "sk-test-0aB1cD2eF3gH4iJ5kL6m"
    file = machine.root / "key"
    file.write_text(key + "\n")
    file.chmod(0o600)
    refusal = fails(401, b'{"error": {"type": "invalid_key", "message": "no such key: ' + key.encode() + b'"}}')
    with served(machine, refusal, f'key_file = "{file}"') as server:
        done = [machine.hook(machine.asking()), machine.run("why", QUESTION)]
        assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {key}"}
    assert not any(key.encode() in each.stdout + each.stderr for each in done)
    assert not any(key.encode() in path.read_bytes() for path in machine.home.rglob("*") if path.is_file())


def test_a_variable_silences_the_hook_and_a_wrong_one_does_not(machine: Machine) -> None:
    for name, value in (("SUBCOG_SEARCH_INTENT_ENABLED", "off"), ("SUBCOG_SEARCH_INTENT_MIN_CONFIDENCE", "1")):
        machine.environment[name] = value
        assert_silent(machine.prompt(QUESTION))
        del machine.environment[name]
    machine.environment["SUBCOG_SEARCH_INTENT_ENABLED"] = "perhaps"
    assert machine.recall(QUESTION) == [ANSWER]
    assert "SUBCOG_SEARCH_INTENT_ENABLED is 'perhaps'" in (machine.home / "log" / "hook.log").read_text()
