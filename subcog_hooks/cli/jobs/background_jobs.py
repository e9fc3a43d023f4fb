"""Runs background jobs one after the other while the machine idles, and records their runs and calls of a model."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import pluralize
from subcog_hooks.core import log
from subcog_hooks.core.deadline import Pace
from subcog_hooks.core.errors import StoreBusy, SubcogError
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import detached
from subcog_hooks.hook.detached import BACKGROUND_COMMAND
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import Settings
from subcog_hooks.store import home_files, state_values
from subcog_hooks.store.home_files import (
    DONE,
    PUT_OFF,
    RUN_FAILED,
    UNDER_WAY,
    UNFINISHED,
    JobRecord,
    LastRun,
    ProcessLock,
    is_held,
)
from subcog_hooks.store.memory import now_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.cli.jobs.machine import MachineStatus


QUIET_S = 1.0  # after the last hook, before work continues
POLL_S = 0.05
MAX_PAUSE_S, UNIT_S = 30.0, 0.25  # After the longest pause one unit is done, even if hooks keep coming.
CHECK_EVERY_S = 5.0  # between checks of the machine and the settings
MIN_BATTERY = 50  # per cent
MAX_LOAD = 1.5  # per core, by other processes
MAX_LOAD_WAIT_S = 600.0  # for the load to fall, for all jobs of a process together


class Clock:
    """The system's time; tests replace it."""

    def now_s(self) -> float:
        """Return the seconds since the epoch, comparable to the times of hooks."""
        return time.time()

    def ticks_s(self) -> float:
        """Return the seconds of a monotonic clock, for budgets and pauses."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


@dataclass(slots=True)
class BusyWait:
    """The remaining seconds that the jobs of one process may wait for the load to fall."""

    left_s: float = MAX_LOAD_WAIT_S


class JobPace(Pace):
    """The pace of one run of a job.

    outcome: DONE unless the run was ended early, then PUT_OFF or UNFINISHED; why: the reason for ending it.
    """

    def __init__(
        self,
        home: Home,
        budget_s: float,
        is_wanted: Callable[[], bool] = lambda: True,
        look: Callable[[], MachineStatus] | None = None,
        clock: Clock | None = None,
        busy_wait: BusyWait | None = None,
        light_s: float = 0.0,
    ) -> None:
        """budget_s: seconds of work, without pauses; look: measures the machine, None to ignore battery and load; busy_wait:
        shared with the other jobs, None for a wait of its own; light_s: seconds of work that no load puts off.
        """
        self._home = home
        self._budget_s = budget_s
        self._is_wanted = is_wanted
        self._look = look
        self._clock = clock or Clock()
        self._began = self._clock.ticks_s()
        self._looks_at = self._began  # time of the next check
        self._may_work_until = self._began  # in `ticks_s`
        self._paused_s = 0.0
        self._busy_wait = busy_wait or BusyWait()
        self._light_s = light_s
        self.outcome = DONE
        self.why = ""

    def goes_on(self, is_called_off: Callable[[], bool] = lambda: False) -> bool:
        """Return whether the job may go on, after a pause if hooks run. Called before each unit of at most UNIT_S."""
        if not self.why:
            self.pause(is_called_off)
            if self._worked_s() >= self._budget_s:
                self._end(UNFINISHED, f"its {_duration_text(self._budget_s)} are over")
            elif self._clock.ticks_s() >= self._looks_at:
                self._check_machine(is_called_off)
        return not self.why

    def pause(self, is_called_off: Callable[[], bool] = lambda: False) -> None:
        """Wait until hooks have been quiet for QUIET_S, at most for MAX_PAUSE_S. It takes 5 µs without hooks."""
        began = self._clock.ticks_s()
        while self._is_disturbed() and not is_called_off():
            if self._clock.ticks_s() - began >= MAX_PAUSE_S:
                self._may_work_until = self._clock.ticks_s() + UNIT_S
                break
            self._clock.sleep(POLL_S)
        self._paused_s += self._clock.ticks_s() - began

    def put_off(self, why: str) -> None:
        """End the job until a condition improves, such as the daily limit or an unreachable model."""
        self._end(PUT_OFF, why)

    def _worked_s(self) -> float:
        return self._clock.ticks_s() - self._began - self._paused_s

    def _is_disturbed(self) -> bool:
        if self._clock.ticks_s() < self._may_work_until:
            return False
        try:
            asked_at = os.stat(self._home.jobs_lock).st_mtime
        except OSError:
            return False
        return abs(self._clock.now_s() - asked_at) < QUIET_S

    def _check_machine(self, is_called_off: Callable[[], bool]) -> None:
        """End the job where the settings no longer want it, or the machine is busy for long."""
        if not self._is_wanted():
            self._end(UNFINISHED, "it is not wanted any more")
            return
        while self._look:
            status = self._look()
            if status.battery is not None and status.battery < MIN_BATTERY:
                self._end(PUT_OFF, f"the battery is at {status.battery:.0f} %")
                return
            if status.load <= MAX_LOAD * status.cores or is_called_off():
                break
            if self._worked_s() < self._light_s:
                self._looks_at = self._began + self._paused_s + self._light_s
                return
            if self._busy_wait.left_s <= 0.0:
                self._end(PUT_OFF, f"the load was {status.load:.1f} by others, on {status.cores} cores")
                return
            self._clock.sleep(CHECK_EVERY_S)
            self._busy_wait.left_s -= CHECK_EVERY_S
            self._paused_s += CHECK_EVERY_S
        self._looks_at = self._clock.ticks_s() + CHECK_EVERY_S

    def _end(self, outcome: str, why: str) -> None:
        self.outcome = outcome
        self.why = why


def _duration_text(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 60 else f"{seconds:.0f} seconds"


NOTHING_NEW = "nothing new"
WAIT_S = 600.0  # before a job that failed, or was put off, is tried again


class Job(NamedTuple):
    """A background job.

    name: shown to users at the start of a line; every_s: minimum seconds between runs, 0 for none; budget_s: seconds of work
    in a run, the next run continues; is_wanted: whether the settings want it; is_due: a check of some milliseconds for work,
    always true if it cannot tell; run: does the work at the pace, and returns a summary, "" for nothing done; light_s: seconds
    of work in a run that no load puts off.
    """

    name: str
    every_s: float
    budget_s: float
    is_wanted: Callable[[Settings], bool]
    is_due: Callable[[Home], bool]
    run: Callable[[Home, JobPace], str]
    light_s: float = 0.0


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
    return [job for job in jobs if job.name not in taken and _is_due(job, home, settings, record)]


def _is_due(job: Job, home: Home, settings: Settings, record: JobRecord) -> bool:
    if not job.is_wanted(settings):
        return False
    last = record.runs.get(job.name)
    return (last is None or _is_over(last.ended_ms, wait_s(job, last), now_ms())) and job.is_due(home)


def _is_over(since_ms: int, seconds: float, now: int) -> bool:
    """Return whether these seconds have passed; True for a time in the future, after the clock was put back."""
    return not 0 <= now - since_ms < seconds * 1000


def wait_s(job: Job, last: LastRun) -> float:
    """Return the seconds from a job's last run until it is due again."""
    if last.outcome == UNFINISHED:
        return 0.0
    if last.outcome == PUT_OFF:
        return WAIT_S
    return max(job.every_s, WAIT_S) if last.outcome == RUN_FAILED else job.every_s


def describe_next(job: Job, last: LastRun) -> str:
    """Tell users when an unfinished job goes on."""
    seconds = wait_s(job, last)
    later = f", at least {seconds / 60:.0f} minutes later" if seconds else ""
    return f"goes on when a session begins or a command ends{later}"


def run_due_jobs(home: Home, jobs: Sequence[Job]) -> None:
    """Run due jobs until none is left, unless another process does. Raises StoreError where the home is not usable.

    A command that finds this process running starts no second one. So the jobs are checked again after the lock is released.
    """
    from subcog_hooks.cli.jobs import machine  # 20 ms, needed in this process only

    heeds_machine = not os.environ.get(detached.SWITCH_OFF)
    if machine.is_apart():
        machine.yield_to_others(wholly=heeds_machine)
    look = machine.Machine().look if heeds_machine else None
    taken: set[str] = set()
    busy_wait = BusyWait()
    while True:
        try:
            with ProcessLock(home.jobs_lock, 0, "working at rest"):
                for job in jobs:
                    if find_due(home, [job], taken):
                        is_recorded = _record_run(home, job, last := _run_job(home, job, look, busy_wait))
                        if last.outcome != DONE or last.result == NOTHING_NEW or not is_recorded:
                            taken.add(job.name)  # Left to another process.
                _record_end(home, jobs)
        except StoreBusy:
            return  # The other process finds the due jobs.
        if not find_due(home, jobs, taken):
            return


def _run_job(home: Home, job: Job, look: Callable[[], MachineStatus] | None, busy_wait: BusyWait) -> LastRun:
    pace = JobPace(
        home, job.budget_s, lambda: job.is_wanted(loading.load(home)), look, busy_wait=busy_wait, light_s=job.light_s
    )
    began = time.monotonic()
    _record_start(home)
    try:
        message = job.run(home, pace) if pace.goes_on() else ""
        outcome = pace.outcome
    except Exception as error:  # noqa: BLE001 - nobody sees this process, but `doctor` reports the error
        message = str(error) if isinstance(error, SubcogError) else f"an internal error: {type(error).__name__}"
        outcome = RUN_FAILED
        log.write_line(home, f"{job.name} failed at rest: {message}")
    message = "; ".join(filter(None, (message, pace.why if outcome != RUN_FAILED else ""))) or NOTHING_NEW
    return LastRun(now_ms(), round((time.monotonic() - began) * 1000), outcome, message)


def _record_start(home: Home) -> None:
    """Record that work has started, so that the next session continues it if this process is killed."""
    log.keep_reserve(home)
    record = home_files.read_record(home)
    record.next_at, record.settings = UNDER_WAY, home_files.find_settings_time(home)
    home_files.write_record(home, record)


def _record_run(home: Home, job: Job, last: LastRun) -> bool:
    """Record a run of a job. Return whether that succeeded: otherwise the job stays due."""
    record = home_files.read_record(home)
    record.runs[job.name] = last
    return home_files.write_record(home, record)


def _record_end(home: Home, jobs: Sequence[Job]) -> None:
    settings_time = home_files.find_settings_time(home)
    settings, record = loading.load(home), home_files.read_record(home)
    now = now_ms()
    wanted = [job for job in jobs if job.is_wanted(settings)]
    waits = [wait for job in wanted if (wait := _next_wait_s(job, home, record.runs.get(job.name), now)) is not None]
    names = {job.name for job in jobs}
    runs = {name: run for name, run in record.runs.items() if name in names}
    home_files.write_record(home, JobRecord(runs, now + round(min([*waits, home_files.FARTHEST_S]) * 1000), settings_time))


def _next_wait_s(job: Job, home: Home, last: LastRun | None, now: int) -> float | None:
    """Return the seconds until a session has to start a job, None where a command will start it."""
    if last is None:
        return 0.0 if job.is_due(home) else None
    if last.outcome == DONE and not job.every_s:
        return WAIT_S if job.is_due(home) else None
    return max(0.0, (last.ended_ms - now) / 1000 + wait_s(job, last))


def describe_calls(home: Home) -> list[str]:
    """Return a line for each job that has asked today: its calls, the characters sent, and its last call's local time.

    Raises StoreError.
    """
    with context.existing_state(home) as state:
        uses = state_values.find_llm_use(state, now_ms()) if state else []
    return [
        f"{use.job}: {pluralize(use.calls, 'call')}, {use.characters:,} characters, "
        f"the last at {time.strftime('%H:%M', time.localtime(use.last_ms / 1000))}"
        for use in uses
    ]
