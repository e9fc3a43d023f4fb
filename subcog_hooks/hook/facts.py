"""The facts of a call: those that conditions ask for, and the texts that the client itself puts before the model."""

from __future__ import annotations

import os
import sys

from subcog_hooks.core import light_json
from subcog_hooks.core.files import STARTED_IN
from subcog_hooks.cues.conditions import FACT_KINDS
from subcog_hooks.hook.payload import OF_CLIENT, PROMPT_EVENT, input_of, session_of, text_of
from subcog_hooks.store import project, sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from subcog_hooks.cues.conditions import Scalar
    from subcog_hooks.store.project import Project
    from subcog_hooks.store.state import State


DAY_MS = 86_400_000
_PLATFORMS = {"linux": "linux", "darwin": "macos", "win32": "windows", "cygwin": "windows"}


def session_facts(payload: Mapping[str, object], here: Project | None, state: State, now_ms: int) -> dict[str, Scalar]:
    """Return the known facts of a hook call. Raises StoreError.

    Call it before `sessions.note_prompt`: it counts the prompt at hand itself. So the first prompt is the first one also for
    the tools that work on it. The user's flags are included; they cannot replace a fact.
    """
    session = session_of(payload)
    facts = {name: value for name, value in find_flags(state).items() if name not in FACT_KINDS}
    facts.update(folder_facts(text_of(payload, "cwd"), here))
    if mode := text_of(payload, "permission_mode"):
        facts["permission_mode"] = mode
    if tool := text_of(payload, "tool_name"):
        facts["tool"] = tool
    if not session:
        return facts
    known_session = sessions.find_session(state, session)
    days = days_since_last(state, session, here.identity if here else "", now_ms)
    prompts = (known_session.prompts if known_session else 0) + (text_of(payload, "hook_event_name") == PROMPT_EVENT)
    facts |= {"prompts": prompts, "first_prompt": prompts == 1}
    facts |= {"first_session": days is None, "returning_user": days is not None}
    if source := text_of(payload, "source") or (known_session.source if known_session else ""):
        facts["source"] = source
    if days is not None:
        facts["days_since_last_session"] = days
    return facts


def find_flags(state: State) -> dict[str, bool | int | float | str]:
    """Return the flags that are set, by name."""
    flags = {}
    for name, text in state.run("SELECT name, value FROM user_flags ORDER BY name"):
        try:
            value = light_json.loads(text)
        except ValueError:
            continue  # another program has written the value
        if isinstance(value, bool | int | float | str):
            flags[name] = value
    return flags


def days_since_last(state: State, session: str, project: str, now_ms: int) -> float | None:
    """Return the days since the last activity of another session of this project, None when there was none.

    A session that is dated more than a day ahead was written by a wrong clock and does not count.
    """
    sql = "SELECT max(last_at) FROM sessions WHERE project = ? AND session <> ? AND last_at <= ?"
    ((last_ms,),) = state.run(sql, (project, session, now_ms + DAY_MS))
    return None if last_ms is None else max(0.0, (now_ms - last_ms) / DAY_MS)


def folder_facts(folder: str, here: Project | None) -> dict[str, Scalar]:
    """Return the facts that need no session. folder: the working directory, "" where it is unknown."""
    facts: dict[str, Scalar] = {}
    if folder:
        facts["cwd"] = folder.replace(os.sep, "/")
    if here is not None:
        facts["project"] = here.identity
        if branch := project.find_branch(here.root):
            facts["branch"] = branch
    if platform := _PLATFORMS.get(sys.platform):
        facts["platform"] = platform
    return facts


_MASK = "[redacted"  # begins the text in place of a secret, which the file still has


def read_shown_texts(payload: Mapping[str, object], here: Project | None) -> str:
    """Return the texts that the client shows the model in the session of a payload, each on one line.

    here: the project of the payload's folder.
    """
    from subcog_hooks.clients import description  # Few memories are from a client's own files.

    client, at_hand = description.find_client(text_of(payload, OF_CLIENT)), text_of(payload, "cwd")
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
    session = description.Place(folder, root, main, touched)
    texts = client.read_instructions(session) if client else description.read_instructions(session)
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
