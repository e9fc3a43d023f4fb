"""Environment variables that are settings, by name and with their values. Loaded only where one of ours is set."""

from __future__ import annotations

from subcog_hooks.core.errors import ConfigError
from subcog_hooks.settings.defaults import SettingsPart
from subcog_hooks.settings.keys import KEYS, MAX_SHOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from subcog_hooks.settings.defaults import Value

SEMANTIC_WEIGHT, KEYWORD_WEIGHT = "SUBCOG_SEMANTIC_WEIGHT", "SUBCOG_KEYWORD_WEIGHT"  # S4's variables, for fusion.alpha
VARIABLES = {key.variable: key.name for key in KEYS.values() if key.variable}


def read_variables(environment: Mapping[str, str]) -> SettingsPart:
    """Return the settings of an environment. `SUBCOG_FUSION_ALPHA`, which names the setting, wins over the two weights."""
    settings = SettingsPart()
    weights = [name for name in (SEMANTIC_WEIGHT, KEYWORD_WEIGHT) if name in environment]
    if weights:
        settings.values, settings.problems = _read_weights(environment)
        settings.sources = dict.fromkeys(settings.values, " and ".join(weights))
    for variable, name in VARIABLES.items():
        text = environment.get(variable)
        if text is not None:
            try:
                settings.values[name] = KEYS[name].from_text(text)
                settings.sources[name] = variable
            except ConfigError:
                settings.problems.append(f"{variable} is {text[:MAX_SHOWN]!r}, expected {KEYS[name].expected}")
                settings.left_out.append(name)
    return settings


def _read_weights(environment: Mapping[str, str]) -> tuple[dict[str, Value], list[str]]:
    """Return fusion.alpha from the environment: from one weight, or from the ratio of two."""
    weights: dict[str, float] = {}
    for name in (SEMANTIC_WEIGHT, KEYWORD_WEIGHT):
        text = environment.get(name)
        if text is not None:
            try:
                weights[name] = float(text)
            except ValueError:
                weights[name] = -1.0
            if not 0.0 <= weights[name] <= 1.0:
                return {}, [f"{name} is {text[:MAX_SHOWN]!r}, expected 0.0 to 1.0"]
    words = weights.get(KEYWORD_WEIGHT, 1.0 - weights.get(SEMANTIC_WEIGHT, 0.0))
    meaning = weights.get(SEMANTIC_WEIGHT, 1.0 - words)
    if not words + meaning:
        return {}, [f"{SEMANTIC_WEIGHT} and {KEYWORD_WEIGHT} are both 0, expected one above it"]
    return {"fusion.alpha": meaning / (words + meaning)}, []
