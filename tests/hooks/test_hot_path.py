"""What the hook's process loads, from a payload to an injected memory: milliseconds are spent on imports first of all."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from subcog_hooks.memory.store import Store
from subcog_hooks.paths import Home
from tests.conftest import Maker
from tests.hooks.conftest import follow

RUN = """
import os, sys
bare = set(sys.modules)
def leave(code):
    os.write(stderr, repr(sorted(set(sys.modules) - bare)).encode())
    real(code)
real, os._exit, stderr = os._exit, leave, os.dup(2)
sys.argv = ["subcog", "hook"]
from subcog_hooks.__main__ import main
main()
"""

# the interpreter's own, each with the library that asks for it
STANDARD = {
    *("_json", "math", "_datetime", "datetime"),  # wire; recall; tantivy (datetime is _datetime on 3.11)
    *("collections", "collections.abc", "_collections", "_operator", "operator", "itertools", "keyword", "reprlib"),  # apsw
    *("gc", "_thread", "_weakref", "_struct", "atexit", "types"),
}
OWN = {
    *("__main__", "capture", "capture.leaks", "config", "database", "deadline", "errors", "keys", "paths", "state", "wire"),
    *("embed", "embed.layout", "embed.static", "embed.wordpiece"),
    *("hooks", "hooks.prompt", "hooks.render", "hooks.runner", "hooks.sanitise"),
    *("intent", "intent.keywords"),
    *("memory", "memory.analysis", "memory.index", "memory.irregular", "memory.model", "memory.project"),
    *("memory.schema", "memory.store", "memory.vector_file", "memory.vectors"),
    *("recall", "recall.candidates", "recall.channel", "recall.diversity", "recall.fusion", "recall.hits"),
    *("recall.labels", "recall.lexical", "recall.pipeline", "recall.prior", "recall.query", "recall.ranking", "recall.recency"),
    *("recall.relevance", "recall.semantic", "recall.tuning", "recall.words"),
}


@pytest.fixture
def remembered(home: Home, store: Store, make: Maker) -> None:
    store.add([make("OAuth2 in the SPA uses PKCE; the implicit flow was dropped after the audit.")])
    follow(home, store)


def loaded(payload: dict[str, str]) -> tuple[set[str], bytes]:
    """The modules that a hook run loads beyond a bare interpreter's, and what it prints."""
    root = str(Path(__file__).parent.parent.parent)
    code = f"import sys; sys.path.insert(0, {root!r})\n{RUN}"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], input=json.dumps(payload).encode(), capture_output=True, check=True
    )
    return set(ast.literal_eval(done.stderr.decode())), done.stdout


def payload(prompt: str) -> dict[str, str]:
    return {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/", "prompt": prompt}


@pytest.mark.usefixtures("remembered")
def test_a_prompt_that_injects_loads_only_what_it_needs() -> None:
    modules, out = loaded(payload("Does the SPA use OAuth2 with PKCE or the implicit flow?"))
    assert b"PKCE" in out
    own = {name.removeprefix("subcog_hooks.") for name in modules if name.startswith("subcog_hooks")} - {"subcog_hooks"}
    assert own == OWN
    rest = {name for name in modules if not name.startswith("subcog_hooks")}
    assert {name for name in rest if name.split(".")[0] not in ("apsw", "tantivy")} <= STANDARD


@pytest.mark.usefixtures("remembered")
def test_other_events_load_neither_sqlite_nor_tantivy() -> None:
    modules, out = loaded({"hook_event_name": "Stop", "session_id": "s"})
    assert out == b""
    assert not {"apsw", "tantivy"} & modules
