"""Fit the weights by which a typed turn is proposed as a memory, and judge them by cross-validation over people.

The turns (turns.jsonl, written for it) are of invented people. With --persons FOLDER those of real people are fitted too: a
folder with `sessions/<split>/<person>/*.jsonl` (transcripts of Claude Code) and `labels/<split>.jsonl` (JSON lines with
`session`, `turn`, the zero-based line, and `label`: keep, maybe or drop). Nothing of their text goes anywhere but into weights.
Each person is judged by weights that no turn of that person had a part in; --proposals FILE writes what these would propose, as
`learn --jsonl` does. With --write the weights of all turns go into subcog_hooks/capture/sessions/weights.py. Needs the extra
`eval` (numpy).
"""

import argparse
import json
import os
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subcog_hooks.capture.sessions import files, learning, signs, transcript, weights, worth
from subcog_hooks.capture.sessions.turns import ANSWER, CALL_FAILED, CALL_REFUSED, TYPED, Before, TypedTurn

TURNS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "turns.jsonl")
MODULE = os.path.abspath(str(weights.__file__))
CREDIT = {"keep": 1.0, "maybe": 0.5, "drop": 0.0}
OWN_WEIGHT = 0.3  # of an invented turn against a real one: what somebody makes up is cleaner than what people type
MOST_PEOPLE = 5  # invented people who use a word, from which on it is none of a subject: some 160 words
PULL = 3.0  # of every weight but the intercept towards 0
ROUNDS = 8  # of which sentence is the surest by the weights, and the weights by these sentences
STEPS = 25  # of Newton's method

Floats = NDArray[np.float64]


class Example(NamedTuple):
    """A labelled turn. person: whose it is; path: of its transcript, "" for that of an invented person."""

    turn: TypedTurn
    label: str
    person: str
    path: str = ""


class Bags(NamedTuple):
    """Examples as the model sees them. signs: of each turn (sentences, signs); credit and weight: of each turn."""

    signs: list[Floats]
    credit: Floats
    weight: Floats


def main() -> None:
    asked = argparse.ArgumentParser(
        prog="python -m scripts.learn.fit", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--persons", help="the folder with the turns of real people")
    asked.add_argument("--split", default="dev", help="which of its splits")
    asked.add_argument("--proposals", help="write what people's own weights propose to this file")
    asked.add_argument("--write", action="store_true", help="put the weights into the package")
    given = asked.parse_args()
    examples = own_examples() + (real_examples(given.persons, given.split) if given.persons else [])
    names, bags = as_bags(examples)
    people = np.array([example.person for example in examples])
    counted = np.array([bool(example.path) or not given.persons for example in examples])  # real people where there are any
    judged, models = np.zeros(len(examples)), {}
    for person in sorted(set(people[counted])):
        left = people == person
        models[person] = fitted_to_surest(of_some(bags, ~left))
        judged[left] = logits(of_some(bags, left).signs, models[person])
    slope, shift = calibration(judged[counted], bags.credit[counted])
    sessions = len({example.path for example in examples} - {""}) or len(set(people))
    report(slope * judged[counted] + shift, bags.credit[counted], sessions)
    if given.proposals:
        write_proposals(given.proposals, examples, names, models, slope, shift)
    fitted = fitted_to_surest(bags)
    for name, weight in sorted(zip(names, fitted, strict=True), key=lambda pair: -pair[1]):
        print(f"{weight:7.2f} {int(sum(bag[:, names.index(name)].any() for bag in bags.signs)):5d} {name}")
    if given.write:
        write(dict(zip(names, fitted, strict=True)), slope, shift)


def own_examples() -> list[Example]:
    """Return the invented turns."""
    with open(TURNS, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [Example(turn_of(row["text"], row.get("before", "")), row["label"], row["person"]) for row in rows]


def turn_of(text: str, said: str) -> TypedTurn:
    """Return an invented turn. said: what stood before it."""
    return TypedTurn(text, before(said), kind=ANSWER if said == "refused" else TYPED, place=3)


def before(said: str) -> Before:
    """Return what stands before an invented turn."""
    outcome = {"fail": CALL_FAILED, "refused": CALL_REFUSED}.get(said, "")
    return Before("Edit" if said in ("edit", "refused") else "", outcome=outcome, changed=said == "edit", asked=said == "asked")


def real_examples(folder: str, split: str) -> list[Example]:
    """Return the labelled turns of real people."""
    with open(os.path.join(folder, "labels", f"{split}.jsonl"), encoding="utf-8") as file:
        labels = {(row["session"], row["turn"]): row["label"] for row in map(json.loads, file)}
    found = []
    for name in sorted({session for session, _ in labels}):
        path = os.path.join(folder, "sessions", split, f"{name}.jsonl")
        with open(path, "rb") as file:
            lines, offset = {}, 0
            for number, line in enumerate(file):
                lines[offset] = number
                offset += len(line)
        found += [
            Example(turn, label, name.partition("/")[0], path)
            for turn in transcript.read(path).turns
            if (label := labels.get((name, lines[turn.offset]))) is not None
        ]
    return found


def as_bags(examples: Sequence[Example]) -> tuple[list[str], Bags]:
    """Return the names of the signs, and the examples by them."""
    seen = [[sentence.signs for sentence in signs.sentences_of(example.turn)] for example in examples]
    every = {name for found in seen for sentence in found for name in sentence if not name.startswith(signs.WORD)}
    every |= common_words([example.person for example in examples if not example.path], seen)
    names = [signs.INTERCEPT, *sorted(every - {signs.INTERCEPT})]
    silent = np.eye(1, len(names))
    bags = [np.array([[s.get(name, 0.0) for name in names] for s in found]) if found else silent for found in seen]
    credit = np.array([CREDIT[example.label] for example in examples])
    weight = np.array([1.0 if example.path else OWN_WEIGHT for example in examples])
    return names, Bags(bags, credit, weight)


def common_words(people: Sequence[str], seen: Sequence[Sequence[dict[str, float]]]) -> set[str]:
    """Return the signs of the words that several invented people use: which words count, no real person decides."""
    by_word: dict[str, set[str]] = defaultdict(set)
    for person, found in zip(people, seen, strict=False):
        for name in (name for sentence in found for name in sentence if name.startswith(signs.WORD)):
            by_word[name].add(person)
    return {name for name, users in by_word.items() if len(users) >= MOST_PEOPLE}


def of_some(bags: Bags, chosen: NDArray[np.bool_]) -> Bags:
    return Bags([bag for bag, is_in in zip(bags.signs, chosen, strict=True) if is_in], bags.credit[chosen], bags.weight[chosen])


def fitted_to_surest(bags: Bags) -> Floats:
    """Return the weights (signs,) by which the surest sentence of each turn says what the turn is worth."""
    found = fitted(np.array([bag.max(axis=0) for bag in bags.signs]), bags)
    before: list[int] = []
    for _ in range(ROUNDS):
        places = [int((bag @ found).argmax()) for bag in bags.signs]
        if places == before:
            break
        before = places
        found = fitted(np.array([bag[place] for bag, place in zip(bags.signs, places, strict=True)]), bags)
    return found


def fitted(rows: Floats, bags: Bags) -> Floats:
    """Return the weights (signs,) of a logistic model of rows (turns, signs), drawn towards 0."""
    found = np.zeros(rows.shape[1])
    pull = np.full(rows.shape[1], PULL)
    pull[0] = 1e-6
    for _ in range(STEPS):
        likely = 1.0 / (1.0 + np.exp(-np.clip(rows @ found, -30.0, 30.0)))
        slope = rows.T @ (bags.weight * (likely - bags.credit)) + pull * found
        bend = (rows * (bags.weight * likely * (1.0 - likely))[:, None]).T @ rows + np.diag(pull)
        step = np.linalg.solve(bend, slope)
        found -= step
        if np.abs(step).max() < 1e-3:
            break
    return found


def logits(bags: Sequence[Floats], by: Floats) -> Floats:
    """Return of each turn the logit of its surest sentence."""
    return np.array([(bag @ by).max() for bag in bags])


def calibration(judged: Floats, credit: Floats) -> tuple[float, float]:
    """Return slope and shift by which logits of people who were not seen tell how probable it is."""
    rows = np.column_stack([np.ones(len(judged)), judged])
    found = np.array([0.0, 1.0])
    for _ in range(STEPS):
        likely = 1.0 / (1.0 + np.exp(-np.clip(rows @ found, -30.0, 30.0)))
        bend = (rows * (likely * (1.0 - likely))[:, None]).T @ rows
        found -= np.linalg.solve(bend, rows.T @ (likely - credit))
    return float(found[1]), float(found[0])


def report(judged: Floats, credit: Floats, sessions: int) -> None:
    """Print what turns of people who were not seen would be proposed, by how many a session, and how far to believe it."""
    keeps = credit == 1.0
    order = np.argsort(-judged, kind="stable")
    for a_session in (0.4, 0.6, 0.8, 1.0):
        chosen = order[: int(a_session * sessions)]
        bar = 1.0 / (1.0 + np.exp(-judged[chosen[-1]]))
        found = keeps[chosen].sum() / keeps.sum()
        print(f"{a_session:.1f} a session, bar {bar:.3f}: precision {credit[chosen].mean():.3f}, recall {found:.3f}")
    for part in np.array_split(np.argsort(judged), 10)[5:]:
        print(f"  told {(1.0 / (1.0 + np.exp(-judged[part]))).mean():.2f}, are {credit[part].mean():.2f}")


def write_proposals(
    path: str,
    examples: Sequence[Example],
    names: Sequence[str],
    models: Mapping[str, Floats],
    slope: float,
    shift: float,
) -> None:
    """Write what each person's weights, which have not seen that person, would propose, as `learn --jsonl` does."""
    count = 0
    with open(path, "w", encoding="utf-8") as file:
        for person in sorted({example.person for example in examples if example.path}):
            fit = worth.Fit(dict(zip(names, map(float, models[person]), strict=True)), slope, shift)
            paths = dict.fromkeys(example.path for example in examples if example.person == person)
            found = [one for one in map(files.at_path, paths) if one]
            report = learning.learn(found, None, None, learning.LearningOptions(dry_run=True, fit=fit), lambda _: None)
            for one in report.proposed:
                file.write(json.dumps(one.line()) + "\n")
                count += 1
    print(f"{count} proposals written to {path}", file=sys.stderr)


def write(by_sign: dict[str, float], slope: float, shift: float) -> None:
    """Put the weights into the package's module, in the order of their names."""
    with open(MODULE, encoding="utf-8") as file:
        docstring = file.read().partition("\n\n")[0]
    lines = "".join(f'    "{name}": {round(weight, 2)},\n' for name, weight in by_sign.items())
    with open(MODULE, "w", encoding="utf-8", newline="\n") as file:
        file.write(
            f"{docstring}\n\nWEIGHTS: dict[str, float] = {{\n{lines}}}\n\n"
            "# A logit of the signs, times SLOPE plus SHIFT, is one whose probability holds for people who were not seen.\n"
            f"SLOPE, SHIFT = {slope:.3f}, {shift:.3f}\n"
        )
    print(f"written to {os.path.relpath(MODULE)}", file=sys.stderr)


if __name__ == "__main__":
    main()
