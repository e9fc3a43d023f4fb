"""Every agent of the table has all of its parts, and the modules that need them use these."""

import importlib
import json
import re
from pathlib import Path

import pytest

from subcog_hooks import clients
from subcog_hooks.cli.agents import other_agents
from subcog_hooks.clients import LEARNED, NAMES
from subcog_hooks.clients.description import (
    COMPACTED,
    GROUPS,
    PLUGIN,
    SERVER,
    TO_BE_COMPACTED,
    YAML,
    Client,
    find_client,
    list_clients,
)
from subcog_hooks.hook import main
from subcog_hooks.learn import transcript_files, transcript_rows
from subcog_hooks.learn.transcript_files import LEARNED_CLIENTS
from tests.documents import README

ROWS = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
HOOKED = [client for client in list_clients() if client.contract]
SHARED = {"__init__", "description", "instructions", "claude_instructions"}  # Its hooks' contract is ours.
each_client = pytest.mark.parametrize("client", tuple(list_clients()), ids=NAMES)
OTHERS = {"version": 1, "hooks": {"other": [{"command": "date"}]}}


def test_the_table_names_every_file_of_an_agent() -> None:
    files = {path.stem for path in Path(clients.__file__).parent.glob("*.py")} - SHARED
    assert sorted(name.replace("-", "_") for name in NAMES) == sorted(files)
    assert [client.name for client in list_clients()] == list(NAMES)


@each_client
def test_an_agent_has_every_part(client: Client) -> None:
    assert client is importlib.import_module(f"subcog_hooks.clients.{client.name.replace('-', '_')}").CLIENT
    assert client.settings.form in other_agents.FORMS
    if client.contract is None:
        assert (client.settings.form in (SERVER, YAML), client.settings.key != "", client.is_tried) == (True, True, False)
        return
    assert set(client.contract.events.values()) <= {*main.BUDGETS_MS, COMPACTED, TO_BE_COMPACTED}
    assert client.settings.form == PLUGIN or client.settings.hook
    if client.name in LEARNED:
        assert LEARNED_CLIENTS[client.name] is find_client(client.name) is client
        assert client.sessions == transcript_files.DATABASE or client.name in transcript_rows.READERS


@each_client
def test_the_readme_says_whether_an_agent_is_tried(client: Client) -> None:
    (row,) = [row for row in ROWS if re.search(rf"[` ]{client.name}`", row)]
    assert client.title.removesuffix(" CLI") in row
    assert row.startswith("| untried: ") is not client.is_tried


@pytest.mark.parametrize("client", HOOKED, ids=lambda client: client.name)
def test_the_hook_is_registered_at_the_events_that_are_read(client: Client) -> None:
    assert client.contract is not None
    made = other_agents.add_hook(client, ["/x/subcog"], None)
    form = other_agents.FORMS[client.settings.form]
    assert list(form.read_commands(made, client)) == list(client.contract.events)
    assert other_agents.remove_hook(client, made) is None
    if client.settings.form != PLUGIN:
        entries = json.loads(made)["hooks"].values()
        hooks = [entry["hooks"][0] if client.settings.form == GROUPS else entry for (entry,) in entries]
        assert all({**hook, **client.settings.hook} == hook for hook in hooks)
        text = json.dumps(OTHERS)
        assert other_agents.remove_hook(client, other_agents.add_hook(client, ["/x/subcog"], text)) == text
