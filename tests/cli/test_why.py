"""`why`: a decision for a person, for a script, and in a list."""

import io
import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from subcog_hooks.cli.verdicts import lookup
from subcog_hooks.cli.verdicts.lookup import run_line, sentence, would_speak
from subcog_hooks.cli.verdicts.verdict_view import MEANINGS, ViewData, verdict_view
from subcog_hooks.core.paths import Home
from subcog_hooks.store import sessions
from subcog_hooks.store import verdicts as outcomes
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.past_runs import SilentCall
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from tests.cli.conftest import MonkeyPatch, Run, wide
from tests.cli.decided import BEGINNING, PROMPT, TOOL, candidate, decided, keep
from tests.conftest import Maker

NOW = now_ms()
UNSURE = outcomes.PromptIntent("none", 0.31, 0.31)
SPOKEN = decided("d1", candidates=[candidate("m1", 0.70), candidate("m2", 0.24), candidate("m3", 0.1)], units=212)


@pytest.fixture
def spoken(home: Home, store: Store, make: Maker) -> None:
    """Store a decision that gave m1, with m2 and m3 in the store."""
    store.add([make(f"Keys of service {i} are rotated by hand.", id=f"m{i}") for i in (1, 2, 3)])
    keep(home, SPOKEN)


@pytest.mark.usefixtures("spoken")
def test_it_shows_the_prompt_its_intent_and_each_candidate(subcog: Run) -> None:
    out = subcog("why").out
    lines = out.splitlines()
    assert re.fullmatch(r"d1  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  in no project", lines[0])
    assert lines[1:4] == [PROMPT, "", "spoke: 1 of 3 candidates handed over, 212 characters"]
    assert "intent   howto 0.82, 0.50 needed; told by keyword; llm off" in lines
    assert "topics   signing keys" in lines
    assert lines.index("intent   howto 0.82, 0.50 needed; told by keyword; llm off") > lines.index(
        "    Keys of service 3 are rotated by hand.  (rank 1 by an exact name, 2 by meaning)"
    )
    assert not [line for line in lines if " ms" in line or line.startswith(("signals", "stages"))]
    lines = subcog("why", "--explain").out.splitlines()
    assert "signals  how_do_we +1.20 howto; we -0.30 general" in lines
    assert "shape    a question" in lines
    assert "stages   start      12.1 ms" in lines
    assert "         in all     40.0 ms" in lines
    assert "recall   lexical, semantic" in lines
    assert "0.70  +0.45  m1  decisions  injected\n    Keys of service 1 are rotated by hand.  (rank 1 by an exact" in out
    assert "0.10  -0.15  m3  decisions  not relevant enough\n" in out


def test_each_term_is_explained(subcog: Run, home: Home, monkeypatch: MonkeyPatch) -> None:
    terms = [(name, 1.0, 0.1) for name in MEANINGS]
    keep(home, decided("d1", candidates=[outcomes.Candidate("m1", "decisions", 0.7, 0.7, outcomes.INJECTED, terms=terms)]))
    for columns in (160, 80):
        wide(monkeypatch, columns)
        out = subcog("why", "--explain").out
        flat = " ".join(out.split())
        assert all(meaning in flat for meaning in MEANINGS.values())
        assert all(name in out for name in MEANINGS)


def test_a_note_without_a_line_is_not_called_given() -> None:
    line = lookup.run_line(SilentCall(1, "Read", ("src/pool.py",), ("m1",), ("m2", "m3")))
    assert line.endswith("; m1 given in this session before, m2, m3 had a line, or none was left for it")


def test_what_was_given_before_names_the_verdict_that_gave_it(subcog: Run, home: Home) -> None:
    given = [candidate(id_, share, outcomes.GIVEN) for id_, share in (("m1", 0.7), ("m2", 0.6), ("m3", 0.5))]
    keep(home, decided("d2", outcomes.REPEATED, given))
    state = State.open(home, 1_000)
    for id_, verdict in (("m1", "d1"), ("m3", "d3")):  # the latter at a compaction, after d2
        sessions.record_given(state, "s", [id_], now_ms(), verdict)
    state.close()
    lines = [line.partition("given in")[2] for line in subcog("why").out.splitlines() if "  given in" in line]
    assert lines == [" this session before, with d1", " this session before", " this session before"]
    keep(home, decided("d4", outcomes.REPEATED, [candidate("m1", 0.7, outcomes.LOADED)]))
    assert "silent: this session has the relevant memories already" in subcog("why").out


@pytest.mark.usefixtures("spoken")
@pytest.mark.parametrize("columns", [20, 40, 80])
def test_a_narrow_terminal_shows_all_of_it(subcog: Run, monkeypatch: MonkeyPatch, columns: int) -> None:
    wide(monkeypatch, columns)
    out = subcog("why").out
    assert max(map(len, out.splitlines())) <= columns
    flat = " ".join(out.split())
    for shown in ("m2 decisions not relevant enough", "Keys of service 1 are rotated by hand.", "told by keyword"):
        assert shown in flat


@pytest.mark.usefixtures("spoken")
def test_without_a_terminal_no_colour_and_no_broken_lines(subcog: Run, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    out = subcog("why").out
    assert "\x1b" not in out
    assert "Keys of service 1 are rotated by hand.  (rank 1 by an exact name, 2 by meaning)" in out


def test_hostile_text_can_not_act_on_the_terminal(subcog: Run, home: Home, store: Store, make: Maker) -> None:
    store.add([make("Press \x1b[2Jhere\n[bold]now[/bold] \u202eten", id="m1")])
    hostile = decided(
        "d1",
        prompt="How\x1b]0;title\x07 do we\n[red]rotate[/red] ghp_0aB1cD2eF30aB1cD2eF30aB1cD2eF30aB1cD2?",
        project="shop\x1b[31m",
        note="broken\x1b[2J",
        reason="why\x1b[2J",
        candidates=[candidate("m1", 0.7), candidate("m\x1b2", 0.1)],
        borrowed=("to\x1bpic",),
    )
    keep(home, hostile)
    for command in (("why", "d1"), ("why", "list")):
        out = subcog(*command).out
        assert not {"\x1b", "\x07", "\u202e"} & set(out)
        assert "[red]rotate[/red] [redacted: GitHub Token]?" in out
    assert "[bold]now[/bold]" in subcog("why", "d1").out


TEXTS = st.one_of(st.text(max_size=30), st.text("\x1b[]0;\x07\u202e\r\n ab", max_size=30))
NUMBERS = st.floats(-1e6, 1e6)
CANDIDATES = st.builds(
    outcomes.Candidate,
    *(TEXTS, TEXTS, st.floats(0, 1), st.floats(0, 1), st.sampled_from(["injected", "below", "bad", "x\x1b"])),
    st.dictionaries(TEXTS, st.integers(1, 99), max_size=3),
    st.just({}),
    st.lists(st.tuples(TEXTS, NUMBERS, NUMBERS), max_size=4),
)


@given(
    *(st.sampled_from([*outcomes.OUTCOMES, "\x1b"]), st.lists(CANDIDATES, max_size=4), st.integers(-(10**18), 10**18)),
    st.fixed_dictionaries(dict.fromkeys(("prompt", "project", "note", "reason"), TEXTS)),
    st.lists(st.tuples(TEXTS, NUMBERS), max_size=4),
)
def test_any_record_can_be_shown_and_does_nothing(
    outcome: str, candidates: list[outcomes.Candidate], at_ms: int, texts: dict[str, str], stages: list[tuple[str, float]]
) -> None:
    shown = io.StringIO()
    verdict = decided("d\x1b", outcome, candidates, at_ms=at_ms, stages=stages, **texts)
    Console(file=shown, width=60).print(verdict_view(verdict, ViewData({}, is_explained=True)), soft_wrap=True)
    print(run_line(verdict), file=shown)
    assert not {"\x1b", "\x07", "\u202e", "\r"} & set(shown.getvalue())


def test_a_memory_that_is_gone_or_forgotten_is_not_shown(subcog: Run, home: Home, store: Store, make: Maker) -> None:
    store.add([make("secret plans", id="m1", status="deleted")])
    keep(home, decided("d1", candidates=[candidate("m1", 0.7), candidate("m2", 0.6)]))
    out = subcog("why").out
    assert "secret plans" not in out
    assert out.count("(no longer in the store)") == 2


def test_an_llm_that_was_asked_and_borrowed_topics_are_told(subcog: Run, home: Home) -> None:
    understood = outcomes.PromptIntent(
        "howto", 0.9, 0.9, ("keys",), source="hybrid", llm_status="success", llm_ms=87.4, row="both agree"
    )
    keep(home, decided("d1", outcomes.BELOW, intent=understood, borrowed=("vault",), note="semantic: out of time"))
    out = subcog("why", "--explain").out
    assert "merge    both agree; the LLM took 87 ms" in out
    assert "borrowed vault, from the prompt before" in out
    assert "recall   lexical, semantic; semantic: out of time" in out


def test_a_list_has_one_line_a_verdict_the_newest_first(subcog: Run, home: Home) -> None:
    keep(
        home,
        decided("d1", candidates=[candidate("m1", 0.7)], at_ms=NOW + 1),
        decided("d2", candidates=[candidate("m1", 0.7)], project="shop", at_ms=NOW + 2, **TOOL),
        decided("d3", outcomes.BELOW, [candidate("m1", 0.2)], at_ms=NOW + 3, **BEGINNING),
        decided("d4", outcomes.INTENT, prompt=None, at_ms=NOW + 4),
        decided("d5", outcomes.BELOW, prompt="Why " + "so " * 100, at_ms=NOW + 5),
    )
    for id_, at, what, outcome in (
        ("d2", "in shop, at a tool's call", "PreToolUse: Edit", "spoke: 1 of 1 candidate handed over, 0 characters"),
        *(
            (
                "d3",
                "in no project, at a session's start",
                "SessionStart: startup",
                "silent: the best of 1 candidate reached 0.20",
            ),
        ),
    ):
        lines = subcog("why", id_).out.splitlines()
        assert (lines[0].endswith(f"  {at}"), lines[1], lines[3].startswith(outcome)) == (True, what, True)
    lines = subcog("why", "list").out.splitlines()
    assert [line.split()[0] for line in lines] == ["d5", "d4", "d3", "d2", "d1"]
    assert [line.split()[3:5] for line in lines[::2]] == [["below", "0"], ["below", "0"], ["spoke", "1"]]
    ends = ["(the prompt was not kept)", "SessionStart: startup", "PreToolUse: Edit", PROMPT]
    assert (lines[0].endswith(" so …"), [line.split("  ")[-1] for line in lines[1:]]) == (True, ends)
    assert [line.split()[0] for line in subcog("why", "list", "-n", "1").out.splitlines()] == ["d5"]
    assert [row["id"] for row in subcog("why", "list", "--limit", "2", "--json").json] == ["d5", "d4"]


@pytest.mark.parametrize(
    ("outcome", "candidates", "expected"),
    [
        (outcomes.BELOW, [0.21] * 7, "silent: the best of 7 candidates reached 0.21, 0.25 was needed"),
        (outcomes.BELOW, [0.2499], "silent: the best of 1 candidate reached 0.2499, 0.2500 was needed"),
        (outcomes.NOTHING_FOUND, [], "silent: no memory is similar to it or shares a word with it"),
        (outcomes.PAUSED, [], "silent: the hook was paused then"),
        (outcomes.NOMEM, [], "silent: [nomem] was in the prompt"),
        (outcomes.REPEATED, [0.5], "silent: this session has the relevant memories already"),
        ("of_another_version", [], "silent: of_another_version"),
    ],
)
def test_every_outcome_is_a_plain_sentence(outcome: str, candidates: list[float], expected: str) -> None:
    assert sentence(decided("d", outcome, [candidate(f"m{i}", share) for i, share in enumerate(candidates)])) == expected


def test_a_silence_and_a_failure_have_their_reasons() -> None:
    printed = sentence(decided("d", outcomes.INTENT, intent=UNSURE))
    assert printed == "silent: it does not seem to need a memory: 0.31, 0.50 was needed"
    assert sentence(decided("d", outcomes.FAILED, reason="StoreBusy: locked")) == "silent: it failed: StoreBusy: locked"
    for outcome in outcomes.OUTCOMES:
        assert sentence(decided("d", outcome)) != f"silent: {outcome}"


@pytest.mark.usefixtures("spoken")
def test_json_is_the_record_without_the_memories_contents(subcog: Run) -> None:
    out = subcog("why", "--json").out
    record = json.loads(out)
    assert (record["id"], record["outcome"], record["injected"], record["prompt"]) == ("d1", "spoke", ["m1"], PROMPT)
    assert record["intent"]["signals"][0] == ["how_do_we", "howto", 1.2]
    assert record["settings"]["min_relevance"] == 0.25
    assert record["candidates"][0]["terms"][0] == ["intercept", 1.0, -8.65]
    assert "Keys of service" not in out


def test_a_verdict_is_named_by_its_id_or_the_beginning_of_one(subcog: Run, home: Home) -> None:
    keep(home, *(decided(id_, at_ms=NOW + number) for number, id_ in enumerate(("1ab", "1ac", "1a", "2b"), 1)))
    for name, id_ in (("1ab", "1ab"), ("2", "2b"), ("1a", "1a")):
        assert subcog("why", name, "--json").json["id"] == id_
    done = subcog("why", "1")
    assert (done.code, done.out) == (2, "")
    assert done.err == "subcog: 1 begins several ids (1a, 1ac, 1ab); give more of it\n"


def test_what_is_not_there_is_one_line_and_no_file_is_made(subcog: Run, home: Home) -> None:
    def expect(message: str, *commands: tuple[str, ...]) -> None:
        for command in commands:
            done = subcog("why", *command)
            assert (done.code, done.out, done.err) == (1, "", f"subcog: {message}\n"), command

    undecided = "the hook has not decided anything yet; `subcog doctor` says whether it is registered"
    expect(undecided, (), ("x",), ("list",), ("bad", "m1"))
    assert not os.path.exists(home.root)
    keep(home)
    assert (subcog("why").code, subcog("why", "list").err) == (1, "no decisions\n")
    keep(home, SPOKEN)
    expect("no decision has the id xyz; `subcog why list` shows the latest", ("xyz",))
    expect("no memory has the id keys; nothing has been remembered yet", ("bad", "keys"), ("bad", "keys", "--undo"))
    assert not Path(home.memories_db).exists()


def test_each_command_has_its_own_options(subcog: Run) -> None:
    for arguments in (("--undo",), ("bad", "m1", "--yes"), ("list", "--everywhere"), ("is", "it", "--yes")):
        done = subcog("why", *arguments)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert "No such option" in done.err


def test_words_behind_a_double_dash_are_a_prompt(subcog: Run) -> None:
    for words in (("--", "list"), ("--json", "--", "deploy"), ("what", "is", "missed"), ("list the servers",)):
        assert "no memories yet, so the hook is silent" in subcog("why", *words).err
    assert "the hook has not decided anything yet" in subcog("why", "--json", "list").err


def test_whether_it_would_have_spoken_is_told_from_what_was_kept() -> None:
    cases = [
        (outcomes.SPOKE, [candidate("a", 0.5)], 0.4, True),
        (outcomes.SPOKE, [candidate("a", 0.5)], 0.6, False),
        (outcomes.BELOW, [candidate("a", 0.2)], 0.1, True),
        (outcomes.REPEATED, [candidate("a", 0.5, outcomes.GIVEN), candidate("b", 0.2)], 0.3, False),
        (outcomes.REPEATED, [candidate("a", 0.5, outcomes.GIVEN), candidate("b", 0.2)], 0.1, True),
        (outcomes.BELOW, [candidate("a", 0.0, outcomes.BAD, raw=0.5)], 0.1, False),
        (outcomes.INTENT, [candidate("a", 0.9, outcomes.INTENT)], 0.1, True),
        (outcomes.PAUSED, [], 0.0, False),
    ]
    failures = [
        (outcome, candidates, bar, actual)
        for outcome, candidates, bar, speaks in cases
        if (actual := would_speak(decided("d", outcome, candidates), bar)) is not speaks
    ]
    assert failures == []


def test_a_prompt_above_every_memory_keeps_its_own_threshold() -> None:
    bars = outcomes.Thresholds(0.6, 0.5, 6, 2000, needed=1.2)
    verdict = decided("d", outcomes.INTENT, [candidate("a", 0.55, outcomes.BELOW)], settings=bars)
    assert [would_speak(verdict, bar) for bar in (0.25, 0.3)] == [True, False]
    assert "a memory of more than 1 would have come, the best has 0.55" in sentence(
        decided("d", outcomes.INTENT, [candidate("a", 0.55, outcomes.INTENT)], settings=bars, intent=UNSURE)
    )
