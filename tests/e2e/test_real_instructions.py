"""The instruction files that real coding agents, offline, put before the model: by this table the hook holds memories back."""

import json
from collections.abc import Mapping
from pathlib import Path

from subcog_hooks.clients import description
from tests.e2e.claude_client import Sandbox, conversation
from tests.e2e.machine import linux
from tests.e2e.other_client import OtherClient, drive_in, with_harness
from tests.instruction_files import FILES, HOME, LOADED, MEMORY, marked_in, write_files

pytestmark = linux
PLUGIN = description.BUILT_IN
OLD = "2.1.197"
CASES: tuple[tuple[Mapping[str, object], set[str], set[str]], ...] = (  # Claude Code's settings, files, and the loaded ones
    ({}, {*FILES, MEMORY}, LOADED["claude"]),
    ({}, {"AGENTS.md", MEMORY, "~/.claude/CLAUDE.md"}, {"AGENTS.md", MEMORY, "~/.claude/CLAUDE.md"}),
    (
        {"autoMemoryEnabled": False, "claudeMdExcludes": ["**/shop/CLAUDE.md"]},
        {"CLAUDE.md", "CLAUDE.local.md", MEMORY},
        {"CLAUDE.local.md"},
    ),
    (
        {"pluginConfigs": {PLUGIN: {"options": {"instructionFiles": "claude-md-and-agents-md"}}}},
        {"CLAUDE.md", "AGENTS.md"},
        {"CLAUDE.md", "AGENTS.md"},
    ),
    (
        {"pluginConfigs": {PLUGIN: {"options": {"instructionFiles": "managed-only"}}}},
        {"CLAUDE.md", ".claude/rules/all.md", MEMORY},
        {MEMORY},
    ),
    ({"enabledPlugins": {PLUGIN: False}}, {"AGENTS.md"}, set()),
)


@with_harness
def test_an_agent_loads_the_files_of_its_table(other_client: OtherClient, tmp_path: Path) -> None:
    project, home = tmp_path / "shop", tmp_path / "home"
    write_files(project, home)
    options = ["--project", str(project)]
    for name in [name for name in FILES if name.startswith(HOME)]:
        file = home / name.removeprefix(HOME).replace("{slug}", "-elsewhere")
        options += ["--config", f"{file}=~/{file.relative_to(home)}"]
    answers = drive_in(other_client, tmp_path, ["Say hello."], *options, variables={})
    assert answers.code == 0, answers.output
    assert marked_in("\n".join(answers.requests[0])) == LOADED[other_client.name]


def test_claude_code_loads_the_files_of_its_table(client: str, version: str, model: str, tmp_path: Path) -> None:
    for number, (settings, names, expected) in enumerate(CASES[:2] if version == OLD else CASES):
        sandbox = Sandbox(tmp_path / str(number))
        sandbox.project = sandbox.root / "shop"
        (sandbox.project / ".git").mkdir(parents=True)
        write_files(sandbox.project, sandbox.root, names, description.slug_of(str(sandbox.project)))
        sandbox.config.rmdir()
        (sandbox.root / ".claude").mkdir(exist_ok=True)
        (sandbox.root / ".claude").rename(sandbox.config)
        (sandbox.config / "settings.json").write_text(json.dumps(settings))
        with conversation(client, sandbox, model) as talk:
            turn = talk.say("Say hello.")
        shown = "\n".join(request.model_text for request in turn.requests)
        assert marked_in(shown) == expected - ({"AGENTS.md"} if version == OLD else set()), settings
