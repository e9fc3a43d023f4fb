"""The installed executable where a tool is about to be called, and where a session begins, goes on and ends."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.machine import NO_BRIEF, OTHER_REMOTE, PROJECT, REMOTE, Machine, assert_silent, ids_in

HARBOUR: list[dict[str, object]] = [  # what is remembered of the project
    {"id": "pool", "content": "Connections are handed back by whoever took them.", "paths": ["src/db/**"]},
    {
        "id": "berths",
        "content": "The planner in `allocate_berth` retries on SQLSTATE 23P01, three times.",
        "triggers": ["allocate_berth"],
    },
    {"id": "deploy", "content": "Deployments wait for the tide table to be loaded.", "triggers": ["helm (upgrade|install)"]},
    {"id": "shell", "content": "The shells of the harbour's machines are dash.", "when": {"tool": "Bash", "branch": "dash"}},
    {"id": "billing", "content": "Invoices are rounded half up.", "paths": ["src/billing/*.py"]},
]
BEGINNINGS: list[dict[str, object]] = [
    {"id": "always", "content": "Releases leave from the branch harbour-stable.", "priority": 95},
    {"id": "resumed", "content": "Ask where we were.", "when": {"source": "resume"}},
    {"id": "first", "content": "This is the first session in this project.", "when": {"first_session": True}},
]
MB = 1_000_000


@pytest.fixture(scope="module")
def remembered(subcog_command: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the memories of the project, to be copied."""
    machine = Machine(subcog_command, tmp_path_factory.mktemp("remembered"))
    machine.imports(*[{**memory, "project": PROJECT} for memory in HARBOUR])
    return machine.home


@pytest.fixture
def harbour(bare: Machine, remembered: Path) -> Path:
    """A clone of a project, with memories of its own on the machine."""
    shutil.copytree(remembered, bare.home)
    return bare.repository("harbour", REMOTE)


# ---- tools ----------------------------------------------------------------------------------------------------------------


def test_a_submodule_has_the_memories_of_its_parent(bare: Machine, harbour: Path) -> None:
    git = harbour / ".git" / "modules" / "codec"
    git.mkdir(parents=True)
    (git / "config").write_text('[remote "origin"]\n\turl = https://git.example.com/acme/codec.git\n')
    inside = harbour / "codec"
    inside.mkdir()
    (inside / ".git").write_text("gitdir: ../.git/modules/codec\n")
    question = "How often does allocate_berth retry on SQLSTATE 23P01?"
    assert "berths" in bare.recall(question, cwd=inside)
    assert "berths" in bare.run("list", "--ids", cwd=inside).stdout.decode().split()
    bare.run("config", "set", "project.parents", "false")
    assert_silent(bare.prompt(question, cwd=inside))
    assert bare.run("list", "--ids", cwd=inside).code == 1


def test_a_tool_brings_the_memory_of_its_file_command_or_text(bare: Machine, harbour: Path, subtests: pytest.Subtests) -> None:
    file, elsewhere = str(harbour / "src/db/pool.py"), str(harbour / "src/web/pool.py")
    edits = [{"old_string": "a", "new_string": "x"}, {"old_string": "b", "new_string": "helm install"}]
    cases: list[tuple[list[str], str, dict[str, object]]] = [
        (["pool"], "Edit", {"file_path": file}),
        (["pool"], "Read", {"file_path": file}),
        (["pool"], "NotebookEdit", {"notebook_path": file}),
        (["pool"], "Write", {"file_path": file, "content": "x = 1  # §\n" * (3 * MB // 11)}),
        ([], "Edit", {"file_path": elsewhere}),
        (["deploy"], "Bash", {"command": "cd /srv && helm upgrade --install harbour ./chart"}),
        (["deploy"], "Write", {"file_path": "README.md", "content": "Then `helm install harbour`."}),
        (["deploy"], "MultiEdit", {"file_path": "README.md", "edits": edits}),
        (["berths"], "Bash", {"command": "grep -rn allocate_berth src"}),
    ]
    for ids, tool, given in cases:
        with subtests.test(tool=tool, given=str(given)[:60]):
            assert bare.at_call(tool, None, harbour, **given) == ids
    other = bare.repository("shop", OTHER_REMOTE)
    assert_silent(bare.hook(bare.calling("Edit", cwd=other, file_path=str(other / "src/db/pool.py"))))


# ---- sessions -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def beginnings(bare: Machine) -> Machine:
    """A machine with memories that sessions begin with."""
    file = bare.root / "beginnings.jsonl"
    file.write_text("".join(json.dumps(memory) + "\n" for memory in BEGINNINGS))
    assert bare.run("import", str(file), "--trust", "user").code == 0
    return bare


def test_session_begins_with_what_is_pinned_and_what_holds(beginnings: Machine) -> None:
    beginnings.imports(HARBOUR[1])
    assert ids_in(beginnings.begun("startup", "one session")) == ["always", "first"]
    assert beginnings.at_call("Bash", "one session", command="allocate_berth 7") == ["berths"]
    assert ids_in(beginnings.begun("clear", "another session")) == ["always"]
    assert beginnings.at_call("Bash", "another session", command="allocate_berth 7") == ["berths"]


def test_a_subagent_has_a_context_of_its_own(beginnings: Machine) -> None:
    beginnings.imports(HARBOUR[1])
    call = beginnings.calling("Bash", "one session", command="allocate_berth 7")

    def ids_at(**fields: object) -> list[str]:
        return ids_in(beginnings.answer(odd(call, **fields), "PreToolUse"))

    assert ids_at(agent_id="a05e") == ["berths"]
    assert ids_at(agent_id="a05e") == []
    assert ids_at() == ["berths"]
    assert ids_at(agent_id="b05e") == ["berths"]
    assert ids_at() == ids_at(agent_id=17) == []


def test_standing_memories_reach_each_subagent_once(beginnings: Machine) -> None:
    del beginnings.environment[NO_BRIEF]
    beginnings.imports(
        {"id": "rule", "content": "Never rebase a pushed branch.", "standing": True},
        {"id": "fact", "content": "The mole light has been out since May.", "standing": False},
    )
    start = beginnings.payload("SubagentStart", {"agent_id": "a05e", "agent_type": "Explore"}, "one session")

    def ids_at(**fields: object) -> list[str]:
        return ids_in(beginnings.answer(odd(start, **fields), "SubagentStart"))

    assert "fact" in ids_in(beginnings.begun("startup", "one session"))
    assert ids_at() == ids_at(agent_id="b05e") == ["always", "rule"]
    assert ids_at() == ids_at(agent_id=None) == ids_at(agent_id="c05e", agent_type="") == []  # a compaction's has no type
    beginnings.run("config", "set", "surfacing.session_start", "false")
    assert ids_at(agent_id="d05e") == []
    verdict = json.loads(beginnings.run("why", "list", "--json").stdout)[0]
    assert (verdict["event"], verdict["reason"], verdict["session"]) == ("SubagentStart", "Explore", "one session")


def test_a_session_compacted_beside_a_writer_gets_its_notes(beginnings: Machine) -> None:
    beginnings.imports(HARBOUR[1])
    assert beginnings.at_call("Bash", "one session", command="allocate_berth 7") == ["berths"]
    with closing(sqlite3.connect(beginnings.home / "state.db")) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert "berths" in ids_in(beginnings.begun("compact", "one session"))


# ---- memories that come in part, and those that came ------------------------------------------------------------------------


def test_a_memory_that_a_brief_cuts_comes_whole_later(bare: Machine) -> None:
    waits = "The quokka gateway takes long to come up, and the balancer sees it late. " * 9
    rule = "A restart of the quokka gateway needs the flag --drain-first."
    bare.imports(
        {"id": "gateway", "content": f"{waits}{rule}", "questions": ["Which flag does a restart of the gateway need?"]},
        {"id": "tides", "content": "The tide table is loaded before the berths are planned. " * 12},
    )
    bare.environment[NO_BRIEF] = "900"
    begun = bare.begun("startup", "s")
    assert " gateway, imported] " in begun
    assert rule not in begun
    assert b"2 given" in bare.run("statusline", stdin=b'{"session_id": "s"}').stdout
    question = "Which flag does a restart of the quokka gateway need?"
    assert rule in bare.answer(bare.asking(question, "s"))
    assert_silent(bare.prompt(question, "s"))


def test_a_reworded_memory_comes_to_the_session_again(bare: Machine) -> None:
    bare.imports({"id": "pool", "content": "pgbouncer in billing drops idle connections after 60 s; use session mode."})
    question = "Why does pgbouncer drop idle connections in billing?"
    assert bare.recall(f"<system-reminder>read it</system-reminder>\n{question}", "s") == ["pool"]
    bare.run("edit", "pool", "--tag", "db")
    assert_silent(bare.prompt(question, "s"))
    bare.run("edit", "pool", "--content", "pgbouncer in billing drops idle connections after 60 s; use transaction mode.")
    assert "transaction mode" in bare.answer(bare.asking(question, "s"))
    assert_silent(bare.prompt(question, "s"))


def odd(payload: bytes, **fields: object) -> bytes:
    """The payload with other values."""
    return json.dumps(json.loads(payload) | fields).encode()
