"""The pages of `report --html` in a real browser: read and filtered. Nothing in them acts."""

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.store.store import Store
from tests.browser import Browser
from tests.cli.conftest import Run
from tests.conftest import Maker

DAY = 86_400_000  # ms
NOW = 1_772_445_600_000  # 2026-03-02
ATTACKS = (
    "<script>window.hit = 1</script>",
    "</script><script>window.hit = 2</script>",
    "<img src=x onerror='window.hit = 3'>",
    '"><svg onload="window.hit = 4"><a href="javascript:window.hit = 5">click</a>',
    "<!-- </table></body> --><iframe src='http://127.0.0.1:1/'></iframe>",
    "<style>body{display:none}</style><base href='http://127.0.0.1:1/'>",
    "&lt;script&gt;window.hit = 6&lt;/script&gt;",
    "abc\u202egpj.exe\u2066 \u200fright",
    "`;window.hit = 7;`${alert(8)}",
    "javascript:window.hit = 9",
)


@pytest.fixture
def asked_for() -> Iterator[list[str]]:
    """Yield the addresses that a local server was asked for, its own address first."""
    addresses: list[str] = []

    class Server(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            addresses.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    addresses.append(f"http://127.0.0.1:{server.server_address[1]}/")
    yield addresses
    server.shutdown()
    server.server_close()


def texts(browser: Browser, selector: str) -> list[str]:
    """Return the texts of all elements that a selector finds."""
    found: list[str] = browser.run(f"Array.from(document.querySelectorAll({json.dumps(selector)}), (e) => e.textContent)")
    return found


def pick(browser: Browser, name: str, value: str) -> None:
    """Choose an option of a list by its value."""
    change = f"s.value = {json.dumps(value)}; s.dispatchEvent(new Event('change'))"
    browser.run(f"(() => {{ const s = document.querySelector('select[name={name}]'); {change}; }})()")


def seek(browser: Browser, text: str) -> None:
    """Replace the text of the search field."""
    change = f"f.value = {json.dumps(text)}; f.dispatchEvent(new Event('input'))"
    browser.run(f"(() => {{ const f = document.querySelector('input[type=search]'); {change}; }})()")


def test_the_report_is_read_and_filtered(browser: Browser, subcog: Run, home: Home, make: Maker, tmp_path: Path) -> None:
    with Store.writer(home) as store:
        store.add(
            [
                make(
                    f"memory number {number}",
                    id=f"m{number}",
                    project=f"github.com/acme/p{number % 3}",
                    created_at=NOW + number * DAY,
                    status="pending" if number == 4 else "active",
                )
                for number in range(25)
            ]
        )
    subcog("report", "--html", "report.html")
    browser.open(tmp_path / "report.html")
    assert browser.run("document.title") == "subcog report"
    assert "24" in browser.run("document.querySelector('dl').innerText")
    assert browser.requests == [(tmp_path / "report.html").as_uri()]
    assert texts(browser, ".preview") == [f"memory number {number}" for number in reversed(range(25))]
    assert texts(browser, ".about")[0] == (
        "Noted on 2026-03-26 under learnings, for github.com/acme/p0. Not given to a session yet. m24"
    )
    pick(browser, "order", "oldest first")
    assert texts(browser, ".preview")[:2] == ["memory number 0", "memory number 1"]
    seek(browser, "NUMBER p1 m7")
    assert texts(browser, ".preview") == ["memory number 7"]
    assert texts(browser, "[role=status]")[0] == "1 of 25 memories"
    seek(browser, "")
    pick(browser, "state", "waiting")
    assert texts(browser, ".preview") == ["memory number 4"]
    assert texts(browser, "#memories button") == []  # a file only shows


def test_a_card_is_opened_by_mouse_and_keyboard(browser: Browser, subcog: Run, home: Home, make: Maker, tmp_path: Path) -> None:
    with Store.writer(home) as store:
        store.add([make("Steps:\n  1. sync\n  2. test", triggers=("deploy",), paths=("app/*.py",), tags=("ci",))])
    subcog("report", "--html", "report.html")
    browser.open(tmp_path / "report.html")
    browser.click("summary")
    browser.wait_for("document.querySelector('.text')")
    assert browser.run("document.querySelector('.text').innerText") == "Steps:\n  1. sync\n  2. test"
    assert texts(browser, ".card dt") == ["tags", "triggers", "paths"]
    browser.click("summary")
    assert browser.run("document.querySelector('details').open") is False
    browser.click("input[type=search]")
    while browser.run("document.activeElement.tagName") != "SUMMARY":
        browser.press("Tab")
    assert browser.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    browser.press("Enter")
    assert browser.run("document.querySelector('details').open") is True


def test_thousands_of_memories_are_shown_a_hundred_at_a_time(
    browser: Browser, subcog: Run, home: Home, make: Maker, tmp_path: Path
) -> None:
    words = "The cache of the shop is warmed at start, since the first request took four seconds without. " * 3
    with Store.writer(home) as store:
        store.add([make(f"{number} {words}", created_at=NOW + number * 1_000_000) for number in range(2_000)])
    subcog("report", "--html", "report.html")
    browser.open(tmp_path / "report.html")
    assert texts(browser, "[role=status]")[0] == "2,000 memories"
    assert len(texts(browser, ".card")) == 100
    seek(browser, "1876")
    assert [text.split()[0] for text in texts(browser, ".preview")] == ["1876"]
    seek(browser, "")
    browser.click("#more button:last-child")
    assert len(texts(browser, ".card")) == 2_000


def test_hostile_memories_stay_text(
    browser: Browser, subcog: Run, home: Home, make: Maker, tmp_path: Path, asked_for: list[str]
) -> None:
    with Store.writer(home) as store:
        store.add(
            [
                make(text, project=f"/home/{text}", status=("active", "pending")[number % 2])
                for number, text in enumerate(ATTACKS)
            ]
        )
        store.add([make(f"<img src='{asked_for[0]}memory.png'>")])
    subcog("report", "--html", "report.html")
    browser.open(tmp_path / "report.html")
    browser.run("document.querySelectorAll('summary').forEach((summary) => summary.click())")
    browser.wait_for("document.querySelectorAll('.text').length === document.querySelectorAll('.card').length")
    shown = texts(browser, ".text")
    for text in ATTACKS:
        plain = "".join(character for character in text if character not in "\u202e\u2066\u200f")
        assert plain in shown
    assert browser.run("typeof window.hit") == "undefined"
    for tag in ("a", "img", "iframe", "base", "link", "form", "object", "svg"):
        assert browser.run(f"document.querySelectorAll('{tag}').length") == 0, tag
    assert browser.run("[document.scripts.length, document.styleSheets.length]") == [2, 1]  # One of the scripts is data.
    assert browser.run("getComputedStyle(document.body).display") == "block"
    assert browser.requests == [(tmp_path / "report.html").as_uri()]
    assert asked_for[1:] == []


def test_even_what_came_in_could_not_act(
    browser: Browser, subcog: Run, home: Home, make: Maker, tmp_path: Path, asked_for: list[str]
) -> None:
    with Store.writer(home) as store:
        store.add([make("one")])
    subcog("report", "--html", "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    address = asked_for[0]
    smuggled = (
        f"<script>window.hit = 1</script><img src='{address}a.png' onerror='window.hit = 2'>"
        f"<link rel=stylesheet href='{address}b.css'><iframe src='{address}c'></iframe>"
    )
    (tmp_path / "report.html").write_text(page.replace("<h1>", smuggled + "<h1>"), encoding="utf-8")
    browser.open(tmp_path / "report.html")
    done = browser.run(f"fetch('{address}d').then(() => 'sent', () => 'refused')")
    assert (done, browser.run("typeof window.hit")) == ("refused", "undefined")
    assert asked_for[1:] == []
