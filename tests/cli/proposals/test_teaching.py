"""The prompts at which an agent opened a memory: which of them can teach it."""

import pytest

from subcog_hooks.cli.proposals.teaching import find_opened_prompts
from subcog_hooks.hook.payload import PROMPT_EVENT, TOOL_EVENT
from subcog_hooks.redaction.masking import MASK
from subcog_hooks.store.verdicts import BELOW, Decision

OPENINGS = [("m-1", "d-prompt"), ("m-2", "d-call"), ("m-3", "d-gone")]


def prompt(text: str | None = "When do employees receive their salary?", session: str = "s") -> Decision:
    return Decision("d-prompt", 10, PROMPT_EVENT, session, "", BELOW, prompt=text)


def test_an_opening_at_a_prompt_can_teach() -> None:
    call = Decision("d-call", 12, TOOL_EVENT, "s", "", BELOW)  # It has no prompt that could be learned.
    opened = find_opened_prompts([call, prompt()], OPENINGS)
    assert [(memory, decision.id) for memory, decision in opened] == [("m-1", "d-prompt")]


@pytest.mark.parametrize("asked", [prompt(None), prompt(f"log in with {MASK}, please"), prompt(session="")])
def test_an_unstored_masked_or_lone_prompt_teaches_nothing(asked: Decision) -> None:
    assert find_opened_prompts([asked], OPENINGS) == []
