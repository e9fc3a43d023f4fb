"""The second look by the installed executable: a model chooses among near notes, and its choice comes late, and once."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from subcog_hooks.store.verdicts import FAILED, HANDED_OVER, LOOK_EVENT, MOVED_ON, NOTHING_FOUND, WAITING, RecordedVerdict
from tests.e2e.machine import ATTEMPTS, DATA, LONGEST_S, Machine, assert_silent, ids_in, linux, wait_until
from tests.llm_server import Behaviour, Handler, LlmServer, fails, never, resets, says_text

LATE = "own-payroll"
PAYROLL = "Payroll goes out on the 25th; expense reports handed in later are paid a month after."
WAGES = "When do employees receive their salary?"  # has no word of it
FAR = "How are domain notifications passed on without a message broker?"  # nothing comes near it

pytestmark = linux  # processes are looked for in /proc


@pytest.fixture(scope="module")
def payroll(subcog_command: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that knows when wages are paid, with final vectors, to be copied."""
    machine = Machine(subcog_command, tmp_path_factory.mktemp("payroll"))
    memories = [json.loads(line) for line in (DATA / "memories.jsonl").read_text(encoding="utf-8").splitlines()]
    file = machine.root / "memories.jsonl"
    rows = [*memories, {"id": LATE, "content": PAYROLL}]
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
    wait_until(lambda: not machine.processes(b"--second-look", b"at-rest"), LONGEST_S)


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

    wait_until(is_over, LONGEST_S)
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


# ---- it is dropped where the session has moved on --------------------------------------------------------------------------


def test_another_prompt_drops_it(paid: Machine) -> None:
    silent(paid)
    looked(paid)
    silent(paid, "thanks")
    (look,) = looked(paid)
    assert (look.outcome, look.reason) == (MOVED_ON, "another prompt")
    assert called(paid) == []


def test_what_was_forgotten_does_not_come(paid: Machine) -> None:
    silent(paid)
    looked(paid)
    assert paid.run("forget", LATE).code == 0
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


# ---- it leaves nothing behind ----------------------------------------------------------------------------------------------


def test_nothing_is_left_behind_and_nothing_shows_the_prompt(paid: Machine) -> None:
    paid.run("config", "set", "surfacing.log_prompts", "false")

    def files() -> set[str]:
        """All files of the machine but SQLite's own, once nothing is at work."""
        rest(paid)
        return {str(path) for path in paid.root.rglob("*") if not path.name.endswith(("-wal", "-shm"))}

    silent(paid, WAGES, "first")
    before = files()
    seen: set[bytes] = set()
    for number in range(3):
        silent(paid, WAGES, f"s{number}")  # returns when nobody holds stdout any more
        seen |= {command_of(process) for process in looking(paid)}
        looked(paid)
    assert files() == before
    assert not any(b"salary" in command for command in seen)
    assert not any(b"salary" in path.read_bytes() for path in paid.home.glob("state.db*"))


def test_a_look_that_is_killed_does_no_harm(paid: Machine, server: LlmServer) -> None:
    server.play(never(), names(["Payroll"]))
    silent(paid)
    wait_until(lambda: bool(server.requests), LONGEST_S)
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


# ---- the model's answer ----------------------------------------------------------------------------------------------------


def test_only_numbers_of_notes_are_read_and_none_is_an_answer(paid: Machine, server: LlmServer) -> None:
    for session, named, chosen in (("some", ["Payroll"], [LATE]), ("none", [], [])):
        server.play(names(named, 99, 0, -1, "1", None))
        silent(paid, session=session)
        look = looked(paid)[0]
        assert [one.id for one in look.candidates if one.outcome == "found"] == chosen
    assert look.outcome == NOTHING_FOUND
    assert b"s later: the model chose none of " in paid.run("why", look.looked_at).stdout
    assert called(paid, "none") == []


WRONG = {"500": fails(500), "another form": says_text("[1, 2]"), "too long": says_text("x" * 200_000), "resets": resets()}


@pytest.mark.parametrize("behaviour", WRONG.values(), ids=WRONG)
def test_a_model_that_is_late_or_wrong_gives_nothing(paid: Machine, server: LlmServer, behaviour: Behaviour) -> None:
    server.play(behaviour)
    silent(paid)
    (look,) = looked(paid)
    assert look.outcome == FAILED
    assert look.reason.startswith("openai: ")
    assert called(paid) == []
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


def test_a_prompt_that_may_hold_a_secret_is_shown_to_no_model(paid: Machine, server: LlmServer) -> None:
    silent(paid, f"{WAGES} The api_key=zQ8vKp2LxR7mNc4T is set.")
    looked(paid)
    assert server.requests == []
