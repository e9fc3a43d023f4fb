"""`subcog mcp`: the protocol's own client lists and calls the tools of the installed executable, over pipes."""

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import anyio
import pytest
from mcp.client import Client, Transport
from mcp.client.context import ClientRequestContext
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import ListRootsResult, Root, TextContent, Tool
from pydantic import FileUrl

from tests import transcripts
from tests.e2e.machine import (
    ABOUT_IT,
    CONTENT,
    LONGEST_S,
    NO_BRIEF,
    OTHER_REMOTE,
    OWNER,
    PROJECT,
    REMOTE,
    Machine,
    assert_one_line_error,
    posix,
)

# Of all that a model is told of the tools, and of the instructions: 300 and 120 tokens of 3.5 characters.
MAX_CHARACTERS, MAX_INSTRUCTIONS = 1_200, 420
NOTHING = "No note answers this."
HANDSHAKE, NEWEST = "legacy", "auto"  # protocols: the server asks for roots itself, or answers a call by asking
INITIALIZE: dict[str, object] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "by hand", "version": "1"},
}

Call = tuple[str, dict[str, object]]
Answer = tuple[bool, str]  # whether it is an error, and the text


def talk(
    machine: Machine, *calls: Call, roots: Sequence[str] = (), mode: str = NEWEST, cwd: Path | None = None
) -> tuple[list[Tool], list[Answer]]:
    """List the tools and make the calls, all in one session. roots: URIs, () where the client offers none."""
    errors = machine.root / "stderr"

    async def tell_roots(context: ClientRequestContext) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl(uri)) for uri in roots])

    async def work() -> tuple[list[Tool], list[Answer]]:
        with errors.open("w") as errlog:
            async with Client(
                server_of(machine, errlog, cwd), mode=mode, list_roots_callback=tell_roots if roots else None
            ) as client:
                tools = (await client.list_tools()).tools
                results = [await client.call_tool(name, arguments) for name, arguments in calls]
        contents = [result.content[0] for result in results]
        assert all(len(result.content) == 1 for result in results)
        texts = [content.text for content in contents if isinstance(content, TextContent)]
        return tools, [(result.is_error or False, text) for result, text in zip(results, texts, strict=True)]

    told = anyio.run(work)
    assert errors.read_text() == ""
    return told


def server_of(machine: Machine, errlog: TextIO = sys.stderr, cwd: Path | None = None) -> Transport:
    command = StdioServerParameters(command=machine.command, args=["mcp"], env=machine.environment, cwd=cwd or machine.folder)
    return stdio_client(command, errlog)


def answer_to(machine: Machine, name: str, arguments: dict[str, object], cwd: Path | None = None) -> Answer:
    """The answer to one call in a session of its own."""
    (answer,) = talk(machine, (name, arguments), cwd=cwd)[1]
    return answer


def test_three_tools_are_described_in_few_words(bare: Machine) -> None:
    tools, _ = talk(bare)
    assert [tool.name for tool in tools] == ["recall", "show", "remember"]
    assert len(json.dumps([[tool.name, tool.description, tool.input_schema] for tool in tools])) <= MAX_CHARACTERS
    for tool in tools:
        assert tool.title
        assert tool.annotations
        assert (tool.annotations.destructive_hint, tool.annotations.open_world_hint) == (False, False)
        assert tool.annotations.read_only_hint is (tool.name != "remember")
        for schema in tool.input_schema["properties"].values():
            assert schema["description"]
            if schema["type"] == "boolean":
                continue
            assert schema.get("maxLength") or (schema["maxItems"], schema["items"]["maxLength"]) in ((10, 64), (8, 200))


@pytest.mark.parametrize("mode", [HANDSHAKE, NEWEST])
def test_a_session_is_told_when_to_call_the_tools(bare: Machine, mode: str) -> None:
    async def instructions() -> str:
        async with Client(server_of(bare), mode=mode) as client:
            return client.instructions or ""

    told = anyio.run(instructions)
    assert "Call recall" in told
    assert "Call remember" in told
    assert len(told) <= MAX_INSTRUCTIONS


def test_the_brief_comes_with_the_first_recall(bare: Machine) -> None:
    del bare.environment[NO_BRIEF]
    bare.imports({"id": "mine", "content": "Piers are painted in May."})
    brief = bare.run("brief").stdout.decode().rstrip("\n")
    assert "Piers are painted in May." in brief

    asked: list[Call] = [("recall", {"text": ABOUT_IT})] * 2
    assert talk(bare, *asked)[1] == [(False, f"{NOTHING}\n{brief}"), (False, NOTHING)]


def test_an_accepted_note_is_recalled_and_shown(bare: Machine) -> None:
    question = "which boat is in the way of the slip?"
    bare.environment |= {"CLAUDE_CODE_SESSION_ATTENDED": "1", "CLAUDE_CODE_ENTRYPOINT": "cli"}  # of the client's own process
    (is_error, told), (_, nothing) = talk(
        bare, ("remember", {"text": CONTENT, "questions": [question]}), ("recall", {"text": ABOUT_IT})
    )[1]
    id_, remark = told.split("\n")
    assert (is_error, nothing) == (False, NOTHING)
    assert "noted by an agent; once `subcog review` has accepted it" in remark
    assert bare.run("review", "--accept", id_).code == 0
    (row,) = bare.stored().values()
    assert (row["id"], row["trust"]) == (id_, "agent")
    assert row["questions"] == [{"text": question, "by": "agent"}]
    block, shown = talk(bare, ("recall", {"text": ABOUT_IT}), ("show", {"ids": [id_]}))[1]
    assert block == (False, bare.run("block", ABOUT_IT).stdout.decode().rstrip("\n"))
    assert f", noted by an agent] {CONTENT}" in block[1]
    bare.environment["CLAUDECODE"] = "1"
    assert shown == (False, bare.run("show", id_).stdout.decode().rstrip("\n"))


def test_past_sessions_are_recalled_and_shown(bare: Machine) -> None:
    projects = bare.root / "user" / ".claude" / "projects"
    asked = "why is the zanzibar lighthouse dark?"
    transcripts.session(projects, "one", asked, folder=str(bare.folder), answer="A bulb broke.")
    assert bare.run("import", "--from", "sessions").code == 0
    is_error, recalled = answer_to(bare, "recall", {"text": "zanzibar lighthouse", "sessions": True})
    assert (is_error, "a record, no order" in recalled, "A bulb broke." in recalled) == (False, True, True)
    (id_,) = [word for word in recalled.split() if word.startswith("ep-")]
    assert asked in answer_to(bare, "show", {"ids": [id_]})[1]
    elsewhere = bare.root / "elsewhere"
    elsewhere.mkdir()
    assert answer_to(bare, "show", {"ids": [id_]}, cwd=elsewhere)[0]


@pytest.mark.parametrize("mode", [HANDSHAKE, NEWEST])
def test_the_first_root_that_is_a_folder_is_the_project(bare: Machine, mode: str) -> None:
    own, other = bare.repository("the harbour", REMOTE), bare.repository("shop", OTHER_REMOTE)
    roots = ["file:///nowhere/at/all", f"file://elsewhere{other.as_uri()[7:]}", own.as_uri(), other.as_uri()]
    talk(bare, ("remember", {"text": CONTENT}), roots=roots, mode=mode, cwd=other)
    (row,) = bare.stored("pending").values()
    assert row["project"] == PROJECT
    assert bare.run("review", "--accept", row["id"]).code == 0
    ((_, block),) = talk(bare, ("recall", {"text": ABOUT_IT}), roots=["file:///nowhere"], mode=mode, cwd=own)[1]
    assert str(row["id"]) in block


def test_another_projects_memories_are_never_shown(bare: Machine) -> None:
    own, other = bare.repository("harbour", REMOTE), bare.repository("shop", OTHER_REMOTE)
    bare.imports(
        {"id": "foreign", "content": CONTENT, "project": OWNER}, {"id": "mine", "content": "Piers are painted in May."}
    )
    calls: list[Call] = [("recall", {"text": ABOUT_IT})]
    calls += [("show", {"ids": ids}) for ids in (["foreign"], ["mine", "foreign"], ["fore"])]
    refused = (True, "not every id is of a memory that this project may see; `recall` names ids")
    assert talk(bare, *calls, cwd=own)[1] == [(False, NOTHING), refused, refused, refused]
    recalled, shown, both, _ = talk(bare, *calls, cwd=other)[1]
    assert (CONTENT in recalled[1], CONTENT in shown[1]) == (True, True)
    assert [line.split("] ")[1] for line in both[1].splitlines()[1:-1]] == ["Piers are painted in May.", CONTENT]


def test_a_hostile_argument_gets_one_clear_error(bare: Machine) -> None:
    no_text = "text must be a text of 1 to 50,000 characters; give it in words"
    no_ids = "ids must be 1 to 10 ids of memories; `recall` names ids"
    errors: list[tuple[Call, str]] = [
        (("recall", {"text": "x" * 1_000_000}), no_text),
        (("show", {"ids": [f"id{number}" for number in range(11)]}), no_ids),
        (("show", {"ids": ["--help\x1b[2J"]}), no_ids),
        (("remember", {"text": "piers", "questions": "?"}), "questions must be a list of texts; leave them out"),
        (("remember", {"text": "piers", "questions": ["\0"]}), "embedded null byte"),
        (("remember", {"text": " \n"}), no_text),
        (("show", {"ids": [["piers"]]}), no_ids),
        (("forget\x1b[2J", {}), "there is no such tool; there are recall, show, remember"),
    ]
    answers = talk(bare, *(hostile for hostile, _ in errors))[1]
    assert answers == [(True, error) for _, error in errors]
    assert not bare.home.exists()


def test_a_text_is_no_option_and_secrets_are_taken_out(bare: Machine) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    text = f"Machines of the build farm are wiped on Mondays; its token is {token}."
    calls: list[Call] = [("remember", {"text": "--help", "questions": ["--quiet", "--user"]}), ("remember", {"text": text})]
    told = talk(bare, *calls)[1]
    assert "removed 1 GitHub token" in told[1][1]
    waiting = bare.stored("pending")
    assert [question["text"] for question in waiting["--help"]["questions"]] == ["--quiet", "--user"]
    assert not any(token in content for content in waiting)


def test_the_person_decides_about_an_agents_notes(bare: Machine) -> None:
    for setting in ("on", "pending"):
        bare.configure(capture__agent=setting)
        assert "once `subcog review` has accepted it" in answer_to(bare, "remember", {"text": f"{CONTENT} {setting}"})[1]
    assert len(bare.stored("pending")) == 2
    assert answer_to(bare, "recall", {"text": ABOUT_IT}) == (False, NOTHING)
    bare.configure(capture__agent="off")
    is_error, told = answer_to(bare, "remember", {"text": "Piers are painted in May."})
    assert (is_error, told.partition(";")[0]) == (True, "capture.agent is off: an agent stores nothing")


def test_nothing_but_the_protocol_is_printed(bare: Machine) -> None:
    unreadable = [
        b"no JSON",
        b"{}",
        b"[" * 2_000,
        b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "x", "params": ["token=abc"]}',
    ]
    with bare.begin("mcp") as server:
        assert server.stdin
        ask(server, "initialize", INITIALIZE)
        for line in unreadable:
            server.stdin.write(line + b"\n")
        server.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "result": 5}\n')  # of a request that nobody sent
        ask(server, "tools/call", {"name": "recall", "arguments": {"text": CONTENT}})
        rest, errors = server.communicate()
    assert (server.returncode, rest, errors) == (0, b"", b"")
    assert not any("token=abc" in line for line in bare.log())


@posix
def test_an_interrupt_ends_the_server(bare: Machine) -> None:
    with bare.begin("mcp") as server:
        ask(server, "initialize", INITIALIZE)
        server.send_signal(signal.SIGINT)
        assert server.wait(LONGEST_S) == -signal.SIGINT


def test_a_bad_request_is_answered_with_an_error(bare: Machine) -> None:
    half = "half a pair: \ud800"
    bad_params: list[object] = [["recall"], 3, None, {}, {"name": 5}, {"name": half}, {"name": "recall", "arguments": ["x"]}]
    requests: list[dict[str, object]] = [{"method": "tools/call", "params": params} for params in bad_params]
    requests += [{"method": "ping", "params": [1]}, {"method": "tools/call"}, {"method": half}, {"method": 5}, {}]
    with bare.begin("mcp") as server:
        assert server.stdin
        assert server.stdout
        ask(server, "initialize", INITIALIZE)
        requests.append({"method": "tools/call", "params": {"name": "recall", "arguments": {"text": CONTENT}}})
        for id_, request in enumerate(requests):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id_, **request}).encode() + b"\n")
        server.stdin.flush()
        is_error: dict[int, bool] = {}
        while len(requests) - 1 not in is_error:
            answer = json.loads(server.stdout.readline())
            is_error[answer["id"]] = "error" in answer
        server.communicate()
    assert is_error == {id_: id_ < len(requests) - 1 for id_ in range(len(requests))}


def test_a_switched_off_hook_or_a_damaged_store_is_told(bare: Machine) -> None:
    bare.imports({"id": "mine", "content": CONTENT})
    bare.configure(surfacing__enabled="false")
    message = "subcog: the hook is switched off by a setting; see `subcog config list`"
    assert answer_to(bare, "recall", {"text": ABOUT_IT}) == (False, message)
    bare.configure(surfacing__enabled="true")
    (bare.home / "memories.db").write_bytes(b"no database" * 1_000)
    calls: list[Call] = [("recall", {"text": ABOUT_IT}), ("show", {"ids": ["mine"]}), ("remember", {"text": CONTENT})]
    for is_error, told in talk(bare, *calls)[1]:
        assert (is_error, told.count("\n"), "memories.db" in told) == (True, 0, True)


def test_a_line_names_the_tool_that_opens_it(pointing: Machine) -> None:
    text = "explain where the session token lives"
    assert " show ID` prints it" in pointing.run("block", text).stdout.decode()
    block = answer_to(pointing, "recall", {"text": text})[1]
    assert block.startswith("<subcog-memories")
    assert 'may be related; the tool show prints it">' in block.splitlines()[0]
    pointing.imports({"id": "gateway", "content": "The quokka gateway takes long to come up. " * 60})
    block = answer_to(pointing, "recall", {"text": "Why does the quokka gateway take long to come up?"})[1]
    assert ' cut="the tool show prints the whole of a note that ends in …">' in block.splitlines()[0]


def ask(server: subprocess.Popen[bytes], method: str, params: dict[str, object]) -> dict[str, Any]:  # Any: JSON
    """The result of one request, which is the next line on standard output."""
    assert server.stdin
    assert server.stdout
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}).encode() + b"\n")
    server.stdin.flush()
    answer = json.loads(server.stdout.readline())
    assert answer["id"] == method
    result: dict[str, Any] = answer["result"]
    return result


def test_without_the_extra_one_line_names_it(bare: Machine) -> None:
    script = (
        "import sys; sys.modules['mcp'] = None; sys.argv = ['subcog', 'mcp']\nfrom subcog_hooks.__main__ import main; main()"
    )
    done = bare.start([sys.executable, "-c", script])
    assert_one_line_error(done, 5)
    assert b'in your clone run `uv tool install ".[models,share,mcp]"`' in done.stderr
