"""The person's stops: patterns of commands that Claude Code asks about, or denies, because of a note.

They lie in a file of their own and are no field of a memory, so that no import, share, agent or model can bring one.
"""

from __future__ import annotations

import os

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.regular_files import read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from subcog_hooks.core.light_json import Json
    from subcog_hooks.core.paths import Home

    Stops = dict[str, dict[str, str]]

ASK, DENY = "ask", "deny"
MAX_BYTES = 256 * 1024
LOCK_WAIT_MS = 5_000


def read_stops(home: Home) -> Stops:
    """Return the answer, ASK or DENY, by pattern, by the memory's id. Raises StoreError for a damaged file."""
    try:
        rows = light_json.loads(read_regular(home.stops, MAX_BYTES).decode())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{home.stops} cannot be read ({error})", "delete it, and give --ask-before or --deny again"
        ) from error
    stops: Stops = {}
    for id_, answers in rows.items() if isinstance(rows, dict) else ():
        for pattern, answer in answers.items() if isinstance(answers, dict) else ():
            if answer in (ASK, DENY) and pattern.strip():
                stops.setdefault(id_, {})[pattern] = str(answer)
    return stops


def add_stops(home: Home, id_: str, answers: Mapping[str, str]) -> None:
    """Let a memory stop commands: answers by pattern. Raises StoreError."""
    _change_stops(home, lambda stops: {**stops, id_: {**stops.get(id_, {}), **answers}})


def remove_stops(home: Home, ids: Iterable[str]) -> None:
    """Let these memories stop no command. Raises StoreError."""
    if os.path.exists(home.stops):
        removed = frozenset(ids)
        _change_stops(home, lambda stops: {id_: answers for id_, answers in stops.items() if id_ not in removed})


def _change_stops(home: Home, change: Callable[[Stops], Stops]) -> None:
    from subcog_hooks.core.whole_files import WholeFile  # The hook only reads.
    from subcog_hooks.store.lock import ProcessLock

    with ProcessLock(f"{home.stops}.lock", LOCK_WAIT_MS, "changing the stops"):
        stops: Json = {id_: dict(answers) for id_, answers in change(read_stops(home)).items()}
        try:
            if not stops:
                os.unlink(home.stops)  # Then the hook looks for none.
                return
            with WholeFile(os.path.realpath(home.stops)) as whole:
                whole.file.write(light_json.dumps(stops) + "\n")
        except OSError as error:
            raise StoreError(f"{home.stops} cannot be written: {error.strerror}", "check the disk") from error
