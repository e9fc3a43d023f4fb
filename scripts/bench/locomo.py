"""Read LoCoMo (Maharana and others, ACL 2024): ten long conversations, and questions with the turns that answer them.

The data is published under CC BY-NC 4.0 and is no part of this project: it is downloaded, or read from a file.
"""

import json
import re
import urllib.request
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from scripts.bench.machine import Failed

URL = "https://raw.githubusercontent.com/snap-research/locomo/3eb6f2c585f5e1699204e3c3bdf7adc5c28cb376/data/locomo10.json"
HELD_OUT = frozenset({"conv-30", "conv-42", "conv-47", "conv-49"})  # no setting of subcog was ever chosen on these
PATIENCE_S = 60.0
_TURN = re.compile(r"D:?(\d+):0*(\d+)")  # the data also has "D30:05", "D:11:26" and several in one text
_SESSION = re.compile(r"session_\d+")


class Question(NamedTuple):
    """A question about a conversation, and the ids of the memories that answer it; few name no turn that exists."""

    text: str
    project: str
    relevant: frozenset[str]


class Conversations(NamedTuple):
    """All conversations: memories as `subcog import` reads them, one for each turn, and the questions about them.

    questions: those that have evidence; unanswerable: those that no turn answers.
    """

    memories: list[dict[str, str]]
    questions: list[Question]
    unanswerable: Sequence[Question] = ()


def load_conversations(source: str) -> Conversations:
    """Load a file or an address. Raises Failed."""
    try:
        if source.startswith(("http://", "https://")):
            with urllib.request.urlopen(source, timeout=PATIENCE_S) as response:
                text = response.read()
        else:
            text = Path(source).read_bytes()
        return parse_conversations(json.loads(text))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failed(f"{source}: LoCoMo could not be read ({error!r}); give locomo10.json with --data FILE") from error


def parse_conversations(samples: list[dict[str, Any]]) -> Conversations:  # Any: JSON
    memories: list[dict[str, str]] = []
    questions: list[Question] = []
    for sample in samples:
        project = sample["sample_id"]
        turns = list(_memories(project, sample["conversation"]))
        memories += turns
        ids = {memory["id"] for memory in turns}
        for row in sample["qa"]:
            if row.get("evidence"):
                named = {_id(project, *match) for match in _TURN.findall(" ".join(row["evidence"]))}
                questions.append(Question(row["question"], project, frozenset(named & ids)))
    return Conversations(memories, questions)


def join_sessions(conversations: Conversations) -> Conversations:
    """Return the same conversations with one memory for each session, whose id is that of its turns without their number."""
    sessions: dict[str, dict[str, str]] = {}
    for turn in conversations.memories:
        session = sessions.setdefault(session_of(turn["id"]), turn | {"id": session_of(turn["id"]), "content": ""})
        session["content"] += turn["content"] + "\n"
    questions = [asked._replace(relevant=frozenset(map(session_of, asked.relevant))) for asked in conversations.questions]
    return Conversations([*sessions.values()], questions)


def session_of(memory_id: str) -> str:
    """Return the session that a turn is from.

    >>> session_of("conv-26-D3-11")
    'conv-26-D3'
    """
    return memory_id.rpartition("-")[0]


def _memories(project: str, conversation: dict[str, Any]) -> Iterator[dict[str, str]]:
    for name in filter(_SESSION.fullmatch, conversation):
        started = datetime.strptime(f"{conversation[f'{name}_date_time']} +0000", "%I:%M %p on %d %B, %Y %z")
        for number, turn in enumerate(conversation[name]):
            photo = f" [shares a photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            yield {
                "id": _id(project, *_TURN.findall(turn["dia_id"])[0]),
                "content": f"{turn['speaker']}: {turn['text']}{photo}",
                "namespace": "context",
                "project": project,
                "created_at": (started + timedelta(seconds=20 * number)).isoformat(),
            }


def _id(project: str, session: str, turn: str) -> str:
    return f"{project}-D{session}-{turn}"
