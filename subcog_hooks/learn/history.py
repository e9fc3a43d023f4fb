"""The client's list of prompts, `history.jsonl`: all that was ever typed, without what came of it. Transcripts are swept."""

from __future__ import annotations

import json
import os

from subcog_hooks.learn.turns import Before, TypedTurn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

HISTORY = "history.jsonl"
MAX_HISTORY_LINE = 4 * 1024 * 1024  # bytes; a longer one holds pasted data
_OTHER_INPUT = ("/", "!", "#")  # begins commands of the client, of the shell, and notes
_MOST_PASTED = 20_000  # characters of what was pasted into a prompt
_SAME_PROMPT_MS = 10 * 60_000  # within which a transcript notes a prompt of the same words
_DAY_MS = 86_400_000


def path_in(config: str) -> str:
    """Return where the client keeps the list. config: its folder."""
    return os.path.join(config, HISTORY)


def read_history(path: str) -> tuple[list[TypedTurn], int]:
    """Return the prompts of the list, the oldest first, and how many lines can not be read. Raises OSError.

    Where a line names no session, all that was typed in a folder on one day counts as one.
    """
    found, damaged, offset = [], 0, 0
    with open(path, "rb") as file:
        while line := file.readline(MAX_HISTORY_LINE):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict):
                damaged += bool(line.strip())
            elif turn := _turn_in(row, offset):
                found.append(turn)
            offset += len(line)
    return sorted(found, key=lambda turn: turn.at), damaged


def only_new(listed: Iterable[TypedTurn], known: Iterable[TypedTurn]) -> list[TypedTurn]:
    """Return the prompts of the list that no transcript has."""
    at_by_text: dict[tuple[str, str], list[int]] = {}
    sessions = set()
    for turn in known:
        sessions.add(turn.session)
        at_by_text.setdefault((turn.folder, _compared(turn.text)), []).append(turn.at)
    return [
        turn
        for turn in listed
        if turn.session not in sessions
        and not any(abs(at - turn.at) <= _SAME_PROMPT_MS for at in at_by_text.get((turn.folder, _compared(turn.text)), ()))
    ]


def _turn_in(row: Mapping[str, object], offset: int) -> TypedTurn | None:
    text, at, folder, session = row.get("display"), row.get("timestamp"), row.get("project"), row.get("sessionId")
    if not isinstance(text, str) or not text.strip() or text.lstrip().startswith(_OTHER_INPUT):
        return None
    when = int(at) if isinstance(at, int | float) and 0 < at < 1e14 else 0
    where = folder if isinstance(folder, str) else ""
    name = session if isinstance(session, str) and session else f"{where} {when // _DAY_MS}"
    return TypedTurn(
        _with_pasted(text.strip(), row.get("pastedContents")), Before(), session=name, at=when, folder=where, offset=offset
    )


def _with_pasted(text: str, pasted: object) -> str:
    """Return a prompt with what was pasted in the place of the mark that the list has for it."""
    for mark, content in _marks_in(pasted):
        begin = text.find(mark)
        end = text.find("]", begin)
        if 0 <= begin < end:
            text = text[:begin] + content[:_MOST_PASTED] + text[end + 1 :]
    return text


def _marks_in(pasted: object) -> Iterator[tuple[str, str]]:
    if isinstance(pasted, dict):
        for name, one in pasted.items():
            content = one.get("content") if isinstance(one, dict) else None
            if isinstance(content, str):
                yield f"[Pasted text #{name}", content


def _compared(text: str) -> str:
    return " ".join(text.split())[:200]
