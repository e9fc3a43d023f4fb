"""Manuals in several languages: what is read of a page, and which sections belong together."""

from scripts.relevance import fit_foreign, manuals
from scripts.relevance.evidence import Case
from scripts.relevance.manuals import Section
from subcog_hooks.recall.relevance import FOREIGN

BODY = "A sentence that is long enough to count as a section of a manual."
PAGE = """<html><nav>Menu</nav><h1>1. Keys</h1><p>{body}</p><h2>1.1. Who rotates them?</h2><p>{body}</p></html>"""
MALLARD = """<page xmlns="http://projectmallard.org/1.0/"><info><desc>How keys are made.</desc></info>
<title>Make a  key</title><p>First this.</p><p>Then that.</p></page>"""


def test_headings_lose_their_numbers_and_menus_are_left_out() -> None:
    sections = list(manuals._read_page("keys.html", PAGE.format(body=BODY)))
    assert [section.heading for section in sections] == ["", "Keys", "Who rotates them?"]
    assert [section.body for section in sections] == ["", BODY, BODY]


def test_a_page_of_help_has_a_title_and_a_summary() -> None:
    assert list(manuals._read_page("keys.page", MALLARD)) == [
        Section("Make a key", "First this.\nThen that.", "How keys are made.")
    ]


def test_sections_are_matched_by_position_where_translated() -> None:
    english = [Section("Keys", BODY), Section("Locks", BODY + " Locked.")]
    german = [Section("Schlüssel", "Ein Satz" + BODY), Section("Locks", BODY + " Locked.")]
    manual = manuals._join_pages({"a": {"en": english, "de": german, "fr": german[:1]}})
    assert {key: sorted(sections) for key, sections in manual.items()} == {"a#0": ["de", "en"], "a#1": ["en"]}


def test_each_heading_is_asked_with_its_section_and_without() -> None:
    case = Case("Wo liegt der Schlüssel?", frozenset({"a"}), "handbook", fit_foreign.NATIVE)
    assert [asked.is_missing for asked in fit_foreign._twice(case)] == [False, True]
    assert set(fit_foreign.NAMES) <= FOREIGN.keys()
