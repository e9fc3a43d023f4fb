"""The texts that the client itself puts before the model of a session: its instruction files, as they are now."""

from __future__ import annotations

import os

from subcog_hooks.clients.description import find_client
from subcog_hooks.clients.instructions import Place
from subcog_hooks.core.files import STARTED_IN
from subcog_hooks.hook.payload import OF_CLIENT, input_of, text_of
from subcog_hooks.store import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from subcog_hooks.store.project import Project

_MASK = "[redacted"  # begins the text in place of a secret, which the file still has


def read_shown_texts(payload: Mapping[str, object], here: Project | None) -> str:
    """Return the texts that the client shows the model in the session of a payload, each on one line.

    here: the project of the payload's folder.
    """
    client, at_hand = find_client(text_of(payload, OF_CLIENT)), text_of(payload, "cwd")
    file = text_of(input_of(payload), "file_path")
    try:
        folder = os.path.realpath(at_hand or os.curdir)
        touched = os.path.dirname(os.path.realpath(os.path.join(at_hand, file))) if file else ""
    except (OSError, ValueError):  # No file system has such a name.
        return ""
    if client is None and OF_CLIENT in payload:
        return ""
    if client is None:
        # A session may go on in another folder. A trial has no transcript, and begins in the folder at hand.
        started_in = os.environ.get(STARTED_IN, "") if text_of(payload, "transcript_path") else ""
        if os.path.isdir(started_in):
            folder = os.path.realpath(started_in)
            here = project.find_project(folder)
    root, main = (here.root, here.names[-1]) if here else (folder, folder)
    session = Place(folder, root, main, touched)
    if client is None:
        from subcog_hooks.clients import claude_instructions  # Other clients need not load it.

        texts = claude_instructions.read_instructions(session)
    else:
        texts = client.read_instructions(session)
    return "\n".join([" ".join(text.split()) for text in texts])


def shows(texts: str, content: str) -> bool:
    """Return whether each line of a memory stands in these texts, except the headings that an import has put before them.

    >>> shows("# Tests Run `just test` first.", "shop > Tests\\n\\nRun `just  test` first."), shows("# Tests", "Run them.")
    (True, False)
    """
    heading, blank, text = content.partition("\n\n")
    has_heading = blank and (" " not in heading or f"# {heading.rpartition(' > ')[2]} " in texts)
    lines = [" ".join(line.split()) for line in (text if has_heading else content).split("\n")]
    return all(line in texts for line in lines if _MASK not in line)
