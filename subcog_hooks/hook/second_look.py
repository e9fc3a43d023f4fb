"""The second look: a prompt that asks, and that nothing answered, is shown to a language model with the notes near to it.

A process of its own asks the model of `llm.at_rest`, because no hook waits for it. The notes that the model names come with the
session's next tool call, once or not at all: the next prompt drops them.
"""

from __future__ import annotations

import _thread
import os
import time

from subcog_hooks.core import light_json, log
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import ProviderError, StoreBusy, SubcogError
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import detached
from subcog_hooks.hook.call import open_call
from subcog_hooks.hook.payload import text_of
from subcog_hooks.recall.hits import Hit
from subcog_hooks.settings.defaults import ALWAYS
from subcog_hooks.settings.defaults import SECOND_LOOK as MODE
from subcog_hooks.store import past_runs, verdicts
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.past_runs import LOOK_MS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any  # of JSON

    from subcog_hooks.core.light_json import Json
    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.hook.choose import Offer, Verdict
    from subcog_hooks.hook.prompt_reading import PromptReading
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.past_runs import WaitingAnswer

WORDS = ("hook", "--second-look")  # arguments of the command line
MAX_CHOSEN = 6  # notes that the model may name
# A note is near from this share of the bar on: a look starts at .27 of prompts as people type them. With 0.0 it is .92: .31
# more are answered, and .37 more get notes although none answers.
NEARNESS = 0.25
AT_END_MS = 500.0  # Writing down the answer may take this time.
WRITE_WAIT_MS = 1_000.0  # for another writing process


def start_if_unanswered(reading: PromptReading, verdict: Verdict) -> None:
    """Start a second look at a prompt that asks, and to which notes came near, but none near enough. Raises StoreError."""
    call, examined = reading.call, verdict.examined
    assert examined is not None
    if not call.session or call.is_trial or not detached.may_start():
        return
    if verdict.outcome not in (verdicts.BELOW, verdicts.INTENT, verdicts.LINES) or not examined.may_speak(call.settings):
        return
    near = _nearest_new(verdict, call)
    if not near:
        return
    task: Json = {
        "session_id": call.session,
        "cwd": text_of(call.payload, "cwd"),
        "verdict": call.id,
        "at_ms": call.now_ms,
        "text": reading.search_text(),
        "near": {hit.memory.id: hit.relevance for hit in near},
    }
    call.state.begin_briefly()
    may_begin = past_runs.begin_look(call.state, call.id, call.session, call.now_ms)
    call.state.commit()
    if may_begin:
        try:
            detached.start_process(call.home, WORDS, light_json.dumps(task).encode())
        except (OSError, ValueError) as error:
            call.log(f"no second look was started: {error}")


def _nearest_new(verdict: Verdict, call: HookCall) -> list[Hit]:
    """Return the hits nearest to a prompt that the session does not have; [] where none came near."""
    given = call.given_ids()
    hits = [judgement.hit for judgement in verdict.judgements]
    new = [hit for hit in hits if hit.marked > 0.0 and not hit.is_loaded and hit.memory.id not in given]
    new.sort(key=lambda hit: -hit.relevance)
    assert verdict.bars is not None
    needed = 0.0 if call.settings[MODE] == ALWAYS else NEARNESS * verdict.bars.needed
    return new[: verdicts.MAX_CANDIDATES] if new and new[0].relevance >= needed else []


def main() -> None:
    """Ask the model as a task on standard input says, and keep its choice. Raises ValueError, KeyError, StoreError."""
    home = Home.find()
    _thread.start_new_thread(_end_in_time, (home,))
    detached.yield_to_others()
    task: Any = light_json.loads(os.read(0, detached.MAX_INPUT_BYTES).decode())
    call = open_call(task, home, Deadline(LOOK_MS - AT_END_MS))
    assert call is not None
    by_id = call.store.by_ids(list(task["near"]))
    notes = [by_id[id_] for id_ in task["near"] if id_ in by_id]
    ids: Sequence[str] = ()
    model = failure = ""
    try:
        ids, model = _ask_model(task["text"], notes, call)
    except SubcogError as error:
        failure = error.message
    _record_look(task, call, notes, ids, model, failure)


def _end_in_time(home: Home) -> None:
    time.sleep(LOOK_MS / 1000.0)
    log.write_line(home, f"a second look was cut off after {LOOK_MS // 1000} s")
    os._exit(0)


def _ask_model(text: str, notes: Sequence[Memory], call: HookCall) -> tuple[Sequence[str], str]:
    """Return the ids of the notes that the model names, and its name. Raises ProviderError, ConfigError, StoreError."""
    from subcog_hooks.llm import ask, providers

    provider = providers.background_provider(call.settings, call.home)
    assert provider is not None
    if not ask.may_call(call.state, provider.circuit, call.now_ms):
        raise ProviderError(f"{provider.name} has failed a short while ago")
    timeout_s = call.deadline.left_ms() / 1000.0
    ids = ask.rank_notes(ask.LOOKS_JOB, text, notes, provider, call.state, call.settings, timeout_s)
    return ids[:MAX_CHOSEN], f"{provider.name} ({provider.model})"


def _record_look(
    task: Mapping[str, Any], call: HookCall, notes: Sequence[Memory], ids: Sequence[str], model: str, failure: str
) -> None:
    """Keep the ids of the named notes and the verdict. failure: the reason why no model chose, "" if it did."""
    state, now, near = call.state, now_ms(), task["near"]
    state.begin(WRITE_WAIT_MS)
    is_awaited = past_runs.end_look(state, task["verdict"], call.id, [(id_, near[id_]) for id_ in ids], now)
    if failure:
        outcome = verdicts.FAILED
    else:
        outcome = verdicts.NOTHING_FOUND if not ids else verdicts.WAITING if is_awaited else verdicts.MOVED_ON
    record = verdicts.RecordedVerdict(
        call.id,
        now,
        verdicts.LOOK_EVENT,
        call.session,
        call.project,
        outcome,
        reason=failure,
        micros=int(call.deadline.spent_ms() * 1000.0),
        note=f"chosen by {model}" if model else None,
        candidates=[
            verdicts.Candidate(
                note.id,
                note.namespace,
                near[note.id],
                near[note.id],
                verdicts.FOUND if note.id in ids else verdicts.BELOW,
                {verdicts.SECOND_LOOK: ids.index(note.id) + 1} if note.id in ids else {},
            )
            for note in notes
        ],
        looked_at=task["verdict"],
        later_ms=now - task["at_ms"],
    )
    verdicts.keep_verdict(state, record, now)
    state.commit()


class LateAnswer:
    """Notes that the model has named, to be handed over with a tool call."""

    __slots__ = ("_call", "_hits", "_waiting")

    def __init__(self, call: HookCall, waiting: WaitingAnswer, hits: Sequence[Hit]) -> None:
        self._call = call
        self._waiting = waiting
        self._hits = hits

    def add_to(self, offer: Offer) -> None:
        """Put these notes behind the offer's own, within its maximum."""
        own = {hit.memory.id for hit in offer.hits if offer.threshold.is_reached(hit)}
        late = {hit.memory.id: hit for hit in self._hits if hit.memory.id not in own}
        offer.hits = [*(hit for hit in offer.hits if hit.memory.id not in late), *late.values()]
        offer.when_given = self._note_given

    def _note_given(self, ids: Sequence[str]) -> None:
        if any(hit.memory.id in ids for hit in self._hits):
            past_runs.settle_look(self._call.state, self._waiting, verdicts.HANDED_OVER, self._call.id)

    def drop_after(self, verdict: Verdict) -> None:
        """Drop the answer where its delivery has printed nothing, except for lack of time. Raises StoreError."""
        if not verdict.ids and verdict.outcome != verdicts.OUT_OF_TIME:
            _drop_answer(self._call, self._waiting, verdict.outcome)


def find_late_answer(call: HookCall) -> LateAnswer | None:
    """Return the answer that waits for the session of this call, None where it has all of it. Raises StoreError."""
    waiting = past_runs.find_waiting_answer(call.state, call.session, call.now_ms)
    if waiting is None:
        return None
    given = call.given_ids()
    memories = call.store.by_ids([id_ for id_, _ in waiting.findings if id_ not in given])
    hits = [
        Hit(memory, 0.0, relevance, {verdicts.SECOND_LOOK: position}, {})
        for position, (id_, relevance) in enumerate(waiting.findings, 1)
        if (memory := memories.get(id_)) and call.eligible.allows(memory)
    ]
    if not hits:
        _drop_answer(call, waiting, "the session has it")
        return None
    return LateAnswer(call, waiting, hits)


def _drop_answer(call: HookCall, waiting: WaitingAnswer, reason: str) -> None:
    try:
        call.state.begin_briefly()
        past_runs.settle_look(call.state, waiting, verdicts.MOVED_ON, reason)
        call.state.commit()
    except StoreBusy:
        pass  # The next call does it.
