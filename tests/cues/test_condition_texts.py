"""Conditions and flags as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.core.errors import InvalidMemory, UsageError
from subcog_hooks.cues import condition_checks
from subcog_hooks.cues.conditions import MAX_TEXT


def test_a_condition_can_be_written_in_a_word(subtests: pytest.Subtests) -> None:
    cases = [
        ("branch=main", ("branch", "main")),
        (" branch = main ", ("branch", "main")),
        ("branch=7", ("branch", "7")),
        ("branch=main,dev", ("branch", ["main", "dev"])),
        ('branch="a,b"', ("branch", "a,b")),
        ("branch~release/*", ("branch", {"glob": "release/*"})),
        ("branch!~release/*", ("branch", {"not": {"glob": "release/*"}})),
        ("file~src/{db,api}/**", ("file", {"glob": "src/{db,api}/**"})),
        ("tool!=Bash", ("tool", {"not": "Bash"})),
        ("source!=clear,compact", ("source", {"not": ["clear", "compact"]})),
        ("days_since_last_session>=7", ("days_since_last_session", {"gte": 7})),
        ("prompts<=3", ("prompts", {"lte": 3})),
        ("prompts=3", ("prompts", 3)),
        ("first_prompt", ("first_prompt", True)),
        ("first_session=false", ("first_session", False)),
        ("clinician_mode", ("clinician_mode", True)),
        ("level=1", ("level", 1)),
        ("level=1.5,2", ("level", [1.5, 2])),
        ('level="1"', ("level", "1")),
        ("level=007", ("level", "007")),
        ("note=a=b", ("note", "a=b")),
        ("mood=", ("mood", "")),
    ]
    for text, condition in cases:
        with subtests.test(text=text):
            name, parsed = condition_checks.parse_condition(text)
            assert (name, parsed, type(parsed)) == (*condition, type(condition[1]))


def test_a_text_that_is_no_condition_is_refused(subtests: pytest.Subtests) -> None:
    cases = [
        ("", "when has ''"),
        ("=main", "when has ''"),
        ("two words=1", "when has 'two words'"),
        ("branch", "when has 'branch': it has no value; expected a text, for instance branch=main"),
        ("source", "expected a text, for instance source=startup"),
        ("prompts", "expected a whole number, for instance prompts=7"),
        ("branch=", "when has 'branch': ''; a text has 1 to"),
        ("branch=main,", "when has 'branch': one of ''; a text has 1 to"),
        ("branch==main", "when has 'branch': '==main'; expected one of >= <= != !~ = ~"),
        ("prompts>3", "when has 'prompts': '>3'; expected one of >= <= != !~ = ~, for instance branch=main or prompts>=3"),
        ("prompts>=", "when has 'prompts': gte ''; expected a number"),
        ("prompts=many", "when has 'prompts': 'many'; expected a whole number"),
        ("first_prompt=yes", "when has 'first_prompt': 'yes'; expected true or false"),
        ("prompts~3*", "when has 'prompts': glob; it is a whole number"),
    ]
    for text, message in cases:
        with subtests.test(text=text):
            with pytest.raises(InvalidMemory) as raised:
                condition_checks.parse_condition(text)
            assert message in str(raised.value)


@given(st.text(max_size=20) | st.from_regex(r"(branch|prompts|x)(=|~|!=|>=)[a-z0-9,\"/*]{0,9}", fullmatch=True))
def test_any_text_is_a_condition_that_is_taken_or_refused(text: str) -> None:
    try:
        name, condition = condition_checks.parse_condition(text)
    except InvalidMemory:
        return
    condition_checks.check_conditions({name: condition})


@pytest.mark.parametrize(
    ("texts", "when"),
    [
        ((), {}),
        (("branch=main", "tool=Edit"), {"branch": "main", "tool": "Edit"}),
        (("branch=main", "branch=main"), {"branch": "main"}),
        (("prompts>=3", "prompts<=9"), {"prompts": {"gte": 3, "lte": 9}}),
        (("prompts>=3", "prompts!=5", "prompts!=7,8"), {"prompts": {"gte": 3, "not": [5, 7, 8]}}),
        (("branch~release/*", "branch!=release/7"), {"branch": {"glob": "release/*", "not": "release/7"}}),
    ],
)
def test_several_conditions_of_one_name_all_hold(texts: tuple[str, ...], when: dict[str, object]) -> None:
    assert condition_checks.parse_conditions(texts) == when


@pytest.mark.parametrize("texts", [("branch=main", "branch=dev"), ("branch~a*", "branch~*b"), ("tool!=Read", "tool!~B*")])
def test_two_conditions_that_can_not_be_one_are_refused(texts: tuple[str, ...]) -> None:
    with pytest.raises(InvalidMemory) as raised:
        condition_checks.parse_conditions(texts)
    assert ": two conditions that cannot be joined; give one" in str(raised.value)


# ---- flags ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        ("clinician_mode", ("clinician_mode", True)),
        ("clinician_mode=false", ("clinician_mode", False)),
        ("level=3", ("level", 3)),
        ("level=-2.5", ("level", -2.5)),
        ('level="3"', ("level", "3")),
        ("mood=tired, but well", ("mood", "tired, but well")),
        ("note=a=b", ("note", "a=b")),
        ("größe=xl", ("größe", "xl")),
        ("x=null", ("x", "null")),
        ("x=[1]", ("x", "[1]")),
        ("x=NaN", ("x", "NaN")),
        ("x=" + "9" * 5_000, None),
    ],
)
def test_a_flag_is_a_truth_a_number_or_a_text(text: str, flag: tuple[str, object] | None) -> None:
    if flag is None:
        with pytest.raises(UsageError):
            condition_checks.parse_flag(text)
        return
    name, value = condition_checks.parse_flag(text)
    assert (name, value, type(value)) == (*flag, type(flag[1]))


def test_what_is_no_flag_is_refused(subtests: pytest.Subtests) -> None:
    cases = [
        ("branch=main", "branch is known without being set"),
        ("first_prompt", "first_prompt is known without being set"),
        ("two words=1", "'two words' is no name of a flag"),
        ("=1", "'' is no name of a flag"),
        ("level>=3", "'level>=3' does not set a flag; for instance level=true"),
        ("level==3", "'level==3' does not set a flag"),
        ("mood=a\nb", "mood is 'a\\nb'; a text has at most 1,000 characters, in one line"),
        ("mood=\x1b[31m", "in one line"),
        ("mood=" + "x" * (MAX_TEXT + 1), "a text has at most 1,000 characters"),
    ]
    for text, message in cases:
        with subtests.test(text=text):
            with pytest.raises(UsageError) as raised:
                condition_checks.parse_flag(text)
            assert message in str(raised.value)


def test_a_name_that_is_nearly_a_facts_is_told() -> None:
    cases = [
        ("brnch", "branch"),
        ("Branch", "branch"),
        ("prompt", "prompts"),
        ("platfrom", "platform"),
        ("first-prompt", "first_prompt"),
        ("permision_mode", "permission_mode"),
        ("days_since", "days_since_last_session"),
        ("perm", "permission_mode"),
        ("too", "tool"),
        ("branch", None),
        ("mood", None),
        ("clinician_mode", None),
        ("fi", None),
        ("is_set", None),
        ("brunch", None),
        ("", None),
    ]
    failures = [
        (name, actual) for name, fact in cases if (actual := condition_checks.nearest_name(name, {"is_set", "brunch"})) != fact
    ]
    assert failures == []
