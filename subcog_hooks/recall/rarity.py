"""The rarity of a prompt's words among the memories: what makes a word a topic worth searching for."""

from __future__ import annotations

from math import log

from subcog_hooks.text import analysis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.memory.index import LexicalIndex


def in_index(index: LexicalIndex) -> Callable[[str], float | None]:
    """Return a function that gives the rarity of a word in `index`.

    The rarity is 0.0 where every memory has the word, 1.0 where one has it, and None where none has.

    Of an identifier the rarest part counts. The function raises IndexUnusable.
    """
    everything = log(1.0 + index.documents / 0.5)

    def rarity(word: str) -> float | None:
        stems = index.analysers.body.analyze(analysis.spread(analysis.fold(word)))
        known = [stem for stem in stems if index.document_frequency(analysis.BODY, stem)]
        if not known:
            return None
        return min(1.0, max(index.rarity(analysis.BODY, stem) for stem in known) / everything)

    return rarity
