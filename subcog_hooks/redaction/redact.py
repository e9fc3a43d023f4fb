"""Secrets and private spans are taken out here, before a text is stored: every way in calls `redact`.

The patterns are those of detect-secrets, a catalogue of vendors' tokens (`catalogue`), and a table of what both miss. They
are searched for by RE2, in linear time whatever the text. A secret is known by its form, by the name it is assigned to, or by
letters drawn by lot beside such a name (`nearby`); by those alone only where digits, capitals and small letters mix, because
developers' notes are full of hashes, UUIDs and commit ids.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import re2

from subcog_hooks.core.quiet_imports import defer_import
from subcog_hooks.core.tables import read_rows
from subcog_hooks.redaction import everyday, nearby, patterns, prefixes, secret_values
from subcog_hooks.redaction.assignments import ASSIGNMENT_HEAD, assigned, assigned_in_other_languages
from subcog_hooks.redaction.leaks import without_private
from subcog_hooks.redaction.public_forms import find_public
from subcog_hooks.redaction.secret_values import HOLDS, MARKER, is_token, is_written_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

PRIVATE = "private block"


class Redacted(NamedTuple):
    """A text without its secrets, and what was taken out: (kind, count) by kind in alphabetical order."""

    text: str
    removed: tuple[tuple[str, int], ...]


class _Span(NamedTuple):
    start: int
    end: int
    rank: int  # of two that overlap, the lower one names the union
    kind: str


class _Rule(NamedTuple):
    kind: str
    near: re2._Regexp | None  # the pattern as RE2 takes it, over bytes: without look-around; None where RE2 refuses it
    pattern: re.Pattern[str] | None  # the pattern itself where `near` is not the same
    gate: str | None  # a shorter form of `near`, to be joined with the others' into one expression
    group: int  # the group that is the secret, or 0 for all of it
    holds: Callable[[str], bool]


def redact(text: str) -> Redacted:
    """Return `text` without `<private>` spans and with each secret replaced by `[redacted: KIND]`.

    A text without either comes back as the same object; redacting twice is redacting once.

    >>> redact("token refresh is flaky").text
    'token refresh is flaky'
    """
    counts: dict[str, int] = {}
    while True:
        # again until nothing changes: what is removed may have kept a neighbour from looking like a secret
        shorter, blocks = without_private(text)
        if blocks:
            counts[PRIVATE] = counts.get(PRIVATE, 0) + blocks
        spans = _merged(_spans_behind_invisible(shorter))
        if not spans:
            return Redacted(shorter, tuple(sorted(counts.items(), key=lambda item: item[0].casefold())))
        pieces = []
        position = 0
        for span in spans:
            pieces += [shorter[position : span.start], f"{MARKER}{span.kind}]"]
            position = span.end
            counts[span.kind] = counts.get(span.kind, 0) + 1
        text = "".join(pieces) + shorter[position:]


def holds_known_secret(text: str) -> bool:
    """Return whether `text` holds a secret that is known by its form or the name it is assigned to, or a private span.

    What only looks drawn by lot does not count: ids and names of folders do, too.
    """
    plain = _plain(text)
    data = plain.encode()
    return bool(
        without_private(text)[1]
        or (_may_hold_secret(plain, data) and _pattern_spans(text, plain, data))
        or any(assigned(text))
        or any(everyday.find(text))
        or any(_may_stand(text[start:end]) for start, end, _ in patterns.known(text, data))
    )


def describe(removed: Iterable[tuple[str, int]]) -> str:
    """Return one line for people, "" when nothing was removed.

    >>> describe((("AWS Access Key", 1), ("private block", 2)))
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


# ---- what is looked for ----------------------------------------------------------------------------------------------

# Types of detect-secrets that are left out, and why.
_LEFT_OUT = {
    "Public IP (ipv4)": "an address is no secret",
    "Private Key": "matches the header alone; below, the whole block goes",
    "NPM tokens": "takes quadratic time on a line of slashes and swallows the rest of the line; below",
    "Telegram Bot Token": "takes `timestamp:UUID` and `timestamp:SHA-1` for tokens; below with the leading A of real ones",
}

# Types whose group 1 is the secret; elsewhere a group is a part of it (GitHub's `ghp`) and the whole match goes.
_SECRET_IN_GROUP_1 = {
    "AWS Access Key",
    "Basic Auth Credentials",
    "Cloudant Credentials",
    "IBM Cloud IAM Key",
    "IBM COS HMAC Credentials",
    "SoftLayer Credentials",
}

_BLOCK = "private key"

_OPAQUE = r"[A-Za-z0-9_-]"
_OPEN = r"[A-Za-z0-9_.=+/~%$:,-]"


def _with_prefix(table: list[tuple[str, int]], of: str) -> str:
    """Return a pattern of every prefix with as many characters of the class `of` behind it as it asks for."""
    lengths = sorted({least for _, least in table})
    tokens = "|".join(
        f"(?:{'|'.join(re.escape(prefix) for prefix, its in table if its == least)}){of}{{{least},}}" for least in lengths
    )
    return rf"(?:\b|_|\\[nrt])({tokens})"


# What a prefix alone tells: any other rule has a better name for it.
_GENERAL = (
    ("vendor token", _with_prefix(prefixes.list_prefixes(prefixes.OPAQUE), _OPAQUE), 1),
    ("vendor token", _with_prefix(prefixes.list_prefixes(prefixes.WIDE), _OPEN), 1),
)


# ---- how it is found -------------------------------------------------------------------------------------------------

_LOOK_AROUND = re.compile(r"\(\?<?[=!](?:[^()\\\[]|\\.|\[(?:[^\]\\]|\\.)*\])*\)")
_REPETITION = re.compile(r"\{(\d+)(?:,(\d*))?\}")
_SPACE_BEYOND_RE2 = re.compile(r"[\x0b\x1c-\x1f]|[^\S\x00-\x7f]")
_SPACES = bytes.maketrans(b"\x0b\x1c\x1d\x1e\x1f", b"     ")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_NO_WIDTH = frozenset("\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufe0e\ufe0f\ufeff")
_EDGES = " \t\r\n\f\v=:\"'"  # what some patterns take along from around a secret
_ESCAPES = ("\\n", "\\r", "\\t")
_RUN = re.compile(r"[A-Za-z0-9_-]*")
_GATE_MEMORY = 64 << 20  # bytes at most: with RE2's own 8 MiB its automaton starts over again and again
_GATE_REPETITIONS = 8  # the exact counts of 60 patterns would fill RE2's automaton on a megabyte of base64: .5 s instead of .05


def _may_hold_secret(plain: str, data: bytes) -> bool:
    """Return whether a text may hold a secret: a test of a few microseconds that no text fails which a pattern matches."""
    gate, ungated = _gate()
    return gate.search(data) is not None or any(any(_matches(rule, plain, data)) for rule in ungated)


def _spans_behind_invisible(text: str) -> list[_Span]:
    """Return the spans found in `text` when characters of no width are passed over.

    They are removed before a model reads it.
    """
    if text.isascii() or _NO_WIDTH.isdisjoint(text):
        return _spans(text)
    places = [place for place, character in enumerate(text) if character not in _NO_WIDTH]
    visible = "".join(text[place] for place in places)
    return [
        span._replace(start=places[span.start], end=places[span.end - 1] + 1)
        for span in _spans(visible)
        if span.end > span.start
    ]


def _spans(text: str) -> list[_Span]:
    """Return the spans that every pattern finds in `text`, and those that look drawn by lot."""
    plain = _plain(text)
    data = plain.encode()
    spans = _pattern_spans(text, plain, data) if _may_hold_secret(plain, data) else []
    last = len(_rules())
    others = (*assigned_in_other_languages(text), *everyday.find(text))
    spans += [_Span(start, end, last + 1, kind) for start, end, kind in others]
    for start, end, kind in patterns.known(text, data):
        if not plain[max(0, start - 1) : start].isalnum() and _may_stand(text[start:end]):
            spans.append(_Span(start, end, last + 2, kind))
    return spans + _guesses(text, data, last)


def _guesses(text: str, data: bytes, rank: int) -> list[_Span]:
    """Return the spans that are assigned to a name or look drawn by lot, without those that everybody may know."""
    guesses = [
        _Span(start, end, rank + 3, kind)
        for start, end, kind in nearby.drawn(text, _holds_secret)
        if _may_stand(text[start:end])
    ]
    if _assignment().search(data):
        guesses += [_Span(start, end, rank, kind) for start, end, kind in assigned(text)]
    public = list(find_public(data)) if guesses else []
    return [guess for guess in guesses if not any(start <= guess.start and guess.end <= end for start, end in public)]


def _may_stand(secret: str) -> bool:
    return MARKER not in secret and is_token(secret) and is_written_out(secret)


def _holds_secret(said: str) -> bool:
    """Return whether a word in base64 says a secret that is known by its form or its name."""
    plain = _plain(said)
    data = plain.encode()
    return bool(_pattern_spans(said, plain, data)) or any(assigned(said))


def _pattern_spans(text: str, plain: str, data: bytes) -> list[_Span]:
    spans = []
    for rank, rule in enumerate(_rules()):
        done = 0
        for match in _matches(rule, plain, data):
            span = match.span(rule.group)
            if span[0] < done:
                continue
            if rule.group == 0 and rule.kind != _BLOCK:
                span = _token(plain, *span)
            start, end = span
            done = end
            secret = text[start:end]
            if secret and rule.holds(secret) and (MARKER not in secret or rule.kind == _BLOCK):
                spans.append(_Span(start, end, rank, rule.kind))
    return spans


def _matches(rule: _Rule, plain: str, data: bytes) -> Iterator[re.Match[str] | re2._Match]:
    if rule.pattern is None and rule.near is not None:
        return iter(rule.near.finditer(data))
    if rule.pattern is not None and (rule.near is None or rule.near.search(data)):
        return rule.pattern.finditer(plain)  # all that have look-around are bounded in length, so this is linear as well
    return iter(())


def _token(plain: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without the white space and quotes around it, and with the rest of a token longer than its pattern.

    It is empty for what begins inside a word, as in base64: that is chance. The n of an escaped newline is no word.
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


def _merged(spans: list[_Span]) -> list[_Span]:
    """Return the spans in order; those that overlap become one, named by the lowest rank."""
    merged: list[_Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            first = min(last, span, key=lambda one: one.rank)
            merged[-1] = first._replace(start=last.start, end=max(last.end, span.end))
        else:
            merged.append(span)
    return merged


def _plain(text: str) -> str:
    """Return `text` in ASCII and of the same length: offsets in bytes and characters agree, and RE2's classes are Python's.

    White space becomes a space, any other character beyond ASCII one that no pattern names.
    """
    if text.isascii():
        return text.encode().translate(_SPACES).decode()
    return _NOT_ASCII.sub("\x01", _SPACE_BEYOND_RE2.sub(" ", text))


@cache
def _rules() -> tuple[_Rule, ...]:
    """Return all patterns, ours first: they match whole tokens where others match a part. Prefixes alone come last."""
    # 100 ms, paid once by a process that writes; another 250 were requests, by which plugins ask servers: ours ask none
    with defer_import("requests", Response=object):  # some annotate with it
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
        from detect_secrets.plugins.base import BasePlugin, RegexBasedDetector
        from detect_secrets.plugins.jwt import JwtTokenDetector

        plugins: Mapping[str, type[BasePlugin]] = get_mapping_from_secret_type_to_class()
    judges = vars(secret_values)
    rows = read_rows(__file__, "redact.tsv")
    rules = [_rule(kind, pattern, int(group), *(judges[name] for name in names)) for kind, group, pattern, *names in rows]
    for kind, plugin in sorted(plugins.items()):
        if kind in _LEFT_OUT or not issubclass(plugin, RegexBasedDetector):
            continue
        for pattern in plugin().denylist:
            group = 1 if kind in _SECRET_IN_GROUP_1 and pattern.groups else 0
            rule = _rule(kind, pattern, group)
            rules.append(rule._replace(holds=JwtTokenDetector.is_formally_valid) if plugin is JwtTokenDetector else rule)
    return (*rules, *(_rule(*row) for row in _GENERAL))


def _rule(kind: str, pattern: re.Pattern[str] | str, group: int, holds: Callable[[str], bool] | None = None) -> _Rule:
    """Return the rule of a pattern: our own are texts, which need not be compiled twice, a plugin's are compiled."""
    written, flags = (pattern, re.ASCII) if isinstance(pattern, str) else (pattern.pattern, pattern.flags)
    without = _LOOK_AROUND.sub("", written)
    near = _linear(without, flags)
    gate = _with_flags(_REPETITION.sub(_fewer, without), flags)
    is_same = near is not None and without == written
    return _Rule(
        kind,
        near,
        None if is_same else re.compile(pattern, flags) if isinstance(pattern, str) else pattern,
        gate if _linear(gate, 0) else None,
        group,
        holds or HOLDS.get(kind, is_token),
    )


def _linear(pattern: str, flags: int) -> re2._Regexp | None:
    """Return RE2's form of a pattern, or None if RE2 can not express it."""
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


def _fewer(repetition: re.Match[str]) -> str:
    least, most = int(repetition[1]), int(repetition[2] or repetition[1])
    return repetition[0] if most <= _GATE_REPETITIONS and repetition[2] != "" else f"{{{min(least, _GATE_REPETITIONS)},}}"


@cache
def _assignment() -> re2._Regexp:
    """Return a pattern that finds whatever `assigned` does, and more."""
    return re2.compile(_with_flags(_LOOK_AROUND.sub("", ASSIGNMENT_HEAD) + r"\\?[\"'`]?[^\s\"'`,;<>]{4}", re.IGNORECASE))


@cache
def _gate() -> tuple[re2._Regexp, tuple[_Rule, ...]]:
    """Return one expression for all patterns, and the rules that it can not speak for, which always run."""
    rules = _rules()
    options = re2.Options()
    options.never_capture = True
    options.log_errors = False
    options.max_mem = _GATE_MEMORY
    gates = [rule.gate for rule in rules if rule.gate is not None]
    return re2.compile("|".join([*gates, _assignment().pattern]), options), tuple(rule for rule in rules if rule.gate is None)
