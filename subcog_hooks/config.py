"""Settings: the table of keys, reading config.toml and a project's .subcog.toml, and their compiled form for the hook.

Parsing TOML costs 12 ms in a fresh process, so each file is compiled to JSON once, keyed by its path, mtime and size, and kept
in state.db. The user's file wins over the project's. A project may tune; what names a model or starts a process is for the user
to say.
"""

import os

from subcog_hooks import __version__, wire
from subcog_hooks.errors import ConfigError, StoreError
from subcog_hooks.paths import Home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # of JSON that this module has written itself

    from subcog_hooks.state import State

PROJECT_FILE = ".subcog.toml"
MAX_FILE = 64 * 1024  # bytes
ALPHA = 0.6  # near S4's .7; not swept yet
MAX_NAME = 200  # characters

Value = bool | int | float | str


class Key:
    """One setting: its type, default, range, and what it does. is_personal: a project's file may not set it."""

    __slots__ = ("default", "help", "high", "is_personal", "low", "name")

    def __init__(
        self,
        name: str,
        default: Value,
        low: float,
        high: float,
        help: str,  # noqa: A002 - as typer calls it
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
        """`value` in this key's type. Raises ConfigError."""
        kind = type(self.default)
        if kind is bool and isinstance(value, bool):
            return value
        if kind is not bool and isinstance(value, int | float) and not isinstance(value, bool) and self._holds(value):
            return kind(value)
        shown = str(value).lower() if isinstance(value, bool) else repr(value)
        raise ConfigError(f"{self.name} is {shown}, expected {self.expected}")

    def _holds(self, value: float) -> bool:
        return self.low <= value <= self.high and type(self.default)(value) == value  # in this order: int(inf) is an error

    @property
    def expected(self) -> str:
        if isinstance(self.default, bool):
            return "true or false"
        return f"{'a whole number ' if isinstance(self.default, int) else ''}{self.low} to {self.high}"

    def from_text(self, text: str) -> Value:
        """The value that a user typed. Raises ConfigError."""
        lowered = text.strip().lower()
        if isinstance(self.default, bool):
            if lowered in ("true", "1", "yes", "on"):
                return True
            if lowered in ("false", "0", "no", "off"):
                return False
            raise ConfigError(f"{self.name} is {text!r}, expected {self.expected}")
        try:
            return self.checked(float(lowered) if "." in lowered or "e" in lowered else int(lowered))
        except (ValueError, OverflowError):
            raise ConfigError(f"{self.name} is {text!r}, expected {self.expected}") from None


class NameKey(Key):
    """A setting that is a name; whether there is such a thing is found out where it is used."""

    __slots__ = ("_expected",)

    def __init__(self, name: str, default: str, expected: str, help: str) -> None:  # noqa: A002 - as typer calls it
        super().__init__(name, default, 0, 0, help, is_personal=True)
        self._expected = expected

    def checked(self, value: object) -> str:
        """`value`, when it is one printable word. Raises ConfigError."""
        if isinstance(value, str) and value.isprintable() and value and " " not in value and len(value) <= MAX_NAME:
            return value
        raise ConfigError(f"{self.name} is {str(value)[:MAX_NAME]!r}, expected {self.expected}")

    @property
    def expected(self) -> str:
        return self._expected

    def from_text(self, text: str) -> str:
        return self.checked(text.strip())


KEYS = {
    key.name: key
    for key in (
        Key("surfacing.enabled", True, False, True, "false keeps every hook silent"),
        Key("surfacing.min_relevance", 0.25, 0.0, 1.0, "a memory is handed over from this relevance on"),
        Key("surfacing.max_memories", 6, 1, 6, "at most so many memories for one prompt"),
        Key(
            "surfacing.max_characters",
            2000,
            200,
            9900,
            "at most so many characters (UTF-16 units) for one prompt",
        ),
        Key("fusion.alpha", ALPHA, 0.0, 1.0, "the share of meaning in a score: 0 is words alone, 1 meaning alone"),
        Key("search.limit", 10, 1, 1000, "how many results `subcog search` shows"),
        NameKey("embedding.model", "minilm", "a model of `subcog models list`", "embeds what `subcog search` compares"),
        Key(
            "embedding.background",
            True,
            False,
            True,
            "false: new memories wait for `subcog reindex` to be embedded",
            is_personal=True,
        ),
    )
}


_SIGNATURE = f"{__version__} {len(KEYS)}"  # another version may know other settings


class Settings:
    """The values in force."""

    __slots__ = ("_values", "problems")

    def __init__(self, values: dict[str, Value], problems: tuple[str, ...] = ()) -> None:
        self._values = values
        self.problems = problems

    def __getitem__(self, name: str) -> Value:
        """The value of the key `name`, its default when no file sets it."""
        return self._values.get(name, KEYS[name].default)

    def is_set(self, name: str) -> bool:
        return name in self._values


def load(home: Home, project_root: str | None = None, state: "State | None" = None) -> Settings:
    """The settings in force for a session in `project_root`. What a file says wrongly is left out and named in `problems`.

    state: where compiled settings are kept; None parses the files, which only the terminal has time for.
    """
    values: dict[str, Value] = {}
    problems: list[str] = []
    files = [os.path.join(project_root, PROJECT_FILE)] if project_root else []
    for path in (*files, home.config):
        found, wrong = _read(path, state)
        values.update(found)
        problems += wrong
    return Settings(values, tuple(problems))


def _read(path: str, state: "State | None") -> tuple[dict[str, Value], list[str]]:
    try:
        status = os.stat(path)
    except OSError:
        return {}, []
    if state is not None:
        text = state.compiled(path, status.st_mtime_ns, status.st_size)
        if text is not None:
            stored: dict[str, Any] = wire.loads(text)  # type: ignore[assignment]  # written below
            if stored.get("of") == _SIGNATURE:
                return stored["values"], stored["problems"]
    values, problems = parse(path)
    if state is not None:
        import json  # only after the file has changed

        try:
            compiled = json.dumps({"of": _SIGNATURE, "values": values, "problems": problems})
            state.keep_compiled(path, status.st_mtime_ns, status.st_size, compiled)
        except StoreError:
            pass  # it is parsed again the next time
    return values, problems


def parse(path: str) -> tuple[dict[str, Value], list[str]]:
    """What a settings file says: the values that hold, and one line for each that does not."""
    import tomllib  # 12 ms: only the terminal, and a hook after the file has changed

    name = os.path.basename(path)
    try:
        with open(path, "rb") as file:
            raw = file.read(MAX_FILE + 1)
        if len(raw) > MAX_FILE:
            return {}, [f"{name} is larger than {MAX_FILE} bytes"]
        text = raw.decode("utf-8")
        tables = tomllib.loads(text)
    except OSError as error:
        return {}, [f"{name} can not be read: {error.strerror}"]
    except UnicodeDecodeError as error:
        return {}, [f"{name} is not UTF-8 at byte {error.start}"]
    except (ValueError, OverflowError, RecursionError) as error:  # TOMLDecodeError, and numbers of 5,000 digits
        return {}, [f"{name} is not TOML: {error}"]
    values: dict[str, Value] = {}
    problems: list[str] = []
    for key_name, value in _flat(tables):
        key = KEYS.get(key_name)
        place = f"{name} line {_line_of(text, key_name)}"
        if key is None:
            problems.append(f"{place}: {key_name} is not a setting (`subcog config list` shows all)")
        elif key.is_personal and name == PROJECT_FILE:
            problems.append(f"{place}: {key_name} is left to your own config.toml")
        else:
            try:
                values[key_name] = key.checked(value)
            except ConfigError as error:
                problems.append(f"{place}: {error.message}")
    return values, problems


def _flat(tables: dict[str, object]) -> list[tuple[str, object]]:
    pairs: list[tuple[str, object]] = []
    for name, value in tables.items():
        if isinstance(value, dict):
            pairs += [(f"{name}.{inner}", inner_value) for inner, inner_value in value.items()]
        else:
            pairs.append((name, value))
    return pairs


def _line_of(text: str, key_name: str) -> int:
    """The line that sets a key: the last one of that name inside its table, 1 when it is written in another way."""
    section, _, name = key_name.rpartition(".")
    table, found = "", 1
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("["):
            table = stripped.strip("[] ")
            if table == key_name:
                found = number
        else:
            written = stripped.partition("=")[0].strip().replace('"', "")
            if (table == section and written == name) or (not table and written == key_name):
                found = number
    return found
