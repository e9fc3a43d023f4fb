"""The inventory of a store, and the proposals that tidy it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import NamedTuple

from subcog_hooks.cli.support import context, hygiene
from subcog_hooks.cli.support.hygiene import YEAR_MS, StoreFinding, Use
from subcog_hooks.cli.support.output import ACCENT, DIM, pluralize, safe, terminal
from subcog_hooks.core.errors import ModelError, NoMemory, StoreError
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.store import sessions
from subcog_hooks.store.memory import PENDING, STATUSES, Memory, now_ms
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_store import VectorStore
from subcog_hooks.text.sanitise import cut

UNDELETED = tuple(status for status in STATUSES if status != "deleted")


class Group(NamedTuple):
    """Memories with a common project or namespace. given: active ones that a session received; waiting: for review."""

    name: str
    active: int
    waiting: int
    given: int


class Inventory:
    """The counts over a store. memories: all but deleted ones; use: of memories; now: milliseconds since the epoch."""

    def __init__(self, memories: Sequence[Memory], use: Use, now: int) -> None:
        self.memories = sorted(memories, key=lambda memory: (-memory.created_at, memory.id))
        self.use = use
        self.now = now

    @property
    def live(self) -> list[Memory]:
        return [memory for memory in self.memories if memory.is_live(self.now)]

    @property
    def waiting(self) -> list[Memory]:
        return [memory for memory in self.memories if memory.status == PENDING]

    def sessions_of(self, memory: Memory) -> int:
        """Return the number of sessions that received a memory."""
        use = self.use.by_id.get(memory.id)
        return use.sessions if use else 0

    def by_project(self) -> list[Group]:
        """Return the memories by project, the largest group first. Shared memories are grouped by scope."""
        return self._group_by(lambda memory: memory.project or memory.scope)

    def by_namespace(self) -> list[Group]:
        """Return the memories by namespace, the largest group first."""
        return self._group_by(lambda memory: memory.namespace)

    def stale(self) -> list[tuple[str, Memory]]:
        """Return the memories that are expired, superseded, archived or unused for a year, each with its reason."""
        stale = []
        for memory in self.memories:
            if memory.expires_at is not None and memory.expires_at <= self.now and memory.status == "active":
                stale.append(("expired", memory))
            elif memory.status in ("superseded", "archived"):
                stale.append((memory.status, memory))
            elif memory.status == "active" and self._is_unused(memory):
                stale.append(("not used for a year", memory))
        return stale

    def _is_unused(self, memory: Memory) -> bool:
        long_ago = self.now - YEAR_MS
        if self.use.since is None or self.use.since > long_ago:
            return False  # The record of hand-overs is too short.
        use = self.use.by_id.get(memory.id)
        return max(memory.created_at, memory.updated_at, use.last_at if use else 0) <= long_ago

    def _group_by(self, key: Callable[[Memory], str]) -> list[Group]:
        groups: dict[str, list[Memory]] = {}
        for memory in self.memories:
            groups.setdefault(key(memory), []).append(memory)
        groups_by_key = [_make_group(name, members, self.now, self.use.by_id) for name, members in groups.items()]
        return sorted(groups_by_key, key=lambda group: (-group.active, -group.waiting, group.name))


def load_inventory() -> Inventory:
    """Return the inventory of all memories but deleted ones. Raises NoMemory, StoreError."""
    with context.reading() as store:
        if store is None:
            raise NoMemory("there are no memories", "`subcog remember` makes the first")
        return inventory_of(store)


def inventory_of(store: Store | None) -> Inventory:
    """Return the inventory of a store, an empty one for none. Raises StoreError."""
    return Inventory(list(store.all(UNDELETED)) if store else [], load_use(), now_ms())


def _make_group(name: str, members: Sequence[Memory], now: int, given: Mapping[str, object]) -> Group:
    active = [memory for memory in members if memory.is_live(now)]
    waiting_count = sum(memory.status == PENDING for memory in members)
    return Group(name, len(active), waiting_count, sum(memory.id in given for memory in active))


MAX_SHOWN = 20  # findings of a kind on a terminal; elsewhere all
SHOWN_WORDS = 100  # characters of a memory


def print_findings() -> None:
    """Inspect the store and print the findings. Raises NoMemory, StoreError, ConfigError."""
    with context.reading() as store:
        if store is None:
            raise NoMemory("there are no memories", "`subcog remember` makes the first")
        with open_vectors(store) or nullcontext() as vectors:
            findings, remarks = hygiene.inspect_store(store, vectors, load_use(), now_ms())
    _print_inspection(findings, remarks)


def open_vectors(store: Store) -> VectorStore | None:
    """Return the vectors of the packaged model, None where they are not usable."""
    try:
        return context.vectors_of(store, PACKAGED)
    except (StoreError, ModelError) as error:
        terminal.say(error.message)
        return None


def load_use() -> Use:
    """Return the recorded hand-overs of each memory."""
    with context.existing_state(context.home(), tell=terminal.say) as state:
        return Use(sessions.count_hand_overs(state), sessions.find_first_given(state)) if state else Use({}, None)


def _print_inspection(findings: Sequence[StoreFinding], remarks: Sequence[str]) -> None:
    for kind in hygiene.FINDING_KINDS:
        of_kind = [finding for finding in findings if finding.kind == kind]
        if not of_kind:
            continue
        terminal.pieces((f"{kind}: {len(of_kind)}", "bold"))
        shown = of_kind[:MAX_SHOWN] if terminal.is_drawn else of_kind
        for finding in shown:
            _print_finding(finding)
        if len(of_kind) > len(shown):
            terminal.pieces((f"   and {len(of_kind) - len(shown)} more; `subcog doctor --memories | cat` shows all", DIM))
    for remark in remarks:
        terminal.say(remark)
    things = pluralize(len(findings), "thing")
    terminal.say(f"{things} to look at; nothing was changed" if findings else "nothing to tidy up")


def _print_finding(finding: StoreFinding) -> None:
    terminal.pieces((f"   {safe(finding.why)}", DIM))
    terminal.pieces((f"      {safe(finding.command)}", ACCENT))
    for memory in finding.memories:
        terminal.pieces((f"      {safe(memory.id)}", ACCENT), (f"  {cut(safe(memory.content), SHOWN_WORDS)}", ""), indent=9)
