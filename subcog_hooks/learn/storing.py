"""Storing the proposals that are new; the options and the report of a run over sessions."""

from __future__ import annotations

from subcog_hooks.capture import importing
from subcog_hooks.capture.compose import Removed, total
from subcog_hooks.capture.import_changes import Options
from subcog_hooks.learn.turn_scores import PACKAGED_FIT, Fit
from subcog_hooks.store.memory import now_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol, TypeVar

    from subcog_hooks.capture.jsonl import Row
    from subcog_hooks.learn.fixes import FixProposal, Seen
    from subcog_hooks.learn.proposals import Proposal
    from subcog_hooks.learn.transcript_files import Places
    from subcog_hooks.store import learned
    from subcog_hooks.store.store import Store

    class Storable(Protocol):
        """A proposal, whoever makes it."""

        removed: Removed

        @property
        def id(self) -> str: ...
        @property
        def source(self) -> str: ...
        @property
        def folder(self) -> str: ...
        def row(self, root: str | None, now: int) -> Row: ...

    AnyProposal = TypeVar("AnyProposal", bound=Storable)


class LearningOptions:
    """since: nothing said before is looked at, milliseconds since the epoch; left_out: projects and folders to which nobody
    listens; never: kinds that are not proposed; dry_run: nothing is stored or noted; fit: the weights that turns are judged by.
    """

    __slots__ = ("dry_run", "fit", "left_out", "never", "since")

    def __init__(
        self,
        *,
        since: int = 0,
        left_out: Sequence[str] = (),
        never: Sequence[str] = (),
        dry_run: bool = False,
        fit: Fit = PACKAGED_FIT,
    ) -> None:
        self.since = since
        self.left_out = tuple(left_out)
        self.never = frozenset(never)
        self.dry_run = dry_run
        self.fit = fit


class LearningReport:
    """The outcome of a run: how much was read, and the proposals that are new.

    is_cut_short: its pace ended it; what was read is noted, and the next run compares it with the rest.
    """

    __slots__ = (
        "damaged",
        "fixes",
        "fixes_seen",
        "heard",
        "is_cut_short",
        "left_out",
        "problems",
        "proposed",
        "read",
        "removed",
        "turns",
        "unchanged",
    )

    def __init__(self) -> None:
        self.read = 0  # transcripts
        self.unchanged = 0
        self.turns = 0
        self.damaged = 0  # rows
        self.left_out = 0  # turns, by the setting
        self.problems: list[str] = []
        self.proposed: list[Proposal] = []
        self.fixes: list[FixProposal] = []  # proposed, too
        self.fixes_seen: dict[str, Seen] = {}  # which sessions have shown each, by its key
        self.removed: Removed = ()
        self.heard: list[learned.HeardTurn] = []  # in a run that notes nothing
        self.is_cut_short = False


def store_new(
    found: Sequence[AnyProposal],
    store: Store | None,
    options: LearningOptions,
    places: Places,
    report: LearningReport,
) -> list[AnyProposal]:
    """Store the proposals that are not known yet, and return them; `report` has their faults then. Raises StoreError."""
    unknown = {one.id: one for one in found}
    if store and unknown:
        known = {*store.by_ids(list(unknown)), *store.purged_sections(list(unknown))}
        unknown = {id_: one for id_, one in unknown.items() if id_ not in known}
    if not unknown:
        return []
    now = now_ms()
    rows = [(one.source, one.row(places.root_of(one.folder), now)) for one in unknown.values()]
    rows = [(place, row) for place, row in rows if not (store and store.by_hash(row.memory.content_hash))]
    imported = importing.run_reading(
        rows, lambda _: False, frozenset(), store, Options(dry_run=options.dry_run), lambda _: None
    )
    report.problems += [f"{problem.place}: {problem.message}" for problem in imported.problems]
    ids = [row.memory.id for _, row in rows]
    if store and not options.dry_run:
        ids = [id_ for id_ in ids if id_ in store.by_ids(ids)]
    report.removed = total([report.removed, *(unknown[id_].removed for id_ in ids)])
    return [unknown[id_] for id_ in ids]
