"""Sections of nothing but links and names are told from sections that say something."""

from subcog_hooks.capture.markdown import is_navigation, split_sections


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


def test_a_document_gives_no_section_of_links() -> None:
    links = "\n".join(f"- [the record number {number}](adr-{number}.md)" for number in range(9))
    sentence = "A job is retried three times, and then it waits until a person of the shop looks at it."
    text = f"# Jobs\n\n{sentence}\n\n## Related\n\n{links}\n"
    assert [section.heading_path for section in split_sections(text, title="jobs")] == [("Jobs",)]
    assert split_sections("@AGENTS.md\n", title="CLAUDE") == []
