"""The pass on the way out. Secrets are put together here from pieces, so that no scanner takes this file for a leak."""

import subprocess
import sys

import pytest
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


def test_a_private_key_header_is_masked_with_its_whole_line() -> None:
    header = "-----BEGIN OPENSSH " + "PRIVATE KEY-----"
    assert mask_secrets(f"the key {header} {MIXED}\nnext line") == "the key [redacted]\nnext line"


def test_the_body_below_a_private_key_header_is_masked_too() -> None:
    header = "-----BEGIN " + "PRIVATE KEY-----"
    assert mask_secrets(f"{header}\n{MIXED[:64]}\n{MIXED[:64]}\nnext line") == "[redacted]\nnext line"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgres://app:hunter2@db/shop", "postgres://app:[redacted]@db/shop"),
        ("redis://:hunter2@cache", "redis://:[redacted]@cache"),
        ("amqp://app:a@b@queue", "amqp://app:[redacted]@queue"),
    ],
)
def test_only_the_password_of_a_url_is_masked(text: str, expected: str) -> None:
    assert mask_secrets(text) == expected


def test_a_text_without_secrets_is_the_same_object() -> None:
    cases = [
        "The token refresh test is flaky below 2 s of clock skew.",
        "task-runner, disk-usage and risk-register use npm_config_cache",
        *("see https://example.com:8080/a and mail me@example.com", "postgres://app:${DB_PASSWORD}@db/shop"),
        *("commit da39a3ee5e6b4b0d3255bfef95601890afd80709", "a PRIVATE KEY belongs in the vault"),
        *("List<privateKey> is a type", ""),
    ]
    assert [actual for text in cases if (actual := mask_secrets(text)) is not text] == []


def test_private_spans_are_dropped_on_the_way_out() -> None:
    assert mask_secrets("a <Private x='1'>b</PRIVATE> c") == "a c"


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


def test_importing_it_loads_nothing_else() -> None:
    program = (
        "import sys, itertools; import subcog_hooks.core.tables, subcog_hooks.redaction; before = set(sys.modules);"
        "import subcog_hooks.redaction.masking;"
        "print(sorted(set(sys.modules) - before), 're' in sys.modules, 'typing' in sys.modules)"
    )
    command = [sys.executable, "-S", "-E", "-c", f"import sys; sys.path.insert(0, {project()!r}); {program}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['subcog_hooks.redaction.masking'] False False"


def project() -> str:
    import subcog_hooks

    return subcog_hooks.__file__.removesuffix("__init__.py").rstrip("/\\").removesuffix("subcog_hooks")
