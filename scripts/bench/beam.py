"""Read BEAM's conversations of 100,000 tokens (Tavakoli and others, 2025, arXiv 2510.27246), and its questions.

Each message is a memory; a question names the messages that answer it, or is one that nothing answers. The data names no
licence and is no part of this project: it is downloaded, or read from a folder that has its files.
"""

import json
import re
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from scripts.bench.locomo import PATIENCE_S, Conversations, Question
from scripts.bench.machine import Failed

URL = "https://raw.githubusercontent.com/mohammadtavakoli78/BEAM/b2a3ee8ba12d68f83143dda191097dc3e028ddd3/chats/100K"
CHATS = 20
UNANSWERABLE = "abstention"
_PLACE = re.compile(r"\s*->->.*", re.DOTALL)  # in its plan, behind a prompt


def load_conversations(source: str) -> Conversations:
    """Load the files under a folder or an address. Raises Failed."""
    memories: list[dict[str, str]] = []
    questions: list[Question] = []
    for number in range(1, CHATS + 1):
        try:
            chat = _load(source, f"{number}/chat.json")
            asked = _load(source, f"{number}/probing_questions/probing_questions.json")
            memories += _memories(f"chat-{number}", chat)
            questions += _questions(f"chat-{number}", asked)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Failed(
                f"{source}: chat {number} of BEAM could not be read ({error!r}); give the folder with --beam"
            ) from error
    unanswerable = [question for question in questions if not question.relevant]
    return Conversations(memories, [question for question in questions if question.relevant], unanswerable)


def _load(source: str, name: str) -> Any:  # Any: JSON
    if not source.startswith(("http://", "https://")):
        return json.loads(Path(source, name).read_bytes())
    with urllib.request.urlopen(f"{source}/{name}", timeout=PATIENCE_S) as response:
        return json.loads(response.read())


def _memories(project: str, chat: list[dict[str, Any]]) -> Iterator[dict[str, str]]:
    for batch in chat:
        messages = [message for turn in batch["turns"] for message in turn]
        day = next(message["time_anchor"] for message in messages if "time_anchor" in message)
        started = datetime.strptime(day, "%B-%d-%Y").replace(tzinfo=UTC)
        for number, message in enumerate(messages):
            yield {
                "id": f"{project}-{message['id']}",
                "content": f"{message['role']}: {_PLACE.sub('', message['content'])}",
                "namespace": "context",
                "project": project,
                "created_at": (started + timedelta(seconds=20 * number)).isoformat(),
            }


def _questions(project: str, asked: dict[str, list[dict[str, Any]]]) -> Iterator[Question]:
    for kind, rows in asked.items():
        for row in rows:
            relevant = frozenset(f"{project}-{number}" for number in _numbers(row.get("source_chat_ids", [])))
            if relevant or kind == UNANSWERABLE:  # five others name no message
                yield Question(row["question"], project, relevant)


def _numbers(ids: Any) -> Iterator[int]:
    """Yield the numbers of lists and tables within each other."""
    if isinstance(ids, int):
        yield ids
    else:
        for inner in ids.values() if isinstance(ids, dict) else ids:
            yield from _numbers(inner)
