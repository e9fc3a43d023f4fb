"""What the hook's process loads and starts, from a payload to an injected memory: imports cost the most milliseconds."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from subcog_hooks.intent import classifier
from subcog_hooks.intent.detection import HOUR_MS
from subcog_hooks.llm import answer_cache, providers
from subcog_hooks.memory.model import now_ms
from subcog_hooks.memory.store import Store
from subcog_hooks.paths import Home
from subcog_hooks.settings import loading
from subcog_hooks.state import rest_record
from subcog_hooks.state.connection import State
from tests.conftest import Maker
from tests.hooks.conftest import follow
from tests.llm_server import LlmServer, says

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.usefixtures("usual_settings")  # reading a variable of ours costs a module
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

# the interpreter's own, each with the library that asks for it
STANDARD = {
    *("__future__", "_json", "math", "_bisect", "_datetime", "datetime"),  # wire, recall, a brief, tantivy
    *("collections", "collections.abc", "itertools", "_collections", "keyword", "operator", "_operator", "reprlib"),  # apsw
    *("gc", "_thread", "_weakref", "_struct", "atexit", "types"),
}
OF_SETTINGS = {"settings.defaults", "settings.file_settings", "settings.loading"}
OF_ANY = {  # event that looks into the store
    *("__main__", "database", "deadline", "errors", "homes", "paths", "regular_files", "wire"),
    *("settings", *OF_SETTINGS),
    *("state", "state.compiled_settings", "state.connection", "state.decision", "state.ledger"),
    *("hooks", "hooks.occasion", "hooks.payload", "hooks.runner"),
    *("memory", "memory.cue_tables", "memory.model", "memory.project", "memory.schema", "memory.store"),
}
RECORDED = {"hooks.record", "hooks.turn", "state.decision_log", "state.kept_texts", "state.metrics", "state.sessions"}
SILENT = (
    OF_ANY
    | RECORDED
    | {  # a prompt that asks for nothing
        *(
            "redaction",
            "redaction.leaks",
            "redaction.prefixes",
            "redaction.randomness",
            "llm",
            "llm.disclosure",
        ),  # for the record of the decision
        *("hooks.user_prompt_submit", "hooks.verdict", "state.pause"),
        *("intent", "intent.detection", "intent.keywords", "intent.kinds", "intent.matcher", "intent.shape"),
        *("tables", "intent.topics", "text", "text.pasted", "text.failures", "text.typed", "text.vocabulary"),
    }
)
OF_TOOLS = OF_ANY | {
    *("cues", "cues.globs", "cues.tools", "tables", "text", "text.actions", "text.familiar", "text.mentions"),
    *("hooks.pre_tool_use", "hooks.tool_globs", "hooks.touched", "recall", "recall.eligibility", "recall.hits", "state.pause"),
}
OF_STARTS = OF_ANY | {
    "hooks.session_start",
    *("hooks.detached", "child_environment", "project_variables", "accepted_homes"),  # work at rest is due
    "recall",
    "recall.eligibility",
    "recall.hits",
    "state.kept_texts",
    "state.pause",
    "state.sessions",
    "state.reminder",
    "state.rest_record",
    "state.sought",
}
HANDED_OVER = (RECORDED - {"hooks.turn"}) | {  # by these two
    *(
        "redaction",
        "redaction.leaks",
        "redaction.prefixes",
        "tables",
        "hooks.block",
        "hooks.delivery",
        "hooks.exact_offer",
        "hooks.gate",
        "hooks.sanitise",
    ),
    *("hooks.verdict", "recall.exact", "recall.logit"),
}
OWN = SILENT | {
    *("embed", "embed.layout", "embed.static", "embed.wordpiece"),
    *("hooks.block", "hooks.delivery", "hooks.gate", "hooks.sanitise", "hooks.surfacing", "recall", "recall.eligibility"),
    *("memory.index", "memory.vector_file", "text.analysis", "text.languages"),
    *("memory.vectors", "recall.candidates", "recall.channel", "recall.diversity", "recall.fusion", "recall.hits"),
    *(
        "recall.labels",
        "recall.lexical",
        "recall.logit",
        "recall.notes",
        "recall.pipeline",
        "recall.prior",
        "recall.query",
        "recall.ranking",
        "recall.recency",
    ),
    *("recall.relevance", "recall.semantic", "recall.tuning"),
    "recall.identifiers",  # QUESTION names one
    "state.sought",
}

OF_FEW_WORDS = {"intent.follow_up"}
OF_CUES = {"cues", "cues.conditions", "cues.triggers", "cues.wildcards"}  # where the store has triggers and conditions

# what only a call of an LLM needs
OF_A_CALL = {"llm.address", "llm.breaker", "llm.call", "llm.http_post", "llm.providers", "llm.question"}
OF_ASKING = {"intent.classifier", "intent.merge", "llm.answer_cache", "recall.rarity"}
SOCKETS = {
    "socket",
    "_socket",
    "ssl",
    "_ssl",
    "select",
    "selectors",
    "http",
    "http.client",
    "urllib",
    "urllib.parse",
    "hashlib",
}

QUESTION = "Does the SPA use OAuth2 with PKCE or the implicit flow?"
ORDER = "commit the change"
WATCHDOG = 1  # threads
MEANING = 1  # searched beside words


@pytest.fixture
def remembered(home: Home, store: Store, make: Maker) -> None:
    store.add([make("OAuth2 in the SPA uses PKCE; the implicit flow was dropped after the audit.")])
    follow(home, store)


class Run(NamedTuple):
    """A hook's process. modules: beyond a bare interpreter's; own: ours among them, without the package's name."""

    modules: set[str]
    own: set[str]
    threads: int
    out: bytes


def run(event: dict[str, object]) -> Run:
    """One hook on one payload, asked again when the watchdog has ended it."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{RUN}"
    for _ in range(ATTEMPTS):
        command = [sys.executable, "-I", "-c", code]
        done = subprocess.run(command, input=json.dumps(event).encode(), capture_output=True, check=True)
        modules, threads, is_whole = ast.literal_eval(done.stderr.decode())
        if is_whole:
            break
    assert is_whole
    own = {name.removeprefix("subcog_hooks.") for name in modules if name.startswith("subcog_hooks.")}
    return Run(set(modules), own, threads, done.stdout)


def speaking() -> Run:
    """A hook that hands the memory over."""
    for attempt in range(ATTEMPTS):
        done = run(payload(QUESTION, f"s{attempt}"))
        if done.out:
            break
    assert b"PKCE" in done.out
    return done


def payload(prompt: str, session: str = "s") -> dict[str, object]:
    return {"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": "/", "prompt": prompt}


def edit(file: str, text: str, session: str = "s") -> dict[str, object]:
    """A call of a tool."""
    given = {"file_path": file, "old_string": "a", "new_string": text}
    return {"hook_event_name": "PreToolUse", "session_id": session, "cwd": "/", "tool_name": "Edit", "tool_input": given}


def assert_lean(modules: set[str]) -> None:
    """Of other modules nothing but the libraries and what they ask for."""
    rest = {name for name in modules if not name.startswith("subcog_hooks")}
    assert {name for name in rest if name.split(".")[0] not in ("apsw", "tantivy")} <= STANDARD


def assert_alone(done: Run) -> None:
    """Nobody was asked, and nothing for it was loaded."""
    assert done.threads == WATCHDOG + (MEANING if "recall.semantic" in done.own else 0)
    assert not (OF_A_CALL | OF_ASKING) & done.own
    assert not SOCKETS & done.modules


@pytest.mark.usefixtures("remembered")
def test_a_prompt_that_injects_loads_only_what_it_needs() -> None:
    done = speaking()
    assert done.own == OWN
    assert_lean(done.modules)


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize(
    ("prompt", "more"),
    [("run the tests again", OF_FEW_WORDS), ("ok", OF_FEW_WORDS), ("/compact", set()), ("", set())],
)
def test_a_silent_prompt_loads_nothing_of_recall(prompt: str, more: set[str]) -> None:
    done = run(payload(prompt))
    assert done.out == b""
    assert done.own == SILENT | more
    assert_lean(done.modules)
    assert not {"tantivy", "re2"} & done.modules


@pytest.mark.usefixtures("remembered")
def test_settings_of_files_are_compiled_and_load_no_keys(home: Home, tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    Path(tmp_path, "shop", ".subcog.toml").write_text("surfacing.max_memories = 2\n", encoding="utf-8")
    Path(home.config).write_text("surfacing.max_memories = 3\n", encoding="utf-8")
    asked = {**payload("ok"), "cwd": str(tmp_path / "shop")}
    assert run(asked).own >= {"settings.keys", "settings.files"}
    done = run(asked)
    assert {name for name in done.own if name.startswith("settings.")} == OF_SETTINGS | {"settings.tightening"}
    assert "tomllib" not in done.modules


@pytest.mark.usefixtures("remembered")
def test_a_variable_is_checked_by_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUBCOG_SURFACING_MAX_MEMORIES", "2")
    assert run(payload("ok")).own >= {"settings.keys", "settings.variables"}


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("event", ["Stop", "PreCompact", "SessionEnd"])
def test_bookkeeping_loads_the_state_alone_and_nothing_where_there_is_none(event: str) -> None:
    asked: dict[str, object] = {"hook_event_name": event, "session_id": "s"}
    done = run(asked)
    assert "apsw" not in done.modules
    run(payload("ok"))
    done = run(asked)
    assert done.out == b""
    assert done.own == {
        *("__main__", "database", "deadline", "errors", "homes", "paths", "wire"),
        *("state", "state.connection", "state.kept_texts", "state.sessions"),
        *("hooks", "hooks.bookkeeping", "hooks.payload", "hooks.runner", "memory", "memory.model"),
        *(["state.ledger"] if event == "SessionEnd" else []),  # whether something is left to be handed over
    }
    assert_lean(done.modules)


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("source", ["startup", "resume", "compact"])
def test_a_session_that_begins_with_nothing_loads_neither_re2_nor_tantivy(home: Home, source: str) -> None:
    Path(home.config).write_text("[surfacing]\nbrief_characters = 0\n", encoding="utf-8")
    run(payload("ok"))
    done = run({"hook_event_name": "SessionStart", "session_id": "s", "cwd": "/", "source": source})
    assert done.out == b""
    assert done.own == OF_STARTS
    assert_lean(done.modules)
    assert not {"tantivy", "re2"} & done.modules


@pytest.mark.usefixtures("remembered")
def test_a_brief_loads_neither_re2_nor_tantivy() -> None:
    done = run({"hook_event_name": "SessionStart", "session_id": "s", "cwd": "/", "source": "startup"})
    assert b"PKCE" in done.out
    assert done.own == OF_STARTS | HANDED_OVER | {"hooks.brief", "memory.outlines"}
    assert_lean(done.modules)
    assert not {"tantivy", "re2"} & done.modules


@pytest.mark.usefixtures("remembered")
def test_a_session_that_begins_while_nothing_is_due_at_rest_looks_into_a_file_alone(home: Home) -> None:
    asked: dict[str, object] = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": "/", "source": "startup"}
    run(asked)
    rest_record.write(home, rest_record.RestRecord({}, now_ms() + HOUR_MS, 0))
    assert "hooks.detached" not in run({**asked, "session_id": "t"}).own


@pytest.mark.usefixtures("remembered")
def test_a_tool_that_nothing_is_remembered_of_loads_neither_re2_nor_tantivy() -> None:
    done = run(edit("/srv/a.py", "x"))
    assert done.out == b""
    assert done.own == OF_TOOLS
    assert_lean(done.modules)
    assert not {"tantivy", "re2"} & done.modules


def test_re2_is_loaded_where_the_words_of_a_trigger_stand_and_nowhere_else(store: Store, make: Maker) -> None:
    store.add([make("Freeze first.", triggers=("deploy(ing)? to prod",), when={"permission_mode": {"not": "plan"}})])
    for asked, more in ((edit("/srv/a.py", "x"), OF_TOOLS), (payload("ok"), SILENT | OF_FEW_WORDS)):
        done = run(asked)
        assert done.out == b""
        of_facts = {"hooks.facts", "state.flags", "state.kept_texts", "state.sessions"}
        assert done.own == more | of_facts | {"recall", "recall.eligibility", "recall.exact", "recall.hits", *OF_CUES}
        assert not {"tantivy", "re2"} & done.modules
    done = run(edit("/srv/a.py", "deploy it, to production, prod"))
    assert (done.out, "re2" in done.modules, "tantivy" in done.modules) == (b"", True, False)
    done = run({**edit("/srv/a.py", "deploying to prod", "another"), "permission_mode": "default"})
    assert b"Freeze" in done.out
    assert done.own == OF_TOOLS | HANDED_OVER | OF_CUES | {"hooks.facts", "state.flags"}
    assert "tantivy" not in done.modules


@pytest.mark.usefixtures("remembered")
def test_without_texts_of_prompts_nothing_looks_for_secrets_in_them(home: Home) -> None:
    Path(home.config).write_text("[surfacing]\nlog_prompts = false\n", encoding="utf-8")
    run(payload("ok"))
    assert not {"capture.disclosure", "capture.leaks"} & run(payload(ORDER)).own


# ---- without a call there is no thread, no socket and no HTTP -------------------------------------------------------------


@pytest.fixture
def server(home: Home, remembered: None) -> Iterator[LlmServer]:
    """An LLM that the hook is set up to ask."""
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


@pytest.mark.usefixtures("remembered")
def test_without_a_provider_nobody_is_asked() -> None:
    assert_alone(speaking())
    assert_alone(run(payload(ORDER)))


def test_a_provider_that_is_not_wanted_costs_nothing(home: Home, server: LlmServer) -> None:
    configure(home, server, use_llm="false")
    for done in (speaking(), run(payload(ORDER))):
        assert_alone(done)
        assert done.own <= OWN | OF_FEW_WORDS
        assert_lean(done.modules)
    assert server.requests == []


def test_where_the_words_are_sure_a_provider_costs_nothing(server: LlmServer) -> None:
    done = speaking()
    assert_alone(done)
    assert done.own == OWN
    assert_lean(done.modules)
    assert server.requests == []


def test_where_nothing_was_typed_a_provider_costs_nothing(server: LlmServer) -> None:
    assert_alone(run(payload("<task-notification>Does the SPA use PKCE?")))
    assert server.requests == []


def test_a_call_is_one_thread_more_and_loads_what_it_needs(home: Home, server: LlmServer) -> None:
    configure(home, server, llm_skip_confidence="1.0")
    state = State.open(home, 1_000)
    for _ in range(4 * ATTEMPTS):  # a busy machine leaves no time for an LLM
        state.run("DELETE FROM llm_failures")
        done = speaking()
        if done.threads > WATCHDOG + MEANING and "socket" in done.modules:
            break
    assert done.threads == WATCHDOG + MEANING + 1
    of_log = {"log", "control_characters"}  # if it came too late
    assert done.own - of_log == OWN | OF_A_CALL | OF_ASKING
    assert {"http.client", "socket"} <= done.modules
    assert not {"threading", "tomllib"} & done.modules


def test_an_answer_that_is_known_needs_neither_thread_nor_socket(home: Home, server: LlmServer) -> None:
    configure(home, server, llm_skip_confidence="1.0")
    provider = providers.provider_of(loading.load(home), home)
    assert provider is not None
    state = State.open(home, 1_000)
    answer = classifier.to_text(classifier.Classification("comparison", 0.9))
    answer_cache.keep(state, answer_cache.key_of(provider, classifier.question(QUESTION)), answer, now_ms(), HOUR_MS)
    state.close()
    done = speaking()
    assert b'intent=\\"comparison' in done.out
    assert done.threads == WATCHDOG + MEANING
    assert not {"http.client", "socket"} & done.modules
    assert "intent.post" not in done.own
    assert server.requests == []


# ---- a second look costs those nothing that have none ----------------------------------------------------------------------

OF_LOOKS = {"hooks.late_answer", "hooks.look_again", "hooks.detached", "hooks.second_look", "state.second_looks"}


@pytest.mark.usefixtures("remembered")
def test_what_is_answered_or_asks_for_nothing_loads_nothing_of_second_looks() -> None:
    for done in (speaking(), run(payload(ORDER)), run(payload("ok")), run(edit("/srv/a.py", "x"))):
        assert not OF_LOOKS & done.own


@pytest.mark.usefixtures("remembered")
def test_the_process_that_looks_again_is_the_only_one_that_loads_a_model(home: Home) -> None:
    Path(home.config).write_text('[second_look]\nmode = "always"\n[surfacing]\nbrief_characters = 0\n', encoding="utf-8")
    run(payload("ok"))  # which compiles the settings
    done = run(payload("Why does the login of the lighthouse use a lamp?"))
    assert done.own >= {"hooks.look_again"}
    assert not {"numpy", "onnxruntime", "tokenizers", "subprocess"} & done.modules
    assert not {"hooks.second_look", "embed.documents", "embed.packaged"} & done.own
