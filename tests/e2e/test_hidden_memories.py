"""What calls itself superseded is hidden and counted."""

from tests.e2e.machine import Machine

TEXT = "Messages between the dispatch service and the drivers' phones go through RabbitMQ, with one queue for each driver."
LIVE = "superseded by [0007](0007-push.md) for the driver app; still holds for the web client"


RECORDS = {  # a record's title: how it tells its status, and the status that it gets
    "1. Split the API": (f"## Status\n\n{LIVE[0].upper()}{LIVE[1:]}", "active"),
    "2. Cache the tiles": ("## Status\n\nPartly superseded by ADR-7", "active"),
    "3. Poll the phones": ("## Status\n\nSuperseded by [0007](0007-push.md)", "superseded"),
    "4. Trace the calls": ("* Status: Obsolete\n* Date: 2026-03-02", "archived"),
}


def test_only_a_whole_status_line_hides_a_record(bare: Machine) -> None:
    folder = bare.folder / "adr"
    folder.mkdir()
    for number, (title, (status, _)) in enumerate(RECORDS.items()):
        text = f"# {title}\n\n{status}\n\n## Context\n\n{title}: {TEXT}\n\n## Decision\n\nWe do it ({title}).\n"
        (folder / f"{number:0>4}-record.md").write_text(text, encoding="utf-8")
    for option in ("--dry-run", "--wait"):
        counted = bare.run("import", "adr", option).stdout.splitlines()[-1]
        assert counted.endswith(b" 4, 2 of them hidden by their own words")
    for status in ("active", "superseded", "archived"):
        listed = bare.run("list", "--jsonl", "--status", status).stdout.decode()
        assert {title for title in RECORDS if title in listed} == {title for title in RECORDS if RECORDS[title][1] == status}
