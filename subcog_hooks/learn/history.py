"""The client's list of prompts, `history.jsonl`: every typed prompt without its context. It outlives transcripts."""

from __future__ import annotations

import json
import os

from subcog_hooks.learn.turns import Before, TypedTurn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

HISTORY = "history.jsonl"
MAX_HISTORY_LINE = 4 * 1024 * 1024  # bytes; a longer one holds pasted data
_OTHER_INPUT = ("/", "!", "#")  # prefixes of the client's commands, shell commands and notes
_MAX_PASTED = 20_000  # characters of a paste in a prompt
_SAME_PROMPT_MS = 10 * 60_000  # ms; a transcript notes the same prompt within them
_DAY_MS = 86_400_000


def history_path(config: str) -> str:
    """Return the path of the list. config: the client's folder."""
    return os.path.join(config, HISTORY)


def read_history(path: str) -> tuple[list[TypedTurn], int]:
    """Return the prompts of the list, oldest first, and the number of unreadable lines. Raises OSError.

    If lines name no session, a folder's prompts of one day count as one session.
    """
    turns, damaged, offset = [], 0, 0
    with open(path, "rb") as file:
        while line := file.readline(MAX_HISTORY_LINE):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict):
                damaged += bool(line.strip())
            elif turn := _parse_prompt(row, offset):
                turns.append(turn)
            offset += len(line)
    return sorted(turns, key=lambda turn: turn.at_ms), damaged


def drop_read_prompts(listed: Iterable[TypedTurn], read_turns: Iterable[TypedTurn]) -> list[TypedTurn]:
    """Return the prompts of the list that no transcript has."""
    times_by_text: dict[tuple[str, str], list[int]] = {}
    sessions = set()
    for turn in read_turns:
        sessions.add(turn.session)
        times_by_text.setdefault((turn.folder, _comparison_text(turn.text)), []).append(turn.at_ms)
    return [
        turn
        for turn in listed
        if turn.session not in sessions
        and not any(
            abs(time_ms - turn.at_ms) <= _SAME_PROMPT_MS
            for time_ms in times_by_text.get((turn.folder, _comparison_text(turn.text)), ())
        )
    ]


def _parse_prompt(row: Mapping[str, object], offset: int) -> TypedTurn | None:
    text, timestamp, folder, session = row.get("display"), row.get("timestamp"), row.get("project"), row.get("sessionId")
    if not isinstance(text, str) or not text.strip() or text.lstrip().startswith(_OTHER_INPUT):
        return None
    at_ms = int(timestamp) if isinstance(timestamp, int | float) and 0 < timestamp < 1e14 else 0
    folder_name = folder if isinstance(folder, str) else ""
    session_id = session if isinstance(session, str) and session else f"{folder_name} {at_ms // _DAY_MS}"
    return TypedTurn(
        _insert_pasted(text.strip(), row.get("pastedContents")),
        Before(),
        session=session_id,
        at_ms=at_ms,
        folder=folder_name,
        offset=offset,
    )


def _insert_pasted(text: str, pasted: object) -> str:
    for mark, content in _parse_pasted(pasted):
        begin = text.find(mark)
        end = text.find("]", begin)
        if 0 <= begin < end:
            text = text[:begin] + content[:_MAX_PASTED] + text[end + 1 :]
    return text


def _parse_pasted(pasted: object) -> Iterator[tuple[str, str]]:
    if isinstance(pasted, dict):
        for name, entry in pasted.items():
            content = entry.get("content") if isinstance(entry, dict) else None
            if isinstance(content, str):
                yield f"[Pasted text #{name}", content


def _comparison_text(text: str) -> str:
    return " ".join(text.split())[:200]
