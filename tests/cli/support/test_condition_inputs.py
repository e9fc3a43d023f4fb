"""Parsing and formatting the conditions of a memory."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.cli.support import inputs
from subcog_hooks.core.errors import InvalidMemory


@pytest.mark.parametrize(
    ("texts", "when"),
    [
        ([], {}),
        (["branch=main", "clinician_mode"], {"branch": "main", "clinician_mode": True}),
        (["prompts>=3", "tool!=Bash", "prompts<=9"], {"prompts": {"gte": 3, "lte": 9}, "tool": {"not": "Bash"}}),
        ([' {"branch": {"not": {"glob": "wip/*"}}}', "calm=false"], {"calm": False, "branch": {"not": {"glob": "wip/*"}}}),
    ],
)
def test_conditions_are_read_as_short_texts_or_as_json(texts: list[str], when: dict[str, object]) -> None:
    assert inputs.parse_conditions(texts) == when


def test_an_invalid_condition_is_named(subtests: pytest.Subtests) -> None:
    cases = [
        (["{"], "when is '{', which is not JSON; for instance"),
        (['{"a": 1} more'], "which is not JSON"),
        (['{"a": ' + "[" * 100_000], "which is not JSON"),
        (["branch=main", '{"branch": "dev"}'], "when has 'branch' twice; give all of it as JSON"),
        (['{"branch": 7}'], "when has 'branch'"),
        (["prompts=many"], "when has 'prompts'"),
        (["=main"], "when has ''"),
        (["branch"], "when has 'branch'"),
    ]
    for texts, message in cases:
        with subtests.test(texts=texts):
            with pytest.raises(InvalidMemory) as raised:
                inputs.parse_conditions(texts)
            assert message in str(raised.value)


def test_conditions_have_their_shortest_form(subtests: pytest.Subtests) -> None:
    cases: list[tuple[dict[str, object], list[str]]] = [
        ({}, []),
        ({"branch": "main"}, ["branch=main"]),
        ({"branch": ["main", "dev"]}, ["branch=main,dev"]),
        ({"branch": ["main"]}, ['{"branch": ["main"]}']),
        ({"branch": {"eq": "main"}}, ['{"branch": {"eq": "main"}}']),
        ({"branch": {"not": {"glob": "wip/*"}}}, ["branch!~wip/*"]),
        ({"prompts": {"gte": 3, "not": [5, 7]}}, ["prompts>=3", "prompts!=5,7"]),
        ({"calm": True}, ["calm"]),
        ({"calm": False}, ["calm=false"]),
        ({"calm": 1.0}, ["calm=1.0"]),
        ({"mood": "a, b"}, ['mood="a, b"']),
        ({"mood": "a\nb"}, [r'{"mood": "a\nb"}']),
        ({"mood": "a\u2028b"}, [r'{"mood": "a\u2028b"}']),
        ({"mood": "gr\xfcn"}, ["mood=gr\xfcn"]),
        ({"mood": "7"}, ['mood="7"']),
        ({"mood": 'so "so"'}, ['mood=so "so"']),
        ({"mood": '"so"'}, ['{"mood": "\\"so\\""}']),
    ]
    for when, texts in cases:
        with subtests.test(when=when):
            assert inputs.condition_texts(when) == texts
            assert inputs.parse_conditions(texts) == when


VALUES = st.booleans() | st.integers(-10, 10) | st.floats(-10, 10) | st.text(max_size=5) | st.sampled_from(["a,b", '"a"', "7"])
FORMS = (
    VALUES
    | st.lists(VALUES, min_size=1, max_size=3)
    | st.fixed_dictionaries(
        {}, optional={"gte": st.integers(), "lte": st.floats(-10, 10), "not": VALUES, "glob": st.just("a*")}
    )
)


@given(st.dictionaries(st.sampled_from(["calm", "mood", "build"]), FORMS.filter(lambda form: form != {}), max_size=3))
def test_formatted_conditions_parse_to_the_same(when: dict[str, object]) -> None:
    parsed = inputs.parse_conditions(inputs.condition_texts(when))
    assert {name: json.dumps(parsed[name]) for name in when} == {name: json.dumps(when[name]) for name in when}
    assert len(parsed) == len(when)
