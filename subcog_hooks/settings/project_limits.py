"""The limit of a project's file and of variables: they may tune, and may only tighten where the user decides.

Loaded only where a project's file or a variable sets something.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from subcog_hooks.settings.defaults import Value

# Thresholds go up, room and switches go down. So neither a project nor a variable makes the hook speak where the user wanted
# silence, nor asks an LLM more often. They set other settings freely, but for the personal ones.
RAISE, LOWER = "raise", "lower"
_NEVER = 2.0  # above any probability
VARIABLE = "a variable"  # a source of values
MIN_SIMILARITY = "search.min_similarity"
ONE_WAY = {
    "surfacing.enabled": LOWER,
    "surfacing.tools": LOWER,
    "surfacing.session_start": LOWER,
    "surfacing.brief_characters": LOWER,
    "surfacing.last_session": LOWER,
    "surfacing.min_relevance": RAISE,
    "surfacing.maybe_relevance": RAISE,
    "surfacing.max_memories": LOWER,
    "surfacing.max_characters": LOWER,
    "surfacing.session_characters": LOWER,
    MIN_SIMILARITY: RAISE,
    "search_intent.enabled": LOWER,
    "search_intent.use_llm": LOWER,
    "search_intent.min_confidence": RAISE,
    "search_intent.llm_skip_confidence": LOWER,
    "project.parents": LOWER,
}


def is_loosened(name: str, value: Value, own: Value) -> bool:
    """Return whether a value from a project or a variable is looser than the user's own value of this setting.

    >>> [is_loosened("surfacing.min_relevance", value, 0.22) for value in (0.1, 0.5)]
    [True, False]
    """
    direction = ONE_WAY.get(name)
    if direction is None or isinstance(value, str) or isinstance(own, str):
        return False
    if name == "surfacing.maybe_relevance":
        value, own = value or _NEVER, own or _NEVER  # 0 switches it off, which is the tightest
    return value < own if direction == RAISE else value > own


def keep_tightening(
    values: Mapping[str, Value], own: Callable[[str], Value], positions: Mapping[str, str], source: str
) -> tuple[dict[str, Value], list[str]]:
    """Return the values that do not loosen the user's own, and a line for each of the others.

    own: looks up the user's value; positions: the file and line, or the variable, that sets each; source: its name in a line.
    """
    tightening: dict[str, Value] = {}
    ignored: list[str] = []
    for name, value in values.items():
        if is_loosened(name, value, own(name)):
            if isinstance(value, bool):
                fault = f"is true, yours is false; {source} may only switch it off"
            else:
                fault = f"is {value}, yours is {own(name)}; {source} may only {ONE_WAY[name]} it"
            obeys = (
                "only your own `subcog search` obeys it" if (source, name) == (VARIABLE, MIN_SIMILARITY) else "it is ignored"
            )
            ignored.append(f"{positions[name]}: {name} {fault}, so {obeys}")
        else:
            tightening[name] = value
    return tightening, ignored
