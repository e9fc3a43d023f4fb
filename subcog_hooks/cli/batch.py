"""Queries of a file or of another process: a JSON object a line, each answered by a line as soon as it comes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext

from subcog_hooks.cli.terminal.inputs import STDIN, readable
from subcog_hooks.cli.terminal.output import terminal
from subcog_hooks.core.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    Answer = Callable[[str, str | None], Mapping[str, object]]  # a text and the optional text, to the fields of its answer


def answer_lines(source: str, field: str, answer: Answer, *, optional: str = "") -> None:
    """Answer each line of a file or of standard input by a line of JSON with the same id, written at once.

    field: the name of the text in a line; optional: the name of a second text that a line may have. An invalid line is answered
    by its error. Raises UsageError for a file that cannot be read, and the errors of `answer`.
    """
    expected = f'{{"id", "{field}"' + (f', "{optional}"?}}' if optional else "}")
    name = "standard input" if source == STDIN else source
    try:
        lines = nullcontext(sys.stdin.buffer) if source == STDIN else open(source, "rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}", "give a JSONL file, or -") from error
    with lines as opened:
        for number, line in enumerate(opened, 1):
            if not line.strip():
                continue
            key: object = None
            try:
                row = json.loads(line.decode("utf-8-sig"))
                key = row["id"]
                text, other = row[field], row.get(optional)
                if not isinstance(text, str) or not isinstance(other, str | None):
                    raise TypeError
            except (ValueError, TypeError, KeyError, RecursionError):
                terminal.json({"id": key, "error": f"{name} line {number}: expected {expected}"})
            else:
                terminal.json({"id": key, **answer(readable(text), other)})
            terminal.flush()  # the other process may wait for this answer before it asks again
