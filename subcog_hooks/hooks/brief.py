"""The brief of a session: the memories that are worth knowing whatever comes, as many as fit. Nothing is written here.

What a memory is worth is a sum: what was sought in this project before, what kind of note it is (rules before facts), how new
it is among the others. Its kind is what somebody has said of it (`standing`), else what its namespace says, else what its text
does. The weights are chosen on the histories of six people, by how many of their prompts in need were helped, with their own
memories alone and among 250 of other work. That short ones come first added nothing there, nor did the text where the
namespace says something.
"""

from math import log

from subcog_hooks.hooks.block import Entry, line_units
from subcog_hooks.state import sought

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from subcog_hooks.hooks.occasion import Occasion
    from subcog_hooks.memory.model import Memory

MOST_LOOKED_AT = 200  # of the newest of each audience
MOST_SOUGHT = 50  # of those that were sought most, however old
MOST_MISSES = 40  # that do not fit, or repeat what is there, one after the other
LONGEST_LINE = 400  # UTF-16 units of a memory's text; of a longer one the beginning is given
LEAST_ROOM = 60  # UTF-16 units, in which no line fits
FAIR_SHARE = 2 / 3  # of the room, for the project's memories and for those of all projects
SIMILAR = 0.8  # the share of their words that two memories have in common which say nearly the same

SOUGHT, KIND, AGE = 0.5, 2.0, 4.0  # weights
FAINT = 0.05  # of what was sought: half as much is nothing
KINDS = {  # what holds in every session, by the namespace that such notes are kept in
    **dict.fromkeys(("patterns", "pattern", "preferences", "preference", "rules", "rule", "learnings", "learning"), 1.0),
    **dict.fromkeys(("conventions", "convention", "standards", "standard", "procedures", "procedure"), 1.0),
    **dict.fromkeys(("decisions", "decision"), 0.5),
    **dict.fromkeys(("context", "progress", "changelog", "changes", "history", "releases"), 0.0),
}
STANDING_KIND = 3.0  # of what somebody has said to be standing: the oldest comes before the newest fact; said not to be, 0.0
CERTAINTY = 0.7  # of its text, where a namespace says nothing: of .3 for all, .7 and 1.0 the best on those histories


class Worth:
    """The worth of a memory at the start of a session.

    sought, kind, age: what each adds; age takes away.
    """

    __slots__ = ("age", "kind", "memory", "sought")

    def __init__(self, memory: "Memory", weight: float, rank: float) -> None:
        """weight: of what was sought; rank: by age, 0.0 for the newest of all to 1.0."""
        self.memory = memory
        self.sought = SOUGHT * log(1.0 + weight / FAINT)
        self.kind = KIND * kind_of(memory)
        self.age = -AGE * rank

    @property
    def total(self) -> float:
        """The sum of all three."""
        return self.sought + self.kind + self.age


def kind_of(memory: "Memory") -> float:
    """Return how surely a memory holds in every session: 0.0 for a fact, 1.0 for a rule, 3.0 where somebody has said so."""
    if memory.standing is not None:
        return STANDING_KIND if memory.standing else 0.0
    said = KINDS.get(memory.namespace.lower())
    if said is not None:
        return said
    from subcog_hooks.text.standing import certainty_of  # most namespaces say something

    return CERTAINTY * certainty_of(memory.content)


def ranked(occasion: "Occasion") -> "list[Worth]":
    """Return the memories that could be in the brief of a session here, the most worth first. Raises StoreError.

    What has triggers or paths waits for them, and what has conditions comes with these.
    """
    eligible, store = occasion.eligible, occasion.store
    weights = sought.of_project(occasion.state, occasion.project, MOST_SOUGHT)
    memories = {memory.id: memory for memory in store.by_ids(list(weights)).values()}
    for audience in eligible.audiences:
        memories |= {memory.id: memory for memory in store.newest(audience, MOST_LOOKED_AT)}
    fitting = [memory for memory in memories.values() if is_for_all(memory) and eligible.includes(memory)]
    fitting.sort(key=lambda memory: (-memory.created_at, memory.id))
    last = max(1, len(fitting) - 1)
    found = [Worth(memory, weights.get(memory.id, 0.0), place / last) for place, memory in enumerate(fitting)]
    found.sort(key=lambda one: (-one.total, -one.memory.created_at, one.memory.id))
    return found


def is_for_all(memory: "Memory") -> bool:
    """Return whether a memory waits for no moment of its own."""
    return not (memory.triggers or memory.paths or memory.when)


def fitting(ordered: "Iterable[Memory]", room: int, before: "Sequence[Memory]" = ()) -> "list[Memory]":
    """Return those of the memories that fit, in their order, without those that nearly repeat another.

    room: UTF-16 units, of which `before` takes what it needs: what is given in any case. Neither the project's memories nor
    those of all projects take more than FAIR_SHARE of the rest while others of the other kind fit.
    """
    candidates = list(ordered)
    told = [_words_of(memory.content) for memory in before]
    room -= sum(units_of(memory) for memory in before)
    known = {memory.id for memory in before}
    is_mixed = len({memory.scope == "project" for memory in candidates}) > 1
    shares = dict.fromkeys((True, False), FAIR_SHARE * room if is_mixed else room)
    chosen: dict[int, Memory] = {}
    later: list[tuple[int, Memory]] = []
    misses = 0

    def take(place: int, memory: "Memory") -> bool:
        nonlocal room
        words, units = _words_of(memory.content), units_of(memory)
        if units > room or memory.id in known or any(_likeness(words, other) >= SIMILAR for other in told):
            return False
        chosen[place] = memory
        told.append(words)
        room -= units
        return True

    for place, memory in enumerate(candidates):
        if room < LEAST_ROOM or misses > MOST_MISSES:
            break
        side = memory.scope == "project"
        units = units_of(memory)
        if units > shares[side]:
            later.append((place, memory))
        elif take(place, memory):
            shares[side] -= units
            misses = 0
        else:
            misses += 1
    for place, memory in later:
        if room < LEAST_ROOM:
            break
        take(place, memory)
    return [chosen[place] for place in sorted(chosen)]


def units_of(memory: "Memory") -> int:
    """Return the UTF-16 units that a memory takes in a brief."""
    return line_units(Entry(memory.namespace, memory.created_at, memory.id, memory.content, memory.trust), LONGEST_LINE)


def _words_of(text: str) -> frozenset[str]:
    return frozenset([bare for word in text[:LONGEST_LINE].lower().split() if (bare := word.strip(".,;:!?()\"'`"))])


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, len(one | other))


def explained(one: Worth) -> "Mapping[str, float]":
    """Return what each evidence adds to the worth of a memory, by name."""
    return {"sought": one.sought, "kind": one.kind, "age": one.age}
