"""The real client with subcog as its hook: its memories, its plugin, README's lines, and what is expected of every turn."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from subcog_hooks.cli.agents.hook_entries import EVENTS
from tests.e2e.claude_client import Sandbox, Turn

ROOT = Path(__file__).parents[2]
BLOCK = "<subcog-memories"
LIBRARY_BYTES = 3_000_000
ATTEMPTS = 5  # a busy machine may need more than the hook's 100 or 200 ms; the hook is silent then

T = TypeVar("T")


def initialised(root: Path, subcog_command: str, memories: Path) -> Sandbox:
    """A sandbox with a copy of the memories, and the hook in the user's settings."""
    sandbox = Sandbox(root)
    shutil.copytree(memories, sandbox.memories)
    sandbox.run(subcog_command, "init", "--user")
    return sandbox


def copied_plugin(folder: Path) -> Path:
    """A copy of the plugin's own folder."""
    return Path(shutil.copytree(ROOT / "plugin", folder))


def copied_clone(folder: Path) -> Path:
    """A copy of what a clone has for the client, with an environment in it as a user of the clone makes one."""
    shutil.copytree(ROOT / ".claude-plugin", folder / ".claude-plugin")
    copied_plugin(folder / "plugin")
    shutil.copy(ROOT / "hooks.json", folder)
    library = folder / ".venv" / "lib" / "library.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(bytes(LIBRARY_BYTES))
    return folder


def readme_commands(program: str) -> list[str]:
    """The command lines of README that begin with a program's name, in order: code lines, and code inside a sentence."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.findall(rf"(?:^(?: {{4}}|\$ )?|`){re.escape(program)} [^`\n]+", text, re.MULTILINE)
    return [line.strip(" `$").partition("  #")[0].rstrip() for line in found]


def size_of(folder: Path) -> int:
    """The bytes of all files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def in_time(run: Callable[[], T], spoke: Callable[[T], bool]) -> T:
    """What a run gives in which the hook spoke where it should, in a session of its own; the last one's if none does."""
    result = run()
    for _ in range(1, ATTEMPTS):
        if spoke(result):
            break
        result = run()
    return result


def model_text(turn: Turn) -> str:
    """What the model was given in this turn, by its one request."""
    (request,) = turn.requests
    return request.model_text


def events(turn: Turn) -> list[str]:
    """For what the hook ran in a turn, as far as the client tells: not of SessionEnd and PreCompact."""
    return [hook.event for hook in turn.hooks]


def assert_silent(turn: Turn) -> None:
    """No hook of the turn failed, wrote to stderr or has given the user something to read."""
    assert turn.notices == ()
    for hook in turn.hooks:
        assert hook.event in EVENTS
        assert (hook.exit_code, hook.outcome, hook.stderr) == (0, "success", "")
        output = json.loads(hook.stdout or "{}")
        assert output.keys() <= {"hookSpecificOutput"}
        if output:
            assert output["hookSpecificOutput"].keys() == {"hookEventName", "additionalContext"}
