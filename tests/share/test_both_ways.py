"""Two homes and three authors, in any order of changes, kills and partitions: both end equal, nothing acknowledged is lost."""

from __future__ import annotations

import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from subcog_hooks import share
from subcog_hooks.core.errors import ServerError
from subcog_hooks.share.server_schema import KEPT_OWN_PREFIX
from subcog_hooks.store.memory import Memory
from tests.share.conftest import Server, Team

SYNCED_CODE = str(Path(share.__file__).parent)
SOCKET = ".s.PGSQL.5432"
PATIENCE = 12  # synchronisations of each home in turn, until nothing moves any more


class Killed(BaseException):
    """The process ends here."""


@contextmanager
def killed_after(lines: int) -> Iterator[None]:
    """Kill the synchronising code after a number of lines; its uncommitted work is lost."""
    left = lines

    def count(frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        nonlocal left
        if not frame.f_code.co_filename.startswith(SYNCED_CODE):
            return None
        if event == "line":
            left -= 1
            if left < 0:
                raise Killed
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        yield
    except Killed:
        pass
    finally:
        sys.settrace(before)


@contextmanager
def partitioned_after(server: Server, count: int) -> Iterator[str]:
    """Yield the folder of a socket to the server that breaks after `count` bytes in either direction."""
    folder = tempfile.mkdtemp(prefix="subcog-")  # not in pytest's own: a socket's path has 107 bytes at most
    path = f"{folder}/{SOCKET}"
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen()
    ends: list[socket.socket] = []
    left = [count]

    def carry(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(4_096):
                target.sendall(data[: max(0, left[0])])
                left[0] -= len(data)
                if left[0] <= 0:
                    break
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                onward = socket.socket(socket.AF_UNIX)
                onward.connect(f"{server.folder}/{SOCKET}")
                ends.extend((client, onward))
                for pair in ((client, onward), (onward, client)):
                    threads.append(threading.Thread(target=carry, args=pair, daemon=True))
                    threads[-1].start()

    threads = [threading.Thread(target=accept, daemon=True)]
    threads[0].start()
    try:
        yield folder
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        shutil.rmtree(folder)
        for thread in threads:
            thread.join(5)
        for end in ends:
            end.close()


class Story:
    """The events of a team, and the texts that its members were told are stored."""

    def __init__(self, team: Team, number: int) -> None:
        self.team = team
        self.project = f"github.com/acme/{number}"
        self.homes = [team.member("ada", f"{number}-one"), team.member("bob", f"{number}-two")]
        for member in self.homes:
            member.projects = (self.project,)
        self.count = 0
        self.texts: dict[str, str] = {}  # text -> the id of its memory
        self.replaced: set[str] = set()  # texts that somebody who saw them has replaced or deleted
        self.erased: set[str] = set()  # ids
        self.own: tuple[set[str], set[str]] = set(), set()  # each home's own texts that it has not replaced
        for _ in range(2):  # Both homes have these memories, so both change them.
            self.step("remember", 0, 0, 0)
        for member in self.homes:
            member.sync()

    def step(self, kind: str, home: int, which: int, size: int) -> None:
        member = self.homes[home]
        if kind == "remember":
            self.count += 1
            text = f"text {self.count}"
            self.texts[text] = member.remember(text).id
            self.own[home].add(text)
        elif kind in ("edit", "delete", "purge", "erase", "tag"):
            seen = [memory for memory in member.memories().values() if memory.status == "active"]
            if seen:
                self.touch(kind, home, seen[which % len(seen)])
        elif kind == "author":  # a third author works at the second home, and has all of it before
            role = "eve" if member.role == "bob" else "bob"
            self.homes[1].role, self.homes[1].url = role, self.team.server.url(role, self.team.database)
        elif kind == "kill":
            with killed_after(size % 700):
                member.sync()
        elif kind == "partition":
            with partitioned_after(self.team.server, size % 9_000) as folder, suppress(ServerError):
                member.sync(self.team.server.url(member.role, self.team.database, folder))
        else:
            member.sync()

    def touch(self, kind: str, home: int, memory: Memory) -> None:
        """Change a memory as a home's person does, or erase it there as the other person."""
        member = self.homes[home]
        if kind == "tag":
            self.count += 1
            member.change(memory.id, tags=(f"tag{self.count}",))
            return
        if kind == "erase":
            role = self.homes[1 - home].role
            self.team.run("UPDATE subcog.memories SET doc = NULL, erased = true WHERE id = %s", role, (memory.id,))
            self.erased.add(memory.id)
            return
        self.replaced.add(memory.content)
        self.own[home].discard(memory.content)
        if kind == "edit":
            self.count += 1
            text = f"text {self.count}"
            member.change(memory.id, content=text)
            self.texts[text] = memory.id
            if memory.trust == "user":
                self.own[home].add(text)
        elif kind == "delete":
            member.change(memory.id, status="deleted")
        else:
            member.purge(memory.id)

    def end(self) -> None:
        """Synchronise until nothing moves, and compare the homes."""
        for _ in range(PATIENCE):
            outcomes = [member.sync() for member in self.homes]
            if not any(o.sent or o.fetched or o.deleted_here or o.deleted_there for o in outcomes):
                break
        else:
            pytest.fail("it does not come to rest")
        assert not any(outcome.problems for outcome in outcomes)
        homes = [member.memories() for member in self.homes]
        first, second = (
            {m.id: (m.content, m.status, m.tags, m.superseded_by) for m in there.values() if is_shared(m)} for there in homes
        )
        assert first == second
        sql = "SELECT id, doc ->> 'content', status FROM subcog.memories WHERE doc IS NOT NULL AND project = %s"
        there = self.team.run(sql, values=(self.project,))
        assert sorted(there) == sorted((id_, content, status) for id_, (content, status, *_) in first.items())
        kept = {content for content, *_ in first.values()}
        assert {text for text, id_ in self.texts.items() if text not in self.replaced and id_ not in self.erased} <= kept
        for here, own in zip(homes, self.own, strict=True):  # even if others changed or erased them
            assert own <= {memory.content for memory in here.values()}


def is_shared(memory: Any) -> bool:
    return memory.status != "deleted" and not memory.id.startswith(KEPT_OWN_PREFIX)


KINDS = ("erase", *("edit",) * 4, *("sync",) * 4, *("kill", "partition") * 2, "remember", "tag", "delete", "purge", "author")
pytestmark = [  # A killed process leaves its connection open.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
STEPS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 1), st.integers(0, 3), st.integers(0, 1_000_000)), min_size=20, max_size=40
)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_both_homes_end_equal_and_nothing_acknowledged_is_lost(
    team: Team, tmp_path: Path, steps: list[tuple[str, int, int, int]]
) -> None:
    story = Story(team, len(list(tmp_path.iterdir())))
    for step in steps:
        story.step(*step)
    story.end()
