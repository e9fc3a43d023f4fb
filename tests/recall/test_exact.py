"""Memories found without a search, by triggers and conditions: eligibility, limits and order."""

from collections.abc import Mapping

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.recall import exact
from subcog_hooks.recall.exact import MATCHED_HEAD, MATCHED_TAIL, ExactMatches, match_conditions, match_triggers, matched_part
from subcog_hooks.recall.hits import PATH, PATTERN, STATE, Eligibility
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import audiences_of
from tests.recall.shelf import ENOUGH, Held, Shelf, memory

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


# ---- triggers -------------------------------------------------------------------------------------------------------------


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


def test_only_live_memories_of_these_audiences_come(shelf: Shelf) -> None:
    add_both(shelf, "theirs", project="blog")
    add_both(shelf, "now", expires_at=NOW)
    for status in ("superseded", "pending", "archived"):
        add_both(shelf, status, status=status)
    add_both(shelf, "mine", project="shop")
    add_both(shelf, "later", expires_at=NOW + 1)
    assert matching(shelf.store, "deploy") == ["later", "mine"]
    assert holding(shelf.store) == ["later", "mine"]


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


def test_expired_ones_take_no_places(shelf: Shelf) -> None:
    add_both(shelf, *(f"gone{number}" for number in range(80)), priority=9, expires_at=1)
    add_both(shelf, "live")
    assert matching(shelf.store, "deploy") == holding(shelf.store) == ["live"]


def test_too_many_triggers_are_tried_by_priority_with_a_note(shelf: Shelf) -> None:
    number = exact.MAX_TRIED
    shelf.add({}, *(memory("x", id=f"m{i}", triggers=("deploy +it",), priority=50) for i in range(number)))
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


# ---- both together --------------------------------------------------------------------------------------------------------


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


def test_only_a_memory_that_was_not_given_is_news() -> None:
    matches = of(pattern=[memory("x", id="a", seq=1)], state=[memory("y", id="b", seq=2)])
    assert matches.is_news({"a"})
    assert not matches.is_news({"a", "b"})
    assert not of().is_news(set())


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
