"""Environment variables that are settings (S0, S4): which they are, and what they say. Loaded only where one of ours is set."""

from subcog_hooks.errors import ConfigError
from subcog_hooks.settings.keys import KEYS, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SEMANTIC_WEIGHT, KEYWORD_WEIGHT = "SUBCOG_SEMANTIC_WEIGHT", "SUBCOG_KEYWORD_WEIGHT"  # S4's variables
VARIABLES = {  # S0's, each with its key
    "SUBCOG_SEARCH_INTENT_ENABLED": "search_intent.enabled",
    "SUBCOG_SEARCH_INTENT_USE_LLM": "search_intent.use_llm",
    "SUBCOG_SEARCH_INTENT_LLM_TIMEOUT_MS": "search_intent.llm_timeout_ms",
    "SUBCOG_SEARCH_INTENT_MIN_CONFIDENCE": "search_intent.min_confidence",
}
MAX_SHOWN = 80  # characters of a variable that holds something else


def read(environment: "Mapping[str, str]") -> tuple[dict[str, Value], list[str], list[str]]:
    """Return the values that hold, a line for each that does not, and the keys of these."""
    values: dict[str, Value] = {}
    problems: list[str] = []
    left_out: list[str] = []
    if SEMANTIC_WEIGHT in environment or KEYWORD_WEIGHT in environment:
        values, problems = _read_weights(environment)
    for variable, name in VARIABLES.items():
        text = environment.get(variable)
        if text is not None:
            try:
                values[name] = KEYS[name].from_text(text)
            except ConfigError:
                problems.append(f"{variable} is {text[:MAX_SHOWN]!r}, expected {KEYS[name].expected}")
                left_out.append(name)
    return values, problems, left_out


def _read_weights(environment: "Mapping[str, str]") -> tuple[dict[str, Value], list[str]]:
    """Return fusion.alpha as the environment says it: one weight, or two that are taken in relation to each other."""
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
