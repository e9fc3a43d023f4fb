"""Every setting and environment variable of intent and the LLM changes a result of a command or the hook."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import prompt
from subcog_hooks.settings import sources
from subcog_hooks.settings.sources import KEYS
from subcog_hooks.store.state import State
from tests.cli.conftest import MonkeyPatch, Run
from tests.llm_server import Behaviour, LlmServer, says

PROMPT = "Does the SPA use OAuth2 with PKCE or the implicit flow?"
TYPE, OTHER_TYPE = "location", "comparison"  # answers of the two servers; the words give another type
MINE = "sk-mine"  # a key
LATE_MS = 150.0  # for a timeout of 10 ms

Seen = dict[str, object]


class Case(NamedTuple):
    """A setting, a value, and the result (`shows`) that differs from the pinned value's."""

    key: str
    value: str
    shows: str
    beside: tuple[tuple[str, str], ...] = ()


PINNED = {  # where every case starts from, so that a default that moves breaks none; the test fills in ADDRESS, OTHER and KEY
    "search_intent.enabled": "true",
    "search_intent.use_llm": "true",
    "search_intent.llm_timeout_ms": "10000",
    "search_intent.min_confidence": "0.2",
    "search_intent.llm_skip_confidence": "1.0",
    "llm.provider": '"openai"',
    "llm.model": '"a-model"',
    "llm.base_url": '"ADDRESS"',
    "llm.key_file": '""',
}
CASES = (
    Case("search_intent.enabled", "false", "hook"),
    Case("search_intent.use_llm", "false", "llm_status"),
    Case("search_intent.use_llm", "false", "hook"),
    Case("search_intent.llm_timeout_ms", "10", "llm_status"),
    Case("search_intent.llm_timeout_ms", "10", "hook"),
    Case("search_intent.min_confidence", "0.99", "hook"),
    Case("search_intent.min_confidence", "0.99", "type"),  # the LLM is not as sure as that: the words say the type
    Case("search_intent.llm_skip_confidence", "0.0", "llm_status"),
    Case("search_intent.llm_skip_confidence", "0.0", "hook"),
    Case("llm.provider", '"none"', "llm_status"),
    Case("llm.provider", '"none"', "hook"),
    Case("llm.provider", '"anthropic"', "asked"),
    Case("llm.model", '"another-model"', "asked"),
    Case("llm.base_url", '"OTHER"', "type"),
    Case("llm.base_url", '"OTHER"', "hook"),
    Case("llm.key_file", '"KEY"', "asked"),
)


@pytest.fixture
def servers(monkeypatch: MonkeyPatch) -> Iterator[tuple[LlmServer, LlmServer]]:
    """Start two LLMs that answer differently."""
    for name in (*sources.VARIABLES, "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with LlmServer(answer()) as first, LlmServer(says(OTHER_TYPE, 0.7, ["PKCE", "implicit flow"])) as other:
        yield first, other


def answer(delay_ms: float = 0.0) -> Behaviour:
    """Return the behaviour of the first LLM."""
    return says(TYPE, 0.9, ["PKCE"], delay_ms=delay_ms)


def observe(subcog: Run, home: Home, servers: tuple[LlmServer, LlmServer], values: dict[str, str]) -> Seen:
    """Return the results with these settings: of the command, of the hook, and the questions to the LLM."""
    first, other = servers
    key = Path(home.root) / "key"
    key.write_text(MINE)
    key.chmod(0o600)
    text = "".join(f"{name} = {value}\n" for name, value in values.items())
    text = text.replace("ADDRESS", first.url_v1).replace("OTHER", other.url_v1).replace("KEY", str(key))
    Path(home.config).write_text(text)
    Path(home.state_db).unlink(missing_ok=True)
    State.open(home, 1_000).close()
    first.requests.clear()
    record = subcog("why", PROMPT, "--json").json
    asked = [(request.path, request.json["model"], request.headers.get("authorization")) for request in first.requests]
    Path(home.state_db).unlink()  # so that the hook asks as well
    written: list[bytes] = []
    payload: dict[str, object] = {"prompt": PROMPT, "session_id": "", "cwd": str(home.root)}
    prompt.respond(payload, home, written.append, Deadline(20_000))
    return {"type": record["intent_type"], "llm_status": record["llm_status"], "asked": asked, "hook": b"".join(written)}


@pytest.fixture
def stored_memory(subcog: Run) -> None:
    subcog("remember", "OAuth2 in the SPA uses PKCE; the implicit flow was dropped after the audit.", "-s", "decisions")


@pytest.mark.usefixtures("stored_memory")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.key}={case.value}-{case.shows}")
def test_a_setting_changes_what_comes_out(subcog: Run, home: Home, servers: tuple[LlmServer, LlmServer], case: Case) -> None:
    values = PINNED | dict(case.beside)
    if case.key == "search_intent.llm_timeout_ms":
        servers[0].play(answer(LATE_MS))
    before = observe(subcog, home, servers, values)
    assert (before["llm_status"], before["type"]) == ("success", TYPE)
    assert b"PKCE" in before["hook"]  # type: ignore[operator]  # bytes
    after = observe(subcog, home, servers, values | {case.key: case.value})
    assert after[case.shows] != before[case.shows]


# Settings of background jobs are tested in tests/e2e/test_enrich.py and tests/cli/test_learn_by_model.py.
AT_REST = {"llm.at_rest", "llm.client", "llm.calls_a_day", "llm.enrich", "llm.learn", "llm.agent_words"}


def test_every_setting_is_in_the_table() -> None:
    names = {name for name in KEYS if name.partition(".")[0] in ("search_intent", "llm")}
    assert names - AT_REST == {case.key for case in CASES} == PINNED.keys()


VARIABLES = (
    ("SUBCOG_SEARCH_INTENT_ENABLED", "off", "hook"),
    ("SUBCOG_SEARCH_INTENT_USE_LLM", "no", "llm_status"),
    ("SUBCOG_SEARCH_INTENT_LLM_TIMEOUT_MS", "10", "llm_status"),
    ("SUBCOG_SEARCH_INTENT_MIN_CONFIDENCE", "0.99", "hook"),
    ("SUBCOG_SEARCH_INTENT_LLM_SKIP_CONFIDENCE", "0.05", "llm_status"),
)
OF_INTENT = [variable for variable in sources.VARIABLES if variable.startswith("SUBCOG_SEARCH_INTENT_")]


@pytest.mark.usefixtures("stored_memory")
@pytest.mark.parametrize(("variable", "value", "shows"), VARIABLES)
def test_a_variable_changes_what_comes_out(
    subcog: Run,
    home: Home,
    servers: tuple[LlmServer, LlmServer],
    monkeypatch: MonkeyPatch,
    variable: str,
    value: str,
    shows: str,
) -> None:
    if variable == "SUBCOG_SEARCH_INTENT_LLM_TIMEOUT_MS":
        servers[0].play(answer(LATE_MS))
    before = observe(subcog, home, servers, PINNED)
    monkeypatch.setenv(variable, value)
    assert observe(subcog, home, servers, PINNED)[shows] != before[shows]


def test_every_variable_is_in_the_table() -> None:
    assert {variable for variable, _, _ in VARIABLES} == {*OF_INTENT}
