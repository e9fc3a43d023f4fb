"""A note that the person types as a prompt: `remember: …` is stored, and the prompt is stopped, without a turn of the model.

A doubtful note goes on as a prompt. A note that cannot be stored is stopped as well, and the person gets the reason.
"""

from __future__ import annotations

import os

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import StoreError, SubcogError
from subcog_hooks.hook.payload import OF_CLIENT, PROMPT_EVENT, text_of
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import BY_HASH, BY_REMEMBER, NO_NOTES
from subcog_hooks.store import project
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.state import State, is_paused
from subcog_hooks.text.typed_prompt import without_added

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.core.light_json import Json
    from subcog_hooks.core.paths import Home

# ATTENDED is 1 where a person sits at the session. Clients without it (2.1.197) set STARTED_AS, to `cli` on a terminal.
ATTENDED, STARTED_AS, ON_TERMINAL = "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_ENTRYPOINT", "cli"
# The client sets FOR_WHOM to `claude-code_2-1-329_harness` for a hook, and to `…_agent` for a command of the model.
FOR_WHOM, AGENT = "AI_AGENT", "_agent"
TYPED_NOTE_SETTING = "capture.typed"
REMEMBER, HASH = "remember:", "# "
WIDE_COLON = "\uff1a"
MAX_TYPED = 500  # characters of a typed note's prompt
PAUSE_WAIT_MS = 1_000.0  # for another writing process
CLEARING_HINT = "if your line stands below again: Ctrl-U clears it"  # Claude Code 2.1.329 needs it, and 2.1.197 does not.
TOO_LONG = "subcog: not stored: a typed note is one paragraph of at most {} characters; `subcog remember` takes more"
BUSY_REASON = "this machine was too busy; send it once more"


def note_in_prompt(prompt: str, setting: str) -> str:
    """Return the note that a prompt wants stored, "" for none. setting: the forms that count.

    >>> note_in_prompt("remember: we deploy on Tuesdays", "remember"), note_in_prompt("# x", "remember")
    ('we deploy on Tuesdays', '')
    >>> [note_in_prompt(prompt, "hash") for prompt in ("# we deploy on Tuesdays", "# Heading\\ntext", "remember:\\n")]
    ['we deploy on Tuesdays', '', '']
    >>> note_in_prompt("remember: a\\n\\nb", "hash")
    ''
    """
    prompt = prompt.strip()
    if setting not in (BY_REMEMBER, BY_HASH) or len(prompt) > MAX_TYPED:
        return ""
    lines = [line.strip() for line in prompt.splitlines()]
    if _begins_as_note(prompt):
        return " ".join(lines)[len(REMEMBER) :].strip() if all(lines) else ""
    if setting == BY_HASH and prompt.startswith(HASH) and len(lines) == 1:
        return prompt[len(HASH) :].strip()
    return ""


def _begins_as_note(prompt: str) -> bool:
    return prompt[: len(REMEMBER)].lower().replace(WIDE_COLON, ":") == REMEMBER


def typed_text(prompt: str) -> str:
    """Return a prompt without what the client has added: its elements, and placeholders of images and pasted texts.

    >>> typed_text("remember: logs go to Loki [Image #1]\\n<system-reminder>hi</system-reminder>")
    'remember: logs go to Loki'
    """
    import re  # Few prompts are notes.

    return re.sub(r"\[(?:image #|image: |pasted text #)[^]\n]*\]", "", without_added(prompt), flags=re.IGNORECASE).strip()


def answer_typed_note(
    payload: dict[str, object],
    home: Home,
    write: Callable[[bytes], None],
    prepare: Callable[[bytes], None],
    log: Callable[[str], None],
) -> str | None:
    """Store the note of a prompt that a person has typed, and stop the prompt: None.

    Another prompt goes on, with the returned message for the person, "" for none. prepare: sets the output for a process that
    is ended before.
    """
    prompt = typed_text(text_of(payload, "prompt"))
    to_output = _stop_output if OF_CLIENT in payload else _hiding_output
    if note_in_prompt(prompt, BY_REMEMBER):
        prepare(_not_stored_output(BUSY_REASON))  # Reading the settings may take too long, too.
    folder = text_of(payload, "cwd")
    here = project.find_project(folder) if os.path.isabs(folder) else None
    settings = loading.load(home, here.root if here else None)
    text = note_in_prompt(prompt, str(settings[TYPED_NOTE_SETTING]))
    if not text or _is_paused(home):
        prepare(b"")
        is_long = _begins_as_note(prompt) and len(prompt) > len(REMEMBER) and settings[TYPED_NOTE_SETTING] != NO_NOTES
        return TOO_LONG.format(MAX_TYPED) if is_long and not text else ""
    prepare(_not_stored_output(BUSY_REASON))
    try:
        from subcog_hooks.hook import note_storing  # A tenth of a second, only for a certain note.

        owner = here.identity if here else None
        message = note_storing.store_note(text, owner, home, lambda message: prepare(to_output(message)))
    except Exception as error:  # noqa: BLE001 - the person learns of any error that keeps the note out
        reason = str(error) if isinstance(error, SubcogError) else f"{type(error).__name__}: {error}"
        log(f"a typed note was not stored: {reason}")
        write(_not_stored_output(reason))
        return None
    prepare(to_output(message))
    write(to_output(message))
    note_storing.update_index(home, log)
    return None


def _hiding_output(message: str) -> bytes:
    """Return the output that stops a prompt, and lets Claude Code hide it. Codex takes no field that it does not know."""
    hidden: Json = {"hookEventName": PROMPT_EVENT, "suppressOriginalPrompt": True}
    reason = f"{message}\n{CLEARING_HINT}"
    return light_json.dumps({"decision": "block", "reason": reason, "hookSpecificOutput": hidden}).encode()


def _stop_output(message: str) -> bytes:
    return light_json.dumps({"decision": "block", "reason": message}).encode()


def _not_stored_output(reason: str) -> bytes:
    """Return the output that stops a prompt whose note is not stored. The person sees it, and can send it once more."""
    return _stop_output(f"subcog: not stored, because {reason}")


def is_attended(payload: dict[str, object]) -> bool:
    """Return whether a person has typed a prompt into Claude Code."""
    if payload.get("agent_id") or os.environ.get(FOR_WHOM, "").endswith(AGENT):
        return False
    attended = os.environ.get(ATTENDED)
    return attended == "1" if attended is not None else os.environ.get(STARTED_AS) == ON_TERMINAL


def _is_paused(home: Home) -> bool:
    if not os.path.exists(home.state_db):
        return False
    try:
        state = State.open(home, PAUSE_WAIT_MS)
    except StoreError:
        return False
    try:
        return is_paused(state, now_ms())
    finally:
        state.close()
