"""The default of every setting by its name: all of the settings that a hook loads. `keys` has types, ranges and help texts."""

Value = bool | int | float | str

# The words that settings take and code asks for.
ADAPTIVE = "adaptive"  # of fusion.alpha: it follows the type of the query and the number of memories
WEIGHTED, RRF = "weighted", "rrf"  # of fusion.mode
NO_NOTES, BY_REMEMBER, BY_HASH = "off", "remember", "hash"  # of capture.typed
AGENTS_NOTES, WAITING_NOTES = "on", "pending"  # of capture.agent, beside NO_NOTES
NOT_LEARNED, COUNTED_AT_REST, LEARNED_AT_REST = "off", "ask", "on"  # of capture.sessions
NO_LLM, ANTHROPIC, OPENAI = "none", "anthropic", "openai"  # of llm.provider
CLAUDE = "claude"  # of llm.at_rest, beside them
NEVER, UNSURE, ALWAYS = "off", "auto", "always"  # of second_look.mode

# The names of settings that several modules ask for.
LEARN, SECOND_LOOK = "surfacing.learn", "second_look.mode"
NOTES_SETTING, SESSIONS_SETTING = "capture.claude_memory", "capture.sessions"
AT_REST, ENRICH, LLM_LEARNS = "llm.at_rest", "llm.enrich", "llm.learn"
SHARE_URL, SHARE_AT_REST = "share.url", "share.at_rest"

ALPHA = 0.7  # S4's, and the sweep's: tests/eval/results
# S1 section 3.3: the share of meaning that a query of each type asks for. On the tuning halves of devmem and locomo each is
# within .004 of the best nDCG@10 of .1 to .9; a name that asks for .9 costs locomo .04.
TYPE_SHARES = {"exact_quote": 0.1, "entity": 0.4, "conceptual": 0.8, "factual": 0.5, "exploratory": 0.7}
PRESETS: dict[str, dict[str, Value]] = {  # fusion.preset: a mode and an alpha by one name
    "fixed-70-30": {"fusion.mode": WEIGHTED, "fusion.alpha": ALPHA},  # S4
    ADAPTIVE: {"fusion.mode": WEIGHTED, "fusion.alpha": ADAPTIVE},  # S1, S2
    RRF: {"fusion.mode": RRF, "fusion.alpha": 0.5},  # S2, S3
    "vector-only": {"fusion.mode": WEIGHTED, "fusion.alpha": 1.0},
    "lexical-only": {"fusion.mode": WEIGHTED, "fusion.alpha": 0.0},
}
# The sections whose settings have variables: they tune. No variable chooses a model, a provider, an address or what is kept.
TUNED_SECTIONS = ("surfacing", "search_intent", "fusion", "recency", "search", "diversity")

DEFAULTS: dict[str, Value] = {
    "surfacing.enabled": True,
    "surfacing.tools": True,
    "surfacing.session_start": True,
    "surfacing.brief_characters": 1500,
    "surfacing.min_relevance": 0.22,
    "surfacing.maybe_relevance": 0.02,
    "surfacing.max_memories": 6,
    "surfacing.max_characters": 2000,
    "surfacing.session_characters": 12_000,
    "surfacing.log_prompts": True,
    LEARN: True,
    "fusion.preset": "fixed-70-30",
    "fusion.mode": WEIGHTED,
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
    "capture.typed": BY_REMEMBER,
    "capture.agent": AGENTS_NOTES,
    NOTES_SETTING: False,
    SESSIONS_SETTING: NOT_LEARNED,
    "capture.sessions_except": "",
    "capture.sessions_never": "",
    "capture.keep_from": "",
    "capture.drop_from": "",
    "capture.remind": True,
    "llm.provider": NO_LLM,
    "llm.model": "",
    "llm.base_url": "",
    "llm.key_file": "",
    AT_REST: NO_LLM,
    "llm.client": "",
    ENRICH: False,
    LLM_LEARNS: False,
    "llm.calls_a_day": 50,
    SHARE_URL: "",
    "share.projects": "",
    "share.cues_from": "",
    SHARE_AT_REST: True,
    "embedding.model": "minilm",
    "embedding.background": True,
}
