"""Settings files: what config.toml and a project's .subcog.toml say, and what is wrong with that.

A project may tune; what names a model or starts a process is for the user to say. Loaded by the terminal, and by a hook after a
file has changed: parsing TOML costs 12 ms in a fresh process.
"""

import os
import tomllib

from subcog_hooks.errors import ConfigError
from subcog_hooks.settings.keys import EVERYTHING, KEYS, Value

MAX_FILE = 64 * 1024  # bytes


def parse(path: str, *, is_own: bool) -> tuple[dict[str, Value], list[str], list[str]]:
    """Return the values that hold, a line for each that does not, and the names of these, or EVERYTHING.

    is_own: the file is the user's own; a project's may not say everything.
    """
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
        elif key.is_personal and not is_own:
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
