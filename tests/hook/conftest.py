"""Fixtures for the hook's tests: a store with index and vectors, and prompts to it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.embed import models
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.hook import tool
from subcog_hooks.store import index_writer, vector_store
from subcog_hooks.store.store import Store
from subcog_hooks.store.verdicts import SPOKE, RecordedVerdict
from tests.conftest import Maker
from tests.hook.recorded import PROJECT, QUESTION, Call, Decide, past_verdicts, printed_ids, repository, respond


def follow(home: Home, store: Store) -> None:
    """Bring the index up to date, and the vectors as a command leaves them: provisional."""
    index_writer.bring_up_to_date(home, store)
    space = PACKAGED
    vector_store.open_following(
        home, store, space.name, space.dimension, models.provisional_encoder(space), made_by=models.vector_makers(space)
    ).close()


@pytest.fixture
def lighthouse(home: Home, store: Store, make: Maker) -> None:
    """Store four memories that answer QUESTION, two of them similar, and others."""
    texts = {
        "first": "The lighthouse lamp relay is driven by the tide sensor.",
        "again": "The lighthouse lamp relay is driven by the tide sensor!",
        "drift": "Replace the lighthouse lamp relay when the tide sensor reports drift.",
        "volts": "A lamp relay of the lighthouse tide sensor needs 24 V.",
    }
    store.add([make(text, id=id_) for id_, text in texts.items()])
    store.add([make(f"Notes on cargo number {i} and its papers.", id=f"cargo-{i}") for i in range(50)])
    follow(home, store)


@pytest.fixture
def decide(home: Home, lighthouse: None) -> Decide:
    """Ask the hook, and return its verdict."""

    def decide_prompt(text: object = QUESTION, session: str = "s", cwd: str = "/", budget_ms: float = 5_000) -> RecordedVerdict:
        before = len(past_verdicts(home))
        printed = respond(home, text, session, deadline=Deadline(budget_ms, spent_ms=10.0), cwd=cwd)
        kept = past_verdicts(home)
        assert len(kept) == before + 1
        assert bool(printed) == (kept[0].outcome == SPOKE)
        return kept[0]

    return decide_prompt


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return repository(tmp_path.resolve() / "shop", PROJECT)


@pytest.fixture
def remember(store: Store, make: Maker) -> Callable[..., None]:
    """Store a memory of the project `shop`, of another, or of none."""

    def store_memory(id_: str, content: str = "Mind the gap.", project: str | None = PROJECT, **more: object) -> None:
        store.add([make(content, id=id_, project=project, **more)])

    return store_memory


@pytest.fixture
def call(home: Home, store: Store, shop: Path) -> Call:
    """Call a tool in `shop`, and return the printed ids."""

    def call_tool(
        name: object = "Edit",
        session: object = "s",
        cwd: object = str(shop),
        budget_ms: float = 5_000,
        mode: str = "",
        **given: object,
    ) -> list[str]:
        if "file" in given:
            given["file_path"] = os.path.join(shop, str(given.pop("file")))
        payload = {"session_id": session, "cwd": cwd, "hook_event_name": "PreToolUse", "tool_name": name, "tool_input": given}
        payload["permission_mode"] = mode
        printed: list[bytes] = []
        tool.respond(payload, home, printed.append, Deadline(budget_ms))
        return printed_ids(printed)

    return call_tool
