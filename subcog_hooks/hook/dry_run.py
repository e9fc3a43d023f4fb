"""A prompt decided as the hook would decide it now, with nothing handed over, kept or counted: what explains a decision."""

from __future__ import annotations

from subcog_hooks.hook import call as occasions
from subcog_hooks.hook import deliver, recalled, record
from subcog_hooks.hook.call import Occasion
from subcog_hooks.hook.payload import PROMPT_EVENT
from subcog_hooks.hook.prompt import decide
from subcog_hooks.hook.reading import Turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.core.paths import Home
    from subcog_hooks.settings.loading import Settings
    from subcog_hooks.store.decision import Decision
    from subcog_hooks.store.project import Project
    from subcog_hooks.store.sessions import Earlier
    from subcog_hooks.store.state import State

_NO_LLM = "search_intent.use_llm"


class Asked:
    """A prompt as it is asked in a dry run.

    session: "" for none; given: ids that the session is taken to have been given; earlier: what its prompt before was about,
    None where it stands for itself; place: in the session, from 1; at: when, milliseconds since the epoch, 0 for now.
    """

    __slots__ = ("at", "earlier", "given", "place", "prompt", "session")

    def __init__(
        self,
        prompt: str,
        session: str = "",
        given: AbstractSet[str] = frozenset(),
        earlier: Earlier | None = None,
        place: int = 1,
        at: int = 0,
    ) -> None:
        self.prompt = prompt
        self.session = session
        self.given = given
        self.earlier = earlier
        self.place = place
        self.at = at


def decide_dry(
    asked: Asked, home: Home, here: Project | None, settings: Settings, state: State, deadline: Deadline
) -> Decision:
    """Return the decision that the hook would make. No LLM is asked. Raises StoreError.

    here: the project at hand; state: read, never written.
    """
    payload = {"session_id": asked.session, "cwd": here.root if here else "", "hook_event_name": PROMPT_EVENT}
    plain = _without_llm(settings)
    occasion = Occasion(payload, asked.session, here, plain, state, home, deadline, given=asked.given)
    occasion.at = asked.at or occasion.at
    turn = Turn(occasion, asked.prompt, asked.earlier, asked.place, is_alone=asked.earlier is None)
    try:
        verdict = decide(turn)
        if verdict.error is not None:
            raise verdict.error
        would_be = deliver.preview(occasion, verdict.offer) if verdict.offer else None
        return record.decision_of_prompt(turn, verdict, would_be)
    finally:  # this process goes on, maybe with a hundred more
        occasions.close_left_open()
        recalled.close_left_open()


def _without_llm(settings: Settings) -> Settings:
    return settings.with_value(_NO_LLM, False)
