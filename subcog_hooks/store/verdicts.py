"""The verdict of one hook run, with its reasons, and its record in state.db, which `subcog why` shows.

It is built after the answer is written, so that nobody waits for it. It holds no content of memories. state.db keeps it as one
row of columns, the rest as JSON.
"""

from __future__ import annotations

from subcog_hooks.core import light_json
from subcog_hooks.core.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from subcog_hooks.core.light_json import Json
    from subcog_hooks.store.state import State

# outcomes of a verdict
SPOKE = "spoke"
LINES = "lines"  # only lines, which point at memories
PAUSED = "paused"
OFF = "off"  # a setting switches the hook off
NOMEM = "nomem"  # the prompt asks for silence
NOT_TYPED = "not_typed"  # a command of the client, or a prompt that the client sends in the user's name
INTENT = "intent"  # the prompt's intent needs no memories
NOTHING_FOUND = "nothing_found"
BELOW = "below"  # the hits are not relevant enough
REPEATED = "repeated"  # the session already has the relevant memories, from us or from the client
SPENT = "spent"  # the session has reached its limit of characters
OUT_OF_TIME = "out_of_time"
FAILED = "failed"
OUTCOMES = (SPOKE, LINES, PAUSED, OFF, NOMEM, NOT_TYPED, INTENT, NOTHING_FOUND, BELOW, REPEATED, SPENT, OUT_OF_TIME, FAILED)

# outcomes of a second look with findings
WAITING = "waiting"  # it waits for the session's next tool call
HANDED_OVER = "handed_over"  # with the next tool call
MOVED_ON = "moved_on"  # the session has another prompt, or has seen the memories

# outcomes of a candidate, beside BELOW; a candidate rejected by the whole verdict carries the verdict's outcome
INJECTED = "injected"
POINTED = "pointed"  # a line points at it
FOUND = "found"  # a second look has found it
GIVEN = "given"  # the session already has it
LOADED = "loaded"  # the client itself loads it in this folder
DUPLICATE = "duplicate"  # it nearly repeats a more relevant memory
COUNT = "count"  # the maximum number of memories was reached
ROOM = "room"  # too few characters were left
BAD = "bad"  # a person has marked it as wrong for similar prompts

SECOND_LOOK = "second look"  # the channel of the hits that a language model has chosen in a second look

# the stages, in order
START = "start"  # from the start of the process to the reading of the prompt
OPEN, INTENT_READ, EXACT, RECALL, LLM, GATE, RENDER = "open", "intent", "exact", "recall", "llm", "gate", "render"

VERSION = 1  # of the record
MAX_CANDIDATES = 15
MAX_EXPLAINED = 5  # the terms of the top candidates are kept
MAX_PROMPT = 2_000  # characters
KEPT_DAYS = 30
MAX_VERDICTS = 1_000  # some days' prompts, 4 to 8 kB each
LOOK_EVENT = "SecondLook"  # not an event of the client
PRUNED_AT_ONCE = 50  # verdicts deleted at a time: single deletions would write twice as many pages
FORGOTTEN_AT_ONCE = 100  # verdicts; deleting their texts takes 5 ms

# counters, which count beyond the verdicts that are kept; lines point at memories, and memories are opened from lines
VERDICTS_TOTAL, SECOND_LOOKS_TOTAL = "subcog_hook_decisions_total", "subcog_second_looks_total"
INJECTED_TOTAL, POINTED_TOTAL = "subcog_memories_injected_total", "subcog_memories_pointed_total"
OPENED_TOTAL = "subcog_memories_opened_total"

_DAY_MS = 86_400_000
_NOTHING: Mapping[str, int] = {}


@record
class Candidate:
    """A memory that the hook considered for a prompt.

    relevance: the number that the gate compared; raw: the probability from the terms, before the factors. ranks, scores: those
    of the hit, by channel. terms: each a name, a value and its addition to the logit. factors: the prior and marked
    factors that turn the probability into the relevance. outcome: INJECTED, or the reason for the rejection.
    """

    id: str
    namespace: str
    relevance: float
    raw: float
    outcome: str
    ranks: Mapping[str, int] = _NOTHING
    scores: Mapping[str, float] = _NOTHING
    terms: Sequence[tuple[str, float, float]] = ()
    factors: Sequence[float] = ()


@record
class PromptIntent:
    """The intent of a prompt and its origin.

    certainty: the confidence that set the number of memories. row: the row of the merge with an LLM's answer. signals: each a
    name, its family and its weight; cues: those of the prompt's shape. llm_ms: the wait for an LLM, None when none was asked;
    reasoning: of its answer, "" without one.
    """

    type: str
    confidence: float
    certainty: float
    topics: Sequence[str] = ()
    source: str = ""
    llm_status: str = ""
    row: str = ""
    signals: Sequence[tuple[str, str, float]] = ()
    cues: Sequence[str] = ()
    llm_ms: float | None = None
    reasoning: str = ""


@record
class Thresholds:
    """The limits that memories were compared with: settings, and `needed`, the minimum relevance for this prompt."""

    min_relevance: float
    min_confidence: float
    max_memories: int
    max_characters: int
    needed: float


@record
class RecordedVerdict:
    """The verdict of one hook run: its outcome and its reasons.

    at_ms: milliseconds since the epoch; project: its name, "" for none; outcome: one of OUTCOMES; reason: details of it. units:
    printed UTF-16 units; micros: microseconds of the whole process until the record was written. prompt: the text, None where
    it may not be kept; intent: None where it was not read. settings: None where they were not read. stages: each a name and its
    milliseconds. strategies: the searches that recall ran; note: the searches that it left out. borrowed: topics taken from the
    previous prompt. candidates: at most MAX_CANDIDATES, the most relevant first.

    Of a second look: looked_at, the id of the verdict on its prompt; later_ms, its duration in milliseconds.
    """

    id: str
    at_ms: int
    event: str
    session: str
    project: str
    outcome: str
    units: int = 0
    micros: int = 0
    reason: str = ""
    prompt: str | None = None
    intent: PromptIntent | None = None
    settings: Thresholds | None = None
    stages: Sequence[tuple[str, float]] = ()
    strategies: Sequence[str] = ()
    note: str | None = None
    borrowed: Sequence[str] = ()
    candidates: Sequence[Candidate] = ()
    looked_at: str = ""
    later_ms: int = 0

    @property
    def injected(self) -> tuple[str, ...]:
        """The ids of the memories that were handed over."""
        return tuple(candidate.id for candidate in self.candidates if candidate.outcome == INJECTED)

    @property
    def pointed(self) -> tuple[str, ...]:
        """The ids of the memories that lines pointed at."""
        return tuple(candidate.id for candidate in self.candidates if candidate.outcome == POINTED)

    def to_text(self) -> str:
        """Return the fields without a column, as JSON. `past_runs.read_verdict` reads it."""
        return light_json.dumps({"v": VERSION, **{name: _plain_value(getattr(self, name)) for name in FIELDS}})


COLUMNS = ("id", "at_ms", "event", "session", "project", "outcome", "units", "micros")  # of state.db
FIELDS = tuple(name for name in RecordedVerdict.__annotations__ if name not in COLUMNS)


def _plain_value(value: object) -> Json:
    if isinstance(value, Candidate | PromptIntent | Thresholds):
        return {name: getattr(value, name) for name in value.__annotations__}
    return [_plain_value(item) for item in value] if isinstance(value, list | tuple) else value  # type: ignore[return-value]


def keep_verdict(state: State, verdict: RecordedVerdict, now_ms: int) -> None:
    """Store a verdict, and delete old ones: by age, and the oldest of more than MAX_VERDICTS.

    A verdict whose prompt has taught a memory stays until it is too old, because the question would go with it.
    """
    values = (
        *(verdict.id, verdict.at_ms, verdict.event, verdict.session, verdict.project, verdict.outcome),
        *(len(verdict.injected), verdict.units, verdict.micros, verdict.to_text()),
    )
    state.run("INSERT INTO verdicts VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    (oldest, oldest_at_ms), (newest, _) = state.run(
        "SELECT * FROM (SELECT number, at FROM verdicts ORDER BY number LIMIT 1)"
        " UNION ALL SELECT * FROM (SELECT number, at FROM verdicts ORDER BY number DESC LIMIT 1)"
    )
    oldest_kept_ms = now_ms - KEPT_DAYS * _DAY_MS
    if oldest_at_ms < oldest_kept_ms:
        state.run("DELETE FROM verdicts WHERE at < ?", (oldest_kept_ms,))
    if newest % PRUNED_AT_ONCE == 1 and newest - oldest > MAX_VERDICTS - PRUNED_AT_ONCE:
        sql = "DELETE FROM verdicts WHERE number <= ? AND id NOT IN (SELECT verdict FROM lessons)"
        state.run(sql, (newest - MAX_VERDICTS + PRUNED_AT_ONCE,))
    counter = SECOND_LOOKS_TOTAL if verdict.looked_at else VERDICTS_TOTAL
    if verdict.outcome != WAITING:  # a second look is counted at its end
        state.increase_counter(counter, f'outcome="{verdict.outcome}"')
    if verdict.injected:
        state.increase_counter(INJECTED_TOTAL, by=len(verdict.injected))
    if verdict.pointed:
        state.increase_counter(POINTED_TOTAL, by=len(verdict.pointed))
    if verdict.prompt is not None:
        note_kept_prompt_text(state)


# the texts of prompts


def note_kept_prompt_text(state: State) -> None:
    """Record that state.db holds texts of prompts, from the first verdict on."""
    state.run("UPDATE progress SET cleared_verdict = 0 WHERE cleared_verdict IS NOT 0")


def may_hold_prompt_texts(state: State) -> bool:
    """Return whether state.db may hold texts of prompts."""
    return bool(state.run("SELECT 1 FROM progress WHERE cleared_verdict IS NOT NULL"))


def forget_texts(state: State, limit: int) -> None:
    """Delete the texts of the next `limit` verdicts that have one, -1 for all, in the open transaction.

    The last one is recorded, NULL at the end: the hook's next runs continue. Topics and answers go at once.
    """
    state.run("PRAGMA secure_delete = ON")
    cleared = "SELECT coalesce(max(cleared_verdict), 0) FROM progress" if limit > 0 else "SELECT 0"
    sql = f"SELECT number FROM verdicts WHERE number > ({cleared}) ORDER BY number LIMIT ?"  # noqa: S608 - constants
    numbers = [number for (number,) in state.run(sql, (limit,))]
    if numbers:
        state.run(
            "UPDATE verdicts SET record = json_set(json_remove(record, '$.intent.topics', '$.intent.reasoning'),"
            " '$.prompt', NULL, '$.borrowed', json('[]')) WHERE number BETWEEN ? AND ? AND json_valid(record)",
            (numbers[0], numbers[-1]),
        )
    state.run("DELETE FROM topics")
    state.run("DELETE FROM llm_answers")
    state.run("UPDATE progress SET cleared_verdict = ?", (numbers[-1] if len(numbers) == limit else None,))
