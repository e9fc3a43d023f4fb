"""Acronyms: definitions in a text, other texts, and well-known ones."""

import sys

from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.core.files import read_rows
from subcog_hooks.text import names


def test_a_text_defines_an_acronym() -> None:
    cases = [tuple(row) for row in read_rows(__file__, "acronyms.tsv")]
    cases += [("role-based\naccess control (RBAC)", "rbac", "role based access control")]
    failures = [
        (text, acronym, expansion, actual)
        for text, acronym, expansion in cases
        if (actual := names.definitions(text)) != [(acronym, expansion)]
    ]
    assert failures == []


def test_a_text_defines_nothing() -> None:
    cases = [
        *("", "keep it short (see below)", "call f(X) or forward_kernel(FK)", "forward kinematics(FK)"),
        *("[forward kinematics](FK)", "HTTP (port 80)", "the API (v2)", "we moved to TLS (HTTPS)"),
        "IDs (such as this)",
        "the database (DB)",  # one word
        "Kubernetes (K8s)",
        "OAuth (open authorization)",  # mostly lower case
        "We (web engineers) agreed",
        "continuous integration and delivery (CI/CD)",
        "multi use data (M_U_D)",
        "the fast kernel (SLOW)",
        "backward forward (FK)",
        "forward and very slow kinematics (FK)",  # a word without its letter
        "forward. Kinematics (FK)",  # another sentence
        "forward\n\nkinematics (FK)",  # another paragraph
        *("forward `x` kinematics (FK)", "run `forward kinematics (FK)` now", "``forward kinematics (FK)``"),
        *("```\nforward kinematics (FK)\n```", "`forward kinematics (FK)", "forward_kinematics all keys (AK_X)"),
        "semi-forward kinematics (FK)",  # part of a word
        "FK (forward kinematics of the arm)",  # more than the acronym
        "CI: cache images",  # two letters fit by chance
        *("PR: please review", "we add primary keys, or PK lookups fail", "of type (OT)", "A or B (AB)"),
        *("HTTP stands for hypertext transfer", "ATH = alpha * TH", "a file(1) manual", "TODO: fix it later (NOT now)"),
        *("((((((", ": (FK) : FK", "stands for short for known as (or "),
    ]
    assert [(text, actual) for text in cases if (actual := names.definitions(text)) != []] == []


def test_definitions_come_in_order_and_once() -> None:
    first, second = "WAL: write-ahead log", "Forward kinematics (FK), FK (forward kinematics)"
    text = f"{first}\n\n{second}, TTL stands for time to live. FK is short for fast key."
    assert names.definitions(text) == [
        ("wal", "write ahead log"),
        ("fk", "forward kinematics"),
        ("ttl", "time to live"),
        ("fk", "fast key"),
    ]


def test_a_long_form_of_more_than_ten_words_is_not_read() -> None:
    words = [letter + "ord" for letter in "abcdefgh"]
    assert names.definitions(f"ABCDEFGH ({' '.join(words)})") == [("abcdefgh", " ".join(words))]
    ten = "acid of the base of the cure of the dose"
    assert names.definitions(f"ABCD ({ten})") == [("abcd", ten)]
    assert names.definitions(f"ABCD ({ten.replace('cure', 'a cure')})") == []


def test_known_acronyms_are_those_of_the_table() -> None:
    for text, used, spelled in [
        ("the EKF and UKF (see CI/CD, URLs)", "ekf ukf ci cd cd url", ""),
        ("write-ahead logs, and an API. Model\nview controllers", "api", "wal mvc"),
        ("it is an api; sloth and Slam; key of foreign", "", ""),
    ]:
        found = names.known_acronyms(text)
        assert [" ".join(short for short, _ in rows) for rows in found] == [used, spelled]
    for short, long in read_rows(names.__file__, "acronyms.tsv"):
        assert (short, long) in names.known_acronyms(f"our {long}s,")[1]
        assert names.MIN_LETTERS <= len(short) <= names.MAX_LETTERS


PIECES = [
    *("(", ")", ": ", " = ", "FK", "AAAA", "a ", "of ", "forward kinematics ", "`", "```", "*", "-", "\n", ", or "),
    *("short for ", "'", "ß", "İ", "X2"),
]


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join)))
def test_any_text_can_be_read(text: str) -> None:
    for acronym, expansion in names.definitions(text):
        assert len(acronym) >= names.MIN_LETTERS
        assert acronym[0] == expansion[0] or (acronym[0] == "x" and expansion.startswith(("ex", "cross")))
        assert " " in expansion
        assert expansion.split() == expansion.split(" ")


def test_the_work_grows_with_the_length_only() -> None:
    cases = [
        *("(", "( ", ": ", "AB: ", "AB (", ", or ", "AB short for ", "`", "a-", "A A A (AAAAAAAB) "),
        *("AAAAAAAB: a a a a a a a a a a\n", "FK (f k) "),
    ]
    assert [piece for piece in cases if calls(piece * 800) > 2.1 * calls(piece * 400) + 100] == []


def calls(text: str) -> int:
    count = 0

    def count_call(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count_call)
    try:
        names.definitions(text)
        names.known_acronyms(text)
    finally:
        sys.setprofile(before)
    return count
