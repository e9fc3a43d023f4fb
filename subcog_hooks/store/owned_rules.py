"""The permission rules of Claude Code that notes own: a small JSON file in the home. A damaged one counts as none.

They are no field of a memory, so that no import, colleague, agent or model can bring one.
"""

import json
import os
from collections.abc import Callable
from typing import NamedTuple

from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.files import read_regular
from subcog_hooks.core.paths import Home
from subcog_hooks.core.whole_files import WholeFile
from subcog_hooks.store.lock import ProcessLock
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.store import Store

MAX_BYTES = 256 * 1024
LOCK_WAIT_MS = 5_000


class OwnedRule(NamedTuple):
    """A rule that a memory owns. kind: `ask` or `deny`, the list of the settings file that has it."""

    memory: str
    path: str
    kind: str
    rule: str


def read_rules(home: Home) -> list[OwnedRule]:
    """Return the owned rules, the oldest first."""
    try:
        return [OwnedRule(*map(str, row)) for row in json.loads(read_regular(home.rules, MAX_BYTES))]
    except (OSError, ValueError, TypeError):
        return []


def find_ended_rules(home: Home) -> list[OwnedRule]:
    """Return the rules of memories that are gone, expired or no longer active. Raises StoreError."""
    rules = read_rules(home)
    if not rules:
        return []
    with Store.reader(home) as store:
        memory_of, now = store.by_ids([rule.memory for rule in rules]), now_ms()
    return [rule for rule in rules if rule.memory not in memory_of or not memory_of[rule.memory].is_live(now)]


def change_rules(home: Home, change: Callable[[list[OwnedRule]], list[OwnedRule]]) -> None:
    """Replace the owned rules. Raises StoreError."""
    with ProcessLock(f"{home.rules}.lock", LOCK_WAIT_MS, "changing the rules of notes"):
        rules = change(read_rules(home))
        try:
            with WholeFile(os.path.realpath(home.rules)) as whole:
                whole.file.write(json.dumps(rules) + "\n")
        except OSError as error:
            raise StoreError(f"{home.rules} cannot be written: {error.strerror}", "check the disk") from error
