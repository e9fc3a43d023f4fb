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
    keys = (secrets.key_block(kind) for kind in ("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK", "PRIVATE KEY"))
    for text, redacted in (*ASSIGNED, *((key, secrets.GONE) for key in keys)):
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
        "設定の変更は必ずレビューを受けてから行い、本番サーバーのファイルを直接編集しないこと。",
        "所有的数据库迁移都必须先在测试环境里运行一遍然后才可以在生产环境里执行并且要留下记录",
        "ห้ามแก้ไขไฟล์ตั้งค่าบนเครื่องจริงโดยตรงให้ส่งคำขอรวมโค้ดก่อนเสมอ",
        "APIサーバーv2の設定は2024年3月にReactへ移行した",
        *(f"where is the {name} wired?" for name in ("CustomerInvoiceReminderServiceFactory", "AddressValidationProvider")),
        *(f"Why does postgres://app:{name}@db/shop time out?" for name in ("$DB_PASSWORD", "${DB_PW}", "{pw}", "%A_B%")),
    ]
    assert [actual for text in cases if (actual := disclosable_text(text)) is not text] == []


def test_what_may_be_a_secret_is_not_shown() -> None:
    tokens = ("kRpWqLxZvTnBsYcQmJdHfGtXwNzVbKaErU", "AC" + "qwertyuiop" * 3 + "xy")
    texts = [*(f"see {token} there" for token in tokens), "鍵はkR7pWq2LxZ9vT4nB8sYc3です"]
    beginnings = ("%01", "%21hunter2", "$1", "$a}", "${a", "$B.7", "{9}", "%a-b%")  # of a variable's name
    texts += [f"Why does postgres://0:{password}@db/shop time out?" for password in beginnings]
    assert [(text, actual) for text in texts if (actual := disclosable_text(text)) is not None] == []


def test_what_is_masked_does_not_keep_the_rest_from_being_shown() -> None:
    text = f"Why does git push with {TOKENS['GitHub token']} fail? <private>4711</private> It worked."
    assert disclosable_text(text) == "Why does git push with [redacted] fail? It worked."
    assert disclosable_text("postgres://app:hunter2@db/shop is slow") == "postgres://app:[redacted]@db/shop is slow"


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
