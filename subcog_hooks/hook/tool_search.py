"""The target of a tool call (the file, new text and actions), and the memories that match it by cue or search."""

from __future__ import annotations

import os
from math import exp, sqrt

from subcog_hooks.core.records import record
from subcog_hooks.cues import globs
from subcog_hooks.cues.conditions import SEARCHES
from subcog_hooks.hook.payload import text_of
from subcog_hooks.recall.hits import ACTION, LEXICAL, PATH, PATTERN, STATE, WORDS, Hit
from subcog_hooks.store import lookups, project, sessions
from subcog_hooks.store.memory import SECTION_PREFIX
from subcog_hooks.store.store_reader import audience_of, audiences_of
from subcog_hooks.text import STOP
from subcog_hooks.text.actions import EDITING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.project import Project


MAX_NEW_TEXT = 65_536  # characters of the written text that triggers are matched against
MAX_NEED = 1_500  # characters of a need
MIN_LINE_RELEVANCE = 0.08  # relevance that a searched memory needs for a line
MIN_WORD = 3  # characters
MAX_WORDS = 40  # words of a need
SLOPE, EVEN = 2.7, 1.8  # fitted to 90 calls of three projects, with stores of 30, 230 and 1,030 memories
_TO_BLANKS = {code: " " for code in range(128) if not chr(code).isalnum()}
CLEAR = 0.5  # From this relevance on, a hit comes before a rule about the command's action.
TOLD = 0.5  # relevance from which the best hit is told, not pointed at
MAX_RULES = 20  # newest rules about one action, of which a call brings one
MAX_MATCHES = 30  # memories with matching globs that are loaded

_FILE_FIELDS = ("file_path", "notebook_path")
_TEXT_FIELDS = ("command", "new_string", "content", "new_source")


@record
class ToolTarget:
    """The target of a tool call.

    owner: the project of the file, without a file the one at hand, None outside of any; absolute: the file's full path, "" for
    none; file: its path from the owner's root, or in full outside of any project; around: other projects that have the file
    below their root, each with its path from there; text: the command, or the text to be written; actions: as `text.actions`
    names them.
    """

    owner: Project | None
    absolute: str
    file: str
    text: str
    actions: Sequence[str] = ()
    around: Sequence[tuple[Project, str]] = ()


def read_target(tool: str, tool_input: Mapping[str, object], call: HookCall) -> ToolTarget:
    """Return the target of a tool call."""
    if tool == "Glob":  # A pattern without wildcards is a path.
        pattern = text_of(tool_input, "pattern", globs.MAX_PATH)
        path = pattern if set("*?[{").isdisjoint(pattern) else ""
    else:
        fields = ("path",) if tool in SEARCHES else _FILE_FIELDS
        path = next((text for field in fields if (text := text_of(tool_input, field, globs.MAX_PATH + 1))), "")
    owner, absolute, file = _locate_file(path, call) if path else (call.here, "", "")
    if file and tool in SEARCHES and not os.path.isfile(absolute):  # A searched folder brings no memories.
        owner, absolute, file = call.here, "", ""
    around = _find_around(owner, absolute, call)
    text = _new_text(tool_input)
    done: Sequence[str] = ()
    if text:  # A tool that only reads has none.
        from subcog_hooks.text import actions  # .3 ms

        done = actions.actions_of_call(tool, text, file)
    return ToolTarget(owner, absolute, file, text, done, around)


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


def replaced_text(tool_input: Mapping[str, object]) -> str:
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
    if here is not None and inside is not None:
        folders = inside.split("/")[:-1]
        between = [os.path.join(here.root, *folders[:depth], ".git") for depth in range(1, len(folders) + 1)]
        if not any(map(os.path.lexists, between)):
            return here, whole, inside
    # The path may lead to another repository or worktree, or have links.
    owner = project.find_project(whole) if os.path.isabs(whole) else None
    inside = globs.relative_path(os.path.realpath(whole), owner.root) if owner else None
    if owner is not None and inside is not None:
        return owner, whole, inside
    return None, whole, (globs.relative_path(whole, folder) if here is None and os.path.isabs(folder) else None) or whole


def _find_around(owner: Project | None, absolute: str, call: HookCall) -> list[tuple[Project, str]]:
    """Return the session's project and parents of submodules that have a file below their root, with its path from there."""
    if owner is None or not absolute or (owner is call.here and owner.parent is None):
        return []
    real = os.path.realpath(absolute)
    around: dict[str, tuple[Project, str]] = {}
    for member in (*call.with_parents(owner), *call.with_parents(call.here)):
        inside = globs.relative_path(real, member.root)
        if inside is not None and member.identity != owner.identity:
            around.setdefault(member.identity, (member, inside))
    return list(around.values())


def need_of_call(tool: str, tool_input: Mapping[str, object], target: ToolTarget, replaced: str) -> str:
    """Return the text that memories are searched by, "" for a call that changes nothing.

    Of an edit: the file and the lines that it adds, or else those that it removes. Of a command: its description, too.
    """
    if tool in EDITING:
        old_lines = replaced.splitlines()
        new_lines = target.text.splitlines()
        added = frozenset(new_lines).difference(old_lines)
        return " ".join((target.file, *(filter(added.__contains__, new_lines) if added else old_lines)))[:MAX_NEED]
    if tool != "Bash" or not target.text:
        return ""
    from subcog_hooks.text.simple_commands import only_looks  # .2 ms, and most calls are no commands.

    return "" if only_looks(target.text) else f"{text_of(tool_input, 'description')} {target.text}"[:MAX_NEED]


def words_of(need: str) -> list[str]:
    """Return the words of a need by which memories are found: identifiers whole and in their parts.

    >>> words_of("app/hash_router.py resetCount() HTTPPort")
    ['app', 'hash', 'router', 'resetcount', 'reset', 'count', 'httpport', 'http', 'port']
    """
    words: dict[str, None] = {}
    for run in need.translate(_TO_BLANKS).split():
        for word in (run, *_split_humps(run)):
            if len(word) >= MIN_WORD and word.isprintable() and word.casefold() not in STOP:
                words[word.casefold()] = None
    return list(words)[:MAX_WORDS]


def _split_humps(word: str) -> list[str]:
    """Return the parts of a word in mixed case, none for another."""
    if word.islower() or word.isupper() or word.istitle():
        return []
    cuts = [
        at
        for at in range(1, len(word))
        if word[at].isupper() and (not word[at - 1].isupper() or word[at + 1 : at + 2].islower())
    ]
    return [word[begin:end] for begin, end in zip([0, *cuts], [*cuts, None], strict=True)]


def probability(score: float) -> float:
    """Return the probability that a memory with this score helps at a tool call."""
    return 1.0 / (1.0 + exp(-SLOPE * (score - EVEN)))


def divide_memories(
    need: str, channels: Mapping[str, Sequence[Memory]], search: CueSearch, call: HookCall, *, is_command: bool
) -> tuple[Mapping[str, Sequence[Memory]], Sequence[Hit]]:
    """Return the memories that are told, by channel, and those that a line may point at, the best first. Raises StoreError.

    need: "" for a call that changes nothing. Such a call gets lines for a file's memories: they are told when it is changed.
    """
    hits: Sequence[Hit] = search.match_words(need) if need else ()
    first = {hit.memory.id for hit in hits if hit.relevance == hits[0].relevance} - search.distant  # equals of a small store
    told: dict[str, Sequence[Memory]] = {}
    further: dict[str, Sequence[Memory]] = {}
    # Equally close memories of a file come in the order of the search, and memories that it has not found come last.
    rank_of = {hit.memory.id: rank for rank, hit in enumerate(hits)}
    by_path = sorted(
        channels.get(PATH, ()), key=lambda memory: (-search.closeness[memory.seq], rank_of.get(memory.id, len(rank_of)))
    )
    for name, memories in {**channels, PATH: by_path}.items():
        if name == ACTION:
            told[name] = [memory for memory in memories if memory.id in first]
            further[name] = [memory for memory in memories if memory.id not in first]
        else:
            (told if need or name != PATH else further)[name] = memories
    if hits and hits[0].memory.id in first and hits[0].relevance >= TOLD:
        told[WORDS] = [hits[0].memory]
    relevant = [hit for hit in hits if hit.relevance >= MIN_LINE_RELEVANCE]
    if not (relevant or any(further.values())) or not sessions.has_room_for_line(call.state, call.ledger_key):
        return told, ()
    from subcog_hooks.recall.exact import ExactMatches  # Only a call that may get a line.

    seen = search.given | sessions.find_pointed(call.state, call.ledger_key)
    of_cues = ExactMatches(further).hits()
    if further.get(ACTION) and is_command and not any(hit.relevance >= CLEAR for hit in relevant):
        of_cues.sort(key=lambda hit: ACTION not in hit.ranks)
        ordered = [*of_cues, *relevant]  # A rule about the command's action is surer than a faint hit.
    else:
        ordered = [*relevant, *of_cues]
    candidates = {hit.memory.id: hit for hit in reversed(ordered)}
    return told, [hit for id_, hit in reversed(candidates.items()) if id_ not in seen]


class CueSearch:
    """The search for live memories about the target, by channel and by words, the most urgent first.

    eligible: the test for memories that may come; given: ids that the session has been given; closeness: of the globs that
    match the file, by row number; distant: ids of rules about the deletion of something else; note: the part that was left
    undone, "" for none.
    """

    __slots__ = ("_call", "_target", "closeness", "distant", "eligible", "given", "note")

    def __init__(self, target: ToolTarget, call: HookCall) -> None:
        self._target = target
        self._call = call
        # A memory of the project at hand may mean a file outside of any project, as /etc/hosts is.
        around = [project for project, _ in target.around]
        self.eligible = call.eligible_to((*call.with_parents(target.owner or call.here), *around))
        self.given = self.eligible.given
        self.closeness: dict[int, float] = {}
        self.distant: set[str] = set()
        self.note = ""

    def has_news(self, channels: Mapping[str, Sequence[Memory]]) -> bool:
        """Return whether a channel has a memory that is new to the session."""
        return any(memory.id not in self.given for memories in channels.values() for memory in memories)

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
                channels[PATTERN], self.note = exact.match_triggers(target.text, store, self.eligible, call.deadline)
            if has_conditions:
                channels[STATE], note = exact.match_conditions(call.facts(), store, self.eligible, naming=("tool", "file"))
                self.note = "; ".join(filter(None, (self.note, note)))
        if target.actions:
            channels[ACTION] = self._match_actions()
        return channels

    def match_words(self, need: str) -> list[Hit]:
        """Return the memories that share rare words with a need, the most relevant first. Raises StoreError."""
        found = lookups.find_sharing(
            self._call.store, words_of(need), self.eligible.audiences, MAX_MATCHES, self.eligible.now_ms
        )
        scores = dict(found)
        memories = self._eligible_memories(list(scores), list(scores))
        hits = [
            Hit(memory, scores[memory.seq], probability(scores[memory.seq]), {LEXICAL: rank}, {LEXICAL: scores[memory.seq]})
            for rank, memory in enumerate(memories, 1)
        ]
        self._call.mark_loaded(hits)
        return sorted([hit for hit in hits if not hit.is_loaded], key=lambda hit: -hit.relevance)

    def _match_globs(self) -> list[Memory]:
        """Return the memories with a glob that matches the file: the closest first, then in the order of their document.

        A glob is the closer the more of the path it spells out. It says less in a memory with many globs.
        """
        target, owner, store = self._target, self._target.owner, self._call.store
        views = [(audiences_of(*owner.names) if owner and target.around else self.eligible.audiences, target.file)]
        views += [(tuple(audience_of("project", name) for name in project.names), inside) for project, inside in target.around]
        lengths: dict[int, int] = {}
        certain: set[int] = set()
        for audiences, path in views:
            keys = [*globs.keys_of_path(path), *globs.keys_of_path(target.absolute)]
            inside = path.rpartition("/")[2] if globs.is_absolute(path) else path
            for seq, glob in lookups.find_globs(store, keys, audiences, self.eligible.now_ms):
                is_whole = globs.is_absolute(glob)
                length = globs.matched_length(globs.expand_home(glob), target.absolute if is_whole else inside)
                if length is not None:
                    lengths[seq] = max(lengths.get(seq, 0), length)
                    if is_whole or owner:
                        certain.add(seq)
        counts = lookups.count_globs(store, list(lengths)) if len(lengths) > 1 else {}
        self.closeness = {seq: length / sqrt(counts.get(seq, 1)) for seq, length in lengths.items()}
        closest = sorted(lengths, key=lambda seq: (-self.closeness[seq], counts.get(seq, 1), seq))[:MAX_MATCHES]
        memories = self._eligible_memories(closest, certain)
        return sorted(memories, key=lambda memory: (-self.closeness[memory.seq], counts.get(memory.seq, 1), *_tie_key(memory)))

    def _match_actions(self) -> list[Memory]:
        """Return the new rule about these actions that shares most words with the call."""
        target = self._target
        naming = lookups.find_governing(
            self._call.store, target.actions, self.eligible.audiences, MAX_RULES, self.eligible.now_ms
        )
        seqs = list(dict.fromkeys([seq for action in target.actions for seq in naming.get(action, ())]))
        rules = self._eligible_memories(seqs, seqs if target.owner or not target.file else ())
        new = [memory for memory in rules if memory.id not in self.given]
        if not new:
            return []
        from subcog_hooks.text.actions import FAR, closest_rule

        new.sort(key=_tie_key)
        position, score = closest_rule([memory.content for memory in new], f"{target.file} {target.text}", target.actions)
        best = new[position]
        if score == FAR:
            if not float(self._call.settings["surfacing.maybe_relevance"]):
                return []  # Only a line may point at it.
            self.distant.add(best.id)
        return [best]

    def _eligible_memories(self, seqs: Sequence[int], certain: Collection[int]) -> list[Memory]:
        """Return the memories of these row numbers that may be handed over, in this order.

        certain: rows that mean this very file. Other memories of a project do not apply to a file outside of any project.
        """
        memories = self._call.store.by_seqs(seqs)
        return [
            memory
            for memory in map(memories.get, seqs)
            if memory and (memory.scope != "project" or memory.seq in certain) and self.eligible.allows(memory)
        ]


def _tie_key(memory: Memory) -> tuple[bool, int, str, int, int]:
    """Return the sort key of equally close memories: single ones first, the newest before; then sections as in their file."""
    is_section = memory.id.startswith(SECTION_PREFIX)
    name, _, line = memory.source.rpartition(":") if is_section else ("", "", "")
    return (
        is_section,
        0 if is_section else -memory.created_at,
        name.partition("#")[0],
        int(line) if line.isdigit() else 0,
        memory.seq,
    )
