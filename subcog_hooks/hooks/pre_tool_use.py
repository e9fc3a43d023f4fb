"""PreToolUse: what is remembered of the file, the command or the name that a tool is about to touch. The tool itself is let be.

A memory comes when a glob of its paths matches the file, a trigger matches the command or the new text, its conditions name the
tool or the file and hold, it names the thing exactly as few others do, or it is a rule about what is about to be done. At most
three, with what a second look at the prompt has found; none twice in a session.
"""

from __future__ import annotations

import os

from subcog_hooks import wire
from subcog_hooks.cues.tools import READING, TOOLS
from subcog_hooks.hooks import occasion as occasions
from subcog_hooks.hooks.payload import TOOL_EVENT, session_of, text_of
from subcog_hooks.hooks.tool_globs import Search
from subcog_hooks.hooks.touched import read_touched
from subcog_hooks.memory.model import now_ms
from subcog_hooks.state import ledger, pause
from subcog_hooks.state.decision import REPEATED, SPENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from subcog_hooks.deadline import Deadline
    from subcog_hooks.hooks.late_answer import LateAnswer
    from subcog_hooks.hooks.occasion import Occasion
    from subcog_hooks.hooks.touched import Touched
    from subcog_hooks.memory.model import Memory
    from subcog_hooks.paths import Home
    from subcog_hooks.wire import Json

MOST_AT_CALL = 3  # memories at one call
MAX_SILENT = 32 * 1024  # bytes of the calls that the hook was silent at: some 300; then they become those of before
NOTED = 3  # names, or ids, of such a call
STORING = "subcog"  # in a command by which an agent stores a memory, whatever else stands in it
ASKING = ("default", "acceptEdits", "plan")  # modes in which the client asks the person before it runs a command
NOTE_WAIT_MS = 50.0  # for another process that writes
LEAST = 0.5  # relevance: more than for a prompt, since nobody has asked


def respond(payload: dict[str, object], home: Home, write: Callable[[bytes], None], deadline: Deadline) -> None:
    """Answer one call of a tool: `write` is called once with the output, or not at all. Raises StoreError."""
    tool = text_of(payload, "tool_name")
    if tool == "Bash":
        _note_whether_asked(payload, home)
    if tool in TOOLS:
        occasions.with_sound_state(home, lambda: _respond(payload, home, write, deadline))


def _respond(payload: dict[str, object], home: Home, write: Callable[[bytes], None], deadline: Deadline) -> None:
    occasion = occasions.open_occasion(payload, home, deadline)
    if occasion is None:
        return
    if _opens(payload) and _let_open(payload, occasion, write):
        return
    settings = occasion.settings
    if not settings["surfacing.enabled"] or not settings["surfacing.tools"] or pause.is_on(occasion.state, occasion.at):
        return
    tool = text_of(payload, "tool_name")
    given_input = payload.get("tool_input")
    touched = read_touched(tool, given_input if isinstance(given_input, dict) else {}, occasion)
    search = Search(touched, occasion)
    channels = search.run()
    if search.note:
        occasion.log(search.note)
    late = _late_answer(occasion, touched.file if tool == READING else "")
    if late is None and not any(memory.id not in search.given for memories in channels.values() for memory in memories):
        _note_silence(occasion, tool, touched, channels)
        return  # most calls end here: nothing is remembered of what is touched, or it has been told
    from subcog_hooks.hooks import record  # 3 ms, and what it says is rare
    from subcog_hooks.hooks.delivery import deliver
    from subcog_hooks.hooks.exact_offer import Terms, offer_exact
    from subcog_hooks.recall.exact import Exact

    terms = Terms(
        max(LEAST, float(settings["surfacing.min_relevance"])),
        min(MOST_AT_CALL, int(settings["surfacing.max_memories"])),
        int(settings["surfacing.max_characters"]),
        {"tool": tool},
    )
    verdict = offer_exact(occasion, Exact(channels, search.note), terms, tool)
    assert verdict.offer is not None
    if late is not None:
        verdict.offer = late.added_to(verdict.offer, terms.most)
    delivery = deliver(occasion, TOOL_EVENT, verdict.offer, write)
    if late is not None:
        late.drop_after(delivery)
    # at every further touch of a file: nobody asks why, and prompts' records would go for it
    if delivery.outcome not in (REPEATED, SPENT):
        record.keep(occasion, TOOL_EVENT, verdict, delivery)


def _opens(payload: dict[str, object]) -> bool:
    """Return whether a command looks like one that opens memories."""
    given = payload.get("tool_input")
    return text_of(payload, "tool_name") == "Bash" and isinstance(given, dict) and " show " in text_of(given, "command")


def _let_open(payload: dict[str, object], occasion: Occasion, write: Callable[[bytes], None]) -> bool:
    """Let the agent open what the session was pointed at, without a question to the person. Return whether it may."""
    from subcog_hooks.hooks import opening  # as rare as such a command

    given = payload["tool_input"]
    if not isinstance(given, dict) or not opening.may_run(text_of(given, "command"), occasion):
        return False
    write(opening.permission())
    return True


def _late_answer(occasion: Occasion, reads: str) -> LateAnswer | None:
    """Return what a second look at the session's prompt has found, None where nothing waits. Raises StoreError.

    reads: the file that the call puts before the model. What a subagent is told, the session that asked is not.
    """
    if not ledger.has_second_look(occasion.state, occasion.session) or text_of(occasion.payload, "agent_id"):
        return None
    from subcog_hooks.hooks import late_answer  # few prompts have a second look

    return late_answer.waiting_for(occasion, reads)


def _note_whether_asked(payload: dict[str, object], home: Home) -> None:
    """Note whether the person is asked before a command stores a memory, which the command itself can not see."""
    given = payload.get("tool_input")
    command = text_of(given, "command") if isinstance(given, dict) else ""
    mode, session = text_of(payload, "permission_mode"), session_of(payload)
    is_asked = mode in ASKING
    # a script may call us where nobody is asked; where somebody is, the command is what they see
    if not mode or not session or not command or (is_asked and STORING not in command):
        return
    from subcog_hooks.state import unasked  # as rare as such a command
    from subcog_hooks.state.connection import State

    home.create()
    state = State.open(home, NOTE_WAIT_MS)
    try:
        unasked.note(state, session, now_ms(), is_asked=is_asked)
    finally:
        state.close()


def _note_silence(occasion: Occasion, tool: str, touched: Touched, channels: Mapping[str, Sequence[Memory]]) -> None:
    """Append what was looked up at a silent call to the file that `state.silent_calls` reads.

    It takes 10 µs, waits for nobody's lock and adds no page to state.db, at each of an agent's hundreds of calls. Of a command
    only its names are kept, such as `make lint`: what else stands in it may be a secret.
    """
    settings = occasion.settings
    if occasion.is_trial or not settings["surfacing.log_prompts"] or settings.left_out:
        return
    about = [touched.file] if touched.file else [name for name in touched.names if tool != "Bash" or _is_plain(name)]
    if not about and not touched.names:
        return
    given = list(dict.fromkeys([memory.id for memories in channels.values() for memory in memories]))
    row: Json = {"at": occasion.at, "tool": tool, "about": about[:NOTED], "given": given[:NOTED], "session": occasion.session}
    try:
        path = occasion.home.silent_calls
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o600)
        if os.fstat(descriptor).st_size > MAX_SILENT:
            os.replace(path, f"{path}.before")  # what is open goes on there: the next call begins anew
        os.write(descriptor, wire.dumps(row).encode() + b"\n")
    except OSError:
        pass  # a full disk, say: nobody is told of silence then


def _is_plain(name: str) -> bool:
    """Return whether a name of a command is made of words, and no secret can be in it."""
    program, blank, second = name.partition(" ")
    plain = second.replace("-", "").replace("_", "").replace(":", "").replace("/", "").replace(".", "").replace(" ", "")
    return bool(blank) and len(program) <= 30 and len(second) <= 40 and plain.isalpha() and plain.islower()
