"""`subcog doctor`: check the installation. `subcog` alone: the state of subcog here in six lines, and the next step."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated

import typer
from typer import Option

from subcog_hooks import __version__
from subcog_hooks.cli import doctor_checks, embedding
from subcog_hooks.cli.agents import claude_code, inspection
from subcog_hooks.cli.agents.inspection import BAD, GOOD, NOTE, Remark, bad, good
from subcog_hooks.cli.terminal import context, output
from subcog_hooks.cli.terminal.output import count_memories, pluralize, safe, terminal
from subcog_hooks.cli.verdicts import lookup
from subcog_hooks.core import log
from subcog_hooks.core.errors import EXIT_CONFIG, StoreError, UsageError
from subcog_hooks.core.files import working_folder
from subcog_hooks.core.paths import Home
from subcog_hooks.embed import models
from subcog_hooks.hook.payload import PROMPT_EVENT, TRIAL
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import AGENT_WORDS, KEPT_SESSIONS, NOT_READ, NOTES_SETTING
from subcog_hooks.store import index_writer, past_runs
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.state import is_paused

TRIAL_PROMPT = "How do we release a new version?"
USE_LLM_VARIABLE = "SUBCOG_SEARCH_INTENT_USE_LLM"
STYLES = {GOOD: "green", NOTE: "yellow", BAD: "red"}


def doctor(
    memories: Annotated[
        bool, Option("--memories", help="Look at the memories instead, and name each that could be tidied up, with a command.")
    ] = False,
    fix: Annotated[
        bool, Option("--fix", help="Rebuild the search index, embed memories that lack a vector, and check these alone.")
    ] = False,
    as_json: Annotated[
        bool, Option("--json", help="Print one JSON object for a report of a fault: no memories, no prompts.")
    ] = False,
) -> None:
    """Check the installation.

    It looks at the store, the index, models, permissions and settings, and runs the hook.

    With --memories it embeds memories that lack a vector, and names duplicates, contradictions, and memories that have expired
    or were not used for a year. No memory is changed.

    The exit code is 3 for a damaged store, 4 for a wrong setting, and 5 for a broken embedding model.

    Example: subcog doctor
    """
    if sum((memories, fix, as_json)) > 1:
        raise UsageError("--memories, --fix and --json exclude each other", "give one of them")
    if memories:
        from subcog_hooks.cli import doctor_memories  # only `--memories` needs it

        doctor_memories.print_findings()
        return
    home, findings = context.home(), Findings(is_collected=as_json)
    if fix:
        with context.writing() as store:
            store.rebuild_cues()
            with output.track_items("indexing", sum(store.counts().values())) as advance:
                index = index_writer.rebuild_index(home, store, advance)
            terminal.result(f"indexed {count_memories(index.documents)}")
            if embedded := embedding.embed_now(store, afresh=True):
                terminal.say(f"embedded {embedded}")
        models.remove_leftovers(home)
        findings.take(doctor_checks.check_store(home, names_projects=False))
    else:
        _check_all(home, findings)
    if findings.exit_code:
        raise typer.Exit(findings.exit_code)


@dataclass(slots=True)
class Findings:
    """The findings of `doctor`: prints each as it comes, or collects them, and keeps the first exit code."""

    is_collected: bool  # for `--json`
    rows: list[dict[str, str]] = field(default_factory=list)
    exit_code: int = 0

    def take(self, remarks: Iterable[Remark]) -> None:
        """Print or collect findings."""
        user = os.path.expanduser("~").rstrip(os.sep)
        for kind, text, exit_code in remarks:
            self.exit_code = self.exit_code or exit_code
            line = log.escape_controls(text)
            if self.is_collected:  # A report names no user: its paths begin with ~.
                line = re.sub(rf"(?<![\w.~/\\-]){re.escape(user)}(?![\w.-])", "~", line) if user else line
                self.rows.append({"level": kind.lower(), "text": line})
            else:
                terminal.pieces((f"{kind:>4}", STYLES[kind]), (f"  {line}", ""), indent=6)


def _check_all(home: Home, findings: Findings) -> None:
    is_report = findings.is_collected
    project = context.here()
    settings = loading.load(home, project.root if project else None)
    for remarks in (
        doctor_checks.check_home(home),
        doctor_checks.check_store(home, names_projects=not is_report),
        doctor_checks.check_past_sessions(home),
        doctor_checks.check_state(home),
        doctor_checks.check_settings(settings),
        doctor_checks.check_background_jobs(home, settings),
        doctor_checks.check_llm(home, settings),
        doctor_checks.check_background_llm(home, settings),
    ):
        findings.take(remarks)
    look = inspection.inspect_registration()
    findings.take(look.remarks)
    findings.take(inspection.inspect_clients(_last_activity))
    if look.is_running and (message := claude_code.describe_old_client()):
        findings.take([bad(f"{message}; run `claude update`", EXIT_CONFIG)])
    findings.take(_try_hook(look.command or claude_code.executable()))
    if is_report:
        system = f"{platform.system()} {platform.machine()}"
        versions = {"version": __version__, "python": platform.python_version(), "system": system}
        terminal.json({**versions, "exit_code": findings.exit_code, "findings": findings.rows}, indent=1)
        return
    if os.path.exists(log.log_path(home)):
        terminal.say(f"the hooks' log is {log.log_path(home)}")


def _last_activity(client: str) -> int | None:
    with suppress(StoreError), context.existing_state(context.home()) as state:
        # The prefix of its sessions' ids ends in a colon, and a semicolon follows that.
        sql = "SELECT max(last_at) FROM sessions WHERE session > ? AND session < ?"
        return state.run(sql, (f"{client}:", f"{client};"))[0][0] if state else None
    return None


def _try_hook(command: list[str]) -> Iterator[Remark]:
    """Run the hook as the client would, with a prompt. No LLM is asked: a check sends nothing anywhere."""
    session = {"session_id": f"{TRIAL}{time.time_ns()}", "transcript_path": "", "cwd": working_folder()}
    payload = {**session, "permission_mode": "default", "hook_event_name": "UserPromptSubmit", "prompt": TRIAL_PROMPT}
    started = time.perf_counter()
    try:
        completed = subprocess.run(
            [*command, "hook"],
            input=json.dumps(payload).encode() + b"\n",
            env={**os.environ, USE_LLM_VARIABLE: "0"},
            capture_output=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        yield bad(f"the hook cannot be run: {error}", EXIT_CONFIG)
        return
    took_ms = (time.perf_counter() - started) * 1000
    if completed.returncode or completed.stderr:
        complaint = completed.stderr.decode("utf-8", "replace")[:300]
        yield bad(f"the hook ended with {completed.returncode}: {complaint}", EXIT_CONFIG)
    try:
        answer = json.loads(completed.stdout or b"{}")
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        yield bad("the registered command prints more than the hook's JSON; `subcog init` registers it anew", EXIT_CONFIG)
        return
    yield good(f"hook ran in {took_ms:.0f} ms")


OFF_SWITCHES = ("surfacing.enabled", "search_intent.enabled")  # Without either the hook is silent.


def show_overview() -> None:
    """Print the state of subcog in this folder, and the next step. Raises StoreError."""
    project = context.here()
    with context.reading() as store:
        waiting = store.count_pending() if store else 0
        shared = store.count_active(()) if store else 0
        own = store.count_active(project.names) - shared if store and project else 0
    agents = inspection.find_agents()
    in_pause, last = _read_last_prompt()
    settings = loading.load(context.home(), project.root if project else None)
    off = next((switch for switch in OFF_SWITCHES if not settings[switch]), "")
    here = f"{own:,} for {safe(project.identity)}" if project else "this folder is in no project"
    terminal.result(f"Notes   {shared:,} for all your projects; {here}")
    states = [f"runs in {', '.join(agents.running)}"] if agents.running else []
    states += [f"server for {', '.join(agents.served)}"] if agents.served else []
    states += [f"{fault}: {', '.join(titles)}" for fault, titles in agents.at_fault.items()]
    states = states or ["no agent runs it yet"]
    states += ["paused"] * in_pause + [f"switched off by {off}"] * bool(off)
    terminal.result(f"Hook    {'; '.join(states).replace(' CLI', '')}")
    terminal.result(f"Review  {pluralize(waiting, 'note waits', 'notes wait') if waiting else 'nothing waits'} for your word")
    terminal.result(f"Last    {last or 'no prompt has come to the hook yet'}")
    background = (NOTES_SETTING, KEPT_SESSIONS, AGENT_WORDS)
    notes, sessions, model = ("on" if settings[name] not in (False, NOT_READ) else "off" for name in background)
    terminal.result(f"Setup   Claude's notes {notes}, past sessions {sessions}, a model {model}; `subcog setup` asks")
    step = _next_step(shared + own, waiting, agents, in_pause=in_pause, off=off, has_asked=bool(last))
    terminal.result(f"Next    {step}")


def _read_last_prompt() -> tuple[bool, str]:
    """Return whether the hook is paused, and the last prompt with the number of its notes; "" without any."""
    with context.existing_state(context.home()) as state:
        latest = past_runs.find_latest(state, 1, event=PROMPT_EVENT) if state else []
        in_pause = state is not None and is_paused(state, now_ms())
    if not latest:
        return in_pause, ""
    count = len(latest[0].injected)
    given = f"{pluralize(count, 'note')} given" if count else "no note given"
    return in_pause, f"{given} to a prompt of {lookup.local_time(latest[0].at_ms)[:16]}"


def _next_step(notes: int, waiting: int, agents: inspection.Agents, *, in_pause: bool, off: str, has_asked: bool) -> str:
    if not notes:
        return '`subcog remember "…"` stores a note; `subcog --help` lists commands'
    if agents.at_fault and not (agents.running or agents.served):
        return "`subcog doctor` says what the hook needs"
    if not any(agents):
        return "`subcog init` registers the hook with your agent"
    if in_pause:
        return "`subcog resume` ends the pause"
    if off:
        return f"`subcog config list` says who set {off}"
    if waiting:
        return "`subcog review` asks about the notes that wait"
    if not has_asked:
        return "ask your agent about a note; `subcog why` then explains the answer"
    return "`subcog why` explains the last prompt; `subcog --help` lists commands"
