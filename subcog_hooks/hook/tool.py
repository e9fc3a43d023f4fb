"""PreToolUse: bring the memories of the file, command or names that a tool call touches."""

from __future__ import annotations

import os

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import StoreError
from subcog_hooks.cues.conditions import CHANGES, POWERSHELL, READING, SHOWS, TOOLS
from subcog_hooks.hook import tool_search
from subcog_hooks.hook.call import open_call
from subcog_hooks.hook.payload import TOOL_EVENT, input_of, session_of, text_of
from subcog_hooks.hook.tool_search import CueSearch, ToolTarget, read_target, replaced_text
from subcog_hooks.store import sessions
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.state import is_paused, is_unasked
from subcog_hooks.store.verdicts import REPEATED, SPENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.core.light_json import Json
    from subcog_hooks.core.paths import Home
    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.hook.choose import Verdict
    from subcog_hooks.hook.second_look import LateAnswer
    from subcog_hooks.store.memory import Memory

MAX_MEMORIES = 3  # memories at one call
MAX_SILENT_BYTES = 32 * 1024  # bytes of the file of silent calls, some 300 calls; a full file becomes the one before.
MAX_NAMES = 3  # names, or ids, of a silent call
STORING_WORD = "subcog"  # Every command by which an agent stores a memory has this word.
ASKING_MODES = ("default", "acceptEdits", "plan")  # In these modes the client asks the person before it runs a command.
NOTE_WAIT_MS = 50.0  # for another writing process
LASTS_MS = 10 * 60_000  # ms; long enough for a slow command before ours, as in `make && subcog remember …`
OF_SERVER = "mcp"  # begins the names of servers' tools: `mcp__SERVER__TOOL`, in Gemini CLI `mcp_SERVER_TOOL`
PATHS = ("file_path", "path", "uri", "relative_path")  # arguments of other tools with the file
MIN_RELEVANCE = 0.5  # Nobody has asked, so that it is higher than for a prompt.


def respond(payload: dict[str, object], home: Home, write: Callable[[bytes], None], deadline: Deadline) -> None:
    """Answer one tool call: call `write` once with the output, or not at all. Raises StoreError."""
    payload = with_known_tool(payload)
    tool = text_of(payload, "tool_name")
    if tool == "Bash":
        try:
            _note_permission_mode(payload, home)
        except StoreError as error:  # The call is answered all the same.
            from subcog_hooks.core import log  # The state is rarely busy.

            log.write_line(home, f"the permission mode is not noted: {error}")
    call = open_call(payload, home, deadline) if tool in TOOLS else None
    if call is None:
        return
    command = text_of(input_of(payload), "command")
    if tool == "Bash" and " show " in command:
        from subcog_hooks.hook import show_command  # Few commands open memories.

        if show_command.may_run_command(command, call):
            write(show_command.PERMISSION)  # The agent opens the session's memories unasked.
            return
    if is_paused(call.state, call.now_ms):
        return
    verdict, late = _decide_call(call)
    if verdict is None:
        return
    from subcog_hooks.hook import record  # 3 ms, and few calls bring memories.
    from subcog_hooks.hook.deliver import deliver

    deliver(call, TOOL_EVENT, verdict, write)
    if late is not None:
        late.drop_after(verdict)
    # Repeats come at every further touch of a file. Nobody asks why, and they would push out prompts' records.
    if verdict.outcome not in (REPEATED, SPENT):
        record.record_call(call, TOOL_EVENT, verdict)


def with_known_tool(payload: dict[str, object]) -> dict[str, object]:
    """Return a payload with the name of the tool in TOOLS that does the same: another shell, or a tool of a file.

    >>> call = {"tool_name": "mcp__disk__edit_file", "tool_input": {"uri": "file:///shop/a.py"}}
    >>> with_known_tool(call)["tool_name"], with_known_tool(call)["tool_input"]["file_path"]
    ('Edit', '/shop/a.py')
    >>> with_known_tool({"tool_name": "PowerShell"}), with_known_tool({"tool_name": "Skill"})
    ({'tool_name': 'Bash'}, {'tool_name': 'Skill'})
    """
    tool, tool_input = text_of(payload, "tool_name"), input_of(payload)
    if tool == POWERSHELL:
        return {**payload, "tool_name": "Bash"}
    path = next((text for field in PATHS if (text := text_of(tool_input, field))), "").removeprefix("file://")
    if (
        not tool.startswith(OF_SERVER)
        or not path
        or "://" in path
        or os.path.isdir(os.path.join(text_of(payload, "cwd"), path))
    ):
        return payload
    name = tool.lower()
    counterpart = "Edit" if any(part in name for part in CHANGES) else READING if any(part in name for part in SHOWS) else tool
    return {**payload, "tool_name": counterpart, "tool_input": {**tool_input, "file_path": path}}


def _decide_call(call: HookCall) -> tuple[Verdict | None, LateAnswer | None]:
    """Return the offer of a call's memories, None where nothing is new, and the late answer in it. Raises StoreError."""
    settings = call.settings
    if not settings["surfacing.enabled"] or not settings["surfacing.tools"]:
        return None, None
    tool, tool_input = text_of(call.payload, "tool_name"), input_of(call.payload)
    target = read_target(tool, tool_input, call)
    search = CueSearch(target, call)
    channels = search.run_channels()
    if search.note:
        call.log(search.note)
    late = None
    if sessions.has_second_look(call.state, call.session) and not text_of(call.payload, "agent_id"):
        from subcog_hooks.hook import second_look  # Few prompts have one, and the session would not see a subagent's.

        late = second_look.find_late_answer(call)
    need = tool_search.need_of_call(tool, tool_input, target, replaced_text(tool_input))
    told, lines = tool_search.divide_memories(need, channels, search, call, is_command=tool == "Bash")
    if not float(settings["surfacing.maybe_relevance"]):
        told, lines = {**told, **channels}, ()
    if late is None and not lines and not search.has_news(told):
        _note_silent_call(call, tool, target, told)
        return None, None  # Most calls end here: no memory is about their target, or the session has been given it.
    from subcog_hooks.hook.choose import offer_exact  # Few calls bring memories.
    from subcog_hooks.recall.exact import ExactMatches

    verdict = offer_exact(
        call,
        ExactMatches(told, search.note),
        tool,
        max(MIN_RELEVANCE, float(settings["surfacing.min_relevance"])),
        min(MAX_MEMORIES, int(settings["surfacing.max_memories"])),
        int(settings["surfacing.max_characters"]),
        attributes={"tool": tool},
    )
    assert verdict.offer is not None
    verdict.offer.line_candidates, verdict.offer.prompt = lines, need or target.file
    if late is not None:
        late.add_to(verdict.offer)
    return verdict, late


def _note_permission_mode(payload: dict[str, object], home: Home) -> None:
    """Note whether the person is asked before a command stores a memory, which cannot see it. Raises StoreError."""
    command = text_of(input_of(payload), "command")
    mode, session = text_of(payload, "permission_mode"), session_of(payload)
    is_asked = mode in ASKING_MODES
    # Where nobody is asked, a script may hide the command; where the person is asked, the command is visible.
    if not mode or not session or not command or (is_asked and STORING_WORD not in command):
        return
    from subcog_hooks.store.state import State

    home.create()
    state = State.open(home, NOTE_WAIT_MS)
    try:
        now = now_ms()
        if not is_asked and not is_unasked(state, session, now + LASTS_MS // 2):
            state.run("DELETE FROM unasked WHERE until < ?", (now,))
            state.run("INSERT OR REPLACE INTO unasked VALUES (?, ?)", (session, now + LASTS_MS))
        elif is_asked and is_unasked(state, session, now):
            state.run("DELETE FROM unasked WHERE session = ?", (session,))
    finally:
        state.close()


def _note_silent_call(call: HookCall, tool: str, target: ToolTarget, channels: Mapping[str, Sequence[Memory]]) -> None:
    """Append a silent call to the file that `past_runs.find_latest_silent_calls` reads.

    It takes 10 µs, waits for no lock and adds no page to state.db: an agent makes hundreds of calls. Of a command only
    its names are stored, such as `make lint`: its other words may be a secret.
    """
    settings = call.settings
    if call.is_trial or not settings["surfacing.log_prompts"] or settings.left_out:
        return
    about = [target.file]
    if not target.file:
        from subcog_hooks.text.simple_commands import commands_of  # Most calls name a file.

        names = (" ".join(part.split(None, 2)[:2]) for part in commands_of(target.text))
        about = [name for name in names if _is_plain_name(name)]
    if not about:
        return
    ids = list(dict.fromkeys([memory.id for memories in channels.values() for memory in memories]))
    given_ids = call.given_ids() if ids else ()
    row: Json = {
        "at": call.now_ms,
        "tool": tool,
        "about": about[:MAX_NAMES],
        "given": [id_ for id_ in ids if id_ in given_ids][:MAX_NAMES],
        "lines": [id_ for id_ in ids if id_ not in given_ids][:MAX_NAMES],
    }
    try:
        path = call.home.silent_calls
        if os.path.exists(path) and os.path.getsize(path) > MAX_SILENT_BYTES:
            os.replace(path, f"{path}.before")
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o600)
        os.write(descriptor, light_json.dumps(row).encode() + b"\n")
    except OSError:
        pass  # A full disk, for example, costs only this line.


def _is_plain_name(name: str) -> bool:
    """Return whether the name of a command has only plain words, and so no secret."""
    program, blank, second = name.partition(" ")
    plain = second.replace("-", "").replace("_", "").replace(":", "").replace("/", "").replace(".", "").replace(" ", "")
    return bool(blank) and len(program) <= 30 and len(second) <= 40 and plain.isalpha() and plain.islower()
