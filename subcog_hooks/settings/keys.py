"""The settings: of each key the type, what is allowed, the default and what it does. Reading files is config's."""

from __future__ import annotations

import os

from subcog_hooks.errors import ConfigError

MAX_NAME = 200  # characters
MAX_PATH = 1_000  # characters
ADAPTIVE = "adaptive"  # fusion.alpha: from the query's type and how much is searched
# S1 section 3.3: a query's type, the share of meaning that it asks for, and what such a query is. On the tuning halves of
# devmem and locomo each is within .004 of the best nDCG@10 of .1 to .9; a name that asks for .9 costs locomo .04
TYPE_SHARES = (
    ("exact_quote", 0.1, "a phrase in quotes"),
    ("entity", 0.4, "a name"),
    ("conceptual", 0.8, "a question about how and why"),
    ("factual", 0.5, "a question about one fact"),
    ("exploratory", 0.7, "a subject"),
)
WEIGHTED, RRF = "weighted", "rrf"  # fusion.mode
ALPHA = 0.7  # S4's, and the sweep's: tests/eval/results
NO_NOTES, BY_REMEMBER, BY_HASH = "off", "remember", "hash"  # prompts that are notes
AGENTS_NOTES, WAITING_NOTES = "on", "pending"  # what an agent stores, beside NO_NOTES
NOTES_SETTING, SESSIONS_SETTING = "capture.claude_memory", "capture.sessions"  # what is taken over at rest
SHARE_URL, SHARE_AT_REST = "share.url", "share.at_rest"
NOT_LEARNED, COUNTED_AT_REST, LEARNED_AT_REST = "off", "ask", "on"  # what was said in sessions
NO_LLM, ANTHROPIC, OPENAI = "none", "anthropic", "openai"  # llm.provider
CLAUDE = "claude"  # and of llm.at_rest
SECOND_LOOK = "second_look.mode"
NEVER, UNSURE, ALWAYS = "off", "auto", "always"  # its values
LEARN = "surfacing.learn"
AT_REST, ENRICH, LLM_LEARNS = "llm.at_rest", "llm.enrich", "llm.learn"
PRESETS: dict[str, dict[str, Value]] = {  # fusion.preset: a mode and an alpha by one name
    "fixed-70-30": {"fusion.mode": WEIGHTED, "fusion.alpha": ALPHA},  # S4
    ADAPTIVE: {"fusion.mode": WEIGHTED, "fusion.alpha": ADAPTIVE},  # S1, S2
    RRF: {"fusion.mode": RRF, "fusion.alpha": 0.5},  # S2, S3
    "vector-only": {"fusion.mode": WEIGHTED, "fusion.alpha": 1.0},
    "lexical-only": {"fusion.mode": WEIGHTED, "fusion.alpha": 0.0},
}

# the sections whose settings have variables: they tune. No variable chooses a model, a provider, an address or what is kept
TUNED_SECTIONS = ("surfacing", "search_intent", "fusion", "recency", "search", "diversity")

EVERYTHING = "*"  # stands for all keys, where a file can not be read
MAX_SHOWN = 80  # characters of a value that does not hold

Value = bool | int | float | str

# What a project's file and a variable may do to the user's own value: a bar goes up, room and switches go down. So neither
# makes the hook speak where the user wanted silence, nor asks an LLM more often. They set freely what is not named here, and
# a project's file sets nothing that is personal.
RAISE, LOWER = "raise", "lower"
_NEVER = 2.0  # above any probability
ONE_WAY = {
    "surfacing.enabled": LOWER,
    "surfacing.tools": LOWER,
    "surfacing.session_start": LOWER,
    "surfacing.brief_characters": LOWER,
    "surfacing.min_relevance": RAISE,
    "surfacing.maybe_relevance": RAISE,
    "surfacing.max_memories": LOWER,
    "surfacing.max_characters": LOWER,
    "surfacing.session_characters": LOWER,
    "search.min_similarity": RAISE,
    "search_intent.enabled": LOWER,
    "search_intent.use_llm": LOWER,
    "search_intent.min_confidence": RAISE,
    "search_intent.llm_skip_confidence": LOWER,
}


class FileSettings:
    """The contents of a settings file.

    values: what holds, by key; problems: a line for each thing that does not; left_out: the names of these, or EVERYTHING;
    lines: where the keys stand that are set.
    """

    __slots__ = ("left_out", "lines", "problems", "values")

    def __init__(
        self,
        values: dict[str, Value] | None = None,
        problems: list[str] | None = None,
        left_out: list[str] | None = None,
        lines: dict[str, int] | None = None,
    ) -> None:
        self.values = values or {}
        self.problems = problems or []
        self.left_out = left_out or []
        self.lines = lines or {}


class Key:
    """One setting: its type, default, range, and what it does. is_personal: a project's file may not set it."""

    __slots__ = ("default", "help", "high", "is_personal", "low", "name")

    def __init__(
        self,
        name: str,
        default: Value,
        low: float,
        high: float,
        help: str,
        *,
        is_personal: bool = False,
    ) -> None:
        self.is_personal = is_personal
        self.name = name
        self.default = default
        self.low = low
        self.high = high
        self.help = help

    def checked(self, value: object) -> Value:
        """Return `value` in this key's type. Raises ConfigError."""
        kind = type(self.default)
        if kind is bool and isinstance(value, bool):
            return value
        if kind is not bool and isinstance(value, int | float) and not isinstance(value, bool) and self._holds(value):
            return kind(value)
        raise self._refusal(value)

    def _refusal(self, value: object) -> ConfigError:
        fault = self._fault(value) if self.name.startswith(("llm.", "share.")) else f"is {self._shown(value)}"
        return ConfigError(f"{self.name} {fault}, expected {self.expected}")

    def _shown(self, value: object) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        try:
            shown = repr(value)
        except ValueError:  # Python writes no number of more than 4,300 digits
            return "a number of thousands of digits"
        return shown if len(shown) <= MAX_SHOWN else shown[:MAX_SHOWN] + "…"

    def _fault(self, _value: object) -> str:
        """Return what is wrong with a value of `llm` or `share`, without it: it may be a key, typed into the wrong setting."""
        return "does not hold"

    def _holds(self, value: float) -> bool:
        return self.low <= value <= self.high and type(self.default)(value) == value  # in this order: int(inf) is an error

    @property
    def expected(self) -> str:
        if isinstance(self.default, bool):
            return "true or false"
        return f"{'a whole number ' if isinstance(self.default, int) else ''}{self.low} to {self.high}"

    def is_loosened(self, value: Value, own: Value) -> bool:
        """Return whether `value`, which is not the user's, loosens what the user's own value holds tight.

        >>> [KEYS["surfacing.min_relevance"].is_loosened(value, 0.22) for value in (0.1, 0.5)]
        [True, False]
        """
        way = ONE_WAY.get(self.name)
        if way is None or isinstance(value, str) or isinstance(own, str):
            return False
        if self.name == "surfacing.maybe_relevance":
            value, own = value or _NEVER, own or _NEVER  # 0 switches it off, which is the tightest
        return value < own if way == RAISE else value > own

    @property
    def variable(self) -> str:
        """Return the variable that sets it, "" for none: what is personal has one only where it can do no more than tighten.

        >>> KEYS["fusion.alpha"].variable, KEYS["llm.provider"].variable, KEYS["surfacing.log_prompts"].variable
        ('SUBCOG_FUSION_ALPHA', '', '')
        """
        section, _, name = self.name.partition(".")
        is_tuned = section in TUNED_SECTIONS and (not self.is_personal or self.name in ONE_WAY)
        return f"SUBCOG_{section}_{name}".upper() if is_tuned else ""

    @property
    def permission(self) -> str:
        """Return what a project's file may do with it, in a sentence; "" where it sets it freely."""
        if self.is_personal:
            return "A project's file may not set it."
        if self.name not in ONE_WAY:
            return ""
        way = "switch it off" if isinstance(self.default, bool) else f"{ONE_WAY[self.name]} it"
        return f"A project's file may only {way}."

    def from_text(self, text: str) -> Value:
        """Return the value that a user typed. Raises ConfigError."""
        lowered = text.strip().lower()
        if isinstance(self.default, bool):
            if lowered in ("true", "1", "yes", "on"):
                return True
            if lowered in ("false", "0", "no", "off"):
                return False
            raise self._refusal(text)
        try:
            return self.checked(float(lowered) if "." in lowered or "e" in lowered else int(lowered))
        except (ValueError, OverflowError):
            raise self._refusal(text) from None


class NameKey(Key):
    """A setting that is a name; whether there is such a thing is found out where it is used. "" is one if it is the default."""

    __slots__ = ("_expected",)

    def __init__(self, name: str, default: str, expected: str, help: str) -> None:
        super().__init__(name, default, 0, 0, help, is_personal=True)
        self._expected = expected

    def checked(self, value: object) -> str:
        """Return `value`, when it is one printable word. Raises ConfigError."""
        if isinstance(value, str) and (self._holds_text(value) if value else value == self.default):
            return value
        raise self._refusal(str(value)[:MAX_NAME])

    def _holds_text(self, text: str) -> bool:
        return text.isprintable() and " " not in text and len(text) <= MAX_NAME

    @property
    def expected(self) -> str:
        return self._expected

    def from_text(self, text: str) -> str:
        return self.checked(text.strip())


class AddressKey(NameKey):
    """A setting that is the address of a server. A password or a key in it would be shown wherever the address is."""

    __slots__ = ()

    def _holds_text(self, text: str) -> bool:
        from urllib.parse import urlsplit  # only when a settings file is parsed, or a user has typed a value

        try:
            parts = urlsplit(text)
            is_server = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            return False
        return is_server and text.isascii() and super()._holds_text(text) and not self._has_more(text)

    def _fault(self, value: object) -> str:
        return "has a password or a query in it" if self._has_more(str(value)) else "is no address"

    @staticmethod
    def _has_more(text: str) -> bool:
        return not set("@?#\\").isdisjoint(text)


class PathKey(NameKey):
    """A setting that is the full path of a file."""

    __slots__ = ()

    def _holds_text(self, text: str) -> bool:
        import os  # nothing else in this module needs it

        return text.isprintable() and len(text) <= MAX_PATH and (os.path.isabs(text) or text[:2] in ("~/", f"~{os.sep}"))

    def _fault(self, _value: object) -> str:
        return "is no full path"


class ListKey(NameKey):
    """A setting that is several names or paths, with commas between them. In a file any text holds until it is used."""

    __slots__ = ()

    def from_text(self, text: str) -> str:
        for part in text.split(","):
            name = part.strip()
            if name and (names_no_place(name) or (not os.path.isabs(name) and os.path.isdir(name))):
                raise self._refusal(name[:MAX_NAME])
        return super().from_text(text)

    def _holds_text(self, text: str) -> bool:
        return text.isprintable() and len(text) <= MAX_PATH


class RolesKey(ListKey):
    """A setting that is several roles of a server, with commas between them."""

    __slots__ = ()

    def from_text(self, text: str) -> str:
        return NameKey.from_text(self, text)


def names_no_place(name: str) -> bool:
    """Return whether a text is neither a path that means the same everywhere, nor a project's name.

    >>> [names_no_place(name) for name in ("shop", "work/../shop", "/srv/shop", "~/shop", "github.com/acme/shop", "me:shop/a")]
    [True, True, False, False, False, False]
    """
    return name.startswith(".") or "/../" in f"{name}/" or not ("/" in name or os.path.isabs(name))


class WordsKey(NameKey):
    """A setting that is some of a few words, with commas between them. In a file any name holds until it is used."""

    __slots__ = ("choices",)

    def __init__(self, name: str, choices: tuple[str, ...], help: str) -> None:
        super().__init__(name, "", f"some of {', '.join(choices[:-1])} and {choices[-1]}, with commas between them", help)
        self.choices = choices

    def from_text(self, text: str) -> str:
        words = [word for part in text.lower().split(",") if (word := part.strip())]
        if not set(words) <= set(self.choices):
            raise self._refusal(text[:MAX_NAME])
        return ",".join(words)


class ServerKey(NameKey):
    """A setting that is the address of a PostgreSQL server, or a service of libpq's. A password in it would be shown."""

    __slots__ = ()

    def _holds_text(self, text: str) -> bool:
        is_address = text.startswith(("postgresql://", "postgres://", "service=")) and len(text) > len("service=")
        return is_address and super()._holds_text(text) and not self._has_password(text)

    def _fault(self, value: object) -> str:
        return "has a password in it" if self._has_password(str(value)) else "is no address"

    @staticmethod
    def _has_password(text: str) -> bool:
        from urllib.parse import unquote  # only when a settings file is parsed, or a user has typed a value

        login = text.partition("://")[2].rpartition("@")[0]
        return ":" in login or "password" in unquote(text).lower().partition("?")[2]


class ChoiceKey(Key):
    """A setting that is one of a few words."""

    __slots__ = ("choices",)

    def __init__(
        self,
        name: str,
        default: str,
        choices: tuple[str, ...],
        help: str,
        *,
        is_personal: bool = False,
    ) -> None:
        super().__init__(name, default, 0, 0, help, is_personal=is_personal)
        self.choices = choices

    def checked(self, value: object) -> str:
        """Return `value`, when it is one of the choices. Raises ConfigError."""
        if isinstance(value, str) and value in self.choices:
            return value
        raise self._refusal(str(value)[:MAX_NAME])

    @property
    def expected(self) -> str:
        return ", ".join(self.choices[:-1]) + " or " + self.choices[-1]

    def from_text(self, text: str) -> str:
        return self.checked(text.strip().lower())


class ShareKey(Key):
    """A share of 0.0 to 1.0, or the word `adaptive`."""

    __slots__ = ()

    def checked(self, value: object) -> Value:
        return ADAPTIVE if value == ADAPTIVE else super().checked(value)

    @property
    def expected(self) -> str:
        return f"{super().expected} or {ADAPTIVE}"

    def from_text(self, text: str) -> Value:
        return ADAPTIVE if text.strip().lower() == ADAPTIVE else super().from_text(text)


KEYS = {
    key.name: key
    for key in (
        Key("surfacing.enabled", True, False, True, "Whether hooks give memories to the agent at all"),
        Key(
            "surfacing.tools",
            True,
            False,
            True,
            "Whether memories are given when a tool is about to touch a file or run a command",
        ),
        Key("surfacing.session_start", True, False, True, "Whether memories are given when a session begins"),
        Key(
            "surfacing.brief_characters",
            1500,
            0,
            6000,
            "The most characters (UTF-16 units) of memories in the brief that a session begins with; 0 for no brief",
        ),
        Key(
            "surfacing.min_relevance", 0.22, 0.0, 1.0, "How relevant a memory must be to be given to the agent (a probability)"
        ),
        Key(
            "surfacing.maybe_relevance",
            0.02,
            0.0,
            1.0,
            "How relevant a memory must be for a line that points the agent at it (a probability); 0 for no lines",
        ),
        Key("surfacing.max_memories", 6, 1, 6, "The most memories that one prompt is given"),
        Key(
            "surfacing.max_characters",
            2000,
            200,
            9900,
            "The most characters (UTF-16 units) that one prompt is given",
        ),
        Key(
            "surfacing.session_characters",
            12_000,
            500,
            1_000_000,
            "The most characters (UTF-16 units) that a session is given, brief, prompts and tools together",
        ),
        Key(
            "surfacing.log_prompts",
            True,
            False,
            True,
            "Whether prompts are kept for `why`, `replay` and follow-up questions; false also deletes the kept ones",
            is_personal=True,
        ),
        Key(
            LEARN,
            True,
            False,
            True,
            "Whether a memory learns questions from prompts at which a second look brought it: when that was of use twice, or "
            "you say yes in `subcog review`. They go with the prompt's record; false takes them away",
            is_personal=True,
        ),
        ChoiceKey(
            "fusion.preset",
            "fixed-70-30",
            tuple(PRESETS),
            "A ready-made choice of fusion.mode and fusion.alpha; either of them wins where it is set",
        ),
        ChoiceKey(
            "fusion.mode",
            WEIGHTED,
            (WEIGHTED, RRF),
            "How results by words and by meaning are joined: by their scores, or by their ranks (rrf)",
        ),
        ShareKey("fusion.alpha", ALPHA, 0.0, 1.0, "How much meaning counts beside words: 0 is words alone, 1 is meaning alone"),
        Key(
            "fusion.small",
            500,
            0,
            10_000_000,
            "fusion.alpha = adaptive: a store with fewer memories than this counts as small (alpha .5); with fewer than a "
            "tenth of it a memory needs more relevance to be told",
        ),
        Key(
            "fusion.large",
            5000,
            0,
            10_000_000,
            "fusion.alpha = adaptive: a store with this many memories counts as large (alpha .8; between the two .7)",
        ),
        Key(
            "fusion.rrf_k",
            60,
            1,
            1000,
            "fusion.mode = rrf: the constant added to every rank; a larger one makes top ranks count less",
        ),
        Key(
            "fusion.tags",
            0.1,
            0.0,
            1.0,
            "Bonus for a memory whose tag the query names; half as much again for three tags or more",
        ),
        *(
            Key(f"fusion.{kind}", share, 0.0, 1.0, f"fusion.alpha = adaptive: the share of meaning that {asked} asks for")
            for kind, share, asked in TYPE_SHARES
        ),
        Key("fusion.pattern", 1.0, 0.1, 5.0, "How much a trigger that matches counts in the order, times the usual"),
        Key("fusion.state", 1.0, 0.1, 5.0, "How much conditions that hold count in the order, times the usual"),
        Key("recency.decay", 0.01, 0.0, 1.0, "How fast a memory's score falls with its age (share a day); 0 ignores age"),
        Key("recency.floor", 0.9, 0.0, 1.0, "The share of its score that even the oldest memory keeps"),
        Key(
            "search.timeout_ms",
            3000,
            1,
            600_000,
            "How many milliseconds `subcog search` may look and load its model; then it answers with what it has",
        ),
        Key(
            "search.min_similarity",
            0.25,
            0.0,
            1.0,
            "How similar in meaning (cosine) a memory must be to be found without a common word",
        ),
        Key(
            "diversity.mmr",
            1.0,
            0.0,
            1.0,
            "Balance of relevance and variety in the results: 1 is relevance alone, lower values favour variety",
        ),
        Key("search.limit", 10, 1, 1000, "How many results `subcog search` shows"),
        Key(
            "search_intent.enabled",
            True,
            False,
            True,
            "Whether the hook finds out what a prompt asks for; false gives prompts no memories",
        ),
        Key(
            "search_intent.use_llm",
            True,
            False,
            True,
            "Whether a configured LLM may be asked what a prompt asks for",
            is_personal=True,
        ),
        Key(
            "search_intent.llm_timeout_ms", 200, 1, 10_000, "How many milliseconds the LLM may take; the hook waits 200 in all"
        ),
        Key(
            "search_intent.min_confidence",
            0.5,
            0.0,
            1.0,
            "How sure it must be that memories can help with a prompt; below it only a very relevant memory is given",
        ),
        Key(
            "search_intent.llm_skip_confidence",
            0.8,
            0.0,
            1.0,
            "The LLM is not asked about a prompt whose words alone are this clear",
        ),
        ChoiceKey(
            SECOND_LOOK,
            UNSURE,
            (NEVER, UNSURE, ALWAYS),
            "Whether a prompt that got no memory is looked at again in the background, with the model itself: auto where one "
            "came near, always wherever memories could help",
            is_personal=True,
        ),
        ChoiceKey(
            "capture.typed",
            BY_REMEMBER,
            (NO_NOTES, BY_REMEMBER, BY_HASH),
            "Which prompts are stored instead of sent: those that begin with `remember:`, with hash a line behind `# ` as well",
            is_personal=True,
        ),
        ChoiceKey(
            "capture.agent",
            AGENTS_NOTES,
            (AGENTS_NOTES, WAITING_NOTES, NO_NOTES),
            "Whether an agent may store memories; with pending all of them wait for `subcog review`, with on only those of a "
            "session that runs without questions",
            is_personal=True,
        ),
        Key(
            NOTES_SETTING,
            False,
            False,
            True,
            "Whether the notes that Claude Code itself writes, CLAUDE.md files and rules are taken over, and looked at again "
            "when a session begins",
            is_personal=True,
        ),
        ChoiceKey(
            SESSIONS_SETTING,
            NOT_LEARNED,
            (NOT_LEARNED, COUNTED_AT_REST, LEARNED_AT_REST),
            "Whether what you typed in sessions is looked at for memories when another session begins, in the background: off "
            "leaves it to `subcog learn`, ask says how much there is to propose, on lets it wait for `subcog review`",
            is_personal=True,
        ),
        ListKey(
            "capture.sessions_except",
            "",
            "projects as `subcog list` has them, whole paths of folders or their ends, with commas between them",
            "Projects and folders in whose sessions `subcog learn` leaves out what you typed",
        ),
        WordsKey(
            "capture.sessions_never",
            ("correction", "preference", "decision", "fact", "procedure", "pitfall", "command"),
            "Kinds of what sessions hold that `subcog learn` never proposes; command: one that failed, and how it worked then",
        ),
        NameKey(
            "capture.keep_from",
            "",
            "names as `subcog import --from` has them, with commas between them",
            "Sources of `subcog import --from` whose notes by machines are kept without a question, but for a repository's",
        ),
        NameKey(
            "capture.drop_from",
            "",
            "names as `subcog import --from` has them, with commas between them",
            "Sources of `subcog import --from` whose notes by machines are left out without a question",
        ),
        Key(
            "capture.remind",
            True,
            False,
            True,
            "Whether a session that begins tells you, once a day, how many memories wait for `subcog review`",
            is_personal=True,
        ),
        ChoiceKey(
            "llm.provider",
            NO_LLM,
            (NO_LLM, ANTHROPIC, OPENAI),
            "The LLM service that is asked what a prompt asks for; openai is any server with an OpenAI-compatible API",
            is_personal=True,
        ),
        NameKey(
            "llm.model", "", "the name that the provider has for it", "The LLM to ask; without one, the provider's default"
        ),
        AddressKey(
            "llm.base_url",
            "",
            "an address such as http://localhost:11434/v1",
            "The address of the LLM server; without one, the provider's own",
        ),
        PathKey(
            "llm.key_file",
            "",
            "that of a file, such as ~/.keys/llm",
            "A file with the API key, readable by you alone (mode 0600); without one, ANTHROPIC_API_KEY or "
            "OPENAI_API_KEY is used, and only for the provider's own address",
        ),
        ChoiceKey(
            AT_REST,
            NO_LLM,
            (NO_LLM, CLAUDE, ANTHROPIC, OPENAI),
            "The LLM that writes questions for your memories (`subcog enrich`) and chooses in second looks; claude is your own "
            "Claude Code, without a key",
            is_personal=True,
        ),
        PathKey(
            "llm.client", "", "that of a file, such as ~/bin/claude", "Claude Code's executable, where it is not on the PATH"
        ),
        Key(
            ENRICH,
            False,
            False,
            True,
            "Whether what `remember` and `import` store gets its questions from that LLM by itself, in the background",
            is_personal=True,
        ),
        Key(
            LLM_LEARNS,
            False,
            False,
            True,
            "Whether that LLM is asked, too, what of the sessions that `subcog learn` reads is worth remembering; in the "
            "background where capture.sessions is on",
            is_personal=True,
        ),
        Key(
            "llm.calls_a_day",
            50,
            0,
            10_000,
            "How many times a day an LLM is asked at rest",
            is_personal=True,
        ),
        ServerKey(
            SHARE_URL,
            "",
            "an address such as postgresql://ada@db.example.com/team or service=team, without a password",
            "The PostgreSQL server on which your team shares memories",
        ),
        ListKey(
            "share.projects",
            "",
            "projects, with commas between them",
            "Projects whose memories are shared with the team; nothing else ever leaves",
        ),
        RolesKey(
            "share.cues_from",
            "",
            "names of roles on the server, with commas between them",
            "Colleagues whose memories may have triggers, files and conditions, and may be standing",
        ),
        Key(
            SHARE_AT_REST,
            True,
            False,
            True,
            "Whether shared projects are synchronised in the background when a session begins",
            is_personal=True,
        ),
        NameKey(
            "embedding.model",
            "minilm",
            "a model of `subcog models list`",
            "The model by which `subcog search` compares meanings; the hook always uses minilm",
        ),
        Key(
            "embedding.background",
            True,
            False,
            True,
            "Whether new memories are embedded in the background; false leaves it to `subcog reindex`",
            is_personal=True,
        ),
    )
}
