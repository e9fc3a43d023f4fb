"""What is written already elsewhere, through the installed executable: seen first, taken once, kept up to date."""

import json
from pathlib import Path

import pytest

from tests.e2e.machine import SHOP, Machine, assert_one_line_error, posix

TILES = "git@github.com:acme/tiles.git"


@pytest.fixture
def shop(bare: Machine) -> Path:
    return bare.repository("my.shop", SHOP)


def notes_of(machine: Machine, folder: Path) -> Path:
    slug = "".join(character if character.isalnum() and character.isascii() else "-" for character in str(folder))
    memory = machine.root / "user" / ".claude" / "projects" / slug / "memory"
    memory.mkdir(parents=True, exist_ok=True)
    (memory / "MEMORY.md").write_text("- [Deploys](deploys.md) — how they are done\n")
    return memory


def topic(kind: str, text: str, *, is_nested: bool = True) -> str:
    """A topic file as the client writes it, now or earlier."""
    of_kind = f"metadata:\n  node_type: memory\n  type: {kind}\n" if is_nested else f"type: {kind}\n"
    return f"---\nname: a-note\ndescription: {text.partition('.')[0]}\n{of_kind}originSessionId: 5d2f\n---\n\n{text}\n"


DEPLOY = "Deploy with just ship, never by hand.\n\n**Why:** it sets the tag."


def test_the_clients_notes_come_once_without_their_index(bare: Machine, shop: Path) -> None:
    memory = notes_of(bare, shop)
    (memory / "deploys.md").write_text(topic("feedback", DEPLOY))
    (memory / "person.md").write_text(topic("user", "The person reads tables better than prose.", is_nested=False))
    (memory / "plain.md").write_text("The staging server is called heron.\n")
    assert bare.run("import", "--from", "list").stdout.startswith(b"claude ")
    seen = bare.run("import", "--from", "claude", "--dry-run")
    assert (seen.code, bare.stored()) == (0, {})
    assert seen.stdout.decode().splitlines()[-1] == "would add 3"
    assert bare.run("import", "--from", "claude").code == 0
    stored = bare.stored()
    assert {text: row.get("project") for text, row in stored.items()} == {
        DEPLOY: "github.com/acme/shop",
        "The person reads tables better than prose.": None,
        "The staging server is called heron.": "github.com/acme/shop",
    }
    assert [(row["trust"], row["namespace"], row.get("standing")) for row in (stored[DEPLOY],)] == [("agent", "patterns", True)]
    assert str(stored[DEPLOY]["source"]).startswith("claude:")
    assert bare.run("import", "--from", "claude").stdout == b"added 0, already there 3\n"
    assert bare.stored() == stored


def test_notes_are_updated_archived_or_left_if_edited(bare: Machine, shop: Path) -> None:
    memory = notes_of(bare, shop)
    for name in ("changed", "deleted", "edited"):
        (memory / f"{name}.md").write_text(topic("project", f"The server called {name} runs Debian."))
    bare.run("import", "--from", "claude")
    edited = bare.stored()["The server called edited runs Debian."]
    bare.run("edit", str(edited["id"]), "--content", "The server called edited runs Alpine.")
    (memory / "changed.md").write_text(topic("project", "The server called changed runs NixOS."))
    (memory / "deleted.md").unlink()
    (memory / "edited.md").unlink()
    done = bare.run("import", "--from", "claude")
    assert done.stdout == b"added 0, replaced 1, archived 1\n"
    assert set(bare.stored()) == {"The server called changed runs NixOS.", "The server called edited runs Alpine."}
    assert list(bare.stored("archived")) == ["The server called deleted runs Debian."]


@posix
def test_odd_files_are_left_out_with_a_reason(bare: Machine, shop: Path) -> None:
    memory = notes_of(bare, shop)
    (memory / "good.md").write_text(topic("project", "Prices are in cents."))
    (memory / "latin.md").write_bytes("Viele Gr\xfc\xdfe.".encode("latin-1"))
    (memory / "image.md").write_bytes(b"\x89PNG\0\0\0\rIHDR\0")
    (memory / "empty.md").write_text("---\nname: x\n---\n\n")
    (bare.root / "secret.md").write_text("The password is elsewhere.")
    (memory / "link.md").symlink_to(bare.root / "secret.md")
    with open(memory / "huge.md", "wb") as file:
        file.truncate(10_000_000_000)
    (memory / "token.md").write_text("The staging key is AKIA" + "IOSFODNN7EXAMPLQ and pays for the nightly tests.")
    done = bare.run("import", "--from", "claude")
    for reason in ("is a binary file", "is empty", "is a link out of its folder", "has more than 4,000,000 bytes"):
        assert f"left out 1, which {reason}" in done.stderr.decode()
    assert b"latin.md is read as Windows-1252" in done.stderr
    assert b"removed 1 AWS access key" in done.stderr
    assert len(bare.stored()) == 3
    assert "Viele Grüße." in bare.stored()
    assert "IOSFODNN7EXAMPLQ" not in json.dumps(bare.stored())


def test_rules_of_other_tools_keep_their_globs(bare: Machine, shop: Path) -> None:
    for name, text in {
        ".cursor/rules/react.mdc": "---\nglobs: **/*.tsx,src/{ui,web}/**,app/[slug]\nalwaysApply: false\n---\nName exports.\n",
        ".cursor/rules/always.mdc": "---\nalwaysApply: true\nglobs:\n---\nAnswer in English.\n",
        ".cursor/rules/asked.mdc": "---\ndescription: Releases\nalwaysApply: false\n---\nReleases leave from main.\n",
        ".cursor/rules/list.mdc": '---\nglobs: ["lib/**/*.{ts,tsx}", "docs/**"]\n---\nSay why in each doc.\n',
        ".cursor/rules/pair.mdc": '---\nglobs: "api/**", "cmd/**"\n---\nErrors are wrapped.\n',
        "web/.cursor/rules/css.mdc": "---\ndescription: CSS\n---\nNo pixel units.\n",
        ".github/copilot-instructions.md": "Write tests first.\n",
        ".github/instructions/sql.instructions.md": '---\napplyTo: "**/*.sql"\n---\nKeywords in capitals.\n',
        ".github/instructions/go.instructions.md": '---\napplyTo: "**/*.go,**/{go.mod,go.sum}"\n---\nTidy before a commit.\n',
        ".windsurf/rules/glob.md": "---\ntrigger: glob\nglob: **/*.py\n---\nType everything.\n",
        "AGENTS.md": "# Shop\n\nRun just tidy before a commit.\n",
    }.items():
        (shop / name).parent.mkdir(parents=True, exist_ok=True)
        (shop / name).write_text(text)
    listed = bare.run("import", "--from", "list", cwd=shop).stdout.decode()
    assert [line.split()[0] for line in listed.splitlines()] == ["agents", "cursor", "copilot", "windsurf"]
    for name in ("agents", "cursor", "copilot", "windsurf"):
        assert bare.run("import", "--from", name, cwd=shop).code == 0
    found = {text: (row.get("paths", []), row.get("standing")) for text, row in bare.stored().items()}
    assert found == {
        "Name exports.": (["**/*.tsx", "src/{ui,web}/**", "app/[slug]"], None),
        "Answer in English.": ([], None),
        "Releases leave from main.": ([], False),
        "Say why in each doc.": (["lib/**/*.{ts,tsx}", "docs/**"], None),
        "Errors are wrapped.": (["api/**", "cmd/**"], None),
        "Tidy before a commit.": (["**/*.go", "**/{go.mod,go.sum}"], None),
        "CSS\n\nNo pixel units.": (["web/**"], False),
        "Write tests first.": ([], None),
        "Keywords in capitals.": (["**/*.sql"], None),
        "Type everything.": (["**/*.py"], None),
        "Shop\n\nRun just tidy before a commit.": ([], None),
    }
    other = bare.repository("tiles", TILES)
    (other / ".cursor" / "rules").mkdir(parents=True)
    (other / ".cursor" / "rules" / "always.mdc").write_text("---\nalwaysApply: true\n---\nAnswer in Dutch.\n")
    assert bare.run("import", "--from", "cursor", cwd=other).stdout == b"added 1\n"
    assert len(bare.stored()) == 12
    assert bare.at_call("Edit", cwd=shop, file_path=str(shop / "app" / "[slug]" / "page.css"), old_string="a", new_string="b")


def test_a_rule_is_asked_for_by_its_description(bare: Machine, shop: Path) -> None:
    about = "How database migrations are written and rolled back"
    front = f"\n---\ndescription: {about}\nglobs:\nalwaysApply: false\n---\n"
    steps = "Each step has a reverse, and it is run once in staging."
    (shop / ".cursor" / "rules").mkdir(parents=True)
    (shop / ".cursor" / "rules" / "m.mdc").write_text(f"{front}# Migrations\n\n{steps}\n")
    (shop / "ai").mkdir()
    (shop / "ai" / "lock.mdc").write_text("---\nglobs: pnpm-lock.yaml\n---\n# Lockfile\n\npnpm alone writes it.\n")
    (shop / "notes.md").write_text("---\nname: Undo\ndescription: How releases are undone\n---\nRun just undo.\n")
    assert bare.run("import", "--from", "cursor", "--wait", cwd=shop).stdout == b"added 2\n"
    for path in ("ai", "ai/lock.mdc", ".cursor/rules"):  # They are there already, with the same texts.
        assert bare.run("import", path, cwd=shop).stdout == b"added 0, already there 1\n"
    assert bare.run("import", "notes.md", cwd=shop).code == 0
    rows = bare.stored()
    lock, rule, note = (rows[text] for text in sorted(rows))
    assert (rule["content"], rule["standing"]) == (f"Migrations\n\n{about}\n\n{steps}", False)
    assert rule["questions"] == [about]
    assert (lock["content"], lock["paths"]) == ("Lockfile\n\npnpm alone writes it.", ["pnpm-lock.yaml"])
    assert note["content"] == "Undo\n\nHow releases are undone\n\nRun just undo."
    assert note["questions"] == ["How releases are undone"]
    asked = bare.asking("how are the migrations of the database rolled back?", "s", shop)
    assert steps in bare.answer(asked)


def test_a_packages_rules_hold_below_it(bare: Machine, shop: Path) -> None:
    front = "---\nglobs: {}\n---\nRule {}.\n"
    globs = ("src/**/*.ts", "*.sql, ./a.c", "packages/api/docs/**", "**/x.go")
    (shop / "packages" / "api" / ".cursor" / "rules").mkdir(parents=True)
    for number, glob in enumerate(globs):
        (shop / "packages" / "api" / ".cursor" / "rules" / f"{number}.mdc").write_text(front.format(glob, number))
    for name in ("GEMINI.md", "packages/web/GEMINI.md"):
        (shop / name).parent.mkdir(parents=True, exist_ok=True)
        (shop / name).write_text(f"Words of {name}.\n")
    for source in ("cursor", "gemini"):
        assert bare.run("import", "--from", source, cwd=shop).code == 0
    paths = {text: row.get("paths") for text, row in bare.stored().items()}
    assert paths == {
        "Rule 0.": ["packages/api/src/**/*.ts"],
        "Rule 1.": ["packages/api/**/*.sql", "packages/api/**/a.c"],
        "Rule 2.": ["packages/api/docs/**"],
        "Rule 3.": ["packages/api/**/x.go"],
        "Words of GEMINI.md.": None,
        "Words of packages/web/GEMINI.md.": ["packages/web/**"],
    }


def test_one_file_under_several_names_comes_once(bare: Machine, shop: Path) -> None:
    sections = "\n\n".join(f"## Part {number}\n\n" + f"Part {number} holds in each release. " * 20 for number in range(4))
    (shop / ".github").mkdir()
    (shop / ".github" / "copilot-instructions.md").write_text(f"# Shop\n\n{sections}\n")
    for name in ("AGENTS.md", "GEMINI.md"):
        (shop / name).symlink_to(".github/copilot-instructions.md")
    for source, out in (("agents", "added 4"), ("copilot", "added 0, already there 4"), ("gemini", "added 0, already there 4")):
        assert bare.run("import", "--from", source, cwd=shop).stdout.decode().startswith(out)


@posix
def test_linked_rule_folders_are_followed_in_the_project(bare: Machine, shop: Path) -> None:
    rule = shop / "docs" / "agents" / "rules" / "prices.mdc"
    rule.parent.mkdir(parents=True)
    rule.write_text("Prices are in cents.\n")
    (rule.parent / "around").symlink_to("..")
    outer = bare.root / "elsewhere"
    outer.mkdir()
    (outer / "theirs.mdc").write_text("Prices are in euros.\n")
    out, gone = b"which is a link out of the repository", b"which cannot be read: No such file or directory"
    for name, target, added, left_out in (  # the link, its target, the results of an import
        (".cursor", "docs/agents", b"added 1\n", b""),
        (".cursor/rules", str(outer), b"added 0, already there 1\n", out),
        (".cursor/rules", "nowhere", b"added 0, already there 1\n", gone),
    ):
        link = shop / name
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(target)
        done = bare.run("import", "--from", "cursor", cwd=shop)
        assert (done.code, done.stdout, left_out in done.stderr) == (0, added, True)
        link.unlink()


@posix
def test_rules_are_looked_for_in_this_project_alone(bare: Machine, shop: Path) -> None:
    (bare.repository("my.shop/inner", TILES) / "AGENTS.md").write_text("Another project's.")
    (shop / ".git" / "AGENTS.md").write_text("Git's.")
    (shop / "app" / "[id]").mkdir(parents=True)
    (shop / "app" / "[id]" / "AGENTS.md").write_text("Ids are ULIDs.")
    (shop / "CLAUDE.md").write_text("Build with just.")  # Without one Claude Code reads AGENTS.md itself.
    for number in range(4):
        (shop / "packages" / f"p{number}").mkdir(parents=True)
        for other in range(4):
            (shop / "packages" / f"p{number}" / f"to{other}").symlink_to(shop / "packages")
    assert bare.run("import", "--from", "agents", cwd=shop).stdout == b"added 1\n"
    assert bare.at_call("Edit", cwd=shop, file_path=str(shop / "app" / "[id]" / "page.tsx"), old_string="a", new_string="b")
    (shop / "app" / "[id]" / "AGENTS.md").unlink()
    assert bare.run("import", "--from", "agents", cwd=shop).stdout == b"added 0, archived 1\n"
    for options in (["--user"], ["--trust", "user"], [str(shop)]):
        assert_one_line_error(bare.run("import", "--from", "agents", *options, cwd=shop), 2)
