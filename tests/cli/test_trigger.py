"""`remember --dry-run`: the matches of a trigger, before a memory has it."""

import pytest

from subcog_hooks.core.paths import Home
from tests.cli.conftest import Result, Run
from tests.cli.decided import decided, keep

NOTE = "Ask the harbour master first."
NOTHING_STORED = "nothing is stored; it would be kept in learnings, for all your projects; it comes when a prompt is about it"


def tried(subcog: Run, pattern: str, text: str | None = None, stdin: bytes = b"") -> Result:
    """Try a trigger on a text, or on the last prompts."""
    options = () if text is None else ("--on", text)
    return subcog("remember", NOTE, "--trigger", pattern, "--dry-run", *options, stdin=stdin)


def test_a_match_is_told_with_its_place(subcog: Run) -> None:
    done = tried(subcog, r"deploy(s|ed)?\b", "-", stdin="Größe 東京\nwe Deployed it,\tand deploy".encode())
    assert done.code == 0
    assert done.err.startswith(NOTHING_STORED)
    assert done.out.splitlines() == [
        r'deploy(s|ed)?\b: looked for where a text has "deploy"',
        "line 2, characters 4 to 11: Deployed",
        "line 2, characters 21 to 26: deploy",
    ]


def test_no_match_is_exit_code_one(subcog: Run) -> None:
    done = tried(subcog, "deploy", "we shipped it")
    assert (done.code, done.out) == (1, 'deploy: looked for where a text has "deploy"\n')
    assert done.err.endswith("no match\n")


def test_a_dry_run_stores_nothing_and_shows_memories_like_it(subcog: Run) -> None:
    id_ = subcog("remember", "Ask the harbour master first, always.").out.strip()
    done = subcog("remember", NOTE, "--dry-run")
    assert (done.code, done.out) == (0, "")
    assert f"alike: {id_} Ask the harbour master first, always." in done.err
    assert subcog("list", "--ids").out.split() == [id_]
    for options in (("--on", "a text"), ("--trigger", "a+bc", "--on", "a text"), ("--dry-run", "--json")):
        assert subcog("remember", NOTE, *options).code == 2


def test_it_matches_inside_words_unless_it_ends_at_their_edges(subcog: Run) -> None:
    assert "characters 2 to 4: api" in tried(subcog, "api", "rapid").out
    assert tried(subcog, r"\bapi\b", "rapid").code == 1
    help_text = " ".join(subcog("remember", "--help").out.replace("│", " ").split())
    assert "inside words too" in help_text
    assert r"\b stands for a word's edge" in help_text


def test_the_words_that_a_trigger_is_looked_for_by_are_named(subcog: Run) -> None:
    assert 'has "deploy" or "release"' in tried(subcog, "deploy|release", "x").out
    done = tried(subcog, r"\d\d:\d\d", "at 09:30")
    assert "each prompt is tried, since no word is in every match: at most 50 such triggers are kept" in done.out
    assert "characters 4 to 8: 09:30" in done.out


def test_a_faulty_trigger_is_one_line_and_exit_code_two(subcog: Run, subtests: pytest.Subtests) -> None:
    patterns = [
        ("deploy(", "missing )"),
        ("a(?=b)", "look-around"),
        (r"(a)\1", "back-reference"),
        ("x*", "matches nearly every text"),
        ("(a+)+" * 200, "at most 500 are taken"),
        ("x{1000}{1000}", "triggers has 'x{1000}{1000}'"),
    ]
    for pattern, message in patterns:
        with subtests.test(pattern=pattern, said=message):
            done = tried(subcog, pattern, "some text")
            assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
            assert message in done.err


def test_without_a_text_the_last_prompts_are_tried(subcog: Run, home: Home) -> None:
    keep(
        home,
        decided("a", prompt="How do we rotate the signing keys?"),
        decided("b", prompt=None),
        decided("c", prompt="make it blue"),
        decided("d", prompt="Rotate them \x1b[31mnow"),
    )
    done = tried(subcog, "rotate")
    assert done.code == 0
    assert done.out.splitlines()[1:] == [
        "would have matched 2 of the last 3 prompts:",
        "  d  Rotate them now",
        "  a  How do we rotate the signing keys?",
    ]


def test_without_a_match_among_prompts_it_is_taken(subcog: Run, home: Home) -> None:
    done = tried(subcog, "harbour")
    assert done.code == 0
    assert done.err.endswith("no prompts are kept to try it on; give one with --on\n")
    keep(home, decided("a"))
    done = tried(subcog, "harbour")
    assert (done.code, done.out.splitlines()[-1]) == (0, "would have matched 0 of the only prompt")


def test_many_matches_are_counted(subcog: Run) -> None:
    done = tried(subcog, "tide", "tide\n" * 100_000)
    assert (done.code, len(done.out.splitlines())) == (0, 21)
    assert done.err.endswith("and 99,980 more\n")


def test_control_characters_and_secrets_are_not_printed(subcog: Run) -> None:
    key = "AKIA" + "IOSFODNN7" + "EXAMPLE"
    done = tried(subcog, "red.*done", f"red \x1b[31m\x07{key} done")
    assert (done.code, done.out.splitlines()[1]) == (0, "line 1, characters 1 to 35: red [redacted] done")


def test_an_apostrophe_as_an_editor_sets_it_is_one(subcog: Run) -> None:
    assert tried(subcog, "don't panic", "DON\u2019T PANIC now").code == 0
    assert tried(subcog, "don\u2019t panic", "don't panic").code == 0
