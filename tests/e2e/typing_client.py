"""The real Claude Code client on a terminal, typed at as a person does, offline as in claude_client.py."""

import contextlib
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.e2e.claude_client import ClientFailed, Sandbox, _kill, _launch
from tests.e2e.messages_api import MessagesAPI, Request, ToolCall

ON_TERMINAL = Path(__file__).with_name("on_terminal.py")
SIZE = (50, 160)  # rows and columns
WAIT_S = 30.0
_CONTROL = re.compile(rb"\x1b\][^\x07\x1b]*(\x07|\x1b\\)|\x1b\[[0-9;?<>=]*[ -/]*[@-~]|\x1b[@-_78=>]")
SETTLED_S = 0.25  # without output: the client waits for a key
DRAWING_S = 0.1  # until it has begun to draw
RESTING_S = 1.2  # in which it would have begun something else
LISTENING_S = 3.0  # in which a key that was heard has had its effect
KEY = "sk-ant-test"
ALLOWED = ("--permission-mode", "default", "--allowed-tools", "Bash(sleep:*)", "Task", "Agent")


class TypedSession:
    """A session of the client on a terminal. calls: what the model asks tools to do next."""

    def __init__(self, write: Callable[[bytes], object], api: MessagesAPI) -> None:
        self._write = write
        self._api = api
        self.drawn = b""
        self._seen = 0
        self.last_drawn = time.monotonic()

    @property
    def requests(self) -> list[Request]:
        """The requests of the main conversation so far."""
        return [request for request in self._api.requests if request.is_main]

    @property
    def calls(self) -> int:
        """The number of requests of the main conversation so far."""
        return len(self.requests)

    def will_answer(self, *answers: ToolCall | str) -> None:
        """Let the model call these tools and say these texts, one a request, before its usual answer."""
        self._api.answers.extend(answers)

    def keys(self, text: str) -> None:
        """Press keys, and wait until the client has drawn what comes of it."""
        self._seen = len(self.drawn)
        self._write(text.encode())
        self.settle()

    def prompt(self, text: str, requests: int = 1) -> None:
        """Type a prompt and send it off; wait until the model was asked so many times, and the client has drawn its answer."""
        self.keys(text)
        self.send(requests)

    def send(self, requests: int) -> None:
        """Send off what is typed; wait as `prompt` does."""
        before = self.calls
        self.keys("\r")
        self.until(lambda: self.calls >= before + requests, f"request {before + requests}")
        self.settle()

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until something holds. Raises ClientFailed."""
        end = time.monotonic() + WAIT_S
        while not holds():
            if time.monotonic() > end:
                raise ClientFailed(f"the client did not get to {what!r}:\n{self.screen()}")
            time.sleep(0.05)

    def keys_until(self, text: str, holds: Callable[[], bool], what: str) -> None:
        """Press keys until something holds, again after a rest: a new question may not listen yet. Raises ClientFailed."""
        pressed = 0.0

        def held() -> bool:
            nonlocal pressed
            if not holds() and time.monotonic() - pressed > LISTENING_S:
                self._write(text.encode())
                pressed = time.monotonic()
            return holds()

        self.until(held, what)

    def shows(self, text: str) -> None:
        """Wait until a text is to be seen. Raises ClientFailed."""
        self.until(lambda: text in self.screen(), text)

    def settle(self) -> None:
        """Wait until nothing is drawn any more."""
        time.sleep(DRAWING_S)
        end = time.monotonic() + WAIT_S
        while time.monotonic() - self.last_drawn < SETTLED_S and time.monotonic() < end:
            time.sleep(0.05)

    def rest(self) -> None:
        """Wait until nothing is drawn for RESTING_S, and the model is asked nothing."""
        asked, since = -1, 0.0
        while asked != self.calls or time.monotonic() - max(since, self.last_drawn) < RESTING_S:
            if asked != self.calls:
                asked, since = self.calls, time.monotonic()
            time.sleep(0.05)

    def screen(self) -> str:
        """What was drawn since the last keys, without the places where it stands."""
        return " ".join(_CONTROL.sub(b" ", self.drawn[self._seen :]).decode("utf-8", "replace").split())


@contextlib.contextmanager
def typing(executable: str, sandbox: Sandbox, model: str, size: tuple[int, int] = SIZE) -> Iterator[TypedSession]:
    """Start the client on a terminal in a sandbox whose folder it trusts, and end it at the end."""
    _make_known(sandbox)
    sandbox.environment = {**sandbox.environment, "TERM": "xterm-256color"}
    client = [sys.executable, str(ON_TERMINAL), *map(str, size), executable, "--model", model, *ALLOWED]
    process, listener = _launch(client, sandbox, sandbox.root / "stderr.txt")
    with process, MessagesAPI(listener) as api:
        assert process.stdin is not None
        assert process.stdout is not None
        keyboard, output = process.stdin.fileno(), process.stdout.fileno()
        session = TypedSession(lambda data: os.write(keyboard, data), api)

        def read() -> None:
            while drawn := os.read(output, 65_536):
                session.drawn += drawn
                session.last_drawn = time.monotonic()

        reader = threading.Thread(target=read)
        reader.start()
        try:
            session.until(lambda: bool(session.drawn), "its first screen")
            session.rest()
            yield session
            session.keys("/exit")
            session.keys("\r")
            process.wait(WAIT_S)
        finally:
            _kill(process)
            reader.join()


def _make_known(sandbox: Sandbox) -> None:
    """Let the client know the person, the key and the folder, as after its first start."""
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    known = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "numStartups": 5,
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {os.path.realpath(sandbox.project): trusted},
    }
    (sandbox.config / ".claude.json").write_text(json.dumps(known), encoding="utf-8")
