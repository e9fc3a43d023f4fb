"""The parts of an agent's description: its hooks' contract, its settings and its folders.

The hook loads the file of its own agent alone.
"""

from __future__ import annotations

import os
import sys

from subcog_hooks.clients import NAMES, SERVED
from subcog_hooks.core.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from subcog_hooks.clients.instructions import Place

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
