"""The part of a prompt that an LLM may see: nothing that `redact` finds in the secrets of its own tests."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from subcog_hooks.llm.disclosure import disclosable_text, may_hold_secret
from subcog_hooks.redaction.masking import MASK
from subcog_hooks.redaction.redact import redact
from tests.redaction import test_leaks as leaks
from tests.redaction import test_redact as secrets

ROOT = Path(__file__).parents[2]
MIXED = secrets.MIXED
TOKENS = {**secrets.TOKENS, **leaks.SECRETS, "Docker token": "dckr_" + "pat_" + MIXED[:27], "xAI key": "xai" + "-" + MIXED[:80]}
ASSIGNED = [*secrets.ASSIGNED, *secrets.URLS]
PLACES = ["{}", "Use {} for the deploy.", "鍵は「{}」です", r'"key:\n{}\n"', "KEY={}", "why does `{}` fail?", "({}), as before"]
# More of what people paste.
OTHERS = [
    "STRIPE_KEY=sk" + "_live_" + MIXED[:24],
    "password=hunter2hunter2",
    "why is password hunter2 refused?",
    "the password is letmein",
    "PASSWORD:\n  letmein",
    'passwd "letmein"'.replace(" ", " = "),
    "mein Passwort lautet Geheim7",
    "my password is: sunflower",
    "Das Passwort ist: Blumenkohl",
    "password for staging: sunflower",
    "pw: sunflower",
    "secret: sunflower",
    "the token is: sunflower",
    "export TOKEN=sunflower",
    "API_KEY=sunflower",
    '{"token": "sunflower", "retries": 3}',
    "AccountKey=" + "QUJD" * 22,
    "gsk" + "_" + MIXED[:52],
    "ya29" + "." + MIXED[:60],
    "dop_v1" + "_" + secrets.HEX[:64],
    "SG" + "." + MIXED[:22] + "." + MIXED[:43],
    "sk-or-v1" + "-" + secrets.HEX[:64],
    "Bearer " + MIXED[:30],
    "client credential: 7fe9a2b1",
    "we log in with kR7pWq2LxZ9vT4nB8sYc3 there",
    "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLE",
    "curl -u admin:hunter2 https://x",
    "https://hooks.slack.com/services/T00000000/B00000000/" + MIXED[:24],
]


def secret_in(text: str, redacted: str) -> str:
    """The part of a text that `redact` has replaced."""
    before, _, behind = redacted.partition("[redacted: ")
    return text[len(before) : len(text) - len(behind.partition("]")[2])]


def test_a_known_token_is_not_shown(subtests: pytest.Subtests) -> None:
    for context in PLACES:
        for name, token in TOKENS.items():
            with subtests.test(place=context, name=name):
                seen = disclosable_text(context.format(token))
                assert seen is None or token not in seen


def test_what_is_assigned_to_a_secret_name_is_not_shown(subtests: pytest.Subtests) -> None:
    for text, redacted in ASSIGNED:
        with subtests.test(text=text):
            for prompt in (text, f"Why does this fail?\n{text}\nIt worked."):
                seen = disclosable_text(prompt)
                assert seen is None or secret_in(text, redacted) not in seen


def test_what_people_paste_is_not_shown(subtests: pytest.Subtests) -> None:
    for text in OTHERS:
        with subtests.test(text=text):
            for prompt in (text, f"How do we rotate this? {text}, say."):
                seen = disclosable_text(prompt)
                assert seen is None or (MASK in seen and redact(seen).removed == () and text not in seen)


@pytest.mark.parametrize("kind", ["RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK", "PRIVATE KEY"])
def test_a_private_key_is_not_shown(kind: str) -> None:
    for block in (secrets.key_block(kind), secrets.key_block(kind, body=f"Version: GnuPG v2\n\n{MIXED[:64]}\n")):
        seen = disclosable_text(f"Why is it refused?\n{block}\nIt worked.")
        assert seen is None or MIXED[:40] not in seen


def test_a_shown_text_holds_nothing_that_redact_removes(subtests: pytest.Subtests) -> None:
    for text in secrets.HARMLESS:
        with subtests.test(text=text):
            seen = disclosable_text(text)
            assert seen is None or redact(seen).removed == ()


@settings(max_examples=400, deadline=None)
@given(st.lists(secrets.PIECES | st.text(max_size=5), max_size=14).map("".join))
@example("password: " + "[redacted: password]" + "hunter2")
def test_no_text_that_is_shown_holds_what_redact_would_take_out(text: str) -> None:
    seen = disclosable_text(text)
    assert seen is None or redact(seen).removed == ()


@pytest.mark.parametrize(("kind", "pattern"), secrets.patterns_of_detect_secrets())
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_nothing_is_shown_that_detect_secrets_matches(kind: str, pattern: re.Pattern[str], data: st.DataObject) -> None:
    text = " " + data.draw(st.from_regex(pattern, alphabet=st.characters(codec="ascii"))) + " "
    seen = disclosable_text(text)
    assert seen is None or redact(seen).removed == ()


def test_ordinary_prompts_are_shown_as_they_are() -> None:
    cases = [
        "How do we store the session token in the browser, and why not in localStorage?",
        "Why is the password refused on login? The token was expired, the secret is not set.",
        "rename the cookie of the session token",
        "tokens: why are they rotated? password reset is broken",
        "Where does allocate_berth retry on SQLSTATE 23P01 in src/auth2/token_store.ts:42?",
        "the key is in the vault; which keyboard shortcut opens it: ctrl or alt?",
        "sessionTokenOfTheBrowserV2 and test_oauth2_token_refresh_when_expired_twice fail",
        "commit da39a3e of 3fa85f64-5717-4562-b3fc-2c963f66afa6 at https://example.com:8080/a?b=c, mail me@example.com",
        "task-runner, disk-usage and risk-register",
        "password for the new login page: it has to be longer",
        "",
    ]
    assert [actual for text in cases if (actual := disclosable_text(text)) is not text] == []


def test_long_words_and_texts_without_blanks_are_shown() -> None:
    cases = [
        "設定の変更は必ずレビューを受けてから行い、本番サーバーのファイルを直接編集しないこと。",
        "所有的数据库迁移都必须先在测试环境里运行一遍然后才可以在生产环境里执行并且要留下记录",
        "ห้ามแก้ไขไฟล์ตั้งค่าบนเครื่องจริงโดยตรงให้ส่งคำขอรวมโค้ดก่อนเสมอ",
        "APIサーバーv2の設定は2024年3月にReactへ移行した",
        "where is the CustomerInvoiceReminderServiceFactory wired?",
        "where is the AbstractAddressValidationServiceProvider wired?",
    ]
    assert [text for text in cases if disclosable_text(text) is not text] == []


def test_letters_alone_may_be_a_token() -> None:
    assert [
        disclosable_text(f"see {token} there")
        for token in ("kRpWqLxZvTnBsYcQmJdHfGtXwNzVbKaErU", "AC" + "qwertyuiop" * 3 + "xy")
    ] == [None, None]


def test_a_token_amid_a_text_without_blanks_is_not_shown() -> None:
    assert disclosable_text("鍵はkR7pWq2LxZ9vT4nB8sYc3です") is None


def test_what_is_masked_does_not_keep_the_rest_from_being_shown() -> None:
    text = f"Why does git push with {TOKENS['GitHub token']} fail? <private>4711</private> It worked."
    assert disclosable_text(text) == "Why does git push with [redacted] fail? It worked."
    assert disclosable_text("postgres://app:hunter2@db/shop is slow") == "postgres://app:[redacted]@db/shop is slow"


@pytest.mark.parametrize("variable", ["$DB_PASSWORD", "${DB_PASSWORD}", "{password}", "%DB_PASSWORD%"])
def test_a_url_that_names_a_variable_is_shown(variable: str) -> None:
    text = f"Why does postgres://app:{variable}@db/shop time out?"
    assert disclosable_text(text) == text


def test_a_url_whose_password_only_begins_like_a_variable_is_not() -> None:
    cases = ["%01", "%21hunter2", "$1", "$a}", "${a", "$B.7", "{9}", "%a-b%"]
    failures = [
        (password, actual)
        for password in cases
        if (actual := disclosable_text(f"Why does postgres://0:{password}@db/shop time out?")) is not None
    ]
    assert failures == []


@settings(deadline=None)
@given(st.text())
def test_any_text_is_survived(text: str) -> None:
    assert may_hold_secret(text) in (True, False)


def test_importing_it_loads_no_regular_expressions() -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from subcog_hooks.llm import disclosure;"
        "disclosure.disclosable_text('Why is the session token refused?');"
        "print({'re', 'typing', 'functools', 'detect_secrets'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-S", "-E", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
