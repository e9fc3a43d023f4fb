"""Background jobs: run one after the other while the machine idles, with their record."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from subcog_hooks.core import log
from subcog_hooks.core.deadline import Pace
from subcog_hooks.core.errors import StoreBusy, SubcogError
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import detached
from subcog_hooks.hook.session import BACKGROUND_COMMAND
from subcog_hooks.settings import loading
from subcog_hooks.settings.loading import Settings
from subcog_hooks.store import job_record
from subcog_hooks.store.job_record import DONE, PUT_OFF, RUN_FAILED, UNDER_WAY, UNFINISHED, LastRun, RestRecord
from subcog_hooks.store.lock import ProcessLock, is_held
from subcog_hooks.store.memory import now_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.cli.jobs.machine import Seen
    from subcog_hooks.core.paths import Home

QUIET_S = 1.0  # after the last hook, until work goes on
POLL_S = 0.05
LONGEST_PAUSE_S, UNIT_S = 30.0, 0.25  # however many hooks come, so much is worked after so long
LOOK_EVERY_S = 5.0  # at the machine, and at whether the job is still wanted
LEAST_BATTERY = 50  # per cent
MOST_LOAD = 1.5  # of each core, by others
LONGEST_WAIT_S = 600.0  # for a load to fall, of all jobs of a process together


def _never() -> bool:
    return False


class Clock:
    """The time as the system has it; a test's runs by itself."""

    __slots__ = ()

    def now_s(self) -> float:
        """Return the seconds since the epoch, by which hooks are dated."""
        return time.time()

    def ticks_s(self) -> float:
        """Return the seconds on a clock that nobody puts back, by which budgets and pauses are measured."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class BusyWait:
    """The seconds that the jobs of one process may still wait for a load to fall."""

    __slots__ = ("left_s",)

    def __init__(self) -> None:
        self.left_s = LONGEST_WAIT_S


class Breath(Pace):
    """The pace of one run of a job.

    outcome: DONE as long as nothing has ended it, else PUT_OFF or UNFINISHED; why: it was ended, in a few words.
    """

    __slots__ = (
        "_began",
        "_budget_s",
        "_busy_wait",
        "_clock",
        "_home",
        "_is_wanted",
        "_look",
        "_looks_at",
        "_may_work_until",
        "_paused_s",
        "outcome",
        "why",
    )

    def __init__(
        self,
        home: Home,
        budget_s: float,
        is_wanted: Callable[[], bool] = lambda: True,
        look: Callable[[], Seen] | None = None,
        clock: Clock | None = None,
        busy_wait: BusyWait | None = None,
    ) -> None:
        """budget_s: seconds of work, pauses left out; look: at the machine, None for whatever its battery and load are;
        busy_wait: shared with the other jobs, None for one of its own.
        """
        self._home = home
        self._budget_s = budget_s
        self._is_wanted = is_wanted
        self._look = look
        self._clock = clock or Clock()
        self._began = self._clock.ticks_s()
        self._looks_at = self._began  # the next time
        self._may_work_until = self._began  # on the clock of the ticks
        self._paused_s = 0.0
        self._busy_wait = busy_wait or BusyWait()
        self.outcome = DONE
        self.why = ""

    def goes_on(self, is_called_off: Callable[[], bool] = _never) -> bool:
        """Return whether the job goes on, after a pause where one is called for. Asked before each unit of at most UNIT_S."""
        if not self.why:
            self.pause(is_called_off)
            now = self._clock.ticks_s()
            if now - self._began - self._paused_s >= self._budget_s:
                self._end(UNFINISHED, f"its {_told(self._budget_s)} are over")
            elif now >= self._looks_at:
                self._look_around(is_called_off)
        return not self.why

    def pause(self, is_called_off: Callable[[], bool] = _never) -> None:
        """Wait until hooks have been quiet for QUIET_S, at most for LONGEST_PAUSE_S. It takes 5 µs where they are."""
        began = self._clock.ticks_s()
        while self._is_disturbed() and not is_called_off():
            if self._clock.ticks_s() - began >= LONGEST_PAUSE_S:
                self._may_work_until = self._clock.ticks_s() + UNIT_S
                break
            self._clock.sleep(POLL_S)
        self._paused_s += self._clock.ticks_s() - began

    def put_off(self, why: str) -> None:
        """End the job for want of something that comes back: a call of the day, a model that answers."""
        self._end(PUT_OFF, why)

    def _is_disturbed(self) -> bool:
        if self._clock.ticks_s() < self._may_work_until:
            return False
        try:
            asked_at = os.stat(self._home.at_rest_lock).st_mtime
        except OSError:
            return False
        return abs(self._clock.now_s() - asked_at) < QUIET_S

    def _look_around(self, is_called_off: Callable[[], bool]) -> None:
        """End the job where it is no longer wanted, or the machine has no room for it for long."""
        if not self._is_wanted():
            self._end(UNFINISHED, "it is not wanted any more")
            return
        while self._look:
            seen = self._look()
            if seen.battery is not None and seen.battery < LEAST_BATTERY:
                self._end(PUT_OFF, f"the battery is at {seen.battery:.0f} %")
                return
            if seen.load <= MOST_LOAD * seen.cores or is_called_off():
                break
            if self._busy_wait.left_s <= 0.0:
                self._end(PUT_OFF, f"the load was {seen.load:.1f} by others, on {seen.cores} cores")
                return
            self._clock.sleep(LOOK_EVERY_S)
            self._busy_wait.left_s -= LOOK_EVERY_S
            self._paused_s += LOOK_EVERY_S
        self._looks_at = self._clock.ticks_s() + LOOK_EVERY_S

    def _end(self, outcome: str, why: str) -> None:
        self.outcome = outcome
        self.why = why


def _told(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 60 else f"{seconds:.0f} seconds"


NOTHING_NEW = "nothing new"
WAIT_S = 600.0  # until a job that failed, or that the machine had no room for, is tried again


class Job(NamedTuple):
    """Something that is done at rest.

    name: as users read it, at the beginning of a line; every_s: how often at most, 0: whenever there is something; budget_s:
    seconds of work in one run, what is left then is done by the next; is_wanted: by the settings; is_due: a look of some
    milliseconds at whether there is anything to do, for a job that can not tell it is always so; run: does it, pausing and
    ending as the breath says, and returns what came of it in a line, "" where nothing was to be done.
    """

    name: str
    every_s: float
    budget_s: float
    is_wanted: Callable[[Settings], bool]
    is_due: Callable[[Home], bool]
    run: Callable[[Home, Breath], str]


def start_if_due(home: Home, jobs: Sequence[Job]) -> bool:
    """Start the process when there is something for it to do and none is at work. Return whether one was started.

    For the end of a command, never for a hook. Whatever goes wrong is left for the next command, and to the log.
    """
    if not detached.may_start():
        return False
    try:
        if not find_due(home, jobs) or is_held(home.at_rest_lock):
            return False
        detached.start_process(home, [BACKGROUND_COMMAND])
    except (SubcogError, OSError, ValueError) as error:
        log.write(home, f"the work at rest was not started: {error}")
        return False
    return True


def find_due(home: Home, jobs: Sequence[Job], taken: AbstractSet[str] = frozenset()) -> list[Job]:
    """Return the jobs that are wanted and due now. taken: names of those that are left to another process."""
    settings, record = loading.load(home), job_record.read(home)
    return [job for job in jobs if job.name not in taken and _is_due(job, home, settings, record)]


def _is_due(job: Job, home: Home, settings: Settings, record: RestRecord) -> bool:
    if not job.is_wanted(settings):
        return False
    last = record.runs.get(job.name)
    return (last is None or _is_over(last.at, wait_s(job, last), now_ms())) and job.is_due(home)


def _is_over(since_ms: int, seconds: float, now: int) -> bool:
    """Return whether so long has passed; a time that is to come says that the clock was put back."""
    return not 0 <= now - since_ms < seconds * 1000


def wait_s(job: Job, last: LastRun) -> float:
    """Return the seconds after its last run until a job is due again."""
    if last.outcome == UNFINISHED:
        return 0.0
    if last.outcome == PUT_OFF:
        return WAIT_S
    return max(job.every_s, WAIT_S) if last.outcome == RUN_FAILED else job.every_s


def describe_next(job: Job, last: LastRun) -> str:
    """Return what users are told of when a run that has not done everything is followed by another."""
    seconds = wait_s(job, last)
    return "goes on when a session begins or a command ends" + (
        f", at least {seconds / 60:.0f} minutes later" if seconds else ""
    )


# ---- the process itself ----------------------------------------------------------------------------------------------


def work(home: Home, jobs: Sequence[Job]) -> None:
    """Run what is due until nothing is, unless another process is at it. Raises StoreError where the home can not be used.

    A command that found this process at work leaves its own to it. So after it has let go of the lock, it looks once more.
    """
    from subcog_hooks.cli.jobs import machine  # 20 ms, in this process alone

    goes_by_machine = not os.environ.get(detached.SWITCH_OFF)
    if machine.is_apart():
        machine.yield_to_others(wholly=goes_by_machine)
    look = machine.Machine().look if goes_by_machine else None
    taken: set[str] = set()
    busy_wait = BusyWait()
    while True:
        try:
            with ProcessLock(home.at_rest_lock, 0, "working at rest"):
                for job in jobs:
                    if find_due(home, [job], taken):
                        is_kept = _note(home, job, last := _run(home, job, look, busy_wait))
                        if last.outcome != DONE or last.told == NOTHING_NEW or not is_kept:
                            taken.add(job.name)  # another process goes on with it
                _note_end(home, jobs)
        except StoreBusy:
            return  # that one will see what there is
        if not find_due(home, jobs, taken):
            return


def _run(home: Home, job: Job, look: Callable[[], Seen] | None, busy_wait: BusyWait) -> LastRun:
    breath = Breath(home, job.budget_s, lambda: job.is_wanted(loading.load(home)), look, busy_wait=busy_wait)
    began = time.monotonic()
    _begin(home)
    try:
        told = job.run(home, breath) if breath.goes_on() else ""
        outcome = breath.outcome
    except Exception as error:  # noqa: BLE001 - nobody sees this process: whatever it is, `doctor` tells it
        told = str(error) if isinstance(error, SubcogError) else f"an internal error: {type(error).__name__}"
        outcome = RUN_FAILED
        log.write(home, f"{job.name} failed at rest: {told}")
    told = "; ".join(filter(None, (told, breath.why if outcome != RUN_FAILED else ""))) or NOTHING_NEW
    return LastRun(now_ms(), round((time.monotonic() - began) * 1000), outcome, told)


def _begin(home: Home) -> None:
    """Note that work is under way: should this process be killed, a session that begins goes on with it."""
    log.keep_reserve(home)
    record = job_record.read(home)
    record.next_at, record.settings = UNDER_WAY, job_record.settings_time(home)
    job_record.write(home, record)


def _note(home: Home, job: Job, last: LastRun) -> bool:
    """Note a run of a job. Return whether that could be kept: else it would be as due as before."""
    record = job_record.read(home)
    record.runs[job.name] = last
    return job_record.write(home, record)


def _note_end(home: Home, jobs: Sequence[Job]) -> None:
    """Note when a session is to start the process again."""
    settings_time = job_record.settings_time(home)
    settings, record = loading.load(home), job_record.read(home)
    now = now_ms()
    wanted = [job for job in jobs if job.is_wanted(settings)]
    waits = [wait for job in wanted if (wait := _next_wait_s(job, home, record.runs.get(job.name), now)) is not None]
    names = {job.name for job in jobs}
    runs = {name: run for name, run in record.runs.items() if name in names}
    job_record.write(home, RestRecord(runs, now + round(min([*waits, job_record.FARTHEST_S]) * 1000), settings_time))


def _next_wait_s(job: Job, home: Home, last: LastRun | None, now: int) -> float | None:
    """Return in how many seconds a session is to start a job, None where whoever leaves something to it will."""
    if last is None:
        return 0.0 if job.every_s or job.is_due(home) else None
    if last.outcome == DONE and not job.every_s:
        return WAIT_S if job.is_due(home) else None
    return max(0.0, (last.at - now) / 1000 + wait_s(job, last))
