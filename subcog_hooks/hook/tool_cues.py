"""The memories that a tool call's target brings by their cues: paths, triggers, conditions, names and rules about actions."""

from __future__ import annotations

from math import sqrt

from subcog_hooks.cues import globs
from subcog_hooks.recall.hits import ACTION, MENTION, PATH, PATTERN, STATE
from subcog_hooks.store.memory import SECTION_PREFIX
from subcog_hooks.store.store_reader import audience_of, audiences_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.hook.tool_target import ToolTarget
    from subcog_hooks.store.memory import Memory

MAX_NAMING = 3  # Where more memories name a thing, its name says little.
MAX_NAMING_WRITTEN = 2  # The same limit for a written identifier. Memories that are no rules need two identifiers.
MAX_RULES = 20  # newest rules about one action, of which a call brings one
MAX_COMPARED = 4_000  # characters of a command, or of the written text, that rules are compared with
MAX_MATCHES = 30  # memories with matching globs that are loaded


class CueSearch:
    """The search for live memories about the target, by channel, the most urgent first.

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
        if target.names:
            channels[MENTION] = self._match_mentions()
        if target.new_identifiers:
            channels[MENTION] = channels.get(MENTION, []) + self._match_written()
        if target.actions:
            channels[ACTION] = self._match_actions()
        return channels

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
            for seq, glob in store.globs(keys, audiences, self.eligible.now_ms):
                is_whole = globs.is_absolute(glob)
                length = globs.matched_length(globs.expand_home(glob), target.absolute if is_whole else inside)
                if length is not None:
                    lengths[seq] = max(lengths.get(seq, 0), length)
                    if is_whole or owner:
                        certain.add(seq)
        counts = store.glob_counts(list(lengths)) if len(lengths) > 1 else {}
        self.closeness = {seq: length / sqrt(counts.get(seq, 1)) for seq, length in lengths.items()}
        closest = sorted(lengths, key=lambda seq: (-self.closeness[seq], counts.get(seq, 1), seq))[:MAX_MATCHES]
        memories = self._eligible_memories(closest, certain)
        return sorted(memories, key=lambda memory: (-self.closeness[memory.seq], counts.get(memory.seq, 1), *_tie_key(memory)))

    def _match_mentions(self) -> list[Memory]:
        """Return the memories that name the target, if they are few: by its longest name first, then the newest."""
        target = self._target
        naming = self._call.store.mentioning(target.names, self.eligible.audiences, MAX_NAMING + 1, self.eligible.now_ms)
        few = {name: naming[name] for name in target.names if len(naming.get(name, ())) in range(1, MAX_NAMING + 1)}
        seqs = list(dict.fromkeys([seq for few_seqs in few.values() for seq in few_seqs]))
        certain = seqs if target.owner or not target.file else few.get(target.names[0], ())
        return self._eligible_memories(seqs, certain)

    def _match_written(self) -> list[Memory]:
        """Return the memory that names most of the new identifiers, if they are rare: a rule by one name, others by two."""
        new_identifiers = self._target.new_identifiers
        if not new_identifiers:
            return []
        audiences, now = self.eligible.audiences, self.eligible.now_ms
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
        """Return the new rule about these actions that shares most words with the call."""
        target = self._target
        naming = self._call.store.mentioning(target.actions, self.eligible.audiences, MAX_RULES, self.eligible.now_ms)
        seqs = list(dict.fromkeys([seq for action in target.actions for seq in naming.get(action, ())]))
        rules = self._eligible_memories(seqs, seqs if target.owner or not target.file else ())
        new = [memory for memory in rules if memory.id not in self.given]
        if not new:
            return []
        from subcog_hooks.text.actions import FAR, closeness, singular_words

        words = frozenset(singular_words(f"{target.file} {target.text[:MAX_COMPARED]}"))
        score_of = {memory.id: closeness(memory.content, words, target.actions) for memory in new}
        best = min(new, key=lambda memory: (-score_of[memory.id], *_tie_key(memory)))
        if score_of[best.id] == FAR:
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
