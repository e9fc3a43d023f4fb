"""The language of a text, its function words and its stems."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.text.analysis import add_stems, function_words, stems_by_word
from subcog_hooks.text.languages import is_foreign, language_of
from tests.e2e.machine import DATA

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
