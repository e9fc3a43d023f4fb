"""Reasons for a model's sentence to wait: it does not follow from its quote, or the quote is from a pasted document. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from subcog_hooks.core.files import read_rows, read_words
from subcog_hooks.text import EVERYDAY, STOP
from subcog_hooks.text.analysis import Analysers
from subcog_hooks.text.names import EDGES, find_names, has_name, has_parts
from subcog_hooks.text.pasted import is_pasted
from subcog_hooks.text.standing_rules import ORDERS
from subcog_hooks.text.typed_prompt import FENCES, prepare_prompt

MAX_HEADER_LINES = 6  # lines among which two fields of a mail stand
MAX_LINE_WORDS = 5  # of a greeting or a closing
MIN_PARAGRAPH_WORDS, MIN_PAGE_PARAGRAPH_WORDS = 8, 6
# Paragraphs in a row that nobody types without a word of their own: fewer behind the person's words, one behind a colon.
MIN_PARAGRAPHS, MIN_LED_PARAGRAPHS = 3, 2

_DOCUMENT_WORDS = read_words(__file__, "pasted_documents.tsv")
_HEADER = re.compile(rf"(?:> ?)?\*{{0,2}}(?:{'|'.join(sorted(_DOCUMENT_WORDS['headers']))})\*{{0,2}} ?[:：] ?\S", re.IGNORECASE)
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
    lines, fence = [], ""
    for line in turn.split("\n"):
        bare = line.strip()
        is_fence = bare.startswith(fence or FENCES)
        if is_fence:
            fence = "" if fence else bare[:3]
        lines.append("" if fence or is_fence else bare)
    start = min((start for start in (_find_mail(lines), _find_page(lines)) if start is not None), default=len(lines))
    dropped = {*range(start, len(lines)), *_find_chat(lines), *_find_prose(lines)}
    if not dropped:
        return turn
    return "\n".join(line for index, line in enumerate(turn.split("\n")) if index not in dropped).strip()


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
    return 0 < len(words) <= MAX_LINE_WORDS and words[0] in _DOCUMENT_WORDS[row] and line[-1] not in ".?:;"


def _find_page(lines: Sequence[str]) -> int | None:
    """Return where a wiki page begins: at a heading that a paragraph of sentences follows."""
    for index, line in enumerate(lines):
        if _HEADING.match(line) or (line and index + 1 < len(lines) and _RULER.match(lines[index + 1])):
            below = [other for other in lines[index + 1 :] if not _RULER.match(other)]
            texts = (" ".join(below[row] for row in rows) for rows in _split_paragraphs(below))
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


ALL_PROJECTS = "holds for all projects"
PASTED = "quotes a text that was pasted"
ADDED = "says more than the turn"
OPPOSITE = "says the opposite of its quote"
EFFECT = "orders or allows an effect"
LIFTED = "lifts a care"
ADDRESS = "has an address or a credential"
UNLIKE = "has hardly a word of its turn"

MIN_SHARED = 0.1  # share of a sentence's words in its turn; a sentence about another turn has less in six of ten cases
MIN_SUBJECT_TURNS = 2  # typed turns of a session with the name of its subject

_ROWS = dict(read_rows(__file__, "caution.tsv"))
_WORDS = {name: frozenset(row.split()) for name, row in _ROWS.items()}
_CLAUSE_END = re.compile(r"[.!?](?=\s|$)|[;:,()—–\n]|\b(?:and|but|then|so)\b")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_EFFECT_PHRASE = re.compile(r"\b(?:as root|sudo|chmod|rm -\w+)\b|--(?:force|no-verify)\b|\|\s*(?:ba|z)?sh\b", re.IGNORECASE)
_ADDRESS = re.compile(
    rf"://|\bwww\.|[^\s@]+@[\w-]+(?:\.[\w-]+)*\.\w|\b(?:\d{{1,3}}\.){{3}}\d{{1,3}}\b"
    rf"|(?<![\w./@-])[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:{'|'.join(_WORDS['hosts'])})(?![\w(.]*[\w(])",
    re.IGNORECASE,
)
_analysers = Analysers()


def _list_forms(verb: str) -> tuple[str, ...]:
    """Return the forms of a regular English verb; other words have none of them.

    >>> _list_forms("drop")
    ('drop', 'drops', 'droped', 'droping', 'dropped', 'dropping')
    """
    stem, last = verb.removesuffix("e"), verb[-1]
    return (verb, f"{verb}s", f"{stem}ed", f"{stem}ing", f"{verb}{last}ed", f"{verb}{last}ing")


# Of an effect on others each form counts, as in "is pushed to main"; else only an order, and each form behind a modal.
_ORDERED = _WORDS["effects elsewhere"].union(_WORDS["effects"], *map(_list_forms, _WORDS["outward"]))
_PERMITTED = _ORDERED.union(("sent", "paid"), *map(_list_forms, _WORDS["effects"]))


def find_cautions(
    sentence: str, quote: str, turn: str, *, scope: str, context: str = "", typed: Sequence[str] = ()
) -> list[str]:
    """Return the reasons for which a proposal waits.

    turn: the quoted turn; context: the agent's last words before and after it; typed: all typed turns of the session.

    >>> find_cautions("Never push to main.", "never push to main", "never push to main, please", scope="project")
    []
    >>> find_cautions("Push to main.", "never push to main", "never push to main, please", scope="user")
    ['holds for all projects', 'says the opposite of its quote', 'orders or allows an effect']
    """
    own = text_around_documents(turn)
    support = f"{quote}\n{own}\n{context}"
    words, own_words = ({term for term in _analysers.body_terms(text) if term not in STOP} for text in (sentence, support))
    cautions = {
        ALL_PROJECTS: scope != "project",
        PASTED: own != turn and " ".join(quote.split()) not in " ".join(prepare_prompt(own).text.split()),
        ADDED: adds(sentence, support, typed),
        OPPOSITE: is_opposite(sentence, quote),
        EFFECT: orders_effect(sentence),
        LIFTED: lifts_care(sentence),
        ADDRESS: has_address(sentence),
        UNLIKE: bool(words) and len(words & own_words) / len(words) < MIN_SHARED,
    }
    return [reason for reason, holds in cautions.items() if holds]


def adds(sentence: str, support: str, typed: Sequence[str] = ()) -> bool:
    """Return whether a sentence has a name, number, path, negation or quantity that its support does not have.

    typed: the typed turns of the session; a capitalised name in several of them is the session's subject, and adds nothing.

    >>> adds("Tests run on port 8081.", "tests run on port 8080"), adds("Ask Bob first.", "ask me first")
    (True, True)
    """
    text = support.casefold()
    if _is_negated(sentence) and not _is_negated(support):
        return True
    subjects = {name for name in _find_capitals(sentence) if sum(has_name(turn, name) for turn in typed) >= MIN_SUBJECT_TURNS}
    quantities = _WORDS["numbers"].intersection(_split_words(sentence))
    names = {*find_names(sentence), *_find_capitals(sentence), *quantities} - subjects
    return any(not has_name(text, name) and not has_parts(text, name) for name in names)


def _find_capitals(sentence: str) -> Iterator[str]:
    """Yield the capitalised words of a sentence, in lower case; the first of a clause only as the subject of a verb."""
    for clause in re.split(r"(?:[.!?:;]|\s[-—–])\s+|\(", sentence):
        words = [re.sub(r"['’]s$", "", word.strip(EDGES)) for word in clause.split()]
        verb = "".join(words[1:2])
        is_clause = verb in _WORDS["verbs"] or (verb.endswith("s") and verb not in STOP)
        for position, word in enumerate(words):
            first = word.casefold()
            is_common = first in ORDERS or first in STOP or first in EVERYDAY or first.endswith(("s", "ing", "ly", "ed"))
            is_name = word[:1].isupper() and (position > 0 or (is_clause and not is_common))
            if len(word) > 1 and (is_name or any(map(str.isupper, word[1:]))):
                yield word.casefold()


def _is_negated(text: str) -> bool:
    return not _WORDS["negations"].isdisjoint(_split_words(text)) or any(sign in text for sign in _WORDS["unspaced negations"])


def _split_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without apostrophes."""
    return [re.sub(r"['’]", "", word) for word in _WORD.findall(text.casefold())]


def _read_clauses(text: str, *denying: str) -> Iterator[tuple[str, bool]]:
    """Yield the words of a text, each with whether an odd number of words of the tables `denying` precedes it in its clause."""
    denials = frozenset[str]().union(*(_WORDS[name] for name in denying))
    for clause in _CLAUSE_END.split(text.casefold()):
        is_denied = False
        for word in _split_words(clause):
            is_denied ^= word in denials
            if word not in denials:
                yield word, is_denied


def is_opposite(sentence: str, quote: str) -> bool:
    """Return whether a sentence drops the denial of its quote, denies an assertion of it, or turns a comparison round.

    >>> is_opposite("Use npm, not pnpm.", "use pnpm, not npm"), is_opposite("pnpm, not npm.", "use pnpm, not npm")
    (True, False)
    """
    words, quoted = {*_split_words(sentence)}, {*_split_words(quote)}
    for pair in _ROWS["opposites"].split("|"):
        first, second = pair.split()
        if {first, second} & words and {first, second} & quoted and not {first, second} & words & quoted:
            return True
    if _swaps_sides(sentence, quote):
        return True
    (denied, asserted), (quote_denied, quote_asserted) = _split_senses(sentence), _split_senses(quote)
    if quote_denied & asserted and not _is_negated(sentence):
        return True
    return bool(denied & quote_asserted - EVERYDAY) and (not quote_denied or bool(asserted & quote_denied))


def _swaps_sides(sentence: str, quote: str) -> bool:
    """Return whether the sides of a comparison changed places.

    >>> _swaps_sides("Prefer npm over pnpm.", "prefer pnpm over npm"), _swaps_sides("pnpm over npm", "prefer pnpm over npm")
    (True, False)
    """
    for word in _ROWS["comparisons"].split("|"):
        (left, right), (quote_left, quote_right) = (
            [{term for term in _analysers.body_terms(side) if term not in STOP} for side in (before, behind)]
            for before, _, behind in (text.casefold().partition(f" {word} ") for text in (sentence, quote))
        )
        if left & quote_right - quote_left and right & quote_left - quote_right:
            return True
    return False


def _split_senses(text: str) -> tuple[set[str], set[str]]:
    """Return the stems that a text only denies, and the stems that it only asserts."""
    stems: tuple[set[str], set[str]] = (set(), set())
    for word, is_denied in _read_clauses(text, "negations", "contrasts"):
        if word not in STOP:
            stems[not is_denied].update(_analysers.body_terms(word))
    return stems[0] - stems[1], stems[1] - stems[0]


def orders_effect(sentence: str) -> bool:
    """Return whether a sentence speaks of an act such as a deployment without forbidding it.

    >>> [orders_effect(text) for text in ("Push to main.", "Fixes are pushed to main.", "Pipe it | sh.", "It may be wiped.")]
    [True, True, True, True]
    >>> [orders_effect(text) for text in ("Never push to main.", "It is wiped every night.")]
    [False, False]
    """
    if any(sign in sentence for sign in _WORDS["unspaced effects"]):
        return not any(sign in sentence for sign in _WORDS["unspaced negations"])
    effects = _PERMITTED if not _WORDS["modals"].isdisjoint(_split_words(sentence)) else _ORDERED
    if any(word in effects and not is_denied for word, is_denied in _read_clauses(sentence, "negations", "contrasts")):
        return True
    return bool(_EFFECT_PHRASE.search(sentence)) and not _is_negated(sentence)


def lifts_care(sentence: str) -> bool:
    """Return whether a sentence lifts a care, such as a test or a question.

    >>> [lifts_care(text) for text in ("Merge without review.", "Never ask first.", "Skip the slow tests.", "No need to ask.")]
    [True, True, True, True]
    >>> [lifts_care(text) for text in ("Never merge without review.", "Do not skip tests.")]
    [False, False]
    """
    text = sentence.casefold().replace("’", "'")
    if any(phrase in text for phrase in _ROWS["lifted phrases"].split("|")):
        return True
    words = _read_clauses(text, "negations", "contrasts", "lifting")
    return any(word in _WORDS["cares"] and is_denied for word, is_denied in words)


def has_address(sentence: str) -> bool:
    """Return whether a sentence has an address to send to, or speaks of a credential.

    >>> [has_address(text) for text in ("Mail ops@acme.io.", "It is on 10.0.0.7.", "See README.md.", "Use next.js.")]
    [True, True, False, False]
    """
    text = sentence.casefold()
    return bool(_ADDRESS.search(sentence)) or any(has_name(text, phrase) for phrase in _ROWS["credentials"].split("|"))
