"""Measure S0's claim: is the hybrid of keywords and a language model better than either of them alone?

The prompts are labelled (tests/data/intent/prompts.jsonl, or --prompts). The model's answers are those that
scripts.intent.record has recorded (--answers), or simulated ones (--simulated): right with the stated probability; a wrong one
names another label, drawn as often as that is in the set; each says the same confidence, which is that probability. A simulated
model makes its mistakes anywhere, a real one more often where the words are hard, too: the figures are those of no model.

Alone the model is asked about every prompt. The hybrid asks it only where the words are not sure, as the hook does. An answer
that takes longer than --deadline counts as none. Told are the share of right labels, and precision, recall and F1 of "memories
could help" (any label but none), with the number of calls.

Example: python -m scripts.intent.hybrid --simulated 0.8
Example: python -m scripts.intent.hybrid --answers answers.jsonl --deadline 0.11
"""

import argparse
import json
import os
import random
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple  # of JSON

from scripts.intent import record
from subcog_hooks.intent import classifier, detector
from subcog_hooks.intent.detector import Detection
from subcog_hooks.intent.keywords import NONE, Intent
from subcog_hooks.intent.topics import extract_topics
from subcog_hooks.settings.defaults import Settings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OWN = Path(ROOT, "tests", "data", "intent", "prompts.jsonl")
SKIP = "search_intent.llm_skip_confidence"


class Verdict(NamedTuple):
    """What was said of a prompt: its label, whether memories could help, whether the model was asked."""

    label: str
    helps: bool
    was_asked: bool


class Figures(NamedTuple):
    """The figures of a way to tell. right: share of the labels; the others: of "memories could help"; calls: of the model."""

    right: float
    precision: float
    recall: float
    f1: float
    calls: int


def by_keywords(prompt: str) -> Verdict:
    """Return what the words alone say."""
    return _verdict(Detection(prompt), was_asked=False)


def by_model(answer: Intent | None) -> Verdict:
    """Return what the model alone says: nothing where it did not answer."""
    label = answer.type if answer else NONE
    return Verdict(label, label != NONE, was_asked=True)


def by_both(prompt: str, answer: Intent | None) -> Verdict:
    """Return what the hook makes of both. The model is not asked where the hook would not."""
    detected = Detection(prompt)
    if detected.reading.prompt is None or detector.reason_to_skip_llm(detected.reading, prompt, float(Settings({})[SKIP])):
        return _verdict(detected, was_asked=False)
    detected.answer = answer
    return _verdict(detected, was_asked=True)


def _verdict(detected: Detection, *, was_asked: bool) -> Verdict:
    settings = Settings({})
    examined = detected.settle(extract_topics(detected.reading.words()), settings, 0.0)
    helps = examined.is_enough(settings) and not examined.is_vetoed
    return Verdict((examined.type or NONE) if helps else NONE, helps, was_asked)


def figures(labels: Sequence[str], verdicts: Sequence[Verdict]) -> Figures:
    """Return the figures of verdicts on prompts of these labels.

    >>> figures(["howto", "none"], [Verdict("howto", True, False), Verdict("general", True, True)])
    Figures(right=0.5, precision=0.5, recall=1.0, f1=0.667, calls=1)
    """
    helps = [label != NONE for label in labels]
    both = sum(one.helps and wanted for one, wanted in zip(verdicts, helps, strict=True))
    precision = both / max(1, sum(one.helps for one in verdicts))
    recall = both / max(1, sum(helps))
    right = sum(one.label == label for one, label in zip(verdicts, labels, strict=True)) / len(labels)
    f1 = 2 * precision * recall / (precision + recall) if both else 0.0
    calls = sum(one.was_asked for one in verdicts)
    return Figures(round(right, 3), round(precision, 3), round(recall, 3), round(f1, 3), calls)


def simulated(rows: Iterable[Mapping[str, Any]], accuracy: float) -> dict[str, Intent]:
    """Return answers that are right with this probability, by the prompt's id; the same in every run."""
    rows = list(rows)
    labels = [str(row["label"]) for row in rows]
    answers = {}
    for row in rows:
        dice = random.Random(f"{accuracy} {row['id']}")
        label = str(row["label"])
        if dice.random() >= accuracy:
            label = dice.choice([other for other in labels if other != label])
        answers[str(row["id"])] = Intent(label, accuracy)
    return answers


def read_answers(path: Path, deadline: float) -> dict[str, Intent]:
    """Return the recorded answers that came within so many seconds, by the prompt's id."""
    answers = {}
    for line in record.lines_of(path):
        if "answer" in line and line["seconds"] <= deadline and (answer := classifier.parse_answer(json.dumps(line["answer"]))):
            answers[str(line["id"])] = answer
    return answers


def answered(rows: Iterable[Mapping[str, Any]], path: Path) -> list[Mapping[str, Any]]:
    """Return the prompts that the model has answered, however late."""
    known = record.recorded(path)
    return [row for row in rows if str(row["id"]) in known]


def compared(rows: Sequence[Mapping[str, Any]], answers: Mapping[str, Intent]) -> dict[str, Figures]:
    """Return the figures of the words alone, of the model alone and of both."""
    labels = [str(row["label"]) for row in rows]
    return {
        "keywords alone": figures(labels, [by_keywords(row["prompt"]) for row in rows]),
        "model alone": figures(labels, [by_model(answers.get(str(row["id"]))) for row in rows]),
        "hybrid": figures(labels, [by_both(row["prompt"], answers.get(str(row["id"]))) for row in rows]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.intent.hybrid", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--prompts", type=Path, default=OWN, help="labelled prompts, JSON lines (the project's own)")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--answers", type=Path, help="answers that scripts.intent.record has recorded")
    source.add_argument("--simulated", type=float, metavar="ACCURACY", help="simulate a model that is right so often")
    parser.add_argument("--deadline", type=float, default=60.0, metavar="SECONDS", help="for an answer (60)")
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.prompts.read_text(encoding="utf-8").splitlines()]
    if options.answers:
        if not options.answers.is_file():
            sys.exit(f"{parser.prog}: {options.answers} is no file; python -m scripts.intent.record writes it")
        answers = read_answers(options.answers, options.deadline)
        rows = answered(rows, options.answers)
        print(f"{len(answers)} recorded answers in time")
    else:
        answers = simulated(rows, options.simulated)
        print(f"SIMULATED answers, right for {options.simulated:.0%}: no model was asked")
    if not rows:
        sys.exit(f"{parser.prog}: none of the prompts has an answer")
    print(f"{len(rows)} prompts")
    for name, found in compared(rows, answers).items():
        told = "  ".join(f"{field} {value}" for field, value in found._asdict().items())
        print(f"{name:<14}  {told}")


if __name__ == "__main__":
    main()
