"""Notes and prompts in eight languages: a note comes with a prompt in other words, its own language's or English."""

import shutil

import pytest

from tests.conftest import AS_LARGE_STORES_WITHOUT_LINES
from tests.e2e.machine import Machine

# By language: a note, a prompt in other words that it answers, and notes on other matters.
NATIVE = {
    "de": (
        "Die Signaturschlüssel des Release-Dienstes werden am ersten Montag im Monat getauscht, mit scripts/rotate.sh.",
        "wie oft müssen wir die schlüssel für die release-signatur erneuern?",
        "Bilder der Produkte liegen im Objektspeicher, nie in der Datenbank.",
        "Mails an Kunden gehen nur werktags zwischen acht und achtzehn Uhr hinaus.",
    ),
    "es": (
        "Las claves de firma del servicio de versiones se cambian el primer lunes de cada mes con scripts/rotate.sh.",
        "¿cada cuánto hay que renovar las claves con las que firmamos las versiones?",
        "Las imágenes de los productos se guardan en el almacén de objetos, nunca en la base de datos.",
        "Los correos a los clientes solo salen entre las ocho y las seis de la tarde.",
    ),
    "fr": (
        "Les clés de signature du service de publication changent le premier lundi du mois, avec scripts/rotate.sh.",
        "à quelle fréquence on renouvelle les clés qui signent nos publications ?",
        "Les images des produits sont dans le stockage d'objets, jamais dans la base de données.",
        "Les courriels aux clients partent seulement entre huit heures et dix-huit heures.",
    ),
    "pt": (
        "As chaves de assinatura do serviço de versões são trocadas na primeira segunda-feira do mês com scripts/rotate.sh.",
        "de quanto em quanto tempo a gente renova as chaves que assinam as versões?",
        "As imagens dos produtos ficam no armazenamento de objetos, nunca no banco de dados.",
        "Os e-mails para clientes só saem entre oito e dezoito horas.",
    ),
    "ru": (
        "Ключи подписи службы релизов меняем в первый понедельник месяца скриптом scripts/rotate.sh.",
        "как часто надо обновлять ключи, которыми подписываем релизы?",
        "Картинки товаров лежат в объектном хранилище, а не в базе данных.",
        "Письма клиентам уходят только с восьми до восемнадцати часов.",
    ),
    "ja": (
        "リリースサービスの署名鍵は毎月第一月曜日にscripts/rotate.shで交換する。",
        "リリースに署名する鍵はどのくらいの頻度で更新すればいい?",
        "商品の画像はオブジェクトストレージに置き、データベースには入れない。",
        "顧客へのメールは8時から18時の間だけ送る。",
    ),
    "zh": (
        "发布服务的签名密钥在每月第一个星期一用scripts/rotate.sh更换。",
        "给发布包签名的密钥多久要更新一次?",
        "商品图片放在对象存储里,不放进数据库。",
        "给客户的邮件只在八点到十八点之间发送。",
    ),
    "ko": (
        "릴리스 서비스의 서명 키는 매달 첫째 월요일에 scripts/rotate.sh로 교체한다.",
        "릴리스에 서명하는 키는 얼마나 자주 갱신해야 하나요?",
        "상품 이미지는 오브젝트 스토리지에 두고 데이터베이스에는 넣지 않는다.",
        "고객에게 보내는 메일은 8시부터 18시 사이에만 나간다.",
    ),
}
ENGLISH = (
    "Signing keys of the release service are rotated on the first Monday of the month with scripts/rotate.sh.",
    "Product images live in object storage, never in the database.",
    "Mail to customers leaves between eight and eighteen hours only.",
    "Invoices are numbered per country, and a number is never used twice.",
)
ELSEWHERE = {  # prompts about nothing that is noted
    "de": "Wie heißt die Hauptstadt von Australien, und wie viele Menschen leben dort?",
    "es": "¿cuál es la capital de Australia y cuánta gente vive allí?",
    "fr": "quelle est la capitale de l'Australie et combien de gens y vivent ?",
    "pt": "qual é a capital da Austrália e quantas pessoas moram lá?",
    "ru": "какая столица у Австралии и сколько людей там живёт?",
    "ja": "オーストラリアの首都はどこで、何人住んでいますか?",
    "zh": "澳大利亚的首都是哪里,有多少人住在那里?",
    "ko": "호주의 수도는 어디이고 몇 명이 살고 있나요?",
}
ANSWER = "keys"


@pytest.fixture
def lined(bare: Machine) -> Machine:
    """A machine whose hook points at notes by lines, as it does by default."""
    for name in AS_LARGE_STORES_WITHOUT_LINES:
        del bare.environment[name]
    return bare


def remember(machine: Machine, *notes: str) -> None:
    machine.imports(*({"id": ANSWER if number == 0 else f"n{number}", "content": note} for number, note in enumerate(notes)))


def test_a_note_comes_with_a_prompt_in_other_words(lined: Machine, subtests: pytest.Subtests) -> None:
    for language, (note, prompt, *others) in NATIVE.items():
        with subtests.test(language=language):
            for around in (others, ENGLISH[1:]):
                shutil.rmtree(lined.home, ignore_errors=True)
                remember(lined, note, *around)
                assert "rotate.sh" in lined.answer(lined.asking(prompt))
                assert ", relevance " not in lined.answer(lined.asking(ELSEWHERE[language]))
    lined.answer(lined.asking(prompt))
    assert b"it is in the prompt's language" in lined.run("why", "--explain").stdout


def test_of_one_note_in_many_languages_its_own_comes(lined: Machine) -> None:
    lined.imports(*({"id": language, "content": notes[0]} for language, notes in NATIVE.items()))
    answers = {language: lined.answer(lined.asking(notes[1])) for language, notes in NATIVE.items()}
    assert [language for language, answer in answers.items() if answer and NATIVE[language][0] not in answer] == []
    assert len([answer for answer in answers.values() if answer]) >= 5  # 3 where languages do not count


def test_an_english_note_comes_with_another_language(lined: Machine, subtests: pytest.Subtests) -> None:
    remember(lined, *ENGLISH)
    for language, (_, prompt, *_) in NATIVE.items():
        with subtests.test(language=language):
            assert "rotate.sh" in lined.answer(lined.asking(prompt))
