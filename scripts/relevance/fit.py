"""Fit the weights of the relevance model and judge them.

The weights in subcog_hooks/recall/relevance.tsv are of two logistic models of "this memory answers this prompt": one where
meaning was compared, one of words alone. They are fitted to the candidates that the package's own recall finds, each with the
evidence that the package names; an evidence that is new there needs no change here. The prompts:

  corpus  headings of the documentation of public packages (scripts/relevance/sources.py), each asked twice: with the section
          that it stood over in the store, and as if that were not there
  own     the project's own prompts, of the tuning half (tests/eval/ground_truth)
  real    with --real: prompts of real users about other work, which nothing in the stores answers; JSON lines with `prompt`
          and `repo_hash`
  more    with --more: a further collection (memories.jsonl, queries.jsonl, qrels.tsv), asked as the corpus is

Judged by cross-validation over owners (packages, users, projects): every candidate by weights that no prompt of its owner had a
part in. With --but, the prompts of a set that is measured by are left out of --real; of --more the half counts, which is told
by a query's text and is the same in every set. With --write the weights of all rows go into the package.

The first run fetches 74 packages, of which 80 MB of text are kept, and embeds 10,000 memories: a quarter of an hour on two
cores. Later ones take some minutes. Needs the extra `eval` (scipy).
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import isotonic_regression

from scripts.relevance import corpus, logistic, sources
from scripts.relevance.evidence import Case, Flags, Floats, Rows, Shelf
from scripts.tables import write_rows
from subcog_hooks.core.files import read_rows
from subcog_hooks.recall import relevance
from subcog_hooks.text.typed_prompt import is_typed
from tests.eval.collection import OWN, REPORTING, TUNING, half_of, rows
from tests.eval.homes import home_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COLUMNS = ("evidence", "WITH_MEANING", "WORDS_ALONE", "OF_NOTES", "FOREIGN")  # of relevance.tsv
MODELS = {"WITH_MEANING": relevance.WITH_MEANING, "WORDS_ALONE": relevance.WORDS_ALONE}
INTERCEPT = "intercept"
DIGITS = 4

WEIGHTS = {"corpus": 1.0, "real": 1.0, "own": 3.0, "more": 2.0}  # the first is the most, and the least like what people type
PULL = 2.0  # of a weight towards 0
HALVES = {"0": (TUNING,), "1": (REPORTING,), "all": (TUNING, REPORTING)}
REAL_STORES = 2  # that each real prompt is asked of
REAL_OF_MORE = 3  # one of so many real prompts is asked of a further collection
SHOWN = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # of the reliability curve

Asked = tuple[Path, list[Case]]  # a file of memories, and what is asked of them


def asked(options: argparse.Namespace) -> Iterator[Asked]:
    """Yield all stores with what is asked of them."""
    compared = {row["prompt"] for row in rows(options.but)} if options.but else set()
    real = [row for row in rows(options.real) if _is_fit(row, compared)] if options.real else []
    yield from of_corpus(options.cache, real)
    yield of_own()
    if options.more:
        yield of_more(options.more, HALVES[options.half], real)


def _is_fit(row: dict[str, str], compared: set[str]) -> bool:
    return is_typed(row["prompt"]) and row["prompt"] not in compared


def of_corpus(cache: Path, real: Sequence[dict[str, str]]) -> Iterator[Asked]:
    stores = corpus.stores(sources.fetch(str(cache / "pages")))
    for place, store in enumerate(stores):
        cases = [
            case
            for prompt in store.prompts
            for case in _twice(Case(prompt.text, frozenset({prompt.answer}), prompt.project, "corpus"))
        ]
        cases += _unrelated(
            row for row in real if (place - logistic.part_of(row["prompt"], len(stores))) % len(stores) < REAL_STORES
        )
        yield Path(store.write(str(cache))), cases


def of_own() -> Asked:
    cases: list[Case] = []
    for row in rows(OWN / "prompts.jsonl"):
        if row["split"] == TUNING:
            case = Case(row["prompt"], frozenset(row["relevant"]), row["prompt"], "own")
            cases += _twice(case) if case.relevant else [case]
    return OWN / "memories.jsonl", cases


def of_more(folder: Path, halves: Sequence[str], real: Iterable[dict[str, str]]) -> Asked:
    """Read a further collection. halves: of its queries, by their texts: other sets have the same ones under other ids."""
    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, memory, _ = line.split("\t")
        relevant.setdefault(query, set()).add(memory)
    project = {row["id"]: (row.get("tags") or [""])[0] for row in rows(folder / "memories.jsonl")}
    cases: list[Case] = []
    for row in rows(folder / "queries.jsonl"):
        if half_of(row["query"]) in halves:
            answers = frozenset(relevant[row["id"]])
            cases += _twice(Case(row["query"], answers, project[min(answers)] or row["query"], "more"))
    cases += _unrelated(row for row in real if not logistic.part_of(row["prompt"], REAL_OF_MORE))
    return folder / "memories.jsonl", cases


def _twice(case: Case) -> list[Case]:
    return [case, case._replace(is_missing=True)]


def _unrelated(prompts: Iterable[dict[str, str]]) -> list[Case]:
    return [Case(row["prompt"], frozenset(), row["repo_hash"], "real") for row in prompts]


def gathered(stores: Iterable[Asked], homes: Path) -> dict[str, Rows]:
    """Collect the candidates of all cases, for each model."""
    found = {
        name: Rows([one for one in weights if one not in {INTERCEPT, *relevance.UNFITTED}]) for name, weights in MODELS.items()
    }
    for memories, cases in stores:
        with Shelf(home_of(memories, homes)) as shelf:
            known = [case for case in cases if not case.relevant or shelf.holds(case.relevant)]
            print(f"{memories.parent.name}: {len(known)} prompts", flush=True)
            for case in known:
                for name, rows_ in found.items():
                    rows_.add(case, shelf.hits(case, by_meaning=name == "WITH_MEANING"))
    return found


def report(name: str, found: Rows, by_source: dict[str, float]) -> logistic.Model:
    """Fit a model, print what it is and how far it can be believed, and return it."""
    values, answers, weights = found.values(), found.answers(), found.weights(by_source)
    print(f"\n{name}: {len(answers):,} candidates of {len(found.cases):,} prompts, {answers.sum():,} of them answers\n")
    probable = logistic.cross_validated(values, answers, weights, found.owners(), PULL)
    sources, counts = np.array(found.sources()), weights > 0.0
    groups = {"all": counts, "first candidates": counts & (found.ranks() == 0)}
    groups |= {source: counts & (sources == source) for source in by_source}
    print("cross-validated over owners    log loss  of the share  calibration error  mean relevance  share that answers")
    for group, chosen in groups.items():
        if chosen.any():
            print(f"  {group:25}{_judged(probable[chosen], answers[chosen], weights[chosen])}")
    print("\n  relevance  share that answers (isotonic regression)")
    for shown, share in reliability(probable[counts], answers[counts], weights[counts]):
        print(f"  {shown:9.2f}  {share:.3f}")
    model = logistic.fit(values, answers, weights, PULL)
    print(f"\n  {'weight':16}{'now':>9}{'fitted':>9}{'size':>9}")
    print(f"  {INTERCEPT:16}{MODELS[name][INTERCEPT]:9.3f}{model.intercept:9.3f}")
    for one, weight, size in zip(found.names, model.coefficients, model.sizes, strict=True):
        print(f"  {one:16}{MODELS[name][one]:9.3f}{weight:9.3f}{size:9.3f}")
    return model


def _judged(probable: Floats, answers: Flags, weights: Floats) -> str:
    mean = float(np.average(answers, weights=weights))
    figures = (
        f"{logistic.log_loss(probable, answers, weights):12.4f}",
        f"{logistic.log_loss(np.full(len(answers), mean), answers, weights):14.4f}",
        f"{logistic.calibration_error(probable, answers, weights):19.4f}",
        f"{np.average(probable, weights=weights):16.4f}",
        f"{mean:20.4f}",
    )
    return "".join(figures)


def reliability(probable: Floats, answers: Flags, weights: Floats) -> Iterator[tuple[float, float]]:
    """Yield what share really answers at some probabilities: the non-decreasing curve that is nearest to the answers."""
    order = np.argsort(probable, kind="stable")
    curve = isotonic_regression(answers[order].astype(float), weights=weights[order]).x
    for shown in SHOWN:
        place = int(np.searchsorted(probable[order], shown))
        if 0 < place < len(order):
            yield shown, float(curve[place])


def write(models: dict[str, logistic.Model], names: Callable[[str], Sequence[str]]) -> None:
    """Put the weights into the package's table."""
    for name, model in models.items():
        write_column(name, {INTERCEPT: model.intercept, **dict(zip(names(name), model.coefficients.tolist(), strict=True))})


def write_column(model: str, weights: dict[str, float]) -> None:
    """Put these weights into the column of a model."""
    table = read_rows(relevance.__file__, "relevance.tsv")
    write_rows(relevance.__file__, "relevance.tsv", replace_column(table, model, weights))


def replace_column(table: list[list[str]], model: str, weights: dict[str, float]) -> list[list[str]]:
    """Return the rows of a table with these weights in the column of a model. Exits when a weight has no row."""
    missing = weights.keys() - {cells[0] for cells in table}
    if missing:
        sys.exit(f"scripts.relevance.fit: {sorted(missing)} have no row in relevance.tsv")
    column = COLUMNS.index(model)
    return [
        [*cells[:column], str(round(weights[cells[0]], DIGITS)), *cells[column + 1 :]] if cells[0] in weights else cells
        for cells in table
    ]


def main() -> None:
    options = _options()
    found = gathered(asked(options), options.cache / "homes")
    by_source = {source: getattr(options, f"{source}_weight") for source in WEIGHTS}
    models = {name: report(name, rows_, by_source) for name, rows_ in found.items()}
    if options.write:
        write(models, lambda name: found[name].names)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.relevance.fit", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cache", type=Path, default=Path(ROOT) / ".cache" / "relevance", help="(.cache/relevance)")
    parser.add_argument("--real", type=Path, metavar="FILE", help="prompts of real users, about other work")
    parser.add_argument("--more", type=Path, metavar="DIR", help="a further collection to fit to")
    parser.add_argument("--half", choices=HALVES, default="0", help="of the queries of --more (0: the tuning half)")
    parser.add_argument("--but", type=Path, metavar="FILE", help="prompts that are measured by: JSON lines with `id`, `prompt`")
    for source, weight in WEIGHTS.items():
        parser.add_argument(f"--{source}-weight", type=float, default=weight, help=f"of a candidate ({weight})")
    parser.add_argument("--write", action="store_true", help="put the weights into subcog_hooks/recall/relevance.tsv")
    return parser.parse_args()


if __name__ == "__main__":
    main()
