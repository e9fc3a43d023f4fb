"""Everyday secrets and harmless look-alikes, measured: how many stay in clear, and how many are masked wrongly."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcog_hooks.llm.disclosure import disclosable_text
from subcog_hooks.redaction import masking, named_values
from subcog_hooks.redaction.redact import redact
from tests.redaction.everyday import find_wrong, read_examples

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
