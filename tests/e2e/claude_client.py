"""The real Claude Code client, offline: fetch it, give it a throw-away home, and talk to it.

launch.py opens the port of the Messages API inside the client's network namespace and hands it over.
"""

import contextlib
import functools
import glob
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.conftest import AS_LARGE_STORES_WITHOUT_LINES
from tests.e2e import prepared
from tests.e2e.machine import NO_BRIEF
from tests.e2e.messages_api import MessagesAPI, Request, ToolCall

PACKAGE = "@anthropic-ai/claude-code"
VERSIONS = ("2.1.332", "2.1.329", "2.1.197")  # npm installs the last where Node is older than 22
MODELS = ("sonnet", "sonnet", "claude-sonnet-4-5")  # a hook's text reaches them as a system message, or inside the user's
FETCH_SECONDS = 600  # about 100 MB a version
FAULTS_OF_A_PACKAGE = ("E404", "ETARGET", "EBADPLATFORM")  # npm's codes; after any other fault no package is to be had
COMMAND_SECONDS = 60
START_SECONDS = 30
TURN_SECONDS = 60  # a turn takes well under a second, and a hook that hangs its own 5 s
EXIT_SECONDS = 30

# From all to least: no network and no process left behind, as root or as the root of a user namespace.
NAMESPACES = (
    ("unshare", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"),
    ("unshare", "--map-root-user", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"),
    ("unshare", "--net"),
    ("unshare", "--map-root-user", "--net"),
)
CACHE = os.environ.get("SUBCOG_TEST_CACHE") or os.path.expanduser("~/.cache/subcog-tests")  # read before tests change HOME
LAUNCHER = Path(__file__).with_name("launch.py")


class ClientUnavailable(Exception):
    """The client cannot be had on this machine."""


class ClientFailed(Exception):
    """The client did not start, did not answer in time or ended on its own."""


class HookResponse(NamedTuple):
    """What one run of a hook gave, as the client saw it."""

    event: str
    exit_code: int
    outcome: str  # success, error or cancelled
    stdout: str
    stderr: str


class Turn(NamedTuple):
    """All that happened between a prompt and its result."""

    prompt: str
    requests: tuple[Request, ...]  # the agent's own; those for a title and the like are left out
    hooks: tuple[HookResponse, ...]
    notices: tuple[str, ...]  # what the client would show to the user


def fetched(version: str, run: Path) -> str:
    """The executable of this version, fetched with npm unless the cache has it. Raises ClientUnavailable.

    run: the folder of this run of the tests, whose processes share it: where npm has no network, no other version is tried,
    because npm takes a minute to find that out.
    """
    if not hasattr(socket, "send_fds"):
        raise ClientUnavailable(f"the client's port is handed over through a Unix socket, which {sys.platform} lacks")
    folder = fetched_packages(f"claude-code-{version}", [f"{PACKAGE}@{version}"], run)
    found = glob.glob(f"{glob.escape(folder)}/node_modules/{PACKAGE}-*/claude")
    if not found:
        raise ClientUnavailable(f"{folder} has no executable for this platform")
    return found[0]


def fetched_packages(name: str, packages: Sequence[str], run: Path) -> str:
    """The folder of npm's packages, fetched unless the cache has it under this name. Raises ClientUnavailable."""
    cache = os.path.abspath(CACHE)
    folder = os.path.join(cache, name)
    if not os.path.isdir(folder):
        with _alone(cache):
            if not os.path.isdir(folder):  # otherwise another process has fetched it meanwhile
                _fetch_unless_failed(packages, folder, run)
    return folder


@contextlib.contextmanager
def _alone(cache: str) -> Iterator[None]:
    """Wait until no other process of the tests fetches a client."""
    import fcntl  # not everywhere where this module is imported

    os.makedirs(cache, exist_ok=True)
    with open(os.path.join(cache, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed
        yield


def _fetch_unless_failed(packages: Sequence[str], folder: str, run: Path) -> None:
    failure_of_all, own_failure = run / "client-unavailable", run / f"client-unavailable-{os.path.basename(folder)}"
    for failure in (failure_of_all, own_failure):
        if failure.exists():
            raise ClientUnavailable(failure.read_text(encoding="utf-8"))
    try:
        _fetch(packages, folder)
    except ClientUnavailable as reason:
        failure = own_failure if any(code in str(reason) for code in FAULTS_OF_A_PACKAGE) else failure_of_all
        failure.write_text(str(reason), encoding="utf-8")
        raise


def _fetch(packages: Sequence[str], folder: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise ClientUnavailable(f"npm is not on PATH, and there is no {folder}")
    with tempfile.TemporaryDirectory(dir=os.path.dirname(folder)) as unfinished:
        prefix = os.path.join(unfinished, "client")
        command = [npm, "install", "--prefix", prefix, "--ignore-scripts", "--include=optional", "--no-package-lock"]
        command += ["--no-audit", "--no-fund", *packages]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise ClientUnavailable(f"npm did not fetch {' '.join(packages)} within {FETCH_SECONDS} s") from error
        if done.returncode:
            raise ClientUnavailable(f"npm cannot fetch {' '.join(packages)}: {' '.join(done.stderr.split())[:200]}")
        os.rename(prefix, folder)


class Sandbox:
    """A home, a configuration and a project folder to throw away.

    root: its folder, made where there is none; path: the folders of PATH before the system's own.
    """

    def __init__(self, root: Path, path: Sequence[str] = ()) -> None:
        self.root = root
        self.config = root / "config"
        self.memories = root / "memories"
        self.project = root / "project"
        for folder in (self.config, self.project, root / "home", root / "tmp"):
            folder.mkdir(parents=True)
        self.environment: Mapping[str, str] = {
            "PATH": os.pathsep.join([*path, os.defpath]),
            "HOME": str(root / "home"),
            "TMPDIR": str(root / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "SUBCOG_HOME": str(self.memories),
            "SUBCOG_BACKGROUND": "0",  # nothing works on behind a test's back
            **AS_LARGE_STORES_WITHOUT_LINES,
            NO_BRIEF: "0",  # what prompts bring is not known before them, unless a test wants it so
            "CLAUDE_CONFIG_DIR": str(self.config),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
        }

    def run(self, *command: str, cwd: Path | None = None) -> str:
        """The output of a command, run in the project folder. Raises ClientFailed when it does not exit with 0."""
        code, stdout, stderr = prepared.run(command, b"", cwd or self.project, self.environment, COMMAND_SECONDS)
        output = (stdout + stderr).decode()
        if code:
            raise ClientFailed(f"{' '.join(command)} exited with {code}: {output}")
        return output


class Conversation:
    """One process of the client, which takes prompts one after another."""

    def __init__(self, process: subprocess.Popen[bytes], api: MessagesAPI, stderr: Path) -> None:
        self._process = process
        self._api = api
        self._stderr = stderr
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def say(self, prompt: str, *calls: ToolCall) -> Turn:
        """Send a prompt, or a command such as /clear, and wait for its result. Raises ClientFailed.

        calls: what the model asks tools to do, one after the other, before it answers.
        """
        assert self._process.stdin is not None
        self._api.answers.extend(calls)
        before = len(self._api.requests)
        hooks: list[HookResponse] = []
        notices: list[str] = []
        message = {"type": "user", "message": {"role": "user", "content": prompt}}
        try:
            # Past the buffer of the pipe: closing it would fail again with what could not be written.
            os.write(self._process.stdin.fileno(), json.dumps(message).encode() + b"\n")
        except BrokenPipeError as error:
            raise self._failed(f"was gone before {prompt!r}") from error
        for event in self._events_after(prompt):
            match event:
                case {"type": "system", "subtype": "hook_response"}:
                    hooks.append(_hook_response(event))
                case {"type": "system", "subtype": "informational", "content": notice}:
                    notices.append(str(notice))
                case {"type": "result", "is_error": True, "result": result}:
                    raise self._failed(f"could not answer {prompt!r}: {result}")
                case {"type": "result"}:
                    break
        asked = tuple(request for request in self._api.requests[before:] if request.is_main)
        return Turn(prompt, asked, tuple(hooks), tuple(notices))

    def end(self) -> None:
        """Let the client end by itself. Raises ClientFailed when it does not."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            code = self._process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise self._failed(f"did not end within {EXIT_SECONDS} s") from error
        if code:
            raise self._failed(f"exited with {code}")

    def kill(self) -> None:
        """End the client and what it started, whatever state they are in."""
        _kill(self._process)
        self._reader.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _events_after(self, prompt: str) -> Iterator[object]:
        deadline = time.monotonic() + TURN_SECONDS
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty as error:
                raise self._failed(f"gave no result for {prompt!r} within {TURN_SECONDS} s") from error
            if line is None:
                raise self._failed(f"ended before the result for {prompt!r}")
            yield json.loads(line)

    def _failed(self, what: str) -> ClientFailed:
        return ClientFailed(f"the client {what}; its stderr: {_tail(self._stderr)}")


@contextlib.contextmanager
def conversation(executable: str, sandbox: Sandbox, model: str, *arguments: str) -> Iterator[Conversation]:
    """Start the client in a sandbox, cut off from the network where the system can do that, and end it at the end.

    executable: as `fetched` gives it; model: a name or an alias; arguments: further ones for the client.
    """
    stderr = sandbox.root / "stderr.txt"
    client = [executable, "--print", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"]
    process, listener = _launch([*client, "--include-hook-events", "--model", model, *arguments], sandbox, stderr)
    with process, MessagesAPI(listener) as api:
        talk = Conversation(process, api, stderr)
        try:
            yield talk
            talk.end()
        finally:
            talk.kill()  # before the API closes, which waits for the client's connections


@functools.cache
def isolation() -> tuple[str, ...]:
    """The command that runs another without a network, as far as this system has one."""
    for command in NAMESPACES:
        try:
            done = subprocess.run([*command, "true"], capture_output=True, timeout=START_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return command
    return ()


def _launch(client: Sequence[str], sandbox: Sandbox, stderr: Path) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """The client's process, and the listening socket that it will call. Raises ClientFailed."""
    near, far = socket.socketpair()
    with near, open(stderr, "wb") as stderr_file:
        with far:
            process = subprocess.Popen(
                [*isolation(), sys.executable, str(LAUNCHER), str(far.fileno()), *client],
                pass_fds=[far.fileno()],
                cwd=sandbox.project,
                env=sandbox.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr_file,
                start_new_session=True,
            )
        near.settimeout(START_SECONDS)
        try:
            _, descriptors, _, _ = socket.recv_fds(near, 1, 1)
        except TimeoutError:
            descriptors = []
    if not descriptors:
        with process:
            _kill(process)
        raise ClientFailed(f"the client's launcher opened no port; its stderr: {_tail(stderr)}")
    return process, socket.socket(fileno=descriptors[0])


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def _hook_response(event: object) -> HookResponse:
    match event:
        case {"hook_event": str(name), "exit_code": int(code), "outcome": str(outcome), "stdout": out, "stderr": err}:
            return HookResponse(name, code, outcome, str(out), str(err))
    raise ClientFailed(f"the client reports a hook in an unknown form: {event}")


def _tail(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace").strip()[-2000:] or "(empty)"
