"""Make README's picture from a session of the real Claude Code client.

A script types at the real Claude Code client, offline, in a throw-away home, and then runs commands in a shell. A terminal
emulator reads the screens. .github/demo.svg shows them in turn, each with the text that the hook gave the model. The agent's
answers are scripted, for there is no model; everything else is printed by the real programs in one run.
"""

import argparse
import os
import re
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterable, Iterator
from html import escape
from itertools import accumulate, groupby
from pathlib import Path
from typing import NamedTuple

import pyte

from subcog_hooks.learn import transcript_files
from tests.conftest import AS_LARGE_STORES_WITHOUT_LINES
from tests.e2e.claude_client import MODELS, VERSIONS, ClientFailed, Sandbox, fetched
from tests.e2e.machine import NO_BRIEF
from tests.e2e.messages_api import Request, ToolCall
from tests.e2e.screen import OnTerminal
from tests.e2e.typing_client import TypedSession, typing

TARGET = Path(__file__).resolve().parent.parent / ".github" / "demo.svg"
ROWS, COLUMNS = 23, 100
ATTEMPTS = 5  # On a busy machine the hook may be cut off.
MOMENTS = 2  # The note comes as a line, and as a whole.
IDLE_S = 4 * 3_600  # A session counts as past after three hours.

PAST, OUTCOME = "why does the login fail on Safari?", "Safari dropped the session cookie: it was set on a redirect. Fixed."
NOTE = "Run scripts/tidy before you commit: CI refuses a stale client"
QUESTION, ANSWER = "does CI check the client?", "Yes: by your note it refuses a stale one."
ORDER, COMMITTED = "good, commit everything", "Your note came with the commit, so I ran scripts/tidy and amended it."
COMMANDS = ("git commit -qam 'Use the new client'", "scripts/tidy", "git commit -qa --amend --no-edit")
IN_SHELL = (("subcog", "search", "--sessions", "why did the login fail?"), ("subcog", "why"), ("subcog", "why", "list"))

BLOCK = re.compile(r"<subcog-memories .*?</subcog-memories>", re.DOTALL)
CLEARED = "\x15"  # Ctrl-U
TYPED_S, READ_S = 2.0, 5.0  # for how long a frame stays

PAPER, INK, DIM, ACCENT = "#16181d", "#d6d9e0", "#8b91a0", "#7fd1b9"
NAMED = {"red": "#e06c75", "green": "#98c379", "brown": "#e5c07b", "yellow": "#e5c07b", "blue": "#61afef", "magenta": "#c678dd"}
NAMED |= {"cyan": "#56b6c2", "white": "#d6d9e0", "black": "#5c6370", "brightblack": "#8b91a0", "default": ""}
CELL, LINE, MARGIN, HEAD, PANEL_ROWS = 8.2, 18, 12, 40, 3
WIDTH = round(COLUMNS * CELL + 2 * MARGIN)
PANEL_TOP = HEAD + ROWS * LINE + 14
HEIGHT = PANEL_TOP + (PANEL_ROWS + 2) * LINE + 22
FOOTER = "Claude Code {version}, offline: the agent's answers are scripted, everything else was printed by the real programs."
FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
HIDDEN = ' visibility="hidden"'

# ---- the session ----------------------------------------------------------------------------------------------------------


class Run(NamedTuple):
    """Characters of one style. color, background: as CSS has them, "" for the terminal's own."""

    column: int
    text: str
    color: str
    background: str
    is_bold: bool


class Frame(NamedTuple):
    """A screen of the session. given: the text that the hook gave the model meanwhile, "" for none."""

    caption: str
    rows: list[list[Run]]
    given: str
    seconds: float
    is_client: bool


def record(client: str, subcog: str, root: Path) -> list[Frame]:
    """Hold the session with a client's executable in a new folder. Raises ClientFailed."""
    sandbox = _repository(subcog, root)
    with typing(client, sandbox, MODELS[0], (ROWS, COLUMNS)) as session:
        session.will_answer(OUTCOME)
        session.prompt(PAST)
        session.rest()
    for file in transcript_files.find_transcripts(str(sandbox.config / "projects")):
        os.utime(file.path, (time.time() - IDLE_S,) * 2)
    sandbox.run(subcog, "import", "--from", "sessions", "--wait")
    with typing(client, sandbox, MODELS[0], (ROWS, COLUMNS)) as session:
        frames = list(_typed_frames(session))
    return [*frames, *_shell_frames(sandbox)]


def _repository(subcog: str, root: Path) -> Sandbox:
    """Return a person's machine with a repository, the client, and subcog as a new user has it."""
    sandbox = Sandbox(root, [os.path.dirname(subcog)])
    sandbox.environment = {
        name: value for name, value in sandbox.environment.items() if name not in {*AS_LARGE_STORES_WITHOUT_LINES, NO_BRIEF}
    }
    sandbox.project = root / "home" / "shop"
    (sandbox.project / "scripts").mkdir(parents=True)
    tidy = sandbox.project / "scripts" / "tidy"
    tidy.write_text("#!/bin/sh\n(echo '// generated' && cat api.txt) >client.ts\n")
    tidy.chmod(0o755)
    (sandbox.project / "api.txt").write_text("export const version = 1\n")
    (sandbox.project / "client.ts").write_text("// generated\n")
    (sandbox.config / "settings.json").write_text('{"permissions": {"allow": ["Bash(git commit *)", "Bash(scripts/tidy)"]}}')
    for arguments in (
        ("init", "-q", "-b", "main"),
        ("remote", "add", "origin", "git@github.com:acme/shop.git"),
        ("config", "user.name", "Ada"),
        ("config", "user.email", "ada@acme.example"),
        ("add", "-A"),
        ("commit", "-qm", "Generate the client"),
    ):
        sandbox.run("git", *arguments)
    (sandbox.project / "api.txt").write_text("export const version = 2\n")
    sandbox.run(subcog, "init", "--user")
    return sandbox


def _typed_frames(session: TypedSession) -> Iterator[Frame]:
    """Type at the client and yield the screens."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    read, asked = 0, 0

    def lines() -> str:
        nonlocal read
        drawn = session.drawn[read:]
        stream.feed(drawn)
        read += len(drawn)
        return "\n".join(screen.display)

    def frame(caption: str, seconds: float) -> Frame:
        nonlocal asked
        lines()
        requests = session.requests
        given = _given(requests[-1:], requests[:asked][-1:])
        asked = len(requests)
        return Frame(caption, _runs(screen), given, seconds, is_client=True)

    session.keys(f"remember: {NOTE}")
    session.until(lambda: NOTE in lines(), NOTE)  # The client may be at work on the session's start.
    yield frame("You type a note to your agent", TYPED_S)
    session.keys("\r")
    session.rest()
    yield frame("subcog keeps it; the model is not asked", READ_S)
    session.keys(CLEARED)
    session.will_answer(ANSWER)
    session.prompt(QUESTION)
    session.rest()
    yield frame("A prompt brings one line of a note that may be related", READ_S)
    calls = [ToolCall("Bash", {"command": command, "description": command}) for command in COMMANDS]
    session.will_answer(*calls, COMMITTED)
    session.prompt(ORDER, requests=len(COMMANDS) + 1)
    session.rest()
    yield frame("`git commit` brings the note itself", READ_S)


def _given(requests: list[Request], earlier: list[Request]) -> str:
    """Return the hook's blocks of a request that the one before did not have."""
    earlier_blocks = {block for request in earlier for block in BLOCK.findall(request.model_text)}
    blocks = [block for request in requests for block in BLOCK.findall(request.model_text)]
    return "\n".join(block for block in blocks if block not in earlier_blocks)


def _shell_frames(sandbox: Sandbox) -> Iterator[Frame]:
    """Run the commands of the shell, one below the other, and yield the screens."""
    screen = pyte.Screen(COLUMNS, ROWS)
    captions = ("A past session answers", "`why` explains a silence", "And every decision is on record")
    for caption, command in zip(captions, IN_SHELL, strict=True):
        path = os.path.join(sandbox.environment["PATH"].split(os.pathsep)[0], command[0])
        terminal = OnTerminal([path, *command[1:]], sandbox.project, sandbox.environment, COLUMNS, ROWS)
        try:
            code = terminal.end()
        finally:
            terminal.kill()
        if code:
            raise ClientFailed(f"{command} exited with {code}: {terminal.written}")
        typed = " ".join(f'"{word}"' if " " in word else word for word in command)
        pyte.Stream(screen).feed(f"\x1b[32m$\x1b[39m \x1b[1m{typed}\x1b[22m\r\n{terminal.written}\r\n")
        yield Frame(caption, _runs(screen), "", READ_S, is_client=False)


def _runs(screen: pyte.Screen) -> list[list[Run]]:
    """Return the rows of a screen as runs of one style, without the blanks that have none."""
    return [list(_runs_of_row([screen.buffer[row][column] for column in range(COLUMNS)])) for row in range(ROWS)]


def _runs_of_row(characters: list[pyte.screens.Char]) -> Iterator[Run]:
    column = 0
    for style, group in groupby(characters, lambda char: (_css(char.fg), _css(char.bg), char.bold, char.reverse)):
        text = "".join(character.data for character in group)
        color, background, is_bold, is_reversed = style
        if is_reversed:
            color, background = background or PAPER, color or INK
        if background or text.strip():
            yield Run(column, text, color, background, is_bold)
        column += len(text)


# ---- the picture ----------------------------------------------------------------------------------------------------------


def _css(color: str) -> str:
    return NAMED.get(color.removeprefix("bright") if color not in NAMED else color, f"#{color}")


def _text(x: float, y: float, text: str, color: str, *, is_bold: bool = False) -> str:
    """Return a line of text. It is as wide as its cells, whatever the font."""
    weight = ' font-weight="700"' if is_bold else ""
    return f'<text x="{x:.1f}" y="{y}" fill="{color}" textLength="{len(text) * CELL:.1f}"{weight}>{escape(text)}</text>'


def draw(frames: list[Frame]) -> str:
    """Return an SVG that shows the frames in turn; where nothing may move, the last screen of the client."""
    total = sum(frame.seconds for frame in frames)
    ends = list(accumulate(frame.seconds for frame in frames))
    still = max(number for number, frame in enumerate(frames) if frame.is_client)
    rules, groups = [], []
    for number, (frame, end) in enumerate(zip(frames, ends, strict=True)):
        start, stop = (end - frame.seconds) * 100 / total, end * 100 / total
        rules.append(
            f"@keyframes k{number}{{0%{{visibility:hidden}}{start:.2f}%{{visibility:visible}}{stop:.2f}%{{visibility:hidden}}}}"
            f"#f{number}{{animation:k{number} {total}s step-end infinite}}"
        )
        groups.append(f'<g id="f{number}"{"" if number == still else HIDDEN}>{"".join(_drawn(frame, number, len(frames)))}</g>')
    footer = FOOTER.format(version=VERSIONS[0])
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"',
            f' font-family="{FONTS}" font-size="13.6">',
            f"<style>@media (prefers-reduced-motion:no-preference){{{''.join(rules)}}}</style>",
            f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="{PAPER}"/>',
            *groups,
            f'<text x="{MARGIN}" y="{HEIGHT - 10}" fill="{DIM}" font-size="11.5">{escape(footer)}</text>',
            "</svg>\n",
        ]
    )


def _drawn(frame: Frame, number: int, count: int) -> Iterable[str]:
    """Yield the parts of a frame: its caption, its screen, and the text that the model got."""
    yield f'<rect width="{WIDTH}" height="{HEAD - 8}" rx="8" fill="#23262e"/>'
    yield _text(MARGIN, 21, f"{number + 1}/{count}  {frame.caption}", ACCENT, is_bold=True)
    yield f'\n<g class="{"client" if frame.is_client else "shell"}">'
    for row, runs in enumerate(frame.rows):
        y = HEAD + (row + 1) * LINE - 5
        for run in runs:
            x = MARGIN + run.column * CELL
            if run.background:
                width = len(run.text) * CELL
                yield f'<rect x="{x:.1f}" y="{y - 13}" width="{width:.1f}" height="{LINE}" fill="{run.background}"/>'
            for words in re.finditer(r"\S+(?: \S+)*", run.text):  # An SVG joins blanks.
                yield _text(x + words.start() * CELL, y, words[0], run.color or INK, is_bold=run.is_bold)
    yield "</g>\n"
    if frame.given:
        yield f'<rect y="{PANEL_TOP - 4}" width="{WIDTH}" height="{(PANEL_ROWS + 2) * LINE - 4}" fill="#1f2b2a"/>'
        yield _text(MARGIN, PANEL_TOP + 13, "The hook gave the agent:", DIM)
        yield '\n<g class="given">'
        for row, line in enumerate(_wrapped(frame.given)):
            yield _text(MARGIN, PANEL_TOP + (row + 2) * LINE - 4, line, ACCENT)
        yield "</g>\n"


def _wrapped(text: str) -> list[str]:
    return [part for line in text.splitlines() for part in textwrap.wrap(line, COLUMNS, break_on_hyphens=False)]


# ---- the command ----------------------------------------------------------------------------------------------------------


def record_in_time(client: str, subcog: str, root: Path) -> list[Frame]:
    """Hold the session until the hook was in time in all of it. Raises ClientFailed."""
    for attempt in range(ATTEMPTS):
        frames = record(client, subcog, root / str(attempt))
        if sum(NOTE in frame.given for frame in frames) == MOMENTS:
            return frames
    raise ClientFailed(f"in each of {ATTEMPTS} sessions the hook gave the note less than {MOMENTS} times")


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(prog="python -m scripts.demo", description=__doc__)
    parser.add_argument("--to", type=Path, default=TARGET, help="the SVG file (%(default)s)", metavar="FILE")
    target: Path = parser.parse_args().to
    with tempfile.TemporaryDirectory() as folder:
        client = fetched(VERSIONS[0], Path(folder))
        frames = record_in_time(client, str(Path(sys.executable).with_name("subcog")), Path(folder))
    target.write_text(draw(frames), encoding="utf-8")
    print(f"wrote {target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
