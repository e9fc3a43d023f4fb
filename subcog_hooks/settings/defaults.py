"""The defaults of the settings, and the contents of a settings file: the part of the settings that a hook loads."""

from __future__ import annotations

from subcog_hooks import __version__
from subcog_hooks.core import light_json

Value = bool | int | float | str

# Values of settings that code compares with.
ADAPTIVE = "adaptive"  # of fusion.alpha: it follows the type of the query and the number of memories
RELEVANCE, WEIGHTED, RRF = "relevance", "weighted", "rrf"  # of fusion.mode
NO_NOTES, BY_REMEMBER, BY_HASH = "off", "remember", "hash"  # of capture.typed
AGENTS_NOTES, WAITING_NOTES = "on", "pending"  # of capture.agent, beside NO_NOTES
NOT_LEARNED, COUNTED_IN_BACKGROUND, LEARNED_IN_BACKGROUND, AT_ONCE = "off", "ask", "on", "auto"  # of capture.sessions
NO_LLM, ANTHROPIC, OPENAI = "none", "anthropic", "openai"  # of llm.provider
CLAUDE = "claude"  # of llm.at_rest, beside the providers
NEVER, UNSURE, ALWAYS = "off", "auto", "always"  # of second_look.mode

# Names of settings that several modules use.
LEARN, SECOND_LOOK = "surfacing.learn", "second_look.mode"
PARENTS = "project.parents"
NOTES_SETTING, SESSIONS_SETTING = "capture.claude_memory", "capture.sessions"
PROMPT_LLM, BACKGROUND_LLM, ENRICH = "llm.provider", "llm.at_rest", "llm.enrich"
LLM_LEARNS, AGENT_WORDS = "llm.learn", "llm.agent_words"
DECLINED_AGENTS = "capture.agents_declined"
SHARE_URL, SHARE_IN_BACKGROUND = "share.url", "share.at_rest"
SWITCHES = frozenset(  # off where config.toml is at fault; a faulty variable changes nothing
    {"surfacing.enabled", "search_intent.enabled", "surfacing.tools", "surfacing.session_start", PARENTS}
)

ALPHA = 0.7  # the value of S4 and of the sweep in tests/eval/results
# S1 section 3.3: the share of meaning that a query of each type asks for. On the tuning halves of devmem and locomo each is
# within .004 of the best nDCG@10 of .1 to .9; a name that asks for .9 costs locomo .04.
TYPE_SHARES = {"exact_quote": 0.1, "entity": 0.4, "conceptual": 0.8, "factual": 0.5, "exploratory": 0.7}
PRESETS: dict[str, dict[str, Value]] = {  # fusion.preset: a mode and an alpha by one name
    RELEVANCE: {"fusion.mode": RELEVANCE, "fusion.alpha": ALPHA},
    "fixed-70-30": {"fusion.mode": WEIGHTED, "fusion.alpha": ALPHA},
    ADAPTIVE: {"fusion.mode": WEIGHTED, "fusion.alpha": ADAPTIVE},  # S1, S2
    RRF: {"fusion.mode": RRF, "fusion.alpha": 0.5},  # S2, S3
    "vector-only": {"fusion.mode": WEIGHTED, "fusion.alpha": 1.0},
    "lexical-only": {"fusion.mode": WEIGHTED, "fusion.alpha": 0.0},
}
# The sections whose settings have variables: they tune. No variable chooses a model, a provider, an address or what is kept.
TUNED_SECTIONS = ("surfacing", "search_intent", "project", "fusion", "recency", "search", "diversity")

DEFAULTS: dict[str, Value] = {
    "surfacing.enabled": True,
    "surfacing.tools": True,
    "surfacing.session_start": True,
    "surfacing.brief_characters": 950,
    "surfacing.last_session": True,
    "surfacing.min_relevance": 0.22,
    "surfacing.maybe_relevance": 0.02,
    "surfacing.max_memories": 6,
    "surfacing.max_characters": 2000,
    "surfacing.session_characters": 12_000,
    "surfacing.receipt": False,
    "surfacing.log_prompts": True,
    LEARN: True,
    "fusion.preset": RELEVANCE,
    "fusion.mode": RELEVANCE,
    "fusion.alpha": ALPHA,
    "fusion.small": 500,
    "fusion.large": 5000,
    "fusion.rrf_k": 60,
    "fusion.tags": 0.1,
    **{f"fusion.{kind}": share for kind, share in TYPE_SHARES.items()},
    "fusion.pattern": 1.0,
    "fusion.state": 1.0,
    "recency.decay": 0.01,
    "recency.floor": 0.9,
    "search.timeout_ms": 3000,
    "search.min_similarity": 0.25,
    "diversity.mmr": 1.0,
    "search.limit": 10,
    "search_intent.enabled": True,
    "search_intent.use_llm": True,
    "search_intent.llm_timeout_ms": 200,
    "search_intent.min_confidence": 0.5,
    "search_intent.llm_skip_confidence": 0.8,
    SECOND_LOOK: UNSURE,
    PARENTS: True,
    "capture.typed": BY_REMEMBER,
    "capture.agent": AGENTS_NOTES,
    NOTES_SETTING: False,
    SESSIONS_SETTING: NOT_LEARNED,
    "capture.sessions_except": "",
    "capture.sessions_never": "",
    "capture.clients_except": "",
    "capture.keep_from": "",
    "capture.drop_from": "",
    "capture.remind": True,
    DECLINED_AGENTS: "",
    PROMPT_LLM: NO_LLM,
    "llm.model": "",
    "llm.base_url": "",
    "llm.key_file": "",
    BACKGROUND_LLM: NO_LLM,
    "llm.client": "",
    ENRICH: False,
    LLM_LEARNS: False,
    AGENT_WORDS: False,
    "llm.calls_a_day": 50,
    SHARE_URL: "",
    "share.projects": "",
    "share.cues_from": "",
    SHARE_IN_BACKGROUND: True,
    "embedding.model": "minilm",
    "embedding.background": True,
}


EVERYTHING = "*"  # stands for all keys, where a file cannot be read
_FORM = "values switches problems left_out sources"


class SettingsPart:
    """The contents of a settings file, or the settings of an environment.

    values: the valid values, by key; problems: a line for each fault; left_out: the keys at fault, or EVERYTHING; sources: by
    key, the line or the variable of each valid value.
    """

    __slots__ = ("left_out", "problems", "sources", "values")

    def __init__(
        self,
        values: dict[str, Value] | None = None,
        problems: list[str] | None = None,
        left_out: list[str] | None = None,
        sources: dict[str, str] | None = None,
    ) -> None:
        self.values = values or {}
        self.problems = problems or []
        self.left_out = left_out or []
        self.sources = sources or {}


def compile_settings(settings: SettingsPart) -> str:
    """Return the compiled form of a file's settings."""
    import json  # only after a file has changed

    return json.dumps({"of": _signature(), **{name: getattr(settings, name) for name in SettingsPart.__slots__}})


def load_compiled(text: str) -> SettingsPart | None:
    """Return the settings of a compiled form, None where another version of subcog has written it."""
    stored = light_json.loads(text)
    if not isinstance(stored, dict) or stored.get("of") != _signature():
        return None
    return SettingsPart(stored["values"], stored["problems"], stored["left_out"], stored["sources"])


def _signature() -> str:
    """Return a text that changes with the version and the defaults, because these change the compiled form."""
    return f"{_FORM} {__version__} {DEFAULTS}"
