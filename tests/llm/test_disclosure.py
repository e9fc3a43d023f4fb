"""The part of a prompt that an LLM may see: nothing that `redact` finds in the secrets of its own tests."""

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from subcog_hooks.cli.preview import examine_prompt
from subcog_hooks.core.errors import ConfigError
from subcog_hooks.core.paths import Home
from subcog_hooks.intent import detector
from subcog_hooks.llm import providers
from subcog_hooks.redaction.disclosure import disclosable_text, may_hold_secret
from subcog_hooks.redaction.masking import MASK
from subcog_hooks.redaction.redact import redact
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import Value
from subcog_hooks.store.state import CompiledSettings, State
from tests.intent.asked import BY_WORDS, LONG_MS, ORDER, QUESTION, YES, asking, examine_with, metric_values, status
from tests.llm_server import LlmServer
from tests.redaction import test_leaks as leaks
from tests.redaction import test_redact as secrets

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
    *("mein Passwort lautet Geheim7", "my password is: sunflower", "Das Passwort ist: Blumenkohl"),
    *("password for staging: sunflower", "pw: sunflower", "secret: sunflower", "the token is: sunflower"),
    *("export TOKEN=sunflower", "API_KEY=sunflower", '{"token": "sunflower", "retries": 3}'),
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


FAULTS: list[tuple[dict[str, Value], str]] = [
    ({"llm__model": ""}, "llm.model is not set"),
    ({"llm__base_url": "localhost:11434"}, "llm.base_url is no address"),
    ({"llm__key_file": "no-such-file"}, "no-such-file cannot be read"),
]


@pytest.mark.parametrize(("setting", "message"), FAULTS)
def test_the_terminal_is_told_what_is_wrong(home: Home, state: State, setting: dict[str, Value], message: str) -> None:
    with LlmServer(YES) as server, pytest.raises(ConfigError, match=message):
        examine_prompt(QUESTION, asking(server, **setting), home, state)
    assert server.requests == []


@pytest.mark.parametrize(("setting", "message"), FAULTS)
def test_the_hook_has_the_words_and_can_say_it(home: Home, state: State, setting: dict[str, Value], message: str) -> None:
    with LlmServer(YES) as server:
        settings = asking(server, **setting)
        begun = detector.begin_detection(QUESTION, settings, home, state, LONG_MS / 1000.0)
        result = begun.settle(("session",), settings, LONG_MS)
        begun.record_metrics(result, state)
    assert message in str(begun.fault)
    assert not begun.may_change
    assert (result.type, result.llm_status) == ("howto", "off")
    assert metric_values(state) == BY_WORDS


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ('base_url = "localhost:11434/v1"', "llm.base_url"),
        ('key_file = "key"', "llm.key_file"),
        ('baseurl = "http://localhost/v1"', "llm.baseurl"),
        ("[search_intent]\nuse_llm = 'false'", "search_intent.use_llm"),
        ("[search_intent]\nuse_llm = 0", "search_intent.use_llm"),
        ("[search_intent]\nuse-llm = false", "search_intent.use-llm"),
    ],
)
@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_rejected_setting_is_not_replaced_by_its_default(
    home: Home, state: State, lines: str, name: str, is_compiled: bool
) -> None:
    with LlmServer(YES) as server:
        address = "" if "base" in name else f'base_url = "{server.url_v1}"\n'
        Path(home.config).write_text(f'[llm]\nprovider = "openai"\nmodel = "m"\n{address}{lines}\n')
        for _ in range(1 + is_compiled):
            settings = loading.load(home, None, CompiledSettings(state))
        begun = detector.begin_detection(ORDER, settings, home, state, LONG_MS / 1000.0)
        assert not begun.may_change
        assert server.requests == []
    assert name in str(begun.fault)


def test_a_mistyped_variable_sends_nothing(home: Home, state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    with LlmServer(YES) as server:
        Path(home.config).write_text(f'[llm]\nprovider = "openai"\nmodel = "m"\nbase_url = "{server.url_v1}"\n')
        monkeypatch.setenv("SUBCOG_SEARCH_INTENT_USE_LLM", "flase")
        assert not detector.begin_detection(ORDER, loading.load(home), home, state, LONG_MS / 1000.0).may_change
        monkeypatch.delenv("SUBCOG_SEARCH_INTENT_USE_LLM")
        assert status(home, state, loading.load(home), ORDER) == "success"


def test_a_project_can_not_keep_an_llm_from_being_asked(home: Home, state: State, tmp_path: Path) -> None:
    with LlmServer(YES) as server:
        Path(home.config).write_text(f'[llm]\nprovider = "openai"\nmodel = "m"\nbase_url = "{server.url_v1}"\n')
        Path(tmp_path, ".subcog.toml").write_text('[llm]\nbase_url = "http://elsewhere/v1"\nmodel = 3\n')
        settings = loading.load(home, str(tmp_path))
        assert len(settings.problems) == 2
        assert providers.provider_of(settings, home) is not None
        begun = detector.begin_detection(ORDER, settings, home, state, LONG_MS / 1000.0)
        assert (begun.fault, begun.may_change) == (None, True)
        begun.settle((), settings, 0.0)


TOKEN = "ghp_" + "0aB1cD2eF3" * 4
KEY_LINES = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" + f"{number:02}" * 16 for number in range(40)]
KEY = "\n".join(["-----BEGIN PRIVATE KEY-----", *KEY_LINES, "-----END PRIVATE KEY-----"])


def sent_prompt(home: Home, prompt: str) -> str:
    with LlmServer(YES) as server:
        assert status(home, None, asking(server), prompt) == "success"
        return str(server.requests[0].json["messages"][1]["content"])


def test_the_prompt_is_shown_without_its_secrets(home: Home) -> None:
    text = sent_prompt(home, f"Why does git push with {TOKEN} fail? <private>the bank's code is 4711</private> It worked.")
    assert f"Why does git push with {MASK} fail?" in text
    assert "It worked." in text
    assert TOKEN not in text
    assert "4711" not in text


@pytest.mark.parametrize("before", range(1_200, 2_100, 100))
def test_a_secret_across_the_cut_of_a_prompt_is_not_sent(home: Home, before: int) -> None:
    prompt = "Why is this key refused?\n".ljust(before, "-") + "\n" + KEY + "\n" + "." * 1_000
    text = sent_prompt(home, prompt)
    assert "Why is this key refused?" in text
    assert "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" not in text
    assert all(line[-20:] not in text for line in KEY_LINES)
    private = sent_prompt(home, f"Why?{'.' * (before + 500)}<private>{'the bank code ' * 200}</private>{'Because.' * 10}")
    assert ("bank" in private, "Because." in private) == (False, True)


@pytest.mark.parametrize("secret", ["STRIPE_KEY=sk" + "_live_" + "0aB1cD2eF3" * 3, "dop_v1" + "_" + "9f86d081884c7d65" * 4])
def test_of_a_prompt_with_a_known_token_the_rest_is_shown(home: Home, secret: str) -> None:
    text = sent_prompt(home, f"Why is this refused: {secret}")
    assert "Why is this refused" in text
    assert secret[-20:] not in text


@pytest.mark.parametrize(
    "secret",
    [
        *("password=hunter2hunter2", "Authorization: Bearer " + "0aB1cD2eF3" * 3, "SG" + "." + "0aB1cD2eF3" * 3),
        *("AccountKey=" + "QUJD" * 22, "sk-or-v1" + "-" + "9f86d081884c7d65" * 4),
    ],
)
def test_a_prompt_that_may_hold_another_secret_is_not_sent(home: Home, state: State, secret: str) -> None:
    with LlmServer(YES) as server:
        result = examine_with(home, state, asking(server), f"{QUESTION} {secret}")
        assert server.requests == []
    assert (result.llm_status, result.llm_reason) == ("skipped", "the prompt may hold a secret")
    assert result.reading is not None
    assert result.confidence == result.reading.intent.confidence
    assert metric_values(state) == BY_WORDS
