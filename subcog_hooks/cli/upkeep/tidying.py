"""`doctor --memories` as it is told: each thing that a person should look at, with the command that settles it."""

import os
from collections import Counter

from subcog_hooks.cli.support import session
from subcog_hooks.cli.support.output import ACCENT, DIM, counted, safe, terminal
from subcog_hooks.cli.upkeep import hygiene
from subcog_hooks.cli.upkeep.hygiene import Inspection, StoreFinding, Use
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.errors import ModelError, NoMemory, StoreError
from subcog_hooks.hooks.sanitise import cut
from subcog_hooks.memory.model import now_ms
from subcog_hooks.memory.store import Store
from subcog_hooks.memory.vectors import VectorStore
from subcog_hooks.state import handed_over
from subcog_hooks.state.connection import State

MOST_TOLD = 20  # of a kind, on a terminal; elsewhere all
SHOWN_WORDS = 100  # characters of a memory
STATE_WAIT = 2_000.0  # milliseconds


def tell_findings() -> None:
    """Look at all memories, and print what a person should look at. Raises NoMemory, StoreError, ConfigError."""
    with session.reading() as store:
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
        return session.vectors_of(store, PACKAGED)
    except (StoreError, ModelError) as error:
        terminal.say(error.message)
        return None


def use_so_far() -> Use:
    """Return to how many sessions each memory was given, as far as that is known."""
    home = session.home()
    if not os.path.exists(home.state_db):
        return Use({}, None)
    state = State.open(home, STATE_WAIT, terminal.say)
    try:
        return Use(handed_over.find_handed_over(state), handed_over.find_first(state))
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
