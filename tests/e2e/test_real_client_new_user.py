"""The path of a new user as README has it: install, `init`, yes to Claude's memory, and the first prompt answered from it."""

import shlex
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.e2e.claude_client import MODELS, Sandbox, conversation
from tests.e2e.machine import NO_BRIEF
from tests.e2e.screen import OnTerminal
from tests.e2e.subcog_client import BLOCK, ROOT, in_time, model_text, readme_commands

NOTE = "Deploys of the crane service go out with `just ship`; a push by hand leaves the tag behind."
ASKED = "How do we deploy the crane service, and why not by hand?"
TOPIC = f"---\nname: deploys\ndescription: How the crane service is deployed\nmetadata:\n  type: project\n---\n\n{NOTE}\n"
NOT_INSTALLED = ("tests", ".venv", ".git", ".cache", "__pycache__")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of an environment in which README's own line has installed a clone.

    What the package needs is taken from the environment of the tests, so that nothing is fetched.
    """
    folder = tmp_path_factory.mktemp("installed")
    clone = shutil.copytree(ROOT, folder / "clone", ignore=shutil.ignore_patterns(*NOT_INSTALLED))
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    commands = folder / "venv" / "bin"
    at = subprocess.run(
        [commands / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    (Path(at.stdout.strip()) / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (line,) = [line for line in readme_commands("pip") if line.split()[1] == "install"]
    done = subprocess.run(
        [commands / "python", "-m", *shlex.split(line), "--no-deps", "--no-build-isolation", "--no-index"],
        cwd=clone,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return commands


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_the_first_prompt_finds_claude_codes_own_notes(client: str, installed: Path, tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path / "sandbox", path=[str(installed)])
    (sandbox.project / ".git").mkdir()
    with conversation(client, sandbox, MODELS[0]) as talk:
        talk.say("make it blue")  # a session before subcog
    (project,) = (sandbox.config / "projects").iterdir()
    (project / "memory").mkdir(exist_ok=True)
    (project / "memory" / "deploys.md").write_text(TOPIC)
    (project / "memory" / "MEMORY.md").write_text("- [Deploys](deploys.md) — how the crane service is deployed\n")
    asking = {name: value for name, value in sandbox.environment.items() if name != NO_BRIEF}
    init = shlex.split(next(line for line in readme_commands("subcog") if line.split()[1] == "init"))
    asked = OnTerminal([str(installed / init[0]), *init[1:]], sandbox.project, asking)
    asked.read_until("Start each session with a short list")
    asked.type("n\n")
    asked.read_until("Found: 1 note that Claude Code wrote in 1 project. They come again when they change. Bring")
    asked.type("y\n")
    assert asked.end() == 0
    assert "added 1" in asked.written
    assert str(installed) in (sandbox.config / "settings.json").read_text()

    def first_prompt() -> str:
        with conversation(client, sandbox, MODELS[0]) as talk:
            return model_text(talk.say(ASKED))

    told = in_time(first_prompt, lambda told: NOTE in told)
    assert (told.count(BLOCK), told.count(NOTE)) == (1, 1)
