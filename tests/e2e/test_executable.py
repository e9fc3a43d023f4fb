"""The installed executable as a client starts it: a payload in, an answer out, whatever state the home is in."""

import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest

DATA = Path(__file__).parents[1] / "data"
OF_A_TURN: dict[str, object] = {"prompt_id": "3eab2c34-6f28-4d78-8bcc-e9ea5f9beb6f", "permission_mode": "default"}

QUESTION = "How do we store the session token in the browser, and why not in localStorage?"
ANSWER = "tp-0001"
RELATED = "Is the session token of the browser in an HttpOnly cookie, or did we put it into localStorage?"
OF_THE_PROJECT = "On which port does PostgreSQL listen in local development, and where do the seeds come from?"
ANSWER_OF_THE_PROJECT = "tp-0011"

PROJECT = "github.com/tidepool/harbour"
REMOTE = "git@github.com:tidepool/harbour.git"
OTHER_REMOTE = "https://github.com/acme/shop"

MAX_UNITS = 2_000  # UTF-16 units of what one prompt is given
LONG_SECONDS = 5.0  # many times the hook's deadline of 200 ms: a process that takes longer hangs
ATTEMPTS = 5  # a busy machine may need more than those 200 ms; the hook is silent then

posix = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX system")
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


class Done(NamedTuple):
    """A process that has ended."""

    code: int
    stdout: bytes
    stderr: bytes
    seconds: float


class Machine:
    """A user's machine: a home with memories, a folder to work in and the installed command."""

    def __init__(self, command: str, root: Path) -> None:
        self.command = command
        self.root = root
        self.home = root / "memories"
        self.folder = root / "folder"
        self.folder.mkdir(parents=True)
        (root / "user").mkdir()
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR") if name in os.environ}
        self.environment: dict[str, str] = {
            **kept,
            "HOME": str(root / "user"),
            "USERPROFILE": str(root / "user"),
            "SUBCOG_HOME": str(self.home),
        }

    def repository(self, name: str, remote: str) -> Path:
        """A folder that git would take for a clone of `remote`."""
        folder = self.root / name
        (folder / ".git").mkdir(parents=True)
        (folder / ".git" / "config").write_text(f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {remote}\n')
        return folder

    def run(self, *arguments: str, cwd: Path | None = None, stdin: bytes = b"") -> Done:
        """One command of the terminal, started in the working folder."""
        return self.start([self.command, *arguments], stdin, cwd)

    def start(self, command: Sequence[str], stdin: bytes = b"", cwd: Path | None = None) -> Done:
        """Any command, with this machine's environment."""
        started = time.monotonic()
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            cwd=cwd or self.folder,
            env=self.environment,
            timeout=60,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr, time.monotonic() - started)

    def hook(self, stdin: bytes, *options: str) -> Done:
        return self.run("hook", *options, stdin=stdin)

    def payload(self, event: str, fields: Mapping[str, object], session: str | None = None, cwd: Path | None = None) -> bytes:
        """A payload as the client writes it: one line of JSON and a line end. Without a session it is a new one."""
        session = session or str(uuid.uuid4())
        common = {
            "session_id": session,
            "transcript_path": str(self.root / "user" / ".claude" / "projects" / "-folder" / f"{session}.jsonl"),
            "cwd": str(cwd or self.folder),
            "hook_event_name": event,
        }
        return json.dumps({**common, **fields}, ensure_ascii=False).encode() + b"\n"

    def asking(self, prompt: str = QUESTION, session: str | None = None, cwd: Path | None = None) -> bytes:
        """The payload of a prompt."""
        return self.payload("UserPromptSubmit", {**OF_A_TURN, "prompt": prompt}, session, cwd)

    def prompt(self, text: str, session: str | None = None, cwd: Path | None = None) -> Done:
        """The hook on one prompt."""
        return self.hook(self.asking(text, session, cwd))

    def answer(self, payload: bytes) -> str:
        """The text for the model that a payload brings, "" for none.

        The hook is asked again when it is silent, which a busy machine can make it.
        """
        for _ in range(ATTEMPTS):
            done = self.hook(payload)
            if done.stdout:
                return context_of(done)
        return ""

    def recall(self, text: str, session: str | None = None, cwd: Path | None = None) -> list[str]:
        """The ids that a prompt brings."""
        return ids_in(self.answer(self.asking(text, session, cwd)))

    def imports(self, *memories: Mapping[str, object]) -> None:
        """Import these memories."""
        file = self.root / "memories.jsonl"
        file.write_text("".join(json.dumps(memory) + "\n" for memory in memories), encoding="utf-8")
        done = self.run("import", str(file))
        assert done.code == 0, done.stderr

    @property
    def index(self) -> Path:
        """The folder of the current index."""
        return self.home / "index" / (self.home / "index" / "CURRENT").read_text().strip()


# ---- what is expected of every answer -------------------------------------------------------------------------------------


def context_of(done: Done) -> str:
    """The text for the model; the output around it has to be exactly what the client reads."""
    assert_harmless(done)
    assert done.stdout.isascii()
    assert done.stdout.endswith(b"\n")
    assert done.stdout.count(b"\n") == 1
    answer = json.loads(done.stdout)
    assert answer.keys() == {"hookSpecificOutput"}
    assert answer["hookSpecificOutput"].keys() == {"hookEventName", "additionalContext"}
    assert answer["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    context = answer["hookSpecificOutput"]["additionalContext"]
    assert isinstance(context, str)
    return context


def ids_in(context: str) -> list[str]:
    """The ids of the memories in a block, in order."""
    if not context:
        return []
    begin, *lines, end = context.splitlines()
    assert begin.startswith("<subcog-memories ")
    assert end == "</subcog-memories>"
    return [line.split("]")[0].split()[2] for line in lines]


def assert_harmless(done: Done) -> None:
    """Exit code 0, nothing on stderr, nothing or one JSON object on stdout, and no hanging."""
    assert (done.code, done.stderr) == (0, b"")
    assert done.stdout == b"" or json.loads(done.stdout).keys() == {"hookSpecificOutput"}
    assert done.seconds < LONG_SECONDS


def assert_silent(done: Done) -> None:
    assert (done.code, done.stdout, done.stderr) == (0, b"", b"")
    assert done.seconds < LONG_SECONDS


def assert_one_line_error(done: Done, code: int) -> None:
    """What the terminal says when something is wrong: one line, what and what to do."""
    assert done.code == code
    assert done.stdout == b""
    assert done.stderr.startswith(b"subcog: ")
    assert done.stderr.count(b"\n") == 1
    assert b"Traceback" not in done.stderr


@pytest.fixture(scope="module")
def imported(subcog_command: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that holds the memories of tests/data and has answered a prompt, to be copied."""
    machine = Machine(subcog_command, tmp_path_factory.mktemp("imported"))
    done = machine.run("import", str(DATA / "memories.jsonl"), "--trust", "user")
    assert done.code == 0, done.stderr
    assert machine.recall(QUESTION) == [ANSWER]
    return machine.home


@pytest.fixture
def bare(subcog_command: str, tmp_path: Path) -> Machine:
    """A machine without memories."""
    return Machine(subcog_command, tmp_path / "machine")


@pytest.fixture
def machine(bare: Machine, imported: Path) -> Machine:
    """A machine with the memories of tests/data."""
    shutil.copytree(imported, bare.home)
    return bare


# ---- what is handed over --------------------------------------------------------------------------------------------------


def test_remembered_text_is_read_back_from_the_output_of_the_hook(bare: Machine) -> None:
    text = "Berth numbers on the north pontoon skip 13; the allocation table in src/berths/pontoons.py skips it, too."
    remembered = bare.run("remember", text, "--namespace", "context")
    assert (remembered.code, remembered.stderr) == (0, b"")
    context = bare.answer(bare.asking("Why do the berth numbers on the north pontoon skip 13?"))
    assert text in context
    assert ids_in(context) == [remembered.stdout.decode().strip()]


def test_question_brings_the_memory_that_answers_it(machine: Machine) -> None:
    assert machine.recall(QUESTION) == [ANSWER]


def test_payload_of_an_interactive_session_brings_the_memory_too(machine: Machine) -> None:
    payload = machine.payload("UserPromptSubmit", {**OF_A_TURN, "permission_mode": "auto", "prompt": QUESTION})
    assert ids_in(machine.answer(payload)) == [ANSWER]


@pytest.mark.parametrize(
    ("prompt", "id_"),
    [
        ("Where does allocate_berth retry on SQLSTATE 23P01?", "tp-0002"),
        ("Wie wird die Kurtaxe auf der Rechnung ausgewiesen?", "tp-0045"),
        ("日本のマリーナでは係留料金をどう計算しますか", "tp-0046"),
    ],
    ids=["identifiers", "German", "Japanese"],
)
def test_memory_is_found_by(machine: Machine, prompt: str, id_: str) -> None:
    assert machine.recall(prompt) == [id_]


def test_equal_payloads_in_new_sessions_give_equal_bytes(machine: Machine) -> None:
    first = machine.answer(machine.asking())
    assert first
    assert machine.answer(machine.asking()) == first


def test_second_prompt_of_a_session_does_not_bring_the_memory_again(machine: Machine) -> None:
    assert machine.recall(QUESTION, "one session") == [ANSWER]
    assert_silent(machine.prompt(QUESTION, "one session"))
    assert_silent(machine.prompt(RELATED, "one session"))


def test_new_session_is_given_the_memory_again(machine: Machine) -> None:
    assert machine.recall(QUESTION, "one session") == [ANSWER]
    assert machine.recall(QUESTION, "another session") == [ANSWER]


def test_related_prompt_alone_brings_the_memory(machine: Machine) -> None:
    assert ANSWER in machine.recall(RELATED)


def test_hooks_of_one_session_at_the_same_time_bring_the_memory_once(machine: Machine) -> None:
    payload = machine.asking(session="one session")
    started = [
        subprocess.Popen(
            [machine.command, "hook"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=machine.folder,
            env=machine.environment,
        )
        for _ in range(4)
    ]
    answers = [process.communicate(payload, timeout=60)[0] for process in started]
    assert [process.returncode for process in started] == [0] * 4
    given = [ids_in(json.loads(answer)["hookSpecificOutput"]["additionalContext"]) for answer in answers if answer]
    if not given:  # all of them were too slow
        given = [machine.recall(QUESTION, "one session")]
    assert given == [[ANSWER]]


def test_long_memories_are_cut_to_2000_units(bare: Machine) -> None:
    text = "The quay crane inspection protocol wants torque, rope wear and ⚓ brake values of each of the harbour's cranes. "
    bare.imports(*[{"id": f"crane-{number}", "content": f"Crane {number}: " + text * 20} for number in range(8)])
    context = bare.answer(bare.asking("Which torque, rope wear and brake values does the quay crane inspection protocol want?"))
    assert MAX_UNITS / 2 < len(context.encode("utf-16-le")) / 2 <= MAX_UNITS
    assert 1 <= len(ids_in(context)) <= 6


# ---- silence --------------------------------------------------------------------------------------------------------------

SILENT_PROMPTS = [
    "",
    "   \n",
    "yes",
    "ok, thanks!",
    "continue",
    "looks good",
    "make it blue",
    "commit this and push the branch",
    "now run the tests",
    "fix the typo",
    "change the colour of the booking button to blue",
    "rename the cookie of the session token",
    "/clear",
    "/compact keep what we said about the session token in localStorage",
    "! grep -r localStorage web/src # session token browser",
    "# the session token of the browser is not in localStorage",
    "<task-notification><summary>Is the session token of the browser in localStorage?</summary></task-notification>",
    "<command-name>/review</command-name> Is the session token of the browser in localStorage?",
    "What is the capital of Mongolia?",
    "Explain the difference between a mutex and a semaphore.",
    "How do I centre a div in CSS?",
    "Write a haiku about autumn leaves",
]


@pytest.mark.parametrize("prompt", SILENT_PROMPTS)
def test_prompt_that_no_memory_is_for_prints_nothing(machine: Machine, prompt: str) -> None:
    assert_silent(machine.prompt(prompt))


def tool(event: str, name: str, **given: object) -> tuple[str, dict[str, object]]:
    """The event of a tool, and what its payload has."""
    fields = {**OF_A_TURN, "effort": {"level": "medium"}, "tool_name": name, "tool_input": given, "tool_use_id": "toolu_01"}
    if event == "PostToolUse":
        fields |= {"tool_response": {"stdout": QUESTION, "stderr": "", "interrupted": False}, "duration_ms": 12}
    if event == "PostToolUseFailure":
        fields |= {"error": "Exit code 1\n" + QUESTION, "is_interrupt": False, "duration_ms": 12}
    return event, fields


FILE = "/home/dev/harbour/src/auth/session.py"
OTHER_EVENTS: list[tuple[str, dict[str, object]]] = [
    ("SessionStart", {"source": "startup"}),
    ("SessionStart", {"source": "startup", "model": "claude-sonnet-5-5"}),
    ("SessionStart", {"source": "resume", "seconds_since_last_response": 1, "context_tokens": 15}),
    ("SessionStart", {"source": "clear"}),
    ("SessionStart", {"prompt_id": "8020e5b8", "source": "compact", "model": "claude-sonnet-5-5"}),
    tool("PreToolUse", "Bash", command="grep -r localStorage web/src", timeout=5000, description=QUESTION),
    tool("PreToolUse", "Read", file_path=FILE),
    tool("PreToolUse", "Write", file_path=FILE, content=QUESTION + "\n"),
    tool("PreToolUse", "Edit", file_path=FILE, old_string=QUESTION, new_string=RELATED, replace_all=False),
    tool("PreToolUse", "Glob", pattern="web/src/auth/**"),
    tool("PreToolUse", "Grep", pattern="session token localStorage", path="."),
    tool("PreToolUse", "Agent", description="look", prompt=QUESTION, subagent_type="general-purpose", run_in_background=False),
    tool("PostToolUse", "Bash", command="cat docs/auth.md", description="read it"),
    tool("PostToolUseFailure", "Bash", command="cat docs/auth.md"),
    ("PreCompact", {"prompt_id": "8020e5b8", "trigger": "manual", "custom_instructions": QUESTION}),
    ("PreCompact", {"prompt_id": "8020e5b8", "trigger": "auto", "custom_instructions": None}),
    ("PostCompact", {"prompt_id": "8020e5b8", "trigger": "manual", "compact_summary": f"<summary>{QUESTION}</summary>"}),
    ("Stop", {"stop_hook_active": False, "last_assistant_message": QUESTION, "background_tasks": [], "session_crons": []}),
    ("Stop", {"stop_hook_active": True, "last_assistant_message": QUESTION, "background_tasks": [], "session_crons": []}),
    ("SubagentStop", {"agent_id": "a05e", "agent_type": "", "stop_hook_active": False, "last_assistant_message": QUESTION}),
    ("SessionEnd", {"reason": "other"}),
    ("SessionEnd", {"reason": "clear"}),
    ("SessionEnd", {"reason": "prompt_input_exit"}),
    ("Notification", {"message": QUESTION}),
    ("AnEventOfNextYear", {"prompt": QUESTION}),
]


@pytest.mark.parametrize(("event", "fields"), OTHER_EVENTS, ids=lambda value: value if isinstance(value, str) else "")
def test_other_event_prints_nothing(machine: Machine, event: str, fields: dict[str, object]) -> None:
    assert_silent(machine.hook(machine.payload(event, fields)))


def test_second_look_prints_nothing(machine: Machine) -> None:
    assert_silent(machine.hook(machine.asking(), "--second-look"))


def test_paused_hook_prints_nothing_until_it_is_resumed(machine: Machine) -> None:
    assert machine.run("pause").code == 0
    assert_silent(machine.prompt(QUESTION))
    assert machine.run("resume").code == 0
    assert machine.recall(QUESTION) == [ANSWER]


def test_switched_off_surfacing_prints_nothing(machine: Machine) -> None:
    assert machine.run("config", "set", "surfacing.enabled", "false").code == 0
    assert_silent(machine.prompt(QUESTION))


# ---- whose memories -------------------------------------------------------------------------------------------------------


def test_memory_of_a_project_appears_in_its_repository(machine: Machine) -> None:
    repository = machine.repository("harbour", REMOTE)
    assert machine.recall(OF_THE_PROJECT, cwd=repository) == [ANSWER_OF_THE_PROJECT]


def test_memory_of_a_project_appears_below_its_repository(machine: Machine) -> None:
    below = machine.repository("harbour", REMOTE) / "src" / "berths"
    below.mkdir(parents=True)
    assert machine.recall(OF_THE_PROJECT, cwd=below) == [ANSWER_OF_THE_PROJECT]


def test_memory_of_a_project_does_not_appear_in_another_repository(machine: Machine) -> None:
    assert_silent(machine.prompt(OF_THE_PROJECT, cwd=machine.repository("shop", OTHER_REMOTE)))


def test_memory_of_a_project_does_not_appear_outside_of_repositories(machine: Machine) -> None:
    assert_silent(machine.prompt(OF_THE_PROJECT))


@pytest.mark.parametrize("remote", [REMOTE, OTHER_REMOTE])
def test_memory_of_the_user_appears_in_every_repository(machine: Machine, remote: str) -> None:
    assert machine.recall(QUESTION, cwd=machine.repository("repository", remote)) == [ANSWER]


def test_remembered_text_belongs_to_the_repository_it_was_remembered_in(bare: Machine) -> None:
    repository, other = bare.repository("harbour", REMOTE), bare.repository("shop", OTHER_REMOTE)
    done = bare.run("remember", "The tide gauge of Esbjerg reports every 10 minutes over MQTT.", cwd=repository)
    question = "How often does the tide gauge of Esbjerg report over MQTT?"
    assert bare.recall(question, cwd=repository) == [done.stdout.decode().strip()]
    assert_silent(bare.prompt(question, cwd=other))


CONTENT = "The dredging barge Ellida is moored at pier 7 from November on and blocks the slipway."
ABOUT_IT = "Where is the dredging barge Ellida moored, and does it block the slipway?"


def test_active_memory_appears(bare: Machine) -> None:
    bare.imports({"id": "barge", "content": CONTENT, "expires_at": "2999-01-01"})
    assert bare.recall(ABOUT_IT) == ["barge"]


@pytest.mark.parametrize(
    "fields",
    [
        {"expires_at": "2020-01-01T00:00:00Z"},
        {"status": "superseded", "superseded_by": "a-newer-one"},
        {"status": "archived"},
        {"status": "pending"},
        {"status": "deleted"},
        {"project": PROJECT},
    ],
    ids=["expired", "superseded", "archived", "pending", "deleted", "of another project"],
)
def test_memory_does_not_appear_that_is(bare: Machine, fields: dict[str, object]) -> None:
    bare.imports({"id": "barge", "content": CONTENT, **fields}, {"id": "other", "content": "Pilots are called on channel 12."})
    assert_silent(bare.prompt(ABOUT_IT))


def test_forgotten_memory_does_not_appear_any_more(machine: Machine) -> None:
    assert machine.recall(QUESTION) == [ANSWER]
    assert machine.run("forget", ANSWER).code == 0
    assert ANSWER.encode() not in machine.prompt(QUESTION).stdout


def test_superseded_memory_makes_way_for_the_new_one(bare: Machine) -> None:
    bare.imports({"id": "barge", "content": CONTENT})
    new = bare.run("remember", CONTENT.replace("pier 7", "pier 9"), "--supersedes", "barge")
    assert bare.recall(ABOUT_IT) == [new.stdout.decode().strip()]


# ---- bad input ------------------------------------------------------------------------------------------------------------

MALFORMED: dict[str, Callable[[bytes], bytes]] = {  # what is made of a good payload
    "empty": lambda _: b"",
    "blank": lambda _: b" \n\n",
    "an empty object": lambda _: b"{}",
    "an array": lambda good: b"[" + good + b"]",
    "a string": lambda _: json.dumps(QUESTION).encode(),
    "a number": lambda _: b"17",
    "null": lambda _: b"null",
    "plain text": lambda _: QUESTION.encode(),
    "binary": lambda _: bytes(range(256)) * 64,
    "UTF-16": lambda good: good.decode().encode("utf-16"),
    "cut off": lambda good: good[: len(good) // 2],
    "without its last brace": lambda good: good.rstrip().removesuffix(b"}"),
    "two documents": lambda good: good + good,
    "a document and a log line": lambda good: good + b"done\n",
    "deep arrays": lambda _: b"[" * 200_000,
    "deep objects": lambda _: b'{"a":' * 200_000 + b"1" + b"}" * 200_000,
    "a deep field": lambda good: good.replace(b'{"session', b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b', "session', 1),
    "a number of 100,000 digits": lambda good: good.replace(b'{"session', b'{"x": ' + b"7" * 100_000 + b', "session', 1),
    "40 MB": lambda good: good.replace(b'"prompt": "', b'"prompt": "' + b"session token " * 3_000_000),
    "40 MB of nothing": lambda _: bytes(40_000_000),
}


@pytest.mark.parametrize("form", MALFORMED)
def test_malformed_payload_prints_nothing(machine: Machine, form: str) -> None:
    assert_silent(machine.hook(MALFORMED[form](machine.asking())))


@pytest.mark.parametrize("field", ["hook_event_name", "prompt"])
@pytest.mark.parametrize("value", [None, True, 17, 1.5, [], {}, ["UserPromptSubmit", QUESTION], {"text": QUESTION}])
def test_field_of_the_wrong_type_prints_nothing(machine: Machine, field: str, value: object) -> None:
    payload = json.loads(machine.asking()) | {field: value}
    assert_silent(machine.hook(json.dumps(payload).encode()))


@pytest.mark.parametrize("field", ["session_id", "transcript_path", "cwd", "permission_mode", "prompt_id"])
@pytest.mark.parametrize("value", [None, True, 17, [], {}, "", "\0", "relative/path", "x" * 100_000, "\ud800"])
def test_odd_value_beside_the_prompt_does_no_harm(machine: Machine, field: str, value: object) -> None:
    payload = json.loads(machine.asking()) | {field: value}
    assert_harmless(machine.hook(json.dumps(payload).encode()))


@pytest.mark.parametrize("field", ["session_id", "transcript_path", "cwd", "permission_mode", "prompt_id"])
def test_payload_without_a_field_beside_the_prompt_brings_the_memory(machine: Machine, field: str) -> None:
    payload = json.loads(machine.asking())
    del payload[field]
    assert ids_in(machine.answer(json.dumps(payload).encode())) == [ANSWER]


ODD_PROMPTS: dict[str, bytes] = {  # as they stand between the quotes of the JSON document
    "lone surrogates": QUESTION.encode() + rb" \ud800 \udfff\ud83d",
    "escaped NUL": QUESTION.encode() + rb" \u0000",
    "raw NUL": QUESTION.encode() + b" \0",
    "raw control characters": bytes(range(1, 32)) + QUESTION.encode(),
    "bytes that are not UTF-8": QUESTION.encode() + b" \xff\xfe\xc3(",
    "an escape that is none": QUESTION.encode() + rb" \x",
    "one long word": b"a" * 1_000_000,
    "nothing but quotes": rb"\"" * 5_000,
    "query syntax": rb'session AND (token OR "localStorage" -browser body:* [a TO z] ~2 ^3 \\'.replace(b'"', rb"\""),
    "emoji": "👩‍👩‍👧‍👦⚓".encode() * 2_000,
    "combining marks": ("e" + "\u0301" * 5_000).encode(),
    "16 MB": b"session token " * 1_190_000,
}


@pytest.mark.parametrize("form", ODD_PROMPTS)
def test_odd_prompt_does_no_harm(machine: Machine, form: str) -> None:
    payload = machine.asking("PROMPT").replace(b"PROMPT", ODD_PROMPTS[form])
    assert_harmless(machine.hook(payload))


def test_byte_order_mark_before_the_payload_is_read_over(machine: Machine) -> None:
    assert ids_in(machine.answer(b"\xef\xbb\xbf" + machine.asking())) == [ANSWER]


@pytest.mark.parametrize(
    "options",
    [("--help",), ("-h",), ("--version",), ("--no-such-option",), ("--json", "x"), ("extra", "words"), ("--",), ("--debug",)],
    ids=" ".join,
)
def test_unknown_options_of_the_hook_do_no_harm(machine: Machine, options: tuple[str, ...]) -> None:
    assert_harmless(machine.hook(machine.asking(), *options))


@pytest.mark.parametrize("options", [("--help",), ("--no-such-option",)], ids=" ".join)
def test_options_of_the_hook_without_a_payload_print_nothing(machine: Machine, options: tuple[str, ...]) -> None:
    assert_silent(machine.hook(b"", *options))


# ---- streams --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("with_payload", [False, True], ids=["empty", "holding a payload"])
def test_stdin_that_never_closes_ends_with_the_deadline(machine: Machine, with_payload: bool) -> None:
    started = time.monotonic()
    with subprocess.Popen(
        [machine.command, "hook"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=machine.folder,
        env=machine.environment,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        if with_payload:
            process.stdin.write(machine.asking())
            process.stdin.flush()
        try:
            code = process.wait(60)
        finally:
            process.kill()
        done = Done(code, process.stdout.read(), process.stderr.read(), time.monotonic() - started)
    assert_silent(done)


@posix
def test_stdout_without_a_reader_does_no_harm_and_the_memory_comes_the_next_time(machine: Machine) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [machine.command, "hook"],
            input=machine.asking(session="one session"),
            stdout=write,
            stderr=subprocess.PIPE,
            cwd=machine.folder,
            env=machine.environment,
            timeout=60,
            check=False,
        )
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")
    assert machine.recall(QUESTION, "one session") == [ANSWER]


@posix
@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_no_harm_and_nothing_is_written_into_the_store(machine: Machine, closed: str) -> None:
    database = (machine.home / "memories.db").read_bytes()
    command = ["/bin/sh", "-c", f'exec "$0" hook {closed}', machine.command]
    assert_harmless(machine.start(command, machine.asking()))
    assert (machine.home / "memories.db").read_bytes() == database
    files = [file for file in machine.home.rglob("*") if file.is_file()]
    assert [file for file in files if b"hookSpecificOutput" in file.read_bytes()] == []
    assert machine.recall(QUESTION) == [ANSWER]


@linux
def test_full_device_as_stdout_does_no_harm(machine: Machine) -> None:
    command = ["/bin/sh", "-c", 'exec "$0" hook >/dev/full', machine.command]
    assert_silent(machine.start(command, machine.asking()))


# ---- a home that can not be used ------------------------------------------------------------------------------------------


def test_missing_home_prints_nothing_and_is_not_made(bare: Machine) -> None:
    assert_silent(bare.prompt(QUESTION))
    assert not bare.home.exists()


def test_missing_store_is_nothing_found_in_the_terminal(bare: Machine) -> None:
    assert (bare.run("search", "x").code, bare.home.exists()) == (1, False)


def test_home_that_is_a_file_prints_nothing(bare: Machine) -> None:
    bare.home.write_bytes(b"a file")
    assert_silent(bare.prompt(QUESTION))
    assert bare.home.read_bytes() == b"a file"


def test_home_that_is_a_file_is_one_line_in_the_terminal(bare: Machine) -> None:
    bare.home.write_bytes(b"a file")
    assert_one_line_error(bare.run("remember", CONTENT), 3)


@posix
@pytest.mark.parametrize("user_home", ["", "relative", "/nowhere/at/all"])
def test_useless_home_of_the_user_prints_nothing(machine: Machine, user_home: str) -> None:
    del machine.environment["SUBCOG_HOME"]
    machine.environment["HOME"] = user_home
    assert_silent(machine.prompt(QUESTION))


@linux
def test_no_home_of_the_user_at_all_prints_nothing(machine: Machine) -> None:
    nobody = ["unshare", "--user", "--map-user=54321"]  # a user whom the system does not know
    if not works([*nobody, machine.command, "--version"], machine):
        pytest.skip("user namespaces can not be made here")
    del machine.environment["SUBCOG_HOME"]
    del machine.environment["HOME"]
    assert_silent(machine.start([*nobody, machine.command, "hook"], machine.asking()))
    assert_one_line_error(machine.start([*nobody, machine.command, "search", "x"]), 3)


@posix
def test_read_only_home_does_no_harm(machine: Machine) -> None:
    with read_only(machine.home):
        started = [*as_ordinary_user(machine), machine.command, "hook"]
        assert_harmless(machine.start(started, machine.asking()))


@posix
def test_read_only_home_can_be_searched(machine: Machine) -> None:
    with read_only(machine.home):
        done = machine.start([*as_ordinary_user(machine), machine.command, "search", "session", "token", "--ids", "-n", "1"])
    assert (done.code, done.stdout, done.stderr) == (0, ANSWER.encode() + b"\n", b"")


@posix
def test_read_only_home_refuses_a_memory_in_one_line(machine: Machine) -> None:
    with read_only(machine.home):
        assert_one_line_error(machine.start([*as_ordinary_user(machine), machine.command, "remember", CONTENT]), 3)


@posix
def test_unreadable_home_does_no_harm(machine: Machine) -> None:
    machine.home.chmod(0)
    try:
        done = machine.start([*as_ordinary_user(machine), machine.command, "hook"], machine.asking())
    finally:
        machine.home.chmod(0o700)
    assert_silent(done)


@posix
def test_files_that_can_not_grow_do_no_harm(machine: Machine) -> None:
    command = ["/bin/sh", "-c", 'ulimit -f 0 && exec "$0" hook', machine.command]
    assert_harmless(machine.start(command, machine.asking()))
    assert machine.recall(QUESTION) == [ANSWER]


@posix
def test_files_that_can_not_grow_refuse_a_memory_in_one_line(machine: Machine) -> None:
    done = machine.start(["/bin/sh", "-c", 'ulimit -f 0 && exec "$0" remember "$1"', machine.command, CONTENT])
    assert_one_line_error(done, 3)
    assert machine.recall(QUESTION) == [ANSWER]


MOUNT = 'mount -t tmpfs -o size=1m none "$2" && cp -R "$1/." "$2" && { cat /dev/zero > "$2/zeros" 2>/dev/null || :; }'
ON_FULL_DISK = MOUNT + ' && SUBCOG_HOME="$2" exec "$0" '


@linux
@pytest.mark.parametrize("after_a_hook", [False, True], ids=["fresh", "after a hook"])
def test_full_disk_does_no_harm(machine: Machine, after_a_hook: bool) -> None:
    if not after_a_hook:
        for file in machine.home.glob("state.db*"):
            file.unlink()
    command = [*on_disk_of_its_own(machine), ON_FULL_DISK + "hook", *disk(machine)]
    assert_harmless(machine.start(command, machine.asking()))


@linux
def test_full_disk_refuses_a_memory_in_one_line(machine: Machine) -> None:
    command = [*on_disk_of_its_own(machine), ON_FULL_DISK + f"remember '{CONTENT}'", *disk(machine)]
    assert_one_line_error(machine.start(command), 3)


def on_disk_of_its_own(machine: Machine) -> list[str]:
    """A shell that may mount, and whose mounts go away with it."""
    (machine.root / "disk").mkdir()
    for namespace in (["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"]):
        shell = [*namespace, "/bin/sh", "-c"]
        if works([*shell, 'mount -t tmpfs -o size=1m none "$0"', str(machine.root / "disk")], machine):
            return shell
    pytest.skip("file systems can not be mounted here")


def disk(machine: Machine) -> list[str]:
    """The arguments of ON_FULL_DISK."""
    return [machine.command, str(machine.home), str(machine.root / "disk")]


def as_ordinary_user(machine: Machine) -> list[str]:
    """The command that makes file modes hold for another one, root included."""
    if os.geteuid() != 0:
        return []
    without = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    if not works([*without, "/bin/sh", "-c", 'test ! -w "$0"', str(machine.home)], machine):
        pytest.skip("file modes do not hold for root")
    return without


def works(command: Sequence[str], machine: Machine) -> bool:
    return shutil.which(command[0]) is not None and machine.start(command).code == 0


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """`folder` and all in it, without the right to write."""
    entries = [folder, *folder.rglob("*")]
    for entry in entries:
        entry.chmod(0o500 if entry.is_dir() else 0o400)
    try:
        yield
    finally:
        for entry in entries:
            entry.chmod(0o700 if entry.is_dir() else 0o600)


# ---- a damaged database ---------------------------------------------------------------------------------------------------


def as_garbage(database: Path) -> None:
    database.write_bytes(b"garbage " * 4_096)


def as_garbage_behind_the_header(database: Path) -> None:
    size = database.stat().st_size
    with database.open("r+b") as file:
        file.seek(100)
        file.write(b"garbage " * ((size - 100) // 8))


def as_truncated(database: Path) -> None:
    os.truncate(database, max(1_000, database.stat().st_size // 2))


def as_folder(database: Path) -> None:
    database.unlink()
    database.mkdir()


def as_another_programs(database: Path) -> None:
    _write_another_programs(database, version=0)


def as_another_programs_with_a_version(database: Path) -> None:
    _write_another_programs(database, version=1)


def _write_another_programs(database: Path, version: int) -> None:
    database.unlink()
    connection = apsw.Connection(str(database))
    connection.execute(f"CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('soup'); PRAGMA user_version={version}")
    connection.close()


def as_newer(database: Path) -> None:
    connection = apsw.Connection(str(database))
    connection.execute("PRAGMA user_version = 999")
    connection.close()


Damage = Callable[[Path], None]
BEYOND_REPAIR: list[Damage] = [as_garbage, as_garbage_behind_the_header, as_truncated, as_another_programs]
UNUSABLE: list[Damage] = [*BEYOND_REPAIR, as_another_programs_with_a_version, as_folder, as_newer]


def name_of(damage: Damage) -> str:
    return damage.__name__.removeprefix("as_").replace("_", " ")


def spoil(database: Path, damage: Damage, *, with_log: bool = False) -> bytes:
    """Damage a database; without its write-ahead log, unless that is kept. What it holds then, b"" for a folder."""
    if not with_log:
        for suffix in ("-wal", "-shm"):
            database.with_name(database.name + suffix).unlink(missing_ok=True)
    damage(database)
    return database.read_bytes() if database.is_file() else b""


@pytest.mark.parametrize("damage", UNUSABLE, ids=name_of)
def test_unusable_store_prints_nothing(machine: Machine, damage: Damage) -> None:
    held = spoil(machine.home / "memories.db", damage)
    assert_silent(machine.prompt(QUESTION))
    assert held == (b"" if damage is as_folder else (machine.home / "memories.db").read_bytes())


@pytest.mark.parametrize("damage", UNUSABLE, ids=name_of)
@pytest.mark.parametrize("command", [("search", "x"), ("list",), ("remember", CONTENT), ("forget", ANSWER)], ids=" ".join)
def test_unusable_store_is_one_line_in_the_terminal(machine: Machine, damage: Damage, command: tuple[str, ...]) -> None:
    held = spoil(machine.home / "memories.db", damage)
    assert_one_line_error(machine.run(*command), 3)
    assert held == (b"" if damage is as_folder else (machine.home / "memories.db").read_bytes())


def test_reason_of_the_silence_is_in_the_log_and_the_prompt_is_not(machine: Machine) -> None:
    spoil(machine.home / "memories.db", as_garbage)
    assert_silent(machine.prompt(QUESTION))
    log = (machine.home / "log" / "hook.log").read_text(encoding="utf-8")
    assert "memories.db" in log
    assert "localStorage" not in log


@contextmanager
def locked(database: Path, *, to_readers: bool) -> Iterator[None]:
    """A database that another process is writing."""
    connection = apsw.Connection(str(database))
    try:
        if to_readers:
            connection.pragma("locking_mode", "exclusive")
        connection.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        connection.close()


def test_store_that_another_process_writes_still_answers(machine: Machine) -> None:
    with locked(machine.home / "memories.db", to_readers=False):
        assert machine.recall(QUESTION) == [ANSWER]


def test_locked_store_prints_nothing(machine: Machine) -> None:
    with locked(machine.home / "memories.db", to_readers=True):
        assert_silent(machine.prompt(QUESTION))


def test_locked_store_is_one_line_in_the_terminal(machine: Machine) -> None:
    with locked(machine.home / "memories.db", to_readers=True):
        assert_one_line_error(machine.run("search", "x"), 3)


def test_locked_store_answers_again_when_it_is_let_go(machine: Machine) -> None:
    with locked(machine.home / "memories.db", to_readers=True):
        assert_silent(machine.prompt(QUESTION, "one session"))
    assert machine.recall(QUESTION, "one session") == [ANSWER]


@pytest.mark.parametrize("to_readers", [False, True], ids=["to writers", "to all"])
def test_locked_state_does_no_harm(machine: Machine, to_readers: bool) -> None:
    with locked(machine.home / "state.db", to_readers=to_readers):
        assert_harmless(machine.prompt(QUESTION))
        assert machine.run("search", "session", "token").code == 0
    assert machine.recall(QUESTION) == [ANSWER]


@pytest.mark.parametrize("damage", UNUSABLE, ids=name_of)
def test_damaged_state_does_no_harm(machine: Machine, damage: Damage) -> None:
    spoil(machine.home / "state.db", damage)
    assert_harmless(machine.prompt(QUESTION))
    assert machine.run("search", "session", "token").code == 0


@pytest.mark.parametrize("with_log", [False, True], ids=["alone", "with its log"])
@pytest.mark.parametrize("damage", [*BEYOND_REPAIR, as_another_programs_with_a_version], ids=name_of)
def test_damaged_state_heals_by_itself(machine: Machine, damage: Damage, with_log: bool) -> None:
    spoil(machine.home / "state.db", damage, with_log=with_log)
    machine.prompt(QUESTION)
    assert machine.recall(QUESTION, "one session") == [ANSWER]
    assert_silent(machine.prompt(QUESTION, "one session"))


def test_deleted_state_is_made_anew(machine: Machine) -> None:
    for file in machine.home.glob("state.db*"):
        file.unlink()
    assert machine.recall(QUESTION, "one session") == [ANSWER]
    assert_silent(machine.prompt(QUESTION, "one session"))


# ---- a damaged index ------------------------------------------------------------------------------------------------------


def pointing_nowhere(machine: Machine) -> None:
    (machine.home / "index" / "CURRENT").write_text("lexical-1-0-0\n")


def pointing_outside(machine: Machine) -> None:
    (machine.home / "index" / "CURRENT").write_text("lexical-1-../../../../etc\n")


def with_a_garbage_pointer(machine: Machine) -> None:
    (machine.home / "index" / "CURRENT").write_bytes(b"\xff\x00" * 5_000)


def without_a_pointer(machine: Machine) -> None:
    (machine.home / "index" / "CURRENT").unlink()


def with_a_garbage_meta_file(machine: Machine) -> None:
    (machine.index / "meta.json").write_bytes(b"garbage")


def with_an_empty_meta_file(machine: Machine) -> None:
    (machine.index / "meta.json").write_bytes(b"")


def with_another_schema(machine: Machine) -> None:
    meta = json.loads((machine.index / "meta.json").read_text())
    meta["schema"] = [field for field in meta["schema"] if field["name"] == "body"]
    (machine.index / "meta.json").write_text(json.dumps(meta))


def without_segment_files(machine: Machine) -> None:
    for file in segment_files(machine):
        file.unlink()


def with_truncated_segment_files(machine: Machine) -> None:
    for file in segment_files(machine):
        os.truncate(file, file.stat().st_size // 2)


def with_empty_segment_files(machine: Machine) -> None:
    for file in segment_files(machine):
        os.truncate(file, 0)


def with_garbage_in_segment_files(machine: Machine) -> None:
    for file in segment_files(machine):
        size = file.stat().st_size
        file.write_bytes(b"garbage " * (size // 8) + b"!" * (size % 8))


def with_garbage_before_the_footers(machine: Machine) -> None:
    for file in segment_files(machine):
        with file.open("r+b") as opened:
            opened.write(b"\xa5" * (file.stat().st_size // 2))


def as_an_empty_folder(machine: Machine) -> None:
    shutil.rmtree(machine.home / "index")
    (machine.home / "index").mkdir()


def as_a_folder_without_content(machine: Machine) -> None:
    folder = machine.index
    shutil.rmtree(folder)
    folder.mkdir()


def deleted(machine: Machine) -> None:
    shutil.rmtree(machine.home / "index")


def segment_files(machine: Machine) -> list[Path]:
    files = [file for file in machine.index.iterdir() if file.suffix not in (".json", ".lock")]
    assert files
    return files


IndexDamage = Callable[[Machine], None]
INDEX_DAMAGE: list[IndexDamage] = [
    pointing_nowhere,
    pointing_outside,
    with_a_garbage_pointer,
    without_a_pointer,
    with_a_garbage_meta_file,
    with_an_empty_meta_file,
    with_another_schema,
    without_segment_files,
    with_truncated_segment_files,
    with_empty_segment_files,
    with_garbage_in_segment_files,
    with_garbage_before_the_footers,
    as_an_empty_folder,
    as_a_folder_without_content,
    deleted,
]


def words_of(damage: IndexDamage) -> str:
    return damage.__name__.replace("_", " ")


@pytest.mark.parametrize("damage", INDEX_DAMAGE, ids=words_of)
def test_damaged_index_does_no_harm(machine: Machine, damage: IndexDamage) -> None:
    damage(machine)
    assert_harmless(machine.prompt(QUESTION))


@pytest.mark.parametrize("damage", INDEX_DAMAGE, ids=words_of)
def test_damaged_index_is_made_anew_by_the_next_search(machine: Machine, damage: IndexDamage) -> None:
    damage(machine)
    done = machine.run("search", "session", "token", "localStorage", "--ids", "-n", "1")
    assert (done.code, done.stdout) == (0, ANSWER.encode() + b"\n")
    assert b"Traceback" not in done.stderr
    assert machine.recall(QUESTION) == [ANSWER]


@pytest.mark.parametrize("damage", INDEX_DAMAGE, ids=words_of)
def test_damaged_index_does_not_keep_a_memory_from_being_stored(machine: Machine, damage: IndexDamage) -> None:
    damage(machine)
    done = machine.run("remember", CONTENT)
    assert done.code == 0
    assert b"Traceback" not in done.stderr
    assert machine.recall(ABOUT_IT) == [done.stdout.decode().strip()]
