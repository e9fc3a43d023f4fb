"""PreToolUse: bring the memories of the file, command or names that a tool call touches."""

from __future__ import annotations

import os

from subcog_hooks.core import light_json
from subcog_hooks.cues import globs
from subcog_hooks.cues.conditions import READING, SEARCHES, TOOLS
from subcog_hooks.hook.call import open_call, with_sound_state
from subcog_hooks.hook.payload import TOOL_EVENT, session_of, text_of
from subcog_hooks.recall.hits import ACTION, MENTION, PATH, PATTERN, STATE
from subcog_hooks.store import project, sessions, state_values
from subcog_hooks.store.decision import REPEATED, SPENT
from subcog_hooks.store.memory import now_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.core.light_json import Json
    from subcog_hooks.core.paths import Home
    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.hook.second_look_answer import LateAnswer
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.project import Project

MAX_NEW_TEXT = 65_536  # characters of the written text that triggers are matched against

_FILE_FIELDS = ("file_path", "notebook_path")
_TEXT_FIELDS = ("command", "new_string", "content", "new_source")


class ToolTarget:
    """The target of a tool call.

    owner: the project of the file, without a file the one at hand, None outside of any; absolute: the file's full path, "" for
    none; file: its path from the owner's root, or in full outside of any project; names: looked up in memories; text: the
    command, or the text to be written; new_identifiers: in it; actions: as `text.actions` names them.
    """

    __slots__ = ("absolute", "actions", "file", "names", "new_identifiers", "owner", "text")

    def __init__(
        self,
        owner: Project | None,
        absolute: str,
        file: str,
        names: Sequence[str],
        text: str,
        new_identifiers: Sequence[str] = (),
        actions: Sequence[str] = (),
    ) -> None:
        self.owner = owner
        self.absolute = absolute
        self.file = file
        self.names = tuple(names)
        self.text = text
        self.new_identifiers = tuple(new_identifiers)
        self.actions = tuple(actions)


def read_target(tool: str, tool_input: Mapping[str, object], call: HookCall) -> ToolTarget:
    """Return the target of a tool call."""
    path = _named_file(tool, tool_input)
    owner, absolute, file = _locate_file(path, call) if path else (call.here, "", "")
    if file and tool in SEARCHES and not os.path.isfile(absolute):  # A searched folder brings no memories.
        owner, absolute, file = call.here, "", ""
    from subcog_hooks.text import mentions  # .3 ms

    text = _new_text(tool_input)
    names: Sequence[str] = ()
    if file:
        names = mentions.names_of_file(file)
    elif tool == "Bash":
        names = mentions.names_of_command(text)
    elif tool == "Glob" and path:
        names = mentions.names_of_file(path)
    if tool == "Grep":
        names = (*names, *mentions.names_of_symbol(text_of(tool_input, "pattern")))
    new_identifiers: Sequence[str] = ()
    done: Sequence[str] = ()
    if text:  # A tool that only reads has none.
        from subcog_hooks.text import actions  # .3 ms

        done = actions.actions_of_call(tool, text, file)
        if tool in actions.EDITING:
            new_identifiers = mentions.names_in_edit(text, _old_text(tool_input))
    return ToolTarget(owner, absolute, file, names, text, new_identifiers, done)


def _named_file(tool: str, tool_input: Mapping[str, object]) -> str:
    """Return the path in a tool's input, "" for none. A pattern of `Glob` without wildcards is a path."""
    if tool == "Glob":
        pattern = text_of(tool_input, "pattern", globs.MAX_PATH)
        return pattern if set("*?[{").isdisjoint(pattern) else ""
    fields = ("path",) if tool in SEARCHES else _FILE_FIELDS
    return next((text for field in fields if (text := text_of(tool_input, field, globs.MAX_PATH + 1))), "")


def _new_text(tool_input: Mapping[str, object]) -> str:
    """Return the command, or the beginning of the text to be written."""
    text = next((text for field in _TEXT_FIELDS if (text := text_of(tool_input, field, MAX_NEW_TEXT))), "")
    edits = tool_input.get("edits")
    if text or not isinstance(edits, list):
        return text
    parts: list[str] = []
    room = MAX_NEW_TEXT
    for edit in edits:
        if room > 0 and isinstance(edit, dict):
            parts.append(text_of(edit, "new_string", room))
            room -= len(parts[-1]) + 1
    return "\n".join(parts)[:MAX_NEW_TEXT]


def _old_text(tool_input: Mapping[str, object]) -> str:
    """Return the text that an edit replaces, as far as the tool's input has it."""
    edits = tool_input.get("edits")
    parts = [tool_input, *filter(lambda edit: isinstance(edit, dict), edits if isinstance(edits, list) else ())]
    return "\n".join([text_of(part, "old_string", MAX_NEW_TEXT) for part in parts])[:MAX_NEW_TEXT]


def _locate_file(path: str, call: HookCall) -> tuple[Project | None, str, str]:
    """Return the project of a file, the file's full path, and its path from the project's root.

    Outside of any project the last path starts at the folder at hand, or is full for a file elsewhere. A relative path without
    a folder, or a path that is too long, gives no file.
    """
    here, folder = call.here, text_of(call.payload, "cwd")
    whole = path.replace("\\", "/") if os.sep == "\\" or path[1:3] == ":\\" else path
    if not globs.is_absolute(whole):
        whole = f"{folder}/{whole}" if os.path.isabs(folder) else ""
    whole = os.path.normpath(whole).replace(os.sep, "/") if whole else ""
    if not whole or len(whole) > globs.MAX_PATH or "\0" in whole:
        return here, "", ""
    inside = globs.relative_path(whole, here.root) if here else None
    if here is not None and inside is not None and not _has_own_project(inside, here.root):
        return here, whole, inside
    owner = (
        project.find_project(whole) if os.path.isabs(whole) else None
    )  # The path may lead to another worktree, or have links.
    inside = globs.relative_path(os.path.realpath(whole), owner.root) if owner else None
    if owner is not None and inside is not None:
        return owner, whole, inside
    return None, whole, (globs.relative_path(whole, folder) if here is None and os.path.isabs(folder) else None) or whole


def _has_own_project(inside: str, root: str) -> bool:
    """Return whether a folder between a file and the root is the root of another repository, or of a worktree."""
    folders = inside.split("/")[:-1]
    return any(os.path.lexists(os.path.join(root, *folders[:depth], ".git")) for depth in range(1, len(folders) + 1))


MAX_NAMING = 3  # Where more memories name a thing, its name says little.
MAX_NAMING_WRITTEN = 2  # The same limit for a written identifier. Memories that are no rules need two identifiers.
MAX_RULES = 20  # newest rules about one action, of which a call brings one
ENOUGH_RULES = 3  # From this number in one session on, a rule needs MIN_CLOSENESS.
MIN_CLOSENESS = 2.0  # words of a call, one of them the action
MAX_COMPARED = 4_000  # characters of a command, or of the written text, that rules are compared with
MAX_MATCHES = 30  # memories with matching globs that are loaded


class ToolSearch:
    """The search for live memories about the target, by channel, the most urgent first.

    given: ids of memories that the session has been given; note: the part that was left undone, "" for none.
    """

    __slots__ = ("_call", "_eligible", "_target", "given", "note")

    def __init__(self, target: ToolTarget, call: HookCall) -> None:
        self._target = target
        self._call = call
        # A memory of the project at hand may mean a file outside of any project, as /etc/hosts is.
        self._eligible = call.eligible_to(target.owner or call.here)
        self.given = self._eligible.given
        self.note = ""

    def run_channels(self) -> dict[str, list[Memory]]:
        """Return the memories of each channel that can have some. Raises StoreError."""
        target, call = self._target, self._call
        store = call.store
        has_triggers, has_conditions = store.has_cues()
        if has_conditions and target.file:
            call.facts()["file"] = target.file
        channels: dict[str, list[Memory]] = {}
        if target.file:
            channels[PATH] = self._match_globs()
        if has_conditions or (has_triggers and target.text):
            from subcog_hooks.recall import exact  # Few stores have cues.

            if has_triggers and target.text:
                channels[PATTERN], self.note = exact.match_triggers(target.text, store, self._eligible, call.deadline)
            if has_conditions:
                channels[STATE], note = exact.match_conditions(call.facts(), store, self._eligible, naming=("tool", "file"))
                self.note = "; ".join(filter(None, (self.note, note)))
        if target.names:
            channels[MENTION] = self._match_mentions()
        if target.new_identifiers:
            channels[MENTION] = channels.get(MENTION, []) + self._match_written()
        if target.actions:
            channels[ACTION] = self._match_actions()
        return channels

    def _match_globs(self) -> list[Memory]:
        """Return the memories with a glob that matches the file. The most literal glob comes first."""
        target = self._target
        keys = [*globs.keys_of_path(target.file), *globs.keys_of_path(target.absolute)]
        inside = target.file.rpartition("/")[2] if globs.is_absolute(target.file) else target.file
        closeness: dict[int, int] = {}
        certain: set[int] = set()
        for seq, glob in self._call.store.globs(keys, self._eligible.audiences, self._eligible.now_ms):
            is_whole = globs.is_absolute(glob)
            if globs.matches(globs.expand_home(glob), target.absolute if is_whole else inside):
                closeness[seq] = max(closeness.get(seq, 0), sum(sign not in "*?[]{}," for sign in glob))
                if is_whole or target.owner:
                    certain.add(seq)
        closest = sorted(closeness, key=lambda seq: (-closeness[seq], -seq))[:MAX_MATCHES]
        return self._eligible_memories(closest, certain)

    def _match_mentions(self) -> list[Memory]:
        """Return the memories that name the target, if they are few: by its longest name first, then the newest."""
        target = self._target
        naming = self._call.store.mentioning(target.names, self._eligible.audiences, MAX_NAMING + 1, self._eligible.now_ms)
        few = {name: naming[name] for name in target.names if len(naming.get(name, ())) in range(1, MAX_NAMING + 1)}
        seqs = list(dict.fromkeys([seq for few_seqs in few.values() for seq in few_seqs]))
        certain = seqs if target.owner or not target.file else few.get(target.names[0], ())
        return self._eligible_memories(seqs, certain)

    def _match_written(self) -> list[Memory]:
        """Return the memory that names most of the new identifiers, if they are rare: a rule by one name, others by two."""
        new_identifiers = self._target.new_identifiers
        if not new_identifiers:
            return []
        audiences, now = self._eligible.audiences, self._eligible.now_ms
        naming = self._call.store.mentioning(new_identifiers, audiences, MAX_NAMING_WRITTEN + 1, now)
        names_of: dict[int, int] = {}
        for seqs in naming.values():
            for seq in seqs if len(seqs) <= MAX_NAMING_WRITTEN else ():
                names_of[seq] = names_of.get(seq, 0) + 1
        closest = sorted(names_of, key=lambda seq: (-names_of[seq], -seq))[:MAX_MATCHES]
        memories = self._eligible_memories(closest, closest if self._target.owner else ())
        if not memories:
            return []
        from subcog_hooks.text.standing_rules import is_standing

        return [memory for memory in memories if names_of[memory.seq] > 1 or is_standing(memory.standing, memory.content)][:1]

    def _match_actions(self) -> list[Memory]:
        """Return the new rule about these actions that shares most words with the call.

        A session with ENOUGH_RULES of them, its brief included, gets only a rule that shares a word besides the action.
        """
        target = self._target
        naming = self._call.store.mentioning(target.actions, self._eligible.audiences, MAX_RULES, self._eligible.now_ms)
        seqs = list(dict.fromkeys([seq for action in target.actions for seq in naming.get(action, ())]))
        rules = self._eligible_memories(seqs, seqs if target.owner or not target.file else ())
        new = [memory for memory in rules if memory.id not in self.given]
        if not new:
            return []
        from subcog_hooks.text.actions import closeness, singular_words

        words = frozenset(singular_words(f"{target.file} {target.text[:MAX_COMPARED]}"))
        scored = [(closeness(memory.content, words, target.actions), memory) for memory in new]
        min_score = MIN_CLOSENESS if len(rules) - len(new) >= ENOUGH_RULES else None
        fitting = [
            (score, memory) for score, memory in scored if score is not None and (min_score is None or score >= min_score)
        ]
        fitting.sort(key=lambda pair: -pair[0])  # The sort is stable: of equal scores the newest memory comes first.
        return [memory for _, memory in fitting[:1]]

    def _eligible_memories(self, seqs: Sequence[int], certain: Collection[int]) -> list[Memory]:
        """Return the memories of these row numbers that may be handed over, in this order.

        certain: rows that mean this very file. Other memories of a project do not apply to a file outside of any project.
        """
        memories = self._call.store.by_seqs(seqs)
        return [
            memory
            for memory in map(memories.get, seqs)
            if memory and (memory.scope != "project" or memory.seq in certain) and self._eligible.allows(memory)
        ]


MAX_MEMORIES = 3  # memories at one call
MAX_SILENT_BYTES = 32 * 1024  # bytes of the file of silent calls, some 300 calls; a full file becomes the one before.
MAX_NAMES = 3  # names, or ids, of a silent call
STORING_WORD = "subcog"  # Every command by which an agent stores a memory has this word.
ASKING_MODES = ("default", "acceptEdits", "plan")  # In these modes the client asks the person before it runs a command.
NOTE_WAIT_MS = 50.0  # for another writing process
MIN_RELEVANCE = 0.5  # Nobody has asked, so that it is higher than for a prompt.


def respond(payload: dict[str, object], home: Home, write: Callable[[bytes], None], deadline: Deadline) -> None:
    """Answer one tool call: call `write` once with the output, or not at all. Raises StoreError."""
    tool = text_of(payload, "tool_name")
    if tool == "Bash":
        _note_permission_mode(payload, home)
    if tool in TOOLS:
        with_sound_state(home, lambda: _respond(payload, home, write, deadline))


def _respond(payload: dict[str, object], home: Home, write: Callable[[bytes], None], deadline: Deadline) -> None:
    call = open_call(payload, home, deadline)
    if call is None:
        return
    if _looks_like_opening(payload) and _allow_opening(payload, call, write):
        return
    settings = call.settings
    if not settings["surfacing.enabled"] or not settings["surfacing.tools"] or state_values.is_paused(call.state, call.now_ms):
        return
    tool = text_of(payload, "tool_name")
    tool_input = payload.get("tool_input")
    target = read_target(tool, tool_input if isinstance(tool_input, dict) else {}, call)
    search = ToolSearch(target, call)
    channels = search.run_channels()
    if search.note:
        call.log(search.note)
    late = _find_late_answer(call, target.file if tool == READING else "")
    if late is None and not any(memory.id not in search.given for memories in channels.values() for memory in memories):
        _note_silent_call(call, tool, target, channels)
        return  # Most calls end here: no memory is about their target, or the session has been given it.
    from subcog_hooks.hook import record  # 3 ms, and few calls bring memories.
    from subcog_hooks.hook.deliver import deliver
    from subcog_hooks.hook.exact_offer import OfferTerms, offer_exact
    from subcog_hooks.recall.exact import ExactMatches

    terms = OfferTerms(
        max(MIN_RELEVANCE, float(settings["surfacing.min_relevance"])),
        min(MAX_MEMORIES, int(settings["surfacing.max_memories"])),
        int(settings["surfacing.max_characters"]),
        {"tool": tool},
    )
    verdict = offer_exact(call, ExactMatches(channels, search.note), terms, tool)
    assert verdict.offer is not None
    if late is not None:
        verdict.offer = late.add_to(verdict.offer, terms.max_memories)
    deliver(call, TOOL_EVENT, verdict, write)
    if late is not None:
        late.drop_after(verdict)
    # Repeats come at every further touch of a file. Nobody asks why, and they would push out prompts' records.
    if verdict.outcome not in (REPEATED, SPENT):
        record.record_call(call, TOOL_EVENT, verdict)


def _looks_like_opening(payload: dict[str, object]) -> bool:
    tool_input = payload.get("tool_input")
    if text_of(payload, "tool_name") != "Bash" or not isinstance(tool_input, dict):
        return False
    return " show " in text_of(tool_input, "command")


def _allow_opening(payload: dict[str, object], call: HookCall, write: Callable[[bytes], None]) -> bool:
    """Let the agent open the session's memories, without a question to the person. Return whether the command may run."""
    from subcog_hooks.hook import show_command  # Few commands open memories.

    tool_input = payload["tool_input"]
    if not isinstance(tool_input, dict) or not show_command.may_run_command(text_of(tool_input, "command"), call):
        return False
    write(show_command.permission_output())
    return True


def _find_late_answer(call: HookCall, touched_file: str) -> LateAnswer | None:
    """Return the waiting answer of a second look at the session's prompt, None for none. Raises StoreError.

    touched_file: the file that the call puts before the model. A subagent gets no answer: the session would not see it.
    """
    if not sessions.has_second_look(call.state, call.session) or text_of(call.payload, "agent_id"):
        return None
    from subcog_hooks.hook import second_look_answer  # Few prompts have a second look.

    return second_look_answer.find_late_answer(call, touched_file)


def _note_permission_mode(payload: dict[str, object], home: Home) -> None:
    """Note whether the person is asked before a command stores a memory. The command itself cannot see it."""
    tool_input = payload.get("tool_input")
    command = text_of(tool_input, "command") if isinstance(tool_input, dict) else ""
    mode, session = text_of(payload, "permission_mode"), session_of(payload)
    is_asked = mode in ASKING_MODES
    # Where nobody is asked, a script may hide the command; where the person is asked, the command is visible.
    if not mode or not session or not command or (is_asked and STORING_WORD not in command):
        return
    from subcog_hooks.store import state_values  # Few commands store a memory.
    from subcog_hooks.store.state import State

    home.create()
    state = State.open(home, NOTE_WAIT_MS)
    try:
        state_values.note_unasked(state, session, now_ms(), is_asked=is_asked)
    finally:
        state.close()


def _note_silent_call(call: HookCall, tool: str, target: ToolTarget, channels: Mapping[str, Sequence[Memory]]) -> None:
    """Append a silent call to the file that `hook_traces.latest_silent_calls` reads.

    It takes 10 µs, waits for no lock and adds no page to state.db: an agent makes hundreds of calls. Of a command only
    its names are stored, such as `make lint`: its other words may be a secret.
    """
    settings = call.settings
    if call.is_trial or not settings["surfacing.log_prompts"] or settings.left_out:
        return
    about = [target.file] if target.file else [name for name in target.names if tool != "Bash" or _is_plain_name(name)]
    if not about and not target.names:
        return
    given = list(dict.fromkeys([memory.id for memories in channels.values() for memory in memories]))
    row: Json = {
        "at": call.now_ms,
        "tool": tool,
        "about": about[:MAX_NAMES],
        "given": given[:MAX_NAMES],
        "session": call.session,
    }
    try:
        path = call.home.silent_calls
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o600)
        if os.fstat(descriptor).st_size > MAX_SILENT_BYTES:
            os.replace(path, f"{path}.before")  # This call still goes into the renamed file; the next one begins a new file.
        os.write(descriptor, light_json.dumps(row).encode() + b"\n")
    except OSError:
        pass  # A full disk, for example, costs only this line.


def _is_plain_name(name: str) -> bool:
    """Return whether the name of a command has only plain words, and so no secret."""
    program, blank, second = name.partition(" ")
    plain = second.replace("-", "").replace("_", "").replace(":", "").replace("/", "").replace(".", "").replace(" ", "")
    return bool(blank) and len(program) <= 30 and len(second) <= 40 and plain.isalpha() and plain.islower()
