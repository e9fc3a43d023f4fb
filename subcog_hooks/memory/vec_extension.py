"""sqlite-vec, the functions that compare vectors inside SQLite: found, and loaded into a connection."""

import os
import sys

import apsw

from subcog_hooks.errors import StoreError

_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")


class ExtensionMissing(StoreError):  # noqa: N818 - errors are named by the fact
    """sqlite-vec is not installed, or SQLite may not load it here: search by words goes on."""


def load(connection: apsw.Connection) -> None:
    """Load sqlite-vec into a connection. Raises ExtensionMissing.

    The library lies beside apsw's folder; sqlite-vec's own package is asked only where it does not, because it imports the
    standard sqlite3.
    """
    file = os.path.join(os.path.dirname(os.path.dirname(apsw.__file__)), "sqlite_vec", "vec0")
    if not os.path.exists(file + _SUFFIX):
        try:
            import sqlite_vec  # 8 ms, see above

            file = sqlite_vec.loadable_path()
        except ImportError as error:
            raise ExtensionMissing("sqlite-vec is not installed; search is by words alone", "pip install sqlite-vec") from error
    try:
        connection.enable_load_extension(True)
        connection.load_extension(file)
        connection.enable_load_extension(False)
    except (apsw.Error, AttributeError) as error:  # a build of SQLite without extensions lacks the method
        raise ExtensionMissing(
            f"sqlite-vec can not be loaded ({error}); search is by words alone", "reinstall subcog"
        ) from error
