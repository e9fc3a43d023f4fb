"""`report --serve` through the executable: who may ask, and a person who forgets and reviews in a real browser."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from subcog_hooks.cli import page
from subcog_hooks.core.paths import Home
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.store import Store
from tests.browser import Browser
from tests.cli.conftest import MonkeyPatch, Run
from tests.conftest import Maker

HOSTILE = "</script><script>window.hit = 1</script><img src=x onerror='window.hit = 2'>"


class Served(NamedTuple):
    """A served page: its process and address."""

    process: subprocess.Popen[str]
    url: str

    def ask(self, method: str = "GET", path: str = "", body: object = None, **headers: str) -> tuple[int, str, Any]:
        """Return the status, text and headers of an answer. path: behind the token, or from the root with a slash."""
        address = urlsplit(self.url)
        assert address.hostname is not None
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        raw = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
        connection.request(method, path if path.startswith("/") else address.path + path, raw, given)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text, answer.headers

    def change(self, **request: object) -> tuple[int, Any]:
        """Send a change as the page does, and return the status and the answer."""
        origin = self.url.rsplit("/", 2)[0]
        status, text, _ = self.ask("POST", "changes", request, Origin=origin, Content_Type="application/json")
        return status, json.loads(text)


@pytest.fixture
def served(home: Home, make: Maker, tmp_path: Path) -> Iterator[Served]:
    """The page of three memories: an active, a waiting and a hostile one."""
    with Store.writer(home) as store:
        store.add(
            [
                make("The test database listens on 5434.", id="port", tags=("db",), created_at=3_000),
                make("Deploy on Tuesdays only.", id="deploy", status="pending", trust="agent", created_at=2_000),
                make(HOSTILE, id="hostile", created_at=1_000),
            ]
        )
    command = [sys.executable, "-m", "subcog_hooks", "report", "--serve"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stdout is not None
    yield Served(process, process.stdout.readline().strip())
    process.kill()
    process.communicate()


def get(home: Home, id_: str) -> Memory:
    with Store.reader(home) as store:
        return store.get(id_)


def click_text(browser: Browser, id_: str, text: str) -> None:
    """Click on the button with this text in the card of a memory."""
    browser.run(
        f"Array.from(document.querySelectorAll('#memory-{id_} button')).find((b) => b.textContent === {text!r}).id = 'aim'"
    )
    browser.click("#aim")
    browser.run("document.getElementById('aim')?.removeAttribute('id')")


def wait_for_message(browser: Browser, text: str) -> None:
    browser.wait_for(f"document.getElementById('message').textContent.startsWith({text!r})")


def test_only_the_own_page_is_answered(served: Served) -> None:
    host, token = served.url.removeprefix("http://").split("/")[:2]
    port, origin = host.split(":")[1], f"http://{host}"
    assert served.url.startswith("http://127.0.0.1:")
    assert len(token) >= 43
    change = {"action": "forget", "id": "port"}
    kind = {"Content_Type": "application/json"}
    refused = [
        served.ask(path="/"),
        served.ask(path=f"/{token}"),
        served.ask(path=f"/{token[:-1]}/"),
        served.ask(path=f"/{token}x/"),
        served.ask(path=f"/x{token[1:]}/changes"),
        served.ask(path="/favicon.ico"),
        served.ask(Host=f"localhost:{port}"),
        served.ask(Host=f"evil.example:{port}"),
        served.ask(Host="127.0.0.1"),
        served.ask(Origin="https://evil.example"),
        served.ask(Origin="null"),
        served.ask(Sec_Fetch_Site="cross-site"),
        served.ask("POST", "changes", change, **kind),
        served.ask("POST", "changes", change, Origin="https://evil.example", **kind),
        served.ask("POST", "changes", change, Origin="null", **kind),
        served.ask("POST", "changes", change, Origin=f"http://localhost:{port}", **kind),
        served.ask("POST", "", change, Origin=origin, **kind),
        served.ask("GET", "changes"),
        served.ask("GET", "memories/port"),
        served.ask("GET", "../../etc/passwd"),
        served.ask("PUT", "changes", change, Origin=origin, **kind),
    ]
    assert [status for status, _, _ in refused if status not in (403, 404, 501)] == []
    assert not any("5434" in text for _, text, _ in refused)
    status, text, headers = served.ask()
    assert (status, "5434" in text) == (200, True)
    assert "connect-src 'self'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "Access-Control-Allow-Origin" not in headers


def test_bad_changes_are_refused_in_a_line(served: Served, home: Home) -> None:
    origin = served.url.rsplit("/", 2)[0]
    bad: list[Callable[[], tuple[int, Any]]] = [
        lambda: served.change(action="purge", id="port"),
        lambda: served.change(action="forget", id="none"),
        lambda: served.change(action=["forget"], id="port"),
        lambda: served.change(action="forget"),
        lambda: served.change(action="keep", id="port"),
        lambda: served.change(action="accept", id="s-1"),
        lambda: served.change(action="edit", id="port", content="x"),
        lambda: served.ask("POST", "changes", b"{", Origin=origin, Content_Type="application/json")[:2],
        lambda: served.ask("POST", "changes", b"[" * 90_000, Origin=origin, Content_Type="application/json")[:2],
        lambda: served.ask("POST", "changes", {"action": "forget", "id": "port"}, Origin=origin, Content_Type="text/plain")[:2],
        lambda: served.ask("POST", "changes", b"", Origin=origin, Content_Type="application/json", Content_Length="9" * 5_000)[
            :2
        ],
    ]
    for send in bad:
        status, answer = send()
        error = (json.loads(answer) if isinstance(answer, str) else answer)["error"]
        assert (status, "\n" in error, "Traceback" in error) == (409, False, False)
    assert get(home, "port").content == "The test database listens on 5434."
    assert served.ask()[0] == 200


def test_memories_are_reviewed_by_mouse(served: Served, browser: Browser, home: Home) -> None:
    browser.open(served.url)
    waiting = "document.querySelectorAll('.figures dd')[4].textContent"
    assert browser.run(waiting) == "1"
    click_text(browser, "deploy", "Drop")
    wait_for_message(browser, "Dropped.")
    assert get(home, "deploy").status == "deleted"
    browser.click("#message button")
    wait_for_message(browser, "Waits for review again.")
    assert get(home, "deploy").status == "pending"
    click_text(browser, "deploy", "Keep")
    wait_for_message(browser, "Kept.")
    assert get(home, "deploy").status == "active"
    assert browser.run(waiting) == "0"
    browser.click("#memory-port summary")
    click_text(browser, "port", "Forget")
    wait_for_message(browser, "Forgotten.")
    assert get(home, "port").status == "deleted"
    assert browser.run("document.querySelector('#memory-port .state').textContent") == "forgotten"
    click_text(browser, "port", "Bring back")
    wait_for_message(browser, "Brought back.")
    assert get(home, "port").status == "active"


def test_everything_is_done_by_keyboard(served: Served, browser: Browser, home: Home) -> None:
    def tab_to(text: str) -> None:
        for _ in range(40):
            browser.press("Tab")
            if browser.run("document.activeElement.textContent").startswith(text):
                assert browser.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
                return
        pytest.fail(f"Tab does not reach {text}")

    browser.open(served.url)
    tab_to("The test database")
    browser.press("Enter")
    tab_to("Forget")
    browser.press("Enter")
    wait_for_message(browser, "Forgotten.")
    assert get(home, "port").status == "deleted"
    unnamed = "Array.from(document.querySelectorAll('input, select')).filter((f) => !f.labels.length).length"
    assert browser.run(unnamed) == 0


def test_a_hostile_memory_stays_text_when_served(served: Served, browser: Browser, home: Home) -> None:
    for is_dark in (False, True):
        browser.open(served.url, is_dark=is_dark)
        browser.click("#memory-hostile summary")
        browser.wait_for("document.querySelector('#memory-hostile .text')")
        assert browser.run("document.querySelector('#memory-hostile .text').textContent") == HOSTILE
        assert browser.run("typeof window.hit") == "undefined"
        refused = "fetch('https://example.com/').then(() => 'sent', () => 'refused')"
        assert browser.run(refused) == "refused"
        assert browser.run("document.querySelectorAll('img, iframe, a, link').length") == 0
    assert get(home, "hostile").content == HOSTILE


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C would reach the tests, too")
def test_ctrl_c_ends_it_without_an_error(served: Served, browser: Browser) -> None:
    browser.open(served.url)
    served.process.send_signal(signal.SIGINT)
    _, err = served.process.communicate(timeout=30)
    assert served.process.returncode == 0
    assert "ends with Ctrl-C, or after 10 minutes without use" in err
    assert "the page is no longer served" in err
    click_text(browser, "deploy", "Keep")
    wait_for_message(browser, "The page is no longer served.")


def test_it_ends_when_nobody_uses_it(subcog: Run, home: Home, make: Maker, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(page, "IDLE_S", 0.1)
    with Store.writer(home) as store:
        store.add([make("one")])
    before = threading.active_count()
    ended = subcog("report", "--serve")
    assert (ended.code, "no longer served" in ended.err) == (0, True)
    assert threading.active_count() <= before
    for options in (("--json",), ("--html", "page.html")):
        assert subcog("report", "--serve", *options).code == 2
    monkeypatch.setenv("CLAUDECODE", "1")
    refused = subcog("report", "--serve")
    assert (refused.code, refused.out) == (2, "")
    assert "an agent runs this command" in refused.err
    assert not os.path.exists("page.html")
