"""The pages of `report --html` and `audit --html` in a real browser: read, sorted, dark or light, and nothing in them acts."""

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from subcog_hooks.cli.support import page as cli_support_page
from subcog_hooks.core.paths import Home
from subcog_hooks.store.store import Store
from tests.browser import CAN_RUN, Browser
from tests.cli.conftest import Ask, Run
from tests.conftest import Maker
from tests.transcripts import PROJECTS, Writer

pytestmark = pytest.mark.skipif(not CAN_RUN, reason="no Chromium is on this machine")

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


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


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


def column(browser: Browser, number: int) -> list[str]:
    """Return the texts of a column of the last table."""
    cells = browser.run(
        "Array.from(Array.from(document.querySelectorAll('table')).at(-1).tBodies[0].rows,"
        f" (row) => row.cells[{number}].textContent)"
    )
    return [str(cell) for cell in cells]


def head(number: int) -> str:
    return f"table.last th:nth-child({number + 1}) button"


def mark_last_table(browser: Browser) -> None:
    browser.run("Array.from(document.querySelectorAll('table')).at(-1).classList.add('last')")


def test_the_report_is_read_sorted_and_filtered(browser: Browser, subcog: Run, home: Home, make: Maker, tmp_path: Path) -> None:
    with Store.writer(home) as store:
        store.add(
            [
                make(f"memory number {number}", project=f"github.com/acme/p{number % 3}", created_at=1 + number * 10**10)
                for number in range(25)
            ]
        )
    subcog("report", "--html", "report.html")
    browser.open(tmp_path / "report.html")
    assert browser.run("document.title") == "subcog report"
    assert "25" in browser.run("document.querySelector('dl').innerText")
    assert browser.run("document.querySelectorAll('svg rect').length") > 5
    assert browser.requests == [(tmp_path / "report.html").as_uri()]
    mark_last_table(browser)
    newest_first = column(browser, 7)
    assert newest_first[0] == "memory number 24"
    browser.click(head(1))
    assert column(browser, 1) == sorted(column(browser, 1))
    assert browser.run("document.querySelector('table.last th:nth-child(2)').getAttribute('aria-sort')") == "ascending"
    browser.click(head(1))
    assert column(browser, 1) == sorted(column(browser, 1), reverse=True)
    browser.click(head(7))
    assert column(browser, 7) == [f"memory number {number}" for number in range(25)]  # 10 behind 9
    browser.run(
        "(() => { const f = document.querySelector('input'); f.value = 'NUMBER 7'; f.dispatchEvent(new Event('input')); })()"
    )
    assert browser.run("document.querySelectorAll('table.last tbody tr:not([hidden])').length") == 1


def test_only_the_first_of_many_rows_are_shown_until_asked(
    browser: Browser, subcog: Run, home: Home, make: Maker, tmp_path: Path
) -> None:
    count = cli_support_page.MAX_INITIAL_ROWS + 700
    with Store.writer(home) as store:
        store.add([make(f"memory number {number}", created_at=1 + number * 10**8) for number in range(count)])
    subcog("report", "--html", "report.html")
    browser.open(tmp_path / "report.html")
    mark_last_table(browser)
    visible = "Array.from(document.querySelectorAll('table.last tbody tr')).filter((r) => r.offsetHeight > 0)"
    section = "document.querySelector('table.last').closest('section')"
    assert browser.run(f"{visible}.length") == cli_support_page.MAX_INITIAL_ROWS
    browser.click(head(7))
    assert browser.run(f"{visible}.at(0).cells[7].textContent") == "memory number 0"
    assert browser.run(f"{visible}.length") == cli_support_page.MAX_INITIAL_ROWS

    def seek(text: str) -> None:
        put = f"f.value = {json.dumps(text)}; f.dispatchEvent(new Event('input'))"
        browser.run(f"(() => {{ const f = {section}.querySelector('input[type=search]'); {put}; }})()")

    seek(f"number {count - 1}")
    assert browser.run(f"{visible}.map((r) => r.cells[7].textContent)") == [f"memory number {count - 1}"]
    seek("memory")
    assert browser.run(f"{visible}.length") == cli_support_page.MAX_INITIAL_ROWS
    browser.run(f"{section}.id = 'last'")
    browser.click("#last label input")
    assert browser.run(f"{visible}.length") == count
    seek("")
    assert browser.run(f"{visible}.length") == count
    browser.click("#last label input")
    assert browser.run(f"{visible}.length") == cli_support_page.MAX_INITIAL_ROWS
    assert f"all {count:,} rows" in browser.run(f"{section}.innerText")


def test_numbers_are_sorted_by_what_they_are(browser: Browser, subcog: Run, home: Home, make: Maker, tmp_path: Path) -> None:
    with Store.writer(home) as store:
        for number, namespace in enumerate(("few", "some", "many")):
            store.add([make(f"{namespace} {i}", namespace=namespace) for i in range((1, 9, 1_200)[number])])
    subcog("report", "--html", "report.html")
    browser.open(tmp_path / "report.html")
    browser.run("document.querySelectorAll('table')[1].classList.add('spaces')")
    shown = "Array.from(document.querySelectorAll('table.spaces td:nth-child(2)'), (c) => c.textContent)"
    browser.click("table.spaces th:nth-child(2) button")
    assert browser.run(shown) == ["1,200", "9", "1"]
    browser.click("table.spaces th:nth-child(2) button")
    assert browser.run(shown) == ["1", "9", "1,200"]


def test_it_is_dark_by_the_system_or_by_choice(browser: Browser, subcog: Run, home: Home, make: Maker, tmp_path: Path) -> None:
    with Store.writer(home) as store:
        store.add([make("one")])
    subcog("report", "--html", "report.html")
    paper = "getComputedStyle(document.body).backgroundColor"
    browser.open(tmp_path / "report.html", is_dark=True)
    dark = browser.run(paper)
    browser.open(tmp_path / "report.html")
    assert (dark, browser.run(paper)) == ("rgb(21, 23, 26)", "rgb(255, 255, 255)")
    browser.click("#theme")
    assert browser.run(paper) == dark
    browser.click("#theme")
    assert browser.run(paper) == "rgb(255, 255, 255)"


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
    shown = column(browser, 7)
    for text in ATTACKS:
        plain = "".join(character for character in text if character not in "\u202e\u2066\u200f")
        assert plain in shown
    assert browser.run("typeof window.hit") == "undefined"
    for tag in ("a", "img", "iframe", "base", "link", "form", "object"):
        assert browser.run(f"document.querySelectorAll('{tag}').length") == 0, tag
    assert browser.run("[document.scripts.length, document.styleSheets.length, document.querySelectorAll('svg').length]") == [
        1,
        1,
        1,
    ]
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


def test_hostile_prompts_stay_text_in_a_browser(browser: Browser, subcog: Run, ask: Ask, tmp_path: Path) -> None:
    login = "Login uses OAuth2 with PKCE <img src=x onerror='window.hit = 1'>, the implicit flow was dropped after the audit"
    ask.remember(login=login)
    for day in ("02", "20"):
        written = Writer(tmp_path / "claude" / PROJECTS / "-shop" / f"{day}.jsonl", session=day, day=f"2026-03-{day}")
        written.typed("How does the login with OAuth2 and PKCE work after the audit? <script>window.hit = 2</script>")
    done = subcog("report", "--past", "--json", "--html", "audit.html")
    record = done.json
    assert record["spoke"] == 2
    browser.open(tmp_path / "audit.html")
    text = browser.run("document.body.innerText")
    for part in (login, "<script>window.hit = 2</script>", "2 of 2 sessions", f"{record['characters']:,}"):
        assert part in text
    assert browser.run("Array.from(document.querySelectorAll('h2'), (h) => h.textContent)")[:2] == [
        "By week",
        "What it would have said",
    ]
    assert browser.run("document.querySelectorAll('svg g').length") == 3  # three weeks, the empty one too
    assert browser.run("typeof window.hit") == "undefined"
    assert browser.run("document.scripts.length") == 1
    assert browser.requests == [(tmp_path / "audit.html").as_uri()]
