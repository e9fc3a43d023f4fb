"""Advice for a search that finds nothing: words and tags that the memories it looked through do have."""

from __future__ import annotations

from subcog_hooks.recall import lexical, query, spelling
from subcog_hooks.text.vocabulary import EVERYDAY, STOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    import tantivy

    from subcog_hooks.memory.index import LexicalIndex
    from subcog_hooks.recall.candidates import Request

MAX_SUGGESTIONS = 6  # suggestions
EDITS = 2  # between what was written and a word that is suggested for it
SHARED = 4  # first letters that a suggested word shares
A_WORD = 2  # suggestions for one word of the query
READ = 200  # words of the same beginning that are looked at


def near(request: Request, index: LexicalIndex) -> list[str]:
    """Return words and tags of the memories in the request's scope: the nearest to the query's words, then common tags.

    Raises IndexUnusable.
    """
    within = lexical.scope(index, request.scope)
    found: list[str] = []
    for term in query.analyse(request.text, index).terms:
        if term.whole in STOP:
            continue
        nearest = spelling.similar(term.whole, index, EDITS, within)
        if len(term.whole) >= SHARED:
            beginning = term.whole[:SHARED]
            nearest += [tag for tag, _ in index.tags_with(beginning, READ, within)]
            words = [word for word, _ in index.words_with(beginning, READ, within)]
            nearest += sorted(words, key=lambda word: (abs(len(word) - len(term.whole)), word))
        found += [word for word in dict.fromkeys(nearest) if word not in (term.whole, *STOP) and not word.isdigit()][:A_WORD]
    found += [tag for tag, _ in index.tags_with("", READ, within) if tag not in STOP]
    return list(dict.fromkeys(found))[:MAX_SUGGESTIONS] or _common(index, within)


def _common(index: LexicalIndex, within: tantivy.Query) -> list[str]:
    """Return the words that most memories have, where they have no tags: what there is to ask for at all."""
    words = [word for word, _ in index.words_with("", READ, within) if len(word) >= SHARED and word.isalpha()]
    return [word for word in words if word not in STOP and word not in EVERYDAY][:MAX_SUGGESTIONS]
