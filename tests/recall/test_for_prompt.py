"""The hook's recall: audiences, limits, memories that the session has had, and unindexed memories."""

import pytest

from subcog_hooks.recall import alike, logit, pipeline
from subcog_hooks.recall.candidates import Sources
from subcog_hooks.recall.exact import ExactMatches
from subcog_hooks.recall.hits import PATTERN, Answer, Hit
from subcog_hooks.settings.keys import KEYS
from subcog_hooks.store.store_reader import Mark
from tests.recall.shelf import Held, Shelf, find, first, ids, memory, recall_for

BAR = float(KEYS["surfacing.min_relevance"].default)
PARAPHRASE = "Where do kittens nap during cold months?"
TOKEN = "The OAuth2 refresh token rotates on every use; an old one ends the session."
QUESTION = "Does the OAuth2 refresh token rotate on every use?"


def test_a_live_memory_of_the_project_is_found_behind_a_crowd(shelf: Shelf) -> None:
    text = "zebra crossing lights"
    shelf.add({}, *(memory(text, id=f"other{i}", project=f"other{i}") for i in range(200)))
    shelf.add({f"gone{i:02}": text for i in range(30)}, project="shop", expires_at=1)
    for status in ("superseded", "archived", "pending"):
        shelf.add({status: text}, project="shop", status=status)
    shelf.add({"mine": f"{text} at the long road by the river"}, project="shop")
    assert ids(recall_for(shelf.by_words(), text, "shop")) == ["mine"]
    cosines = {"mine": 0.8, **dict.fromkeys(("other0", "gone00", "archived"), 0.9)}
    assert ids(recall_for(shelf.with_cosines(cosines), PARAPHRASE, "shop")) == ["mine"]


def test_it_looks_at_the_first_of_what_search_finds(shelf: Shelf) -> None:
    shelf.add({f"w{i:02}": f"kittens and cats nap on shelf {i} " + "in winter " * (i % 5) for i in range(40)})
    of = shelf.by_meaning_too()
    given = recall_for(of, PARAPHRASE).hits
    relevances = [hit.relevance for hit in given]
    assert relevances == sorted(relevances, reverse=True)
    searched = find(of, PARAPHRASE, limit=15).hits
    assert len(given) == 15
    assert ids(searched) == ids(sorted(given, key=lambda hit: (-hit.score, -hit.memory.created_at, hit.memory.id)))
    of_id = {hit.memory.id: hit for hit in given}
    for hit in searched:
        twin = of_id[hit.memory.id]
        assert (hit.score, hit.relevance, hit.ranks, hit.scores) == (twin.score, twin.relevance, twin.ranks, twin.scores)


# ---- what the session has had ---------------------------------------------------------------------------------------------


def test_what_the_session_has_had_is_left_out_and_takes_no_place(shelf: Shelf) -> None:
    had = {f"had{i:02}": "crane turns" for i in range(40)}
    shelf.add({**had, "fresh": "the crane stands on the quay all night"})
    assert ids(recall_for(shelf.by_words(), "crane"))[0] in had
    assert ids(recall_for(shelf.by_words(), "crane", given=frozenset({*had, "never was"}))) == ["fresh"]


def test_the_lead_of_the_others_is_measured_against_it_too(shelf: Shelf) -> None:
    shelf.add({"had": "crane berth quay", "left": "crane " + "and so on " * 30})
    of = shelf.with_cosines({"had": 0.9, "left": 0.4})
    before = {hit.memory.id: hit.relevance for hit in recall_for(of, "crane berth quay").hits}
    after = {hit.memory.id: hit.relevance for hit in recall_for(of, "crane berth quay", given=frozenset({"had"})).hits}
    assert after == {"left": before["left"]}


# ---- what triggers and conditions have brought ------------------------------------------------------------------------------


def exact_matches(shelf: Shelf, channel: str, *names: str) -> ExactMatches:
    """The memories of these ids as a channel of exact evidence brings them."""
    by_id = shelf.store.by_ids(names)
    return ExactMatches({channel: [by_id[name] for name in names]})


@pytest.mark.parametrize("mode", ["weighted", "rrf"])
def test_a_triggered_memory_is_always_among_the_hits(shelf: Shelf, mode: str) -> None:
    shelf.add({f"w{i:02}": f"crane number {i} turns" for i in range(40)})
    shelf.add({f"t{i}": f"harbour rule {i}" for i in range(5)})
    names = [f"t{i}" for i in range(5)]
    of = shelf.with_cosines({f"w{i:02}": 0.9 for i in range(40)}, mode=mode)
    answer = recall_for(of, "crane", exact=exact_matches(shelf, PATTERN, *names))
    assert len(answer.hits) == 15
    assert {*names} < {*ids(answer)}
    assert {hit.memory.id for hit in answer.hits if hit.is_exact} == {*names}
    assert PATTERN in answer.strategies


def test_a_memory_found_both_ways_is_surer_and_counts_once(shelf: Shelf) -> None:
    shelf.add({"crane": "the crane turns", "hook": "the hook swings"})
    of = shelf.with_cosines({"crane": 0.6, "hook": 0.5})
    alone = {hit.memory.id: hit for hit in recall_for(of, "crane").hits}
    both = {hit.memory.id: hit for hit in recall_for(of, "crane", exact=exact_matches(shelf, PATTERN, "crane")).hits}
    assert both.keys() == alone.keys()
    assert both["crane"].relevance > max(0.8, alone["crane"].relevance)
    assert both["hook"].relevance == alone["hook"].relevance
    assert both["crane"].found_by == tuple(sorted((*alone["crane"].found_by, PATTERN)))


def test_a_marked_memory_counts_less_even_with_a_trigger(shelf: Shelf) -> None:
    shelf.add({"hook": "the hook swings", "other": "quay"})
    of = shelf.by_words()
    text = "commit the crane of the harbour"
    exact = exact_matches(shelf, PATTERN, "hook")
    assert first(recall_for(of, text, exact=exact)).relevance >= 0.8
    terms = alike.terms_to_text(alike.prompt_terms(text, of.index))
    shelf.store.mark(Mark(shelf.store.get("hook").seq, "d", terms, 1))
    (hit,) = [hit for hit in recall_for(of, text, exact=exact).hits if hit.memory.id == "hook"]
    assert (hit.marked, hit.relevance) == (0.0, 0.0)
    alone = exact.hits()
    pipeline.discount_marked_hits(alone, text, shelf.store, lambda: of.index)
    assert [(hit.marked, hit.relevance) for hit in alone] == [(0.0, 0.0)]
    pipeline.discount_marked_hits(exact.hits()[:0], text, shelf.store, lambda: pytest.fail("opened"))


# ---- what the index has not reached ---------------------------------------------------------------------------------------


def test_an_unindexed_memory_is_judged_on_its_own_words(shelf: Shelf) -> None:
    shelf.add({"weak": "Tokens are checked in the gateway.", "changed": "Tokens never rotate."})
    searches = [shelf.by_meaning_too(), shelf.by_words()]
    shelf.store.update([shelf.store.get("changed").with_changes(content=TOKEN)])
    for of in searches:
        hits = recall_for(of, QUESTION).hits
        assert [hit.memory.content for hit in hits if hit.memory.id == "changed"] == [TOKEN]
        assert (hits[0].memory.id, hits[0].relevance >= BAR) == ("changed", True)
    by_trigger = recall_for(of, "crane", exact=exact_matches(shelf, PATTERN, "changed"))
    assert (ids(by_trigger), first(by_trigger).relevance >= 0.8) == (["changed"], True)


@pytest.mark.parametrize(("later", "given"), [(63, ["new"]), (64, [])])
def test_only_the_newest_of_very_many_are_looked_through(shelf: Shelf, later: int, given: list[str]) -> None:
    shelf.add({"first": "nothing of the kind"})
    of = shelf.by_words()
    shelf.add({"new": TOKEN})
    for i in range(later):
        shelf.add({f"later{i}": "quiet water"}, status="archived")
    assert ids(recall_for(of, QUESTION)) == given


def test_new_memories_are_given_within_the_same_bounds(shelf: Shelf) -> None:
    shelf.add({"first": "nothing of the kind"})
    of = shelf.by_words()
    shelf.add({"theirs": TOKEN}, project="blog")
    shelf.add({"gone": TOKEN}, expires_at=1)
    shelf.add({"had": TOKEN})
    shelf.add({"mine": TOKEN}, project="shop")
    assert ids(recall_for(of, QUESTION, "shop", given=frozenset({"had"}))) == ["mine"]


KEYS_NOTE = "The signing keys of the release service are rotated every quarter, as the runbook says."
IN_TWO_SENTENCES = "How are the signing keys of the release service rotated?"
AROUND = "I am back at the ticket about the dredger, the crane and the weighbridge from yesterday."
BOTH = f"{AROUND} {IN_TWO_SENTENCES}"


def hit_of(answer: Answer, id_: str = "keys") -> Hit:
    return next(hit for hit in answer.hits if hit.memory.id == id_)


def names_of(hit: Hit) -> set[str]:
    return {name for name, _, _ in hit.terms}


def filled_sources(shelf: Shelf) -> Sources:
    shelf.add({"keys": KEYS_NOTE, "dredger": "The dredger is moored at pier 7, the crane beside the weighbridge."})
    shelf.fill()
    return shelf.by_meaning_too()


def test_a_hit_of_one_sentence_loses_only_the_part_term(shelf: Shelf) -> None:
    of = filled_sources(shelf)
    cases: list[tuple[str, list[str]]] = [(BOTH, []), (BOTH, [IN_TWO_SENTENCES]), (IN_TWO_SENTENCES, [])]
    whole, parted, alone = (hit_of(recall_for(of, text, parts=parts)) for text, parts in cases)
    assert whole.relevance < parted.relevance < alone.relevance
    assert parted.terms == (*alone.terms, (logit.PART_OF_PROMPT, 1.0, logit.PART_ADDS))
    assert (logit.PART_OF_PROMPT in names_of(parted), logit.PART_OF_PROMPT in names_of(whole)) == (True, False)


def test_a_memory_that_answers_the_whole_better_stays_as_it_is(shelf: Shelf) -> None:
    of = filled_sources(shelf)
    answer = recall_for(of, IN_TWO_SENTENCES, parts=["How are they rotated now?"])
    assert hit_of(answer).terms == hit_of(recall_for(of, IN_TWO_SENTENCES, parts=[])).terms
    assert [hit.relevance for hit in answer.hits] == sorted((hit.relevance for hit in answer.hits), reverse=True)
    assert len(set(ids(answer))) == len(answer.hits) <= pipeline.PROMPT_CANDIDATES


class WorkAlone(Held):
    """A deadline whose waiting time is over, with time for own work."""

    def left_ms(self) -> float:
        return 0.0

    def work_left_ms(self) -> float:
        return 1_000.0


def test_a_part_that_there_is_no_time_for_is_left_out(shelf: Shelf) -> None:
    answer = recall_for(filled_sources(shelf), BOTH, parts=[IN_TWO_SENTENCES], deadline=WorkAlone())
    assert logit.PART_OF_PROMPT not in names_of(hit_of(answer))


def test_what_a_trigger_has_brought_stays_what_it_is(shelf: Shelf) -> None:
    of = filled_sources(shelf)
    exact = ExactMatches({PATTERN: [shelf.store.by_ids(["keys"])["keys"]]})
    hit = hit_of(recall_for(of, BOTH, parts=[IN_TWO_SENTENCES], exact=exact))
    assert PATTERN in hit.ranks
    assert logit.PART_OF_PROMPT not in names_of(hit)
