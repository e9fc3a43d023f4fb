"""The runner at rest: one process a home that does what is due, job by job, and ends. The jobs are in cli/at_rest.py."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from subcog_hooks import log
from subcog_hooks.cli.rest.breath import Breath, BusyWait
from subcog_hooks.errors import StoreBusy, SubcogError
from subcog_hooks.hooks import detached
from subcog_hooks.hooks.session_start import RESTING_COMMAND
from subcog_hooks.memory.lock import ProcessLock, is_held
from subcog_hooks.memory.model import now_ms
from subcog_hooks.paths import Home
from subcog_hooks.settings import loading
from subcog_hooks.settings.loading import Settings
from subcog_hooks.state import rest_record
from subcog_hooks.state.rest_record import DONE, PUT_OFF, RUN_FAILED, UNDER_WAY, UNFINISHED, LastRun, RestRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.cli.rest.machine import Seen

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
        detached.start(home, [RESTING_COMMAND])
    except (SubcogError, OSError, ValueError) as error:
        log.write(home, f"the work at rest was not started: {error}")
        return False
    return True


def find_due(home: Home, jobs: Sequence[Job], taken: AbstractSet[str] = frozenset()) -> list[Job]:
    """Return the jobs that are wanted and due now. taken: names of those that are left to another process."""
    settings, record = loading.load(home), rest_record.read(home)
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
    from subcog_hooks.cli.rest import machine  # 20 ms, in this process alone

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
    record = rest_record.read(home)
    record.next_at, record.settings = UNDER_WAY, rest_record.settings_time(home)
    rest_record.write(home, record)


def _note(home: Home, job: Job, last: LastRun) -> bool:
    """Note a run of a job. Return whether that could be kept: else it would be as due as before."""
    record = rest_record.read(home)
    record.runs[job.name] = last
    return rest_record.write(home, record)


def _note_end(home: Home, jobs: Sequence[Job]) -> None:
    """Note when a session is to start the process again."""
    settings_time = rest_record.settings_time(home)
    settings, record = loading.load(home), rest_record.read(home)
    now = now_ms()
    wanted = [job for job in jobs if job.is_wanted(settings)]
    waits = [wait for job in wanted if (wait := _next_wait_s(job, home, record.runs.get(job.name), now)) is not None]
    names = {job.name for job in jobs}
    runs = {name: run for name, run in record.runs.items() if name in names}
    rest_record.write(home, RestRecord(runs, now + round(min([*waits, rest_record.FARTHEST_S]) * 1000), settings_time))


def _next_wait_s(job: Job, home: Home, last: LastRun | None, now: int) -> float | None:
    """Return in how many seconds a session is to start a job, None where whoever leaves something to it will."""
    if last is None:
        return 0.0 if job.every_s or job.is_due(home) else None
    if last.outcome == DONE and not job.every_s:
        return WAIT_S if job.is_due(home) else None
    return max(0.0, (last.at - now) / 1000 + wait_s(job, last))
