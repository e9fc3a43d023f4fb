"""A tool call (PreToolUse): the memories of the file, command or names that it touches."""

from __future__ import annotations

import os

from subcog_hooks.core import light_json
from subcog_hooks.cues import globs
from subcog_hooks.cues.tools import READING, SEARCHES, TOOLS
from subcog_hooks.hook import call as occasions
from subcog_hooks.hook.payload import TOOL_EVENT, session_of, text_of
from subcog_hooks.recall.hits import ACTION, MENTION, PATH, PATTERN, STATE
from subcog_hooks.store import ledger, project, state_values
from subcog_hooks.store.decision import REPEATED, SPENT
from subcog_hooks.store.memory import now_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.core.light_json import Json
    from subcog_hooks.core.paths import Home
    from subcog_hooks.hook.call import Occasion
    from subcog_hooks.hook.second_look_answer import LateAnswer
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.project import Project

NEW_TEXT = 65_536  # characters of what is written that triggers are held against

_FILE_FIELDS = ("file_path", "notebook_path")
_TEXT_FIELDS = ("command", "new_string", "content", "new_source")


class Touched:
    """The thing that a tool is about to touch.

    owner: the project that the file lies in, without a file the one at hand, None outside of any; absolute: the file's whole
    path, "" where there is none; file: the same from the owner's root, or whole outside of any project; names: what it is
    looked up by; text: the command, or what is to be written; written: the identifiers that are new in it; actions: what is
    about to be done, as `text.actions` names it.
    """

    __slots__ = ("absolute", "actions", "file", "names", "owner", "text", "written")

    def __init__(
        self,
        owner: Project | None,
        absolute: str,
        file: str,
        names: Sequence[str],
        text: str,
        written: Sequence[str] = (),
        actions: Sequence[str] = (),
    ) -> None:
        self.owner = owner
        self.absolute = absolute
        self.file = file
        self.names = tuple(names)
        self.text = text
        self.written = tuple(written)
        self.actions = tuple(actions)


def read_touched(tool: str, given: Mapping[str, object], occasion: Occasion) -> Touched:
    """Return what a tool's input is about. given: the input."""
    path = _named_file(tool, given)
    owner, absolute, file = _placed(path, occasion) if path else (occasion.here, "", "")
    if file and tool in SEARCHES and not os.path.isfile(absolute):  # a folder is no file that is looked into
        owner, absolute, file = occasion.here, "", ""
    from subcog_hooks.text import mentions  # .3 ms

    text = _new_text(given)
    names: Sequence[str] = ()
    if file:
        names = mentions.names_of_file(file)
    elif tool == "Bash":
        names = mentions.names_of_command(text)
    elif tool == "Glob" and path:
        names = mentions.names_of_file(path)
    if tool == "Grep":
        names = (*names, *mentions.names_of_symbol(text_of(given, "pattern")))
    written: Sequence[str] = ()
    done: Sequence[str] = ()
    if text:  # a tool that only looks has none
        from subcog_hooks.text import actions  # .3 ms

        done = actions.done_by(tool, text, file)
        if tool in actions.EDITING:
            written = mentions.names_written(text, _old_text(given))
    return Touched(owner, absolute, file, names, text, written, done)


def _named_file(tool: str, given: Mapping[str, object]) -> str:
    """Return the path in a tool's input, "" for none. A pattern of `Glob` is one where it has no wildcards."""
    if tool == "Glob":
        pattern = text_of(given, "pattern", globs.MAX_PATH)
        return pattern if set("*?[{").isdisjoint(pattern) else ""
    fields = ("path",) if tool in SEARCHES else _FILE_FIELDS
    return next((text for field in fields if (text := text_of(given, field, globs.MAX_PATH + 1))), "")


def _new_text(given: Mapping[str, object]) -> str:
    """Return the command, or the beginning of what is to be written."""
    text = next((text for field in _TEXT_FIELDS if (text := text_of(given, field, NEW_TEXT))), "")
    edits = given.get("edits")
    if text or not isinstance(edits, list):
        return text
    parts: list[str] = []
    room = NEW_TEXT
    for edit in edits:
        if room > 0 and isinstance(edit, dict):
            parts.append(text_of(edit, "new_string", room))
            room -= len(parts[-1]) + 1
    return "\n".join(parts)[:NEW_TEXT]


def _old_text(given: Mapping[str, object]) -> str:
    """Return what stands where something is about to be written, as far as the tool's input says so."""
    edits = given.get("edits")
    parts = [given, *filter(lambda edit: isinstance(edit, dict), edits if isinstance(edits, list) else ())]
    return "\n".join([text_of(part, "old_string", NEW_TEXT) for part in parts])[:NEW_TEXT]


def _placed(path: str, occasion: Occasion) -> tuple[Project | None, str, str]:
    """Return the project that a file lies in, the file's whole path, and that from the project's root.

    Outside of any project it is told from the folder at hand if it lies below, else as a whole. A path from nowhere, or longer
    than a system takes, is of no file.
    """
    here, folder = occasion.here, text_of(occasion.payload, "cwd")
    whole = path.replace("\\", "/") if os.sep == "\\" or path[1:3] == ":\\" else path
    if not globs.is_absolute(whole):
        whole = f"{folder}/{whole}" if os.path.isabs(folder) else ""
    whole = os.path.normpath(whole).replace(os.sep, "/") if whole else ""
    if not whole or len(whole) > globs.MAX_PATH or "\0" in whole:
        return here, "", ""
    inside = globs.relative(whole, here.root) if here else None
    if here is not None and inside is not None and not _has_own_project(inside, here.root):
        return here, whole, inside
    owner = project.find(whole) if os.path.isabs(whole) else None  # another worktree, or here with links in its path
    inside = globs.relative(os.path.realpath(whole), owner.root) if owner else None
    if owner is not None and inside is not None:
        return owner, whole, inside
    return None, whole, (globs.relative(whole, folder) if here is None and os.path.isabs(folder) else None) or whole


def _has_own_project(inside: str, root: str) -> bool:
    """Return whether a folder between a file and the root is the root of another repository, or of a worktree."""
    folders = inside.split("/")[:-1]
    return any(os.path.lexists(os.path.join(root, *folders[:depth], ".git")) for depth in range(1, len(folders) + 1))


SPECIFIC = 3  # memories that name a thing; what more of them name says little
RARE = 2  # the same for an identifier that is written, where one that no rule is about needs another beside it
RULES = 20  # about one action, the newest, of which a call brings one
ENOUGH = 3  # of them in one session; then it takes CLOSE
CLOSE = 2.0  # words of a call, of which one is the action
NEW_WORDS = 4_000  # characters of a command, or of what is written, that rules are compared with
MAX_MATCHES = 30  # memories whose globs match that are read


class Search:
    """The live memories of what is touched, by channel, the most urgent first.

    given: ids of memories that the session has been given; note: what was left undone, "" for nothing.
    """

    __slots__ = ("_eligible", "_occasion", "_touched", "given", "note")

    def __init__(self, touched: Touched, occasion: Occasion) -> None:
        self._touched = touched
        self._occasion = occasion
        # a file outside of any project may be meant by the project at hand, as /etc/hosts is
        self._eligible = occasion.eligible_to(touched.owner or occasion.here)
        self.given = self._eligible.given
        self.note = ""

    def run(self) -> dict[str, list[Memory]]:
        """Ask each channel that can have something. Raises StoreError."""
        touched, occasion = self._touched, self._occasion
        store = occasion.store
        has_triggers, has_conditions = store.has_cues()
        if has_conditions and touched.file:
            occasion.facts()["file"] = touched.file
        channels: dict[str, list[Memory]] = {}
        if touched.file:
            channels[PATH] = self._match_globs()
        if has_conditions or (has_triggers and touched.text):
            from subcog_hooks.recall import exact  # where the store has some

            if has_triggers and touched.text:
                channels[PATTERN], self.note = exact.by_patterns(touched.text, store, self._eligible, occasion.deadline)
            if has_conditions:
                channels[STATE], note = exact.by_states(occasion.facts(), store, self._eligible, naming=("tool", "file"))
                self.note = "; ".join(filter(None, (self.note, note)))
        if touched.names:
            channels[MENTION] = self._match_mentions()
        if touched.written:
            channels[MENTION] = channels.get(MENTION, []) + self._match_written()
        if touched.actions:
            channels[ACTION] = self._match_actions()
        return channels

    def _match_globs(self) -> list[Memory]:
        """Return those one of whose globs matches the file, the closest glob first: the fewer of the path it leaves open."""
        touched = self._touched
        keys = [*globs.keys_of(touched.file), *globs.keys_of(touched.absolute)]
        inside = touched.file.rpartition("/")[2] if globs.is_absolute(touched.file) else touched.file
        closeness: dict[int, int] = {}
        surely: set[int] = set()
        for seq, glob in self._occasion.store.globs(keys, self._eligible.audiences, self._eligible.now_ms):
            is_whole = globs.is_absolute(glob)
            if globs.matches(globs.absolute(glob), touched.absolute if is_whole else inside):
                closeness[seq] = max(closeness.get(seq, 0), sum(sign not in "*?[]{}," for sign in glob))
                if is_whole or touched.owner:
                    surely.add(seq)
        closest = sorted(closeness, key=lambda seq: (-closeness[seq], -seq))[:MAX_MATCHES]
        return self._meant(closest, surely)

    def _match_mentions(self) -> list[Memory]:
        """Return those that name what is touched, if few do: first by the longest of its names, then the newest."""
        touched = self._touched
        naming = self._occasion.store.mentioning(touched.names, self._eligible.audiences, SPECIFIC + 1, self._eligible.now_ms)
        few = {name: naming[name] for name in touched.names if len(naming.get(name, ())) in range(1, SPECIFIC + 1)}
        found = list(dict.fromkeys([seq for seqs in few.values() for seq in seqs]))
        return self._meant(found, found if touched.owner or not touched.file else few.get(touched.names[0], ()))

    def _match_written(self) -> list[Memory]:
        """Return the one that names most of what is new in the text, if few do: a rule by one name, others by two."""
        written = self._touched.written
        if not written:
            return []
        naming = self._occasion.store.mentioning(written, self._eligible.audiences, RARE + 1, self._eligible.now_ms)
        names_of: dict[int, int] = {}
        for seqs in naming.values():
            for seq in seqs if len(seqs) <= RARE else ():
                names_of[seq] = names_of.get(seq, 0) + 1
        closest = sorted(names_of, key=lambda seq: (-names_of[seq], -seq))[:MAX_MATCHES]
        found = self._meant(closest, closest if self._touched.owner else ())
        if not found:
            return []
        from subcog_hooks.text.standing import is_standing

        return [one for one in found if names_of[one.seq] > 1 or is_standing(one.standing, one.content)][:1]

    def _match_actions(self) -> list[Memory]:
        """Return the rule about what is about to be done that has most words of it, of those that the session does not know.

        Where it has been given enough of them, its brief included, only one that has more words of the call than the action.
        """
        touched = self._touched
        naming = self._occasion.store.mentioning(touched.actions, self._eligible.audiences, RULES, self._eligible.now_ms)
        found = list(dict.fromkeys([seq for action in touched.actions for seq in naming.get(action, ())]))
        meant = self._meant(found, found if touched.owner or not touched.file else ())
        new = [memory for memory in meant if memory.id not in self.given]
        if not new:
            return []
        from subcog_hooks.text.actions import closeness, singular_words

        about = frozenset(singular_words(f"{touched.file} {touched.text[:NEW_WORDS]}"))
        close = [(closeness(memory.content, about, touched.actions), memory) for memory in new]
        least = CLOSE if len(meant) - len(new) >= ENOUGH else None
        fitting = [(how, memory) for how, memory in close if how is not None and (least is None or how >= least)]
        fitting.sort(key=lambda pair: -pair[0])  # stable: of several as close the newest
        return [memory for _, memory in fitting[:1]]

    def _meant(self, seqs: Sequence[int], surely: Collection[int]) -> list[Memory]:
        """Return those of these row numbers that may be handed over, in this order.

        surely: those that mean this very file. What else a project says of its files is not about one outside of any project.
        """
        memories = self._occasion.store.by_seqs(seqs)
        return [
            memory
            for memory in map(memories.get, seqs)
            if memory and (memory.scope != "project" or memory.seq in surely) and self._eligible.allows(memory)
        ]


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
    if (
        not settings["surfacing.enabled"]
        or not settings["surfacing.tools"]
        or state_values.is_paused(occasion.state, occasion.at)
    ):
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
    from subcog_hooks.hook import record  # 3 ms, and what it says is rare
    from subcog_hooks.hook.deliver import deliver
    from subcog_hooks.hook.exact_offer import Terms, offer_exact
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
    from subcog_hooks.hook import opening  # as rare as such a command

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
    from subcog_hooks.hook import second_look_answer  # few prompts have a second look

    return second_look_answer.waiting_for(occasion, reads)


def _note_whether_asked(payload: dict[str, object], home: Home) -> None:
    """Note whether the person is asked before a command stores a memory, which the command itself can not see."""
    given = payload.get("tool_input")
    command = text_of(given, "command") if isinstance(given, dict) else ""
    mode, session = text_of(payload, "permission_mode"), session_of(payload)
    is_asked = mode in ASKING
    # a script may call us where nobody is asked; where somebody is, the command is what they see
    if not mode or not session or not command or (is_asked and STORING not in command):
        return
    from subcog_hooks.store import state_values  # as rare as such a command
    from subcog_hooks.store.state import State

    home.create()
    state = State.open(home, NOTE_WAIT_MS)
    try:
        state_values.note_unasked(state, session, now_ms(), is_asked=is_asked)
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
        os.write(descriptor, light_json.dumps(row).encode() + b"\n")
    except OSError:
        pass  # a full disk, say: nobody is told of silence then


def _is_plain(name: str) -> bool:
    """Return whether a name of a command is made of words, and no secret can be in it."""
    program, blank, second = name.partition(" ")
    plain = second.replace("-", "").replace("_", "").replace(":", "").replace("/", "").replace(".", "").replace(" ", "")
    return bool(blank) and len(program) <= 30 and len(second) <= 40 and plain.isalpha() and plain.islower()
