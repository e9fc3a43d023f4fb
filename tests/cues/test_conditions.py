"""Conditions at entry: accepted and refused ones, and the messages."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.core.errors import InvalidMemory, UsageError
from subcog_hooks.cues import condition_syntax, conditions
from subcog_hooks.cues.condition_syntax import MAX_CONDITIONS, MAX_VALUES
from subcog_hooks.cues.conditions import MAX_TEXT, TOOLS


def test_a_refusal_names_the_condition_and_what_is_expected(subtests: pytest.Subtests) -> None:
    cases: list[tuple[dict[str, object], str]] = [
        ({"branch": 7}, "when has 'branch': 7; expected a text"),
        ({"branch": True}, "when has 'branch': True; expected a text"),
        ({"branch": ""}, "when has 'branch': ''; a text has 1 to 1,000 characters"),
        ({"branch": ["main", 7]}, "when has 'branch': one of 7; expected a text"),
        ({"branch": []}, "when has 'branch': one of a list; expected a list of 1 to 200 values"),
        ({"branch": {"gte": 3}}, "when has 'branch': gte; it is a text, which has no order"),
        ({"branch": {"like": "x"}}, "when has 'branch': the operator 'like'; expected one of eq, in, gte, lte, glob, not"),
        ({"branch": {"not": {"glob": 7}}}, "when has 'branch': glob 7; expected a pattern of 1 to 1,000 characters"),
        ({"source": "reboot"}, "when has 'source': 'reboot'; expected one of startup, resume, clear, compact, fork"),
        ({"platform": ["linux", "beos"]}, "when has 'platform': one of 'beos'; expected one of linux, macos, windows"),
        ({"prompts": 2.5}, "when has 'prompts': 2.5; expected a whole number"),
        ({"prompts": {"gte": "many"}}, "when has 'prompts': gte 'many'; expected a number"),
        ({"prompts": {"glob": "3*"}}, "when has 'prompts': glob; it is a whole number, and no text"),
        ({"days_since_last_session": True}, "when has 'days_since_last_session': True; expected a number"),
        ({"first_prompt": "yes"}, "when has 'first_prompt': 'yes'; expected true or false"),
        ({"clinician_mode": None}, "when has 'clinician_mode': None; expected true, false, a number or a text"),
        ({"clinician_mode": {}}, "when has 'clinician_mode': {}; expected an operator: eq, in, gte, lte, glob, not"),
        ({"tool": "bash"}, "when has 'tool': 'bash'; expected one of " + ", ".join(TOOLS)),
        (
            {"tool": {"not": ["Bash", "Shell"]}},
            "when has 'tool': one of 'Shell'; expected one of Edit, Write, MultiEdit, NotebookEdit, Read, Bash, Grep, Glob",
        ),
        ({"cwd": "src"}, "when has 'cwd': 'src'; expected the full path, for instance /srv/shop"),
        ({"cwd": ["/srv", "~/work"]}, "when has 'cwd': one of '~/work'; expected the full path, for instance /srv/shop"),
        ({"cwd": {"glob": "src/*"}}, "when has 'cwd': glob 'src/*'; expected the full path, beginning with / or ~/"),
    ]
    for when, message in cases:
        with subtests.test(when=when):
            with pytest.raises(InvalidMemory) as raised:
                condition_syntax.check_conditions(when)
            assert str(raised.value) == message


@pytest.mark.parametrize(
    "when",
    [
        {"tool": ["Edit", "NotebookEdit"]},
        {"tool": {"glob": "*Edit"}},
        {"permission_mode": "plan"},
        {"permission_mode": "anotherOne"},
        {"cwd": "/srv/shop"},
        {"cwd": "C:/work/shop"},
        {},
    ],
)
def test_what_can_hold_is_taken(when: dict[str, object]) -> None:
    condition_syntax.check_conditions(when)


def test_a_name_that_nobody_could_set_is_refused(subtests: pytest.Subtests) -> None:
    for name in ["", " ", "a b", "a=b", "7th", "-x", "a>", "x" * 65, "a\nb"]:
        with subtests.test(name=name), pytest.raises(InvalidMemory, match="a name has 1 to 64 letters"):
            condition_syntax.check_conditions({name: True})


def test_a_glob_that_no_path_can_match_is_refused_with_its_fault() -> None:
    with pytest.raises(InvalidMemory) as raised:
        condition_syntax.check_conditions({"file": {"glob": "../x.py"}})
    message = "when has 'file': glob '../x.py': it goes up by ..; write it from the project's root, or beginning with / or ~/"
    assert str(raised.value) == message


def test_too_much_is_refused() -> None:
    with pytest.raises(InvalidMemory, match="201 conditions"):
        condition_syntax.check_conditions({f"flag{number}": True for number in range(MAX_CONDITIONS + 1)})
    with pytest.raises(InvalidMemory, match="1 to 200 values"):
        condition_syntax.check_conditions({"branch": [f"b{number}" for number in range(MAX_VALUES + 1)]})
    with pytest.raises(InvalidMemory, match="1,000 characters"):
        condition_syntax.check_conditions({"mood": "x" * (MAX_TEXT + 1)})


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
            name, parsed = condition_syntax.parse_condition(text)
            assert (name, parsed, type(parsed)) == (*condition, type(condition[1]))


def test_a_text_that_is_no_condition_is_refused(subtests: pytest.Subtests) -> None:
    cases = [
        ("", "when has ''"),
        ("=main", "when has ''"),
        ("two words=1", "when has 'two words'"),
        ("branch", "when has 'branch': it has no value; expected a text, for instance branch=main or prompts>=3"),
        ("prompts", "expected a whole number, for instance branch=main or prompts>=3"),
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
                condition_syntax.parse_condition(text)
            assert message in str(raised.value)


@given(st.text(max_size=20) | st.from_regex(r"(branch|prompts|x)(=|~|!=|>=)[a-z0-9,\"/*]{0,9}", fullmatch=True))
def test_any_text_is_a_condition_that_is_taken_or_refused(text: str) -> None:
    try:
        name, condition = condition_syntax.parse_condition(text)
    except InvalidMemory:
        return
    condition_syntax.check_conditions({name: condition})


@pytest.mark.parametrize(
    ("texts", "when"),
    [
        ((), {}),
        (("branch=main", "tool=Edit"), {"branch": "main", "tool": "Edit"}),
        (("prompts>=3", "prompts<=9"), {"prompts": {"gte": 3, "lte": 9}}),
        (("prompts>=3", "prompts!=5,7"), {"prompts": {"gte": 3, "not": [5, 7]}}),
        (("branch~release/*", "branch!=release/7"), {"branch": {"glob": "release/*", "not": "release/7"}}),
    ],
)
def test_several_conditions_of_one_name_all_hold(texts: tuple[str, ...], when: dict[str, object]) -> None:
    assert condition_syntax.parse_conditions(texts) == when


@pytest.mark.parametrize("texts", [("branch=main", "branch=dev"), ("branch~a*", "branch~*b"), ("tool!=Read", "tool!=Bash")])
def test_two_conditions_that_can_not_be_one_are_refused(texts: tuple[str, ...]) -> None:
    with pytest.raises(InvalidMemory) as raised:
        condition_syntax.parse_conditions(texts)
    assert ": two conditions that cannot be joined; give one" in str(raised.value)


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
            condition_syntax.parse_flag(text)
        return
    name, value = condition_syntax.parse_flag(text)
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
                condition_syntax.parse_flag(text)
            assert message in str(raised.value)


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
            condition_syntax.check_conditions(when)
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
            condition_syntax.check_conditions(when)
            assert conditions.conditions_hold(when, FACTS) is holds


def test_a_glob_may_begin_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    when: dict[str, object] = {"cwd": {"glob": "~/work/**"}}
    condition_syntax.check_conditions(when)
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


def test_what_makes_no_sense_is_refused_and_never_holds(subtests: pytest.Subtests) -> None:
    for condition in SENSELESS:
        with subtests.test(condition=condition):
            with pytest.raises(InvalidMemory):
                condition_syntax.check_conditions({"branch": condition})
            assert not conditions.conditions_hold({"branch": condition}, FACTS)
            assert not conditions.conditions_hold({"branch": {"not": condition}}, FACTS)


def test_what_others_stored_holds_where_it_can_be_judged() -> None:
    for when in ({"first_prompt": 1}, {"cwd": {"glob": "src"}}, {"cwd": {"not": {"glob": "src"}}}, ["branch"]):
        assert not conditions.conditions_hold(when, FACTS)  # type: ignore[arg-type]  # a list is no mapping


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
        condition_syntax.check_conditions(when)
    except InvalidMemory as error:
        refused = error.message
    else:
        refused = ""
    if refused:
        assert refused.startswith("when has ")
        return
    assert json.loads(json.dumps(when, allow_nan=False)) == when
    for name, condition in when.items():
        both = [conditions.conditions_hold({name: each}, FACTS) for each in (condition, {"not": condition})]
        assert sorted(both) == [False, name in FACTS]


def test_an_invalid_glob_is_refused_and_never_holds(subtests: pytest.Subtests) -> None:
    cases = ["", "[", "src/{a", "../x", "src\\\\db", "x" * 600, "\\0", "{a,b}" * 9]
    for glob in cases:
        with subtests.test(glob=glob):
            for condition in ({"glob": glob}, {"not": {"glob": glob}}):
                with pytest.raises(InvalidMemory):
                    condition_syntax.check_conditions({"file": condition})
                assert not conditions.conditions_hold({"file": condition}, FACTS)


def test_a_condition_nested_as_deep_as_json_can_be_is_refused() -> None:
    condition: object = "main"
    for _ in range(5_000):
        condition = {"not": condition}
    with pytest.raises(InvalidMemory, match="at most 4"):
        condition_syntax.check_conditions({"branch": condition})
    assert not conditions.conditions_hold({"branch": condition}, FACTS)
    values: object = []
    for _ in range(5_000):
        values = [values]
    with pytest.raises(InvalidMemory, match="a list"):
        condition_syntax.check_conditions({"branch": values})
