"""Decisions for the tests of the terminal: what a hook kept, without running one."""

from collections.abc import Iterable
from typing import Any

from subcog_hooks.core.paths import Home
from subcog_hooks.hook.payload import PROMPT_EVENT
from subcog_hooks.store import verdicts
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.verdicts import BELOW, INJECTED, SPOKE, Candidate, PromptIntent, RecordedVerdict, Thresholds
from tests.cli.conftest import Run

PROMPT = "How do we rotate the signing keys?"
BAR = 0.25
# fields of a decision on a tool's call, and on a session's start. Any: each of its own type
TOOL: dict[str, Any] = {"event": "PreToolUse", "reason": "Edit", "prompt": None, "intent": None}
BEGINNING: dict[str, Any] = {"event": "SessionStart", "reason": "startup", "prompt": None, "intent": None}
TERMS = (("intercept", 1.0, -8.65), ("coverage", 0.8, 1.65), ("cosine", 0.61, 3.4))


def candidate(id_: str, relevance: float, outcome: str | None = None, raw: float | None = None) -> Candidate:
    """A candidate that was handed over if it was relevant enough, unless something else is said."""
    came_out = outcome or (INJECTED if relevance >= BAR else BELOW)
    return Candidate(
        id_, "decisions", relevance, relevance if raw is None else raw, came_out, {"exact": 1, "semantic": 2}, {}, TERMS
    )


def decided(id_: str, outcome: str = SPOKE, candidates: Iterable[Candidate] = (), **fields: object) -> RecordedVerdict:
    """A decision about PROMPT, with these fields."""
    values: dict[str, object] = {
        "at_ms": now_ms(),
        "event": PROMPT_EVENT,
        "session": "s",
        "project": "",
        "prompt": PROMPT,
        "micros": 40_000,
        "intent": PromptIntent(
            *("howto", 0.82, 0.82, ("signing keys",)),
            source="keyword",
            llm_status="off",
            row="no LLM was asked",
            signals=[("how_do_we", "howto", 1.2), ("we", "general", -0.3)],
            cues=("a question",),
        ),
        "settings": Thresholds(BAR, 0.5, 6, 2000, BAR),
        "stages": [("start", 12.1), ("recall", 9.4)],
        "strategies": ("lexical", "semantic"),
        "candidates": list(candidates),
        **fields,
    }
    return RecordedVerdict(id_, outcome=outcome, **values)  # type: ignore[arg-type]  # a test's own fields


def latest(subcog: Run) -> str:
    """Return the id of the latest decision."""
    return subcog("why", "list", "-n", "1").out.split()[0]


def keep(home: Home, *past_verdicts: RecordedVerdict) -> None:
    """Keep them as the hook does."""
    home.create()
    state = State.open(home, 1_000)
    for verdict in past_verdicts:
        verdicts.keep_verdict(state, verdict, now_ms())
    state.close()
