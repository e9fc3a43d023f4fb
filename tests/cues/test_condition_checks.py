"""Conditions at entry: accepted and refused ones, and the messages."""

import pytest

from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.cues import condition_checks
from subcog_hooks.cues.condition_checks import MAX_CONDITIONS, MAX_VALUES
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
        ({"source": {"glob": "s*"}}, "when has 'source': glob; expected one of startup, resume, clear, compact, fork"),
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
        ({"tool": {"glob": "mcp*"}}, "when has 'tool': glob 'mcp*'; expected to match one of " + ", ".join(TOOLS)),
        ({"permission_mode": "acceptedits"}, "when has 'permission_mode': 'acceptedits'; expected acceptEdits: case counts"),
        ({"cwd": "src"}, "when has 'cwd': 'src'; expected the full path, for instance /srv/shop"),
        ({"cwd": ["/srv", "~/work"]}, "when has 'cwd': one of '~/work'; expected the full path, for instance /srv/shop"),
        ({"cwd": {"glob": "src/*"}}, "when has 'cwd': glob 'src/*'; expected the full path, beginning with / or ~/"),
    ]
    for when, message in cases:
        with subtests.test(when=when):
            with pytest.raises(InvalidMemory) as raised:
                condition_checks.check_conditions(when)
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
    condition_checks.check_conditions(when)


def test_a_name_that_nobody_could_set_is_refused(subtests: pytest.Subtests) -> None:
    for name in ["", " ", "a b", "a=b", "7th", "-x", "a>", "x" * 65, "a\nb"]:
        with subtests.test(name=name), pytest.raises(InvalidMemory, match="a name has 1 to 64 letters"):
            condition_checks.check_conditions({name: True})


def test_a_glob_that_no_path_can_match_is_refused_with_its_fault() -> None:
    with pytest.raises(InvalidMemory) as raised:
        condition_checks.check_conditions({"file": {"glob": "../x.py"}})
    message = "when has 'file': glob '../x.py': it goes up by ..; write it from the project's root, or beginning with / or ~/"
    assert str(raised.value) == message


def test_too_much_is_refused() -> None:
    with pytest.raises(InvalidMemory, match="201 conditions"):
        condition_checks.check_conditions({f"flag{number}": True for number in range(MAX_CONDITIONS + 1)})
    with pytest.raises(InvalidMemory, match="1 to 200 values"):
        condition_checks.check_conditions({"branch": [f"b{number}" for number in range(MAX_VALUES + 1)]})
    with pytest.raises(InvalidMemory, match="1,000 characters"):
        condition_checks.check_conditions({"mood": "x" * (MAX_TEXT + 1)})
