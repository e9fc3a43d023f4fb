"""The contents of a settings file, and their compiled form, which a hook reads in place of TOML."""

from __future__ import annotations

from subcog_hooks import __version__, wire
from subcog_hooks.settings.defaults import DEFAULTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.settings.defaults import Value

EVERYTHING = "*"  # stands for all keys, where a file cannot be read
_FORM = "values problems left_out lines-of-all"


class FileSettings:
    """The contents of a settings file.

    values: the valid values, by key; problems: a line for each fault; left_out: the keys at fault, or EVERYTHING; lines: the
    line of each valid value.
    """

    __slots__ = ("left_out", "lines", "problems", "values")

    def __init__(
        self,
        values: dict[str, Value] | None = None,
        problems: list[str] | None = None,
        left_out: list[str] | None = None,
        lines: dict[str, int] | None = None,
    ) -> None:
        self.values = values or {}
        self.problems = problems or []
        self.left_out = left_out or []
        self.lines = lines or {}


def compile_settings(settings: FileSettings) -> str:
    """Return the compiled form of a file's settings."""
    import json  # only after a file has changed

    return json.dumps({"of": _signature(), **{name: getattr(settings, name) for name in FileSettings.__slots__}})


def load_compiled(text: str) -> FileSettings | None:
    """Return the settings of a compiled form, None where another version of subcog has written it."""
    stored = wire.loads(text)
    if not isinstance(stored, dict) or stored.get("of") != _signature():
        return None
    return FileSettings(stored["values"], stored["problems"], stored["left_out"], stored["lines"])


def _signature() -> str:
    """Return a text that changes with the version and the settings, which may compile a file to something else."""
    return f"{_FORM} {__version__} {DEFAULTS}"
