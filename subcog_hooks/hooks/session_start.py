"""SessionStart: what holds when a session begins, and after a compaction what it had been given.

`clear` starts a session with an id of its own. A resumed session hears what it heard last, byte for byte, which the client then
does not add again.
"""

from subcog_hooks.errors import StoreBusy
from subcog_hooks.hooks import occasion as occasions
from subcog_hooks.hooks.payload import text_of
from subcog_hooks.recall.hits import PINNED, STATE, USED
from subcog_hooks.state import ledger, pause, sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from subcog_hooks.cues.conditions import Scalar
    from subcog_hooks.deadline import Deadline
    from subcog_hooks.hooks.occasion import Occasion
    from subcog_hooks.memory.model import Memory
    from subcog_hooks.paths import Home

EVENT = "SessionStart"
COMPACT, RESUME = "compact", "resume"  # of the payload's sources
MOST_UNITS = 1_500  # UTF-16 units: they stay in the context for the whole session
MOST_PINNED = 5
MOST_USED = 6
MOST = 14  # memories: those, and three whose conditions hold


def respond(payload: "dict[str, object]", home: "Home", write: "Callable[[bytes], None]", deadline: "Deadline") -> None:
    """Begin a session: `write` is called once with the output, or not at all. Raises StoreError."""
    occasions.with_sound_state(home, lambda: _respond(payload, home, write, deadline))


def _respond(payload: "dict[str, object]", home: "Home", write: "Callable[[bytes], None]", deadline: "Deadline") -> None:
    happened = occasions.open_occasion(payload, home, deadline)
    if happened is None:
        return
    source = text_of(payload, "source")
    used = _forgotten(happened) if source == COMPACT else []
    said = sessions.find_said(happened.state, happened.session) if source == RESUME else None
    is_silent = _is_silent(happened)
    facts = _facts(happened) if said is None and not is_silent else None
    _note(happened, lambda: sessions.begin(happened.state, happened.session, happened.project, source, happened.at))
    if is_silent:
        return
    found = {USED: _live(said, happened)} if said is not None else _found(happened, facts, used)
    ids: tuple[str, ...] = ()
    if any(found.values()):
        ids = _hand_over(happened, found, source, write)
        if not ids:
            return  # no time was left: a resumed session begins as if it were new
    if said is None:
        _note(happened, lambda: sessions.keep_said(happened.state, happened.session, ids))


def _hand_over(
    happened: "Occasion", found: "Mapping[str, Sequence[Memory]]", source: str, write: "Callable[[bytes], None]"
) -> tuple[str, ...]:
    """Hand over what was found, record it, and return the ids of what was printed. Raises StoreError."""
    from subcog_hooks.hooks import record  # most sessions begin with nothing
    from subcog_hooks.hooks.delivery import deliver
    from subcog_hooks.hooks.exact_offer import Terms, offer_exact
    from subcog_hooks.recall.exact import Exact

    units = min(MOST_UNITS, int(happened.settings["surfacing.max_characters"]))
    terms = Terms(0.0, MOST, units, float(happened.settings["diversity.near_duplicate"]), again=True)
    verdict = offer_exact(happened, Exact(found), terms, source)
    assert verdict.offer is not None
    delivery = deliver(happened, EVENT, verdict.offer, write)
    record.keep(happened, EVENT, verdict, delivery)
    return delivery.ids


def _is_silent(happened: "Occasion") -> bool:
    settings = happened.settings
    return (
        not settings["surfacing.enabled"] or not settings["surfacing.session_start"] or pause.is_on(happened.state, happened.at)
    )


def _forgotten(happened: "Occasion") -> list[str]:
    """Let a session hear all of it again, since the client has forgotten it: the last that it was given. Raises StoreError."""
    if not happened.session:
        return []
    used = ledger.given_lately(happened.state, happened.session, MOST_USED)
    ledger.forget(happened.state, happened.session)
    return used


def _facts(happened: "Occasion") -> "Mapping[str, Scalar] | None":
    """Return the facts by which conditions are judged, before the session is noted; None where no memory has any conditions."""
    return happened.facts() if happened.store.has_cues()[1] else None


def _note(happened: "Occasion", note: "Callable[[], None]") -> None:
    """Take note of a session, unless another process is writing. Not of a trial. Raises StoreError."""
    if not happened.session or happened.is_trial:
        return
    try:
        happened.state.begin_briefly()
    except StoreBusy:
        return
    note()
    happened.state.commit()


def _found(happened: "Occasion", facts: "Mapping[str, Scalar] | None", used: "Sequence[str]") -> "dict[str, list[Memory]]":
    """Return the live memories of each channel, in the order in which they are printed. Raises StoreError."""
    store, eligible = happened.store, happened.eligible
    found = {PINNED: store.pinned(eligible.audiences, MOST_PINNED, eligible.now_ms)}
    if facts is not None:
        from subcog_hooks.recall import exact  # where the store has conditions

        found[STATE], note = exact.by_states(facts, store, eligible)
        if note:
            happened.log(note)
    found[USED] = [memory for memory in _live(used, happened) if happened.holds(memory)]
    return found


def _live(ids: "Sequence[str]", happened: "Occasion") -> "list[Memory]":
    """Return the memories of these ids that may be handed over, in their order. Raises StoreError."""
    if not ids:
        return []
    memories = happened.store.by_ids(ids)
    return [memory for memory in map(memories.get, ids) if memory and happened.eligible.includes(memory)]
