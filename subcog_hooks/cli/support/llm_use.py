"""The calls of the model at rest today, by job, for `setup`, `report` and `doctor`."""

import time

from subcog_hooks.cli.support import context
from subcog_hooks.cli.support.output import pluralize
from subcog_hooks.core.paths import Home
from subcog_hooks.store import state_values
from subcog_hooks.store.memory import now_ms


def describe_calls(home: Home) -> list[str]:
    """Return a line for each job that has asked today: its calls, the characters sent, and its last call's local time.

    Raises StoreError.
    """
    with context.existing_state(home) as state:
        uses = state_values.find_llm_use(state, now_ms()) if state else []
    return [
        f"{use.job}: {pluralize(use.calls, 'call')}, {use.characters:,} characters, "
        f"the last at {time.strftime('%H:%M', time.localtime(use.last_ms / 1000))}"
        for use in uses
    ]
