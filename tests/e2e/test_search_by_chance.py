"""`subcog search` of nonsense gives advice alone; the beginning of a word finds it; an empty store says what to do first."""

import json
import shutil
from pathlib import Path

import pytest

from tests.e2e.machine import Machine, posix
from tests.e2e.screen import OnTerminal

ROWS: list[dict[str, object]] = [
    {"id": "migration", "content": "Every migration of the database is written so that it can be rolled back."},
    {"id": "hooks", "content": "Stripe calls our webhook twice when the first answer takes longer than ten seconds."},
    {"id": "cluster", "content": "The staging environment is rebuilt from scratch each night.", "tags": ["kubernetes"]},
    {"id": "cat", "content": "The office cat sleeps on the warm server rack in winter."},
    {"id": "cents", "content": "Invoices are rounded to whole cents per line, never on the total."},
    {"id": "pool", "content": "Idle connections are closed after 30 seconds because the load balancer drops them."},
]
NONSENSE = ["xyzzyplugh", "qwrtzpsdf", "glorbnak frimble", "zxcvbnm asdfgh", "wuggle snorfin plib"]
MODES = [[], ["--fast"]]


@pytest.fixture(scope="module")
def stored(subcog_command: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that holds the rows, to be copied."""
    machine = Machine(subcog_command, tmp_path_factory.mktemp("stored"))
    machine.imports(*({"created_at": "2026-03-02", **row} for row in ROWS))
    return machine.home


@pytest.fixture
def noted(bare: Machine, stored: Path) -> Machine:
    shutil.copytree(stored, bare.home)
    return bare


@pytest.mark.parametrize("options", MODES)
def test_nonsense_finds_nothing_and_gets_advice_alone(noted: Machine, options: list[str]) -> None:
    for text in NONSENSE:
        done = noted.run("search", *options, "--ids", text)
        assert (done.code, done.stdout) == (1, b""), text
        assert b"nothing found; try fewer or other words" in done.stderr
        assert b"the memories here are about: " in done.stderr
    told = json.loads(noted.run("search", *options, "--json", NONSENSE[0]).stdout)
    assert (told["confidence"], told["results"], bool(told["suggestions"])) == ("no_results", [], True)


def test_a_beginning_finds_words_and_tags(noted: Machine) -> None:
    for id_, query in (
        ("migration", "migrati"),
        ("hooks", "--fast webho"),
        ("cluster", "--fast kuber"),
        ("cluster", "--mode lexical kuber"),
    ):
        done = noted.run("search", "--ids", *query.split())
        assert (done.code, done.stdout.decode().split()[0]) == (0, id_)
    near = "Containers are scheduled on nodes by an orchestrator."  # a weak neighbour by meaning
    noted.imports({"id": "near", "content": near, "created_at": "2026-03-02"})
    for beginning in ("kuber", "kubern"):
        assert noted.run("search", "--ids", beginning).stdout.decode().split()[0] == "cluster"


def test_an_empty_store_is_answered_with_what_to_do_first(bare: Machine) -> None:
    for _ in range(2):
        done = bare.run("search", "--fast", "anything")
        assert (done.code, done.stdout) == (1, b"")
        assert b'remember something first: subcog remember "the text"' in done.stderr
        assert b"nothing found; try" not in done.stderr
        id_ = bare.run("remember", "A text.").stdout.decode().strip()
        assert bare.run("forget", "--purge", "--yes", id_).code == 0  # a store without memories is as empty as none


@posix
@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_shows_how_sure_each_result_is(noted: Machine, columns: int) -> None:
    for query, label in (("invoices rounded to whole cents per line", "very high"), ("invoicesque", "low")):
        code, lines = OnTerminal.shown([noted.command, "search", "--fast", query], noted.folder, noted.environment, columns)
        assert code == 0
        line = next(line for line in lines if line.startswith("cents"))
        relevance = line.split(label + " ")[1].split()[0]
        assert 0.0 <= float(relevance) <= 1.0
