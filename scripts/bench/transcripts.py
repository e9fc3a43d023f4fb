"""Write talks as the transcripts of Claude Code, so that `subcog import --from sessions` reads them as past sessions."""

import os
from collections.abc import Sequence
from datetime import datetime, timedelta

from scripts.bench.figures import write_rows

OLD_S = 1_700_000_000  # seconds since the epoch: a transcript untouched for hours is of a session that is over

Turn = tuple[str, str, str]  # id, speaker, text


def write_transcript(config: str, session: str, project: str, began: str, turns: Sequence[Turn]) -> dict[str, str]:
    """Write a talk into a folder of Claude Code's; return for each turn the id of the typed one that begins its exchange.

    The first speaker types, the others answer. began: a time in ISO 8601, with its zone.
    """
    common = {"sessionId": session, "cwd": f"/{project}", "version": "2.1.329", "isSidechain": False, "userType": "external"}
    rows, typed_ids = [], {}
    typed = ""
    for number, (name, speaker, text) in enumerate(turns):
        at = (datetime.fromisoformat(began) + timedelta(seconds=number)).isoformat()
        row = {**common, "uuid": name, "parentUuid": turns[number - 1][0] if number else None, "timestamp": at}
        if speaker == turns[0][1]:
            typed = name
            row |= {"type": "user", "origin": {"kind": "human"}, "promptSource": "typed"}
            row["message"] = {"role": "user", "content": text}
        else:
            row |= {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}}
        rows.append(row)
        typed_ids[name] = typed
    file = os.path.join(config, "projects", f"-{project}", f"{session}.jsonl")
    os.makedirs(os.path.dirname(file), exist_ok=True)
    write_rows(file, rows)
    os.utime(file, (OLD_S, OLD_S))
    return typed_ids
