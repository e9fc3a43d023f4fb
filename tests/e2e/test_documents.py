"""The commands that README and the topics of `subcog help` show, run by a shell in a throw-away home, as a reader does."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from tests.conftest import AS_LARGE_STORES_WITHOUT_LINES
from tests.documents import BEGIN, DOCUMENTS, END, README, ROOT, TOPICS, TYPED, Block, blocks, commands_to_run
from tests.e2e.machine import NO_BRIEF, NO_TIME, Machine
from tests.e2e.subcog_client import BLOCK, readme_commands
from tests.transcripts import session

SHELL = shutil.which("sh")
FIRST_SCREEN = 40  # lines
ASKED, FOUND = "why does the login fail on Safari?", "Safari dropped the cookie: it was set on a redirect."
ATTEMPTS = 3  # a busy machine can cut the hook off, or leave it no time to look for meaning
NOT_RUN_HERE = {  # document, and what a block of it needs
    ("searching.md", "past sessions"): [
        "subcog import --from sessions                    # --wait: by meaning, too",
        'subcog search --sessions "why did the login fail last time"',
        "subcog search --sessions --path src/login.py     # that worked on a file",
        "subcog show ep-5f0c2a7e91d4                      # and its neighbours",
    ],
    ("README.md", "the network"): ["uv tool install ."],
    ("README.md", "Claude Code, in a clone"): ["claude plugin marketplace add ./", "claude plugin install subcog@subcog"],
    ("searching.md", "the model's files"): [
        "subcog models pull BAAI/bge-small-en-v1.5 --from bge-small",
        "subcog models use BAAI/bge-small-en-v1.5",
        "subcog models use minilm",
        "subcog models remove BAAI/bge-small-en-v1.5",
    ],
    ("settings.md", "an LLM at rest"): [
        "subcog enrich --limit 8 --dry-run",
        "subcog enrich",
        "subcog search --rank how are the signing keys rotated",
    ],
    ("noting.md", "sessions of Claude Code, and an LLM at rest"): ["subcog learn --llm --since 30d --dry-run"],
    ("README.md", "PostgreSQL"): [  # tests/share/test_terminal.py runs them
        "subcog share init postgresql://ada@db.example.com/team --grant bob",
        "subcog share sync",
        "# a colleague, in a clone:",
        "subcog share init postgresql://bob@db.example.com/team",
        "subcog share sync",
        'subcog block "How do we rotate the signing keys?"',
    ],
    ("sharing.md", "PostgreSQL"): [
        "subcog share init postgresql://ada@db.example.com/team --grant bob",
        "subcog share sync --dry-run      # shows the memories that would leave",
        "subcog share sync",
    ],
}

pytestmark = pytest.mark.skipif(not SHELL, reason="there is no sh")


class Reader:
    """Somebody who types the commands of a document into a shell, in a repository with decision records and a past session."""

    def __init__(self, subcog_command: str, root: Path) -> None:
        machine = Machine(subcog_command, root)
        self.folder = machine.repository("shop", "git@github.com:acme/shop.git")
        shutil.copytree(ROOT / "tests" / "data" / "adr", self.folder / "docs" / "adr")
        shutil.copy(ROOT / "CONTRIBUTING.md", self.folder)
        sessions = Path(machine.environment["HOME"], ".claude", "projects")
        session(sessions, "past", ASKED, folder=str(self.folder), answer=FOUND)
        commit = root / "commit.json"
        commit.write_bytes(machine.calling("Bash", cwd=self.folder, command="git commit -am wip", description="Commit"))
        path = os.pathsep.join((os.path.dirname(subcog_command), machine.environment["PATH"]))
        self._environment = {
            **machine.environment,
            "PATH": path,
            "EDITOR": "true",
            "COMMIT": str(commit),
            "PYTHONUNBUFFERED": "1",
        }
        for name in ("SUBCOG_HOME", NO_BRIEF, *AS_LARGE_STORES_WITHOUT_LINES):  # as a reader has it, in the home
            del self._environment[name]

    def type(self, blocks: list[Block]) -> subprocess.CompletedProcess[str]:
        """Run the blocks by one shell, which ends with the first command that fails."""
        assert SHELL
        script = "\n".join(block.script for block in blocks)
        return subprocess.run(
            [SHELL, "-e", "-c", script],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )

    @property
    def was_cut_off(self) -> bool:
        """Whether the hook ran out of time."""
        return os.path.exists(Home(os.path.join(self._environment["HOME"], ".subcog")).cut_offs)


def typed(subcog_command: str, folder: Path, blocks: list[Block]) -> subprocess.CompletedProcess[str]:
    """What the commands of blocks print, in a home of their own; in another one where the machine was too busy."""
    for attempt in range(ATTEMPTS):
        reader = Reader(subcog_command, folder / str(attempt))
        done = reader.type(blocks)
        if not reader.was_cut_off and NO_TIME not in done.stdout:
            break
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def without_chance(text: str) -> str:
    """Return a text without ids, days, times, and the last digits of a relevance, which differ from run to run."""
    text = re.sub(r"\b(\d[a-z]\w{12}|ep-\w{12})\b", "ID", re.sub(r"\d{4}-\d\d-\d\d", "DAY", text))
    return re.sub(r"relevance [01]\.\d\d|\d+\.\d ms", "…", text)


def shown_to_the_agent(document: Path) -> list[str]:
    """The blocks of memories that a document shows as output."""
    return ["\n".join(block.lines) for block in blocks(document) if block.language == "text" and BLOCK in block.lines[0]]


def handed_over(printed: str) -> list[str]:
    """The texts for the agent in what the hook, or `block`, has printed."""
    lines = [line for line in printed.splitlines() if line.startswith('{"hookSpecificOutput"')]
    by_hook = [json.loads(line)["hookSpecificOutput"]["additionalContext"] for line in lines]
    return by_hook + re.findall(r"^<subcog-memories.*?^</subcog-memories>$", printed, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("document", TOPICS, ids=lambda document: document.stem)
def test_commands_of_a_topic_run_in_their_order(document: Path, subcog_command: str, tmp_path: Path) -> None:
    given = map(without_chance, handed_over(typed(subcog_command, tmp_path, commands_to_run(document)).stdout))
    assert set(map(without_chance, shown_to_the_agent(document))) <= set(given)


def test_readme_shows_what_its_commands_print(subcog_command: str, tmp_path: Path) -> None:
    (read_by_agent,) = [block for block in blocks(README) if block.language == "text"]
    commit = Block("console", [f'{TYPED}subcog hook < "$COMMIT"', *read_by_agent.lines])
    run = [commit if block == read_by_agent else block for block in blocks(README) if not block.needs]
    done = typed(subcog_command, tmp_path, [Block("sh", ["subcog import --from sessions --wait"]), *run])
    shown = [output for block in run if block.language == "console" for output in block.outputs.values()]
    printed = re.findall(f"{BEGIN}(.*?){END}", done.stdout, re.DOTALL)
    printed = ["\n".join(handed_over(output)) or output.strip() for output in printed]
    assert list(map(without_chance, printed)) == list(map(without_chance, shown))


def test_first_screen_of_readme_shows_each_kind_of_answer() -> None:
    screen = "\n".join(README.read_text(encoding="utf-8").splitlines()[:FIRST_SCREEN])
    assert "(.github/demo.svg)" in screen
    for shown in ("\n[maybe ", ' tool="Bash">\n', "\n$ subcog search --sessions ", "\n$ subcog why "):
        assert shown in screen


def test_blocks_that_are_not_run_are_few_and_say_what_they_need() -> None:
    left_out = {
        (document.name, block.needs): block.lines[1:]
        for document in DOCUMENTS
        for block in blocks(document)
        if block.language == "sh" and block.needs
    }
    assert left_out == NOT_RUN_HERE
    of_the_client = NOT_RUN_HERE["README.md", "Claude Code, in a clone"]
    assert readme_commands("claude") == of_the_client, "the tests of the real client run these"


def test_every_block_is_of_commands_or_of_output() -> None:
    for document in DOCUMENTS:
        assert {block.language for block in blocks(document)} <= {"sh", "text", "console"}
        for block in blocks(document):
            assert block.language == "sh" or not any(line.startswith(("subcog ", "claude ")) for line in block.lines)
