"""The Memory model: valid and invalid fields, the messages about them, and its questions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.core.paths import Home
from subcog_hooks.store.memory import (
    AGENT,
    MAX_QUESTION,
    MAX_QUESTIONS,
    AnsweredQuestion,
    IdMaker,
    Memory,
    hash_content,
    questions_from_json,
)
from subcog_hooks.store.memory_checks import check_memory
from subcog_hooks.store.store import Store
from tests.conftest import Maker


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


def test_a_copy_with_another_content_has_another_hash(make: Maker) -> None:
    memory = make("one")
    assert memory.with_changes(content="two").content_hash == hash_content("two")
    assert memory.with_changes(namespace="decisions").content_hash == memory.content_hash


@given(st.lists(st.integers(min_value=0, max_value=2**40), min_size=1, max_size=50))
def test_ids_rise_strictly_whatever_the_clock_does(times: list[int]) -> None:
    maker = IdMaker()
    ids = [maker.new(time_ms) for time_ms in times for _ in range(3)]
    assert ids == sorted(set(ids))
    assert all(len(id_) == 14 for id_ in ids)


def test_the_urn_names_scope_namespace_and_id(make: Maker) -> None:
    assert make(id="a1", namespace="decisions").urn == "subcog://user/decisions/a1"


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
