"""A real browser for tests: Chromium, driven over a pipe with the DevTools protocol. Nothing but the standard library."""

import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WAIT_S = 30.0
# The browser reads from 3 and writes to 4. Both are moved away first: either may be the other's number by now.
_WITH_PIPE = (
    "import fcntl, os, sys; read, write = (fcntl.fcntl(int(n), fcntl.F_DUPFD, 10) for n in sys.argv[1:3]); "
    "os.dup2(read, 3); os.dup2(write, 4); os.execv(sys.argv[3], sys.argv[3:])"
)
CAN_RUN = CHROMIUM is not None and os.name == "posix"  # the pipe is handed on by its numbers


class Browser:
    """A browser without a window, with one page. requests: all addresses that it was made to load."""

    def __init__(self, profile: Path) -> None:
        theirs, ours = os.pipe()
        from_them, to_us = os.pipe()
        assert CHROMIUM is not None
        options = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe")
        quiet = ("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-extensions")
        command = [CHROMIUM, *options, *quiet, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WITH_PIPE, str(theirs), str(to_us), *command],
            pass_fds=(theirs, to_us),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs)
        os.close(to_us)
        self._out, self._in = ours, from_them
        self._read = b""
        self._count = 0
        self._session = ""
        self.requests: list[str] = []
        targets = self._call("Target.getTargets")["targetInfos"]
        page = next(one["targetId"] for one in targets if one["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime"):
            self._call(f"{domain}.enable")

    def open(self, address: Path | str, *, is_dark: bool = False) -> None:
        """Load a file or an address, in a system that prefers light or dark, and wait until it is there."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self.requests.clear()
        url = address.as_uri() if isinstance(address, Path) else address
        self.run("document.documentElement.dataset.left = '1'")
        self._call("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete' && !document.documentElement.dataset.left")

    def wait_for(self, condition: str) -> None:
        """Wait until an expression in the page is true."""
        until = time.monotonic() + WAIT_S
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < until, f"never true: {condition}"

    def press(self, key: str) -> None:
        """Press "Enter" or "Tab"."""
        code, text = {"Enter": (13, "\r"), "Tab": (9, "")}[key]
        pressed = {"key": key, "windowsVirtualKeyCode": code}
        self._call("Input.dispatchKeyEvent", type="keyDown", text=text, **pressed)
        self._call("Input.dispatchKeyEvent", type="keyUp", **pressed)

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page, as JSON has it."""
        done = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def click(self, selector: str) -> None:
        """Click on the middle of an element with the mouse."""
        x, y = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});"
            "const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def close(self) -> None:
        """End the browser."""
        self._session = ""
        try:
            self._call("Browser.close")
        except AssertionError:
            self._process.kill()
        self._process.wait(WAIT_S)
        os.close(self._out)
        os.close(self._in)

    def _call(self, method: str, **parameters: object) -> dict[str, Any]:
        self._count += 1
        asked: dict[str, object] = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            asked["sessionId"] = self._session
        os.write(self._out, json.dumps(asked).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("method") == "Network.requestWillBeSent":
                self.requests.append(told["params"]["request"]["url"])
            if told.get("id") == self._count:
                assert "error" not in told, told
                result: dict[str, Any] = told["result"]
                return result

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            assert select.select([self._in], [], [], WAIT_S)[0], f"the browser has said nothing for {WAIT_S:.0f} s"
            more = os.read(self._in, 1 << 20)
            assert more, "the browser is gone"
            self._read += more
        line, _, self._read = self._read.partition(b"\0")
        told: dict[str, Any] = json.loads(line)
        return told
