"""Secrets and private spans are taken out here, before a text is stored: every way in calls `redact`.

The patterns come from detect-secrets, from a catalogue of some 400 vendors' tokens, and from a table of secrets that both miss.
RE2 searches for them, in linear time for any text. A secret is known by its form, or by words beside it (`named_values`).

Forms that look random and are public (public keys, certificates, fingerprints) are here, too. Only a guess gives way to them: a
vendor's token stays a secret wherever it stands.
"""

import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

import re2

from subcog_hooks.core.files import read_rows
from subcog_hooks.core.quiet_imports import DeferredImport
from subcog_hooks.redaction import masking, named_values, secret_values
from subcog_hooks.redaction.masking import remove_private
from subcog_hooks.redaction.named_values import ASSIGNMENT_HEAD, find_assigned
from subcog_hooks.redaction.secret_values import JUDGES_BY_KIND, MARKER, is_token, is_written_out

PRIVATE = "private block"


class Redacted(NamedTuple):
    """A text without its secrets, and the removed ones as (kind, count), by kind in alphabetical order."""

    text: str
    removed: tuple[tuple[str, int], ...]


class _Span(NamedTuple):
    start: int
    end: int
    rank: int  # Of two overlapping spans, the lower rank names the union.
    kind: str


class _Rule(NamedTuple):
    kind: str
    near: re2._Regexp | None  # the pattern for RE2, over bytes, without look-around; None if RE2 refuses it
    pattern: re.Pattern[str] | None  # the pattern itself, None if `near` is the same
    gate: str | None  # a shorter form of `near`, for the combined expression of all rules
    group: int  # the secret's group, 0 for the whole match
    holds: Callable[[str], bool]


def redact(text: str) -> Redacted:
    """Return `text` without `<private>` spans and with each secret replaced by `[redacted: KIND]`.

    A text without either comes back as the same object; redacting twice is redacting once.

    >>> redact("token refresh is flaky").text
    'token refresh is flaky'
    """
    counts: dict[str, int] = {}
    while True:
        # Repeat until nothing changes: a removed text may have kept its neighbour from looking like a secret.
        shorter, blocks = remove_private(text)
        if blocks:
            counts[PRIVATE] = counts.get(PRIVATE, 0) + blocks
        spans = _merge_spans(_find_visible_spans(shorter))
        if not spans:
            return Redacted(shorter, tuple(sorted(counts.items(), key=lambda item: item[0].casefold())))
        pieces = []
        position = 0
        for span in spans:
            pieces += [shorter[position : span.start], f"{MARKER}{span.kind}]"]
            position = span.end
            counts[span.kind] = counts.get(span.kind, 0) + 1
        text = "".join(pieces) + shorter[position:]


def has_known_secret(text: str) -> bool:
    """Return whether a form or a name shows a secret, or a private span stands there; ids and folders look random, too."""
    plain = _ascii_copy(text)
    data = plain.encode()
    return bool(
        remove_private(text)[1]
        or (_may_have_secret(plain, data) and _pattern_spans(text, plain, data))
        or any(find_assigned(text))
        or any(named_values.find_everyday(text))
        or any(_is_plausible(text[start:end]) for start, end, _ in find_vendor_secrets(text, data))
    )


def describe_removed(removed: Iterable[tuple[str, int]]) -> str:
    """Return a line for people, "" if nothing was removed.

    >>> describe_removed((("AWS Access Key", 1), ("private block", 2)))
    'removed 1 AWS access key and 2 private blocks'
    """
    parts = []
    for kind, count in removed:
        first, *others = kind.split(" ")
        name = " ".join([first, *(word.lower() if word.istitle() else word for word in others)])
        parts.append(f"{count:,} {name}{'s' if count > 1 and not name.endswith('s') else ''}")
    if not parts:
        return ""
    return "removed " + " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


# Types of detect-secrets that are not used, each with the reason.
_EXCLUDED_TYPES = {
    "Public IP (ipv4)": "an address is no secret",
    "Private Key": "matches the header alone; below, the whole block goes",
    "NPM tokens": "takes quadratic time on a line of slashes and swallows the rest of the line; below",
    "Telegram Bot Token": "takes `timestamp:UUID` and `timestamp:SHA-1` for tokens; below with the leading A of real ones",
}

# In these types group 1 is the secret. In others a group is a part of it (GitHub's `ghp`), and the whole match goes.
_SECRET_IN_GROUP_1 = {
    *("AWS Access Key", "Basic Auth Credentials", "Cloudant Credentials"),
    *("IBM Cloud IAM Key", "IBM COS HMAC Credentials", "SoftLayer Credentials"),
}

_KEY_BLOCK = "private key"


def _prefix_pattern(form: str, character_class: str) -> str:
    rows = [(int(length), map(re.escape, words.split())) for row_form, length, words in masking.TOKEN_ROWS if row_form == form]
    in_order = sorted(rows, key=lambda row: row[0])
    tokens = "|".join(f"(?:{'|'.join(prefixes)}){character_class}{{{length},}}" for length, prefixes in in_order)
    return rf"(?:\b|_|\\[nrt])({tokens})"


# A prefix alone is the last resort: any other rule has a better name for the secret.
_PREFIX_CHARACTERS = {masking.OPAQUE: r"[A-Za-z0-9_-]", masking.WIDE: r"[A-Za-z0-9_.=+/~%$:,-]"}
_PREFIX_PATTERNS = [_prefix_pattern(form, letters) for form, letters in _PREFIX_CHARACTERS.items()]

_LOOK_AROUND = re.compile(r"\(\?<?[=!](?:[^()\\\[]|\\.|\[(?:[^\]\\]|\\.)*\])*\)")
_REPETITION = re.compile(r"\{(\d+)(?:,(\d*))?\}")
_SPACE_BEYOND_RE2 = re.compile(r"[\x0b\x1c-\x1f]|[^\S\x00-\x7f]")
_SPACES = bytes.maketrans(b"\x0b\x1c\x1d\x1e\x1f", b"     ")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_UNSEEN = frozenset(masking.UNSEEN) - frozenset("\u115f\u1160\u2800\u3164\uffa0")  # These show as a blank, which ends a word.
_EDGES = " \t\r\n\f\v=:\"'"  # Some patterns include these signs around a secret.
_ESCAPES = ("\\n", "\\r", "\\t")
_RUN = re.compile(r"[A-Za-z0-9_-]*")
_GATE_MEMORY = 64 << 20  # bytes; with RE2's own 8 MiB its automaton restarts again and again
_GATE_REPETITIONS = 8  # Exact counts would fill RE2's automaton on a megabyte of base64: .5 s instead of .05.


def _may_have_secret(plain: str, data: bytes) -> bool:
    gate, ungated = _combined_gate()
    return gate.search(data) is not None or any(any(_match_rule(rule, plain, data)) for rule in ungated)


def _find_visible_spans(text: str) -> list[_Span]:
    if text.isascii() or _UNSEEN.isdisjoint(text):
        return _find_spans(text)
    positions = [position for position, character in enumerate(text) if character not in _UNSEEN]
    visible = "".join(text[position] for position in positions)
    return [
        span._replace(start=positions[span.start], end=positions[span.end - 1] + 1)
        for span in _find_spans(visible)
        if span.end > span.start
    ]


def _find_spans(text: str) -> list[_Span]:
    plain = _ascii_copy(text)
    data = plain.encode()
    spans = _pattern_spans(text, plain, data) if _may_have_secret(plain, data) else []
    last = len(_all_rules())
    spans += [_Span(start, end, last + 1, kind) for start, end, kind in named_values.find_everyday(text)]
    for start, end, kind in find_vendor_secrets(text, data):
        if not plain[max(0, start - 1) : start].isalnum() and _is_plausible(text[start:end]):
            spans.append(_Span(start, end, last + 2, kind))
    values = named_values.find_random_values(text, _has_secret)
    guesses = [_Span(start, end, last + 3, kind) for start, end, kind in values if _is_plausible(text[start:end])]
    if _assignment_gate().search(data):
        guesses += [_Span(start, end, last, kind) for start, end, kind in find_assigned(text)]
    public = list(find_public(data)) if guesses else []
    return spans + [guess for guess in guesses if not any(start <= guess.start and guess.end <= end for start, end in public)]


def _is_plausible(secret: str) -> bool:
    return MARKER not in secret and is_token(secret) and is_written_out(secret)


def _has_secret(decoded: str) -> bool:
    plain = _ascii_copy(decoded)
    data = plain.encode()
    return bool(_pattern_spans(decoded, plain, data)) or any(find_assigned(decoded))


def _pattern_spans(text: str, plain: str, data: bytes) -> list[_Span]:
    spans = []
    for rank, rule in enumerate(_all_rules()):
        last_end = 0
        for match in _match_rule(rule, plain, data):
            start, end = match.span(rule.group)
            if start < last_end:
                continue
            if rule.group == 0 and rule.kind != _KEY_BLOCK:
                start, end = _trim_to_token(plain, start, end)
            last_end = end
            secret = text[start:end]
            if secret and rule.holds(secret) and (MARKER not in secret or rule.kind == _KEY_BLOCK):
                spans.append(_Span(start, end, rank, rule.kind))
    return spans


def _match_rule(rule: _Rule, plain: str, data: bytes) -> Iterator[re.Match[str] | re2._Match]:
    if rule.pattern is None and rule.near is not None:
        return iter(rule.near.finditer(data))
    if rule.pattern is not None and (rule.near is None or rule.near.search(data)):
        return rule.pattern.finditer(plain)  # Patterns with look-around are bounded, so this is linear, too.
    return iter(())


def _trim_to_token(plain: str, start: int, end: int) -> tuple[int, int]:
    """Trim white space and quotes off a span, and extend it by the rest of a token that is longer than its pattern.

    The span becomes empty if it begins inside a word, as in base64: that match is chance. An escaped newline is no word.
    """
    while start < end and plain[start] in _EDGES:
        start += 1
    before = plain[max(0, start - 2) : start]
    if before[-1:].isalnum() and before not in _ESCAPES:
        return end, end
    bare = end
    while start < bare and plain[bare - 1] in _EDGES:
        bare -= 1
    rest = _RUN.match(plain, end) if bare == end else None
    return start, rest.end() if rest else bare


def _merge_spans(spans: list[_Span]) -> list[_Span]:
    """Return the spans in order. Overlapping spans become one, named by the lowest rank."""
    merged: list[_Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            first = min(last, span, key=lambda candidate: candidate.rank)
            merged[-1] = first._replace(start=last.start, end=max(last.end, span.end))
        else:
            merged.append(span)
    return merged


def _ascii_copy(text: str) -> str:
    """Return `text` in ASCII with the same length: offsets in bytes and characters agree, and RE2's classes are Python's.

    White space becomes a space; other characters beyond ASCII become one that no pattern names.
    """
    if text.isascii():
        return text.encode().translate(_SPACES).decode()
    return _NOT_ASCII.sub("\x01", _SPACE_BEYOND_RE2.sub(" ", text))


@cache
def _all_rules() -> tuple[_Rule, ...]:
    """Return all rules, ours first: they match whole tokens where others match a part. Prefixes alone come last."""
    # 100 ms, paid once by a process that writes. `requests` would take another 250: plugins ask servers with it, ours ask none.
    with DeferredImport("requests", Response=object):  # Some plugins name it in annotations.
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
        from detect_secrets.plugins.base import BasePlugin, RegexBasedDetector
        from detect_secrets.plugins.jwt import JwtTokenDetector

        plugins: Mapping[str, type[BasePlugin]] = get_mapping_from_secret_type_to_class()
    judges = vars(secret_values)
    rows = read_rows(__file__, "redact.tsv")
    rules = [_make_rule(kind, pattern, int(group), *(judges[name] for name in names)) for kind, group, pattern, *names in rows]
    for kind, plugin in sorted(plugins.items()):
        if kind in _EXCLUDED_TYPES or not issubclass(plugin, RegexBasedDetector):
            continue
        for pattern in plugin().denylist:
            group = 1 if kind in _SECRET_IN_GROUP_1 and pattern.groups else 0
            rule = _make_rule(kind, pattern, group)
            rules.append(rule._replace(holds=JwtTokenDetector.is_formally_valid) if plugin is JwtTokenDetector else rule)
    return (*rules, *(_make_rule("vendor token", pattern, 1) for pattern in _PREFIX_PATTERNS))


def _make_rule(kind: str, pattern: re.Pattern[str] | str, group: int, holds: Callable[[str], bool] | None = None) -> _Rule:
    source, flags = (pattern, re.ASCII) if isinstance(pattern, str) else (pattern.pattern, pattern.flags)
    without = _LOOK_AROUND.sub("", source)
    near = _compile_linear(without, flags)
    gate = _with_flags(_REPETITION.sub(_shorten_repetition, without), flags)
    whole = None
    if near is None or without != source:
        whole = re.compile(pattern, flags) if isinstance(pattern, str) else pattern
    judge = holds or JUDGES_BY_KIND.get(kind, is_token)
    return _Rule(kind, near, whole, gate if _compile_linear(gate, 0) else None, group, judge)


def _compile_linear(pattern: str, flags: int) -> re2._Regexp | None:
    if flags & re.VERBOSE and re.search(r"[\s#]", pattern):
        return None
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(_with_flags(pattern, flags), options)
    except re2.error:
        return None


def _with_flags(pattern: str, flags: int) -> str:
    letters = "".join(letter for letter, flag in (("i", re.IGNORECASE), ("s", re.DOTALL), ("m", re.MULTILINE)) if flags & flag)
    return f"(?{letters}:{pattern})"


def _shorten_repetition(repetition: re.Match[str]) -> str:
    minimum, maximum = int(repetition[1]), int(repetition[2] or repetition[1])
    return repetition[0] if maximum <= _GATE_REPETITIONS and repetition[2] != "" else f"{{{min(minimum, _GATE_REPETITIONS)},}}"


@cache
def _assignment_gate() -> re2._Regexp:
    return re2.compile(_with_flags(_LOOK_AROUND.sub("", ASSIGNMENT_HEAD) + r"\\?[\"'`]?[^\s\"'`,;<>]{4}", re.IGNORECASE))


@cache
def _combined_gate() -> tuple[re2._Regexp, tuple[_Rule, ...]]:
    """Return one expression for all patterns, and the rules that it does not cover, which always run."""
    rules = _all_rules()
    options = re2.Options()
    options.never_capture = True
    options.log_errors = False
    options.max_mem = _GATE_MEMORY
    gates = [rule.gate for rule in rules if rule.gate is not None]
    ungated = tuple(rule for rule in rules if rule.gate is None)
    return re2.compile("|".join([*gates, _assignment_gate().pattern]), options), ungated


_JWK = re2.compile(r"\{[^{}]*\"kty\"[^{}]*\}")
_PRIVATE_PART = re.compile(r"\"(?:d|k|p|q|dp|dq|qi)\"")


class _CatalogueRow(NamedTuple):
    kind: str
    literals: tuple[str, ...]  # in small letters; a text without any of them cannot match
    pattern: str
    group: int  # the secret's group; 0: the first group that matched, else the whole match
    entropy: float  # minimum, in bits a character


def find_vendor_secrets(text: str, data: bytes) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of secrets of a vendor's form. data: `text` in ASCII, one byte for each character."""
    rows = _catalogue_rows()
    for index in sorted(_literal_automaton().Match(data.lower()) or ()):
        row = rows[index]
        for match in _compile(row.pattern).finditer(data):
            groups = (row.group,) if row.group else range(1, len(match.groups()) + 1)
            group = next((group for group in groups if match.start(group) >= 0), 0)
            start, end = match.span(group)
            shares = [count / (end - start) for count in Counter(text[start:end]).values()]
            if end > start and -sum(share * math.log2(share) for share in shares) >= row.entropy:
                yield start, end, row.kind


@cache
def _literal_automaton() -> re2.Set:
    literals = re2.Set.SearchSet()
    for row in _catalogue_rows():
        literals.Add("|".join(map(re2.escape, row.literals)))
    literals.Compile()
    return literals


@cache
def _catalogue_rows() -> tuple[_CatalogueRow, ...]:
    with open(os.path.join(os.path.dirname(__file__), "catalogue.json"), encoding="ascii") as file:
        rows = json.load(file)
    return tuple(_CatalogueRow(kind, tuple(literals), *values) for kind, literals, *values in rows)


_compile = cache(re2.compile)


def find_public(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of public values in a text of ASCII, one byte for each character.

    >>> [(start, end) for start, end in find_public(b"push with ssh-ed25519 AAAAC3Nz ada@host")]
    [(10, 30)]
    """
    for match in _public_forms().finditer(data):
        yield match.span()
    for match in _JWK.finditer(data):
        if not _PRIVATE_PART.search(match[0].decode("ascii")):
            yield match.span()


@cache
def _public_forms() -> re2._Regexp:
    return re2.compile("|".join(f"(?:{form})" for (form,) in read_rows(__file__, "public_forms.tsv")))
