"""The pace of a job at rest: it pauses while somebody waits for an answer, and ends when it should."""

from __future__ import annotations

import os
import time

from subcog_hooks.pace import Pace
from subcog_hooks.state.rest_record import DONE, PUT_OFF, UNFINISHED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.cli.rest.machine import Seen
    from subcog_hooks.paths import Home

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
