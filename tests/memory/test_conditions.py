"""Conditions: what is taken at entry, what holds, how people write them; whatever an import brought, nothing is raised."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.errors import InvalidMemory, UsageError
from subcog_hooks.memory import condition_checks, condition_texts, conditions
from subcog_hooks.memory.condition_checks import MAX_CONDITIONS, MAX_VALUES
from subcog_hooks.memory.conditions import MAX_TEXT

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

# ---- what holds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("when", "holds"),
    [
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
    ],
)
def test_all_conditions_must_hold(when: dict[str, object], holds: bool) -> None:
    condition_checks.check(when)
    assert conditions.holds(when, FACTS) is holds


@pytest.mark.parametrize("condition", [True, "x", ["x"], {"gte": 1}, {"glob": "*"}, {"not": "x"}, {"not": {"not": "x"}}])
def test_of_what_is_not_known_nothing_holds_and_not_its_opposite_either(condition: object) -> None:
    assert not conditions.holds({"unheard_of": condition}, FACTS)
    assert not conditions.holds({"first_prompt": True, "unheard_of": condition}, FACTS)


@pytest.mark.parametrize(
    ("when", "holds"),
    [
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
    ],
)
def test_a_glob_of_a_path_knows_its_folders(when: dict[str, object], holds: bool) -> None:
    condition_checks.check(when)
    assert conditions.holds(when, FACTS) is holds


def test_a_glob_may_begin_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    when: dict[str, object] = {"cwd": {"glob": "~/work/**"}}
    condition_checks.check(when)
    assert conditions.holds(when, {"cwd": "/home/ada/work/shop"})
    assert not conditions.holds(when, {"cwd": "/home/bob/work/shop"})


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


@pytest.mark.parametrize("condition", SENSELESS, ids=repr)
def test_what_makes_no_sense_is_refused_at_entry_and_never_holds(condition: object) -> None:
    with pytest.raises(InvalidMemory):
        condition_checks.check({"branch": condition})
    assert not conditions.holds({"branch": condition}, FACTS)
    assert not conditions.holds({"branch": {"not": condition}}, FACTS)


def test_true_is_not_one_in_what_an_import_brought_either() -> None:
    assert not conditions.holds({"first_prompt": 1}, FACTS)


def test_what_is_no_mapping_does_not_hold() -> None:
    assert not conditions.holds(["branch"], FACTS)  # type: ignore[arg-type]  # what another program wrote


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
def test_nothing_that_json_can_say_is_raised_over_or_holds_with_its_opposite(when: dict[str, object]) -> None:
    for name, condition in when.items():
        both = [conditions.holds({name: each}, FACTS) for each in (condition, {"not": condition})]
        assert both != [True, True]


@given(st.dictionaries(NAMES, ANYTHING, max_size=3))
def test_what_is_taken_can_be_kept_and_judged(when: dict[str, object]) -> None:
    try:
        condition_checks.check(when)
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
            opposite = conditions.holds({name: {"not": condition}}, FACTS)
            assert opposite is not conditions.holds({name: condition}, FACTS)


@pytest.mark.parametrize("glob", ["", "[", "src/{a", "../x", "src\\\\db", "x" * 600, "\\0", "{a,b}" * 9])
def test_a_glob_of_a_path_that_is_none_does_not_hold_and_not_its_opposite_either(glob: str) -> None:
    for condition in ({"glob": glob}, {"not": {"glob": glob}}):
        with pytest.raises(InvalidMemory):
            condition_checks.check({"file": condition})
        assert not conditions.holds({"file": condition}, FACTS)


def test_a_folder_that_is_not_told_in_full_does_not_hold_and_not_its_opposite_either() -> None:
    for condition in ({"glob": "src"}, {"not": {"glob": "src"}}):
        assert not conditions.holds({"cwd": condition}, FACTS)


def test_a_condition_nested_as_deep_as_json_can_be_is_refused() -> None:
    condition: object = "main"
    for _ in range(5_000):
        condition = {"not": condition}
    with pytest.raises(InvalidMemory, match="at most 4"):
        condition_checks.check({"branch": condition})
    assert not conditions.holds({"branch": condition}, FACTS)
    values: object = []
    for _ in range(5_000):
        values = [values]
    with pytest.raises(InvalidMemory, match="a list"):
        condition_checks.check({"branch": values})


# ---- what is refused, and in which words ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ({"branch": 7}, "when has 'branch': 7; expected a text"),
        ({"branch": True}, "when has 'branch': True; expected a text"),
        ({"branch": ""}, "when has 'branch': ''; a text has 1 to 1,000 characters"),
        ({"branch": ["main", 7]}, "when has 'branch': one of 7; expected a text"),
        ({"branch": []}, "when has 'branch': one of a list; expected a list of 1 to 200 values"),
        ({"branch": {"gte": 3}}, "when has 'branch': gte; it is a text, which is not more or less than another"),
        (
            {"branch": {"like": "x"}},
            "when has 'branch': the operator 'like'; expected one of eq, in, gte, lte, glob, not",
        ),
        ({"branch": {"not": {"glob": 7}}}, "when has 'branch': glob 7; expected a pattern of 1 to 1,000 characters"),
        ({"source": "reboot"}, "when has 'source': 'reboot'; expected one of startup, resume, clear, compact"),
        ({"source": {"glob": "s*"}}, "when has 'source': glob; expected one of startup, resume, clear, compact"),
        ({"platform": ["linux", "beos"]}, "when has 'platform': one of 'beos'; expected one of linux, macos, windows"),
        ({"prompts": 2.5}, "when has 'prompts': 2.5; expected a whole number"),
        ({"prompts": {"gte": "many"}}, "when has 'prompts': gte 'many'; expected a number"),
        ({"prompts": {"glob": "3*"}}, "when has 'prompts': glob; it is a whole number, and no text"),
        ({"days_since_last_session": True}, "when has 'days_since_last_session': True; expected a number"),
        ({"first_prompt": "yes"}, "when has 'first_prompt': 'yes'; expected true or false"),
        ({"clinician_mode": None}, "when has 'clinician_mode': None; expected true, false, a number or a text"),
        ({"clinician_mode": {}}, "when has 'clinician_mode': {}; expected an operator: eq, in, gte, lte, glob, not"),
        ({"tool": "bash"}, "when has 'tool': 'bash'; expected Bash: case counts"),
        (
            {"tool": {"not": ["Bash", "Shell"]}},
            "when has 'tool': one of 'Shell'; expected one of Edit, Write, MultiEdit, NotebookEdit, Read, Bash, Grep, Glob",
        ),
        (
            {"tool": {"glob": "mcp*"}},
            "when has 'tool': glob 'mcp*'; expected to match one of " + ", ".join(condition_checks.TOOLS),
        ),
        ({"permission_mode": "acceptedits"}, "when has 'permission_mode': 'acceptedits'; expected acceptEdits: case counts"),
        ({"cwd": "src"}, "when has 'cwd': 'src'; expected the full path, for instance /srv/shop"),
        ({"cwd": ["/srv", "~/work"]}, "when has 'cwd': one of '~/work'; expected the full path, for instance /srv/shop"),
        (
            {"cwd": {"glob": "src/*"}},
            "when has 'cwd': glob 'src/*'; expected the full path, beginning with / or ~/",
        ),
    ],
)
def test_a_refusal_names_the_condition_and_what_is_expected(when: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidMemory) as raised:
        condition_checks.check(when)
    assert str(raised.value) == said


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
    condition_checks.check(when)


@pytest.mark.parametrize(
    ("name", "fact"),
    [
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
    ],
)
def test_a_name_that_is_nearly_a_facts_is_told(name: str, fact: str | None) -> None:
    assert condition_texts.near(name, {"is_set", "brunch"}) == fact


@pytest.mark.parametrize("name", ["", " ", "a b", "a=b", "7th", "-x", "a>", "x" * 65, "a\nb"])
def test_a_name_that_nobody_could_set_is_refused(name: str) -> None:
    with pytest.raises(InvalidMemory, match="a name has 1 to 64 letters"):
        condition_checks.check({name: True})


def test_a_glob_that_no_path_can_match_is_refused_with_its_fault() -> None:
    with pytest.raises(InvalidMemory) as raised:
        condition_checks.check({"file": {"glob": "../x.py"}})
    said = "when has 'file': glob '../x.py': it goes up by ..; write it from the project's root, or beginning with / or ~/"
    assert str(raised.value) == said


def test_too_much_is_refused() -> None:
    with pytest.raises(InvalidMemory, match="201 conditions"):
        condition_checks.check({f"flag{number}": True for number in range(MAX_CONDITIONS + 1)})
    with pytest.raises(InvalidMemory, match="1 to 200 values"):
        condition_checks.check({"branch": [f"b{number}" for number in range(MAX_VALUES + 1)]})
    with pytest.raises(InvalidMemory, match="1,000 characters"):
        condition_checks.check({"mood": "x" * (MAX_TEXT + 1)})


# ---- as people write them -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "condition"),
    [
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
    ],
)
def test_a_condition_can_be_written_in_a_word(text: str, condition: tuple[str, object]) -> None:
    name, found = condition_texts.from_text(text)
    assert (name, found, type(found)) == (*condition, type(condition[1]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
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
    ],
)
def test_a_text_that_is_no_condition_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidMemory) as raised:
        condition_texts.from_text(text)
    assert said in str(raised.value)


@given(st.text(max_size=20) | st.from_regex(r"(branch|prompts|x)(=|~|!=|>=)[a-z0-9,\"/*]{0,9}", fullmatch=True))
def test_any_text_is_a_condition_that_is_taken_or_refused(text: str) -> None:
    try:
        name, condition = condition_texts.from_text(text)
    except InvalidMemory:
        return
    condition_checks.check({name: condition})


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
    assert condition_texts.from_texts(texts) == when


@pytest.mark.parametrize("texts", [("branch=main", "branch=dev"), ("branch~a*", "branch~*b"), ("tool!=Read", "tool!~B*")])
def test_two_conditions_that_can_not_be_one_are_refused(texts: tuple[str, ...]) -> None:
    with pytest.raises(InvalidMemory) as raised:
        condition_texts.from_texts(texts)
    assert ": two conditions that can not be joined; give one" in str(raised.value)


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
            condition_texts.flag_from_text(text)
        return
    name, value = condition_texts.flag_from_text(text)
    assert (name, value, type(value)) == (*flag, type(flag[1]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("branch=main", "branch is known without being set"),
        ("first_prompt", "first_prompt is known without being set"),
        ("two words=1", "'two words' is no name of a flag"),
        ("=1", "'' is no name of a flag"),
        ("level>=3", "'level>=3' does not set a flag; for instance level=true"),
        ("level==3", "'level==3' does not set a flag"),
        ("mood=a\nb", "mood is 'a\\nb'; a text has at most 1,000 characters, in one line"),
        ("mood=\x1b[31m", "in one line"),
        ("mood=" + "x" * (MAX_TEXT + 1), "a text has at most 1,000 characters"),
    ],
)
def test_what_is_no_flag_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        condition_texts.flag_from_text(text)
    assert said in str(raised.value)
