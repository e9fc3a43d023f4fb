"""The server of `subcog mcp`: three tools on standard input and output.

A model writes the arguments. Each call works in the client's project, with the rights of an agent. `recall` and `remember` run
as processes of their own: they answer as the terminal's commands do, and their output never mixes with the protocol.
"""

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from contextlib import suppress
from urllib.parse import urlsplit
from urllib.request import url2pathname

import anyio
from anyio.abc import ObjectSendStream
from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    CallToolRequestParams,
    CallToolResult,
    ErrorData,
    InputRequiredResult,
    JSONRPCError,
    ListRootsRequest,
    ListRootsResult,
    ListToolsResult,
    PaginatedRequestParams,
    Root,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import ValidationError

from subcog_hooks import __version__
from subcog_hooks.cli.terminal.author import ATTENDED
from subcog_hooks.cli.terminal.inputs import STDIN
from subcog_hooks.core import log
from subcog_hooks.core.child_environment import own_command
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, NoMemory, StoreError, SubcogError, UsageError
from subcog_hooks.core.paths import IN_AN_AGENT, Home, find_home
from subcog_hooks.hook import show_command
from subcog_hooks.store.memory import MAX_QUESTION, MAX_QUESTIONS

MAX_QUERY = 4_000  # characters of a search in past sessions
MAX_TEXT = 50_000  # characters of an argument
NOTHING_KNOWN = "Nothing is known about this."
UNREADABLE = ErrorData(code=INVALID_REQUEST, message="a field is missing or of a wrong type, or a text is not Unicode")
COMMAND_S, ROOTS_S = 60.0, 5.0  # A command waits for locks itself, and not that long.

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_OPENING = re.compile(r"`[^`]*` prints")  # Many clients' agents have no shell.
_FLAGS = 0
if sys.platform == "win32":
    _FLAGS = subprocess.CREATE_NO_WINDOW
_ROOTS = "roots"
_TEXT, _TEXTS = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
_READS_ONLY = ToolAnnotations(read_only_hint=True)
TOOLS = [  # Each session's context holds their texts.
    Tool(
        name="recall",
        description="Find notes on a question or task; sessions: what was done before.",
        input_schema={"type": "object", "properties": {"text": _TEXT, "sessions": {"type": "boolean"}}, "required": ["text"]},
        annotations=_READS_ONLY,
    ),
    Tool(
        name="show",
        description="Print notes by id, as recall names them; 25,000 characters fit.",
        input_schema={"type": "object", "properties": {"ids": _TEXTS}, "required": ["ids"]},
        annotations=_READS_ONLY,
    ),
    Tool(
        name="remember",
        description="Store a decision, rule or fact for later sessions. text stands alone; questions that it answers, in other "
        "words, help to find it.",
        input_schema={"type": "object", "properties": {"text": _TEXT, "questions": _TEXTS}, "required": ["text"]},
    ),
]

Arguments = dict[str, object]


def run_server() -> None:
    """Answer the client until it closes standard input. Raises StoreError where there is no home."""
    home, _ = find_home()
    logging.basicConfig(handlers=[_LogFile(home)], level=logging.WARNING)
    anyio.run(_answer_client)


class _LogFile(logging.Handler):
    """Writes the SDK's messages to the log, without tracebacks: those may hold arguments."""

    def __init__(self, home: Home) -> None:
        super().__init__()
        self._home = home

    def emit(self, record: logging.LogRecord) -> None:
        log.write_line(self._home, f"mcp: {record.getMessage()}")


async def _answer_client() -> None:
    server = Server("subcog", version=__version__, on_list_tools=_list_tools, on_call_tool=_call_tool)
    sender, sound_requests = anyio.create_memory_object_stream[SessionMessage](0)
    async with stdio_server() as (requests, answers), anyio.create_task_group() as tasks:
        tasks.start_soon(_pass_requests_on, requests, sender, answers.send)
        await server.run(sound_requests, answers, server.create_initialization_options())


async def _pass_requests_on(
    requests: AsyncIterable[SessionMessage | Exception],
    sender: ObjectSendStream[SessionMessage],
    send_answer: Callable[[SessionMessage], Awaitable[None]],
) -> None:
    """Pass the client's messages on. A message that cannot be read is answered with an error, or logged if it has no id."""
    async with sender:
        async for request in requests:
            if isinstance(request, SessionMessage):
                await sender.send(request)
                continue
            try:
                refusal = JSONRPCError(jsonrpc="2.0", id=_id_of_unreadable(request), error=UNREADABLE)
            except ValueError:
                logging.getLogger(__name__).warning("a message of the client is not answered: it is no valid request")
            else:
                await send_answer(SessionMessage(refusal))


def _id_of_unreadable(error: Exception) -> str | int:
    """Return the id of a request that the SDK has refused. Raises ValueError where there is none."""
    for detail in error.errors() if isinstance(error, ValidationError) else ():
        message = detail["input"]
        if detail["type"] == "json_invalid":  # Python takes half a surrogate pair, which is no valid text.
            with suppress(RecursionError):
                message = json.loads(message)
        if isinstance(message, dict) and not message.keys() & {"result", "error"} and type(message.get("id")) in (int, str):
            id_: str | int = message["id"]
            str(id_).encode()  # It may have half a pair, too.
            return id_
    raise ValueError("the message is no request")


async def _list_tools(_: ServerRequestContext, __: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=TOOLS)


async def _call_tool(context: ServerRequestContext, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
    roots = await _ask_for_roots(context, params)
    if isinstance(roots, InputRequiredResult):
        return roots
    try:
        if params.name not in _ANSWERS:
            raise UsageError("there is no such tool", f"there are {', '.join(_ANSWERS)}")
        text, is_error = await _ANSWERS[params.name](params.arguments or {}, _folder_of(roots)), False
    except (SubcogError, OSError) as error:
        text, is_error = log.escape_controls(str(error)), True
    return CallToolResult(content=[TextContent(text=text)], is_error=is_error)


async def _ask_for_roots(context: ServerRequestContext, params: CallToolRequestParams) -> Sequence[Root] | InputRequiredResult:
    """Return the client's roots, () for none; or the request for them, where the protocol is one without calls back."""
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.roots is None:
        return ()
    roots: object = (params.input_responses or {}).get(_ROOTS)
    if roots is None and not context.session.can_send_request:
        return InputRequiredResult(input_requests={_ROOTS: ListRootsRequest()})
    if roots is None:
        try:
            with anyio.move_on_after(ROOTS_S):
                roots = await context.session.send_request(ListRootsRequest(), ListRootsResult)
        except (MCPError, ValueError) as error:  # pydantic's errors are ValueErrors
            logging.getLogger(__name__).warning("the client's roots cannot be read: %s", type(error).__name__)
    return roots.roots if isinstance(roots, ListRootsResult) else ()


def _folder_of(roots: Sequence[Root]) -> str:
    """Return the first root that is a folder, else the working folder. Raises OSError where that has been removed."""
    for root in roots:
        address = urlsplit(str(root.uri))
        path = url2pathname(address.path)
        if address.netloc in ("", "localhost") and os.path.isabs(path) and os.path.isdir(path):
            return path
    return os.getcwd()


async def _recall(arguments: Arguments, folder: str) -> str:
    if arguments.get("sessions") is True:
        query = _checked_text(arguments.get("text"), "text", MAX_QUERY)
        return await _run_command(("search", "--sessions", "--", query), "", folder, in_silence=NOTHING_KNOWN)
    block = await _run_command(("block", STDIN), _text_in(arguments), folder, in_silence=NOTHING_KNOWN)
    head, end, notes = block.partition("\n")
    return f"{_OPENING.sub('the tool show prints', head)}{end}{notes}"


async def _show(arguments: Arguments, folder: str) -> str:
    ids = arguments.get("ids")
    if not isinstance(ids, list) or not show_command.are_ids(ids):
        raise UsageError(f"ids must be 1 to {show_command.MAX_OPENED} ids of memories", "`recall` names ids")
    text = show_command.open_block(ids, folder, session="")
    if not text:
        raise NoMemory("not every id is of a memory that this project may see", "`recall` names ids")
    return text


async def _remember(arguments: Arguments, folder: str) -> str:
    questions = arguments.get("questions") or []
    if not isinstance(questions, list) or len(questions) > MAX_QUESTIONS:
        raise UsageError(f"questions must be at most {MAX_QUESTIONS} texts", "leave some out")
    options = [f"--question={_checked_text(question, 'a question', MAX_QUESTION)}" for question in questions]
    return await _run_command(("remember", STDIN, *options), _text_in(arguments), folder)


def _text_in(arguments: Arguments) -> str:
    return _checked_text(arguments.get("text"), "text", MAX_TEXT)


def _checked_text(text: object, name: str, max_characters: int) -> str:
    """Return a text that a model has written. Raises UsageError where it is none, too long, or not plain."""
    if not isinstance(text, str) or not text.strip():
        raise UsageError(f"{name} is missing or not a text", "give it in words")
    if len(text) > max_characters:
        raise UsageError(f"{name} has {len(text):,} characters, at most {max_characters:,} are taken", "shorten it")
    if control := _CONTROL.search(text):
        raise UsageError(f"{name} has the control character U+{ord(control[0]):04X}", "leave it out")
    return text


async def _run_command(words: Sequence[str], text: str, folder: str, in_silence: str = "") -> str:
    """Run one of our commands for an agent, with a text on standard input. Return its result and its remarks.

    in_silence: the result of a command that finds nothing and has no remark; "" where that is an error. Raises SubcogError,
    OSError.
    """
    try:
        with anyio.fail_after(COMMAND_S):
            done = await anyio.run_process(
                own_command(words),
                input=text.encode("utf-8", "replace"),
                check=False,
                cwd=folder,
                env={**os.environ, IN_AN_AGENT: "1", ATTENDED: "0"},
                creationflags=_FLAGS,
            )
    except TimeoutError as error:
        raise StoreError(f"{words[0]} took longer than {COMMAND_S:.0f} s", "try again later") from error
    result, remarks = (stream.decode("utf-8", "replace").strip() for stream in (done.stdout, done.stderr))
    if done.returncode and not (done.returncode == EXIT_NOTHING_FOUND and in_silence):
        raise SubcogError(remarks.removeprefix("subcog: ") or f"{words[0]} ended with code {done.returncode}")
    return "\n".join(filter(None, (result, remarks))) or in_silence


_ANSWERS: dict[str, Callable[[Arguments, str], Awaitable[str]]] = {"recall": _recall, "show": _show, "remember": _remember}
