"""The memories that the prompts of a project were near to, over all its sessions, so that a brief knows what is sought here.

For each memory the sum of its relevances to prompts, whether it was handed over or not. Every function raises StoreError.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from subcog_hooks.state.connection import State

MAX_ROWS = 20_000  # memories, of all projects
MAX_WEIGHT = 3.0  # of a memory: what was sought more often is as much worth
LEAST_RELEVANCE = 0.05  # below it a memory is near to a prompt by chance
MOST_NEAR = 8  # memories that a prompt is near to


def note(state: State, project: str, near: Iterable[tuple[str, float]], now_ms: int) -> None:
    """Note what a prompt was near to. near: ids with their relevance; project: "" outside of any."""
    ordered = sorted((-relevance, id_) for id_, relevance in near if relevance >= LEAST_RELEVANCE)[:MOST_NEAR]
    for relevance, id_ in ordered:
        state.run(
            "INSERT INTO sought VALUES (?, ?, ?, ?) ON CONFLICT (project, memory)"
            " DO UPDATE SET weight = min(?, weight + excluded.weight), at = excluded.at",
            (project, id_, -relevance, now_ms, MAX_WEIGHT),
        )


def of_project(state: State, project: str, most: int) -> dict[str, float]:
    """Return what the prompts of a project were near to, the nearest first, each with the sum of its relevances."""
    rows = state.run(
        "SELECT memory, weight FROM sought WHERE project = ? ORDER BY weight DESC, memory LIMIT ?", (project, most)
    )
    return {str(memory): float(weight or 0.0) for memory, weight in rows}


def prune(state: State) -> None:
    """Forget what was sought longest ago, where there is too much."""
    (kept,) = state.run("SELECT count(*) FROM sought")[0]
    if int(kept or 0) > MAX_ROWS:
        state.run("DELETE FROM sought WHERE at < (SELECT at FROM sought ORDER BY at DESC LIMIT 1 OFFSET ?)", (MAX_ROWS // 2,))
