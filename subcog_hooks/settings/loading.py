"""The settings in force, from the weakest to the strongest source: defaults, project file, user file, environment.

A project's file and the environment, which a repository can set for the hook, may tune. Some settings they may only tighten
(`project_limits`): a value that would loosen the user's own is ignored, with a line about it.

Parsing TOML costs 12 ms in a fresh process, so each file is compiled to JSON once. The JSON is kept in state.db, by path, times
and size. Types and ranges (`keys`) are loaded only to parse a changed file, or to check a variable.
"""

from __future__ import annotations

import os

from subcog_hooks.core.errors import StoreError
from subcog_hooks.settings.defaults import DEFAULTS, PRESETS, TUNED_SECTIONS, SettingsPart, compile_settings, load_compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from subcog_hooks.core.paths import Home
    from subcog_hooks.settings.defaults import Value

    class Cache(Protocol):
        """The compiled files, by path, stamp and size. Both methods raise StoreError."""

        def find_compiled(self, path: str, stamp: int, size: int) -> str | None:
            """Return the compiled form of a file, None when none is kept of this state of it."""

        def keep_compiled(self, path: str, stamp: int, size: int, settings: str) -> None:
            """Keep the compiled form of a file."""


PROJECT_FILE = ".subcog.toml"
PREFIXES = tuple(f"SUBCOG_{section}_".upper() for section in (*TUNED_SECTIONS, "semantic", "keyword"))  # of our variables


class Settings:
    """The values in force.

    problems: a line for each fault in a file or a variable. ignored: a line for each valid value that would loosen the user's
    own. left_out: the faulty or unknown keys in the user's own file or the environment, EVERYTHING for an unreadable file.
    Their defaults apply, which may be the opposite of the user's wish. sources: by key, the file or variable that has set it.
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
        """Return the value of a setting: its own, else the chosen preset's, else its default."""
        if name in self._values:
            return self._values[name]
        preset = PRESETS[str(self._values["fusion.preset"])] if "fusion.preset" in self._values else {}
        return preset.get(name, DEFAULTS[name])

    def is_set(self, name: str) -> bool:
        return name in self._values

    def with_value(self, name: str, value: Value) -> Settings:
        """Return these settings with another value of one setting."""
        return Settings({**self._values, name: value}, self.problems, self.left_out, self.ignored)

    def source_of(self, name: str) -> str:
        """Return the source of the value in force: a line of a file, a variable, the preset; "" for the default."""
        preset = "fusion.preset"
        by_preset = preset in self._values and name in PRESETS[str(self._values[preset])] and name not in self._values
        return preset if by_preset else self.sources.get(name, "")


def load(home: Home, project_root: str | None = None, cache: Cache | None = None, *, obeys_variables: bool = False) -> Settings:
    """Return the settings in force for a session in `project_root`. The environment wins over both files.

    Faulty values in a file or a variable are left out and named in `problems`. cache: the compiled files; None parses them,
    which only the terminal has time for. obeys_variables: variables may also loosen, since a person has set them.
    """
    own = _read_file(home.config, cache)
    values: dict[str, Value] = {}
    ignored: list[str] = []
    problems: list[str] = []
    left_out = list(own.left_out)
    sources: dict[str, str] = {}
    project = _read_file(os.path.join(project_root, PROJECT_FILE), cache) if project_root else SettingsPart()
    if project.values:
        from subcog_hooks.settings import project_limits  # few projects set anything

        own_values = Settings(own.values).__getitem__
        values, ignored = project_limits.keep_tightening(project.values, own_values, project.sources, "a project's file")
        sources = {name: project.sources[name] for name in values}
    problems += project.problems
    values = _overlay(values, own.values)
    sources.update(own.sources)
    problems += own.problems
    if any(name.startswith(PREFIXES) for name in os.environ):
        from subcog_hooks.settings import project_limits, variables

        by_variables = variables.read_variables(os.environ)
        in_files = Settings(values).__getitem__
        stronger = by_variables.values
        if not obeys_variables:
            stronger, loosening = project_limits.keep_tightening(
                stronger, in_files, by_variables.sources, project_limits.VARIABLE
            )
            ignored += loosening
        values = _overlay(values, stronger)
        sources.update({name: by_variables.sources[name] for name in stronger})
        problems += by_variables.problems
        left_out += by_variables.left_out
    sources = {name: source for name, source in sources.items() if name in values}
    return Settings(values, tuple(problems), frozenset(left_out), tuple(ignored), sources)


def _overlay(values: dict[str, Value], stronger: dict[str, Value]) -> dict[str, Value]:
    """Return the values with the stronger ones. A preset among these also removes the weaker mode and alpha."""
    if "fusion.preset" in stronger:
        preset = PRESETS[str(stronger["fusion.preset"])]
        values = {name: value for name, value in values.items() if name not in preset}
    return {**values, **stronger}


def _read_file(path: str, cache: Cache | None) -> SettingsPart:
    try:
        status = os.stat(path)
    except OSError:
        return SettingsPart()
    stamp = hash((status.st_mtime_ns, status.st_ctime_ns, status.st_ino))  # Some systems give all files one mtime.
    if cache is not None:
        text = cache.find_compiled(path, stamp, status.st_size)
        if text is not None and (compiled := load_compiled(text)) is not None:
            return compiled
    from subcog_hooks.settings import files  # 12 ms: only the terminal, and a hook after the file has changed

    settings = files.parse_file(path, is_own=os.path.basename(path) != PROJECT_FILE)
    if cache is not None:
        try:
            cache.keep_compiled(path, stamp, status.st_size, compile_settings(settings))
        except StoreError:
            pass  # it is parsed again the next time
    return settings
