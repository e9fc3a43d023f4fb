"""Make README's picture from real terminal output: `python .github/picture.py` with subcog installed in the same environment.

Runs real commands on the project's own sample memories in a throw-away home, on a pseudo-terminal, and lets rich draw what they
printed to .github/terminal.svg.
"""

import json
import os
import pty
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
TARGET = ROOT / ".github" / "terminal.svg"
WIDTH = 112
ERASED = "\x1b[2K"  # a line
PROMPT = "How do we store the session token in the browser, and why not in localStorage?"


def on_terminal(command: list[str], environment: dict[str, str]) -> str:
    """What a command prints on a terminal of WIDTH columns."""
    master, slave = pty.openpty()
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment, close_fds=True) as process:
        os.close(slave)
        printed = b""
        while True:
            try:
                chunk = os.read(master, 65536)
            except OSError:  # the terminal's other side is closed
                break
            if not chunk:
                break
            printed += chunk
        process.wait()
    os.close(master)
    text = printed.decode("utf-8", "replace").replace("\r\n", "\n")
    return text.rpartition(ERASED)[2]  # without a first answer that gave way to a better one


def main() -> None:
    subcog = str(Path(sys.executable).with_name("subcog"))
    with tempfile.TemporaryDirectory() as home, open(os.devnull, "w", encoding="utf-8") as nowhere:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "SUBCOG_HOME": home,
            "TERM": "xterm-256color",
            "COLUMNS": str(WIDTH),
            "LINES": "40",
            "LANG": "C.UTF-8",
        }
        subprocess.run(
            [subcog, "import", str(DATA / "memories.jsonl"), "--trust", "user"], env=environment, check=True, stdout=nowhere
        )
        console = Console(record=True, width=WIDTH, file=nowhere, force_terminal=True)
        query = ["session", "token", "-n", "3"]
        console.print(Text.assemble(("$ ", "green"), ("subcog search " + " ".join(query), "bold")))
        console.print(Text.from_ansi(on_terminal([subcog, "search", *query], environment)))
        payload = {"session_id": "picture", "cwd": "/", "hook_event_name": "UserPromptSubmit", "prompt": PROMPT}
        done = subprocess.run(
            [subcog, "hook"], input=json.dumps(payload).encode(), env=environment, capture_output=True, check=True
        )
        console.print(Text.assemble(("\n> ", "green"), (PROMPT, "bold"), ("   (typed to the agent)", "bright_black")))
        console.print(Text(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]))
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(console.export_svg(title="subcog"), encoding="utf-8")


if __name__ == "__main__":
    main()
