"""Measure the second look: what it adds to the hook's answers, what it adds wrongly, and how often it starts.

Every prompt goes through the package's own code, in this process: the prompt hook, the second look where it starts one, and the
call of a tool right after it, which hands its answer over.

`gate` and `real` ask each prompt in a session of its own. `crowd` plays the sessions of twelve histories in order, in projects
that hold the memories of all the others, too. The sets lie outside of the repository. Part A is what was chosen on.

No language model is asked. One is simulated that chooses among the best fifteen by the labels, with the rates that a strong
model reached on 83 looks: where a note helps it is named in .93 of the looks; where notes are only near, two of them are named
in .54; at prompts about other work, none.

Example: python -m tests.eval.second_looks --sets real,crowd --part B
"""

import argparse
import importlib.util
import json
import os
import random
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple  # of JSON
from unittest.mock import patch

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import detached, recall_sources, second_look, tool
from subcog_hooks.hook import prompt as hook_prompt
from subcog_hooks.hook import session as hook_session
from subcog_hooks.hook.call import close_left_open
from subcog_hooks.llm import ranking
from subcog_hooks.store.memory import Memory
from tests.eval import homes
from tests.eval.collection import SHARED, rows
from tests.eval.gate.trials import ids_in
from tests.eval.systems import PATIENCE_MS

GATE, REAL, CROWD = "gate", "real", "crowd"
PARTS = ("A", "B")
NAMED, NAMED_NEAR, NEAR_NOTES = 0.93, 0.54, 2  # rates of the simulated model, and the notes that it names where none helps


class Shown(NamedTuple):
    """What a prompt was given: with itself, and late; and whether a second look was taken."""

    first: tuple[str, ...]
    late: tuple[str, ...]
    has_started: bool

    @property
    def all(self) -> tuple[str, ...]:
        return self.first + self.late


class Player:
    """The hook over a home, in this process; a second look is taken at once."""

    def __init__(self, home: Home, folder: Path) -> None:
        self._home = home
        settings = {"base_url": "http://127.0.0.1:9/v1", "model": "simulated", "calls_a_day": "10000", "at_rest": "openai"}
        for name, value in settings.items():
            homes._subcog(Path(home.root), "config", "set", f"llm.{name}", value)
        self._helps: frozenset[str] = frozenset()
        self._is_related = False
        self._folder = str(folder)
        self._started = 0

    @contextmanager
    def playing(self) -> Iterator[None]:
        """Let second looks be taken here, and the simulated model choose."""
        with (
            patch.dict(os.environ, {detached.SWITCH_OFF: "1"}),
            patch.object(detached, "start_process", self._take),
            patch.object(ranking, "rank_notes", self._rank),
        ):
            yield

    def _take(self, home: Home, words: Sequence[str], told: bytes = b"") -> None:
        if tuple(words) != second_look.WORDS:
            return  # the work at rest, which nobody waits for
        self._started += 1
        self._close()  # as the hook's own process does, before the other has begun
        second_look.take_look(json.loads(told), home)
        self._close()

    def _rank(self, _: str, asked: str, notes: Sequence[Memory], *__: object) -> list[str]:
        """The choice of the simulated model."""
        ids = [note.id for note in notes]
        helping = [id_ for id_ in ids if id_ in self._helps]
        chance = random.Random(asked).random()
        if helping:
            return helping if chance < NAMED else []
        return ids[:NEAR_NOTES] if self._is_related and chance < NAMED_NEAR else []

    def begin(self, session: str) -> tuple[str, ...]:
        """The ids that a session begins with."""
        return self._asked(hook_session, "SessionStart", session, source="startup")

    def prompt(self, text: str, session: str, helps: Iterable[str] = (), *, is_related: bool = False) -> Shown:
        """What a prompt is given, and what comes late with the next tool call.

        For a simulated model: helps, ids; is_related: whether the prompt is about what some notes are about.
        """
        self._helps = frozenset(helps)
        self._is_related = is_related
        before = self._started
        first = self._asked(hook_prompt, "UserPromptSubmit", session, prompt=text, permission_mode="default")
        has_started = self._started > before
        late: tuple[str, ...] = ()
        if has_started:
            late = self._asked(tool, "PreToolUse", session, tool_name="Bash", tool_input={"command": "true"})
        return Shown(first, late, has_started)

    def _asked(self, event: ModuleType, name: str, session: str, **more: object) -> tuple[str, ...]:
        printed: list[bytes] = []
        payload = {"session_id": session, "cwd": self._folder, "hook_event_name": name, **more}
        event.respond(payload, self._home, printed.append, Deadline(PATIENCE_MS))
        self._close()
        return ids_in(printed)

    @staticmethod
    def _close() -> None:
        close_left_open()
        recall_sources.close_left_open()


# ---- gate and real ---------------------------------------------------------------------------------------------------------


def asked(name: str, part: str | None, kept: Path) -> list[tuple[dict[str, Any], Shown]]:
    """Each prompt of a set with what it was given."""
    prompts = [row for row in rows(SHARED / name / "prompts.jsonl") if part in (None, row["part"])]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as aside:
        home = Path(aside) / "home"
        shutil.copytree(homes.home_of(SHARED / GATE / "memories.jsonl", kept).root, home)
        player = Player(Home(str(home)), Path(aside))
        with player.playing():
            return [
                (
                    row,
                    player.prompt(row["prompt"], f"{name}-{row['id']}", row["relevant"], is_related=row["kind"] != "unrelated"),
                )
                for row in prompts
            ]


def shares(given: Sequence[tuple[dict[str, Any], tuple[str, ...]]]) -> dict[str, float]:
    """The shares of the prompts that are answered, met with silence, and rightly answered first."""
    count: Counter[str] = Counter()
    for row, ids in given:
        count[row["kind"]] += 1
        count[f"{row['kind']} spoke"] += bool(ids)
        count["spoke"] += bool(ids)
        count["answered"] += bool({*ids} & {*row["relevant"]})
        count["first right"] += bool(ids) and ids[0] in row["relevant"]
    return {
        "answered": count["answered"] / max(1, count["answerable"]),
        "unanswerable: silent": 1.0 - count["unanswerable spoke"] / max(1, count["unanswerable"]),
        "unrelated: silent": 1.0 - count["unrelated spoke"] / max(1, count["unrelated"]),
        "first right": count["first right"] / max(1, count["spoke"]),
    }


def measured(played: Sequence[tuple[dict[str, Any], Shown]]) -> dict[str, object]:
    """The figures without and with the second look, how often it started, and how often that was of use."""
    late = [(row, shown.late) for row, shown in played if shown.late]
    return {
        "prompts": len(played),
        "first look": shares([(row, shown.first) for row, shown in played]),
        "with a second": shares([(row, shown.all) for row, shown in played]),
        "started": sum(shown.has_started for _, shown in played) / max(1, len(played)),
        "came late": len(late),
        "rightly": sum(bool({*ids} & {*row["relevant"]}) for row, ids in late),
    }


# ---- crowd -----------------------------------------------------------------------------------------------------------------


def crowded(part: str | None) -> dict[str, object]:
    """The figures of the histories: whom a prompt helped, where nothing was to be said, how often a look began."""
    running = _run_eval()
    stories = {file: json.loads(file.read_text(encoding="utf-8")) for file in sorted((SHARED / "life").glob("*.json"))}
    count: Counter[str] = Counter()
    for file, story in stories.items():
        if part in (None, story["part"]):
            sessions = sorted({prompt["session"] for prompt in story["prompts"]})
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as aside:
                _play(file.stem, story, running.crowd_of(stories, file, sessions), Path(aside), count)
    return _figures_of(count)


def _figures_of(count: Counter[str]) -> dict[str, object]:
    prompts, late = max(1, count["prompts"]), max(1, count["late"])
    return {
        "prompts": count["prompts"],
        "started": count["started"] / prompts,
        "started, a session": count["started"] / max(1, count["sessions"]),
        "helped by the prompt": count["helped"] / max(1, count["in need"]),
        "helped, with a second": count["helped late"] / max(1, count["in need"]),
        "idle: silent": 1.0 - count["idle spoke"] / max(1, count["idle"]),
        "idle: silent, with a second": 1.0 - count["idle spoke late"] / max(1, count["idle"]),
        "late: helps or is related": count["late of use"] / late,
        "memories that came late": count["late"],
    }


def _play(name: str, story: dict[str, Any], others: dict[Any, list[Any]], aside: Path, count: Counter[str]) -> None:
    """Play the sessions of a history.

    others: the memories of the other histories, by the session before which they come.
    """
    home, work = aside / "home", aside / "work"
    work.mkdir()
    project = f"git.example/{name}"
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    subprocess.run(["git", "-C", str(work), "remote", "add", "origin", f"https://{project}.git"], check=True)
    player = Player(Home(str(home)), work)
    known: set[str] = set()
    for session in sorted({prompt["session"] for prompt in story["prompts"]}):
        new = [memory for memory in story["memories"] if memory["session"] < session and memory["id"] not in known]
        new += others.get(session, [])
        random.Random(session).shuffle(new)
        known.update(memory["id"] for memory in new)
        if new:
            batch = aside / "batch.jsonl"
            batch.write_text("".join(json.dumps(_row(memory, project)) + "\n" for memory in new), encoding="utf-8")
            homes._subcog(home, "import", str(batch), "--trust", "user", "--wait")
        count["sessions"] += 1
        with player.playing():
            player.begin(f"{name}-{session}")
            for prompt in story["prompts"]:
                if prompt["session"] == session:
                    is_related = bool(prompt["helps"] or prompt["related"])
                    shown = player.prompt(prompt["prompt"], f"{name}-{session}", prompt["helps"], is_related=is_related)
                    _count(prompt, shown, count)


def _row(memory: dict[str, Any], project: str) -> dict[str, object]:
    row = {"id": memory["id"], "content": memory["memory"]}
    row |= {"namespace": memory["namespace"], "created_at": memory["created_at"]}
    return row if memory["scope"] == "user" else {**row, "project": project}


def _count(prompt: dict[str, Any], shown: Shown, count: Counter[str]) -> None:
    helps, of_use = {*prompt["helps"]}, {*prompt["helps"], *prompt["related"]}
    count["prompts"] += 1
    count["started"] += shown.has_started
    count["in need"] += bool(helps)
    count["helped"] += bool(helps & {*shown.first})
    count["helped late"] += bool(helps & {*shown.all})
    count["idle"] += not of_use
    count["idle spoke"] += not of_use and bool(shown.first)
    count["idle spoke late"] += not of_use and bool(shown.all)
    count["late"] += len(shown.late)
    count["late of use"] += len(of_use & {*shown.late})


def _run_eval() -> ModuleType:
    """The program that measures all sets, for how it makes a crowd."""
    spec = importlib.util.spec_from_file_location("run_eval", SHARED / "run_eval.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.eval.second_looks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default=f"{REAL},{GATE},{CROWD}", help="of real, gate, crowd (all)")
    parser.add_argument("--part", choices=["A", "B"], help="of the projects and people (both, one by one)")
    parser.add_argument("--homes", type=Path, default=homes.DEFAULT, help="where imported sets are kept (.cache/eval)")
    options = parser.parse_args()
    for name in options.sets.split(","):
        for part in [options.part] if options.part else PARTS:
            figures = crowded(part) if name == CROWD else measured(asked(name, part, options.homes))
            print(name, part, json.dumps(figures, indent=1), flush=True)


if __name__ == "__main__":
    main()
