"""The defaults of the settings and the values in force: the part of the settings that a hook loads."""

from __future__ import annotations

from subcog_hooks import __version__
from subcog_hooks.core import files, light_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

Value = bool | int | float | str

# Values of settings that code compares with.
ADAPTIVE = "adaptive"  # of fusion.alpha: it follows the type of the query and the number of memories
RELEVANCE, WEIGHTED, RRF = "relevance", "weighted", "rrf"  # of fusion.mode
NO_NOTES, BY_REMEMBER, BY_HASH = "off", "remember", "hash"  # of capture.typed
AGENTS_NOTES, WAITING_NOTES = "on", "pending"  # of capture.agent, beside NO_NOTES
NOT_LEARNED, LEARNED_IN_BACKGROUND, AT_ONCE = "off", "on", "auto"  # of capture.sessions
NOT_READ, WITH_TRANSCRIPT = "off", "transcript"  # of sessions.keep, beside an age
NO_LLM, ANTHROPIC, OPENAI = "none", "anthropic", "openai"  # of llm.provider
CLAUDE = "claude"  # of llm.at_rest, beside the providers
NEVER, NEAR, ALWAYS = "off", "auto", "always"  # of second_look.mode

# Names of settings that several modules use.
LEARN = "surfacing.learn"
PARENTS = "project.parents"
NOTES_SETTING, SESSIONS_SETTING = "capture.claude_memory", "capture.sessions"
KEPT_SESSIONS, SESSION_LINES = "sessions.keep", "sessions.lines"
PROMPT_LLM, BACKGROUND_LLM, ENRICH = "llm.provider", "llm.at_rest", "llm.enrich"
SECOND_LOOK, LLM_LEARNS, AGENT_WORDS = "second_look.mode", "llm.learn", "llm.agent_words"
DECLINED_AGENTS = "capture.agents_declined"
SHARE_URL, SHARE_IN_BACKGROUND = "share.url", "share.at_rest"
SWITCHES = frozenset(  # off where config.toml is at fault; a faulty variable changes nothing
    {"surfacing.enabled", "search_intent.enabled", "surfacing.tools", "surfacing.session_start", PARENTS}
)

ROWS = files.read_rows(__file__, "settings.tsv")  # name, default, rights, type and help of each setting

DEFAULTS: dict[str, Value] = {
    name: light_json.loads(text) if kind.startswith(("switch", "number")) else text  # type: ignore[misc]  # numbers, true and false
    for name, text, _, kind, _ in ROWS
}

ALPHA = DEFAULTS["fusion.alpha"]  # the value of S4, and the best when measured
# S1 section 3.3: the share of meaning that a query of each type asks for. On the tuning halves of devmem and locomo each is
# within .004 of the best nDCG@10 of .1 to .9; a name that asks for .9 costs locomo .04.
TYPE_SHARES = {kind: DEFAULTS[f"fusion.{kind}"] for kind in ("exact_quote", "entity", "conceptual", "factual", "exploratory")}
PRESETS: dict[str, dict[str, Value]] = {  # fusion.preset: a mode and an alpha by one name
    RELEVANCE: {"fusion.mode": RELEVANCE, "fusion.alpha": ALPHA},
    "fixed-70-30": {"fusion.mode": WEIGHTED, "fusion.alpha": ALPHA},
    ADAPTIVE: {"fusion.mode": WEIGHTED, "fusion.alpha": ADAPTIVE},  # S1, S2
    RRF: {"fusion.mode": RRF, "fusion.alpha": 0.5},  # S2, S3
    "vector-only": {"fusion.mode": WEIGHTED, "fusion.alpha": 1.0},
    "lexical-only": {"fusion.mode": WEIGHTED, "fusion.alpha": 0.0},
}
# The sections whose settings have variables: they tune. No variable chooses a model, a provider, an address or what is kept.
TUNED_SECTIONS = ("surfacing", "search_intent", "project", "fusion", "recency", "search")

EVERYTHING = "*"  # stands for all keys, where a file cannot be read
_FORM = "values problems left_out sources"


class Settings:
    """The values in force, or those of one file or of an environment.

    values: the valid values that are set. problems: a line for each fault in a file or a variable.
    left_out: the faulty or unknown keys in the user's own file or the environment, EVERYTHING for an unreadable file. Their
    defaults apply, which may be the opposite of the user's wish. ignored: a line for each valid value that would loosen the
    user's own. sources: by key, the line or the variable that has set it.
    """

    __slots__ = ("ignored", "left_out", "problems", "sources", "values")

    def __init__(
        self,
        values: dict[str, Value] | None = None,
        problems: Iterable[str] = (),
        left_out: Iterable[str] = (),
        ignored: Iterable[str] = (),
        sources: dict[str, str] | None = None,
    ) -> None:
        self.values = values or {}
        self.problems = tuple(problems)
        self.left_out = frozenset(left_out)
        self.ignored = tuple(ignored)
        self.sources = sources or {}

    def __getitem__(self, name: str) -> Value:
        """Return the value of a setting: its own, else the chosen preset's, else its default."""
        if name in self.values:
            return self.values[name]
        preset = PRESETS[str(self.values["fusion.preset"])] if "fusion.preset" in self.values else {}
        return preset.get(name, DEFAULTS[name])

    def is_set(self, name: str) -> bool:
        return name in self.values

    def with_value(self, name: str, value: Value) -> Settings:
        """Return these settings with another value of one setting."""
        return Settings({**self.values, name: value}, self.problems, self.left_out, self.ignored)

    def source_of(self, name: str) -> str:
        """Return the source of the value in force: a line of a file, a variable, the preset; "" for the default."""
        preset = "fusion.preset"
        by_preset = preset in self.values and name in PRESETS[str(self.values[preset])] and name not in self.values
        return preset if by_preset else self.sources.get(name, "")


def compile_settings(settings: Settings) -> str:
    """Return the compiled form of a file's settings."""
    import json  # only after a file has changed

    return json.dumps([_signature(), settings.values, settings.problems, [*settings.left_out], settings.sources])


def load_compiled(text: str) -> Settings | None:
    """Return the settings of a compiled form, None where another version of subcog has written it."""
    stored = light_json.loads(text)
    if not isinstance(stored, list) or stored[0] != _signature():
        return None
    _, values, problems, left_out, sources = stored
    return Settings(values, problems, left_out, sources=sources)


def _signature() -> str:
    """Return a text that changes with the version and the defaults, because these change the compiled form."""
    return f"{_FORM} {__version__} {DEFAULTS}"
