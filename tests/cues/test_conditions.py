"""Conditions: whether they hold, and that no imported condition raises."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.cues import condition_checks, conditions
from subcog_hooks.cues.conditions import MAX_TEXT

FACTS: dict[str, bool | int | float | str] = {
    "first_prompt": True,
    "source": "startup",
    "days_since_last_session": 7.5,
    "branch": "release/7",
    "project": "github.com/acme/shop",
    "tool": "Edit",
    "file": "src/db/pool.py",
    "cwd": "/srv/shop/src",
    "prompts": 3,
    "clinician_mode": True,
    "level": 1,
    "mood": "tired",
}


def test_all_conditions_must_hold(subtests: pytest.Subtests) -> None:
    cases: list[tuple[dict[str, object], bool]] = [
        ({}, True),
        ({"first_prompt": True}, True),
        ({"first_prompt": False}, False),
        ({"branch": "release/7"}, True),
        ({"branch": "Release/7"}, False),
        ({"branch": ["main", "release/7"]}, True),
        ({"branch": {"in": ["main", "dev"]}}, False),
        ({"branch": {"eq": "release/7"}}, True),
        ({"branch": {"glob": "release/*"}}, True),
        ({"branch": {"not": {"glob": "release/*"}}}, False),
        ({"branch": {"not": ["main", "dev"]}}, True),
        ({"level": 1.0}, True),
        ({"prompts": {"gte": 3, "lte": 3}}, True),
        ({"prompts": {"gte": 1, "lte": 2}}, False),
        ({"days_since_last_session": {"gte": 7}}, True),
        ({"days_since_last_session": {"not": {"gte": 7}}}, False),
        ({"clinician_mode": True}, True),
        ({"clinician_mode": 1}, False),
        ({"clinician_mode": {"not": 1}}, True),
        ({"level": 1}, True),
        ({"level": True}, False),
        ({"level": {"gte": 1}}, True),
        ({"mood": {"glob": "t?red"}}, True),
        ({"branch": {"glob": "release/*"}, "tool": "Edit"}, True),
        ({"branch": {"glob": "release/*"}, "tool": "Bash"}, False),
        ({"tool": {"not": {"not": "Edit"}}}, True),
    ]
    for when, holds in cases:
        with subtests.test(when=when):
            condition_checks.check_conditions(when)
            assert conditions.conditions_hold(when, FACTS) is holds


@pytest.mark.parametrize("condition", [True, "x", ["x"], {"gte": 1}, {"glob": "*"}, {"not": "x"}, {"not": {"not": "x"}}])
def test_an_unknown_fact_never_holds_nor_its_opposite(condition: object) -> None:
    assert not conditions.conditions_hold({"unheard_of": condition}, FACTS)
    assert not conditions.conditions_hold({"first_prompt": True, "unheard_of": condition}, FACTS)


def test_a_glob_of_a_path_knows_its_folders(subtests: pytest.Subtests) -> None:
    cases: list[tuple[dict[str, object], bool]] = [
        ({"file": {"glob": "src/db/**"}}, True),
        ({"file": {"glob": "src/*"}}, False),
        ({"file": {"glob": "*.py"}}, True),
        ({"file": {"not": {"glob": "tests/**"}}}, True),
        ({"cwd": {"glob": "/srv/**"}}, True),
        ({"cwd": {"glob": "/home/**"}}, False),
        ({"cwd": {"glob": "/srv/shop/src/**"}}, True),
        ({"cwd": {"glob": "/srv/shop/src/"}}, True),
        ({"cwd": {"glob": "/srv/shop/src/*"}}, False),
        ({"cwd": {"glob": "/srv/shop/**/"}}, True),
    ]
    for when, holds in cases:
        with subtests.test(when=when):
            condition_checks.check_conditions(when)
            assert conditions.conditions_hold(when, FACTS) is holds


def test_a_glob_may_begin_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    when: dict[str, object] = {"cwd": {"glob": "~/work/**"}}
    condition_checks.check_conditions(when)
    assert conditions.conditions_hold(when, {"cwd": "/home/ada/work/shop"})
    assert not conditions.conditions_hold(when, {"cwd": "/home/bob/work/shop"})


SENSELESS: list[object] = [
    None,
    float("nan"),
    float("inf"),
    [],
    [None],
    ["main", {"eq": "release/7"}],
    {},
    {"like": "release"},
    {"eq": "release/7", "like": "x"},
    {"eq": ["release/7"]},
    {"in": "release/7"},
    {"gte": "a"},
    {"lte": 3},
    {"glob": 7},
    {"glob": "*" * (MAX_TEXT + 1)},
    {"not": {"not": {"not": {"not": {"not": "main"}}}}},
]


def test_what_makes_no_sense_is_refused_at_entry_and_never_holds(subtests: pytest.Subtests) -> None:
    for condition in SENSELESS:
        with subtests.test(condition=condition):
            with pytest.raises(InvalidMemory):
                condition_checks.check_conditions({"branch": condition})
            assert not conditions.conditions_hold({"branch": condition}, FACTS)
            assert not conditions.conditions_hold({"branch": {"not": condition}}, FACTS)


def test_true_is_not_one_in_what_an_import_brought_either() -> None:
    assert not conditions.conditions_hold({"first_prompt": 1}, FACTS)


def test_what_is_no_mapping_does_not_hold() -> None:
    assert not conditions.conditions_hold(["branch"], FACTS)  # type: ignore[arg-type]  # what another program wrote


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["src/**", "[", "{a,"]),
    lambda deeper: (
        st.lists(deeper, max_size=3)
        | st.dictionaries(st.sampled_from(["eq", "in", "gte", "lte", "glob", "not", "x"]), deeper, max_size=3)
    ),
    max_leaves=8,
)
NAMES = st.sampled_from([*FACTS, "unheard_of", "", "platform"])


@given(st.dictionaries(NAMES, ANYTHING, max_size=3))
def test_no_json_value_raises_or_holds_with_its_opposite(when: dict[str, object]) -> None:
    for name, condition in when.items():
        both = [conditions.conditions_hold({name: each}, FACTS) for each in (condition, {"not": condition})]
        assert both != [True, True]


@given(st.dictionaries(NAMES, ANYTHING, max_size=3))
def test_what_is_taken_can_be_kept_and_judged(when: dict[str, object]) -> None:
    try:
        condition_checks.check_conditions(when)
    except InvalidMemory as error:
        refused = error.message
    else:
        refused = ""
    if refused:
        assert refused.startswith("when has ")
        return
    assert json.loads(json.dumps(when, allow_nan=False)) == when
    for name, condition in when.items():
        if name in ("branch", "mood") and not isinstance(condition, dict):
            opposite = conditions.conditions_hold({name: {"not": condition}}, FACTS)
            assert opposite is not conditions.conditions_hold({name: condition}, FACTS)


def test_an_invalid_glob_never_holds_nor_its_opposite(subtests: pytest.Subtests) -> None:
    cases = ["", "[", "src/{a", "../x", "src\\\\db", "x" * 600, "\\0", "{a,b}" * 9]
    for glob in cases:
        with subtests.test(glob=glob):
            for condition in ({"glob": glob}, {"not": {"glob": glob}}):
                with pytest.raises(InvalidMemory):
                    condition_checks.check_conditions({"file": condition})
                assert not conditions.conditions_hold({"file": condition}, FACTS)


def test_a_relative_folder_never_holds_nor_its_opposite() -> None:
    for condition in ({"glob": "src"}, {"not": {"glob": "src"}}):
        assert not conditions.conditions_hold({"cwd": condition}, FACTS)


def test_a_condition_nested_as_deep_as_json_can_be_is_refused() -> None:
    condition: object = "main"
    for _ in range(5_000):
        condition = {"not": condition}
    with pytest.raises(InvalidMemory, match="at most 4"):
        condition_checks.check_conditions({"branch": condition})
    assert not conditions.conditions_hold({"branch": condition}, FACTS)
    values: object = []
    for _ in range(5_000):
        values = [values]
    with pytest.raises(InvalidMemory, match="a list"):
        condition_checks.check_conditions({"branch": values})
