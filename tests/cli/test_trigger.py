"""`test-trigger`: the matches of a trigger, before a memory has it."""

import pytest

from subcog_hooks.core.paths import Home
from tests.cli.conftest import Run
from tests.cli.decided import decided, keep


def test_a_match_is_told_with_its_place(subcog: Run) -> None:
    done = subcog("test-trigger", r"deploy(s|ed)?\b", "-", stdin="Größe 東京\nwe Deployed it,\tand deploy".encode())
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        'taken; looked for where a text has "deploy"',
        "line 2, characters 4 to 11: Deployed",
        "line 2, characters 21 to 26: deploy",
    ]


def test_no_match_is_exit_code_one(subcog: Run) -> None:
    done = subcog("test-trigger", "deploy", "we", "shipped it")
    assert (done.code, done.out, done.err) == (1, 'taken; looked for where a text has "deploy"\n', "no match\n")


def test_it_matches_inside_words_unless_it_ends_at_their_edges(subcog: Run) -> None:
    assert "characters 2 to 4: api" in subcog("test-trigger", "api", "rapid").out
    assert subcog("test-trigger", r"\bapi\b", "rapid").code == 1
    for command in ("test-trigger", "remember"):
        help_text = " ".join(subcog(command, "--help").out.replace("│", " ").split())
        assert "inside words too" in help_text
        assert r"\b stands for a word's edge" in help_text


def test_the_words_that_a_trigger_is_looked_for_by_are_named(subcog: Run) -> None:
    assert 'has "deploy" or "release"' in subcog("test-trigger", "deploy|release", "x").out
    done = subcog("test-trigger", r"\d\d:\d\d", "at 09:30")
    assert "each prompt is tried, since no word is in every match: at most 50 such triggers are kept" in done.out
    assert "characters 4 to 8: 09:30" in done.out


def test_what_would_not_be_taken_is_one_line_and_exit_code_two(subcog: Run, subtests: pytest.Subtests) -> None:
    patterns = [
        ("deploy(", "missing )"),
        ("ok (deploy", "at character"),
        ("a(?=b)", "look-around"),
        (r"(a)\1", "back-reference"),
        ("x*", "matches the empty text"),
        ("(a+)+" * 200, "at most 500 are taken"),
        ("x{1000}{1000}", "triggers has 'x{1000}{1000}'"),
        ("\udcff", "is not UTF-8"),
    ]
    for pattern, message in patterns:
        for form in [[], ["--json"]]:
            with subtests.test(pattern=pattern, said=message):
                done = subcog("test-trigger", pattern, "some text", *form)
                assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
                assert message in done.err


def test_scripts_get_all_of_it(subcog: Run) -> None:
    done = subcog("test-trigger", "deploy", "first\nand deploy", "--json")
    assert done.json == {
        "trigger": "deploy",
        "literals": ["deploy"],
        "matches": [{"line": 2, "column": 5, "start": 10, "end": 16, "text": "deploy"}],
    }
    none = subcog("test-trigger", "deploy", "nothing of it", "--json")
    assert (none.code, none.json["matches"]) == (1, [])


def test_without_a_text_the_last_prompts_are_tried(subcog: Run, home: Home) -> None:
    keep(
        home,
        decided("a", prompt="How do we rotate the signing keys?"),
        decided("b", prompt=None),
        decided("c", prompt="make it blue"),
        decided("d", prompt="Rotate them \x1b[31mnow"),
    )
    done = subcog("test-trigger", "rotate")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[1:] == [
        "would have matched 2 of the last 3 prompts:",
        "  d  Rotate them now",
        "  a  How do we rotate the signing keys?",
    ]
    record = subcog("test-trigger", "rotate", "--json").json
    assert (record["prompts"], [row["decision"] for row in record["matched"]]) == (3, ["d", "a"])


def test_without_a_match_among_prompts_it_is_taken(subcog: Run, home: Home) -> None:
    done = subcog("test-trigger", "harbour")
    assert (done.code, done.err) == (0, "no prompts are kept to try it on; give a text\n")
    keep(home, decided("a"))
    done = subcog("test-trigger", "harbour")
    assert (done.code, done.out.splitlines()[-1]) == (0, "would have matched 0 of the only prompt")


def test_many_matches_are_counted(subcog: Run) -> None:
    done = subcog("test-trigger", "tide", "tide\n" * 100_000)
    assert (done.code, len(done.out.splitlines())) == (0, 21)
    assert done.err == "and 99,980 more\n"


def test_control_characters_and_secrets_are_not_printed(subcog: Run) -> None:
    key = "AKIA" + "IOSFODNN7" + "EXAMPLE"
    done = subcog("test-trigger", "red.*done", f"red \x1b[31m\x07{key} done")
    assert (done.code, done.out.splitlines()[1]) == (0, "line 1, characters 1 to 35: red [redacted] done")


def test_an_apostrophe_as_an_editor_sets_it_is_one(subcog: Run) -> None:
    assert subcog("test-trigger", "don't panic", "DON\u2019T PANIC now").code == 0
    assert subcog("test-trigger", "don\u2019t panic", "don't panic").code == 0
