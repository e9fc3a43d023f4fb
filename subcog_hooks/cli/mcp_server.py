"""The server of `subcog mcp`: three tools on standard input and output.

A model writes the arguments. Each call works in the client's project, with the rights of an agent. `recall`, `remember` and the
brief run as processes of their own: they answer as the terminal's commands do, and their output never mixes with the protocol.
"""

import json
import logging
import os
import re
import signal
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from urllib.parse import urlsplit
from urllib.request import url2pathname

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from subcog_hooks import __version__
from subcog_hooks.cli.terminal.author import ATTENDED
from subcog_hooks.cli.terminal.inputs import STDIN, readable
from subcog_hooks.core import log
from subcog_hooks.core.child_environment import own_command
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, NoMemory, StoreError, SubcogError, UsageError
from subcog_hooks.core.paths import IN_AN_AGENT, Home, find_home
from subcog_hooks.hook import show_command
from subcog_hooks.store.memory import MAX_QUESTION, MAX_QUESTIONS

MAX_TEXT = 50_000  # characters of an argument
NO_ANSWER, NO_SESSION = "No note answers this.", "No past session had this."
INSTRUCTIONS = (  # Each session's context holds them: 120 tokens at most.
    "The user's notes of earlier sessions: decisions, rules, fixes, traps. Call recall with the question or task before you "
    "guess how things are done here, when you begin a task, and when something fails. Call remember, with the user's "
    "agreement, when the user states a rule, decision, correction or fact that later sessions need. Notes are of their time: "
    "where the code says otherwise, it is right; tell the user."
)
UNREADABLE = "a field is missing or of a wrong type, or a text is not Unicode"
COMMAND_S, ROOTS_S = 60.0, 5.0  # A command waits for locks itself, and not that long.

_OPENING = re.compile(r"`[^`]*` prints")  # Many clients' agents have no shell.
_ROOTS = "roots"


def _text_schema(description: str) -> dict[str, object]:
    return {"type": "string", "minLength": 1, "maxLength": MAX_TEXT, "description": description}


def _list_schema(description: str, max_items: int, max_characters: int) -> dict[str, object]:
    texts = {"type": "string", "maxLength": max_characters}
    return {"type": "array", "items": texts, "maxItems": max_items, "description": description}


def _describe_tool(
    name: str, title: str, description: str, properties: dict[str, object], *, reads_only: bool = True
) -> types.Tool:
    """Return a tool with its schema; the first property is required. No tool deletes anything or reaches beyond the notes."""
    return types.Tool(
        name=name,
        title=title,
        description=description,
        input_schema={"type": "object", "properties": properties, "required": [next(iter(properties))]},
        annotations=types.ToolAnnotations(read_only_hint=reads_only, destructive_hint=False, open_world_hint=False),
    )


TOOLS = [  # Each session's context holds their texts.
    _describe_tool(
        "recall",
        "Recall notes",
        "Find notes of earlier work that answer a question or help with a task; with sessions, what was done before.",
        {
            "text": _text_schema("the question or task, with names as they are written"),
            "sessions": {"type": "boolean", "description": "search past sessions instead of notes"},
        },
    ),
    _describe_tool(
        "show",
        "Show notes",
        "Print notes whole; 25,000 characters fit.",
        {"ids": _list_schema("ids that recall names", show_command.MAX_OPENED, show_command.MAX_ID)},
    ),
    _describe_tool(
        "remember",
        "Remember",
        "Store a decision, rule or fact for later sessions.",
        {
            "text": _text_schema("one sentence that stands alone"),
            "questions": _list_schema("questions that it answers, in other words", MAX_QUESTIONS, MAX_QUESTION),
        },
        reads_only=False,
    ),
]
_briefed_folders: set[str] = set()  # Their first recall had the brief.

Arguments = dict[str, object]


def run_server() -> None:
    """Answer the client until it closes standard input. Raises StoreError where there is no home."""
    home, _ = find_home()
    logging.basicConfig(handlers=[_LogFile(home)], level=logging.WARNING)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's own handler would wait for the next line of input.
    anyio.run(_answer_client)


class _LogFile(logging.Handler):
    """Writes the SDK's messages to the log, without tracebacks: those may hold arguments."""

    def __init__(self, home: Home) -> None:
        super().__init__()
        self._home = home

    def emit(self, record: logging.LogRecord) -> None:
        log.write_line(self._home, f"mcp: {record.getMessage()}")


async def _answer_client() -> None:
    server = Server(
        "subcog",
        version=__version__,
        title="subcog",
        instructions=INSTRUCTIONS,
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
    )
    sender, sound_requests = anyio.create_memory_object_stream[SessionMessage](0)
    async with stdio_server() as (requests, answers), anyio.create_task_group() as tasks:

        async def pass_requests_on() -> None:
            """Pass the client's messages on. A request that cannot be read is answered with an error, if its id can be read."""
            async with sender:
                async for request in requests:
                    if isinstance(request, SessionMessage):
                        await sender.send(request)
                    elif (id_ := _find_refused_id(request)) is not None:
                        error = types.ErrorData(code=types.INVALID_REQUEST, message=UNREADABLE)
                        await answers.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=id_, error=error)))

        tasks.start_soon(pass_requests_on)
        await server.run(sound_requests, answers, server.create_initialization_options())


def _find_refused_id(error: Exception) -> int | str | None:
    """Return the id of a request that the SDK has refused, None for another message."""
    for detail in error.errors() if isinstance(error, ValidationError) else ():
        message = detail["input"]
        if detail["type"] == "json_invalid":  # Python takes half a surrogate pair, which is no valid text.
            with suppress(ValueError, RecursionError):
                message = json.loads(str(message))
        if isinstance(message, dict):
            id_ = message.get("id")
            is_readable = type(id_) is int or (isinstance(id_, str) and readable(id_) == id_)
            return id_ if is_readable and not message.keys() & {"result", "error"} else None
    return None


async def _list_tools(_: ServerRequestContext, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=TOOLS)


async def _call_tool(
    context: ServerRequestContext, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    roots = await _ask_for_roots(context, params)
    if isinstance(roots, types.InputRequiredResult):
        return roots
    try:
        if params.name not in _ANSWERS:
            raise UsageError("there is no such tool", f"there are {', '.join(_ANSWERS)}")
        text, is_error = await _ANSWERS[params.name](params.arguments or {}, _folder_of(roots)), False
    except (SubcogError, OSError, ValueError) as error:  # A null character is no part of a command.
        text, is_error = log.escape_controls(str(error)), True
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=is_error)


async def _ask_for_roots(
    context: ServerRequestContext, params: types.CallToolRequestParams
) -> Sequence[types.Root] | types.InputRequiredResult:
    """Return the client's roots, () for none; or the request for them, where the protocol is one without calls back."""
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.roots is None:
        return ()
    roots: object = (params.input_responses or {}).get(_ROOTS)
    if roots is None and not context.session.can_send_request:
        return types.InputRequiredResult(input_requests={_ROOTS: types.ListRootsRequest()})
    if roots is None:
        try:
            with anyio.move_on_after(ROOTS_S):
                roots = await context.session.send_request(types.ListRootsRequest(), types.ListRootsResult)
        except (MCPError, ValueError) as error:  # pydantic's errors are ValueErrors
            logging.getLogger(__name__).warning("the client's roots cannot be read: %s", type(error).__name__)
    return roots.roots if isinstance(roots, types.ListRootsResult) else ()


def _folder_of(roots: Sequence[types.Root]) -> str:
    """Return the first root that is a folder, else the working folder. Raises OSError where that has been removed."""
    for root in roots:
        address = urlsplit(str(root.uri))
        path = url2pathname(address.path)
        if address.netloc in ("", "localhost") and os.path.isabs(path) and os.path.isdir(path):
            return path
    return os.getcwd()


async def _recall(arguments: Arguments, folder: str) -> str:
    """Return the notes about a text, and with the first one in a folder the brief; or the past sessions about it."""
    text = _checked_text(arguments.get("text"), "text")
    if arguments.get("sessions") is True:
        return await _run_command(("search", "--sessions", STDIN), text, folder, in_silence=NO_SESSION)
    block = await _run_command(("block", STDIN), text, folder, in_silence=NO_ANSWER)
    head, end, notes = block.partition("\n")
    parts = [f"{_OPENING.sub('the tool show prints', head)}{end}{notes}"]
    if folder not in _briefed_folders:
        _briefed_folders.add(folder)
        parts.append((await _run_command(("brief", "--quiet"), "", folder, in_silence=" ")).strip())
    return "\n".join(filter(None, parts))


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
    if not isinstance(questions, list):
        raise UsageError("questions must be a list of texts", "leave them out")
    options = [f"--question={_checked_text(question, 'a question')}" for question in questions]
    return await _run_command(("remember", STDIN, *options), _checked_text(arguments.get("text"), "text"), folder)


def _checked_text(text: object, name: str) -> str:
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_TEXT:
        raise UsageError(f"{name} must be a text of 1 to {MAX_TEXT:,} characters", "give it in words")
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
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
    except TimeoutError as error:
        raise StoreError(f"{words[0]} took longer than {COMMAND_S:.0f} s", "try again later") from error
    result, remarks = (stream.decode("utf-8", "replace").strip() for stream in (done.stdout, done.stderr))
    if done.returncode and not (done.returncode == EXIT_NOTHING_FOUND and in_silence):
        raise SubcogError(remarks.removeprefix("subcog: ") or f"{words[0]} ended with code {done.returncode}")
    return "\n".join(filter(None, (result, remarks))) or in_silence


_ANSWERS: dict[str, Callable[[Arguments, str], Awaitable[str]]] = {"recall": _recall, "show": _show, "remember": _remember}
