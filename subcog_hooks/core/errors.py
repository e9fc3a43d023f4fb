"""The errors, as a tree. Every error carries the fact, the remedy and the terminal's exit code.

SubcogError                    exit code
├── UsageError                 2   an argument that does not hold
│   ├── NoMemory               1   an id that is not in the store
│   ├── NoVerdict              1   a run of the hook of which nothing is known
│   └── InvalidMemory          2   a field that does not hold
├── StoreError                 3   a store that cannot be used
│   ├── StoreBusy              3   another writer held the store too long
│   ├── StoreCorrupt           3   memories.db is not a sound database
│   ├── StoreTooNew            3   written by a later version
│   └── StoreTooOld            3   written by a version before 0.1.0
├── ConfigError                4   a setting that is unknown or outside its range
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
    exit_code = EXIT_USAGE


class NoMemory(UsageError):
    exit_code = EXIT_NOTHING_FOUND


class NoVerdict(UsageError):
    exit_code = EXIT_NOTHING_FOUND


class InvalidMemory(UsageError): ...


class StoreError(SubcogError): ...


class StoreBusy(StoreError): ...


class StoreCorrupt(StoreError): ...


class StoreTooNew(StoreError): ...


class StoreTooOld(StoreError): ...


class ConfigError(SubcogError):
    exit_code = EXIT_CONFIG


class ModelError(SubcogError):
    exit_code = EXIT_MODEL


class ExtraMissing(SubcogError):
    exit_code = EXIT_MODEL


class ServerError(SubcogError):
    exit_code = EXIT_MODEL


class NotAgreedTo(ServerError): ...


class ProviderError(SubcogError):
    exit_code = EXIT_MODEL


class UnusableAnswer(ProviderError): ...


class ProviderTimeout(ProviderError): ...


class ProviderGone(ProviderError): ...
