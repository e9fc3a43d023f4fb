"""The pace of background jobs: pauses for hooks, settings and budgets, on a simulated clock."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from subcog_hooks.cli import background_jobs
from subcog_hooks.cli.background_jobs import JobPace
from subcog_hooks.core.paths import Home
from subcog_hooks.store.home_files import UNFINISHED
from subcog_hooks.store.store import Store

START_S = 1_000_000.0


class Ticking:
    """A `time` module that advances while somebody sleeps, and calls a function with each time."""

    def __init__(self, on_sleep: Callable[[float], object] = lambda _: None) -> None:
        self.seconds = START_S
        self.on_sleep = on_sleep

    def time(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        self.on_sleep(self.seconds)

    @property
    def passed_s(self) -> float:
        return round(self.seconds - START_S, 2)


@pytest.fixture
def clock(home: Home, monkeypatch: pytest.MonkeyPatch) -> Ticking:
    """A clock, and a home whose background process started an hour ago."""
    home.create()
    Path(home.jobs_lock).touch()
    ask_at(home, START_S - 3_600)
    clock = Ticking()
    monkeypatch.setattr(background_jobs, "time", clock)
    return clock


def ask_at(home: Home, seconds: float) -> None:
    """Simulate a hook at this time."""
    os.utime(home.jobs_lock, (seconds, seconds))


def job_pace(home: Home, *, budget_s: float = 60.0, is_wanted: Callable[[], bool] = lambda: True) -> JobPace:
    return JobPace(home, budget_s, is_wanted)


def test_work_does_not_pause_without_hooks(home: Home, clock: Ticking) -> None:
    for hook_at_s in (START_S - 3_600, START_S + 3_600):
        ask_at(home, hook_at_s)
        assert job_pace(home).goes_on()
    Path(home.jobs_lock).unlink()
    assert job_pace(home).goes_on()
    assert clock.passed_s == 0.0


def test_a_hook_pauses_work_for_a_second_of_quiet(home: Home, clock: Ticking) -> None:
    pace = job_pace(home)
    ask_at(home, START_S - 0.4)
    pace.pause()
    assert clock.passed_s == pytest.approx(0.6, abs=background_jobs.POLL_S)
    ask_at(home, clock.seconds)
    assert pace.goes_on()
    assert clock.passed_s == pytest.approx(1.6, abs=2 * background_jobs.POLL_S)


def test_a_unit_is_done_every_thirty_seconds_of_steady_hooks(home: Home, clock: Ticking) -> None:
    pace = job_pace(home)
    clock.on_sleep = lambda now: ask_at(home, now)
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
    assert paused == [background_jobs.MAX_PAUSE_S] * 3


def test_a_pause_ends_when_somebody_waits_for_the_job(home: Home, clock: Ticking) -> None:
    ask_at(home, START_S)
    job_pace(home).pause(lambda: clock.passed_s >= 0.2)
    assert clock.passed_s == pytest.approx(0.2, abs=background_jobs.POLL_S)


def test_a_budget_ends_a_job_and_excludes_pauses(home: Home, clock: Ticking) -> None:
    pace = job_pace(home, budget_s=120.0)
    ask_at(home, START_S)
    pace.pause()
    clock.seconds += 119.0
    assert pace.goes_on()
    clock.seconds += 2.0
    assert not pace.goes_on()
    assert (pace.outcome, pace.why) == (UNFINISHED, "its 2 minutes are over")
    assert not pace.goes_on()


def test_the_settings_are_checked_every_five_seconds(home: Home, clock: Ticking) -> None:
    checks: list[float] = []
    wanted = [True]

    def is_wanted() -> bool:
        checks.append(clock.passed_s)
        return bool(wanted)

    pace = job_pace(home, is_wanted=is_wanted)
    for _ in range(12):
        assert pace.goes_on()
        clock.seconds += 1.0
    assert checks == [0.0, 5.0, 10.0]
    wanted.clear()
    clock.seconds += 4.0
    assert not pace.goes_on()
    assert (pace.outcome, pace.why) == (UNFINISHED, "it is not wanted any more")


def test_each_hook_asks_for_quiet_first(home: Home, clock: Ticking) -> None:
    files = set(os.listdir(home.root))
    for event in ("UserPromptSubmit", "PreToolUse", "SessionStart", "Stop"):
        ask_at(home, START_S)
        payload = {"hook_event_name": event, "session_id": "s", "cwd": "/", "prompt": "x", "tool_name": "Read"}
        command = [sys.executable, "-m", "subcog_hooks", "hook"]
        subprocess.run(command, input=json.dumps(payload).encode(), cwd=Path(__file__).parents[2], check=True)
        assert os.stat(home.jobs_lock).st_mtime > START_S
    assert set(os.listdir(home.root)) == files


def test_a_hook_makes_no_lock_file_before_the_first_job(home: Home, store: Store) -> None:
    home.pause_background_jobs()
    assert not os.path.exists(home.jobs_lock)
