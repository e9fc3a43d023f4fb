"""The pace of the work at rest: pauses while hooks come, room on the machine, budgets; on a clock that runs by itself."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from subcog_hooks.cli.jobs import background_jobs
from subcog_hooks.cli.jobs.background_jobs import Breath, Clock
from subcog_hooks.cli.jobs.machine import Machine, Seen, averaged
from subcog_hooks.core.paths import Home
from subcog_hooks.store import learned
from subcog_hooks.store.job_record import DONE, PUT_OFF, UNFINISHED
from subcog_hooks.store.lock import ProcessLock
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store

START_S = 1_000_000.0
IDLE = Seen(None, 0.2, 2)
BUSY = Seen(None, 3.1, 2)


class Ticking(Clock):
    """A clock that runs while somebody sleeps, and is told of each moment."""

    def __init__(self, told: Callable[[float], object] = lambda _: None) -> None:
        self.seconds = START_S
        self.put_back_s = 0.0
        self.told = told

    def now_s(self) -> float:
        return self.seconds - self.put_back_s

    def ticks_s(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        self.told(self.seconds)

    @property
    def passed_s(self) -> float:
        return round(self.seconds - START_S, 2)


@pytest.fixture
def clock(home: Home) -> Ticking:
    """A clock beside a home whose process at rest has begun an hour ago."""
    home.create()
    Path(home.at_rest_lock).touch()
    ask_at(home, START_S - 3_600)
    return Ticking()


def ask_at(home: Home, seconds: float) -> None:
    """Let a hook come at this time."""
    os.utime(home.at_rest_lock, (seconds, seconds))


def breathing(home: Home, clock: Clock, *, budget_s: float = 60.0, look: Callable[[], Seen] | None = None) -> Breath:
    return Breath(home, budget_s, look=look, clock=clock)


# ---- while hooks come ----------------------------------------------------------------------------------------------------


def test_work_goes_on_without_a_pause_where_no_hook_has_come(home: Home, clock: Ticking) -> None:
    assert breathing(home, clock).goes_on()
    assert clock.passed_s == 0.0


def test_a_hook_makes_it_pause_until_a_second_of_quiet_has_passed(home: Home, clock: Ticking) -> None:
    pace = breathing(home, clock)
    ask_at(home, START_S - 0.4)
    pace.pause()
    assert clock.passed_s == pytest.approx(0.6, abs=background_jobs.POLL_S)
    ask_at(home, clock.seconds)
    assert pace.goes_on()
    assert clock.passed_s == pytest.approx(1.6, abs=2 * background_jobs.POLL_S)


def test_a_steady_stream_of_hooks_lets_a_unit_through_every_thirty_seconds(home: Home, clock: Ticking) -> None:
    pace = breathing(home, clock)
    clock.told = lambda now: ask_at(home, now)
    ask_at(home, START_S)
    paused: list[float] = []
    for _ in range(3):
        before = clock.passed_s
        pace.pause()
        paused.append(round(clock.passed_s - before))
        clock.seconds += background_jobs.UNIT_S / 2  # of work
        pace.pause()
        assert round(clock.passed_s - before) == paused[-1]  # within the unit nothing disturbs it
        clock.seconds += background_jobs.UNIT_S
    assert paused == [background_jobs.LONGEST_PAUSE_S] * 3


def test_a_pause_ends_when_somebody_waits_for_the_work_itself(home: Home, clock: Ticking) -> None:
    ask_at(home, START_S)
    breathing(home, clock).pause(lambda: clock.passed_s >= 0.2)
    assert clock.passed_s == pytest.approx(0.2, abs=background_jobs.POLL_S)


def test_a_clock_that_was_put_back_stops_nothing(home: Home, clock: Ticking) -> None:
    ask_at(home, START_S + 3_600)
    assert breathing(home, clock).goes_on()
    assert clock.passed_s == 0.0


def test_a_clock_that_is_put_back_meanwhile_changes_no_budget_no_look_and_no_pause(home: Home, clock: Ticking) -> None:
    looks: list[float] = []

    def look() -> Seen:
        looks.append(clock.passed_s)
        return IDLE

    pace = breathing(home, clock, budget_s=60.0, look=look)
    clock.told = lambda _: ask_at(home, clock.now_s())
    ask_at(home, clock.now_s())
    assert pace.goes_on()  # after the longest pause, in its unit
    clock.put_back_s = 3_600.0
    clock.seconds += 2 * background_jobs.UNIT_S
    before = clock.seconds
    ask_at(home, clock.now_s())
    pace.pause()
    assert clock.seconds - before == pytest.approx(background_jobs.LONGEST_PAUSE_S, abs=2 * background_jobs.POLL_S)
    clock.seconds += 10.0
    ask_at(home, 0.0)
    assert pace.goes_on()
    assert len(looks) == 2
    clock.seconds += 60.0
    assert not pace.goes_on()
    assert pace.outcome == UNFINISHED


def test_what_a_job_writes_into_state_db_is_no_hook(home: Home, clock: Ticking) -> None:
    state = State.open(home, 1_000)
    for count in range(3):
        learned.note_learnable(state, count)
    state.close()
    clock.seconds = before = os.stat(home.state_db).st_mtime
    with ProcessLock(home.at_rest_lock, 0, "working at rest"):
        assert breathing(home, clock).goes_on()
    assert clock.seconds == before


def test_no_lock_is_no_hook(home: Home) -> None:
    clock = Ticking()
    assert breathing(home, clock).goes_on()
    assert clock.passed_s == 0.0


# ---- room and time -------------------------------------------------------------------------------------------------------


def test_its_budget_ends_a_job_and_pauses_cost_nothing_of_it(home: Home, clock: Ticking) -> None:
    pace = breathing(home, clock, budget_s=120.0)
    ask_at(home, START_S)
    pace.pause()
    clock.seconds += 119.0
    assert pace.goes_on()
    clock.seconds += 2.0
    assert not pace.goes_on()
    assert (pace.outcome, pace.why) == (UNFINISHED, "its 2 minutes are over")
    assert not pace.goes_on()


def test_a_low_battery_puts_a_job_off_and_one_that_is_plugged_in_does_not(home: Home, clock: Ticking) -> None:
    assert breathing(home, clock, look=lambda: Seen(50.0, 0.0, 2)).goes_on()
    pace = breathing(home, clock, look=lambda: Seen(49.0, 0.0, 2))
    assert not pace.goes_on()
    assert (pace.outcome, pace.why) == (PUT_OFF, "the battery is at 49 %")


def test_load_is_waited_for_and_after_ten_minutes_of_it_the_rest_is_put_off(home: Home, clock: Ticking) -> None:
    assert breathing(home, clock, look=lambda: Seen(None, 3.0, 2)).goes_on()
    falls = breathing(home, clock, look=lambda: BUSY if clock.passed_s < 300 else IDLE)
    assert falls.goes_on()
    assert (clock.passed_s, falls.outcome) == (300, DONE)
    pace = breathing(home, clock, look=lambda: BUSY, budget_s=30.0)
    assert not pace.goes_on()
    assert (pace.outcome, pace.why) == (PUT_OFF, "the load was 3.1 by others, on 2 cores")
    assert clock.passed_s == 300 + background_jobs.LONGEST_WAIT_S


def test_the_jobs_of_a_process_wait_ten_minutes_together(home: Home, clock: Ticking) -> None:
    busy_wait = background_jobs.BusyWait()
    for _ in range(3):
        pace = Breath(home, 60.0, look=lambda: BUSY, clock=clock, busy_wait=busy_wait)
        assert not pace.goes_on()
        assert pace.outcome == PUT_OFF
    assert clock.passed_s == background_jobs.LONGEST_WAIT_S


def test_the_machine_and_the_wish_are_looked_at_every_few_seconds(home: Home, clock: Ticking) -> None:
    looks: list[float] = []

    def look() -> Seen:
        looks.append(clock.passed_s)
        return IDLE

    wanted = [True]
    pace = Breath(home, 60.0, lambda: bool(wanted), look, clock)
    for _ in range(12):
        assert pace.goes_on()
        clock.seconds += 1.0
    assert looks == [0.0, 5.0, 10.0]
    wanted.clear()
    clock.seconds += 4.0
    assert not pace.goes_on()
    assert (pace.outcome, pace.why) == (UNFINISHED, "it is not wanted any more")


def test_own_work_is_taken_off_the_load() -> None:
    own = 0.0
    for _ in range(60):  # five minutes on one core, looked at every five seconds
        own = averaged(own, 5.0, 5.0)
    assert own == pytest.approx(1.0, abs=0.01)
    assert averaged(own, 0.0, 60.0) == pytest.approx(0.37, abs=0.01)
    seen = Machine().look()
    assert seen.cores >= 1
    assert seen.load >= 0.0


@pytest.mark.parametrize("error", [FileNotFoundError("/sys/class/power_supply"), ValueError("of a driver")])
def test_a_system_that_tells_nothing_of_its_battery_and_load_is_worked_on(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(psutil, "sensors_battery", fail, raising=False)
    assert Machine().look().battery is None

    def tell_nothing() -> None:
        raise OSError("no load average")

    monkeypatch.setattr(psutil, "getloadavg", tell_nothing)
    assert Machine().look().load == 0.0


# ---- the hooks' side -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("event", ["UserPromptSubmit", "PreToolUse", "SessionStart", "Stop"])
def test_each_hook_asks_for_quiet_before_it_does_anything_else(home: Home, clock: Ticking, event: str) -> None:
    payload = {"hook_event_name": event, "session_id": "s", "cwd": "/", "prompt": "x", "tool_name": "Read"}
    files = set(os.listdir(home.root))
    subprocess.run(
        [sys.executable, "-m", "subcog_hooks", "hook"],
        input=json.dumps(payload).encode(),
        cwd=Path(__file__).parents[3],
        check=True,
    )
    assert abs(os.stat(home.at_rest_lock).st_mtime - time.time()) < 30
    assert set(os.listdir(home.root)) == files


def test_a_hook_makes_no_file_where_nothing_has_worked_at_rest(home: Home, store: Store) -> None:
    home.ask_for_quiet()
    assert not os.path.exists(home.at_rest_lock)
