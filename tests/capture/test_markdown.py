"""Markdown documents: sections, front matter, status and dates; sections of nothing but links are told from others."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcog_hooks.capture.markdown import (
    MAX_SECTION,
    Section,
    cut_sections,
    drop_comments,
    drop_obsidian_comments,
    is_navigation,
    parse_front_matter,
    split_parts,
)
from subcog_hooks.capture.markdown_document import read_document, section_date_ms


def split_sections(text: str, *, title: str) -> list[Section]:
    return cut_sections(split_parts(text, title=title))


def test_links_and_names_are_navigation() -> None:
    sections = (
        "Jobs > Related\n\n- [Retries](retries.md)\n- [[Back-off]]\n* [x] <https://example.com/queues>",
        "Jobs > See also\n\n- [retry](retry.md) - Retries of failed jobs\n- [gc](gc.md) - Old jobs go",
        "Jobs > References\n\n- Implementation: `src/jobs.md`\n- M. Fowler, Refactoring, 1999: https://example.com/book",
        "Jobs\n\nContents:\n\n* [Why](#why)\n  * [How](#how)",
        "Jobs > Table of contents\n\n| Record |\n|---|\n| [1. Use queues](0001.md) |",
        "Jobs > Screens\n\n![The list of jobs](list.png)\n\n[docs]: https://example.com/docs",
        "AGENTS\n\n@docs/rules.md",
        "README\n\nindex.md",
    )
    assert [section for section in sections if not is_navigation(section)] == []


def test_a_sentence_or_a_choice_is_no_navigation() -> None:
    sections = (
        "Jobs > Related\n\n- [Retries](retries.md): use them for each job that calls a supplier, never for a payment.",
        "Jobs > Links\n\n- [Wiki](https://example.com) - use as an aid;\n  the text and the code beside it are surer, newer.",
        "Jobs > Decision\n\nChosen: [Sidekiq](https://sidekiq.org)",
        "Jobs\n\n[NOTE]: never run a job by hand.\n[docs]: jobs.md",
        "Jobs > Links\n\nNever on Fridays.\n\n- [Why](why.md)",
        "Jobs > Tools\n\n- Redis\n- Postgres",
        "Jobs > Links\n\n```\nmake docs.md\n```",
        "Jobs > References\n\nTables are named after their noun.",
        "Jobs > Related\n\n- [We retry a job of the supplier three times and never a payment, as it was booked twice](7.md)",
        "Jobs\n\nMind @param and docs/jobs.md alike.",
    )
    assert [section for section in sections if is_navigation(section)] == []


LONG = "The cache is cold after a restart, so the first query of a session reads every posting list from the disk."

RECORD = """---
title: "not the heading"
tags: [storage, 'durability', "#sqlite"]
date: 2024-03-02
status: accepted  # by all
---
# ADR-0011: Use SQLite

## Status

Accepted

## Context

We need one file that survives a power cut and that three operating systems can read without a server.

## Decision

We use SQLite in WAL mode, through apsw, because its error codes are exact and it imports in three milliseconds.

## Consequences

One writer at a time, with a bounded wait; readers never wait, and a backup is the copy of a single file.
"""


def test_headings_of_any_form_make_sections(subtests: pytest.Subtests) -> None:
    cases = [
        (f"# One\n{LONG}\n# Two\n{LONG}", [("notes", "One"), ("notes", "Two")]),
        (f"Engine\n======\n\n{LONG}\n\nThe\ncache\n---\n\n{LONG}", [("Engine",), ("Engine", "The cache")]),
        (f"# A\n{LONG}\n#### Deep\n{LONG}\n## Next\n{LONG}", [("A",), ("A", "Deep"), ("A", "Next")]),
        (f"# The **fast** [`cache`](http://x.io) &amp; co ##\n{LONG}", [("The fast cache & co",)]),
    ]
    for text, paths in cases:
        with subtests.test(paths=paths):
            assert [section.heading_path for section in split_sections(text, title="notes")] == paths


def test_tiny_sections_join_their_neighbours(subtests: pytest.Subtests) -> None:
    cases = [
        ("just a note\nin two lines", ["notes\n\njust a note\nin two lines"]),
        (f"{LONG}\n\n[1]: https://sqlite.org/wal.html\n", [f"notes\n\n{LONG}\n\n[1]: https://sqlite.org/wal.html"]),
        (f"# A\n\n{LONG}\n\n## Status\n\nOn\n\n## B\n\n{LONG}", [f"A\n\n{LONG}\n\nStatus\nOn", f"A > B\n\n{LONG}"]),
        (f"# A\n\n## Status\n\nAccepted\n\n## B\n\n{LONG}", [f"A > B\n\nStatus\nAccepted\n\n{LONG}"]),
        ("# A\n\n## B\n\none\n\n## C\n\ntwo\n", ["A\n\nB\none\n\nC\ntwo"]),
    ]
    for text, contents in cases:
        with subtests.test(text=text):
            assert [section.content for section in split_sections(text, title="notes")] == contents


@pytest.mark.parametrize(
    "code",
    [
        *("```\n# no heading\n```", "~~~sh\n# no heading\n~~~", "   ```\n# no heading\n   ```"),
        *("`````\n```\n# no heading\n`````", "    # no heading", "- item\n  ```\n  # no heading\n  ```", "> # no heading"),
    ],
)
def test_a_heading_in_code_a_list_or_a_quotation_is_text(code: str) -> None:
    [section] = split_sections(f"# A\n\n{LONG}\n\n{code}\n", title="notes")
    assert "# no heading" in section.content


@pytest.mark.parametrize(
    "comment",
    [
        *("<!-- hidden -->", "<!--\n# hidden\n\nhidden\n-->", f"{LONG} <!-- hidden --> end"),
        *("%% hidden %%", "%%\n# hidden\n\n- hidden\n%%", f"{LONG} %%hidden%%.", f"- {LONG} %%hidden%%"),
    ],
)
def test_comments_are_skipped(comment: str) -> None:
    [section] = split_sections(f"# A\n\n{LONG}\n\n{comment}\n\nlast words", title="notes")
    assert "hidden" not in section.content
    assert section.content.endswith("last words")


@pytest.mark.parametrize(
    "shown",
    [
        *(
            "```html\n<!-- shown -->\n```",
            "```matlab\n%% One\nshown = 1;\n%% Two\n```",
            "Between 50%% and shown 60%%.",
            "%% shown, as nothing closes it",
        ),
        *("`%% shown %%`", "Write %% in a batch file.\n\nshown\n\nprintf needs %% too."),
    ],
)
def test_other_percent_signs_stay(shown: str) -> None:
    [section] = split_sections(f"# A\n\n{LONG}\n\n{shown}\n\nlast words", title="notes")
    assert "shown" in section.content
    assert section.content.endswith("last words")


@pytest.mark.parametrize(
    "begin",
    [
        *("Regions start with `<!-- gen:begin`", "Regions start with `` `<!-- gen:begin` ``", "`Regions\nstart <!-- so`"),
        *("It is <!-- never closed", r"It is \<!-- escaped -->", "| Mark | Use |\n|---|---|\n| `<!-- gen` | begin |"),
    ],
)
def test_a_comments_beginning_in_a_text_hides_nothing(begin: str) -> None:
    text = f"{begin}\nand shown. {LONG}\n\n- so `-->`"
    assert split_sections(text, title="")[0].content == text
    assert drop_comments(text) == text


def test_comments_of_a_document_are_dropped_outside_code() -> None:
    code = "```html\n<!-- a -->\n```\n\n- item\n\n      <!-- b -->\n\n- `<!-- c -->`"
    text = f"# A <!-- x\n{code}\n- item <!-- x --> end\n\n<!--\nx\n\n```\n-->\n`` ` `` <!-- x --> end\n<!-- x\n\nx"
    assert drop_comments(text) == f"# A <!-- x\n{code}\n- item  end\n\n\n`` ` ``  end\n"


@pytest.mark.parametrize("mark", ["<!--", "`", "`<!--", "<!-- ` -->", "\\", "``` <!-- ", " %%a", "\n%% a"])
def test_many_marks_in_a_paragraph_take_no_time(mark: str) -> None:
    assert drop_comments(drop_obsidian_comments(f"a {mark * 40_000}")).startswith("a ")


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# Alone\n", "# A\n\n## B\n\n## C\n", "---\n\n***\n", "<!-- nothing -->", "---\ntags: a\n---\n"]
)
def test_a_document_that_says_nothing_has_no_sections(text: str) -> None:
    assert split_sections(text, title="notes") == []


def test_a_long_section_is_cut_between_paragraphs() -> None:
    sections = split_sections("# A\n\n" + f"{LONG}\n\n" * 50, title="notes")
    assert len(sections) > 2
    assert {section.heading_path for section in sections} == {("A",)}
    for section in sections:
        assert len(section.content) <= MAX_SECTION
        head, *paragraphs = section.content.split("\n\n")
        assert head == "A"
        assert set(paragraphs) == {LONG}
    assert sections[1].line == 1 + 2 * (sections[0].content.count(LONG) + 1)
    endless = split_sections("word " * 2_000, title="notes")
    assert all(len(section.content) <= MAX_SECTION for section in endless)
    assert {word for section in endless for word in section.content.split()} == {"notes", "word"}


def test_each_piece_of_a_long_table_has_its_head() -> None:
    rows = [f"| quay {number} | {number} tonnes, checked each spring by the yard |" for number in range(60)]
    head = "| Quay | Load |\n|---|---:|\n"
    pieces = split_sections(f"# Cranes\n\n{head}" + "\n".join(rows), title="notes")
    bodies = [section.content.removeprefix("Cranes\n\n") for section in pieces]
    assert len(pieces) > 1
    assert all(body.startswith(head) for body in bodies)
    assert "\n".join(body.removeprefix(head) for body in bodies).split("\n") == rows
    later = split_sections(f"# Cranes\n\nThe loads of all quays:\n{head}" + "\n".join(rows), title="notes")[1]
    assert later.content.startswith(f"Cranes\n\n{head}")


def test_each_piece_of_long_code_is_fenced_and_keeps_its_lines() -> None:
    lines = [f"    line_{number} = call({number})" for number in range(150)]
    pieces = split_sections("# Code\n\n~~~python\ndef f():\n" + "\n".join(lines) + "\n~~~\n", title="notes")
    bodies = [section.content.removeprefix("Code\n\n") for section in pieces]
    assert len(pieces) > 1
    assert all(body.startswith("~~~python\n") and body.endswith("\n~~~") for body in bodies)
    assert [line for body in bodies for line in body.split("\n")[1:-1]] == ["def f():", *lines]
    assert all(len(section.content) <= MAX_SECTION for section in pieces)


def test_lines_are_counted_with_the_front_matter() -> None:
    lines = RECORD.split("\n")
    for section in split_sections(RECORD, title="notes"):
        assert lines[section.line - 1] == f"## {section.heading_path[-1]}"


@pytest.mark.parametrize("prose", ["kept as text, because it is no field\n", "\nNote: kept\n", "Note: it is\nkept: in\nprose"])
def test_a_rule_at_the_start_is_no_front_matter(prose: str) -> None:
    assert "kept" in split_sections(f"---\n{prose}\n---\n\n{LONG}", title="notes")[0].content


@pytest.mark.parametrize(
    "yaml",
    [
        *("# by hand\ntags:\n- a\n-\tb", "text: |\n  Note it,\n\n  and more\ntags: [\n  a,\n]", "date created: now\ntags: a"),
        *("'a b': c\n\"d, e\": f\ntags: a", "名前: a\nog.url: b\n$ref: c\ntags: a", "tags: a\n\nother :\n  b\n   c"),
    ],
)
def test_front_matter_of_any_usual_form_is_no_text(yaml: str) -> None:
    assert split_sections(f"---\n{yaml}\n---\n{LONG}", title="notes")[0].content == f"notes\n\n{LONG}"


@pytest.mark.parametrize(
    ("yaml", "values"),
    [
        ("d: >\n  Use it: always,\n\n  - fixes #3\ne: f", ["Use it: always, - fixes #3"]),
        ("m:\n  d: |-\n    Use\n    it\n  e: f", ["Use it"]),
        ('d: "Use\n  it"  # always', ["Use it"]),
        ("d:\n  - 'a, b'\n  - c\n    d # e", ["a, b", "c d"]),
        ("d: ['a, b', \"{c,d}\", [e], f{g,h}] # i", ["a, b", "{c,d}", "[e]", "f{g,h}"]),
        ("d: [\n  'a',\n  b,\n]\ne: f", ["a", "b"]),
        ("d: \"a\", 'b, c'", ["a", "b, c"]),
        ("d: 'Don''t, please'", ["Don't, please"]),
        (r'd: "The \"fast\" path, on C:\\"  # e', ['The "fast" path, on C:\\']),
        ("d: ['Don''t', \"a\"]", ["Don't", "a"]),
        ("tags: a, don't, 'b, c'", ["a", "don't", "b, c"]),
        *(("d: [Draft] a, b", ["[Draft] a, b"]), ("d: []", []), ("d:", [])),
    ],
)
def test_values_of_front_matter_are_read_as_yaml_has_them(yaml: str, values: list[str]) -> None:
    fields, body = parse_front_matter(f"---\n{yaml}\n---\nText")
    assert (fields.get("tags", fields.get("d")), body) == (values, "Text")


def test_byte_order_mark_crlf_and_nul_do_no_harm() -> None:
    [section] = split_sections(f"\ufeff# A\r\n\r\nfirst\0line\r\nsecond line, {LONG}\r\n", title="notes")
    assert section.heading_path == ("A",)
    assert section.content == f"A\n\nfirst\ufffdline\nsecond line, {LONG}"


LINES = st.sampled_from(
    [
        *("# A", "## B", "### C", "A\n===", "---", "```", "~~~", "<!--", "-->", "- item", "> quote", "    code", "", "text"),
        *(LONG, "tags: a", "\0"),
    ]
)


@settings(deadline=None)
@given(st.lists(LINES | st.text(max_size=20), max_size=30).map("\n".join))
def test_any_text_gives_sections_in_bounds_with_their_path_first(text: str) -> None:
    last_line = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    for section in split_sections(text, title="notes"):
        head, _, body = section.content.partition("\n\n")
        assert head == " > ".join(section.heading_path)
        assert body.strip()
        assert 1 <= section.line <= last_line


@settings(deadline=None)
@given(st.lists(st.from_regex(r"[a-z]{3,9}( [a-z]{3,9}){2,30}", fullmatch=True), min_size=1, max_size=40))
def test_no_paragraph_is_lost(paragraphs: list[str]) -> None:
    text = "\n\n".join(f"## H{number}\n\n{paragraph}" for number, paragraph in enumerate(paragraphs))
    contents = "\n".join(section.content for section in split_sections(text, title="notes"))
    assert all(paragraph in contents for paragraph in paragraphs)


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
