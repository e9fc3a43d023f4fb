"""README and the topics of `subcog help` as tests read them: their blocks of commands, and the commands inside sentences."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
TOPICS = sorted((ROOT / "subcog_hooks" / "cli" / "topics").glob("*.md"))
DOCUMENTS = [README, *TOPICS]
NEEDS = re.compile(r"# needs (.+)")  # the first line of a block that a test can not run as it stands
FENCE = re.compile(r"^```(.*)\n((?:.*\n)*?)^```$", re.MULTILINE)
_EXIT_CODE = re.compile(r"(.+?) +# exit code (\d+)")
TYPED = "$ "  # before a command in a block of the language "console", which shows the output below
BEGIN, END = "\x1e", "\x1f"  # around the output of such a command


class Block(NamedTuple):
    """A fenced block: the language after its fence, and its lines. needs: what it says that it needs, or ""."""

    language: str
    lines: list[str]

    @property
    def needs(self) -> str:
        found = NEEDS.fullmatch(self.lines[0])
        return found[1] if found else ""

    @property
    def script(self) -> str:
        """The lines for a shell that stops at the first failure; a line that ends with `# exit code 1` must end so."""
        if self.language == "console":
            return "\n".join(map(framed, self.outputs))
        return "\n".join(
            f"code=0; {found[1]} || code=$?; test $code -eq {found[2]}" if (found := _EXIT_CODE.fullmatch(line)) else line
            for line in self.lines
        )

    @property
    def outputs(self) -> dict[str, str]:
        """The commands of a console, each with the output that is shown."""
        parts = re.split(rf"^{re.escape(TYPED)}", "\n".join(self.lines), flags=re.MULTILINE)
        return {command: output.strip() for command, _, output in (part.partition("\n") for part in parts[1:])}


def framed(command: str) -> str:
    """Return a command for a shell that prints BEGIN before its output, and END behind it."""
    return f"printf '{BEGIN}'; {{ {command}; }} 2>&1; printf '{END}'"


def blocks(document: Path) -> list[Block]:
    """Return the fenced blocks of a document, in order."""
    return [Block(found[1], found[2].splitlines()) for found in FENCE.finditer(document.read_text(encoding="utf-8"))]


def commands_to_run(document: Path) -> list[Block]:
    """Return the blocks that run as they stand."""
    return [block for block in blocks(document) if block.language in {"sh", "console"} and not block.needs]


def code_in_sentences(document: Path) -> list[str]:
    """Return what stands between single backticks outside of blocks; a line's end inside counts as a blank."""
    prose = FENCE.sub("", document.read_text(encoding="utf-8"))
    return [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", prose)]
