"""Redaction before a text is stored. Secrets are put together from pieces, so that no scanner takes this file for a leak."""

import base64
import json
import re
import string
from collections.abc import Mapping

import pytest
from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.plugins.base import BasePlugin, RegexBasedDetector
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from subcog_hooks.redaction import redact as module
from subcog_hooks.redaction.named_values import find_random_values
from subcog_hooks.redaction.redact import describe_removed, redact

LETTERS = string.ascii_letters * 3
MIXED = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7" * 4
HEX = "9f86d081884c7d659a2feaa0c55ad015" * 3
AWS = "AK" + "IA" + "Q7RZ2MXW4TLN6PVB"


def jwt(header: dict[str, str], payload: dict[str, str], *, separators: tuple[str, str] = (",", ":")) -> str:
    parts = [base64.urlsafe_b64encode(json.dumps(part, separators=separators).encode()) for part in (header, payload)]
    return ".".join(part.decode().rstrip("=") for part in parts) + "." + MIXED[:43]


def key_block(kind: str, dashes: str = "-----", body: str = f"MIIE{MIXED[:60]}\n{MIXED[:64]}\n") -> str:
    return f"{dashes}BEGIN {kind}{dashes}\n{body}{dashes}END {kind}{dashes}"


TOKENS = {
    "AWS access key": AWS,
    "Anthropic key": "sk-" + "ant-api03-" + MIXED[:90] + "AA",
    "OpenAI project key": "sk-" + "proj-" + MIXED[:70],
    "OpenAI service account key": "sk-" + "svcacct-" + MIXED[:70],
    "OpenAI legacy key": "sk-" + MIXED[:20] + "T3Blbk" + "FJ" + MIXED[20:40],
    "OpenRouter key": "sk-" + "or-v1-" + HEX[:64],
    "GitHub personal token": "gh" + "p_" + MIXED[:36],
    "GitHub fine-grained token": "github" + "_pat_" + MIXED[:22] + "_" + MIXED[:59],
    "GitLab token": "gl" + "pat-" + MIXED[:20],
    "Google key": "AI" + "za" + MIXED[:35],
    "Hugging Face token": "h" + "f_" + LETTERS[:34],
    "Slack bot token": "xo" + "xb-" + "123456789012-1234567890123-" + MIXED[:24],
    "Slack app token": "xa" + "pp-" + "1-A0123456789-1234567890123-" + HEX[:64],
    "Slack refresh token": "xo" + "xe-" + "1-" + MIXED[:60],
    "npm token": "np" + "m_" + MIXED[:36],
    "Stripe key": "sk" + "_live_" + MIXED[:24],
    "long Stripe key": "sk" + "_live_" + MIXED[:99],
    "SendGrid key": "S" + "G." + MIXED[:22] + "." + MIXED[:43],
    "Telegram token": "110201543" + ":A" + "A" + MIXED[:33],
    "Vault token": "hv" + "s." + MIXED[:24],
    "JWT": jwt({"alg": "HS256", "typ": "JWT"}, {"sub": "1234567890"}),
    "JWT with spaces in its JSON": jwt({"alg": "HS256"}, {" sub": "1"}, separators=(", ", ": ")),
}


def test_a_known_token_is_replaced_whole_and_the_rest_stays(subtests: pytest.Subtests) -> None:
    for name, token in TOKENS.items():
        with subtests.test(name=name):
            redacted = redact(f"Use {token} for the deploy.")
            assert re.fullmatch(r"Use \[redacted: [A-Za-z ]+\] for the deploy\.", redacted.text)
            assert [count for _, count in redacted.removed] == [1]
            assert token not in redact(f"鍵は「{token}」です").text + redact(rf'"key:\n{token}\n"').text


KEY_KINDS = [
    *("RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PRIVATE KEY", "ENCRYPTED PRIVATE KEY")
]
GONE = "[redacted: private key]"
PRIVATE_KEYS = [
    *((f"before\n{key_block(kind)}\nafter", f"before\n{GONE}\nafter") for kind in KEY_KINDS),
    (key_block("PGP PRIVATE KEY BLOCK", body=f"Version: GnuPG v2\n\n{MIXED[:64]}\n=abcd\n"), GONE),
    (f"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n{MIXED}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----", GONE),
    (
        f"PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n{MIXED}\nPrivate-MAC: {HEX[:64]}\nnext note",
        f"{GONE}\nnext note",
    ),
    ("before -----BEGIN RSA " + f"PRIVATE KEY-----\nMIIE{MIXED}\nrest", f"before {GONE}"),  # never closed
    (f'{{"private_key": "{key_block("PRIVATE KEY")}"}}'.replace("\n", "\\n"), f'{{"private_key": "{GONE}"}}'),
]


def test_a_private_key_goes_with_its_headers_and_body() -> None:
    assert [(text, actual) for text, expected in PRIVATE_KEYS if (actual := redact(text).text) != expected] == []


ASSIGNED = [
    ('password = "hunter2"', 'password = "[redacted: password]"'),
    ("password = 'correct-horse'", "password = '[redacted: password]'"),
    ('{"password": "hunter2"}', '{"password": "[redacted: password]"}'),
    ('{\\"password\\": \\"hunter2\\"}', '{\\"password\\": \\"[redacted: password]\\"}'),
    ('config["db_password"] = "hunter2"', 'config["db_password"] = "[redacted: password]"'),
    ('if password == "hunter2":', 'if password == "[redacted: password]":'),
    ("const dbPass: string = 'hunter2';", "const dbPass: string = '[redacted: password]';"),
    ("export DB_PASSWORD=hunter2", "export DB_PASSWORD=[redacted: password]"),
    ("export DB_PASSWORD=letmein", "export DB_PASSWORD=[redacted: password]"),
    ("Server=db;Password=letmein;User=sa", "Server=db;Password=[redacted: password];User=sa"),
    ("<password>hunter2</password>", "<password>[redacted: password]</password>"),
    ("mysqldump --password hunter2 shop", "mysqldump --password [redacted: secret] shop"),
    ("the staging password is hunter2, rotate it", "the staging password is [redacted: password], rotate it"),
    ("**Password:** `hunter2`", "**Password:** `[redacted: password]`"),
    ("password: hunter2\nuser: me", "password: [redacted: password]\nuser: me"),
    ("API_KEY: abc123", "API_KEY: [redacted: secret]"),
    ("api_key: str = 'abc123def456'", "api_key: str = '[redacted: secret]'"),
    ("X-API-Key: 3fa85f64-5717-4562-b3fc-2c963f66afa6", "X-API-Key: [redacted: secret]"),
    ("https://x.io/v1?api_key=a1b2c3d4e5f6&page=2", "https://x.io/v1?api_key=[redacted: secret]&page=2"),
    ("secret_key_base: " + HEX[:32], "secret_key_base: [redacted: secret]"),
    ("client_secret => '8Q~abc.DEF1ghi2JKL3mno4'", "client_secret => '[redacted: secret]'"),
    ("Authorization: Bearer " + MIXED[:40], "Authorization: Bearer [redacted: bearer token]"),
    ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted: authorization header]"),
    ("//registry.npmjs.org/:_authToken=" + HEX[:36], "//registry.npmjs.org/:_authToken=[redacted: npm token]"),
    ("curl -s -u admin:s3cr3tpw https://x", "curl -s -u admin:[redacted: password] https://x"),
]


URLS = [  # They keep scheme, user and host.
    ("postgres://app:s3cret@db.internal:5432/shop", "postgres://app:[redacted: URL password]@db.internal:5432/shop"),
    ("redis://:p4ss!word@cache/0", "redis://:[redacted: URL password]@cache/0"),
    ("amqp://svc:a@b1c2@queue", "amqp://svc:[redacted: URL password]@queue"),
    (
        "https://ci:" + "gh" + "p_" + MIXED[:36] + "@github.com/a/b.git",
        "https://ci:[redacted: URL password]@github.com/a/b.git",
    ),
]


def test_a_value_of_a_secret_name_is_replaced_and_the_name_stays() -> None:
    assert [(text, actual) for text, expected in (*ASSIGNED, *URLS) if (actual := redact(text).text) != expected] == []


HARMLESS = [
    "The file starts with `-----BEGIN PRIVATE KEY-----`, not with a certificate. Rotate it yearly.",
    *("the password: must be at least 12 characters", "password: 12-character minimum, rotated every 90 days"),
    *("token refresh is flaky below 2 s of clock skew", "secret = see vault", 'password = os.environ["DB_PASSWORD"]'),
    *("password = getpass.getpass()", "connect(user=user, password=db_password)"),
    *("connect(user=user, password=settings.database.password1)", "api_key: str", "password: Optional[str] = None"),
    *("The token is JWT and the password is bcrypt12-hashed", "token = tokens[i2]", "token: Base64UrlString"),
    *("max_tokens: 100000, token_count = 512", 'next_token = "AbC123dEf456"', 'pad_token = "<|reserved_12|>"'),
    *("primary_key: id_2024_abc1", "secret: k8s-db-secret-v2"),
    *("arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod-a1b2c3", 'Token: "#d8dee9"'),
    *("PWD=/home/user/project2", "Authorization: required on every call"),
    *("Bearer authentication-with-rotation is planned", "password=<your-key>", "password = xxxx", "password=changeme"),
    *("password: ${DB_PASSWORD}", "password: {{ vault_password }}", "password: ***", 'api_key = "your-api-key-here"'),
    *('curl -H "Authorization: Bearer $TOKEN1" https://x.io', "postgres://user:password@localhost/db"),
    *("postgres://app:${DB_PASSWORD}@db/shop", "http://localhost:8080/a@b", "git@github.com:owner/repo.git"),
    "commit da39a3ee5e6b4b0d3255bfef95601890afd80709 broke 3fa85f64-5717-4562-b3fc-2c963f66afa6",
    "cache key 1700000000:da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "cache key 1700000000:3fa85f64-5717-4562-b3fc-2c963f66afa6",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    *("class APEntityManager2 and AKCadence", "eyJub3QiLCJhIiwidG9rZW4i is base64 of a list"),
    "disk-0123456789abcdef0123456789abcdef is mounted",
    "test data: " + "QUFB" * 5 + AWS,
]


def test_prose_code_placeholders_and_hashes_stay_as_they_are(subtests: pytest.Subtests) -> None:
    for text in HARMLESS:
        with subtests.test(text=text):
            redacted = redact(text)
            assert redacted.text is text
            assert redacted.removed == ()


def test_a_value_of_many_words_is_judged_in_linear_time() -> None:
    value = "word-" * 30 + "a1%"
    assert redact(f"password: {value}").text == "password: [redacted: password]"


def test_each_line_of_base64_belongs_to_a_single_block() -> None:
    body = [MIXED[shift : shift + 64] for shift in range(40)] * 5
    for lines in (body, [line for pair in body for line in (pair, "abcdefgh" * 7)]):
        text = "\n".join(lines)
        values = list(find_random_values(text, lambda _: False))
        assert sum(end - start for start, end, _ in values) <= len(text)
        assert MIXED[3:13] not in redact(text).text
    assert redact(f"a\n{chr(10).join(body)}\nb").text == "a\n[redacted: random token]\nb"


def test_private_spans_are_removed_entirely() -> None:
    cases = [
        ("keep <private>the salary</private> this", "keep this"),
        ("keep<PRIVATE>\nline 1\nline 2\n</Private>this", "keep this"),
        ('a <private reason="a > b">x</private> b', "a b"),
        ("a <private>x <private>y</private> z</private> b", "a b"),
        ("a <private>never closed, to the end", "a "),
        ("a <private>x <private>y</private> still private", "a "),
        ("a stray </private> tag", "a stray tag"),
        ("<private>all of it</private>", ""),
    ]
    assert [(text, actual) for text, expected in cases if (actual := redact(text).text) != expected] == []


def test_removing_a_private_span_can_not_form_another_tag() -> None:
    redacted = redact("<pri<private>x</private>vate>kept</private>")
    assert "<private>" not in redacted.text
    assert "kept" in redacted.text


def test_removals_are_counted_by_kind_in_alphabetical_order() -> None:
    redacted = redact(f"<private>a</private> {AWS} <private>b</private> password='hunter2' {AWS}")
    assert redacted.removed == (("AWS Access Key", 2), ("password", 1), ("private block", 2))
    assert redact(f"<private>{AWS}</private>").removed == (("private block", 1),)


@pytest.mark.parametrize(
    ("removed", "line"),
    [
        ((), ""),
        ((("password", 1),), "removed 1 password"),
        ((("AWS Access Key", 1), ("private block", 2)), "removed 1 AWS access key and 2 private blocks"),
        (
            (("Basic Auth Credentials", 2), ("GitHub Token", 1), ("private key", 1)),
            "removed 2 Basic auth credentials, 1 GitHub token and 1 private key",
        ),
    ],
)
def test_describe_tells_people_in_one_line(removed: tuple[tuple[str, int], ...], line: str) -> None:
    assert describe_removed(removed) == line


def may_hold_secret(text: str) -> bool:
    plain = module._ascii_copy(text)
    return module._may_have_secret(plain, plain.encode())


def patterns_of_detect_secrets() -> list[tuple[str, re.Pattern[str]]]:
    patterns = []
    plugins: Mapping[str, type[BasePlugin]] = get_mapping_from_secret_type_to_class()
    for kind, plugin in plugins.items():
        if issubclass(plugin, RegexBasedDetector) and kind not in module._EXCLUDED_TYPES:
            patterns += [(kind, pattern) for pattern in plugin().denylist]
    return patterns


@pytest.mark.parametrize(
    ("kind", "pattern"), patterns_of_detect_secrets(), ids=lambda value: getattr(value, "pattern", value)[:40]
)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_the_quick_test_passes_all_detect_secrets_matches(kind: str, pattern: re.Pattern[str], data: st.DataObject) -> None:
    text = " " + data.draw(st.from_regex(pattern, alphabet=st.characters(codec="ascii"))) + " "
    assume(pattern.search(text))
    assert may_hold_secret(text)


def test_the_quick_test_lets_every_token_through() -> None:
    assert [name for name in TOKENS if not may_hold_secret(f"é {TOKENS[name]}")] == []


def test_a_pattern_that_re2_refuses_always_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    new = module._make_rule("New Token", re.compile(r"\bnew-(\w)\1\w{8}\b"), 0)
    rules = (*module._all_rules(), new)
    monkeypatch.setattr(module, "_all_rules", lambda: rules)
    module._combined_gate.cache_clear()
    try:
        assert redact("it is new-aabcdefghi today").text == "it is [redacted: New Token] today"
    finally:
        module._combined_gate.cache_clear()


PIECES = st.sampled_from(
    [
        *(*TOKENS.values(), AWS, key_block("RSA PRIVATE KEY"), "-----BEGIN " + "PRIVATE KEY-----"),
        *("<private>", "<private ", "</private>", "<pri", "vate>", ">", "password", "api_key", "token", " = ", "=", ": "),
        *('"', "'", "`", "hunter2", "abc123def456", "://app:", "@host", "Bearer ", "Authorization: ", "--password "),
        *("[redacted: password]", "[redacted: ", "]", "&", "\\n", "\n", " ", "é", "\ud800", "\0"),
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES | st.text(max_size=5), max_size=14).map("".join))
@example("<pri<private>x</private>vate>")
@example("<private" + AWS + ">x</private>")
@example("key=" + MIXED[:44] + AWS)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(text)
    assert redact(once.text) == (once.text, ())


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_text_comes_back_unless_a_removal_is_reported(text: str) -> None:
    redacted = redact(text)
    assert (redacted.text is text) == (not redacted.removed) or "private" in text.lower()


@pytest.mark.parametrize("letters", ["abcdefghi" * 20, "ABCDEFGHI" * 20, "0123456789" * 18, "-_./" * 45, "aBc" * 60])
def test_a_long_token_of_one_kind_of_character_is_worked_through(letters: str) -> None:
    for prefix in ("xoxb-", "ghp_", "sk-", "AKIA", "token="):
        assert redact(prefix + letters + "é, yearly").text.endswith(" yearly")  # a backtracking pattern would not end
