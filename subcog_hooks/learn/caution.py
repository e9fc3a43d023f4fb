"""The reasons for which a model's proposal waits for the person, however certain the model is. Pure.

A sentence must follow from its quote and its turn. The person decides on the rest, and on anything that could do harm.
"""

import re
from collections.abc import Iterator, Sequence

from subcog_hooks.core.tables import read_rows
from subcog_hooks.learn.pasted_documents import text_around_documents
from subcog_hooks.text.analysis import Analysers
from subcog_hooks.text.names import EDGES, find_names, has_name, has_parts
from subcog_hooks.text.standing_rules import ORDERS
from subcog_hooks.text.typed_prompt import prepare_prompt
from subcog_hooks.text.vocabulary import EVERYDAY, STOP

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
    cautions = {
        ALL_PROJECTS: scope != "project",
        PASTED: own != turn and " ".join(quote.split()) not in " ".join(prepare_prompt(own).text.split()),
        ADDED: adds(sentence, support, typed),
        OPPOSITE: is_opposite(sentence, quote),
        EFFECT: orders_effect(sentence),
        LIFTED: lifts_care(sentence),
        ADDRESS: has_address(sentence),
        UNLIKE: _share_of_words(sentence, support) < MIN_SHARED,
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
        for position, word in enumerate(words):
            is_name = word[:1].isupper() and (position > 0 or _is_subject(word.casefold(), "".join(words[1:2])))
            if len(word) > 1 and (is_name or any(map(str.isupper, word[1:]))):
                yield word.casefold()


def _is_subject(word: str, verb: str) -> bool:
    is_common = word in ORDERS or word in STOP or word in EVERYDAY or word.endswith(("s", "ing", "ly", "ed"))
    return not is_common and (verb in _WORDS["verbs"] or (verb.endswith("s") and verb not in STOP))


def _is_negated(text: str) -> bool:
    return not _WORDS["negations"].isdisjoint(_split_words(text)) or any(sign in text for sign in _WORDS["unspaced negations"])


def _split_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without apostrophes."""
    return [re.sub(r"['’]", "", word) for word in _WORD.findall(text.casefold())]


def _read_clauses(text: str, *denying: str) -> Iterator[tuple[str, bool]]:
    """Yield the words of a text, each with whether an odd number of denials stands before it in its clause.

    denying: the tables of words that deny.
    """
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


def _share_of_words(sentence: str, support: str) -> float:
    words, others = ({term for term in _analysers.body_terms(text) if term not in STOP} for text in (sentence, support))
    return len(words & others) / len(words) if words else 1.0


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
