"""Claude Code: the files that it puts before the model. Our hooks have its contract; `cli/agents` registers them.

Tried with 2.1.332 and 2.1.197. CLAUDE.md files and rules are those of each folder around the session's. AGENTS.md stands in for
them from 2.1.277 on. MEMORY.md is that of the main worktree.
"""

from __future__ import annotations

import os

from subcog_hooks.clients.description import Folder
from subcog_hooks.clients.instructions import all_files, folders_between, read_settings, read_text, read_texts, rule_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from subcog_hooks.clients.instructions import Place

FOLDER = Folder(".claude", variable="CLAUDE_CONFIG_DIR")
VERSION = "AI_AGENT"  # the variable in which the client names itself: claude-code_2-1-332_harness
READS_AGENTS = (2, 1, 277)  # the first version that reads AGENTS.md
PLUGIN = "cc-plugin-agents-md@builtin"  # a part of the client
MODE, BESIDE, NONE, NEVER = "instructionFiles", "claude-md-and-agents-md", "managed-only", "claude-md"  # its modes
NAMES = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")
RULES = ".claude/rules"
INDEX, INDEX_LINES, INDEX_BYTES = "MEMORY.md", 200, 25_000  # the part that is in each session
MAX_SLUG = 200  # characters; a longer name ends in a number that we do not know
_ON = ("1", "true", "yes", "on")


def read_instructions(place: Place) -> Iterator[str]:
    """Yield the texts that the client puts before the model of a session."""
    config = FOLDER.folder_path
    files = [
        os.path.join(config, "settings.json"),
        *all_files([place.folder], (".claude/settings.json", ".claude/settings.local.json")),
    ]
    settings = [read_settings(file) for file in files]
    if _last_value(settings, "autoMemoryEnabled") is not False and not _is_on("CLAUDE_CODE_DISABLE_AUTO_MEMORY"):
        yield _head_of_index(config, settings[0], place.main)
    mode = _member(_last_value(settings, "pluginConfigs"), PLUGIN, "options", MODE)
    if mode == NONE or _is_on("CLAUDE_CODE_DISABLE_CLAUDE_MDS"):
        return
    lists = [globs for part in settings if isinstance(globs := part.get("claudeMdExcludes"), list)]
    excluded = [glob for globs in lists for glob in globs if isinstance(glob, str)]

    def existing(folders: list[str], names: tuple[str, ...], rules: str) -> list[str]:
        paths = [*all_files(folders, names), *rule_files(folders, rules, ".md", lambda fields: "paths" not in fields)]
        files = [file for file in paths if os.path.isfile(file)]
        if not excluded:
            return files
        from fnmatch import fnmatchcase  # It loads `re`, and few settings exclude files.

        return [file for file in files if not any(fnmatchcase(file, glob) for glob in excluded)]

    own = existing([config], NAMES[:1], "rules")
    around = folders_between(os.path.abspath(os.sep), place.folder)
    files = [file for file in existing([*around, *place.folders_read()], NAMES, RULES) if file not in own]
    is_off = _member(_last_value(settings, "enabledPlugins"), PLUGIN) is False
    has_own = any(file.endswith(NAMES) and f"/{RULES}/" not in file for file in files)
    if mode != NEVER and not is_off and (mode == BESIDE or not has_own) and _version() >= READS_AGENTS:
        files += all_files([*around, *place.folders_read()], ("AGENTS.md", ".claude/AGENTS.md"))
    yield from read_texts(own, os.path.expanduser("~"))
    yield from read_texts(files, place.root)


def slug_of(path: str) -> str:
    """Return the name under which the client keeps a folder's sessions and notes.

    >>> slug_of("/home/me/my.shop")
    '-home-me-my-shop'
    """
    return "".join([letter if letter.isascii() and letter.isalnum() else "-" for letter in path])


def _head_of_index(config: str, settings: Mapping[str, object], main: str) -> str:
    """Return the part of a project's auto memory that is in each session. settings: the person's; main: the project's root."""
    configured = settings.get("autoMemoryDirectory")
    folder = os.path.expanduser(configured) if isinstance(configured, str) else ""
    if not os.path.isabs(folder):
        folder = os.path.join(config, "projects", slug_of(main)[:MAX_SLUG], "memory")
    text = read_text(os.path.join(folder, INDEX)) or ""
    return "".join(text.encode()[:INDEX_BYTES].decode(errors="ignore").splitlines(keepends=True)[:INDEX_LINES])


def _last_value(settings: list[dict[str, object]], name: str) -> object:
    return next((part[name] for part in reversed(settings) if name in part), None)


def _member(value: object, *names: str) -> object:
    """Return the value behind these names, None where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _is_on(variable: str) -> bool:
    return os.environ.get(variable, "").lower() in _ON


def _version() -> tuple[int, ...]:
    """Return the client's version; that of a client which does not name it is taken for a new one."""
    parts = os.environ.get(VERSION, "").partition("_")[2].partition("_")[0].split("-")
    return tuple(map(int, parts)) if all(part.isdigit() for part in parts) else READS_AGENTS
