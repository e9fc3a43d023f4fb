"""The background process: its start by a command or a session, its record of jobs, and its leftover work."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import apsw
import psutil
import pytest

from subcog_hooks.cli import background_jobs, embedding
from subcog_hooks.cli.background_jobs import Job, JobPace
from subcog_hooks.core import log
from subcog_hooks.core.errors import ConfigError, SubcogError
from subcog_hooks.core.paths import Home
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.hook import detached
from subcog_hooks.store import home_files
from subcog_hooks.store.home_files import DONE, PUT_OFF, RUN_FAILED, UNFINISHED, JobRecord, LastRun, ProcessLock, is_held
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_store import VectorStore
from tests.cli.conftest import MonkeyPatch, Run
from tests.conftest import Maker

pytestmark = pytest.mark.usefixtures("hooks_are_over", "store")
posix = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX system")
ROOT = Path(__file__).parents[2]
MINUTE_MS = 60_000


@pytest.fixture
def start_calls(monkeypatch: MonkeyPatch) -> list[str]:
    """Return the homes for which a process would have been started."""
    homes: list[str] = []
    monkeypatch.setenv(detached.SWITCH_OFF, "1")
    monkeypatch.setattr(detached, "start_process", lambda home, _: homes.append(home.root))
    return homes


@pytest.fixture
def pending(store: Store, make: Maker) -> None:
    store.add([make("The gate is shut.")])


def counts(home: Home) -> tuple[int, int]:
    with VectorStore.reader(home, PACKAGED.name, PACKAGED.dimension) as vectors:
        return vectors.counts()


@posix
@pytest.mark.usefixtures("pending")
def test_a_process_embeds_what_is_pending_and_ends(home: Home, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setenv(detached.SWITCH_OFF, "1")
    others = psutil.Process().children()  # of other tests
    assert background_jobs.start_if_due(home, background_jobs.JOBS)
    (process,) = [child.pid for child in psutil.Process().children() if child not in others]
    _, status = os.waitpid(process, 0)
    assert (status, counts(home)) == (0, (1, 0))
    assert not background_jobs.start_if_due(home, background_jobs.JOBS)
    run = home_files.read_record(home).runs["embedding"]
    assert (run.outcome, run.result) == (DONE, "1 memory or question embedded")


@pytest.mark.usefixtures("pending")
def test_a_commands_end_starts_one_process_and_none_beside_it(home: Home, start_calls: list[str]) -> None:
    with ProcessLock(home.jobs_lock, 0, "working at rest"):
        assert not background_jobs.start_if_due(home, background_jobs.JOBS)
    assert background_jobs.start_if_due(home, background_jobs.JOBS)
    assert start_calls == [home.root]


@pytest.mark.usefixtures("pending")
def test_a_setting_stops_one_job_and_a_variable_all_jobs(home: Home, start_calls: list[str], monkeypatch: MonkeyPatch) -> None:
    Path(home.config).write_text("[embedding]\nbackground = false\n")
    assert not background_jobs.start_if_due(home, background_jobs.JOBS)
    Path(home.config).write_text('[embedding]\nbackground = false\n[capture]\nsessions = "on"\n')
    assert background_jobs.start_if_due(home, background_jobs.JOBS)
    monkeypatch.setenv(detached.SWITCH_OFF, "0")
    assert not background_jobs.start_if_due(home, background_jobs.JOBS)


def test_a_session_starts_what_is_due_by_any_clock(home: Home, store: Store) -> None:
    now = now_ms()
    assert home_files.is_due(home, now)  # nothing is known
    home_files.write_record(home, JobRecord({}, now + MINUTE_MS, home_files.find_settings_time(home)))
    assert not home_files.is_due(home, now)
    assert home_files.is_due(home, now + MINUTE_MS)
    Path(home.config).write_text("")
    assert home_files.is_due(home, now)
    Path(home.job_record).write_text('{"next": 99999999999999')
    assert home_files.is_due(home, now)
    now = now_ms()
    home_files.write_record(home, JobRecord({}, now + 2 * 24 * 60 * MINUTE_MS, home_files.find_settings_time(home)))
    assert home_files.is_due(home, now)


class Work:
    """A test job with `left` units of due work; each run does one unit."""

    def __init__(self, left: int, act: Callable[[JobPace], str] = lambda _: "one done", every_s: float = 0.0) -> None:
        self.left = left
        self.runs = 0
        self.job = Job("tidying", every_s, self._run, is_due=lambda _: self.left > 0)
        self._act = act

    def _run(self, _: Home, breath: JobPace) -> str:
        self.runs += 1
        self.left -= 1
        return self._act(breath)


def test_one_process_goes_on_until_nothing_is_due(home: Home) -> None:
    work = Work(3)
    background_jobs.run_due_jobs(home, [work.job])
    assert (work.runs, is_held(home.jobs_lock)) == (3, False)
    work = Work(1)
    with ProcessLock(home.jobs_lock, 0, "working at rest"):
        background_jobs.run_due_jobs(home, [work.job])
    assert work.runs == 0


def test_work_that_comes_after_a_job_has_found_nothing_is_done(home: Home) -> None:
    """A command that ends meanwhile starts no process, since one is at work."""
    questions = Work(1, lambda _: "")

    def come(_: JobPace) -> str:
        questions.left = 1
        return "one done"

    later = Work(1, come)
    background_jobs.run_due_jobs(home, [questions.job, later.job._replace(name="embedding")])
    assert (questions.runs, questions.left, later.runs) == (2, 0, 1)
    vain = Work(9, lambda _: "")
    background_jobs.run_due_jobs(home, [vain.job])
    assert vain.runs == 1


def test_a_job_that_fails_is_told_and_stops_no_other(home: Home) -> None:
    failures = {"failing": (ConfigError("it is gone"), "it is gone"), "broken": (KeyError("x"), "an internal error: KeyError")}

    def fail(error: Exception) -> str:
        raise error

    works = {name: Work(2, lambda _, error=error: fail(error)) for name, (error, _) in failures.items()}  # type: ignore[misc]
    jobs = [work.job._replace(name=name) for name, work in works.items()]
    other = Work(1)
    background_jobs.run_due_jobs(home, [*jobs, other.job])
    assert [work.runs for work in (*works.values(), other)] == [1, 1, 1]
    for name, (_, message) in failures.items():
        run = home_files.read_record(home).runs[name]
        assert (run.outcome, run.result) == (RUN_FAILED, message)
        assert f"{name} failed at rest: {message}" in Path(log.log_path(home)).read_text()
    assert background_jobs.find_due(home, jobs) == []  # for ten minutes


def test_a_session_looks_for_lessons_every_half_an_hour(home: Home) -> None:
    (every_s,) = (job.every_s for job in background_jobs.JOBS if job.name == "learned questions")
    background_jobs.run_due_jobs(home, [Work(5, every_s=every_s).job])
    assert [home_files.is_due(home, now_ms() + minutes * MINUTE_MS) for minutes in (29, 31)] == [False, True]


def test_each_job_finds_its_function(home: Home) -> None:
    home.create()
    for job in background_jobs.JOBS:
        with suppress(SubcogError):  # No model is chosen, and no server.
            job.run(home, background_jobs.JobPace(home, 1e-9, lambda: True))


@pytest.mark.parametrize("name", ["learned questions", "questions by a model", "unanswered proposals"])
def test_a_job_is_due_where_a_locked_state_hides_its_work(home: Home, name: str) -> None:
    (job,) = (job._replace(is_wanted=lambda _: True) for job in background_jobs.JOBS if job.name == name)
    State.open(home, 100).close()
    with closing(apsw.Connection(home.state_db)) as other:
        other.pragma("locking_mode", "exclusive")
        other.execute("BEGIN EXCLUSIVE")
        assert background_jobs.find_due(home, [job]) == [job]


def test_the_next_process_does_the_work_left_at_the_time_limit(home: Home) -> None:
    work = Work(2, lambda breath: f"one done, {breath.goes_on()}")
    spent = work.job._replace(budget_s=1e-9, run=lambda _, breath: work.job.run(home, breath))
    background_jobs.run_due_jobs(home, [spent])
    run = home_files.read_record(home).runs["tidying"]
    assert (work.runs, run.outcome, run.result) == (0, UNFINISHED, "its 0 minutes are over")
    assert home_files.is_due(home, now_ms())
    assert background_jobs.find_due(home, [work.job]) == [work.job]


def test_a_job_that_looks_every_so_often_is_left_alone_meanwhile(home: Home) -> None:
    work = Work(5, every_s=3_600.0)
    background_jobs.run_due_jobs(home, [work.job])
    background_jobs.run_due_jobs(home, [work.job])
    assert work.runs == 1
    assert not home_files.is_due(home, now_ms() + 50 * MINUTE_MS)
    assert home_files.is_due(home, now_ms() + 61 * MINUTE_MS)


@pytest.mark.usefixtures("pending")
def test_the_process_ends_when_the_calls_of_the_day_are_made(home: Home) -> None:
    Path(home.config).write_text(
        '[llm]\nat_rest = "openai"\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "small"\nenrich = true\ncalls_a_day = 0\n'
    )
    job = next(job for job in background_jobs.JOBS if job.name == "questions by a model")
    work = Work(3, lambda breath: job.run(home, breath))
    background_jobs.run_due_jobs(home, [work.job._replace(name=job.name)])
    assert work.runs == 1
    last = home_files.read_record(home).runs[job.name]
    assert (last.outcome, last.result) == (PUT_OFF, "the calls of the day are made")
    assert not home_files.is_due(home, now_ms())
    assert home_files.is_due(home, now_ms() + 11 * MINUTE_MS)


def test_the_next_session_does_the_work_of_a_killed_process(home: Home) -> None:
    def die(_: JobPace) -> str:
        raise KeyboardInterrupt  # ends the process as a signal does: nothing more is noted

    with pytest.raises(KeyboardInterrupt):
        background_jobs.run_due_jobs(home, [Work(1, die).job])
    assert not is_held(home.jobs_lock)
    assert home_files.is_due(home, now_ms())
    work = Work(1)
    background_jobs.run_due_jobs(home, [work.job])
    assert work.runs == 1
    assert not home_files.is_due(home, now_ms())


@pytest.mark.parametrize(
    ("outcome", "every_s", "waits_s"),
    [
        (DONE, 0, 0),
        (DONE, 60, 60),
        (RUN_FAILED, 0, 600),
        (RUN_FAILED, 3_600, 3_600),
        (PUT_OFF, 3_600, 600),
        (UNFINISHED, 3_600, 0),
    ],
)
def test_how_long_a_job_waits_follows_from_how_it_ended(outcome: str, every_s: float, waits_s: float) -> None:
    assert background_jobs.wait_s(Work(1, every_s=every_s).job, LastRun(0, 0, outcome, "")) == waits_s


def test_only_the_user_may_read_the_record(home: Home, store: Store) -> None:
    runs = {
        outcome: LastRun(1_000, 20, outcome, "two\nlines " + "x" * 500) for outcome in (DONE, RUN_FAILED, PUT_OFF, UNFINISHED)
    }
    home_files.write_record(home, JobRecord(runs, 5, 6))
    again = home_files.read_record(home)
    assert {name: run.outcome for name, run in again.runs.items()} == {name: name for name in runs}
    assert again.runs[DONE].result.startswith("two lines x")
    assert len(again.runs[DONE].result) == home_files.MAX_RESULT
    assert (again.next_at, again.settings) == (5, 6)
    assert [name for name in os.listdir(home.root) if name.startswith("at-rest.json")] == ["at-rest.json"]
    if os.name != "nt":
        assert os.stat(home.job_record).st_mode & 0o777 == 0o600


def test_doctor_tells_of_each_job_that_is_wanted_in_a_line(subcog: Run, home: Home, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "BRIEF_S", 0.0)
    subcog("remember", "The gate is shut.")
    done = subcog("doctor")
    assert "note  at rest, embedding: not run yet; it starts with the next session or command" in done.out
    assert "at rest, sessions" not in done.out
    subcog("config", "set", "capture.sessions", "on")
    runs = {
        "sessions": LastRun(now_ms(), 1_500, PUT_OFF, "2 proposed; the calls of the day are made"),
        "embedding": LastRun(now_ms(), 300, DONE, "1 memory embedded"),
    }
    home_files.write_record(home, JobRecord(runs, 0, 0))
    lines = [line for line in subcog("doctor").out.splitlines() if "at rest, " in line]
    assert [line[:6] for line in lines] == ["note  ", "  ok  "]
    assert "at rest, sessions: 2 proposed; the calls of the day are made (" in lines[0]
    assert lines[0].endswith(", 1.5 s); put off, goes on when a session begins or a command ends, at least 10 minutes later")
    assert lines[1].endswith(", 0.3 s)")


def test_doctor_tells_of_a_failed_run_until_its_work_is_done(subcog: Run, home: Home, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "BRIEF_S", 0.0)
    subcog("remember", "The gate is shut.")
    home_files.write_record(home, JobRecord({"embedding": LastRun(now_ms(), 300, RUN_FAILED, "the disk is full")}, 0, 0))
    assert "at rest, embedding: the disk is full (" in subcog("doctor").out
    subcog("doctor", "--fix")
    assert "the disk is full" not in subcog("doctor").out


RUN = """
import os, psutil
from subcog_hooks.cli import background_jobs
background_jobs.run_background_jobs()
own = psutil.Process()
print(own.nice(), os.sched_getscheduler(0) == os.SCHED_IDLE, own.ionice().ioclass == psutil.IOPRIO_CLASS_IDLE)
print(open("/proc/self/autogroup").read().split()[-1] if os.path.exists("/proc/self/autogroup") else 19)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux says of processes")
def test_a_process_of_its_own_takes_the_least_of_the_machine(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.delenv(detached.SWITCH_OFF)  # where it is set, other sessions need not go first
    done = subprocess.run(
        [sys.executable, "-c", RUN], cwd=ROOT, capture_output=True, check=False, text=True, start_new_session=True
    )
    assert (done.stdout, done.stderr) == ("19 True True\n19\n", "")


@posix
def test_a_command_that_works_in_place_keeps_its_priority() -> None:
    code = (
        "import os\nfrom subcog_hooks.cli import background_jobs\n"
        "background_jobs.run_background_jobs()\nprint(os.getpriority(os.PRIO_PROCESS, 0))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False, text=True)
    assert (done.stdout, done.stderr) == (f"{os.getpriority(os.PRIO_PROCESS, 0)}\n", "")


def test_psutil_is_loaded_by_that_process_alone() -> None:
    code = (
        "import sys\nfrom subcog_hooks.cli import commands, doctor, remember\n"
        "from subcog_hooks.cli import embedding\nfrom subcog_hooks.cli import background_jobs\n"
        "print('psutil' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False, text=True)
    assert done.stdout == "False\n"
