"""A prompt such as "remember that we always use tabs": the person is told once a session how to store it."""

from __future__ import annotations

import os

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import StoreError
from subcog_hooks.hook import prompt, typed_note
from subcog_hooks.hook.payload import OF_CLIENT, session_of, text_of
from subcog_hooks.redaction.masking import mask_secrets
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import BY_HASH, BY_REMEMBER
from subcog_hooks.store import project, state_values
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.state import State
from subcog_hooks.text.sanitise import cut, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.core.light_json import Json
    from subcog_hooks.core.paths import Home

MAX_NOTE_UNITS = 200  # UTF-16 units of the offered note
STATE_WAIT_MS = 50.0  # for another writing process
_BEGINNINGS = ("please remember that ", "please remember, ", "please remember ", "remember that ", "remember, ", "remember ")
_SUBJECTS = frozenset("we i you our my it there the this all every always never in to not".split())


def asked_note(text: str) -> str:
    """Return the note that a prompt asks to remember in plain words, "" for none.

    >>> asked_note("Remember that we always use tabs"), asked_note("remember that bug?"), asked_note("remember: we use tabs")
    ('we always use tabs', '', '')
    """
    text = text.strip()
    begins = next((beginning for beginning in _BEGINNINGS if text.lower().startswith(beginning)), "")
    note = text[len(begins) :].strip()
    is_note = begins and note and note.split(None, 1)[0].lower() in _SUBJECTS
    return note if is_note and len(text) <= typed_note.MAX_TYPED and not note.endswith("?") else ""


def respond(payload: dict[str, object], home: Home, write: Callable[[bytes], None], deadline: Deadline) -> None:
    """Answer a prompt as `prompt.respond` does, with the offer where it is due. Raises StoreError."""
    offer = _take_offer(payload, home)
    if not offer:
        prompt.respond(payload, home, write, deadline)
        return
    written: list[bytes] = []

    def write_with_offer(output: bytes) -> None:
        fields = light_json.loads(output.decode()) if output else {}
        whole: dict[str, Json] = dict(fields) if isinstance(fields, dict) else {}
        whole["systemMessage"] = "\n".join(map(str, filter(None, (whole.get("systemMessage"), offer))))
        written.append(output)
        write(light_json.dumps(whole).encode() + b"\n")

    try:
        prompt.respond(payload, home, write_with_offer, deadline)
    finally:
        if not written:
            write_with_offer(b"")


def _take_offer(payload: dict[str, object], home: Home) -> str:
    """Return the message for the person, "" where none is due. It is noted as given."""
    note = asked_note(text_of(payload, "prompt"))
    if not note or OF_CLIENT in payload or not typed_note.is_attended(payload):
        return ""
    folder = text_of(payload, "cwd")
    here = project.find_project(folder) if os.path.isabs(folder) else None
    if loading.load(home, here.root if here else None)[typed_note.TYPED_NOTE_SETTING] not in (BY_REMEMBER, BY_HASH):
        return ""
    try:
        home.create()
        state = State.open(home, STATE_WAIT_MS)
        try:
            is_due = not state_values.is_paused(state, now_ms()) and state_values.take_offer(
                state, session_of(payload), now_ms()
            )
        finally:
            state.close()
    except StoreError:
        return ""
    shown = cut(one_line(mask_secrets(note)), MAX_NOTE_UNITS)
    return f"subcog: to keep that for later sessions, type: remember: {shown}" if is_due else ""
