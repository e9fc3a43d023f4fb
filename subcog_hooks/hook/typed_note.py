"""Store a note that the person has typed as a prompt, and compose the confirmation.

The imports take a tenth of a second, most of it for the redaction of secrets: they are loaded for a certain note only.
"""

from __future__ import annotations

import os

from subcog_hooks.capture.compose import redact_memory
from subcog_hooks.capture.duplicates import find_near_duplicates
from subcog_hooks.core import light_json
from subcog_hooks.core.errors import StoreError, SubcogError
from subcog_hooks.embed import spaces
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.hook.payload import PROMPT_EVENT, text_of
from subcog_hooks.redaction.masking import mask_secrets
from subcog_hooks.redaction.redact import describe_removed
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import BY_HASH, BY_REMEMBER
from subcog_hooks.store import index_sync, project, state_values
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.memory import IdMaker, Memory, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import audience_of
from subcog_hooks.text.sanitise import cut, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.core.light_json import Json
    from subcog_hooks.core.paths import Home

MAX_NEAR_SHOWN = 2  # similar memories in the confirmation
MAX_INDEXED_ANEW = 1_000  # A missing index of more memories is not rebuilt while the person waits.
MAX_EXCERPT_UNITS = 160  # UTF-16 units of a memory in the confirmation
CLEARING_HINT = "if your line stands below again: Ctrl-U clears it"  # The client 2.1.329 needs it, and 2.1.197 does not.
STORE_WAIT_MS = 1_000.0  # for another writing process
UNCERTAIN_MESSAGE = "subcog: the time was over while the note was being stored; `subcog list` shows whether it is there"


def store_note(text: str, owner: str | None, home: Home, prepare: Callable[[str], None]) -> str:
    """Store a note of the person; return the message for the person. Raises StoreError, InvalidMemory.

    prepare: sets the message for the case that the process is ended while the note is being stored.
    """
    now = now_ms()
    memory, removed = redact_memory(
        Memory(
            id=IdMaker().new(),
            content=text,
            scope="project" if owner else "user",
            project=owner,
            created_at=now,
            updated_at=now,
        )
    )
    with Store.writer(home, STORE_WAIT_MS) as store:
        for same in store.by_hash(memory.content_hash):
            if audience_of(same.scope, same.project) == audience_of(memory.scope, memory.project) and same.is_live(now):
                return f"subcog: already remembered as {same.id}\n{CLEARING_HINT}"
        similar_lines = _similar_note_lines(memory, home, store)  # Once it is stored, the answer comes first.
        prepare(UNCERTAIN_MESSAGE)
        store.add([memory])
    return "\n".join(_confirmation_lines(memory, describe_removed(removed), similar_lines))


def update_index(home: Home, log: Callable[[str], None]) -> None:
    """Bring index and vectors up to date, as far as there is time. The note is stored, and the person has the answer."""
    try:
        with Store.reader(home, STORE_WAIT_MS) as store:
            if sum(store.counts().values()) > MAX_INDEXED_ANEW:
                LexicalIndex.open(home)  # It raises where the whole index must be rebuilt.
            index_sync.bring_up_to_date(home, store)
            spaces.open_vectors(home, store, PACKAGED).close()
    except Exception as error:  # noqa: BLE001 - the next command does it
        log(f"index or vectors will follow a typed note with the next command: {error}")


def _similar_note_lines(memory: Memory, home: Home, store: Store) -> list[str]:
    """Return lines about memories that are nearly the same or say the opposite, as far as the index has them."""
    try:
        similar = find_near_duplicates(memory, LexicalIndex.open(home), store)[:MAX_NEAR_SHOWN]
    except Exception:  # noqa: BLE001 - an index that is missing or damaged keeps no note away
        return []
    lines = [f"{near.likeness}: {near.memory.id} {_excerpt(near.memory.content)}" for near in similar]
    if similar:
        lines.append(f"if it takes the place of that: subcog supersede {similar[0].memory.id} {memory.id}")
    return lines


def _excerpt(text: str) -> str:
    return cut(one_line(mask_secrets(text)), MAX_EXCERPT_UNITS)


def _confirmation_lines(memory: Memory, removed: str, similar_lines: list[str]) -> list[str]:
    owner = one_line(memory.project) if memory.project else "all your projects"
    first = f"subcog: remembered as {memory.id} in {memory.namespace} of {owner}; it comes when a prompt is about it"
    return [
        first,
        f"  {_excerpt(memory.content)}",
        *filter(None, (removed,)),
        *similar_lines,
        f"to undo: subcog forget {memory.id}",
        CLEARING_HINT,
    ]


# ATTENDED is 1 where a person sits at the session. Clients without it (2.1.197) set STARTED_AS, to `cli` on a terminal.
ATTENDED, STARTED_AS, ON_TERMINAL = "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_ENTRYPOINT", "cli"
# The client sets FOR_WHOM to `claude-code_2-1-329_harness` for a hook, and to `…_agent` for a command of the model.
FOR_WHOM, AGENT = "AI_AGENT", "_agent"
TYPED_NOTE_SETTING = "capture.typed"
REMEMBER, HASH = "remember:", "# "
MAX_TYPED = 500  # characters of a typed note's prompt
PAUSE_WAIT_MS = 1_000.0  # for another writing process
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
    if prompt[: len(REMEMBER)].lower() == REMEMBER:
        return " ".join(lines)[len(REMEMBER) :].strip() if all(lines) else ""
    if setting == BY_HASH and prompt.startswith(HASH) and len(lines) == 1:
        return prompt[len(HASH) :].strip()
    return ""


def answer_typed_note(
    payload: dict[str, object],
    home: Home,
    write: Callable[[bytes], None],
    prepare: Callable[[bytes], None],
    log: Callable[[str], None],
) -> bool:
    """Store the prompt's note, and stop the prompt. Return whether the prompt is a note; other prompts go on.

    prepare: sets the output for a process that is ended before.
    """
    prompt = text_of(payload, "prompt")
    if not _is_attended() or payload.get("agent_id"):
        return False
    if note_in_prompt(prompt, BY_REMEMBER):
        prepare(_not_stored_output(BUSY_REASON))  # Reading the settings may take too long, too.
    folder = text_of(payload, "cwd")
    here = project.find_project(folder) if os.path.isabs(folder) else None
    settings = loading.load(home, here.root if here else None)
    text = note_in_prompt(prompt, str(settings[TYPED_NOTE_SETTING]))
    if not text or _is_paused(home):
        prepare(b"")
        return False
    prepare(_not_stored_output(BUSY_REASON))
    try:
        owner = here.identity if here else None
        message = store_note(text, owner, home, lambda message: prepare(_stored_output(message)))
    except Exception as error:  # noqa: BLE001 - the person learns of any error that keeps the note out
        reason = str(error) if isinstance(error, SubcogError) else f"{type(error).__name__}: {error}"
        log(f"a typed note was not stored: {reason}")
        write(_not_stored_output(reason))
        return True
    prepare(_stored_output(message))
    write(_stored_output(message))
    update_index(home, log)
    return True


def _stored_output(message: str) -> bytes:
    hidden: Json = {"hookEventName": PROMPT_EVENT, "suppressOriginalPrompt": True}
    return light_json.dumps({"decision": "block", "reason": message, "hookSpecificOutput": hidden}).encode()


def _not_stored_output(reason: str) -> bytes:
    """Return the output that stops a prompt whose note is not stored. The person sees it, and can send it once more."""
    return light_json.dumps({"decision": "block", "reason": f"subcog: not stored, because {reason}"}).encode()


def _is_attended() -> bool:
    if os.environ.get(FOR_WHOM, "").endswith(AGENT):
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
        return state_values.is_paused(state, now_ms())
    finally:
        state.close()
