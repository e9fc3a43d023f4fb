"""Helpers for tests of verdicts: prompts to a store about a lighthouse, and their records."""

import json
from collections.abc import Callable
from pathlib import Path

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import prompt
from subcog_hooks.store import past_runs
from subcog_hooks.store.state import State
from subcog_hooks.store.verdicts import RecordedVerdict
from tests.llm_server import LlmServer

Decide = Callable[..., RecordedVerdict]
Call = Callable[..., list[str]]
PROJECT = "git.example.com/acme/shop"
QUESTION = "How does the lighthouse lamp relay work with the tide sensor?"
ORDER = "rename the helper of the cargo manifest"
SECRET = "ghp_0aB1cD2eF30aB1cD2eF30aB1cD2eF30aB1cD2"

ODD_INPUTS: list[object] = [  # of tools
    *({"command": ["ls"]}, {"edits": {"new_string": "x"}}, {"file_path": "~"}, {"file_path": "//"}),
    *(None, True, 17, "text", [], {}, {"file_path": None}, {"file_path": 7}, {"file_path": []}, {"file_path": ""}),
    *({"file_path": "\0"}, {"file_path": "src/../../../../etc/passwd"}, {"file_path": "x" * 100_000}, {"file_path": "\ud800"}),
    *({"file_path": "a/" * 50_000}, {"command": {"a": 1}}, {"command": "\0; '"}, {"command": "$(" * 50_000}),
    *({"edits": "x"}, {"edits": [1, None, {"new_string": 3}]}, {"pattern": "((((" * 10_000}, {"pattern": ["a"]}),
]


def repository(folder: Path, remote: str = "") -> Path:
    """Return a folder that is a repository, with a remote if it has one."""
    (folder / ".git").mkdir(parents=True)
    if remote:
        (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = https://{remote}.git\n')
    return folder


def past_verdicts(home: Home) -> list[RecordedVerdict]:
    """Return the stored verdicts, the newest first."""
    state = State.open(home, 1_000)
    newest = past_runs.find_latest(state, 100)
    state.close()
    return newest


def outcomes(verdict: RecordedVerdict) -> dict[str, str]:
    return {candidate.id: candidate.outcome for candidate in verdict.candidates}


def configure(home: Home, text: str) -> None:
    Path(home.config).write_text(text)


def configure_llm(home: Home, server: LlmServer, *lines: str, timeout_ms: int = 4_000) -> None:
    """Write settings that ask this server about every prompt. lines: further settings."""
    llm = ("[llm]", 'provider = "openai"', 'model = "m"', f'base_url = "{server.url_v1}"')
    always = ("[search_intent]", "llm_skip_confidence = 1.0", f"llm_timeout_ms = {timeout_ms}")
    configure(home, "".join(f"{line}\n" for line in (*llm, *always, *lines)))


def log_of(home: Home) -> str:
    file = Path(home.log, "hook.log")
    return file.read_text(encoding="utf-8") if file.exists() else ""


def respond(
    home: Home, text: object = QUESTION, session: str = "s", *, deadline: Deadline | None = None, **more: object
) -> list[bytes]:
    """Return what the hook prints for a prompt."""
    printed: list[bytes] = []
    payload: dict[str, object] = {"prompt": text, "session_id": session, "cwd": "/", "hook_event_name": "UserPromptSubmit"}
    prompt.respond({**payload, **more}, home, printed.append, deadline or Deadline(5_000))
    return printed


def printed_ids(outputs: list[bytes]) -> list[str]:
    """Return the ids of the printed memories and lines, in order. A hook prints once or not at all."""
    assert len(outputs) <= 1
    if not outputs:
        return []
    context = json.loads(outputs[0])["hookSpecificOutput"]["additionalContext"]
    heads = [line[1:].split("]")[0].split() for line in context.splitlines()[1:-1]]
    return [head[1] if head[0] == "maybe" else head[2].rstrip(",") for head in heads]
