"""What finds a memory without a search: triggers in a whole text, conditions on facts; whose, how many, in which order."""

from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.cues import triggers
from subcog_hooks.recall import exact
from subcog_hooks.recall.exact import MATCHED_HEAD, MATCHED_TAIL, Exact, by_patterns, by_states, matched_part
from subcog_hooks.recall.hits import PATH, PATTERN, STATE, Eligibility
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.store import Store, audiences_of
from tests.recall.shelf import ENOUGH, Held, Shelf, memory

NOW = 1_000_000
SHOP = audiences_of("shop")
BRANCH: dict[str, str | bool] = {"branch": "main", "clinician_mode": True}


def matching(store: Store, text: str, *given: str, deadline: Deadline = ENOUGH) -> list[str]:
    found, note = by_patterns(text, store, Eligibility(SHOP, NOW, {*given, *(f"t.{id_}" for id_ in given)}), deadline)
    assert note == ""
    return [one.id.removeprefix("t.") for one in found]


def holding(store: Store, *given: str, naming: tuple[str, ...] = ()) -> list[str]:
    found, note = by_states(BRANCH, store, Eligibility(SHOP, NOW, {*given, *(f"w.{id_}" for id_ in given)}), naming)
    assert note == ""
    return [one.id.removeprefix("w.") for one in found]


def add_both(shelf: Shelf, *ids: str, **fields: object) -> None:
    """A memory with a trigger and one with a condition for each of these."""
    shelf.add({f"t.{id_}": "x" for id_ in ids}, triggers=("deploy",), **fields)
    shelf.add({f"w.{id_}": "x" for id_ in ids}, when={"branch": "main"}, **fields)


# ---- triggers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "deploy to prod",
        "DEPLOYING TO PROD now",
        "x\ny deploy to\u00a0prod deploy to prod",
        "\ud800 deploy to prod",
        "a\0deploy to prod",
    ],
)
def test_a_trigger_that_matches_anywhere_brings_its_memory_whatever_the_case(shelf: Shelf, text: str) -> None:
    shelf.add({"freeze": "Look at the calendar."}, triggers=("deploy(ing)? to prod", "rollback"))
    assert matching(shelf.store, text) == ["freeze"]


def test_a_trigger_whose_words_stand_apart_does_not_match(shelf: Shelf) -> None:
    shelf.add({"freeze": "Look at the calendar."}, triggers=("deploy(ing)? to prod",))
    assert matching(shelf.store, "deploy it to prod, prod to deploy") == []
    assert matching(shelf.store, "") == []


def test_a_memory_of_which_several_triggers_match_comes_once(shelf: Shelf) -> None:
    shelf.add({"freeze": "Look at the calendar."}, triggers=("deploy", "prod", r"\d\d"))
    assert matching(shelf.store, "deploy 77 to prod") == ["freeze"]


def test_a_trigger_without_a_literal_is_tried_on_every_text(shelf: Shelf) -> None:
    shelf.add({"date": "Dates are ISO."}, triggers=(r"\d\d/\d\d",))
    assert matching(shelf.store, "on 24/12 we rest") == ["date"]
    assert matching(shelf.store, "on 24-12 we rest") == []


BOUNDS: list[dict[str, object]] = [
    {"project": "blog"},
    {"status": "superseded"},
    {"status": "pending"},
    {"status": "archived"},
    {"expires_at": NOW},
]


@pytest.mark.parametrize("fields", BOUNDS)
def test_only_live_memories_of_these_audiences_come(shelf: Shelf, fields: dict[str, object]) -> None:
    add_both(shelf, "gone", **fields)
    add_both(shelf, "mine", project="shop")
    add_both(shelf, "later", expires_at=NOW + 1)
    assert matching(shelf.store, "deploy") == ["later", "mine"]
    assert holding(shelf.store) == ["later", "mine"]


def test_the_most_urgent_come_first_then_the_newest_and_what_was_given_last(shelf: Shelf) -> None:
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


def test_expired_ones_take_no_places(shelf: Shelf) -> None:
    add_both(shelf, *(f"gone{number}" for number in range(80)), priority=9, expires_at=1)
    add_both(shelf, "live")
    assert matching(shelf.store, "deploy") == holding(shelf.store) == ["live"]


def test_of_very_many_triggers_the_most_urgent_are_tried_and_the_others_told(shelf: Shelf) -> None:
    number = exact.MAX_TRIED
    shelf.add({}, *(memory("x", id=f"m{at}", triggers=("deploy +it",), priority=50) for at in range(number)))
    shelf.add({"late": "x"}, triggers=("deploy",))
    found, note = by_patterns("deploy: is it late?", shelf.store, Eligibility(SHOP, NOW), ENOUGH)
    assert (found, note) == ([], f"patterns: of {number + 1} triggers that may match {number} were tried")


def test_where_no_time_is_left_none_is_tried_and_that_is_told(shelf: Shelf) -> None:
    shelf.add({"freeze": "x"}, triggers=("deploy",))
    found, note = by_patterns("deploy", shelf.store, Eligibility(SHOP, NOW), Held(has_passed=True))
    assert (found, note) == ([], "patterns: of 1 triggers that may match 0 were tried")


def test_a_stored_trigger_that_is_none_brings_nothing_and_keeps_nothing_else(shelf: Shelf) -> None:
    shelf.add({"bad": "x", "good": "y"}, triggers=("deploy",))
    shelf.store._connection.execute("UPDATE triggers SET pattern = 'deploy(' WHERE seq = 1")
    assert matching(shelf.store, "deploy") == ["good"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(["a", "b", " ", "ſ", "S", "e", "E", "7", "k", "\u212a", "\n", "\ud800", "x"]), max_size=8).map(
        "".join
    )
)
def test_whatever_the_text_a_trigger_is_found_just_where_it_matches(store: Store, text: str) -> None:
    if not store.by_ids(["m"]):
        store.add([memory("x", id="m", triggers=("a b|ſee|\\dk",))])
    data = text.encode("utf-8", "replace")
    assert bool(matching(store, text)) == (triggers.compiled("a b|ſee|\\dk").search(data) is not None)


def test_of_a_longer_text_the_beginning_and_the_end_are_matched(shelf: Shelf) -> None:
    shelf.add({"freeze": "x"}, triggers=("deploy",))
    assert matching(shelf.store, "deploy " + "x " * MATCHED_HEAD) == ["freeze"]
    assert matching(shelf.store, "x " * MATCHED_HEAD + " deploy") == ["freeze"]
    assert matching(shelf.store, "x " * (MATCHED_HEAD // 2) + " deploy " + "x " * MATCHED_TAIL) == []
    whole = "x" * (MATCHED_HEAD + MATCHED_TAIL)
    assert matched_part(whole) == whole


# ---- conditions -----------------------------------------------------------------------------------------------------------


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
    shelf.add({}, *(memory("x", id=f"m{at}", when={"branch": "other"}, priority=9) for at in range(exact.MAX_JUDGED)))
    shelf.add({"late": "x"}, when={"branch": "main"})
    note = f"state: of more than {exact.MAX_JUDGED} memories with conditions the last were not judged"
    assert by_states(BRANCH, shelf.store, Eligibility(SHOP, NOW)) == ([], note)
    shelf.store.modify(["late"], lambda one: one.replaced(priority=10))
    found, told = by_states(BRANCH, shelf.store, Eligibility(SHOP, NOW))
    assert ([one.id for one in found], told) == (["late"], note)


def test_conditions_hold_back_what_has_triggers_or_paths_and_bring_it_not(shelf: Shelf) -> None:
    shelf.add({"trigger": "x"}, triggers=("deploy",), when={"branch": "main"})
    shelf.add({"path": "x"}, paths=("src/**",), when={"branch": "main"})
    assert holding(shelf.store) == []
    for wanted in (set(), {"trigger"}):
        found, _ = by_patterns("deploy", shelf.store, Eligibility(SHOP, NOW, holds=lambda memory: memory.id in wanted), ENOUGH)  # noqa: B023 - called at once
        assert {one.id for one in found} == wanted


@pytest.mark.parametrize("text", ["don’t panic", "don't panic", "DONʼT PANIC"])
def test_signs_that_an_editor_puts_in_do_not_hide_a_phrase(shelf: Shelf, text: str) -> None:
    shelf.add({"calm": "x"}, triggers=("don't panic",))
    assert matching(shelf.store, text) == ["calm"]


# ---- both together --------------------------------------------------------------------------------------------------------


def of(**channels: list[Memory]) -> Exact:
    return Exact(channels)


def test_channels_without_a_memory_are_left_out() -> None:
    assert not of(pattern=[], state=[])
    assert of(pattern=[], state=[memory("x", id="m")]).channels.keys() == {STATE}


def test_a_prompt_brings_what_both_channels_have_and_neither_where_it_is_not_wanted(shelf: Shelf) -> None:
    shelf.add({"freeze": "x"}, triggers=("deploy",))
    shelf.add({"main": "x"}, when={"branch": "main"})

    def brought(text: str, facts: Mapping[str, str | bool] | None) -> dict[str, list[str]]:
        found = exact.match_prompt(text, facts, shelf.store, Eligibility(SHOP, NOW), ENOUGH)
        return {name: [one.id for one in memories] for name, memories in found.channels.items()}

    assert brought("deploy", BRANCH) == {PATTERN: ["freeze"], STATE: ["main"]}
    assert brought("deploy", None) == {PATTERN: ["freeze"]}
    assert brought("", BRANCH) == {STATE: ["main"]}


def test_only_a_memory_that_was_not_given_is_news() -> None:
    found = of(pattern=[memory("x", id="a", seq=1)], state=[memory("y", id="b", seq=2)])
    assert found.is_news({"a"})
    assert not found.is_news({"a", "b"})
    assert not of().is_news(set())


def test_a_hit_tells_which_channels_brought_it_and_several_make_it_surer() -> None:
    both, one = memory("x", id="both", seq=1), memory("y", id="one", seq=2)
    hits = {hit.memory.id: hit for hit in of(pattern=[one, both], state=[both]).hits()}
    assert {id_: hit.ranks for id_, hit in hits.items()} == {"both": {PATTERN: 2, STATE: 1}, "one": {PATTERN: 1}}
    assert hits["both"].relevance > hits["one"].relevance == 0.8
    assert all(hit.is_exact and hit.probability == hit.relevance for hit in hits.values())


def test_a_channel_is_a_list_as_that_of_a_search() -> None:
    found = of(pattern=[memory("x", id="a", seq=7), memory("y", id="b", seq=3)])
    (one,) = found.lists()
    assert (one.name, one.strategy, one.failure) == (PATTERN, PATTERN, None)
    assert one.ranked == [(1.0, 7), (0.5, 3)]


@pytest.mark.parametrize(
    ("fields", "channel", "is_pinned"),
    [
        ({"priority": 90}, PATTERN, True),
        ({"priority": 89}, PATTERN, False),
        ({"priority": 100, "trust": "import"}, PATTERN, False),
        ({"priority": 100, "trust": "team"}, PATTERN, False),
        ({"priority": 100}, STATE, False),
        ({"priority": 100}, PATH, False),
    ],
)
def test_only_a_match_of_the_users_own_trigger_pins(fields: dict[str, object], channel: str, is_pinned: bool) -> None:
    (hit,) = of(**{channel: [memory("x", id="m", seq=1, **fields)]}).hits()
    assert hit.is_pinned is is_pinned
