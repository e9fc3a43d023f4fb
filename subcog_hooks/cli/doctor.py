"""`subcog doctor`: is everything as it should be, and what would the model see."""

import json
import os
import shutil
import subprocess
import sys
import time
from typing import Annotated

import typer

from subcog_hooks import config, log
from subcog_hooks.cli import install, session
from subcog_hooks.cli.output import terminal
from subcog_hooks.errors import EXIT_CONFIG, EXIT_STORE, StoreError
from subcog_hooks.memory import sync
from subcog_hooks.memory.index import MAX_SEGMENTS, LexicalIndex
from subcog_hooks.memory.store import Filter, Store, audiences_of
from subcog_hooks.paths import Home, is_open_to_others
from subcog_hooks.state import State

PROMPT_WORDS = 40  # of the newest memory, for the trial prompt
WAIT_MS = 2_000
_GOOD, _WARNING, _BAD = "ok", "note", "BAD"


class Findings:
    """What has been looked at; prints as it goes and remembers the worst."""

    __slots__ = ("exit_code",)

    def __init__(self) -> None:
        self.exit_code = 0

    def good(self, what: str) -> None:
        self._line(_GOOD, "green", what)

    def note(self, what: str) -> None:
        self._line(_WARNING, "yellow", what)

    def bad(self, what: str, exit_code: int = EXIT_STORE) -> None:
        self.exit_code = self.exit_code or exit_code
        self._line(_BAD, "red", what)

    def _line(self, word: str, style: str, what: str) -> None:
        terminal.out.print(f"{word:>4}", style=style if terminal.out.is_terminal else None, end="  ")
        terminal.result(what)


def register(app: typer.Typer) -> None:
    app.command()(doctor)


def doctor(
    prompt: Annotated[str | None, typer.Option("--prompt", help="Try the hook on this prompt.")] = None,
) -> None:
    """Look at the store, the index, permissions, settings and the hook; run the hook and show the bytes the model would see.

    Exit code 3 when the store is not sound, 4 when the settings are not. Example: subcog doctor --prompt "how do we log in?"
    """
    findings = Findings()
    home = session.home()
    _home(home, findings)
    store = _store(home, findings)
    if store is not None:
        with store:
            _index(home, store, findings)
            trial = prompt or _trial_prompt(store)
    else:
        trial = prompt
    _state(home, findings)
    _settings(home, findings)
    command = _registration(findings)
    if trial:
        _try_hook(command or install.executable(), trial, findings)
    if os.path.exists(log.path(home)):
        terminal.say(f"the hooks' log is {log.path(home)}")
    if findings.exit_code:
        raise typer.Exit(findings.exit_code)


def _home(home: Home, findings: Findings) -> None:
    if not os.path.isdir(home.root):
        findings.note(f"{home.root} is not there yet; `subcog remember` makes it")
        return
    for path in (home.root, home.memories_db, home.state_db, home.config):
        if os.path.exists(path) and is_open_to_others(path):
            findings.note(f"{path} can be read by others; chmod go-rwx {path}")
    findings.good(f"home {home.root}")


def _store(home: Home, findings: Findings) -> Store | None:
    if not os.path.exists(home.memories_db):
        findings.note("no memories yet")
        return None
    try:
        store = Store.writer(home) if os.access(home.root, os.W_OK) else Store.reader(home)  # a writer migrates
        problems = store.problems()
    except StoreError as error:
        findings.bad(str(error))
        return None
    for problem in problems:
        findings.bad(f"{home.memories_db}: {problem}; restore a backup or `subcog export` what can be read")
    counts = store.counts()
    if not problems:
        findings.good("store sound: " + (", ".join(f"{count} {status}" for status, count in sorted(counts.items())) or "empty"))
    return store


def _index(home: Home, store: Store, findings: Findings) -> None:
    try:
        index = LexicalIndex.open(home)
        behind = index.watermark() < store.revision()
        foreign = not store.has_revision(index.watermark())
    except StoreError as error:
        behind, foreign = True, False
        terminal.say(error.message)
    try:
        index = sync.catch_up(home, store)
    except StoreError as error:
        findings.bad(str(error))
        return
    kept = sum(count for status, count in store.counts().items() if status != "deleted")
    if index.watermark() < store.revision():
        findings.note("the index is being written by another process")
    elif index.documents != kept:
        findings.bad(f"the index has {index.documents} memories, the store {kept}; run `subcog reindex`")
    else:
        was = ", rebuilt just now" if foreign else ", caught up just now" if behind else ""
        findings.good(f"index of {index.documents} memories in {index.segments} segments{was}")
    if index.segments > MAX_SEGMENTS:
        findings.note(f"{index.segments} segments slow the hook; run `subcog reindex`")


def _state(home: Home, findings: Findings) -> None:
    if not os.path.exists(home.state_db):
        return
    try:
        state = State.open(home, WAIT_MS)
        paused = state.paused(int(time.time() * 1000))
        state.close()
    except StoreError as error:
        findings.bad(str(error))
        return
    if paused:
        findings.note("the hook is paused; `subcog resume` ends it")
    else:
        findings.good("state.db")


def _settings(home: Home, findings: Findings) -> None:
    at = session.here()
    settings = config.load(home, at.root if at else None)
    for problem in settings.problems:
        findings.bad(problem, EXIT_CONFIG)
    if not settings["surfacing.enabled"]:
        findings.note("surfacing.enabled is false: the hook is silent")
    if not settings.problems:
        findings.good("settings")


def _registration(findings: Findings) -> list[str] | None:
    """The command that the client would run, None when it runs none."""
    found: list[str] | None = None
    for name, path in install.settings_files().items():
        try:
            with open(path, encoding="utf-8") as file:
                commands = install.registered_commands(file.read())
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            findings.note(f"{path} can not be read: {error}")
            continue
        for command in commands:
            if shutil.which(command[0]):
                findings.good(f"hook in the {name} settings: {' '.join(command)}")
                found = found or command[:-1]
            else:
                findings.bad(f"{path} runs {command[0]}, which is not there; run `subcog init` again", EXIT_CONFIG)
    if found is None:
        on_path = shutil.which("subcog")
        findings.note("the hook is in no settings file; `subcog init` registers it (a plugin does so by itself)")
        if on_path is None:
            findings.note(
                "`subcog` is not on the PATH, where the plugin looks for it; install it with pipx or uv, or use `subcog init`"
            )
    return found


def _trial_prompt(store: Store) -> str | None:
    """A question about the newest memory that is handed over here."""
    at = session.here()
    newest = store.select(Filter(audiences=audiences_of(at.identity if at else None)), 1)
    return f"What did we decide about this: {' '.join(newest[0].content.split()[:PROMPT_WORDS])}?" if newest else None


def _try_hook(command: list[str], prompt: str, findings: Findings) -> None:
    """Run the hook as the client would: a JSON payload and a line end on stdin, the answer on stdout."""
    payload = {
        "session_id": f"doctor-{time.time_ns()}",
        "transcript_path": "",
        "cwd": os.getcwd(),
        "permission_mode": "default",
        "hook_event_name": "UserPromptSubmit",
        "prompt": prompt,
    }
    started = time.perf_counter()
    try:
        done = subprocess.run(
            [*command, "hook"], input=json.dumps(payload).encode() + b"\n", capture_output=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        findings.bad(f"the hook can not be run: {error}", EXIT_CONFIG)
        return
    took = (time.perf_counter() - started) * 1000
    if done.returncode or done.stderr:
        findings.bad(f"the hook ended with {done.returncode}: {done.stderr.decode('utf-8', 'replace')[:300]}", EXIT_CONFIG)
    findings.good(f"hook ran in {took:.0f} ms on {prompt[:70]!r}")
    terminal.say("its exact output:" if done.stdout else "it printed nothing")
    sys.stdout.flush()
    sys.stdout.buffer.write(done.stdout)
