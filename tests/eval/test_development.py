"""The development collections, where they are at hand: what the recall engine has to reach there.

The marks are met with ages as of today, as their own harness measures them; with those of the harness's fixed day they
are printed beside. The gain over plain reciprocal ranks is on the fixed day, on the half of the queries that chose no number.

Minutes of embedding the first time, so only with SUBCOG_EVAL=1; the homes are kept (SUBCOG_EVAL_HOMES, else .cache/eval).
"""

import os
from pathlib import Path

import pytest

from subcog_hooks.recall.fusion import Tuning
from subcog_hooks.settings.defaults import RRF
from subcog_hooks.store.memory import now_ms
from tests.eval import homes
from tests.eval.collection import DEVELOPMENT, REPORTING, development
from tests.eval.homes import NEURAL, STATIC
from tests.eval.measures import Estimate, PerQuery, difference, estimate, per_query
from tests.eval.systems import Engine

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.environ.get("SUBCOG_EVAL") != "1", reason="minutes long; set SUBCOG_EVAL=1"),
]

LEAST = {  # collection, query vector: nDCG@10 and Recall@10
    ("devmem", NEURAL): (0.755, 0.90),
    ("devmem", STATIC): (0.73, 0.885),
    ("locomo", NEURAL): (0.485, 0.65),
    ("locomo", STATIC): (0.48, 0.64),
}

PLAIN_RRF = Tuning(  # reciprocal ranks of words and of meaning in equal shares, and nothing else
    mode=RRF, alpha=0.5, rrf_k=60, agreement=0.0, tags=0.0, decay=0.0, near_duplicate=1.0
)


@pytest.mark.parametrize("kind", [NEURAL, STATIC])
@pytest.mark.parametrize("name", DEVELOPMENT)
def test_the_engine_reaches_what_it_has_to(name: str, kind: str) -> None:
    collection = development(name)
    if collection is None:
        pytest.skip(f"{name} is not at hand")
    kept = Path(os.environ.get("SUBCOG_EVAL_HOMES", homes.DEFAULT))
    judgements = {query.id: query.relevant for query in collection.queries}
    encode = homes.encoder(kind, kept)
    home = homes.home_of(collection.memories, kept)
    with Engine(home, encode) as fixed, Engine(home, encode, now_ms) as today:
        aged, ours, plain = (
            per_query(judgements, engine.rankings(collection.queries, tuning), ["ndcg@10", "recall@10"])
            for engine, tuning in ((today, None), (fixed, None), (fixed, PLAIN_RRF))
        )
    if isinstance(encode, homes.NeuralQueries):
        encode.save()
    least_ndcg, least_recall = LEAST[name, kind]
    ndcg, recall = _means(aged)
    print(f"{name}, {kind} query, today: nDCG@10 {ndcg}, Recall@10 {recall}")
    print("{}, {} query, on the fixed day: nDCG@10 {}, Recall@10 {}".format(name, kind, *_means(ours)))
    assert ndcg.mean >= least_ndcg
    assert recall.mean >= least_recall
    untouched = {query.id for query in collection.half(REPORTING)}
    gain = difference(*({query: run["ndcg@10"][query] for query in untouched} for run in (ours, plain)))
    print(f"{name}, {kind} query, reporting half: nDCG@10 {gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}] over plain rrf")
    assert gain.low > 0.0, f"the gain over plain reciprocal rank fusion on the half that was not tuned on: {gain}"


def _means(values: dict[str, PerQuery]) -> tuple[Estimate, Estimate]:
    return estimate(list(values["ndcg@10"].values())), estimate(list(values["recall@10"].values()))
