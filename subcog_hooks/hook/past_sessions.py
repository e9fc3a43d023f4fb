"""Lines that point at past sessions: where a prompt asks about the past, and where an earlier session got past an error.

An episode is an agent's words, which may quote anything. Its line begins with its day, and the block makes the words harmless.
"""

from __future__ import annotations

import time

from subcog_hooks.core.errors import SubcogError
from subcog_hooks.episodes.episode_store import EpisodeStore, failure_key
from subcog_hooks.hook.block import Pointer, gist_of
from subcog_hooks.hook.call import MIN_WAIT_MS
from subcog_hooks.hook.choose import OUT_OF_REACH, Offer, Threshold, bars_from_settings
from subcog_hooks.hook.payload import text_of
from subcog_hooks.hook.prompt_search import AFTERWARDS_MS, RECALL_MS, open_sources
from subcog_hooks.recall import pipeline
from subcog_hooks.recall.hits import Eligibility
from subcog_hooks.redaction.masking import mask_secrets
from subcog_hooks.store import sessions
from subcog_hooks.store.store_reader import audience_of
from subcog_hooks.text.sanitise import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.hook.choose import Verdict
    from subcog_hooks.hook.prompt_reading import PromptReading

# The best episode needs this relevance: of eight questions about the past that no session answers, one reached it. The next two
# come with it, however near: with a bar of .005 two of 32 questions lost their answer.
MIN_RELEVANCE = 0.04
MAX_LINES = 3  # at one prompt
MAX_ASKED = 48  # UTF-16 units of the typed words in a line


def add_lines_for_prompt(reading: PromptReading, verdict: Verdict) -> None:
    """Let the offer of a verdict point at the episodes that a question about the past is nearest to. A fault is remarked."""
    call = reading.call
    if call.deadline.work_left_ms() < RECALL_MS:
        return
    try:
        lines = _find_lines(reading)
    except SubcogError as error:
        verdict.remarks = (*verdict.remarks, f"no past session was searched: {error}")
        return
    if not lines:
        return
    if verdict.offer is None:
        verdict.offer = Offer(
            (), Threshold(OUT_OF_REACH, OUT_OF_REACH), 0, int(call.settings["surfacing.max_characters"]), list, is_enough=False
        )
        verdict.bars = verdict.bars or bars_from_settings(call.settings)
    verdict.offer.session_lines = lines


def _find_lines(reading: PromptReading) -> list[Pointer]:
    """Return lines that point at the most relevant episodes of the project. Raises SubcogError."""
    call = reading.call
    text = reading.search_text()
    with EpisodeStore.reader(call.home, max(MIN_WAIT_MS, call.deadline.left_ms())) as store:
        sources = open_sources(call, store)
        eligible = Eligibility(tuple([audience_of("project", name) for name in _projects(call)]), call.now_ms)
        hits = pipeline.recall_for_prompt(
            text, sources, eligible, call.deadline.sooner(AFTERWARDS_MS), prompt=mask_secrets(text)
        ).hits
        if not hits or hits[0].relevance < MIN_RELEVANCE:
            return []
        best = pipeline.remove_repeats(hits, sources.tuning)
        details = store.details_of([hit.memory.id for hit in best])
    seen = _pointed_ids(call)
    lines: list[Pointer] = []
    for episode in [hit.memory for hit in best]:
        detail = details.get(episode.id)
        if len(lines) == MAX_LINES or episode.id in seen or detail is None or detail.session == _own_session(call):
            continue
        asked, _, outcome = episode.content.partition("\n\n")
        found = gist_of(outcome, text) if outcome else ""
        lines.append(Pointer(episode.id, f"{cut(asked, MAX_ASKED)} → {found}", f"past session, {_day_of(episode.created_at)}"))
    return lines


def find_lines_for_failure(messages: Sequence[str], call: HookCall) -> list[Pointer]:
    """Return a line that points at the newest earlier session that had an error and got past it; none without any.

    messages: those of the failed call, the likeliest first. A fault is logged.
    """
    keys = [key for message in messages if (key := failure_key(mask_secrets(message)))]
    if not keys:
        return []
    try:
        with EpisodeStore.reader(call.home, max(MIN_WAIT_MS, call.deadline.left_ms())) as store:
            found = [store.find_failure(key, _projects(call), _own_session(call)) for key in keys]
    except SubcogError as error:
        call.log(f"no past session was searched: {error}")
        return []
    seen = _pointed_ids(call)
    lines = [
        Pointer(id_, f"seen on {_day_of(at_ms)}, gone after {fix}")
        for id_, fix, at_ms in filter(None, found)
        if id_ not in seen
    ]
    return lines[:1]


def _projects(call: HookCall) -> tuple[str, ...]:
    """Return the names under which the episodes of the call's project are kept; outside of any project, its folder."""
    names = [name for project in call.with_parents(call.here) for name in project.names]
    return tuple(names or (text_of(call.payload, "cwd"),))


def _own_session(call: HookCall) -> str:
    """Return the id of the session as its transcript has it: other clients' ids have their client's name before them."""
    return call.session.rpartition(":")[2]


def _pointed_ids(call: HookCall) -> set[str]:
    return sessions.find_pointed(call.state, call.ledger_key) if call.session else set()


def _day_of(at_ms: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(max(0, at_ms // 1000)))
