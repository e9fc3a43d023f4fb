"""The first ten minutes of a new user: install, `init` and its questions, notes, prompts of the real client, `uninstall`."""

import shlex
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.conftest import AS_LARGE_STORES_WITHOUT_LINES
from tests.e2e.claude_client import MODELS, VERSIONS, Sandbox, conversation
from tests.e2e.machine import NO_BRIEF
from tests.e2e.screen import OnTerminal
from tests.e2e.subcog_client import BLOCK, ROOT, in_time, model_text, readme_commands

NOTE = "Deploys of the crane service go out with `just ship`; a push by hand leaves the tag behind."
ASKED = "How do we deploy the crane service, and why not by hand?"
TOPIC = f"---\nname: deploys\ndescription: How the crane service is deployed\nmetadata:\n  type: project\n---\n\n{NOTE}\n"
HARBOUR = "# Berths\n\nBerths are allocated by length overall.\n"
KEYS = "The release service rotates its signing keys by a monthly job, never by hand"
IN_OTHER_WORDS = "Who changes the certificates used for builds?"
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


class Newcomer:
    """A person with a repository, decision records and a client that has noted something, who types on a terminal."""

    def __init__(self, client: str, commands: Path, root: Path) -> None:
        (root / "path").mkdir(parents=True)
        (root / "path" / "claude").symlink_to(client)
        self.client = client
        self.sandbox = Sandbox(root / "sandbox", path=[str(root / "path"), str(commands)])
        left_out = {"SUBCOG_HOME", NO_BRIEF, *AS_LARGE_STORES_WITHOUT_LINES}  # as a person has it
        self.sandbox.environment = {name: value for name, value in self.sandbox.environment.items() if name not in left_out}
        self.home = root / "sandbox" / "home"
        self.settings = self.sandbox.config / "settings.json"
        self.settings.write_text('{"cleanupPeriodDays": 90}\n')
        (self.sandbox.project / ".git").mkdir()
        shutil.copytree(ROOT / "tests" / "data" / "adr", self.sandbox.project / "docs" / "adr")
        (self.sandbox.project / "notes.md").write_text(HARBOUR)
        self.say("make it blue")  # a session before subcog
        (project,) = (self.sandbox.config / "projects").iterdir()
        (project / "memory").mkdir(exist_ok=True)
        (project / "memory" / "deploys.md").write_text(TOPIC)
        (project / "memory" / "MEMORY.md").write_text("- [Deploys](deploys.md) — how the crane service is deployed\n")

    def say(self, prompt: str) -> str:
        """Prompt the client in a session of its own. Return the text that the model got."""
        with conversation(self.client, self.sandbox, MODELS[0]) as talk:
            return model_text(talk.say(prompt))

    def ask(self, prompt: str, note: str) -> str:
        """Prompt the client until a note comes. Return the text that the model got."""
        return in_time(lambda: self.say(prompt), lambda text: note in text)

    def begin(self, line: str) -> OnTerminal:
        """Type a command of README on a terminal of 80 columns."""
        program, *arguments = shlex.split(line)
        path = shutil.which(program, path=self.sandbox.environment["PATH"])
        assert path
        return OnTerminal([path, *arguments], self.sandbox.project, self.sandbox.environment, columns=80)

    def type(self, line: str) -> str:
        """Type a command that asks nothing. Return the text on the terminal."""
        terminal = self.begin(line)
        assert terminal.end() == 0, terminal.written
        return terminal.written

    def files(self) -> dict[str, bytes]:
        """Return the files of the person: of the project, the home, and the client without its sessions."""
        folders = (
            self.sandbox.project,
            self.home,
            self.settings.parent / "skills",
            *self.sandbox.config.glob("projects/*/memory"),
        )
        files = [self.settings, *(file for folder in folders for file in folder.rglob("*") if file.is_file())]
        return {str(file): file.read_bytes() for file in files if self.home / ".subcog" not in file.parents}


@pytest.mark.parametrize("version", VERSIONS[:1], indirect=True)
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_persons_first_ten_minutes_end_as_they_began(client: str, installed: Path, tmp_path: Path) -> None:
    person = Newcomer(client, installed, tmp_path)
    before = person.files()

    init = person.begin(next(line for line in readme_commands("subcog") if line.split()[1] == "init"))
    init.read_until("Write the hook into")
    assert person.files() == before, "it asks before it writes"
    init.type("y\n")
    init.read_until("Start each session with a short list of your most useful memories")
    init.type("n\n")
    for question in ("Found here: 4 decision records.", "Found: 1 note that Claude Code wrote in 1 project."):
        init.read_until(question)
        init.type("y\n")
    init.read_until("May it? [y/N]")
    init.type("n\n")
    assert init.end() == 0
    assert "settings.json: has the hook at prompts, tool calls and sessions" in " ".join(init.written.split())
    assert str(installed) in person.settings.read_text()
    assert (person.settings.parent / "skills").is_dir()

    assert "added 1" in person.type("subcog import notes.md")
    noted = person.type(f"subcog remember '{KEYS}' --namespace decisions")
    identifier = noted.split()[-1]
    checked = " ".join(person.type("subcog doctor").split())  # its lines are wrapped
    assert "vectors (minilm): " in checked
    assert "hook in the user settings" in checked
    assert "hook ran in" in checked
    assert not [word for word in (" BAD ", "pending", "twice") if word in checked]

    assert person.ask(ASKED, NOTE).count(BLOCK) == 1
    assert NOTE[:40] in " ".join(person.type("subcog why").split())
    assert KEYS not in person.say(IN_OTHER_WORDS)
    assert IN_OTHER_WORDS in person.type("subcog why")
    person.sandbox.run("subcog", "why", "missed", identifier)
    assert person.ask(IN_OTHER_WORDS, KEYS).count(KEYS) == 1

    person.type("subcog uninstall")
    assert person.files() == before
    assert BLOCK not in person.say(ASKED)
