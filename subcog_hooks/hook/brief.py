"""The brief of a session: the memories that are worth knowing whatever comes, as many as fit. Nothing is written here.

What a memory is worth is a sum: what was sought in this project before, what kind of note it is (rules before facts), how new
it is among the others, whether it has words of the branch, and who noted it. Its kind is what somebody has said of it
(`standing`), else what its namespace says, else what its text does.

The weights of the first three are chosen on the histories of six people, by how many of their prompts in need were helped, with
their own memories alone and among 250 of other work. That short ones come first added nothing there, nor did the text where the
namespace says something. Those of the last two are chosen on one of the projects of tests/eval/ground_truth/sessions, and so is
that of what was sought, as far as the six people leave it open. The words of the last commits added nothing there, nor did the
files that were committed, edited or changed last.
"""

from __future__ import annotations

from _bisect import insort_right  # without 200 lines of Python around it
from math import log

from subcog_hooks.hook.block import HARD_CAP_UNITS, Entry, frame_units, head_units, shown_units
from subcog_hooks.store import ledger, project
from subcog_hooks.store.memory import AGENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from subcog_hooks.hook.call import Occasion
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.outlines import Outline

MOST_LOOKED_AT = 200  # of the newest of each project, and of those for all projects
MOST_SOUGHT = 50  # of those that were sought most, however old
MOST_MISSES = 40  # that do not fit, or repeat what is there, one after the other
MOST_LATER = 100  # that are looked at again when their side has had its share
LONGEST_LINE = 400  # UTF-16 units of a memory's text; of a longer one the beginning is given
LEAST_ROOM = 20  # UTF-16 units of text, in which hardly any fits
FAIR_SHARE = 2 / 3  # of the room, for the project's memories and for those of all projects
SIMILAR = 0.8  # the share of their words that two memories have in common which say nearly the same

SOUGHT, KIND, AGE, BRANCH, BY_AGENT = 0.15, 2.0, 4.0, 2.0, 1.5  # weights; for the first see tests/eval/test_sessions.py
MOST_OF_BRANCH = 3.0  # times a word that no other memory has, whatever a branch is called
LEAST_LETTERS = 3  # of a word of a branch
MOST_BRANCH_WORDS = 8  # of its words that count: a repository may call it anything
PLAIN_WORDS = frozenset(  # of branches, which say how people work, not on what
    "add and bug bugfix branch chore dev develop docs feat feature fix for from hotfix into issue main master merge new not "
    "refactor release review task test tests the ticket update wip with".split()
)
MOST_READ = 600  # characters of a memory in which they are looked for
FAINT = 0.05  # of what was sought: half as much is nothing
KINDS = {  # what holds in every session, by the namespace that such notes are kept in
    **dict.fromkeys(("patterns", "pattern", "preferences", "preference", "rules", "rule", "learnings", "learning"), 1.0),
    **dict.fromkeys(("conventions", "convention", "standards", "standard", "procedures", "procedure"), 1.0),
    **dict.fromkeys(("decisions", "decision"), 0.5),
    **dict.fromkeys(("context", "progress", "changelog", "changes", "history", "releases"), 0.0),
}
STANDING_KIND = 3.0  # of what somebody has said to be standing: the oldest comes before the newest fact; said not to be, 0.0
CERTAINTY = 0.7  # of its text, where a namespace says nothing: of .3 for all, .7 and 1.0 the best on those histories
_SEPARATORS = str.maketrans(dict.fromkeys("\n\t`'\"()[]{}<>.,:;!?/\\|=+*&#@~-_", " "))


class Worth:
    """The worth of a memory at the start of a session.

    sought, kind, age, branch, trust: what each adds; age takes away, and so does the word of an agent.
    """

    __slots__ = ("_kind", "age", "branch", "memory", "sought", "trust")

    def __init__(self, memory: Outline, weight: float, rank: float, named: float = 0.0) -> None:
        """weight: of what was sought; rank: by age, 0.0 for the newest of all to 1.0; named: how much of the branch it has."""
        self.memory = memory
        self.sought = SOUGHT * log(1.0 + weight / FAINT)
        self.age = -AGE * rank
        self.branch = BRANCH * named
        self.trust = -BY_AGENT if memory.trust == AGENT else 0.0
        self._kind = said_kind_of(memory)

    @property
    def kind(self) -> float:
        """By how much a rule comes before a fact; the text tells which it is where nobody has said so."""
        if self._kind is None:
            from subcog_hooks.text.standing import certainty_of  # most namespaces say something

            self._kind = CERTAINTY * certainty_of(self.memory.content)
        return KIND * self._kind

    @property
    def total(self) -> float:
        """The sum of all."""
        return self.kind + self._others

    @property
    def most(self) -> float:
        """The total, or what it could be at most where the text has not been read yet."""
        return KIND * (CERTAINTY if self._kind is None else self._kind) + self._others

    @property
    def _others(self) -> float:
        return self.sought + self.age + self.branch + self.trust

    @property
    def key(self) -> tuple[float, int, str]:
        """The place in a brief: by the total, then by age."""
        return -self.total, -self.memory.created_at, self.memory.id


def said_kind_of(memory: Outline) -> float | None:
    """Return how surely a memory holds in every session: 0.0 for a fact, 1.0 for a rule, 3.0 where somebody has called it one.

    None where neither somebody nor the namespace says so.
    """
    if memory.standing is not None:
        return STANDING_KIND if memory.standing else 0.0
    return KINDS.get(memory.namespace.lower())


def weighed(occasion: Occasion) -> list[Worth]:
    """Return the memories that could be in the brief of a session here, in no order. Raises StoreError.

    What has triggers or paths waits for them, and what has conditions comes with these.
    """
    weights = ledger.find_near(occasion.state, occasion.project, MOST_SOUGHT)
    found = occasion.store.outlines(occasion.eligible.audiences, MOST_LOOKED_AT, occasion.at, tuple(weights))
    for memory in found:
        memory.created_at = min(memory.created_at, occasion.at)  # what is dated ahead is as new as today
    found.sort(key=lambda memory: (-memory.created_at, memory.id))
    last = max(1, len(found) - 1)
    named = _branch_shares(occasion, found)
    return [
        Worth(memory, weights.get(memory.id, 0.0), place / last, named.get(memory.id, 0.0))
        for place, memory in enumerate(found)
    ]


def words_of_branch(branch: str) -> list[str]:
    """Return the words of a branch's name that say what one works on there.

    >>> words_of_branch("feat/PAY-12_refund-windows"), words_of_branch("main")
    (['pay', 'refund', 'windows'], [])
    """
    letters = "".join([letter if letter.isalpha() else " " for letter in branch.lower()])
    words = [word for word in dict.fromkeys(letters.split()) if len(word) >= LEAST_LETTERS and word not in PLAIN_WORDS]
    return words[:MOST_BRANCH_WORDS]


def _branch_shares(occasion: Occasion, found: Sequence[Outline]) -> dict[str, float]:
    """Return how much each memory has of what the branch is called, by id: a rare word is worth 1.0, a frequent one less."""
    words = words_of_branch(project.branch(occasion.here.root) or "") if occasion.here and len(found) > 1 else []
    if not words:
        return {}
    texts = [(memory.id, " " + memory.content[:MOST_READ].lower().translate(_SEPARATORS)) for memory in found]
    shares: dict[str, float] = {}
    for word in words:
        having = [id_ for id_, text in texts if f" {word}" in text]
        for id_ in having:
            shares[id_] = shares.get(id_, 0.0) + log(len(found) / len(having)) / log(len(found))
    return {id_: min(MOST_OF_BRANCH, share) for id_, share in shares.items()}


def ranked(found: Sequence[Worth]) -> Iterator[Worth]:
    """Yield what was weighed, the most worth first. No text is read that could not be the next."""
    waiting: list[tuple[tuple[float, int, str], Worth]] = []  # of which the worth is known, in order
    for one in sorted(found, key=lambda one: -one.most):
        while waiting and -waiting[0][0][0] > one.most:
            yield waiting.pop(0)[1]
        insort_right(waiting, (one.key, one))
    for _, known in waiting:
        yield known


def fitting(ordered: Iterable[Outline], room: int, before: Sequence[Memory] = (), *, is_mixed: bool = True) -> list[Outline]:
    """Return those of the memories that fit, in their order, without those that nearly repeat another.

    room: UTF-16 units of their texts, of which `before` takes what it needs: what is given in any case. What stands around the
    texts is bounded by what a block may have. is_mixed: there are memories of the project and of all projects; neither take
    more than FAIR_SHARE of the room while others of the other kind fit.
    """
    told = [_words_of(memory.content) for memory in before]
    block = HARD_CAP_UNITS - frame_units(MOST_LOOKED_AT)
    for given in before:
        room -= text_units(given)
        block -= units_of(given)
    known = {memory.id for memory in before}
    shares = dict.fromkeys((True, False), FAIR_SHARE * room if is_mixed else room)
    chosen: dict[int, Outline] = {}
    later: list[tuple[int, Outline]] = []
    misses, tight = 0, {True: 0, False: 0}

    def take(place: int, memory: Outline, units: int) -> bool:
        nonlocal room, block
        line = units + head_units(_entry(memory))
        if units > room or line > block or memory.id in known:
            return False
        words = _words_of(memory.content)
        if any(_likeness(words, other) >= SIMILAR for other in told):
            return False
        chosen[place] = memory
        told.append(words)
        room -= units
        block -= line
        return True

    for place, memory in enumerate(ordered):
        if room < LEAST_ROOM or misses > MOST_MISSES:
            break
        side = memory.scope == "project"
        # how long one is, is looked at only while some of its side still fit
        units = text_units(memory) if shares[side] >= LEAST_ROOM and tight[side] <= MOST_MISSES else HARD_CAP_UNITS
        if units > shares[side]:
            later.append((place, memory))
            tight[side] += 1
        elif take(place, memory, units):
            shares[side] -= units
            misses = 0
        else:
            misses += 1
    for place, memory in later[:MOST_LATER]:
        if room < LEAST_ROOM:
            break
        take(place, memory, text_units(memory))
    return [chosen[place] for place in sorted(chosen)]


def block_units(memories: Sequence[Memory]) -> int:
    """Return the UTF-16 units of the block that gives these memories."""
    return frame_units(len(memories), [memory.noted for memory in memories]) + sum(map(units_of, memories))


def text_units(memory: Outline | Memory) -> int:
    """Return the UTF-16 units of a memory's text in a brief."""
    return shown_units(memory.content, LONGEST_LINE)


def units_of(memory: Outline | Memory) -> int:
    """Return the UTF-16 units that a memory takes in a brief, with what stands before its text."""
    return text_units(memory) + head_units(_entry(memory))


def _entry(memory: Outline | Memory) -> Entry:
    return Entry(memory.namespace, memory.created_at, memory.id, memory.content, memory.noted)


def _words_of(text: str) -> frozenset[str]:
    return frozenset([bare for word in text[:LONGEST_LINE].lower().split() if (bare := word.strip(".,;:!?()\"'`"))])


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, len(one | other))


def explained(one: Worth) -> Mapping[str, float]:
    """Return what each evidence adds to the worth of a memory, by name."""
    return {"sought": one.sought, "kind": one.kind, "age": one.age, "branch": one.branch, "trust": one.trust}
