"""Record a hook call: turn its verdict into the record that is stored, without secrets."""

from __future__ import annotations

from subcog_hooks.core.errors import StoreBusy, StoreError
from subcog_hooks.hook.choose import bars_from_settings, injected_judgements
from subcog_hooks.hook.payload import PROMPT_EVENT, START_EVENT, SUBAGENT_EVENT
from subcog_hooks.store import sessions, verdicts
from subcog_hooks.store.memory import WRITTEN_BY_MODEL
from subcog_hooks.store.sessions import LastPrompt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.hook.choose import Judgement, Verdict
    from subcog_hooks.hook.prompt_reading import PromptReading
    from subcog_hooks.recall.hits import Hit

MAX_MASKED = 100_000  # characters of a prompt that is searched for secrets; a longer prompt is not stored.
MAX_SIGNALS = 20
UNREAD = (verdicts.NOMEM, verdicts.OFF, verdicts.PAUSED)  # outcomes of prompts that were not read
_DIGITS = 4


def record_prompt(reading: PromptReading, verdict: Verdict) -> None:
    """Record the verdict on a prompt, unless another process is writing: nobody waits for records.

    Trials are not recorded: `why` and `report` leave out prompts that nobody typed.
    """
    call = reading.call
    if call.is_trial:
        return
    try:
        call.state.roll_back()  # A failure may have left a transaction open.
        call.state.begin_briefly()
        _record_prompt_in_transaction(reading, verdict)
        call.state.commit()
    except StoreBusy:
        pass  # This may happen at every prompt while another process writes.
    except StoreError as error:
        call.log(f"what became of a prompt was not kept: {error}")


def record_call(call: HookCall, event: str, verdict: Verdict) -> None:
    """Record the verdict on a tool call or a session's start, unless another process is writing. Trials are not recorded."""
    if call.is_trial:
        return
    record = _record_of_call(call, event, verdict)
    try:
        call.state.begin_briefly()
        verdicts.keep_verdict(call.state, record, call.now_ms)
        if event in (START_EVENT, SUBAGENT_EVENT):
            injected = [judgement.hit.memory for judgement in injected_judgements(verdict.judgements)]
            by_models = [memory.id for memory in injected if memory.noted == WRITTEN_BY_MODEL]
            for id_ in by_models:  # From the first brief that shows them on, they have to be used.
                call.state.run("INSERT OR IGNORE INTO sought VALUES (?, ?, 0.0, ?)", (call.project, id_, call.now_ms))
        else:
            sessions.note_used(call.state, call.session, verdict.ids, call.now_ms)
        call.state.commit()
    except StoreBusy:
        pass  # Nobody waits for records.
    except StoreError as error:
        call.log(f"a decision was not recorded: {error}")
        call.state.roll_back()


def _record_prompt_in_transaction(reading: PromptReading, verdict: Verdict) -> None:
    """Record a prompt in the open transaction. Raises StoreError."""
    call = reading.call
    state = call.state
    if verdict.detected is not None and verdict.examined is not None:
        verdict.detected.record_metrics(verdict.examined, state)
        verdict.detected.learn(state, keeps_answers=reading.keeps_texts)
    sessions.note_prompt(state, call.session, call.project, call.now_ms)
    if sessions.has_second_look(state, call.session):
        from subcog_hooks.store import past_runs  # Few prompts follow a second look.

        past_runs.drop_session_looks(state, call.session)
    if verdict.judgements:
        near = [(judgement.hit.memory.id, _relevance_without_position(judgement.hit)) for judgement in verdict.judgements]
        sessions.note_near(state, call.project, near, call.now_ms)
    if not reading.keeps_texts and verdicts.may_hold_prompt_texts(state):
        verdicts.forget_texts(state, verdicts.FORGOTTEN_AT_ONCE)
    try:
        record = record_of_prompt(reading, verdict)
        verdicts.keep_verdict(state, record, call.now_ms)
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - the ledger counts more than a record
        call.log(f"a decision was not recorded: {type(error).__name__}: {error}")
        return
    if not call.session:
        return
    if record.intent is not None and record.intent.topics:
        earlier = LastPrompt(record.intent.topics, record.intent.confidence)
        sessions.keep_last_prompt(state, call.session, earlier, call.now_ms)
    elif record.outcome in UNREAD or (verdict.examined is not None and verdict.examined.topics):
        # A follow-up must not borrow from a prompt before this one.
        state.run("DELETE FROM topics WHERE session = ?", (call.session,))


def _relevance_without_position(hit: Hit) -> float:
    """Return the relevance that a hit would have at the first prompt of a session."""
    from subcog_hooks.recall.hits import BEGUN, combined_relevance

    if not any(name == BEGUN for name, _, _ in hit.terms):
        return hit.relevance
    from subcog_hooks.recall import logit  # The maker of the hit has loaded it.

    probability = logit.probability(tuple([term for term in hit.terms if term[0] != BEGUN]))
    return combined_relevance(probability, hit.prior, hit.marked)


def record_of_prompt(reading: PromptReading, verdict: Verdict) -> verdicts.RecordedVerdict:
    """Return the verdict on a prompt.

    The prompt's text and topics are left out where the user has asked for silence, or for no record.
    """
    was_read = verdict.detected is not None or verdict.outcome == verdicts.NOT_TYPED
    shown = storable_prompt(reading.prompt) if was_read and reading.keeps_texts else None
    record = _record_of_call(reading.call, PROMPT_EVENT, verdict)
    if record.settings is None:
        record.settings = bars_from_settings(reading.call.settings)
    record.prompt = shown[: verdicts.MAX_PROMPT] if shown is not None else None
    if intent := verdict.examined:
        assert intent.reading is not None
        record.intent = verdicts.PromptIntent(
            intent.type,
            intent.confidence,
            intent.certainty,
            _topics_without_secrets(intent.topics, reading.prompt, shown),
            source=intent.source,
            llm_status=intent.llm_status,
            llm_ms=None if intent.llm_seconds is None else round(intent.llm_seconds * 1000.0, 1),
            reasoning=intent.answer.reasoning if intent.answer and shown is not None else "",
            row=intent.row,
            signals=[(signal.name, signal.family, signal.weight) for signal in intent.reading.fired[:MAX_SIGNALS]],
            cues=intent.reading.cues,
        )
    return record


def _record_of_call(call: HookCall, event: str, verdict: Verdict) -> verdicts.RecordedVerdict:
    return verdicts.RecordedVerdict(
        call.id,
        call.now_ms,
        event,
        call.session,
        call.project,
        verdict.outcome,
        reason=verdict.reason,
        units=verdict.units,
        micros=int(call.deadline.spent_ms() * 1000.0),
        settings=verdict.bars,
        stages=call.stages.rows,
        strategies=verdict.strategies,
        note=verdict.note,
        borrowed=verdict.borrowed,
        candidates=candidates(verdict.judgements, verdict.outcome),
    )


def storable_prompt(prompt: str) -> str | None:
    """Return the beginning and the end of a prompt without its secrets; None where another part of it may be a secret.

    >>> storable_prompt("push with ghp_0aB1cD2eF30aB1cD2eF30aB1cD2eF30aB1cD2")
    'push with [redacted]'
    >>> storable_prompt("Why is password=hunter2 refused?") is None
    True
    """
    from subcog_hooks.redaction import disclosure  # Some users store no prompts.
    from subcog_hooks.redaction.masking import mask_secrets
    from subcog_hooks.text.typed_prompt import ends_of

    if len(prompt) > MAX_MASKED:
        return None
    return disclosure.disclosable_text(ends_of(mask_secrets(prompt)))  # A cut secret would not be masked.


def _topics_without_secrets(topics: Sequence[str], prompt: str, shown: str | None) -> list[str]:
    """Return the topics without any that stand only in the part of the prompt that is not stored."""
    if shown is None:
        return []
    if shown is prompt:
        return list(topics)
    whole, stored = prompt.casefold(), shown.casefold()
    return [topic for topic in topics if topic.casefold() in stored or topic.casefold() not in whole]


def candidates(judgements: Sequence[Judgement], outcome: str) -> list[verdicts.Candidate]:
    """Return the most relevant candidates, and all injected ones. Where nothing was printed, those get the call's outcome."""
    ordered = sorted(judgements, key=lambda judgement: (judgement.outcome != verdicts.INJECTED, -judgement.hit.relevance))
    ordered = ordered[: max(len(injected_judgements(judgements)), verdicts.MAX_CANDIDATES)]
    ordered.sort(key=lambda judgement: -judgement.hit.relevance)
    if outcome in (verdicts.SPOKE, verdicts.LINES):
        outcome = verdicts.INJECTED
    # The probability comes before the user's marks, which are to be explained.
    explained = sorted(ordered, key=lambda judgement: -judgement.hit.probability)[: verdicts.MAX_EXPLAINED]
    return [
        verdicts.Candidate(
            judgement.hit.memory.id,
            judgement.hit.memory.namespace,
            judgement.hit.relevance,
            judgement.hit.probability,
            outcome if judgement.outcome == verdicts.INJECTED else judgement.outcome,
            judgement.hit.ranks,
            judgement.hit.scores,
            [(name, round(value, _DIGITS), round(adds, _DIGITS)) for name, value, adds in judgement.hit.terms]
            if judgement in explained
            else (),
            (judgement.hit.prior, round(judgement.hit.marked, _DIGITS)),
        )
        for judgement in ordered
    ]
