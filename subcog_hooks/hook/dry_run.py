"""Decide on a prompt as the hook would now, without handing over, storing or counting anything."""

from __future__ import annotations

from subcog_hooks.hook import deliver, prompt_recall, record
from subcog_hooks.hook.call import HookCall, close_left_open
from subcog_hooks.hook.payload import PROMPT_EVENT
from subcog_hooks.hook.prompt import decide_prompt
from subcog_hooks.hook.prompt_reading import PromptReading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.core.paths import Home
    from subcog_hooks.settings.loading import Settings
    from subcog_hooks.store.decision import Decision
    from subcog_hooks.store.project import Project
    from subcog_hooks.store.sessions import LastPrompt
    from subcog_hooks.store.state import State

_LLM_SETTING = "search_intent.use_llm"


class DryPrompt:
    """The prompt of a dry run.

    session: "" for none; given: the session's given ids; earlier: topics of the earlier prompt, None for no earlier prompt;
    position: in the session, from 1; now_ms: time since the epoch, 0 for now.
    """

    __slots__ = ("earlier", "given", "now_ms", "position", "prompt", "session")

    def __init__(
        self,
        prompt: str,
        session: str = "",
        given: AbstractSet[str] = frozenset(),
        earlier: LastPrompt | None = None,
        position: int = 1,
        now_ms: int = 0,
    ) -> None:
        self.prompt = prompt
        self.session = session
        self.given = given
        self.earlier = earlier
        self.position = position
        self.now_ms = now_ms


def decide_dry(
    dry: DryPrompt, home: Home, here: Project | None, settings: Settings, state: State, deadline: Deadline
) -> Decision:
    """Return the decision that the hook would make. No LLM is asked. Raises StoreError.

    here: the project at hand; state: read, never written.
    """
    payload = {"session_id": dry.session, "cwd": here.root if here else "", "hook_event_name": PROMPT_EVENT}
    without_llm = settings.with_value(_LLM_SETTING, False)
    call = HookCall(payload, dry.session, here, without_llm, state, home, deadline, given=dry.given)
    call.now_ms = dry.now_ms or call.now_ms
    reading = PromptReading(call, dry.prompt, dry.earlier, dry.position, is_alone=dry.earlier is None)
    try:
        verdict = decide_prompt(reading)
        if verdict.error is not None:
            raise verdict.error
        if verdict.offer is not None:
            deliver.preview_delivery(call, verdict)
        return record.decision_of_prompt(reading, verdict)
    finally:  # This process may go on with a hundred more prompts.
        close_left_open()
        prompt_recall.close_left_open()
