"""The modules and threads of the hook's process: imports cost the most milliseconds."""

import ast
import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.episodes.episode_store import EpisodeStore
from subcog_hooks.intent import classifier
from subcog_hooks.intent.keywords import Intent
from subcog_hooks.llm import ask, providers
from subcog_hooks.settings import loading
from subcog_hooks.store import home_files
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from tests.conftest import Maker
from tests.hook.conftest import follow
from tests.llm_server import LlmServer, says

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.usefixtures("usual_settings")  # reading a variable of ours costs a module
HOUR_MS = 3_600_000
ATTEMPTS = 10  # of a hook that a busy machine has cut off

RUN = """
import _thread, os, sys
bare = set(sys.modules)
threads = []
main_thread = _thread.get_ident()
def leave(code):
    os.write(stderr, repr((sorted(set(sys.modules) - bare), len(threads), _thread.get_ident() == main_thread)).encode())
    real(code)
def begin(run, *given):
    threads.append(run)
    return start(run, *given)
real, os._exit, stderr = os._exit, leave, os.dup(2)
start, _thread.start_new_thread = _thread.start_new_thread, begin
sys.argv = ["subcog", "hook"]
from subcog_hooks.__main__ import main
main()
"""

# The interpreter's own. apsw and tantivy would bring `collections`, `datetime` and `types` and more.
STANDARD = {"__future__", "_json", "math", "itertools", "_datetime", "gc", "_thread"}
# Own modules that a process loads, and their lines: most of its cost.
BUDGETS = {
    "speaking prompt": (62, 11_700),
    "silent prompt": (42, 6_900),
    "tool call": (35, 5_300),
    "bookkeeping": (17, 2_000),
    "session start": (32, 4_900),
    "brief": (45, 7_900),
}
OF_RECALL = {"recall.candidates", "recall.pipeline", "recall.relevance", "recall.words", "recall.vectors", "store.index"}
OF_LLM_CALLS = {"llm.ask", "llm.http_post", "llm.providers", "llm.question", "intent.classifier"}
OF_SECOND_LOOKS = {"hook.second_look", "hook.detached", "store.past_runs"}
OF_PAST_SESSIONS = {"hook.past_sessions", "episodes.episode_store"}
OF_CUES = {"cues.conditions", "cues.triggers", "cues.globs"}
SOCKETS = {"socket", "_socket", "ssl", "_ssl", "select", "selectors", "http", "http.client", "urllib", "urllib.parse"}
SEARCH = {"tantivy", "re2"}

QUESTION = "Does the SPA use OAuth2 with PKCE or the implicit flow?"
ORDER = "commit the change"
FOR_NAMED_HOMES = {"core.repository_variables"}  # SUBCOG_HOME is set here; few users set it
WATCHDOG = 1  # threads
MEANING = 1  # the thread that searches vectors beside words


@pytest.fixture
def oauth_memory(home: Home, store: Store, make: Maker) -> None:
    store.add([make("OAuth2 in the SPA uses PKCE; the implicit flow was dropped after the audit.")])
    follow(home, store)


class Run(NamedTuple):
    """A hook's process. modules: beyond a bare interpreter's; own: the package's own, without its name."""

    modules: set[str]
    own: set[str]
    threads: int
    out: bytes


def run(event: dict[str, object]) -> Run:
    """Run one hook on one payload, again when the watchdog has ended it."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{RUN}"
    for _ in range(ATTEMPTS):
        command = [sys.executable, "-I", "-c", code]
        done = subprocess.run(command, input=json.dumps(event).encode(), capture_output=True, check=True)
        modules, threads, is_whole = ast.literal_eval(done.stderr.decode())
        if is_whole:
            break
    assert is_whole
    own = {name.removeprefix("subcog_hooks.") for name in modules if name.startswith("subcog_hooks.")}
    return Run(set(modules), own - FOR_NAMED_HOMES, threads, done.stdout)


def speaking() -> Run:
    """Run a hook that hands the memory over."""
    done = run(payload(QUESTION, uuid.uuid4().hex))  # a session of its own
    assert b"PKCE" in done.out
    return done


def payload(prompt: str, session: str = "s") -> dict[str, object]:
    return {"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": "/", "prompt": prompt}


def edit(file: str, text: str, session: str = "s") -> dict[str, object]:
    """Return the payload of a tool call."""
    given = {"file_path": file, "old_string": "a", "new_string": text}
    return {"hook_event_name": "PreToolUse", "session_id": session, "cwd": "/", "tool_name": "Edit", "tool_input": given}


def start(session: str = "s", source: str = "startup") -> dict[str, object]:
    return {"hook_event_name": "SessionStart", "session_id": session, "cwd": "/", "source": source}


def own_lines(modules: set[str]) -> int:
    """Return the number of lines of own modules."""
    files = ((ROOT / "subcog_hooks").joinpath(*name.split(".")) for name in modules)
    sources = (file.with_suffix(".py") if file.with_suffix(".py").exists() else file / "__init__.py" for file in files)
    return sum(source.read_text(encoding="utf-8").count("\n") for source in sources)


def assert_within(budget: str, done: Run) -> None:
    """Assert that a process loaded no more than its budget, and no library but the search's own."""
    max_modules, max_lines = BUDGETS[budget]
    assert len(done.own) <= max_modules
    assert own_lines(done.own) <= max_lines
    libraries = {name for name in done.modules if not name.startswith("subcog_hooks")}
    assert {name for name in libraries if name.split(".")[0] not in ("apsw", "tantivy")} <= STANDARD


def assert_alone(done: Run) -> None:
    """Assert that no language model was asked, and nothing was loaded to ask one."""
    assert done.threads == WATCHDOG + (MEANING if "recall.vectors" in done.own else 0)
    assert not OF_LLM_CALLS & done.own
    assert not SOCKETS & done.modules


@pytest.mark.usefixtures("oauth_memory")
def test_a_speaking_prompt_stays_within_its_budget() -> None:
    done = speaking()
    assert_within("speaking prompt", done)
    assert not (OF_CUES | OF_SECOND_LOOKS | OF_LLM_CALLS) & done.own


@pytest.mark.usefixtures("oauth_memory")
@pytest.mark.parametrize("prompt", ["run the tests again", "ok", "/compact", ""])
def test_a_silent_prompt_loads_nothing_of_recall(prompt: str) -> None:
    done = run(payload(prompt))
    assert done.out == b""
    assert_within("silent prompt", done)
    assert not (OF_RECALL | OF_CUES | OF_SECOND_LOOKS) & done.own
    assert not SEARCH & done.modules


@pytest.mark.usefixtures("oauth_memory")
def test_past_sessions_cost_nothing_unless_the_past_is_asked(home: Home) -> None:
    about_the_past = "How did we decide on PKCE in the SPA?"
    assert not OF_PAST_SESSIONS & run(payload(about_the_past, "none kept")).own
    EpisodeStore.writer(home).close()
    assert not OF_PAST_SESSIONS & (run(payload(QUESTION, "unasked")).own | run(payload(ORDER)).own)
    assert run(payload(about_the_past, "asked")).own >= OF_PAST_SESSIONS


@pytest.mark.usefixtures("oauth_memory")
@pytest.mark.parametrize("event", ["Stop", "PreCompact", "SessionEnd"])
def test_bookkeeping_loads_the_state_alone(event: str) -> None:
    asked: dict[str, object] = {"hook_event_name": event, "session_id": "s"}
    assert "apsw" not in run(asked).modules
    run(payload("ok"))
    done = run(asked)
    assert done.out == b""
    assert_within("bookkeeping", done)
    assert not {"store.store", "hook.call", "settings.loading"} & done.own


@pytest.mark.usefixtures("oauth_memory")
@pytest.mark.parametrize("source", ["startup", "resume", "compact"])
def test_a_silent_session_start_loads_no_search(home: Home, source: str) -> None:
    Path(home.config).write_text("[surfacing]\nbrief_characters = 0\n", encoding="utf-8")
    run(payload("ok"))
    done = run(start(source=source))
    assert done.out == b""
    assert_within("session start", done)
    assert not SEARCH & done.modules


@pytest.mark.usefixtures("oauth_memory")
def test_a_brief_loads_no_search() -> None:
    done = run(start())
    assert b"PKCE" in done.out
    assert_within("brief", done)
    assert not SEARCH & done.modules


@pytest.mark.usefixtures("oauth_memory")
def test_a_start_with_no_job_due_starts_no_process(home: Home) -> None:
    run(start())
    home_files.write_record(home, home_files.JobRecord({}, now_ms() + HOUR_MS, 0))
    assert "hook.detached" not in run(start("t")).own


@pytest.mark.usefixtures("oauth_memory")
def test_an_unknown_file_that_is_read_loads_no_search() -> None:
    done = run({**edit("/srv/a.py", ""), "tool_name": "Read"})
    assert done.out == b""
    assert_within("tool call", done)
    assert not SEARCH & done.modules


def test_only_the_words_of_a_trigger_load_re2(home: Home, store: Store, make: Maker) -> None:
    Path(home.config).write_text("[surfacing]\nmaybe_relevance = 0\n")  # With lines, an edit is searched.
    store.add([make("Freeze first.", triggers=("deploy(ing)? to prod",), when={"permission_mode": {"not": "plan"}})])
    for asked in (edit("/srv/a.py", "x"), payload("ok")):
        done = run(asked)
        assert done.out == b""
        assert not SEARCH & done.modules
    done = run(edit("/srv/a.py", "deploy it, to production, prod"))
    assert (done.out, SEARCH & done.modules) == (b"", {"re2"})
    done = run({**edit("/srv/a.py", "deploying to prod", "another"), "permission_mode": "default"})
    assert b"Freeze" in done.out
    assert "tantivy" not in done.modules


@pytest.fixture
def server(home: Home, oauth_memory: None) -> Iterator[LlmServer]:
    """Yield an LLM that the hook is set up to ask."""
    with LlmServer(says("comparison", 0.9, ["PKCE"])) as started:
        configure(home, started)
        yield started


def configure(home: Home, server: LlmServer, **search_intent: str) -> None:
    """Write the settings, and let a hook compile them."""
    lines = ["[llm]", 'provider = "openai"', 'model = "m"', f'base_url = "{server.url_v1}"', "[search_intent]"]
    lines += [f"{name} = {value}" for name, value in search_intent.items()]
    Path(home.config).write_text("\n".join(lines) + "\n", encoding="utf-8")
    run(payload("ok"))
    server.requests.clear()


@pytest.mark.usefixtures("oauth_memory")
def test_without_a_provider_nobody_is_asked() -> None:
    assert_alone(speaking())
    assert_alone(run(payload(ORDER)))


def test_a_provider_that_is_not_needed_costs_nothing(home: Home, server: LlmServer) -> None:
    done = speaking()  # whose words are sure
    assert_alone(done)
    assert_within("speaking prompt", done)
    assert_alone(run(payload("<task-notification>Does the SPA use PKCE?")))
    configure(home, server, use_llm="false")
    for done in (run(payload(QUESTION, "unwanted")), run(payload(ORDER))):
        assert_alone(done)
    assert server.requests == []


def test_a_call_is_one_thread_more(home: Home, server: LlmServer) -> None:
    configure(home, server, llm_skip_confidence="1.0")
    state = State.open(home, 1_000)
    for _ in range(4 * ATTEMPTS):  # a busy machine leaves no time for an LLM
        state.run("DELETE FROM llm_failures")
        done = speaking()
        if done.threads > WATCHDOG + MEANING and "_socket" in done.modules:
            break
    assert done.threads == WATCHDOG + MEANING + 1
    assert done.own >= OF_LLM_CALLS
    assert "_socket" in done.modules
    assert "http.client" not in done.modules
    assert not {"threading", "tomllib"} & done.modules


def test_a_cached_answer_needs_neither_thread_nor_socket(home: Home, server: LlmServer) -> None:
    configure(home, server, llm_skip_confidence="1.0")
    provider = providers.provider_of(loading.load(home), home)
    assert provider is not None
    state = State.open(home, 1_000)
    answer = classifier.answer_to_text(Intent("comparison", 0.9))
    ask.cache_answer(state, ask.answer_key(provider, classifier.build_question(QUESTION)), answer, now_ms(), HOUR_MS)
    state.close()
    done = speaking()
    assert b'intent=\\"comparison' in done.out
    assert done.threads == WATCHDOG + MEANING
    assert "_socket" not in done.modules
    assert server.requests == []


@pytest.mark.usefixtures("oauth_memory")
def test_an_answer_or_an_order_starts_no_second_look() -> None:
    for done in (speaking(), run(payload(ORDER)), run(payload("ok")), run(edit("/srv/a.py", "x"))):
        assert not OF_SECOND_LOOKS & done.own


@pytest.mark.usefixtures("oauth_memory")
def test_the_hook_that_starts_a_second_look_loads_no_model(home: Home) -> None:
    Path(home.config).write_text('[llm]\nat_rest = "claude"\n[surfacing]\nmin_relevance = 1.0\n', encoding="utf-8")
    run(payload("ok"))  # which compiles the settings
    done = run(payload(QUESTION))
    assert "store.past_runs" in done.own
    assert not ({"subprocess"} | SOCKETS) & done.modules
    assert not OF_LLM_CALLS & done.own
