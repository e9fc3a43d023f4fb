"""Who gives a command: the person at a terminal, or an agent, whose notes are its own and who asks before it changes others."""

import os
from collections.abc import Iterable

from subcog_hooks.errors import UsageError
from subcog_hooks.homes import IN_AN_AGENT
from subcog_hooks.memory.model import AGENT, PERSON, USER, Memory

AS_USER_HELP = "For an agent: the person has allowed to change what is the person's own."


def is_agent() -> bool:
    """Return whether an agent's client runs this command."""
    return os.environ.get(IN_AN_AGENT) == "1"


def trust() -> str:
    """Return the trust of what this command stores."""
    return AGENT if is_agent() else USER


def origin(*, as_user: bool = False) -> str:
    """Return who puts the questions that this command stores. as_user: `--as-user` is given."""
    return AGENT if is_agent() and not as_user else PERSON


def require_consent(memories: Iterable[Memory], *, as_user: bool) -> None:
    """Raise UsageError where an agent is about to change what the person wrote. as_user: `--as-user` is given."""
    if as_user or not is_agent():
        return
    for memory in memories:
        if memory.trust == USER:
            raise needs_consent(f"{memory.id} was written by the person")


def needs_consent(what: str) -> UsageError:
    """Return the error for what an agent may not do by the way."""
    return UsageError(
        f"{what}, and this command is run by an agent ({IN_AN_AGENT}=1)",
        "ask the person, then give --as-user; the client's permission rules can allow it",
    )
