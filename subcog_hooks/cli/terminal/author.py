"""The author of a change: a person or an agent, and whose memories it may touch."""

import os
import sys
from collections.abc import Iterable

from subcog_hooks.cli.terminal import context
from subcog_hooks.core.errors import StoreError, UsageError
from subcog_hooks.core.paths import AGENTS, ANY_AGENT, IN_AN_AGENT, find_agent
from subcog_hooks.settings.defaults import NO_NOTES, WAITING_NOTES
from subcog_hooks.store import home_files
from subcog_hooks.store.memory import AGENT, PENDING, PERSON, USER, Memory, now_ms
from subcog_hooks.store.project import resolve_identity
from subcog_hooks.store.state import is_unasked

HERE = "here"  # a project's name: it stands for the project of this folder


def names_of(name: str) -> tuple[str, ...]:
    """Return all names of a project, its identity first. Raises UsageError for `here` outside of any project."""
    if name != HERE:
        return (resolve_identity(name),)
    project = context.here()
    if project is None:
        raise UsageError("this folder is in no project", "name the project, or go there")
    return project.names


UNMARKED = frozenset(("amp", "droid", "windsurf", "zed", "zed-editor", "zeditor"))  # programs of agents that set no variable
AGENT_SETTING = "capture.agent"
SESSION = "CLAUDE_CODE_SESSION_ID"  # the client sets it for the commands of its agent
# ATTENDED is 1 where a person sits at the session, 0 in print mode. A client without it (2.1.197) names its entry point.
ATTENDED, STARTED_AS, ON_TERMINAL = "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_ENTRYPOINT", "cli"
AS_USER_HELP = "For an agent: the person has allowed a change of the person's own memories and settings."


def is_agent() -> bool:
    """Return whether an agent's client runs this command."""
    return bool(_find_sign())


def _find_sign() -> str:
    """Return how an agent's client is known to run this command, "" for a person's."""
    if marker := find_agent():
        return f"{marker} is set"
    if any(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        return ""  # The shell of an agent has no terminal; the person's, in the window of an agent, has.
    import psutil  # Few commands change a memory or a setting.

    try:
        names = [os.path.splitext(process.name())[0].lower() for process in psutil.Process().parents()]
    except psutil.Error:
        return ""
    return next((f"{name} runs it" for name in names if name in UNMARKED), "")


def trust() -> str:
    """Return the trust of the memories that this command stores."""
    return AGENT if is_agent() else USER


def status() -> str:
    """Return the status of the memories that this command stores.

    An agent's memories wait for the person by the setting, or unless somebody is known to be asked. Raises ConfigError, and
    UsageError where an agent may store nothing.
    """
    if not is_agent():
        return "active"
    setting = context.settings()[AGENT_SETTING]
    if setting == NO_NOTES:
        raise UsageError(
            f"{AGENT_SETTING} is off: an agent stores nothing",
            f"the person allows it with `subcog config set {AGENT_SETTING} on`",
        )
    return PENDING if setting == WAITING_NOTES or not _is_asked() else "active"


def _is_asked() -> bool:
    """Return whether the client is known to ask a person before its agent runs a command. Claude Code alone says so."""
    if any(map(os.environ.get, {*AGENTS} - {IN_AN_AGENT, ANY_AGENT})):
        return False
    attended = os.environ.get(ATTENDED)
    if attended != "1" if attended is not None else os.environ.get(STARTED_AS) != ON_TERMINAL:
        return False
    try:
        with context.existing_state(context.home()) as state:
            return not (state and is_unasked(state, os.environ.get(SESSION, ""), now_ms()))
    except StoreError:
        return False


def origin(*, as_user: bool = False) -> str:
    """Return who asks the questions that this command stores. as_user: `--as-user` is given."""
    return AGENT if is_agent() and not as_user else PERSON


def require_consent(memories: Iterable[Memory], *, as_user: bool, status: str | None = None) -> None:
    """Raise UsageError where an agent is about to change the person's memory, or to accept one that waits.

    as_user: `--as-user` is given. status: the new status, None where it stays.
    """
    memories = list(memories)
    if not is_agent():
        return
    for id_ in {rule.memory for rule in home_files.read_rules(context.home())}.intersection(m.id for m in memories):
        raise UsageError(f"{id_} owns a rule of Claude Code, so only the person may change it", "run this in your own terminal")
    if as_user:
        return
    for memory in memories:
        if memory.trust == USER:
            raise needs_consent(f"{memory.id} was written by the person")
        if memory.status == PENDING and status not in (None, PENDING, "deleted"):
            raise needs_consent(f"{memory.id} waits for the person's word")
        if memory.status != "active" and status == "active":
            raise needs_consent(f"{memory.id} is {memory.status}, and may wait for the person's word")


def require_storing_rights(memory: Memory, *, as_user: bool) -> None:
    """Raise UsageError where an agent is about to change an active memory, but its own memories have to wait."""
    if is_agent() and not as_user and memory.status == "active" and status() == PENDING:
        raise needs_consent(f"an agent's memories wait here for review, and {memory.id} is active")


def require_person(reason: str, *, as_user: bool) -> None:
    """Raise UsageError where an agent runs this command without `--as-user`."""
    if is_agent() and not as_user:
        raise needs_consent(reason)


def needs_consent(reason: str) -> UsageError:
    """Return the error for an action that an agent may not do unasked."""
    return UsageError(
        f"{reason}, and this command is run by an agent ({_find_sign()})",
        "ask the person, then give --as-user; the client's permission rules can allow it",
    )
