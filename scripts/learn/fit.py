"""Fit the weights by which a typed turn is proposed as a memory, and judge them by cross-validation over people.

The turns (turns.jsonl, written for it) are of invented people. With --persons FOLDER those of real people are fitted too: a
folder with `sessions/<split>/<person>/*.jsonl` (transcripts of Claude Code) and `labels/<split>.jsonl` (JSON lines with
`session`, `turn`, the zero-based line, and `label`: keep, maybe or drop). Nothing of their text goes anywhere but into weights.
Each person is judged by weights that no turn of that person had a part in, with bars that were chosen on the other people, each
of these judged by weights that have seen neither of the two. --proposals FILE writes that, as `learn --jsonl` does. With
--write the weights of
all turns go into weights.tsv and calibration.tsv in subcog_hooks/learn. Needs the extra `eval` (numpy).
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
from subcog_hooks.learn import learning, proposals, transcript, transcript_files, turn_scores
from subcog_hooks.learn.turn_scores import ANSWER, CALL_FAILED, CALL_REFUSED, TYPED, Before, TypedTurn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TURNS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "turns.jsonl")
CREDIT = {"keep": 1.0, "maybe": 0.5, "drop": 0.0}
INVENTED_WEIGHT = 0.2  # weight of an invented turn against a real one, since invented turns are cleaner
MIN_PEOPLE = 5  # invented people who use a word, so that it belongs to no subject: some 160 words
PENALTY = 3.0  # L2 penalty of every weight but the intercept
MAX_A_SESSION = 0.8  # proposals a session, without repeated ones
CORRECTION_WEIGHT = 0.25  # weight of the recall of corrections beside F1 when bars are chosen
CORRECTION = "correction"
ABOVE_ALL = 2.0  # a bar that no certainty reaches
MAX_ROUNDS = 8  # rounds of choosing the surest sentences and fitting weights to them
MAX_STEPS = 25  # steps of Newton's method

Floats = NDArray[np.float64]


class Example(NamedTuple):
    """A labelled turn. person: its author; path: of its transcript, "" for an invented person."""

    turn: TypedTurn
    label: str
    kind: str
    person: str
    path: str = ""


class Bags(NamedTuple):
    """Examples in the models' form.

    signs: matrix (sentences, signs) of each turn; turns: maximum of each sign, and mean of each but words and the intercept;
    credit, weight: of each turn; of_correction: its credit if it is a correction.
    """

    signs: list[Floats]
    turns: Floats
    credit: Floats
    of_correction: Floats
    weight: Floats


class Models(NamedTuple):
    """Weights of signs for a sentence, a turn and a correction. lines: slope and shift of each; bars: of the last two."""

    sentence: Floats
    turn: Floats
    correction: Floats
    lines: Sequence[tuple[float, float]]
    bars: Bars


class TurnLogits(NamedTuple):
    """The logits of turns, for keeping them and for being corrections."""

    keep: Floats
    correction: Floats


class Bars(NamedTuple):
    """The logits from which turns are proposed."""

    keep: float
    correction: float

    def select(self, logits: TurnLogits) -> NDArray[np.bool_]:
        return (logits.keep >= self.keep) | (logits.correction >= self.correction)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.learn.fit", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--persons", help="the folder with the turns of real people")
    parser.add_argument("--split", default="dev", help="the split of that folder")
    parser.add_argument("--proposals", help="write the proposals by people's own weights to this file")
    parser.add_argument("--write", action="store_true", help="put the weights into the package")
    arguments = parser.parse_args()
    if arguments.write and not arguments.persons:
        parser.error("--write needs --persons: the bars are chosen by how much real people type")
    examples = read_invented_turns() + (read_real_turns(arguments.persons, arguments.split) if arguments.persons else [])
    names, bags = build_bags(examples)
    people = np.array([example.person for example in examples])
    # only real people count, if there are any
    counted = np.array([bool(example.path) or not arguments.persons for example in examples])
    sessions = {
        somebody: len({example.path or example.person for example in examples if example.person == somebody})
        for somebody in set(people[counted])
    }
    turns, corrections = LeaveOutModel(bags, bags.credit), LeaveOutModel(bags, bags.of_correction)
    judged, bars, sentences = np.zeros((2, len(examples))), {}, {}
    surest = np.zeros(len(examples))
    unseen = held_out_logits(bags, people, sorted(sessions), turns, corrections)
    for person in sorted(sessions):
        left = people == person
        judged[:, left] = unseen[person, person]
        others = [somebody for somebody in sorted(sessions) if somebody != person]
        bars[person] = choose_bars(bags, people, {somebody: unseen[somebody, person] for somebody in others}, sessions)
        sentences[person] = fit_surest(select_bags(bags, ~left))
        surest[left] = [(bag @ sentences[person]).max() for bag, is_in in zip(bags.signs, left, strict=True) if is_in]
    lines = [fit_calibration(logits[counted], bags.credit[counted]) for logits in (surest, judged[0])]
    lines.append(fit_calibration(judged[1][counted], bags.of_correction[counted]))
    print_report(judged, bars, bags, people, sessions, lines[1])
    if arguments.proposals:
        fits = {}
        for somebody in sessions:
            left = people == somebody
            unseeing = Models(sentences[somebody], turns.without(left), corrections.without(left), lines, bars[somebody])
            fits[somebody] = build_fit(names, unseeing)
        write_proposals(arguments.proposals, examples, fits)
    if arguments.write:
        every = choose_bars(bags, people, {somebody: unseen[somebody, somebody] for somebody in sessions}, sessions)
        nobody = np.zeros(len(examples), bool)
        write_tables(names, Models(fit_surest(bags), turns.without(nobody), corrections.without(nobody), lines, every))


def read_invented_turns() -> list[Example]:
    """Return the invented turns."""
    with open(TURNS, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [
        Example(build_turn(row["text"], row.get("before", "")), row["label"], row.get("kind", ""), row["person"])
        for row in rows
    ]


def build_turn(text: str, context: str) -> TypedTurn:
    """Build an invented turn. context: the events before it."""
    return TypedTurn(text, build_before(context), kind=ANSWER if context == "refused" else TYPED, position=3)


def build_before(context: str) -> Before:
    """Build the events before an invented turn."""
    outcome = {"fail": CALL_FAILED, "refused": CALL_REFUSED}.get(context, "")
    return Before(
        "Edit" if context in ("edit", "refused") else "", outcome=outcome, changed=context == "edit", asked=context == "asked"
    )


def read_real_turns(folder: str, split: str) -> list[Example]:
    """Return the labelled turns of real people."""
    with open(os.path.join(folder, "labels", f"{split}.jsonl"), encoding="utf-8") as file:
        labels = {(row["session"], row["turn"]): (row["label"], row["kind"] or "") for row in map(json.loads, file)}
    examples = []
    for name in sorted({session for session, _ in labels}):
        path = os.path.join(folder, "sessions", split, f"{name}.jsonl")
        with open(path, "rb") as file:
            lines, offset = {}, 0
            for number, line in enumerate(file):
                lines[offset] = number
                offset += len(line)
        examples += [
            Example(turn, *label, name.partition("/")[0], path)
            for turn in transcript.read_transcript(path).turns
            if (label := labels.get((name, lines[turn.offset]))) is not None
        ]
    return examples


def build_bags(examples: Sequence[Example]) -> tuple[list[str], Bags]:
    """Return the names of the signs, and the examples in their terms."""
    seen = [[sentence.signs for sentence in turn_scores.read_sentences(example.turn)] for example in examples]
    every = {
        name
        for sentence_signs in seen
        for sentence in sentence_signs
        for name in sentence
        if not name.startswith(turn_scores.WORD_PREFIX)
    }
    every |= common_words([example.person for example in examples if not example.path], seen)
    names = [turn_scores.INTERCEPT, *sorted(every - {turn_scores.INTERCEPT})]
    silent = np.eye(1, len(names))
    bags = [
        np.array([[s.get(name, 0.0) for name in names] for s in sentence_signs]) if sentence_signs else silent
        for sentence_signs in seen
    ]
    with_mean = [index for index, name in enumerate(names) if has_mean(name)]
    turns = np.array([np.concatenate([bag.max(axis=0), bag.mean(axis=0)[with_mean]]) for bag in bags])
    credit = np.array([CREDIT[example.label] for example in examples])
    of_correction = credit * np.array([example.kind == CORRECTION for example in examples])
    weight = np.array([1.0 if example.path else INVENTED_WEIGHT for example in examples])
    return names, Bags(bags, turns, credit, of_correction, weight)


def has_mean(name: str) -> bool:
    """Return whether a sign's mean over a turn's sentences is used; a word's adds nothing."""
    return name != turn_scores.INTERCEPT and not name.startswith(turn_scores.WORD_PREFIX)


def common_words(people: Sequence[str], seen: Sequence[Sequence[dict[str, float]]]) -> set[str]:
    """Return the signs of words that several invented people use, so that no real person chooses words."""
    by_word: dict[str, set[str]] = defaultdict(set)
    for person, sentence_signs in zip(people, seen, strict=False):
        for name in (name for sentence in sentence_signs for name in sentence if name.startswith(turn_scores.WORD_PREFIX)):
            by_word[name].add(person)
    return {name for name, users in by_word.items() if len(users) >= MIN_PEOPLE}


def select_bags(bags: Bags, chosen: NDArray[np.bool_]) -> Bags:
    some = [bag for bag, is_in in zip(bags.signs, chosen, strict=True) if is_in]
    return Bags(some, bags.turns[chosen], bags.credit[chosen], bags.of_correction[chosen], bags.weight[chosen])


def fit_surest(bags: Bags) -> Floats:
    """Fit weights (signs,) to the surest sentence of each turn."""
    weights = fit_weights(np.array([bag.max(axis=0) for bag in bags.signs]), bags)
    before: list[int] = []
    for _ in range(MAX_ROUNDS):
        indices = [int((bag @ weights).argmax()) for bag in bags.signs]
        if indices == before:
            break
        before = indices
        weights = fit_weights(np.array([bag[index] for bag, index in zip(bags.signs, indices, strict=True)]), bags)
    return weights


def fit_weights(rows: Floats, bags: Bags) -> Floats:
    """Fit weights (signs,) of a logistic model of rows (turns, signs) and their credit, with L2 penalty."""
    return fit_logistic(rows, bags.credit, bags.weight)[0]


def fit_logistic(rows: Floats, credit: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Fit a logistic model; return its weights (signs,) and its loss's Hessian (signs, signs)."""
    weights, pull = np.zeros(rows.shape[1]), penalties(rows)
    for _ in range(MAX_STEPS):
        likely = probabilities(rows @ weights)
        slope = rows.T @ (weight * (likely - credit)) + pull * weights
        bend = (rows * (weight * likely * (1.0 - likely))[:, None]).T @ rows + np.diag(pull)
        step = np.linalg.solve(bend, slope)
        weights -= step
        if np.abs(step).max() < 1e-3:
            break
    return weights, bend


class LeaveOutModel:
    """A logistic model of turns that can leave some turns out.

    It starts from all turns' weights and Hessian, which takes a hundredth of the time of Newton's method.
    """

    def __init__(self, bags: Bags, credit: Floats) -> None:
        self._rows, self._credit, self._weight = bags.turns, credit, bags.weight
        self._of_all, bend = fit_logistic(bags.turns, credit, bags.weight)
        self._against = np.linalg.inv(bend)

    def without(self, left: NDArray[np.bool_]) -> Floats:
        """Fit weights (signs,) without the turns in `left`."""
        weights, weight = self._of_all.copy(), self._weight * ~left
        for _ in range(10 * MAX_STEPS):
            likely = probabilities(self._rows @ weights)
            step = self._against @ (self._rows.T @ (weight * (likely - self._credit)) + penalties(self._rows) * weights)
            weights -= step
            if np.abs(step).max() < 1e-3:
                break
        return weights


def probabilities(logits: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits, -30.0, 30.0))))


def penalties(rows: Floats) -> Floats:
    """Return the L2 penalty of each weight; the intercept, which is the first, has almost none."""
    return np.concatenate([[1e-6], np.full(rows.shape[1] - 1, PENALTY)])


def held_out_logits(
    bags: Bags, people: NDArray[np.str_], persons: Sequence[str], turns: LeaveOutModel, corrections: LeaveOutModel
) -> dict[tuple[str, str], TurnLogits]:
    """Return the logits of the first person's turns, by weights fitted without that person and the second."""
    logits = {}
    for index, person in enumerate(persons):
        for other in persons[index:]:
            left = (people == person) | (people == other)
            of_keeping, of_correction = turns.without(left), corrections.without(left)
            for first, second in {(person, other), (other, person)}:
                rows = bags.turns[people == first]
                logits[first, second] = TurnLogits(rows @ of_keeping, rows @ of_correction)
    return logits


def choose_bars(bags: Bags, people: NDArray[np.str_], unseen: Mapping[str, TurnLogits], sessions: Mapping[str, int]) -> Bars:
    """Choose bars with the best F1 and recall of corrections among people, within MAX_A_SESSION."""
    order = sorted(unseen)
    judged = TurnLogits(*(np.concatenate([unseen[somebody][index] for somebody in order]) for index in (0, 1)))
    credit = np.concatenate([bags.credit[people == somebody] for somebody in order])
    is_correction = np.concatenate([bags.of_correction[people == somebody] for somebody in order]) == 1.0
    keeps, count = credit == 1.0, sum(sessions[somebody] for somebody in order)
    keep_logits, correction_logits = np.sort(judged.keep)[::-1], np.sort(judged.correction)[::-1]
    best, best_bars = -1.0, Bars(np.inf, np.inf)
    for of_corrections in np.arange(0.0, 0.31, 0.025):
        for a_session in np.arange(0.3, MAX_A_SESSION + 0.01, 0.025):
            corrections = int(of_corrections * count)
            bars = Bars(
                float(keep_logits[int(a_session * count)]), float(correction_logits[corrections]) if corrections else np.inf
            )
            chosen = bars.select(judged)
            if chosen.sum() > MAX_A_SESSION * count or not keeps[chosen].any():
                continue
            precision, recall = credit[chosen].mean(), keeps[chosen].sum() / keeps.sum()
            of_all = is_correction[chosen].sum() / max(1, is_correction.sum())
            score = 2 * precision * recall / (precision + recall) + CORRECTION_WEIGHT * of_all
            if score > best:
                best, best_bars = score, bars
    return best_bars


def fit_calibration(judged: Floats, credit: Floats) -> tuple[float, float]:
    """Fit slope and shift that turn logits of unseen people into probabilities."""
    rows = np.column_stack([np.ones(len(judged)), judged])
    weights = np.array([0.0, 1.0])
    for _ in range(MAX_STEPS):
        likely = 1.0 / (1.0 + np.exp(-np.clip(rows @ weights, -30.0, 30.0)))
        bend = (rows * (likely * (1.0 - likely))[:, None]).T @ rows
        weights -= np.linalg.solve(bend, rows.T @ (likely - credit))
    return float(weights[1]), float(weights[0])


def print_report(
    judged: Floats,
    bars: Mapping[str, Bars],
    bags: Bags,
    people: NDArray[np.str_],
    sessions: Mapping[str, int],
    line: tuple[float, float],
) -> None:
    """Print the cross-validated results, with confidence intervals and calibration."""
    chosen = np.zeros(len(people), bool)
    for somebody, of_person in bars.items():
        chosen |= (people == somebody) & of_person.select(TurnLogits(*judged))
    keeps, is_correction = bags.credit == 1.0, bags.of_correction == 1.0
    columns = (bags.credit * chosen, chosen, keeps & chosen, keeps, is_correction & chosen, is_correction)
    order = sorted(sessions)
    counts = np.array(
        [[*(column[people == somebody].sum() for column in columns), sessions[somebody]] for somebody in order], np.float64
    )
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
    """Write the proposals of each person's held-out weights and bars, as `learn --jsonl` does."""
    count = 0
    with open(path, "w", encoding="utf-8") as file:
        for person in sorted({example.person for example in examples if example.path}):
            paths = dict.fromkeys(example.path for example in examples if example.person == person)
            files = [entry for entry in map(transcript_files.transcript_at, paths) if entry]
            options = proposals.LearningOptions(dry_run=True, fit=fits[person])
            report = learning.learn(files, None, None, options, lambda _: None)
            for entry in report.proposed:
                file.write(json.dumps(entry.line()) + "\n")
                count += 1
    print(f"{count} proposals written to {path}", file=sys.stderr)


def weights_of_signs(names: Sequence[str], models: Models) -> dict[str, tuple[float, ...]]:
    """Return the weights of each sign, in the order of the package's table."""
    means = [name for name in names if has_mean(name)]
    weights_by_sign = {}
    for index, name in enumerate(names):
        weights_of_sign = [models.sentence[index]]
        for of_turn in (models.turn, models.correction):
            weights_of_sign += [of_turn[index], of_turn[len(names) + means.index(name)] if has_mean(name) else 0.0]
        weights_by_sign[name] = tuple(round(float(weight), 2) for weight in weights_of_sign)
    return weights_by_sign


def build_fit(names: Sequence[str], models: Models) -> turn_scores.Fit:
    """Return the fitted models in the package's form."""
    bar = turn_scores.calibrate(models.bars.keep, *models.lines[1])
    correction_bar = turn_scores.calibrate(models.bars.correction, *models.lines[2])
    is_any = np.isfinite(models.bars.correction)  # otherwise no correction is proposed as such
    return turn_scores.Fit(weights_of_signs(names, models), models.lines, (bar, correction_bar if is_any else ABOVE_ALL))


def write_tables(names: Sequence[str], models: Models) -> None:
    """Write the weights into the package's tables, sorted by name."""
    write_rows(
        turn_scores.__file__, "weights.tsv", [[name, *map(str, row)] for name, row in weights_of_signs(names, models).items()]
    )
    fit = build_fit(names, models)
    rows = zip(("sentence", "turn", "correction", "bars"), (*models.lines, (fit.bar, fit.correction_bar)), strict=True)
    write_rows(turn_scores.__file__, "calibration.tsv", [[name, *(f"{value:.3f}" for value in row)] for name, row in rows])


if __name__ == "__main__":
    main()
