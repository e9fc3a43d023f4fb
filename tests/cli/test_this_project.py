"""`why` is about the last prompt of this project, and names it before a memory is taught by it."""

from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.store.store import Store
from tests.cli.conftest import Ask, MonkeyPatch, Run
from tests.cli.decided import TOOL, candidate, decided, keep

SHOP, YARD = "github.com/acme/shop", "github.com/acme/yard"
ASKED_HERE = "When may nobody merge to the main branch?"
ASKED_THERE = "Which crane lifts the containers of berth four?"
CALL = decided("call", candidates=[candidate("rule", 0.7)], project=SHOP, **TOOL)


@pytest.fixture
def folders(subcog: Run, ask: Ask, tmp_path: Path, home: Home, monkeypatch: MonkeyPatch) -> dict[str, Path]:
    """Ask in one project, then in another, and stay in the first; its last decision is on a tool call."""
    ask.remember(rule="Nobody merges on Fridays after four.", crane="Crane 7 lifts the containers of berth four.")
    made = {}
    for name, prompt in ((SHOP, ASKED_HERE), (YARD, ASKED_THERE)):
        made[name] = tmp_path / name.rpartition("/")[2]
        (made[name] / ".git").mkdir(parents=True)
        (made[name] / ".git" / "config").write_text(f'[remote "origin"]\nurl = https://{name}.git\n')
        ask(prompt, session=name, cwd=str(made[name]))
    keep(home, CALL)
    monkeypatch.chdir(made[SHOP])
    return made


def questions_of(home: Home) -> list[str]:
    with Store.reader(home) as store:
        return [question.text for question in store.get("rule").questions]


@pytest.mark.usefixtures("folders")
def test_the_last_prompt_of_this_project_is_explained(subcog: Run) -> None:
    assert subcog("why", "--json").json["prompt"] == ASKED_HERE
    assert subcog("why").out.splitlines()[1] == ASKED_HERE
    assert subcog("why", "--everywhere").out.splitlines()[1] == ASKED_THERE
    assert subcog("why", "call").out.splitlines()[1] == "PreToolUse: Edit"


def test_a_project_without_a_prompt_says_so(subcog: Run, folders: dict[str, Path], monkeypatch: MonkeyPatch) -> None:
    monkeypatch.chdir(folders[SHOP].parent)
    for arguments in (("why",), ("why", "missed", "rule", "--yes"), ("why", "bad", "rule", "--yes")):
        done = subcog(*arguments)
        assert (done.code, done.out) == (1, "")
        assert done.err == (
            "subcog: no prompt outside of all projects has been decided on yet; --everywhere takes the latest of all\n"
        )


@pytest.mark.usefixtures("folders")
@pytest.mark.parametrize("mark", ["missed", "bad"])
def test_nothing_is_taught_by_a_prompt_that_nobody_named(subcog: Run, home: Home, mark: str) -> None:
    done = subcog("why", mark, "crane")
    prompt = next(line.split()[0] for line in subcog("why", "list").out.splitlines() if line.endswith(ASKED_HERE))
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"subcog: the latest prompt here is {ASKED_HERE!r}, and nobody can be asked whether it is meant; "
        f"`subcog why {mark} crane {prompt}`, or --yes\n"
    )
    assert subcog("why", mark, "crane", prompt).code == 0


@pytest.mark.usefixtures("folders")
def test_a_yes_teaches_by_the_prompt_of_this_project(subcog: Run, home: Home) -> None:
    assert subcog("why", "missed", "rule", "--yes").code == 0
    assert ASKED_THERE not in questions_of(home)
    done = subcog("why", "bad", "crane", "--everywhere", "--yes")
    assert done.err.startswith(f"marked as wrong for prompts like {ASKED_THERE!r}: ")
