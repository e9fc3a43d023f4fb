"""A note that the person types as a prompt: `remember: …` is stored, and goes no further. It costs no turn of the model.

Whatever is not certainly one goes on as a prompt. One that can not be stored is stopped as well, and the person is told why.
"""

from __future__ import annotations

import os

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import StoreError, SubcogError
from subcog_hooks.hook.payload import PROMPT_EVENT, text_of
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import BY_HASH, BY_REMEMBER
from subcog_hooks.store import project, state_values
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.state import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.core.light_json import Json
    from subcog_hooks.core.paths import Home

# 1 where a person sits at the session; a client that does not say so (2.1.197) tells how it was started, `cli` on a terminal
ATTENDED, STARTED_AS, ON_TERMINAL = "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_ENTRYPOINT", "cli"
# whom the client starts something for: `claude-code_2-1-329_harness` for a hook, `…_agent` for what the model runs in its shell
FOR_WHOM, AGENT = "AI_AGENT", "_agent"
SETTING = "capture.typed"
REMEMBER, HASH = "remember:", "# "
MAX_TYPED = 500  # characters of such a prompt
PAUSE_WAIT_MS = 1_000.0  # for another process that writes
TOO_BUSY = "this machine was too busy; send it once more"


def note_of(prompt: str, setting: str) -> str:
    """Return what a prompt wants remembered, "" where it is no such prompt. setting: which forms count.

    >>> note_of("remember: we deploy on Tuesdays", "remember"), note_of("# Heading\\ntext", "hash"), note_of("# x", "remember")
    ('we deploy on Tuesdays', '', '')
    >>> note_of("# we deploy on Tuesdays", "hash"), note_of("remember:\\n", "hash"), note_of("remember: a\\n\\nb", "hash")
    ('we deploy on Tuesdays', '', '')
    """
    prompt = prompt.strip()
    if setting not in (BY_REMEMBER, BY_HASH) or len(prompt) > MAX_TYPED:
        return ""
    lines = [line.strip() for line in prompt.splitlines()]
    if prompt[: len(REMEMBER)].lower() == REMEMBER:
        return " ".join(lines)[len(REMEMBER) :].strip() if all(lines) else ""
    if setting == BY_HASH and prompt.startswith(HASH) and len(lines) == 1:
        return prompt[len(HASH) :].strip()
    return ""


def respond(
    payload: dict[str, object],
    home: Home,
    write: Callable[[bytes], None],
    prepare: Callable[[bytes], None],
    log: Callable[[str], None],
) -> bool:
    """Store the note that a prompt is, and stop the prompt. Return whether it is one; else it goes on.

    prepare: sets what is written where the process is ended before.
    """
    prompt = text_of(payload, "prompt")
    if not _is_attended() or payload.get("agent_id"):
        return False
    if note_of(prompt, BY_REMEMBER):
        prepare(_not_stored(TOO_BUSY))  # also while the settings are being read
    folder = text_of(payload, "cwd")
    here = project.find(folder) if os.path.isabs(folder) else None
    settings = loading.load(home, here.root if here else None)
    text = note_of(prompt, str(settings[SETTING]))
    if not text or _is_paused(home):
        prepare(b"")
        return False
    prepare(_not_stored(TOO_BUSY))
    try:
        from subcog_hooks.hook import note_storing  # once it is surely a note

        message = note_storing.store_note(text, here.identity if here else None, home, lambda said: prepare(_stored(said)))
    except Exception as error:  # noqa: BLE001 - whatever it was, the person learns that nothing is kept
        why = str(error) if isinstance(error, SubcogError) else f"{type(error).__name__}: {error}"
        log(f"a typed note was not stored: {why}")
        write(_not_stored(why))
        return True
    prepare(_stored(message))
    write(_stored(message))
    note_storing.follow(home, log)
    return True


def _stored(message: str) -> bytes:
    """Return the answer that stops a prompt whose note is kept: it need not be read again."""
    hidden: Json = {"hookEventName": PROMPT_EVENT, "suppressOriginalPrompt": True}
    return light_json.dumps({"decision": "block", "reason": message, "hookSpecificOutput": hidden}).encode()


def _not_stored(why: str) -> bytes:
    """Return the answer that stops a prompt whose note is not kept: the person sees it again, and can send it once more."""
    return light_json.dumps({"decision": "block", "reason": f"subcog: not stored, because {why}"}).encode()


def _is_attended() -> bool:
    if os.environ.get(FOR_WHOM, "").endswith(AGENT):
        return False
    said = os.environ.get(ATTENDED)
    return said == "1" if said is not None else os.environ.get(STARTED_AS) == ON_TERMINAL


def _is_paused(home: Home) -> bool:
    if not os.path.exists(home.state_db):
        return False
    try:
        state = State.open(home, PAUSE_WAIT_MS)
    except StoreError:
        return False
    try:
        return state_values.is_paused(state, now_ms())
    finally:
        state.close()
