"""Judging typed turns: known false positives, known misses, and our own labelled turns."""

import json
from pathlib import Path

import pytest

from scripts.learn import fit
from subcog_hooks.learn import turn_scores
from subcog_hooks.learn.turn_scores import (
    ANSWER,
    ANSWER_BAR,
    CALIBRATIONS,
    CALL_REFUSED,
    NOTE,
    PACKAGED_FIT,
    REPEATED_BAR,
    TYPED,
    WEIGHTS,
    Before,
    Fit,
    TypedTurn,
    judge_turn,
)

ROOT = Path(__file__).parents[2]


def is_proposed(text: str, before: Before | None = None) -> bool:
    judgement = judge_turn(TypedTurn(text, before or Before(), position=3))
    return judgement is not None and (judgement.certainty >= PACKAGED_FIT.bar or judgement.corrects)


def certainty(text: str, before: Before | None = None, kind: str = TYPED) -> float:
    judgement = judge_turn(TypedTurn(text, before or Before(), kind=kind, position=3))
    return judgement.certainty if judgement else 0.0


def test_a_turn_about_the_current_task_is_not_proposed(subtests: pytest.Subtests) -> None:
    cases = [
        *("Actually, let's also add tests", "Revert the last commit", "Stop the dev server", "no rush", "No, thanks"),
        *("don't push directly to that branch", "That approach won't work for X, let's use Y"),
        *("should we always use a transaction here?", "fix this", "the login page is broken"),
        *("I need a button that exports the list", "continue"),
    ]
    for text in cases:
        with subtests.test(text=text):
            assert not is_proposed(text)
            assert not is_proposed(text, Before("Edit", "/a.py", changed=True))


def test_corrections_without_cue_words_follow_a_refused_call() -> None:
    before = Before("Bash", "", "npm test", CALL_REFUSED)
    for text in ("You missed the null case", "third time — read the file first", "use pnpm, not npm", "no dev server"):
        assert certainty(text, before, ANSWER) >= ANSWER_BAR, text
    assert certainty("third time — read the file first", Before("Edit", "/a.py", changed=True)) >= REPEATED_BAR


def test_a_rule_or_a_correction_behind_an_edit_is_proposed() -> None:
    rules = ("Don't use npm here, we're on pnpm", "never commit without running the tests")
    corrections = (
        *("no, we use the logger, not print. I said that before", "wrong, dates are always utc in this project"),
        "you're using the wrong client again, ours is in lib/http",
    )
    edit = Before("Edit", "/a.py", changed=True)
    judged: list[tuple[str, Before | None]] = [(text, None) for text in (*rules, "remember that staging is read-only from CI")]
    judged += [(text, edit) for text in corrections]
    assert [text for text, before in judged if not is_proposed(text, before)] == []
    rule, questions = "never use floats for money", "why is the total wrong? which test fails? can you look at it?"
    assert certainty(rule) > certainty(f"{questions} {rule}")
    assert judge_turn(TypedTurn("```\nnever = always(must)\nuse(never)\nreturn never\n```", Before())) is None


def test_a_note_is_a_memory_by_definition() -> None:
    judgement = judge_turn(TypedTurn("use tabs", Before(), kind=NOTE))
    assert judgement is not None
    assert (judgement.text, judgement.certainty) == ("use tabs", 0.95)


def test_only_the_lasting_sentence_is_proposed() -> None:
    text = "hi, please fix the login. Never log tokens, we had an audit because of that.\nthanks"
    judgement = judge_turn(TypedTurn(text, Before(), position=3))
    assert judgement is not None
    assert judgement.text == "Never log tokens, we had an audit because of that."


def test_every_weight_belongs_to_an_existing_sign() -> None:
    named = {name for name in WEIGHTS if not name.startswith(turn_scores.WORD_PREFIX)}
    sentences = [sentence for example in fit.read_invented_turns() for sentence in turn_scores.read_sentences(example.turn)]
    given = {name for sentence in sentences for name in sentence.signs}
    # only real people's turns have these signs
    assert named - given <= {"document", "opens", "much pasted", "long turn", "turn of 1,200"}


def test_precision_and_recall_on_our_own_turns() -> None:
    rows = [json.loads(line) for line in (ROOT / "scripts" / "learn" / "turns.jsonl").read_text().splitlines()]
    examples = fit.read_invented_turns()
    assert len(rows) == len(examples)
    judged = zip(rows, [judge_turn(example.turn) for example in examples], strict=True)
    proposed = [row["label"] for row, judgement in judged if judgement and judgement.certainty >= PACKAGED_FIT.bar]
    credit = sum(fit.CREDIT[label] for label in proposed)
    keeps = sum(row["label"] == "keep" for row in rows)
    assert credit / len(proposed) >= 0.85
    assert proposed.count("keep") / keeps >= 0.35


def test_the_fit_decides_which_turns_correct_the_agent() -> None:
    text = "you used float again. it's cents, as integers, i told you twice"
    turn = TypedTurn(text, Before("Edit", changed=True), position=3)
    deaf = Fit(WEIGHTS, CALIBRATIONS, (PACKAGED_FIT.bar, 1.0))
    heard, missed = judge_turn(turn), judge_turn(turn, deaf)
    assert heard
    assert missed
    assert (heard.corrects, missed.corrects) == (True, False)
