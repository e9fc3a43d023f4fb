"""The connection to the team's server: its settings, its encryption and its timeouts.

libpq's own sources hold: a service file, a password file, its environment, its TLS settings. Variables that a repository at
hand sets do not count. No password passes through here.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import contextmanager

from subcog_hooks.core import repository_variables
from subcog_hooks.core.errors import ConfigError, ServerError, extra_remedy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping
    from typing import Any  # a row's columns: the schema gives their types

    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]

CONNECT_WAIT_S = 10  # seconds to the server's first answer
STATEMENT_WAIT_MS = 60_000  # ms; a batch takes .2 s
OTHERS_WAIT_MS = 10_000  # ms, while another client sends a batch
UNREACHABLE_MS = 20_000  # ms without a packet from the server's machine
SILENT_S = 75.0  # seconds without an answer; the server itself ends a statement after STATEMENT_WAIT_MS
MAX_ANSWER_S = 600.0  # seconds for the whole answer to a statement; a batch has 8 MB
MAX_MESSAGE = 300  # characters of a server message
# Words of libpq's errors that a retry does not cure: an unproven server, or a missing password.
FINAL_ERRORS = ("certificate", "channel binding", "authentication method", "password")
VERIFYING = ("verify-ca", "verify-full")
ENCRYPTED = ("require", *VERIFYING)

_LOOPBACK = re.compile(r"localhost|::1|127(?:\.\d{1,3}){3}", re.IGNORECASE)
_PASSWORD = re.compile(r"(password|passwd|pwd)\s*=\s*\S+", re.IGNORECASE)
_LOGIN = re.compile(r"(postgres(?:ql)?://[^\s:/@]*):[^\s@]*@", re.IGNORECASE)


def drop_project_variables() -> list[str]:
    """Remove the variables of libpq and TLS that a repository at hand sets, and return a line for each."""
    return repository_variables.drop_set_variables("PG", "KRB5", *repository_variables.FOR_TLS)


def require_library() -> None:
    """Raise ServerError with the install command if psycopg is missing or finds no libpq."""
    drop_project_variables()  # libpq and its TLS library would read them
    try:
        import psycopg  # noqa: F401 - 90 ms, and an extra: only commands that share import it
    except ImportError as error:
        raise ServerError("sharing needs psycopg, which is not installed", extra_remedy("share")) from error


def connection_settings(url: str) -> dict[str, str]:
    """Return the parameters as libpq will have them. Raises ConfigError for an address with a password, or that it refuses."""
    import psycopg
    from psycopg import pq

    try:
        url_settings = {
            option.keyword.decode(): option.val.decode() for option in pq.Conninfo.parse(url.encode()) if option.val
        }
    except psycopg.Error as error:
        raise ConfigError("share.url is no address", "expected one such as postgresql://ada@db.example.com/team") from error
    if "password" in url_settings or "sslpassword" in url_settings:
        raise ConfigError("share.url has a password in it", "put it into ~/.pgpass, or into a service file")
    service = url_settings.get("service", "")
    defaults = _default_settings(service)
    # libpq reports a missing service only when it connects.
    if service and defaults == {**_default_settings(), "service": service}:
        raise ConfigError(f"the server's service {service} is not found", "it stands in ~/.pg_service.conf, or PGSERVICEFILE")
    return {**defaults, **url_settings}


def _default_settings(service: str = "") -> dict[str, str]:
    """Return libpq's defaults, with those of a service. libpq takes the service for them from PGSERVICE alone."""
    import psycopg
    from psycopg import pq

    before = os.environ.get("PGSERVICE", "")
    os.environ["PGSERVICE"] = service or before
    try:
        options = pq.Conninfo.get_defaults()
    except psycopg.Error as error:
        raise ConfigError("the server's service cannot be read", _clean_message(str(error))) from error
    finally:
        os.environ["PGSERVICE"] = before
        if not before:
            del os.environ["PGSERVICE"]
    return {option.keyword.decode(): option.val.decode() for option in options if option.val}


def is_local(parameters: Mapping[str, str]) -> bool:
    """Return whether the server is on this machine, so that no data travels.

    >>> [is_local({"host": host}) for host in ("/run/postgresql", "127.0.0.1,::1", "db.example.com", "10.0.0.1,localhost")]
    [True, True, False, False]
    >>> is_local({}), is_local({"host": "localhost", "hostaddr": "10.0.0.1"})
    (True, False)
    """
    hosts = (parameters.get("hostaddr") or parameters.get("host") or "").split(",")
    return all(not host or host.startswith(("/", "@")) or _LOOPBACK.fullmatch(host) for host in hosts)


def tls_mode(parameters: Mapping[str, str]) -> str:
    """Return the sslmode to connect with: `verify-full`, unless the server is local or another encrypting mode is set.

    >>> tls_mode({"host": "db.example.com"}), tls_mode({"host": "db.example.com", "sslmode": "require"})
    ('verify-full', 'require')
    >>> tls_mode({"host": "localhost"}), tls_mode({"host": "db.example.com", "sslmode": "disable"})
    ('prefer', 'verify-full')
    """
    mode = parameters.get("sslmode", "prefer")
    return mode if mode in ENCRYPTED or is_local(parameters) else "verify-full"


def protection_parameters(parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters that keep password and memories from an impostor of the server.

    A certificate proves who a server is. Where none is asked for, the password has to: with channel binding the server shows
    that it has the password, too, and that nobody stands between. The person's own settings in the address, the service or the
    environment hold.

    >>> protection_parameters({"host": "db.example.com", "sslmode": "require"})
    {'sslmode': 'require', 'channel_binding': 'require', 'require_auth': 'scram-sha-256'}
    >>> protection_parameters({"host": "db.example.com", "sslmode": "require", "require_auth": "gss"})
    {'sslmode': 'require'}
    >>> protection_parameters({"host": "localhost"})
    {'sslmode': 'prefer', 'require_auth': '!password,!md5'}
    """
    mode = tls_mode(parameters)
    protection: dict[str, Any] = {"sslmode": mode}
    may_choose_auth = "require_auth" not in parameters
    if mode in VERIFYING:
        is_windows = os.name == "nt"
        own = os.path.join(os.environ.get("APPDATA", ""), "postgresql") if is_windows else os.path.expanduser("~/.postgresql")
        if "sslrootcert" not in parameters and not os.path.exists(os.path.join(own, "root.crt")):
            import ssl

            import certifi  # for a Python that does not find the system's certificates; libpq looks for them elsewhere

            protection["sslrootcert"] = ssl.get_default_verify_paths().cafile or certifi.where()
    elif is_local(parameters) and may_choose_auth:
        protection["require_auth"] = "!password,!md5"  # another user of this machine may listen where the server does not
    elif may_choose_auth:
        if parameters.get("channel_binding") != "disable":  # Some proxies need it disabled.
            protection["channel_binding"] = "require"
        protection["require_auth"] = "scram-sha-256"
    return protection


def server_identity(url: str) -> str:
    """Return the identity that an agreement is for: hosts, ports, database. Raises ServerError without psycopg, ConfigError."""
    require_library()
    parameters = connection_settings(url)
    identity = {name: parameters.get(name, "") for name in ("host", "hostaddr", "port", "dbname")}
    identity["dbname"] = identity["dbname"] or parameters.get("user", "")  # libpq's default
    return " ".join(f"{name}={value}" for name, value in identity.items() if value)


def server_address(url: str) -> str:
    """Return the server and the database for messages, without user and password.

    >>> server_address("postgresql://ada@db.example.com:5433/team"), server_address("service=team")
    ('db.example.com:5433/team', 'service=team')
    >>> server_address("postgresql://ada@/team?host=/run/postgresql")
    'localhost/team'
    """
    address = url.partition("://")[2].rpartition("@")[2].partition("?")[0]
    return f"localhost{address}" if address.startswith("/") else address or url


@contextmanager
def open_connection(url: str) -> Iterator[Connection]:
    """Yield a connection in autocommit mode to `share.url`. Raises ConfigError; ServerError, also for psycopg's own errors."""
    require_library()
    import psycopg

    class Patient(psycopg.Connection):
        """A connection with a limit on silence: libpq itself would wait forever."""

        def wait(self, gen: Generator[Any, Any, Any], *args: Any, **options: Any) -> Any:
            try:
                return super().wait(_limit_silence(gen), *args, **options)
            except _Silent as silence:
                self.pgconn.finish()  # Nothing else ends the statement that is running.
                raise psycopg.OperationalError(str(silence)) from None

    parameters = connection_settings(url)
    # A client that is silent in a transaction would keep others from sending.
    options = (
        f"-c statement_timeout={STATEMENT_WAIT_MS} -c lock_timeout={OTHERS_WAIT_MS}"
        f" -c idle_in_transaction_session_timeout={STATEMENT_WAIT_MS} -c search_path=pg_catalog"
    )
    with raise_server_errors(url):
        connection = Patient.connect(
            url,
            autocommit=True,
            **protection_parameters(parameters),
            connect_timeout=CONNECT_WAIT_S,
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


class _Silent(Exception):
    """The server has stopped answering, or answers too slowly."""


def _limit_silence(gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Run psycopg's wait generator, polled several times a second. Raises _Silent."""
    began = heard = time.monotonic()
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            now = time.monotonic()
            if ready:
                heard = now
            elif now - heard > SILENT_S:
                raise _Silent(f"it has said nothing for {SILENT_S:.0f} seconds")
            if now - began > MAX_ANSWER_S:
                raise _Silent(f"its answer was not complete after {MAX_ANSWER_S:.0f} seconds")
            wanted = gen.send(ready)
    except StopIteration as end:
        return end.value


@contextmanager
def raise_server_errors(url: str) -> Iterator[None]:
    """Turn psycopg's errors into ServerError, with one line and no password."""
    import psycopg

    address, help_hint = server_address(url), "see `subcog help sharing`"
    try:
        yield
    except psycopg.errors.LockNotAvailable as error:
        raise ServerError(f"another client has been sending to {address} for long", "try again later") from error
    except psycopg.Error as error:
        message = _clean_message(str(error))
        fact, hint = "has refused", help_hint
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            fact = "does not allow it"
            if "extension" not in message and "for database" not in message:
                hint = "their owner lets you: `subcog share init --grant ROLE`"
        elif isinstance(error, psycopg.OperationalError):
            fact = "cannot be reached"
            hint = help_hint if any(word in message for word in FINAL_ERRORS) else "nothing is lost; try again"
            if "does not exist" in message or "not permitted" in message:
                fact, hint = "does not know it", "correct the role or the database in the address"
        raise ServerError(f"{address} {fact}: {message}", hint) from error


def _clean_message(message: str) -> str:
    """Return a message of libpq or the server in one line, without secrets.

    >>> _clean_message("connection failed\\n  password=hunter2 at postgresql://ada:hunter2@db/team")
    'connection failed password=[redacted] at postgresql://ada:[redacted]@db/team'
    """
    from subcog_hooks.redaction.masking import mask_secrets

    line = _PASSWORD.sub(r"\1=[redacted]", " ".join(message.split()))
    return mask_secrets(_LOGIN.sub(r"\1:[redacted]@", line))[:MAX_MESSAGE]
