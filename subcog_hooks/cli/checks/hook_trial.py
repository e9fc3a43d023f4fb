"""The trial of `doctor`: whether clients run the hook, its answer to a prompt, and why it is silent."""

import json
import os
import subprocess
import sys
import time
from contextlib import suppress

from subcog_hooks.cli.agents import client_settings, registration
from subcog_hooks.cli.checks.findings import Findings
from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import safe, terminal
from subcog_hooks.cli.verdicts import lookup
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import EXIT_CONFIG, StoreError
from subcog_hooks.core.files import working_folder
from subcog_hooks.core.paths import Home
from subcog_hooks.hook.dry_run import decide_dry
from subcog_hooks.hook.payload import TRIAL
from subcog_hooks.settings import loading
from subcog_hooks.store import sessions
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter, audiences_of

NO_QUESTION = "ok"  # a prompt that needs no memory
PROMPT_WORDS = 40  # words of the newest memory in the trial prompt
RECALL_MS = 10_000.0  # nobody waits for a prompt here
MAX_NEAREST = 3  # memories named when the hook is silent
USE_LLM_VARIABLE = "SUBCOG_SEARCH_INTENT_USE_LLM"


def _last_activity(client: str) -> int | None:
    with suppress(StoreError), context.existing_state(context.home()) as state:
        return sessions.last_activity(state, client) if state else None
    return None


def check_registration(findings: Findings) -> list[str] | None:
    look = registration.inspect_registration()
    for remark in (*look.remarks, *client_settings.inspect_clients(_last_activity)):
        if remark.kind == registration.BAD:
            findings.bad(remark.text, EXIT_CONFIG)
        elif remark.kind == registration.NOTE:
            findings.note(remark.text)
        else:
            findings.good(remark.text)
    if look.is_running and (message := registration.describe_old_client()):
        findings.bad(f"{message}; run `claude update`", EXIT_CONFIG)
    return look.command


def make_trial_prompt(store: Store) -> str | None:
    project = context.here()
    newest = store.select(Filter(audiences=audiences_of(*project.names) if project else audiences_of()), 1)
    return f"What did we decide about this: {' '.join(newest[0].content.split()[:PROMPT_WORDS])}?" if newest else None


def try_hook(command: list[str], prompt: str, findings: Findings, *, has_llm: bool) -> bool:
    """Run the hook as the client would, and print its answer. Return whether it spoke.

    The payload is a line of JSON on stdin. No LLM is asked: a check sends nothing anywhere.
    """
    session = {"session_id": f"{TRIAL}{time.time_ns()}", "transcript_path": "", "cwd": working_folder()}
    payload = {**session, "permission_mode": "default", "hook_event_name": "UserPromptSubmit", "prompt": prompt}
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
        findings.bad(f"the hook cannot be run: {error}", EXIT_CONFIG)
        return False
    took_ms = (time.perf_counter() - started) * 1000
    if completed.returncode or completed.stderr:
        complaint = completed.stderr.decode("utf-8", "replace")[:300]
        findings.bad(f"the hook ended with {completed.returncode}: {complaint}", EXIT_CONFIG)
    try:
        answer = json.loads(completed.stdout or b"{}").get("hookSpecificOutput", {}).get("additionalContext")
    except (ValueError, AttributeError):
        findings.bad("the registered command prints more than the hook's JSON; `subcog init` registers it anew", EXIT_CONFIG)
        return True
    findings.good(f"hook ran in {took_ms:.0f} ms on {prompt[:70]!r}" + (", without the LLM" if has_llm else ""))
    if findings.is_collected:
        return bool(completed.stdout)
    terminal.say("its answer:" if completed.stdout else "it printed nothing")
    if answer and terminal.is_drawn:
        terminal.result(answer)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(completed.stdout)
    return bool(completed.stdout)


def explain_silence(home: Home, prompt: str) -> None:
    project = context.here()
    if not context.has_store(home):
        terminal.say("reason: there are no memories")
        return
    if not os.path.exists(home.state_db):
        terminal.say(f"reason not known: without {home.state_db} the hook did not reach the memories")
        return
    with context.reading() as store, lookup.open_state() as state:
        if store is None:
            return
        context.index_of(store)
        settings = loading.load(home, project.root if project else None)
        decision = decide_dry(prompt, home, project, settings, state, Deadline(RECALL_MS))
        terminal.say(f"reason: {lookup.sentence(decision).removeprefix('silent: ')}")
        nearest = decision.candidates[:MAX_NEAREST]
        memories = store.by_ids([candidate.id for candidate in nearest])
        for candidate in nearest:
            content = memories[candidate.id].content if candidate.id in memories else ""
            terminal.say(f"  {candidate.relevance:.2f}  {candidate.id}  {safe(content)[:80]}")
