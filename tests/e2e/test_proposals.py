"""Proposals from sessions over time: named at the next start, taken back for good, dropped where nobody answers."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from tests import transcripts
from tests.e2e.machine import NO_BRIEF, REMOTE, Machine, assert_one_line_error, ids_in
from tests.llm_server import Handler, LlmServer, says_text

TYPED = {
    "keys": "by the way, the lighthouse keys hang in the office, as far as I know",
    "ferry": "by the way, the ferry is full on Fridays in those months, as far as I know",
    "pump": "by the way, the pump needs oil every spring, as far as I have heard of it",
    "staging": "the staging box gets wiped over night so put nothing there you want to see again",
}
NOTED = {
    "keys": "The lighthouse keys hang in the office.",
    "ferry": "The ferry is full on Fridays.",
    "pump": "The pump needs oil every spring.",
    "staging": "The staging box gets wiped over night.",
}
TODAY = time.strftime("%Y-%m-%d", time.gmtime())
DAY_MS = 86_400_000
ON_ITS_OWN = "nothing there you want to see again"  # another quote of the row about staging


@pytest.fixture
def server(bare: Machine) -> Iterator[LlmServer]:
    """A model at rest that has noted a thing of each of four sessions of a repository."""
    at = bare.repository("harbour", REMOTE)
    with LlmServer(proposes(TYPED, NOTED)) as server:
        bare.configure(llm__at_rest="openai", llm__base_url=server.url_v1, llm__model="small", capture__sessions="auto")
        for name, text in TYPED.items():
            transcripts.session(bare.root / "user" / ".claude" / "projects", name, "hello", text, folder=str(at))
        assert b"4 came at once" in bare.run("learn", "--llm").stderr
        yield server


def proposes(quotes: dict[str, str], texts: dict[str, str]) -> Callable[[Handler], None]:
    """Answer with the notes whose quote was sent."""

    def behave(handler: Handler) -> None:
        asked = handler.asked
        fields = {"questions": [], "kind": "fact", "scope": "project", "certainty": 0.95}
        memories = [{"quote": quote, "memory": texts[name], **fields} for name, quote in quotes.items() if quote in asked]
        says_text(json.dumps({"memories": memories}))(handler)

    return behave


def change_state(machine: Machine, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(machine.home / "state.db")) as database, database:
        database.execute(sql, values)


def message(machine: Machine) -> str:
    """The line that the person sees when a session begins."""
    return str(json.loads(machine.hook(machine.beginning("startup")).stdout or b"{}").get("systemMessage", ""))


def status_of(machine: Machine, name: str) -> str:
    return str(machine.stored("all")[NOTED[name]].get("status", "active"))


@pytest.mark.usefixtures("server")
def test_a_start_names_the_three_surest_notes_once(bare: Machine) -> None:
    ids = {name: bare.stored()[text]["id"] for name, text in NOTED.items()}
    for name, certainty in {"keys": 0.9, "ferry": 0.7, "pump": 0.99, "staging": 0.8}.items():
        change_state(bare, "UPDATE proposed SET certainty = ? WHERE memory = ?", certainty, ids[name])
    surest = ", ".join(f"“{NOTED[name]}” [{ids[name]}]" for name in ("pump", "keys", "staging"))
    assert f"subcog: noted 4 things from your sessions, the surest: {surest} (`subcog learn --undo ID`" in message(bare)
    assert message(bare) == ""


@pytest.mark.usefixtures("server")
def test_a_day_a_session_or_an_id_takes_notes_back(bare: Machine) -> None:
    at = bare.root / "harbour"
    ids = {name: bare.stored()[text]["id"] for name, text in NOTED.items()}
    for wrong, code in (("", 1), ("2026-03-02", 1), ("lighthouse", 1), ("md-", 2)):
        assert bare.run("learn", "--undo", wrong).code == code
    assert len(bare.stored()) == 4
    old = bare.run("remember", "The pump needs oil every autumn.", "--namespace", "context", cwd=at).stdout.decode().strip()
    assert bare.run("supersede", old, ids["pump"]).code == 0
    assert {*bare.run("learn", "--undo", ids["pump"][:8]).stdout.decode().splitlines()} == {
        *(f"forgotten  {ids['pump']}  {NOTED['pump']}", f"restored  {old}  The pump needs oil every autumn.")
    }
    assert bare.run("learn", "--undo", "ferry").code == 0
    assert {name: status_of(bare, name) for name in NOTED} == {
        "keys": "active",
        "ferry": "deleted",
        "pump": "deleted",
        "staging": "active",
    }
    assert bare.run("learn", "--undo", TODAY).code == 0
    assert [*bare.stored()] == ["The pump needs oil every autumn."]
    bare.environment["CLAUDECODE"] = "1"
    assert_one_line_error(bare.run("learn", "--undo", "today"), 2)


def test_a_row_taken_back_is_not_learned_again(bare: Machine, server: LlmServer) -> None:
    assert bare.run("learn", "--undo", "today").code == 0
    asked = len(server.requests)
    bare.run("learn", "--llm")
    assert len(server.requests) == asked
    server.play(proposes({**TYPED, "staging": ON_ITS_OWN}, {**NOTED, "staging": "What lies on staging is not there later."}))
    (bare.home / "state.db").unlink()
    assert b"the model proposed 0, and 4 that are known" in bare.run("learn", "--llm").stderr
    assert len(server.requests) > asked
    assert bare.stored() == {}


def test_a_proposal_without_an_answer_is_dropped_after_30_days(bare: Machine, server: LlmServer) -> None:
    at = bare.root / "harbour"
    rule = "Don't use npm here, we're on pnpm"
    transcripts.session(bare.root / "user" / ".claude" / "projects", "rule", rule, folder=str(at))
    bare.run("learn")
    bare.environment |= {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ATTENDED": "0"}
    bare.run("remember", "An agent's note waits for longer.")
    del bare.environment["CLAUDECODE"]
    message(bare)
    for days, left in ((29, 2), (2, 1)):
        change_state(bare, "UPDATE proposed SET stored_at = stored_at - ?", days * DAY_MS)
        (bare.home / "at-rest.json").unlink(missing_ok=True)
        bare.run("at-rest")
        assert len(bare.stored("pending")) == left
    assert message(bare) == "subcog: 1 proposal dropped, which nobody has answered in 30 days"
    assert message(bare) == "subcog: 1 memory waits for `subcog review`"
    assert len(bare.stored()) == len(NOTED)
    (bare.home / "state.db").unlink()
    bare.run("learn")
    assert rule not in bare.stored("pending")
    assert server.requests


@pytest.mark.usefixtures("server")
def test_a_note_that_nothing_used_leaves_the_brief_and_goes(bare: Machine) -> None:
    at = bare.root / "harbour"
    bare.environment[NO_BRIEF] = "950"
    ids = {str(bare.stored()[text]["id"]) for text in NOTED.values()}

    news: list[str] = []

    def begin(session: str) -> set[str]:
        output = json.loads(bare.hook(bare.beginning("startup", session, at)).stdout or b"{}")
        news.append(output.get("systemMessage", ""))
        return {*ids_in(output.get("hookSpecificOutput", {}).get("additionalContext", ""))} & ids

    def days_later(days: int) -> set[str]:
        """Return the noted memories of a session's start after some days with 21 sessions and a run of the jobs."""
        change_state(bare, "UPDATE sought SET at = at - ?", days * DAY_MS)
        change_state(bare, "UPDATE proposed SET stored_at = stored_at - ?", days * DAY_MS)
        begin(f"begun {days}")
        others = json.dumps([f" {number}" for number in range(20)])
        columns = "session || value, project, source, last_at, prompts, said, units"
        copied = f"SELECT {columns} FROM sessions, json_each(?) WHERE session = ?"
        change_state(bare, f"INSERT INTO sessions {copied}", others, f"begun {days}")
        (bare.home / "at-rest.json").unlink(missing_ok=True)
        bare.run("at-rest")
        return begin(f"after {days}")

    assert days_later(0) == ids
    used = bare.stored()[NOTED["pump"]]["id"]
    days_later(59)
    bare.prompt("does the pump need oil?", cwd=at)
    assert days_later(2) == {used}
    assert {*bare.stored()} == {*NOTED.values()}
    days_later(60)
    assert [*bare.stored()] == [NOTED["pump"]]
    (line,) = [line for line in news if "archived" in line]
    assert "3 notes archived, which nothing has used in 120 days; `subcog edit --status active" in line
    assert bare.run(*line.split("`")[1].split()[1:]).code == 0
    assert {*bare.stored()} == {*NOTED.values()}
