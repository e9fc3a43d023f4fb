"""The numbers of the ranking as one value: from the settings, or from an experiment."""

from __future__ import annotations

from subcog_hooks.recall.fusion import AGREEMENT_BONUS, FAVOURED_FACTOR, NEAR_DUPLICATE
from subcog_hooks.settings.defaults import ADAPTIVE, ALPHA, DEFAULTS, RELEVANCE, RRF, TYPE_SHARES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.settings.defaults import Settings, Value


class Tuning:
    """The numbers by which lists become one ranking. `_SETTINGS` names the setting of a field.

    alpha: the share of meaning, None for a share by query (`alpha.adaptive`). In that case the field of a query type holds its
    share. Only the sweep and the tests vary the fields in `_CONSTANTS`.
    """

    __slots__ = (
        "agreement",
        "alpha",
        "conceptual",
        "decay",
        "entity",
        "exact_quote",
        "exploratory",
        "factual",
        "floor",
        "large",
        "lexical_depth",
        "min_similarity",
        "mmr",
        "mode",
        "near_duplicate",
        "pattern",
        "prior",
        "rrf_k",
        "semantic_depth",
        "small",
        "state",
        "tags",
    )

    def __init__(self, **numbers: Value) -> None:
        """Keep the numbers.

        numbers: fields by name; missing fields have the settings' defaults. Raises TypeError for an unknown name.
        """
        values: dict[str, Value] = {field: DEFAULTS[name] for name, field in _SETTINGS.items()} | _CONSTANTS | numbers
        self.mode = values.pop("mode")
        alpha = values.pop("alpha")
        self.alpha = None if alpha == ADAPTIVE else float(alpha)
        self.small = int(values.pop("small"))
        self.large = int(values.pop("large"))
        self.rrf_k = int(values.pop("rrf_k"))
        self.tags = float(values.pop("tags"))
        self.agreement = float(values.pop("agreement"))
        self.decay = float(values.pop("decay"))
        self.floor = float(values.pop("floor"))
        self.exact_quote = float(values.pop("exact_quote"))
        self.entity = float(values.pop("entity"))
        self.conceptual = float(values.pop("conceptual"))
        self.factual = float(values.pop("factual"))
        self.exploratory = float(values.pop("exploratory"))
        self.pattern = float(values.pop("pattern"))
        self.state = float(values.pop("state"))
        self.min_similarity = float(values.pop("min_similarity"))
        self.near_duplicate = float(values.pop("near_duplicate"))
        self.mmr = float(values.pop("mmr"))
        self.prior = float(values.pop("prior"))
        self.lexical_depth = int(values.pop("lexical_depth"))
        self.semantic_depth = int(values.pop("semantic_depth"))
        if values:
            raise TypeError(f"no such number: {', '.join(values)}")

    @property
    def is_weighted(self) -> bool:
        return self.mode != RRF

    @property
    def by_relevance(self) -> bool:
        """Whether relevance may order the first results, which another share of meaning than usual, or of mmr, excludes."""
        return self.mode == RELEVANCE and self.alpha == ALPHA and self.mmr == 1.0


_CONSTANTS: dict[str, Value] = {
    "agreement": AGREEMENT_BONUS,
    "lexical_depth": 100,  # memories
    "near_duplicate": NEAR_DUPLICATE,
    "prior": FAVOURED_FACTOR,
    "semantic_depth": 100,
}
_SETTINGS = {
    "fusion.mode": "mode",
    "fusion.alpha": "alpha",
    "fusion.small": "small",
    "fusion.large": "large",
    "fusion.rrf_k": "rrf_k",
    "fusion.tags": "tags",
    **{f"fusion.{kind}": kind for kind in TYPE_SHARES},
    "fusion.pattern": "pattern",
    "fusion.state": "state",
    "recency.decay": "decay",
    "recency.floor": "floor",
    "search.min_similarity": "min_similarity",
    "diversity.mmr": "mmr",
}


def tuning_from_settings(settings: Settings) -> Tuning:
    """Return the tuning of the settings."""
    return Tuning(**{field: settings[name] for name, field in _SETTINGS.items()})
