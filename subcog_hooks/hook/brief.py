"""The brief of a session: its most useful memories for any task, as many as fit. Nothing is written here.

A memory's score is a sum: its relevance to earlier prompts of the project, its kind (rules before facts), its age rank, its
share of the branch's words, and a penalty for agents' notes. The kind comes from `standing`, else from the namespace, else from
the text.

The first three weights are chosen on the histories of six people, by the number of helped prompts. They had their own memories
alone, or among 250 of other work. A bonus for short memories added nothing there, nor did the text beside a known namespace.
The other two weights are chosen on one project of tests/eval/ground_truth/sessions. The first is, too, as far as the six people
leave it open. The words of the last commits added nothing there, nor did recently changed files.
"""

from __future__ import annotations

from _bisect import insort_right  # `bisect` adds 200 lines of Python around it.
from math import log

from subcog_hooks.hook.block import HARD_CAP_UNITS, Entry, content_units, frame_units, head_units
from subcog_hooks.store import project, sessions
from subcog_hooks.store.memory import AGENT, AUTHOR_PHRASES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.outlines import Outline

MAX_RECENT = 200  # newest memories of each project, and of those for all projects
MAX_SEARCHED = 50  # memories most relevant to earlier prompts, at any age
MAX_MISSES = 40  # memories in a row that do not fit or repeat others
MAX_DEFERRED = 100  # memories that are tried again once their side has had its share
MAX_LINE_UNITS = 400  # UTF-16 units of a memory's text, which is cut there
MIN_ROOM_UNITS = 20  # Hardly any text fits into fewer UTF-16 units.
FAIR_SHARE = 2 / 3  # This share of the room may go to the project's memories, and to those for all projects.
MIN_OVERLAP = 0.8  # Two memories with this share of common words say nearly the same.

DEMAND_WEIGHT = 0.15  # tests/eval/test_sessions.py measures it.
KIND_WEIGHT, AGE_WEIGHT, BRANCH_WEIGHT, AGENT_PENALTY = 2.0, 4.0, 2.0, 1.5
MAX_BRANCH_SHARE = 3.0  # A memory counts as having three unique words of the branch at most.
MIN_BRANCH_WORD = 3  # letters
MAX_BRANCH_WORDS = 8  # A repository may give a branch any name.
PLAIN_WORDS = frozenset(  # These words of branches say how people work, not on what.
    "add and bug bugfix branch chore dev develop docs feat feature fix for from hotfix into issue main master merge new not "
    "refactor release review task test tests the ticket update wip with".split()
)
MAX_SCANNED = 600  # characters of a memory that are compared with the branch
FAINT_DEMAND = 0.05  # Half of this demand counts as nothing.
KINDS = {  # The namespace of a note tells how surely it holds in every session.
    **dict.fromkeys(("patterns", "pattern", "preferences", "preference", "rules", "rule", "learnings", "learning"), 1.0),
    **dict.fromkeys(("conventions", "convention", "standards", "standard", "procedures", "procedure"), 1.0),
    **dict.fromkeys(("decisions", "decision"), 0.5),
    **dict.fromkeys(("context", "progress", "changelog", "changes", "history", "releases"), 0.0),
}
STANDING_KIND = 3.0  # The oldest memory that somebody has called standing comes before the newest fact.
TEXT_WEIGHT = 0.7  # The text counts where the namespace says nothing: 0.3, 0.7 and 1.0 were tried on those histories.
_SEPARATORS = str.maketrans(dict.fromkeys("\n\t`'\"()[]{}<>.,:;!?/\\|=+*&#@~-_", " "))


class BriefScore:
    """The score of a memory at the start of a session.

    demand, kind, age, branch, trust: its parts; age and the penalty for an agent's note are negative.
    """

    __slots__ = ("_kind", "age", "branch", "demand", "memory", "trust")

    def __init__(self, memory: Outline, demand: float, age_rank: float, branch_share: float = 0.0) -> None:
        """demand: relevance to earlier prompts; age_rank: 0.0 for the newest of all memories to 1.0 for the oldest."""
        self.memory = memory
        self.demand = DEMAND_WEIGHT * log(1.0 + demand / FAINT_DEMAND)
        self.age = -AGE_WEIGHT * age_rank
        self.branch = BRANCH_WEIGHT * branch_share
        self.trust = -AGENT_PENALTY if memory.noted == AUTHOR_PHRASES[AGENT] else 0.0
        self._kind = stated_kind(memory)

    @property
    def kind(self) -> float:
        """The advantage of a rule over a fact. The text decides where neither `standing` nor the namespace does."""
        if self._kind is None:
            from subcog_hooks.text.standing_rules import certainty_of  # Most namespaces tell the kind.

            self._kind = TEXT_WEIGHT * certainty_of(self.memory.content)
        return KIND_WEIGHT * self._kind

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return self.kind + self._others

    @property
    def upper_bound(self) -> float:
        """The total, or its highest possible value for an unread text."""
        return KIND_WEIGHT * (TEXT_WEIGHT if self._kind is None else self._kind) + self._others

    @property
    def _others(self) -> float:
        return self.demand + self.age + self.branch + self.trust

    @property
    def key(self) -> tuple[float, int, int]:
        """The sort key in a brief: by total, then by age, then in the order of storing, which is a document's."""
        return -self.total, -self.memory.created_at, self.memory.seq


def stated_kind(memory: Outline) -> float | None:
    """Return the certainty that a memory holds in every session: 0.0 for a fact, 1.0 for a rule, 3.0 for a standing memory.

    None where neither `standing` nor the namespace tells it.
    """
    if memory.standing is not None:
        return STANDING_KIND if memory.standing else 0.0
    return KINDS.get(memory.namespace.lower())


def score_memories(call: HookCall) -> list[BriefScore]:
    """Return the scores of the memories that could be in the brief of a session here, in no order. Raises StoreError.

    Memories with triggers, paths or conditions are left out: their cues bring them.
    """
    demand = sessions.find_near(call.state, call.project, MAX_SEARCHED)
    memories = call.store.outlines(call.eligible.audiences, MAX_RECENT, call.now_ms, tuple(demand))
    for memory in memories:
        memory.created_at = min(memory.created_at, call.now_ms)  # A memory dated ahead counts as new today.
    memories.sort(key=lambda memory: (-memory.created_at, memory.seq))
    last = max(1, len(memories) - 1)
    shares = _branch_shares(call, memories)
    return [
        BriefScore(memory, demand.get(memory.id, 0.0), position / last, shares.get(memory.id, 0.0))
        for position, memory in enumerate(memories)
    ]


def branch_words(branch: str) -> list[str]:
    """Return the words of a branch's name that describe the work on it.

    >>> branch_words("feat/PAY-12_refund-windows"), branch_words("main")
    (['pay', 'refund', 'windows'], [])
    """
    letters = "".join([letter if letter.isalpha() else " " for letter in branch.lower()])
    words = [word for word in dict.fromkeys(letters.split()) if len(word) >= MIN_BRANCH_WORD and word not in PLAIN_WORDS]
    return words[:MAX_BRANCH_WORDS]


def _branch_shares(call: HookCall, memories: Sequence[Outline]) -> dict[str, float]:
    """Return each memory's share of the branch's words, by id: 1.0 for each unique word, less for a frequent one."""
    words = branch_words(project.find_branch(call.here.root) or "") if call.here and len(memories) > 1 else []
    if not words:
        return {}
    texts = [(memory.id, " " + memory.content[:MAX_SCANNED].lower().translate(_SEPARATORS)) for memory in memories]
    shares: dict[str, float] = {}
    for word in words:
        ids = [id_ for id_, text in texts if f" {word}" in text]
        for id_ in ids:
            shares[id_] = shares.get(id_, 0.0) + log(len(memories) / len(ids)) / log(len(memories))
    return {id_: min(MAX_BRANCH_SHARE, share) for id_, share in shares.items()}


def rank_scores(scores: Sequence[BriefScore]) -> Iterator[BriefScore]:
    """Yield the scores, the highest first. A text is read only where its memory could be the next."""
    waiting: list[tuple[tuple[float, int, int], BriefScore]] = []  # scores with a known total, in order
    for score in sorted(scores, key=lambda score: -score.upper_bound):
        while waiting and -waiting[0][0][0] > score.upper_bound:
            yield waiting.pop(0)[1]
        insort_right(waiting, (score.key, score))
    for _, score in waiting:
        yield score


def select_fitting(
    ordered: Iterable[Outline], room: int, before: Sequence[Memory] = (), *, is_mixed: bool = True
) -> list[Outline]:
    """Return the memories that fit, in their order, without near repeats.

    room: UTF-16 units of all texts; before: memories that come in any case and take their room first. The frame and the heads
    of the lines must fit into the longest block. is_mixed: there are memories of the project and of all projects; neither side
    takes more than FAIR_SHARE of the room while memories of the other side fit.
    """
    chosen_words = [_words_of(memory.content) for memory in before]
    block_room = HARD_CAP_UNITS - frame_units(MAX_RECENT)
    for memory_before in before:
        room -= text_units(memory_before)
        block_room -= entry_units(memory_before)
    ids_before = {memory.id for memory in before}
    shares = dict.fromkeys((True, False), FAIR_SHARE * room if is_mixed else room)
    chosen: dict[int, Outline] = {}
    deferred: list[tuple[int, Outline]] = []
    misses, side_misses = 0, {True: 0, False: 0}

    def try_memory(position: int, memory: Outline, units: int) -> bool:
        nonlocal room, block_room
        line = units + head_units(_block_entry(memory))
        if units > room or line > block_room or memory.id in ids_before:
            return False
        words = _words_of(memory.content)
        if any(_word_overlap(words, other) >= MIN_OVERLAP for other in chosen_words):
            return False
        chosen[position] = memory
        chosen_words.append(words)
        room -= units
        block_room -= line
        return True

    for position, memory in enumerate(ordered):
        if room < MIN_ROOM_UNITS or misses > MAX_MISSES:
            break
        side = memory.scope == "project"
        # The length is computed only while memories of this side may still fit.
        units = text_units(memory) if shares[side] >= MIN_ROOM_UNITS and side_misses[side] <= MAX_MISSES else HARD_CAP_UNITS
        if units > shares[side]:
            deferred.append((position, memory))
            side_misses[side] += 1
        elif try_memory(position, memory, units):
            shares[side] -= units
            misses = 0
        else:
            misses += 1
    for position, memory in deferred[:MAX_DEFERRED]:
        if room < MIN_ROOM_UNITS:
            break
        try_memory(position, memory, text_units(memory))
    return [chosen[position] for position in sorted(chosen)]


def block_units(memories: Sequence[Memory]) -> int:
    """Return the UTF-16 units of a block with these memories."""
    return frame_units(len(memories), [memory.noted for memory in memories]) + sum(map(entry_units, memories))


def text_units(memory: Outline | Memory) -> int:
    """Return the UTF-16 units of a memory's text in a brief."""
    return content_units(memory.content, MAX_LINE_UNITS)


def entry_units(memory: Outline | Memory) -> int:
    """Return the UTF-16 units of a memory's line in a brief."""
    return text_units(memory) + head_units(_block_entry(memory))


def _block_entry(memory: Outline | Memory) -> Entry:
    return Entry(memory.namespace, memory.created_at, memory.id, memory.content, memory.noted)


def _words_of(text: str) -> frozenset[str]:
    return frozenset([bare for word in text[:MAX_LINE_UNITS].lower().split() if (bare := word.strip(".,;:!?()\"'`"))])


def _word_overlap(words: frozenset[str], others: frozenset[str]) -> float:
    return len(words & others) / max(1, len(words | others))


def score_parts(score: BriefScore) -> Mapping[str, float]:
    """Return the parts of a score, by the names that `subcog brief --json` prints."""
    return {"sought": score.demand, "kind": score.kind, "age": score.age, "branch": score.branch, "trust": score.trust}
