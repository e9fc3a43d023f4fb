"""`subcog report`: sums of the store that hold, in every form; its page escapes texts and stays small."""

import base64
import hashlib
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcog_hooks.cli.page import Card, Page, card_fields
from subcog_hooks.cli.terminal.output import safe
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
    before = sorted(tmp_path.iterdir())
    for path in ("", f"{tmp_path}{os.sep}", str(tmp_path)):
        failed = subcog("report", "--html", path)
        assert (failed.code, "names no file" in failed.err) == (2, True)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.skipif(os.name == "nt", reason="no pipes in folders")
def test_what_a_page_is_written_to_stays_what_it_is(subcog: Run, filled_home: Home, tmp_path: Path) -> None:
    (tmp_path / "link.html").symlink_to(tmp_path / "page.html")
    assert subcog("report", "--html", "link.html").code == 0
    assert (tmp_path / "link.html").is_symlink()
    assert "subcog report" in (tmp_path / "page.html").read_text(encoding="utf-8")
    os.mkfifo(tmp_path / "pipe")
    failed = subcog("report", "--html", "pipe")
    assert (failed.code, "names no file" in failed.err) == (2, True)


def test_without_memories_there_is_nothing_to_report(subcog: Run) -> None:
    assert subcog("report").code == 1


def test_a_page_of_ten_thousand_memories_is_below_five_megabytes(subcog: Run, home: Home, make: Maker, tmp_path: Path) -> None:
    words = "The cache of the shop is warmed at start, since the first request took four seconds without. " * 3
    with Store.writer(home) as store:
        store.add([make(f"{number} {words}", created_at=1 + number * 1_000_000) for number in range(10_000)])
    assert subcog("report", "--html", "report.html").code == 0
    assert 1_000_000 < (tmp_path / "report.html").stat().st_size < 5_000_000


HOSTILE = "</td></script><script>alert(1)</script><img src=x onerror=alert(1)>"


class Tags(HTMLParser):
    """Notes every tag with its attributes, and the values of figures."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.values: list[str] = []
        self._is_in_value = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "dd":
            self._is_in_value = True
            self.values.append("")

    def handle_endtag(self, tag: str) -> None:
        self._is_in_value = self._is_in_value and tag != "dd"

    def handle_data(self, data: str) -> None:
        if self._is_in_value:
            self.values[-1] += data


def page_with(value: str) -> str:
    return Page("about", [("name", value)], []).render()


def card_with(text: str) -> Card:
    return Card("id", text, "about", "active", "project", "namespace", NOW, 0, ())


PLAIN = [tag for tag, _ in Tags(page_with("x")).tags]


@settings(max_examples=30)
@given(st.text(max_size=80) | st.text("<>&\"'/=!- abonscript", max_size=80))
def test_whatever_a_text_is_it_stays_the_text_of_its_figure(text: str) -> None:
    tags = Tags(page_with(text))
    assert [tag for tag, _ in tags.tags] == PLAIN
    assert tags.values == [safe(text)]


def test_no_tag_has_an_address_or_a_handler() -> None:
    tags = Tags(Page(HOSTILE, [(HOSTILE, HOSTILE)], []).render())
    assert {name for _, attributes in tags.tags for name in attributes} <= {
        *("lang", "charset", "http-equiv", "content", "name", "id", "class", "type")
    }
    assert {tag for tag, _ in tags.tags}.isdisjoint({"a", "img", "link", "iframe", "form", "base", "object"})
    assert tags.values == [HOSTILE]


def test_the_policy_allows_only_the_own_style_and_script() -> None:
    page = page_with("x")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert policy.startswith("default-src 'none'; ")
    for tag, source in (("style", "style-src"), ("script", "script-src")):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{source} 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_secrets_and_what_can_not_be_seen_are_taken_out() -> None:
    key = "AKIA" + "IOSFODNN7" + "EXAMPLE"
    text = f"a\u202eb {key}\x00"
    assert Tags(page_with(text)).values == ["ab [redacted: AWS Access Key]"]
    assert card_fields(card_with(text))["text"] == "ab [redacted: AWS Access Key]"


def test_a_page_of_many_memories_stays_small() -> None:
    text = Page("about", [], [card_with("x" * 300)] * 10_000).render()
    assert len(text.encode()) < 5_000_000
