"""Where the clients other than Claude Code keep their sessions: below the user folder, in files of their own formats."""

import json
import os
from collections.abc import Iterator
from glob import iglob
from itertools import islice

from subcog_hooks.clients.description import list_clients
from subcog_hooks.core.accepted_homes import is_users_own
from subcog_hooks.core.regular_files import leads_out, read_regular

MAX_SESSION_FILES = 50_000  # files of a client
_MAX_PROJECTS = 4 * 1024 * 1024  # bytes of a list of projects


CLIENT_FOLDERS = {client.name: client.sessions for client in list_clients() if client.sessions}


def find_session_files(client: str) -> Iterator[str]:
    """Yield the files that hold a client's sessions, without links out of its folder; none where a repository may set `~`."""
    folder, pattern = CLIENT_FOLDERS[client].path, CLIENT_FOLDERS[client].pattern
    if not os.path.isdir(folder) or not _is_home_safe():
        return
    names = iglob(pattern.replace("/", os.sep), root_dir=folder)
    paths = (os.path.join(folder, name) for name in islice(names, MAX_SESSION_FILES))
    yield from (path for path in paths if os.path.isfile(path) and not leads_out(path, folder))


def _is_home_safe() -> bool:
    try:
        return is_users_own(os.path.expanduser("~"))
    except OSError:  # the system does not know this user
        return False


def name_session(path: str) -> str:
    """Return the name of the session that a transcript holds, which tells it from all others.

    >>> name_session("/home/me/.claude/projects/-shop/4f56.jsonl"), name_session(".copilot/session-state/a1/events.jsonl")
    ('4f56', 'a1')
    """
    folder, name = os.path.split(path)
    return os.path.basename(folder) if name == "events.jsonl" else name.removesuffix(".jsonl")


def find_folder(path: str) -> str:
    """Return the folder of a session of Gemini CLI, whose rows name none: its list of projects does; "" for other sessions."""
    chats = os.path.dirname(path)
    project = os.path.dirname(chats)
    if os.path.basename(chats) != "chats" or os.path.basename(os.path.dirname(project)) != "tmp":
        return ""
    try:
        folders = json.loads(read_regular(os.path.join(project, "..", "..", "projects.json"), _MAX_PROJECTS))["projects"]
        return next((folder for folder, name in folders.items() if name == os.path.basename(project)), "")
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return ""
