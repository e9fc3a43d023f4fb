"""The relevance of a memory: its terms of the query, its standing among the others, the intent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.cli.verdicts.verdict_view import MEANINGS
from subcog_hooks.intent.keywords import Intent
from subcog_hooks.recall import logit, pipeline, query, relevance
from subcog_hooks.recall.hits import BEGUN, Hit
from subcog_hooks.recall.logit import CHANNELS
from subcog_hooks.recall.relevance import (
    FOREIGN_INTERCEPT,
    LONGEST_NOTE,
    OF_NOTES,
    WITH_MEANING,
    WORDS_ALONE,
    AskedTerms,
    MemoryText,
    Standings,
    is_note,
)
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.memory import Memory
from subcog_hooks.text.analysis import Analysers
from tests.recall.shelf import Shelf, ids, memory, recall_for

PKCE = "OAuth2 in the SPA uses PKCE; the implicit flow was dropped after the audit."


KIOSK = "The café kiosk build runs on Raspberry Pi 4."


@pytest.fixture
def notes(shelf: Shelf) -> LexicalIndex:
    shelf.add({"pkce": PKCE, "kiosk": KIOSK})
    return shelf.fill().index()


def evidence_in(index: LexicalIndex, text: str, content: str, **fields: object) -> dict[str, float]:
    """The evidence in a memory for a query."""
    return AskedTerms(query.analyse_query(text, index), index.analysers).found_in(
        MemoryText(memory(content, **fields), index.analysers)
    )


def test_what_is_covered_counts_by_how_rare_it_is(notes: LexicalIndex) -> None:
    whole = evidence_in(notes, "does the SPA use OAuth2 with PKCE or the implicit flow", PKCE)
    half = evidence_in(notes, "does the SPA render charts with OAuth2 labels on dashboards", PKCE)
    none = evidence_in(notes, "Raspberry Pi kiosk", PKCE)
    assert whole["covered"] == pytest.approx(whole["asked"])
    assert whole["covered"] > half["covered"] > none["covered"] == 0.0
    assert (whole["found"], none["found"]) == (6.0, 0.0)


def test_the_parts_of_an_identifier_cover_seven_tenths_of_it(shelf: Shelf) -> None:
    shelf.add({"one": "parse_args is slow"})
    both = evidence_in(shelf.index(), "parse_args", "We parse the args again.")
    assert both["covered"] == pytest.approx(0.7 * both["asked"])
    assert evidence_in(shelf.index(), "parse_args", "We parse the lines.")["covered"] == pytest.approx(0.35 * both["asked"])


@pytest.mark.parametrize(
    ("name", "having", "lacking"),
    [
        ("covered", ["word " * 799 + "PKCE"], ["word " * 800 + "PKCE"]),  # the first 4,000 characters
        ("opening", ["word " * 49 + "PKCE"], ["word " * 50 + "PKCE"]),
        ("title", ["PKCE\nWe use it."], ["PKCE, we use it.", "PKCE " + "is used " * 4 + "\nbelow"]),  # a short first line
    ],
)
def test_beginnings_openings_and_titles_are_evidence(
    notes: LexicalIndex, name: str, having: list[str], lacking: list[str]
) -> None:
    assert all(evidence_in(notes, "PKCE", content)[name] > 0.0 for content in having)
    assert all(evidence_in(notes, "PKCE", content)[name] == 0.0 for content in lacking)


def test_phrases_are_pairs_of_words_side_by_side(notes: LexicalIndex) -> None:
    text = "implicit flow audit"
    assert evidence_in(notes, text, "The implicit flow went with the audit.")["phrases"] == pytest.approx(0.5, abs=0.1)
    assert evidence_in(notes, text, "An implicit flow audit.")["phrases"] == pytest.approx(1.0)
    assert evidence_in(notes, text, "The flow is implicit, said the audit.")["phrases"] == 0.0
    assert evidence_in(notes, "PKCE", PKCE)["phrases"] == 0.0


def test_a_chronicle_is_known_by_its_namespace_and_less_relevant(notes: LexicalIndex, shelf: Shelf) -> None:
    names = {"changelog": 1.0, "Changes": 1.0, "progress": 0.0, "decisions": 0.0, "": 0.0}
    assert {name: evidence_in(notes, "PKCE", PKCE, namespace=name)["chronicle"] for name in names} == names
    shelf.store.add([memory(PKCE, id="told", namespace="changelog"), memory(PKCE, id="holds", namespace="decisions")])
    of = relevance_of(shelf, "does the SPA use PKCE or the implicit flow")
    assert of["told"] < of["holds"]


def test_copies_under_other_titles_are_no_rivals(shelf: Shelf) -> None:
    agreed = "It was agreed upon after two long meetings in which the people from operations and from the warehouse took part."
    texts = {
        "index": "The search index is rebuilt on Sundays, when the editors are away and the load of the shop is at its lowest.",
        "staging": "The staging system lies behind the VPN in Ghent, so that no crawler puts it into an index.",
        "mail": "Mails leave through the queue and never inside of a transaction.",
    }
    shelf.store.add([memory(f"{id_}\n\n{text} {agreed}", id=id_) for id_, text in texts.items()])
    prompt = "when is the index of the search built?"
    alone = relevance_of(shelf, prompt)["index"]
    copies = [memory(f"{id_} of the shop, from its handbook\n{text} {agreed}".upper()) for id_, text in texts.items()]
    shelf.store.add(copies)
    of = relevance_of(shelf, prompt)
    assert [of["index"], of[copies[0].id]] == pytest.approx([alone, alone], abs=0.1)


def test_a_lead_is_over_the_runner_up_or_behind_the_first() -> None:
    standings = Standings({1: 9.0, 2: 6.0, 3: 3.0}, {}, 12.0)
    leads = [standings.evidence_of(seq)["lead"] for seq in (1, 2, 3)]
    assert leads[0] > 0.0 > leads[1] > leads[2]
    assert standings.evidence_of(1)["closeness"] == pytest.approx(0.75)  # of a full match
    assert Standings({1: 9.0}, {}, 12.0).evidence_of(1)["lead"] == relevance.NO_LEAD  # alone


def test_with_fewer_than_ten_hits_a_usual_tenth_is_assumed() -> None:
    assert Standings({1: 9.0}, {}, 12.0).evidence_of(1)["above_tenth"] == pytest.approx(0.75 - relevance.USUAL_TENTH)
    assert Standings({1: 9.0, 2: 1.2}, {}, 12.0).evidence_of(1)["above_tenth"] == pytest.approx(0.75 - 0.1)
    ten = Standings({seq: 12.0 - seq for seq in range(10)}, {}, 12.0)
    assert ten.evidence_of(0)["above_tenth"] == pytest.approx(0.75)


def test_where_meaning_is_compared_its_share_is_fixed() -> None:
    standings = Standings({1: 6.0}, {1: 0.5, 2: 0.4}, 12.0)
    assert standings.evidence_of(1)["closeness"] == pytest.approx(0.3 * 0.5 + 0.7 * 0.5)
    assert standings.evidence_of(2)["closeness"] == pytest.approx(0.7 * 0.4)
    assert (standings.evidence_of(2)["word_rank"], standings.evidence_of(2)["meaning_rank"]) == (0.5, 0.5)


def test_a_memory_without_a_vector_is_compared_by_its_words() -> None:
    standings = Standings({1: 6.0, 3: 9.0}, {1: 0.5}, 12.0)
    assert standings.evidence_of(3) == Standings({1: 6.0, 3: 9.0}, {}, 12.0).evidence_of(3)
    assert standings.evidence_of(3)["closeness"] == pytest.approx(0.75)


def test_a_margin_starts_at_the_usual_cosine() -> None:
    assert Standings({}, {1: 0.6, 2: 0.1}, 1.0).evidence_of(1)["margin"] == pytest.approx(0.3)
    assert Standings({}, {1: 0.6, 2: 0.5}, 1.0).evidence_of(1)["margin"] == pytest.approx(0.1)
    assert Standings({}, {1: 0.6, 2: 0.5}, 1.0).evidence_of(2)["margin"] == pytest.approx(-0.1)


def test_what_the_index_has_not_reached_stands_by_its_terms() -> None:
    standings = Standings({1: 6.0, 2: 3.0}, {}, 12.0)
    assert standings.evidence_of(7, 0.5) == standings.evidence_of(1) | {"lead": standings.evidence_of(7, 0.5)["lead"]}
    assert standings.evidence_of(7, 0.0)["closeness"] == 0.0


@given(st.dictionaries(st.integers(0, 30), st.floats(0.0, 50.0)), st.dictionaries(st.integers(0, 30), st.floats(-1.0, 1.0)))
def test_any_lists_give_finite_evidence(words: dict[int, float], cosines: dict[int, float]) -> None:
    standings = Standings(words, cosines, 10.0)
    for seq in (*words, *cosines, 99):
        evidence = dict.fromkeys(WORDS_ALONE, 0.0) | standings.evidence_of(seq)
        terms = relevance.weigh_evidence(evidence)
        assert len(terms) == len(WITH_MEANING if seq in cosines else WORDS_ALONE)
        assert 0.0 <= logit.probability(terms) <= 1.0


def test_every_weight_has_a_name_that_tells_what_it_is() -> None:
    assert WORDS_ALONE.keys() == WITH_MEANING.keys() - {"margin", "word_rank", "meaning_rank"}
    assert WITH_MEANING.keys() | CHANNELS.keys() | OF_NOTES.keys() | relevance.FOREIGN.keys() <= MEANINGS.keys()


def test_a_change_log_counts_less_in_every_language() -> None:
    plain = dict.fromkeys(relevance.FOREIGN.keys() - {FOREIGN_INTERCEPT, "chronicle"}, 0.3)
    note, line = [
        logit.probability(relevance.weigh_evidence(plain | {"chronicle": value}, is_foreign=True)) for value in (0.0, 1.0)
    ]
    assert line < note / 2


def test_the_terms_add_up_to_the_relevance_of_a_hit(shelf: Shelf) -> None:
    shelf.add({"near": "the crane turns", "far": "a crane turns"})
    for of in (shelf.by_words(), shelf.with_cosines({"near": 0.9, "far": 0.4})):
        hits = recall_for(of, "turn the crane").hits
        assert ids(hits) == ["near", "far"]
        for hit in hits:
            assert hit.relevance == logit.probability(hit.terms)
            assert {name for name, _, _ in hit.terms} == set(WITH_MEANING if "semantic" in hit.scores else WORDS_ALONE)


def test_a_surer_intent_makes_all_more_relevant(shelf: Shelf) -> None:
    shelf.add({"pkce": PKCE})
    hits = recall_for(shelf.by_words(), "does the SPA use PKCE or the implicit flow").hits
    of = []
    for sure in (0.0, 0.5, 0.9, 0.0):
        pipeline.weigh_for_prompt(hits, Intent("general", sure), 1)
        of.append(hits[0].relevance)
    assert of[0] < of[1] < of[2]
    assert of[3] == of[0]  # of the last intent alone


EXPLAINED = "Forward kinematics (FK) gives the pose of the hand from the joints."


def test_an_acronym_is_covered_by_itself_or_its_full_expansion(shelf: Shelf, index: LexicalIndex) -> None:
    cases = [
        (EXPLAINED, True),
        ("The FK calculation runs at 1 kHz.", True),
        ("Our forward kinematics is written in plain floats.", True),
        ("Kinematics runs forward, and then back.", True),  # evidence has no order
        ("Inverse kinematics is slow.", False),
        ("We look forward to the release.", False),
        ("A foreign key is indexed.", False),
    ]
    shelf.add({"explained": EXPLAINED})
    for content, is_covered in cases:
        evidence = evidence_in(shelf.index(), "FK", content)
        assert evidence["asked"] > 0.0
        assert evidence["covered"] == (evidence["asked"] if is_covered else 0.0)
        unexplained = evidence_in(index, "FK", content)["covered"]  # by its letters alone
        assert (unexplained > 0.0) == ("FK" in content)
    tagged = evidence_in(shelf.index(), "FK", "Written in plain floats.", tags=("forward-kinematics",))
    assert tagged["covered"] == tagged["asked"] > 0.0


def relevance_of(shelf: Shelf, prompt: str) -> dict[str, float]:
    return {hit.memory.id: hit.relevance for hit in recall_for(shelf.by_words(), prompt).hits}


def test_a_named_keyword_alone_raises_the_relevance(shelf: Shelf) -> None:
    shelf.fill()
    shelf.add(None, memory("Short, flat, polite answers, like a stone.", id="named", keywords=("gray rock",)))
    shelf.add(None, memory("Short, flat, polite answers, like a pebble.", id="tagged", tags=("gray rock",)))
    of = relevance_of(shelf, "help me gray rock when he calls about the weekend")
    assert of["named"] > 0.3
    assert of["tagged"] < 0.05  # a tag sorts memories, it does not say when one is wanted
    assert "keyword" in [term[0] for hit in recall_for(shelf.by_words(), "gray rock").hits for term in hit.terms]


def test_an_everyday_word_is_a_weaker_keyword_than_a_name(shelf: Shelf) -> None:
    shelf.fill()
    texts = {"calm": "calm", "BIFF": "BIFF", "log4j": "log4j", "fan-mode": "fan-mode"}
    shelf.add(None, *(memory("Wait for the next morning.", id=id_, keywords=(word,)) for id_, word in texts.items()))
    of = {id_: relevance_of(shelf, f"please look at {word} of the fan curve").get(id_, 0.0) for id_, word in texts.items()}
    assert of["calm"] < 0.22 < min(of["BIFF"], of["log4j"], of["fan-mode"])


def test_a_keyword_that_many_memories_have_says_less(shelf: Shelf) -> None:
    shelf.fill()
    shelf.add(None, *(memory(f"Note {i} of the yard.", id=f"n{i}", keywords=("gray rock",)) for i in range(30)))
    shelf.add(None, memory("Note of the pier.", id="rare", keywords=("night watch",)))
    common, rare = relevance_of(shelf, "where is the gray rock"), relevance_of(shelf, "where is the night watch")
    assert max(common.values()) < rare["rare"]


def test_a_note_has_the_stems_of_its_own_language() -> None:
    note = memory("Die Buchungen der Gäste werden am Steg gesperrt und nicht im Büro.")
    analysers = Analysers()
    german, english = MemoryText(note, analysers, "german"), MemoryText(note, analysers)
    assert "buchung" in german.has & german.opening
    assert "buchung" not in english.has | english.opening
    assert MemoryText(note, analysers, "spanish").has == english.has


PROJECT = "git.example/acme/shop"


NOTE = "Carts live in Redis for two days, then the job sweeps them"


COMPARED = (("closeness", 0.5, 0.5), ("margin", 0.1, 0.5))


def of_shop(text: str = NOTE, **fields: object) -> Memory:
    return memory(text, project=PROJECT, **fields)


def weigh_hits(shelf: Shelf, prompt: str, prompt_number: int = 1, *, sure: float = 0.9) -> dict[str, Hit]:
    """The shelf's hits at a prompt with this number, by id; their cosine is .5, of "far" .3."""
    of = shelf.with_cosines({row.id: 0.3 if row.id == "far" else 0.5 for row in shelf.store.all(("active",))})
    hits = recall_for(of, prompt, PROJECT).hits
    pipeline.weigh_for_prompt(hits, Intent("general", sure), prompt_number)
    return {hit.memory.id: hit for hit in hits}


def names(hit: Hit) -> set[str]:
    return {name for name, _, _ in hit.terms}


@pytest.mark.parametrize(
    ("stored", "is_expected"),
    [
        (of_shop(), True),
        (of_shop(" ".join(["word"] * LONGEST_NOTE)), True),
        (of_shop(" ".join(["word"] * (LONGEST_NOTE + 1))), False),
        (memory(NOTE), False),  # of all projects
        (of_shop(namespace="Changelog"), False),
    ],
)
def test_a_note_is_short_and_of_the_project(stored: Memory, *, is_expected: bool) -> None:
    assert is_note(stored, COMPARED) is is_expected


def test_what_was_not_compared_by_meaning_is_weighed_as_ever(shelf: Shelf) -> None:
    shelf.add(None, of_shop(id="carts"))
    (hit,) = recall_for(shelf.by_words(), "how long do carts live", PROJECT).hits
    pipeline.weigh_for_prompt([hit], Intent("general", 0.9), 1)
    assert names(hit) == set(relevance.WORDS_ALONE)


def test_notes_and_global_memories_have_their_own_weights(shelf: Shelf) -> None:
    shelf.add(None, of_shop(id="note"), memory("Carts are swept in the night", id="everywhere"))
    hits = weigh_hits(shelf, "how long do carts live")
    assert names(hits["note"]) == set(OF_NOTES) - {"part"}
    assert names(hits["everywhere"]) == set(relevance.WITH_MEANING)
    for hit in hits.values():
        assert hit.probability == logit.probability(hit.terms)
        assert relevance.model_weights(hit.terms) is (OF_NOTES if hit.memory.id == "note" else relevance.WITH_MEANING)


def test_at_the_first_prompt_the_same_note_means_more(shelf: Shelf) -> None:
    shelf.add(None, of_shop(id="note"))
    likely = [weigh_hits(shelf, "how long do carts live", number)["note"].relevance for number in (1, 2, 3, 4, 9)]
    assert likely[0] > likely[1] == likely[2] > likely[3] == likely[4] > 0.0


@pytest.mark.parametrize("name", [evidence for evidence in OF_NOTES if evidence not in ("intercept", "intent", "begun")])
def test_each_evidence_of_a_note_changes_its_relevance(name: str) -> None:
    with_it, without = (relevance.weigh_note((*COMPARED, (name, value, 0.0)), 0.9, 1) for value in (1.0, 0.0))
    difference = sum(adds for _, _, adds in with_it) - sum(adds for _, _, adds in without)
    assert difference == pytest.approx(OF_NOTES[name])
    assert difference != 0.0


def test_a_named_keyword_reduces_the_doubt() -> None:
    plain = relevance.weigh_note(COMPARED, 0.9, 1)
    named = relevance.weigh_note((*COMPARED, (logit.KEYWORD, 0.8, 3.0)), 0.9, 1)
    doubt = 1.0 - logit.probability(plain)
    assert logit.probability(named) == pytest.approx(1.0 - doubt * (1.0 - logit.KEYWORD_SHARE * 0.8), abs=2e-4)


def test_a_question_helps_a_note_and_never_harms_it() -> None:
    plain = logit.probability(relevance.weigh_note(COMPARED, 0.9, 1))
    liked, disliked = (
        logit.probability(relevance.weigh_note((*COMPARED, (logit.ASKED_LIKE, like, adds)), 0.9, 1))
        for like, adds in ((0.7, 1.4), (0.2, -3.6))
    )
    assert liked > plain == disliked


def test_the_sibling_of_what_is_asked_for_is_out_of_the_question() -> None:
    near = (("closeness", 2.0, 2.0), ("margin", 0.1, 0.5), (logit.SIBLING, 1.0, -3.0))
    assert logit.probability(relevance.weigh_note(near, 0.9, 1)) < 0.05
    assert BEGUN in {name for name, _, _ in relevance.weigh_note(near, 0.9, 5)}
