"""The outcome of one run of a hook, and its reasons: the record that `subcog why` shows. No content of memories is in it.

Built after the answer is written, so that nobody waits for it; kept in state.db as one row of columns, and the rest as JSON.
"""

from __future__ import annotations

from subcog_hooks.core import light_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from subcog_hooks.core.light_json import Json

# the outcomes
SPOKE = "spoke"
LINES = "lines"  # alone, which point at memories
PAUSED = "paused"
OFF = "off"  # by a setting
NOMEM = "nomem"  # the prompt asks for silence
NOT_TYPED = "not_typed"  # by a person: a command of the client, or what it sends in the user's name
INTENT = "intent"  # memories could hardly help with such a prompt
NOTHING_FOUND = "nothing_found"
BELOW = "below"  # what was found is not relevant enough
REPEATED = "repeated"  # what is relevant was given in this session before, by us or by the client itself
SPENT = "spent"  # the session has had the characters that it may be given
OUT_OF_TIME = "out_of_time"
FAILED = "failed"
OUTCOMES = (SPOKE, LINES, PAUSED, OFF, NOMEM, NOT_TYPED, INTENT, NOTHING_FOUND, BELOW, REPEATED, SPENT, OUT_OF_TIME, FAILED)

# and of a second look, where it found something
WAITING = "waiting"  # for the session's next tool call, or prompt
HANDED_OVER = "handed_over"  # with that
MOVED_ON = "moved_on"  # the session has

# and of a candidate, beside BELOW; where the decision's own outcome alone keeps one back, it is that
INJECTED = "injected"
POINTED = "pointed"  # at, by a line
FOUND = "found"  # by a second look
GIVEN = "given"  # in this session before
LOADED = "loaded"  # by the client itself, in a session of this folder
DUPLICATE = "duplicate"  # it nearly repeats a better one
COUNT = "count"  # so many were injected already
ROOM = "room"  # no characters were left for it
STALE = "stale"  # all files that it is about are gone
BAD = "bad"  # a person has marked it as wrong for such prompts

SECOND_LOOK = "second look"  # the channel of what one has found, in a candidate's ranks
MODEL_CHOICE = "model's choice"  # and of what a language model has named in one

# the stages, in the order in which they happen
START = "start"  # of the process, until the prompt was read
OPEN, INTENT_READ, EXACT, RECALL, LLM, GATE, RENDER = "open", "intent", "exact", "recall", "llm", "gate", "render"
MODEL_LOADED = "model"  # loaded, of a second look

VERSION = 1  # of the record
MAX_CANDIDATES = 15
MAX_EXPLAINED = 5  # candidates from the top whose terms are kept
MAX_PROMPT = 2_000  # characters
_LARGEST = 1e15  # number that is read back; microseconds of a lifetime are fewer


class Candidate:
    """A memory that was looked at.

    relevance: what the gate saw; raw: the probability that the terms say, before the factors. ranks, scores: as in a hit, by
    channel. terms: each a name, a value and what that adds to the logit. outcome: INJECTED, or what it lacked. factors: by
    which the probability became the relevance, each as in a hit: prior, marked, present.
    """

    __slots__ = ("factors", "id", "namespace", "outcome", "ranks", "raw", "relevance", "scores", "terms")

    def __init__(
        self,
        id: str,
        namespace: str,
        relevance: float,
        raw: float,
        outcome: str,
        ranks: Mapping[str, int] | None = None,
        scores: Mapping[str, float] | None = None,
        terms: Sequence[tuple[str, float, float]] = (),
        factors: Sequence[float] = (),
    ) -> None:
        self.id = id
        self.namespace = namespace
        self.relevance = relevance
        self.raw = raw
        self.outcome = outcome
        self.ranks = dict(ranks or {})
        self.scores = dict(scores or {})
        self.terms = tuple(terms)
        self.factors = tuple(factors)


class Understood:
    """The understanding of a prompt: an intent, and how it came about.

    certainty: the confidence that the number of memories went by. row: of the merge with an LLM's answer. signals: each a name,
    the family that it speaks for, and its weight; cues: of the prompt's shape. llm_ms: how long an LLM was waited for, None
    when none was asked.
    """

    __slots__ = ("certainty", "confidence", "cues", "llm_ms", "llm_status", "row", "signals", "source", "topics", "type")

    def __init__(
        self,
        type: str,
        confidence: float,
        certainty: float,
        topics: Sequence[str] = (),
        *,
        source: str = "",
        llm_status: str = "",
        llm_ms: float | None = None,
        row: str = "",
        signals: Sequence[tuple[str, str, float]] = (),
        cues: Sequence[str] = (),
    ) -> None:
        self.type = type
        self.confidence = confidence
        self.certainty = certainty
        self.topics = tuple(topics)
        self.source = source
        self.llm_status = llm_status
        self.llm_ms = llm_ms
        self.row = row
        self.signals = tuple(signals)
        self.cues = tuple(cues)


class Bars:
    """The bars that memories were measured against: settings, and `needed`, the relevance that one needed with this prompt."""

    __slots__ = ("max_characters", "max_memories", "min_confidence", "min_relevance", "needed")

    def __init__(
        self,
        min_relevance: float,
        min_confidence: float,
        max_memories: int,
        max_characters: int,
        needed: float | None = None,
    ) -> None:
        """needed: None where it was the setting."""
        self.min_relevance = min_relevance
        self.min_confidence = min_confidence
        self.max_memories = max_memories
        self.max_characters = max_characters
        self.needed = min_relevance if needed is None else needed

    def needed_at(self, min_relevance: float) -> float:
        """Return the relevance that a memory would have needed with the same prompt, were the setting another."""
        return min_relevance * self.needed / self.min_relevance if self.min_relevance else min_relevance


class Decision:
    """One run of a hook: whether it spoke, and why (not).

    at: milliseconds since the epoch; project: its name, "" for none; outcome: one of OUTCOMES, and `reason` what there is to
    add to it. units: UTF-16 units that were printed; micros: microseconds of the whole process until this was written. prompt:
    as it may be kept, None when it may not; intent: None when it was not read; bars: None when the settings were not read.
    stages: each a name and its milliseconds. strategies: what recall ran; note: what it did not. borrowed: topics of the prompt
    before that were taken over. candidates: at most MAX_CANDIDATES, the most relevant first.

    Of a second look: looked_at, the id of the decision about its prompt; later_ms, after how many milliseconds it ended.
    """

    __slots__ = (
        "at",
        "bars",
        "borrowed",
        "candidates",
        "event",
        "id",
        "intent",
        "later_ms",
        "looked_at",
        "micros",
        "note",
        "outcome",
        "project",
        "prompt",
        "reason",
        "session",
        "stages",
        "strategies",
        "units",
    )

    def __init__(
        self,
        id: str,
        at: int,
        event: str,
        session: str,
        project: str,
        outcome: str,
        *,
        reason: str = "",
        units: int = 0,
        micros: int = 0,
        prompt: str | None = None,
        intent: Understood | None = None,
        bars: Bars | None = None,
        stages: Sequence[tuple[str, float]] = (),
        strategies: Sequence[str] = (),
        note: str | None = None,
        borrowed: Sequence[str] = (),
        candidates: Sequence[Candidate] = (),
        looked_at: str = "",
        later_ms: int = 0,
    ) -> None:
        self.id = id
        self.at = at
        self.event = event
        self.session = session
        self.project = project
        self.outcome = outcome
        self.reason = reason
        self.units = units
        self.micros = micros
        self.prompt = prompt
        self.intent = intent
        self.bars = bars
        self.stages = tuple(stages)
        self.strategies = tuple(strategies)
        self.note = note
        self.borrowed = tuple(borrowed)
        self.candidates = tuple(candidates)
        self.looked_at = looked_at
        self.later_ms = later_ms

    @property
    def injected(self) -> tuple[str, ...]:
        """The ids of the memories that were handed over."""
        return tuple(candidate.id for candidate in self.candidates if candidate.outcome == INJECTED)

    @property
    def pointed(self) -> tuple[str, ...]:
        """The ids of the memories that lines pointed at."""
        return tuple(candidate.id for candidate in self.candidates if candidate.outcome == POINTED)

    def to_text(self) -> str:
        """Return the part of it that has no columns, as JSON."""
        known: dict[str, Json] = {
            "v": VERSION,
            "reason": self.reason,
            "prompt": self.prompt,
            "intent": _describe_intent(self.intent),
            "settings": _describe_bars(self.bars),
            "stages": self.stages,
            "strategies": self.strategies,
            "note": self.note,
            "borrowed": self.borrowed,
            "candidates": [_describe_candidate(candidate) for candidate in self.candidates],
        }
        if self.looked_at:
            known |= {"looked_at": self.looked_at, "later_ms": self.later_ms}
        return light_json.dumps(known)

    @classmethod
    def from_text(
        cls, text: str, *, id: str, at: int, event: str, session: str, project: str, outcome: str, units: int, micros: int
    ) -> Decision:
        """Return the decision that `to_text` has written, also in another version. What can not be read is left out."""
        try:
            record = _table(light_json.loads(text))
        except ValueError:
            record = {}
        prompt, note = record.get("prompt"), record.get("note")
        return cls(
            id,
            at,
            event,
            session,
            project,
            outcome,
            reason=str(record.get("reason") or ""),
            units=units,
            micros=micros,
            prompt=prompt if isinstance(prompt, str) else None,
            intent=_read_intent(record.get("intent")),
            bars=_read_bars(record.get("settings")),
            stages=[(str(name), _number(ms)) for name, ms in _rows(record.get("stages"), 2)],
            strategies=_texts(record.get("strategies")),
            note=note if isinstance(note, str) else None,
            borrowed=_texts(record.get("borrowed")),
            candidates=[_read_candidate(_table(row)) for row in _list(record.get("candidates"))],
            looked_at=str(record.get("looked_at") or ""),
            later_ms=int(_number(record.get("later_ms"))),
        )


def _describe_intent(intent: Understood | None) -> Json:
    if intent is None:
        return None
    return {
        "type": intent.type,
        "confidence": intent.confidence,
        "certainty": intent.certainty,
        "source": intent.source,
        "llm_status": intent.llm_status,
        "row": intent.row,
        "topics": intent.topics,
        "signals": intent.signals,
        "cues": intent.cues,
        "llm_ms": intent.llm_ms,
    }


def _read_intent(value: object) -> Understood | None:
    if not isinstance(value, dict):
        return None
    llm_ms = value.get("llm_ms")
    return Understood(
        str(value.get("type", "")),
        _number(value.get("confidence")),
        _number(value.get("certainty")),
        _texts(value.get("topics")),
        source=str(value.get("source", "")),
        llm_status=str(value.get("llm_status", "")),
        llm_ms=None if llm_ms is None else _number(llm_ms),
        row=str(value.get("row", "")),
        signals=[(str(name), str(family), _number(weight)) for name, family, weight in _rows(value.get("signals"), 3)],
        cues=_texts(value.get("cues")),
    )


def _describe_bars(bars: Bars | None) -> Json:
    if bars is None:
        return None
    return {name: getattr(bars, name) for name in Bars.__slots__}


def _read_bars(value: object) -> Bars | None:
    if not isinstance(value, dict):
        return None
    numbers = {name: _number(value.get(name)) for name in Bars.__slots__}
    return Bars(
        numbers["min_relevance"],
        numbers["min_confidence"],
        int(numbers["max_memories"]),
        int(numbers["max_characters"]),
        numbers["needed"],
    )


def _describe_candidate(candidate: Candidate) -> Json:
    return {
        "id": candidate.id,
        "namespace": candidate.namespace,
        "relevance": candidate.relevance,
        "raw": candidate.raw,
        "ranks": candidate.ranks,
        "scores": candidate.scores,
        "terms": candidate.terms,
        "factors": candidate.factors,
        "outcome": candidate.outcome,
    }


def _read_candidate(row: dict[str, object]) -> Candidate:
    return Candidate(
        str(row.get("id", "")),
        str(row.get("namespace", "")),
        _number(row.get("relevance")),
        _number(row.get("raw")),
        str(row.get("outcome", "")),
        {name: int(_number(rank)) for name, rank in _table(row.get("ranks")).items()},
        {name: _number(score) for name, score in _table(row.get("scores")).items()},
        [(str(name), _number(one), _number(adds)) for name, one, adds in _rows(row.get("terms"), 3)],
        [_number(factor) for factor in _list(row.get("factors"))],
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < _LARGEST else 0.0


def _table(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [text for text in _list(value) if isinstance(text, str)]


def _rows(value: object, width: int) -> list[list[object]]:
    return [row for row in _list(value) if isinstance(row, list) and len(row) == width]
