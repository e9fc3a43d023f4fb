"""PostToolUseFailure: the memories about the error of a failed tool call."""

from __future__ import annotations

import os

from subcog_hooks.hook import choose
from subcog_hooks.hook.call import open_call
from subcog_hooks.hook.choose import Offer, Verdict, bars_from_settings
from subcog_hooks.hook.deliver import deliver
from subcog_hooks.hook.payload import FAILURE_EVENT, input_of, text_of
from subcog_hooks.hook.prompt_search import open_sources
from subcog_hooks.recall import pipeline
from subcog_hooks.settings.defaults import SESSION_LINES
from subcog_hooks.store import sessions
from subcog_hooks.store.state import is_paused
from subcog_hooks.store.verdicts import REPEATED, SPENT
from subcog_hooks.text.pasted import find_failures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.core.paths import Home
    from subcog_hooks.hook.call import HookCall

MAX_MEMORIES = 1  # memories beside one error
LAST_LINES = 10  # of an output without a word such as "failed"
MAX_OUTPUT = 65_536  # last characters of an output that are read


def respond(payload: dict[str, object], home: Home, write: Callable[[bytes], None], deadline: Deadline) -> None:
    """Answer one failed tool call: call `write` once with the output, or not at all. Raises StoreError."""
    error = text_of(payload, "error")
    if not error.strip() or payload.get("is_interrupt") is True:
        return
    call = open_call(payload, home, deadline)
    if call is None:
        return
    settings = call.settings
    if not settings["surfacing.enabled"] or not settings["surfacing.tools"] or is_paused(call.state, call.now_ms):
        return
    verdict = _decide_on_error(error, call)
    if verdict is None:
        return
    from subcog_hooks.hook import record  # A prompt's answer does not wait for it.

    deliver(call, FAILURE_EVENT, verdict, write)
    if verdict.outcome not in (REPEATED, SPENT):
        record.record_call(call, FAILURE_EVENT, verdict)


def _decide_on_error(error: str, call: HookCall) -> Verdict | None:
    """Return an offer of the memories about an error, None where none is relevant. Raises StoreError.

    A memory is compared with each message of the failure, and the best comparison counts; without any, with the last lines.
    """
    settings = call.settings
    command = text_of(input_of(call.payload), "command")
    lines = error[-MAX_OUTPUT:].splitlines()
    text, *further = messages = find_failures(lines) or ["\n".join((command, *lines[-LAST_LINES:]))]
    sources = open_sources(call)
    answer = pipeline.recall_for_parts(text, further, sources, call.eligible, call.deadline)
    call.mark_loaded(answer.hits)
    bar = float(settings["surfacing.min_relevance"])
    has_room = sessions.has_room_for_line(call.state, call.ledger_key)
    line_bar = float(settings["surfacing.maybe_relevance"]) if has_room else 0.0
    line_bar = max(line_bar, choose.SOLE_LINE) if line_bar else 0.0
    session_lines = []
    if not any(hit.relevance >= (line_bar or bar) for hit in answer.hits):
        if line_bar and settings[SESSION_LINES] and os.path.exists(call.home.sessions.memories_db):
            from subcog_hooks.hook import past_sessions  # Not everybody keeps past sessions.

            session_lines = past_sessions.find_lines_for_failure(messages, call)
        if not session_lines:
            return None
    offer = Offer(
        pipeline.sort_by_relevance(answer.hits),
        choose.Threshold(bar, bar),
        min(MAX_MEMORIES, int(settings["surfacing.max_memories"])),
        int(settings["surfacing.max_characters"]),
        lambda relevant: pipeline.remove_repeats(relevant, sources.tuning),
        attributes={"tool": text_of(call.payload, "tool_name")},
        tells_relevance=True,
        line_bars=choose.LineBars(line_bar, line_bar),
        max_lines=1,
        prompt="\n".join(messages),
        session_lines=session_lines,
    )
    return Verdict(
        reason=text_of(call.payload, "tool_name"),
        offer=offer,
        bars=bars_from_settings(settings),
        strategies=answer.strategies,
        note=answer.note,
    )
