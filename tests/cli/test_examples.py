"""Every example that a help page shows is run as it stands."""

import inspect
import json
import os
import re
import shlex
import shutil
import time
from pathlib import Path

import pytest

from subcog_hooks.cli import config, embedding, state, why
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.hook.detached import BACKGROUND_COMMAND
from tests.cli.conftest import Ask, MonkeyPatch, Run, whole_application
from tests.llm_server import LlmServer
from tests.transcripts import PROJECTS, Writer

ROOT = Path(__file__).parent.parent.parent
MEMORIES = (
    '{"id": "1m7x59aaaaaaaa", "content": "Tokens are refreshed a minute before they expire.", "namespace": "decisions"}\n'
    '{"id": "1m7x60aaaaaaaa", "content": "The browser keeps the session token in a cookie."}\n'
    '{"id": "OLD", "content": "Sessions last an hour."}\n{"id": "NEW", "content": "Tokens live for a day."}\n'
    '{"id": "FK", "content": "The crane is placed by forward kinematics (FK)."}\n'
)
NO_EXAMPLE = {"hook", "mcp", BACKGROUND_COMMAND}  # nobody types them
NO_QUESTIONS = json.dumps({"choices": [{"message": {"content": '{"notes": []}'}}]}).encode()
BGE = "BAAI/bge-small-en-v1.5"  # it has 384 dimensions: the packaged files pass for it


def examples() -> list[str]:
    """Return the example of each command, from its help text."""
    whole = whole_application()
    groups = [group.typer_instance for group in whole.registered_groups if group.typer_instance]
    commands = [str(group.info.help).partition("Example: ")[2] for group in groups]
    assert all(commands)
    with_examples = (whole, config.commands, embedding.commands, state.commands, why.commands)
    for command in (command for group in with_examples for command in group.registered_commands):
        callback = command.callback
        assert callback is not None
        name = command.name or callback.__name__
        lines = re.findall(r"Example: (subcog .+)", inspect.getdoc(callback) or "")
        assert len(lines) == (name not in NO_EXAMPLE), f"subcog {name} has {len(lines)} examples"
        commands += lines
    return commands


@pytest.fixture
def with_store(subcog: Run, ask: Ask, tmp_path: Path, monkeypatch: MonkeyPatch) -> Run:
    (tmp_path / "rows.jsonl").write_text(MEMORIES)
    (tmp_path / "notes.jsonl").write_text('{"content": "Ropes are replaced every spring."}\n')
    (tmp_path / "prompts.jsonl").write_text('{"id": 1, "prompt": "How long do tokens live?"}\n')
    (tmp_path / "queries.jsonl").write_text('{"query": "refresh of tokens", "ids": ["1m7x59aaaaaaaa"]}\n')
    shutil.copytree(ROOT / "tests" / "data" / "adr", tmp_path / "docs" / "adr")
    lately = time.time() - 86_400
    written = Writer(tmp_path / "claude" / PROJECTS / "-shop" / "s1.jsonl", day=time.strftime("%Y-%m-%d", time.gmtime(lately)))
    written.typed("How long before they expire are tokens refreshed?")
    os.utime(written.path, (lately, lately))
    monkeypatch.setenv("EDITOR", "true")
    assert subcog("import", "rows.jsonl").code == 0
    ask("How long before they expire are tokens refreshed?")
    subcog("init")
    subcog("remember", "Anchors are painted in May.")
    subcog("edit", newest(subcog), "--status", "pending")
    subcog("pause")
    subcog("state", "set", "clinician_mode=true")
    return subcog


def newest(subcog: Run) -> str:
    """Return the id of the latest memory."""
    return str(subcog("list", "--jsonl", "-n", "1").json["id"])


def prepare_model(subcog: Run, *, is_there: bool) -> None:
    shutil.copytree(PACKAGED.folder, "bge-small")
    Path("bge-small", "model.onnx").rename(Path("bge-small", "model_optimized.onnx"))
    assert not is_there or subcog("models", "pull", BGE, "--from", "bge-small").code == 0


@pytest.mark.parametrize("line", examples())
def test_an_example_does_what_it_says(with_store: Run, line: str) -> None:
    if BGE in line:
        prepare_model(with_store, is_there="remove" in line)
    if line.startswith("subcog block"):  # it is as silent as the hook
        with_store("resume")
    with LlmServer(lambda handler: handler.answer(200, NO_QUESTIONS)) as server:
        if line.startswith("subcog enrich"):
            for key, value in (("at_rest", "openai"), ("base_url", server.url_v1), ("model", "small")):
                with_store("config", "set", f"llm.{key}", value)
        done = with_store(*shlex.split(line)[1:])
    assert done.code == (line == "subcog share"), done.err  # nothing is shared
    assert "Traceback" not in done.err
