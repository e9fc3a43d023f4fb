"""Every agent of the table has all of its parts, and the modules that need them use these."""

import importlib
import json
from pathlib import Path

import pytest

from subcog_hooks import clients
from subcog_hooks.cli.support import client_settings
from subcog_hooks.clients.table import COMPACTED, GROUPS, NAMES, PLUGIN, Client, list_clients
from subcog_hooks.hook import main
from subcog_hooks.learn import client_rows, opencode_sessions
from subcog_hooks.learn.client_folders import CLIENT_FOLDERS
from subcog_hooks.settings.keys import KEYS, WordsKey

README = Path(__file__).parents[2] / "README.md"
each_client = pytest.mark.parametrize("client", tuple(list_clients()), ids=NAMES)
OTHERS = {"version": 1, "hooks": {"other": [{"command": "date"}]}}


def test_the_table_names_every_file_of_an_agent() -> None:
    files = {path.stem for path in Path(clients.__file__).parent.glob("*.py")} - {"__init__", "table"}
    assert sorted(NAMES) == sorted(files)
    assert [client.name for client in list_clients()] == list(NAMES)


@each_client
def test_an_agent_has_every_part(client: Client) -> None:
    assert client is importlib.import_module(f"subcog_hooks.clients.{client.name}").CLIENT
    ours = {*main.BUDGETS_MS, COMPACTED}
    assert set(client.contract.events.values()) <= ours
    assert client.settings.form in client_settings.FORMS
    assert client.settings.form == PLUGIN or client.settings.hook
    assert f"`{client.name}`" in README.read_text().replace("--for ", "").replace("init ", "")
    assert client.title.split()[0] in README.read_text()


@each_client
def test_the_hook_is_registered_at_the_events_that_are_read(client: Client) -> None:
    made = client_settings.add_hook(client, None)
    form = client_settings.FORMS[client.settings.form]
    assert list(form.read_commands(made, client)) == list(client.contract.events)
    assert client_settings.remove_hook(client, made) is None
    if client.settings.form != PLUGIN:
        entries = json.loads(made)["hooks"].values()
        hooks = [entry["hooks"][0] if client.settings.form == GROUPS else entry for (entry,) in entries]
        assert all({**hook, **client.settings.hook} == hook for hook in hooks)
        text = json.dumps(OTHERS)
        assert client_settings.remove_hook(client, client_settings.add_hook(client, text)) == text


@each_client
def test_the_sessions_of_an_agent_are_learned_from(client: Client) -> None:
    key = KEYS["capture.clients_except"]
    assert isinstance(key, WordsKey)
    assert client.name in key.choices
    assert CLIENT_FOLDERS[client.name] is client.sessions
    is_database = client.sessions.pattern == opencode_sessions.DATABASE
    assert is_database or client.sessions.reader in client_rows.READERS
