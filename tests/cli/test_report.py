"""`subcog report`: sums of the store that hold, in every form."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from subcog_hooks.cli.page.report_page import DAY_MS
from subcog_hooks.cli.terminal.output import day
from subcog_hooks.core.paths import Home
from subcog_hooks.store import sessions
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from tests.cli.conftest import Run
from tests.conftest import Maker

NOW = 1_772_445_600_000  # 2026-03-02
LATELY = now_ms() - 1_000


def run_report(subcog: Run) -> dict[str, Any]:
    done = subcog("report", "--json")
    assert done.code == 0, done.err
    record: dict[str, Any] = done.json
    return record


@pytest.fixture
def filled_home(home: Home, make: Maker) -> Home:
    with Store.writer(home) as store:
        store.add(
            [
                make("one", id="one", project="github.com/acme/shop", namespace="decisions"),
                make("two", id="two", project="github.com/acme/shop"),
                make("three", id="three"),
                make("old", id="old", expires_at=5_000),
                make("maybe", id="maybe", status="pending"),
                make("gone", id="gone", status="deleted"),
            ]
        )
    state = State.open(home, 1_000)
    for session in ("s1", "s2"):
        sessions.record_given(state, session, ["one"], LATELY, "d")
    state.close()
    return home


def test_memories_and_hand_overs_are_counted(subcog: Run, filled_home: Home) -> None:
    record = run_report(subcog)
    assert record["projects"] == [
        {"name": "github.com/acme/shop", "active": 2, "waiting": 0, "given": 1},
        {"name": "user", "active": 1, "waiting": 1, "given": 0},
    ]
    assert [(group["name"], group["active"]) for group in record["namespaces"]] == [("learnings", 2), ("decisions", 1)]
    assert (record["memories"], record["active"], record["waiting"]) == (5, 3, ["maybe"])
    assert record["handed_over"] == {"one": 2}
    assert sorted(record["never"]) == ["three", "two"]
    assert record["handed_over_since"] == LATELY
    assert record["stale"] == [{"id": "old", "why": "expired"}]
    out = subcog("report").out
    for part in ("github.com/acme/shop", "in most sessions (1)", "    2  one", "waiting for `subcog review` (1)", "maybe"):
        assert part in out


def test_a_page_is_written_whole_and_for_its_owner(subcog: Run, filled_home: Home, tmp_path: Path) -> None:
    done = subcog("report", "--html", "report.html")
    assert done.out == ""
    assert "written to report.html" in done.err
    assert (tmp_path / "report.html").stat().st_mode & 0o077 == 0
    assert "github.com/acme/shop" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert subcog("report", "--html", "-").out == (tmp_path / "report.html").read_text(encoding="utf-8")
    failed = subcog("report", "--html", "no/such/folder.html")
    assert failed.code == 2
    assert "cannot be written" in failed.err


def test_a_page_that_can_not_be_written_leaves_nothing_behind(subcog: Run, filled_home: Home, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    for path in ("", f"{tmp_path}{os.sep}", str(tmp_path)):
        assert (failed := subcog("report", "--html", path)).code == 2
        assert "names no file" in failed.err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.skipif(os.name == "nt", reason="no pipes in folders")
def test_what_a_page_is_written_to_stays_what_it_is(subcog: Run, filled_home: Home, tmp_path: Path) -> None:
    (tmp_path / "link.html").symlink_to(tmp_path / "page.html")
    assert subcog("report", "--html", "link.html").code == 0
    assert (tmp_path / "link.html").is_symlink()
    assert "subcog report" in (tmp_path / "page.html").read_text(encoding="utf-8")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert subcog("report", "--html", "pipe").code == 0  # a pipe has room for the page of 10 KB
        read = os.read(reader, 65_536)
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert read.startswith(b"<!doctype html>")


def test_growth_is_told_without_gaps(subcog: Run, store: Store, make: Maker) -> None:
    store.add([make(str(days), created_at=now_ms() - days * DAY_MS) for days in (0, 3, 5)])
    growth = subcog("report", "--json").json["growth"]
    assert [(bar["stored"], bar["new"]) for bar in growth] == [(1, 1), (1, 0), (2, 1), (2, 0), (2, 0), (3, 1)]
    assert growth[-1]["name"] == day(now_ms())
    assert "by day" in subcog("report").out


def test_without_memories_there_is_nothing_to_report(subcog: Run) -> None:
    assert subcog("report").code == 1


def test_a_page_of_ten_thousand_memories_is_below_five_megabytes(subcog: Run, home: Home, make: Maker, tmp_path: Path) -> None:
    words = "The cache of the shop is warmed at start, since the first request took four seconds without. " * 3
    with Store.writer(home) as store:
        store.add([make(f"{number} {words}", created_at=1 + number * 1_000_000) for number in range(10_000)])
    assert subcog("report", "--html", "report.html").code == 0
    assert 1_000_000 < (tmp_path / "report.html").stat().st_size < 5_000_000
