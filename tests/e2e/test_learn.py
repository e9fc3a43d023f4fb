"""Sessions become proposals, through the real executable: by a command, and at rest when another session begins."""

import json
import os
import time
from pathlib import Path

from tests import transcripts
from tests.e2e.machine import REMOTE, Machine, assert_one_line_error, posix, wait_until
from tests.e2e.screen import OnTerminal
from tests.llm_server import LlmServer, never, says_text

RULE = "Don't use npm here, we're on pnpm"
VALUES = (  # an older and a newer sentence about one subject
    ("from now on use port 8080 for the dev server, never 3000", "from now on use port 8090 for the dev server, never 3000"),
    ("always target Python 3.11, never 3.10", "always target Python 3.12, never 3.10"),
    ("always wrap lines at 100 characters, never longer", "always wrap lines at 120 characters, never longer"),
    ("always open pull requests against develop, never by hand", "always open pull requests against main, never by hand"),
    ("we always use pnpm to install packages here, never npm", "we always use yarn to install packages here, never npm"),
    ("always set request timeouts to 30 seconds in this project", "always set request timeouts to 5 minutes in this project"),
    ("always deploy the workers to eu-west-1, never by hand", "always deploy the workers to eu-central-1, never by hand"),
    (
        "from now on put fixtures into `tests/data`, never beside tests",
        "from now on put fixtures into `fixtures`, never beside tests",
    ),
    ("always run the migrations before the tests", "never run the migrations before the tests"),
)
SUBJECTS = (  # sentences that hold side by side
    ("in web always use pnpm, never npm", "in mobile always use yarn, never npm"),
    (
        "the EU cluster always keeps its logs for 30 days, never longer",
        "the US cluster always keeps its logs for 90 days, never longer",
    ),
    ("never deploy to staging on Fridays, remember that", "never deploy to production on Fridays, remember that"),
)
AHEAD_S = 4_076_000_000  # seconds: a day of the year 2099
LONG_S = 20.0  # for the process on a busy machine


def session(machine: Machine, name: str, *typed: str, folder: Path | None = None, day: str = "2026-03-02") -> Path:
    projects = machine.root / "user" / ".claude" / "projects"
    return transcripts.session(projects, name, *typed, folder=str(folder or machine.folder), day=day).path


def waiting(machine: Machine) -> list[str]:
    return [row["content"] for row in machine.rows("review", "--jsonl")]


def test_a_typed_sentence_becomes_a_memory_for_the_agent(bare: Machine) -> None:
    at = bare.repository("shop", REMOTE)
    session(bare, "one", "hello", RULE, folder=at)
    done = bare.run("learn", "--jsonl")
    assert done.code == 0, done.stderr
    row = json.loads(done.stdout)
    assert (row["memory"], row["session"], row["role"]) == (RULE, "one", "user")
    question = "Do we use npm or pnpm to install packages here?"
    assert bare.answer(bare.asking(question, cwd=at)) == ""
    (listed,) = bare.run("review", "--list").stdout.decode().splitlines()
    assert bare.run("review", "--accept", listed.split()[0]).code == 0
    assert "said in a session" in bare.answer(bare.asking(question, cwd=at))


def test_a_session_of_a_clock_that_was_ahead_is_over(bare: Machine) -> None:
    projects = bare.root / "user" / ".claude" / "projects"
    written = transcripts.session(projects, "one", "hello", RULE, folder=str(bare.folder), day="2099-03-02").path
    os.utime(written, (AHEAD_S, AHEAD_S))
    assert bare.run("learn").code == 0
    assert waiting(bare) == [RULE]


def test_only_other_subjects_are_proposed_side_by_side(bare: Machine) -> None:
    for number, pair in enumerate(VALUES + SUBJECTS):
        folder = bare.repository(f"p{number}", f"https://github.com/acme/p{number}.git")
        for text, day in zip(pair, ("2026-03-02", "2026-03-05"), strict=True):
            session(bare, f"{number}-{day}", text, folder=folder, day=day)
    proposed = {row["memory"] for row in bare.rows("learn", "--dry-run", "--jsonl")}
    assert proposed == {newer for _, newer in VALUES}.union(*SUBJECTS)


def test_a_newer_value_replaces_the_older_one_that_waits(bare: Machine) -> None:
    older, newer = VALUES[0]
    for day, text in (("2026-03-02", older), ("2026-03-05", newer), ("2026-03-07", older)):
        session(bare, day, text, day=day)
        assert bare.run("learn").code == 0
        assert waiting(bare) == [text]
    (current,) = bare.stored("pending").values()
    assert bare.stored("superseded")[newer]["superseded_by"] == current["id"]
    session(bare, "one day", VALUES[1][0], VALUES[1][1])
    assert bare.run("learn").code == 0
    assert set(waiting(bare)) == {older, VALUES[1][1]}


def test_a_newer_value_waits_beside_an_accepted_one(bare: Machine) -> None:
    older, newer = VALUES[0]
    session(bare, "one", older)
    bare.run("learn")
    (memory,) = bare.rows("review", "--jsonl")
    assert bare.run("review", "--accept", memory["id"]).code == 0
    session(bare, "two", newer, day="2026-03-05")
    bare.run("learn")
    (row,) = bare.rows("review", "--jsonl")
    assert row["content"] == newer
    assert [(near["id"], near["contradiction"]) for near in row["near"]] == [(memory["id"], "8080 there, 8090 here")]
    assert older in bare.stored()


@posix
def test_a_model_proposes_a_newer_value_of_what_waits(bare: Machine) -> None:
    port = "the dev server of the shop listens on port {}, as far as I can see today".format
    with LlmServer(says_text("{}")) as server:
        bare.configure(llm__at_rest="openai", llm__base_url=server.url_v1, llm__model="small", llm__learn="true")
        for day, text in (("2026-03-02", port(8080)), ("2026-03-05", port(8090))):
            memory = {"memory": text, "quote": text, "kind": "fact", "scope": "user", "questions": []}
            server.play(says_text(json.dumps({"memories": [memory]})))
            session(bare, day, text, day=day)
            assert bare.run("learn").code == 0
            assert text in waiting(bare)
    session(bare, "later", "hello there", day="2026-03-07")
    assert bare.run("learn", "--no-llm").code == 0  # compares all that sessions brought
    assert waiting(bare) == [port(8090)]


@posix
def test_a_session_start_leaves_learning_to_a_job(bare: Machine) -> None:
    session(bare, "one", "hello", RULE)
    bare.run("remember", "Ropes are replaced every spring.")
    bare.environment["SUBCOG_BACKGROUND"] = "1"  # however busy the machine is
    bare.hook(bare.beginning("startup"))
    time.sleep(0.5)  # in which a process that nobody wants would have done it
    assert waiting(bare) == []
    bare.run("config", "set", "capture.sessions", "on")
    bare.hook(bare.beginning("startup"))
    wait_until(lambda: waiting(bare) == [RULE], LONG_S)


@posix
def test_a_call_counts_even_if_the_process_is_killed(bare: Machine) -> None:
    session(bare, "one", "the staging box gets wiped over night so put nothing there you want to see again")
    with LlmServer(never()) as server:
        bare.configure(llm__at_rest="openai", llm__base_url=server.url_v1, llm__model="small", llm__calls_a_day="2")
        with bare.begin("learn", "--llm") as asking:
            wait_until(lambda: bool(server.requests), LONG_S)
            asking.kill()
        assert b"1 of 2 calls today" in bare.run("doctor").stdout
        server.play(says_text('{"memories": []}'))
        assert b"asked about 1 session; the model proposed 0" in bare.run("learn", "--llm").stderr
        assert len(server.requests) == 2
        session(bare, "two", "by the way, the lighthouse keys hang in the office, as far as I have heard of it")
        assert b"the calls of today are made" in bare.run("learn", "--llm").stderr
        assert len(server.requests) == 2


@posix
def test_what_sessions_brought_can_be_reviewed_later(bare: Machine) -> None:
    session(bare, "one", RULE)
    assert bare.run("learn").code == 0
    (listed,) = bare.run("review", "--list").stdout.decode().splitlines()
    assert bare.run("review", "--accept", listed.split()[0]).code == 0
    assert bare.run("review").code == 1
    assert bare.run("review", "--since", "1h").code == 1
    asked = OnTerminal([bare.command, "review", "--since", "30y"], bare.folder, bare.environment)
    asked.read_until("1 of 1")
    asked.type("d")
    assert asked.end() == 0
    assert "alike" not in asked.written
    assert bare.run("list").code == 1


@posix
def test_a_kind_that_is_never_wanted_is_not_proposed(bare: Machine) -> None:
    bare.run("config", "set", "capture.sessions_never", "preference")
    session(bare, "two", "from now on, never use yarn, please remember this rule")
    assert b"proposed 0" in bare.run("learn").stderr
    assert bare.run("config", "set", "capture.sessions_never", "Decision, fact").code == 0
    assert_one_line_error(bare.run("config", "set", "capture.sessions_never", "decision,nonsense"), 4)
    config = Path(bare.run("config", "path").stdout.decode().strip())
    config.write_text(config.read_text(encoding="utf-8").replace("decision,fact", "nonsense"), encoding="utf-8")
    assert_one_line_error(bare.run("learn"), 4)
