"""What calls itself superseded is hidden and named; a search and `why` mention what would match and is hidden."""

from pathlib import Path

import pytest

from tests.e2e.machine import Machine

TEXT = "Messages between the dispatch service and the drivers' phones go through RabbitMQ, with one queue for each driver."
LIVE = "superseded by [0007](0007-push.md) for the driver app; still holds for the web client"


def record(folder: Path, name: str, title: str, status: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(
        f"# {title}\n\n{status}\n\n## Context\n\n{TEXT}\n\n## Decision\n\nWe use it.\n", encoding="utf-8"
    )


@pytest.mark.parametrize(
    ("status", "kept"),
    [
        (f"## Status\n\n{LIVE[0].upper()}{LIVE[1:]}", "active"),
        (f"Status: {LIVE}", "active"),
        (f"## Status\n\n{LIVE.replace(' for', chr(10) + 'for', 1)}", "active"),
        ("## Status\n\nPartly superseded by ADR-7", "active"),
        ("## Status\n\nRejected messages go to the dead letter queue.", "active"),
        ("## Status\n\nSuperseded by [0007](0007-push.md)", "superseded"),
        ("## Status\n\nAccepted\n\nSuperceded by [7. Push](0007-push.md)", "superseded"),
        ("Status: Superseded by ADR-7", "superseded"),
        ("**Status:** ~~Accepted~~ superseded by ADR-7 (2026-03-02)", "superseded"),
        ("* Status: Rejected\n* Date: 2026-03-02", "archived"),
    ],
)
def test_only_a_status_that_is_all_of_its_line_hides_a_record_and_it_is_named(bare: Machine, status: str, kept: str) -> None:
    folder = bare.folder / "adr"
    record(folder, "0003-rabbit.md", "3. Use RabbitMQ", status)
    for option, verb in (("--dry-run", "would be"), ("--wait", "is")):
        done = bare.run("import", "adr", option)
        assert done.code == 0
        named = [line for line in done.stderr.decode().splitlines() if "0003-rabbit.md" in line]
        hidden = f"hidden, {kept} by its own words"
        assert [line.partition("(")[0].strip() for line in named] == ([] if kept == "active" else ["3. Use RabbitMQ"])
        assert all(line.endswith(f"0003-rabbit.md) {verb} {hidden}") for line in named)
    assert bool(bare.run("list", "--ids", "--status", kept).stdout)
    assert bool(bare.run("list", "--ids").stdout) == (kept == "active")


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"status": "superseded", "superseded_by": "other"}, "superseded"),
        ({"status": "archived"}, "archived"),
        ({"status": "pending"}, "pending"),
        ({"expires_at": "2026-03-03"}, "expired"),
    ],
)
def test_a_search_and_why_mention_a_hidden_memory_that_would_match(bare: Machine, fields: dict[str, str], state: str) -> None:
    other = {"id": "other", "content": "Invoices are rounded to whole cents per line, never on the total."}
    bare.imports({"id": "queue", "content": TEXT, "created_at": "2026-03-02", **fields}, other)
    said = f"1 more matches but is {state}: `subcog show queue`\n".encode()
    for query in ("RabbitMQ queue for each driver", "rabbitmq"):
        done = bare.run("search", "--ids", query)
        assert b"queue" not in done.stdout
        assert said in done.stderr
    assert b"more match" not in bare.run("search", "--ids", "rounded invoices").stderr
    bare.prompt("Which RabbitMQ queue do messages of the dispatch service go through?")
    assert said in bare.run("why").stderr
