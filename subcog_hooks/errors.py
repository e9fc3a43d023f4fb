"""What can go wrong, as a tree. Every error carries the fact, the remedy and the terminal's exit code.

SubcogError                    exit code
├── UsageError                 2
│   ├── NoMemory               1   an id that is not in the store
│   └── InvalidMemory          2   a field that does not hold
├── StoreError                 3
│   ├── StoreBusy              3   another writer held the store too long
│   ├── StoreCorrupt           3   memories.db is not a sound database
│   └── StoreTooNew            3   written by a later version
├── ConfigError                4
└── ModelError                 5   an embedding model is missing, incomplete or of another shape
"""

EXIT_NOTHING_FOUND = 1
EXIT_USAGE = 2
EXIT_STORE = 3
EXIT_CONFIG = 4
EXIT_MODEL = 5
EXIT_INTERRUPTED = 130


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
    """The command was called with something that it can not take."""

    exit_code = EXIT_USAGE


class NoMemory(UsageError):  # noqa: N818 - errors are named by the fact
    """No memory has this id."""

    exit_code = EXIT_NOTHING_FOUND


class InvalidMemory(UsageError):  # noqa: N818 - errors are named by the fact
    """A field of a memory is outside what the model allows."""


class StoreError(SubcogError):
    """The store cannot be used."""

    exit_code = EXIT_STORE


class StoreBusy(StoreError):  # noqa: N818 - errors are named by the fact
    """Another process held the write lock longer than the bounded wait."""


class StoreCorrupt(StoreError):  # noqa: N818 - errors are named by the fact
    """The database file is damaged or is not a database."""


class StoreTooNew(StoreError):  # noqa: N818 - errors are named by the fact
    """The database was written by a later version of subcog."""


class ConfigError(SubcogError):
    """A setting is unknown or outside its range."""

    exit_code = EXIT_CONFIG


class ModelError(SubcogError):
    """An embedding model is missing, incomplete or of another shape."""

    exit_code = EXIT_MODEL
