"""Texts that the client puts before the model itself: found and compared, never handed over where they are in the context."""

import json
import shutil
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.clients.test_translation import EVENTS
from tests.e2e.machine import NO_BRIEF, SHOP, Machine, ids_in, posix
from tests.e2e.test_import_from import notes_of
from tests.e2e.test_other_clients import answer

RULE = "Prices are kept in cents, never as floating point numbers."
ASKED = "In which unit do we keep prices, and do we use floating point numbers?"
NESTED = "The harbour crane is inspected on Mondays, before the first ship."
ABOUT_NESTED = "On which weekday is the harbour crane inspected?"
MINE = "Tides are read from the gauge at pier 7 every hour."
ABOUT_MINE = "From which gauge are tides read, and how often?"


@pytest.fixture(autouse=True)
def used(bare: Machine, shop: Path) -> None:
    """The client has been used in the repository."""
    notes_of(bare, shop)


def written(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def taken(machine: Machine, cwd: Path) -> str:
    """What an import says beside its result."""
    done = machine.run("import", "--from", "claude", cwd=cwd)
    assert done.code == 0, done.stderr
    return done.stderr.decode()


def found(machine: Machine, query: str, cwd: Path) -> list[str]:
    """The texts that a search finds."""
    return [row["content"] for row in json.loads(machine.run("search", query, "--json", cwd=cwd).stdout)["results"]]


@pytest.mark.parametrize("place", ["CLAUDE.md", "CLAUDE.local.md", ".claude/rules/money.md", "docs/money.md"])
def test_what_is_in_every_session_is_found_and_not_handed_over(bare: Machine, shop: Path, place: str) -> None:
    imports = "See @docs/money.md for money.\n" if place.startswith("docs") else "Tests are run with just test.\n"
    written(shop, {"CLAUDE.md": imports, place: f"{RULE}\n"})
    taken(bare, shop)
    assert RULE in found(bare, "floating point prices", shop)
    assert bare.recall(ASKED, cwd=shop) == []
    assert b"the agent puts it before the model itself" in bare.run("why", cwd=shop).stdout
    assert RULE.encode() in bare.run("block", ASKED, cwd=shop).stdout  # for a program whose context nobody knows
    bare.environment[NO_BRIEF] = "1500"
    assert RULE not in bare.begun("startup", cwd=shop)
    assert bare.recall(ASKED, cwd=bare.repository("clone", SHOP)) != []  # a worktree without the file


def test_the_persons_own_are_in_every_session_everywhere(bare: Machine, shop: Path) -> None:
    home = bare.root / "user"
    written(home, {".claude/CLAUDE.md": "@~/more.md\n", "more.md": f"{RULE}\n", ".claude/rules/a.md": f"{NESTED}\n"})
    taken(bare, shop)
    assert {text: row.get("project") for text, row in bare.stored().items()} == {RULE: None, NESTED: None}
    for prompt in (ASKED, ABOUT_NESTED):
        assert bare.recall(prompt, cwd=shop) == []
        assert bare.recall(prompt) == []


def test_a_nested_file_comes_where_the_session_began_elsewhere(bare: Machine, shop: Path) -> None:
    written(
        shop, {"cranes/CLAUDE.md": f"{NESTED}\n", "cranes/old/x.txt": "", "crane/x.txt": "", "node_modules/a/CLAUDE.md": RULE}
    )
    taken(bare, shop)
    assert list(bare.stored()) == [NESTED]
    for folder, comes in (("", 1), ("crane", 1), ("cranes", 0), ("cranes/old", 0)):
        assert len(bare.recall(ABOUT_NESTED, cwd=shop / folder)) == comes, folder


def test_a_rule_with_globs_also_comes_to_prompts(bare: Machine, shop: Path) -> None:
    written(shop, {".claude/rules/money.md": f"---\npaths:\n  - src/**\n---\n{RULE}\n", "src/a.py": ""})
    taken(bare, shop)
    assert len(bare.recall(ASKED, cwd=shop)) == 1
    assert bare.at_call("Read", cwd=shop, file_path=str(shop / "src" / "a.py")) == []


def test_only_the_head_of_the_index_is_in_the_context(bare: Machine, shop: Path) -> None:
    memory = notes_of(bare, shop)
    (memory / "deploys.md").write_text(f"{MINE}\n")
    lines = ["# Notes", "- [Deploys](deploys.md) — tides", RULE, *(f"- Machine {n} has {n} discs." for n in range(200)), NESTED]
    (memory / "MEMORY.md").write_text("\n".join(lines))
    taken(bare, shop)
    assert not any("deploys.md" in text for text in bare.stored())
    assert found(bare, "floating point prices", shop)
    assert bare.recall(ASKED, cwd=shop) == []
    assert len(bare.recall(ABOUT_NESTED, cwd=shop)) == 1
    assert len(bare.recall(ABOUT_MINE, cwd=shop)) == 1


@posix
def test_a_repository_imports_nothing_from_outside_of_it(bare: Machine, shop: Path) -> None:
    (bare.root / "secret.md").write_text("Nobody is to read this.")
    (shop / "linked.md").symlink_to(bare.root / "secret.md")
    text = (
        f"{RULE} @{bare.root}/secret.md @../secret.md @linked.md `@code.md` @more.md\n\n```\n@fenced.md\n```\n<!-- hidden -->\n"
    )
    written(shop, {"CLAUDE.md": text, "code.md": "Code.", "fenced.md": "Fenced.", "more.md": "Cents, too. @more.md @CLAUDE.md"})
    said = taken(bare, shop)
    assert "left out 1, which is outside of the folder that imports it" in said
    texts = bare.stored()
    assert len(texts) == 2
    assert not any("Nobody" in text or "hidden" in text for text in texts)


def test_folders_of_the_users_settings_are_read(bare: Machine, shop: Path) -> None:
    user = bare.root / "user"
    written(user, {"notes/tides.md": f"{MINE}\n", "other/b.md": "Of nobody.\n"})
    for file, folder in ((user / ".claude" / "settings.json", "~/notes"), (shop / ".claude" / "settings.json", "~/other")):
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"autoMemoryDirectory": folder}))
    taken(bare, shop)
    assert {text: row.get("project") for text, row in bare.stored().items()} == {MINE: None}
    assert len(bare.recall(ABOUT_MINE, cwd=shop)) == 1


def test_the_folder_in_which_the_session_began_counts(bare: Machine, shop: Path) -> None:
    written(shop, {"cranes/CLAUDE.md": f"{NESTED}\n"})
    taken(bare, shop)
    for began, comes in ((shop, 1), (shop / "cranes", 0)):
        bare.environment["CLAUDE_PROJECT_DIR"] = str(began)
        for at in (shop, shop / "cranes"):
            fields = {**json.loads(bare.asking(ABOUT_NESTED, cwd=at)), "transcript_path": str(bare.root / "s.jsonl")}
            assert len(ids_in(bare.answer(json.dumps(fields).encode()))) == comes, (began, at)


def test_a_file_of_memories_can_not_claim_to_be_the_clients(bare: Machine, shop: Path) -> None:
    bare.run("remember", RULE, cwd=shop)
    source = "claude:~/.claude:context:user::::CLAUDE.md:1"
    bare.imports({"id": "a", "content": RULE.rstrip("."), "project": SHOP, "source": source})
    assert len(bare.recall(ASKED, cwd=shop)) == 1


def informed(machine: Machine, cwd: Path, prompt: str = ASKED) -> set[str]:
    """Return the agents to whom a prompt brings a memory."""
    asked = {"prompt": prompt, "cwd": str(cwd)}
    names = {client for client, events in EVENTS.items() if answer(machine, client, events[0], str(uuid.uuid4()), **asked)}
    return names | ({"claude"} if machine.recall(prompt, cwd=cwd) else set())


def test_what_one_agent_loads_is_given_to_the_others(bare: Machine, shop: Path) -> None:
    (notes_of(bare, shop) / "MEMORY.md").write_text(f"# Notes\n\n- {MINE}\n")
    written(shop, {"CLAUDE.md": f"# Money\n\n{RULE}\n", "cranes/AGENTS.md": f"{NESTED}\n"})
    taken(bare, shop)
    assert bare.run("import", "--from", "agents", cwd=shop).code == 0
    assert informed(bare, shop, ABOUT_MINE) == set(EVENTS)
    assert informed(bare, shop) == set(EVENTS) - {"copilot", "opencode"}
    assert "codex" in informed(bare, shop, ABOUT_NESTED)
    assert informed(bare, shop / "cranes", ABOUT_NESTED) == {"claude", "gemini"}
    bare.environment[NO_BRIEF] = "1500"
    assert RULE in answer(bare, "codex", "SessionStart", "new", source="startup", cwd=str(shop))
    assert RULE not in bare.begun("startup", cwd=shop)


def test_what_an_agent_no_longer_loads_is_given(bare: Machine, shop: Path) -> None:
    written(shop, {"CLAUDE.md": f"{RULE}\n\n{NESTED}\n"})
    taken(bare, shop)
    assert bare.recall(ASKED, cwd=shop) == []
    (shop / "CLAUDE.md").write_text(f"{NESTED}\n")
    assert len(bare.recall(ASKED, cwd=shop)) == 1


@posix
def test_the_index_of_a_removed_worktree_is_given(bare: Machine, shop: Path) -> None:
    shutil.rmtree(shop / ".git")
    for words in ("init -q", "-c user.email=a@b.c -c user.name=ada commit -q --allow-empty -m x", "worktree add -q ../tree"):
        subprocess.run(["git", *words.split()], cwd=shop, check=True)
    tree = bare.root / "tree"
    for folder, text in ((shop, NESTED), (tree, MINE)):
        (notes_of(bare, folder) / "MEMORY.md").write_text(f"# Notes\n\n- {text}\n")
    taken(bare, shop)
    assert (bare.recall(ABOUT_NESTED, cwd=shop), bare.recall(ABOUT_NESTED, cwd=tree)) == ([], [])
    shutil.rmtree(tree)
    assert len(bare.recall(ABOUT_MINE, cwd=shop)) == 1


def test_notes_about_a_folder_without_git_come_there_alone(bare: Machine, shop: Path) -> None:
    folder, elsewhere = bare.root / "loose", bare.root / "elsewhere"
    for made in (folder, elsewhere):
        made.mkdir()
    (notes_of(bare, folder) / "tides.md").write_text(f"{MINE}\n")
    taken(bare, folder)
    assert (found(bare, "tides gauge", folder), found(bare, "tides gauge", elsewhere)) == ([MINE], [])
    assert informed(bare, folder, ABOUT_MINE) == {"claude", *EVENTS}
    assert informed(bare, elsewhere, ABOUT_MINE) == informed(bare, shop, ABOUT_MINE) == set()


IN_CONTEXT = b"in Claude Code's context anyway: the hook gives it to other agents, and `search` finds it"


@pytest.mark.parametrize("source", ["CLAUDE.md", ".", "docs/money.md", "cranes/CLAUDE.md"])
def test_an_import_of_loaded_files_stores_them_as_loaded(bare: Machine, shop: Path, source: str) -> None:
    files = {"CLAUDE.md": "# Money\n\n@docs/money.md\n", "docs/money.md": f"{RULE}\n", "docs/cranes.md": f"{MINE * 3}\n"}
    written(shop, {**files, "cranes/CLAUDE.md": f"{NESTED}\n"})
    done = bare.run("import", source, cwd=shop)
    assert (done.code, IN_CONTEXT in done.stderr) == (0, True)
    folder = {"cranes\n\n" + MINE * 3}
    expected = {NESTED} if source.startswith("cranes") else {RULE, NESTED, *folder} if source == "." else {RULE}
    assert set(bare.stored()) == expected
    for text, row in bare.stored().items():
        assert (":context:" in row["source"], row["project"]) == (text not in folder, "github.com/acme/shop")
    assert bare.recall(ASKED, cwd=shop) == bare.recall(ABOUT_NESTED, cwd=shop / "cranes") == []
    assert b"added 0" in bare.run("import", source, cwd=shop).stdout


def test_the_project_at_hand_is_read_before_its_first_session(bare: Machine, shop: Path) -> None:
    shutil.rmtree(bare.root / "user" / ".claude")
    written(shop, {"CLAUDE.md": "@AGENTS.md\n", "AGENTS.md": f"# Shop\n\n{RULE}\n", ".claude/rules/a.md": f"{NESTED}\n"})
    assert b"CLAUDE.md files and rules" in bare.run("import", "--from", "list", cwd=shop).stdout
    assert "left out 1, which says nothing itself" in taken(bare, shop)
    assert {text.rpartition("\n")[2] for text in bare.stored()} == {RULE, NESTED}
    assert bare.recall(ASKED, cwd=shop) == []


def test_marks_shown_in_code_cut_nothing_off(bare: Machine, shop: Path) -> None:
    text = "Regions start with `<!-- gen:begin`.\n\n```python\n@dataclass\nclass Handler: ...\n```\n\nAsk @ada.\n@gone.md"
    rule = f"Cranes are marked so:\n\n```html\n<!-- crane\n```\n\n{NESTED} <!-- hidden -->\n"
    written(shop, {"CLAUDE.md": f"{text}\n", ".claude/rules/cranes.md": rule})
    taken(bare, shop)
    assert {*bare.stored()} == {text, rule.partition(" <!-- hidden")[0]}
