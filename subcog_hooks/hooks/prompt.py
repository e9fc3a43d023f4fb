"""UserPromptSubmit: from the payload to an injected block, or to silence."""

import os

from subcog_hooks import config
from subcog_hooks.embed import static
from subcog_hooks.errors import StoreCorrupt, StoreError, SubcogError
from subcog_hooks.hooks.render import Entry, render_block, to_hook_output
from subcog_hooks.intent import keywords
from subcog_hooks.memory import project
from subcog_hooks.memory.index import LexicalIndex
from subcog_hooks.memory.model import now_ms
from subcog_hooks.memory.store import Store, audiences_of
from subcog_hooks.memory.vector_file import ExtensionMissing, path_of
from subcog_hooks.memory.vectors import VectorStore
from subcog_hooks.recall import pipeline, semantic, tuning
from subcog_hooks.recall.candidates import Sources
from subcog_hooks.recall.hits import Hit
from subcog_hooks.state import State, put_aside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.deadline import Deadline
    from subcog_hooks.paths import Home

EVENT = "UserPromptSubmit"
MAX_SESSION = 200  # characters of a session id that are kept
SILENCE = "[nomem]"  # in a prompt: not this time
VECTORS_WAIT_MS = 20.0  # for a file that another process has locked; words are found without it
PRINT_MS = 5.0  # what rendering and writing need at the end
MIN_CONFIDENCE = 0.5  # of the intent; below it the hook stays silent (DESIGN section 6)
COUNTS = ((0.8, 6), (0.65, 4), (0.0, 3))  # at most so many memories from that confidence on (DESIGN 7, the gate)

_left_open: list[
    State | Store | VectorStore
] = []  # closing the last connection checkpoints and deletes the WAL: 2 ms at every prompt


def respond(payload: dict[str, object], home: "Home", write: "Callable[[bytes], None]", deadline: "Deadline") -> None:
    """Answer one prompt: `write` is called once with the output, or not at all. Raises StoreError."""
    try:
        _respond(payload, home, write, deadline)
    except StoreCorrupt as error:
        if home.state_db not in error.message:
            raise
        _log(home, f"{error.message}; it is put aside and made anew, without the ledger and a pause")
        put_aside(home)
        _respond(payload, home, write, deadline)


def _respond(payload: dict[str, object], home: "Home", write: "Callable[[bytes], None]", deadline: "Deadline") -> None:
    text = _text(payload, "prompt")
    if SILENCE in text:
        return
    intent = keywords.detect(text)
    if intent.confidence < MIN_CONFIDENCE or not os.path.exists(home.memories_db):
        return
    folder = _text(payload, "cwd")
    here = project.find(folder) if os.path.isabs(folder) else None
    state = State.open(home, max(1.0, deadline.left_ms() - PRINT_MS))
    _left_open.append(state)
    settings = config.load(home, here.root if here else None, state)
    for problem in settings.problems:
        _log(home, problem)
    if not settings["surfacing.enabled"] or state.paused(now_ms()):
        return
    session = _text(payload, "session_id")[:MAX_SESSION]
    given = state.injected(session) if session else set()
    audiences = audiences_of(*here.names) if here else audiences_of()
    sources = _sources(home, tuning.of(settings), deadline)
    answer = pipeline.for_prompt(keywords.ends_of(text), sources, audiences, deadline, given, intent.type)
    if answer.note:
        _log(home, answer.note)
    relevant = [hit for hit in answer.hits if hit.relevance >= float(settings["surfacing.min_relevance"])]
    relevant = pipeline.without_repeats(relevant, sources)
    if not relevant or deadline.left_ms() < PRINT_MS:
        return
    _inject(relevant, intent, settings, state, session, home, write)


def _text(payload: dict[str, object], name: str) -> str:
    """A field of the payload, "" when it is no text; half a surrogate pair, as a cut in JavaScript leaves it, becomes `?`."""
    value = payload.get(name)
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def _sources(home: "Home", numbers: tuning.Tuning, deadline: "Deadline") -> Sources:
    """What recall reads; without vectors words alone will do, and `doctor` says what is the matter."""
    index = LexicalIndex.open(home)
    store = Store.reader(home, max(1.0, deadline.left_ms() - PRINT_MS))
    _left_open.append(store)
    if numbers.alpha == 0.0 or not os.path.exists(path_of(home, static.SPACE)):
        return Sources(index, store, None, numbers)
    try:
        encoder = static.StaticEncoder.open()
        vectors = VectorStore.reader(home, static.SPACE, encoder.dimension, VECTORS_WAIT_MS)
    except ExtensionMissing:
        return Sources(index, store, None, numbers)
    except SubcogError as error:
        _log(home, f"recall by words alone: {error}")
        return Sources(index, store, None, numbers)
    _left_open.append(vectors)
    return Sources(index, store, semantic.Space(vectors, semantic.in_latin(encoder.encode)), numbers)


def _inject(
    relevant: list[Hit],
    intent: keywords.Intent,
    settings: config.Settings,
    state: State,
    session: str,
    home: "Home",
    write: "Callable[[bytes], None]",
) -> None:
    """Write the block, once for each memory and session.

    The ledger's lock is taken first, so that two hooks of one session at once can not both inject a memory; it is committed
    after the write, so that a hook which dies in between repeats a memory rather than losing it.
    """
    if session:
        state.begin()
    given = state.injected(session) if session else set()
    most = min(int(settings["surfacing.max_memories"]), next(count for floor, count in COUNTS if intent.confidence >= floor))
    fresh = [hit.memory for hit in relevant if hit.memory.id not in given][:most]
    entries = [Entry(memory.namespace, memory.created_at, memory.id, memory.content) for memory in fresh]
    units = int(settings["surfacing.max_characters"])
    block = render_block(entries, intent=intent.type, confidence=intent.confidence, max_units=units)
    if block.ids:
        write(to_hook_output(EVENT, block.text))
    if session:
        try:
            if block.ids:
                state.record(session, block.ids, now_ms())
            state.commit()
        except StoreError as error:
            _log(home, f"the ledger was not kept: {error}")


def _log(home: "Home", message: str) -> None:
    from subcog_hooks import log  # only when there is something to say

    log.write(home, message)
