"""Every agent of the table has all of its parts, and the modules that need them use these."""

import json
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from subcog_hooks import clients
from subcog_hooks.cli.agents import other_agents
from subcog_hooks.clients import LEARNED, NAMES, SERVED
from subcog_hooks.clients.description import (
    COMPACTED,
    GROUPS,
    PLUGIN,
    SERVER,
    TO_BE_COMPACTED,
    YAML,
    Client,
    find_client,
    list_clients,
)
from subcog_hooks.hook import main
from subcog_hooks.learn import transcript_files, transcript_rows
from subcog_hooks.learn.transcript_files import LEARNED_CLIENTS
from subcog_hooks.settings.defaults import CLAUDE
from tests.clients.test_translation import EDITS, EVENTS
from tests.conftest import AS_LARGE_STORES_WITHOUT_LINES
from tests.documents import README
from tests.e2e import on_terminal
from tests.e2e.machine import NO_BRIEF, Machine
from tests.e2e.test_other_clients import answer

CONTRACTS = Path(__file__).parents[3] / "shared" / "clients" / "CONTRACTS.md"
ROWS = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
HOOKED = [client for client in list_clients() if client.contract]
SHARED = {"__init__", "description"}  # Its hooks' contract is ours.
each_client = pytest.mark.parametrize("client", tuple(list_clients()), ids=NAMES)
OTHERS = {"version": 1, "hooks": {"other": [{"command": "date"}]}}


def test_the_table_names_every_file_of_an_agent() -> None:
    files = {path.stem for path in Path(clients.__file__).parent.glob("*.py")} - SHARED
    assert sorted({*NAMES} - {*SERVED} | {"served"}) == sorted(files)
    assert [client.name for client in list_clients()] == list(NAMES)


@each_client
def test_an_agent_has_every_part(client: Client) -> None:
    assert find_client(client.name) is client
    assert client.settings.form in other_agents.FORMS
    if client.contract is None:
        assert (client.settings.form in (SERVER, YAML), client.settings.key != "", client.is_tried) == (True, True, False)
        return
    assert set(client.contract.events.values()) <= {*main.BUDGETS_MS, COMPACTED, TO_BE_COMPACTED}
    assert client.settings.form == PLUGIN or client.settings.hook
    if client.name in LEARNED:
        assert LEARNED_CLIENTS[client.name] is find_client(client.name) is client
        assert client.sessions == transcript_files.DATABASE or client.name in transcript_rows.READERS


@pytest.mark.parametrize("client", HOOKED, ids=lambda client: client.name)
def test_the_hook_is_registered_at_the_events_that_are_read(client: Client) -> None:
    assert client.contract is not None
    made = other_agents.add_hook(client, ["/x/subcog"], None)
    form = other_agents.FORMS[client.settings.form]
    assert list(form.read_commands(made, client)) == list(client.contract.events)
    assert other_agents.remove_hook(client, made) is None
    if client.settings.form != PLUGIN:
        entries = json.loads(made)["hooks"].values()
        hooks = [entry["hooks"][0] if client.settings.form == GROUPS else entry for (entry,) in entries]
        assert all({**hook, **client.settings.hook} == hook for hook in hooks)
        text = json.dumps(OTHERS)
        assert other_agents.remove_hook(client, other_agents.add_hook(client, ["/x/subcog"], text)) == text


# ---- the walk: what each agent's own payloads bring, by the installed executable ------------------------------------------

KEYS = "The release service rotates its signing keys by a monthly job, never by hand"
STANDING = "Every change of the quay wall is signed by the harbour master."
FILE_RULE = "a b.py holds the tide tables; sort them by port."
REMEDY = "KeyError: 'port_code' in the tide importer means that the harbour list is stale: run make harbours."
QUESTION = "How do we rotate the signing keys of the release service?"
RELATED = "Is the release service down?"
FAILURE = "Traceback (most recent call last):\n  File \"tides.py\", line 9, in <module>\nKeyError: 'port_code'"
TYPED = "The crane is inspected on Mondays"
COMMAND = {"command": "python tides.py"}
FAILED_CALLS: Mapping[str, tuple[str, dict[str, object]]] = {  # where the client tells of a command that failed
    CLAUDE: ("PostToolUseFailure", {"tool_name": "Bash", "error": f"Exit code 1\n{FAILURE}"}),
    "gemini": (
        "AfterTool",
        {"tool_name": "run_shell_command", "tool_response": {"llmContent": f"Output: {FAILURE}\nExit Code: 1\nPGID: 42"}},
    ),
    "qwen": ("PostToolUseFailure", {"tool_name": "run_shell_command", "error": f"Output: {FAILURE}\nExit Code: 1"}),
    "opencode": ("tool.execute.after", {"tool_name": "bash", "error": FAILURE}),
    "copilot": (
        "PostToolUse",
        {"tool_name": "Bash", "tool_result": {"text_result_for_llm": f"{FAILURE}\n<shellId: 0 completed with exit code 1>"}},
    ),
}
WALKED = (CLAUDE, *(client.name for client in HOOKED))
OF_CLAUDE = ("UserPromptSubmit", "PreToolUse", "SessionStart")


def told_at_a_prompt(machine: Machine, client: str) -> bool:
    return KEYS in answer(machine, client, events_of(client)[0], "prompt", prompt=QUESTION)


def told_as_a_line(machine: Machine, client: str) -> bool:
    return "[maybe " in answer(machine, client, events_of(client)[0], "line", prompt=RELATED)


def told_at_a_call(machine: Machine, client: str) -> bool:
    tool, tool_input = EDITS.get(client, ("Edit", {"file_path": "a b.py", "old_string": "old", "new_string": "new"}))
    return FILE_RULE in answer(machine, client, events_of(client)[1], "call", tool_name=tool, tool_input=tool_input)


def told_at_an_error(machine: Machine, client: str) -> bool:
    event, fields = FAILED_CALLS.get(client, ("PostToolUseFailure", {"tool_name": "Bash", "error": FAILURE}))
    return REMEDY in answer(machine, client, event, "error", tool_input=COMMAND, **fields)


def told_at_the_start(machine: Machine, client: str) -> bool:
    machine.environment[NO_BRIEF] = "950"
    told = _start(machine, client, "start", "startup") + answer(machine, client, events_of(client)[0], "start", prompt="Hello")
    machine.environment[NO_BRIEF] = "0"
    return STANDING in told


def told_once_over_a_resume(machine: Machine, client: str) -> bool:
    told = [
        _start(machine, client, "resumed", source) + answer(machine, client, events_of(client)[0], "resumed", prompt=prompt)
        for source, prompt in (("startup", QUESTION), ("resume", f"{QUESTION} Once more"))
    ]
    return [text.count(KEYS) for text in told] == [1, 0]


def stored_when_typed(machine: Machine, client: str) -> bool:
    transcript, payload = machine.root / "session.jsonl", machine.root / "payload.json"
    transcript.write_text(json.dumps({"type": "session_meta", "payload": {"source": "cli"}}) + "\n")
    fields = {"hook_event_name": events_of(client)[0], "session_id": "typed", "cwd": str(machine.folder)}
    payload.write_text(json.dumps({**fields, "prompt": f"remember: {TYPED}", "transcript_path": str(transcript)}))
    machine.environment["CLAUDE_CODE_ENTRYPOINT"] = "cli"
    words = [machine.command, "hook", *(() if client == CLAUDE else ("--client", client))]
    done = machine.start(
        [sys.executable, on_terminal.__file__, "50", "160", "/bin/sh", "-c", f"{shlex.join(words)} < {payload}"]
    )
    assert done.code == 0
    return TYPED in machine.stored()


def has_skills(machine: Machine, client: str) -> bool:
    assert machine.run("init", *_for(client)).code == 0
    return len(list(Path(machine.environment["HOME"]).glob(".*/**/skills/subcog-re*/SKILL.md"))) >= len(("remember", "recall"))


def taken_back(machine: Machine, client: str) -> bool:
    """Whether `uninstall` leaves of `init` what was there before."""
    home = Path(machine.environment["HOME"])
    found = find_client(client)
    file = Path(found.settings.path if found else home / ".claude" / "settings.json")
    return machine.run("uninstall", *_for(client)).code == 0 and not file.exists() and not has_files(home)


def has_files(folder: Path) -> bool:
    return any(path.is_file() for path in folder.rglob("*"))


def events_of(client: str) -> tuple[str, str, str]:
    return EVENTS.get(client, OF_CLAUDE)


def _start(machine: Machine, client: str, session: str, source: str) -> str:
    described = find_client(client)
    events = described.contract.events if described and described.contract else {"SessionStart": "SessionStart"}
    begins = [event for event, ours in events.items() if ours == "SessionStart"]
    return "".join(answer(machine, client, event, session, source=source) for event in begins)


def _for(client: str) -> tuple[str, ...]:
    return ("--user",) if client == CLAUDE else ("--for", client)


MOMENTS = {
    "prompt": told_at_a_prompt,
    "line": told_as_a_line,
    "call": told_at_a_call,
    "error": told_at_an_error,
    "start": told_at_the_start,
    "resume": told_once_over_a_resume,
    "typed note": stored_when_typed,
    "skills": has_skills,
    "uninstalled": taken_back,
}
UNTRIED = "9. Clients that were not run"
NOT_OFFERED: Mapping[str, Mapping[str, tuple[str, str]]] = {  # by the client; its section of CONTRACTS.md, and words there
    "codex": {"error": ("3. OpenAI Codex CLI", "is a normal\n  PostToolUse whose text has no exit code")},
    "cursor": {"error": (UNTRIED, "`preToolUse`, `postToolUse`"), "typed note": (UNTRIED, "`beforeSubmitPrompt` [I")},
    "droid": {"error": (UNTRIED, "Pre/PostToolUse;"), "typed note": (UNTRIED, "Claude's contract")},
}


@pytest.mark.parametrize("client", WALKED)
def test_every_moment_works_or_is_not_offered(client: str, bare: Machine) -> None:
    for text, *cue in ((KEYS,), (STANDING, "--standing"), (FILE_RULE, "--path", "a b.py"), (REMEDY,)):
        assert bare.run("remember", text, *cue, "--user").code == 0
    for name in AS_LARGE_STORES_WITHOUT_LINES:
        del bare.environment[name]
    works = {name for name, moment in MOMENTS.items() if moment(bare, client)}
    assert works == set(MOMENTS) - set(NOT_OFFERED.get(client, ()))


def test_what_is_not_offered_stands_in_the_contracts() -> None:
    if not CONTRACTS.exists():
        pytest.skip(f"{CONTRACTS} is not there, which tells what the clients offer")
    sections = dict(
        re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", CONTRACTS.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    )
    for places in NOT_OFFERED.values():
        for section, words in places.values():
            (text,) = [text for title, text in sections.items() if title.startswith(section)]
            assert words in text


def cell_of(client: str) -> str:
    """What the README says about when a note comes to an agent."""
    described = find_client(client)
    if described and described.contract is None:
        return "if asked for"
    has_errors = "error" not in NOT_OFFERED.get(client, ())
    if "Pre" in events_of(client)[1]:
        return f"at prompts, calls, {'errors, ' if has_errors else ''}starts"
    return f"at prompts, starts{', errors' if has_errors else ''}, after calls"


@pytest.mark.parametrize("client", [CLAUDE, *NAMES])
def test_the_readme_says_what_an_agent_is_told(client: str) -> None:
    pattern = r"`init`" if client == CLAUDE else rf"[` ]{client}`"
    (row,) = [row for row in ROWS if re.search(pattern, row)]
    described = find_client(client)
    assert (described.title.removesuffix(" CLI") if described else "Claude Code") in row
    assert row.startswith("| untried: ") is (described is not None and not described.is_tried)
    assert row.endswith(f" | {cell_of(client)} |")
