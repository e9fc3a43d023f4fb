"""Sources of settings: config.toml, a project's .subcog.toml and environment variables, with their faults by line.

A project may tune; only the user names a model or starts a process. Loaded by the terminal, and by a hook where a variable is
set or after a file has changed: parsing TOML costs 12 ms in a fresh process.
"""

from __future__ import annotations

import os
import re

from subcog_hooks.core.errors import ConfigError
from subcog_hooks.core.files import read_regular
from subcog_hooks.settings.defaults import EVERYTHING, SWITCHES, Settings
from subcog_hooks.settings.keys import KEYS, MAX_SHOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from subcog_hooks.settings.defaults import Value

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
    except UnicodeDecodeError as error:
        return _unreadable_file(f"{name} is not UTF-8 at byte {error.start}", is_own=is_own)
    except (ValueError, OverflowError, RecursionError) as error:  # TOMLDecodeError, and numbers of 5,000 digits
        return _unreadable_file(f"{name} is not TOML: {error}", text, is_own=is_own)
    values: dict[str, Value] = {}
    problems: list[str] = []
    pairs = _flatten(tables)
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
    return Settings(dict.fromkeys(switches, False), [problem], [EVERYTHING])


def _check_value(name: str, value: object, *, is_own: bool) -> Value:
    """Return the value of a setting in its type. Raises ConfigError, also where a project's file may not set it."""
    if name not in KEYS:
        short_name = name if len(name) <= MAX_SHOWN else name[:MAX_SHOWN] + "…"
        raise ConfigError(f"{short_name} is not a setting (`subcog config list` shows all)")
    if KEYS[name].is_personal and not is_own:
        raise ConfigError(f"{name} is left to your own config.toml")
    return KEYS[name].check_value(value)


def _flatten(tables: dict[str, object]) -> list[tuple[str, object]]:
    pairs: list[tuple[str, object]] = []
    for name, value in tables.items():
        if isinstance(value, dict):
            pairs += [(f"{name}.{inner}", inner_value) for inner, inner_value in value.items()]
        else:
            pairs.append((name, value))
    return pairs


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
