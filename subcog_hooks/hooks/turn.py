"""A prompt that is being answered, and what is kept of it when it has been."""

from subcog_hooks.errors import StoreBusy, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.config import Settings
    from subcog_hooks.deadline import Deadline
    from subcog_hooks.intent.detection import Detection, Examined
    from subcog_hooks.memory.project import Project
    from subcog_hooks.paths import Home
    from subcog_hooks.state import State

EVENT = "UserPromptSubmit"
PRINT_MS = 5.0  # what rendering and writing need at the end
SETTLE_MS = 20.0  # left of the deadline when an LLM is waited for no longer: 2 ms of work, 15 for a machine that is busy


class Turn:
    """A prompt that is being answered. here: the project it was typed in; session: "" when the client names none."""

    __slots__ = ("deadline", "detected", "here", "home", "prompt", "session", "settings", "state")

    def __init__(
        self,
        prompt: str,
        session: str,
        here: "Project | None",
        settings: "Settings",
        state: "State",
        home: "Home",
        deadline: "Deadline",
        detected: "Detection",
    ) -> None:
        self.prompt = prompt
        self.session = session
        self.here = here
        self.settings = settings
        self.state = state
        self.home = home
        self.deadline = deadline
        self.detected = detected

    def settle(self, topics: tuple[str, ...]) -> "Examined":
        """The intent, waited for as long as the deadline allows."""
        return self.detected.settle(topics, self.settings, self.deadline.left_ms() - SETTLE_MS)

    def keep(self, examined: "Examined") -> None:
        """Take note of what became of the prompt, in the transaction that is open. Raises StoreError."""
        self.detected.count(examined, self.state)
        self.detected.learn(self.state, self.settings)

    def keep_if_free(self, examined: "Examined") -> None:
        """The same, unless another process is writing: nobody waits for metrics."""
        try:
            self.state.begin_briefly()
            self.keep(examined)
            self.state.commit()
        except StoreBusy:
            pass  # at every prompt while somebody writes: not worth a line in the log
        except StoreError as error:
            self.log(f"what became of a prompt was not kept: {error}")

    def log(self, message: str) -> None:
        from subcog_hooks import log  # only when there is something to say

        log.write(self.home, message)
