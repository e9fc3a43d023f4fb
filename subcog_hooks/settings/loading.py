"""The settings in force, from the weakest to the strongest source: defaults, project file, user file, environment.

A project's file and the environment, which a repository can set for the hook, may tune. Some settings they may only tighten:
a value that would loosen the user's own is ignored, with a line about it. Thresholds go up, room and switches go down. So
neither a project nor a variable makes the hook speak where the user wanted silence, nor asks an LLM more often.

Parsing TOML costs 12 ms in a fresh process, so each file is compiled to JSON once. The JSON is kept in state.db, by path, times
and size. Types and ranges (`sources`) are loaded only to parse a changed file, or to check a variable.
"""

from __future__ import annotations

import os

from subcog_hooks.core.errors import StoreError
from subcog_hooks.settings.defaults import PRESETS, ROWS, TUNED_SECTIONS, Settings, compile_settings, load_compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from subcog_hooks.core.paths import Home
    from subcog_hooks.settings.defaults import Value

    class Cache(Protocol):
        """The compiled files, by path, stamp and size. Both methods raise StoreError."""

        def find_compiled(self, path: str, stamp: int, size: int) -> str | None: ...
        def keep_compiled(self, path: str, stamp: int, size: int, settings: str) -> None: ...


VARIABLE = "a variable"  # a source of values


PROJECT_FILE = ".subcog.toml"
PREFIXES = tuple(f"SUBCOG_{section}_".upper() for section in (*TUNED_SECTIONS, "semantic", "keyword"))  # of our variables
_NEVER = 2.0  # above any probability


def load(home: Home, project_root: str | None = None, cache: Cache | None = None, *, obeys_variables: bool = False) -> Settings:
    """Return the settings in force for a session in `project_root`. The environment wins over both files.

    Faulty values in a file or a variable are left out and named in `problems`. cache: the compiled files; None parses them,
    which only the terminal has time for. obeys_variables: variables may also loosen, since a person has set them.
    """
    own = _read_file(home.config, cache)
    project = _read_file(os.path.join(project_root, PROJECT_FILE), cache) if project_root else Settings()
    values, ignored = _keep_tightening(project, own, "a project's file") if project.values else ({}, [])
    sources = {name: project.sources[name] for name in values} | own.sources
    values = _overlay(values, own.values)
    problems, left_out = project.problems + own.problems, own.left_out
    if any(name.startswith(PREFIXES) for name in os.environ):
        from subcog_hooks.settings.sources import read_variables  # few processes have one

        variables = read_variables(os.environ)
        stronger = variables.values
        if not obeys_variables:
            stronger, loosening = _keep_tightening(variables, Settings(values), VARIABLE)
            ignored += loosening
        values = _overlay(values, stronger)
        sources |= {name: variables.sources[name] for name in stronger}
        problems, left_out = problems + variables.problems, left_out | variables.left_out
    return Settings(values, problems, left_out, ignored, {name: source for name, source in sources.items() if name in values})


def _keep_tightening(part: Settings, own: Settings, source: str) -> tuple[dict[str, Value], list[str]]:
    """Return the values of a part that do not loosen the user's own, and a line with `source` for each of the others."""
    rights = {name: rights for name, _, rights, _, _ in ROWS}
    tightening: dict[str, Value] = {}
    ignored: list[str] = []
    for name, value in part.values.items():
        if not is_loosened(name, value, own[name], rights[name]):
            tightening[name] = value
            continue
        if isinstance(value, bool):
            fault = f"is true, yours is false; {source} may only switch it off"
        else:
            fault = f"is {value}, yours is {own[name]}; {source} may only {rights[name].split()[-1]} it"
        is_obeyed = (source, name) == (VARIABLE, "search.min_similarity")
        obeys = "only your own `subcog search` obeys it" if is_obeyed else "it is ignored"
        ignored.append(f"{part.sources[name]}: {name} {fault}, so {obeys}")
    return tightening, ignored


def is_loosened(name: str, value: Value, own: Value, rights: str) -> bool:
    """Return whether a value from a project or a variable is looser than the user's own value of this setting.

    >>> [is_loosened("surfacing.min_relevance", value, 0.22, "raise") for value in (0.1, 0.5)]
    [True, False]
    """
    if isinstance(value, str) or isinstance(own, str):
        return False
    if name == "surfacing.maybe_relevance":
        value, own = value or _NEVER, own or _NEVER  # 0 switches it off, which is the tightest
    return ("raise" in rights and value < own) or ("lower" in rights and value > own)


def _overlay(values: dict[str, Value], stronger: dict[str, Value]) -> dict[str, Value]:
    """Return the values with the stronger ones. A preset among these also removes the weaker mode and alpha."""
    if "fusion.preset" in stronger:
        preset = PRESETS[str(stronger["fusion.preset"])]
        values = {name: value for name, value in values.items() if name not in preset}
    return {**values, **stronger}


def _read_file(path: str, cache: Cache | None) -> Settings:
    try:
        status = os.stat(path)
    except OSError:
        return Settings()
    stamp = hash((status.st_mtime_ns, status.st_ctime_ns, status.st_ino))  # Some systems give all files one mtime.
    if cache is not None:
        text = cache.find_compiled(path, stamp, status.st_size)
        if text is not None and (compiled := load_compiled(text)) is not None:
            return compiled
    from subcog_hooks.settings import sources  # 12 ms: only the terminal, and a hook after the file has changed

    settings = sources.parse_file(path, is_own=os.path.basename(path) != PROJECT_FILE)
    if cache is not None:
        try:
            cache.keep_compiled(path, stamp, status.st_size, compile_settings(settings))
        except StoreError:
            pass  # it is parsed again the next time
    return settings
