"""The brief of a session: its most useful memories for any task, as many as fit. Nothing is written here.

A memory's score is a sum: its relevance to earlier prompts of the project, its kind, its age rank, its share of the branch's
words, and a penalty for agents' notes. Standing memories rank first, facts and states last.

The weights of the first three parts and the shares of the groups are chosen on the histories of six people, by the number of
helped prompts, leaving out each person in turn. They had their own memories alone, or among 250 of other work: a careful
reader's, the same without a namespace, or a model's. Other namespaces added nothing there, nor did the text as evidence of a
rule. The other two weights are chosen on one project of tests/eval/ground_truth/sessions. The words of the last commits added
nothing there, nor did recently changed files.
"""

from __future__ import annotations

from math import log

from subcog_hooks.core.records import record
from subcog_hooks.hook.block import HARD_CAP_UNITS, Entry, content_units, frame_units, head_units
from subcog_hooks.store import lookups, project
from subcog_hooks.store.memory import AGENT, AUTHOR_PHRASES, WRITTEN_BY_MODEL, is_from_instructions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.store.lookups import Outline
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.state import State

MAX_RECENT = 200  # newest memories of each project, and of those for all projects
MAX_SEARCHED = 50  # memories most relevant to earlier prompts, at any age
MAX_MISSES = 40  # memories in a row that do not fit or repeat others
MAX_DEFERRED = 100  # memories that are tried again once their side has had its share
MAX_LINE_UNITS = 400  # UTF-16 units of a memory's text, which is cut there
UNUSED_MS, UNUSED_SESSIONS = 60 * 86_400_000, 20  # A model's memory without a use in both leaves the brief.
MIN_ROOM_UNITS = 20  # Hardly any text fits into fewer UTF-16 units.
PROJECT, ALL_PROJECTS, STANDING = "project", "all projects", "standing"
GROUP_SHARES = {PROJECT: 0.75, ALL_PROJECTS: 0.75, STANDING: 0.4}  # of the room, while memories of other groups fit
MIN_OVERLAP = 0.8  # Two memories with this share of common words say nearly the same.

DEMAND_WEIGHT = 0.25
AGE_WEIGHT, BRANCH_WEIGHT, AGENT_PENALTY = 4.0, 2.0, 1.5
MAX_BRANCH_SHARE = 3.0  # A memory counts as having three unique words of the branch at most.
MIN_BRANCH_WORD = 3  # letters
MAX_BRANCH_WORDS = 8  # A repository may give a branch any name.
PLAIN_WORDS = frozenset(  # These words of branches say how people work, not on what.
    "add and bug bugfix branch chore dev develop docs feat feature fix for from hotfix into issue main master merge new not "
    "refactor release review task test tests the ticket update wip with".split()
)
MAX_SCANNED = 600  # characters of a memory that are compared with the branch
FAINT_DEMAND = 0.05  # Half of this demand counts as nothing.
STANDING_KIND, FACT_KIND = 6.0, -0.5
FACT_NAMESPACES = frozenset("context progress changelog changes history releases".split())
_SEPARATORS = str.maketrans(dict.fromkeys("\n\t`'\"()[]{}<>.,:;!?/\\|=+*&#@~-_", " "))


@record
class BriefScore:
    """The score of a memory at the start of a session.

    parts: by the names that `subcog brief --json` prints; those of age and of trust are negative.
    """

    memory: Outline
    parts: Mapping[str, float]

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return sum(self.parts.values())


def score_memory(memory: Outline, demand: float, age_rank: float, branch_share: float = 0.0) -> BriefScore:
    """Return the score of a memory.

    demand: relevance to earlier prompts; age_rank: 0.0 for the newest of all memories to 1.0 for the oldest.
    """
    is_fact = memory.namespace.lower() in FACT_NAMESPACES
    parts = {
        "sought": DEMAND_WEIGHT * log(1.0 + demand / FAINT_DEMAND),
        "kind": STANDING_KIND if memory.standing else FACT_KIND if is_fact else 0.0,
        "age": -AGE_WEIGHT * age_rank,
        "branch": BRANCH_WEIGHT * branch_share,
        "trust": -AGENT_PENALTY if memory.noted == AUTHOR_PHRASES[AGENT] else 0.0,
    }
    return BriefScore(memory, parts)


def rank_memories(call: HookCall) -> list[BriefScore]:
    """Return the scores of the memories that could be in the brief of a session here, the highest first. Raises StoreError.

    Memories with triggers, paths or conditions are left out: their cues bring them. So are those that the client shows itself.
    """
    demand = find_near(call.state, call.project, MAX_SEARCHED)
    outlines = lookups.find_outlines(call.store, call.eligible.audiences, MAX_RECENT, call.now_ms, tuple(demand))
    memories = [
        memory for memory in outlines if not (is_from_instructions(memory.source) and call.shows_itself(memory.content))
    ]
    # Memories of models that nothing has told, opened or edited for long are of no use.
    old_ms = call.now_ms - UNUSED_MS
    if old := {memory.id for memory in memories if memory.noted == WRITTEN_BY_MODEL and memory.updated_at < old_ms}:
        unused = old & find_unused(call.state, call.project, call.now_ms)
        memories = [memory for memory in memories if memory.id not in unused]
    for memory in memories:
        memory.created_at = min(memory.created_at, call.now_ms)  # A memory dated ahead counts as new today.
    memories.sort(key=lambda memory: (-memory.created_at, memory.seq))
    last = max(1, len(memories) - 1)
    branch = (project.find_branch(call.here.root) if call.here else None) or ""
    shares = _branch_shares(branch_words(branch), memories)
    scores = [
        score_memory(memory, demand.get(memory.id, 0.0), position / last, shares.get(memory.id, 0.0))
        for position, memory in enumerate(memories)
    ]
    return sorted(scores, key=lambda score: -score.total)  # Equal totals stay in this order: by age, then by their document.


def branch_words(branch: str) -> list[str]:
    """Return the words of a branch's name that describe the work on it.

    >>> branch_words("feat/PAY-12_refund-windows"), branch_words("main")
    (['pay', 'refund', 'windows'], [])
    """
    letters = "".join([letter if letter.isalpha() else " " for letter in branch.lower()])
    words = [word for word in dict.fromkeys(letters.split()) if len(word) >= MIN_BRANCH_WORD and word not in PLAIN_WORDS]
    return words[:MAX_BRANCH_WORDS]


def _branch_shares(words: Sequence[str], memories: Sequence[Outline]) -> dict[str, float]:
    """Return each memory's share of the branch's words, by id: 1.0 for each unique word, less for a frequent one."""
    if not words or len(memories) < 2:
        return {}
    texts = [(memory.id, " " + memory.content[:MAX_SCANNED].lower().translate(_SEPARATORS)) for memory in memories]
    shares: dict[str, float] = {}
    for word in words:
        ids = [id_ for id_, text in texts if f" {word}" in text]
        for id_ in ids:
            shares[id_] = shares.get(id_, 0.0) + log(len(memories) / len(ids)) / log(len(memories))
    return {id_: min(MAX_BRANCH_SHARE, share) for id_, share in shares.items()}


def select_fitting(ordered: Iterable[Outline], room: int, before: Sequence[Memory] = ()) -> list[Outline]:
    """Return the memories that fit, in their order, without near repeats.

    room: UTF-16 units of all texts; before: memories that come in any case and take their room first. The frame and the heads
    of the lines must fit into the longest block. No group of GROUP_SHARES takes more than its share while others fit.
    """
    chosen_words = [_words_of(memory.content) for memory in before]
    room -= sum(map(text_units, before))
    block_room = HARD_CAP_UNITS - frame_units(MAX_RECENT) - sum(map(entry_units, before))
    ids_before = {memory.id for memory in before}
    shares = {group: share * room for group, share in GROUP_SHARES.items()}
    chosen: dict[int, Outline] = {}
    deferred: list[tuple[int, Outline]] = []
    misses, group_misses = 0, dict.fromkeys(GROUP_SHARES, 0)

    def try_memory(position: int, memory: Outline, units: int) -> bool:
        nonlocal room, block_room
        line = units + head_units(_block_entry(memory))
        if units > room or line > block_room or memory.id in ids_before:
            return False
        words = _words_of(memory.content)
        if any(len(words & other) >= MIN_OVERLAP * max(1, len(words | other)) for other in chosen_words):
            return False
        chosen[position] = memory
        chosen_words.append(words)
        room -= units
        block_room -= line
        return True

    for position, memory in enumerate(ordered):
        if room < MIN_ROOM_UNITS or misses > MAX_MISSES:
            break
        groups = [PROJECT if memory.scope == PROJECT else ALL_PROJECTS, *([STANDING] if memory.standing else [])]
        # The length is computed only while memories of these groups may still fit.
        full = [group for group in groups if group_misses[group] > MAX_MISSES]
        units = 0 if full else text_units(memory)
        if full := full or [group for group in groups if units > shares[group]]:
            deferred.append((position, memory))
            for group in full:
                group_misses[group] += 1
        elif try_memory(position, memory, units):
            for group in groups:
                shares[group] -= units
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


def find_near(state: State, project: str, limit: int) -> dict[str, float]:
    """Return the memories near to a project's prompts, the heaviest first, each with the sum of its relevances."""
    sql = "SELECT memory, weight FROM sought WHERE project = ? ORDER BY weight DESC, memory LIMIT ?"
    return dict(state.run(sql, (project, limit)))


def find_unused(state: State, project: str, now_ms: int, unused_ms: int = UNUSED_MS) -> set[str]:
    """Return the memories of a project's briefs and prompts that had no use for that long and for UNUSED_SESSIONS."""
    latest = "SELECT last_at FROM sessions WHERE project = ? ORDER BY last_at DESC LIMIT 1 OFFSET ?"
    rows = state.run(
        f"SELECT memory FROM sought WHERE project = ? AND at < min(?, ({latest}))",  # noqa: S608 - constant text
        (project, now_ms - unused_ms, project, UNUSED_SESSIONS),
    )
    return {id_ for (id_,) in rows}
