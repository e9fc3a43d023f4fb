"""The files that each agent itself puts before the model, by its settings and the folder of the session."""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from subcog_hooks.clients import description
from subcog_hooks.clients.description import Place, find_client
from tests.instruction_files import IMPORTED, LOADED, LOADED_BELOW, MEMORY, marked_in, write_files

Loaded = Callable[..., set[str]]
PLUGIN = description.BUILT_IN


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Loaded:
    """Return a function for the names of the files that a client loads in a project with some of all instruction files."""
    home, project = tmp_path / "home", tmp_path / "shop"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    for name in [
        name for name in os.environ if name.startswith(("CLAUDE", "AI_AGENT", "XDG_", "CODEX", "GEMINI", "QWEN", "COPI"))
    ]:
        monkeypatch.delenv(name)

    def find(
        client: str, names: Iterable[str], folder: str = "", touched: str = "", **settings: Mapping[str, object]
    ) -> set[str]:
        write_files(project, home, names, description.slug_of(str(project)))
        for path, values in settings.items():
            file = home / path.replace("__", ".") / "settings.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(values))
        (project / "sub").mkdir(parents=True, exist_ok=True)
        described = find_client(client)
        read = described.read_instructions if described else description.read_instructions
        place = Place(str(project / folder).rstrip("/"), str(project), str(project), touched and str(project / touched))
        return marked_in("\n".join(read(place)))

    return find


@pytest.mark.parametrize("client", LOADED)
def test_each_agent_loads_the_files_of_its_table(loaded: Loaded, client: str) -> None:
    names = {name for names in LOADED.values() for name in names} | LOADED_BELOW[client]
    assert loaded(client, names) == LOADED[client]
    assert loaded(client, names, "sub") == LOADED[client] | LOADED_BELOW[client]
    reads_below = client not in ("codex", "qwen")
    assert loaded(client, names, touched="sub") == LOADED[client] | (LOADED_BELOW[client] if reads_below else set())


def test_another_file_stands_in_for_a_missing_one(loaded: Loaded) -> None:
    assert loaded("opencode", ["CLAUDE.md", "~/.claude/CLAUDE.md"]) == {"CLAUDE.md", "~/.claude/CLAUDE.md"}
    assert loaded("codex", ["AGENTS.md"]) == {"AGENTS.md"}


@pytest.mark.parametrize(
    ("settings", "names", "expected"),
    [
        ({"autoMemoryEnabled": False}, {"CLAUDE.md", MEMORY}, {"CLAUDE.md"}),
        ({"claudeMdExcludes": ["**/sub/CLAUDE.md"]}, {"CLAUDE.md", "sub/CLAUDE.md"}, {"CLAUDE.md"}),
        ({}, {"AGENTS.md", *IMPORTED[:1], "~/.claude/CLAUDE.md"}, {"AGENTS.md", *IMPORTED[:1], "~/.claude/CLAUDE.md"}),
        ({}, {"AGENTS.md", "CLAUDE.local.md"}, {"CLAUDE.local.md"}),
        ({"enabledPlugins": {PLUGIN: False}}, {"AGENTS.md"}, set()),
        (
            {"pluginConfigs": {PLUGIN: {"options": {"instructionFiles": "claude-md-and-agents-md"}}}},
            {"CLAUDE.md", "AGENTS.md"},
            {"CLAUDE.md", "AGENTS.md"},
        ),
        (
            {"pluginConfigs": {PLUGIN: {"options": {"instructionFiles": "managed-only"}}}},
            {"CLAUDE.md", "AGENTS.md", MEMORY},
            {MEMORY},
        ),
        ({"pluginConfigs": []}, {"CLAUDE.md"}, {"CLAUDE.md"}),
    ],
)
def test_claude_codes_settings_decide(loaded: Loaded, settings: object, names: set[str], expected: set[str]) -> None:
    assert loaded("claude", names, "sub" if "sub/CLAUDE.md" in names else "", __claude=settings) == expected


def test_older_versions_of_claude_code_read_no_agents_md(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    for version, expected in (("2-1-276", set()), ("2-1-277", {"AGENTS.md"}), ("unknown", {"AGENTS.md"})):
        monkeypatch.setenv("AI_AGENT", f"claude-code_{version}_agent")
        assert loaded("claude", ["AGENTS.md"]) == expected


def test_settings_name_other_files_for_gemini_and_qwen(loaded: Loaded) -> None:
    names = ["AGENTS.md", "GEMINI.md", "QWEN.md"]
    named = {"context": {"fileName": ["AGENTS.md"]}}
    assert loaded("gemini", names, __gemini=named) == {"AGENTS.md", "GEMINI.md"}
    assert loaded("qwen", names, __qwen=named) == {"AGENTS.md"}
