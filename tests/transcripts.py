"""Transcripts as Claude Code writes them, for tests: each row behind the one before it unless a test says otherwise."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

PROJECTS = "projects"
LONG_AGO = 1_700_000_000  # seconds: every session that was written then is over


class Writer:
    """Writes one transcript. Rows get ids in their order: r0, r1 …"""

    def __init__(self, path: Path, *, folder: str = "/home/dev/shop", session: str = "s1", day: str = "2026-03-02") -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._common = {"cwd": folder, "sessionId": session, "version": "2.1.329", "isSidechain": False, "userType": "external"}
        self._day = day
        self._count = 0
        self._last: str | None = None

    def row(self, kind: str, *, parent: str | None = "", extra: Mapping[str, object] | None = None, **fields: object) -> str:
        """Add a row of any kind and return its id."""
        name = f"{self._common['sessionId']}-r{self._count}"
        at = f"{self._day}T10:{self._count // 60:02}:{self._count % 60:02}.000Z"
        behind = self._last if parent == "" else parent
        place = {"type": kind, "uuid": name, "parentUuid": behind, "timestamp": at}
        self.raw(json.dumps({**self._common, **place, **(extra or {}), **fields}) + "\n")
        self._count += 1
        self._last = name
        return name

    def raw(self, text: str) -> None:
        """Add bytes as they are; the file looks long untouched."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text)
        os.utime(self.path, (LONG_AGO, LONG_AGO))

    def typed(self, text: str, *, parent: str | None = "", fields: Mapping[str, object] | None = None) -> str:
        said = {"origin": {"kind": "human"}, "promptSource": "typed", "message": {"role": "user", "content": text}}
        return self.row("user", parent=parent, extra={**said, **(fields or {})})

    def old_user(self, content: object, fields: Mapping[str, object] | None = None) -> str:
        """Add a row of type `user` that does not say who typed it."""
        return self.row("user", extra={"message": {"role": "user", "content": content}, **(fields or {})})

    def said(self, text: str) -> str:
        return self.row("assistant", message={"role": "assistant", "content": [{"type": "text", "text": text}]})

    def call(self, tool: str, identifier: str = "toolu_1", **given: object) -> str:
        block = {"type": "tool_use", "id": identifier, "name": tool, "input": given}
        return self.row("assistant", message={"role": "assistant", "content": [block]})

    def result(self, text: str, identifier: str = "toolu_1", *, is_error: bool = False, denial: str | None = None) -> str:
        """Add a tool's result. denial: who denied the call, as new clients note it."""
        block = {"type": "tool_result", "tool_use_id": identifier, "content": text, "is_error": is_error}
        noted = {"toolDenialKind": denial} if denial else {}
        return self.row("user", extra=noted, message={"role": "user", "content": [block]}, toolUseResult=text)

    def refused(self, said: str, identifier: str = "toolu_1", *, denial: str | None = "user-rejected") -> str:
        """Add what the client writes where the person refuses a call and says why. denial: None as old clients, and forgers."""
        told = (
            "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
            f"new_string was NOT written to the file). To tell you how to proceed, the user said:\n{said}"
        )
        return self.result(told, identifier, is_error=True, denial=denial)


def session(
    sessions: Path, name: str, *typed: str, folder: str = "/home/dev/shop", day: str = "2026-03-02", answer: str = "ok"
) -> Writer:
    """Write the transcript of a session in which these prompts were typed, each with the same answer."""
    written = Writer(sessions / "-home-dev-shop" / f"{name}.jsonl", folder=folder, session=name, day=day)
    for text in typed:
        written.typed(text)
        written.said(answer)
    return written
