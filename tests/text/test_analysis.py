"""Text into terms: identifiers, paths, stems, diacritics, scripts without spaces."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.core.files import read_rows
from subcog_hooks.store.index_writer import add_stems, cjk_view
from subcog_hooks.text import analysis
from subcog_hooks.text.analysis import function_words, stems_by_word
from subcog_hooks.text.languages import is_foreign, language_of
from tests.e2e.machine import DATA

ANALYSERS = analysis.Analysers()
OTHER_WORDS = ("bound", "ground", "lay", "saw", "wound", "best")  # more often another word than an irregular form


def exact_terms(text: str) -> list[str]:
    return list(ANALYSERS.exact.analyze(analysis.exact_view(analysis.fold(text))))


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
        ("std::vec::Vec and C++", {"std::vec::vec", "vec", "and", "cpp"}),
        ("v2.1.329 (E0308).", {"v2.1.329", "e0308"}),
        ("--no-verify", {"no-verify"}),
    ],
)
def test_the_exact_view_keeps_identifiers_and_paths_whole(text: str, terms: set[str]) -> None:
    assert set(exact_terms(text)) == terms


def test_each_irregular_form_has_one_base_and_no_further() -> None:
    forms = [form for _, words in read_rows(analysis.__file__, "irregular.tsv") for form in words.split()]
    assert sorted(forms) == sorted(set(forms))
    words = {word for pair in analysis.BASES.items() for word in pair}
    assert [word for word in words if not (word.isascii() and word.isalpha() and word.islower())] == []
    assert {*analysis.BASES} & {*analysis.BASES.values(), *OTHER_WORDS} == set()
    others = (*OTHER_WORDS, "left-pad", "went_on", "leftover")
    assert [word for word in others if analysis.spread_words(word).split()[0] != word] == []


def test_every_character_pair_of_an_unspaced_script_is_a_term() -> None:
    assert cjk_view("認証はJWT") == "認証 証は は"
    assert cjk_view("plain ASCII") == ""


def test_a_label_is_compared_by_its_folded_whole_tokens() -> None:
    cases = [
        ("area:backend", "area backend"),
        ("Area:Backend", "area backend"),
        ("Error-Handling", "error handling"),
        ("front_end", "front end"),
        ("gray  rock", "gray rock"),
        ("Café menu", "cafe menu"),
        (".NET", "net"),
        ("C++", "cpp"),
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
    read = [[view("a" * length) for view in (ANALYSERS.body_terms, exact_terms)] for length in (99, 100)]
    assert read == [[["a" * 99]] * 2, [[]] * 2]


@given(st.text())
def test_any_text_can_be_analysed(text: str) -> None:
    ANALYSERS.body_terms(text.encode("utf-8", "replace").decode())
    exact_terms(text.encode("utf-8", "replace").decode())
    cjk_view(analysis.fold(text))


@given(st.from_regex(r"[a-z]{2,8}([A-Z][a-z]{2,8}){1,3}", fullmatch=True))
def test_each_hump_of_a_camel_case_word_is_a_part(word: str) -> None:
    humps = ANALYSERS.body_terms("".join(" " + c.lower() if c.isupper() else c for c in word))
    assert set(humps) <= set(ANALYSERS.body_terms(word))


TOLD = {
    "danish": "Hvordan er det med indeks, og hvorfor bliver det ikke brugt efter import?",
    "dutch": "Waarom wordt deze index niet gebruikt, en hoe maken wij een nieuwe?",
    "finnish": "Miksi indeksi ei ole käytössä, ja mikä on uusi?",
    "french": "Pourquoi est-ce que les index ne sont pas dans la table ?",
    "german": "Warum ist der Index nicht in der Tabelle, und wie legen wir ihn an?",
    "greek": "Γιατί δεν χρησιμοποιούμε Kafka;",
    "hungarian": "Miért nem használjuk az indexet, és hogyan kell megcsinálni?",
    "italian": "Perché gli indici della tabella non sono usati?",
    "norwegian": "Hvordan er det med indeksen, og hvorfor blir den ikke brukt etter import?",
    "portuguese": "Por que os índices da tabela não são usados quando importamos?",
    "romanian": "De ce nu este folosit indexul pentru care sunt date?",
    "russian": "Почему индекс не используется в PostgreSQL?",
    "spanish": "¿Por qué no se usan los índices de esta tabla, y cómo se crean?",
    "swedish": "Varför används inte indexet, och hur ska vi skapa det efter import?",
    "turkish": "Bu indeks neden yok ve nasıl olarak eklenir?",
}


def test_a_language_is_told_by_its_function_words_or_its_script() -> None:
    assert [actual for language in TOLD if (actual := language_of(TOLD[language])) != language] == []


def english() -> list[str]:
    rows = [json.loads(line)["content"] for line in (DATA / "memories.jsonl").read_text(encoding="utf-8").splitlines()]
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    code = [
        path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parents[1].rglob("*.py")) if path != Path(__file__)
    ]
    return [*rows, *readme.splitlines(), *code]


def test_english_and_code_are_never_taken_for_another_language() -> None:
    languages = {text[:40]: language_of(text) for text in english() if language_of(text)}
    assert list(languages.values()) == ["german"]
    assert next(iter(languages)).startswith("Die Kurtaxe")
    unclear = ("", "die", "der Server", "was die on the men", "select de from el where la = 1")
    assert [text for text in unclear if language_of(text)] == []


def test_other_languages_have_stems_and_function_words() -> None:
    text = "Für die Buchungen der Gäste ist nicht gesperrt"
    assert stems_by_word(text, "german") == {"buchungen": "buchung", "gaste": "gast"}
    assert function_words(text, "german") >= {"fur", "der", "ist", "nicht"}
    assert "buchungen" not in function_words(text, "german")
    assert add_stems("The bookings of the guests") == "The bookings of the guests"
    assert add_stems("Die Buchungen der Gäste und wir").split()[-2:] == ["buchung", "gast"]


@given(st.text())
def test_any_text_has_a_language_or_none(text: str) -> None:
    language = language_of(text)
    if language:
        function_words(text, language)
        stems_by_word(text, language)
    add_stems(text)


ENGLISH = (
    *("São Paulo outage: deploy failed with exit code 101", "thanks José, merge André's PR", "José, José: fix"),
    *("Müller and José approved", "rename façade and naïve impl", "resize 1920×1080 to 1280×720"),
    *("Resolutions: 1920×1080, 1280×720, 640×480", "ES CA expired", "NER model in MIR", "CAS algo: compare and swap"),
    *("install nix and vi", "del num", "sans serif font non breaking", "TODO: rename el to element"),
    *("why does '登録' show twice on the settings page?", "git log --author=Müller", "café", "🦀"),
)
FOREIGN = (
    *("wie setz ich da über ssh ein neues passwort?", "qual é a senha do banco de testes?", "где лежат ключи"),
    *("CIの鍵はどこ", "redis를 왜 쓰나요", "para que sirve el outbox", "c'est où la config de nginx ?"),
)


def test_short_prompts_in_other_languages_are_known() -> None:
    assert [text for text in (*ENGLISH, *FOREIGN) if is_foreign(text)] == [*FOREIGN]
