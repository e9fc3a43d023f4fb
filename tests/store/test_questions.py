import pytest

from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.core.paths import Home
from subcog_hooks.store.memory import AGENT, MAX_QUESTION, MAX_QUESTIONS, AnsweredQuestion
from subcog_hooks.store.memory_checks import check_memory
from subcog_hooks.store.questions import from_json
from subcog_hooks.store.store import Store
from tests.conftest import Maker

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
        from_json(value)


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
