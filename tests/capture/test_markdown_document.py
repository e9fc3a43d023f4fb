"""Markdown documents as memories: decision records whole, all others by section."""

import pytest

from subcog_hooks.capture.markdown_document import read_document, section_date_ms
from tests.capture.test_markdown import LONG, RECORD

MARCH_2 = 1_709_337_600_000
CONTEXT = "## Context\n\nWhere do the carts of the shop go, so that two web servers can share them?\n\n"
OPTIONS = "## Considered Options\n\n- PostgreSQL\n- Redis\n\n"
DECISION = "## Decision Outcome\n\nRedis, as the carts need no backup.\n"
HEAD = "# 4. Store carts\n\n"


def status_of(text: str) -> str:
    return read_document(text, "docs/adr/0004-carts.md").status.kind


def test_front_matter_gives_tags_date_and_status() -> None:
    document = read_document(RECORD, "0011-use-sqlite.md")
    assert "durability" not in "".join(section.content for section in document.sections)
    assert document.tags == ("storage", "durability", "sqlite")
    assert document.date == MARCH_2
    assert document.status.kind == "accepted"
    assert read_document(f"---\ntags:\n- a\n- a\n---\n{LONG}", "notes.md").tags == ("a",)


def test_several_blocks_of_front_matter_are_read_as_one() -> None:
    document = read_document(f"---\nauthor: a\n---\n\n---\ntags:\n  - b\ndate: 2024-03-02\n---\n# A\n\n{LONG}", "notes.md")
    assert (document.tags, document.date) == (("b",), MARCH_2)
    assert [(section.heading_path, section.line) for section in document.sections] == [(("A",), 10)]
    prose = read_document(f"---\ntags: b\n---\n---\nNote: this\nis prose.\n---\n{LONG}", "notes.md")
    assert prose.sections[0].heading_path == ("notes", "Note: this is prose.")


def test_a_record_is_one_memory_that_begins_with_its_decision() -> None:
    [section] = read_document(f"{HEAD}{CONTEXT}{OPTIONS}{DECISION}", "docs/adr/carts.md").sections
    decision, rest = section.content.split("\n\n---\n\n")
    assert decision == "4. Store carts\n\nDecision Outcome: Redis, as the carts need no backup."
    assert rest.startswith("Context: Where do the carts")
    assert rest.endswith("Considered Options:\n- PostgreSQL\n- Redis")
    [proposed] = read_document(f"{HEAD}Status: proposed\n\n{CONTEXT}{DECISION}", "docs/adr/carts.md").sections
    assert proposed.content.startswith("4. Store carts\n\nStatus: proposed\n\nDecision Outcome: Redis")


def test_the_words_of_an_unclear_status_come_with_the_record() -> None:
    status = "superseded for the driver app; still holds for the web client"
    document = read_document(f"{HEAD}## Status\n\n{status}\n\n{CONTEXT}{DECISION}", "docs/adr/carts.md")
    assert document.status.kind == ""
    assert f"\n\nStatus: {status}\n\n" in document.sections[0].content


def test_no_text_of_a_record_is_lost() -> None:
    status = "## Status\n\nAccepted\n\nAmended by ADR 12: carts of guests stay a week.\n\n"
    quo = "## Status quo\n\nThe carts lie in memory.\n\n"
    [section] = read_document(f"{HEAD}{status}{quo}{DECISION}", "docs/adr/carts.md").sections
    assert section.content.partition("---")[2].split("\n\n") == [
        "",
        "Amended by ADR 12: carts of guests stay a week.",
        "Status quo: The carts lie in memory.",
    ]


@pytest.mark.parametrize(
    ("head", "rest"),
    [
        (
            "Status: Accepted\nDate: 2024-05-05\nThe queue is PostgreSQL.\nIt is enough.",
            "The queue is PostgreSQL.\nIt is enough.",
        ),
        ("* Status: accepted\n  since 5 May 2024\n* Deciders: Ada", "* Deciders: Ada"),
        ("Status: Accepted\n\nStatus: each region has a page", "Status: each region has a page"),
        ("Updated: the carts of guests stay a week", "Updated: the carts of guests stay a week"),
    ],
)
def test_words_below_a_status_or_a_date_stay(head: str, rest: str) -> None:
    [section] = read_document(f"{HEAD}{head}\n", "docs/adr/carts.md").sections
    assert section.content == f"4. Store carts\n\n{rest}"


@pytest.mark.parametrize(
    "status",
    [
        *("## Status\n\nRejected (see 2)\n\n", "## Status: Rejected\n\n", "Status\n------\n\nRejected\n\n"),
        *("## Estado\n\nRechazado\n\n", "* Status: rejected\n* Date: 2024-03-02\n\n", "**Status:** Rejected\n\n"),
        *("**Status**: Rejected\n\n", "| Status | Rejected |\n|---|---|\n| Date | 2024-03-02 |\n\n"),
        *("**Withdrawn** 2024-08-01\n\n", "Status\n------\n\nRejected\n\n"),
        "| Date | Status | By |\n|---|---|---|\n| 2024-03-02 | Rejected | Ada |\n\n",
        "## Status\n\n| Status | Date |\n|---|---|\n| Rejected | 2024-03-02 |\n\n",
        "## Status\n\n- 2024-01-02 Accepted\n- 2024-03-02 Rejected\n\n",
    ],
)
def test_the_status_is_read_wherever_a_template_has_it(status: str) -> None:
    assert status_of(f"{HEAD}{status}{CONTEXT}{DECISION}") == "rejected"


def test_a_status_in_code_or_in_two_records_of_a_file_is_none() -> None:
    assert status_of(f"{HEAD}```yaml\nstatus: rejected\n```\n\n{CONTEXT}{DECISION}") == ""
    assert status_of(f"{HEAD}Status: Rejected\n\nText.\n\nStatus: Accepted\n\n{CONTEXT}{DECISION}") == ""


@pytest.mark.parametrize(
    ("file_name", "text"),
    [
        ("adr-0011.md", "# Use SQLite\n\nText."),
        ("notes.md", "# ADR 11: Use SQLite\n\nText."),
        ("notes.md", RECORD.replace("ADR-0011: ", "")),
        ("0011-use-sqlite.md", f"# Use SQLite\n\n{CONTEXT}"),
        ("docs/decisions/sqlite.md", f"# Use SQLite\n\n{CONTEXT}"),
        ("packages/web/docs/adr/sqlite.md", "# Use SQLite\n\nStatus: accepted\n\nText."),
        ("docs/architecture/historic-adrs/sqlite.md", f"# Use SQLite\n\n{CONTEXT}"),
        ("doc/arch/0001-sqlite.md", "# Use SQLite\n\nText."),
        ("docs/adr/0001-sqlite/README.md", f"# Use SQLite\n\n{CONTEXT}"),
        ("notes/sqlite.md", f"# Use SQLite\n\n## Question\n\n{LONG}\n\n## Decision\n\nYes."),
    ],
)
def test_a_decision_record_is_known_by_folder_name_or_headings(file_name: str, text: str) -> None:
    assert read_document(text, file_name).namespace == "decisions"


@pytest.mark.parametrize(
    ("file_name", "text"),
    [
        ("README.md", "# Engine\n\nText."),
        ("2024-03-02.md", "# Monday\n\nText."),
        ("404-page.md", "Text."),
        ("docs/adr/README.md", f"# Our records\n\n{CONTEXT}"),
        ("docs/adr/glossary.md", "# Glossary\n\nText."),
        ("001-introduction.md", "# Introduction\n\nText."),
    ],
)
def test_any_other_document_is_cut_into_sections(file_name: str, text: str) -> None:
    assert read_document(text, file_name).namespace == "learnings"


@pytest.mark.parametrize(
    "line",
    [
        *("Date: 2024-03-02", "* Date: March 2, 2024", "**Date:** 2024-3-2", "- **Date**: 2.3.2024", "## Date\n\n2024-03-02"),
        *("Status: accepted (2024-03-02)", "| Date | 2024-03-02 |\n|---|---|\n| Status | accepted |"),
    ],
)
def test_a_decision_record_is_dated_by_its_own_words(line: str) -> None:
    assert read_document(f"# 3. Use PKCE\n\n{line}\n\n{CONTEXT}", "docs/adr/pkce.md").date == MARCH_2


def test_a_file_name_can_tell_the_date() -> None:
    assert read_document(f"# Use PKCE\n\n{CONTEXT}", "docs/adr/20240302-pkce.md").date == MARCH_2
    assert read_document(LONG, "notes/2024-03-02 Planning.md").date == MARCH_2
    assert read_document(LONG, "notes/planning.md").date is None


def test_sections_of_a_changelog_have_their_own_dates() -> None:
    text = f"# Changelog\n\n## [1.1.0] - 2024-03-02\n\n{LONG}\n\n## [1.0.0]\n\n{LONG}\n"
    document = read_document(text, "CHANGELOG.md")
    assert document.namespace == "changelog"
    assert [section_date_ms(section) for section in document.sections] == [MARCH_2, None]


def test_the_title_is_that_of_the_front_matter() -> None:
    note = f'---\ntitle: "Why the ledger is append-only"\naliases: ["Ledger, immutable"]\n---\n{LONG}'
    document = read_document(note, "n-20250312a.md")
    assert document.sections[0].content == f"Why the ledger is append-only\n\n{LONG}"
    assert document.aliases == ("Ledger, immutable",)
    titled = read_document(f"---\ntitle: Ledger\n---\n# Append only\n\n{LONG}", "n.md").sections[0]
    assert titled.content == f"Ledger\n\nAppend only\n\n{LONG}"
    below = read_document(f"---\ntitle: |\n  18. Single state\n  of a node\nslug: 18\n---\n{LONG}", "18.md")
    assert below.sections[0].heading_path == ("18. Single state of a node",)
    assert read_document(LONG, "n-20250312a.md").sections[0].content == LONG  # no word is in the file's name
