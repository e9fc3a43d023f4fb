"""Text into terms: identifiers, paths, stems, diacritics, scripts without spaces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.core.files import read_rows
from subcog_hooks.text import analysis

ANALYSERS = analysis.Analysers()
OTHER_WORDS = ("bound", "ground", "lay", "saw", "wound", "best")  # more often another word than an irregular form


def test_the_body_view_has_words_and_the_parts_of_identifiers() -> None:
    cases = [
        ("HttpClient", {"httpclient", "http", "client"}),
        ("parse_args", {"pars", "arg"}),
        ("src/app/db.py", {"src", "app", "db", "py"}),
        ("OAuth2", {"oauth2", "oauth", "auth"}),
        ("XMLHTTPRequest", {"xmlhttprequest", "xmlhttp", "request"}),
        ("migrations running", {"migrat", "run"}),
        ("the team’s café", {"the", "team", "cafe"}),
        ("E0308", {"e0308"}),
        ("Straße ﬁle", {"strass", "file"}),
        ("we chose, it went; indices", {"we", "choos", "it", "go", "index"}),
        ("WROTE Ran", {"write", "run"}),
        ("a built-in", {"a", "built", "build", "in"}),
        ("props.children", {"prop", "children", "child"}),
        ("went_on", {"went", "go", "on"}),
        ("rebuiltIndices", {"rebuiltindic", "rebuilt", "rebuild", "indic", "index"}),
    ]
    assert [(text, actual) for text, terms in cases if (actual := set(ANALYSERS.body_terms(text))) != terms] == []


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("call parse_args() now", {"call", "parse_args", "now"}),
        ("in src/app/db.py:42,", {"in", "src/app/db.py", "db.py", "42"}),
        (r"C:\app\main.rs", {"c", r"app\main.rs", "main.rs"}),
        ("std::vec::Vec and C++", {"std::vec::vec", "vec", "and", "c++"}),
        ("v2.1.329 (E0308).", {"v2.1.329", "e0308"}),
        ("--no-verify", {"no-verify"}),
    ],
)
def test_the_exact_view_keeps_identifiers_and_paths_whole(text: str, terms: set[str]) -> None:
    assert set(ANALYSERS.exact_terms(text)) == terms


def test_each_irregular_form_has_one_base_and_no_further() -> None:
    forms = [form for _, words in read_rows(analysis.__file__, "irregular.tsv") for form in words.split()]
    assert sorted(forms) == sorted(set(forms))
    words = {word for pair in analysis.BASES.items() for word in pair}
    assert [word for word in words if not (word.isascii() and word.isalpha() and word.islower())] == []
    assert {*analysis.BASES} & {*analysis.BASES.values(), *OTHER_WORDS} == set()
    others = (*OTHER_WORDS, "left-pad", "went_on", "leftover")
    assert [word for word in others if analysis.spread_words(word).split()[0] != word] == []


def test_every_character_pair_of_an_unspaced_script_is_a_term() -> None:
    assert analysis.cjk_view("認証はJWT") == "認証 証は は"
    assert analysis.cjk_view("plain ASCII") == ""


def test_a_label_is_compared_by_its_folded_whole_tokens() -> None:
    cases = [
        ("area:backend", "area backend"),
        ("Area:Backend", "area backend"),
        ("Error-Handling", "error handling"),
        ("front_end", "front end"),
        ("gray  rock", "gray rock"),
        ("Café menu", "cafe menu"),
        (".NET", "net"),
        ("C++", "c++"),
        ("v2.1", "v2.1"),
        ("src/app/db.py", "src/app/db.py"),
        ("認証", "認証"),
        ("...", ""),
    ]
    assert [(label, actual) for label, form in cases if (actual := analysis.label_form(label)) != form] == []


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_a_label_in_the_form_that_it_is_compared_in_stays_so(label: str) -> None:
    once = analysis.label_form(label)
    assert analysis.label_form(once) == once


def test_a_run_of_a_hundred_characters_is_data_and_no_word() -> None:
    read = [[view("a" * length) for view in (ANALYSERS.body_terms, ANALYSERS.exact_terms)] for length in (99, 100)]
    assert read == [[["a" * 99]] * 2, [[]] * 2]


@given(st.text())
def test_any_text_can_be_analysed(text: str) -> None:
    ANALYSERS.body_terms(text.encode("utf-8", "replace").decode())
    ANALYSERS.exact_terms(text.encode("utf-8", "replace").decode())
    analysis.cjk_view(analysis.fold(text))


@given(st.from_regex(r"[a-z]{2,8}([A-Z][a-z]{2,8}){1,3}", fullmatch=True))
def test_each_hump_of_a_camel_case_word_is_a_part(word: str) -> None:
    humps = ANALYSERS.body_terms("".join(" " + c.lower() if c.isupper() else c for c in word))
    assert set(humps) <= set(ANALYSERS.body_terms(word))
