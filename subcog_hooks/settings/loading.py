"""The settings in force: defaults, the project's file, the user's file, the environment, each stronger than the one before.

Parsing TOML costs 12 ms in a fresh process, so each file is compiled to JSON once, keyed by its path, mtime and size, and kept
in state.db.
"""

import os

from subcog_hooks import __version__, wire
from subcog_hooks.errors import StoreError
from subcog_hooks.paths import Home
from subcog_hooks.settings.keys import KEYS, PRESETS, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Cache(Protocol):
        """Where compiled files are kept, by path, mtime and size. Both methods raise StoreError."""

        def find(self, path: str, mtime_ns: int, size: int) -> str | None:
            """Return the compiled form of a file, None when none is kept of this state of it."""

        def keep(self, path: str, mtime_ns: int, size: int, settings: str) -> None:
            """Keep the compiled form of a file."""


PROJECT_FILE = ".subcog.toml"
PREFIXES = ("SUBCOG_SEARCH_", "SUBCOG_SEMANTIC_", "SUBCOG_KEYWORD_")  # of the variables that are settings

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


def load(home: Home, project_root: str | None = None, cache: "Cache | None" = None) -> Settings:
    """The settings in force for a session in `project_root`. What a file or a variable says wrongly is left out and named in
    `problems`. The environment wins over both files.

    cache: where compiled files are kept; None parses them, which only the terminal has time for.
    """
    values: dict[str, Value] = {}
    problems: list[str] = []
    left_out: list[str] = []
    files = [os.path.join(project_root, PROJECT_FILE)] if project_root else []
    for path in (*files, home.config):
        found, wrong, unused = _read(path, cache)
        if path == home.config:
            left_out += unused
        if "fusion.preset" in found:  # of a stronger file: what a weaker one has set beside its own gives way
            values = {name: value for name, value in values.items() if name not in PRESETS[str(found["fusion.preset"])]}
        values.update(found)
        problems += wrong
    if any(name.startswith(PREFIXES) for name in os.environ):
        from subcog_hooks.settings import variables  # few environments have any

        found, wrong, unused = variables.read(os.environ)
        values.update(found)
        problems += wrong
        left_out += unused
    return Settings(values, tuple(problems), frozenset(left_out))


def _read(path: str, cache: "Cache | None") -> tuple[dict[str, Value], list[str], list[str]]:
    """Return what `files.parse` says of a file, from its compiled form where that is kept."""
    try:
        status = os.stat(path)
    except OSError:
        return {}, [], []
    if cache is not None:
        text = cache.find(path, status.st_mtime_ns, status.st_size)
        if text is not None:
            stored = wire.loads(text)
            if isinstance(stored, dict) and stored.get("of") == _SIGNATURE:
                return stored["values"], stored["problems"], stored["left_out"]
    from subcog_hooks.settings import files  # 12 ms: only the terminal, and a hook after the file has changed

    values, problems, left_out = files.parse(path, is_own=os.path.basename(path) != PROJECT_FILE)
    if cache is not None:
        import json  # only after the file has changed

        try:
            compiled = json.dumps({"of": _SIGNATURE, "values": values, "problems": problems, "left_out": left_out})
            cache.keep(path, status.st_mtime_ns, status.st_size, compiled)
        except StoreError:
            pass  # it is parsed again the next time
    return values, problems, left_out
