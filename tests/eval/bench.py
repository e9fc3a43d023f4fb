"""One collection with one kind of query vector, and what is measured there: rows of figures, ready for JSON."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from tests.eval.collection import VOCABULARY_GAP, Collection, Query
from tests.eval.grid import Setting
from tests.eval.measures import MEASURES, Estimate, PerQuery, by_stratum, difference, estimate, per_query
from tests.eval.systems import DEFAULT, PLAIN_RRF, Engine, System
from tests.eval.textbook import Textbook

Row = dict[str, object]

SWEPT = ("ndcg@10", "recall@10", "success@5")  # of every setting; the defaults have all measures
COMPARED = ("ndcg@10", "recall@10")
BY_STRATUM = ("success@5", "ndcg@10")
WARM_UP = 20  # queries before those whose time is taken
DIGITS = 4


class Bench:
    """query: STATIC or NEURAL, whichever the engine's vectors are."""

    def __init__(self, collection: Collection, query: str, engine: Engine) -> None:
        self.collection = collection
        self.query = query
        self._engine = engine
        self._rankings: dict[tuple[object, str | None], dict[str, list[str]]] = {}

    @property
    def where(self) -> Row:
        return {"set": self.collection.name, "query": self.query}

    def row(self, setting: Setting, half: str) -> Row:
        """A setting's means on one half."""
        found = self._values(setting.system, half, SWEPT)
        figures: Row = {name: round(estimate(list(values.values())).mean, DIGITS) for name, values in found.items()}
        told: Row = {"dimension": setting.dimension, "value": setting.value, "is_default": setting.is_default}
        return {**told, **self.where, "half": half, **figures}

    def defaults(self, half: str | None, engine: Engine | None = None) -> Row:
        """All measures of the defaults, with their intervals, and by stratum. half: None for both; engine: another one."""
        found = self._values(DEFAULT, half, tuple(MEASURES), engine)
        return {**self._described(found), "half": half or "both"}

    def promised(self) -> list[Row]:
        """The defaults again, without the vocabulary gap and on it alone: nothing for a collection that has none."""
        found = self._values(DEFAULT, None, tuple(MEASURES))
        gap = {query.id for query in self.collection.queries if query.stratum == VOCABULARY_GAP}
        rest = {query.id for query in self.collection.queries} - gap
        parts = {f"without {VOCABULARY_GAP}": rest, f"{VOCABULARY_GAP} alone": gap} if gap else {}
        return [
            {
                **self._described({name: {one: values[one] for one in values if one in ids} for name, values in found.items()}),
                "half": part,
            }
            for part, ids in parts.items()
        ]

    def _described(self, found: Mapping[str, PerQuery]) -> Row:
        strata = {query.id: query.stratum for query in self.collection.queries}
        return {
            **self.where,
            "measures": {name: shown(estimate(list(values.values()))) for name, values in found.items()},
            "strata": {
                name: {stratum: shown(value) for stratum, value in by_stratum(found[name], strata).items()}
                for name in BY_STRATUM
            },
        }

    def gains(self, half: str, textbook: Textbook) -> list[Row]:
        """How much better the defaults are than two baselines on the same queries, by the paired bootstrap."""
        queries = self.collection.half(half)
        ours = self._values(DEFAULT, half, COMPARED)
        baselines = {
            "plain rrf of the same channels": self._values(PLAIN_RRF, half, COMPARED),
            "textbook rrf": per_query(judged(queries), textbook.rankings(queries), COMPARED),
        }
        return [
            {
                **self.where,
                "half": half,
                "baseline": name,
                "measure": measure,
                "ours": round(estimate(list(ours[measure].values())).mean, DIGITS),
                "theirs": round(estimate(list(theirs[measure].values())).mean, DIGITS),
                "gain": shown(difference(ours[measure], theirs[measure])),
            }
            for name, theirs in baselines.items()
            for measure in COMPARED
        ]

    def latency(self) -> Row:
        """Milliseconds a query takes in this process; without embedding it when its vector is kept."""
        queries = self.collection.queries
        self._engine.latencies(queries[:WARM_UP])
        taken = sorted(self._engine.latencies(queries))
        return {**self.where, "p50_ms": round(taken[len(taken) // 2], 2), "p95_ms": round(taken[int(0.95 * len(taken))], 2)}

    def _values(
        self, system: System, half: str | None, measures: Sequence[str], engine: Engine | None = None
    ) -> dict[str, PerQuery]:
        queries = self.collection.half(half)
        if engine is not None:
            return per_query(judged(queries), engine.rankings(queries, system), measures)
        key = (system.identity(), half)
        if key not in self._rankings:  # the default is a value of every dimension, and the ablation has what others have
            self._rankings[key] = self._engine.rankings(queries, system)
        return per_query(judged(queries), self._rankings[key], measures)


def judged(queries: Sequence[Query]) -> Mapping[str, AbstractSet[str]]:
    return {query.id: query.relevant for query in queries}


def shown(value: Estimate) -> Row:
    return {
        "mean": round(value.mean, DIGITS),
        "low": round(value.low, DIGITS),
        "high": round(value.high, DIGITS),
        "queries": value.queries,
    }
