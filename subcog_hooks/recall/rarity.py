"""How rare a word of a prompt is among the memories: what makes it a topic worth searching for."""

from math import log

from subcog_hooks.memory.index import LexicalIndex
from subcog_hooks.text import analysis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def in_index(index: LexicalIndex) -> "Callable[[str], float | None]":
    """The rarity of a word in `index`: from 0.0, every memory has it, to 1.0, one has; None for a word that none has.

    Of an identifier the rarest part counts. What it gives raises IndexUnusable.
    """
    everything = log(1.0 + index.documents / 0.5)

    def rarity(word: str) -> float | None:
        stems = index.analysers.body.analyze(analysis.spread(analysis.fold(word)))
        known = [stem for stem in stems if index.document_frequency(analysis.BODY, stem)]
        if not known:
            return None
        return min(1.0, max(index.rarity(analysis.BODY, stem) for stem in known) / everything)

    return rarity
