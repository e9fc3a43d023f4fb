"""The questions that a memory answers: their JSON form and their merging. No storage here."""

from __future__ import annotations

from subcog_hooks.store.memory import ORIGINS, PERSON, AnsweredQuestion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def to_json(questions: Iterable[AnsweredQuestion]) -> list[object]:
    """Return the stored and exported form: a person's question as a text, any other as an object with its origin.

    >>> to_json([AnsweredQuestion("who rotates the keys?"), AnsweredQuestion("key rotation", "agent")])
    ['who rotates the keys?', {'text': 'key rotation', 'by': 'agent'}]
    """
    return [question.text if question.by == PERSON else _question_object(question) for question in questions]


def _question_object(question: AnsweredQuestion) -> dict[str, str]:
    fields = {"text": question.text, "by": question.by}
    return fields | {"decision": question.decision} if question.decision else fields


def from_json(values: object) -> tuple[AnsweredQuestion, ...]:
    """Return the questions of a list that `to_json` has written. Raises ValueError for anything else.

    >>> from_json(["who rotates the keys?", {"text": "key rotation", "by": "agent"}])
    (AnsweredQuestion('who rotates the keys?', 'person'), AnsweredQuestion('key rotation', 'agent'))
    """
    if not isinstance(values, list):
        raise ValueError(f"{values!r} is no list")
    return tuple([_question_of(value) for value in values])


def _question_of(value: object) -> AnsweredQuestion:
    if isinstance(value, str):
        return AnsweredQuestion(value)
    if isinstance(value, dict) and value.keys() <= {"text", "by", "decision"} and isinstance(value.get("text"), str):
        by, decision = value.get("by", PERSON), value.get("decision", "")
        if by in ORIGINS and isinstance(decision, str):
            return AnsweredQuestion(value["text"], by, decision)
    raise ValueError(f"{value!r} is no question")


def distinct_questions(questions: Iterable[AnsweredQuestion]) -> tuple[AnsweredQuestion, ...]:
    """Return the questions without repeated texts; the first of each stays.

    >>> distinct_questions([AnsweredQuestion("who?"), AnsweredQuestion("who?", "agent")])
    (AnsweredQuestion('who?', 'person'),)
    """
    by_text: dict[str, AnsweredQuestion] = {}
    for question in questions:
        by_text.setdefault(question.text, question)
    return tuple(by_text.values())


def without_learned(questions: Iterable[AnsweredQuestion]) -> tuple[AnsweredQuestion, ...]:
    """Return the questions that may leave this machine: none learned from prompts without a person's approval.

    >>> without_learned([AnsweredQuestion("who?", "learned"), AnsweredQuestion("why?", "learned", "0b7")])
    (AnsweredQuestion('who?', 'learned'),)
    """
    return tuple([question for question in questions if not question.decision])


def without_records(questions: Iterable[AnsweredQuestion]) -> tuple[AnsweredQuestion, ...]:
    """Return the questions without the decisions whose records they depend on.

    >>> without_records([AnsweredQuestion("why?", "learned", "0b7")])
    (AnsweredQuestion('why?', 'learned'),)
    """
    return tuple([AnsweredQuestion(question.text, question.by) for question in questions])


def questions_by(texts: Iterable[str], by: str, before: Sequence[AnsweredQuestion] = ()) -> tuple[AnsweredQuestion, ...]:
    """Return questions with these texts and this origin. before: questions that keep their own origin.

    >>> questions_by(["who?", "when?"], "agent", [AnsweredQuestion("who?")])
    (AnsweredQuestion('who?', 'person'), AnsweredQuestion('when?', 'agent'))
    """
    by_text = {question.text: question for question in before}
    return distinct_questions([by_text.get(text) or AnsweredQuestion(text, by) for text in texts])
