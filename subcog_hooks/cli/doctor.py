"""`subcog doctor`: check the installation, and show the hook's answer to a prompt."""

import json
import os
import platform
import shlex
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated

import typer
from typer import Option

from subcog_hooks import __version__
from subcog_hooks.cli.claude_code import registration
from subcog_hooks.cli.decisions import lookup
from subcog_hooks.cli.jobs import background_jobs, job_list
from subcog_hooks.cli.state import warn_about_unset
from subcog_hooks.cli.support import client_settings, context, editor, embedding, llm_use, namesakes, stale_files, trial_folders
from subcog_hooks.cli.support.output import pluralize, safe, terminal
from subcog_hooks.core import log
from subcog_hooks.core.accepted_homes import is_accepted_home, is_inside
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import (
    EXIT_CONFIG,
    EXIT_MODEL,
    EXIT_STORE,
    ConfigError,
    ModelError,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreTooNew,
    UsageError,
)
from subcog_hooks.core.log import escape_controls
from subcog_hooks.core.paths import Home, is_open_to_others
from subcog_hooks.embed import background, catch_up, models, spaces
from subcog_hooks.embed.space import Space
from subcog_hooks.hook import detached
from subcog_hooks.hook.dry_run import DryPrompt, decide_dry
from subcog_hooks.hook.payload import TRIAL
from subcog_hooks.llm import breaker, providers
from subcog_hooks.recall.exact import MAX_JUDGED
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import LLM_LEARNS, NEVER, SECOND_LOOK
from subcog_hooks.store import (
    decision_log,
    hook_traces,
    index_sync,
    index_writer,
    job_record,
    recorded_decisions,
    second_looks,
    sessions,
    state_values,
    stops,
)
from subcog_hooks.store.decision import FAILED, Decision
from subcog_hooks.store.index import MAX_SEGMENTS, IndexUnusable, LexicalIndex
from subcog_hooks.store.job_record import DONE, PUT_OFF, UNFINISHED
from subcog_hooks.store.lock import is_held
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.state import ASIDE, State, put_aside
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter, audience_of, audiences_of
from subcog_hooks.store.vector_file import ExtensionMissing
from subcog_hooks.store.vector_store import VectorStore

NO_QUESTION = "ok"  # a prompt that needs no memory
PROMPT_WORDS = 40  # words of the newest memory in the trial prompt
RECALL_MS = 10_000.0  # nobody waits for a prompt here
MAX_NEAREST = 3  # memories named when the hook is silent
MAX_NAMED_IDS = 10  # named memories whose files are gone
MAX_SECOND_LOOKS = 20  # latest second looks that are checked for failures
USE_LLM_VARIABLE = "SUBCOG_SEARCH_INTENT_USE_LLM"
_GOOD, _WARNING, _BAD = "ok", "note", "BAD"


@dataclass(slots=True)
class Findings:
    """The findings of `doctor`: prints each as it comes, or collects them, and keeps the first exit code."""

    is_collected: bool = False  # for `--json`
    rows: list[dict[str, str]] = field(default_factory=list)
    exit_code: int = 0
    is_silenced: bool = False  # a pause or a setting silences the hook, not the prompt

    def good(self, text: str) -> None:
        self._line(_GOOD, "green", text)

    def note(self, text: str) -> None:
        self._line(_WARNING, "yellow", text)

    def bad(self, text: str, exit_code: int = EXIT_STORE) -> None:
        self.exit_code = self.exit_code or exit_code
        self._line(_BAD, "red", text)

    def _line(self, word: str, style: str, text: str) -> None:
        if self.is_collected:
            self.rows.append({"level": word.lower(), "text": escape_controls(text).replace(os.path.expanduser("~"), "~")})
            return
        terminal.pieces((f"{word:>4}", style), ("  " + escape_controls(text), ""), indent=6)


def doctor(
    prompt: Annotated[str | None, Option("--prompt", metavar="PROMPT", help="Show the hook's answer to this prompt.")] = None,
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
    """Check the installation, and show the answer to a prompt.

    It looks at the store, the index, models, permissions, settings and the hook.

    With --memories it names duplicates, contradictions, and memories that have expired or were not used for a year. It also
    names memories of missing files, and copies of a file that the client loads anyway. Nothing is changed without --fix.

    The exit code is 3 for a damaged store, 4 for a wrong setting, and 5 for a broken embedding model.

    Example: subcog doctor --prompt "how do we log in?"
    """
    if sum((memories, fix, as_json, prompt is not None)) > 1:
        raise UsageError("--memories, --fix, --json and --prompt exclude each other", "give one of them")
    if memories:
        from subcog_hooks.cli.support import inventory  # only `--memories` needs it

        inventory.print_findings()
        return
    if fix:
        _fix_index_and_vectors()
        return
    findings = Findings(is_collected=as_json)
    home = context.home()
    _check_home(home, findings)
    _check_leftovers(home, findings)
    store = _check_store(home, findings)
    if store is not None:
        with store:
            _check_index(home, store, findings)
            _check_models(home, store, findings)
            _check_stale_files(store, findings)
            _check_namesakes(store, findings)
            _check_flags(store, findings)
            trial = prompt or _make_trial_prompt(store)
    else:
        trial = prompt
    _check_state(home, findings)
    _check_stops(home, findings)
    _check_cut_offs(home, findings)
    settings = _check_settings(home, findings)
    _check_background_jobs(home, settings, findings)
    has_llm = _check_llm(home, settings, findings)
    _check_background_llm(home, settings, findings)
    _check_left_processes(findings)
    _check_second_looks(home, settings, findings)
    command = _check_registration(findings)
    if as_json:
        trial = None
    spoke = _try_hook(command or registration.executable(), trial or NO_QUESTION, findings, has_llm=has_llm)
    if as_json:
        _print_report(findings)
    elif not trial:
        terminal.say("no memory here can come to a prompt; `subcog remember TEXT` stores one")
    elif not spoke and not findings.is_silenced:
        _explain_silence(home, trial)
    if os.path.exists(log.log_path(home)) and not as_json:
        terminal.say(f"the hooks' log is {log.log_path(home)}")
    if findings.exit_code:
        raise typer.Exit(findings.exit_code)


def _fix_index_and_vectors() -> None:
    from subcog_hooks.cli.support import repair  # only `--fix` needs it

    repair.rebuild_from_store()
    findings, home = Findings(), context.home()
    if store := _check_store(home, findings):
        with store:
            _check_index(home, store, findings)
            _check_models(home, store, findings)
    if findings.exit_code:
        raise typer.Exit(findings.exit_code)


def _print_report(findings: Findings) -> None:
    system = f"{platform.system()} {platform.machine()}"
    versions = {"version": __version__, "python": platform.python_version(), "system": system}
    terminal.json({**versions, "exit_code": findings.exit_code, "findings": findings.rows}, indent=1)


def _check_home(home: Home, findings: Findings) -> None:
    project = context.here()
    if project is not None and is_inside(home.root, project.root) and not is_accepted_home(home.root):
        findings.is_silenced = True
        findings.note(
            f"{home.root} lies in this repository, which could have named it: the hook leaves it alone and takes ~/.subcog; "
            "`subcog init`, typed by you with the same SUBCOG_HOME, accepts it"
        )
    if not os.path.isdir(home.root) and not os.path.exists(home.root):
        findings.note(f"{home.root} is not there yet; `subcog remember` makes it")
        return
    for path in (home.root, home.memories_db, home.state_db, home.config):
        if os.path.exists(path) and is_open_to_others(path):
            findings.note(f"{path} can be read by others; chmod go-rwx {path}")
    findings.good(f"home {home.root}")


def _check_leftovers(home: Home, findings: Findings) -> None:
    if removed := trial_folders.remove_abandoned(home):
        findings.note(f"{pluralize(removed, 'copy', 'copies')} of the store, left by killed trials: removed just now")
    for folder, is_at_work in trial_folders.find_folders(home).items():
        if is_at_work:
            findings.good(f"a trial is under way on a copy of the store, {folder}")
        else:
            findings.note(f"{folder} is a copy of the store that a killed trial has left, and cannot be removed; delete it")
    if edits := editor.find_edit_folders(home):
        texts = pluralize(len(edits), "text of an unfinished edit is", "texts of unfinished edits are")
        findings.note(f"{texts} in {home.edits}; delete those you do not need")


def _check_store(home: Home, findings: Findings) -> Store | None:
    try:
        if not context.has_store(home):
            findings.note("no memories yet")
            return None
        store = Store.writer(home) if os.access(home.root, os.W_OK) else Store.reader(home)
        problems = store.problems()
        counts = store.counts()
    except StoreError as error:
        findings.bad(str(error))
        return None
    for problem in problems:
        findings.bad(f"{home.memories_db}: {problem}; `subcog export FILE` saves what can be read")
    if not problems:
        findings.good("store sound: " + (", ".join(f"{count} {status}" for status, count in sorted(counts.items())) or "empty"))
    return store


def _check_index(home: Home, store: Store, findings: Findings) -> None:
    try:
        index = LexicalIndex.open(home)
        behind = index.watermark() < store.revision()
        foreign = not store.has_revision(index.watermark())
    except StoreError as error:
        behind, foreign = True, False
        terminal.say(error.message)
    try:
        index = context.index_of(store)
        index_writer.check_index(index)
    except IndexUnusable as error:
        terminal.say(error.message)
        index, foreign = index_sync.rebuild_index(home, store), True
    except StoreError as error:
        findings.bad(str(error))
        return
    stored = sum(count for status, count in store.counts().items() if status != "deleted")
    if index.watermark() < store.revision():
        findings.note("the index is being written by another process")
    elif index.documents != stored:
        findings.bad(
            f"the index has {pluralize(index.documents, 'memory', 'memories')}, the store {stored}; run `subcog doctor --fix`"
        )
    else:
        remark = ", rebuilt just now" if foreign else ", caught up just now" if behind else ""
        memories = pluralize(index.documents, "memory", "memories")
        findings.good(f"index of {memories} in {pluralize(index.segments, 'segment')}{remark}")
    if index.segments > MAX_SEGMENTS:
        findings.note(f"{index.segments} segments slow the hook; run `subcog doctor --fix`")


def _check_background_jobs(home: Home, settings: loading.Settings, findings: Findings) -> None:
    record = job_record.read_record(home)
    is_at_work = is_held(home.jobs_lock)
    for job in job_list.JOBS:
        if not job.is_wanted(settings):
            continue
        last = record.runs.get(job.name)
        if last is None:
            if job.is_due(home) and not is_at_work:
                findings.note(f"at rest, {job.name}: not run yet; it starts with the next session or command")
            continue
        if last.outcome in (PUT_OFF, UNFINISHED) and not job.is_due(home):
            continue  # A command has done the work since.
        message = f"at rest, {job.name}: {safe(last.result)} ({lookup.local_time(last.ended_ms)}, {last.took_ms / 1000:.1f} s)"
        if last.outcome == DONE:
            findings.good(message)
        else:
            findings.note(f"{message}; {last.outcome}, {background_jobs.describe_next(job, last)}")
    if is_at_work:
        findings.good("at rest: a process is at work now")


def _check_models(home: Home, store: Store, findings: Findings) -> None:
    for path in models.altered_files():
        findings.bad(f"{path} is not as it was installed; reinstall subcog", EXIT_MODEL)
    settings = loading.load(home)
    try:
        models.chosen_space(home, settings)
    except ModelError as error:
        findings.bad(str(error), EXIT_MODEL)
    for space in spaces.spaces_in_use(home, settings):
        try:
            models.verify_model(space)
            findings.good(f"model {space.model} ({space.name})")
        except ModelError as error:
            findings.bad(str(error), EXIT_MODEL)
        _check_vectors(home, store, space, findings)
    if failure := background.last_failure(home):
        findings.note(f"the last process that embedded ended early: {failure}")


def _check_vectors(home: Home, store: Store, space: Space, findings: Findings) -> None:
    """Check a space's vectors, brought up to date first, and report pending work."""
    remark = ""
    try:
        with VectorStore.reader(home, space.name, space.dimension) as vectors:
            remark = ", caught up just now" if vectors.watermark() < store.revision() else ""
    except StoreError as error:
        remark = ", made anew just now"
        if not isinstance(error, ExtensionMissing):
            terminal.say(error.message)
    try:
        with context.vectors_of(store, space) as vectors:
            problems = vectors.problems()
            is_behind = vectors.watermark() < store.revision()
            final, pending = vectors.counts()
            if pending and not problems and not is_behind and (embedded := embedding.embed_briefly(store, space)):
                remark = f"{remark}, {embedded} embedded just now"
                final, pending = vectors.counts()
    except (ExtensionMissing, StoreBusy) as error:
        findings.note(str(error))
        return
    except (StoreError, ModelError) as error:
        findings.bad(str(error), error.exit_code)
        return
    for problem in problems:
        findings.bad(f"{vectors.path}: {problem}; run `subcog doctor --fix`")
    stored = sum(count for status, count in store.counts().items() if status != "deleted")
    name = f"vectors ({space.name})"
    if is_behind:
        findings.note(f"{name}: being brought up to date by another process")
    elif final + pending != stored:
        memories = pluralize(stored, "memory", "memories")
        findings.bad(f"{name}: {final + pending} for {memories} of the store; run `subcog doctor --fix`")
    elif not pending:
        findings.good(f"{name}: {final} final{remark}")
    elif is_held(catch_up.lock_of(home, space)):
        findings.good(f"{name}: {final} final, {pending} pending, being embedded now{remark}")
    else:
        is_left = background.is_enabled(loading.load(home)) and detached.may_start()
        next_step = "the next session or writing command" if is_left else "`subcog doctor --fix`"
        if is_held(home.jobs_lock):
            next_step = "the process at rest"
        findings.note(f"{name}: {final} final, {pending} pending; {next_step} goes on with it{remark}")


def _check_stale_files(store: Store, findings: Findings) -> None:
    project = context.here()
    stale = stale_files.find_stale(store, project) if project else None
    if stale is None:
        return
    if stale.gone:
        ids = [memory.id for memory in stale.gone]
        more = f" and {len(ids) - MAX_NAMED_IDS} more" if len(ids) > MAX_NAMED_IDS else ""
        subject = pluralize(len(ids), "memory is stale: no file matches its", "memories are stale: no file matches their")
        findings.note(
            f"{subject} paths, {' '.join(ids[:MAX_NAMED_IDS])}{more}; `subcog edit ID --path GLOB`, or `subcog forget ID`"
        )
    if stale.unknown:
        reason = f"more than {stale_files.MAX_ENTRIES:,} files and folders are here"
        findings.note(f"{reason}, so {stale.unknown} more that may be stale were not checked")


def _check_namesakes(store: Store, findings: Findings) -> None:
    here = context.here()
    for name in namesakes.find_namesakes(store, here) if here and not findings.is_collected else ():  # a report names nothing
        count = store.count(Filter(audiences=(audience_of("project", name),)))
        command = f"subcog edit $(subcog list --ids -n {count} --project {shlex.quote(name)}) --project here"
        findings.note(
            f"{name} may be this project, too, and has {pluralize(count, 'memory', 'memories')}; `{command}` moves all here"
        )


def _check_flags(store: Store, findings: Findings) -> None:
    if findings.is_collected:  # a report names nothing
        return
    audiences = (*audiences_of(), *(audience_of("project", name) for name in store.projects()))
    conditions: dict[str, object] = {}
    for _, when in store.conditional(audiences, MAX_JUDGED):
        conditions |= when
    warn_about_unset(conditions, findings.note)


def _check_state(home: Home, findings: Findings) -> None:
    if not os.path.exists(home.state_db):
        return
    aside: list[str] = []
    try:
        state = State.open(home, context.STATE_WAIT_MS, aside.append)
        damaged = bool(state.problems())
        if not damaged:
            state.begin()  # a process that holds the lock keeps every hook silent
            state.commit()
        paused = not damaged and state_values.is_paused(state, now_ms())
        state.close()
    except (StoreCorrupt, StoreTooNew) as error:
        put_aside(home)
        findings.note(f"{error.message}; {ASIDE}")
        return
    except StoreError as error:
        findings.bad(f"{error}; until then the hook hands over again what a session has had")
        return
    if aside:
        findings.note(aside[0])
    elif damaged:
        put_aside(home)
        findings.note(f"{home.state_db} was damaged; {ASIDE}")
    elif paused:
        findings.is_silenced = True
        findings.note("the hook is paused; `subcog resume` ends it")
    else:
        findings.good("state.db")


def _check_stops(home: Home, findings: Findings) -> None:
    try:
        stops.read_stops(home)
    except StoreError as error:
        findings.bad(f"no command is stopped: {error}")


def _check_cut_offs(home: Home, findings: Findings) -> None:
    cut_off = hook_traces.read_cut_offs(home, now_ms())
    if not cut_off:
        return
    decisions: list[Decision] = []
    with suppress(StoreError), context.existing_state(home) as state:  # `_check_state` has reported it
        if state:
            decisions = recorded_decisions.find_latest(state, decision_log.MAX_DECISIONS, since_ms=cut_off[-1].at_ms)
    total = len(cut_off) + len(decisions)
    were = "was" if len(cut_off) == 1 else "were"
    findings.note(f"{len(cut_off)} of the last {total} runs of the hook {were} cut off: this machine was busy")


def _check_settings(home: Home, findings: Findings) -> loading.Settings:
    project = context.here()
    settings = loading.load(home, project.root if project else None)
    for problem in settings.problems:
        findings.bad(problem, EXIT_CONFIG)
    for line in settings.ignored:
        findings.note(line)
    for switch in ("surfacing.enabled", "search_intent.enabled"):
        if not settings[switch]:
            findings.is_silenced = True
            findings.note(f"{switch} is false: the hook is silent")
    for switch, when in (
        ("surfacing.tools", "when a tool touches a file"),
        ("surfacing.session_start", "when a session begins"),
    ):
        if not settings[switch]:
            findings.note(f"{switch} is false: the hook is silent {when}")
    if not settings.problems:
        findings.good("settings")
    return settings


def _check_llm(home: Home, settings: loading.Settings, findings: Findings) -> bool:
    """Show which LLM classifies prompts, the source of its key, and whether its circuit is open.

    Return whether one is asked.
    """
    try:
        provider = providers.provider_of(settings, home)
    except ConfigError as error:
        findings.bad(str(error), EXIT_CONFIG)
        return False
    if provider is None:
        findings.good("no LLM: the words of a prompt alone decide what it asks for")
        return False
    origin = f"key from {settings['llm.key_file'] or providers.VARIABLES[provider.name]}" if provider.key else "no key"
    name = f"LLM {provider.name}: {provider.model} at {provider.base_url}, {origin}"
    if not settings["search_intent.use_llm"]:
        findings.note(f"{name}; not asked, search_intent.use_llm is false")
        return False
    if seconds := _open_circuit_s(home, provider):
        findings.note(f"{name}; it failed too often, and is not asked for {seconds:.0f} s more")
    else:
        findings.good(name)
    return True


def _check_background_llm(home: Home, settings: loading.Settings, findings: Findings) -> None:
    try:
        provider = providers.background_provider(settings, home)
    except ConfigError as error:
        findings.bad(str(error), EXIT_CONFIG)
        return
    if provider is None:
        return
    name = f"LLM at rest {provider.name}: {safe(provider.model)} at {safe(provider.base_url)}"
    calls = f"{_count_calls_today(home)} of {settings['llm.calls_a_day']} calls today"
    senders = "`subcog enrich`, `search --rank` and second looks"
    if settings["llm.enrich"]:
        senders += ", and by llm.enrich what you store,"
    typed = "; by llm.learn it is sent what you type in sessions" if settings[LLM_LEARNS] else ""
    with suppress(StoreError):
        calls = "; ".join((calls, *llm_use.describe_calls(home)))
    findings.good(f"{name}; {senders} send it the texts of memories{typed}; {calls}")


def _check_left_processes(findings: Findings) -> None:
    from subcog_hooks.cli.jobs.machine import find_leftover_processes  # psutil takes 20 ms to load

    for process in find_leftover_processes():
        description = f"process {process.number} ({safe(process.name)}) was started by a client that was asked as a model"
        findings.note(f"{description}, and has outlived it; end it if it is of no use")


def _check_second_looks(home: Home, settings: loading.Settings, findings: Findings) -> None:
    if settings[SECOND_LOOK] == NEVER:
        return
    try:
        with context.existing_state(home) as state:
            looks = recorded_decisions.find_latest(state, MAX_SECOND_LOOKS, event=decision_log.LOOK_EVENT) if state else []
            lost_count = second_looks.count_lost_looks(state, now_ms()) if state else 0
    except StoreError:
        return  # `_check_state` has reported it
    failed = [look for look in looks if look.outcome == FAILED]
    if failed:
        findings.note(
            f"{len(failed)} of the last {pluralize(len(looks), 'second look')} failed, the last: {safe(failed[0].reason)}"
        )
    if lost_count:
        findings.note(f"{lost_count} of the last second looks were killed, or cut off after {second_looks.LOOK_MS // 1000} s")


def _count_calls_today(home: Home) -> int:
    with suppress(StoreError), context.existing_state(home) as state:
        return state_values.llm_calls_today(state, now_ms()) if state else 0
    return 0


def _open_circuit_s(home: Home, provider: providers.Provider) -> float:
    """Return the seconds until an LLM may be asked again; 0.0 if it may now, or if state.db is unreadable."""
    until, now = None, now_ms()
    with suppress(StoreError), context.existing_state(home) as state:
        until = breaker.open_until(state, provider.identity) if state else None
    return (until - now) / 1000 if until is not None and breaker.is_open(until, now) else 0.0


def _last_activity(client: str) -> int | None:
    with suppress(StoreError), context.existing_state(context.home()) as state:
        return sessions.last_activity(state, client) if state else None
    return None


def _check_registration(findings: Findings) -> list[str] | None:
    look = registration.inspect_registration()
    for remark in (*look.remarks, *client_settings.inspect_clients(_last_activity)):
        if remark.kind == registration.BAD:
            findings.bad(remark.text, EXIT_CONFIG)
        elif remark.kind == registration.NOTE:
            findings.note(remark.text)
        else:
            findings.good(remark.text)
    return look.command


def _make_trial_prompt(store: Store) -> str | None:
    project = context.here()
    newest = store.select(Filter(audiences=audiences_of(*project.names) if project else audiences_of()), 1)
    return f"What did we decide about this: {' '.join(newest[0].content.split()[:PROMPT_WORDS])}?" if newest else None


def _try_hook(command: list[str], prompt: str, findings: Findings, *, has_llm: bool) -> bool:
    """Run the hook as the client would, and print its answer. Return whether it spoke.

    The payload is a line of JSON on stdin. No LLM is asked: a check sends nothing anywhere.
    """
    session = {"session_id": f"{TRIAL}{time.time_ns()}", "transcript_path": "", "cwd": os.getcwd()}
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
        findings.bad(
            f"the hook ended with {completed.returncode}: {completed.stderr.decode('utf-8', 'replace')[:300]}", EXIT_CONFIG
        )
    findings.good(f"hook ran in {took_ms:.0f} ms on {prompt[:70]!r}" + (", without the LLM" if has_llm else ""))
    if findings.is_collected:
        return bool(completed.stdout)
    terminal.say("its answer:" if completed.stdout else "it printed nothing")
    answer = json.loads(completed.stdout or b"{}").get("hookSpecificOutput", {}).get("additionalContext")
    if answer and terminal.is_drawn:
        terminal.result(answer)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(completed.stdout)
    return bool(completed.stdout)


def _explain_silence(home: Home, prompt: str) -> None:
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
        decision = decide_dry(DryPrompt(prompt), home, project, settings, state, Deadline(RECALL_MS))
        terminal.say(f"reason: {lookup.sentence(decision).removeprefix('silent: ')}")
        nearest = decision.candidates[:MAX_NEAREST]
        memories = store.by_ids([candidate.id for candidate in nearest])
        for candidate in nearest:
            content = memories[candidate.id].content if candidate.id in memories else ""
            terminal.say(f"  {candidate.relevance:.2f}  {candidate.id}  {safe(content)[:80]}")
