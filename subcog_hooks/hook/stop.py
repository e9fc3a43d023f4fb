"""Stop a command because of a note: the client asks the person, or denies the call. Only the person's own stops count.

A stop holds in a pause and where a setting silences the hook, since a repository's settings may do that.
"""

from __future__ import annotations

from subcog_hooks.clients.description import find_client
from subcog_hooks.core.errors import StoreError
from subcog_hooks.cues.command_patterns import matches_text
from subcog_hooks.hook.payload import OF_CLIENT, TOOL_EVENT, text_of
from subcog_hooks.hook.show_command import permission_output
from subcog_hooks.store.decision import ASKED, DENIED
from subcog_hooks.store.memory import USER
from subcog_hooks.store.stops import ASK, DENY, read_stops
from subcog_hooks.store.store_reader import audience_of
from subcog_hooks.text.sanitise import cut
from subcog_hooks.text.simple_commands import find_commands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.store.memory import Memory

MAX_NOTES = 3  # notes in a reason
MAX_NOTE_UNITS = 600  # UTF-16 units of a note in a reason


def answer_stop(command: str, call: HookCall, write: Callable[[bytes], None]) -> bool:
    """Stop a command that notes of the person are to stop. Return whether it is stopped. Raises StoreError."""
    try:
        matching = _find_matching(command, call)
    except StoreError as error:
        call.log(f"no command is stopped: {error}")
        return False
    if not matching:
        return False
    denying = {memory: pattern for memory, (pattern, answer) in matching.items() if answer == DENY}
    stopping = denying or {memory: pattern for memory, (pattern, _) in matching.items()}
    outcome = DENIED if denying else ASKED
    write(permission_output("deny" if denying else "ask", _reason(stopping, is_denied=bool(denying))))
    from subcog_hooks.hook import record  # Few commands are stopped.
    from subcog_hooks.hook.choose import Judgement
    from subcog_hooks.hook.verdict import Verdict
    from subcog_hooks.recall.hits import Hit

    call.log(f"{outcome}: a command, by {', '.join(f'{memory.id} ({pattern})' for memory, pattern in stopping.items())}")
    judgements = [Judgement(Hit(memory, 0.0, 1.0, {}, {}), outcome) for memory in stopping]
    record.record_call(call, TOOL_EVENT, Verdict(outcome, "Bash", judgements=judgements))
    return True


def _find_matching(command: str, call: HookCall) -> dict[Memory, tuple[str, str]]:
    """Return the notes that stop a command, each with its pattern and answer. Raises StoreError.

    A note whose answer the client does not know stops nothing there.
    """
    client = find_client(text_of(call.payload, OF_CLIENT))
    known_answers = (ASK, DENY) if client is None or client.contract is None else client.contract.decisions
    commands = find_commands(command)
    by_id: dict[str, tuple[str, str]] = {}
    for id_, answers in read_stops(call.home).items():
        known = [(pattern, answer) for pattern, answer in answers.items() if answer in known_answers]
        answering = [(pattern, answer) for pattern, answer in known if matches_text(pattern, commands)]
        if answering:
            by_id[id_] = max(answering, key=lambda pair: pair[1] == DENY)
    memory_of = call.store.by_ids(list(by_id)) if by_id else {}
    return {memory_of[id_]: answer for id_, answer in by_id.items() if id_ in memory_of and _counts(memory_of[id_], call)}


def _counts(memory: Memory, call: HookCall) -> bool:
    """Return whether a note is the person's own, live, of this project or of all, and its conditions hold."""
    if memory.trust != USER or not memory.is_live(call.now_ms):
        return False
    if audience_of(memory.scope, memory.project) not in call.eligible.audiences:
        return False
    from subcog_hooks.cues.conditions import conditions_hold  # Few notes stop a command.

    return not memory.when or conditions_hold(memory.when, call.facts())


def _reason(stopping: Mapping[Memory, str], *, is_denied: bool) -> str:
    """Return the reason that the person sees, and the model where the command is denied."""
    from subcog_hooks.hook.block import make_harmless  # Few commands are stopped.

    says = "forbids" if is_denied else "says to ask before"
    notes = [
        f"The person's note {memory.id} {says} `{pattern}`: {cut(make_harmless(memory.content), MAX_NOTE_UNITS)}"
        for memory, pattern in list(stopping.items())[:MAX_NOTES]
    ]
    return "subcog: " + "\n".join(notes)
