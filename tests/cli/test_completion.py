"""What the shell offers when Tab is pressed, through the protocol that its completion script speaks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from tests.cli.conftest import Ask, Run


@pytest.fixture
def stored(subcog: Run) -> list[str]:
    """The ids of three memories, one forgotten."""
    ids = [
        subcog("remember", text, "--namespace", namespace, "--tag", tag, "--project", project).out.strip()
        for text, namespace, tag, project in (
            ("Tokens are refreshed a minute early.", "decisions", "auth", "harbour"),
            ("The crane drops its load at 3 kN.", "cranes", "safety", "harbour"),
            ("Ropes are replaced every spring.", "cranes", "autumn", "quay"),
        )
    ]
    assert subcog("forget", ids[2]).code == 0
    return ids


def offered(*words: str, shell: str = "bash") -> list[str]:
    """The offers for the last of `words`, as bash or zsh asks for them."""
    script = os.path.join(os.path.dirname(sys.executable), "subcog")
    line = {"COMP_WORDS": " ".join(("subcog", *words)), "COMP_CWORD": str(len(words))}
    if shell == "zsh":
        line = {"_TYPER_COMPLETE_ARGS": " ".join(("subcog", *words))}
    done = subprocess.run(
        [script],
        env={**os.environ, **line, "_SUBCOG_COMPLETE": f"complete_{shell}"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


def test_ids_are_offered_where_a_memory_is_named(stored: list[str]) -> None:
    for command in ("show", "edit", "forget", "supersede"):
        assert set(offered(command, "")) == set(stored)
    assert offered("show", stored[1]) == [stored[1]]
    assert set(offered("why", "--bad", "")) == set(stored)
    assert set(offered("remember", "x", "--supersedes", "")) == set(stored)


def test_an_id_is_offered_with_the_words_of_its_memory(stored: list[str]) -> None:
    shown = "\n".join(offered("show", stored[0], shell="zsh"))
    assert "Tokens are refreshed a minute early." in shown


def test_namespaces_are_the_usual_ones_and_those_of_memories(stored: list[str]) -> None:
    assert stored
    for command in ("list", "search", "remember"):
        assert offered(command, "--namespace", "c") == ["context", "config", "cranes"]
    assert offered("edit", stored[0], "-s", "dec") == ["decisions"]


def test_tags_projects_and_statuses_are_offered(stored: list[str]) -> None:
    assert stored
    assert offered("list", "--tag", "a") == ["auth"]
    assert offered("search", "x", "--project", "h") == ["harbour"]
    assert offered("list", "--status", "s") == ["superseded"]
    assert offered("search", "x", "--mode", "l") == ["lexical"]


def test_settings_are_offered_with_their_values(subcog: Run) -> None:
    assert subcog("config", "path").code == 0
    assert offered("config", "get", "recency.") == ["recency.decay", "recency.floor"]
    assert offered("config", "set", "fusion.mode", "") == ["weighted", "rrf", "default"]
    assert offered("config", "set", "surfacing.tools", "") == ["true", "false", "default"]
    assert offered("config", "set", "search.limit", "") == ["default"]


def test_decisions_are_offered(ask: Ask, stored: list[str]) -> None:
    assert stored
    ask("How long before they expire are tokens refreshed?")
    (offer,) = offered("why", "")
    assert offered("replay", offer[:4]) == [offer]


def test_nothing_is_offered_and_nothing_said_where_there_is_no_store(home: Home) -> None:
    assert offered("show", "") == []
    assert offered("list", "--tag", "") == []
    assert not Path(home.root).exists()


def test_a_damaged_store_offers_nothing_and_says_nothing(stored: list[str], home: Home) -> None:
    assert stored
    Path(home.memories_db).write_bytes(b"no database" * 1000)
    assert offered("show", "") == []


def test_topics_of_the_help_are_offered() -> None:
    assert offered("help", "p") == ["privacy", "performance"]
    assert "Which texts are kept, masked and sent" in "\n".join(offered("help", "priv", shell="zsh"))
