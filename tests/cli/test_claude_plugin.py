"""Reading the plugin from the client's files, and finding programs."""

import json
import os
from pathlib import Path

import pytest

from subcog_hooks.cli.agents import claude_code
from tests.cli.conftest import MonkeyPatch
from tests.e2e.machine import posix

PLUGIN = "subcog@subcog"
ENTRY = {"scope": "user", "installPath": "/x", "version": "0.1.0"}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: MonkeyPatch) -> Path:
    """A repository as the current folder."""
    folder = tmp_path / "repository"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def write_plugin_records(tmp_path: Path, plugins: object, marketplaces: object) -> None:
    """Write the client's records of plugins and marketplaces."""
    folder = tmp_path / "claude" / "plugins"
    folder.mkdir(parents=True)
    (folder / "installed_plugins.json").write_text(json.dumps(plugins))
    (folder / "known_marketplaces.json").write_text(json.dumps(marketplaces))


def write_switches(tmp_path: Path, repository: Path, **switches: object) -> None:
    """Write settings files, each with its switch for the plugin."""
    (repository / ".claude").mkdir()
    files = {
        "user": tmp_path / "claude" / "settings.json",
        "project": repository / ".claude" / "settings.json",
        "local": repository / ".claude" / "settings.local.json",
    }
    for name, value in switches.items():
        files[name].write_text(json.dumps({"enabledPlugins": {PLUGIN: value, "other@subcog": True}}))


# Each row was tried with the real client, in both versions.
@pytest.mark.parametrize(
    ("switches", "enabled_by", "runs_for_the_user"),
    [
        ({"user": True}, "user", True),
        ({"user": True, "project": False}, None, True),
        ({"user": True, "project": False, "local": True}, "local", True),
        ({"user": False}, None, False),
        ({"user": False, "project": True}, "project", False),
        ({"project": True}, "project", False),
        ({"project": True, "local": False}, None, False),
        ({}, None, False),
    ],
)
def test_last_settings_that_name_the_plugin_decide(
    tmp_path: Path, repository: Path, switches: dict[str, object], enabled_by: str | None, runs_for_the_user: bool
) -> None:
    write_plugin_records(tmp_path, {"version": 2, "plugins": {PLUGIN: [ENTRY], "other@subcog": [ENTRY]}}, {"subcog": {}})
    write_switches(tmp_path, repository, **switches)
    (plugin,) = claude_code.list_plugins()
    assert (plugin.id, plugin.version, plugin.enabled_by) == (PLUGIN, "0.1.0", enabled_by)
    assert plugin.runs_where("user") is runs_for_the_user
    assert plugin.runs_where("project") is (enabled_by is not None)


@pytest.mark.parametrize("marketplace", ["subcog", "other"])
def test_a_plugin_of_an_added_marketplace_runs_uninstalled(tmp_path: Path, repository: Path, marketplace: str) -> None:
    write_plugin_records(tmp_path, {"version": 2, "plugins": {}}, {marketplace: {}})
    write_switches(tmp_path, repository, project=True)
    runs = [claude_code.Plugin(PLUGIN, "", {"project": True})]
    assert claude_code.list_plugins() == (runs if marketplace == "subcog" else [])


@pytest.mark.parametrize(
    "content", [None, [], {"plugins": []}, {"plugins": {PLUGIN: "x"}}, {"plugins": {PLUGIN: [{"version": 1}]}}]
)
def test_malformed_client_files_are_ignored(tmp_path: Path, repository: Path, content: object) -> None:
    write_plugin_records(tmp_path, content, content)
    (tmp_path / "claude" / "settings.json").write_text("[" * 100_000)
    assert [plugin.version for plugin in claude_code.list_plugins()] in ([], [""])


@posix
def test_programs_are_found_in_absolute_path_folders_only(repository: Path, monkeypatch: MonkeyPatch) -> None:
    for folder in (repository, repository / "bin", repository / "own"):
        folder.mkdir(exist_ok=True)
        (folder / "subcog").write_text("")
        (folder / "subcog").chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", "bin"]))
    assert claude_code.find_program("subcog") is None
    assert claude_code.resolve_command(["subcog", "hook"]) is None
    monkeypatch.setenv("PATH", os.pathsep.join([".", str(repository / "own")]))
    assert claude_code.resolve_command(["subcog", "hook"]) == [str(repository / "own" / "subcog"), "hook"]
    assert claude_code.resolve_command(["bin/subcog", "hook"]) is None
    assert claude_code.resolve_command([str(repository / "bin" / "subcog"), "hook"]) == [
        str(repository / "bin" / "subcog"),
        "hook",
    ]
    (repository / "own" / "subcog").chmod(0o644)
    assert claude_code.resolve_command(["subcog", "hook"]) is None
