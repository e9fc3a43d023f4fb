"""Contradictions between two notes: by another name, another number or a denial; none between notes on two subjects."""

from collections import Counter

from subcog_hooks.capture.duplicates import find_difference, parse_statement
from subcog_hooks.core.files import read_rows
from subcog_hooks.text.analysis import Analysers

PAIRS = read_rows(__file__, "contradictions.tsv")
stems = Analysers().body_terms


def contradiction(older: str, newer: str) -> str | None:
    difference = find_difference(parse_statement(newer, stems), parse_statement(older, stems))
    return difference.description if difference and difference.is_contradiction else None


def test_names_and_numbers_contradict_but_not_two_subjects() -> None:
    found = Counter(kind for kind, older, newer in PAIRS if contradiction(older, newer))
    assert found["none"] == 0
    assert found["number"] == 20
    assert found["name"] >= 23


def test_a_contradiction_holds_whichever_note_is_newer() -> None:
    assert [
        (older, newer) for _, older, newer in PAIRS if bool(contradiction(older, newer)) != bool(contradiction(newer, older))
    ] == []


def test_a_contradiction_names_both_values() -> None:
    assert contradiction("We use NATS JetStream, not Kafka", "We use Kafka for locker events") == "not Kafka there, Kafka here"
    assert contradiction("Primary keys are UUIDv7", "Primary keys of new tables are UUIDv4") == "UUIDv7 there, UUIDv4 here"
