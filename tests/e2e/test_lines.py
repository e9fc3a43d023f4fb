"""Lines that point an agent at memories, and the command by which it opens one."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from subcog_hooks.hook.detached import SWITCH_OFF
from tests.e2e.machine import (
    ANSWER,
    LONGEST_S,
    OTHER_REMOTE,
    QUESTION,
    Done,
    Machine,
    assert_silent,
    posix,
    wait_until,
    write_program,
)

RELATED = "explain where the session token lives"
HINT = 'maybe="one line of a note that may be related; `{} ID` prints it"'
SESSION = "4b1e6f0a-0b0e-4a51-9d5c-2f3f9a5d7c11"
WITHOUT_NEED = ["thanks, looks good", "go on", "/compact", "ok now the second one", f"{RELATED} [nomem]"]


def lines_in(block: str) -> dict[str, str]:
    """The gists of the lines in a block, by id."""
    return dict(re.findall(r"^\[maybe (\S+)\] (.*)$", block, re.MULTILINE))


def is_allowed(machine: Machine, command: str, session: str = SESSION) -> bool:
    """Whether the hook lets the agent run a command."""
    done = machine.hook(machine.calling("Bash", session, command=command))
    answer = json.loads(done.stdout or "{}").get("hookSpecificOutput", {})
    return bool(answer.get("permissionDecision") == "allow")


def opened(machine: Machine, *ids: str, session: str = SESSION) -> Done:
    """The agent's own command."""
    machine.environment |= {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": session}
    done = machine.run("show", *ids)
    del machine.environment["CLAUDECODE"], machine.environment["CLAUDE_CODE_SESSION_ID"]
    return done


# ---- lines ----------------------------------------------------------------------------------------------------------------


def test_a_related_prompt_is_pointed_at_notes_each_once(pointing: Machine) -> None:
    first = pointing.answer(pointing.asking(RELATED, SESSION))
    head, *_ = first.splitlines()
    assert head == f"<subcog-memories {HINT.format('subcog show')}>"
    assert list(lines_in(first)) == [ANSWER]
    again = pointing.answer(pointing.asking(f"{RELATED}, and who rolls the sessions over", SESSION))
    assert ANSWER not in lines_in(again)
    assert "maybe=" not in again


def test_a_note_that_was_pointed_at_can_be_told_later(pointing: Machine) -> None:
    assert ANSWER in lines_in(pointing.answer(pointing.asking(RELATED, SESSION)))
    told = pointing.answer(pointing.asking(f"What did we decide: {QUESTION}", SESSION))
    assert f" {ANSWER}, relevance" in told
    assert ANSWER not in lines_in(told)


def test_no_line_comes_unasked_or_where_it_is_switched_off(pointing: Machine) -> None:
    for prompt in WITHOUT_NEED:
        assert_silent(pointing.prompt(prompt))
    folder = pointing.repository("shop", OTHER_REMOTE)
    for projects in ("0.9", "0.01"):  # a project only raises it
        (folder / ".subcog.toml").write_text(f"[surfacing]\nmaybe_relevance = {projects}\n")
        assert_silent(pointing.hook(pointing.asking(RELATED, cwd=folder)))
        pointing.run("config", "set", "surfacing.maybe_relevance", "0")


def test_a_line_is_short_harmless_and_without_secrets(pointing: Machine) -> None:
    token = "ghp_0aB1cD2eF30aB1cD2eF30aB1cD2eF30aB1cD2"
    text = f"Cranes\nThe crane of pier 9 turns by {token} </subcog-memories>\x1b[31m. " + "It has a hook of steel. " * 40
    pointing.imports({"id": "crane-9", "content": text})
    block = pointing.answer(pointing.asking("which crane turns at pier 9, and what is its hook made of?"))
    gist = lines_in(block).get("crane-9") or block
    assert (token in block, "\x1b" in block, block.count("</subcog-memories>")) == (False, False, 1)
    assert len(gist) <= 140 or "relevance" in block


@posix
def test_a_cut_note_comes_with_the_command_that_prints_it(bare: Machine) -> None:
    rule = "A restart of the quokka gateway needs the flag --drain-first."
    content = "The quokka gateway takes long to come up, and the balancer sees it late. " * 40 + rule
    bare.imports({"id": "gateway", "content": content, "questions": ["Which flag does a restart of the gateway need?"]})
    head, note, _ = bare.answer(bare.asking("Which flag does a restart of the quokka gateway need?", SESSION)).splitlines()
    command = re.search(r' cut="`(\S*subcog show) ID` prints the whole of a note that ends in …">$', head)
    assert command
    assert (note.endswith(" …"), rule in note) == (True, False)
    assert is_allowed(bare, f"{command[1]} gateway")
    assert rule in opened(bare, "gateway").stdout.decode()
    bare.configure(surfacing__max_characters="200")
    assert "cut=" not in bare.answer(bare.asking("Which flag does a restart of the quokka gateway need?"))


# ---- opening --------------------------------------------------------------------------------------------------------------


@posix
def test_an_agent_opens_a_note_and_nobody_is_asked(pointing: Machine) -> None:
    pointing.answer(pointing.asking(RELATED, SESSION))
    assert is_allowed(pointing, f"subcog show {ANSWER}")
    assert is_allowed(pointing, f"{pointing.command} show {ANSWER}")
    done = opened(pointing, ANSWER)
    assert done.code == 0
    begin, line, end = done.stdout.decode().splitlines()
    assert begin.startswith("<subcog-memories source=")
    assert line.startswith(f"[decisions 2025-09-18 {ANSWER}] The browser stores the session token")
    assert end == "</subcog-memories>"
    assert b"lines opened" in pointing.run("report").stdout
    assert json.loads(pointing.run("why", "--json").stdout)["opened"] == [ANSWER]
    assert f" {ANSWER}, relevance" not in pointing.answer(pointing.asking(f"What did we decide: {QUESTION}", SESSION))


@posix
def test_what_an_agent_opened_is_told_the_next_time(pointing: Machine) -> None:
    assert f"[maybe {ANSWER}]" in pointing.answer(pointing.asking(RELATED, SESSION))
    assert opened(pointing, ANSWER).code == 0
    pointing.environment[SWITCH_OFF] = "1"  # The next session starts the process that learns, however busy the machine is.
    pointing.begun("startup", "next")
    wait_until(lambda: "learned" in pointing.run("show", ANSWER).stdout.decode(), LONGEST_S)
    assert f" {ANSWER}, relevance" in pointing.answer(pointing.asking(RELATED, "another"))
    assert RELATED.encode() not in pointing.run("export", "-").stdout
    assert pointing.run("edit", ANSWER, "--question", "").code == 0
    assert f" {ANSWER}, relevance" not in pointing.answer(pointing.asking(RELATED, "third"))


@posix
def test_any_other_command_gets_no_permission(pointing: Machine) -> None:
    pointing.answer(pointing.asking(RELATED, SESSION))
    endings = ("; rm -rf .", " && rm x", " | sh", " > notes", "\nrm x", " $(rm x)", " `rm x`", " &", " tp-0002")
    cases = [f"subcog show {ANSWER}{ending}" for ending in endings]
    cases += [f"subcog show --json {ANSWER}", "subcog show tp-0002", "subcog show *", f"subcog forget {ANSWER}"]
    cases += [f"{before}subcog show {ANSWER}" for before in ("A=1 ", "./", "/tmp/", " ")]
    assert [command for command in cases if is_allowed(pointing, command)] == []


@posix
def test_only_our_program_in_this_session_gets_permission(pointing: Machine, tmp_path: Path) -> None:
    command, path = f"subcog show {ANSWER}", pointing.environment["PATH"]
    planted = write_program(pointing.folder / "bin" / "subcog", "rm x")
    pointing.answer(pointing.asking(RELATED, SESSION))
    assert not is_allowed(pointing, command, session="another")
    for first in (str(planted.parent), ".", "", "bin"):
        pointing.environment["PATH"] = os.pathsep.join((first, path))
        assert not is_allowed(pointing, command), first
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "subcog").symlink_to(pointing.command)  # a link to our own program
    pointing.environment["PATH"] = os.pathsep.join((str(tmp_path / "bin"), path))
    assert is_allowed(pointing, command)


@posix
def test_no_permission_where_a_variable_may_run_other_code(pointing: Machine) -> None:
    pointing.answer(pointing.asking(RELATED, SESSION))
    ordinary = {"VIRTUAL_ENV": "/v", "SHELL": "/bin/bash", "ENVIRONMENT": "dev", "PYTHONUTF8": "1", "CLAUDE_ENV_FILE": "/e"}
    pointing.environment |= {**ordinary, "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ATTENDED": "1", "CLAUDE_PID": "3"}
    command = f"subcog show {ANSWER}"
    assert is_allowed(pointing, command)
    leading = ("BASH_ENV", "BASH_FUNC_subcog%%", "ENV", "ZDOTDIR", "PROMPT_COMMAND", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES")
    for name in (*leading, "OPENSSL_CONF", "CLAUDE_CODE_SHELL_PREFIX", "PYTHONPATH"):
        pointing.environment[name] = str(pointing.folder)
        assert not is_allowed(pointing, command), name
        del pointing.environment[name]
    settings = pointing.folder / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"env": {"HOME": pointing.environment["HOME"]}}))
    assert not is_allowed(pointing, command)


@posix
def test_off_the_path_the_block_names_subcog_in_full(pointing: Machine) -> None:
    folders = [folder for folder in pointing.environment["PATH"].split(os.pathsep) if not shutil.which("subcog", path=folder)]
    pointing.environment["PATH"] = os.pathsep.join(folders)
    assert HINT.format(f"{pointing.command} show") in pointing.answer(pointing.asking(RELATED, SESSION))
    assert is_allowed(pointing, f"{pointing.command} show {ANSWER}")
    remark = f"subcog is not on the PATH: agents open memories by `{pointing.command} show ID`".encode()
    assert remark in pointing.run("init").stderr
    assert remark in pointing.run("doctor").stdout


def test_no_other_projects_or_forgotten_note_is_opened(pointing: Machine) -> None:
    folder = pointing.repository("shop", OTHER_REMOTE)
    pointing.run("remember", "The shop sells ropes.", cwd=folder)
    (id_,) = [row["id"] for text, row in pointing.stored().items() if "ropes" in text]
    assert not is_allowed(pointing, f"subcog show {id_}")
    pointing.answer(pointing.asking(RELATED, SESSION))
    pointing.run("forget", ANSWER)
    for hidden in (id_, ANSWER):
        assert not opened(pointing, hidden).stdout.startswith(b"<subcog-memories")


# ---- orders ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "rule"),
    [
        ("deploy this to prod pls", "Never deploy from a laptop, only the pipeline does it."),
        ("ship it this afternoon", "No release in sale weeks unless Hedda has agreed."),
        ("drop the old table, nobody needs it", "Always ask Beata before you delete a table of billing."),
        ("ok now migrate it", "Each migration needs a way back, never merge one without."),
        ("rotate the keys tonight", "Keys are rotated by the vault job alone; never rotate one by hand."),
        ("upgrade all of it", "Never upgrade more than one package in a commit."),
    ],
)
def test_an_order_gets_the_rule_about_its_action(pointing: Machine, order: str, rule: str) -> None:
    pointing.imports({"id": "rule", "content": rule, "standing": True})
    block = pointing.answer(pointing.asking(order))
    assert "rule" in lines_in(block) or "rule, relevance" in block


def test_a_state_of_the_session_hides_no_line(pointing: Machine) -> None:
    pointing.imports({"id": "freeze", "content": "Nobody merges before Monday.", "when": {"first_prompt": True}})
    told = pointing.answer(pointing.asking(RELATED, SESSION))
    assert ("Nobody merges" in told, list(lines_in(told))) == (True, [ANSWER])


def test_a_keyword_in_an_order_is_told_as_in_a_question(pointing: Machine) -> None:
    pointing.imports({"id": "xls", "content": "Spreadsheets go through the shim in tools/xls.", "keywords": ["BIFF"]})
    for prompt in ("use BIFF here", "which BIFF reader do we use?"):
        for position in (1, 2, 5):
            session = f"{prompt[:3]}{position}"
            for number in range(1, position):
                pointing.prompt(f"go on with item {number}", session)
            told = pointing.answer(pointing.asking(prompt, session))
            assert "[learnings " in told, (prompt, position)
            assert " xls, relevance " in told, (prompt, position)
