"""A typed note apart from an order or a question to the agent behind it, in English. Pure.

A rule is an order as well ("Run just tidy before you commit"), and belongs to the note. So an order needs a sign that it is
meant once: a word such as "now" before it, or a verb that no rule begins with.
"""

from __future__ import annotations

import os

from subcog_hooks.capture.compose import redact_note
from subcog_hooks.capture.duplicates import find_near_duplicates
from subcog_hooks.capture.written_dates import day_after_end
from subcog_hooks.core import light_json
from subcog_hooks.core.errors import StoreError, SubcogError
from subcog_hooks.embed import spaces
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.hook.payload import OF_CLIENT, PROMPT_EVENT, text_of
from subcog_hooks.redaction.masking import mask_secrets
from subcog_hooks.redaction.redact import describe_removed
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import BY_HASH, BY_REMEMBER
from subcog_hooks.store import index_writer, project, state_values
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.memory import USER, IdMaker, Memory, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter, audience_of
from subcog_hooks.text.prompt_needs import split_sentences
from subcog_hooks.text.sanitise import cut, one_line
from subcog_hooks.text.standing_rules import ORDERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.core.light_json import Json
    from subcog_hooks.core.paths import Home


_AT_ONCE = frozenset("now please next then ok okay so great thanks".split())  # words before an order that is meant once
_SMALL = frozenset("and also just".split())
_ONCE_VERBS = frozenset(
    "fix implement continue refactor explain debug investigate summarise summarize tell show find look finish help".split()
)
_REQUESTS = (
    "can you",
    "could you",
    "would you",
    "will you",
    "let's",
    "let us",
    "go ahead",
    "go on",
    "i want you to",
    "i need you to",
)
_STANDING = frozenset(
    "always never every each whenever when before after if unless until must should only instead all any no not".split()
)


def split_note(text: str) -> tuple[str, str]:
    """Return a note without the sentences from an order or a question to the agent on, and those sentences.

    >>> split_note("We deploy on Tuesdays. Now fix the login bug.")
    ('We deploy on Tuesdays.', 'Now fix the login bug.')
    >>> split_note("We use pnpm. Run just tidy before you commit. Never use npm.")
    ('We use pnpm. Run just tidy before you commit. Never use npm.', '')
    """
    sentences = split_sentences(text)
    for index, sentence in enumerate(sentences[1:], 1):
        if _is_for_agent(sentence):
            return " ".join(sentences[:index]), " ".join(sentences[index:])
    return text, ""


def _is_for_agent(sentence: str) -> bool:
    words = [bare for word in sentence.lower().split() if (bare := word.strip("\"'`*_()[]{}<>.,;:!?-"))]
    is_at_once = False
    while words and words[0] in _AT_ONCE | _SMALL:
        is_at_once |= words[0] in _AT_ONCE
        del words[0]
    if sentence.endswith("?") or " ".join(words).startswith(_REQUESTS):
        return True
    if not words or not _STANDING.isdisjoint(words):
        return False
    return words[0] in _ONCE_VERBS or (is_at_once and words[0] in ORDERS)


MAX_NEAR_SHOWN = 2  # similar memories in the confirmation
MAX_INDEXED_ANEW = 1_000  # A missing index of more memories is not rebuilt while the person waits.
MAX_EXCERPT_UNITS = 160  # UTF-16 units of a memory in the confirmation
MAX_ORDER_UNITS = 500  # UTF-16 units of the part that is for the agent
MAX_EARLIER = 5  # newest memories that a note may begin with
GLUED_SECONDS = 300  # the age up to which a note may still stand in the client's input
STORE_WAIT_MS = 1_000.0  # for another writing process
UNCERTAIN_MESSAGE = "subcog: the time was over while the note was being stored; `subcog list` shows whether it is there"


def store_note(text: str, owner: str | None, home: Home, prepare: Callable[[str], None]) -> str:
    """Store a note of the person; return the message for the person. Raises StoreError, InvalidMemory.

    prepare: sets the message for the case that the process is ended while the note is being stored.
    """
    now = now_ms()
    note, order = split_note(text)
    memory, removed = redact_note(
        Memory(
            id=IdMaker().new(),
            content=note,
            scope="project" if owner else "user",
            project=owner,
            created_at=now,
            updated_at=now,
        )
    )
    with Store.writer(home, STORE_WAIT_MS) as store:
        for same in store.by_hash(memory.content_hash):
            if audience_of(same.scope, same.project) == audience_of(memory.scope, memory.project) and same.is_live(now):
                return f"subcog: already remembered as {same.id}"
        if glued := _glued_message(text, memory, store):
            return glued
        similar_lines = _similar_note_lines(memory, home, store)  # Once it is stored, the answer comes first.
        prepare(UNCERTAIN_MESSAGE)
        store.add([memory])
    if order:
        similar_lines.append(f"not stored, since it is for the agent; send it by itself: {_excerpt(order, MAX_ORDER_UNITS)}")
    return "\n".join(_confirmation_lines(memory, describe_removed(removed), similar_lines))


def update_index(home: Home, log: Callable[[str], None]) -> None:
    """Bring index and vectors up to date, as far as there is time. The note is stored, and the person has the answer."""
    try:
        with Store.reader(home, STORE_WAIT_MS) as store:
            if sum(store.counts().values()) > MAX_INDEXED_ANEW:
                LexicalIndex.open(home)  # It raises where the whole index must be rebuilt.
            index_writer.bring_up_to_date(home, store)
            spaces.open_vectors(home, store, PACKAGED).close()
    except Exception as error:  # noqa: BLE001 - the next command does it
        log(f"index or vectors will follow a typed note with the next command: {error}")


def _glued_message(text: str, memory: Memory, store: Store) -> str:
    """Return the answer to a note that begins with one stored just now, "" for any other.

    Claude Code 2.1.329 leaves a typed note in its input, and the next prompt is typed behind it.
    """
    audience = Filter(audiences=(audience_of(memory.scope, memory.project),))
    for earlier in store.select(audience, MAX_EARLIER):
        seconds = (memory.created_at - earlier.created_at) // 1_000
        if earlier.trust == USER and seconds <= GLUED_SECONDS and memory.content.startswith(earlier.content):
            rest = _excerpt(text[len(earlier.content) :], MAX_ORDER_UNITS)
            return (
                f"subcog: not stored: it begins with {earlier.id}, stored {seconds} seconds ago\n"
                f"for the agent? Send the rest by itself: {rest}"
            )
    return ""


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


def _excerpt(text: str, max_units: int = MAX_EXCERPT_UNITS) -> str:
    return cut(one_line(mask_secrets(text)), max_units)


def _confirmation_lines(memory: Memory, removed: str, similar_lines: list[str]) -> list[str]:
    owner = one_line(memory.project) if memory.project else "all your projects"
    day = day_after_end(memory.content, memory.created_at)
    first = f"subcog: remembered as {memory.id} in {memory.namespace} of {owner}; it comes when a prompt is about it"
    return [
        first,
        f"  {_excerpt(memory.content)}",
        *filter(None, (removed,)),
        *similar_lines,
        *([f"it names an end, to forget it then: subcog edit {memory.id} --expires {day}"] if day else []),
        f"to undo: subcog forget {memory.id}",
    ]


# ATTENDED is 1 where a person sits at the session. Clients without it (2.1.197) set STARTED_AS, to `cli` on a terminal.
ATTENDED, STARTED_AS, ON_TERMINAL = "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_ENTRYPOINT", "cli"
# The client sets FOR_WHOM to `claude-code_2-1-329_harness` for a hook, and to `…_agent` for a command of the model.
FOR_WHOM, AGENT = "AI_AGENT", "_agent"
TYPED_NOTE_SETTING = "capture.typed"
REMEMBER, HASH = "remember:", "# "
MAX_TYPED = 500  # characters of a typed note's prompt
PAUSE_WAIT_MS = 1_000.0  # for another writing process
CLEARING_HINT = "if your line stands below again: Ctrl-U clears it"  # Claude Code 2.1.329 needs it, and 2.1.197 does not.
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
    """Store the note of a prompt that a person has typed, and stop the prompt. Return whether the prompt is a note.

    prepare: sets the output for a process that is ended before.
    """
    prompt = text_of(payload, "prompt")
    to_output = _foreign_output if OF_CLIENT in payload else _stored_output
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
        message = store_note(text, owner, home, lambda message: prepare(to_output(message)))
    except Exception as error:  # noqa: BLE001 - the person learns of any error that keeps the note out
        reason = str(error) if isinstance(error, SubcogError) else f"{type(error).__name__}: {error}"
        log(f"a typed note was not stored: {reason}")
        write(_not_stored_output(reason))
        return True
    prepare(to_output(message))
    write(to_output(message))
    update_index(home, log)
    return True


def _stored_output(message: str) -> bytes:
    hidden: Json = {"hookEventName": PROMPT_EVENT, "suppressOriginalPrompt": True}
    reason = f"{message}\n{CLEARING_HINT}"
    return light_json.dumps({"decision": "block", "reason": reason, "hookSpecificOutput": hidden}).encode()


def _foreign_output(message: str) -> bytes:
    """Return the output for another client: Codex takes no field that it does not know."""
    return light_json.dumps({"decision": "block", "reason": message}).encode()


def _not_stored_output(reason: str) -> bytes:
    """Return the output that stops a prompt whose note is not stored. The person sees it, and can send it once more."""
    return _foreign_output(f"subcog: not stored, because {reason}")


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
        return state_values.is_paused(state, now_ms())
    finally:
        state.close()
