"""Redaction measured: on made-up secrets in the sentences and lines in which people write them, and on notes that hold none."""

import base64
import json
from collections import Counter
from pathlib import Path

import pytest

from subcog_hooks.redaction.redact import redact

SHARED = Path(__file__).parents[2].parent / "shared"
SECRETS = SHARED / "hostile" / "secrets.b64"
NOTES = SHARED / "eval" / "devmem" / "memories.jsonl"
LEAST = {"vendor": 51, "line": 28, "hard": 12}  # of 55, 31 and 26
MOST_TOUCHED = 0.015  # of notes without secrets


@pytest.mark.skipif(not SECRETS.exists(), reason="the list of secrets is not part of this repository")
def test_most_made_up_secrets_are_not_stored() -> None:
    gone: Counter[str] = Counter()
    for line in SECRETS.read_bytes().split():
        row = json.loads(base64.b64decode(line))
        text = redact(row["text"]).text
        gone[row["kind"]] += not any(secret in text for secret in row["secrets"])
    assert {kind: gone[kind] for kind in LEAST if gone[kind] < LEAST[kind]} == {}


@pytest.mark.skipif(not NOTES.exists(), reason="the collection is not part of this repository")
def test_notes_of_developers_stay_as_they_are() -> None:
    notes = [json.loads(line)["content"] for line in NOTES.read_text(encoding="utf-8").splitlines()]
    touched = sum(bool(redact(note).removed) for note in notes)
    assert touched <= MOST_TOUCHED * len(notes)
