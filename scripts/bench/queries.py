"""Make the queries that recall is measured with: words, questions, identifiers and prompts about the synthetic memories."""

import random
from collections.abc import Sequence
from itertools import chain, cycle, islice
from typing import NamedTuple

from scripts.bench.memories import SEED, make_memories, project_name

KINDS = ("words", "question", "identifier", "prompt")
PROMPT_WORDS = 60
QUESTIONS = (
    "How do we {} the {} of the {} {}, and who may do it?",
    "Where is the {} for the {} and the {} {} kept?",
    "What did we decide about {} and {} in the {} of the {}?",
    "Why does the {} {} fail when the {} is {}?",
    "Which {} has to be there before the {} can use the {} {}?",
    "When did we move the {} from {} to {}, and what about the {}?",
)
PHRASES = (
    "I am working on the",
    "and I noticed that the",
    "does not do what it should when the",
    "please have a look at",
    "because the",
    "was changed last week, so that",
    "instead of",
    "before we can merge it;",
    "as far as I can see the",
    "should be kept as it is in",
    "could you find out why",
    "and write a test for the",
)


class Query(NamedTuple):
    """A text to ask with. kind: one of KINDS."""

    kind: str
    text: str


def make_queries(count: int) -> list[Query]:
    """Make different queries, one of each kind in turn, about memories that the asker may see; the same for every size."""
    chance = random.Random(SEED)
    mine = (None, project_name(0))
    seen = (memory for memory in make_memories(100 * count) if memory.get("project") in mine)
    texts = (str(memory["content"]).split() for memory in seen)
    made: dict[str, str] = {}
    kinds = cycle(KINDS)
    kind = next(kinds)
    for words in texts:
        text = _query(kind, list(dict.fromkeys(word.strip(".") for word in words)), chance)
        if text is not None and text not in made:
            made[text] = kind
            kind = next(kinds)
        if len(made) == count:
            break
    return [Query(kind, text) for text, kind in made.items()]


def _query(kind: str, words: Sequence[str], chance: random.Random) -> str | None:
    """Make a query of this kind in the words of one memory, None when they do not make one."""
    plain = [word for word in words if word.isalpha() and len(word) > 3]
    identifiers = [word for word in words if not word.isalpha()]
    if len(plain) < 4 or (kind == "identifier" and not identifiers):
        return None
    if kind == "identifier":
        return chance.choice(identifiers)
    if kind == "words":
        return " ".join(chance.sample(plain, 3))
    if kind == "question":
        return chance.choice(QUESTIONS).format(*chance.sample(plain, 4))
    phrases = cycle(chance.sample(PHRASES, len(PHRASES)))
    named = cycle(chance.sample([*plain, *identifiers], len(plain) + len(identifiers)))
    said = chain.from_iterable((*next(phrases).split(), next(named), next(named)) for _ in range(PROMPT_WORDS))
    text = " ".join(islice(said, PROMPT_WORDS))
    return f"{text[0].upper()}{text[1:]}."
