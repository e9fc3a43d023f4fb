"""The hook's recall: audiences, limits, memories that the session has had, and unindexed memories."""

from collections.abc import Mapping

import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.recall import alike, exact, logit, pipeline
from subcog_hooks.recall.candidates import Sources
from subcog_hooks.recall.exact import MATCHED_HEAD, MATCHED_TAIL, ExactMatches, match_conditions, match_triggers, matched_part
from subcog_hooks.recall.hits import PATH, PATTERN, STATE, Answer, Eligibility, Hit
from subcog_hooks.settings.sources import KEYS
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Mark, audiences_of
from tests.recall.shelf import ENOUGH, Held, Shelf, first, ids, memory, recall_for

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
    shelf.add({"mine": TOKEN}, project="shop")
    assert ids(recall_for(of, QUESTION, "shop")) == ["mine"]


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
    return shelf.fill().by_meaning_too()


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


def test_a_part_that_there_is_no_time_for_is_left_out(shelf: Shelf) -> None:
    answer = recall_for(filled_sources(shelf), BOTH, parts=[IN_TWO_SENTENCES], deadline=Held(has_passed=True))
    assert logit.PART_OF_PROMPT not in names_of(hit_of(answer))


def test_what_a_trigger_has_brought_stays_what_it_is(shelf: Shelf) -> None:
    of = filled_sources(shelf)
    exact = ExactMatches({PATTERN: [shelf.store.by_ids(["keys"])["keys"]]})
    hit = hit_of(recall_for(of, BOTH, parts=[IN_TWO_SENTENCES], exact=exact))
    assert PATTERN in hit.ranks
    assert logit.PART_OF_PROMPT not in names_of(hit)


NOW = 1_000_000
SHOP = audiences_of("shop")
BRANCH: dict[str, str | bool] = {"branch": "main", "clinician_mode": True}


def matching(store: Store, text: str, *given: str, deadline: Deadline = ENOUGH) -> list[str]:
    matches, note = match_triggers(text, store, Eligibility(SHOP, NOW, {*given, *(f"t.{id_}" for id_ in given)}), deadline)
    assert note == ""
    return [match.id.removeprefix("t.") for match in matches]


def holding(store: Store, *given: str, naming: tuple[str, ...] = ()) -> list[str]:
    matches, note = match_conditions(BRANCH, store, Eligibility(SHOP, NOW, {*given, *(f"w.{id_}" for id_ in given)}), naming)
    assert note == ""
    return [match.id.removeprefix("w.") for match in matches]


def add_both(shelf: Shelf, *ids: str, **fields: object) -> None:
    """A memory with a trigger and one with a condition for each of these."""
    shelf.add({f"t.{id_}": "x" for id_ in ids}, triggers=("deploy",), **fields)
    shelf.add({f"w.{id_}": "x" for id_ in ids}, when={"branch": "main"}, **fields)


def test_a_trigger_matches_anywhere_in_any_case_and_once(shelf: Shelf) -> None:
    shelf.add(
        {"freeze": "Look at the calendar."},
        triggers=("deploy(ing)? to prod", "rollback", r"\d\d/\d\d", "don't panic", "kelvin"),
    )
    cases = [
        ("deploy to prod", True),
        ("DEPLOYING TO PROD now, rollback", True),
        ("x\ny deploy to\u00a0prod deploy to prod", True),
        ("\ud800 deploy to prod", True),
        ("a\0deploy to prod", True),
        ("on 24/12 we rest", True),  # without a literal it is tried on every text
        ("don’t panic", True),
        ("DONʼT PANIC", True),
        ("\u212aELVIN", True),  # the sign of Kelvin
        ("on 24-12 we rest", False),
        ("deploy it to prod, prod to deploy", False),
        ("", False),
    ]
    assert [(text, found) for text, comes in cases if (found := matching(shelf.store, text)) != ["freeze"] * comes] == []


def test_new_ones_come_first_then_by_priority_then_the_newest(shelf: Shelf) -> None:
    add_both(shelf, "old", created_at=1)
    add_both(shelf, "new", created_at=2)
    add_both(shelf, "urgent", priority=1)
    assert matching(shelf.store, "deploy") == holding(shelf.store) == ["urgent", "new", "old"]
    assert matching(shelf.store, "deploy", "urgent", "new") == holding(shelf.store, "urgent", "new") == ["old", "urgent", "new"]


def test_five_patterns_and_three_states_at_most(shelf: Shelf) -> None:
    add_both(shelf, *(f"m{number}" for number in range(9)))
    assert matching(shelf.store, "deploy") == ["m0", "m1", "m2", "m3", "m4"]
    assert holding(shelf.store) == ["m0", "m1", "m2"]
    assert matching(shelf.store, "deploy", "m0", "m1")[:3] == ["m2", "m3", "m4"]


def test_too_many_triggers_are_tried_by_priority_with_a_note(shelf: Shelf) -> None:
    number = exact.MAX_TRIED
    shelf.add({}, *(memory("x", id=f"m{i}", triggers=("deploy +late",), priority=50) for i in range(number)))
    shelf.add({"late": "x"}, triggers=("deploy",))
    matches, note = match_triggers("deploy: is it late?", shelf.store, Eligibility(SHOP, NOW), ENOUGH)
    assert (matches, note) == ([], f"patterns: of {number + 1} triggers that may match {number} were tried")
    matches, note = match_triggers("deploy", shelf.store, Eligibility(SHOP, NOW), Held(has_passed=True))
    assert (matches, note) == ([], "patterns: of 1 triggers that may match 0 were tried")


def test_a_damaged_trigger_matches_nothing_and_harms_no_other(shelf: Shelf) -> None:
    shelf.add({"bad": "x", "good": "y"}, triggers=("deploy",))
    shelf.store._connection.execute("UPDATE triggers SET pattern = 'deploy(' WHERE seq = 1")
    assert matching(shelf.store, "deploy") == ["good"]


def test_of_a_longer_text_the_beginning_and_the_end_are_matched(shelf: Shelf) -> None:
    shelf.add({"freeze": "x"}, triggers=("deploy",))
    assert matching(shelf.store, "deploy " + "x " * MATCHED_HEAD) == ["freeze"]
    assert matching(shelf.store, "x " * MATCHED_HEAD + " deploy") == ["freeze"]
    assert matching(shelf.store, "x " * (MATCHED_HEAD // 2) + " deploy " + "x " * MATCHED_TAIL) == []
    whole = "x" * (MATCHED_HEAD + MATCHED_TAIL)
    assert matched_part(whole) == whole


def test_a_memory_comes_when_all_of_its_conditions_hold(shelf: Shelf) -> None:
    shelf.add({"both": "x"}, when={"branch": "main", "clinician_mode": True})
    shelf.add({"half": "x"}, when={"branch": "main", "clinician_mode": False})
    shelf.add({"unknown": "x"}, when={"mood": {"not": "sad"}})
    shelf.add({"none": "x"})
    assert holding(shelf.store) == ["both"]


def test_conditions_on_something_else_can_be_left_out(shelf: Shelf) -> None:
    shelf.add({"branch": "x"}, when={"branch": "main"})
    shelf.add({"mode": "x"}, when={"branch": "main", "clinician_mode": True})
    assert holding(shelf.store, naming=("clinician_mode", "tool")) == ["mode"]


def test_of_very_many_conditions_the_most_urgent_are_judged(shelf: Shelf) -> None:
    shelf.add({}, *(memory("x", id=f"m{i}", when={"branch": "other"}, priority=9) for i in range(exact.MAX_JUDGED)))
    shelf.add({"late": "x"}, when={"branch": "main"})
    note = f"state: of more than {exact.MAX_JUDGED} memories with conditions the last were not judged"
    assert match_conditions(BRANCH, shelf.store, Eligibility(SHOP, NOW)) == ([], note)
    shelf.store.modify(["late"], lambda match: match.with_changes(priority=10))
    matches, actual_note = match_conditions(BRANCH, shelf.store, Eligibility(SHOP, NOW))
    assert ([match.id for match in matches], actual_note) == (["late"], note)


def test_conditions_alone_bring_no_memory_with_other_cues(shelf: Shelf) -> None:
    shelf.add({"trigger": "x"}, triggers=("deploy",), when={"branch": "main"})
    shelf.add({"path": "x"}, paths=("src/**",), when={"branch": "main"})
    assert holding(shelf.store) == []
    for wanted in (set(), {"trigger"}):

        def is_wanted(memory: Memory, ids: frozenset[str] = frozenset(wanted)) -> bool:
            return memory.id in ids

        eligible = Eligibility(SHOP, NOW, holds=is_wanted)
        matches, _ = match_triggers("deploy", shelf.store, eligible, ENOUGH)
        assert {memory.id for memory in matches} == wanted


def of(**channels: list[Memory]) -> ExactMatches:
    return ExactMatches(channels)


def test_a_prompt_matches_triggers_and_conditions(shelf: Shelf) -> None:
    shelf.add({"freeze": "x"}, triggers=("deploy",))
    shelf.add({"main": "x"}, when={"branch": "main"})

    def ids_by_channel(text: str, facts: Mapping[str, str | bool] | None) -> dict[str, list[str]]:
        matches = exact.match_prompt(text, facts, shelf.store, Eligibility(SHOP, NOW), ENOUGH)
        return {name: [match.id for match in memories] for name, memories in matches.channels.items()}

    assert ids_by_channel("deploy", BRANCH) == {PATTERN: ["freeze"], STATE: ["main"]}
    assert ids_by_channel("deploy", None) == {PATTERN: ["freeze"]}
    assert ids_by_channel("", BRANCH) == {STATE: ["main"]}
    assert ids_by_channel("", None) == {}


def test_a_hit_names_its_channels_and_several_raise_it() -> None:
    both, single = memory("x", id="both", seq=1), memory("y", id="one", seq=2)
    hits = {hit.memory.id: hit for hit in of(pattern=[single, both], state=[both]).hits()}
    assert {id_: hit.ranks for id_, hit in hits.items()} == {"both": {PATTERN: 2, STATE: 1}, "one": {PATTERN: 1}}
    assert hits["both"].relevance > hits["one"].relevance == 0.8
    assert all(hit.is_exact and hit.probability == hit.relevance for hit in hits.values())


def test_only_a_match_of_the_users_own_trigger_pins() -> None:
    cases: list[tuple[dict[str, object], str, bool]] = [
        ({"priority": 90}, PATTERN, True),
        ({"priority": 89}, PATTERN, False),
        ({"priority": 100, "trust": "import"}, PATTERN, False),
        ({"priority": 100, "trust": "team"}, PATTERN, False),
        ({"priority": 100}, STATE, False),
        ({"priority": 100}, PATH, False),
    ]
    for fields, channel, is_pinned in cases:
        (hit,) = of(**{channel: [memory("x", id="m", seq=1, **fields)]}).hits()
        assert hit.is_pinned is is_pinned
