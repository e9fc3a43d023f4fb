"""Lines of JSON: memories in and out, the fields by which they are called up among them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.capture import jsonl
from subcog_hooks.capture.jsonl import redact_memory
from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.store.memory import Memory
from tests.conftest import Maker


def parse_fields(fields: dict[str, object], *, trusted: bool = False) -> Memory:
    return jsonl.parse(json.dumps(fields), lambda: "new", 1_000, trusted=trusted).memory


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(str.strip)
SCALARS = st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False) | WORDS
CONDITIONS = SCALARS | st.lists(SCALARS, min_size=1, max_size=3) | st.fixed_dictionaries({"not": SCALARS, "gte": st.integers()})


@given(
    st.lists(WORDS, max_size=4, unique=True),
    st.lists(WORDS, max_size=4, unique=True),
    st.lists(WORDS, max_size=4, unique=True),
    st.dictionaries(st.sampled_from(["calm", "mood", "build"]), CONDITIONS),
    st.integers(0, 100),
)
def test_a_line_survives_a_round_trip(
    triggers: list[str], keywords: list[str], paths: list[str], when: dict[str, Any], priority: int
) -> None:
    cues: dict[str, Any] = {"triggers": tuple(triggers), "keywords": tuple(keywords), "paths": tuple(paths)}
    memory = Memory(id="a", content="x", when=when, priority=priority, **cues)
    line = jsonl.dump(memory)
    again = jsonl.parse(line, lambda: "new", 1_000, trusted=True).memory
    assert jsonl.dump(again) == line
    assert (again.triggers, again.keywords, again.paths) == (memory.triggers, memory.keywords, memory.paths)


@pytest.mark.parametrize(
    ("trust", "priority", "trusted", "kept"),
    [
        ("user", 95, False, ("import", 89)),
        ("team", 90, False, ("team", 89)),
        (None, 89, False, ("import", 89)),
        (None, 95, True, ("user", 95)),
        ("user", 100, True, ("user", 100)),
    ],
)
def test_only_trusted_lines_have_a_priority_that_pins(
    trust: str | None, priority: int, trusted: bool, kept: tuple[str, int]
) -> None:
    memory = parse_fields({"content": "x", "trust": trust, "priority": priority}, trusted=trusted)
    assert (memory.trust, memory.priority) == kept


def test_an_invalid_field_is_named_in_one_line(subtests: pytest.Subtests) -> None:
    cases: list[tuple[dict[str, object], str]] = [
        ({"triggers": "deploy"}, 'triggers is "deploy"; expected a list of texts'),
        ({"triggers": [7]}, "triggers is [7]"),
        ({"triggers": ["ok", "("]}, "triggers has '('"),
        ({"triggers": ["(?=x)"]}, "triggers has '(?=x)'"),
        ({"triggers": [""]}, "triggers has the entry ''"),
        ({"keywords": {"a": 1}}, 'keywords is {"a": 1}; expected a list of texts'),
        ({"keywords": "calm, breathe"}, "expected a list of texts"),
        ({"paths": ["src/[a"]}, "paths has 'src/[a'"),
        ({"paths": ["../up"]}, "paths has '../up'"),
        ({"priority": 101}, "priority is 101; expected 0 to 100"),
        ({"priority": -1}, "priority is -1; expected 0 to 100"),
        ({"priority": 90.5}, "priority is 90.5; expected a whole number, 0 to 100"),
        ({"priority": True}, "priority is true; expected a whole number, 0 to 100"),
        ({"when": "branch=main"}, 'when is "branch=main"; expected an object of state conditions'),
        ({"when": {"branch": 7}}, "when has 'branch'"),
        ({"when": {"branch": {"like": "main"}}}, "when has 'branch'"),
        ({"when": {"source": "reboot"}}, "when has 'source'"),
    ]
    for fields, message in cases:
        with subtests.test(fields=fields):
            with pytest.raises(InvalidMemory) as raised:
                redact_memory(parse_fields({"content": "x", **fields}))
            assert message in str(raised.value)
            assert "\n" not in str(raised.value)


@pytest.mark.parametrize("field", ["triggers", "keywords", "paths", "priority", "when"])
def test_null_equals_a_missing_field(field: str, make: Maker) -> None:
    bare = parse_fields({"id": "a", "content": "x"})
    assert jsonl.dump(parse_fields({"id": "a", "content": "x", field: None})) == jsonl.dump(bare)


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
