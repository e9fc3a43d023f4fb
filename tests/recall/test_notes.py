"""Short notes of the project: which memories count as notes, and the evidence for them."""

import pytest

from subcog_hooks.intent.keywords import Intent
from subcog_hooks.recall import logit, pipeline, relevance
from subcog_hooks.recall.hits import BEGUN, Hit
from subcog_hooks.recall.relevance import LONGEST_NOTE, OF_NOTES, is_note
from subcog_hooks.store.memory import Memory
from tests.recall.shelf import Shelf, memory, recall_for, tuning_of

PROJECT = "git.example/acme/shop"
NOTE = "Carts live in Redis for two days, then the job sweeps them"
COMPARED = (("closeness", 0.5, 0.5), ("margin", 0.1, 0.5))


def of_shop(text: str = NOTE, **fields: object) -> Memory:
    return memory(text, project=PROJECT, **fields)


def weigh_hits(shelf: Shelf, prompt: str, prompt_number: int = 1, *, sure: float = 0.9) -> dict[str, Hit]:
    """The shelf's hits at a prompt with this number, by id; their cosine is .5, of "far" .3."""
    of = shelf.with_cosines({row.id: 0.3 if row.id == "far" else 0.5 for row in shelf.store.all(("active",))})
    hits = recall_for(of, prompt, PROJECT).hits
    pipeline.weigh_for_prompt(hits, Intent("general", sure), prompt_number, tuning_of())
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
    pipeline.weigh_for_prompt([hit], Intent("general", 0.9), 1, tuning_of())
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


def test_nearer_notes_and_surer_prompts_weigh_more(shelf: Shelf) -> None:
    shelf.add(None, of_shop(id="near"), of_shop(NOTE.replace("Redis", "Postgres"), id="far"))
    vague, sure = (weigh_hits(shelf, "how long do carts live", sure=sure) for sure in (0.2, 0.9))
    assert sure["far"].relevance < sure["near"].relevance
    assert vague["near"].relevance < sure["near"].relevance


@pytest.mark.parametrize("name", [evidence for evidence in OF_NOTES if evidence not in ("intercept", "intent", "begun")])
def test_each_evidence_of_a_note_changes_its_relevance(name: str) -> None:
    with_it, without = (relevance.weigh_note((*COMPARED, (name, value, 0.0)), 0.9, 1) for value in (1.0, 0.0))
    difference = sum(adds for _, _, adds in with_it) - sum(adds for _, _, adds in without)
    assert difference == pytest.approx(OF_NOTES[name])
    assert difference != 0.0


def test_weighing_twice_changes_nothing(shelf: Shelf) -> None:
    shelf.add(None, of_shop(id="note", keywords=("carts",)))
    hits = recall_for(shelf.with_cosines({"note": 0.5}), "how long do carts live", PROJECT).hits
    pipeline.weigh_for_prompt(hits, Intent("general", 0.9), 3, tuning_of())
    once = hits[0].terms
    pipeline.weigh_for_prompt(hits, Intent("general", 0.9), 1, tuning_of())
    pipeline.weigh_for_prompt(hits, Intent("general", 0.9), 3, tuning_of())
    assert [name for name, _, _ in hits[0].terms] == [name for name, _, _ in once]
    assert hits[0].probability == logit.probability(once)


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
