"""Triggers: accepted patterns, their matches, and that a prompt's keys find every trigger that would match it."""

from __future__ import annotations

import random
import sys

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.cues import triggers


def test_a_fault_is_named_in_re2s_words(subtests: pytest.Subtests) -> None:
    cases = [
        ("foo(bar", "missing )"),
        ("a*b**", "bad repetition operator: **"),
        ("a{2}b{1001}", "invalid repetition size: {1001}"),
        ("a\\ya", "invalid escape sequence: \\y"),
        ("é\\p{Foo}", "invalid character class range: \\p{Foo}"),
        ("x(?=y)", "invalid perl operator: (?=; use the RE2 syntax: https"),
        ("ab(?<!x)c", "invalid perl operator: (?<!"),
        ("(a)\\1", "invalid escape sequence: \\1"),
        ("ab\\Z", "invalid escape sequence: \\Z"),
        ("é\\u00e9", "invalid escape sequence: \\u"),
        ("ab\ud800", "no text at character 3"),
        ("zu \\büben", "\\b stands beside a letter beyond ASCII"),
        ("слово\\b", "\\b stands beside a letter beyond ASCII"),
        ("x" * 501, "501 characters, at most 500 are taken"),
        ("[^x]{1000}", "9,004 steps when it is compiled, at most 1,500"),
        ("a\\Cb", "\\C is a byte, which may be part of a letter"),
        ("((\\pL{10}){10}){9}", "pattern too large - compile failed; count repeats lower"),
    ]
    for pattern, message in cases:
        with subtests.test(pattern=pattern):
            with pytest.raises(InvalidMemory) as refused:
                triggers.check_trigger(pattern)
            assert str(refused.value).startswith("triggers has ")
            assert message in str(refused.value)
            assert "\n" not in str(refused.value)


def test_a_trigger_is_taken(subtests: pytest.Subtests) -> None:
    cases = ["x" * 500, "(a*)*bc", "((a+)+)+b", "\\pL+!", "(?P<n>a)b", "(?<n>a)b", "日本", "\\bcafé"]
    for pattern in cases:
        with subtests.test(pattern=pattern):
            triggers.check_trigger(pattern)


@pytest.mark.parametrize(
    "pattern", ["(x+x+)+y", "((a*)*)*bc", "(a|a)*bc", "(a|aa)+$b", "(.*)(.*)(.*)(.*)x!", "(a{0,30}){20}bc"]
)
def test_a_hostile_trigger_is_linear(pattern: str) -> None:
    triggers.check_trigger(pattern)
    assert not triggers.compile_trigger(pattern).search("a" * 65_536)  # others would not end


@pytest.mark.parametrize(
    "pattern",
    ["", "a*", "a|", "\\b", "\\B|a", "$", "a", "A", ".", "\\w", "\\s", "\\W", "[0-9]", "\\bi\\b", "kubectl|,", "^\\w", "[?!]$"],
)
def test_what_nearly_every_text_has_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidMemory, match="it matches nearly every text"):
        triggers.check_trigger(pattern)


@pytest.mark.parametrize("pattern", ["^y$", "\\A[12]\\z", "ab", "\\d\\d", "c\\+\\+", "東"])
def test_a_short_trigger_is_taken_where_few_texts_have_it(pattern: str) -> None:
    triggers.check_trigger(pattern)


def test_quotes_blanks_and_accents_match_in_any_writing(subtests: pytest.Subtests) -> None:
    cases = [
        ("can\u2019t go on", "I can't go on"),
        ("can't go on", "I can\u2019t go on"),
        ("can[\u2019']t", "can\u02bct"),
        ("say \u201cno\u201d", 'Say "no"'),
        ("roll back", "roll\u00a0back"),
        ("cafe\u0301", "CAF\u00c9"),
        ("caf\u00e9", "cafe\u0301"),
        ("\u2018quoted\u2019", "'quoted'"),
    ]
    for pattern, text in cases:
        with subtests.test(pattern=pattern):
            plain = triggers.plain_text(text)
            triggers.check_trigger(pattern)
            assert triggers.search_trigger(pattern, plain.encode())
            keys = {literal[: triggers.KEY] for [literal] in triggers.required_literals(pattern)}
            assert keys <= set(triggers.keys_in_text(plain))


def test_a_prompt_may_wrap_where_a_trigger_has_a_blank(subtests: pytest.Subtests) -> None:
    cases = [
        ("rotate the keys", "please rotate\nthe keys"),
        ("rotate the keys", "ROTATE THE\r\nKEYS now"),
        ("force[- ]?push", "then force\npush it"),
        ("force[ -]push", "then force\npush it"),
        ("(need|help) .{0,40} calm", "help\nme stay\u00a0calm"),
        ("\\Qroll back\\E( all)?", "roll\nback"),
        ("[] ]x", "a\nx"),
        ("[\\] ]x", "a\nx"),
        ("one {1,2}two", "one \ntwo"),
        ("^ship it$", "ship\nit"),
    ]
    for pattern, text in cases:
        with subtests.test(pattern=pattern):
            triggers.check_trigger(pattern)
            assert triggers.search_trigger(pattern, triggers.plain_text(text).encode())


@pytest.mark.parametrize(
    ("pattern", "text"), [("rotate keys", "rotate\n\nkeys"), ("rotate.keys", "rotate\nkeys"), ("rotatekeys", "rotate\nkeys")]
)
def test_nothing_but_a_blank_takes_a_line_break(pattern: str, text: str) -> None:
    assert not triggers.search_trigger(pattern, text.encode())


def test_a_costly_trigger_is_matched_against_both_ends() -> None:
    pattern = "[a-h].{0,140}[i-q]#"
    rest = b"x" * 65_536
    assert triggers.search_trigger(pattern, b"ai#" + rest)
    assert triggers.search_trigger(pattern, rest + b"ai#")
    assert not triggers.search_trigger(pattern, rest + b"ai#" + rest)
    assert not triggers.search_trigger(pattern, b"\xff" * 65_536)
    assert triggers.search_trigger("deploy(ing|ment)? to prod", b"x " * 5_000 + b"deploy to prod" + b" x" * 5_000)


def test_a_trigger_is_found_by_literals(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, list[str]]] = [  # of each set, with | between
        ("Kubectl Apply", ["kubectl", "apply"]),
        ("kubectl (apply|delete)", ["kubectl", "apply|delete"]),
        ("\\bdata(base|bases)? (migration|schema)s?\\b", ["migration|schema", "data"]),
        ("kill myself|end my life|suicid\\w*", ["myself|life|suicid"]),
        ("colou?r\\d+", ["colo"]),
        ("[Rr]edis", ["edis"]),
        ("re-?index", ["index"]),
        ("can't|cannot", ["can"]),
        ("fo+bar", ["bar"]),
        ("(word){3,}", ["word"]),
        ("(abc)*defg", ["defg"]),
        ("a(bc(def))", ["def"]),
        ("(?i)abc(?-s:defg)", ["defg", "abc"]),
        ("abc\\.def", ["abc", "def"]),
        ("[^a]bcd", ["bcd"]),
        ("日本|東京", ["日本|東京"]),
        ("straße", ["strasse"]),
        ("\u017fet the \u212aey", ["set", "the", "key"]),
        ("x" * 100, ["x" * 64]),
        ("(abc|.*)def", ["def"]),
        ("one.{0,20}other", ["other", "one"]),
        (" ".join(f"word{i}" for i in range(9)), [f"word{i}" for i in range(8)]),
    ]
    for pattern, expected in cases:
        with subtests.test(pattern=pattern):
            assert ["|".join(literals) for literals in triggers.required_literals(pattern)] == expected


def test_a_trigger_without_a_certain_literal_has_none() -> None:
    cases = [
        *(".*", "ab", "c\\+\\+", "a.b.c", "(foo)?", "(foo)*", "foo|.x", "foo|ab", "[a-z]+", "\\d{3}", "x{0,5}", "gr[ae]y"),
        "|".join(f"{number}word" for number in range(100, 165)),
        *("abc{02}", "abc{,5}", "abc[[:alpha:]]def", "\\Qabc\\E", "foo(", "foo)", "*foo", "(a+)+"),
        *("foo[", "foo\\", "foo\\y", "foo\\1", "foo\\x{zz}", "foo\\x{110000}", "foo\\p{", "foo(?P<n"),
    ]
    assert [(pattern, actual) for pattern in cases if (actual := triggers.required_literals(pattern)) != ()] == []


def test_literals_are_bounded_whatever_the_pattern() -> None:
    for pattern in (
        "[ab]" * 125,
        "(" * 160 + "abc" + "{4})" * 80,
        "(" * 80 + "abc" + "){4}" * 80,
        "(a|b)?" * 80,
        "abc|" * 120 + "d.e",
    ):
        required = triggers.required_literals(pattern)
        assert len(required) <= triggers.MAX_REQUIRED
        assert all(len(literals) <= triggers.MAX_BRANCHES for literals in required)
        assert all(len(literal) <= triggers.MAX_LITERAL for literals in required for literal in literals)


def test_the_keys_of_a_text_are_its_runs_of_three_and_four() -> None:
    assert triggers.keys_in_text("ABCDE, ab abc") == ["abcd", "bcde", "abc", "bcd", "cde"]
    assert triggers.keys_in_text("日本語x") == ["日本語x", "日本語", "本語x", "日本", "本語", "語x"]
    assert triggers.keys_in_text("don't 12 a_b") == ["don"]
    assert triggers.keys_in_text("") == []


def test_letters_that_re2_equates_are_folded_alike() -> None:
    cased = [char for char in map(chr, range(sys.maxunicode)) if char.swapcase() != char or char.casefold() != char]
    every = "".join(cased)
    for char in cased:
        folded = triggers.fold_characters(char)
        if folded != " ":
            same = triggers.compile_trigger(f"\\x{{{ord(char):x}}}").findall(every)
            assert char in same
            assert {other.casefold() for other in same} == {folded}


LETTERS = "abkKsſ\u212aßẞéÉиИΣςσ日İıǰ1_- "
Pair = tuple[str, str]  # a pattern and a text that it may match
WORDS = st.text(LETTERS, min_size=1, max_size=5).map(lambda word: (word, word))
SINGLES = st.sampled_from(
    [
        (".", "x"),
        ("\\d", "7"),
        ("\\w", "a"),
        ("\\s", "\n"),
        ("\\pL", "ß"),
        ("\\p{Greek}", "σ"),
        ("\\x6b", "K"),
        ("\\x{212A}", "k"),
        ("\\141", "A"),
        ("\\.", "."),
        ("\\-", "-"),
        ("\\Qa.b\\E", "A.B"),
        ("\\Q\\E", ""),
        ("\\b", ""),
        ("\\C", "a"),
        ("(?i)", ""),
        ("(?-i)", ""),
        ("(?s)", ""),
        ("(?U)", ""),
        ("[ſk]", "K"),
        ("[a-c]", "b"),
        ("[^a]", "k"),
        ("[[:alpha:]]", "z"),
        ("[[:^digit:]x]", "x"),
        ("[\\d]", "4"),
        ("[]a]", "]"),
        ("[^]a]", "k"),
        ("[\\x41b]", "a"),
        ("[[a]", "["),
        ("[a-]", "-"),
        ("[\\]b]", "]"),
    ]
)
REPEATS = [("*", 0), ("*", 2), ("+", 1), ("+", 3), ("?", 0), ("?", 1), ("{2}", 2), ("{0}", 0), ("{1,}", 2), ("{0,2}", 1)]
REPEATS += [("{3,5}", 4), ("*?", 1), ("+?", 2), ("{2,3}?", 3), ("{6}", 6)]


def _join_pairs(pairs: list[Pair]) -> Pair:
    return "".join(pattern for pattern, _ in pairs), "".join(text for _, text in pairs)


def _larger(pairs: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    rows = st.lists(pairs, min_size=1, max_size=4)
    opens = st.sampled_from(["(", "(?:", "(?P<n>", "(?i:", "(?-i:", "(?s-i:"])
    chosen = st.tuples(opens, rows, st.integers(0, 3)).map(
        lambda drawn: (drawn[0] + "|".join(pattern for pattern, _ in drawn[1]) + ")", drawn[1][drawn[2] % len(drawn[1])][1])
    )
    repeated = st.tuples(pairs, st.sampled_from(REPEATS), st.booleans()).map(
        lambda drawn: ((f"(?:{drawn[0][0]})" if drawn[2] else drawn[0][0]) + drawn[1][0], drawn[0][1] * drawn[1][1])
    )
    return st.one_of(rows.map(_join_pairs), chosen, repeated)


PATTERNS = st.recursive(st.one_of(WORDS, SINGLES), _larger, max_leaves=12)
SOUP = st.lists(
    st.sampled_from([*"()[]{}|*+?\\QEabkx12,^$:.-pPLdw<>!imsU0 ", "[[:", "\\x{", "(?:", "abc", "foo"]), max_size=14
).map("".join)


def _assert_found(pattern: str, text: str) -> None:
    """Assert that a matching text has one of each set of the pattern's literals, and its key."""
    try:
        matched = triggers.compile_trigger(pattern).search(text)
    except re2.error:
        return
    required = triggers.required_literals(pattern)
    assert all(
        literal.isalnum() and len(literal) >= 3 - (not literal.isascii()) for literals in required for literal in literals
    )
    if matched:
        folded, keys = text.casefold(), set(triggers.keys_in_text(text))
        for literals in required:
            assert any(literal in folded and literal[: triggers.KEY] in keys for literal in literals)


@given(PATTERNS, st.text(LETTERS, max_size=12))
def test_what_matches_is_found_by_its_keys(pair: Pair, other: str) -> None:
    pattern, text = pair
    for near in (text, f"x {text.swapcase()} y", text.upper(), other, text + other):
        _assert_found(pattern, near)


BLANK_PAIRS = [
    ("[- ]", " "),
    ("[ -]", " "),
    ("[] ]", " "),
    ("[\\] ]", " "),
    ("[a-c ]", " "),
    ("\\Qa b\\E", "a b"),
    ("\\Q \\E", " "),
]
WRAPPING = st.recursive(st.one_of(WORDS, st.sampled_from(BLANK_PAIRS)), _larger, max_leaves=12)


@given(WRAPPING, st.randoms(use_true_random=False))
def test_a_text_that_matches_does_so_wherever_it_wraps(pair: Pair, chance: random.Random) -> None:
    pattern, text = map(triggers.plain_text, pair)
    wrapped = "".join(char if char != " " or chance.random() < 0.5 else "\n" for char in text)
    try:
        if triggers.compile_trigger(pattern).fullmatch(text):
            assert triggers.search_trigger(pattern, wrapped.encode())
    except re2.error:
        return


@given(SOUP, SOUP)
def test_no_pattern_breaks_the_reading(pattern: str, text: str) -> None:
    _assert_found(pattern, text)
    _assert_found(pattern, pattern)
    try:
        triggers.check_trigger(pattern)
    except InvalidMemory:
        return
    assert not triggers.compile_trigger(pattern).fullmatch("")
