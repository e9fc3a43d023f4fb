"""Fit the weights of short notes of a project (OF_NOTES in subcog_hooks/recall/relevance.tsv), and judge them on histories.

A note answers a prompt when it helps there or is about the same matter. Fitted to part A of the histories (see histories.py);
A is judged by cross-validation over people, each by weights that none of their prompts had a part in, and B by the weights
that are fitted to A. Printed for some bars: how many of the prompts that a note helps get it, how many to which nothing is to
be said get nothing, and how much of what is handed over is of use. At most three notes come with a prompt, none twice in a
session.

Example: python -m scripts.relevance.fit_notes --histories FOLDER --write
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scripts.relevance import logistic
from scripts.relevance.fit import DIGITS, INTERCEPT, ROOT, write_column
from scripts.relevance.histories import Played, play
from scripts.relevance.logistic import Floats
from subcog_hooks.intent import keywords
from subcog_hooks.recall import logit, relevance
from subcog_hooks.recall.hits import BEGUN

FITTED, REPORTED = "A", "B"
PULL = 2.0  # of a weight towards 0
RAISED = 0.3  # of the intercept: chosen on part A, so that a bar of .22 gives what one of .17 did
BARS = (0.15, 0.18, 0.22, 0.3, 0.4)
MOST = 3  # notes with a prompt
NAMES = tuple(name for name in relevance.OF_NOTES if name != INTERCEPT)

Probabilities = Mapping[tuple[int, str], float]  # by the prompt's number and the note's id


class Candidates(NamedTuple):
    """Notes that were found for prompts: values (rows, names), what each is to its prompt, and whose that is."""

    values: Floats
    answers: logistic.Flags
    keys: list[tuple[int, str]]
    people: list[str]


def candidates_of(prompts: Sequence[Played]) -> Candidates:
    """Return the notes that were found, each with its evidence."""
    values, answers, keys, people = [], [], [], []
    for number, prompt in enumerate(prompts):
        confidence = keywords.read_prompt(prompt.prompt).intent.confidence
        for hit in prompt.hits:
            if not relevance.is_note(hit.memory, hit.terms):
                continue
            known = {name: value for name, value, _ in hit.terms} | {
                "intent": confidence,
                BEGUN: logit.session_progress(prompt.place),
            }
            values.append([known.get(name, 0.0) for name in NAMES])
            answers.append(hit.memory.id in prompt.helps | prompt.related)
            keys.append((number, hit.memory.id))
            people.append(prompt.person)
    return Candidates(np.array(values), np.array(answers), keys, people)


def told(prompts: Sequence[Played], probable: Probabilities, parts: Iterable[str], bar: float) -> str:
    """Return a line on what a bar gives."""
    count: Counter[str] = Counter()
    given: dict[str, set[str]] = {}
    for number, prompt in enumerate(prompts):
        if prompt.part not in parts:
            continue
        known = given.setdefault(prompt.session, set())
        ranked = sorted(((probable.get((number, hit.memory.id), 0.0), hit.memory.id) for hit in prompt.hits), reverse=True)
        shown = {note for likely, note in ranked if likely >= bar and note not in known}
        shown = {note for _, note in [one for one in ranked if one[1] in shown][:MOST]}
        known |= shown
        is_idle = not prompt.helps and not prompt.related
        count.update(need=bool(prompt.helps), helped=bool(prompt.helps & shown), idle=is_idle, spoke=is_idle and bool(shown))
        count.update(given=len(shown), useful=len(shown & (prompt.helps | prompt.related)))
    helped, silent = count["helped"] / max(1, count["need"]), 1 - count["spoke"] / max(1, count["idle"])
    useful = count["useful"] / max(1, count["given"])
    return f"{bar:5.2f}  helped {helped:.3f}  silent {silent:.3f}  of use {useful:.3f} of {count['given']}"


def main() -> None:
    options = _options()
    prompts = list(play(options.histories, options.cache))
    found = candidates_of(prompts)
    part = np.array([prompts[number].part for number, _ in found.keys])
    is_fitted = part == FITTED
    even = np.ones(int(is_fitted.sum()))
    people = [person for person, fitted in zip(found.people, is_fitted, strict=True) if fitted]
    model = logistic.fit(found.values[is_fitted], found.answers[is_fitted], even, PULL)
    likely = model.probabilities(found.values)
    likely[is_fitted] = logistic.by_owner(found.values[is_fitted], found.answers[is_fitted], even, people, PULL)
    for name in (FITTED, REPORTED):
        chosen = part == name
        loss = logistic.log_loss(likely[chosen], found.answers[chosen], np.ones(int(chosen.sum())))
        error = logistic.calibration_error(likely[chosen], found.answers[chosen], np.ones(int(chosen.sum())))
        print(f"{name}: {int(chosen.sum()):,} notes, log loss {loss:.4f}, calibration error {error:.4f}")
        raised = 1.0 / (1.0 + np.exp(-(np.log(likely / (1.0 - likely)) + RAISED)))
        for bar in BARS:
            print("  " + told(prompts, dict(zip(found.keys, raised.tolist(), strict=True)), (name,), bar))
    weights = {INTERCEPT: model.intercept + RAISED, **dict(zip(NAMES, model.coefficients.tolist(), strict=True))}
    for name, weight in weights.items():
        print(f"  {name:12} now {relevance.OF_NOTES[name]:8.4f}  fitted {round(weight, DIGITS):8.4f}")
    if options.write:
        write_column("OF_NOTES", weights)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.relevance.fit_notes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--histories", type=Path, required=True, metavar="DIR", help="a folder of histories")
    parser.add_argument("--cache", type=Path, default=Path(ROOT) / ".cache" / "relevance", help="(.cache/relevance)")
    parser.add_argument("--write", action="store_true", help="put the weights into subcog_hooks/recall/relevance.tsv")
    return parser.parse_args()


if __name__ == "__main__":
    main()
