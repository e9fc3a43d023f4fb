"""The record of a verdict: it is read back as written, also from another version."""

from typing import Any

import pytest

from subcog_hooks.store.past_runs import read_verdict
from subcog_hooks.store.verdicts import (
    BELOW,
    DUPLICATE,
    GATE,
    GIVEN,
    INJECTED,
    RECALL,
    SPOKE,
    START,
    Candidate,
    PromptIntent,
    RecordedVerdict,
    Thresholds,
)

COLUMNS: dict[str, Any] = {
    "id": "01k0a",
    "at_ms": 1_000,
    "event": "UserPromptSubmit",
    "session": "s",
    "project": "github.com/x/y",
    "outcome": SPOKE,
    "units": 312,
    "micros": 31_250,
}


def whole() -> RecordedVerdict:
    return RecordedVerdict(
        **COLUMNS,
        reason="as it was asked for",
        prompt='Warum "PKCE", und nicht implicit?\n…',
        intent=PromptIntent(
            "explanation",
            0.82,
            0.9,
            ("PKCE", "implicit"),
            source="hybrid",
            llm_status="success",
            llm_ms=12.5,
            row="the LLM answered, topics differ",
            signals=[("why", "explanation", 1.75)],
            cues=["question"],
        ),
        settings=Thresholds(0.25, 0.5, 6, 2_000, 0.25),
        stages=[(START, 11.2), (RECALL, 7.0), (GATE, 0.3)],
        strategies=("lexical", "semantic"),
        note="semantic: out of time",
        borrowed=("OAuth2",),
        candidates=[
            Candidate("a", "decisions", 0.91, 0.83, INJECTED, {"exact": 1}, {"exact": 7.25}, [("coverage", 0.8, 1.9)]),
            Candidate("b", "patterns", 0.6, 0.6, GIVEN),
            Candidate("c", "patterns", 0.5, 0.5, INJECTED),
            Candidate("d", "patterns", 0.4, 0.4, DUPLICATE),
            Candidate("e", "context", 0.1, 0.1, BELOW),
        ],
    )


def values(thing: object) -> object:
    if isinstance(thing, list | tuple):
        return [values(item) for item in thing]
    names = getattr(type(thing), "__annotations__", None)
    return {name: values(getattr(thing, name)) for name in names} if names else thing


def read_back(text: str) -> RecordedVerdict:
    return read_verdict(text, **COLUMNS)


def test_written_verdict_is_read_back() -> None:
    verdict = whole()
    assert values(read_back(verdict.to_text())) == values(verdict)


def test_a_verdict_that_was_made_at_once_is_read_back() -> None:
    verdict = RecordedVerdict(**{**COLUMNS, "outcome": "paused", "units": 0})
    assert values(read_verdict(verdict.to_text(), **{**COLUMNS, "outcome": "paused", "units": 0})) == values(verdict)


def test_injected_ids_come_from_the_candidates() -> None:
    assert whole().injected == ("a", "c")


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '{"v":9,"later":[1]}', '{"stages":[["start",1e999]]}'])
def test_damaged_or_foreign_record_leaves_the_columns(text: str) -> None:
    verdict = read_back(text)
    assert (verdict.id, verdict.outcome, verdict.units) == ("01k0a", SPOKE, 312)
    assert (verdict.prompt, verdict.intent, verdict.settings, verdict.candidates) == (None, None, None, ())
