"""Measure one number of recall at several values, on the half of each collection on which numbers are chosen.

A number is a field of Tuning (alpha may be `adaptive`), a constant of recall.words or recall.query, or `prior`, which is the
hook's and measured on the gate's prompts. Each row has nDCG@10 and Recall@10 by the hook's query vector and by the neural one.
tests/eval/results/12f8346.md has such tables of all numbers, and what fusion gained over plain reciprocal ranks.

Example: python -m tests.eval.sweep near_duplicate 1.0 0.95 0.9 0.85
Example: python -m tests.eval.sweep conceptual 0.1 0.3 0.5 0.7 0.9 --beside alpha=adaptive
Example: python -m tests.eval.sweep prior 1.0 1.1 1.5 1.9
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from subcog_hooks.recall import query, words
from subcog_hooks.recall.fusion import Tuning
from subcog_hooks.settings.defaults import Value
from tests.eval import collection, homes
from tests.eval.collection import OWN, TUNING
from tests.eval.gate import figures
from tests.eval.gate.trials import Hook
from tests.eval.measures import estimate, per_query
from tests.eval.systems import Engine

MEASURES = ("ndcg@10", "recall@10")
PRIOR = "prior"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.eval.sweep", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("number", help="by name")
    parser.add_argument("values", nargs="+", type=_value)
    parser.add_argument("--beside", nargs="*", default=[], metavar="NAME=VALUE", help="fields of Tuning that are set besides")
    parser.add_argument("--homes", type=Path, default=homes.DEFAULT, help="where imported collections are kept (.cache/eval)")
    asked = parser.parse_args()
    beside = {name: _value(text) for name, _, text in (field.partition("=") for field in asked.beside)}
    rows = _prior_rows(asked.values, asked.homes) if asked.number == PRIOR else _rows(asked, beside)
    for row in rows:
        print(row, flush=True)


def _value(text: str) -> Value:
    """A number, or a word such as `adaptive`."""
    if text.replace(".", "", 1).isdecimal():
        return float(text) if "." in text else int(text)
    return text


def _rows(asked: argparse.Namespace, beside: dict[str, Value]) -> Iterator[str]:
    for one in collection.named((*collection.DEVELOPMENT, collection.GROUND_TRUTH)):
        queries = one.half(TUNING)
        judgements = {query.id: query.relevant for query in queries}
        for kind in (homes.STATIC, homes.NEURAL):
            encode = homes.encoder(kind, asked.homes)
            with Engine(homes.home_of(one.memories, asked.homes), encode) as engine:
                for value in asked.values:
                    if asked.number.isupper():
                        module = query if hasattr(query, asked.number) else words
                        with patch.object(module, asked.number, value):
                            rankings = engine.rankings(queries, Tuning(**beside))
                    else:
                        rankings = engine.rankings(queries, Tuning(**{**beside, asked.number: value}))
                    found = per_query(judgements, rankings, MEASURES)
                    told = "  ".join(f"{name} {estimate(list(found[name].values()))}" for name in MEASURES)
                    yield f"{one.name}, {kind}: {asked.number} {value}  {told}"
            if isinstance(encode, homes.NeuralQueries):
                encode.save()


def _prior_rows(values: list[float], kept: Path) -> Iterator[str]:
    for name, gate in (("gate", collection.gate()), ("own", collection.gate_set(OWN))):
        if gate is not None:
            with Hook(homes.home_of(gate.memories, kept)) as hook:
                for value in values:
                    found = figures.shares(hook.trials(gate.prompts, prior=value))
                    yield f"{name}: prior {value}  " + "  ".join(f"{share} {found[share]}" for share in found)


if __name__ == "__main__":
    main()
