"""Sightings: memories found by a second look that the session proved right."""

import pytest

from subcog_hooks.cli.proposals.teaching import CHOSEN, OPENED, USED, find_sightings
from subcog_hooks.hook.payload import PROMPT_EVENT, TOOL_EVENT
from subcog_hooks.redaction.masking import MASK
from subcog_hooks.store.decision import (
    BELOW,
    FOUND,
    GIVEN,
    HANDED_OVER,
    INJECTED,
    MODEL_CHOICE,
    MOVED_ON,
    SPOKE,
    Candidate,
    Decision,
)
from subcog_hooks.store.decision_log import LOOK_EVENT
from subcog_hooks.store.hook_traces import SilentCall

MEMORY, OTHER = "m-1", "m-2"


def prompt(text: str | None = "When do employees receive their salary?", session: str = "s") -> Decision:
    return Decision("d-prompt", 10, PROMPT_EVENT, session, "", BELOW, prompt=text)


def look(outcome: str = HANDED_OVER, ranks: dict[str, int] | None = None) -> Decision:
    candidates = [Candidate(MEMORY, "learnings", 0.4, 0.4, FOUND, ranks), Candidate(OTHER, "learnings", 0.1, 0.1, BELOW)]
    return Decision("d-look", 11, LOOK_EVENT, "s", "", outcome, reason="d-call", candidates=candidates, looked_at="d-prompt")


def call() -> Decision:
    given = [Candidate(MEMORY, "learnings", 0.4, 0.4, INJECTED, {"second look": 1})]
    return Decision("d-call", 12, TOOL_EVENT, "s", "", SPOKE, candidates=given)


def later(session: str = "s") -> Decision:
    """A later prompt that would have brought the memory again."""
    again = [Candidate(MEMORY, "learnings", 0.9, 0.9, GIVEN)]
    return Decision("d-later", 13, PROMPT_EVENT, session, "", BELOW, candidates=again, prompt="payroll")


def sightings(*decisions: Decision, silent: tuple[SilentCall, ...] = ()) -> list[tuple[str, str, str]]:
    return [(sighting.memory, sighting.prompt.id, sighting.how) for sighting in find_sightings(decisions, silent)]


def test_a_memory_used_by_a_prompt_or_tool_is_a_sighting() -> None:
    assert sightings(later(), call(), look(), prompt()) == [(MEMORY, "d-prompt", USED)]
    touched = SilentCall(14, "Read", ("pay.md",), (MEMORY,), "s")
    assert sightings(call(), look(), prompt(), silent=(touched,)) == [(MEMORY, "d-prompt", USED)]


def test_a_memory_opened_from_a_line_is_a_sighting() -> None:
    openings = [(MEMORY, "d-prompt"), (OTHER, "d-call")]  # A tool call has no prompt that could be learned.
    seen = find_sightings([call(), prompt()], (), openings)
    assert [(sighting.memory, sighting.prompt.id, sighting.how) for sighting in seen] == [(MEMORY, "d-prompt", OPENED)]


def test_a_memory_unused_in_its_session_is_no_sighting() -> None:
    assert sightings(call(), look(), prompt()) == []
    assert sightings(later("another"), call(), look(), prompt()) == []


@pytest.mark.parametrize(("outcome", "rank", "is_right"), [(MOVED_ON, 1, True), (HANDED_OVER, 1, True), (MOVED_ON, 2, False)])
def test_a_memory_ranked_first_by_a_model_is_a_sighting(outcome: str, rank: int, is_right: bool) -> None:
    assert sightings(look(outcome, {MODEL_CHOICE: rank}), prompt()) == [(MEMORY, "d-prompt", CHOSEN)] * is_right


@pytest.mark.parametrize("asked", [prompt(None), prompt(f"log in with {MASK}, please"), prompt(session="")])
def test_an_unstored_masked_or_lone_prompt_teaches_nothing(asked: Decision) -> None:
    assert sightings(later(), call(), look(), asked) == []
