"""Settings: the table of keys, reading config.toml and a project's .subcog.toml, and their compiled form for the hook.

Parsing TOML costs 12 ms in a fresh process, so each file is compiled to JSON once, keyed by its path, mtime and size, and kept
in state.db. The user's file wins over the project's. A project may tune; what names a model or starts a process is for the user
to say.
"""

import os

from subcog_hooks import __version__, wire
from subcog_hooks.errors import ConfigError, StoreError
from subcog_hooks.keys import KEYS, PRESETS, Value
from subcog_hooks.paths import Home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.state import State

PROJECT_FILE = ".subcog.toml"
MAX_FILE = 64 * 1024  # bytes
SEMANTIC_WEIGHT, KEYWORD_WEIGHT = "SUBCOG_SEMANTIC_WEIGHT", "SUBCOG_KEYWORD_WEIGHT"  # S4's variables
VARIABLES = {  # S0's, each with its key
    "SUBCOG_SEARCH_INTENT_ENABLED": "search_intent.enabled",
    "SUBCOG_SEARCH_INTENT_USE_LLM": "search_intent.use_llm",
    "SUBCOG_SEARCH_INTENT_LLM_TIMEOUT_MS": "search_intent.llm_timeout_ms",
    "SUBCOG_SEARCH_INTENT_MIN_CONFIDENCE": "search_intent.min_confidence",
}
MAX_SHOWN = 80  # characters of a variable that holds something else
EVERYTHING = "*"  # in `left_out`: the file can not be read

# another version may know other settings, or compile them to something else
_FORM = "values problems left_out"
_SIGNATURE = " ".join([_FORM, __version__, *(f"{key.name}={key.default}:{key.low}:{key.high}" for key in KEYS.values())])


class Settings:
    """The values in force.

    problems: a line for each thing that a file or a variable says wrongly. left_out: the keys, known or not, of what the user's
    own file or the environment says wrongly; the default stands in for them, which may be the opposite of what was meant. Of a
    file that can not be read it is EVERYTHING.
    """

    __slots__ = ("_values", "left_out", "problems")

    def __init__(
        self, values: dict[str, Value], problems: tuple[str, ...] = (), left_out: "frozenset[str]" = frozenset()
    ) -> None:
        self._values = values
        self.problems = problems
        self.left_out = left_out

    def __getitem__(self, name: str) -> Value:
        """The value of the key `name`: as set, else what a preset that is set says, else its default."""
        if name in self._values:
            return self._values[name]
        preset = PRESETS[str(self._values["fusion.preset"])] if "fusion.preset" in self._values else {}
        return preset.get(name, KEYS[name].default)

    def is_set(self, name: str) -> bool:
        return name in self._values


def load(home: Home, project_root: str | None = None, state: "State | None" = None) -> Settings:
    """The settings in force for a session in `project_root`. What a file or a variable says wrongly is left out and named in
    `problems`. The environment wins over both files.

    state: where compiled settings are kept; None parses the files, which only the terminal has time for.
    """
    values: dict[str, Value] = {}
    problems: list[str] = []
    left_out: list[str] = []
    files = [os.path.join(project_root, PROJECT_FILE)] if project_root else []
    for path in (*files, home.config):
        found, wrong, unused = _read(path, state)
        if path == home.config:
            left_out += unused
        if "fusion.preset" in found:  # of a stronger file: what a weaker one has set beside its own gives way
            values = {name: value for name, value in values.items() if name not in PRESETS[str(found["fusion.preset"])]}
        values.update(found)
        problems += wrong
    if SEMANTIC_WEIGHT in os.environ or KEYWORD_WEIGHT in os.environ:
        found, wrong = _weights()
        values.update(found)
        problems += wrong
    for variable, name in VARIABLES.items():
        text = os.environ.get(variable)
        if text is not None:
            try:
                values[name] = KEYS[name].from_text(text)
            except ConfigError:
                problems.append(f"{variable} is {text[:MAX_SHOWN]!r}, expected {KEYS[name].expected}")
                left_out.append(name)
    return Settings(values, tuple(problems), frozenset(left_out))


def _weights() -> tuple[dict[str, Value], list[str]]:
    """fusion.alpha as the environment says it: one weight, or two that are taken in relation to each other."""
    weights: dict[str, float] = {}
    for name in (SEMANTIC_WEIGHT, KEYWORD_WEIGHT):
        text = os.environ.get(name)
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


def _read(path: str, state: "State | None") -> tuple[dict[str, Value], list[str], list[str]]:
    """What `parse` says of a file, from its compiled form where that is kept."""
    try:
        status = os.stat(path)
    except OSError:
        return {}, [], []
    if state is not None:
        text = state.compiled(path, status.st_mtime_ns, status.st_size)
        if text is not None:
            stored = wire.loads(text)
            if isinstance(stored, dict) and stored.get("of") == _SIGNATURE:
                return stored["values"], stored["problems"], stored["left_out"]
    values, problems, left_out = parse(path)
    if state is not None:
        import json  # only after the file has changed

        try:
            compiled = json.dumps({"of": _SIGNATURE, "values": values, "problems": problems, "left_out": left_out})
            state.keep_compiled(path, status.st_mtime_ns, status.st_size, compiled)
        except StoreError:
            pass  # it is parsed again the next time
    return values, problems, left_out


def parse(path: str) -> tuple[dict[str, Value], list[str], list[str]]:
    """What a settings file says: the values that hold, a line for each that does not, and the names of these or EVERYTHING."""
    import tomllib  # 12 ms: only the terminal, and a hook after the file has changed

    name = os.path.basename(path)
    try:
        with open(path, "rb") as file:
            raw = file.read(MAX_FILE + 1)
        if len(raw) > MAX_FILE:
            return {}, [f"{name} is larger than {MAX_FILE} bytes"], [EVERYTHING]
        text = raw.decode("utf-8")
        tables = tomllib.loads(text)
    except OSError as error:
        return {}, [f"{name} can not be read: {error.strerror}"], [EVERYTHING]
    except UnicodeDecodeError as error:
        return {}, [f"{name} is not UTF-8 at byte {error.start}"], [EVERYTHING]
    except (ValueError, OverflowError, RecursionError) as error:  # TOMLDecodeError, and numbers of 5,000 digits
        return {}, [f"{name} is not TOML: {error}"], [EVERYTHING]
    values: dict[str, Value] = {}
    problems: list[str] = []
    pairs = _flat(tables)
    for key_name, value in pairs:
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
    return values, problems, [key_name for key_name, _ in pairs if key_name not in values]


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
