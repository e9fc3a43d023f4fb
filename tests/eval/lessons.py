"""Measure what memories learn from second looks: prompts paired by need, the title first, then as somebody typed it.

Each title is asked in two sessions of its own. Where the second look hands the right memory over, the session goes on with
what is in it, as if the person had used it; a wrong one is left alone. Then the memories are taught by the package's own code.
The first look is asked for each title, each prompt as it was typed, and the prompts about other work, before and after that.

With --opened each title is asked once, and an agent opens the right memory where a line points at it; the figures tell how many
of these needs are told or pointed at in their other form.

No language model is asked. With --ranker one is simulated that chooses among the best fifteen by the labels, and is right for
that share of the prompts; what it ranks first is learned then without having been used. The sets lie outside of the repository.

Example: python -m tests.eval.lessons --part B
Example: python -m tests.eval.lessons --ranker 0.8
"""

import argparse
import json
import os
import re
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any  # of JSON
from unittest.mock import patch

from subcog_hooks.cli.proposals import teaching
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import detached, prompt
from subcog_hooks.store import decision_log, sessions, suggestions
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from tests.eval import homes
from tests.eval.collection import SHARED, rows
from tests.eval.gate.trials import ids_in
from tests.eval.second_looks import GATE, REAL, Player, Shown
from tests.eval.systems import PATIENCE_MS

ANSWERABLE = "answerable"
SESSIONS = 2  # in which a title is asked
PAIRS = 10  # that are taught at a time
MANY = 1_000_000  # records, so that none goes while all pairs are asked, which no person does within days


def learned(part: str | None, kept: Path, ranker: float | None = None) -> dict[str, float]:
    """The figures: who is answered by the first look before and after, and to which prompts something comes that came not."""
    prompts = [row for row in rows(SHARED / REAL / "prompts.jsonl") if part in (None, row["part"])]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as aside:
        home = Home(str(Path(aside) / "home"))
        shutil.copytree(homes.home_of(SHARED / GATE / "memories.jsonl", kept).root, home.root)
        player = Player(home, kept, Path(aside), ranker)
        with player.playing(), _remembering(home):
            pairs = [row for row in prompts if row["kind"] == ANSWERABLE]
            before = [first_look(player, row["prompt"]) for row in prompts]
            titles_before = [first_look(player, row["title"]) for row in pairs]
            found = 0
            for start in range(0, len(pairs), PAIRS):
                found += sum(_meet(player, row, home) for row in pairs[start : start + PAIRS])
                teaching.teach_in_background(home)
            after = [first_look(player, row["prompt"]) for row in prompts]
            titles_after = [first_look(player, row["title"]) for row in pairs]
        with Store.reader(home) as store:
            taught = {memory.id for memory in store.with_recorded_questions()}
    told: dict[str, float] = {
        "memories that learned": len(taught),
        "of them answer a prompt": len({id_ for row in pairs for id_ in row["relevant"]} & taught),
        "title, found late": found / max(1, len(pairs)),
        "title, by the first look before": _answered(list(zip(pairs, titles_before, strict=True))),
        "title, by the first look after": _answered(list(zip(pairs, titles_after, strict=True))),
    }
    return told | _figures(list(zip(prompts, before, strict=True)), list(zip(prompts, after, strict=True)), taught)


def first_look(player: Player, text: str) -> tuple[str, ...]:
    """What the first look brings to a prompt, in a session of its own."""
    return player.prompt(text, str(uuid.uuid4())).first


def _meet(player: Player, row: dict[str, Any], home: Home) -> bool:
    """Ask a title in sessions of its own, and use what comes late and is right. Return whether anything did."""
    right: set[str] = set()
    for number in range(SESSIONS):
        session = f"title-{number}-{row['id']}"
        shown: Shown = player.prompt(row["title"], session, row["relevant"])
        right = {*shown.late} & {*row["relevant"]}
        if right:
            with Store.reader(home) as store:
                used = store.by_ids(list(right))
            for memory in used.values():
                player.prompt(memory.content[:400], session)
    return bool(right)


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
        return bool(sessions.note_opened(state, session, row["relevant"], int(time.time() * 1000)))


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
        patch.object(suggestions, "take_teaching", lambda *_: True),
        patch.object(suggestions, "has_news", lambda *_: True),
    ):
        yield


Given = Sequence[tuple[dict[str, Any], tuple[str, ...]]]  # prompts, each with what it was given


def _figures(before: Given, after: Given, taught: set[str]) -> dict[str, float]:
    """The figures of the prompts as they were typed."""
    figures: dict[str, float] = {"prompts": len(before)}
    for name, given in (("before", before), ("after", after)):
        typed = [(row, ids) for row, ids in given if row["kind"] == ANSWERABLE]
        figures[f"typed, by the first look {name}"] = _answered(typed)
        learners = [(row, ids) for row, ids in typed if {*row["relevant"]} & taught]
        figures[f"those whose memory has learned, {name}"] = _answered(learners)
    for kind in ("unrelated", "unanswerable"):
        new = [{*two} - {*one} for (row, one), (_, two) in zip(before, after, strict=True) if row["kind"] == kind]
        figures[f"{kind}: more comes"] = sum(map(bool, new)) / max(1, len(new))
    return figures


def _answered(given: Given) -> float:
    return sum(bool({*row["relevant"]} & {*ids}) for row, ids in given) / max(1, len(given))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.eval.lessons", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=["A", "B"], help="of the projects (both)")
    parser.add_argument("--ranker", type=float, metavar="SHARE", help="simulate a model (none)")
    parser.add_argument("--homes", type=Path, default=homes.DEFAULT, help="where imported sets are kept (.cache/eval)")
    parser.add_argument("--opened", action="store_true", help="an agent opens memories from lines")
    options = parser.parse_args()
    figures = opened(options.part, options.homes) if options.opened else learned(options.part, options.homes, options.ranker)
    print(options.part or "A and B", json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
