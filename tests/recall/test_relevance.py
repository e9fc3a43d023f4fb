"""How sure we are that a memory answers: coverage, the lead over the others, the margin, everyday words."""

import pytest

from subcog_hooks.memory.index import LexicalIndex
from subcog_hooks.recall import query, relevance
from subcog_hooks.recall.relevance import Evidence
from tests.recall.shelf import Shelf, handed, memory

PKCE = "OAuth2 in the SPA uses PKCE; the implicit flow was dropped after the audit."


@pytest.fixture
def notes(shelf: Shelf) -> LexicalIndex:
    shelf.add({"pkce": PKCE, "kiosk": "The café kiosk build runs on Raspberry Pi 4."})
    shelf.fill()
    return shelf.index()


def test_relevance_rises_with_what_is_covered(shelf: Shelf, notes: LexicalIndex) -> None:
    def of(text: str) -> float:
        found = relevance.evidence(query.analyse(text, notes), shelf.store.get("pkce"), notes.analysers)
        return relevance.by_words(found, 1.0)

    whole = of("does the SPA use OAuth2 with PKCE or the implicit flow")
    half = of("does the SPA render charts with OAuth2 labels on dashboards")
    assert whole > half > of("Raspberry Pi kiosk")


def test_relevance_rises_with_the_lead_over_the_next_hit() -> None:
    found = relevance.Evidence(3.0, 4.0)
    leads = [relevance.lead(5.0, others) for others in ([10.0], [5.0], [], [4.0], [1.0])]
    probabilities = [relevance.by_words(found, lead) for lead in leads]
    assert leads == [0.5, 1.0, 1.5, 1.25, 2.0]
    assert sorted(probabilities) == [probabilities[i] for i in (0, 1, 3, 2, 4)]


def test_of_two_whole_answers_the_one_to_the_longer_question_is_more_relevant() -> None:
    whole = [relevance.by_words(Evidence(size, size), 1.5) for size in (1.5, 3.0, 6.0)]
    assert whole == sorted(set(whole))


def test_a_margin_is_measured_against_no_less_than_the_usual_cosine() -> None:
    assert relevance.margin(0.6, []) == relevance.margin(0.6, [0.1]) == pytest.approx(0.3)
    assert relevance.margin(0.6, [0.5]) == pytest.approx(0.1)


def test_the_parts_of_an_identifier_cover_seven_tenths_of_it(shelf: Shelf) -> None:
    shelf.add({"one": "parse_args is slow"})
    found = evidence(shelf.index(), "parse_args", "We parse the args again.")
    assert found.covered == pytest.approx(0.7 * found.total)
    assert evidence(shelf.index(), "parse_args", "We parse the lines.").covered == pytest.approx(0.35 * found.total)


def test_of_a_very_long_memory_the_beginning_is_evidence(shelf: Shelf, notes: LexicalIndex) -> None:
    start = "word " * 799  # 3,995 characters
    assert evidence(notes, "PKCE", f"{start}PKCE").covered > 0.0
    assert evidence(notes, "PKCE", f"{start}word PKCE").covered == 0.0


def test_everyday_words_are_no_evidence(shelf: Shelf, notes: LexicalIndex) -> None:
    hits = handed(shelf.by_words(), "please make the build run and fix the test").hits
    assert hits
    assert all(hit.relevance < 0.25 for hit in hits)


def test_a_nearer_memory_is_more_relevant_than_one_as_well_covered(shelf: Shelf) -> None:
    shelf.add({"near": "the crane turns", "far": "a crane turns"})
    of_id = {hit.memory.id: hit.relevance for hit in handed(shelf.placed({"near": 0.9, "far": 0.4}), "turn the crane").hits}
    assert of_id["near"] > of_id["far"]


# ---- acronyms -------------------------------------------------------------------------------------------------------------

EXPLAINED = "Forward kinematics (FK) gives the pose of the hand from the joints."


def evidence(index: LexicalIndex, text: str, content: str, **fields: object) -> Evidence:
    return relevance.evidence(query.analyse(text, index), memory(content, **fields), index.analysers)


@pytest.mark.parametrize(
    ("content", "is_covered"),
    [
        (EXPLAINED, True),
        ("The FK calculation runs at 1 kHz.", True),
        ("Our forward kinematics is written in plain floats.", True),
        ("Kinematics runs forward, and then back.", True),  # evidence has no order
        ("Inverse kinematics is slow.", False),
        ("We look forward to the release.", False),
        ("A foreign key is indexed.", False),
    ],
)
def test_an_acronym_is_covered_by_itself_and_by_all_of_what_it_stands_for(shelf: Shelf, content: str, is_covered: bool) -> None:
    shelf.add({"explained": EXPLAINED})
    shelf.fill()
    found = evidence(shelf.index(), "FK", content)
    assert found.total > 0.0
    assert found.covered == (found.total if is_covered else 0.0)


def test_an_acronym_that_no_memory_explains_is_covered_by_its_letters_alone(index: LexicalIndex) -> None:
    assert evidence(index, "FK", "Our forward kinematics is written in plain floats.").covered == 0.0
    assert evidence(index, "FK", "The FK calculation runs at 1 kHz.").covered > 0.0


def test_what_an_acronym_stands_for_may_stand_in_the_tags(shelf: Shelf) -> None:
    shelf.add({"explained": EXPLAINED})
    found = evidence(shelf.index(), "FK", "Written in plain floats.", tags=("forward-kinematics",))
    assert found.covered == found.total > 0.0


def test_a_memory_that_spells_an_acronym_out_is_as_relevant_as_one_that_writes_it_short(shelf: Shelf) -> None:
    shelf.add({"explained": EXPLAINED})
    shelf.fill()
    index = shelf.index()
    short = evidence(index, "which floats does FK use", "FK uses plain floats.")
    long = evidence(index, "which floats does FK use", "Forward kinematics uses plain floats.")
    bare = evidence(index, "which floats does FK use", "Plain floats are used.")
    of = [relevance.by_words(found, relevance.NO_LEAD) for found in (short, long, bare)]
    assert of[0] == of[1] > of[2]
