"""Sessions of real people outside of the repository, for measuring only; skipped if they are missing."""

import json
from pathlib import Path

import pytest

from subcog_hooks.learn import transcript

CAPTURE = Path(__file__).parents[2].parent / "shared" / "eval" / "capture"


@pytest.mark.skipif(not CAPTURE.exists(), reason="the sessions of real people are not here")
def test_every_labelled_prompt_is_read_and_nothing_else() -> None:
    labelled: dict[str, set[int]] = {}
    for row in map(json.loads, (CAPTURE / "labels" / "dev.jsonl").read_text().splitlines()):
        labelled.setdefault(row["session"], set()).add(row["turn"])
    for name, turns in labelled.items():
        path = CAPTURE / "sessions" / "dev" / f"{name}.jsonl"
        offsets = [0]
        for line in path.read_bytes().splitlines(keepends=True):
            offsets.append(offsets[-1] + len(line))
        assert {offsets.index(turn.offset) for turn in transcript.read_transcript(str(path)).turns} == turns, name
