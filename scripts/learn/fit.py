"""Fit the weights by which a typed turn is proposed as a memory, and judge them by cross-validation over people.

The turns (turns.jsonl, written for it) are of invented people. With --persons FOLDER those of real people are fitted too: a
folder with `sessions/<split>/<person>/*.jsonl` (transcripts of Claude Code) and `labels/<split>.jsonl` (JSON lines with
`session`, `turn`, the zero-based line, and `label`: keep, maybe or drop). Nothing of their text goes anywhere but into weights.
Each person is judged by weights that no turn of that person had a part in, with bars that were chosen on the other people, each
of these judged by weights that have seen neither of the two. --proposals FILE writes that, as `learn --jsonl` does. With
--write the weights of
all turns go into weights.tsv and calibration.tsv in subcog_hooks/capture/sessions. Needs the extra `eval` (numpy).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scripts.tables import write_rows
from subcog_hooks.learn import learning, signs, storing, transcript, transcript_files, turn_scores
from subcog_hooks.learn.turns import ANSWER, CALL_FAILED, CALL_REFUSED, TYPED, Before, TypedTurn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TURNS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "turns.jsonl")
CREDIT = {"keep": 1.0, "maybe": 0.5, "drop": 0.0}
OWN_WEIGHT = 0.2  # of an invented turn against a real one: what somebody makes up is cleaner than what people type
MOST_PEOPLE = 5  # invented people who use a word, from which on it is none of a subject: some 160 words
PULL = 3.0  # of every weight but the intercept towards 0
MOST_A_SESSION = 0.8  # proposed by themselves; what several sessions said comes on top
OF_CORRECTIONS = 0.25  # what the share of corrections that are found counts beside F1, where bars are chosen
CORRECTION = "correction"
ABOVE_ALL = 2.0  # a bar that no certainty reaches
ROUNDS = 8  # of which sentence is the surest by the weights, and the weights by these sentences
STEPS = 25  # of Newton's method

Floats = NDArray[np.float64]


class Example(NamedTuple):
    """A labelled turn. person: whose it is; path: of its transcript, "" for that of an invented person."""

    turn: TypedTurn
    label: str
    kind: str
    person: str
    path: str = ""


class Bags(NamedTuple):
    """Examples as the models see them.

    signs: of each turn (sentences, signs); turns: the greatest value of each sign, and the mean of each but words and the
    intercept; credit, weight: of each turn; of_correction: its credit, where it is a correction.
    """

    signs: list[Floats]
    turns: Floats
    credit: Floats
    of_correction: Floats
    weight: Floats


class Models(NamedTuple):
    """Weights of signs: of a sentence, of a turn, of a correction. lines: slope and shift of each; bars: of the last two."""

    sentence: Floats
    turn: Floats
    correction: Floats
    lines: Sequence[tuple[float, float]]
    bars: Bars


class Judged(NamedTuple):
    """The logits of turns, of their worth and of their being corrections."""

    worth: Floats
    correction: Floats


class Bars(NamedTuple):
    """The logits from which on turns are proposed."""

    worth: float
    correction: float

    def chosen(self, judged: Judged) -> NDArray[np.bool_]:
        return (judged.worth >= self.worth) | (judged.correction >= self.correction)


def main() -> None:
    asked = argparse.ArgumentParser(
        prog="python -m scripts.learn.fit", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--persons", help="the folder with the turns of real people")
    asked.add_argument("--split", default="dev", help="which of its splits")
    asked.add_argument("--proposals", help="write what people's own weights propose to this file")
    asked.add_argument("--write", action="store_true", help="put the weights into the package")
    given = asked.parse_args()
    if given.write and not given.persons:
        asked.error("--write needs --persons: the bars are chosen by how much real people type")
    examples = own_examples() + (real_examples(given.persons, given.split) if given.persons else [])
    names, bags = as_bags(examples)
    people = np.array([example.person for example in examples])
    counted = np.array([bool(example.path) or not given.persons for example in examples])  # real people where there are any
    sessions = {who: len({one.path or one.person for one in examples if one.person == who}) for who in set(people[counted])}
    turns, corrections = Leaving(bags, bags.credit), Leaving(bags, bags.of_correction)
    judged, bars, sentences = np.zeros((2, len(examples))), {}, {}
    surest = np.zeros(len(examples))
    unseen = judged_in_pairs(bags, people, sorted(sessions), turns, corrections)
    for person in sorted(sessions):
        left = people == person
        judged[:, left] = unseen[person, person]
        others = [who for who in sorted(sessions) if who != person]
        bars[person] = chosen_bars(bags, people, {who: unseen[who, person] for who in others}, sessions)
        sentences[person] = fitted_to_surest(of_some(bags, ~left))
        surest[left] = [(bag @ sentences[person]).max() for bag, is_in in zip(bags.signs, left, strict=True) if is_in]
    lines = [calibration(logits[counted], bags.credit[counted]) for logits in (surest, judged[0])]
    lines.append(calibration(judged[1][counted], bags.of_correction[counted]))
    report(judged, bars, bags, people, sessions, lines[1])
    if given.proposals:
        fits = {}
        for who in sessions:
            left = people == who
            unseeing = Models(sentences[who], turns.without(left), corrections.without(left), lines, bars[who])
            fits[who] = as_fit(names, unseeing)
        write_proposals(given.proposals, examples, fits)
    if given.write:
        every = chosen_bars(bags, people, {who: unseen[who, who] for who in sessions}, sessions)
        nobody = np.zeros(len(examples), bool)
        write(names, Models(fitted_to_surest(bags), turns.without(nobody), corrections.without(nobody), lines, every))


def own_examples() -> list[Example]:
    """Return the invented turns."""
    with open(TURNS, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [
        Example(turn_of(row["text"], row.get("before", "")), row["label"], row.get("kind", ""), row["person"]) for row in rows
    ]


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
        labels = {(row["session"], row["turn"]): (row["label"], row["kind"] or "") for row in map(json.loads, file)}
    found = []
    for name in sorted({session for session, _ in labels}):
        path = os.path.join(folder, "sessions", split, f"{name}.jsonl")
        with open(path, "rb") as file:
            lines, offset = {}, 0
            for number, line in enumerate(file):
                lines[offset] = number
                offset += len(line)
        found += [
            Example(turn, *label, name.partition("/")[0], path)
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
    said = [place for place, name in enumerate(names) if has_mean(name)]
    turns = np.array([np.concatenate([bag.max(axis=0), bag.mean(axis=0)[said]]) for bag in bags])
    credit = np.array([CREDIT[example.label] for example in examples])
    of_correction = credit * np.array([example.kind == CORRECTION for example in examples])
    weight = np.array([1.0 if example.path else OWN_WEIGHT for example in examples])
    return names, Bags(bags, turns, credit, of_correction, weight)


def has_mean(name: str) -> bool:
    """Return whether the mean of a sign over the sentences of a turn counts: that of words adds nothing."""
    return name != signs.INTERCEPT and not name.startswith(signs.WORD)


def common_words(people: Sequence[str], seen: Sequence[Sequence[dict[str, float]]]) -> set[str]:
    """Return the signs of the words that several invented people use: which words count, no real person decides."""
    by_word: dict[str, set[str]] = defaultdict(set)
    for person, found in zip(people, seen, strict=False):
        for name in (name for sentence in found for name in sentence if name.startswith(signs.WORD)):
            by_word[name].add(person)
    return {name for name, users in by_word.items() if len(users) >= MOST_PEOPLE}


def of_some(bags: Bags, chosen: NDArray[np.bool_]) -> Bags:
    some = [bag for bag, is_in in zip(bags.signs, chosen, strict=True) if is_in]
    return Bags(some, bags.turns[chosen], bags.credit[chosen], bags.of_correction[chosen], bags.weight[chosen])


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
    """Return the weights (signs,) of a logistic model of rows (turns, signs) and their credit, drawn towards 0."""
    return descend(rows, bags.credit, bags.weight)[0]


def descend(rows: Floats, credit: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return the weights (signs,) of a logistic model, and how its loss bends there (signs, signs)."""
    found, pull = np.zeros(rows.shape[1]), pulls(rows)
    for _ in range(STEPS):
        likely = probabilities(rows @ found)
        slope = rows.T @ (weight * (likely - credit)) + pull * found
        bend = (rows * (weight * likely * (1.0 - likely))[:, None]).T @ rows + np.diag(pull)
        step = np.linalg.solve(bend, slope)
        found -= step
        if np.abs(step).max() < 1e-3:
            break
    return found, bend


class Leaving:
    """A logistic model of turns, and the same without some of them.

    Those are found from the weights of all with the bend of all, which takes a hundredth of the time of Newton's method.
    """

    def __init__(self, bags: Bags, credit: Floats) -> None:
        self._rows, self._credit, self._weight = bags.turns, credit, bags.weight
        self._of_all, bend = descend(bags.turns, credit, bags.weight)
        self._against = np.linalg.inv(bend)

    def without(self, left: NDArray[np.bool_]) -> Floats:
        """Return the weights (signs,) that the turns in `left` have no part in."""
        found, weight = self._of_all.copy(), self._weight * ~left
        for _ in range(10 * STEPS):
            likely = probabilities(self._rows @ found)
            step = self._against @ (self._rows.T @ (weight * (likely - self._credit)) + pulls(self._rows) * found)
            found -= step
            if np.abs(step).max() < 1e-3:
                break
        return found


def probabilities(logits: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits, -30.0, 30.0))))


def pulls(rows: Floats) -> Floats:
    """Return how strongly each weight is drawn towards 0: the intercept, which is the first, is not."""
    return np.concatenate([[1e-6], np.full(rows.shape[1] - 1, PULL)])


def judged_in_pairs(
    bags: Bags, people: NDArray[np.str_], persons: Sequence[str], turns: Leaving, corrections: Leaving
) -> dict[tuple[str, str], Judged]:
    """Return the logits of the first person's turns, by weights that have seen neither that person nor the second."""
    found = {}
    for place, one in enumerate(persons):
        for other in persons[place:]:
            left = (people == one) | (people == other)
            of_worth, of_correction = turns.without(left), corrections.without(left)
            for first, second in {(one, other), (other, one)}:
                rows = bags.turns[people == first]
                found[first, second] = Judged(rows @ of_worth, rows @ of_correction)
    return found


def chosen_bars(bags: Bags, people: NDArray[np.str_], unseen: Mapping[str, Judged], sessions: Mapping[str, int]) -> Bars:
    """Return the bars by which F1, and the corrections that are found, are best among people, MOST_A_SESSION proposed."""
    order = sorted(unseen)
    judged = Judged(*(np.concatenate([unseen[who][place] for who in order]) for place in (0, 1)))
    credit = np.concatenate([bags.credit[people == who] for who in order])
    is_correction = np.concatenate([bags.of_correction[people == who] for who in order]) == 1.0
    keeps, count = credit == 1.0, sum(sessions[who] for who in order)
    by_worth, by_correction = np.sort(judged.worth)[::-1], np.sort(judged.correction)[::-1]
    best, found = -1.0, Bars(np.inf, np.inf)
    for of_corrections in np.arange(0.0, 0.31, 0.025):
        for a_session in np.arange(0.3, MOST_A_SESSION + 0.01, 0.025):
            corrections = int(of_corrections * count)
            bars = Bars(float(by_worth[int(a_session * count)]), float(by_correction[corrections]) if corrections else np.inf)
            chosen = bars.chosen(judged)
            if chosen.sum() > MOST_A_SESSION * count or not keeps[chosen].any():
                continue
            precision, recall = credit[chosen].mean(), keeps[chosen].sum() / keeps.sum()
            of_all = is_correction[chosen].sum() / max(1, is_correction.sum())
            worth = 2 * precision * recall / (precision + recall) + OF_CORRECTIONS * of_all
            if worth > best:
                best, found = worth, bars
    return found


def calibration(judged: Floats, credit: Floats) -> tuple[float, float]:
    """Return slope and shift by which logits of people who were not seen tell how probable it is."""
    rows = np.column_stack([np.ones(len(judged)), judged])
    found = np.array([0.0, 1.0])
    for _ in range(STEPS):
        likely = 1.0 / (1.0 + np.exp(-np.clip(rows @ found, -30.0, 30.0)))
        bend = (rows * (likely * (1.0 - likely))[:, None]).T @ rows
        found -= np.linalg.solve(bend, rows.T @ (likely - credit))
    return float(found[1]), float(found[0])


def report(
    judged: Floats,
    bars: Mapping[str, Bars],
    bags: Bags,
    people: NDArray[np.str_],
    sessions: Mapping[str, int],
    line: tuple[float, float],
) -> None:
    """Print what is proposed of people who were not seen, by bars that were not chosen on them, and how far to believe it."""
    chosen = np.zeros(len(people), bool)
    for who, of_person in bars.items():
        chosen |= (people == who) & of_person.chosen(Judged(*judged))
    keeps, is_correction = bags.credit == 1.0, bags.of_correction == 1.0
    columns = (bags.credit * chosen, chosen, keeps & chosen, keeps, is_correction & chosen, is_correction)
    order = sorted(sessions)
    counts = np.array([[*(column[people == who].sum() for column in columns), sessions[who]] for who in order], np.float64)
    random = np.random.default_rng(0)
    rounds = np.array([counts[random.choice(len(order), len(order))].sum(axis=0) for _ in range(1_000)])
    total = counts.sum(axis=0)
    for name, part, whole in (("precision", 0, 1), ("recall", 2, 3), ("of corrections", 4, 5), ("a session", 1, 6)):
        low, high = np.percentile(rounds[:, part] / np.maximum(1.0, rounds[:, whole]), (2.5, 97.5))
        print(f"{name} {total[part] / total[whole]:.3f} [{low:.2f}, {high:.2f}] ({total[part]:g} of {total[whole]:g})")
    counted = np.isin(people, sorted(sessions))
    logits, credit = line[0] * judged[0][counted] + line[1], bags.credit[counted]
    for tenth in np.array_split(np.argsort(logits), 10)[5:]:
        print(f"  told {probabilities(logits[tenth]).mean():.2f}, are {credit[tenth].mean():.2f}")


def write_proposals(path: str, examples: Sequence[Example], fits: Mapping[str, turn_scores.Fit]) -> None:
    """Write what each person's weights and bars, which have not seen that person, would propose, as `learn --jsonl` does."""
    count = 0
    with open(path, "w", encoding="utf-8") as file:
        for person in sorted({example.person for example in examples if example.path}):
            paths = dict.fromkeys(example.path for example in examples if example.person == person)
            found = [one for one in map(transcript_files.at_path, paths) if one]
            options = storing.LearningOptions(dry_run=True, fit=fits[person])
            report = learning.learn(found, None, None, options, lambda _: None)
            for one in report.proposed:
                file.write(json.dumps(one.line()) + "\n")
                count += 1
    print(f"{count} proposals written to {path}", file=sys.stderr)


def by_sign(names: Sequence[str], models: Models) -> dict[str, tuple[float, ...]]:
    """Return the weights of each sign, in the order in which `worth` reads them."""
    means = [name for name in names if has_mean(name)]
    found = {}
    for place, name in enumerate(names):
        weights_of_sign = [models.sentence[place]]
        for of_turn in (models.turn, models.correction):
            weights_of_sign += [of_turn[place], of_turn[len(names) + means.index(name)] if has_mean(name) else 0.0]
        found[name] = tuple(round(float(weight), 2) for weight in weights_of_sign)
    return found


def as_fit(names: Sequence[str], models: Models) -> turn_scores.Fit:
    """Return the fitted models as the package takes them."""
    bar = turn_scores.Line(*models.lines[1]).probability(models.bars.worth)
    correction_bar = turn_scores.Line(*models.lines[2]).probability(models.bars.correction)
    is_any = np.isfinite(models.bars.correction)  # else no correction is proposed as one
    return turn_scores.Fit(by_sign(names, models), models.lines, (bar, correction_bar if is_any else ABOVE_ALL))


def write(names: Sequence[str], models: Models) -> None:
    """Put the weights into the package's tables, in the order of their names."""
    write_rows(turn_scores.__file__, "weights.tsv", [[name, *map(str, row)] for name, row in by_sign(names, models).items()])
    fit = as_fit(names, models)
    rows = zip(("sentence", "turn", "correction", "bars"), (*models.lines, (fit.bar, fit.correction_bar)), strict=True)
    write_rows(turn_scores.__file__, "calibration.tsv", [[name, *(f"{value:.3f}" for value in row)] for name, row in rows])


if __name__ == "__main__":
    main()
