"""memories.db: memories come back unchanged, commits last, and faults are reported."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.core.errors import InvalidMemory, NoMemory, StoreBusy, StoreCorrupt, StoreError, StoreTooNew, StoreTooOld
from subcog_hooks.core.paths import Home
from subcog_hooks.store.home_files import ProcessLock, is_held
from subcog_hooks.store.memory import AGENT, MAX_QUESTION, MAX_QUESTIONS, AnsweredQuestion, IdMaker, Memory, questions_from_json
from subcog_hooks.store.memory_checks import check_memory
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import SCHEMA, Filter, Mark, audiences_of
from tests.conftest import Maker


def test_every_field_of_a_memory_survives_the_store(store: Store, make: Maker) -> None:
    memory = make(
        "Ä line\nand \x00 another 東京",
        namespace="decisions",
        project="github.com/acme/shop",
        branch="main",
        paths=("src/*.py",),
        tags=("a", "b"),
        keywords=("k",),
        triggers=("err(or)?",),
        when={"branch": ["x", "y"], "n": 1},
        priority=7,
        superseded_by="zz",
        source="README.md:3",
        trust="file",
        expires_at=9_000_000_000_000,
    )
    store.add([memory])
    stored = store.get(memory.id)
    assert {name: getattr(stored, name) for name in stored.__annotations__} == {
        name: getattr(memory, name) for name in memory.__annotations__
    }


def test_a_taken_id_is_refused_with_its_whole_batch(store: Store, make: Maker) -> None:
    store.add([make("one", id="a")])
    with pytest.raises(InvalidMemory, match="the id a is taken"):
        store.add([make("two", id="b"), make("three", id="a")])
    assert store.counts() == {"active": 1}


def test_an_update_changes_the_memory_and_moves_the_revision(store: Store, make: Maker) -> None:
    memory = store.add([make("one")])[0]
    before = store.revision()
    store.update([memory.with_changes(content="two")])
    assert store.get(memory.id).content == "two"
    assert store.revision() > before
    assert [changed.id for changed in store.changed_after(before, 10)] == [memory.id]


def test_purged_memories_leave_the_file_and_the_caches(store: Store, make: Maker, home: Home) -> None:
    memory = store.add([make("the launch code is swordfish")])[0]
    before = store.revision()
    store.purge([memory.id])
    store.overwrite_log()
    with pytest.raises(NoMemory):
        store.get(memory.id)
    assert store.purged_after(before) == [memory.seq]
    for suffix in ("", "-wal"):
        with open(home.memories_db + suffix, "rb") as file:
            assert b"swordfish" not in file.read()


def test_a_row_number_is_never_used_twice(store: Store, make: Maker) -> None:
    first = store.add([make("one")])[0].seq
    store.purge([store.by_seqs([first])[first].id])
    assert store.add([make("two")])[0].seq > first


def test_filter_selects_the_described_memories(store: Store, make: Maker) -> None:
    store.add(
        [
            make(id="user", tags=("auth",)),
            make(id="org", scope="org", paths=("src/*.py",)),
            make(id="shop", project="shop", namespace="decisions"),
            make(id="blog", project="blog", tags=("auth", "spa"), created_at=5_000),
            make(id="old", status="archived"),
            make(id="expired", expires_at=1),
        ]
    )
    cases = [
        (Filter(), {"user", "org", "shop", "blog"}),
        (Filter(audiences=audiences_of("shop")), {"user", "org", "shop"}),
        (Filter(audiences=audiences_of()), {"user", "org"}),
        (Filter(namespaces=("decisions",)), {"shop"}),
        (Filter(tags=("auth", "spa")), {"blog"}),
        (Filter(paths=("src/a.py",)), {"org"}),
        (Filter(since=5_000), {"blog"}),
        (Filter(statuses=("archived",)), {"old"}),
        (Filter(statuses=()), {"user", "org", "shop", "blog", "old"}),
        (Filter(statuses=(), include_expired=True), {"user", "org", "shop", "blog", "old", "expired"}),
    ]
    failures = [
        (wanted, actual) for wanted, expected in cases if (actual := {memory.id for memory in store.select(wanted)}) != expected
    ]
    assert failures == []


def test_the_files_are_the_users_alone(store: Store, home: Home) -> None:
    assert stat.S_IMODE(os.stat(home.root).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(home.memories_db).st_mode) == 0o600


def test_commits_are_made_to_survive_a_power_cut(store: Store, home: Home) -> None:
    connection = store._connection
    assert connection.pragma("journal_mode") == "wal"
    assert connection.pragma("synchronous") == 2


def test_a_reader_does_not_wait_for_a_writer(store: Store, make: Maker, home: Home) -> None:
    memory = store.add([make()])[0]
    writer = apsw.Connection(home.memories_db)
    writer.execute("BEGIN IMMEDIATE")
    with Store.reader(home, busy_ms=0) as reader:
        assert reader.get(memory.id).content == memory.content
    writer.execute("ROLLBACK")


def test_a_writer_waits_for_a_bounded_time_only(store: Store, make: Maker, home: Home) -> None:
    other = apsw.Connection(home.memories_db)
    other.execute("BEGIN IMMEDIATE")
    with Store.writer(home, busy_ms=1) as blocked, pytest.raises(StoreBusy, match="locked by another process; try again"):
        blocked.add([make()])
    other.execute("ROLLBACK")


def test_bytes_that_are_no_database_are_called_damaged(store: Store, home: Home) -> None:
    store.close()
    with open(home.memories_db, "r+b") as file:
        file.write(b"garbage" * 100)
    for opener in (Store.reader, Store.writer):
        with pytest.raises(StoreCorrupt, match="is damaged"):
            opener(home)


def test_a_lost_table_of_triggers_is_a_fault_of_the_store(store: Store, make: Maker) -> None:
    store._connection.execute("DROP TABLE trigger_keys")
    with pytest.raises(StoreError, match="trigger_keys"):
        store.add([make(triggers=("harbour",))])


def test_another_programs_database_is_left_alone(home: Home) -> None:
    home.create()
    other = apsw.Connection(home.memories_db)
    other.execute("CREATE TABLE t (x)")
    other.close()
    with pytest.raises(StoreCorrupt, match="is not a subcog database; move it away"):
        Store.writer(home)


def test_a_store_of_a_later_version_is_not_touched(store: Store, home: Home) -> None:
    store._connection.pragma("user_version", 99)
    for opener in (Store.reader, Store.writer):
        with pytest.raises(StoreTooNew, match="written by a later version of subcog; upgrade subcog"):
            opener(home)


def test_a_store_from_before_0_1_0_is_not_touched(store: Store, home: Home) -> None:
    store._connection.pragma("user_version", SCHEMA.version - 1)
    for opener in (Store.reader, Store.writer):
        with pytest.raises(
            StoreTooOld, match=r"is of a version before 0\.1\.0; run `subcog export` with the version that wrote"
        ):
            opener(home)
    assert store._connection.pragma("user_version") == SCHEMA.version - 1


def test_revisions_are_forgotten_beyond_the_last_ten_thousand(
    store: Store, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("subcog_hooks.store.store.KEPT_REVISIONS", 3)
    seen = []
    for _ in range(6):
        store.add([make()])
        seen.append(store.revision())
    assert [store.has_revision(number) for number in seen] == [False, False, False, True, True, True]


def marks_of(store: Store, *seqs: int) -> list[tuple[int, str, str, int]]:
    return [(mark.seq, mark.verdict, mark.terms, mark.made_at) for mark in store.marks(seqs)]


def test_no_cache_follows_a_mark(store: Store, make: Maker) -> None:
    memory = store.add([make()])[0]
    before = store.revision()
    store.mark(Mark(memory.seq, "a", "{}", 1))
    store.unmark(memory.seq, ["a"])
    assert (store.revision(), store.changed_after(before, 10)) == (before, [])


def test_a_mark_survives_changes_and_goes_with_its_memory(store: Store, make: Maker, home: Home) -> None:
    kept, forgotten, purged = store.add([make("kept"), make("forgotten"), make("purged")])
    for memory in (kept, forgotten, purged):
        store.mark(Mark(memory.seq, "a", '{"swordfish": 1.0}' if memory is purged else "{}", 1))
    store.update([kept.with_changes(content="changed", status="archived")])
    store.modify([forgotten.id], lambda memory: memory.with_changes(status="deleted"))
    store.purge([purged.id])
    store.overwrite_log()
    assert marks_of(store, kept.seq, forgotten.seq, purged.seq) == [(kept.seq, "a", "{}", 1)]
    with open(home.memories_db, "rb") as file:
        assert b"swordfish" not in file.read()


def test_a_field_that_does_not_hold_is_named_with_its_remedy(make: Maker, subtests: pytest.Subtests) -> None:
    cases = [
        ("content", "  \n", "content is empty"),
        ("content", "x" * 1_000_001, "content has 1,000,001 characters"),
        ("id", "a/b", "id is 'a/b'"),
        ("id", "a" * 65, "an id has 1 to 64"),
        ("namespace", "Two Words", "namespace is 'Two Words'"),
        ("scope", "world", "scope is 'world'; expected one of project, user, org"),
        ("status", "gone", "status is 'gone'"),
        ("trust", "me", "trust is 'me'"),
        ("priority", 101, "priority is 101; expected 0 to 100"),
        ("tags", ("",), "tags has the entry ''"),
        ("tags", ("x" * 1_001,), "an entry has 1 to 1000 characters"),
        ("tags", tuple(str(i) for i in range(201)), "tags has 201 entries"),
        ("triggers", ("(",), "triggers has '(': missing )"),
        ("triggers", ("word", r"(?=x)"), "triggers has '(?=x)': invalid perl operator: (?="),
        ("paths", ("src/**", r"src\db"), "paths has"),
        ("paths", ("x" * 1_001,), "an entry has 1 to 1000 characters"),
        ("superseded_by", "", "superseded_by is ''"),
        ("when", {"branch": None}, "when has 'branch'"),
    ]
    for field, value, message in cases:
        with subtests.test(field=field):
            with pytest.raises(InvalidMemory) as raised:
                check_memory(make(**{field: value}))
            assert message in str(raised.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [("content", "x" * 1_000_000), ("id", "a" * 64), ("priority", 100), ("tags", ("x" * 1_000, *(str(i) for i in range(199))))],
)
def test_the_most_that_a_field_may_hold_holds(make: Maker, field: str, value: object) -> None:
    assert getattr(check_memory(make(**{field: value})), field) == value


def test_only_memories_of_scope_project_have_a_project() -> None:
    with pytest.raises(InvalidMemory, match="only scope project has a project"):
        check_memory(Memory(id="a", content="b", scope="user", project="github.com/a/b"))
    with pytest.raises(InvalidMemory, match="only scope project has a project"):
        check_memory(Memory(id="a", content="b", scope="project"))


def test_a_memory_lives_while_it_is_active_and_has_not_expired(make: Maker) -> None:
    assert make(expires_at=11).is_live(10)
    assert not make(expires_at=10).is_live(10)
    assert not make(status="superseded").is_live(0)


@given(st.lists(st.integers(min_value=0, max_value=2**40), min_size=1, max_size=50))
def test_ids_rise_strictly_whatever_the_clock_does(times: list[int]) -> None:
    maker = IdMaker()
    ids = [maker.new(time_ms) for time_ms in times for _ in range(3)]
    assert ids == sorted(set(ids))
    assert all(len(id_) == 14 for id_ in ids)


ASKED = (
    AnsweredQuestion("who rotates the keys?"),
    AnsweredQuestion("key rotation", AGENT),
    AnsweredQuestion("vault runbook", "learned"),
)


def test_the_store_gives_questions_back_with_their_origins(home: Home, make: Maker) -> None:
    with Store.writer(home) as store:
        store.add([make("The keys are rotated every quarter.", id="keys", questions=ASKED), make("Other.", id="other")])
        assert (store.get("keys").questions, store.get("other").questions) == (ASKED, ())
        store.update([store.get("keys").with_changes(questions=ASKED[1:])])
        assert store.get("keys").questions == ASKED[1:]


@pytest.mark.parametrize(
    "value", ["who?", [3], [{"by": "agent"}], [{"text": "who?", "by": "somebody"}], [{"text": "a", "n": 1}]]
)
def test_anything_else_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="is no"):
        questions_from_json(value)


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ([f"number {number}?" for number in range(MAX_QUESTIONS + 1)], "there are 9 questions, at most 8 are kept"),
        (["x" * (MAX_QUESTION + 1)], "has 201 characters, at most 200 are kept"),
        ([" "], "a question is empty"),
    ],
)
def test_exceeded_limits_give_one_line(make: Maker, questions: list[str], message: str) -> None:
    with pytest.raises(InvalidMemory, match=message) as refused:
        check_memory(make("Text.", questions=tuple(map(AnsweredQuestion, questions))))
    assert "\n" not in str(refused.value)


def test_as_many_and_as_long_as_allowed_are_kept(make: Maker) -> None:
    questions_at_the_limit = tuple(AnsweredQuestion(f"{number}" + "x" * (MAX_QUESTION - 1)) for number in range(MAX_QUESTIONS))
    assert check_memory(make("Text.", questions=questions_at_the_limit)).questions == questions_at_the_limit


ROOT = Path(__file__).parents[2]


HOLD = """
import sys
from subcog_hooks.store.home_files import ProcessLock
with ProcessLock(sys.argv[1], 0, "holding"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_process_holds_it_until_it_is_killed(tmp_path: Path) -> None:
    path = str(tmp_path / "folder" / "x.lock")
    holder = subprocess.Popen([sys.executable, "-c", HOLD, path], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert is_held(path)
        with pytest.raises(StoreBusy, match="another process has been waiting for a test for long"):
            ProcessLock(path, 10, "waiting for a test").__enter__()
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
    with ProcessLock(path, 0, "waiting for a test"):
        assert is_held(path)
    assert not is_held(path)


def test_marks_are_kept_by_memory_and_verdict(store: Store, make: Maker) -> None:
    first, second = (memory.seq for memory in store.add([make("one"), make("two")]))
    assert store.marks([first, second]) == store.marks([]) == []
    for mark in (
        Mark(first, "a", "{}", 2),
        Mark(first, "b", "{}", 1),
        Mark(second, "a", "{}", 3),
        Mark(first, "a", '{"x": 1.0}', 4),
    ):
        store.mark(mark)
    assert marks_of(store, first) == [(first, "b", "{}", 1), (first, "a", '{"x": 1.0}', 4)]
    assert marks_of(store, first, second, 99) == [(first, "b", "{}", 1), (second, "a", "{}", 3), (first, "a", '{"x": 1.0}', 4)]
    store.unmark(first, ["a", "c"])
    assert marks_of(store, first, second) == [(first, "b", "{}", 1), (second, "a", "{}", 3)]
