"""The pass on the way out. Secrets are put together here from pieces, so that no scanner takes this file for a leak."""

import base64
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from subcog_hooks.redaction import masking, named_values
from subcog_hooks.redaction.disclosure import disclosable_text
from subcog_hooks.redaction.masking import mask_secrets, remove_private
from subcog_hooks.redaction.redact import redact
from tests.redaction.everyday import find_wrong, read_examples

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


PUBLIC = [
    f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5{MIXED[:48]} ada@laptop is my key for SSH",
    f"-----BEGIN CERTIFICATE-----\n{MIXED[:64]}\n{MIXED[5:60]}==\n-----END CERTIFICATE-----",
    f"-----BEGIN PUBLIC KEY-----\n{MIXED[:64]}\n-----END PUBLIC KEY-----",
    "gpg --recv-keys 3AA5C34371E29F048B7D15C6A0E92D84F76B130C",
    f"STRIPE_PUBLISHABLE_KEY=pk_test_{MIXED[:40]}",
    f"the price price_{MIXED[:20]} is the key one",
    "the event 2FxN9bQmK7tRvYw3LpZsJ8dHcAe, the link V1StGXR8_Z5jdHi6B-myT",
    "figma.com/file/Vq8sT2bXr0cZp7eWn5LdYh/Checkout",
    '<div class="css-1q2w3e4r5t-MuiButtonBase-root kR7pWq2LxZ9vT4nB8sYc3">',
]


def test_what_everybody_may_know_stays() -> None:
    assert [(text, actual) for text in PUBLIC if (actual := redact(text).removed) != ()] == []


def test_a_private_part_of_a_key_goes_with_the_public_one() -> None:
    assert redact(f'{{"kty":"RSA","n":"{MIXED[:60]}","e":"AQAB"}}').removed == ()
    assert MIXED[10:60] not in redact(f'{{"kty":"RSA","n":"x","d":"{MIXED[:60]}"}}').text


def test_a_private_key_behind_a_certificate_goes() -> None:
    header = "-----BEGIN " + "PRIVATE KEY-----"
    text = f"{PUBLIC[1].removesuffix('-----END CERTIFICATE-----')}{header}\n{MIXED[:64]}\n-----END PRIVATE KEY-----"
    assert MIXED[:64] + "\n-----END" not in redact(text).text


def test_a_vendors_token_stays_a_secret_inside_of_a_public_form() -> None:
    token = "gh" + "p_" + MIXED[:36]
    assert token[8:30] not in redact(f'<div class="{token}">, public key: {token}').text


SHARED = Path(__file__).parents[2].parent / "shared"
HIDDEN_SECRETS = SHARED / "hostile" / "secrets.b64"
NOTES = SHARED / "eval" / "devmem" / "memories.jsonl"
LEAST = {"vendor": 51, "line": 28, "hard": 12}  # of 55, 31 and 26
MOST_TOUCHED = 0.015  # of notes without secrets


@pytest.mark.skipif(not HIDDEN_SECRETS.exists(), reason="the list of secrets is not part of this repository")
def test_most_made_up_secrets_are_not_stored() -> None:
    gone: Counter[str] = Counter()
    for line in HIDDEN_SECRETS.read_bytes().split():
        row = json.loads(base64.b64decode(line))
        text = redact(row["text"]).text
        gone[row["kind"]] += not any(secret in text for secret in row["secrets"])
    assert {kind: gone[kind] for kind in LEAST if gone[kind] < LEAST[kind]} == {}


@pytest.mark.skipif(not NOTES.exists(), reason="the collection is not part of this repository")
def test_notes_of_developers_stay_as_they_are() -> None:
    notes = [json.loads(line)["content"] for line in NOTES.read_text(encoding="utf-8").splitlines()]
    touched = sum(bool(redact(note).removed) for note in notes)
    assert touched <= MOST_TOUCHED * len(notes)


# The maximum numbers of secrets in clear, and of wrongly masked texts: an aim for `everyday`, measured for the others.
BARS = {"everyday": (8, 3), "named": (0, 0), "later": (1, 0), "held_out": (1, 0), "stated": (0, 0), "spoken": (11, 0)}
BARS |= {"unseen": (7, 0)}


@pytest.mark.parametrize("group", BARS)
def test_most_everyday_secrets_go_and_look_alikes_stay(group: str) -> None:
    in_clear, masked = find_wrong(group)
    assert (len(in_clear) <= BARS[group][0], len(masked) <= BARS[group][1]) == (True, True), (in_clear, masked)
    texts = [example.text for example in read_examples(group)]
    shown = [seen for text in texts if (seen := disclosable_text(text)) is not None]
    assert [text for text in (*shown, *(redact(text).text for text in texts)) if redact(text).removed] == []


NOUNS = st.sampled_from(sorted({word for words in masking.SECRET_NOUNS.values() for word in words}))
VALUES = st.sampled_from(
    "tin-kettle-moss Gale!Reed 4711 903-118 Teal99Otter hunter22 8842B 4111-1111-1111-1111 required too Kiln7Mallow x".split()
)
SIGNS = st.sampled_from(
    [
        *(" is ", " est ", " lautet ", ": ", " = ", " -> ", " of the admin is ", " für den Server lautet ", " / ", " with "),
        *(' "', '","', '" ', "='", "', '", "\n", ", ", " as the ", " was changed to ", " (staging): ", " -p ", " | sudo -S"),
        *(" legal winner thank year wave sausage worth useful legal winner thank yellow ", " 11/28 737"),
    ]
)


@settings(max_examples=500, deadline=None)
@given(st.lists(NOUNS | VALUES | SIGNS, min_size=2, max_size=9).map("".join))
def test_whatever_an_llm_is_shown_holds_no_everyday_secret(text: str) -> None:
    seen = disclosable_text(text)
    assert seen is None or redact(seen).removed == ()
    once = redact(text).text
    assert redact(once) == (once, ())


def test_each_pattern_compiles() -> None:
    for row in named_values.ROWS:
        assert named_values._compile_pattern(row.pattern)
        assert set(row.nouns) <= set(masking.SECRET_NOUNS)


ORDINARY = [
    *("the password is required", "le mot de passe est obligatoire", "das Passwort ist abgelaufen"),
    *("la contraseña es demasiado corta", "a senha é opcional", "la password è sbagliata", "het wachtwoord is verlopen"),
    *("the password is user-supplied, base64-encoded and hashed with argon2id-v19", "password: 12-character minimum"),
    *("the passphrase prompt is in login-form-v2.tsx", "the PIN has 4 digits, the access code is optional"),
    "credentials: include; login: POST /api/v2/login; basic auth: user / pass",
    *("Cookie: theme=dark; lang=en-US; tz=Europe/Berlin", "word " * 20),
    "the seed of the generator is set before each of the tests runs on the build machine",
]


def test_a_word_that_describes_a_secret_is_none() -> None:
    assert [(text, actual) for text in ORDINARY if (actual := redact(text).removed) != ()] == []


def test_the_words_of_a_wallet_are_known_without_a_name() -> None:
    phrase = "legal winner thank year wave sausage worth useful legal winner thank yellow"
    texts = [phrase, f"it is {phrase}, keep it", f"a\n{phrase}\nb", phrase.replace(" ", ", ")]
    assert [text for text in texts if "sausage" in redact(text).text] == []
