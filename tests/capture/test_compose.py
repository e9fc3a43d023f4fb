"""Redacting memories on their way into the store: every text is redacted, and a pattern with a secret is dropped."""

import pytest

from subcog_hooks.capture.compose import redact_memory
from subcog_hooks.core.errors import InvalidMemory
from tests.conftest import Maker

KEY = "AKIA" + "IOSFODNN7" + "EXAMPLE"


@pytest.mark.parametrize(
    ("field", "value", "kept"),
    [
        ("tags", (KEY, "auth"), ("[redacted: AWS Access Key]", "auth")),
        ("keywords", (f"key {KEY}", "auth"), ("key [redacted: AWS Access Key]", "auth")),
        ("when", {"mood": KEY}, {"mood": "[redacted: AWS Access Key]"}),
        (
            "when",
            {"mood": {"not": [KEY, 7]}, "n": {"gte": 7}},
            {"mood": {"not": ["[redacted: AWS Access Key]", 7]}, "n": {"gte": 7}},
        ),
    ],
)
def test_secrets_are_redacted_in_every_text(make: Maker, field: str, value: object, kept: object) -> None:
    memory, removed = redact_memory(make(**{field: value}))
    assert getattr(memory, field) == kept
    assert removed == (("AWS Access Key", 1),)


@pytest.mark.parametrize(("field", "kind"), [("triggers", "trigger"), ("paths", "path")])
def test_a_pattern_with_a_secret_is_removed_and_counted(make: Maker, field: str, kind: str) -> None:
    memory, removed = redact_memory(make(**{field: (f"deploy {KEY}", "deploy", "<private>x</private>deploy")}))
    assert getattr(memory, field) == ("deploy",)
    assert removed == tuple(sorted([("AWS Access Key", 1), (kind, 2), ("private block", 1)]))


def test_a_pattern_for_secrets_is_no_secret(make: Maker) -> None:
    memory = make(triggers=("AKIA[0-9A-Z]{16}", "ghp_[A-Za-z0-9]{36}"))
    assert redact_memory(memory) == (memory, ())
    surrogates, removed = redact_memory(make(triggers=("caf\udcc3", "caf\udcc4")))
    assert (surrogates.triggers, removed) == (("caf\ufffd",), ())


def test_conditions_nested_too_deep_are_refused(make: Maker) -> None:
    deep: object = "main"
    for _ in range(100_000):
        deep = {"not": deep}
    with pytest.raises(InvalidMemory, match="when has conditions too deep in each other"):
        redact_memory(make(when={"branch": deep}))
