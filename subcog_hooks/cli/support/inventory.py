"""The inventory of a store, and the proposals that tidy it."""

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from subcog_hooks.cli.support import context, hygiene
from subcog_hooks.cli.support.hygiene import YEAR_MS, Inspection, StoreFinding, Use
from subcog_hooks.cli.support.output import ACCENT, DIM, counted, safe, terminal
from subcog_hooks.core.errors import ModelError, NoMemory, StoreError
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.store import ledger
from subcog_hooks.store.memory import PENDING, Memory, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_store import VectorStore
from subcog_hooks.text.sanitise import cut

MOST_MONTHS = 48  # of the growth that is shown


class Group(NamedTuple):
    """Memories with something in common. given: how many of the active ones some session was given; waiting: for review."""

    name: str
    active: int
    waiting: int
    given: int


class Month(NamedTuple):
    """A month of the store's growth: how many memories there were at its end, and how many of them were new."""

    name: str
    stored: int
    new: int


class Inventory:
    """The sums. memories: all but deleted ones; use: of memories; now: milliseconds since the epoch."""

    __slots__ = ("memories", "now", "use")

    def __init__(self, memories: Sequence[Memory], use: Use, now: int) -> None:
        self.memories = sorted(memories, key=lambda one: (-one.created_at, one.id))
        self.use = use
        self.now = now

    @property
    def live(self) -> list[Memory]:
        return [one for one in self.memories if one.is_live(self.now)]

    @property
    def waiting(self) -> list[Memory]:
        return [one for one in self.memories if one.status == PENDING]

    def sessions_of(self, memory: Memory) -> int:
        """Return to how many sessions a memory was given."""
        known = self.use.by_id.get(memory.id)
        return known.sessions if known else 0

    def by_project(self) -> list[Group]:
        """Return the memories by project, the most first; what is for all projects by its scope."""
        return self._grouped(lambda one: one.project or one.scope)

    def by_namespace(self) -> list[Group]:
        """Return the memories by namespace, the most first."""
        return self._grouped(lambda one: one.namespace)

    def growth(self) -> list[Month]:
        """Return the growth by month, of the last MOST_MONTHS, of what is there now."""
        new = Counter(_month_of(one.created_at) for one in self.memories)
        if not new:
            return []
        last = max(*new, _month_of(self.now))
        stored, found = 0, []
        for month in range(min(new), last + 1) if last - min(new) < 1_000 else sorted(new):
            stored += new[month]
            found.append(Month(f"{month // 12}-{month % 12 + 1:02}", stored, new[month]))
        return found[-MOST_MONTHS:]

    def stale(self) -> list[tuple[str, Memory]]:
        """Return what has expired, was replaced, or was neither changed nor given to a session for a year, each with why."""
        found = []
        for one in self.memories:
            if one.expires_at is not None and one.expires_at <= self.now and one.status == "active":
                found.append(("expired", one))
            elif one.status in ("superseded", "archived"):
                found.append((one.status, one))
            elif one.status == "active" and self._is_unused(one):
                found.append(("not used for a year", one))
        return found

    def _is_unused(self, memory: Memory) -> bool:
        long_ago = self.now - YEAR_MS
        if self.use.since is None or self.use.since > long_ago:
            return False  # nobody knows
        known = self.use.by_id.get(memory.id)
        return max(memory.created_at, memory.updated_at, known.last_at if known else 0) <= long_ago

    def _grouped(self, key: Callable[[Memory], str]) -> list[Group]:
        groups: dict[str, list[Memory]] = {}
        for one in self.memories:
            groups.setdefault(key(one), []).append(one)
        found = [_group(name, members, self.now, self.use.by_id) for name, members in groups.items()]
        return sorted(found, key=lambda group: (-group.active, -group.waiting, group.name))


def _group(name: str, members: Sequence[Memory], now: int, given: Mapping[str, object]) -> Group:
    live = [one for one in members if one.is_live(now)]
    return Group(name, len(live), sum(one.status == PENDING for one in members), sum(one.id in given for one in live))


def _month_of(at: int) -> int:
    """Return the number of a time's month, from the year 0.

    >>> divmod(_month_of(1772445600000), 12)
    (2026, 2)
    """
    moment = time.gmtime(max(0, at // 1000))
    return moment.tm_year * 12 + moment.tm_mon - 1


MOST_TOLD = 20  # of a kind, on a terminal; elsewhere all
SHOWN_WORDS = 100  # characters of a memory
STATE_WAIT = 2_000.0  # milliseconds


def tell_findings() -> None:
    """Look at all memories, and print what a person should look at. Raises NoMemory, StoreError, ConfigError."""
    with context.reading() as store:
        if store is None:
            raise NoMemory("there are no memories", "`subcog remember` makes the first")
        vectors = open_vectors(store)
        try:
            found = hygiene.inspect(store, vectors, use_so_far(), now_ms())
        finally:
            if vectors:
                vectors.close()
    _print(found)


def open_vectors(store: Store) -> VectorStore | None:
    """Return the vectors of the packaged model, None where there are none to be had."""
    try:
        return context.vectors_of(store, PACKAGED)
    except (StoreError, ModelError) as error:
        terminal.say(error.message)
        return None


def use_so_far() -> Use:
    """Return to how many sessions each memory was given, as far as that is known."""
    home = context.home()
    if not os.path.exists(home.state_db):
        return Use({}, None)
    state = State.open(home, STATE_WAIT, terminal.say)
    try:
        return Use(ledger.find_handed_over(state), ledger.find_first_given(state))
    finally:
        state.close()


def _print(found: Inspection) -> None:
    counts = Counter(one.kind for one in found.findings)
    for kind in hygiene.FINDING_KINDS:
        of_kind = [one for one in found.findings if one.kind == kind]
        if not of_kind:
            continue
        terminal.pieces((f"{kind}: {counts[kind]}", "bold"))
        shown = of_kind[:MOST_TOLD] if terminal.is_drawn else of_kind
        for one in shown:
            _print_one(one)
        if len(of_kind) > len(shown):
            terminal.pieces((f"   and {len(of_kind) - len(shown)} more; `subcog doctor --memories | cat` shows all", DIM))
    for remark in found.remarks:
        terminal.say(remark)
    if not found.findings:
        terminal.say("nothing to tidy up")
    else:
        terminal.say(f"{counted(len(found.findings), 'thing')} to look at; nothing was changed")


def _print_one(one: StoreFinding) -> None:
    terminal.pieces(("   ", ""), (safe(one.why), DIM), (f"   {safe(one.command)}", ACCENT))
    for memory in one.memories:
        terminal.pieces(("      ", ""), (safe(memory.id), ACCENT), (f"  {cut(safe(memory.content), SHOWN_WORDS)}", ""))
