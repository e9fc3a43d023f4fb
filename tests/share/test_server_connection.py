"""Servers that are not who they seem to be or say nothing, and passwords."""

import itertools
import json
import os
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from subcog_hooks.core.errors import ConfigError, ServerError
from subcog_hooks.settings.defaults import SHARE_URL
from subcog_hooks.settings.sources import KEYS
from subcog_hooks.share import server_connection
from tests.share.conftest import Member, Team, greeting
from tests.share.person import Person

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no process can be stopped here")
def test_a_server_that_falls_silent_is_given_up(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_connection, "SILENT_S", 0.5)
    url = team.member("ada").url

    def ask() -> None:
        with server_connection.open_connection(url) as opened, server_connection.raise_server_errors(url):
            [(backend,)] = opened.execute("SELECT pg_backend_pid()").fetchall()
            os.kill(backend, signal.SIGSTOP)
            try:
                with opened.transaction():
                    opened.execute("SELECT 1")
            finally:
                os.kill(backend, signal.SIGCONT)

    with pytest.raises(ServerError, match="has said nothing for"):
        ask()


def test_a_server_whose_answer_never_ends_is_given_up(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_connection, "SILENT_S", 0.4)
    monkeypatch.setattr(server_connection, "MAX_ANSWER_S", 0.5)
    endless = (b"x" for _ in range(10_000))
    with (
        greeting(itertools.chain([b"E" + struct.pack("!I", 100_000)], endless)) as url,
        pytest.raises(ServerError, match="its answer was not complete after"),
    ):
        team.member("ada").sync(url)


@contextmanager
def in_the_middle(folder: Path, *, has_tls: bool = True, asks: bytes = b"") -> Iterator[int]:
    """Yield the port of a server that offers TLS as PostgreSQL does, with a certificate of its own making, or that has none.

    asks: its answer to who connects, after which it must hear nothing more; without it nothing at all.
    """
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    files = ["-keyout", str(folder / "key"), "-out", str(folder / "certificate"), "-subj", "/CN=localhost"]
    subprocess.run([*command, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate", folder / "key")
    listening = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        try:
            while True:
                client, _ = listening.accept()
                with client:
                    client.recv(8)
                    client.sendall(b"S" if has_tls else b"N")
                    try:
                        if has_tls:
                            with context.wrap_socket(client, server_side=True) as secure:
                                hear(secure)
                        else:
                            hear(client)
                    except OSError:
                        pass
        except OSError:
            return

    def hear(client: socket.socket) -> None:
        if asks:
            greeted.append(client.recv(1_000))  # user and database
            client.sendall(asks)
        heard.append(client.recv(1_000))

    heard: list[bytes] = []
    greeted: list[bytes] = []
    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(5)
    assert not any(heard)  # nothing was said to it
    assert bool(greeted) == bool(asks)


@needs_openssl
def test_a_man_in_the_middle_is_refused(team: Team, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    ada = team.member("ada")
    with in_the_middle(tmp_path) as port, in_the_middle(other):
        url = f"postgresql://ada@127.0.0.1:{port}/team?sslmode=verify-full&sslrootcert={other}/certificate"
        with pytest.raises(ServerError, match="certificate verify failed"):
            ada.sync(url)


@needs_openssl
def test_a_server_without_tls_is_refused_where_it_is_not_local(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_connection, "is_local", lambda _: False)  # the one address that a test has is local
    with in_the_middle(tmp_path, has_tls=False) as port, pytest.raises(ServerError, match="does not support SSL"):
        team.member("ada").sync(f"postgresql://ada@127.0.0.1:{port}/team?sslmode=disable")


ASKED = {
    "a password": b"R" + struct.pack("!II", 8, 3),
    "a password's MD5": b"R" + struct.pack("!II4s", 12, 5, b"salt"),
    "nothing": b"R" + struct.pack("!II", 8, 0),
}


@needs_openssl
@pytest.mark.parametrize("asks", ASKED)
def test_an_impostor_gets_neither_password_nor_memories(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asks: str
) -> None:
    monkeypatch.setattr(server_connection, "is_local", lambda _: False)
    ada = passing("hunter2", team, tmp_path, monkeypatch)
    with in_the_middle(tmp_path, asks=ASKED[asks]) as port, pytest.raises(ServerError, match="see `subcog help sharing`"):
        ada.sync(f"postgresql://ada@127.0.0.1:{port}/team?sslmode=require")


@needs_openssl
def test_a_certificate_is_asked_for_where_nobody_says_otherwise(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_connection, "is_local", lambda _: False)
    ada = passing("hunter2", team, tmp_path, monkeypatch)
    with in_the_middle(tmp_path) as port, pytest.raises(ServerError, match=r"certificate verify failed.*; see `subcog help sh"):
        ada.sync(f"postgresql://ada@127.0.0.1:{port}/team")


@needs_openssl
@pytest.mark.parametrize("asks", ["a password", "a password's MD5"])
def test_a_listener_in_place_of_a_local_server_gets_no_password(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asks: str
) -> None:
    ada = passing("hunter2", team, tmp_path, monkeypatch)
    with in_the_middle(tmp_path, has_tls=False, asks=ASKED[asks]) as port, pytest.raises(ServerError, match="help sharing"):
        ada.sync(f"postgresql://ada@127.0.0.1:{port}/team")


def passing(password: str, team: Team, folder: Path, monkeypatch: pytest.MonkeyPatch, role: str = "ada") -> Member:
    """Return a member whose password file has the password for every server."""
    file = folder / "passwords"
    file.write_text(f"*:*:*:{role}:{password}\n", encoding="utf-8")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    return team.member(role)


def test_a_real_server_with_a_certificate_of_its_own_making(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if team.run("SHOW ssl") != [("on",)]:
        pytest.skip("this server has no TLS")
    monkeypatch.setattr(server_connection, "is_local", lambda _: False)
    team.run("ALTER ROLE ada PASSWORD 'hunter2'")
    ada = passing("hunter2", team, tmp_path, monkeypatch)
    ada.remember("encrypted")
    [(port,)], [(certificate,)] = team.run("SHOW port"), team.run("SHOW ssl_cert_file")
    url = f"postgresql://ada@127.0.0.1:{port}/{team.database}"
    with pytest.raises(ServerError, match="certificate verify failed"):
        ada.sync(url)
    assert ada.sync(f"{url}?sslmode=require").sent == 1  # the server knows the password, and nobody stands between
    assert ada.sync(f"{url}?sslmode=verify-ca&sslrootcert={certificate}").sent == 0


@pytest.mark.parametrize(
    "address", ["ada:hunter2@localhost/team", "localhost/team?pass%77ord=hunter2", "localhost/team?sslpassword=hunter2"]
)
def test_no_password_gets_into_a_settings_file(address: str) -> None:
    with pytest.raises(ConfigError, match="without a password"):
        KEYS[SHARE_URL].from_text(f"postgresql://{address}")


def test_a_repository_does_not_weaken_the_proof_of_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = {"PGSSLMODE": "require", "PGREQUIREAUTH": "none", "PGCHANNELBINDING": "disable", "PGSSLROOTCERT": "/theirs.pem"}
    theirs |= {"SSL_CERT_FILE": "/theirs.pem", "OPENSSL_CONF": "/theirs.cnf"}
    for name, value in {**theirs, "PGAPPNAME": "mine"}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / ".claude").mkdir()
    (tmp_path / "shop" / ".claude" / "settings.json").write_text(json.dumps({"env": theirs}))
    monkeypatch.chdir(tmp_path / "shop")
    server_connection.require_library()
    parameters = server_connection.connection_settings("postgresql://ada@db.example.com/team")
    assert not {"require_auth", "sslrootcert"} & parameters.keys()
    kept = (server_connection.tls_mode(parameters), parameters["channel_binding"], parameters["application_name"])
    assert kept == ("verify-full", "prefer", "mine")
    assert not theirs.keys() & os.environ.keys()


def test_share_drops_a_repositorys_variables_and_names_them(ada: Person) -> None:
    ada.begin()
    (ada.folder / ".claude").mkdir()
    (ada.folder / ".claude" / "settings.json").write_text('{"env": {"PGREQUIREAUTH": "gss"}}')
    done = ada.run_apart("share", "sync", PGREQUIREAUTH="gss")
    assert "PGREQUIREAUTH is ignored" in done.stderr
