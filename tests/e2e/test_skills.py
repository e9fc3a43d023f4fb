"""The skills that `init` brings: written where the client looks, taken away again, and the person's own left alone."""

import os
import shutil
from pathlib import Path

from subcog_hooks.cli.agents.skills import SKILLS, skill_text
from tests.e2e.machine import REMOTE, Machine, assert_one_line_error, posix

ROOT = Path(__file__).parents[2]


def folder_of(machine: Machine) -> Path:
    """The client's folder for the user's skills."""
    return machine.root / "user" / ".claude" / "skills"


def brought(folder: Path) -> list[str]:
    """The names of the skills in a folder."""
    return sorted(path.parent.name for path in folder.glob("*/SKILL.md"))


def test_the_plugin_has_the_texts_of_the_package() -> None:
    folder = ROOT / "plugin" / "skills"
    texts = {path.name: (path / "SKILL.md").read_text(encoding="utf-8") for path in folder.iterdir()}
    assert texts == {name: skill_text(name) for name in SKILLS}


def test_init_brings_them_and_uninstall_takes_them_away(bare: Machine) -> None:
    assert b"would get /subcog-remember, -recall" in bare.run("init", "--dry-run").stderr
    assert not folder_of(bare).exists()
    assert b"has /subcog-remember, -recall" in bare.run("init").stderr
    assert brought(folder_of(bare)) == sorted(f"subcog-{name}" for name in SKILLS)
    text = (folder_of(bare) / "subcog-recall" / "SKILL.md").read_text()
    assert f"\n    {bare.command} search 'QUESTION' --json -n 5\n" in text  # it is not on this PATH
    assert f"Bash({bare.command} search *)" in text
    assert b"skills in " in bare.run("doctor").stdout
    assert bare.run("init").stderr.count(b"skills") == 0
    assert bare.run("uninstall").code == 0
    assert not folder_of(bare).exists()
    assert bare.run("uninstall").code == 1


def put_on_path(machine: Machine) -> None:
    machine.environment["PATH"] = os.pathsep.join([os.path.dirname(machine.command), machine.environment["PATH"]])


def test_a_changed_skill_stays_and_an_old_one_is_replaced(bare: Machine) -> None:
    bare.run("init")
    changed, older, own = (folder_of(bare) / f"subcog-{name}" / "SKILL.md" for name in ("why", "brief", "forget"))
    changed.write_text(changed.read_text().replace("in a few lines", "in one line"))
    shutil.rmtree(own.parent)
    own.parent.mkdir()
    own.write_text("---\ndescription: My own.\n---\nForget it.\n")
    put_on_path(bare)
    assert b"are of another installation" in bare.run("doctor").stdout
    done = bare.run("init")
    assert f"{changed} is left alone: it is not as subcog wrote it".encode() in done.stderr
    assert f"{own} is left alone: it is not as subcog wrote it".encode() in done.stderr
    assert "Run `subcog brief --explain`" in older.read_text()
    assert b"are of another installation" not in bare.run("doctor").stdout
    bare.run("uninstall")
    assert brought(folder_of(bare)) == ["subcog-forget", "subcog-why"]
    assert "in one line" in changed.read_text()


def test_a_project_can_have_them_and_the_hook_can_come_alone(bare: Machine) -> None:
    repository = bare.repository("repository", REMOTE)
    bare.run("init", "--project", cwd=repository)
    assert "`subcog brief --explain`" in (repository / ".claude" / "skills" / "subcog-brief" / "SKILL.md").read_text()
    bare.run("uninstall", "--project", cwd=repository)
    assert not (repository / ".claude" / "skills").exists()
    bare.run("init", "--no-skills")
    bare.run("init", "--local", cwd=repository)
    assert not folder_of(bare).exists()
    assert not (repository / ".claude" / "skills").exists()


@posix
def test_no_skill_is_written_through_a_link(bare: Machine, shop: Path) -> None:
    elsewhere, precious, skills = bare.root / "elsewhere", bare.root / "precious", shop / ".claude" / "skills"
    elsewhere.mkdir()
    skills.mkdir(parents=True)
    (skills / "subcog-remember").symlink_to(elsewhere)
    done = bare.run("init", "--project", cwd=shop)
    assert (done.code, b"leads out of the repository" in done.stderr) == (2, True)
    assert list(elsewhere.iterdir()) == []
    (skills / "subcog-remember").unlink()
    precious.write_text("precious")
    for name in SKILLS:  # beside the file, where it is written first
        (skills / f"subcog-{name}").mkdir(exist_ok=True)
        (skills / f"subcog-{name}" / "SKILL.md.subcog").symlink_to(precious)
    assert bare.run("init", "--project", cwd=shop).code == 0
    assert precious.read_text() == "precious"


@posix
def test_a_folder_that_can_not_be_written_is_one_line(bare: Machine) -> None:
    folder_of(bare).parent.mkdir()
    folder_of(bare).write_text("a file")
    done = bare.run("--quiet", "init")
    assert_one_line_error(done._replace(stdout=b""), 4)
    assert b"--no-skills" in done.stderr
