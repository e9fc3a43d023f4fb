"""What calls itself superseded is hidden and named; a search and `why` mention what would match and is hidden."""

import pytest

from tests.e2e.machine import Machine

TEXT = "Messages between the dispatch service and the drivers' phones go through RabbitMQ, with one queue for each driver."
LIVE = "superseded by [0007](0007-push.md) for the driver app; still holds for the web client"


RECORDS = {  # a record's title: how it tells its status, and the status that it gets
    "1. Split the API": (f"## Status\n\n{LIVE[0].upper()}{LIVE[1:]}", "active"),
    "2. Deploy by tags": (f"Status: {LIVE}", "active"),
    "3. Use RabbitMQ": (f"## Status\n\n{LIVE.replace(' for', chr(10) + 'for', 1)}", "active"),
    "4. Cache the tiles": ("## Status\n\nPartly superseded by ADR-7", "active"),
    "5. Retry three times": ("## Status\n\nRejected messages go to the dead letter queue.", "active"),
    "6. Poll the phones": ("## Status\n\nSuperseded by [0007](0007-push.md)", "superseded"),
    "7. Store in S3": ("## Status\n\nAccepted\n\nSuperceded by [7. Push](0007-push.md)", "superseded"),
    "8. Sign the requests": ("Status: Superseded by ADR-7", "superseded"),
    "9. Log as JSON": ("**Status:** ~~Accepted~~ superseded by ADR-7 (2026-03-02)", "superseded"),
    "10. Trace the calls": ("* Status: Obsolete\n* Date: 2026-03-02", "archived"),
}


@pytest.mark.parametrize("titles", [list(RECORDS)[:-3], list(RECORDS)[-3:]])  # at most three are named by one import
def test_only_a_whole_status_line_hides_a_record(bare: Machine, titles: list[str]) -> None:
    folder = bare.folder / "adr"
    folder.mkdir()
    kept = {title: RECORDS[title][1] for title in titles}
    for number, title in enumerate(titles):
        text = f"# {title}\n\n{RECORDS[title][0]}\n\n## Context\n\n{title}: {TEXT}\n\n## Decision\n\nWe do it ({title}).\n"
        (folder / f"{number:0>4}-record.md").write_text(text, encoding="utf-8")
    for option, verb in (("--dry-run", "would be"), ("--wait", "is")):
        done = bare.run("import", "adr", option)
        assert done.code == 0
        named = {line.partition(" (")[0]: line for line in done.stderr.decode().splitlines() if "hidden, " in line}
        assert {title: line.rpartition(") ")[2] for title, line in named.items()} == {
            title: f"{verb} hidden, {status} by its own words" for title, status in kept.items() if status != "active"
        }
    for status in ("active", "superseded", "archived"):
        listed = bare.run("list", "--jsonl", "--status", status).stdout.decode()
        assert {title for title in titles if title in listed} == {title for title in titles if kept[title] == status}


def test_search_and_why_mention_a_hidden_match(bare: Machine, subtests: pytest.Subtests) -> None:
    other = {"id": "other", "content": "Invoices are rounded to whole cents per line, never on the total."}
    for state, fields in {
        "superseded": {"status": "superseded", "superseded_by": "other"},
        "archived": {"status": "archived"},
        "pending": {"status": "pending"},
        "expired": {"expires_at": "2026-03-03"},
    }.items():
        with subtests.test(state=state):
            bare.imports({"id": state, "content": TEXT, "created_at": "2026-03-02", **fields}, other)
            said = f"1 more matches but is {state}: `subcog show {state}`\n".encode()
            for query in ("RabbitMQ queue for each driver", "rabbitmq"):
                done = bare.run("search", "--fast", "--ids", query)
                assert state.encode() not in done.stdout
                assert said in done.stderr
            assert b"more match" not in bare.run("search", "--fast", "--ids", "rounded invoices").stderr
            bare.prompt("Which RabbitMQ queue do messages of the dispatch service go through?")
            assert said in bare.run("why").stderr
            assert bare.run("forget", state, "--purge", "--yes").code == 0
