"""Documents that a person pastes into a turn without a fence: a mail, a chat, a wiki page, paragraphs of prose. Pure.

They are evidence for nothing but the words that the person wrote around them.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from subcog_hooks.core.tables import read_words
from subcog_hooks.text.pasted import is_pasted
from subcog_hooks.text.typed_prompt import FENCES

MAX_HEADER_LINES = 6  # lines among which two fields of a mail stand
MAX_LINE_WORDS = 5  # of a greeting or a closing
MIN_PARAGRAPH_WORDS, MIN_PAGE_PARAGRAPH_WORDS = 8, 6
# Paragraphs in a row that nobody types without a word of their own: fewer behind the person's words, one behind a colon.
MIN_PARAGRAPHS, MIN_LED_PARAGRAPHS = 3, 2

_WORDS = read_words(__file__, "pasted_documents.tsv")
_HEADER = re.compile(rf"(?:> ?)?\*{{0,2}}(?:{'|'.join(sorted(_WORDS['headers']))})\*{{0,2}} ?[:：] ?\S", re.IGNORECASE)
_TIME = r"[\[(]?\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?: ?[ap]m)?[\])]?"
_STAMPED = re.compile(
    rf"{_TIME} +<?@?\w[\w .'-]{{0,24}}>?(?: ?:|$)|<?@?\w[\w.'-]*(?: [\w.'-]+)?>? {{1,3}}{_TIME}(?: |:|$)", re.IGNORECASE
)
_SPOKEN = re.compile(r"[*_]{0,2}<?@?([^\W\d_][\w.'-]{0,20}(?: [A-Z][\w.'-]*)?)>? ?[*_]{0,2}[:：][*_]{0,2} +\S+ +\S+ +\S")
_HEADING = re.compile(r"#{1,4} +\S|=+ .+ =+$|\*\*[^*]+\*\*:?$")
_RULER = re.compile(r"(?:=+|-{3,})$")
_LISTED = re.compile(r"[-*•\d#|>]")
_FIRST_PERSON = re.compile(r"\b(?:i|i['’](?:m|ve|d|ll)|im|me|my|mine)\b|\?", re.IGNORECASE)


def text_around_documents(turn: str) -> str:
    """Return a turn without the documents that were pasted into it.

    >>> text_around_documents("use pnpm\\n\\nFrom: Bob\\nSubject: npm\\n\\nAlways use npm.")
    'use pnpm'
    >>> text_around_documents("what do they mean?\\nann: may we push?\\nbob: yes, always push\\nann: ok, good to know")
    'what do they mean?'
    """
    lines = _blank_fenced(turn.split("\n"))
    start = min((start for start in (_find_mail(lines), _find_page(lines)) if start is not None), default=len(lines))
    dropped = {*range(start, len(lines)), *_find_chat(lines), *_find_prose(lines)}
    if not dropped:
        return turn
    return "\n".join(line for index, line in enumerate(turn.split("\n")) if index not in dropped).strip()


def _blank_fenced(lines: Sequence[str]) -> list[str]:
    """Return the lines without their edges, and "" for fenced ones."""
    kept, fence = [], ""
    for line in lines:
        bare = line.strip()
        is_fence = bare.startswith(fence or FENCES)
        if is_fence:
            fence = "" if fence else bare[:3]
        kept.append("" if fence or is_fence else bare)
    return kept


def _find_mail(lines: Sequence[str]) -> int | None:
    """Return where a mail begins: at two fields, or at a greeting that a closing follows."""
    fields = [index for index, line in enumerate(lines) if _HEADER.match(line)]
    for first, second in pairwise(fields):
        if second - first < MAX_HEADER_LINES:
            return first
    greetings = [index for index, line in enumerate(lines) if line[-1:] in (",", "!") and _begins_with(line, "greetings")]
    closings = [index for index, line in enumerate(lines) if _begins_with(line, "closings")]
    return next((index for index in greetings if closings and closings[-1] > index + 1), None)


def _begins_with(line: str, row: str) -> bool:
    words = line.casefold().replace(",", " ").replace("!", " ").split()
    return 0 < len(words) <= MAX_LINE_WORDS and words[0] in _WORDS[row] and line[-1] not in ".?:;"


def _find_page(lines: Sequence[str]) -> int | None:
    """Return where a wiki page begins: at a heading that a paragraph of sentences follows."""
    for index, line in enumerate(lines):
        if _HEADING.match(line) or (line and index + 1 < len(lines) and _RULER.match(lines[index + 1])):
            below = _split_paragraphs(lines[index + 1 :])
            texts = (
                " ".join(lines[index + 1 + row] for row in rows if not _RULER.match(lines[index + 1 + row])) for rows in below
            )
            return index if any(_is_paragraph(text, MIN_PAGE_PARAGRAPH_WORDS) for text in texts) else None
    return None


def _find_chat(lines: Sequence[str]) -> range:
    """Return the lines of a chat: two with a time and a name, or three with two names, one of them twice."""
    stamped = [index for index, line in enumerate(lines) if _STAMPED.match(line)]
    spoken = {
        index: match[1] for index, line in enumerate(lines) if (match := _SPOKEN.match(line)) and not is_pasted(line, line)
    }
    names = Counter(spoken.values())
    is_chat = len(names) > 1 and names.total() > len(names)
    chat = [*stamped] if len(stamped) > 1 else []
    chat += spoken if is_chat else []
    if not chat:
        return range(0)
    last = next((index for index in range(max(chat), len(lines)) if not lines[index]), len(lines))
    return range(min(chat), last)


def _find_prose(lines: Sequence[str]) -> range:
    """Return the lines from the first pasted paragraph of prose to the last."""
    paragraphs = _split_paragraphs(lines)
    texts = [" ".join(lines[index] for index in rows) for rows in paragraphs]
    is_prose = [_is_paragraph(text, MIN_PARAGRAPH_WORDS) and not _FIRST_PERSON.search(text) for text in texts]
    for first in range(len(texts)):
        if is_prose[first] and not (first and is_prose[first - 1]):
            length = next((n for n in range(len(texts) - first) if not is_prose[first + n]), len(texts) - first)
            needed = 1 if first and texts[first - 1].endswith(":") else MIN_LED_PARAGRAPHS if first else MIN_PARAGRAPHS
            if length >= needed:
                last = max(index for index, holds in enumerate(is_prose) if holds)
                return range(paragraphs[first][0], paragraphs[last][-1] + 1)
    return range(0)


def _split_paragraphs(lines: Sequence[str]) -> list[list[int]]:
    """Return the positions of the lines of each paragraph."""
    paragraphs: list[list[int]] = [[]]
    for index, line in enumerate(lines):
        if line:
            paragraphs[-1].append(index)
        elif paragraphs[-1]:
            paragraphs.append([])
    return [rows for rows in paragraphs if rows]


def _is_paragraph(text: str, min_words: int) -> bool:
    is_sentence = text[:1].isupper() and text.rstrip('"”)*_')[-1:] in (".", "!")
    return is_sentence and len(text.split()) >= min_words and not _LISTED.match(text)
