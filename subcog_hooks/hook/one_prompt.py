"""`subcog block`: what the hook would hand over with a prompt, for scripts, editors and other agents; as fast as the hook.

The prompt stands for itself, as the first of a session. Nothing is counted, recorded or remembered of it. An LLM is asked where
the hook would ask one.
"""

from __future__ import annotations

import os

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, EXIT_STORE, SubcogError
from subcog_hooks.core.homes import find_home
from subcog_hooks.hook import call as occasions
from subcog_hooks.hook.payload import PROMPT_EVENT
from subcog_hooks.hook.prompt import decide
from subcog_hooks.hook.reading import Turn
from subcog_hooks.store.decision import OFF, PAUSED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from subcog_hooks.core.light_json import Json
    from subcog_hooks.core.paths import Home
    from subcog_hooks.hook.deliver import Delivery

STDIN = "-"  # in the prompt's place: it stands on standard input
MAX_PROMPT = 16 * 1024 * 1024  # bytes of it that are read
PROMPT_WAIT_MS, PROMPT_WORK_MS = 200.0, 1_000.0  # as for the hook: until when others are waited for, and own work goes on
_SWITCHED_OFF = {
    PAUSED: "the hook is paused; `subcog resume` ends it",
    OFF: "the hook is switched off by a setting; see `subcog config list`",
}
_READ_BYTES = 1 << 16


class Given:
    """The block that the hook would hand over with a prompt. relevances: of the memories that were looked at, by id."""

    __slots__ = ("delivery", "relevances")

    def __init__(self, delivery: Delivery) -> None:
        self.delivery = delivery
        self.relevances = {one.hit.memory.id: round(one.hit.relevance, 4) for one in delivery.judged}

    def to_json(self) -> Json:
        """Return it as an object: the block, its length in UTF-16 units, the memories in it, and those that lines point at."""
        told, pointed = (self._described(ids) for ids in (self.delivery.ids, self.delivery.pointed))
        return {"text": self.delivery.text, "characters": self.delivery.units, "memories": told, "lines": pointed}

    def _described(self, ids: Sequence[str]) -> list[Json]:
        return [{"id": id_, "relevance": self.relevances[id_]} for id_ in ids]


def give(prompt: str, folder: str, say: Callable[[str], None]) -> Given | None:
    """Return what the hook would hand over with a prompt that is typed in this folder; None for nothing.

    say: takes what is to be said beside it, a line at a time. Raises StoreError, and whatever stops the hook.
    """
    home, ignored = find_home(folder)
    if ignored:
        say(ignored)
    home.ask_for_quiet()
    found: list[Given | None] = [None]

    def look() -> None:
        found[0] = _given(prompt, folder, home, say)

    occasions.with_sound_state(home, look)
    return found[0]


def _given(prompt: str, folder: str, home: Home, say: Callable[[str], None]) -> Given | None:
    payload = {"session_id": "", "cwd": folder, "hook_event_name": PROMPT_EVENT, "prompt": prompt}
    occasion = occasions.open_occasion(payload, home, Deadline(PROMPT_WAIT_MS, 0.0, PROMPT_WORK_MS))
    if occasion is None:
        return None
    verdict = decide(Turn(occasion, is_alone=True))
    for line in (*verdict.remarks, _SWITCHED_OFF.get(verdict.outcome, "")):
        if line:
            say(line)
    if verdict.error is not None:
        raise verdict.error
    if verdict.offer is None:
        return None
    from subcog_hooks.hook import deliver  # most prompts have ended before

    would_be = deliver.preview(occasion, verdict.offer)
    return Given(would_be) if would_be.text else None


def run(prompt: str, as_json: bool, is_quiet: bool) -> int:
    """Answer `subcog block` on this process's streams. Return the exit code; never raises. prompt: or STDIN."""
    try:
        given = give(read_stdin() if prompt == STDIN else prompt, os.getcwd(), _ignore if is_quiet else _say)
        if given is not None:
            _print(in_json(given) if as_json else given.delivery.text + "\n")
    except BrokenPipeError:
        return 0  # whoever reads has seen enough
    except Exception as error:  # noqa: BLE001 - one line for whatever it was, as in the terminal
        _say(str(error) if isinstance(error, SubcogError | OSError) else f"{type(error).__name__}: {error}")
        return error.exit_code if isinstance(error, SubcogError) else EXIT_STORE
    return 0 if given else EXIT_NOTHING_FOUND


def in_json(given: Given) -> str:
    """Return what would be handed over as a line of ASCII JSON."""
    from subcog_hooks.core import light_json  # where it is asked for

    return light_json.dumps(given.to_json()) + "\n"


def read_stdin() -> str:
    """Return the prompt that stands on standard input. Raises OSError where that can not be read."""
    chunks: list[bytes] = []
    left = MAX_PROMPT
    while left > 0 and (chunk := os.read(0, min(_READ_BYTES, left))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


def _say(message: str) -> None:
    from subcog_hooks.core.control_characters import escape_controls  # there is rarely anything to say

    os.write(2, f"subcog: {escape_controls(message)}\n".encode("utf-8", "replace"))


def _ignore(_: str) -> None:
    """Say nothing."""


def _print(text: str) -> None:
    output = text.encode("utf-8", "replace")
    while output:
        output = output[os.write(1, output) :]
