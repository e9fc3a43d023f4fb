"""The errors, as a tree. Every error carries the fact, the remedy and the terminal's exit code.

SubcogError                    exit code
├── UsageError                 2
│   ├── NoMemory               1   an id that is not in the store
│   ├── NoVerdict              1   a run of the hook of which nothing is known
│   └── InvalidMemory          2   a field that does not hold
├── StoreError                 3
│   ├── StoreBusy              3   another writer held the store too long
│   ├── StoreCorrupt           3   memories.db is not a sound database
│   ├── StoreTooNew            3   written by a later version
│   └── StoreTooOld            3   written by a version before 0.1.0
├── ConfigError                4
├── ModelError                 5   an embedding model is missing, incomplete or of another shape
├── ExtraMissing               5   a package of an optional extra is not installed
├── ServerError                5   the team's server cannot be reached, or refuses, or has another schema
│   └── NotAgreedTo            5   it is not the one that the person agreed to share with
└── ProviderError              5   an LLM cannot be reached, or answers nothing that can be used
    ├── UnusableAnswer         5   it answers in another form, or refuses this question alone
    ├── ProviderTimeout        5   it did not answer in time
    └── ProviderGone           5   the connection broke before the answer was complete
"""

EXIT_NOTHING_FOUND = 1
EXIT_USAGE = 2
EXIT_STORE = 3
EXIT_CONFIG = 4
EXIT_MODEL = 5
EXIT_INTERRUPTED = 130

_EXTRAS = {"models": "fastembed", "share": "psycopg", "mcp": "mcp"}  # to the package that tells whether it is installed


def extra_remedy(extra: str) -> str:
    """Return the command that installs an optional extra from a clone, and keeps the extras that are there."""
    from importlib.util import find_spec  # Few commands miss a package.

    names = ",".join(name for name, package in _EXTRAS.items() if name == extra or find_spec(package))
    return f'in your clone run `uv tool install ".[{names}]"`, or install them with pip or pipx'


class SubcogError(Exception):
    """A failure that the user can act on.

    message: one line that names the thing and the place; hint: what to do next, or "".
    """

    exit_code = EXIT_STORE

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class UsageError(SubcogError):
    """The command was called with an invalid argument."""

    exit_code = EXIT_USAGE


class NoMemory(UsageError):
    """No memory has this id."""

    exit_code = EXIT_NOTHING_FOUND


class NoVerdict(UsageError):
    """No decision has this id, or there is none yet."""

    exit_code = EXIT_NOTHING_FOUND


class InvalidMemory(UsageError):
    """A field of a memory has a value outside of the model's range."""


class StoreError(SubcogError):
    """The store cannot be used."""


class StoreBusy(StoreError):
    """Another process held the write lock longer than the bounded wait."""


class StoreCorrupt(StoreError):
    """The database file is damaged or is not a database."""


class StoreTooNew(StoreError):
    """The database was written by a later version of subcog."""


class StoreTooOld(StoreError):
    """The database was written by a version before 0.1.0, and has no upgrade."""


class ConfigError(SubcogError):
    """A setting is unknown or outside its range."""

    exit_code = EXIT_CONFIG


class ModelError(SubcogError):
    """An embedding model is missing, incomplete or of another shape."""

    exit_code = EXIT_MODEL


class ExtraMissing(SubcogError):
    """A package of an optional extra is not installed."""

    exit_code = EXIT_MODEL


class ServerError(SubcogError):
    """The team's server cannot be reached, refuses the request, or has another schema."""

    exit_code = EXIT_MODEL


class NotAgreedTo(ServerError):
    """The team's server is another one than the person agreed to share with."""


class ProviderError(SubcogError):
    """An LLM cannot be reached, or answers with an error or with nothing that can be used."""

    exit_code = EXIT_MODEL


class UnusableAnswer(ProviderError):
    """The LLM works, but refuses this question, or answers in another form than was asked for."""


class ProviderTimeout(ProviderError):
    """The LLM did not answer in time."""


class ProviderGone(ProviderError):
    """The connection to the LLM broke before the answer was complete."""
