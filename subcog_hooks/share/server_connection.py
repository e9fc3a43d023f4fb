"""The connection to the team's server: whose settings count, how it is encrypted, how long it is waited for.

libpq's own ways hold: a service file, a password file, its environment, its TLS settings. Variables that a repository at hand
sets do not count. No password passes through here.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import contextmanager

from subcog_hooks.core import child_environment
from subcog_hooks.core.errors import ConfigError, ServerError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping
    from typing import Any  # of a row: what a column holds is said by the schema

    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]

CONNECT_WAIT_S = 10  # of a command that somebody waits for
RESTING_WAIT_S = 5  # of the work at rest
STATEMENT_WAIT_MS = 60_000  # a batch takes .2 s; a whole export is read in pieces
OTHERS_WAIT_MS = 10_000  # for another client that is sending a batch
UNREACHABLE_MS = 20_000  # without a sign of the server's machine
SILENT_S = 75.0  # without a word of the server, which ends a statement itself after STATEMENT_WAIT_MS
LONGEST_ANSWER_S = 600.0  # to a statement, however it trickles in; a batch has 8 MB
BUILDING_S = 7_200.0  # both, where it makes an index of millions of vectors
LONGEST_MESSAGE = 300  # characters of what the server says
# in what libpq says where trying again does not help: a server that is not proven, a password or a service that is not found
SETTLED = ("certificate", "channel binding", "authentication method", "password", "definition of service")
VERIFYING = ("verify-ca", "verify-full")
ENCRYPTED = ("require", *VERIFYING)
KNOWS_REQUIRE_AUTH = 160_000  # the version of libpq, as of `sslrootcert=system`

_UNKNOWN_THERE = re.compile(r'(role|database) ".*" (does not exist|is not permitted to log in)')
_PASSWORD = re.compile(r"(password|passwd|pwd)\s*=\s*\S+", re.IGNORECASE)
_LOGIN = re.compile(r"(postgres(?:ql)?://[^\s:/@]*):[^\s@]*@", re.IGNORECASE)


def drop_project_variables() -> list[str]:
    """Remove the variables of libpq and TLS that a repository at hand sets, and return a line for each."""
    return child_environment.drop_set_variables("PG", "KRB5", *child_environment.FOR_TLS)


def require_library() -> None:
    """Raise ServerError with what to install where psycopg is missing or finds no libpq."""
    drop_project_variables()  # before libpq and its TLS library read them
    try:
        import psycopg  # noqa: F401 - 90 ms, and an extra: only commands that share have it
    except ImportError as error:
        raise ServerError("sharing needs psycopg, which is not installed", 'install "subcog[share]"') from error


def settings_of(url: str) -> dict[str, str]:
    """Return the connection's parameters as libpq will have them: the address, its service, the environment, defaults.

    url: `share.url`. Raises ConfigError for an address that libpq does not take or that has a password in it.
    """
    import psycopg
    from psycopg import pq

    try:
        given = {option.keyword.decode(): option.val.decode() for option in pq.Conninfo.parse(url.encode()) if option.val}
    except psycopg.Error as error:
        raise ConfigError("share.url is no address", "expected one such as postgresql://ada@db.example.com/team") from error
    if "password" in given or "sslpassword" in given:
        raise ConfigError("share.url has a password in it", "put it into ~/.pgpass, or into a service file")
    service = given.get("service")
    with _service_in_force(service):
        known = _defaults()
    if service and known == {**_defaults(), "service": service}:  # nothing comes of it, of which libpq tells who connects
        raise ConfigError(f"the server's service {service} is not found", "it stands in ~/.pg_service.conf, or PGSERVICEFILE")
    return {**known, **given}


def _defaults() -> dict[str, str]:
    """Return the parameters of the environment and its service, and libpq's own. Raises ConfigError."""
    import psycopg
    from psycopg import pq

    try:
        options = pq.Conninfo.get_defaults()
    except psycopg.Error as error:
        raise ConfigError("the server's service can not be read", _clean(str(error))) from error
    return {option.keyword.decode(): option.val.decode() for option in options if option.val}


@contextmanager
def _service_in_force(service: str | None) -> Iterator[None]:
    """Let libpq's defaults be those of a service meanwhile: it tells them of the environment's service alone."""
    before = os.environ.get("PGSERVICE")
    if service:
        os.environ["PGSERVICE"] = service
    try:
        yield
    finally:
        if service and before is None:
            del os.environ["PGSERVICE"]
        elif service and before is not None:
            os.environ["PGSERVICE"] = before


def is_local(parameters: Mapping[str, str]) -> bool:
    """Return whether the server is on this machine: what is sent to it does not travel.

    >>> [is_local({"host": host}) for host in ("/run/postgresql", "127.0.0.1,::1", "db.example.com", "10.0.0.1,localhost")]
    [True, True, False, False]
    >>> is_local({}), is_local({"host": "localhost", "hostaddr": "10.0.0.1"})
    (True, False)
    """
    hosts = (parameters.get("hostaddr") or parameters.get("host") or "").split(",")
    return all(not host or host.startswith(("/", "@")) or _is_loopback(host) for host in hosts)


def _is_loopback(host: str) -> bool:
    return host.lower() in ("localhost", "::1") or re.fullmatch(r"127\.\d{1,3}\.\d{1,3}\.\d{1,3}", host) is not None


def tls_mode(parameters: Mapping[str, str]) -> str:
    """Return the sslmode to connect with: `verify-full` unless the server is local, or another that encrypts was asked for.

    >>> tls_mode({"host": "db.example.com"}), tls_mode({"host": "db.example.com", "sslmode": "require"})
    ('verify-full', 'require')
    >>> tls_mode({"host": "localhost"}), tls_mode({"host": "db.example.com", "sslmode": "disable"})
    ('prefer', 'verify-full')
    """
    mode = parameters.get("sslmode", "prefer")
    return mode if mode in ENCRYPTED or is_local(parameters) else "verify-full"


def protection(parameters: Mapping[str, str], libpq: int) -> dict[str, Any]:
    """Return the parameters that keep password and memories from whoever only poses as the server.

    A certificate proves who a server is. Where none is asked for, the password has to: with channel binding the server shows
    that it knows the password, too, and that nobody stands between. What the person says about it in the address, in the
    service or in the environment holds. libpq: its version.

    >>> protection({"host": "db.example.com", "sslmode": "require"}, 180_000)
    {'sslmode': 'require', 'channel_binding': 'require', 'require_auth': 'scram-sha-256'}
    >>> protection({"host": "db.example.com", "sslmode": "require", "require_auth": "gss"}, 180_000)
    {'sslmode': 'require'}
    >>> protection({"host": "localhost"}, 180_000)
    {'sslmode': 'prefer', 'require_auth': '!password,!md5'}
    """
    mode = tls_mode(parameters)
    made: dict[str, Any] = {"sslmode": mode}
    is_to_choose = "require_auth" not in parameters
    if mode in VERIFYING:
        if "sslrootcert" not in parameters and (file := _authorities()):
            made["sslrootcert"] = file
    elif is_local(parameters):
        if libpq >= KNOWS_REQUIRE_AUTH and is_to_choose:
            made["require_auth"] = "!password,!md5"  # another user of this machine may listen where the server does not
    elif is_to_choose:
        if parameters.get("channel_binding") != "disable":  # which some proxies need
            made["channel_binding"] = "require"
        if libpq >= KNOWS_REQUIRE_AUTH:
            made["require_auth"] = "scram-sha-256"
    return made


def _authorities() -> str:
    """Return the file of the certificate authorities of the system, "" where the person has one for PostgreSQL.

    `sslrootcert=system` would look where the libraries of psycopg's builds were made.
    """
    own = os.path.join(os.environ.get("APPDATA", ""), "postgresql") if os.name == "nt" else os.path.expanduser("~/.postgresql")
    if os.path.exists(os.path.join(own, "root.crt")):
        return ""
    import ssl

    known = ssl.get_default_verify_paths().cafile
    if known:
        return known
    import certifi  # for a Python that does not know the system's certificates

    return certifi.where()


def identity_of(url: str) -> str:
    """Return what an agreement to share holds for: the hosts, ports and database that an address leads to.

    Raises ServerError without psycopg, ConfigError as `settings_of`.
    """
    require_library()
    parameters = settings_of(url)
    told = {name: parameters.get(name, "") for name in ("host", "hostaddr", "port", "dbname")}
    told["dbname"] = told["dbname"] or parameters.get("user", "")  # as libpq has it
    return " ".join(f"{name}={value}" for name, value in told.items() if value)


def place_of(url: str) -> str:
    """Return the server and the database in words, without user and password, for messages.

    >>> place_of("postgresql://ada@db.example.com:5433/team"), place_of("service=team")
    ('db.example.com:5433/team', 'service=team')
    >>> place_of("postgresql://ada@/team?host=/run/postgresql")
    'localhost/team'
    """
    place = url.partition("://")[2].rpartition("@")[2].partition("?")[0]
    return f"localhost{place}" if place.startswith("/") else place or url


@contextmanager
def opened(url: str, wait_s: int = CONNECT_WAIT_S, silent_s: float | None = None) -> Iterator[Connection]:
    """Yield a connection in autocommit mode. Raises ConfigError, ServerError; psycopg's own errors become ServerError.

    url: `share.url`. wait_s: for the server to answer. silent_s: after which one that falls silent later is given up, SILENT_S
    where nothing is said.
    """
    require_library()
    from psycopg import pq

    parameters = settings_of(url)
    options = " ".join(
        [
            f"-c statement_timeout={STATEMENT_WAIT_MS}",
            f"-c lock_timeout={OTHERS_WAIT_MS}",
            f"-c idle_in_transaction_session_timeout={STATEMENT_WAIT_MS}",  # or who falls silent keeps others from sending
            "-c search_path=pg_catalog",
        ]
    )
    with translated(url):
        connection = _patient(silent_s or SILENT_S).connect(
            url,
            autocommit=True,
            **protection(parameters, pq.version()),
            connect_timeout=wait_s,
            application_name="subcog",
            options=f"{parameters.get('options', '')} {options}".strip(),
            keepalives_idle=5,
            keepalives_interval=5,
            keepalives_count=3,
            tcp_user_timeout=UNREACHABLE_MS,
        )
        try:
            yield connection
        finally:
            connection.close()


def _patient(silent_s: float) -> type[Connection]:
    """Return psycopg's connection, given up where the server says nothing for so long: libpq itself would wait for ever."""
    import psycopg

    class Patient(psycopg.Connection):
        def wait(self, gen: Generator[Any, Any, Any], *args: Any, **options: Any) -> Any:
            try:
                return super().wait(_listened_to(gen, silent_s), *args, **options)
            except _Silent as silence:
                self.pgconn.finish()  # what is under way will not be ended otherwise
                raise psycopg.OperationalError(str(silence)) from None

    return Patient


class _Silent(Exception):
    """The server says nothing any more, or too little."""


def _listened_to(gen: Generator[Any, Any, Any], silent_s: float) -> Generator[Any, Any, Any]:
    """Run what waits for the server, which is told several times a second of nothing. Raises _Silent."""
    began = heard = time.monotonic()
    longest_s = max(LONGEST_ANSWER_S, silent_s)
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            now = time.monotonic()
            if ready:
                heard = now
            elif now - heard > silent_s:
                raise _Silent(f"it has said nothing for {silent_s:.0f} seconds")
            if now - began > longest_s:
                raise _Silent(f"its answer was not complete after {longest_s:.0f} seconds")
            wanted = gen.send(ready)
    except StopIteration as end:
        return end.value


@contextmanager
def translated(url: str) -> Iterator[None]:
    """Raise psycopg's errors as ServerError, of one line, without a password."""
    import psycopg

    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        said = _clean(str(error))
        is_of_server = "extension" in said or "for database" in said  # not of the tables
        hint = "see `subcog help sharing`" if is_of_server else "their owner lets you: `subcog share init --grant ROLE`"
        raise ServerError(f"{place_of(url)} does not allow it: {said}", hint) from error
    except psycopg.errors.LockNotAvailable as error:
        raise ServerError(f"another client has been sending to {place_of(url)} for long", "try again later") from error
    except psycopg.OperationalError as error:
        said = _clean(str(error))
        if _UNKNOWN_THERE.search(said):
            hint = "correct the role or the database in the address"
            raise ServerError(f"{place_of(url)} does not know it: {said}", hint) from error
        hint = "see `subcog help sharing`" if any(word in said for word in SETTLED) else "nothing is lost; try again"
        raise ServerError(f"{place_of(url)} can not be reached: {said}", hint) from error
    except psycopg.Error as error:
        raise ServerError(f"{place_of(url)} has refused: {_clean(str(error))}", "see `subcog help sharing`") from error


def _clean(message: str) -> str:
    """Return what libpq or the server says in one line, without secrets.

    >>> _clean("connection failed\\n  password=hunter2 at postgresql://ada:hunter2@db/team")
    'connection failed password=[redacted] at postgresql://ada:[redacted]@db/team'
    """
    from subcog_hooks.redaction.leaks import mask

    line = _PASSWORD.sub(r"\1=[redacted]", " ".join(message.split()))
    return mask(_LOGIN.sub(r"\1:[redacted]@", line))[:LONGEST_MESSAGE]
