"""Types, ranges and help of the settings (`settings.tsv`), and their sources, with faults by line.

The sources are config.toml, a project's .subcog.toml and variables. A project may tune; only the user names a model or starts
a process. Loaded by the terminal, and by a hook where a variable is set or after a file has changed: parsing TOML costs 12 ms
in a fresh process.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple, TypeGuard

from subcog_hooks.core.errors import ConfigError
from subcog_hooks.core.files import read_regular
from subcog_hooks.settings import defaults
from subcog_hooks.settings.defaults import DEFAULTS, ROWS, SWITCHES, TUNED_SECTIONS, Settings, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


MAX_NAME = 200  # characters
MAX_PATH = 1_000  # characters of a path, or of a list
MAX_AGE = 5  # characters of an age
MAX_SHOWN = 80  # characters of a value that is refused

_SWITCH, _NUMBER, _ONE, _SOME, _LIST, _NAMES = "switch", "number", "one", "some", "list", "names"
_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


class Key(NamedTuple):
    """A setting.

    rights: whether a project's file and variables may set any value, or `raise` or `lower` the user's. kind: the type's first
    word; words: the bounds of a number, or the choices. form: the expected form of any other text.
    """

    name: str
    default: Value
    rights: frozenset[str]
    kind: str
    words: tuple[str, ...]
    form: str
    help: str

    @property
    def is_personal(self) -> bool:
        """Whether a project's file may not set it."""
        return "own" in self.rights

    @property
    def way(self) -> str:
        """The only way in which a project's file or a variable may change it: raise or lower, "" for any."""
        return next((way for way in ("raise", "lower") if way in self.rights), "")

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it can be, or can have; none for a number or another text."""
        return ("true", "false") if self.kind == _SWITCH else self.words if self.kind in (_ONE, _SOME) else ()

    @property
    def variable(self) -> str:
        """The variable that sets it, "" for none. A personal setting has one only where a variable can only tighten it."""
        section, _, name = self.name.partition(".")
        is_tuned = section in TUNED_SECTIONS and (not self.is_personal or self.way)
        return f"SUBCOG_{section}_{name}".upper() if is_tuned else ""

    @property
    def permission(self) -> str:
        """The limits of a project's file, "" where it may set the key freely."""
        if self.is_personal:
            return "A project's file may not set it"
        change = "switch it off" if self.kind == _SWITCH else f"{self.way} it"
        return f"A project's file may only {change}" if self.way else ""

    @property
    def expected(self) -> str:
        """The allowed values, in words."""
        if self.kind == _NUMBER:
            low, high, *others = self.words
            return " or ".join([f"{'a whole number ' if isinstance(self.default, int) else ''}{low} to {high}", *others])
        if self.kind == _SOME:
            return f"some of {', '.join(self.words[:-1])} and {self.words[-1]}, with commas between them"
        if self.kind in (_LIST, _NAMES):
            return f"{self.form}, at most {MAX_PATH:,} characters"
        return self.form or " or ".join(filter(None, [", ".join(self.choices[:-1]), self.choices[-1]]))

    def check_value(self, value: object) -> Value:
        """Return the value of a settings file in this key's type. Raises ConfigError."""
        checked = self._check_number(value) if self.kind == _NUMBER else value
        if self._is_valid(checked):
            return checked
        raise self._refusal(value if self.kind in (_SWITCH, _NUMBER) else str(value)[:MAX_NAME])

    def _is_valid(self, value: object) -> TypeGuard[Value]:
        if self.kind in (_SWITCH, _NUMBER):
            return isinstance(value, bool) if self.kind == _SWITCH else value is not None
        if not isinstance(value, str):
            return False
        return value in self.words if self.kind == _ONE else _FORMS[self.kind](value) if value else value == self.default

    def _check_number(self, value: object) -> Value | None:
        """Return a number in this key's type, or its other word; None for any other value."""
        low, high, *others = self.words
        if isinstance(value, str):
            return value if value in others else None
        kind = int if isinstance(self.default, int) else float
        if not isinstance(value, int | float) or isinstance(value, bool):
            return None
        # In this order: int(inf) is an error.
        return kind(value) if float(low) <= value <= float(high) and kind(value) == value else None

    def from_text(self, text: str) -> Value:
        """Return the value that a person typed. Raises ConfigError."""
        lowered = text.strip().lower()
        if self.kind == _SWITCH:
            return self.check_value(lowered in _TRUE if lowered in _TRUE + _FALSE else text)
        if self.kind == _NUMBER:
            try:
                return self.check_value(float(lowered) if "." in lowered or "e" in lowered else int(lowered))
            except ValueError:
                return self.check_value(lowered if lowered in self.words[2:] else text)
        parts = [part.strip() for part in text.split(",") if part.strip()]
        if self.kind == _SOME and not {part.lower() for part in parts} <= {*self.words}:
            raise self._refusal(text[:MAX_NAME])
        for name in parts if self.kind == _LIST else ():
            if is_ambiguous_name(name) or (not os.path.isabs(name) and os.path.isdir(name)):
                raise self._refusal(name[:MAX_NAME])
        if self.kind in (_SOME, _NAMES):
            text = ",".join(parts)
        return self.check_value(text.strip().lower() if self.kind in (_ONE, _SOME) else text.strip())

    def _refusal(self, value: object) -> ConfigError:
        """Return the error of a value. One of `llm` or `share` is not in it: it may be a secret in the wrong setting."""
        if self.name.startswith(("llm.", "share.")):
            return ConfigError(f"{self.name} does not hold, expected {self.expected}")
        return ConfigError(f"{self.name} is {_shorten_value(value)}, expected {self.expected}")


def _shorten_value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    try:
        text = repr(value)
    except ValueError:  # Python writes no number of more than 4,300 digits
        return "a number of thousands of digits"
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"


def _is_name(text: str) -> bool:
    """Return whether a text is a printable word. The code that uses it finds out whether the named thing exists."""
    return text.isprintable() and " " not in text and len(text) <= MAX_NAME


def _is_address(text: str) -> bool:
    """Return whether a text is the address of a server without a password or key, because addresses are shown."""
    from urllib.parse import urlsplit  # 4 ms, and few settings are addresses

    try:
        parts = urlsplit(text)
        is_server = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return is_server and text.isascii() and _is_name(text) and set("@?#\\").isdisjoint(text)


def _is_server(text: str) -> bool:
    """Return whether a text is a PostgreSQL server's address, or a service of libpq's, without a password."""
    from urllib.parse import unquote

    is_address = text.startswith(("postgresql://", "postgres://", "service=")) and len(text) > len("service=")
    has_password = ":" in text.partition("://")[2].rpartition("@")[0] or "password" in unquote(text).lower().partition("?")[2]
    return is_address and _is_name(text) and not has_password


def _is_age(text: str) -> bool:
    is_word = text in (defaults.NOT_READ, defaults.WITH_TRANSCRIPT)
    return is_word or (text[:-1].isdecimal() and len(text) <= MAX_AGE and text[-1] in "dwmy")


def _is_long_text(text: str) -> bool:
    """Return whether a text can be a list. Its names are checked when they are used."""
    return text.isprintable() and len(text) <= MAX_PATH


_FORMS = {
    "name": _is_name,
    "address": _is_address,
    "server": _is_server,
    "path": lambda text: _is_long_text(text) and (os.path.isabs(text) or text[:2] in ("~/", f"~{os.sep}")),
    "age": _is_age,
    _SOME: _is_name,
    _LIST: _is_long_text,
    _NAMES: _is_long_text,
}


def is_ambiguous_name(name: str) -> bool:
    """Return whether a text is neither a path with one meaning everywhere, nor a project's name.

    >>> [is_ambiguous_name(name) for name in ("shop", "work/../shop", "/srv/shop", "~/shop", "github.com/acme/shop")]
    [True, True, False, False, False]
    >>> is_ambiguous_name("me:shop/a")
    False
    """
    return name.startswith(".") or "/../" in f"{name}/" or not ("/" in name or os.path.isabs(name))


def _key_of(row: list[str]) -> Key:
    name, _, rights, type_, help_ = row
    kind, _, rest = type_.partition(" ")
    has_words = kind in (_SWITCH, _NUMBER, _ONE, _SOME)
    words, form = (tuple(rest.split()), "") if has_words else ((), rest)
    return Key(name, DEFAULTS[name], frozenset(rights.split()), kind, words, form, help_)


KEYS = {key.name: key for key in map(_key_of, ROWS)}


MAX_FILE = 64 * 1024  # bytes of the user's own file
MAX_LINE = 5_000  # bytes in it: a list of 1,000 letters of any script
MAX_PROJECT_FILE = 8 * 1024  # bytes of a project's file: all its settings, with a comment on each, have 3,000
MAX_PROJECT_LINE = 1_200  # bytes; a name of 30,000 parts, with dots between, keeps tomllib busy for half a minute
MAX_PROBLEMS = 10  # lines, each about one fault
SEMANTIC_WEIGHT, KEYWORD_WEIGHT = "SUBCOG_SEMANTIC_WEIGHT", "SUBCOG_KEYWORD_WEIGHT"  # S4's variables, for fusion.alpha
VARIABLES = {key.variable: key.name for key in KEYS.values() if key.variable}


def parse_file(path: str, *, is_own: bool) -> Settings:
    """Return the contents of a settings file. is_own: the file is the user's own; a project's may not set everything."""
    name = os.path.basename(path)
    try:
        raw = read_regular(path, (MAX_FILE if is_own else MAX_PROJECT_FILE) + 1)
    except OSError as error:
        return _unreadable_file(f"{name} cannot be read: {error.strerror}", is_own=is_own)
    return parse_settings(raw, name, is_own=is_own)


def parse_settings(raw: bytes, name: str, *, is_own: bool) -> Settings:
    """Return the contents of the settings file of this name."""
    import tomllib  # Variables need no TOML.

    text = ""
    max_bytes, max_line = (MAX_FILE, MAX_LINE) if is_own else (MAX_PROJECT_FILE, MAX_PROJECT_LINE)
    try:
        if len(raw) > max_bytes:
            return _unreadable_file(f"{name} is larger than {max_bytes} bytes", is_own=is_own)
        text = raw.decode("utf-8-sig")
        if long_line := next((number for number, line in enumerate(raw.split(b"\n"), 1) if len(line) > max_line), 0):
            return _unreadable_file(f"{name} line {long_line} is longer than {max_line:,} bytes", text, is_own=is_own)
        tables = tomllib.loads(text)
    except (ValueError, OverflowError, RecursionError) as error:  # TOMLDecodeError, and numbers of 5,000 digits
        return _unreadable_file(f"{name} is not TOML: {error}", text, is_own=is_own)
    values: dict[str, Value] = {}
    problems: list[str] = []
    pairs: list[tuple[str, object]] = []
    for key_name, value in tables.items():
        if isinstance(value, dict):
            pairs += [(f"{key_name}.{member}", inner) for member, inner in value.items()]
        else:
            pairs.append((key_name, value))
    line_numbers = _line_numbers(text)
    for key_name, value in pairs:
        try:
            values[key_name] = _check_value(key_name, value, is_own=is_own)
        except ConfigError as error:
            problems.append(f"{name} line {line_numbers.get(key_name, 1)}: {error.message}")
    if len(problems) > MAX_PROBLEMS:
        problems[MAX_PROBLEMS:] = [f"{name} has {len(problems) - MAX_PROBLEMS:,} more faults"]
    sources = {key_name: f"{name} line {line_numbers.get(key_name, 1)}" for key_name in values}
    left_out = [key_name for key_name, _ in pairs if key_name not in values] if is_own else []
    return Settings({**values, **dict.fromkeys(SWITCHES & {*left_out}, False)}, problems, left_out, sources=sources)


def _unreadable_file(problem: str, text: str = "", *, is_own: bool) -> Settings:
    """Return settings without values, but for the switches that an own file may have switched off."""
    switches = [
        name
        for name in (SWITCHES if is_own else ())
        if not text or re.search(rf"\b{name.rpartition('.')[2]}\b[\"']?\s*=\s*(?!true\b)", text)
    ]
    return Settings(dict.fromkeys(switches, False), [problem], [defaults.EVERYTHING])


def _check_value(name: str, value: object, *, is_own: bool) -> Value:
    """Return the value of a setting in its type. Raises ConfigError, also where a project's file may not set it."""
    if name not in KEYS:
        short_name = name if len(name) <= MAX_SHOWN else name[:MAX_SHOWN] + "…"
        raise ConfigError(f"{short_name} is not a setting (`subcog config list` shows all)")
    if KEYS[name].is_personal and not is_own:
        raise ConfigError(f"{name} is left to your own config.toml")
    return KEYS[name].check_value(value)


def _line_numbers(text: str) -> dict[str, int]:
    """Return by key the line that sets it: the last line of that name inside its table.

    The text is valid TOML by then. Neither tomllib nor tomlkit gives a position, and other spellings of a key are left out.

    >>> _line_numbers('fusion.alpha = 1.0\\n[search]\\nlimit = 5')
    {'fusion.alpha': 1, 'search': 2, 'search.limit': 3}
    """
    table = ""
    numbers: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped.startswith("["):
            table = stripped.strip("[] ")
            numbers[table] = number
        else:
            key = stripped.partition("=")[0].strip().replace('"', "")
            numbers[f"{table}.{key}" if table else key] = number
    return numbers


def read_variables(environment: Mapping[str, str]) -> Settings:
    """Return the settings of an environment. `SUBCOG_FUSION_ALPHA`, which names the setting, wins over the two weights."""
    weights = [name for name in (SEMANTIC_WEIGHT, KEYWORD_WEIGHT) if name in environment]
    values, problems = _read_weights(environment) if weights else ({}, [])
    sources = dict.fromkeys(values, " and ".join(weights))
    left_out = []
    for variable, name in VARIABLES.items():
        text = environment.get(variable)
        if text is None:
            continue
        try:
            values[name] = KEYS[name].from_text(text)
            sources[name] = variable
        except ConfigError:
            problems.append(f"{variable} is {text[:MAX_SHOWN]!r}, expected {KEYS[name].expected}")
            left_out.append(name)
    return Settings(values, problems, left_out, sources=sources)


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
