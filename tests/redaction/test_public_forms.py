"""Public keys, certificates, fingerprints, identifiers and names of classes: they look drawn by lot and are no secrets."""

from subcog_hooks.redaction.redact import redact

MIXED = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7" * 4
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
