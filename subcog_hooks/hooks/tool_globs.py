"""The memories about the thing that a tool is about to touch: by globs, and by triggers, conditions and exact names."""

from subcog_hooks.cues import globs
from subcog_hooks.recall.hits import MENTION, PATH, PATTERN, STATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from subcog_hooks.hooks.occasion import Occasion
    from subcog_hooks.hooks.touched import Touched
    from subcog_hooks.memory.model import Memory

SPECIFIC = 3  # memories that name a thing; what more of them name says little
MAX_MATCHES = 30  # memories whose globs match that are read


class Search:
    """The live memories of what is touched, by channel, the most urgent first.

    given: ids of memories that the session has been given; note: what was left undone, "" for nothing.
    """

    __slots__ = ("_eligible", "_occasion", "_touched", "given", "note")

    def __init__(self, touched: "Touched", occasion: "Occasion") -> None:
        self._touched = touched
        self._occasion = occasion
        # a file outside of any project may be meant by the project at hand, as /etc/hosts is
        self._eligible = occasion.eligible_to(touched.owner or occasion.here)
        self.given = self._eligible.given
        self.note = ""

    def run(self) -> "dict[str, list[Memory]]":
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
        return channels

    def _match_globs(self) -> "list[Memory]":
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

    def _match_mentions(self) -> "list[Memory]":
        """Return those that name what is touched, if few do: first by the longest of its names, then the newest."""
        touched = self._touched
        naming = self._occasion.store.mentioning(touched.names, self._eligible.audiences, SPECIFIC + 1, self._eligible.now_ms)
        few = {name: naming[name] for name in touched.names if len(naming.get(name, ())) in range(1, SPECIFIC + 1)}
        found = list(dict.fromkeys([seq for seqs in few.values() for seq in seqs]))
        return self._meant(found, found if touched.owner or not touched.file else few.get(touched.names[0], ()))

    def _meant(self, seqs: "Sequence[int]", surely: "Collection[int]") -> "list[Memory]":
        """Return those of these row numbers that may be handed over, in this order.

        surely: those that mean this very file. What else a project says of its files is not about one outside of any project.
        """
        memories = self._occasion.store.by_seqs(seqs)
        return [
            memory
            for memory in map(memories.get, seqs)
            if memory and (memory.scope != "project" or memory.seq in surely) and self._eligible.allows(memory)
        ]
