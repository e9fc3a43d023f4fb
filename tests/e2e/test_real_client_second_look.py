"""The real client and a second look: the model's choice stands in the request behind the next tool call, once.

The client runs in print mode, where an async hook that is still running at the end is killed; the look is a process of its own.
"""

import json
from pathlib import Path

import pytest

from tests.e2e.claude_client import Sandbox, conversation
from tests.e2e.machine import DATA, linux, write_program
from tests.e2e.messages_api import ToolCall
from tests.e2e.subcog_client import assert_silent, initialised

PAYROLL = "Payroll goes out on the 25th; expense reports handed in later are paid a month after."
WAGES = "When do employees receive their salary?"  # has no word of it
CALLS = 8  # behind it: on a busy machine the hook may have no time at the first ones
# as a command: until no process of a look is there; the brackets keep it from finding itself
UNTIL_LOOKED = "while cat /proc/[0-9]*/cmdline 2>/dev/null | grep -q -- '[-]-second-look'; do sleep 0.05; done; echo slept"

pytestmark = linux


@pytest.fixture(scope="module")
def memories(subcog_command: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that knows when wages are paid, among other things, to be copied."""
    sandbox = Sandbox(tmp_path_factory.mktemp("remembered"))
    rows = [json.loads(line) for line in (DATA / "memories.jsonl").read_text(encoding="utf-8").splitlines()]
    file = sandbox.root / "memories.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in [*rows, {"content": PAYROLL}]), encoding="utf-8")
    sandbox.run(subcog_command, "import", str(file), "--trust", "user", "--wait")
    return sandbox.memories


@pytest.fixture
def sandbox(subcog_command: str, memories: Path, tmp_path: Path) -> Sandbox:
    """The hook where `subcog init` puts it, on a machine where second looks may be taken by a model that names all notes."""
    made = initialised(tmp_path / "sandbox", subcog_command, memories)
    made.environment = {**made.environment, "SUBCOG_BACKGROUND": "1"}  # however busy the machine is
    answer = json.dumps({"is_error": False, "structured_output": {"numbers": [*range(1, 16)]}})
    write_program(made.root / "model", f"echo '{answer}'")  # The client's network is its own, so that no server is reached.
    for name, value in (("client", str(made.root / "model")), ("at_rest", "claude")):
        made.run(subcog_command, "config", "set", f"llm.{name}", value)
    return made


def run(command: str) -> ToolCall:
    return ToolCall("Bash", {"command": command, "description": "run it"})


def test_the_look_stands_behind_the_next_tool_result_once(client: str, model: str, sandbox: Sandbox) -> None:
    with conversation(client, sandbox, model, "--allowedTools", "Bash") as talk:
        turn = talk.say(WAGES, run(UNTIL_LOOKED), *[run(f"sleep 0.2; echo {number}") for number in range(CALLS)])
        again = talk.say("go on", run("echo again"))
    assert_silent(turn)
    first, *_, last = [request.model_text for request in turn.requests]
    assert PAYROLL not in first
    assert last.count(PAYROLL) == 1
    assert last.index("slept") < last.index(PAYROLL)
    assert [request.model_text.count(PAYROLL) for request in again.requests] == [1, 1]  # it stays in the history
