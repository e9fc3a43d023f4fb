"""Two hooks of one session at once: each memory is handed over by one of them."""

import json
import subprocess
import sys
from pathlib import Path

from subcog_hooks.core.paths import Home
from subcog_hooks.store import sessions
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from tests.conftest import Maker
from tests.hook.recorded import QUESTION, configure, past_verdicts

ROOT = Path(__file__).parents[2]


HOOK = f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.argv = ['subcog', 'hook']\n"
HOOK += "from subcog_hooks.__main__ import main; main()"
ROUNDS = 10  # a busy machine may end some processes without an answer


def both(payload: dict[str, object]) -> list[bytes]:
    """Return the outputs of two hooks that answer one payload at once."""
    command = [sys.executable, "-I", "-c", HOOK]
    started = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
    for process in started:
        assert process.stdin is not None
        process.stdin.write(json.dumps(payload).encode())
        process.stdin.flush()
    return [process.communicate(timeout=60)[0] for process in started]


def test_of_two_calls_of_tools_at_once_one_hands_a_memory_over(home: Home, store: Store, make: Maker) -> None:
    store.add([make(f"Rule {word} of the pool.", id=word, paths=("*.py",)) for word in ("anchor", "buoy", "crane", "dock")])
    given = {"file_path": "/srv/pool.py", "old_string": "a", "new_string": "b"}
    payload: dict[str, object] = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/", "tool_name": "Edit"}
    printed: list[bytes] = []
    for _ in range(ROUNDS):
        printed += both({**payload, "tool_input": given})
        if b"anchor" in b"".join(printed):
            break
    text = b"".join(printed)
    assert [text.count(f" {id_}] ".encode()) for id_ in ("anchor", "buoy", "crane", "dock")] == [1, 1, 1, 1]


def test_of_two_processes_at_once_each_memory_comes_from_one(home: Home, lighthouse: None) -> None:
    configure(home, "[surfacing]\nmax_memories = 2\nmin_relevance = 0.1\n")
    payload: dict[str, object] = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/", "prompt": QUESTION}
    printed: list[bytes] = []
    for _ in range(ROUNDS):
        printed += both(payload)
        if sum(output.count(b"[learnings ") for output in printed) == 3:
            break
    text = b"".join(printed)
    given = sessions.find_given(State.open(home, 1_000), "s")
    assert sorted(text.count(f" {id_}, relevance".encode()) for id_ in given) == [1, 1, 1]
    injected = [id_ for verdict in past_verdicts(home) for id_ in verdict.injected]
    assert sorted(injected) == sorted(given)
