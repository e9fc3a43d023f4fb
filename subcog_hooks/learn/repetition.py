"""Repetition: several sessions said the same in meaning, by the package's own vectors. It tells more than any word.

One unsure proposal says little; the same one in another session is a reason to ask the person.
"""

from __future__ import annotations

from subcog_hooks.core.deadline import FULL_PACE
from subcog_hooks.embed.static import StaticEncoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.core.deadline import Pace

SAME_MEANING = 0.65  # cosine: pairs of rules in other words have .63 to .91, of 37,000 pairs of other ones three have more
MAX_TOKENS = 64  # of an utterance that are compared
LEAST_SESSIONS = 2


class Utterance:
    """Something that was said, and is or may be proposed.

    key: by which the caller knows it; audience: who would have it as a memory; at: milliseconds since the epoch.
    """

    __slots__ = ("at", "audience", "certainty", "key", "session", "text")

    def __init__(self, key: str, text: str, *, session: str, audience: str, at: int, certainty: float) -> None:
        self.key = key
        self.text = text
        self.session = session
        self.audience = audience
        self.at = at
        self.certainty = certainty


class Repeated:
    """A meaning that several sessions said.

    said: the first of them stands for all; certainty: that any is worth it; since, repeated_at: when the first and the second
    session said it, milliseconds since the epoch.
    """

    __slots__ = ("certainty", "repeated_at", "said", "sessions", "since")

    def __init__(self, said: Sequence[Utterance]) -> None:
        self.said = tuple(said)
        surest: dict[str, float] = {}
        for one in said:
            surest[one.session] = max(surest.get(one.session, 0.0), one.certainty)
        self.sessions = len(surest)
        self.since = min((one.at for one in said if one.at), default=0)
        firsts = sorted(min(one.at for one in said if one.session == session) for session in surest)
        self.repeated_at = firsts[min(1, len(firsts) - 1)]
        doubt = 1.0
        for certainty in surest.values():  # each session is evidence by itself
            doubt *= 1.0 - certainty
        self.certainty = round(min(0.99, 1.0 - doubt), 4)


def find_repeated(said: Sequence[Utterance], pace: Pace = FULL_PACE) -> list[Repeated]:
    """Return what at least two sessions said to the same audience, the most often said first.

    said: in the order in which they may stand for others; pace: asked for a pause before each.
    """
    groups = [Repeated(group) for group in _grouped(said, pace)]
    return sorted(
        (group for group in groups if group.sessions >= LEAST_SESSIONS), key=lambda group: (-group.sessions, -group.certainty)
    )


def _grouped(said: Sequence[Utterance], pace: Pace) -> list[list[Utterance]]:
    """Return the utterances in groups of one meaning, each with the first that none before it resembles."""
    import numpy as np  # 65 ms, only where sessions are compared

    encoder = StaticEncoder.open()
    try:
        vectors = np.zeros((len(said), encoder.dimension), np.float32)
        for row, one in zip(vectors, said, strict=True):
            pace.pause()
            row[:] = encoder.vector(one.text, MAX_TOKENS) or 0.0
    finally:
        encoder.close()
    leaders = np.zeros((len(said), encoder.dimension), np.float32)
    groups: list[list[Utterance]] = []
    for one, vector in zip(said, vectors, strict=True):
        pace.pause()
        if not vector.any():
            continue
        likeness = leaders[: len(groups)] @ vector
        fits = [place for place in np.flatnonzero(likeness >= SAME_MEANING) if groups[place][0].audience == one.audience]
        if fits:
            groups[max(fits, key=lambda place: float(likeness[place]))].append(one)
        else:
            leaders[len(groups)] = vector
            groups.append([one])
    return groups
