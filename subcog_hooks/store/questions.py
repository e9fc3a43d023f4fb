"""The questions that a memory answers, as JSON and as they are put together. No storage here."""

from __future__ import annotations

from subcog_hooks.store.memory import ORIGINS, PERSON, AnsweredQuestion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def to_json(questions: Iterable[AnsweredQuestion]) -> list[object]:
    """Return questions as they are stored and exported: a person's as a text, another's as an object that names who put it.

    >>> to_json([AnsweredQuestion("who rotates the keys?"), AnsweredQuestion("key rotation", "agent")])
    ['who rotates the keys?', {'text': 'key rotation', 'by': 'agent'}]
    """
    return [one.text if one.by == PERSON else _described(one) for one in questions]


def _described(question: AnsweredQuestion) -> dict[str, str]:
    told = {"text": question.text, "by": question.by}
    return told | {"decision": question.decision} if question.decision else told


def from_json(values: object) -> tuple[AnsweredQuestion, ...]:
    """Return the questions that `to_json` has written. Raises ValueError for anything else.

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


def distinct(questions: Iterable[AnsweredQuestion]) -> tuple[AnsweredQuestion, ...]:
    """Return the questions without those whose text an earlier one has.

    >>> distinct([AnsweredQuestion("who?"), AnsweredQuestion("who?", "agent")])
    (AnsweredQuestion('who?', 'person'),)
    """
    found: dict[str, AnsweredQuestion] = {}
    for question in questions:
        found.setdefault(question.text, question)
    return tuple(found.values())


def without_learned(questions: Iterable[AnsweredQuestion]) -> tuple[AnsweredQuestion, ...]:
    """Return the questions without those that were learned from prompts on nobody's word: what may leave this machine.

    >>> without_learned([AnsweredQuestion("who?", "learned"), AnsweredQuestion("why?", "learned", "0b7")])
    (AnsweredQuestion('who?', 'learned'),)
    """
    return tuple([question for question in questions if not question.decision])


def for_good(questions: Iterable[AnsweredQuestion]) -> tuple[AnsweredQuestion, ...]:
    """Return the questions as they stay whatever becomes of the records of prompts.

    >>> for_good([AnsweredQuestion("why?", "learned", "0b7")])
    (AnsweredQuestion('why?', 'learned'),)
    """
    return tuple([AnsweredQuestion(question.text, question.by) for question in questions])


def put_by(texts: Iterable[str], by: str, before: Sequence[AnsweredQuestion] = ()) -> tuple[AnsweredQuestion, ...]:
    """Return questions of these texts. before: of those that are there already the origin stays.

    >>> put_by(["who?", "when?"], "agent", [AnsweredQuestion("who?")])
    (AnsweredQuestion('who?', 'person'), AnsweredQuestion('when?', 'agent'))
    """
    known = {question.text: question for question in before}
    return distinct([known.get(text) or AnsweredQuestion(text, by) for text in texts])
