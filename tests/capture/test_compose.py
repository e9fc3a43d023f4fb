"""The one way in: every text of a memory is redacted, and a pattern that held a secret does not become another one."""

import pytest

from subcog_hooks.capture.compose import cleaned
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
def test_secrets_are_taken_out_of_every_text(make: Maker, field: str, value: object, kept: object) -> None:
    memory, removed = cleaned(make(**{field: value}))
    assert getattr(memory, field) == kept
    assert removed == (("AWS Access Key", 1),)


@pytest.mark.parametrize(("field", "kind"), [("triggers", "trigger"), ("paths", "path")])
def test_a_pattern_with_a_secret_goes_as_a_whole_and_it_is_said(make: Maker, field: str, kind: str) -> None:
    memory, removed = cleaned(make(**{field: (f"deploy {KEY}", "deploy", "<private>x</private>deploy")}))
    assert getattr(memory, field) == ("deploy",)
    assert removed == tuple(sorted([("AWS Access Key", 1), (kind, 2), ("private block", 1)]))


def test_a_pattern_for_secrets_is_none_itself(make: Maker) -> None:
    memory = make(triggers=("AKIA[0-9A-Z]{16}", "ghp_[A-Za-z0-9]{36}"))
    assert cleaned(memory) == (memory, ())


def test_what_can_not_be_stored_is_replaced_in_a_pattern(make: Maker) -> None:
    memory, removed = cleaned(make(triggers=("caf\udcc3", "caf\udcc4")))
    assert (memory.triggers, removed) == (("caf\ufffd",), ())


def test_conditions_too_deep_in_each_other_are_refused(make: Maker) -> None:
    deep: object = "main"
    for _ in range(100_000):
        deep = {"not": deep}
    with pytest.raises(InvalidMemory, match="when has conditions too deep in each other"):
        cleaned(make(when={"branch": deep}))
