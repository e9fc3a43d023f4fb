"""The parts of an agent's description: its hooks' contract, settings, folders, and the instruction files it loads itself.

The hook loads the file of its own agent alone. Each agent's module names its instruction files, as the real clients read them:
a test lets these answer prompts. They are read only where a memory from such a file has been found. Claude Code's files are
here, since our hooks have its contract. Tried with 2.1.332 and 2.1.197: CLAUDE.md files and rules are those of each folder
around the session's. AGENTS.md stands in for them from 2.1.277 on. MEMORY.md is that of the main worktree.
"""

from __future__ import annotations

import os
import sys

from subcog_hooks.clients import NAMES, SERVED
from subcog_hooks.core import light_json
from subcog_hooks.core.files import leads_out, read_regular
from subcog_hooks.core.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


# Where a text stands in an output: nested, or at its top in the field of this name.
NESTED, TOP_LEVEL, SNAKE_CASE = "nested", "additionalContext", "additional_context"
# A compaction after which the client asks for no new start, and one before which it says so.
COMPACTED, TO_BE_COMPACTED = "compacted", "to-be-compacted"
# Forms of settings: hooks in groups, as Claude Code has them; each event's hooks alone; a JavaScript plugin; an object of
# servers of the Model Context Protocol; the same in YAML.
GROUPS, ENTRIES, PLUGIN, SERVER, YAML = "groups", "entries", "plugin", "server", "yaml"
# The variable for the folder of a program's settings on this system; "" on macOS, where none counts.
CONFIG_VARIABLE = "APPDATA" if os.name == "nt" else "" if sys.platform == "darwin" else "XDG_CONFIG_HOME"


_NOTHING: Mapping[str, str] = {}


def same(*names: str) -> dict[str, str]:
    """Return a table of names that a client and we have in common."""
    return {name: name for name in names}


@record
class Contract:
    """How a client's hooks call ours, and how a text reaches its model.

    events: our event for each of the client's, or a compaction; tools: our tool for each of the client's; fields: our field for
    each of the client's in a tool's input; form: NESTED, TOP_LEVEL or SNAKE_CASE; max_bytes: the longest text that arrives
    whole; escapes: the client escapes `<` and `>`; begins_at_prompt: the brief comes with the first prompt, not at the start of
    the session; keeps_start: a resumed session still has the text of its start; drops_calls: it has lost those of its tool
    calls; announces_all: it announces a compaction before every request, so that only a person's counts; was_compacted: returns
    at the next prompt whether an announced compaction has come about; heeds_permission: a hook may allow a command;
    sees_person: returns whether a person has typed a prompt, None where the client can neither stop a prompt nor show why.
    """

    events: Mapping[str, str]
    max_bytes: int
    tools: Mapping[str, str] = _NOTHING
    fields: Mapping[str, str] = _NOTHING
    form: str = NESTED
    escapes: bool = False
    begins_at_prompt: bool = False
    keeps_start: bool = False
    drops_calls: bool = False
    announces_all: bool = False
    was_compacted: Callable[[Mapping[str, object]], bool] | None = None
    heeds_permission: bool = False
    sees_person: Callable[[Mapping[str, object]], bool] | None = None


class _Located:
    """A folder of a client's, below the user's. variable: the environment variable for it, where it lies `below` its value."""

    folder: str
    variable: str
    below: str

    @property
    def folder_path(self) -> str:
        """Return the full path of the folder. A repository at hand does not choose it."""
        if named := os.environ.get(self.variable):
            from subcog_hooks.core.repository_variables import find_setter  # no hook needs the folder

            if not find_setter(self.variable):
                return os.path.join(os.path.abspath(named), *filter(None, self.below.split("/")))
        return os.path.join(os.path.expanduser("~"), *self.folder.split("/"))


@record
class Folder(_Located):
    """A folder with sessions."""

    folder: str
    variable: str = ""
    below: str = ""


@record
class Settings(_Located):
    """Where a client reads which hooks to run or servers to start, and in which form.

    hook: the fields of our hook beside its command; command_key: the field with the command; matchers: by event, the only tools
    whose calls run the hook; has_comments: the JSON may have comments; beside: further members of a file with hooks that `init`
    makes, or of a server; key: the member with the servers; next_step: for the person, after `init`; has_trust: the client runs
    a hook once the person trusts it; trust_file: the file in `folder` with the project folders that the person trusts, "" where
    the client asks for none; instead: the file with hooks alone that the client reads in place of those in `file` where it is
    there, by its events at the top.
    """

    folder: str
    file: str
    form: str
    variable: str = ""
    below: str = ""
    hook: Mapping[str, object] = _NOTHING
    command_key: str = "command"
    matchers: Mapping[str, str] = _NOTHING
    has_comments: bool = False
    beside: Mapping[str, object] = _NOTHING
    key: str = ""
    next_step: str = ""
    has_trust: bool = False
    trust_file: str = ""
    instead: str = ""

    @property
    def path(self) -> str:
        """Return the full path of the file with our hook."""
        instead = os.path.join(self.folder_path, self.instead)
        return instead if os.path.isfile(instead) else os.path.join(self.folder_path, *self.file.split("/"))


@record
class Client:
    """A coding agent.

    name: its program, and the value of `--for`; contract: None for a client that only starts our server; sessions: the pattern
    of their files, "" where their format is not documented; session_folder: their folder, None for that of the settings;
    read_instructions: yields the texts that it puts before the model itself; is_tried: a test drives the real client.
    """

    name: str
    title: str
    settings: Settings
    contract: Contract | None = None
    sessions: str = ""
    session_folder: Folder | None = None
    read_instructions: Callable[[Place], Iterator[str]] = lambda _: iter(())
    is_tried: bool = True

    @property
    def data(self) -> Folder | Settings:
        """Return the folder with its sessions."""
        return self.session_folder or self.settings

    @property
    def kind(self) -> str:
        """Return the noun for its registration by `init`: hook or server."""
        return "hook" if self.contract else "server"


def find_client(name: str) -> Client | None:
    """Return the client of this name, None for one that the table does not have."""
    if name not in NAMES:
        return None
    file = "served" if name in SERVED else name
    module = __import__(f"subcog_hooks.clients.{file}", fromlist=["CLIENT"])  # `importlib` takes .3 ms to load.
    client = module.CLIENTS[SERVED.index(name)] if name in SERVED else module.CLIENT
    assert isinstance(client, Client)
    return client


def list_clients() -> Iterator[Client]:
    """Yield all clients in the order of the table."""
    return filter(None, map(find_client, NAMES))


def has_terminal(_: Mapping[str, object]) -> bool:
    """Return whether this process belongs to a terminal. False on Windows."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | getattr(os, "O_NOCTTY", 0)))
    except OSError:
        return False
    return True


MAX_FILE = 512 * 1024  # bytes of a file that are read
MAX_FILES = 100  # files of a session
MAX_HOPS = 4  # imports in a row, from a file to the last imported one
_PATH_ENDINGS = ".,;:!?)'\""


@record
class Place:
    """The place of a session.

    folder: where it began; root: of its worktree, the folder itself outside of any; main: the root of the main worktree;
    touched: the folder of the file that a tool call is about, "" for none.
    """

    folder: str
    root: str
    main: str
    touched: str = ""

    def folders(self) -> list[str]:
        """Return the folders from the root to the session's."""
        return folders_between(self.root, self.folder)

    def folders_read(self) -> list[str]:
        """Return the folders from the root to the session's, then those to the file that a tool call is about."""
        return self.folders() + (folders_between(self.root, self.touched) if self.touched else [])


def folders_between(top: str, folder: str) -> list[str]:
    """Return the folders from one down to another, both included; the last alone where it lies elsewhere.

    >>> folders_between("/shop", "/shop/web/src"), folders_between("/shop", "/other")
    (['/shop', '/shop/web', '/shop/web/src'], ['/other'])
    """
    folders = [folder]
    while folders[-1] != top:
        above = os.path.dirname(folders[-1])
        if above == folders[-1]:
            return [folder]
        folders.append(above)
    return folders[::-1]


def all_files(folders: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return the paths of these names in each folder."""
    return [os.path.join(folder, name) for folder in folders for name in names]


def first_files(folders: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return the first existing file of these names in each folder."""
    return [path for folder in folders for path in [*filter(os.path.isfile, all_files([folder], names))][:1]]


def rule_files(
    folders: Iterable[str], below: str, ending: str, is_always: Callable[[Mapping[str, str]], bool]
) -> Iterator[str]:
    """Yield the rules in each folder's folder `below` that are in every session, by their front matter."""
    for folder in folders:
        for parent, _, names in os.walk(os.path.join(folder, below)):
            for path in [os.path.join(parent, name) for name in sorted(names) if name.endswith(ending)]:
                if is_always(front_matter(read_text(path) or "")):
                    yield path


def front_matter(text: str) -> dict[str, str]:
    """Return the fields of a text's front matter, each with the rest of its line.

    >>> front_matter('---\\napplyTo: "**"\\nalwaysApply: true\\n---\\nText: text.')
    {'applyTo': '**', 'alwaysApply': 'true'}
    """
    if not text.startswith("---\n"):
        return {}
    lines = text[4:].partition("\n---")[0].split("\n")
    return {name.strip(): value.strip().strip("\"'") for name, colon, value in (line.partition(":") for line in lines) if colon}


def read_texts(files: Iterable[str], imports_in: str = "") -> Iterator[str]:
    """Yield the texts of the existing files among these, each once, and of the files that they import by `@path`.

    imports_in: the folder that imported files lie in, "" where the client follows no imports.
    """
    queue = [(file, MAX_HOPS if imports_in else 0) for file in files]
    seen: set[str] = set()
    for file, hops in queue:  # The list grows meanwhile.
        real = os.path.realpath(file)
        text = None if real in seen or len(seen) == MAX_FILES else read_text(real)
        if text is None:
            continue
        seen.add(real)
        yield text
        for name in [word[1:].rstrip(_PATH_ENDINGS) for word in text.split() if word[0] == "@"] if hops else ():
            path = os.path.join(os.path.dirname(file), os.path.expanduser(name))
            if os.path.isfile(path) and not leads_out(path, imports_in):
                queue.append((path, hops - 1))


def read_text(path: str) -> str | None:
    """Return the first MAX_FILE bytes of a file as a text, None where it cannot be read."""
    try:
        return read_regular(path, MAX_FILE).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None


def read_settings(path: str) -> dict[str, object]:
    """Return the members of a client's settings file; none where it is unreadable or has comments."""
    try:
        settings = light_json.loads(read_text(path) or "")
    except ValueError:
        return {}
    return settings if isinstance(settings, dict) else {}


def configured_names(folders: Iterable[str]) -> list[str]:
    """Return the names of instruction files in the settings of these folders, the last that name any; [] for none."""
    names: list[str] = []
    for folder in folders:
        context = read_settings(os.path.join(folder, "settings.json")).get("context")
        value = context.get("fileName") if isinstance(context, dict) else None
        names = [name for name in (value if isinstance(value, list) else [value]) if isinstance(name, str)] or names
    return names


FOLDER = Folder(".claude", variable="CLAUDE_CONFIG_DIR")
VERSION = "AI_AGENT"  # the variable in which the client names itself: claude-code_2-1-332_harness
READS_AGENTS = (2, 1, 277)  # the first version that reads AGENTS.md
BUILT_IN = "cc-plugin-agents-md@builtin"  # a part of the client
MODE, BESIDE, NONE, NEVER = "instructionFiles", "claude-md-and-agents-md", "managed-only", "claude-md"  # its modes
FILE_NAMES = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")
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
    mode = _member(_last_value(settings, "pluginConfigs"), BUILT_IN, "options", MODE)
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

    own = existing([config], FILE_NAMES[:1], "rules")
    around = folders_between(os.path.abspath(os.sep), place.folder)
    files = [file for file in existing([*around, *place.folders_read()], FILE_NAMES, RULES) if file not in own]
    is_off = _member(_last_value(settings, "enabledPlugins"), BUILT_IN) is False
    has_own = any(file.endswith(FILE_NAMES) and f"/{RULES}/" not in file for file in files)
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
    """Return the client's version; a client without a version counts as new."""
    parts = os.environ.get(VERSION, "").partition("_")[2].partition("_")[0].split("-")
    return tuple(map(int, parts)) if all(part.isdigit() for part in parts) else READS_AGENTS
