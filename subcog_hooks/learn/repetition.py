"""Repetition: several sessions said the same in meaning, by the packaged vectors. It is stronger evidence than words.

One unsure turn says little; the same turn in another session is a reason to ask the person. Turns with different values are
never the same: the newest value of a subject stands for all.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from math import prod

from subcog_hooks.capture.duplicates import Statement, find_difference, parse_statement
from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.embed.models import unit_vector
from subcog_hooks.embed.static_encoder import StaticEncoder, encode_by_language
from subcog_hooks.text.analysis import Analysers

MIN_COSINE = 0.65  # cosine; reworded rules have .63 to .91, and 3 of 37,000 unrelated pairs reach it
MAX_UTTERANCE_TOKENS = 64  # tokens of an utterance that are compared
MIN_SESSIONS = 2
MAX_COMPARED = 20  # utterances of a group that another one is compared with, since a template may have thousands
_analysers = Analysers()


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
    """A subject that several sessions spoke of.

    utterances: the first one has the newest value and stands for all; certainty: the probability that any is worth
    remembering; sessions: the number that said the newest value; since: when the first of them did, milliseconds since the
    epoch; is_repeated: several sessions spoke of the subject; is_changed: its value was another one before.
    """

    __slots__ = ("certainty", "is_changed", "is_repeated", "sessions", "since", "utterances")

    def __init__(self, utterances: Sequence[Utterance]) -> None:
        newest = max(reversed(utterances), key=lambda utterance: utterance.at_ms)
        same = [utterance for utterance in utterances if not is_different(newest.text, utterance.text)]
        self.utterances = (same[0], *(utterance for utterance in utterances if utterance is not same[0]))
        surest: dict[str, float] = {}
        for utterance in utterances:
            surest[utterance.session] = max(surest.get(utterance.session, 0.0), utterance.certainty)
        self.is_repeated = len(surest) >= MIN_SESSIONS
        self.is_changed = len(same) < len(utterances)
        self.sessions = len({utterance.session for utterance in same})
        self.since = min((utterance.at_ms for utterance in same if utterance.at_ms), default=0)
        doubt = prod(1.0 - certainty for certainty in surest.values())  # sessions are independent evidence
        self.certainty = round(min(0.99, 1.0 - doubt), 4)


def find_repeated(utterances: Sequence[Utterance], pace: Pace = FULL_PACE) -> list[RepeatedMeaning]:
    """Return the groups of utterances to one audience from several sessions or with several values, most sessions first.

    utterances: in the order in which they may stand for others; pace: asked for a pause before each.
    """
    groups = (RepeatedMeaning(group) for group in _group_by_meaning(utterances, pace))
    repeated = [group for group in groups if group.is_repeated or group.is_changed]
    return sorted(repeated, key=lambda group: (-group.sessions, -group.certainty))


def is_different(new: str, old: str) -> bool:
    """Return whether two similar texts differ in a value or subject."""
    return find_difference(_parse_text(new), _parse_text(old)) is not None


@lru_cache(maxsize=4_096)
def _parse_text(text: str) -> Statement:
    return parse_statement(text, _analysers.body_terms)


def _has_subject(text: str, group: Sequence[Utterance]) -> bool:
    """Return whether a text similar to a group differs from its utterances by wording or value only."""
    others = {utterance.text for utterance in group[:MAX_COMPARED]}
    differences = (find_difference(_parse_text(text), _parse_text(other)) for other in others)
    return all(difference is None or difference.is_contradiction for difference in differences)


def _group_by_meaning(utterances: Sequence[Utterance], pace: Pace) -> list[list[Utterance]]:
    """Group utterances by subject: each joins the most similar group by its first utterance, or begins one."""
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
        fits = [
            number
            for number in np.flatnonzero(likeness >= MIN_COSINE)
            if groups[number][0].audience == utterance.audience and _has_subject(utterance.text, groups[number])
        ]
        if fits:
            groups[max(fits, key=lambda number: float(likeness[number]))].append(utterance)
        else:
            leaders[len(groups)] = vector
            groups.append([utterance])
    return groups
