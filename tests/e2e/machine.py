"""A user's machine for the tests of the installed executable: a home, a folder to work in, and what any answer must be."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.store import past_runs
from subcog_hooks.store.state import State
from subcog_hooks.store.verdicts import RecordedVerdict
from tests.conftest import AS_LARGE_STORES_WITHOUT_LINES
from tests.e2e import prepared

DATA = Path(__file__).parents[1] / "data"
OF_A_TURN: dict[str, object] = {"prompt_id": "3eab2c34-6f28-4d78-8bcc-e9ea5f9beb6f", "permission_mode": "default"}

QUESTION = "How do we store the session token in the browser, and why not in localStorage?"
ANSWER = "tp-0001"
RELATED = "Is the session token of the browser in an HttpOnly cookie, or did we put it into localStorage?"
OF_THE_PROJECT = "On which port does PostgreSQL listen in local development, and where do the seeds come from?"
ANSWER_OF_THE_PROJECT = "tp-0011"

CONTENT = "The dredging barge Ellida is moored at pier 7 from November on and blocks the slipway."
ABOUT_IT = "Where is the dredging barge Ellida moored, and does it block the slipway?"

PROJECT = "github.com/tidepool/harbour"
REMOTE = "git@github.com:tidepool/harbour.git"
OTHER_REMOTE = "https://github.com/acme/shop"
SHOP, OWNER = "git@github.com:acme/shop.git", "github.com/acme/shop"

NO_BRIEF = "SUBCOG_SURFACING_BRIEF_CHARACTERS"  # 0 for none
LONGEST_S = 60.0  # of any command, and of what it has started in the background: a process that takes longer hangs
NO_TIME = "no time was left"  # what a busy machine makes the hook say of a part of its search
ATTEMPTS = 8  # on a busy machine the hook may have no time to wait for others, or be cut off

posix = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX system")
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


class Done(NamedTuple):
    """A process that has ended."""

    code: int
    stdout: bytes
    stderr: bytes
    seconds: float


class Machine:
    """A user's machine: a home with memories, a folder to work in and the installed command."""

    def __init__(self, command: str, root: Path) -> None:
        self.command = command
        self.root = root
        self.home = root / "memories"
        self.folder = root / "folder"
        self.folder.mkdir(parents=True)
        (root / "user").mkdir()
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR") if name in os.environ}
        self.environment: dict[str, str] = {
            **kept,
            "HOME": str(root / "user"),
            "USERPROFILE": str(root / "user"),
            "SUBCOG_HOME": str(self.home),
            "SUBCOG_BACKGROUND": "0",  # nothing works on behind a test's back
            **AS_LARGE_STORES_WITHOUT_LINES,
            NO_BRIEF: "0",  # what prompts bring is not known before them, unless a test wants it so
        }

    def repository(self, name: str, remote: str) -> Path:
        """A folder that git would take for a clone of `remote`."""
        folder = self.root / name
        (folder / ".git").mkdir(parents=True)
        (folder / ".git" / "config").write_text(f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {remote}\n')
        return folder

    def run(self, *arguments: str, cwd: Path | None = None, stdin: bytes = b"") -> Done:
        """One command of the terminal, started in the working folder."""
        return self.start([self.command, *arguments], stdin, cwd)

    def begin(
        self, *arguments: str, stdin: int = subprocess.PIPE, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE
    ) -> subprocess.Popen[bytes]:
        """Start a command in a process of its own, and do not wait for it."""
        command = [self.command, *arguments]
        return subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=stderr, cwd=self.folder, env=self.environment)

    def rows(self, *arguments: str, cwd: Path | None = None) -> list[dict[str, Any]]:  # Any: JSON
        """The lines of JSON that a command prints."""
        return [json.loads(line) for line in self.run(*arguments, cwd=cwd).stdout.splitlines()]

    def stored(self, status: str = "active") -> dict[str, dict[str, Any]]:
        """The memories of a status by their texts."""
        listed = self.rows("list", "--all-projects", "--status", status, "--jsonl", "-n", "20000")
        return {row["content"]: row for row in listed}

    def configure(self, **settings: str) -> None:
        """Set settings; `__` stands for the dot of a name."""
        for name, value in settings.items():
            assert self.run("config", "set", name.replace("__", "."), value).code == 0

    def start(self, command: Sequence[str], stdin: bytes = b"", cwd: Path | None = None) -> Done:
        """Any command, with this machine's environment."""
        started = time.monotonic()
        code, stdout, stderr = prepared.run(command, stdin, cwd or self.folder, self.environment, LONGEST_S)
        return Done(code, stdout, stderr, time.monotonic() - started)

    def hook(self, stdin: bytes, *options: str) -> Done:
        """The hook on one payload, again where it was cut off: a busy machine may do that, and a trace is always left."""
        for _ in range(ATTEMPTS):
            before = self._size_of_cut_offs()
            done = self.run("hook", *options, stdin=stdin)
            if self._size_of_cut_offs() == before:
                break
        return done

    def _size_of_cut_offs(self) -> int:
        try:
            return os.stat(self.home / "cut-offs").st_size
        except OSError:  # there was none
            return 0

    def payload(self, event: str, fields: Mapping[str, object], session: str | None = None, cwd: Path | None = None) -> bytes:
        """A payload as the client writes it: one line of JSON and a line end. Without a session it is a new one."""
        session = session or str(uuid.uuid4())
        common = {
            "session_id": session,
            "transcript_path": str(self.root / "user" / ".claude" / "projects" / "-folder" / f"{session}.jsonl"),
            "cwd": str(cwd or self.folder),
            "hook_event_name": event,
        }
        return json.dumps({**common, **fields}, ensure_ascii=False).encode() + b"\n"

    def asking(self, prompt: str = QUESTION, session: str | None = None, cwd: Path | None = None) -> bytes:
        """The payload of a prompt."""
        return self.payload("UserPromptSubmit", {**OF_A_TURN, "prompt": prompt}, session, cwd)

    def prompt(self, text: str, session: str | None = None, cwd: Path | None = None) -> Done:
        """The hook on one prompt."""
        return self.hook(self.asking(text, session, cwd))

    def answer(self, payload: bytes, event: str = "UserPromptSubmit") -> str:
        """The text for the model that a payload brings, "" for none."""
        done = self.hook(payload)
        return context_of(done, event) if done.stdout else ""

    def calling(self, tool: str, session: str | None = None, cwd: Path | None = None, **given: object) -> bytes:
        """The payload of a tool's call."""
        fields = {**OF_A_TURN, "effort": {"level": "medium"}, "tool_name": tool, "tool_input": given, "tool_use_id": "toolu_01"}
        return self.payload("PreToolUse", fields, session, cwd)

    def at_call(self, tool: str, session: str | None = None, cwd: Path | None = None, **given: object) -> list[str]:
        """The ids that a tool's call brings."""
        return ids_in(self.answer(self.calling(tool, session, cwd, **given), "PreToolUse"))

    def beginning(self, source: str, session: str | None = None, cwd: Path | None = None) -> bytes:
        """The payload of a session's start."""
        return self.payload("SessionStart", {"source": source}, session, cwd)

    def begun(self, source: str, session: str | None = None, cwd: Path | None = None) -> str:
        """What a session's start brings."""
        return self.answer(self.beginning(source, session, cwd), "SessionStart")

    def recall(self, text: str, session: str | None = None, cwd: Path | None = None) -> list[str]:
        """The ids that a prompt brings."""
        return ids_in(self.answer(self.asking(text, session, cwd)))

    def imports(self, *memories: Mapping[str, object]) -> None:
        """Import these memories."""
        file = self.root / "memories.jsonl"
        file.write_text("".join(json.dumps(memory) + "\n" for memory in memories), encoding="utf-8")
        done = self.run("import", str(file))
        assert done.code == 0, done.stderr

    def past_verdicts(self) -> list[RecordedVerdict]:
        """What the hook has decided on the last prompts, the newest first."""
        state = State.open(Home(str(self.home)), 1_000)
        found = past_runs.find_latest(state, 100)
        state.close()
        return found

    def log(self) -> list[str]:
        """The lines of the hook's log, without those for which a busy machine had no time."""
        file = self.home / "log" / "hook.log"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return [line for line in lines if NO_TIME not in line]

    def processes(self, *words: bytes) -> list[int]:
        """The processes of this machine that have one of these in their command line."""
        return processes_with(self.home, *words)

    def end_processes(self) -> None:
        """Kill what this machine's commands have left in the background, and wait until it writes nothing more."""

        def is_over() -> bool:
            left = processes_with(self.home, b"")
            for process in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            return not left

        wait_until(is_over, LONGEST_S)

    @property
    def index(self) -> Path:
        """The folder of the current index."""
        return self.home / "index" / (self.home / "index" / "CURRENT").read_text().strip()


def write_program(path: Path, script: str) -> Path:
    """Write a program of the shell, unless the script names its interpreter."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script if script.startswith("#!") else f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def processes_with(home: Path, *words: bytes) -> list[int]:
    """The processes with this home that have one of these in their command line. Linux alone has /proc."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command, environment = (folder / "cmdline").read_bytes(), (folder / "environ").read_bytes()
        except OSError:  # it is over, or somebody else's
            continue
        if any(word in command for word in words) and f"SUBCOG_HOME={home}\0".encode() in environment:
            found.append(int(folder.name))
    return found


def wait_until(holds: Callable[[], bool], seconds: float) -> None:
    """Wait until something holds, which is an error when it takes longer than this."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(process: int) -> bool:
    """Whether a process goes on; one that is over and waits for its parent does not."""
    command = ["ps", "-o", "stat=", "-p", str(process)]
    state = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return bool(state) and not state.startswith("Z")


# ---- what is expected of every answer -------------------------------------------------------------------------------------


def context_of(done: Done, event: str = "UserPromptSubmit") -> str:
    """The text for the model at an event; the output around it has to be exactly what the client reads."""
    assert_harmless(done)
    assert done.stdout.isascii()
    assert done.stdout.endswith(b"\n")
    assert done.stdout.count(b"\n") == 1
    answer = json.loads(done.stdout)
    assert answer.keys() == {"hookSpecificOutput"}
    assert answer["hookSpecificOutput"].keys() == {"hookEventName", "additionalContext"}
    assert answer["hookSpecificOutput"]["hookEventName"] == event
    context = answer["hookSpecificOutput"]["additionalContext"]
    assert isinstance(context, str)
    return context


def ids_in(context: str) -> list[str]:
    """The ids of the memories in a block, in order."""
    if not context:
        return []
    begin, *lines, end = context.splitlines()
    assert begin.startswith("<subcog-memories ")
    assert end == "</subcog-memories>"
    return [line.split("]")[0].split()[2].rstrip(",") for line in lines]


def assert_harmless(done: Done) -> None:
    """Exit code 0, nothing on stderr, nothing or one JSON object on stdout."""
    assert (done.code, done.stderr) == (0, b"")
    assert done.stdout == b"" or json.loads(done.stdout).keys() == {"hookSpecificOutput"}


def assert_silent(done: Done) -> None:
    assert (done.code, done.stdout, done.stderr) == (0, b"", b"")


def assert_one_line_error(done: Done, code: int) -> None:
    """What the terminal says when something is wrong: one line, what and what to do."""
    assert done.code == code
    assert done.stdout == b""
    assert done.stderr.startswith(b"subcog: ")
    assert done.stderr.count(b"\n") == 1
    assert b"Traceback" not in done.stderr
