"""A question to an LLM, and the shape of its answer. No network here."""

from __future__ import annotations

SHORT_ANSWER = 200  # tokens: a type, a confidence and five topics in JSON

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Question:
    """One question to an LLM.

    system: its instructions; user: the text of the question, which has to be free of secrets: it leaves the machine. name: of
    the answer, one word; purpose: of the answer, a sentence; schema: the answer's JSON Schema, in the part that all providers
    support; longest: the tokens that the answer may have.
    """

    __slots__ = ("longest", "name", "purpose", "schema", "system", "user")

    def __init__(
        self, system: str, user: str, name: str, purpose: str, schema: Mapping[str, object], longest: int = SHORT_ANSWER
    ) -> None:
        self.longest = longest
        self.system = system
        self.user = user
        self.name = name
        self.purpose = purpose
        self.schema = schema
