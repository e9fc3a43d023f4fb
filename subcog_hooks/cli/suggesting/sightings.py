"""Sightings: prompts at which only the second look brought a memory, and that was right. From what the hook records. Pure."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from subcog_hooks.cli.decided import usage
from subcog_hooks.hooks.payload import PROMPT_EVENT
from subcog_hooks.redaction.leaks import MASK
from subcog_hooks.state.decision import FOUND, HANDED_OVER, MODEL_CHOICE, Candidate, Decision
from subcog_hooks.state.silent_calls import SilentCall

USED, CHOSEN = "the session used it", "a model ranked it first"  # how it was right


class Sighting(NamedTuple):
    """A memory that the first look missed. memory: its id; prompt: the decision about it; how: USED or CHOSEN."""

    memory: str
    prompt: Decision
    how: str


def find_sightings(decisions: Sequence[Decision], silent: Sequence[SilentCall]) -> list[Sighting]:
    """Return the sightings of the last decisions, the newest first.

    A prompt that may have held a secret is none, nor is one whose text is not kept, nor one without a session.
    """
    prompts = {one.id: one for one in decisions if one.event == PROMPT_EVENT and one.session and _may_teach(one.prompt)}
    used = usage.used_later(decisions, silent)
    looks = [look for look in decisions if look.looked_at in prompts]
    return [
        Sighting(candidate.id, prompts[look.looked_at], how)
        for look in sorted(looks, key=lambda look: -look.at)
        for candidate, how in _right_ones(look, used)
    ]


def _right_ones(look: Decision, used: set[tuple[str, str]]) -> Iterator[tuple[Candidate, str]]:
    for candidate in look.candidates:
        if candidate.outcome == FOUND:
            if look.outcome == HANDED_OVER and (look.reason, candidate.id) in used:
                yield candidate, USED
            elif candidate.ranks.get(MODEL_CHOICE) == 1:
                yield candidate, CHOSEN


def _may_teach(prompt: str | None) -> bool:
    return prompt is not None and MASK not in prompt
