"""The gist of a memory: its title, and the sentence that is nearest to a prompt."""

import pytest

from subcog_hooks.hook.block import gist_of

POOL = "Connections of the pool are never shared between threads, whatever the driver's documentation says about that."
RETRIES = "A refused connection is tried again after 2, 4 and 8 seconds."


@pytest.mark.parametrize(
    ("content", "gist"),
    [
        (f"Database > Pool\n{POOL} {RETRIES}", f"Pool: {RETRIES}"),
        (f"# Pool\n\n{POOL}\n{RETRIES}", f"Pool: {RETRIES}"),
        (f"{POOL} {RETRIES}", RETRIES),
        (f"Pool\n{RETRIES}", f"Pool {RETRIES}"),
        ("", ""),
        ("  \n ", ""),
    ],
)
def test_the_gist_is_the_title_and_the_nearest_sentence(content: str, gist: str) -> None:
    assert gist_of(content, "how often is a refused connection tried again?") == gist


def test_a_prompt_without_a_word_of_it_gets_its_first_sentence() -> None:
    assert gist_of(f"{POOL} {RETRIES}", "what about lunch") == POOL


def test_a_sentence_of_the_rarer_word_is_nearer() -> None:
    content = f"{POOL} The pool has ten connections of the pool. {RETRIES} The pool grows."
    assert gist_of(content, "pool seconds") == RETRIES


def test_text_that_led_to_a_decision_is_no_gist_of_it() -> None:
    record = f"Carts\n\nDecision: Redis, as a cart needs no backup. {'It stays for a day. ' * 7}\n\n---\n\nOptions: PostgreSQL."
    assert gist_of(record, "PostgreSQL options") == "Carts: Decision: Redis, as a cart needs no backup."
