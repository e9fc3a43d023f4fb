"""From a turn that is over to the decision that is kept of it: what was understood, found and judged, with what may be kept."""

from subcog_hooks.state.decision import (
    INJECTED,
    MAX_CANDIDATES,
    MAX_EXPLAINED,
    MAX_PROMPT,
    NOT_TYPED,
    SPOKE,
    Bars,
    Candidate,
    Decision,
    Understood,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.hooks.gate import Judged
    from subcog_hooks.hooks.turn import Turn
    from subcog_hooks.intent.detection import Examined
    from subcog_hooks.settings.loading import Settings

MAX_READ = 100_000  # characters of a prompt that is looked through for secrets; of a longer one nothing is kept
MAX_SIGNALS = 20
_DIGITS = 4


def of(turn: "Turn", outcome: str, reason: str = "") -> Decision:
    """The decision that a turn was. What its prompt says is left out where the user has asked for silence, or for no record."""
    from subcog_hooks.hooks.turn import EVENT  # has been loaded; a tool's call has no turn

    was_read = turn.detected is not None or outcome == NOT_TYPED
    shown = may_be_kept(turn.prompt) if was_read and turn.keeps_texts else None
    answer, examined = turn.answer, turn.examined
    return Decision(
        turn.id,
        turn.at,
        EVENT,
        turn.session,
        turn.here.identity if turn.here else "",
        outcome,
        reason=reason,
        units=turn.units,
        micros=int(turn.deadline.spent_ms() * 1000.0),
        prompt=shown[:MAX_PROMPT] if shown is not None else None,
        intent=_understood(examined, _without_secrets(examined.intent.topics, turn.prompt, shown)) if examined else None,
        bars=_bars(turn.settings, examined if answer else None),
        stages=turn.stages.rows,
        strategies=answer.strategies if answer else (),
        note=answer.note if answer else None,
        borrowed=turn.borrowed,
        candidates=candidates(turn.judged, outcome),
    )


def may_be_kept(prompt: str) -> str | None:
    """Head and tail of a prompt without its secrets; None where something else in it may be one.

    >>> may_be_kept("push with ghp_0aB1cD2eF30aB1cD2eF30aB1cD2eF30aB1cD2"), may_be_kept("Why is password=hunter2 refused?")
    ('push with [redacted]', None)
    """
    from subcog_hooks.llm import disclosure  # not where nothing is kept
    from subcog_hooks.redaction.leaks import mask
    from subcog_hooks.text.typed import ends_of

    return disclosure.shown(ends_of(mask(prompt))) if len(prompt) <= MAX_READ else None  # masked before it is cut


def _without_secrets(topics: "Sequence[str]", prompt: str, shown: str | None) -> "list[str]":
    """The topics but those that stand in the prompt and not in what may be kept of it."""
    if shown is None:
        return []
    if shown is prompt:
        return list(topics)
    whole, known = prompt.casefold(), shown.casefold()
    return [topic for topic in topics if topic.casefold() in known or topic.casefold() not in whole]


def _understood(examined: "Examined", topics: "Sequence[str]") -> Understood:
    intent, reading = examined.intent, examined.reading
    return Understood(
        intent.type,
        intent.confidence,
        examined.certainty,
        topics,
        source=intent.source,
        llm_status=intent.llm_status,
        llm_ms=None if examined.llm_seconds is None else round(examined.llm_seconds * 1000.0, 1),
        row=examined.row,
        signals=[(signal.name, signal.family, signal.weight) for signal in reading.fired[:MAX_SIGNALS]],
        cues=reading.cues,
    )


def _bars(settings: "Settings", examined: "Examined | None") -> Bars:
    """What memories were measured against. examined: None where none was looked for."""
    needed = None
    if examined is not None:
        from subcog_hooks.hooks import gate  # has been loaded to judge

        needed = gate.threshold_of(examined, settings).needed
    return Bars(
        float(settings["surfacing.min_relevance"]),
        float(settings["search_intent.min_confidence"]),
        int(settings["surfacing.max_memories"]),
        int(settings["surfacing.max_characters"]),
        needed,
    )


def candidates(judged: "Sequence[Judged]", outcome: str) -> list[Candidate]:
    """The first of them by relevance, and all that were injected. Where nothing was printed, those share the outcome."""
    chosen = sum(one.outcome == INJECTED for one in judged)
    ordered = sorted(judged, key=lambda one: (one.outcome != INJECTED, -one.hit.relevance))[: max(chosen, MAX_CANDIDATES)]
    ordered.sort(key=lambda one: -one.hit.relevance)
    if outcome == SPOKE:
        outcome = INJECTED
    return [
        Candidate(
            one.hit.memory.id,
            one.hit.memory.namespace,
            one.hit.relevance,
            one.hit.raw,
            outcome if one.outcome == INJECTED else one.outcome,
            one.hit.ranks,
            one.hit.scores,
            [(name, round(value, _DIGITS), round(adds, _DIGITS)) for name, value, adds in one.hit.terms]
            if place < MAX_EXPLAINED
            else (),
        )
        for place, one in enumerate(ordered)
    ]
