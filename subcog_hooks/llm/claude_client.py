"""The user's own Claude Code as a language model: a child process that answers one question."""

from __future__ import annotations

import _thread
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from typing import IO, Any

if __name__ != "__main__":  # as a program it finds no package
    from subcog_hooks.core import child_environment
    from subcog_hooks.core.errors import ConfigError, ProviderError, ProviderGone, ProviderTimeout, UnusableAnswer
    from subcog_hooks.core.paths import Home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.llm.question import Question

NOT_RUN = 126  # the exit code for a client that cannot be run, as in a shell
ENDING_S = 4.0  # for the client's process group to end; some milliseconds are usual


def _end_with_pipe(lifeline: int) -> None:
    """End the client and our process group, ourselves included, once nobody holds the other end of the pipe."""
    while os.read(lifeline, 1):
        pass
    os.killpg(0, signal.SIGKILL)


def main() -> int:
    """Run the command line behind the pipe's descriptor, and return its exit code in a shell's form."""
    lifeline, words = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(lifeline, False)
    try:
        client = os.posix_spawn(words[0], words, os.environ)
    except OSError:
        return NOT_RUN
    _thread.start_new_thread(_end_with_pipe, (lifeline,))
    code = os.waitstatus_to_exitcode(os.waitpid(client, 0)[1])
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    os._exit(main())

PROGRAM = "claude"
CLAUDE_MODEL = "haiku"
MAX_ANSWER = 4_000_000  # bytes of output: an answer has some thousand
ANSWER_PIECE = 65_536  # bytes read at once
READING_S = 1.0  # for reading its output after its end
FLAGS = (*("-p", "--safe-mode", "--tools", "", "--strict-mcp-config", "--no-session-persistence"), *("--output-format", "json"))


def find_program(named: str) -> str:
    """Return the client's executable. named: by the settings, "" for the program on the PATH. Raises ConfigError."""
    program = os.path.expanduser(named) if named else child_environment.find_program(PROGRAM)
    if not program or not os.access(program, os.X_OK):
        missing = named or f"{PROGRAM} on the PATH outside of this repository"
        raise ConfigError(f"there is no {missing}", "install Claude Code, or name its executable by llm.client")
    return os.path.abspath(program)


def ask_claude(program: str, model: str, question: Question, seconds: float) -> str:
    """Return the answer as JSON that follows the question's schema, within `seconds`.

    It runs in our own folder, where no project has settings for it, without the variables of projects. `main` leads its process
    group, and ends it with the pipe `lifeline`, which ends with this process. Raises ProviderTimeout, ProviderGone, or
    ProviderError for everything else.
    """
    options = ("--model", model, "--json-schema", json.dumps(question.schema), "--system-prompt", question.system)
    reads, writes = os.pipe()
    with open(reads, "rb", 0), open(writes, "wb", 0) as lifeline, tempfile.TemporaryFile() as asked:
        asked.write(question.user.encode("utf-8", "replace"))
        asked.seek(0)
        leader = () if os.name == "nt" else (sys.executable, "-I", "-S", os.path.abspath(__file__), str(reads))
        try:
            process = subprocess.Popen(
                [*leader, program, *FLAGS, *options],
                stdin=asked,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=Home.find().root,
                env=child_environment.filter_environment(child_environment.FOR_CLIENT),
                start_new_session=True,
                pass_fds=(reads,) if leader else (),
            )
        except OSError as error:
            raise ProviderGone(f"Claude Code cannot be run: {error.strerror}") from error
        printed, code, is_late = _read_until_end(process, lifeline, seconds)
    if is_late:
        raise ProviderTimeout(f"Claude Code did not answer in {seconds:.0f} s")
    if code == NOT_RUN and not printed:
        raise ProviderGone("Claude Code cannot be run")
    return _answer_in(printed, code)


def _read_until_end(process: subprocess.Popen[bytes], lifeline: IO[bytes], seconds: float) -> tuple[bytes, int, bool]:
    """Return output, exit code, and whether it timed out; a process of the client that keeps its output open delays nothing."""
    printed = bytearray()

    def read_output() -> None:
        assert process.stdout is not None
        with process.stdout as output:
            while len(printed) <= MAX_ANSWER and (piece := os.read(output.fileno(), ANSWER_PIECE)):
                printed.extend(piece)

    reader = threading.Thread(target=read_output, daemon=True)
    reader.start()
    is_late = False
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        is_late = True
    finally:
        lifeline.close()
        if sys.platform == "win32":
            process.kill()
        else:
            with suppress(subprocess.TimeoutExpired):
                process.wait(ENDING_S)
            with suppress(ProcessLookupError, PermissionError):  # No process is left; macOS raises the latter for ended ones.
                os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        reader.join(READING_S)
    return bytes(printed), code, is_late


def _answer_in(printed: bytes, code: int) -> str:
    """Return the answer in the client's output. Raises ProviderError in our own words: no other text is repeated."""
    result: Any = None
    for text in (printed, printed.rstrip().rpartition(b"\n")[2]):  # Something else may stand before the last line.
        with suppress(ValueError, RecursionError):
            result = result or json.loads(text)
    if not isinstance(result, dict):
        remedy = "look whether `claude -p hello` works, or update it: claude update"
        raise ProviderError(f"Claude Code ended with {code} and no answer", remedy)
    if result.get("is_error") or code:
        message = str(result.get("result", "")).lower()
        if result.get("api_error_status") in (401, 403) or "login" in message or "api key" in message:
            raise ProviderError("Claude Code is not logged in", "run `claude` and log in there")
        raise ProviderError("Claude Code could not answer", "look whether `claude -p hello` works")
    answer = result.get("structured_output")
    if not isinstance(answer, dict):
        raise UnusableAnswer("Claude Code answered without the form that was asked for")
    return json.dumps(answer)
