"""Repetition: several sessions said the same in meaning, by the packaged vectors. It is stronger evidence than words.

One unsure turn says little; the same turn in another session is a reason to ask the person.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.embed.by_language import encode_by_language, unit_vector
from subcog_hooks.embed.query_encoder import StaticEncoder

MIN_COSINE = 0.65  # cosine; reworded rules have .63 to .91, and 3 of 37,000 unrelated pairs reach it
MAX_UTTERANCE_TOKENS = 64  # tokens of an utterance that are compared
MIN_SESSIONS = 2


@dataclass(frozen=True, slots=True)
class Utterance:
    """A turn or memory in the comparison. key: the caller's; audience: of its memory; at_ms: since the epoch."""

    key: str
    text: str
    _: KW_ONLY
    session: str
    audience: str
    at_ms: int
    certainty: float


class RepeatedMeaning:
    """A meaning that several sessions said.

    utterances: the first one stands for all; certainty: the probability that any is worth remembering; since: when the first
    session said it, milliseconds since the epoch.
    """

    __slots__ = ("certainty", "sessions", "since", "utterances")

    def __init__(self, utterances: Sequence[Utterance]) -> None:
        self.utterances = tuple(utterances)
        surest: dict[str, float] = {}
        for utterance in utterances:
            surest[utterance.session] = max(surest.get(utterance.session, 0.0), utterance.certainty)
        self.sessions = len(surest)
        self.since = min((utterance.at_ms for utterance in utterances if utterance.at_ms), default=0)
        doubt = 1.0
        for certainty in surest.values():  # sessions are independent evidence
            doubt *= 1.0 - certainty
        self.certainty = round(min(0.99, 1.0 - doubt), 4)


def find_repeated(utterances: Sequence[Utterance], pace: Pace = FULL_PACE) -> list[RepeatedMeaning]:
    """Return the groups of utterances that at least two sessions said to one audience, most sessions first.

    utterances: in the order in which they may stand for others; pace: asked for a pause before each.
    """
    groups = (RepeatedMeaning(group) for group in _group_by_meaning(utterances, pace))
    repeated = [group for group in groups if group.sessions >= MIN_SESSIONS]
    return sorted(repeated, key=lambda group: (-group.sessions, -group.certainty))


def _group_by_meaning(utterances: Sequence[Utterance], pace: Pace) -> list[list[Utterance]]:
    """Group utterances by meaning: each joins the most similar group by its first utterance, or begins one."""
    import numpy as np  # takes 65 ms, which only a comparison needs

    encoder = StaticEncoder.open()
    encode = encode_by_language(lambda text: encoder.encode(text, MAX_UTTERANCE_TOKENS))
    try:
        vectors = np.zeros((len(utterances), encoder.dimension), np.float32)
        for row, utterance in zip(vectors, utterances, strict=True):
            pace.pause()
            row[:] = unit_vector(encode(utterance.text)) or 0.0
    finally:
        encoder.close()
    leaders = np.zeros((len(utterances), encoder.dimension), np.float32)
    groups: list[list[Utterance]] = []
    for utterance, vector in zip(utterances, vectors, strict=True):
        pace.pause()
        if not vector.any():
            continue
        likeness = leaders[: len(groups)] @ vector
        fits = [number for number in np.flatnonzero(likeness >= MIN_COSINE) if groups[number][0].audience == utterance.audience]
        if fits:
            groups[max(fits, key=lambda number: float(likeness[number]))].append(utterance)
        else:
            leaders[len(groups)] = vector
            groups.append([utterance])
    return groups
