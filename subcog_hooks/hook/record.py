"""The one place that records a run of the hook: from its verdict to the decision that is kept, with what may be kept of it."""

from __future__ import annotations

from subcog_hooks.core.errors import StoreBusy, StoreError
from subcog_hooks.hook.payload import PROMPT_EVENT
from subcog_hooks.hook.verdict import bars_of
from subcog_hooks.store import decision_log, sessions
from subcog_hooks.store.decision import (
    INJECTED,
    LINES,
    MAX_CANDIDATES,
    MAX_EXPLAINED,
    MAX_PROMPT,
    NOMEM,
    NOT_TYPED,
    OFF,
    PAUSED,
    SPOKE,
    Candidate,
    Decision,
    Understood,
)
from subcog_hooks.store.sessions import Earlier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.hook.call import Occasion
    from subcog_hooks.hook.choose import Judged
    from subcog_hooks.hook.deliver import Delivery
    from subcog_hooks.hook.reading import Turn
    from subcog_hooks.hook.verdict import Verdict
    from subcog_hooks.intent.detector import Examined
    from subcog_hooks.recall.hits import Hit

MAX_MASKED = 100_000  # characters of a prompt that is looked through for secrets; of a longer one nothing is kept
MAX_SIGNALS = 20
UNREAD = (NOMEM, OFF, PAUSED)  # outcomes of prompts of which nothing is known
_DIGITS = 4


# ---- keeping --------------------------------------------------------------------------------------------------------------


def keep_prompt(turn: Turn, verdict: Verdict, delivery: Delivery | None) -> None:
    """Record what became of a prompt, unless another process is writing: nobody waits for records.

    Nothing is recorded of a trial: neither `why` nor `stats` is to tell of prompts that nobody typed.
    """
    occasion = turn.occasion
    if occasion.is_trial:
        return
    try:
        occasion.state.roll_back()  # what a failure has left open
        occasion.state.begin_briefly()
        _keep_prompt(turn, verdict, delivery)
        occasion.state.commit()
    except StoreBusy:
        pass  # at every prompt while somebody writes: not worth a line in the log
    except StoreError as error:
        occasion.log(f"what became of a prompt was not kept: {error}")


def keep(occasion: Occasion, event: str, verdict: Verdict, delivery: Delivery) -> None:
    """Record what became of a tool's call or a session's start, unless another process is writing. Nothing of a trial."""
    if occasion.is_trial:
        return
    decision = _decision(occasion, event, verdict, delivery)
    try:
        occasion.state.begin_briefly()
        decision_log.keep(occasion.state, decision, occasion.at)
        occasion.state.commit()
    except StoreBusy:
        pass  # nobody waits for records
    except StoreError as error:
        occasion.log(f"a decision was not recorded: {error}")
        occasion.state.roll_back()


def _keep_prompt(turn: Turn, verdict: Verdict, delivery: Delivery | None) -> None:
    """Record a prompt in the transaction that is open. Raises StoreError."""
    occasion = turn.occasion
    state = occasion.state
    if verdict.detected is not None and verdict.examined is not None:
        verdict.detected.count(verdict.examined, state)
        verdict.detected.learn(state, keeps_answers=turn.keeps_texts)
    sessions.note_prompt(state, occasion.session, occasion.project, occasion.at)
    if judged := delivery.judged if delivery else verdict.judged:
        from subcog_hooks.store import ledger  # of many prompts nothing is near

        ledger.note_near(state, occasion.project, [(one.hit.memory.id, _at_any_time(one.hit)) for one in judged], occasion.at)
    if not turn.keeps_texts and decision_log.may_hold_texts(state):
        decision_log.forget_some_texts(state)
    try:
        decision = decision_of_prompt(turn, verdict, delivery)
        decision_log.keep(state, decision, occasion.at)
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - a record is no reason to lose the ledger
        occasion.log(f"a decision was not recorded: {type(error).__name__}: {error}")
        return
    if not occasion.session:
        return
    if decision.intent is not None and decision.intent.topics:
        earlier = Earlier(decision.intent.topics, decision.intent.confidence)
        sessions.keep_topics(state, occasion.session, earlier, occasion.at)
    elif decision.outcome in UNREAD or (verdict.examined is not None and verdict.examined.intent.topics):
        sessions.forget_topics(state, occasion.session)  # what comes next would go on from this one, of which nothing is kept


def _at_any_time(hit: Hit) -> float:
    """Return the relevance that a hit would have at the first prompt of a session."""
    from subcog_hooks.recall.hits import (
        BEGUN,
        relevance_of,  # has been loaded by whoever made the hit
    )

    if not any(name == BEGUN for name, _, _ in hit.terms):
        return hit.relevance
    from subcog_hooks.recall import logit  # as above

    probability = logit.probability(tuple([term for term in hit.terms if term[0] != BEGUN]))
    return relevance_of(probability, hit.prior, hit.marked, hit.present)


# ---- what is kept ---------------------------------------------------------------------------------------------------------


def decision_of_prompt(turn: Turn, verdict: Verdict, delivery: Delivery | None) -> Decision:
    """Return the decision that a prompt was.

    What the prompt says is left out where the user has asked for silence, or for no record.
    """
    was_read = verdict.detected is not None or verdict.outcome == NOT_TYPED
    shown = may_be_kept(turn.prompt) if was_read and turn.keeps_texts else None
    decision = _decision(turn.occasion, PROMPT_EVENT, verdict, delivery)
    if decision.bars is None:
        decision.bars = bars_of(turn.occasion.settings)
    decision.prompt = shown[:MAX_PROMPT] if shown is not None else None
    if verdict.examined is not None:
        kept_topics = _without_secrets(verdict.examined.intent.topics, turn.prompt, shown)
        decision.intent = _understood(verdict.examined, kept_topics)
    return decision


def _decision(occasion: Occasion, event: str, verdict: Verdict, delivery: Delivery | None) -> Decision:
    outcome = verdict.outcome or (delivery.outcome if delivery else "")
    return Decision(
        occasion.id,
        occasion.at,
        event,
        occasion.session,
        occasion.project,
        outcome,
        reason=verdict.reason,
        units=delivery.units if delivery else 0,
        micros=int(occasion.deadline.spent_ms() * 1000.0),
        bars=verdict.bars,
        stages=occasion.stages.rows,
        strategies=verdict.strategies,
        note=verdict.note,
        borrowed=verdict.borrowed,
        candidates=candidates(delivery.judged if delivery else verdict.judged, outcome),
    )


def may_be_kept(prompt: str) -> str | None:
    """Return head and tail of a prompt without its secrets; None where something else in it may be one.

    >>> may_be_kept("push with ghp_0aB1cD2eF30aB1cD2eF30aB1cD2eF30aB1cD2"), may_be_kept("Why is password=hunter2 refused?")
    ('push with [redacted]', None)
    """
    from subcog_hooks.llm import disclosure  # not where nothing is kept
    from subcog_hooks.redaction.leaks import mask
    from subcog_hooks.text.typed import ends_of

    return disclosure.shown(ends_of(mask(prompt))) if len(prompt) <= MAX_MASKED else None  # masked before it is cut


def _without_secrets(topics: Sequence[str], prompt: str, shown: str | None) -> list[str]:
    """Return the topics but those that stand in the prompt and not in what may be kept of it."""
    if shown is None:
        return []
    if shown is prompt:
        return list(topics)
    whole, known = prompt.casefold(), shown.casefold()
    return [topic for topic in topics if topic.casefold() in known or topic.casefold() not in whole]


def _understood(examined: Examined, topics: Sequence[str]) -> Understood:
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


def candidates(judged: Sequence[Judged], outcome: str) -> list[Candidate]:
    """Return the first of them by relevance, and all that were injected. Where nothing was printed, those share the outcome."""
    chosen = sum(one.outcome == INJECTED for one in judged)
    ordered = sorted(judged, key=lambda one: (one.outcome != INJECTED, -one.hit.relevance))[: max(chosen, MAX_CANDIDATES)]
    ordered.sort(key=lambda one: -one.hit.relevance)
    if outcome in (SPOKE, LINES):
        outcome = INJECTED
    explained = sorted(ordered, key=lambda one: -one.hit.probability)[:MAX_EXPLAINED]  # before marks, which are to be explained
    return [
        Candidate(
            one.hit.memory.id,
            one.hit.memory.namespace,
            one.hit.relevance,
            one.hit.probability,
            outcome if one.outcome == INJECTED else one.outcome,
            one.hit.ranks,
            one.hit.scores,
            [(name, round(value, _DIGITS), round(adds, _DIGITS)) for name, value, adds in one.hit.terms]
            if one in explained
            else (),
            (one.hit.prior, round(one.hit.marked, _DIGITS), one.hit.present),
        )
        for one in ordered
    ]
