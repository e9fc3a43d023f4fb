"""`subcog help` by the installed executable: its topics are there, and a terminal gets them drawn."""

import re

import pytest

from tests.documents import TOPICS
from tests.e2e.machine import Machine, posix, write_program
from tests.e2e.screen import OnTerminal

BY_NAME = {document.stem: document for document in TOPICS}
PAGED = "(through the pager)"


def test_installed_executable_has_the_topic(bare: Machine, subtests: pytest.Subtests) -> None:
    for name, file in BY_NAME.items():
        with subtests.test(name=name):
            done = bare.run("help", name)
            assert (done.code, done.stderr) == (0, b"")
            assert done.stdout.decode() == re.sub(r"<!--.*?-->\n", "", file.read_text(encoding="utf-8"))


def test_topics_are_listed_and_an_unknown_one_is_refused(bare: Machine) -> None:
    assert sorted(line.split()[0] for line in bare.run("help").stdout.decode().splitlines()) == list(BY_NAME)
    refused = bare.run("help", "privat")
    assert (refused.code, refused.stdout) == (2, b"")
    assert b"did you mean privacy?" in refused.stderr


@posix
def test_topic_is_drawn_on_a_terminal_and_goes_through_the_pager(bare: Machine) -> None:
    pager = write_program(bare.root / "pager", f"cat\necho '{PAGED}'")
    environment = {**bare.environment, "PAGER": str(pager)}
    code, lines = OnTerminal.shown([bare.command, "help", "Cues"], bare.folder, environment, columns=70, rows=30)
    assert (code, lines[-1]) == (0, PAGED)
    assert max(map(len, lines)) <= 70
    assert "Files: --path" in lines
    assert not any(line.startswith(("#", "```", "|")) for line in lines)
