"""The real client where tools are called and where sessions begin again: what the model is told, and what stays as it was."""

import os
import shutil
import sys
import uuid
from pathlib import Path
from typing import NamedTuple

import pytest

from subcog_hooks.cli.agents import hook_entries
from tests.conftest import AS_LARGE_STORES_WITHOUT_LINES
from tests.e2e.claude_client import MODELS, VERSIONS, Sandbox, Turn, conversation
from tests.e2e.machine import ANSWER, NO_BRIEF, linux, posix
from tests.e2e.messages_api import ToolCall
from tests.e2e.subcog_client import BLOCK, assert_silent, events, in_time, initialised, model_text
from tests.e2e.typing_client import typing

REMOTE = "git@github.com:tidepool/harbour.git"
POOL, OTHER = "src/db/pool.py", "src/app.py"
FILE_TEXT = "SIZE = 30\n"

OF_THE_POOL = "Connections are handed back by whoever took them; a leak brought the booking site down in May."
OF_LOGIN = "OAuth2 in the SPA uses PKCE; the implicit flow was dropped after the security audit."
OF_BACKUPS = "Nightly Postgres backups go to the cold bucket; restores are rehearsed every quarter."
ALWAYS = "Releases of this project leave from the branch harbour-stable, on Tuesdays."
AT_FIRST = "The tide tables are read before any other file."

LOGIN = "How does the OAuth2 login flow in the SPA work, did we use PKCE?"
RAISE_POOL, RAISE_OTHER = f"Raise the number in @{POOL}", f"Raise the number in @{OTHER}"
ORDER = "make it blue"


class Work(NamedTuple):
    """A session in which files are edited, turn by turn."""

    login: Turn
    elsewhere: Turn
    pool: Turn
    pool_again: Turn
    compaction: Turn
    pool_compacted: Turn
    clear: Turn
    cleared: Turn
    pool_cleared: Turn

    @property
    def has_told(self) -> bool:
        """Whether the hook was in time wherever it has something to say."""
        turns = (self.login, self.pool, self.compaction, self.pool_cleared)
        return all(any(hook.stdout for hook in turn.hooks) for turn in turns)


@pytest.fixture(scope="module")
def memories(subcog_command: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with memories of a project, one of them about files, to be copied."""
    sandbox = with_files(Sandbox(tmp_path_factory.mktemp("remembered")))
    sandbox.run(subcog_command, "remember", OF_THE_POOL, "-s", "learnings", "--path", "src/db/**")
    for text in (OF_LOGIN, OF_BACKUPS):
        sandbox.run(subcog_command, "remember", text, "-s", "decisions")
    sandbox.run(subcog_command, "doctor", "--fix")
    return sandbox.memories


@pytest.fixture
def sandbox(subcog_command: str, memories: Path, tmp_path: Path) -> Sandbox:
    """A project with files, the memories, and the hook where `subcog init` puts it."""
    return with_files(initialised(tmp_path / "sandbox", subcog_command, memories))


@pytest.fixture(scope="module")
def work(client: str, model: str, subcog_command: str, memories: Path, tmp_path_factory: pytest.TempPathFactory) -> Work:
    """A session with the hook where `subcog init` puts it."""
    sandbox = initialised(tmp_path_factory.mktemp("work"), subcog_command, memories)

    def session() -> Work:
        with_files(sandbox)
        with conversation(client, sandbox, model, "--permission-mode", "acceptEdits") as talk:
            return Work(
                talk.say(LOGIN),
                talk.say(RAISE_OTHER, edit(sandbox, OTHER, 30, 31)),
                talk.say(RAISE_POOL, edit(sandbox, POOL, 30, 31)),
                talk.say(RAISE_POOL, edit(sandbox, POOL, 31, 32)),
                talk.say("/compact"),
                talk.say(RAISE_POOL, edit(sandbox, POOL, 32, 33)),
                talk.say("/clear"),
                talk.say(ORDER),
                talk.say(RAISE_POOL, edit(sandbox, POOL, 33, 34)),
            )

    return in_time(session, lambda done: done.has_told)


@pytest.fixture(scope="module")
def plain_result(client: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the client tells of an edit where no hook is registered."""
    sandbox = with_files(Sandbox(tmp_path_factory.mktemp("plain")))
    with conversation(client, sandbox, MODELS[0], "--permission-mode", "acceptEdits") as talk:
        return result_of(talk.say(RAISE_POOL, edit(sandbox, POOL, 30, 31)), sandbox)


# ---- a tool at a file -----------------------------------------------------------------------------------------------------


def test_an_edit_brings_its_files_memory_once(work: Work) -> None:
    before, after = [request.model_text for request in work.pool.requests]
    assert OF_THE_POOL not in before
    assert after.count(OF_THE_POOL) == 1
    result = work.pool.requests[-1].results[-1][0]
    assert after.index(result) < after.index(OF_THE_POOL)
    assert after.count(BLOCK) == before.count(BLOCK) + 1


def test_edits_elsewhere_and_again_bring_nothing(work: Work) -> None:
    before, after = [request.model_text for request in work.elsewhere.requests]
    assert after.count(BLOCK) == before.count(BLOCK)
    assert work.pool_again.requests[-1].model_text.count(OF_THE_POOL) == 1
    for turn in (work.elsewhere, work.pool_again):
        assert [hook.stdout for hook in turn.hooks] == ["", "", ""]


def test_hook_leaves_the_tools_alone_and_tells_the_user_nothing(work: Work) -> None:
    for turn in (work.elsewhere, work.pool, work.pool_again, work.pool_compacted, work.pool_cleared):
        assert events(turn) == ["UserPromptSubmit", "PreToolUse", "Stop"]
        assert not turn.requests[-1].results[-1][1]
    for turn in work:
        assert_silent(turn)
        assert not [request for request in turn.requests if OF_BACKUPS in request.model_text]


# ---- a hook that fails, a tool that is denied -----------------------------------------------------------------------------


def test_hook_that_fails_changes_neither_the_call_nor_its_result(client: str, sandbox: Sandbox, plain_result: str) -> None:
    for name in ("memories.db", "state.db"):
        (sandbox.memories / name).write_bytes(b"garbage " * 4_000)
    turn = edited(client, sandbox, plain_result)
    assert BLOCK not in turn.requests[-1].model_text
    assert events(turn) == ["SessionStart", "UserPromptSubmit", "PreToolUse", "Stop"]
    assert_silent(turn)


def edited(client: str, sandbox: Sandbox, plain_result: str, *arguments: str) -> Turn:
    """The turn of an edit, which goes as it does without a hook."""
    with conversation(client, with_files(sandbox), MODELS[0], "--permission-mode", "acceptEdits", *arguments) as talk:
        turn = talk.say(RAISE_POOL, edit(sandbox, POOL, 30, 31))
    assert result_of(turn, sandbox) == plain_result
    assert (sandbox.project / POOL).read_text() == "SIZE = 31\n"
    return turn


def test_a_missing_hook_changes_neither_call_nor_result(client: str, sandbox: Sandbox, plain_result: str) -> None:
    command = hook_entries.isolated_command(sys.executable, "/nowhere/lib", "/nowhere/subcog")
    (sandbox.config / "settings.json").write_text(hook_entries.add_hook(None, command))
    edited(client, sandbox, plain_result)


# ---- sessions that begin again --------------------------------------------------------------------------------------------


def test_compaction_hands_over_again_what_the_session_was_using(work: Work) -> None:
    assert events(work.compaction) == ["SessionStart"]
    before, after = [request.model_text for request in work.pool_compacted.requests]
    for memory in (OF_LOGIN, OF_THE_POOL):
        assert before.count(memory) == after.count(memory) == 1
    assert before.count(BLOCK) == after.count(BLOCK) == 1
    assert [hook.stdout for hook in work.pool_compacted.hooks] == ["", "", ""]


def test_clear_starts_clean_and_the_edit_brings_the_memory_again(work: Work) -> None:
    assert [(hook.event, hook.stdout) for hook in work.clear.hooks] == [("SessionStart", "")]
    assert BLOCK not in model_text(work.cleared)
    before, after = [request.model_text for request in work.pool_cleared.requests]
    assert (before.count(BLOCK), after.count(BLOCK), after.count(OF_THE_POOL)) == (0, 1, 1)


def test_a_resumed_session_is_told_once_again(client: str, model: str, sandbox: Sandbox, subcog_command: str) -> None:
    sandbox.run(subcog_command, "remember", ALWAYS, "--priority", "95")
    sandbox.run(subcog_command, "remember", AT_FIRST, "--when", "source=startup")

    def run() -> tuple[Turn, Turn]:
        session = str(uuid.uuid4())
        with conversation(client, sandbox, model, "--session-id", session) as talk:
            begun = talk.say(ORDER)
        with conversation(client, sandbox, model, "--resume", session) as talk:
            return begun, talk.say(ORDER)

    begun, resumed = in_time(run, lambda turns: all(turn.hooks[0].stdout for turn in turns))
    assert ALWAYS in begun.hooks[0].stdout
    assert AT_FIRST in begun.hooks[0].stdout
    assert resumed.hooks[0] == begun.hooks[0]
    for turn in (begun, resumed):
        assert turn.hooks[0].event == "SessionStart"
        assert_silent(turn)
        assert [model_text(turn).count(memory) for memory in (ALWAYS, AT_FIRST)] == [1, 1]
    assert model_text(resumed).count(ORDER) == 2


def with_files(sandbox: Sandbox) -> Sandbox:
    """The sandbox, its project a clone with the files as they are before an edit."""
    git = sandbox.project / ".git"
    git.mkdir(exist_ok=True)
    (git / "config").write_text(f'[remote "origin"]\n\turl = {REMOTE}\n')
    for name in (POOL, OTHER):
        file = sandbox.project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(FILE_TEXT)
    return sandbox


def edit(sandbox: Sandbox, file: str, old: int, new: int) -> ToolCall:
    """The model puts another number into a file."""
    given = {"file_path": str(sandbox.project / file), "old_string": f"SIZE = {old}", "new_string": f"SIZE = {new}"}
    return ToolCall("Edit", given)


def result_of(turn: Turn, sandbox: Sandbox) -> str:
    """What the last tool has given, the sandbox's own folder and the client's reminders left out."""
    text, is_error = turn.requests[-1].results[-1]
    assert not is_error
    return text.replace(str(sandbox.root), "").partition("\n\n<system-reminder>")[0]


FAILING = "cat ./session-token-in-localStorage.ts"


@pytest.fixture
def with_client(client: str, subcog_command: str, imported: Path, tmp_path: Path) -> Sandbox:
    """A user whose client is on the PATH when `init` asks for its version."""
    made = Sandbox(tmp_path / "sandbox", [os.path.dirname(subcog_command), os.path.dirname(client)])
    made.environment = {name: value for name, value in made.environment.items() if name not in AS_LARGE_STORES_WITHOUT_LINES}
    shutil.copytree(imported, made.memories)
    made.run(subcog_command, "init", "--user")
    return made


@linux
def test_an_error_brings_its_note_into_the_next_request(client: str, model: str, with_client: Sandbox) -> None:
    def run() -> Turn:
        with conversation(client, with_client, model) as talk:
            return talk.say("look at that file", ToolCall("Bash", {"command": FAILING, "description": "look"}))

    turn = in_time(run, lambda turn: any(hook.event == "PostToolUseFailure" and hook.stdout for hook in turn.hooks))
    ((text, is_error),) = turn.requests[-1].results
    assert (is_error, "No such file" in text) == (True, True)
    assert ANSWER not in turn.requests[0].model_text
    assert ANSWER in turn.requests[-1].model_text


RULE = "Never rebase a branch that is pushed."
LOOK = {"description": "look", "prompt": "you are the agent", "subagent_type": "general-purpose", "run_in_background": False}
AGENT = ToolCall("Task", LOOK)


def test_a_standing_memory_reaches_a_subagent(client: str, model: str, with_client: Sandbox, subcog_command: str) -> None:
    with_client.environment = {name: value for name, value in with_client.environment.items() if name != NO_BRIEF}
    with_client.run(subcog_command, "remember", RULE, "--standing")
    with conversation(client, with_client, model) as talk:
        turn = talk.say("let an agent look", AGENT)
    (request,) = [request for request in turn.requests if "you are the agent" in request.model_text]
    assert request.model_text.count(RULE) == 1
    assert_silent(turn)


FREEZE = "No deploys until the booking season is over."
ALLOWED = ("--allowedTools", "Bash")  # Without the rule the command would run unasked.


@pytest.fixture
def ruled(subcog_command: str, tmp_path: Path) -> Sandbox:
    """A project with the hook where `subcog init` puts it."""
    (tmp_path / "memories").mkdir()
    return with_files(initialised(tmp_path / "sandbox", subcog_command, tmp_path / "memories"))


def deploy(client: str, ruled: Sandbox, model: str) -> Turn:
    commands = ("mkdir built", "cd src && touch deployed")
    with conversation(client, ruled, model, *ALLOWED) as talk:
        return talk.say("Deploy the site", *(ToolCall("Bash", {"command": each, "description": "Deploy"}) for each in commands))


def test_a_rule_holds_until_its_note_ends(client: str, model: str, ruled: Sandbox, subcog_command: str) -> None:
    settings, made = ruled.config / "settings.json", [ruled.project / "src" / "deployed", ruled.project / "built"]
    before = settings.read_bytes()
    ruled.run(subcog_command, "remember", "--ask-before", "touch*", "--deny", "mkdir*", FREEZE)
    turn = deploy(client, ruled, model)
    assert not any(path.exists() for path in made)
    assert [is_error for _, is_error in turn.requests[-1].results] == [True, True]
    assert FREEZE in turn.requests[-1].model_text
    (id_,) = ruled.run(subcog_command, "list", "--ids").split()
    ruled.run(subcog_command, "forget", id_)
    assert settings.read_bytes() == before
    deploy(client, ruled, model)
    assert all(path.exists() for path in made)


@posix
@pytest.mark.parametrize("version", VERSIONS[:1], indirect=True)  # the older ones draw the same question
def test_the_person_is_asked_and_decides(client: str, model: str, ruled: Sandbox, subcog_command: str) -> None:
    ruled.run(subcog_command, "remember", "--ask-before", "sleep*", FREEZE)
    with typing(client, ruled, model) as session:
        session.will_answer(ToolCall("Bash", {"command": "sleep 0.1", "description": "wait"}))  # It is allowed without a rule.
        before = session.calls
        session.prompt("wait a moment")
        session.shows("Bash(sleep*)")
        assert session.calls == before + 1
        session.keys_until("\r", lambda: session.calls == before + 2, "an answer to the command")  # Yes
