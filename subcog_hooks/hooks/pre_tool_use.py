"""PreToolUse: what is remembered of the file, the command or the name that a tool is about to touch. The tool itself is let be.

A memory comes when a glob of its paths matches the file, a trigger matches the command or the new text, its conditions name the
tool or the file and hold, or it names the thing exactly as few others do. At most three, none twice in a session.
"""

import os

from subcog_hooks.cues import globs
from subcog_hooks.cues.tools import SEARCHES, TOOLS
from subcog_hooks.hooks import occasion
from subcog_hooks.hooks.payload import text_of
from subcog_hooks.memory import project
from subcog_hooks.memory.store import audience_of, audiences_of
from subcog_hooks.recall.hits import MENTION, PATH, PATTERN, STATE
from subcog_hooks.state import pause

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from subcog_hooks.deadline import Deadline
    from subcog_hooks.hooks.occasion import Occasion
    from subcog_hooks.memory.model import Memory
    from subcog_hooks.memory.project import Project
    from subcog_hooks.paths import Home

EVENT = "PreToolUse"
MOST = 3  # memories at one call
LEAST = 0.5  # relevance: more than for a prompt, since nobody has asked
NEW_TEXT = 65_536  # characters of what is written that triggers are held against
SPECIFIC = 3  # memories that name a thing; what more of them name says little
MAX_MATCHES = 30  # memories whose globs match that are read

_FILE_FIELDS = ("file_path", "notebook_path")
_TEXT_FIELDS = ("command", "new_string", "content", "new_source")


class Touched:
    """What a tool is about to touch.

    owner: the project that the file lies in, without a file the one at hand, None outside of any; absolute: the file's whole
    path, "" where there is none; file: the same from the owner's root, or whole outside of any project; names: what it is
    looked up by; text: the command, or what is to be written.
    """

    __slots__ = ("absolute", "file", "names", "owner", "text")

    def __init__(self, owner: "Project | None", absolute: str, file: str, names: "Sequence[str]", text: str) -> None:
        self.owner = owner
        self.absolute = absolute
        self.file = file
        self.names = tuple(names)
        self.text = text


def respond(payload: "dict[str, object]", home: "Home", write: "Callable[[bytes], None]", deadline: "Deadline") -> None:
    """Answer one call of a tool: `write` is called once with the output, or not at all. Raises StoreError."""
    if text_of(payload, "tool_name") in TOOLS:
        occasion.with_sound_state(home, lambda: _respond(payload, home, write, deadline))


def _respond(payload: "dict[str, object]", home: "Home", write: "Callable[[bytes], None]", deadline: "Deadline") -> None:
    happened = occasion.opened(payload, home, deadline)
    if happened is None:
        return
    settings = happened.settings
    if not settings["surfacing.enabled"] or not settings["surfacing.tools"] or pause.is_on(happened.state, happened.at):
        return
    tool = text_of(payload, "tool_name")
    given_input = payload.get("tool_input")
    touched = _touched(tool, given_input if isinstance(given_input, dict) else {}, happened)
    given = happened.given()
    search = _Search(touched, happened, given)
    channels = search.run()
    if search.note:
        happened.log(search.note)
    if not any(memory.id not in given for memories in channels.values() for memory in memories):
        return  # most calls end here: nothing is remembered of what is touched, or it has been told
    from subcog_hooks.hooks import handing  # 3 ms, and what it says is rare
    from subcog_hooks.recall.exact import Exact

    terms = handing.Terms(
        max(LEAST, float(settings["surfacing.min_relevance"])),
        min(MOST, int(settings["surfacing.max_memories"])),
        int(settings["surfacing.max_characters"]),
        float(settings["diversity.near_duplicate"]),
        {"tool": tool},
    )
    handing.hand_over(happened, EVENT, Exact(channels, search.note), terms, write, reason=tool)


# ---- what is touched ------------------------------------------------------------------------------------------------------


def _touched(tool: str, given: "Mapping[str, object]", happened: "Occasion") -> Touched:
    """What a tool's input is about."""
    path = _named_file(tool, given)
    owner, absolute, file = _placed(path, happened) if path else (happened.here, "", "")
    if file and tool in SEARCHES and not os.path.isfile(absolute):  # a folder is no file that is looked into
        owner, absolute, file = happened.here, "", ""
    from subcog_hooks.text import mentions  # .3 ms

    text = _new_text(given)
    names: Sequence[str] = ()
    if file:
        names = mentions.of_file(file)
    elif tool == "Bash":
        names = mentions.of_command(text)
    elif tool == "Glob" and path:
        names = mentions.of_file(path)
    if tool == "Grep":
        names = (*names, *mentions.of_symbol(text_of(given, "pattern")))
    return Touched(owner, absolute, file, names, text)


def _named_file(tool: str, given: "Mapping[str, object]") -> str:
    """The path in a tool's input that names the file it touches, "" for none; a pattern of `Glob` is one without wildcards."""
    if tool == "Glob":
        pattern = text_of(given, "pattern", globs.MAX_PATH)
        return pattern if set("*?[{").isdisjoint(pattern) else ""
    fields = ("path",) if tool in SEARCHES else _FILE_FIELDS
    return next((text for field in fields if (text := text_of(given, field, globs.MAX_PATH + 1))), "")


def _new_text(given: "Mapping[str, object]") -> str:
    """The command, or the beginning of what is to be written."""
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


def _placed(path: str, happened: "Occasion") -> "tuple[Project | None, str, str]":
    """The project that a file lies in, the file's whole path, and that from the project's root.

    Outside of any project it is told from the folder at hand if it lies below, else as a whole. A path from nowhere, or longer
    than a system takes, is of no file.
    """
    here, folder = happened.here, text_of(happened.payload, "cwd")
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
    """Whether a folder between a file and the root is the root of another repository, or of a worktree."""
    folders = inside.split("/")[:-1]
    return any(os.path.lexists(os.path.join(root, *folders[:depth], ".git")) for depth in range(1, len(folders) + 1))


# ---- what is remembered of it ---------------------------------------------------------------------------------------------


class _Search:
    """The live memories of what is touched, by channel, the most urgent first. note: what was left undone, "" for nothing."""

    __slots__ = ("_audiences", "_given", "_happened", "_touched", "note")

    def __init__(self, touched: Touched, happened: "Occasion", given: set[str]) -> None:
        self._touched = touched
        self._happened = happened
        self._given = given
        # a file outside of any project may be meant by the project at hand, as /etc/hosts is
        owner = touched.owner or happened.here
        self._audiences = audiences_of(*owner.names) if owner else audiences_of()
        self.note = ""

    def run(self) -> "dict[str, list[Memory]]":
        """Ask each channel that can have something. Raises StoreError."""
        touched, happened = self._touched, self._happened
        store, now = happened.store, happened.at
        has_triggers, has_conditions = store.has_cues()
        if has_conditions and touched.file:
            happened.facts()["file"] = touched.file
        channels: dict[str, list[Memory]] = {}
        if touched.file:
            channels[PATH] = self._by_path()
        if has_conditions or (has_triggers and touched.text):
            from subcog_hooks.recall import exact  # where the store has some

            if has_triggers and touched.text:
                channels[PATTERN], self.note = exact.by_patterns(
                    touched.text, store, self._audiences, self._given, now, happened.deadline, happened.holds
                )
            if has_conditions:
                channels[STATE], note = exact.by_states(
                    happened.facts(), store, self._audiences, self._given, now, naming=("tool", "file")
                )
                self.note = "; ".join(filter(None, (self.note, note)))
        if touched.names:
            channels[MENTION] = self._by_mention()
        return channels

    def _by_path(self) -> "list[Memory]":
        """Those one of whose globs matches the file, the closest glob first: the fewer of the path it leaves open."""
        touched = self._touched
        keys = [*globs.keys_of(touched.file), *globs.keys_of(touched.absolute)]
        inside = touched.file.rpartition("/")[2] if globs.is_absolute(touched.file) else touched.file
        closeness: dict[int, int] = {}
        surely: set[int] = set()
        for seq, glob in self._happened.store.globs(keys, self._audiences, self._happened.at):
            is_whole = globs.is_absolute(glob)
            if globs.matches(globs.absolute(glob), touched.absolute if is_whole else inside):
                closeness[seq] = max(closeness.get(seq, 0), sum(sign not in "*?[]{}," for sign in glob))
                if is_whole or touched.owner:
                    surely.add(seq)
        closest = sorted(closeness, key=lambda seq: (-closeness[seq], -seq))[:MAX_MATCHES]
        return self._meant(closest, surely)

    def _by_mention(self) -> "list[Memory]":
        """Those that name what is touched, if few do: first by the longest of its names, then the newest."""
        touched = self._touched
        naming = self._happened.store.mentioning(touched.names, self._audiences, SPECIFIC + 1, self._happened.at)
        few = {name: naming[name] for name in touched.names if len(naming.get(name, ())) in range(1, SPECIFIC + 1)}
        found = list(dict.fromkeys([seq for seqs in few.values() for seq in seqs]))
        return self._meant(found, found if touched.owner or not touched.file else few.get(touched.names[0], ()))

    def _meant(self, seqs: "Sequence[int]", surely: "Collection[int]") -> "list[Memory]":
        """Those of these row numbers that may be handed over, in this order.

        surely: those that mean this very file. What else a project says of its files is not about one outside of any project.
        """
        memories = self._happened.store.by_seqs(seqs)
        return [
            memory
            for memory in map(memories.get, seqs)
            if memory
            and memory.is_live(self._happened.at)
            and audience_of(memory.scope, memory.project) in self._audiences
            and (memory.scope != "project" or memory.seq in surely)
            and self._happened.holds(memory)
        ]
