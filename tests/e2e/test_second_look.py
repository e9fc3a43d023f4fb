"""The second look by the installed executable: a model chooses among near notes, and its choice comes late, and once."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.llm import breaker
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.verdicts import FAILED, HANDED_OVER, LOOK_EVENT, MOVED_ON, NOTHING_FOUND, WAITING, RecordedVerdict
from tests.e2e.machine import ANSWER, ATTEMPTS, DATA, NO_BRIEF, Machine, assert_silent, ids_in, linux, wait_until, write_program
from tests.llm_server import Behaviour, Handler, LlmServer, fails, garbage, hangs_up, never, resets, says_text

LATE = "own-payroll"
PAYROLL = "Payroll goes out on the 25th; expense reports handed in later are paid a month after."
WAGES = "When do employees receive their salary?"  # has no word of it
FAR = "How are domain notifications passed on without a message broker?"  # nothing comes near it
LONG_S = 20.0  # for the process on a busy machine
GONE_S = 2.0  # within which a client is, after the look that has asked it
TRIES = 8

pytestmark = linux  # processes are looked for in /proc


@pytest.fixture(scope="module")
def payroll(subcog_command: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that knows when wages are paid, with final vectors, to be copied."""
    machine = Machine(subcog_command, tmp_path_factory.mktemp("payroll"))
    memories = [json.loads(line) for line in (DATA / "memories.jsonl").read_text(encoding="utf-8").splitlines()]
    file = machine.root / "memories.jsonl"
    rows = [*memories, {"id": LATE, "content": PAYROLL, "source": "docs/pay.md:3"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert machine.run("import", str(file), "--trust", "user", "--wait").code == 0
    return machine.home


@pytest.fixture
def server() -> Iterator[LlmServer]:
    with LlmServer(names(["Payroll"])) as started:
        yield started


@pytest.fixture
def unasked(bare: Machine, payroll: Path) -> Machine:
    """A machine that knows when wages are paid, on which second looks may be taken, without a model."""
    shutil.copytree(payroll, bare.home)
    bare.environment["SUBCOG_BACKGROUND"] = "1"  # however busy the machine is
    (bare.root / "tmp").mkdir()
    bare.environment["TMPDIR"] = str(bare.root / "tmp")
    return bare


@pytest.fixture
def paid(unasked: Machine, server: LlmServer) -> Machine:
    """The same machine, whose owner has chosen that server for work at rest. It names the note about payroll."""
    unasked.configure(llm__at_rest="openai", llm__base_url=server.url_v1, llm__model="small")
    return unasked


def names(texts: list[str], *others: object) -> Behaviour:
    """Answers with the numbers of the notes that begin so, and other ones."""

    def behave(handler: Handler) -> None:
        notes = handler.asked.split("\n\nNote ")[1:]
        found = [int(note.partition(":")[0]) for text in texts for note in notes if note.partition("\n")[2].startswith(text)]
        says_text("```json\n" + json.dumps({"numbers": [*found, *others]}) + "\n```")(handler)

    return behave


CLEAR_POLLS = 3  # of the list of processes: one that begins a program can be missing from it for a moment


def looking(machine: Machine) -> list[int]:
    """The processes of second looks of this machine."""
    return machine.processes(b"--second-look")


def rest(machine: Machine) -> None:
    """Wait until nothing is at work."""
    wait_until(lambda: not machine.processes(b"--second-look", b"at-rest"), LONG_S)


def command_of(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:  # it is over
        return b""


def looked(machine: Machine) -> list[RecordedVerdict]:
    """The second looks that have ended, the newest first, once none is running."""
    polls = [True]

    def is_over() -> bool:
        polls.append(bool(looking(machine)))
        return not any(polls[-CLEAR_POLLS:])

    wait_until(is_over, LONG_S)
    return [verdict for verdict in machine.past_verdicts() if verdict.event == LOOK_EVENT]


def silent(machine: Machine, text: str = WAGES, session: str = "s") -> None:
    """A prompt that the first look does not answer."""
    assert_silent(machine.prompt(text, session))


def looked_anew(machine: Machine, count: int) -> list[RecordedVerdict]:
    """The second looks once a prompt has started one more. On a busy machine a hook may have no time left to start it."""
    for attempt in range(ATTEMPTS):
        silent(machine, session=f"anew-{attempt}")
        if len(looks := looked(machine)) == count:
            break
    return looks


def called(machine: Machine, session: str = "s", command: str = "ls") -> list[str]:
    """The ids that come beside a tool's result."""
    return machine.at_call("Bash", session, command=command)


# ---- it comes late, and once -----------------------------------------------------------------------------------------------


def test_the_look_comes_with_the_next_tool_call_once(paid: Machine, server: LlmServer) -> None:
    silent(paid)
    (look,) = looked(paid)
    assert (look.outcome, [one.id for one in look.candidates if one.outcome == "found"]) == (WAITING, [LATE])
    assert look.note == "chosen by openai (small)"
    (request,) = server.requests
    assert request.json["messages"][-1]["content"].count("\n\nNote ") <= 15
    context = paid.answer(paid.calling("Bash", "s", command="ls"), "PreToolUse")
    assert ids_in(context) == [LATE]
    assert 'look="second"' in context
    assert called(paid) == []
    (look,) = looked(paid)
    assert look.outcome == HANDED_OVER
    assert paid.recall(PAYROLL, "s") == []  # the ledger has it


def test_it_comes_behind_the_tools_own_memory(paid: Machine) -> None:
    harbour = paid.repository("harbour", "git@github.com:tidepool/harbour.git")
    assert_silent(paid.prompt(WAGES, "s", harbour))
    looked(paid)
    ids = paid.at_call("Edit", "s", harbour, file_path=str(harbour / "web/src/auth/a.ts"), old_string="a", new_string="b")
    assert ids[0] == ANSWER
    assert ids[-1] == LATE


def test_why_tells_of_it_and_stats_counts_it(paid: Machine) -> None:
    silent(paid)
    looked(paid)
    prompt = next(one.id for one in paid.past_verdicts() if one.prompt == WAGES)
    assert "1 memory found, for the session's next tool call" in paid.run("why", prompt).stdout.decode()
    called(paid)
    told = paid.run("why", prompt).stdout.decode()
    assert " s later: 1 memory found, and handed over with " in told
    assert "second look, " in told
    assert json.loads(paid.run("why", prompt, "--json").stdout)["second_look"]["outcome"] == HANDED_OVER
    call = paid.run("why", "list", "-n", "1").stdout.decode().split()[0]
    assert "1 by second look" in paid.run("why", call).stdout.decode()  # what the call brought, and who found it
    assert "second look, " in paid.run("why", "list").stdout.decode()
    assert json.loads(paid.run("report", "--json").stdout)["subcog_second_looks_total"][HANDED_OVER] == 1
    assert 'subcog_second_looks_total{outcome="handed_over"} 1' in paid.run("report", "--prometheus").stdout.decode()


def test_a_bad_mark_is_about_the_prompt_of_the_look(paid: Machine, server: LlmServer) -> None:
    silent(paid)
    looked(paid)
    called(paid)
    assert b"marked as wrong for prompts like" in paid.run("why", "bad", LATE, "--yes").stderr
    silent(paid, session="anew")
    assert "Payroll" in server.requests[0].body.decode()
    assert not [request for request in server.requests[1:] if "Payroll" in request.body.decode()]


# ---- it is dropped where the session has moved on --------------------------------------------------------------------------


def test_another_prompt_drops_it(paid: Machine) -> None:
    silent(paid)
    looked(paid)
    silent(paid, "thanks")
    (look,) = looked(paid)
    assert (look.outcome, look.reason) == (MOVED_ON, "another prompt")
    assert called(paid) == []


@pytest.mark.parametrize("change", ["given", "forgotten"])
def test_what_was_given_or_forgotten_does_not_come(paid: Machine, change: str) -> None:
    silent(paid)
    looked(paid)
    if change == "given":
        with closing(State.open(Home(str(paid.home)), 1_000)) as state:
            state.run("INSERT INTO ledger VALUES ('s', ?, 1, '')", (LATE,))
    else:
        assert paid.run("forget", LATE).code == 0
    assert called(paid) == []
    assert looked(paid)[0].outcome == MOVED_ON


@pytest.mark.parametrize("is_late", [True, False], ids=["the call reads it", "a call before has read it"])
def test_the_memory_of_a_file_that_is_read_does_not_come(paid: Machine, is_late: bool) -> None:
    folder = paid.repository("office", "git@github.com:acme/office.git")
    assert_silent(paid.prompt(WAGES, "s", folder))
    reading = paid.calling("Read", "s", folder, file_path=str(folder / "docs" / "pay.md"))
    if is_late:
        looked(paid)
    assert paid.hook(reading).stdout == b""
    looked(paid)
    assert called(paid) == []
    assert looked(paid)[0].outcome == MOVED_ON


def test_a_subagent_is_not_told_what_its_session_asked(paid: Machine) -> None:
    silent(paid)
    looked(paid)
    call = json.loads(paid.calling("Bash", "s", command="ls")) | {"agent_id": "a05e", "agent_type": "general-purpose"}
    assert_silent(paid.hook(json.dumps(call).encode()))
    assert called(paid) == [LATE]


# ---- when it starts --------------------------------------------------------------------------------------------------------


def test_it_starts_only_with_a_model_and_near_notes(unasked: Machine, server: LlmServer) -> None:
    silent(unasked, session="without a model")
    assert looked(unasked) == []
    unasked.configure(llm__at_rest="openai", llm__base_url=server.url_v1, llm__model="small", second_look__mode="off")
    silent(unasked, session="switched off")
    silent(unasked, FAR, "far")
    unasked.configure(second_look__mode="auto", surfacing__tools="false")
    silent(unasked, session="tools get nothing")
    assert looked(unasked) == []
    unasked.configure(surfacing__tools="true")
    silent(unasked, FAR, "far")
    assert looked(unasked) == []
    assert len(looked_anew(unasked, 1)) == 1
    assert len(server.requests) == 1


def test_none_starts_where_the_brief_has_all_memories(bare: Machine, server: LlmServer) -> None:
    bare.imports({"id": LATE, "content": PAYROLL})
    bare.configure(llm__at_rest="openai", llm__base_url=server.url_v1, llm__model="small")
    for switch in ("SUBCOG_BACKGROUND", NO_BRIEF):
        del bare.environment[switch]
    bare.hook(bare.beginning("startup", "s"))
    silent(bare)
    assert looked(bare) == []
    assert len(looked_anew(bare, 1)) == 1  # these sessions have begun without a brief


def test_it_starts_after_the_answer_without_our_streams(paid: Machine) -> None:
    for number in range(TRIES):  # a look may be over before it could be seen
        done = paid.prompt(WAGES, f"s{number}")  # returns when nobody holds stdout any more
        is_at_it = looking(paid) != []
        assert done.stdout == b""
        assert looked(paid)[0].session == f"s{number}"
        if is_at_it:
            break
    assert is_at_it


# ---- it leaves nothing behind ----------------------------------------------------------------------------------------------


def files(machine: Machine) -> set[str]:
    """All files of a machine but SQLite's own, once nothing is at work."""
    rest(machine)
    return {str(path) for path in machine.root.rglob("*") if not path.name.endswith(("-wal", "-shm"))}


def test_nothing_is_left_behind(paid: Machine) -> None:
    silent(paid, WAGES, "first")
    rest(paid)
    before = files(paid)
    for number in range(3):
        silent(paid, WAGES, f"s{number}")
        looked(paid)
    assert files(paid) == before


def test_no_command_line_or_file_shows_the_prompt(paid: Machine) -> None:
    paid.run("config", "set", "surfacing.log_prompts", "false")
    seen: list[bytes] = []
    for number in range(TRIES):  # a look may be over before it could be seen
        silent(paid, session=f"s{number}")
        seen = [command for pid in looking(paid) if (command := command_of(pid))]
        looked(paid)
        assert called(paid, f"s{number}") == [LATE]
        if seen:
            break
    assert seen
    assert not any(b"salary" in command for command in seen)
    for path in paid.home.glob("state.db*"):
        assert b"salary" not in path.read_bytes()


def test_a_look_that_is_killed_does_no_harm(paid: Machine, server: LlmServer) -> None:
    server.play(never(), names(["Payroll"]))
    silent(paid)
    wait_until(lambda: bool(server.requests), LONG_S)
    for pid in looking(paid):
        os.kill(pid, signal.SIGKILL)
    assert looked(paid) == []
    assert called(paid) == []
    silent(paid, WAGES, "after")
    looked(paid)
    assert called(paid, "after") == [LATE]


def test_only_a_task_is_looked_at(paid: Machine, server: LlmServer) -> None:
    for text in (paid.asking(), b"", b"{}", b"[1, 2]", b"\xff\xfe", b'{"verdict": "x"}', b"x" * 20_000):
        assert_silent(paid.hook(text, "--second-look"))
    assert server.requests == []


def at_once(machine: Machine, payload: bytes) -> list[bytes]:
    """What six hooks print on one payload at once."""
    started = [machine.begin("hook") for _ in range(6)]
    for process in started:
        assert process.stdin is not None
        process.stdin.write(payload)
        process.stdin.flush()
    return [process.communicate(timeout=LONG_S)[0] for process in started]


def test_six_calls_at_once_hand_it_over_once(paid: Machine) -> None:
    silent(paid)
    looked(paid)
    printed: list[bytes] = []
    for _ in range(ATTEMPTS):  # a busy machine may end some of them without an answer
        printed += at_once(paid, paid.calling("Bash", "s", command="ls"))
        if any(printed):
            break
    assert [LATE.encode() in output for output in printed].count(True) == 1


# ---- the model's answer ----------------------------------------------------------------------------------------------------


def test_only_numbers_of_notes_are_read(paid: Machine, server: LlmServer) -> None:
    server.play(names(["Payroll"], 99, 0, -1, "1", None))
    silent(paid)
    (look,) = looked(paid)
    assert [one.id for one in look.candidates if one.outcome == "found"] == [LATE]


def test_where_the_model_names_none_nothing_comes(paid: Machine, server: LlmServer) -> None:
    server.play(names([]))
    silent(paid)
    (look,) = looked(paid)
    assert look.outcome == NOTHING_FOUND
    assert b"s later: the model chose none of " in paid.run("why", look.looked_at).stdout
    assert called(paid) == []


WRONG = {"500": fails(500), "401": fails(401), "another form": says_text("[1, 2]"), "too long": says_text("x" * 200_000)}
WRONG |= {"never": never(), "no HTTP": garbage(), "hangs up": hangs_up(), "resets": resets()}


@pytest.mark.parametrize("behaviour", WRONG.values(), ids=WRONG)
def test_a_model_that_is_late_or_wrong_gives_nothing(paid: Machine, server: LlmServer, behaviour: Behaviour) -> None:
    server.play(behaviour)
    silent(paid)
    (look,) = looked(paid)
    assert look.outcome == FAILED
    assert look.reason.startswith("openai: ")
    assert called(paid) == []
    assert b"1 of the last 1 second look failed, the last: openai: " in paid.run("doctor").stdout
    assert b"failed: openai: " in paid.run("why", look.looked_at).stdout


def test_the_calls_of_a_day_are_counted_and_bound_it(paid: Machine, server: LlmServer) -> None:
    paid.configure(llm__calls_a_day="1")
    for session in ("one", "two"):
        silent(paid, WAGES, session)
        looks = looked(paid)
    assert len(server.requests) == 1
    assert "the 1 calls of today are made (llm.calls_a_day)" in {look.reason for look in looks}
    assert called(paid, "two") == []
    assert b"1 of 1 calls today" in paid.run("doctor").stdout


def test_a_model_that_has_failed_is_named_as_not_asked(paid: Machine, server: LlmServer) -> None:
    with closing(State.open(Home(str(paid.home)), 1_000)) as state:
        breaker.open_breaker(state, f"llm.at_rest openai {server.url_v1} small", now_ms() + breaker.OPEN_MS)
    silent(paid)
    (look,) = looked(paid)
    assert (look.reason, server.requests) == ("openai has failed a short while ago", [])


def test_a_prompt_that_may_hold_a_secret_is_shown_to_no_model(paid: Machine, server: LlmServer) -> None:
    silent(paid, f"{WAGES} The api_key=zQ8vKp2LxR7mNc4T is set.")
    looked(paid)
    assert server.requests == []


def test_the_users_client_is_gone_with_a_look_that_is_killed(unasked: Machine) -> None:
    begun = unasked.root / "client"
    client = write_program(unasked.root / "claude", f"echo $$ > {begun}.new\nmv {begun}.new {begun}\nsleep 60")
    unasked.configure(llm__at_rest="claude", llm__client=str(client))
    silent(unasked)
    wait_until(begun.exists, LONG_S)
    asked = int(begun.read_text())
    assert command_of(asked)
    (look,) = [pid for pid in looking(unasked) if b"--second-look" in command_of(pid)]
    os.kill(look, signal.SIGKILL)
    wait_until(lambda: not command_of(asked), GONE_S)
