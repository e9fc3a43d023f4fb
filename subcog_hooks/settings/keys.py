"""The settings: each key's type, range, default and help text."""

import os
from abc import ABC, abstractmethod
from urllib.parse import unquote, urlsplit

from subcog_hooks.clients import LEARNED, NAMES
from subcog_hooks.core.errors import ConfigError
from subcog_hooks.settings import defaults
from subcog_hooks.settings.defaults import ADAPTIVE, DEFAULTS, TUNED_SECTIONS, Value
from subcog_hooks.settings.project_limits import ONE_WAY

MAX_NAME = 200  # characters
MAX_PATH = 1_000  # characters of a path, or of a list
MAX_SHOWN = 80  # characters of a value that is refused


class Key(ABC):
    """A setting: its name, its default and its help text. is_personal: a project's file may not set it."""

    __slots__ = ("default", "help", "is_personal", "name")

    def __init__(self, name: str, help: str, *, is_personal: bool = False) -> None:
        self.name = name
        self.default = DEFAULTS[name]
        self.help = help
        self.is_personal = is_personal

    @abstractmethod
    def check_value(self, value: object) -> Value:
        """Return `value` in this key's type. Raises ConfigError."""

    @property
    @abstractmethod
    def expected(self) -> str:
        """The allowed values, in words."""

    @abstractmethod
    def from_text(self, text: str) -> Value:
        """Return the value that a user typed. Raises ConfigError."""

    @property
    def variable(self) -> str:
        """The variable that sets it, "" for none. A personal setting has one only where a variable can only tighten it."""
        section, _, name = self.name.partition(".")
        is_tuned = section in TUNED_SECTIONS and (not self.is_personal or self.name in ONE_WAY)
        return f"SUBCOG_{section}_{name}".upper() if is_tuned else ""

    @property
    def permission(self) -> str:
        """A sentence about the limits of a project's file, "" where it may set the key freely."""
        if self.is_personal:
            return "A project's file may not set it."
        if self.name not in ONE_WAY:
            return ""
        change = "switch it off" if isinstance(self.default, bool) else f"{ONE_WAY[self.name]} it"
        return f"A project's file may only {change}."

    def _refusal(self, value: object) -> ConfigError:
        fault = self._fault(value) if self.name.startswith(("llm.", "share.")) else f"is {_shorten_value(value)}"
        return ConfigError(f"{self.name} {fault}, expected {self.expected}")

    def _fault(self, _value: object) -> str:
        """Return the fault of a value of `llm` or `share` without the value: it may be a secret in the wrong setting."""
        return "does not hold"


def _shorten_value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    try:
        text = repr(value)
    except ValueError:  # Python writes no number of more than 4,300 digits
        return "a number of thousands of digits"
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"


class SwitchKey(Key):
    """A setting that is true or false."""

    __slots__ = ()

    def check_value(self, value: object) -> bool:
        if isinstance(value, bool):
            return value
        raise self._refusal(value)

    @property
    def expected(self) -> str:
        return "true or false"

    def from_text(self, text: str) -> bool:
        lowered = text.strip().lower()
        if lowered in ("true", "1", "yes", "on"):
            return True
        if lowered in ("false", "0", "no", "off"):
            return False
        raise self._refusal(text)


class NumberKey(Key):
    """A setting that is a number from `low` to `high`, a whole one where its default is."""

    __slots__ = ("high", "low")

    def __init__(self, name: str, low: float, high: float, help: str, *, is_personal: bool = False) -> None:
        super().__init__(name, help, is_personal=is_personal)
        self.low = low
        self.high = high

    def check_value(self, value: object) -> Value:
        kind = int if isinstance(self.default, int) else float
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self._refusal(value)
        if not self.low <= value <= self.high or kind(value) != value:  # in this order: int(inf) is an error
            raise self._refusal(value)
        return kind(value)

    @property
    def expected(self) -> str:
        return f"{'a whole number ' if isinstance(self.default, int) else ''}{self.low} to {self.high}"

    def from_text(self, text: str) -> Value:
        lowered = text.strip().lower()
        try:
            return self.check_value(float(lowered) if "." in lowered or "e" in lowered else int(lowered))
        except (ValueError, OverflowError):
            raise self._refusal(text) from None


class AlphaKey(NumberKey):
    """A share of 0.0 to 1.0, or the word `adaptive`."""

    __slots__ = ()

    def check_value(self, value: object) -> Value:
        return ADAPTIVE if value == ADAPTIVE else super().check_value(value)

    @property
    def expected(self) -> str:
        return f"{super().expected} or {ADAPTIVE}"

    def from_text(self, text: str) -> Value:
        return ADAPTIVE if text.strip().lower() == ADAPTIVE else super().from_text(text)


class ChoiceKey(Key):
    """A setting that is one of a few words."""

    __slots__ = ("choices",)

    def __init__(self, name: str, choices: tuple[str, ...], help: str, *, is_personal: bool = False) -> None:
        super().__init__(name, help, is_personal=is_personal)
        self.choices = choices

    def check_value(self, value: object) -> str:
        if isinstance(value, str) and value in self.choices:
            return value
        raise self._refusal(str(value)[:MAX_NAME])

    @property
    def expected(self) -> str:
        return ", ".join(self.choices[:-1]) + " or " + self.choices[-1]

    def from_text(self, text: str) -> str:
        return self.check_value(text.strip().lower())


class NameKey(Key):
    """A setting that is a printable word, such as a model's name. It may be "" if its default is "".

    The code that uses it finds out whether the named thing exists.
    """

    __slots__ = ("_expected",)

    def __init__(self, name: str, expected: str, help: str) -> None:
        super().__init__(name, help, is_personal=True)
        self._expected = expected

    def check_value(self, value: object) -> str:
        if isinstance(value, str) and (self._is_valid(value) if value else value == self.default):
            return value
        raise self._refusal(str(value)[:MAX_NAME])

    def _is_valid(self, text: str) -> bool:
        return text.isprintable() and " " not in text and len(text) <= MAX_NAME

    @property
    def expected(self) -> str:
        return self._expected

    def from_text(self, text: str) -> str:
        return self.check_value(text.strip())


class AddressKey(NameKey):
    """A setting that is the address of a server. It holds no password or key, because addresses are shown."""

    __slots__ = ()

    def _is_valid(self, text: str) -> bool:
        try:
            parts = urlsplit(text)
            is_server = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            return False
        return is_server and text.isascii() and super()._is_valid(text) and not self._has_more(text)

    def _fault(self, value: object) -> str:
        return "has a password or a query in it" if self._has_more(str(value)) else "is no address"

    @staticmethod
    def _has_more(text: str) -> bool:
        return not set("@?#\\").isdisjoint(text)


class ServerKey(NameKey):
    """A setting that is the address of a PostgreSQL server, or a service of libpq's. It holds no password."""

    __slots__ = ()

    def _is_valid(self, text: str) -> bool:
        is_address = text.startswith(("postgresql://", "postgres://", "service=")) and len(text) > len("service=")
        return is_address and super()._is_valid(text) and not self._has_password(text)

    def _fault(self, value: object) -> str:
        return "has a password in it" if self._has_password(str(value)) else "is no address"

    @staticmethod
    def _has_password(text: str) -> bool:
        login = text.partition("://")[2].rpartition("@")[0]
        return ":" in login or "password" in unquote(text).lower().partition("?")[2]


class PathKey(NameKey):
    """A setting that is the full path of a file."""

    __slots__ = ()

    def _is_valid(self, text: str) -> bool:
        return text.isprintable() and len(text) <= MAX_PATH and (os.path.isabs(text) or text[:2] in ("~/", f"~{os.sep}"))

    def _fault(self, _value: object) -> str:
        return "is no full path"


class ListKey(NameKey):
    """A setting that is several names or paths, separated by commas. A file may hold any text until it is used."""

    __slots__ = ()

    def from_text(self, text: str) -> str:
        for part in text.split(","):
            name = part.strip()
            if name and (is_ambiguous_name(name) or (not os.path.isabs(name) and os.path.isdir(name))):
                raise self._refusal(name[:MAX_NAME])
        return super().from_text(text)

    def _is_valid(self, text: str) -> bool:
        return text.isprintable() and len(text) <= MAX_PATH

    @property
    def expected(self) -> str:
        return f"{super().expected}, at most {MAX_PATH:,} characters"


class NamesKey(ListKey):
    """A setting that is several names, separated by commas."""

    __slots__ = ()

    def from_text(self, text: str) -> str:
        return self.check_value(",".join(filter(None, map(str.strip, text.split(",")))))


class WordsKey(NameKey):
    """A setting that is some of a few words, separated by commas. A file may hold any name until it is used."""

    __slots__ = ("choices",)

    def __init__(self, name: str, choices: tuple[str, ...], help: str) -> None:
        super().__init__(name, f"some of {', '.join(choices[:-1])} and {choices[-1]}, with commas between them", help)
        self.choices = choices

    def from_text(self, text: str) -> str:
        words = [word for part in text.lower().split(",") if (word := part.strip())]
        if not set(words) <= set(self.choices):
            raise self._refusal(text[:MAX_NAME])
        return ",".join(words)


def is_ambiguous_name(name: str) -> bool:
    """Return whether a text is neither a path with one meaning everywhere, nor a project's name.

    >>> [is_ambiguous_name(name) for name in ("shop", "work/../shop", "/srv/shop", "~/shop", "github.com/acme/shop")]
    [True, True, False, False, False]
    >>> is_ambiguous_name("me:shop/a")
    False
    """
    return name.startswith(".") or "/../" in f"{name}/" or not ("/" in name or os.path.isabs(name))


_QUERY_DESCRIPTIONS = {  # by type of query
    "exact_quote": "a phrase in quotes",
    "entity": "a name",
    "conceptual": "a question about how and why",
    "factual": "a question about one fact",
    "exploratory": "a subject",
}

_ALL_KEYS: tuple[Key, ...] = (  # in the order of `config list`
    SwitchKey("surfacing.enabled", "Whether hooks give memories to the agent at all"),
    SwitchKey("surfacing.tools", "Whether memories are given when a tool is about to touch a file or run a command"),
    SwitchKey("surfacing.session_start", "Whether memories are given when a session begins"),
    NumberKey(
        "surfacing.brief_characters",
        0,
        6000,
        "The most characters (UTF-16 units) of memories in the brief that a session begins with; 0 for no brief",
    ),
    SwitchKey("surfacing.last_session", "Whether the brief ends with a line about the last session here: first prompt, files"),
    NumberKey("surfacing.min_relevance", 0.0, 1.0, "How relevant a memory must be to be given to the agent (a probability)"),
    NumberKey(
        "surfacing.maybe_relevance",
        0.0,
        1.0,
        "How relevant a memory must be for a line that points the agent at it (a probability); 0 for no lines",
    ),
    NumberKey("surfacing.max_memories", 1, 6, "The most memories that one prompt is given"),
    NumberKey("surfacing.max_characters", 200, 9900, "The most characters (UTF-16 units) that one prompt is given"),
    NumberKey(
        "surfacing.session_characters",
        500,
        1_000_000,
        "The most characters (UTF-16 units) that a session is given, brief, prompts and tools together",
    ),
    SwitchKey(
        "surfacing.receipt",
        "Whether Claude Code, and Codex on its terminal, show you how many notes and lines a prompt was given",
        is_personal=True,
    ),
    SwitchKey(
        "surfacing.log_prompts",
        "Whether prompts are kept for `why` and follow-up questions; false also deletes the kept ones",
        is_personal=True,
    ),
    SwitchKey(
        defaults.LEARN,
        "Whether a memory learns questions from prompts at which the agent opened it from a line. They go with the prompt's "
        "record; false takes them away",
        is_personal=True,
    ),
    ChoiceKey(
        "fusion.preset",
        tuple(defaults.PRESETS),
        "A ready-made choice of fusion.mode and fusion.alpha; either of them wins where it is set",
    ),
    ChoiceKey(
        "fusion.mode",
        (defaults.RELEVANCE, defaults.WEIGHTED, defaults.RRF),
        "How results by words and by meaning are joined: by their scores, long ones by relevance; by scores alone"
        " (weighted); or by ranks (rrf)",
    ),
    AlphaKey("fusion.alpha", 0.0, 1.0, "How much meaning counts beside words: 0 is words alone, 1 is meaning alone"),
    NumberKey(
        "fusion.small",
        0,
        10_000_000,
        "fusion.alpha = adaptive: a store with fewer memories than this counts as small (alpha .5); with fewer than a"
        " tenth of it a memory needs more relevance to be told",
    ),
    NumberKey(
        "fusion.large",
        0,
        10_000_000,
        "fusion.alpha = adaptive: a store with this many memories counts as large (alpha .8; between the two .7)",
    ),
    NumberKey(
        "fusion.rrf_k", 1, 1000, "fusion.mode = rrf: the constant added to every rank; a larger one makes top ranks count less"
    ),
    NumberKey(
        "fusion.tags", 0.0, 1.0, "Bonus for a memory whose tag the query names; half as much again for three tags or more"
    ),
    *(
        NumberKey(f"fusion.{kind}", 0.0, 1.0, f"fusion.alpha = adaptive: the share of meaning that {query} asks for")
        for kind, query in _QUERY_DESCRIPTIONS.items()
    ),
    NumberKey("fusion.pattern", 0.1, 5.0, "How much a trigger that matches counts in the order, times the usual"),
    NumberKey("fusion.state", 0.1, 5.0, "How much conditions that hold count in the order, times the usual"),
    NumberKey("recency.decay", 0.0, 1.0, "How fast a memory's score falls with its age (share a day); 0 ignores age"),
    NumberKey("recency.floor", 0.0, 1.0, "The share of its score that even the oldest memory keeps"),
    NumberKey(
        "search.timeout_ms",
        1,
        600_000,
        "How many milliseconds `subcog search` may look and load its model; then it answers with what it has",
    ),
    NumberKey(
        "search.min_similarity", 0.0, 1.0, "How similar in meaning (cosine) a memory must be to be found without a common word"
    ),
    NumberKey(
        "diversity.mmr",
        0.0,
        1.0,
        "Balance of relevance and variety in the results: 1 is relevance alone, lower values favour variety",
    ),
    NumberKey("search.limit", 1, 1000, "How many results `subcog search` shows"),
    SwitchKey("search_intent.enabled", "Whether the hook finds out what a prompt asks for; false gives prompts no memories"),
    SwitchKey("search_intent.use_llm", "Whether a configured LLM may be asked what a prompt asks for", is_personal=True),
    NumberKey("search_intent.llm_timeout_ms", 1, 10_000, "How many milliseconds the LLM may take; the hook waits 200 in all"),
    NumberKey(
        "search_intent.min_confidence",
        0.0,
        1.0,
        "How sure it must be that memories can help with a prompt; below it only a very relevant memory is given",
    ),
    NumberKey(
        "search_intent.llm_skip_confidence", 0.0, 1.0, "The LLM is not asked about a prompt whose words alone are this clear"
    ),
    ChoiceKey(
        defaults.SECOND_LOOK,
        (defaults.NEVER, defaults.UNSURE, defaults.ALWAYS),
        "Whether a prompt that got no memory is looked at again in the background, with the model itself: auto where "
        "one came near, always wherever memories could help",
        is_personal=True,
    ),
    SwitchKey(defaults.PARENTS, "Whether memories of a repository are given in its git submodules, too"),
    ChoiceKey(
        "capture.typed",
        (defaults.NO_NOTES, defaults.BY_REMEMBER, defaults.BY_HASH),
        "Which prompts are stored instead of sent: those that begin with `remember:`, with hash a line behind `# ` as well",
        is_personal=True,
    ),
    ChoiceKey(
        "capture.agent",
        (defaults.AGENTS_NOTES, defaults.WAITING_NOTES, defaults.NO_NOTES),
        "Whether an agent may store memories; with pending all of them wait for `subcog review`, with on those before which "
        "nobody is known to have been asked",
        is_personal=True,
    ),
    SwitchKey(
        defaults.NOTES_SETTING,
        "Whether the notes that Claude Code itself writes, CLAUDE.md files and rules are taken over, and looked at "
        "again when a session begins",
        is_personal=True,
    ),
    ChoiceKey(
        defaults.SESSIONS_SETTING,
        (defaults.NOT_LEARNED, defaults.COUNTED_IN_BACKGROUND, defaults.LEARNED_IN_BACKGROUND, defaults.AT_ONCE),
        "Whether what you typed in sessions is looked at for memories when another session begins, in the background:"
        " off leaves it to `subcog learn`, ask says how much there is to propose, on lets it wait for `subcog review`",
        is_personal=True,
    ),
    ListKey(
        "capture.sessions_except",
        "projects as `subcog list` has them, whole paths of folders or their ends, with commas between them",
        "Projects and folders in whose sessions `subcog learn` leaves out what you typed",
    ),
    WordsKey(
        "capture.sessions_never",
        ("correction", "preference", "decision", "fact", "procedure", "pitfall", "rule", "state", "command"),
        "Kinds of what sessions hold that `subcog learn` never proposes; command: one that failed, and how it worked then",
    ),
    WordsKey(
        "capture.clients_except",
        ("claude", *LEARNED),
        "Coding agents in whose sessions `subcog learn` leaves out what you typed",
    ),
    NamesKey(
        "capture.keep_from",
        "names as `subcog import --from` has them, with commas between them",
        "Sources of `subcog import --from` whose notes by machines are kept without a question, but for a repository's",
    ),
    NamesKey(
        "capture.drop_from",
        "names as `subcog import --from` has them, with commas between them",
        "Sources of `subcog import --from` whose notes by machines are left out without a question",
    ),
    SwitchKey(
        "capture.remind",
        "Whether a session that begins tells you, once a week, how many memories wait for `subcog review`",
        is_personal=True,
    ),
    WordsKey(
        defaults.DECLINED_AGENTS, NAMES, "Other coding agents that `subcog init` no longer asks about, because you declined"
    ),
    ChoiceKey(
        defaults.PROMPT_LLM,
        (defaults.NO_LLM, defaults.ANTHROPIC, defaults.OPENAI),
        "The LLM service that is asked what a prompt asks for; openai is any server with an OpenAI-compatible API",
        is_personal=True,
    ),
    NameKey("llm.model", "the name that the provider has for it", "The LLM to ask; without one, the provider's default"),
    AddressKey(
        "llm.base_url",
        "an address such as http://localhost:11434/v1",
        "The address of the LLM server; without one, the provider's own",
    ),
    PathKey(
        "llm.key_file",
        "that of a file, such as ~/.keys/llm",
        "A file with the API key, readable by you alone (mode 0600); without one, ANTHROPIC_API_KEY or OPENAI_API_KEY"
        " is used, and only for the provider's own address",
    ),
    ChoiceKey(
        defaults.BACKGROUND_LLM,
        (defaults.NO_LLM, defaults.CLAUDE, defaults.ANTHROPIC, defaults.OPENAI),
        "The LLM that writes questions for your memories (`subcog enrich`) and chooses in second looks; claude is "
        "your own Claude Code, without a key",
        is_personal=True,
    ),
    PathKey("llm.client", "that of a file, such as ~/bin/claude", "Claude Code's executable, where it is not on the PATH"),
    SwitchKey(
        defaults.ENRICH,
        "Whether what `remember` and `import` store gets its questions from that LLM by itself, in the background",
        is_personal=True,
    ),
    SwitchKey(
        defaults.LLM_LEARNS,
        "Whether that LLM is asked, too, what of the sessions that `subcog learn` reads is worth remembering; in the "
        "background where capture.sessions is on",
        is_personal=True,
    ),
    SwitchKey(
        defaults.AGENT_WORDS,
        "Whether that LLM may be sent the agent's last words to each prompt with what you typed, as `subcog setup` asks; "
        "without it no session is sent in the background",
        is_personal=True,
    ),
    NumberKey("llm.calls_a_day", 0, 10_000, "How many times a day an LLM is asked at rest", is_personal=True),
    ServerKey(
        defaults.SHARE_URL,
        "an address such as postgresql://ada@db.example.com/team or service=team, without a password",
        "The PostgreSQL server on which your team shares memories",
    ),
    ListKey(
        "share.projects",
        "projects, with commas between them",
        "Projects whose memories are shared with the team; nothing else ever leaves",
    ),
    NamesKey(
        "share.cues_from",
        "names of roles on the server, with commas between them",
        "Colleagues whose memories may have triggers, files and conditions, and may be standing; your own role, if nobody else "
        "uses it: its memories from your other machines are your own",
    ),
    SwitchKey(
        defaults.SHARE_IN_BACKGROUND,
        "Whether shared projects are synchronised in the background when a session begins",
        is_personal=True,
    ),
    NameKey(
        "embedding.model",
        "a model of `subcog models list`",
        "The model by which `subcog search` compares meanings; the hook always uses minilm",
    ),
    SwitchKey(
        "embedding.background",
        "Whether new memories are embedded in the background; false leaves it to `subcog doctor --fix`",
        is_personal=True,
    ),
)
KEYS = {key.name: key for key in _ALL_KEYS}
