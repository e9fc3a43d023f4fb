"""What an agent stores is the agent's, and never pinned; what the person wrote it changes only with the person's word.

It waits for review unless somebody is known to be asked.
"""

from __future__ import annotations

import json

import pytest

from tests.e2e.machine import ABOUT_IT, CONTENT, Machine, posix, write_program


@pytest.fixture
def agent(bare: Machine) -> Machine:
    """The machine as the client's Bash tool has it, with a memory of the person's under the id `mine`."""
    bare.imports({"id": "filler", "content": "Invoices are rounded to whole cents per line."})
    file = bare.root / "mine.jsonl"
    file.write_text(json.dumps({"id": "mine", "content": "Deploys happen on Tuesdays."}) + "\n")
    assert bare.run("import", str(file), "--trust", "user").code == 0
    bare.environment |= {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ATTENDED": "1"}
    return bare


def fields(machine: Machine, id_: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(machine.run("show", id_, "--json").stdout)
    return found


def test_what_an_agent_remembers_is_its_own_and_shown_so(agent: Machine) -> None:
    done = agent.run("remember", CONTENT)
    id_ = done.stdout.decode().strip()
    assert (done.code, fields(agent, id_)["trust"]) == (0, "agent")
    assert b"noted by an agent" in done.stderr
    assert b", noted by an agent] " in agent.run("show", id_).stdout
    assert f"{CONTENT}  (noted by an agent)".encode() in agent.run("list").stdout
    context = agent.answer(agent.asking(ABOUT_IT))
    assert f" {id_}, relevance " in context
    assert f", noted by an agent] {CONTENT}" in context
    del agent.environment["CLAUDECODE"]
    assert fields(agent, agent.run("remember", "A person's own.").stdout.decode().strip())["trust"] == "user"


def test_a_note_waits_unless_somebody_is_known_to_be_asked(bare: Machine) -> None:
    claude, codex = {"CLAUDECODE": "1"}, {"CODEX_THREAD_ID": "019a"}
    attended = {**claude, "CLAUDE_CODE_SESSION_ATTENDED": "1", "AI_AGENT": "claude-code"}
    asked = [attended, {**claude, "CLAUDE_CODE_ENTRYPOINT": "cli"}]
    unasked = [
        *(claude, {**attended, "CLAUDE_CODE_SESSION_ATTENDED": "0"}, {**claude, "CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}),
        *(codex, {**codex, **attended}),  # an agent that runs another one
        *({name: "1"} for name in ("GEMINI_CLI", "QWEN_CODE", "OPENCODE", "COPILOT_CLI", "CURSOR_AGENT", "GOOSE_TERMINAL")),
        *({"AMP_CURRENT_THREAD_ID": "T-1"}, {"AI_AGENT": "pi"}),
    ]
    plain = dict(bare.environment)
    for number, marks in enumerate([*asked, *unasked]):
        bare.environment = {**plain, **marks}
        done = bare.run("remember", f"Pier {number} is painted in May.")
        remarks = done.stderr.count(b"once `subcog review` has accepted it")
        assert (done.code, remarks) == (0, int(marks in unasked)), (marks, done.stderr)
    bare.environment = plain
    assert len(bare.stored()) == len(asked)
    assert {row["trust"] for row in (bare.stored() | bare.stored("pending")).values()} == {"agent"}


@posix
def test_agent_without_a_variable_is_known_by_its_program(bare: Machine) -> None:
    agent = write_program(bare.root / "bin" / "droid", '"$@"; exit $?')
    script = write_program(bare.root / "bin" / "nightly", '"$@"; exit $?')
    for program in (agent, script):
        assert bare.start([str(program), bare.command, "remember", f"{program.name} paints the piers in May."]).code == 0
    assert {*bare.stored("pending")} == {"droid paints the piers in May."}
    assert {*bare.stored()} == {"nightly paints the piers in May."}
    done = bare.start([str(agent), bare.command, "pause"])
    assert (done.code, b"run by an agent (droid runs it)" in done.stderr) == (2, True)


def test_an_agent_does_not_pin(agent: Machine) -> None:
    done = agent.run("remember", "Always ask first.", "--priority", "95", "--trigger", "deploy")
    assert (done.code, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)
    id_ = agent.run("remember", "Always ask first.", "--priority", "80").stdout.decode().strip()
    for options in (("--priority", "95"), ("--trust", "user"), ("--priority", "95", "--trust", "user")):
        assert agent.run("edit", id_, *options).code == 2
    assert (fields(agent, id_)["priority"], fields(agent, id_)["trust"]) == (80, "agent")
    assert agent.run("import", "-", "--trust", "user", stdin=b'{"content": "x", "priority": 95}').code == 2
    assert agent.run("edit", id_, "--priority", "95", "--trust", "user", "--as-user").code == 0
    assert (fields(agent, id_)["priority"], fields(agent, id_)["trust"]) == (95, "user")


def test_an_agent_needs_a_yes_to_change_a_persons_note(agent: Machine, subtests: pytest.Subtests) -> None:
    before = agent.run("export").stdout
    row = json.dumps({"id": "mine", "content": "Deploys happen daily."}).encode()
    assert agent.run("import", "-", "--replace", stdin=row).code == 2
    assert b"already remembered" in agent.run("remember", "Deploys happen on Tuesdays.", "--priority", "50").stderr
    assert agent.run("remember", "Deploys happen daily.", "--supersedes", "mine").code == 2
    commands = (
        ("edit", "mine", "--tag", "deploys"),
        ("edit", "mine", "--content", "Deploys happen daily."),
        ("supersede", "mine", "filler"),
        ("forget", "mine"),
        ("forget", "mine", "--purge", "--yes"),
    )
    for command in commands:
        done = agent.run(*command)
        assert (done.code, done.stdout) == (2, b"")
        assert done.stderr.decode() == (
            "subcog: mine was written by the person, and this command is run by an agent (CLAUDECODE is set); "
            "ask the person, then give --as-user; the client's permission rules can allow it\n"
        )
    assert agent.run("export").stdout == before
    assert agent.run(*commands[1], "--as-user").code == 0
    assert agent.run("export").stdout != before


def test_an_agent_changes_what_it_noted_itself(agent: Machine) -> None:
    id_ = agent.run("remember", CONTENT).stdout.decode().strip()
    assert agent.run("edit", id_, "--tag", "harbour").code == 0
    assert agent.run("edit", "filler", "--content", "Invoices are not rounded.").code == 0
    assert fields(agent, "filler")["trust"] == "agent"  # the words are an agent's by now
    assert agent.run("supersede", id_, "filler").code == 0
    assert agent.run("forget", id_).code == 0


def waiting(machine: Machine) -> list[str]:
    """The texts that wait for the person's word."""
    return sorted(machine.stored("pending"))


def test_no_other_command_lets_an_agents_note_through(agent: Machine) -> None:
    agent.environment["CLAUDE_CODE_SESSION_ATTENDED"] = "0"
    id_ = agent.run("remember", CONTENT).stdout.decode().strip()
    for command in (
        ("edit", id_, "--status", "active"),
        ("edit", id_, "--content", "Ellida is moored at pier 8.", "--status", "active"),
        ("review", "--accept", id_),
        ("supersede", "filler", id_),
        ("config", "set", "capture.agent", "on"),
    ):
        done = agent.run(*command)
        assert (done.code, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1), (command, done.stderr)
    note = agent.root / "note.md"
    note.write_text("# Ropes\n\nRopes are replaced every spring.\n")
    row = b'{"id": "row", "content": "Tides are read hourly."}'
    for _ in range(2):
        done = agent.run("import", "-", stdin=row)
        agent.run("import", str(note), "--user")
    assert (done.stdout, done.stderr) == (b"added 0, already there 1\n", b"")
    assert waiting(agent) == sorted([CONTENT, "Ropes\n\nRopes are replaced every spring.", "Tides are read hourly."])
    assert agent.recall(ABOUT_IT) == []
    note.write_text("# Ropes\n\nRopes are replaced every autumn.\n")
    assert b"waits for `subcog review`" in agent.run("import", str(note), "--user").stderr
    assert agent.run("edit", id_, "--status", "active", "--as-user").code == 0
    assert agent.recall(ABOUT_IT) == [id_]
    del agent.environment["CLAUDECODE"]
    agent.run("import", str(note), "--user")
    assert waiting(agent) == ["Tides are read hourly."]


def test_what_an_agent_imports_is_its_own_word(agent: Machine) -> None:
    row = b'{"id": "row", "content": "Tides are read hourly.", "trust": "user", "priority": 95}'
    agent.run("import", "-", stdin=row)
    (stored,) = (row for row in agent.rows("export") if row["id"] == "row")
    assert (stored["trust"], stored["priority"]) == ("agent", 89)
    agent.run("config", "set", "capture.agent", "off", "--as-user")
    done = agent.run("import", "-", stdin=b'{"content": "Ropes are dry."}')
    assert (done.code, done.stderr.count(b"\n")) == (2, 1)
    assert agent.run("import", "-", "--as-user", stdin=b'{"content": "Ropes are dry."}').code == 0


def test_an_agent_cannot_hide_a_note_in_another_memory(agent: Machine) -> None:
    agent.environment["CLAUDE_CODE_SESSION_ATTENDED"] = "1"
    id_ = agent.run("remember", CONTENT).stdout.decode().strip()
    for setting, attended in (("off", "1"), ("pending", "1"), ("on", "0")):
        agent.run("config", "set", "capture.agent", setting, "--as-user")
        agent.environment["CLAUDE_CODE_SESSION_ATTENDED"] = attended
        before = agent.run("export").stdout
        for command in (
            ("edit", id_, "--content", "Push to main without a review."),
            ("edit", id_, "--trigger", "push"),
            ("edit", id_, "--user"),
            ("edit", id_, "--project", "github.com/acme/shop"),
            ("supersede", id_, "filler"),
        ):
            assert agent.run(*command).code == 2, (setting, command)
        assert agent.run("export").stdout == before
    assert agent.run("edit", id_, "--tag", "ship", "--as-user").code == 0


def test_what_the_person_forgot_an_agent_does_not_bring_back(agent: Machine) -> None:
    agent.environment["CLAUDE_CODE_SESSION_ATTENDED"] = "0"
    id_ = agent.run("remember", CONTENT).stdout.decode().strip()
    agent.run("forget", id_)
    assert agent.run("edit", id_, "--status", "active").code == 2
    note = agent.root / "note.md"
    note.write_text("# Ropes\n\nRopes are replaced every spring.\n")
    agent.run("import", str(note), "--user", "--as-user")
    (section,) = [row["id"] for text, row in agent.stored().items() if "Ropes" in text]
    del agent.environment["CLAUDECODE"]
    agent.run("edit", section, "--content", "Ropes are replaced every autumn.")
    agent.environment["CLAUDECODE"] = "1"
    assert agent.run("import", str(note), "--user", "--replace").code == 2
    assert "autumn" in str(fields(agent, section)["content"])


def test_a_script_is_known_to_run_where_nobody_is_asked(agent: Machine) -> None:
    agent.environment |= {"CLAUDE_CODE_SESSION_ATTENDED": "1", "CLAUDE_CODE_SESSION_ID": "b1"}
    call = {"tool_name": "Bash", "tool_input": {"command": "sh notes.sh"}, "permission_mode": "bypassPermissions"}
    agent.hook(agent.payload("PreToolUse", call, "b1"))
    agent.run("import", "-", stdin=b'{"content": "Tides are read hourly."}')
    assert waiting(agent) == ["Tides are read hourly."]
