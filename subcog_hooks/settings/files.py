"""Settings files: what config.toml and a project's .subcog.toml say, and what is wrong with that.

A project may tune; what names a model or starts a process is for the user to say. Loaded by the terminal, and by a hook after a
file has changed: parsing TOML costs 12 ms in a fresh process.
"""

import os
import tomllib

from subcog_hooks.errors import ConfigError
from subcog_hooks.regular_files import read_regular
from subcog_hooks.settings.keys import EVERYTHING, KEYS, MAX_SHOWN, FileSettings, Value

MAX_FILE = 64 * 1024  # bytes of the user's own file
MAX_PROJECT_FILE = 8 * 1024  # bytes of a project's: all that it may set, with a comment on each, has 3,000
MAX_LINE = 1_200  # bytes; a name of 30,000 parts, with dots between, keeps tomllib busy for half a minute
MAX_PROBLEMS = 10  # that are named


def parse(path: str, *, is_own: bool) -> FileSettings:
    """Return what a settings file says.

    is_own: the file is the user's own; a project's may not say everything.
    """
    name = os.path.basename(path)
    most = MAX_FILE if is_own else MAX_PROJECT_FILE
    try:
        raw = read_regular(path, most + 1)
        if len(raw) > most:
            return _unread(f"{name} is larger than {most} bytes")
        if long := next((number for number, line in enumerate(raw.split(b"\n"), 1) if len(line) > MAX_LINE), 0):
            return _unread(f"{name} line {long} is longer than {MAX_LINE:,} bytes")
        text = raw.decode("utf-8")
        tables = tomllib.loads(text)
    except OSError as error:
        return _unread(f"{name} can not be read: {error.strerror}")
    except UnicodeDecodeError as error:
        return _unread(f"{name} is not UTF-8 at byte {error.start}")
    except (ValueError, OverflowError, RecursionError) as error:  # TOMLDecodeError, and numbers of 5,000 digits
        return _unread(f"{name} is not TOML: {error}")
    values: dict[str, Value] = {}
    problems: list[str] = []
    pairs = _flat(tables)
    places = _places(text)
    for key_name, value in pairs:
        key = KEYS.get(key_name)
        place = f"{name} line {places.get(key_name, 1)}"
        if key is None:
            problems.append(f"{place}: {_short(key_name)} is not a setting (`subcog config list` shows all)")
        elif key.is_personal and not is_own:
            problems.append(f"{place}: {key_name} is left to your own config.toml")
        else:
            try:
                values[key_name] = key.checked(value)
            except ConfigError as error:
                problems.append(f"{place}: {error.message}")
    if len(problems) > MAX_PROBLEMS:
        problems[MAX_PROBLEMS:] = [f"{name} has {len(problems) - MAX_PROBLEMS:,} more faults"]
    left_out = [key_name for key_name, _ in pairs if key_name not in values] if is_own else []
    lines = {key_name: places.get(key_name, 1) for key_name in values}
    return FileSettings(values, problems, left_out, lines)


def _unread(problem: str) -> FileSettings:
    return FileSettings(problems=[problem], left_out=[EVERYTHING])


def _short(name: str) -> str:
    return name if len(name) <= MAX_SHOWN else name[:MAX_SHOWN] + "…"


def _flat(tables: dict[str, object]) -> list[tuple[str, object]]:
    pairs: list[tuple[str, object]] = []
    for name, value in tables.items():
        if isinstance(value, dict):
            pairs += [(f"{name}.{inner}", inner_value) for inner, inner_value in value.items()]
        else:
            pairs.append((name, value))
    return pairs


def _places(text: str) -> dict[str, int]:
    """Return by key the line that sets it: the last one of that name inside its table. Other spellings are left out."""
    table = ""
    found: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped.startswith("["):
            table = stripped.strip("[] ")
            found[table] = number
        else:
            written = stripped.partition("=")[0].strip().replace('"', "")
            found[f"{table}.{written}" if table else written] = number
    return found
