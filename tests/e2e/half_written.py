"""An installation whose upgrade has stopped half-way: a module that is cut off, or is not there yet."""

import os
import shutil
import sysconfig
from pathlib import Path

import subcog_hooks.cli.claude_code.hook_entries as entries

SITE = Path(sysconfig.get_path("purelib"))
LARGE = ("*.onnx", "*.bin", "tokenizer.json", "*.tsv")  # none of which a hook that is broken comes to


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


def registered(python: str, folder: Path) -> list[str]:
    """The command that `init` writes for this installation, whose console script is as broken as the rest."""
    script = folder.parent / "subcog"
    script.write_text(f"#!{python}\nimport sys\nsys.path.insert(0, {str(folder)!r})\n{SCRIPT}")
    os.chmod(script, 0o755)
    return [*entries.isolated(python, str(folder), str(script)), "hook"]


SCRIPT = "from subcog_hooks.__main__ import main\nsys.exit(main())\n"  # as installers write it
