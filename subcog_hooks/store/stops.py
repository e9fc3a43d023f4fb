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
        return _check_stops(light_json.loads(read_regular(home.stops, MAX_BYTES).decode()))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{home.stops} cannot be read ({error})", "delete it, and give --ask-before or --deny again"
        ) from error


def _check_stops(rows: object) -> Stops:
    """Return the stops of a file. Raises ValueError where one has another shape."""
    if not isinstance(rows, dict):
        raise ValueError("no table of memories")
    for id_, answers in rows.items():
        if not isinstance(answers, dict) or not {*map(str, answers.values())} <= {ASK, DENY}:
            raise ValueError(f"{id_} has {light_json.dumps(answers)[:40]}, expected patterns with ask or deny")
    return rows


def add_stops(home: Home, id_: str, answers: Mapping[str, str]) -> None:
    """Let a memory stop commands: answers by pattern. Raises StoreError."""
    _change_stops(home, lambda stops: {**stops, id_: {**stops.get(id_, {}), **answers}})


def remove_stops(home: Home, ids: Iterable[str]) -> None:
    """Let these memories stop no command. Raises StoreError."""
    if os.path.exists(home.stops):
        removed = frozenset(ids)
        _change_stops(home, lambda stops: {id_: answers for id_, answers in stops.items() if id_ not in removed})


def _change_stops(home: Home, change: Callable[[Stops], Stops]) -> None:
    from contextlib import suppress

    from subcog_hooks.core.whole_files import WholeFile  # The hook only reads.
    from subcog_hooks.store.lock import ProcessLock

    with ProcessLock(f"{home.stops}.lock", LOCK_WAIT_MS, "changing the stops"):
        stops: Json = {id_: dict(answers) for id_, answers in change(read_stops(home)).items()}
        try:
            if not stops:
                with suppress(FileNotFoundError):  # another process has removed it
                    os.unlink(home.stops)  # Then the hook looks for none.
                return
            with WholeFile(os.path.realpath(home.stops)) as whole:
                whole.file.write(light_json.dumps(stops) + "\n")
        except OSError as error:
            raise StoreError(f"{home.stops} cannot be written: {error.strerror}", "check the disk") from error
