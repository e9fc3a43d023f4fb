"""Decision records of a repository, and their dates by their first commits, through the installed executable."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.machine import SHOP, Machine, posix, write_program

TIDY = {
    **{name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR") if name in os.environ},
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}
RECORD = (
    "# {number}. {title}\n\nDate: 2026-03-02\n\n## Status\n\n{status}\n\n## Context\n\n{context}\n\n## Decision\n\n{decision}\n"
)
OUTBOX = RECORD.format(
    number=3,
    title="Outbox in PostgreSQL",
    status="Accepted",
    context="Events that were sent from the request were lost when the broker was away, and nobody noticed for a whole day.",
    decision="Every event is written to the table outbox in the transaction of its change, and a worker sends it from there.",
)
OLD = RECORD.format(
    number=2,
    title="Events over HTTP",
    status="Superseded by [3](0003-outbox.md)",
    context="The first service that wanted to hear of bookings had an HTTP interface already, and there was no broker at all.",
    decision="Every event is sent over HTTP from the request that has caused it, with three attempts one second apart.",
)


def git(folder: Path, *arguments: str, at: str = "2026-05-01T10:00:00+00:00", **more: str) -> str:
    environment = {**TIDY, "GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at, **more}
    done = subprocess.run(["git", "-C", str(folder), *arguments], env=environment, capture_output=True, check=True, text=True)
    return done.stdout


@pytest.fixture
def shop(bare: Machine) -> Path:
    """A repository with a remote and without a commit."""
    folder = bare.root / "shop"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "remote", "add", "origin", SHOP)
    return folder


def commit(folder: Path, message: str, **more: str) -> None:
    git(folder, "commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", message, **more)


# ---- decision records -----------------------------------------------------------------------------------------------------


def test_records_come_with_their_status(bare: Machine, shop: Path) -> None:
    folder = shop / "docs" / "ADR"
    folder.mkdir(parents=True)
    records = {
        "0003-outbox.md": OUTBOX,
        "0002-events.md": OLD,
        "template.md": OUTBOX,
        "README.md": "# Our records\n\nThey lie here.\n",
    }
    for name, text in records.items():
        (folder / name).write_text(text)
    assert bare.run("import", "--from", "list", cwd=shop).stdout.decode().splitlines()[0].split() == ["adr", "docs/ADR"]
    seen = bare.run("import", "--from", "adr", "--dry-run", cwd=shop)
    assert (seen.code, bare.stored(), b"(docs/ADR/0003-outbox.md)\n" in seen.stdout) == (0, {}, True)
    done = bare.run("import", "--from", "adr", cwd=shop)
    for reason in ("is a template", "is no decision record by its name or its headings"):
        assert f"left out 1, which {reason}" in done.stderr.decode()
    (kept,) = bare.stored().values()
    assert (kept["namespace"], kept["trust"], kept["project"]) == ("decisions", "file", "github.com/acme/shop")
    assert (str(kept["source"]).split(":")[0], kept["created_at"][:10]) == ("docs/ADR/0003-outbox.md", "2026-03-02")
    assert any("sent over HTTP from the request" in text for text in bare.stored("superseded"))
    assert bare.run("import", "--from", "adr", cwd=shop).stdout.startswith(b"added 0, already there")


def test_a_rejected_record_is_hidden(bare: Machine, shop: Path) -> None:
    (shop / "docs" / "adr").mkdir(parents=True)
    rejected = OUTBOX.replace("Outbox in PostgreSQL", "Use Kafka for the event bus").replace(
        "Accepted", "Rejected, it lost events"
    )
    (shop / "docs" / "adr" / "0001-kafka.md").write_text(rejected)
    done = bare.run("import", "--from", "adr", "--wait", cwd=shop)
    assert done.stdout == b"added 1, 1 of them hidden by their own words\n"
    assert bare.stored() == {}
    assert bare.answer(bare.asking("Why do we not send the events of the outbox table through Kafka?", "s", shop)) == ""


def test_records_of_packages_are_found_and_other_markup_is_named(bare: Machine, shop: Path) -> None:
    unnumbered = (
        "# Store carts in Redis\n\n- Status: accepted\n\n## Decision Outcome\n\nRedis, as guests come back within hours.\n"
    )
    for name, text in {
        "packages/web/docs/adr/20240601-carts.md": unnumbered,
        "doc/arch/0001-outbox.md": OUTBOX,
        "architecture-decision-record/0002-old.md": OLD,
        "docs/architecture/adr-003-mail.md": OUTBOX.replace("Outbox", "Mail"),
        "doc/arch/0004-old.adoc": "= Old",
        "tests/fixtures/docs/adr/0001-fake.md": OUTBOX.replace("Outbox", "Fake"),
    }.items():
        (shop / name).parent.mkdir(parents=True, exist_ok=True)
        (shop / name).write_text(text)
    done = bare.run("import", "--from", "adr", cwd=shop)
    assert b"left out 1, which is no Markdown (.adoc, .rst)" in done.stderr
    days = {text.partition("\n")[0]: str(row["created_at"])[:10] for text, row in bare.stored().items()}
    assert days == {
        "Store carts in Redis": "2024-06-01",
        **dict.fromkeys(("3. Outbox in PostgreSQL", "3. Mail in PostgreSQL"), "2026-03-02"),
    }
    assert [text.partition("\n")[0] for text in bare.stored("superseded")] == ["2. Events over HTTP"]


@posix
def test_the_folder_of_adr_tools_is_read(bare: Machine, shop: Path) -> None:
    (shop / ".adr-dir").write_text("notes/records\n")
    folder = shop / "notes" / "records"
    folder.mkdir(parents=True)
    (folder / "0001-outbox.md").write_text(OUTBOX)
    outside = bare.root / "outside"
    outside.mkdir()
    (outside / "0009-secret.md").write_text(OUTBOX.replace("outbox", "secret"))
    (folder / "0009-secret.md").symlink_to(outside / "0009-secret.md")
    (shop / "docs").mkdir()
    (shop / "docs" / "adr").symlink_to(outside)
    with open(folder / "0008-huge.md", "wb") as file:
        file.truncate(10_000_000_000)
    (folder / "0007-latin.md").write_bytes(OUTBOX.replace("Outbox", "Gr\xfc\xdfe").encode("latin-1"))
    done = bare.run("import", "--from", "adr", cwd=shop)
    assert done.code == 0, done.stderr
    assert b"left out 2, each of which is a link out of the repository" in done.stderr
    assert b"left out 1, which has more than 4,000,000 bytes" in done.stderr
    assert b"notes/records/0007-latin.md is read as Windows-1252" in done.stderr
    assert any("Grüße" in text for text in bare.stored())
    assert not any("secret" in text for text in bare.stored())
    (shop / ".adr-dir").write_text("../outside\n")
    again = bare.run("import", "--from", "adr", cwd=shop)
    assert b"added 0" in again.stdout


# ---- dates by first commits -----------------------------------------------------------------------------------------------

DAY = "2024-02-29"
UNDATED = OUTBOX.replace("Date: 2026-03-02\n\n", "")


@pytest.fixture
def decided(shop: Path) -> Path:
    """The repository with a committed record that tells no date."""
    (shop / "docs" / "adr").mkdir(parents=True)
    (shop / "docs" / "adr" / "0001-outbox.md").write_text(UNDATED)
    git(shop, "add", ".")
    commit(shop, "Decide on the outbox", at=f"{DAY}T10:00:00+00:00")
    return shop


def imported_days(machine: Machine, folder: Path) -> list[str]:
    """Import the records, and return the days of the memories, the newest first."""
    assert machine.run("import", "--from", "adr", cwd=folder).code == 0
    return [line.split()[2] for line in machine.run("list", cwd=folder).stdout.decode().splitlines()]


def test_a_record_without_a_date_has_that_of_its_commit(bare: Machine, decided: Path) -> None:
    git(decided, "mv", "docs/adr/0001-outbox.md", "docs/adr/0002-renamed.md")
    commit(decided, "Number the records", at="2025-02-28T10:00:00+00:00")
    (decided / "docs" / "adr" / "0003-new.md").write_text(UNDATED.replace("table outbox", "table inbox"))
    assert imported_days(bare, decided) == [DAY, "undated"]


@posix
def test_nothing_that_a_repository_names_is_run(bare: Machine, decided: Path) -> None:
    ran = bare.root / "ran"
    program = write_program(bare.root / "program", f'echo "$0 $*" >> {ran}')
    hooks = decided / ".git" / "hooks"
    for hook in ("post-index-change", "reference-transaction", "fsmonitor-watchman"):
        write_program(hooks / hook, f'echo "$0 $*" >> {ran}')
    (decided / ".gitattributes").write_text("* diff=evil filter=evil\n")
    for name in (
        *("core.pager", "pager.log", "core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.editor", "core.askPass"),
        *("diff.external", "diff.evil.command", "diff.evil.textconv", "filter.evil.smudge", "filter.evil.clean"),
        *("gpg.program", "gpg.ssh.program", "gpg.x509.program", "alias.log", "credential.helper", "remote.origin.uploadpack"),
    ):
        git(decided, "config", name, f"!{program}" if name.startswith("alias") else str(program))
    git(decided, "config", "core.hooksPath", str(hooks))
    git(decided, "config", "log.showSignature", "true")
    git(decided, "config", "log.diffMerges", "on")
    git(decided, "config", "log.mailmap", "true")
    bare.environment |= {"GIT_EXTERNAL_DIFF": str(program), "GIT_PAGER": str(program), "GIT_SSH_COMMAND": str(program)}
    bare.environment |= {"GIT_DIR": str(bare.root / "elsewhere")}
    assert imported_days(bare, decided) == [DAY]
    assert not ran.exists(), ran.read_text()


@posix
def test_a_git_that_lies_in_the_repository_is_not_run(bare: Machine, decided: Path) -> None:
    write_program(decided / "git", f"echo ran >> {bare.root / 'ran'}")
    for path in (str(decided), "."):
        bare.environment["PATH"] = f"{path}:{os.environ['PATH']}"
        assert imported_days(bare, decided) == [DAY]
    assert not (bare.root / "ran").exists()


@posix
def test_a_missing_commit_is_not_fetched(bare: Machine, decided: Path) -> None:
    commit(decided, "Add a button")
    first = git(decided, "rev-list", "--max-parents=0", "HEAD").strip()
    ran = bare.root / "ran"
    program = write_program(bare.root / "program", f'echo "$0 $*" >> {ran}')
    for name, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("protocol.ext.allow", "always"),
        ("remote.origin.url", f"ext::{program}"),
    ):
        git(decided, "config", name, value)
    (decided / ".git" / "objects" / first[:2] / first[2:]).unlink()
    assert imported_days(bare, decided) == ["undated"]
    assert not ran.exists(), ran.read_text()
