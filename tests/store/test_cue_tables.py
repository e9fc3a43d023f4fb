"""Triggers, globs, names, conditions and pins: found by their cue, for their audience, while the memory is active."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.core.paths import Home
from subcog_hooks.cues import globs, triggers
from subcog_hooks.store import lookups
from subcog_hooks.store.memory import STATUSES, Memory
from subcog_hooks.store.store import MAX_WORD_SEGMENTS, Store
from subcog_hooks.store.store_reader import audiences_of
from tests.conftest import Maker

USER = audiences_of()


SHOP = audiences_of("shop")


def matching_patterns(store: Store, text: str, audiences: tuple[str, ...] = SHOP) -> list[str]:
    return [trigger.pattern for trigger in lookups.find_triggers(store, triggers.keys_in_text(text), audiences, text)]


def on_path(store: Store, path: str, audiences: tuple[str, ...] = SHOP) -> list[tuple[int, str]]:
    return lookups.find_globs(store, globs.keys_of_path(path), audiences)


def contents(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """The derived rows, without the numbers of triggers."""
    asked = {
        "triggers": "SELECT seq, pattern, priority, required FROM triggers",
        "trigger_keys": "SELECT key, literal, seq, pattern, name FROM trigger_keys JOIN triggers AS t ON t.number = trigger"
        " JOIN audiences AS a ON a.number = audience",
        "path_globs": "SELECT key, name, seq, glob FROM path_globs JOIN audiences ON number = audience",
        "governed": "SELECT m.action, a.name, seq FROM governed AS m JOIN audiences AS a ON number = audience",
    }
    derived: dict[str, list[tuple[object, ...]]] = {
        table: sorted(store._connection.execute(sql).fetchall(), key=repr) for table, sql in asked.items()
    }
    derived["keys"] = [(store._connection.execute("SELECT count(*) FROM trigger_keys").fetchall()[0][0],)]
    return derived


def unkeyed_trigger(number: int) -> str:
    """A trigger without a literal."""
    return rf"\d{{{number + 2}}}"


def everything(make: Maker, **fields: object) -> Memory:
    return make(
        "Never commit the swordfish of db/sword.py.",
        **{"triggers": ("swordfish", unkeyed_trigger(0)), "paths": ("*.fish",), "when": {"sword": 1}, **fields},
    )


def ways_to(store: Store, audiences: tuple[str, ...] = SHOP) -> list[str]:
    ways = {
        "trigger": matching_patterns(store, "swordfish", audiences),
        "glob": on_path(store, "a.fish", audiences),
        "action": lookups.find_governing(store, [COMMIT], audiences, 1, 0),
        "words": lookups.find_sharing(store, ["swordfish"], audiences, 1, 0),
        "condition": lookups.find_conditional(store, audiences, 1),
    }
    return [name for name, results in ways.items() if results]


ALL_WAYS = ["trigger", "glob", "action", "words", "condition"]


COMMIT = "action:commit"


def test_a_trigger_is_found_by_a_literal_that_the_text_has(store: Store, make: Maker) -> None:
    deploy, rollback = store.add(
        [make(triggers=("deploy(ed|s)?", "kubectl apply")), make(triggers=("roll ?back",), priority=3)]
    )
    (trigger,) = lookups.find_triggers(store, triggers.keys_in_text("We DEPLOYED it"), SHOP, "We DEPLOYED it")
    assert (trigger.seq, trigger.pattern, trigger.priority, trigger.literal) == (deploy.seq, "deploy(ed|s)?", 0, "deploy")
    assert matching_patterns(store, "kubectl: apply it, then rollbacks") == ["roll ?back", "kubectl apply"]
    assert matching_patterns(store, "kubectl applies, then rollbacks") == ["roll ?back"]  # each match has both words
    assert matching_patterns(store, "the depot, kubelet and roles") == []
    assert lookups.find_triggers(store, [], SHOP, "deployed") == []
    assert rollback.seq not in {
        trigger.seq for trigger in lookups.find_triggers(store, triggers.keys_in_text("deployed"), SHOP, "deployed")
    }


def test_triggers_come_once_by_priority_then_the_newest(store: Store, make: Maker) -> None:
    doubled = ("harbours?", "harbours?", "won\u2019t fix", unkeyed_trigger(0), unkeyed_trigger(0))
    store.add([make(triggers=("harbour|lock",)), make(triggers=doubled), make(triggers=("harb",), priority=1)])
    assert matching_patterns(store, "harbours, a lock") == ["harb", "harbours?", unkeyed_trigger(0), "harbour|lock"]
    assert matching_patterns(store, triggers.plain_text("Won\u2019t fix")) == ["won\u2019t fix", unkeyed_trigger(0)]


WORDS = st.text("abß1é東", min_size=3, max_size=9)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(patterns=st.sets(WORDS, min_size=1, max_size=600), text=st.text("abßAB1é東 ,\n", max_size=300))
def test_every_matching_trigger_is_found(store: Store, make: Maker, patterns: set[str], text: str) -> None:
    memory = make(triggers=())
    store.purge([each.id for each in store.all(STATUSES)])
    keyed = [pattern for pattern in sorted(patterns) if triggers.required_literals(pattern)]
    for start in range(0, len(keyed), 200):
        store.add([memory.with_changes(id=f"m{start}", triggers=tuple(keyed[start : start + 200]))])
    matching = {pattern for pattern in keyed if triggers.compile_trigger(pattern).search(text)}
    assert matching <= set(matching_patterns(store, text))


def test_a_glob_is_found_by_the_paths_that_it_may_match(store: Store, make: Maker) -> None:
    memory = store.add([make(paths=("src/db/**", "*.sql", "src/db/**"))])[0]
    assert on_path(store, "src/db/pool.py") == [(memory.seq, "src/db/**")]
    assert on_path(store, "deep/schema.sql") == [(memory.seq, "*.sql")]
    assert on_path(store, "docs/index.md") == []


@pytest.mark.parametrize(
    ("owner", "seen"),
    [
        ({}, True),
        ({"scope": "org"}, True),
        ({"project": "shop"}, True),
        ({"project": "blog"}, False),
        ({"project": "user"}, False),
    ],
)
def test_only_who_may_see_a_memory_finds_it(store: Store, make: Maker, owner: dict[str, object], seen: bool) -> None:
    store.add([everything(make, **owner)])
    assert ways_to(store) == (ALL_WAYS if seen else [])


def test_all_names_of_a_project_find_what_is_its_own(store: Store, make: Maker) -> None:
    store.add([everything(make, project="/old/path")])
    assert ways_to(store, audiences_of("shop", "/old/path")) == ALL_WAYS


def test_expired_memories_are_left_out_for_a_given_time(store: Store, make: Maker) -> None:
    fields: dict[str, object] = {"triggers": ("swordfish",), "expires_at": 2_000}
    old = store.add([everything(make, **fields), make(id="pin", priority=90, expires_at=2_000)])[0]
    new = store.add([everything(make, triggers=("sword",)), make(id="kept", priority=90, expires_at=2_001)])[0]
    keys = triggers.keys_in_text("swordfish")
    for now_ms, seqs, pins in ((0, [new.seq, old.seq], ["kept", "pin"]), (2_000, [new.seq], ["kept"]), (2_001, [new.seq], [])):
        assert [trigger.seq for trigger in lookups.find_triggers(store, keys, SHOP, "swordfish", now_ms)] == seqs
        assert [seq for seq, _ in lookups.find_globs(store, globs.keys_of_path("a.fish"), SHOP, now_ms)] == seqs[::-1]
        assert lookups.find_governing(store, [COMMIT], SHOP, 9, now_ms) == {COMMIT: seqs}
        assert [seq for seq, _ in lookups.find_conditional(store, SHOP, 9, now_ms)] == seqs
        assert [memory.id for memory in lookups.find_pinned(store, SHOP, 9, now_ms)] == pins
    assert lookups.find_governing(store, [COMMIT], SHOP, 1, 2_000) == {COMMIT: [new.seq]}
    assert len(lookups.find_conditional(store, SHOP, 1, 2_000)) == 1


@pytest.mark.parametrize("status", STATUSES)
def test_only_active_memories_are_found(store: Store, make: Maker, status: str) -> None:
    memory = store.add([everything(make, status=status)])[0]
    assert ways_to(store) == (ALL_WAYS if status == "active" else [])
    store.modify([memory.id], lambda stored: stored.with_changes(status="active"))
    assert ways_to(store) == ALL_WAYS
    store.update([memory.with_changes(status=status)])
    assert ways_to(store) == (ALL_WAYS if status == "active" else [])


def test_changed_memory_replaces_its_old_cues(store: Store, make: Maker) -> None:
    memory = store.add([everything(make)])[0]
    store.update(
        [
            memory.with_changes(
                content="Never commit the harbour.",
                triggers=("harbour",),
                paths=("*.ship",),
                when={"ship": 2},
                project="shop",
                scope="project",
            )
        ]
    )
    assert ways_to(store) == ["action", "condition"]
    assert matching_patterns(store, "the harbour, 12") == ["harbour"]
    assert on_path(store, "a.ship", USER) == []
    assert lookups.find_governing(store, [COMMIT], SHOP, 1, 0) == {COMMIT: [memory.seq]}
    assert [seq for seq, _ in lookups.find_sharing(store, ["harbour", "swordfish"], SHOP, 9, 0)] == [memory.seq]
    assert lookups.find_conditional(store, SHOP, 9) == [(memory.seq, {"ship": 2})]


def test_purging_leaves_no_word_of_a_cue(store: Store, make: Maker, home: Home) -> None:
    memory = store.add([everything(make)])[0]
    store.purge([memory.id])
    store.overwrite_log()
    assert contents(store) == {"triggers": [], "trigger_keys": [], "path_globs": [], "governed": [], "keys": [(0,)]}
    with open(home.memories_db, "rb") as file:
        held = file.read()
    assert not [word for word in (b"swordfish", b"*.fish", b"sword.py") if word in held]


def test_rolled_back_transaction_leaves_no_cues(store: Store, make: Maker) -> None:
    store.add([make(id="taken")])
    before = contents(store)
    with pytest.raises(InvalidMemory, match="the id taken is taken"):
        store.add([everything(make), make(id="taken")])
    assert contents(store) == before


def changing(changes: dict[str, object]) -> Callable[[Memory], Memory]:
    return lambda memory: memory.with_changes(**changes)


FIELDS = st.fixed_dictionaries(
    {
        "content": st.sampled_from(["parse_args", "src/db/pool.py and parse_args", "plain words"]),
        "triggers": st.sets(
            st.sampled_from(["harbour", "anchor|buoy", unkeyed_trigger(0), unkeyed_trigger(1)]), max_size=3
        ).map(tuple),
        "paths": st.sets(st.sampled_from(["src/**", "*.py", "**"]), max_size=2).map(tuple),
        "priority": st.integers(0, 2),
        "status": st.sampled_from(STATUSES),
        "project": st.sampled_from([None, "shop"]),
    }
)


STEPS = st.lists(st.tuples(st.sampled_from(["add", "update", "modify", "purge"]), st.integers(0, 3), FIELDS), max_size=12)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_after_any_writes_they_are_what_would_be_derived_anew(
    store: Store, make: Maker, steps: list[tuple[str, int, dict[str, object]]]
) -> None:
    store.purge([memory.id for memory in store.all(STATUSES)])
    for kind, number, fields in steps:
        id_ = f"m{number}"
        is_there = bool(store.by_ids([id_]))
        changes = {**fields, "scope": "project" if fields["project"] else "user"}
        if kind == "add" and not is_there:
            store.add([make(id=id_, **fields)])
        elif kind == "update" and is_there:
            store.update([make(id=id_, **fields)])
        elif kind == "modify" and is_there:
            store.modify([id_], changing(changes))
        elif kind == "purge" and is_there:
            store.purge([id_])
    written = contents(store)
    store.rebuild_cues()
    assert contents(store) == written


def test_no_memory_changes_when_they_are_derived_anew(store: Store, make: Maker) -> None:
    store.add([everything(make)])
    written, before = contents(store), store.revision()
    store._connection.execute("DELETE FROM governed; DELETE FROM triggers; UPDATE path_globs SET glob = 'x'")
    assert ways_to(store) == ["glob", "words", "condition"]
    store.rebuild_cues()
    assert (contents(store), store.changed_after(before, 1)) == (written, [])


def test_single_writes_leave_few_segments_of_words(store: Store, make: Maker) -> None:
    counts: list[int] = []
    for number in range(40):
        store.add([make(f"swordfish number {number}")])
        counts += store.run("SELECT count(DISTINCT segid) FROM words_idx")[0]
    assert max(counts) == MAX_WORD_SEGMENTS
    assert len(lookups.find_sharing(store, ["swordfish"], USER, 100)) == 40


def test_a_disk_too_full_to_merge_words_takes_notes(store: Store, make: Maker) -> None:
    store.add([make(" ".join(f"word{number}x{position}" for position in range(200))) for number in range(100)])
    store.run("VACUUM")
    store._connection.pragma("max_page_count", int(store._connection.pragma("page_count")) + 6)
    for number in range(8):
        store.add([make(f"swordfish number {number}")])
    assert store.run("SELECT count(DISTINCT segid) FROM words_idx")[0][0] > MAX_WORD_SEGMENTS
    assert len(lookups.find_sharing(store, ["swordfish"], USER, 100)) == 8
