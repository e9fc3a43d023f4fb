"""Shell completion, through the protocol of click's completion script."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from tests.cli.conftest import Ask, Run


@pytest.fixture
def stored_ids(subcog: Run) -> list[str]:
    """Return the ids of three memories, one of them forgotten."""
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


def completions(*words: str, shell: str = "bash") -> list[str]:
    """Return the completions of the last word, as bash or zsh asks for them."""
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


def test_ids_are_offered_with_the_words_of_their_memories(stored_ids: list[str]) -> None:
    for command in ("show", "edit", "forget", "supersede"):
        assert set(completions(command, "")) == set(stored_ids)
    assert completions("show", stored_ids[1]) == [stored_ids[1]]
    assert set(completions("why", "--bad", "")) == set(stored_ids)
    assert set(completions("remember", "text", "--supersedes", "")) == set(stored_ids)
    shown = "\n".join(completions("show", stored_ids[0], shell="zsh"))
    assert "Tokens are refreshed a minute early." in shown


def test_what_memories_have_is_offered(stored_ids: list[str]) -> None:
    assert stored_ids
    for command in ("list", "search", "remember"):
        assert completions(command, "--namespace", "c") == ["context", "config", "cranes"]
    assert completions("edit", stored_ids[0], "-s", "dec") == ["decisions"]
    assert completions("list", "--tag", "a") == ["auth"]
    assert completions("search", "x", "--project", "h") == ["harbour"]
    assert completions("list", "--status", "s") == ["superseded"]
    assert completions("search", "x", "--mode", "l") == ["lexical"]


def test_the_shell_runs_nothing_that_is_stored(subcog: Run, ask: Ask, tmp_path: Path) -> None:
    hostile = [f"{quote}$(touch {tmp_path}/{number}){quote}`touch {tmp_path}/{number}`" for number, quote in enumerate("\\\"'")]
    ids = {subcog("remember", text, "--tag", text).out.strip() for text in hostile}
    ask(" ".join(hostile))
    (decision,) = completions("why", "")
    assert set(completions("show", "")) == ids
    for words, offered in ((("show", ""), ids), (("why", ""), {decision}), (("list", "--tag", ""), set())):
        lines = "\n".join(completions(*words, shell="zsh"))
        assert all(value in lines for value in offered)
        assert set("\\$`").isdisjoint(lines)


def test_settings_are_offered_with_their_values(subcog: Run) -> None:
    assert subcog("config", "path").code == 0
    assert completions("config", "get", "recency.") == ["recency.decay", "recency.floor"]
    assert completions("config", "set", "fusion.mode", "") == ["relevance", "weighted", "rrf", "default"]
    assert completions("config", "set", "surfacing.tools", "") == ["true", "false", "default"]
    assert completions("config", "set", "search.limit", "") == ["default"]


def test_decisions_are_offered(ask: Ask, stored_ids: list[str]) -> None:
    assert stored_ids
    ask("How long before they expire are tokens refreshed?")
    (offer,) = completions("why", "")
    assert completions("why", "--explain", offer[:4]) == [offer]


def test_without_a_store_nothing_is_offered_or_printed(home: Home) -> None:
    assert completions("show", "") == []
    assert completions("list", "--tag", "") == []
    assert not Path(home.root).exists()


def test_a_damaged_store_offers_nothing_and_says_nothing(stored_ids: list[str], home: Home) -> None:
    assert stored_ids
    Path(home.memories_db).write_bytes(b"no database" * 1000)
    assert completions("show", "") == []


def test_topics_of_the_help_are_offered() -> None:
    assert completions("help", "p") == ["privacy", "performance"]
    assert "Which texts are kept, masked and sent" in "\n".join(completions("help", "priv", shell="zsh"))
