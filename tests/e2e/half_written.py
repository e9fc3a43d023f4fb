"""An installation whose upgrade has stopped half-way: a module that is cut off, or is not there yet."""

import json
import shutil
import sys
import sysconfig
from pathlib import Path

from subcog_hooks.cli.agents import hook_entries
from tests.e2e.machine import Machine

SITE = Path(sysconfig.get_path("purelib"))
LARGE = ("*.onnx", "*.bin", "tokenizer.json")  # none of which a hook that is broken comes to


def installation(folder: Path, module: str, *, is_missing: bool = False) -> Path:
    """A folder of libraries as the installed one, but for one module of this package, which has no right Python in it."""
    folder.mkdir()
    for entry in SITE.iterdir():
        if entry.name != "subcog_hooks":
            (folder / entry.name).symlink_to(entry)
    shutil.copytree(SITE / "subcog_hooks", folder / "subcog_hooks", ignore=shutil.ignore_patterns(*LARGE))
    source = folder / "subcog_hooks" / module
    text = source.read_text(encoding="utf-8")
    source.unlink()
    if not is_missing:
        source.write_text(f"({text[: len(text) // 2]}", encoding="utf-8")
    return folder


def registered(machine: Machine, folder: Path) -> list[str]:
    """The command that `init` writes, for this installation; its console script is as broken as the rest."""
    assert machine.run("init", "--no-skills", "--as-user").code == 0
    settings = json.loads((machine.root / "user" / ".claude" / "settings.json").read_text(encoding="utf-8"))
    (hook,) = settings["hooks"]["UserPromptSubmit"][0]["hooks"]
    words = [hook["command"], *hook["args"]]
    places = hook_entries.paths_in_command(words)
    assert places is not None
    script = folder.parent / "subcog"
    script.write_text(f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(folder)!r})\n{SCRIPT}", encoding="utf-8")
    script.chmod(0o755)
    return [word.replace(repr(places[0]), repr(str(folder))).replace(repr(places[1]), repr(str(script))) for word in words]


SCRIPT = "from subcog_hooks.__main__ import main\nsys.exit(main())\n"  # as installers write it
