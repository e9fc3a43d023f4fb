"""Sources and kinds that the person refuses time and again: counted, and after five in a row asked about once: never again?"""

import os
from collections.abc import Sequence

from subcog_hooks.capture.sessions import proposals
from subcog_hooks.capture.sessions.fixes import TOOL_TRUST
from subcog_hooks.capture.sessions.kinds import COMMAND
from subcog_hooks.cli.reviewing import waiting
from subcog_hooks.cli.support import author, session
from subcog_hooks.cli.transcripts import learning
from subcog_hooks.errors import StoreError
from subcog_hooks.memory.model import AGENT, Memory
from subcog_hooks.settings.defaults import LLM_LEARNS, NO_NOTES
from subcog_hooks.state import numbers
from subcog_hooks.state.connection import State

ENOUGH = 5  # refusals in a row


class Refused:
    """A thing that is refused: a source of imports, the notes of agents, a model's, or a kind of what is said in sessions.

    told: in words; setting, value: by which it never comes again.
    """

    __slots__ = ("setting", "told", "value")

    def __init__(self, told: str, setting: str, value: str) -> None:
        self.told = told
        self.setting = setting
        self.value = value

    @property
    def name(self) -> str:
        return f"{self.setting} {self.value}"


def belongs_to(memory: Memory) -> Refused | None:
    """Return the source or kind of a memory that can be switched off, None where there is none."""
    if importer := waiting.importer_of(memory):
        return Refused(f"what a machine notes in {importer}", waiting.DROP_FROM, importer)
    if proposals.is_written_by_model(memory):
        return Refused("what a model writes of your sessions", LLM_LEARNS, "false")
    if proposals.is_from_session(memory):
        kind = _kind_of(memory)
        told = "each command that sessions show" if kind == COMMAND else f"each {kind} that is said in sessions"
        return Refused(told, learning.NEVER, kind) if kind else None
    if memory.trust == AGENT:
        return Refused("what agents note", author.AGENT_SETTING, NO_NOTES)
    return None


def count(memories: Sequence[Memory], *, refused: bool) -> list[Refused]:
    """Note that memories were refused, or kept. Return what was refused five times in a row now, to be asked about once."""
    home = session.home()
    found = []
    try:
        state = State.open(home, learning.STATE_BUSY_MS)
    except StoreError:
        return []  # it is only counted
    try:
        for memory in memories:
            one = belongs_to(memory)
            if one is None:
                continue
            if not refused:
                numbers.end_refusals(state, one.name)
            elif numbers.note_refusal(state, one.name) >= ENOUGH:
                numbers.end_refusals(state, one.name)  # whatever the answer is, the next question is five refusals away
                found.append(one)
    finally:
        state.close()
    return found


def take_back(memories: Sequence[Memory]) -> None:
    """Note that refusals were undone. Raises StoreError."""
    home = session.home()
    if not os.path.exists(home.state_db):
        return
    state = State.open(home, learning.STATE_BUSY_MS)
    try:
        for one in filter(None, map(belongs_to, memories)):
            numbers.take_back_refusal(state, one.name)
    finally:
        state.close()


def never_again(one: Refused) -> str:
    """Switch a source or kind off, and return the setting as it is then. Raises ConfigError."""
    from subcog_hooks.cli.config import keep  # with all that settings concern, for a question that is put once

    value = one.value
    if one.setting in (learning.NEVER, waiting.DROP_FROM):
        named = [name for name in str(session.settings()[one.setting]).split(",") if name and name != one.value]
        value = ",".join([*named, one.value])
    keep(one.setting, value)
    return f"{one.setting} = {value}"


def _kind_of(memory: Memory) -> str:
    """Return the kind of what came from a session, "" where its transcript is gone."""
    if memory.trust == TOOL_TRUST:
        return COMMAND
    turn = learning.turn_of(memory)
    again = proposals.propose(turn, "", memory.project) if turn else None
    return again.kind if again else ""
