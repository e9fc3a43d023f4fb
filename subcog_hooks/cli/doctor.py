"""`subcog doctor`: is everything as it should be, and what would the model see."""

import json
import os
import subprocess
import sys
import time
from typing import Annotated

import typer

from subcog_hooks.cli import at_rest
from subcog_hooks.cli.claude_code import client, registration
from subcog_hooks.cli.decisions import lookup
from subcog_hooks.cli.jobs import background_jobs
from subcog_hooks.cli.support import context, editor, stale_files, trial_folders
from subcog_hooks.cli.support.output import counted, safe, terminal
from subcog_hooks.core import log
from subcog_hooks.core.accepted_homes import is_accepted_home, is_inside
from subcog_hooks.core.control_characters import escape_controls
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
from subcog_hooks.core.paths import Home, is_open_to_others
from subcog_hooks.embed import background, catch_up, models, spaces
from subcog_hooks.embed.space import Space
from subcog_hooks.hook import detached
from subcog_hooks.hook.dry_run import DryPrompt, decide_dry
from subcog_hooks.hook.payload import TRIAL
from subcog_hooks.llm import breaker, providers
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import LLM_LEARNS, NEVER, SECOND_LOOK
from subcog_hooks.store import decision_log, hook_traces, index_sync, job_record, second_looks, state_values
from subcog_hooks.store.decision import FAILED, Decision
from subcog_hooks.store.index import MAX_SEGMENTS, IndexUnusable, LexicalIndex
from subcog_hooks.store.job_record import DONE
from subcog_hooks.store.lock import is_held
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.state import ASIDE, State, put_aside
from subcog_hooks.store.store import Filter, Store, audiences_of
from subcog_hooks.store.vector_file import ExtensionMissing
from subcog_hooks.store.vector_store import VectorStore

PROMPT_WORDS = 40  # of the newest memory, for the trial prompt
RECALL_MS = 10_000.0  # nobody waits for a prompt here
NEAREST = 3  # memories that are named when the hook is silent
MAX_NAMED_IDS = 10  # memories whose files are gone that are named
WAIT_MS = 2_000
LAST_LOOKS = 20  # second looks of which is said that they failed
NO_LLM_NOW = "SUBCOG_SEARCH_INTENT_USE_LLM"
_GOOD, _WARNING, _BAD = "ok", "note", "BAD"


class Findings:
    """The findings of `doctor`: prints each as it comes, and remembers the worst."""

    __slots__ = ("exit_code", "is_silenced")

    def __init__(self) -> None:
        self.exit_code = 0
        self.is_silenced = False  # by a pause or a setting: then the prompt is not the reason

    def good(self, what: str) -> None:
        self._line(_GOOD, "green", what)

    def note(self, what: str) -> None:
        self._line(_WARNING, "yellow", what)

    def bad(self, what: str, exit_code: int = EXIT_STORE) -> None:
        self.exit_code = self.exit_code or exit_code
        self._line(_BAD, "red", what)

    def _line(self, word: str, style: str, what: str) -> None:
        terminal.pieces((f"{word:>4}", style), ("  " + escape_controls(what), ""))


def register(app: typer.Typer) -> None:
    app.command()(doctor)


def doctor(
    prompt: Annotated[
        str | None, typer.Option("--prompt", metavar="PROMPT", help="Show the hook's answer to this prompt.")
    ] = None,
    memories: Annotated[
        bool,
        typer.Option("--memories", help="Look at the memories instead, and name each that could be tidied up, with a command."),
    ] = False,
) -> None:
    """Check the store, the index, models, permissions, settings and the hook, and show the hook's answer to a prompt.

    With --memories it names memories that say the same, contradict each other, have expired, are about files that are gone,
    were not used for a year, or stand in a file that the client loads anyway. Nothing is changed.

    The exit code is 3 when the store is damaged, 4 when a setting is wrong, and 5 when an embedding model is.

    Example: subcog doctor --prompt "how do we log in?"
    """
    if memories:
        if prompt:
            raise UsageError("--memories and --prompt exclude each other", "give one of them")
        from subcog_hooks.cli.support import inventory  # which compares all memories: the rest of `doctor` does not

        inventory.tell_findings()
        return
    findings = Findings()
    home = context.home()
    _home(home, findings)
    _left_texts(home, findings)
    store = _store(home, findings)
    if store is not None:
        with store:
            _index(home, store, findings)
            _embedding(home, store, findings)
            _files(store, findings)
            trial = prompt or _trial_prompt(store)
    else:
        trial = prompt
    _state(home, findings)
    _cut_offs(home, findings)
    settings = _settings(home, findings)
    _work_at_rest(home, settings, findings)
    has_llm = _llm(home, settings, findings)
    _llm_at_rest(home, settings, findings)
    _left_processes(findings)
    _second_looks(home, settings, findings)
    command = _registration(findings)
    if trial:
        spoke = _try_hook(command or client.executable(), trial, findings, has_llm=has_llm)
        if not spoke and not findings.is_silenced:
            _explain(home, trial)
    else:
        terminal.say('no prompt to try: `subcog doctor --prompt "…"` runs the hook')
    if os.path.exists(log.path(home)):
        terminal.say(f"the hooks' log is {log.path(home)}")
    if findings.exit_code:
        raise typer.Exit(findings.exit_code)


def _home(home: Home, findings: Findings) -> None:
    at = context.here()
    if at is not None and is_inside(home.root, at.root) and not is_accepted_home(home.root):
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


def _left_texts(home: Home, findings: Findings) -> None:
    """Name the copies of memories that lie in the home beside the store, and remove the leftovers of killed trials."""
    if removed := trial_folders.remove_left(home):
        findings.note(f"{counted(removed, 'copy', 'copies')} of the store, left by killed trials: removed just now")
    for folder, is_at_work in trial_folders.find_folders(home).items():
        if is_at_work:
            findings.good(f"a trial is under way on a copy of the store, {folder}")
        else:
            findings.note(f"{folder} is a copy of the store that a killed trial has left, and cannot be removed; delete it")
    if edits := editor.find_left(home):
        texts = counted(len(edits), "memory is", "memories are")
        findings.note(f"the texts of {texts} in {home.edits}: of edits under way, or that failed; delete those you do not need")


def _store(home: Home, findings: Findings) -> Store | None:
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


def _index(home: Home, store: Store, findings: Findings) -> None:
    try:
        index = LexicalIndex.open(home)
        behind = index.watermark() < store.revision()
        foreign = not store.has_revision(index.watermark())
    except StoreError as error:
        behind, foreign = True, False
        terminal.say(error.message)
    try:
        index = context.index_of(store)
        index.check()
    except IndexUnusable as error:
        terminal.say(error.message)
        index, foreign = index_sync.rebuild(home, store), True
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


def _work_at_rest(home: Home, settings: loading.Settings, findings: Findings) -> None:
    """Tell what came of the last run of each job at rest that is wanted, one line each."""
    record = job_record.read(home)
    for job in at_rest.JOBS:
        if not job.is_wanted(settings):
            continue
        last = record.runs.get(job.name)
        if last is None:
            if job.every_s or job.is_due(home):
                findings.note(f"at rest, {job.name}: no session has begun and no command has ended since it is wanted")
            continue
        said = f"at rest, {job.name}: {safe(last.told)} ({lookup.moment(last.at)}, {last.took_ms / 1000:.1f} s)"
        if last.outcome == DONE:
            findings.good(said)
        else:
            findings.note(f"{said}; {last.outcome}, {background_jobs.describe_next(job, last)}")
    if is_held(home.at_rest_lock):
        findings.good("at rest: a process is at work now")


def _embedding(home: Home, store: Store, findings: Findings) -> None:
    """Check the models, and the vectors of their spaces."""
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
        _vectors(home, store, space, findings)
    if failure := background.last_failure(home):
        findings.note(f"the last process that embedded ended early: {failure}")


def _vectors(home: Home, store: Store, space: Space, findings: Findings) -> None:
    """Check a space's vectors, caught up as the index is, and say who is at work on them."""
    was = ""
    try:
        with VectorStore.reader(home, space.name, space.dimension) as vectors:
            was = ", caught up just now" if vectors.watermark() < store.revision() else ""
    except StoreError as error:
        was = ", made anew just now"
        if not isinstance(error, ExtensionMissing):
            terminal.say(error.message)
    try:
        with context.vectors_of(store, space) as vectors:
            problems = vectors.problems()
            is_behind = vectors.watermark() < store.revision()
            final, pending = vectors.counts()
    except (ExtensionMissing, StoreBusy) as error:
        findings.note(str(error))
        return
    except (StoreError, ModelError) as error:
        findings.bad(str(error), error.exit_code)
        return
    for problem in problems:
        findings.bad(f"{vectors.path}: {problem}; run `subcog reindex`")
    kept = sum(count for status, count in store.counts().items() if status != "deleted")
    name = f"vectors ({space.name})"
    if is_behind:
        findings.note(f"{name}: being brought up to date by another process")
    elif final + pending != kept:
        findings.bad(f"{name}: of {final + pending} memories, the store has {kept}; run `subcog reindex`")
    elif not pending:
        findings.good(f"{name}: {final} final{was}")
    elif is_held(catch_up.lock_of(home, space)):
        findings.good(f"{name}: {final} final, {pending} pending, being embedded now{was}")
    else:
        is_left = background.is_enabled(loading.load(home)) and detached.may_start()
        by = "the next session or writing command" if is_left else "`subcog reindex`"
        findings.note(f"{name}: {final} final, {pending} pending; {by} goes on with it{was}")


def _files(store: Store, findings: Findings) -> None:
    """Name the memories of this project whose files are gone: nothing that the agent touches brings them any more."""
    at = context.here()
    found = stale_files.find(store, at) if at else None
    if found is None:
        return
    if found.gone:
        ids = [memory.id for memory in found.gone]
        more = f" and {len(ids) - MAX_NAMED_IDS} more" if len(ids) > MAX_NAMED_IDS else ""
        what = (
            "1 memory is stale: no file matches its"
            if len(ids) == 1
            else f"{len(ids)} memories are stale: no file matches their"
        )
        findings.note(
            f"{what} paths, {' '.join(ids[:MAX_NAMED_IDS])}{more}; `subcog edit ID --path GLOB`, or `subcog forget ID`"
        )
    if found.unknown:
        many = f"more than {stale_files.MAX_ENTRIES:,} files and folders are here"
        findings.note(f"{many}: whether {found.unknown} more {'is' if found.unknown == 1 else 'are'} stale is not known")


def _state(home: Home, findings: Findings) -> None:
    if not os.path.exists(home.state_db):
        return
    aside: list[str] = []
    try:
        state = State.open(home, WAIT_MS, aside.append)
        damaged = bool(state.problems())
        if not damaged:
            state.begin()  # whoever holds the lock keeps every hook silent
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


def _cut_offs(home: Home, findings: Findings) -> None:
    """Name the runs that were cut off, among the latest that are known of."""
    cut_off = hook_traces.read_cut_offs(home, now_ms())
    if not cut_off:
        return
    kept: list[Decision] = []
    if os.path.exists(home.state_db):
        try:
            state = State.open(home, WAIT_MS)
            kept = decision_log.latest(state, decision_log.MAX_DECISIONS, since_ms=cut_off[-1].at)
            state.close()
        except StoreError:
            pass  # state.db has been looked at
    known = len(cut_off) + len(kept)
    were = "was" if len(cut_off) == 1 else "were"
    findings.note(f"{len(cut_off)} of the last {known} runs of the hook {were} cut off: this machine was busy")


def _settings(home: Home, findings: Findings) -> loading.Settings:
    at = context.here()
    settings = loading.load(home, at.root if at else None)
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


def _llm(home: Home, settings: loading.Settings, findings: Findings) -> bool:
    """Say which LLM helps to tell what a prompt asks for, where its key is from, and whether it rests.

    Return whether one is asked.
    """
    try:
        provider = providers.provider_of(settings, home)
    except ConfigError as error:
        findings.bad(str(error), EXIT_CONFIG)
        return False
    if provider is None:
        findings.good("no LLM; what a prompt asks for is told from its words alone")
        return False
    origin = f"key from {settings['llm.key_file'] or providers.VARIABLES[provider.name]}" if provider.key else "no key"
    name = f"LLM {provider.name}: {provider.model} at {provider.base_url}, {origin}"
    if not settings["search_intent.use_llm"]:
        findings.note(f"{name}; not asked, search_intent.use_llm is false")
        return False
    if seconds := _rest(home, provider):
        findings.note(f"{name}; it failed too often and is left alone for {seconds:.0f} s more")
    else:
        findings.good(name)
    return True


def _llm_at_rest(home: Home, settings: loading.Settings, findings: Findings) -> None:
    """Say which LLM is asked at rest, what it is sent, and how often it was asked today."""
    try:
        provider = providers.background_provider(settings, home)
    except ConfigError as error:
        findings.bad(str(error), EXIT_CONFIG)
        return
    if provider is None:
        return
    who = f"LLM at rest {provider.name}: {safe(provider.model)} at {safe(provider.base_url)}"
    calls = f"{_calls_today(home)} of {settings['llm.calls_a_day']} calls today"
    senders = "`subcog enrich`, `search --rank` and second looks"
    if settings["llm.enrich"]:
        senders += ", and by llm.enrich what you store,"
    typed = "; by llm.learn it is sent what you type in sessions" if settings[LLM_LEARNS] else ""
    findings.good(f"{who}; {senders} send it the texts of memories{typed}; {calls}")


def _left_processes(findings: Findings) -> None:
    """Name the processes that a client asked as a model has started, and that have not ended with it."""
    from subcog_hooks.cli.jobs.machine import find_left_processes  # psutil: 20 ms, for this alone

    for process in find_left_processes():
        what = f"process {process.number} ({safe(process.name)}) was started by a client that was asked as a model"
        findings.note(f"{what}, and has outlived it; end it if it is of no use")


def _second_looks(home: Home, settings: loading.Settings, findings: Findings) -> None:
    """Say that second looks fail, or are cut off, where the last ones did."""
    if settings[SECOND_LOOK] == NEVER or not os.path.exists(home.state_db):
        return
    try:
        state = State.open(home, WAIT_MS)
        taken = decision_log.latest(state, LAST_LOOKS, event=decision_log.LOOK_EVENT)
        lost = second_looks.count_lost(state, now_ms())
        state.close()
    except StoreError:
        return  # told above
    failed = [look for look in taken if look.outcome == FAILED]
    if failed:
        findings.note(f"{len(failed)} of the last {len(taken)} second looks failed, the last one: {safe(failed[0].reason)}")
    if lost:
        findings.note(f"{lost} of the last second looks were killed, or cut off after {second_looks.LOOK_MS // 1000} s")


def _calls_today(home: Home) -> int:
    if not os.path.exists(home.state_db):
        return 0
    try:
        state = State.open(home, WAIT_MS)
        made = state_values.llm_calls_today(state, now_ms())
        state.close()
    except StoreError:
        return 0
    return made


def _rest(home: Home, provider: providers.Provider) -> float:
    """Return the seconds that an LLM is still left alone; 0.0 when it is not, or when state.db can not say."""
    if not os.path.exists(home.state_db):
        return 0.0
    try:
        state = State.open(home, WAIT_MS)
        until = breaker.open_until(state, provider.identity)
        state.close()
    except StoreError:
        return 0.0
    now = now_ms()
    return (until - now) / 1000 if until is not None and breaker.is_open(until, now) else 0.0


def _registration(findings: Findings) -> list[str] | None:
    """Say who runs the hook. Return the command that the user's own settings name, None when they name none that is there."""
    found = registration.look()
    for remark in found.remarks:
        if remark.kind == registration.BAD:
            findings.bad(remark.text, EXIT_CONFIG)
        elif remark.kind == registration.NOTE:
            findings.note(remark.text)
        else:
            findings.good(remark.text)
    return found.command


def _trial_prompt(store: Store) -> str | None:
    """Return a question about the newest memory that is handed over here."""
    at = context.here()
    newest = store.select(Filter(audiences=audiences_of(*at.names) if at else audiences_of()), 1)
    return f"What did we decide about this: {' '.join(newest[0].content.split()[:PROMPT_WORDS])}?" if newest else None


def _try_hook(command: list[str], prompt: str, findings: Findings, *, has_llm: bool) -> bool:
    """Run the hook as the client would: a JSON payload and a line end on stdin, the answer on stdout. Whether it spoke.

    Without the LLM: looking whether everything is in order sends nothing anywhere.
    """
    payload = {
        "session_id": f"{TRIAL}{time.time_ns()}",
        "transcript_path": "",
        "cwd": os.getcwd(),
        "permission_mode": "default",
        "hook_event_name": "UserPromptSubmit",
        "prompt": prompt,
    }
    started = time.perf_counter()
    try:
        done = subprocess.run(
            [*command, "hook"],
            input=json.dumps(payload).encode() + b"\n",
            env={**os.environ, NO_LLM_NOW: "0"},
            capture_output=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        findings.bad(f"the hook can not be run: {error}", EXIT_CONFIG)
        return False
    took = (time.perf_counter() - started) * 1000
    if done.returncode or done.stderr:
        findings.bad(f"the hook ended with {done.returncode}: {done.stderr.decode('utf-8', 'replace')[:300]}", EXIT_CONFIG)
    findings.good(f"hook ran in {took:.0f} ms on {prompt[:70]!r}" + (", without the LLM" if has_llm else ""))
    terminal.say("its exact output:" if done.stdout else "it printed nothing")
    sys.stdout.flush()
    sys.stdout.buffer.write(done.stdout)
    return bool(done.stdout)


def _explain(home: Home, prompt: str) -> None:
    """Say why the hook is silent on a prompt: what it would decide now, and the memories that came nearest."""
    at = context.here()
    if not context.has_store(home):
        terminal.say("reason: there are no memories")
        return
    if not os.path.exists(home.state_db):
        terminal.say(f"reason: not known, {home.state_db} is not there: the hook did not get as far as the memories")
        return
    with context.reading() as store, lookup.opened() as state:
        if store is None:
            return
        context.index_of(store)
        settings = loading.load(home, at.root if at else None)
        decision = decide_dry(DryPrompt(prompt), home, at, settings, state, Deadline(RECALL_MS))
        terminal.say(f"reason: {lookup.sentence(decision).removeprefix('silent: ')}")
        nearest = decision.candidates[:NEAREST]
        memories = store.by_ids([candidate.id for candidate in nearest])
        for candidate in nearest:
            content = memories[candidate.id].content if candidate.id in memories else ""
            terminal.say(f"  {candidate.relevance:.2f}  {candidate.id}  {safe(content)[:80]}")
