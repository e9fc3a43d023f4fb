"""The memories about what a tool is about to do: by globs, triggers, conditions and exact names, and rules about the action."""

from __future__ import annotations

from subcog_hooks.cues import globs
from subcog_hooks.recall.hits import ACTION, MENTION, PATH, PATTERN, STATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from subcog_hooks.hooks.occasion import Occasion
    from subcog_hooks.hooks.touched import Touched
    from subcog_hooks.memory.model import Memory

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
