"""Storing new proposals; the options and the report of a run over sessions."""

from __future__ import annotations

from dataclasses import dataclass, field

from subcog_hooks.capture import import_run
from subcog_hooks.capture.compose import Removed, sum_removed
from subcog_hooks.capture.import_changes import ImportOptions
from subcog_hooks.learn.turn_scores import PACKAGED_FIT, Fit
from subcog_hooks.store.memory import now_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Protocol, TypeVar

    from subcog_hooks.capture.jsonl import Row
    from subcog_hooks.learn.fixes import FixProposal, SessionTimes
    from subcog_hooks.learn.proposals import Proposal
    from subcog_hooks.learn.transcript_files import SessionFolders
    from subcog_hooks.store import learned
    from subcog_hooks.store.store import Store

    class Storable(Protocol):
        """A proposal that can be stored: a turn's, a model's or a command's."""

        removed: Removed

        @property
        def id(self) -> str: ...
        @property
        def source(self) -> str: ...
        @property
        def folder(self) -> str: ...
        def row(self, root: str | None, now: int) -> Row: ...

    AnyProposal = TypeVar("AnyProposal", bound=Storable)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningOptions:
    """The options of a run over sessions.

    since: older turns are skipped, milliseconds since the epoch; left_out: excluded projects and folders; never: kinds that are
    not proposed; dry_run: nothing is stored or noted; fit: the weights that judge turns.
    """

    since: int = 0
    left_out: Sequence[str] = ()
    never: Collection[str] = ()
    dry_run: bool = False
    fit: Fit = PACKAGED_FIT


@dataclass(slots=True)
class LearningReport:
    """The outcome of a run: counts, and the new proposals.

    is_cut_short: the pace ended it; its transcripts are noted, and the next run compares them.
    """

    read: int = 0  # transcripts
    unchanged: int = 0
    turns: int = 0
    damaged: int = 0  # rows
    left_out: int = 0  # turns that the setting excludes
    problems: list[str] = field(default_factory=list)
    proposed: list[Proposal] = field(default_factory=list)
    fixes: list[FixProposal] = field(default_factory=list)  # the proposed fixes
    fixes_seen: dict[str, SessionTimes] = field(default_factory=dict)  # by key: the sessions that showed the fix
    removed: Removed = ()
    heard: list[learned.HeardTurn] = field(default_factory=list)  # only in a run that notes nothing
    is_cut_short: bool = False


def store_new(
    proposals: Sequence[AnyProposal],
    store: Store | None,
    options: LearningOptions,
    session_folders: SessionFolders,
    report: LearningReport,
) -> list[AnyProposal]:
    """Store the new proposals, and return them; their faults go to `report`. Raises StoreError."""
    new_proposals = {proposal.id: proposal for proposal in proposals}
    if store and new_proposals:
        stored_ids = {*store.by_ids(list(new_proposals)), *store.purged_sections(list(new_proposals))}
        new_proposals = {id_: proposal for id_, proposal in new_proposals.items() if id_ not in stored_ids}
    if not new_proposals:
        return []
    time_ms = now_ms()
    rows = [
        (proposal.source, proposal.row(session_folders.root_of(proposal.folder), time_ms))
        for proposal in new_proposals.values()
    ]
    rows = [(location, row) for location, row in rows if not (store and store.by_hash(row.memory.content_hash))]
    imported = import_run.import_reading(
        rows, lambda _: False, frozenset(), store, ImportOptions(dry_run=options.dry_run), lambda _: None
    )
    report.problems += [f"{problem.location}: {problem.message}" for problem in imported.problems]
    ids = [row.memory.id for _, row in rows]
    if store and not options.dry_run:
        ids = [id_ for id_ in ids if id_ in store.by_ids(ids)]
    report.removed = sum_removed([report.removed, *(new_proposals[id_].removed for id_ in ids)])
    return [new_proposals[id_] for id_ in ids]
