"""A note that the person types as a prompt: `remember: …` is stored, and goes no further. It costs no turn of the model.

Whatever is not certainly one, and what could not be stored, goes on as a prompt.
"""

import os

from subcog_hooks import wire
from subcog_hooks.capture.compose import cleaned
from subcog_hooks.capture.duplicates import near_duplicates
from subcog_hooks.embed import spaces
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.errors import StoreError, SubcogError
from subcog_hooks.hooks.payload import PROMPT_EVENT, text_of
from subcog_hooks.hooks.sanitise import cut, one_line
from subcog_hooks.memory import project, sync
from subcog_hooks.memory.index import LexicalIndex
from subcog_hooks.memory.model import IdMaker, Memory, now_ms
from subcog_hooks.memory.store import Store, audience_of
from subcog_hooks.redaction.leaks import mask
from subcog_hooks.redaction.redact import describe
from subcog_hooks.settings import loading
from subcog_hooks.settings.keys import BY_HASH, BY_REMEMBER
from subcog_hooks.state import pause
from subcog_hooks.state.connection import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.paths import Home
    from subcog_hooks.wire import Json

# 1 where a person sits at the session; a client that does not say so (2.1.197) tells how it was started, `cli` on a terminal
ATTENDED, STARTED_AS, ON_TERMINAL = "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_ENTRYPOINT", "cli"
# whom the client starts something for: `claude-code_2-1-329_harness` for a hook, `…_agent` for what the model runs in its shell
FOR_WHOM, AGENT = "AI_AGENT", "_agent"
SETTING = "capture.typed"
REMEMBER, HASH = "remember:", "# "
MAX_TYPED = 500  # characters of such a prompt
MAX_NEAR_SHOWN = 2  # memories that are nearly the same
MAX_INDEXED_ANEW = 1_000  # memories of which a missing index is made while the person waits
SHOWN_UNITS = 160  # of each, in UTF-16 units
CLEARING = "if your line stands below again: Ctrl-U clears it"  # as 2.1.329 has it, and 2.1.197 not
STORE_WAIT_MS = 1_000.0  # for another process that writes


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


def respond(payload: dict[str, object], home: "Home", write: "Callable[[bytes], None]", log: "Callable[[str], None]") -> bool:
    """Store what the prompt wants remembered, and stop it. Return whether that was done; else the prompt goes on."""
    if not _is_attended() or payload.get("agent_id"):
        return False
    folder = text_of(payload, "cwd")
    here = project.find(folder) if os.path.isabs(folder) else None
    settings = loading.load(home, here.root if here else None)
    text = note_of(text_of(payload, "prompt"), str(settings[SETTING]))
    if not text or _is_paused(home):
        return False
    try:
        told = _store(text, here.identity if here else None, home)
    except SubcogError as error:
        log(f"a typed note was not stored, and went on as a prompt: {error}")
        return False
    _answer(told, write)
    _follow(home, log)
    return True


def _answer(told: str, write: "Callable[[bytes], None]") -> None:
    hidden: Json = {"hookEventName": PROMPT_EVENT, "suppressOriginalPrompt": True}  # what was typed need not be read again
    write(wire.dumps({"decision": "block", "reason": told, "hookSpecificOutput": hidden}).encode())


def _follow(home: "Home", log: "Callable[[str], None]") -> None:
    """Bring index and vectors up to date, as far as there is time. The note is safe, and the person has been told."""
    try:
        with Store.reader(home, STORE_WAIT_MS) as store:
            if sum(store.counts().values()) > MAX_INDEXED_ANEW:
                LexicalIndex.open(home)  # raises where all of it would have to be made anew
            sync.catch_up(home, store)
            spaces.open_following(home, store, PACKAGED).close()
    except Exception as error:  # noqa: BLE001 - the next command does it
        log(f"index or vectors will follow a typed note with the next command: {error}")


def _is_attended() -> bool:
    if os.environ.get(FOR_WHOM, "").endswith(AGENT):
        return False
    said = os.environ.get(ATTENDED)
    return said == "1" if said is not None else os.environ.get(STARTED_AS) == ON_TERMINAL


def _is_paused(home: "Home") -> bool:
    if not os.path.exists(home.state_db):
        return False
    try:
        state = State.open(home, STORE_WAIT_MS)
    except StoreError:
        return False
    try:
        return pause.is_on(state, now_ms())
    finally:
        state.close()


def _store(text: str, owner: str | None, home: "Home") -> str:
    """Store a note of the person; return what the person is told. Raises StoreError, InvalidMemory."""
    now = now_ms()
    memory, removed = cleaned(
        Memory(
            id=IdMaker().new(),
            content=text,
            scope="project" if owner else "user",
            project=owner,
            created_at=now,
            updated_at=now,
        )
    )
    if os.path.exists(home.memories_db):
        with Store.reader(home, STORE_WAIT_MS) as store:
            if not store.is_current():  # to migrate it takes longer than a prompt waits
                raise StoreError("the store is of an earlier version", "any command of subcog migrates it")
    with Store.writer(home, STORE_WAIT_MS) as store:
        for same in store.by_hash(memory.content_hash):
            if audience_of(same.scope, same.project) == audience_of(memory.scope, memory.project) and same.is_live(now):
                return f"subcog: already remembered as {same.id}\n{CLEARING}"
        likenesses = _likenesses(memory, home, store)  # not after it is stored: then the answer is all that counts
        store.add([memory])
    return "\n".join(_told(memory, describe(removed), likenesses))


def _likenesses(memory: Memory, home: "Home", store: Store) -> list[str]:
    """Return what is nearly the same, or says the opposite, in lines; of what the index knows by now."""
    try:
        similar = near_duplicates(memory, LexicalIndex.open(home), store)[:MAX_NEAR_SHOWN]
    except Exception:  # noqa: BLE001 - an index that is missing or damaged keeps no note away
        return []
    lines = [f"{near.likeness}: {near.memory.id} {_shown(near.memory.content)}" for near in similar]
    if similar:
        lines.append(f"if it takes the place of that: subcog supersede {similar[0].memory.id} {memory.id}")
    return lines


def _shown(text: str) -> str:
    return cut(one_line(mask(text)), SHOWN_UNITS)


def _told(memory: Memory, removed: str, likenesses: list[str]) -> list[str]:
    owner = one_line(memory.project) if memory.project else "all your projects"
    kept = f"subcog: remembered as {memory.id} in {memory.namespace} of {owner}; it comes when a prompt is about it"
    return [
        kept,
        f"  {_shown(memory.content)}",
        *filter(None, (removed,)),
        *likenesses,
        f"to undo: subcog forget {memory.id}",
        CLEARING,
    ]
