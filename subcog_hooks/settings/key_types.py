"""The types of settings: each checks a value, reads one that a user typed, and names the values that it takes.

Off the hot path: a hook loads them only to parse a changed file, or to check a variable.
"""

import os
from abc import ABC, abstractmethod
from urllib.parse import unquote, urlsplit

from subcog_hooks.errors import ConfigError
from subcog_hooks.settings.defaults import ADAPTIVE, DEFAULTS, TUNED_SECTIONS, Value
from subcog_hooks.settings.tightening import ONE_WAY

MAX_NAME = 200  # characters
MAX_PATH = 1_000  # characters
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
    def checked(self, value: object) -> Value:
        """Return `value` in this key's type. Raises ConfigError."""

    @property
    @abstractmethod
    def expected(self) -> str:
        """The values that it takes, in words."""

    @abstractmethod
    def from_text(self, text: str) -> Value:
        """Return the value that a user typed. Raises ConfigError."""

    @property
    def variable(self) -> str:
        """The variable that sets it, "" for none. A personal setting has one only where it can do no more than tighten."""
        section, _, name = self.name.partition(".")
        is_tuned = section in TUNED_SECTIONS and (not self.is_personal or self.name in ONE_WAY)
        return f"SUBCOG_{section}_{name}".upper() if is_tuned else ""

    @property
    def permission(self) -> str:
        """A sentence about what a project's file may do with it, "" where it sets it freely."""
        if self.is_personal:
            return "A project's file may not set it."
        if self.name not in ONE_WAY:
            return ""
        way = "switch it off" if isinstance(self.default, bool) else f"{ONE_WAY[self.name]} it"
        return f"A project's file may only {way}."

    def _refusal(self, value: object) -> ConfigError:
        fault = self._fault(value) if self.name.startswith(("llm.", "share.")) else f"is {_shown(value)}"
        return ConfigError(f"{self.name} {fault}, expected {self.expected}")

    def _fault(self, _value: object) -> str:
        """Return the fault of a value of `llm` or `share` without the value: it may be a secret in the wrong setting."""
        return "does not hold"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    try:
        shown = repr(value)
    except ValueError:  # Python writes no number of more than 4,300 digits
        return "a number of thousands of digits"
    return shown if len(shown) <= MAX_SHOWN else shown[:MAX_SHOWN] + "…"


class SwitchKey(Key):
    """A setting that is true or false."""

    __slots__ = ()

    def checked(self, value: object) -> bool:
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

    def checked(self, value: object) -> Value:
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
            return self.checked(float(lowered) if "." in lowered or "e" in lowered else int(lowered))
        except (ValueError, OverflowError):
            raise self._refusal(text) from None


class AlphaKey(NumberKey):
    """A share of 0.0 to 1.0, or the word `adaptive`."""

    __slots__ = ()

    def checked(self, value: object) -> Value:
        return ADAPTIVE if value == ADAPTIVE else super().checked(value)

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


class NameKey(Key):
    """A setting that is a printable word, such as a model's name. It may be "" where that is the default.

    The code that uses it finds out whether there is such a thing.
    """

    __slots__ = ("_expected",)

    def __init__(self, name: str, expected: str, help: str) -> None:
        super().__init__(name, help, is_personal=True)
        self._expected = expected

    def checked(self, value: object) -> str:
        """Return `value`, when it is one printable word. Raises ConfigError."""
        if isinstance(value, str) and (self._is_valid(value) if value else value == self.default):
            return value
        raise self._refusal(str(value)[:MAX_NAME])

    def _is_valid(self, text: str) -> bool:
        return text.isprintable() and " " not in text and len(text) <= MAX_NAME

    @property
    def expected(self) -> str:
        return self._expected

    def from_text(self, text: str) -> str:
        return self.checked(text.strip())


class AddressKey(NameKey):
    """A setting that is the address of a server. A password or a key in it would be shown wherever the address is."""

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
    """A setting that is the address of a PostgreSQL server, or a service of libpq's. A password in it would be shown."""

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
    """A setting that is several names or paths, with commas between them. In a file any text holds until it is used."""

    __slots__ = ()

    def from_text(self, text: str) -> str:
        for part in text.split(","):
            name = part.strip()
            if name and (names_no_place(name) or (not os.path.isabs(name) and os.path.isdir(name))):
                raise self._refusal(name[:MAX_NAME])
        return super().from_text(text)

    def _is_valid(self, text: str) -> bool:
        return text.isprintable() and len(text) <= MAX_PATH


class RolesKey(ListKey):
    """A setting that is several roles of a server, with commas between them."""

    __slots__ = ()

    def from_text(self, text: str) -> str:
        return NameKey.from_text(self, text)


class WordsKey(NameKey):
    """A setting that is some of a few words, with commas between them. In a file any name holds until it is used."""

    __slots__ = ("choices",)

    def __init__(self, name: str, choices: tuple[str, ...], help: str) -> None:
        super().__init__(name, f"some of {', '.join(choices[:-1])} and {choices[-1]}, with commas between them", help)
        self.choices = choices

    def from_text(self, text: str) -> str:
        words = [word for part in text.lower().split(",") if (word := part.strip())]
        if not set(words) <= set(self.choices):
            raise self._refusal(text[:MAX_NAME])
        return ",".join(words)


def names_no_place(name: str) -> bool:
    """Return whether a text is neither a path that means the same everywhere, nor a project's name.

    >>> [names_no_place(name) for name in ("shop", "work/../shop", "/srv/shop", "~/shop", "github.com/acme/shop", "me:shop/a")]
    [True, True, False, False, False, False]
    """
    return name.startswith(".") or "/../" in f"{name}/" or not ("/" in name or os.path.isabs(name))
