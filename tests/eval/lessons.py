"""Measure what memories learn from openings: prompts paired by need, the title first, then as somebody typed it.

Each title is asked once, and an agent opens the right memory where a line points at it. Then the memories are taught by the
package's own code. The figures tell how many of these needs are told or pointed at in their other form before and after that,
and at how many prompts about other work more is told. The sets lie outside of the repository.

Example: python -m tests.eval.lessons --part B
"""

import argparse
import json
import os
import re
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any  # of JSON
from unittest.mock import patch

from subcog_hooks.cli.proposals import teaching
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import detached, prompt
from subcog_hooks.store import decision_log, lessons, openings
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from tests.eval import homes
from tests.eval.collection import SHARED, rows
from tests.eval.gate.trials import ids_in
from tests.eval.second_looks import GATE, REAL, Player
from tests.eval.systems import PATIENCE_MS

ANSWERABLE = "answerable"
SESSIONS = 2  # in which a title is asked
PAIRS = 10  # that are taught at a time
MANY = 1_000_000  # records, so that none goes while all pairs are asked, which no person does within days


def opened(part: str | None, kept: Path) -> dict[str, float]:
    """The figures for needs whose memory an agent opened once, and for prompts about other work."""
    prompts = [row for row in rows(SHARED / REAL / "prompts.jsonl") if part in (None, row["part"])]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as aside:
        home = Home(str(Path(aside) / "home"))
        shutil.copytree(homes.home_of(SHARED / GATE / "memories.jsonl", kept).root, home.root)
        with _remembering(home), patch.object(detached, "start_process"):
            before = [_levels(home, row["prompt"], str(uuid.uuid4())) for row in prompts]
            needs = [row for row in prompts if row["kind"] == ANSWERABLE and _open_from_line(home, row)]
            while teaching.teach_in_background(home):
                pass
            after = [_levels(home, row["prompt"], str(uuid.uuid4())) for row in prompts]
        with Store.reader(home) as store:
            taught = {memory.id for memory in store.with_recorded_questions()}
    figures: dict[str, float] = {"needs opened once": len(needs), "memories that learned": len(taught)}
    ids = {row["id"] for row in needs}
    for name, levels in (("before", before), ("after", after)):
        of_needs = [(row, level) for row, level in zip(prompts, levels, strict=True) if row["id"] in ids]
        figures[f"{name}: told"] = _share(bool({*row["relevant"]} & told) for row, (told, _) in of_needs)
        figures[f"{name}: told or pointed at"] = _share(
            bool({*row["relevant"]} & (told | lines)) for row, (told, lines) in of_needs
        )
    for kind in ("unrelated", "unanswerable"):
        figures[f"{kind}: more is told"] = _share(
            bool(now[0] - then[0]) for row, then, now in zip(prompts, before, after, strict=True) if row["kind"] == kind
        )
    return figures


def _open_from_line(home: Home, row: dict[str, Any]) -> bool:
    """Ask a title once; an agent opens the right memory where a line points at it. Return whether one did."""
    session = f"title-{row['id']}"
    _levels(home, row["title"], session)
    with closing(State.open(home, 1_000)) as state:
        return bool(openings.note_opened(state, session, row["relevant"], int(time.time() * 1000)))


def _levels(home: Home, text: str, session: str) -> tuple[set[str], set[str]]:
    """The ids that a prompt is told, and those that lines point at."""
    printed: list[bytes] = []
    payload: dict[str, object] = {
        "session_id": session,
        "cwd": home.root,
        "hook_event_name": "UserPromptSubmit",
        "prompt": text,
    }
    prompt.respond(payload, home, printed.append, Deadline(PATIENCE_MS))
    Player._close()
    block = json.loads(printed[0])["hookSpecificOutput"]["additionalContext"] if printed else ""
    return {*ids_in(printed)}, {*re.findall(r"^\[maybe (\S+)\]", block, re.MULTILINE)}


def _share(flags: Iterable[bool]) -> float:
    values = [*flags]
    return sum(values) / max(1, len(values))


@contextmanager
def _remembering(home: Home) -> Iterator[None]:
    """Let the records of all pairs be kept, and this process work in that home."""
    with (
        patch.dict(os.environ, {"SUBCOG_HOME": home.root}),
        patch.object(decision_log, "MAX_DECISIONS", MANY),
        patch.object(lessons, "take_teaching", lambda *_: True),
        patch.object(lessons, "has_news", lambda *_: True),
    ):
        yield


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.eval.lessons", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=["A", "B"], help="of the projects (both)")
    parser.add_argument("--homes", type=Path, default=homes.DEFAULT, help="where imported sets are kept (.cache/eval)")
    options = parser.parse_args()
    print(options.part or "A and B", json.dumps(opened(options.part, options.homes), indent=1))


if __name__ == "__main__":
    main()
