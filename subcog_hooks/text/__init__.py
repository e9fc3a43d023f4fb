"""Words for reading texts: function words, everyday words of prompts, and classes for the patterns of intent."""

from subcog_hooks.core.files import read_words

_WORDS = read_words(__file__, "vocabulary.tsv")

CLASSES = {name[1:]: words for name, words in _WORDS.items() if name[0] == "@"}
STOP = _WORDS["function words"] | _WORDS["of queries"]  # No query needs them.
FILLERS = _WORDS["function words"] | _WORDS["of talk"]  # words without content of their own in a prompt
EVERYDAY = _WORDS["everyday"]  # words that weigh less in a query
SMALL_WORDS = _WORDS["small words"]
GOVERNED = _WORDS["governed"]
OPENERS = _WORDS["openers"]
ACKNOWLEDGED = _WORDS["acknowledged"]
