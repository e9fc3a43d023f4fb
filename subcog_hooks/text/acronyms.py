"""Acronyms that a text spells out, and acronyms of a query's words. No index, no list of known acronyms.

A definition is a short form beside a long form with these initials: Schwartz and Hearst 2003, "A simple algorithm for
identifying abbreviation definitions in biomedical text". This version has more cues than the parenthesis and is stricter,
because a wrong definition harms search: each word of the long form gives its first letter. Only small words (of, and, the)
and parts behind a hyphen (conflict-free replicated data type: CRDT) may give none. Letters beyond the initials are a word's
capitals (mutual TLS: mTLS), or one from inside a word where the long form has three (hypertext transfer protocol: HTTP). A
single word is no long form: neither "database (DB)" nor "Kubernetes (K8s)" is read.
"""

from __future__ import annotations

from subcog_hooks.text.vocabulary import SMALL_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MIN_LETTERS, MAX_LETTERS = 2, 8  # letters of an acronym
MAX_WORDS = 10  # words of a long form, split at spaces
MAX_RUN = 6  # words of a query that are tried as a long form
MAX_QUERY_WORDS = 200  # words; later ones in a prompt are pasted
_NO_INITIALS = SMALL_WORDS | {"is"}  # words of a long form that may give no letter

_SPAN = 160  # characters on one side of a cue: room for ten words
_QUOTES = "\"'\u2018\u2019\u201c\u201d"
_OPENING = "([" + _QUOTES
_STOPS = ".;:!?)]"  # A long form ends before them, but may have commas: first in, first out.
_EDGES = _OPENING + _STOPS + ","
_HYPHENS = str.maketrans("/\u2010\u2011\u2013", "----")
_APOSTROPHES = str.maketrans("", "", "'\u2019")
_NUMERALS = {"2": "to", "4": "for"}  # P2P: peer to peer
_X = ("ex", "cross")  # XML: extensible markup language, XSS: cross-site scripting
_ENDS = frozenset(("", "\n", "\n\n", "\n-", "\n|", "\n#"))  # ends of a paragraph, a list item, a row
_FILLERS = frozenset("a also an are as commonly is it just often or simply the to usually was which".split())


def definitions(text: str) -> list[tuple[str, str]]:
    """Return the acronyms that `text` spells out, each with its expansion, both in lower case, in order, without repeats.

    An acronym has 2 to 8 letters and digits and begins with a letter. It has at least two capitals, and no more small letters
    than capitals. Text between backticks is code and not read. The time is linear in the length of the text.

    >>> definitions("Forward kinematics (FK) is cheap; CRDTs (conflict-free replicated data types) merge.")
    [('fk', 'forward kinematics'), ('crdt', 'conflict free replicated data types')]
    >>> definitions("SLAM stands for simultaneous localization and mapping")
    [('slam', 'simultaneous localization and mapping')]
    >>> definitions("HTTP (port 80), call f(X), the API (v2)")
    []
    """
    text = text.replace(" * ", " ^ ").replace("*", "")  # Asterisks are emphasis, but a product or a bullet separates words.
    cues = [cue for cue in _CUES if cue in text]
    if not cues:
        return []
    prose = _without_code(text)
    pairs: list[tuple[int, tuple[str, str]]] = []
    for cue in cues:
        read_cue = _CUES[cue]
        start = prose.find(cue)
        while start >= 0:
            end = start + len(cue)
            pair = read_cue(prose, start, end)
            if pair:
                pairs.append((start, pair))
            start = prose.find(cue, end)
    return list(dict.fromkeys([pair for _, pair in sorted(pairs)]))


def initials(words: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield acronyms of runs of 2 to 6 of a query's words, in lower case, with each run's start and end.

    The variants: all initials; without small words; also without parts behind a hyphen; with 2 for `to`. No letters from
    inside a word are guessed. A word begins at most twenty candidates, and words beyond the first 200 none.

    >>> list(initials(["the", "point", "of", "sale"]))
    [('tpos', 0, 4), ('pos', 1, 4), ('ps', 1, 4)]
    >>> list(initials(["write-ahead", "log"]))
    [('wa', 0, 1), ('wal', 0, 2), ('wl', 0, 2)]
    """
    letters: list[tuple[str, str, str, str, bool]] = []  # a letter for each variant; is it a small word?
    starts: list[int] = []  # each part's word position, -1 behind a hyphen
    for position, word in enumerate(words[:MAX_QUERY_WORDS]):
        for i, part in enumerate(_parts_between_hyphens(word) or [""]):
            lower = part.lower()
            first, small = lower[:1], lower in _NO_INITIALS
            lean = "" if small else first
            letters.append((first, lean, "" if i else lean, "2" if lower == "to" else first, small))
            starts.append(-1 if i else position)
    starts.append(min(len(words), MAX_QUERY_WORDS))
    for begin, start in enumerate(starts[:-1]):
        full = lean = leanest = numeral = ""
        end = start
        for i in range(begin, min(begin + MAX_RUN, len(letters)) if start >= 0 else begin):
            initial, content, head, digit, small = letters[i]
            if not initial:
                break
            full, lean, leanest, numeral = full + initial, lean + content, leanest + head, numeral + digit
            end += starts[i] >= 0
            if i == begin or starts[i + 1] < 0 or len(lean) < MIN_LETTERS:
                continue
            if small or letters[begin][4]:  # To be determined is TBD, but `of type` is no OT.
                variants = [full] if len(full) > MIN_LETTERS else []
            else:
                variants = list(dict.fromkeys((full, lean, leanest, numeral)))
            for acronym in variants:
                if len(acronym) >= MIN_LETTERS and acronym[0].isalpha():
                    yield acronym, start, end


def _without_code(text: str) -> str:
    """Return `text` with a lone backtick for each piece of code; an unclosed backtick ends with its paragraph."""
    if "`" not in text:
        return text
    paragraphs = "\n\n".join(text.split("```")[::2]).split("\n\n")
    return "\n\n".join([" ` ".join(paragraph.replace("``", "`").split("`")[::2]) for paragraph in paragraphs])


def _at_parenthesis(prose: str, start: int, end: int) -> tuple[str, str] | None:
    """Find `forward kinematics (FK)`, `forward kinematics (FK, see below)`, `FK (forward kinematics)`."""
    if not prose[start - 1 : start].isspace():
        return None  # It is a call or a link.
    close = prose.find(")", end, end + _SPAN)
    if close < 0:
        return None
    inside = prose[end:close]
    pair = _long_form_before(_acronym_in(inside.split(",", 1)[0].split(";", 1)[0]), prose, start)
    return pair or _long_form_behind(
        _acronym_before(prose, start), (inside + ".").split(None, MAX_WORDS)[:MAX_WORDS], whole=True
    )


def _at_verb(prose: str, start: int, end: int) -> tuple[str, str] | None:
    """Find `FK stands for forward kinematics`, `FK, short for forward kinematics`."""
    short = _acronym_before(prose, start)
    return _long_form_behind(short, _tokens_after(prose, end, "\n\n")) if short else None


def _at_mark(prose: str, start: int, end: int) -> tuple[str, str] | None:
    """Find `WAL: write-ahead log`, `WAL = write-ahead log`: weak cues, and two letters fit much: `CI: cache images`."""
    if not prose[start - 1 : start].isalnum():
        return None
    short = _acronym_before(prose, start)
    if not short:
        return None
    tokens = _tokens_after(prose, end, "\n")
    if len(short) == MIN_LETTERS and not all(token.strip(_OPENING)[:1].isupper() for token in tokens[:MIN_LETTERS]):
        return None
    return _long_form_behind(short, tokens)


def _at_name(prose: str, start: int, end: int) -> tuple[str, str] | None:
    """Find `write-ahead log (abbreviated as WAL)`, `write-ahead log, also known as WAL`."""
    tokens = _tokens_after(prose, end, "\n\n")[:2]
    if tokens and tokens[0] in _FILLERS:
        del tokens[0]
    return _long_form_before(_acronym_in(tokens[0]), prose, start) if tokens else None


def _at_or(prose: str, start: int, end: int) -> tuple[str, str] | None:
    """Find `write-ahead log, or WAL, is`, not `we add primary keys, or PK lookups fail`."""
    token, _, following = prose[end : end + _SPAN].partition(" ")
    if token[-1:].isalnum() and following and not following.startswith("for short"):
        return None
    return _at_name(prose, start, end)


_CUES: dict[str, Callable[[str, int, int], tuple[str, str] | None]] = {
    "(": _at_parenthesis,
    "stands for ": _at_verb,
    "stand for ": _at_verb,
    "short for ": _at_verb,
    "acronym for ": _at_verb,
    "acronym of ": _at_verb,
    "abbreviation for ": _at_verb,
    "abbreviation of ": _at_verb,
    ": ": _at_mark,
    " = ": _at_mark,
    " - ": _at_mark,
    " \u2013 ": _at_mark,
    " \u2014 ": _at_mark,
    " | ": _at_mark,  # in a table
    ", or ": _at_or,
    "(or ": _at_name,
    "abbreviated ": _at_name,
    "known as ": _at_name,
    "aka ": _at_name,
    "a.k.a. ": _at_name,
}


def _acronym_in(token: str) -> str:
    """Return the acronym in a token, in lower case and singular, or "".

    >>> [_acronym_in(token) for token in "FKs, mTLS IoU P2P OAuth It K8s CI/CD MAX_RUN CONFIGURATION".split()]
    ['fk', 'mtls', 'iou', 'p2p', '', '', '', '', '', '']
    """
    token = token.strip(_EDGES)
    if token[-1:] == "s" and len(token) > MIN_LETTERS and token[-2].isupper():
        token = token[:-1]
    if not MIN_LETTERS <= len(token) <= MAX_LETTERS or not token.isalnum() or not token[0].isalpha():
        return ""
    capitals = sum([c.isupper() for c in token])
    return token.lower() if capitals >= MIN_LETTERS and 2 * capitals >= sum([c.isalpha() for c in token]) else ""


def _acronym_before(prose: str, start: int) -> str:
    tokens = prose[max(0, start - 40) : start].split()
    while len(tokens) > 1 and (tokens[-1] in _FILLERS or not tokens[-1].strip(_EDGES)):
        tokens.pop()
    return _acronym_in(tokens[-1]) if tokens else ""


def _tokens_after(prose: str, end: int, limit: str) -> list[str]:
    fragment = prose[end : end + _SPAN]
    passage = fragment.split(limit, 1)[0]
    tokens = passage.split(None, MAX_WORDS)[:MAX_WORDS]
    if len(tokens) == MAX_WORDS or not tokens:
        return tokens
    after = end + len(passage)
    if len(passage) == _SPAN:
        tokens.pop()  # It may be cut.
    elif prose[after : after + 2] in _ENDS:
        tokens[-1] += "."
    return tokens


def _long_form_before(short: str, prose: str, start: int) -> tuple[str, str] | None:
    if not short:
        return None
    passage = prose[max(0, start - _SPAN) : start].rpartition("\n\n")[2]
    tokens = passage.rstrip(" (,").split()
    if len(passage) == _SPAN:
        del tokens[:1]  # It may be cut.
    while tokens and tokens[-1] in _FILLERS:
        tokens.pop()
    run = _words_in_row(tokens[-MAX_WORDS:], backwards=True)
    for letters in _readings(short):
        spans = [
            (inner, count)
            for inner, count in _spelling_spans(letters, run[::-1], backwards=True)
            if not run[-count][1] and _is_plausible(letters, run[-count:], inner)
        ]
        if spans:
            return short, _expansion(run[-min(spans)[1] :])
    return None


def _long_form_behind(short: str, tokens: list[str], *, whole: bool = False) -> tuple[str, str] | None:
    """Return the acronym with the long form in the tokens behind it.

    whole: the long form must end where a clause ends. With a letter from inside a word it always must.
    """
    if not short:
        return None
    run = _words_in_row(tokens, backwards=False)
    if run and run[0][0] in {"a", "an", "the"}:
        return _long_form_at_start(short, run[1:], whole) or _long_form_at_start(short, run, whole)
    return _long_form_at_start(short, run, whole)


def _long_form_at_start(short: str, run: list[tuple[str, bool, bool]], whole: bool) -> tuple[str, str] | None:
    for letters in _readings(short):
        spans = [
            (inner, count)
            for inner, count in _spelling_spans(letters, run, backwards=False)
            if not (count < len(run) and run[count][1])
            and (run[count - 1][2] or not (whole or inner))
            and _is_plausible(letters, run[:count], inner)
        ]
        if spans:
            return short, _expansion(run[: min(spans)[1]])
    return None


def _words_in_row(tokens: list[str], *, backwards: bool) -> list[tuple[str, bool, bool]]:
    """Return the first words that follow each other without a stop, code or bracket; backwards: the last words.

    Each word comes with two flags: whether it follows a hyphen, and whether anything but a word follows it.

    >>> _words_in_row("Write-ahead log, that. Or".split(), backwards=False)[:3]
    [('Write', False, False), ('ahead', True, False), ('log', False, True)]
    """
    run: list[tuple[str, bool, bool]] = []
    for token in reversed(tokens) if backwards else tokens:
        parts = _parts_between_hyphens(token)
        opens, stops = token[0] in _OPENING, token.rstrip(_QUOTES)[-1:] in _STOPS
        if not parts or (stops if backwards else opens and run):
            if run and not backwards:
                run[-1] = (*run[-1][:2], True)
            break
        last = len(parts) - 1
        words = [(part, i > 0, i == last and not token[-1].isalnum()) for i, part in enumerate(parts)]
        run = words + run if backwards else run + words
        if opens if backwards else stops:
            break
    return run


def _parts_between_hyphens(word: str) -> list[str]:
    """Return the parts of a word between hyphens, none for code or a number with a point."""
    if word.isalpha():
        return [word]
    if word == "&":
        return ["and"]
    parts = word.strip(_EDGES).translate(_HYPHENS).split("-")
    return parts if all(part.translate(_APOSTROPHES).isalnum() for part in parts) else []


def _readings(short: str) -> list[str]:
    """Return the possible letters of an acronym; a digit may also count the letter before it.

    >>> _readings("ec2"), _readings("fk")
    (['ec2', 'ecc'], ['fk'])
    """
    for i, c in enumerate(short):
        if c in "23" and i:
            return [short, short[:i] + short[i - 1] * (int(c) - 1) + short[i + 1 :]]
    return [short]


def _spelling_spans(letters: str, run: list[tuple[str, bool, bool]], *, backwards: bool) -> list[tuple[int, int]]:
    """Return the ways in which `run` spells `letters`: letters from inside a word, and the number of words.

    `backwards`: `run` begins with the word that gives the last letters.

    >>> words = [("hypertext", False, False), ("transfer", False, False), ("protocol", False, False)]
    >>> _spelling_spans("http", words, backwards=False), _spelling_spans("http", words[::-1], backwards=True)
    ([(1, 3)], [(1, 3)])
    """
    total = len(letters)
    reached = {0: 0}  # letters spelled so far -> letters from inside a word
    spans: list[tuple[int, int]] = []
    for count, (word, is_tail, _) in enumerate(run, 1):
        lower = word.lower()
        optional = is_tail or lower in _NO_INITIALS
        capitals = "" if word.islower() else "".join([c for c in word if c.isupper()]).lower()
        onward = {done: inner for done, inner in reached.items() if done and optional}
        for done, inner in reached.items():
            for size in {1, 2, len(capitals) or 1}:
                if done + size > total:
                    continue
                spelled = letters[total - done - size : total - done] if backwards else letters[done : done + size]
                cost = inner + _letter_cost(spelled, lower, capitals, optional)
                if cost <= min(1, onward.get(done + size, 1)):
                    onward[done + size] = cost
        if total in onward:
            spans.append((onward.pop(total), count))
        reached = onward
        if not reached:
            break
    return spans


def _letter_cost(given: str, word: str, capitals: str, optional: bool) -> int:
    """Count the letters from inside `word` that spell the letters `given`; 2, too many, if it cannot spell them."""
    if len(given) == 1:
        return 0 if given == word[0] or _NUMERALS.get(given) == word or (given == "x" and word.startswith(_X)) else 2
    if given[0] != word[0]:
        return 2
    if given == capitals:
        return 0
    return 1 if len(given) == 2 and not optional and given[1] in word[1:] else 2


def _is_plausible(letters: str, words: list[tuple[str, bool, bool]], inner: int) -> bool:
    """Return whether words may be a long form: two that are not small, three for a letter from inside; not `A B (AB)`."""
    large = sum([word.lower() not in _NO_INITIALS for word, _, _ in words])
    return large >= 2 + inner and len(_expansion(words)) > 2 * len(letters)


def _expansion(words: list[tuple[str, bool, bool]]) -> str:
    bare = [word.replace("\u2019", "'").removesuffix("'s") for word, _, _ in words]
    return " ".join(bare).lower()
