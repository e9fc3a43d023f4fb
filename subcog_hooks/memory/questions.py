"""The questions that a memory answers, in other words than its own, and who put each of them. No storage here."""

from subcog_hooks.errors import InvalidMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PERSON, AGENT, MODEL, LEARNED = "person", "agent", "model", "learned"
ORIGINS = (PERSON, AGENT, MODEL, LEARNED)
MAX_QUESTIONS = 8  # of one memory: each has a vector of its own
MAX_QUESTION = 200  # characters


class AnsweredQuestion:
    """A question that a memory answers. by: who put it, one of ORIGINS."""

    __slots__ = ("by", "text")

    def __init__(self, text: str, by: str = PERSON) -> None:
        self.text = text
        self.by = by

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnsweredQuestion) and (self.text, self.by) == (other.text, other.by)

    def __hash__(self) -> int:
        return hash((self.text, self.by))

    def __repr__(self) -> str:
        return f"AnsweredQuestion({self.text!r}, {self.by!r})"


def to_json(questions: "Iterable[AnsweredQuestion]") -> list[object]:
    """Return questions as they are stored and exported: a person's as a text, another's as an object that names who put it.

    >>> to_json([AnsweredQuestion("who rotates the keys?"), AnsweredQuestion("key rotation", AGENT)])
    ['who rotates the keys?', {'text': 'key rotation', 'by': 'agent'}]
    """
    return [one.text if one.by == PERSON else {"text": one.text, "by": one.by} for one in questions]


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
    if isinstance(value, dict) and value.keys() <= {"text", "by"} and isinstance(value.get("text"), str):
        by = value.get("by", PERSON)
        if by in ORIGINS:
            return AnsweredQuestion(value["text"], by)
    raise ValueError(f"{value!r} is no question")


def distinct(questions: "Iterable[AnsweredQuestion]") -> tuple[AnsweredQuestion, ...]:
    """Return the questions without those whose text an earlier one has.

    >>> distinct([AnsweredQuestion("who?"), AnsweredQuestion("who?", AGENT)])
    (AnsweredQuestion('who?', 'person'),)
    """
    found: dict[str, AnsweredQuestion] = {}
    for question in questions:
        found.setdefault(question.text, question)
    return tuple(found.values())


def put_by(texts: "Iterable[str]", by: str, before: "Sequence[AnsweredQuestion]" = ()) -> tuple[AnsweredQuestion, ...]:
    """Return questions of these texts. before: of those that are there already the origin stays.

    >>> put_by(["who?", "when?"], AGENT, [AnsweredQuestion("who?")])
    (AnsweredQuestion('who?', 'person'), AnsweredQuestion('when?', 'agent'))
    """
    known = {question.text: question for question in before}
    return distinct([known.get(text) or AnsweredQuestion(text, by) for text in texts])


def check(questions: "Sequence[AnsweredQuestion]") -> None:
    """Raise InvalidMemory when there are too many questions, or one does not hold."""
    if len(questions) > MAX_QUESTIONS:
        raise InvalidMemory(f"there are {len(questions)} questions, at most {MAX_QUESTIONS} are kept", "keep the likeliest")
    for question in questions:
        if not question.text.strip():
            raise InvalidMemory("a question is empty", "give its words")
        if len(question.text) > MAX_QUESTION:
            raise InvalidMemory(
                f"the question {question.text[:40]!r}… has {len(question.text)} characters, at most {MAX_QUESTION} are kept",
                "put it shorter",
            )
        if question.by not in ORIGINS:
            raise InvalidMemory(f"a question is by {question.by!r}", "expected one of " + ", ".join(ORIGINS))
