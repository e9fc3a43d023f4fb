"""Measure `subcog learn` on transcripts: how fast and in how much memory they are read, and what killed runs leave.

The transcripts are made up, the same in every run, in the rows that Claude Code writes: thinking, texts, tool calls, results
with their copy in `toolUseResult`, pictures, queued prompts, refused calls, rewinds, compactions, damaged lines. What is typed
are the turns of scripts/learn with some of their words changed, one to some 90 KB.

One run reads all of it. Another one is killed again and again, each time somewhere in what was left, and run to its end: it has
to have stored the same memories, with the same certainties and counts of sessions.

Run it in this checkout, with the Python of an environment that subcog is installed in. Linux and macOS.

Example: python -m scripts.bench.sessions --megabytes 2000 --kills 12
"""

import argparse
import base64
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from typing import BinaryIO, NamedTuple

import psutil

from scripts.bench.figures import align, mib, parse_positive
from scripts.bench.machine import (
    ROOT,
    Failed,
    Subcog,
    child_environment,
    describe_environment,
    describe_machine,
    find_subcog,
    show_progress,
)
from scripts.bench.memories import SEED, make_memories

TURNS = os.path.join(ROOT, "scripts", "learn", "turns.jsonl")
PROJECTS = 25
LEAST_MB_A_SECOND, MOST_MIB = 20.0, 150.0  # with --assert
BEGAN = 1_700_000_000  # seconds since the epoch: when the first session began
LOOK_EVERY_S = 0.02  # at the processor seconds of a run that is to be killed
COMPARED = 0.3  # of a run's processor is for comparing what was said: so much is left when all is read
SAME_WORDS = 0.1  # of the turns are said as they are, so that some come again in other sessions
CHANGED = 0.35  # of the words of the others
LONG_WORD = 5  # letters of a word that is changed
TOOLS = ("Bash", "Edit", "Read", "Grep", "Write")
REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string "
    "was NOT written to the file). To tell you how to proceed, the user said:\n"
)


class Run(NamedTuple):
    """A run of `learn`. seconds of wall and processor, the peak of its memory in MiB, exit code (-9: it was killed)."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    code: int


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="subcog-bench-", dir=options.folder) as folder:
        try:
            subcog = find_subcog("")
            config = os.path.join(folder, "claude")
            size = write_sessions(os.path.join(config, "projects"), options.megabytes * 1_000_000)
            whole, killed = os.path.join(folder, "whole"), os.path.join(folder, "killed")
            first = _learn(subcog, config, whole)
            again = _learn(subcog, config, whole)
            kills = _kill(subcog, config, killed, first.cpu_s, options.kills)
            _learn(subcog, config, killed)
            expected, found = _stored(whole), _stored(killed)
        except (Failed, OSError, subprocess.SubprocessError) as error:
            sys.exit(f"scripts.bench.sessions: {error}")
    show_progress("")
    rows = [["", "wall s", "processor s", "MB/s of it", "peak MiB"]]
    for name, run in (("all", first), ("nothing new", again)):
        rate = f"{size / 1e6 / run.cpu_s:.1f}"
        rows.append([name, f"{run.wall_s:.1f}", f"{run.cpu_s:.1f}", rate, f"{run.peak_mib:.0f}"])
    print(align(rows))
    same = "the same" if expected == found else f"{len(expected ^ found)} others"
    print(f"{size / 1e6:,.0f} MB, {len(expected):,} memories; killed {kills} times and run to the end: {same};")
    print(describe_machine(describe_environment(subcog)))
    is_slow = size / 1e6 / first.cpu_s < LEAST_MB_A_SECOND or first.peak_mib > MOST_MIB
    if expected != found or (options.strict and is_slow):
        sys.exit(1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.bench.sessions", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=parse_positive, default=200, help="of transcripts (default 200)")
    parser.add_argument("--kills", type=parse_positive, default=12, help="default 12")
    parser.add_argument("--folder", metavar="DIR", help="where the transcripts lie for a time (default: the system's place)")
    strict = f"exit code 1 below {LEAST_MB_A_SECOND:g} MB a second of processor, or above {MOST_MIB:g} MiB"
    parser.add_argument("--assert", dest="strict", action="store_true", help=strict)
    return parser.parse_args()


# ---- runs ----------------------------------------------------------------------------------------------------------------


def _learn(subcog: Subcog, config: str, home: str, kill_after_s: float | None = None) -> Run:
    """Run `learn`. kill_after_s: of processor; None for to its end, where all must be well. Raises Failed."""
    show_progress(f"{os.path.basename(home)}: learning")
    environment = child_environment(SUBCOG_HOME=home, CLAUDE_CONFIG_DIR=config)
    with tempfile.TemporaryFile() as said:
        began = time.perf_counter()
        running = subprocess.Popen([subcog.command, "learn"], cwd=config, env=environment, stdout=said, stderr=said)
        if kill_after_s is not None:
            watched = psutil.Process(running.pid)
            while watched.status() != psutil.STATUS_ZOMBIE and sum(watched.cpu_times()[:2]) < kill_after_s:
                time.sleep(LOOK_EVERY_S)
            os.kill(running.pid, signal.SIGKILL)  # Popen would take the end of one that has ended from wait4
        _, status, used = os.wait4(running.pid, 0)
        wall_s = time.perf_counter() - began
        running.returncode = os.waitstatus_to_exitcode(status)
        if kill_after_s is None and running.returncode:
            said.seek(0)
            raise Failed(f"learn failed: {said.read().decode()[-2000:]}")
    return Run(wall_s, used.ru_utime + used.ru_stime, mib(used.ru_maxrss), running.returncode)


def _kill(subcog: Subcog, config: str, home: str, whole_s: float, times: int) -> int:
    """Kill runs at chance moments: half of them while they read, the others in what is left then. Return how many were killed.

    whole_s: processor seconds of a whole run.
    """
    chance = random.Random(SEED)
    killed = 0
    left_s = whole_s
    for number in range(times):
        share = chance.uniform(0.3, 2.0) / times if number < times // 2 else chance.uniform(0.1, 0.9) * left_s / whole_s
        killed += _learn(subcog, config, home, max(0.2, share * whole_s)).code < 0
        left_s = max(COMPARED * whole_s, left_s - share * whole_s)
    return killed


def _stored(home: str) -> set[tuple[object, ...]]:
    """Return what a home has of its sessions: each memory, and how sure it is and how often it was said."""
    stored = sqlite3.connect(os.path.join(home, "memories.db"))
    state = sqlite3.connect(os.path.join(home, "state.db"))
    try:
        told = {row[0]: row[1:] for row in state.execute("SELECT memory, certainty, sessions, since FROM proposed")}
        rows = stored.execute("SELECT id, content, status, superseded_by, source FROM memories").fetchall()
    finally:
        stored.close()
        state.close()
    return {(*row, *told.get(row[0], ())) for row in rows}


# ---- transcripts -----------------------------------------------------------------------------------------------------------


def write_sessions(folder: str, size: int) -> int:
    """Write transcripts of `size` bytes or a little more, and return how many bytes they are."""
    chance = random.Random(SEED)
    with open(TURNS, encoding="utf-8") as file:
        typed = [json.loads(line)["text"] for line in file]
    texts = [str(memory["content"]) for memory in make_memories(2_000)]
    words = [word for word in " ".join(texts).lower().replace(".", "").split() if word.isalpha() and len(word) >= LONG_WORD]
    written = number = 0
    while written < size:
        if number % 10 == 0:
            show_progress(f"writing transcripts: {written / 1e6:,.0f} MB")
        written += _Session(folder, number, chance, typed, texts, words).write()
        number += 1
    return written


class _Session:
    """A transcript that is being written."""

    def __init__(
        self, folder: str, number: int, chance: random.Random, typed: list[str], texts: list[str], words: list[str]
    ) -> None:
        self._chance, self._typed, self._texts, self._words = chance, typed, texts, words
        name = f"{number:08x}-0000-4000-8000-{chance.getrandbits(48):012x}"
        project = f"project-{int(chance.paretovariate(0.8)) % PROJECTS:02}"
        self._at = BEGAN + number * 20_000
        self._path = os.path.join(folder, f"-home-dev-{project}", f"{name}.jsonl")
        self._common = {"isSidechain": False, "userType": "external", "cwd": f"/home/dev/{project}", "sessionId": name}
        self._common |= {"version": "2.1.329", "gitBranch": "main", "slug": "steady-painting-otter"}
        self._last: str | None = None
        self._is_new = chance.random() < 0.7  # its client says who typed what
        self._file: BinaryIO

    def write(self) -> int:
        """Write it, and return its bytes."""
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        with open(self._path, "wb") as self._file:
            self._row({"type": "mode", "mode": "default"}, is_placed=False)
            for _ in range(max(1, round(self._chance.lognormvariate(2.4, 0.9)))):
                self._turn()
            size = self._file.tell()
        os.utime(self._path, (self._at, self._at))
        return size

    def _turn(self) -> None:
        draw = self._chance.random()
        if draw < 0.02:
            self._row({"type": "queue-operation", "operation": "enqueue", "content": self._words_typed()}, is_placed=False)
            self._row({"type": "attachment", "attachment": {"type": "queued_command", "prompt": self._words_typed()}})
        elif draw < 0.04:  # it is taken back
            behind = self._last
            self._prompt()
            self._step()
            self._last = behind
            self._prompt()
        elif draw < 0.06:
            told: dict[str, object] = {
                "type": "system",
                "subtype": "compact_boundary",
                "logicalParentUuid": self._last,
                "content": "Compacted",
            }
            self._last = None
            self._row(told)
            self._user(
                "This session is being continued from a previous conversation. " + self._text(8_000), isCompactSummary=True
            )
            self._prompt()
        else:
            self._prompt()
        self._row({"type": "attachment", "attachment": {"type": "hook_success", "hookName": "UserPromptSubmit", "content": ""}})
        for _ in range(min(60, round(self._chance.expovariate(1 / 5)))):
            self._step()
        self._assistant({"type": "text", "text": self._text(900)})
        self._row({"type": "system", "subtype": "turn_duration", "durationMs": 81_000, "isMeta": True})
        self._row({"type": "file-history-snapshot", "messageId": self._last, "snapshot": {"trackedFileBackups": {}}}, False)

    def _prompt(self) -> None:
        says_who = {"origin": {"kind": "human"}, "promptSource": "typed", "permissionMode": "default"} if self._is_new else {}
        self._user(self._words_typed(), **says_who)

    def _words_typed(self) -> str:
        text = self._chance.choice(self._typed)
        if self._chance.random() < SAME_WORDS:
            return text
        return " ".join(
            self._chance.choice(self._words) if len(word) >= LONG_WORD and self._chance.random() < CHANGED else word
            for word in text.split(" ")
        )

    def _step(self) -> None:
        """Write a tool call, with what the agent thinks and says before it, and its result."""
        if self._chance.random() < 0.5:
            signature = base64.b64encode(self._chance.randbytes(450)).decode()
            self._assistant({"type": "thinking", "thinking": self._text(600), "signature": signature})
        if self._chance.random() < 0.3:
            self._assistant({"type": "text", "text": self._text(200)})
        tool = self._chance.choices(TOOLS, (5, 3, 5, 2, 1))[0]
        identifier = f"toolu_{self._chance.getrandbits(96):024x}"
        path = f"{self._common['cwd']}/src/{self._chance.choice(self._words)}.py"
        given = {"Bash": {"command": self._text(60), "description": self._text(30)}, "Grep": {"pattern": "def "}}
        writes = {"file_path": path, "old_string": self._text(400), "new_string": self._text(500)}
        given |= {"Read": {"file_path": path}, "Edit": writes, "Write": {"file_path": path, "content": self._text(4_000)}}
        self._assistant({"type": "tool_use", "id": identifier, "name": tool, "input": given[tool]})
        draw = self._chance.random()
        if draw < 0.004:
            self._result(identifier, REFUSED + self._words_typed(), is_error=True)
        elif draw < 0.008:
            picture = base64.b64encode(self._chance.randbytes(self._chance.randrange(50_000, 900_000))).decode()
            source = {"type": "base64", "media_type": "image/png", "data": picture}
            self._result(identifier, [{"type": "image", "source": source}], copy={"file": {"base64": picture}})
        elif draw < 0.009:
            self._file.write(b'{"type": "user", "message": {"role": "us\n')
        else:
            printed = self._text(min(120_000, self._chance.lognormvariate(7.6, 1.3)))
            copy = {"stdout": printed, "stderr": "", "interrupted": False}
            if tool in ("Edit", "Write"):
                copy = {"filePath": path, "originalFile": printed, "structuredPatch": [{"lines": printed[:900].split(".")}]}
            self._result(identifier, printed, copy=copy, is_error=self._chance.random() < 0.05)

    def _result(self, identifier: str, content: object, copy: object = None, *, is_error: bool = False) -> None:
        block = {"tool_use_id": identifier, "type": "tool_result", "content": content, "is_error": is_error}
        self._user([block], toolUseResult=copy or content)

    def _user(self, content: object, **more: object) -> None:
        self._row({"type": "user", "message": {"role": "user", "content": content}, **more})

    def _assistant(self, block: object) -> None:
        usage = {"input_tokens": 4, "cache_read_input_tokens": 51_234, "output_tokens": 312, "service_tier": "standard"}
        message = {"id": f"msg_{self._chance.getrandbits(96):024x}", "type": "message", "role": "assistant", "model": "sonnet"}
        self._row({"type": "assistant", "message": {**message, "content": [block], "usage": usage}, "requestId": "req_1"})

    def _row(self, fields: dict[str, object], is_placed: bool = True) -> None:
        self._at += 1
        at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(self._at))
        row = {**self._common, **fields, "timestamp": at}
        if is_placed:
            identifier = f"{self._chance.getrandbits(128):032x}"
            row |= {"parentUuid": self._last, "uuid": identifier}
            self._last = identifier
        self._file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")

    def _text(self, length: float) -> str:
        """Return some text of this length or a little more, in characters."""
        parts: list[str] = []
        while length > 0:
            parts.append(self._chance.choice(self._texts))
            length -= len(parts[-1])
        text = "\n".join(parts)
        return text[: int(len(text) + length)] if length < 0 else text


if __name__ == "__main__":
    main()
