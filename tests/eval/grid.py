"""What the sweep tries: for each number of recall its values, and the systems of the ablation table. Data, no measuring."""

from collections.abc import Sequence

from subcog_hooks.settings.defaults import ADAPTIVE, RRF, TYPE_SHARES, WEIGHTED, Value
from tests.eval.systems import DEFAULT, PLAIN_RRF, System, alone, default_of, preset, presets

TENTHS = tuple(tenth / 10 for tenth in range(11))

NUMBERS: dict[str, tuple[Value, ...]] = {  # arguments of Tuning
    "alpha": (*TENTHS, ADAPTIVE),
    "tags": (0.0, 0.05, 0.1, 0.15, 0.2),
    "agreement": (0.0, 0.05, 0.1, 0.2),
    "lexical_depth": (50, 100, 200),
    "semantic_depth": (50, 100, 200),
    "min_similarity": (0.0, 0.1, 0.2, 0.3),
    "near_duplicate": (1.0, 0.95, 0.9, 0.85),
    "mmr": (1.0, 0.9, 0.7),
    "decay": (0.0, 0.003, 0.01, 0.03),
    "floor": (0.5, 0.7, 0.9, 1.0),
}
PRIORS = (1.0, 1.1, 1.2, 1.5, 1.9)  # of the hook alone
CONSTANTS: dict[str, tuple[float, ...]] = {  # of the modules `lexical` and `query`
    "FLAT_SHARE": (0.0, 0.5, 1.0),
    "GLUE_BOOST": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
    "LABEL_BOOST": (0.0, 0.2, 0.5),
    "STEM_BOOST": (0.5, 0.75, 1.0, 1.5),
    "PART_BOOST": (0.0, 0.25, 0.5, 0.75, 1.0),
    "WHOLE_BOOST": (0.5, 1.0, 1.5, 2.0, 3.0),
    "PHRASE_BOOST": (0.5, 1.0, 2.0, 4.0),
    "ACRONYM_BOOST": (0.0, 0.4, 0.8, 1.6),
    "EVERYDAY_WEIGHT": (0.1, 0.3, 0.6, 1.0),
    "IDENTIFIER_WEIGHT": (1.0, 1.5, 2.0),
    "PRIOR_DOCUMENTS": (10, 50, 200),
}
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)  # of meaning, for each type of query
TYPES = {f"{kind}, adaptive": kind for kind in TYPE_SHARES}
ELSEWHERE = (
    "min_similarity",
    *TYPES,
    *(name for name in CONSTANTS if name not in {"FLAT_SHARE", "LABEL_BOOST"}),
)  # only where asked for


class Setting:
    """One value of one dimension. is_default: it is what the package does when nothing is set."""

    __slots__ = ("dimension", "is_default", "system", "value")

    def __init__(self, dimension: str, value: object, system: System, *, is_default: bool = False) -> None:
        self.dimension = dimension
        self.value = str(value)
        self.system = system
        self.is_default = is_default


def dimensions() -> dict[str, list[Setting]]:
    """Every dimension by name, its values in their order."""
    found = {name: _numbers(name, values) for name, values in NUMBERS.items()}
    found["preset"] = [Setting("preset", name, preset(name), is_default=_is_default(preset(name))) for name in presets()]
    # reciprocal ranks lie so close together that age decides among them: without it, and what it does
    found["alpha, rrf"] = _numbers("alpha", (0.3, 0.4, 0.5, 0.6, 0.7, ADAPTIVE), "alpha, rrf", mode=RRF, decay=0.0)
    found["rrf_k, rrf"] = _numbers("rrf_k", (5, 20, 60, 100), "rrf_k, rrf", mode=RRF, alpha=0.5, decay=0.0)
    found["tags, rrf"] = _numbers("tags", (0.0, 0.05, 0.1, 0.2), "tags, rrf", mode=RRF, alpha=0.5, decay=0.0)
    found["decay, rrf"] = _numbers("decay", (0.0, 0.003, 0.01), "decay, rrf", mode=RRF, alpha=0.5)
    found |= {name: _numbers(kind, SHARES, name, alpha=ADAPTIVE) for name, kind in TYPES.items()}
    found["labels"] = [Setting("labels", "on", DEFAULT, is_default=True), Setting("labels", "off", System(by_labels=False))]
    for name, values in CONSTANTS.items():
        default = default_of(name)
        found[name] = [
            Setting(
                name,
                value,
                DEFAULT if value == default else System(constants={name: float(value)}),
                is_default=value == default,
            )
            for value in _with(default, values)
        ]
    return found


def ablation() -> list[Setting]:
    """Each channel alone, S4's and S1's mixtures, and reciprocal ranks: with all else as it is by default."""
    mixtures = {f"{round(100 * share)}/{round(100 * (1 - share))}": share for share in (1.0, 0.8, 0.7, 0.6, 0.5, 0.0)}
    systems: dict[str, System] = {f"{name} alone": system for name, system in alone().items()}
    systems |= {f"meaning/words {name}": System({"mode": WEIGHTED, "alpha": share}) for name, share in mixtures.items()}
    systems["adaptive"] = preset(ADAPTIVE)
    systems[RRF] = preset(RRF)
    systems["rrf without recency"] = System({"mode": RRF, "alpha": 0.5, "decay": 0.0})
    systems["plain rrf"] = PLAIN_RRF
    systems["default without labels"] = System(by_labels=False)
    systems["default without corrections"] = System(is_typed=False)
    systems["default"] = DEFAULT
    return [Setting("ablation", name, system, is_default=system is DEFAULT) for name, system in systems.items()]


def defaults() -> dict[str, object]:
    """Every number that is swept, as the package has it."""
    return {"mode": default_of("mode"), **{name: default_of(name) for name in (*NUMBERS, "rrf_k", "prior", *CONSTANTS)}}


def _numbers(argument: str, values: Sequence[Value], dimension: str | None = None, **others: Value) -> list[Setting]:
    """A dimension of Tuning's. others: what is set besides; then none of the values is the default."""
    default = default_of(argument)
    return [
        Setting(
            dimension or argument,
            value,
            DEFAULT if not others and value == default else System({argument: value, **others}),
            is_default=not others and value == default,
        )
        for value in (values if others else _with(default, values))
    ]


def _with(default: Value, values: Sequence[Value]) -> list[Value]:
    """The values, and in its place among them the default."""
    if default in values:
        return list(values)
    place = next(
        (place for place, value in enumerate(values) if isinstance(value, str) or float(value) > float(default)), len(values)
    )
    return [*values[:place], default, *values[place:]]


def _is_default(system: System) -> bool:
    return all(default_of(name) == value for name, value in system.numbers.items())
