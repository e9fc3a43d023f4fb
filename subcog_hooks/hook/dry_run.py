"""Decide on a prompt as the hook would now, without handing over, storing or counting: for terminal commands."""

from __future__ import annotations

import os

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, EXIT_STORE, SubcogError
from subcog_hooks.core.files import working_folder
from subcog_hooks.core.paths import find_home
from subcog_hooks.hook import deliver, record
from subcog_hooks.hook.call import HookCall, close_left_open, open_call, with_sound_state
from subcog_hooks.hook.payload import NO_CLIENT, OF_CLIENT, PROMPT_EVENT
from subcog_hooks.hook.prompt import decide_prompt
from subcog_hooks.hook.prompt_reading import PromptReading
from subcog_hooks.store.verdicts import OFF, PAUSED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.core.light_json import Json
    from subcog_hooks.core.paths import Home
    from subcog_hooks.hook.choose import Verdict
    from subcog_hooks.settings.defaults import Settings
    from subcog_hooks.store.project import Project
    from subcog_hooks.store.state import State
    from subcog_hooks.store.verdicts import RecordedVerdict


def decide_dry(
    prompt: str, home: Home, here: Project | None, settings: Settings, state: State, deadline: Deadline
) -> RecordedVerdict:
    """Return the verdict that the hook would make at the beginning of a session. No LLM is asked. Raises StoreError.

    here: the project at hand; state: read, never written.
    """
    payload = {"session_id": "", "cwd": here.root if here else "", "hook_event_name": PROMPT_EVENT, "prompt": prompt}
    call = HookCall(payload, "", here, settings.with_value("search_intent.use_llm", False), state, home, deadline)
    reading = PromptReading(call)
    try:
        verdict = decide_prompt(reading)
        if verdict.error is not None:
            raise verdict.error
        if verdict.offer is not None:
            deliver.preview_delivery(call, verdict)
        return record.record_of_prompt(reading, verdict)
    finally:
        close_left_open()


STDIN = "-"  # This prompt stands for standard input.
MAX_PROMPT = 16 * 1024 * 1024  # bytes
PROMPT_WAIT_MS, PROMPT_WORK_MS = 200.0, 400.0  # The hook has the same limits for waits and for its own work.
_SWITCHED_OFF = {
    PAUSED: "the hook is paused; `subcog resume` ends it",
    OFF: "the hook is switched off by a setting; see `subcog config list`",
}
_READ_BYTES = 1 << 16


def block_for_prompt(prompt: str, folder: str, say: Callable[[str], None]) -> Verdict | None:
    """Return the delivery that the hook would make with a prompt in this folder; None for no block.

    say: takes remarks, a line at a time. Raises StoreError, and any error that stops the hook.
    """
    home, ignored = find_home(folder)
    if ignored:
        say(ignored)
    home.pause_background_jobs()
    blocks: list[Verdict | None] = []
    with_sound_state(home, lambda: blocks.append(_preview_block(prompt, folder, home, say)))
    return blocks[-1]


def _preview_block(prompt: str, folder: str, home: Home, say: Callable[[str], None]) -> Verdict | None:
    payload = {"session_id": "", "cwd": folder, "hook_event_name": PROMPT_EVENT, "prompt": prompt, OF_CLIENT: NO_CLIENT}
    call = open_call(payload, home, Deadline(PROMPT_WAIT_MS, 0.0, PROMPT_WORK_MS))
    if call is None:
        return None
    verdict = decide_prompt(PromptReading(call))
    for line in (*verdict.remarks, _SWITCHED_OFF.get(verdict.outcome, "")):
        if line:
            say(line)
    if verdict.error is not None:
        raise verdict.error
    if verdict.offer is None:
        return None
    deliver.preview_delivery(call, verdict)
    return verdict if verdict.text else None


def print_block_for_prompt(prompt: str, as_json: bool, is_quiet: bool) -> int:
    """Answer `subcog block` on this process's streams. Return the exit code; never raises. prompt: or STDIN."""
    try:
        text = read_stdin() if prompt == STDIN else prompt
        block = block_for_prompt(text, working_folder(), (lambda _: None) if is_quiet else _print_stderr)
        if block is not None:
            output = (block_to_json(block) if as_json else block.text + "\n").encode("utf-8", "replace")
            while output:
                output = output[os.write(1, output) :]
    except BrokenPipeError:
        return 0  # The reader has seen enough.
    except Exception as error:  # noqa: BLE001 - any error becomes one line, as in the terminal
        _print_stderr(str(error) if isinstance(error, SubcogError | OSError) else f"{type(error).__name__}: {error}")
        return error.exit_code if isinstance(error, SubcogError) else EXIT_STORE
    return 0 if block else EXIT_NOTHING_FOUND


def block_to_json(block: Verdict) -> str:
    """Return a delivery as a line of ASCII JSON: the block, its UTF-16 units, and the memories that it tells and points at."""
    from subcog_hooks.core import light_json  # Only --json needs it.

    relevance_of = {judgement.hit.memory.id: round(judgement.hit.relevance, 4) for judgement in block.judgements}
    memories: list[Json] = [{"id": id_, "relevance": relevance_of[id_]} for id_ in block.ids]
    lines: list[Json] = [{"id": id_, "relevance": relevance_of.get(id_)} for id_ in block.pointed]
    whole: Json = {"text": block.text, "characters": block.units, "memories": memories, "lines": lines}
    return light_json.dumps(whole) + "\n"


def read_stdin() -> str:
    """Return the prompt on standard input. Raises OSError where it cannot be read."""
    chunks: list[bytes] = []
    left = MAX_PROMPT
    while left > 0 and (chunk := os.read(0, min(_READ_BYTES, left))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


def _print_stderr(message: str) -> None:
    from subcog_hooks.core.log import escape_controls  # Messages are rare.

    os.write(2, f"subcog: {escape_controls(message)}\n".encode("utf-8", "replace"))
