"""The search for memories about a tool call's intent, and what it means for the memories that cues bring.

A call that changes something is searched like a prompt. A memory with an explicit cue (a path, a trigger, a condition) is told.
A memory that merely names something of the call is told where the search ranks it first; otherwise a line may point at it.
"""

from __future__ import annotations

from subcog_hooks.hook.payload import text_of
from subcog_hooks.recall.hits import ACTION, MENTION, PATH
from subcog_hooks.store import sessions
from subcog_hooks.text.actions import EDITING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.hook.tool_cues import CueSearch
    from subcog_hooks.hook.tool_target import ToolTarget
    from subcog_hooks.recall.hits import Hit
    from subcog_hooks.store.memory import Memory

    Channels = Mapping[str, Sequence[Memory]]

MAX_NEED = 1_500  # characters of a need
MIN_LINE_RELEVANCE = 0.02  # relevance that a searched memory needs for a line
MIN_RECALL_MS = 150.0  # work time that a search may need on a busy machine
CLEAR = 0.2  # From this relevance on, a hit comes before a rule about the command's action.
IMPLICIT = (ACTION, MENTION)  # channels of memories that merely name something of the call


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
    from subcog_hooks.text.looking_commands import only_looks  # .2 ms, and most calls are no commands.

    return "" if only_looks(target.text) else f"{text_of(tool_input, 'description')} {target.text}"[:MAX_NEED]


def divide_memories(
    need: str, channels: Channels, search: CueSearch, call: HookCall, *, is_command: bool
) -> tuple[Channels, Sequence[Hit]]:
    """Return the memories that are told, by channel, and those that a line may point at, the best first. Raises StoreError.

    need: "" for a call that changes nothing. Such a call gets lines for a file's memories: they are told when it is changed.
    """
    hits = _recall_need(need, search, call) if need else ()
    first = hits[0].memory.id if hits and hits[0].memory.id not in search.distant else ""
    told: dict[str, Sequence[Memory]] = {}
    further: dict[str, Sequence[Memory]] = {}
    near_ids = [hit.memory.id for hit in hits if hit.relevance >= CLEAR]
    by_path = _put_near_first(channels.get(PATH, ()), near_ids, search.closeness)
    for name, memories in {**channels, PATH: by_path}.items():
        if name in IMPLICIT:
            told[name] = [memory for memory in memories if memory.id == first]
            further[name] = [memory for memory in memories if memory.id != first]
        else:
            (told if need or name != PATH else further)[name] = memories
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


def _put_near_first(memories: Sequence[Memory], near_ids: Sequence[str], closeness: Mapping[int, float]) -> list[Memory]:
    """Return a file's memories with those of `near_ids` first among equally close ones, in the order of `near_ids`."""
    rank_of = {id_: rank for rank, id_ in enumerate(near_ids)}
    return sorted(memories, key=lambda memory: (-closeness[memory.seq], rank_of.get(memory.id, len(rank_of))))


def _recall_need(need: str, search: CueSearch, call: HookCall) -> Sequence[Hit]:
    """Return the hits for a need, the most relevant first; none without time or an index. Raises StoreError."""
    if call.deadline.work_left_ms() < MIN_RECALL_MS:
        return []
    from subcog_hooks.hook import recall_sources  # 10 ms: only a call that changes something searches.
    from subcog_hooks.recall import pipeline
    from subcog_hooks.store.index import IndexUnusable

    try:
        sources = recall_sources.open_sources(call)
        answer = pipeline.recall_for_prompt(need, sources, search.eligible, call.deadline)
    except IndexUnusable as error:
        call.log(f"no search for a tool call: {error}")
        return []
    recall_sources.discount_absent(answer.hits, call)
    return [hit for hit in pipeline.sort_by_relevance(answer.hits) if not hit.is_loaded]
