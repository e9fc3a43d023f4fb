"""The pass on the way out. Secrets are put together here from pieces, so that no scanner takes this file for a leak."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from subcog_hooks.redaction.masking import mask_secrets, remove_private

MIXED = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7" * 4
AWS = "AK" + "IA" + "Q7RZ2MXW4TLN6PVB"
SECRETS = {
    "AWS key": AWS,
    "AWS session key": "AS" + "IA" + "Q7RZ2MXW4TLN6PVB",
    "GitHub token": "gh" + "s_" + MIXED[:36],
    "GitHub fine-grained token": "github" + "_pat_" + MIXED[:82],
    "Anthropic key": "sk-" + "ant-api03-" + MIXED[:90],
    "OpenAI project key": "sk-" + "proj-" + MIXED[:60],
    "OpenAI legacy key": "sk-" + MIXED[:20] + "T3Blbk" + "FJ" + MIXED[20:40],
    "Slack token": "xo" + "xb-" + "123456789012-" + MIXED[:24],
    "Google key": "AI" + "za" + MIXED[:35],
    "GitLab token": "gl" + "pat-" + MIXED[:20],
    "Hugging Face token": "h" + "f_" + MIXED[:34],
    "npm token": "np" + "m_" + MIXED[:36],
    "JWT": "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "JzdWIiOiIxMjM0In0." + MIXED[:43],
}


def test_an_unmistakable_secret_is_masked_and_the_rest_stays() -> None:
    masked = [(name, mask_secrets(f"use {secret} here")) for name, secret in SECRETS.items()]
    assert [(name, actual) for name, actual in masked if actual != "use [redacted] here"] == []


def test_only_a_password_or_a_private_key_is_masked() -> None:
    begin = "-----BEGIN "
    cases = [
        (f"the key {begin}OPENSSH PRIVATE KEY----- {MIXED}\nnext line", "the key [redacted]\nnext line"),
        (f"{begin}PRIVATE KEY-----\n{MIXED[:64]}\n{MIXED[:64]}\nnext line", "[redacted]\nnext line"),
        ("postgres://app:hunter2@db/shop", "postgres://app:[redacted]@db/shop"),
        ("redis://:hunter2@cache", "redis://:[redacted]@cache"),
        ("amqp://app:a@b@queue", "amqp://app:[redacted]@queue"),
        ("a <Private x='1'>b</PRIVATE> c", "a c"),
    ]
    assert [(text, actual) for text, expected in cases if (actual := mask_secrets(text)) != expected] == []


def test_a_text_without_secrets_is_the_same_object() -> None:
    cases = [
        "The token refresh test is flaky below 2 s of clock skew.",
        "task-runner, disk-usage and risk-register use npm_config_cache",
        *("see https://example.com:8080/a and mail me@example.com", "postgres://app:${DB_PASSWORD}@db/shop"),
        *("commit da39a3ee5e6b4b0d3255bfef95601890afd80709", "a PRIVATE KEY belongs in the vault"),
        *("List<privateKey> is a type", ""),
    ]
    assert [actual for text in cases if (actual := mask_secrets(text)) is not text] == []


def test_without_private_counts_the_outer_spans() -> None:
    assert remove_private("<private>a<private>b</private></private> c <private>d") == (" c ", 2)


PIECES = st.sampled_from(
    [*SECRETS.values(), "://u:", "@h", "<private>", "</private>", "<private", ">", "-", ".", " ", "\n", "x", "é"]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES | st.text(max_size=4), max_size=10).map("".join))
@example(AWS + SECRETS["GitHub token"])
@example("<private" + AWS + ">x")
def test_masking_twice_is_masking_once(text: str) -> None:
    once = mask_secrets(text)
    assert mask_secrets(once) == once
