"""The settings in force: defaults, the project's file, the user's file, the environment, each stronger than the one before.

A project's file and the environment, which a repository can set for the hook, may tune. Where `keys.ONE_WAY` says so they only
make it more silent: what would loosen the user's own value is ignored, and it is said.

Parsing TOML costs 12 ms in a fresh process, so each file is compiled to JSON once, keyed by its path, mtime and size, and kept
in state.db.
"""

from __future__ import annotations

import os

from subcog_hooks import __version__, wire
from subcog_hooks.errors import StoreError
from subcog_hooks.settings.keys import KEYS, ONE_WAY, PRESETS, TUNED_SECTIONS, FileSettings, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from subcog_hooks.paths import Home

    class Cache(Protocol):
        """Where compiled files are kept, by path, mtime and size. Both methods raise StoreError."""

        def find(self, path: str, mtime_ns: int, size: int) -> str | None:
            """Return the compiled form of a file, None when none is kept of this state of it."""

        def keep(self, path: str, mtime_ns: int, size: int, settings: str) -> None:
            """Keep the compiled form of a file."""


PROJECT_FILE = ".subcog.toml"
PREFIXES = tuple(f"SUBCOG_{section}_".upper() for section in (*TUNED_SECTIONS, "semantic", "keyword"))  # of our variables

# another version may know other settings, or compile them to something else
_FORM = "values problems left_out lines-of-all"
_SIGNATURE = " ".join([_FORM, __version__, *(f"{key.name}={key.default}:{key.low}:{key.high}" for key in KEYS.values())])


class Settings:
    """The values in force.

    problems: a line for each thing that a file or a variable says wrongly. ignored: a line for each value that holds, and would
    loosen what is the user's to loosen. left_out: the keys, known or not, of what the user's
    own file or the environment says wrongly; the default stands in for them, which may be the opposite of what was meant. Of a
    file that can not be read it is EVERYTHING. sources: by key, which file or variable has set it.
    """

    __slots__ = ("_values", "ignored", "left_out", "problems", "sources")

    def __init__(
        self,
        values: dict[str, Value],
        problems: tuple[str, ...] = (),
        left_out: frozenset[str] = frozenset(),
        ignored: tuple[str, ...] = (),
        sources: dict[str, str] | None = None,
    ) -> None:
        self._values = values
        self.sources = sources or {}
        self.ignored = ignored
        self.problems = problems
        self.left_out = left_out

    def __getitem__(self, name: str) -> Value:
        """Return the value of the key `name`: as set, else what a preset that is set says, else its default."""
        if name in self._values:
            return self._values[name]
        preset = PRESETS[str(self._values["fusion.preset"])] if "fusion.preset" in self._values else {}
        return preset.get(name, KEYS[name].default)

    def is_set(self, name: str) -> bool:
        return name in self._values

    def source_of(self, name: str) -> str:
        """Return the place that has set the value in force: a line of a file, a variable, the preset; "" for the default."""
        preset = "fusion.preset"
        by_preset = preset in self._values and name in PRESETS[str(self._values[preset])] and name not in self._values
        return preset if by_preset else self.sources.get(name, "")


def load(home: Home, project_root: str | None = None, cache: Cache | None = None) -> Settings:
    """Return the settings in force for a session in `project_root`. The environment wins over both files.

    Values that a file or a variable sets wrongly are left out and named in `problems`.

    cache: where compiled files are kept; None parses them, which only the terminal has time for.
    """
    own = _read_file(home.config, cache)
    ignored: list[str] = []
    values: dict[str, Value] = {}
    problems: list[str] = []
    left_out = list(own.left_out)
    sources: dict[str, str] = {}
    if project_root:
        theirs = _read_file(os.path.join(project_root, PROJECT_FILE), cache)
        places = {name: f"{PROJECT_FILE} line {line}" for name, line in theirs.lines.items()}
        values = _tightening(theirs.values, Settings(own.values), places, "a project's file", ignored)
        sources = {name: places[name] for name in values}
        problems += theirs.problems
    values = _overlaid(values, own.values)
    sources.update({name: f"{os.path.basename(home.config)} line {line}" for name, line in own.lines.items()})
    problems += own.problems
    if any(name.startswith(PREFIXES) for name in os.environ):
        from subcog_hooks.settings import variables  # few environments have any

        said = variables.read(os.environ)
        found = _tightening(said.values, Settings(values), said.variables, "a variable", ignored)
        values = _overlaid(values, found)
        sources.update({name: said.variables[name] for name in found})
        problems += said.problems
        left_out += said.left_out
    sources = {name: source for name, source in sources.items() if name in values}
    return Settings(values, tuple(problems), frozenset(left_out), tuple(ignored), sources)


def _overlaid(values: dict[str, Value], stronger: dict[str, Value]) -> dict[str, Value]:
    """Return the values with the stronger ones; of a preset among these, what a weaker source has set beside it gives way."""
    if "fusion.preset" in stronger:
        preset = PRESETS[str(stronger["fusion.preset"])]
        values = {name: value for name, value in values.items() if name not in preset}
    return {**values, **stronger}


def _tightening(
    found: dict[str, Value], own: Settings, places: dict[str, str], source: str, ignored: list[str]
) -> dict[str, Value]:
    """Return those of the found values that do not loosen the user's own; `ignored` gets a line for each of the others."""
    kept: dict[str, Value] = {}
    for name, value in found.items():
        if name in ONE_WAY and KEYS[name].is_loosened(value, own[name]):
            if isinstance(value, bool):
                fault = f"is true, yours is false; {source} may only switch it off"
            else:
                fault = f"is {value}, yours is {own[name]}; {source} may only {ONE_WAY[name]} it"
            ignored.append(f"{places[name]}: {name} {fault}, so it is ignored")
        else:
            kept[name] = value
    return kept


def _read_file(path: str, cache: Cache | None) -> FileSettings:
    """Return what `files.parse` says of a file, from its compiled form where that is kept."""
    try:
        status = os.stat(path)
    except OSError:
        return FileSettings()
    if cache is not None:
        text = cache.find(path, status.st_mtime_ns, status.st_size)
        if text is not None:
            stored = wire.loads(text)
            if isinstance(stored, dict) and stored.get("of") == _SIGNATURE:
                return FileSettings(stored["values"], stored["problems"], stored["left_out"], stored["lines"])
    from subcog_hooks.settings import files  # 12 ms: only the terminal, and a hook after the file has changed

    said = files.parse(path, is_own=os.path.basename(path) != PROJECT_FILE)
    if cache is not None:
        import json  # only after the file has changed

        try:
            fields = {name: getattr(said, name) for name in FileSettings.__slots__}
            compiled = json.dumps({"of": _SIGNATURE, **fields})
            cache.keep(path, status.st_mtime_ns, status.st_size, compiled)
        except StoreError:
            pass  # it is parsed again the next time
    return said
