"""Background jobs while the machine idles: the list of them, their pace, runs and records, and `subcog at-rest`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from importlib import import_module
from typing import NamedTuple

from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import pluralize
from subcog_hooks.core import log
from subcog_hooks.core.deadline import Pace
from subcog_hooks.core.errors import StoreBusy, StoreError, SubcogError
from subcog_hooks.core.paths import Home
from subcog_hooks.embed import catch_up
from subcog_hooks.hook import detached
from subcog_hooks.hook.detached import BACKGROUND_COMMAND
from subcog_hooks.settings import defaults, loading
from subcog_hooks.settings.defaults import Settings
from subcog_hooks.store import home_files, learned
from subcog_hooks.store.home_files import DONE, PUT_OFF, RUN_FAILED, UNFINISHED, JobRecord, LastRun, ProcessLock, is_held
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store

QUIET_S = 1.0  # after the last hook, before work continues
POLL_S = 0.05
MAX_PAUSE_S, UNIT_S = 30.0, 0.25  # After the longest pause one unit is done, even if hooks keep coming.
CHECK_EVERY_S = 5.0  # between checks of the settings
NOTHING_NEW = "nothing new"
WAIT_S = 600.0  # before a job that failed, or was put off, is tried again
DUE_CHECK_WAIT_MS = 50.0
TEN_MINUTES_S, HOUR_S = 600.0, 3_600.0


class JobPace(Pace):
    """The pace of one run of a job. outcome: DONE, or PUT_OFF or UNFINISHED where it was ended early; why: the reason."""

    def __init__(self, home: Home, budget_s: float, is_wanted: Callable[[], bool]) -> None:
        """budget_s: seconds of work, without pauses."""
        self._home = home
        self._budget_s = budget_s
        self._is_wanted = is_wanted
        self._began = time.monotonic()
        self._checks_at = self._began  # time of the next check
        self._may_work_until = self._began  # as `time.monotonic` counts
        self._paused_s = 0.0
        self.outcome = DONE
        self.why = ""

    def goes_on(self, is_called_off: Callable[[], bool] = lambda: False) -> bool:
        """Return whether the job may go on, after a pause if hooks run. Called before each unit of at most UNIT_S."""
        if not self.why:
            self.pause(is_called_off)
            worked_s = time.monotonic() - self._began - self._paused_s
            if worked_s >= self._budget_s:
                self.outcome, self.why = UNFINISHED, f"its {self._budget_s / 60:.0f} minutes are over"
            elif time.monotonic() >= self._checks_at:
                self._checks_at = time.monotonic() + CHECK_EVERY_S
                if not self._is_wanted():
                    self.outcome, self.why = UNFINISHED, "it is not wanted any more"
        return not self.why

    def pause(self, is_called_off: Callable[[], bool] = lambda: False) -> None:
        """Wait until hooks have been quiet for QUIET_S, at most for MAX_PAUSE_S. It takes 5 µs without hooks."""
        began = time.monotonic()
        while time.monotonic() >= self._may_work_until:
            try:
                hook_ran_at = os.stat(self._home.jobs_lock).st_mtime
            except OSError:
                break
            if abs(time.time() - hook_ran_at) >= QUIET_S or is_called_off():
                break
            if time.monotonic() - began >= MAX_PAUSE_S:
                self._may_work_until = time.monotonic() + UNIT_S
                break
            time.sleep(POLL_S)
        self._paused_s += time.monotonic() - began

    def put_off(self, why: str) -> None:
        """End the job until a condition improves, such as the daily limit or an unreachable model."""
        self.outcome, self.why = PUT_OFF, why


class Job(NamedTuple):
    """A background job.

    name: shown to users at the start of a line; every_s: minimum seconds between runs, 0 for none; run: does the work at the
    pace, and returns a summary, "" for nothing done; is_wanted: whether the settings want it; is_due: a check of some
    milliseconds for work, which may raise StoreError; budget_s: seconds of work in a run, the next run continues.
    """

    name: str
    every_s: float
    run: Callable[[Home, JobPace], str]
    is_wanted: Callable[[Settings], bool] = lambda _: True
    is_due: Callable[[Home], bool] = lambda _: True
    budget_s: float = TEN_MINUTES_S


def start_if_due(home: Home, jobs: Sequence[Job]) -> bool:
    """Start the background process when a job is due and none runs. Return whether it was started.

    Called at the end of a command, never in a hook. Failures go to the log, and the next command tries again.
    """
    if not detached.may_start():
        return False
    try:
        if not find_due(home, jobs) or is_held(home.jobs_lock):
            return False
        detached.start_process(home, [BACKGROUND_COMMAND])
    except (SubcogError, OSError, ValueError) as error:
        log.write_line(home, f"the work at rest was not started: {error}")
        return False
    return True


def find_due(home: Home, jobs: Sequence[Job], taken: AbstractSet[str] = frozenset()) -> list[Job]:
    """Return the jobs that are wanted and due now. taken: names of jobs left to another process."""
    settings, record = loading.load(home), home_files.read_record(home)
    due = []
    for job in jobs:
        last = record.runs.get(job.name)
        # A time in the future comes from a clock that was put back.
        is_over = last is None or not 0 <= now_ms() - last.ended_ms < wait_s(job, last) * 1000
        if job.name not in taken and job.is_wanted(settings) and is_over and has_work(job, home):
            due.append(job)
    return due


def has_work(job: Job, home: Home) -> bool:
    """Return whether there may be work for a job now, whenever its last run was."""
    try:
        return job.is_due(home)
    except StoreBusy:  # It cannot tell. Nobody else would start the job once the other process ends.
        return True
    except StoreError:
        return False


def wait_s(job: Job, last: LastRun) -> float:
    """Return the seconds from a job's last run until it is due again."""
    if last.outcome == UNFINISHED:
        return 0.0
    if last.outcome == PUT_OFF:
        return WAIT_S
    return max(job.every_s, WAIT_S) if last.outcome == RUN_FAILED else job.every_s


def run_due_jobs(home: Home, jobs: Sequence[Job]) -> None:
    """Run due jobs until none is left, unless another process does. Raises StoreError where the home is not usable.

    A command that finds this process running starts no second one. So the jobs are checked again after the lock is released.
    """
    detached.lower_priority(wholly=not os.environ.get(detached.SWITCH_OFF))
    taken: set[str] = set()
    while True:
        try:
            with ProcessLock(home.jobs_lock, 0, "working at rest"):
                for job in jobs:
                    if find_due(home, [job], taken):
                        last = _run_job(home, job)
                        record = home_files.read_record(home)
                        record.runs[job.name] = last
                        is_recorded = home_files.write_record(home, record)  # otherwise the job stays due
                        # A job without work now is not left: a command may bring it some while the other jobs run.
                        is_vain = last.result == NOTHING_NEW and has_work(job, home)
                        if last.outcome != DONE or is_vain or not is_recorded:
                            taken.add(job.name)  # Left to another process.
                _record_end(home, jobs)
        except StoreBusy:
            return  # The other process finds the due jobs.
        if not find_due(home, jobs, taken):
            return


def _run_job(home: Home, job: Job) -> LastRun:
    pace = JobPace(home, job.budget_s, lambda: job.is_wanted(loading.load(home)))
    began = time.monotonic()
    record = home_files.read_record(home)
    # The next session continues it if this process is killed.
    record.next_at, record.settings = home_files.UNDER_WAY, home_files.find_settings_time(home)
    home_files.write_record(home, record)
    try:
        message = job.run(home, pace) if pace.goes_on() else ""
        outcome = pace.outcome
    except Exception as error:  # noqa: BLE001 - nobody sees this process, but `doctor` reports the error
        message = str(error) if isinstance(error, SubcogError) else f"an internal error: {type(error).__name__}"
        outcome = RUN_FAILED
        log.write_line(home, f"{job.name} failed at rest: {message}")
    message = "; ".join(filter(None, (message, pace.why if outcome != RUN_FAILED else ""))) or NOTHING_NEW
    return LastRun(now_ms(), round((time.monotonic() - began) * 1000), outcome, message)


def _record_end(home: Home, jobs: Sequence[Job]) -> None:
    """Record when a session has to start a job. A command that makes work for a job starts it."""
    settings_time = home_files.find_settings_time(home)
    settings, record, now = loading.load(home), home_files.read_record(home), now_ms()
    waits = [home_files.FARTHEST_S]
    for job in jobs:
        last = record.runs.get(job.name)
        if not job.is_wanted(settings):
            continue
        if last and (job.every_s or last.outcome != DONE):
            waits.append(max(0.0, (last.ended_ms - now) / 1000 + wait_s(job, last)))
        elif has_work(job, home):
            waits.append(WAIT_S if last else 0.0)
    home_files.write_record(home, JobRecord(record.runs, now + round(min(waits) * 1000), settings_time))


def describe_calls(home: Home) -> list[str]:
    """Return a line for each job that has asked a model today. Raises StoreError."""
    from subcog_hooks.llm import ask  # few commands show the calls

    with context.existing_state(home) as state:
        uses = ask.find_llm_use(state, now_ms()) if state else []
    return [
        f"{use.job}: {pluralize(use.calls, 'call')}, {use.characters:,} characters, "
        f"the last at {time.strftime('%H:%M', time.localtime(use.last_ms / 1000))}"
        for use in uses
    ]


def has_due_lessons(home: Home) -> bool:
    """Return whether openings may teach, or questions learned from prompts have to be checked again. Raises StoreError."""
    with context.existing_state(home, DUE_CHECK_WAIT_MS) as state:
        if state is None or learned.is_teaching_due(state, now_ms()):
            return state is not None
        if state.run("SELECT 1 FROM due_times WHERE task = 'teaching'"):  # An earlier state may have been deleted.
            return False
        if os.path.exists(home.memories_db):
            with Store.reader(home) as store:
                if store.with_recorded_questions():  # Their state is gone.
                    return True
        learned.take_teaching(state, now_ms())  # all memories were checked, once for this state
    return False


def has_unasked_changes(home: Home) -> bool:
    """Return whether the store has changed since a model was last asked about all memories. Raises StoreError."""
    if not os.path.exists(home.memories_db):
        return False
    with Store.reader(home) as store, State.open(home, DUE_CHECK_WAIT_MS) as state:
        return learned.find_progress(state).asked_revision != store.revision()


def has_old_proposals(home: Home) -> bool:
    """Return whether a proposal is so old that it is dropped where it still waits. Raises StoreError."""
    with context.existing_state(home, DUE_CHECK_WAIT_MS) as state:
        return state is not None and bool(learned.find_old_proposals(state, now_ms()))


def wants_model_proposals(settings: Settings) -> bool:
    """Return whether a model reads sessions in the background: it may, and its notes are wanted."""
    if settings[defaults.SESSIONS_SETTING] == defaults.NOT_LEARNED:
        return False
    may_read = bool(settings[defaults.LLM_LEARNS] and settings[defaults.AGENT_WORDS])
    return may_read and settings[defaults.BACKGROUND_LLM] != defaults.NO_LLM


def _run_later(name: str) -> Callable[[Home, JobPace], str]:
    """Return a function that imports a job's function of `cli` when it runs: a command that ends needs none of them."""
    module, _, function = name.rpartition(".")

    def run(home: Home, pace: JobPace) -> str:
        return str(getattr(import_module(f"subcog_hooks.cli.{module}"), function)(home, pace))

    return run


def _embed_memories(home: Home, pace: JobPace) -> str:
    count = catch_up.embed_all_pending([own for own in (home, home.sessions) if os.path.exists(own.memories_db)], pace)
    return f"{count:,} {'memory or question' if count == 1 else 'memories and questions'} embedded" if count else ""


def _is_on(*names: str) -> Callable[[Settings], bool]:
    """Return a check of whether all of these settings are on."""
    return lambda settings: all(settings[name] for name in names)


def _may_have_sessions(home: Home) -> bool:
    return os.path.exists(home.sessions.memories_db) or loading.load(home)[defaults.KEPT_SESSIONS] != defaults.NOT_READ


JOBS = (  # in the order of their runs: the last one embeds the memories that the others store
    Job(
        "Claude Code's notes",
        TEN_MINUTES_S,
        _run_later("import_from.import_notes_in_background"),
        _is_on(defaults.NOTES_SETTING),
    ),
    Job(
        "imports",
        TEN_MINUTES_S,
        _run_later("import_from.repeat_in_background"),
        is_due=lambda home: os.path.exists(home.imports),
    ),
    Job(
        "sessions",
        6 * HOUR_S,
        _run_later("proposals.learning_runs.learn_in_background"),
        lambda settings: settings[defaults.SESSIONS_SETTING] != defaults.NOT_LEARNED,
    ),
    Job("past sessions", 6 * HOUR_S, _run_later("proposals.learning_runs.follow_in_background"), is_due=_may_have_sessions),
    # After the job that needs no model: its proposals in the person's own words come first.
    Job(
        "sessions by a model",
        6 * HOUR_S,
        _run_later("proposals.asking.ask_in_background"),
        wants_model_proposals,
        budget_s=HOUR_S,
    ),
    Job("unanswered proposals", 6 * HOUR_S, _run_later("review.end_unwanted"), is_due=has_old_proposals),
    Job(
        "learned questions",
        learned.TEACH_EVERY_MS / 1000,
        _run_later("proposals.memory_questions.teach_in_background"),
        is_due=has_due_lessons,
        budget_s=60.0,
    ),
    Job(
        "questions by a model",
        0.0,
        _run_later("proposals.memory_questions.enrich_in_background"),
        lambda settings: bool(settings[defaults.ENRICH]) and settings[defaults.BACKGROUND_LLM] != defaults.NO_LLM,
        has_unasked_changes,
        HOUR_S,
    ),
    Job(
        "team",
        TEN_MINUTES_S,
        _run_later("team.sharing.synchronise_in_background"),
        _is_on(defaults.SHARE_URL, defaults.SHARE_IN_BACKGROUND),
    ),
    Job(
        "embedding",
        0.0,
        _embed_memories,
        _is_on("embedding.background"),
        lambda home: catch_up.is_embedding_due(home) or catch_up.is_embedding_due(home.sessions),
        HOUR_S,
    ),
)


def run_background_jobs() -> None:
    """Run background work. Sessions that begin and commands that end start it."""
    home = context.home()
    try:
        run_due_jobs(home, JOBS)
    except SubcogError as error:
        log.write_line(home, f"the work at rest failed: {error.message}")  # nobody sees the output of a detached process
        raise
