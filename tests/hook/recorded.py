"""Helpers for tests of decisions: prompts to a store about a lighthouse, and their records."""

import json
from collections.abc import Callable
from pathlib import Path

from subcog_hooks.core.paths import Home
from subcog_hooks.store import recorded_decisions
from subcog_hooks.store.decision import Decision
from subcog_hooks.store.state import State

Decide = Callable[..., Decision]
QUESTION = "How does the lighthouse lamp relay work with the tide sensor?"
ORDER = "rename the helper of the cargo manifest"
SECRET = "ghp_0aB1cD2eF30aB1cD2eF30aB1cD2eF30aB1cD2"


def decisions(home: Home) -> list[Decision]:
    """Return the stored decisions, the newest first."""
    state = State.open(home, 1_000)
    newest = recorded_decisions.find_latest(state, 100)
    state.close()
    return newest


def outcomes(decision: Decision) -> dict[str, str]:
    return {candidate.id: candidate.outcome for candidate in decision.candidates}


def configure(home: Home, text: str) -> None:
    Path(home.config).write_text(text)


def printed_ids(outputs: list[bytes]) -> list[str]:
    """Return the ids of the printed memories and lines, in order. A hook prints once or not at all."""
    assert len(outputs) <= 1
    if not outputs:
        return []
    context = json.loads(outputs[0])["hookSpecificOutput"]["additionalContext"]
    heads = [line[1:].split("]")[0].split() for line in context.splitlines()[1:-1]]
    return [head[1] if head[0] == "maybe" else head[2].rstrip(",") for head in heads]
