"""Measure recall on two public benchmarks: LoCoMo, talks of two people, and BEAM, talks with an assistant.

LoCoMo: first each turn of a conversation is a memory: speaker, text and the caption of a shared photo. A session then stands
where its best turn stands. After that each session is one memory. Questions whose evidence names no turn that exists count as
misses. No setting was ever chosen on the held-out conversations. BEAM, its 20 conversations of 100,000 tokens: each message is
a memory. "silent" is the share of its questions without an answer to which no memory has a relevance of .5.

Then sessions and messages are read as transcripts instead, and `subcog search --sessions` is asked: LoCoMo's by the session of
each exchange found; of BEAM an exchange counts that holds a message with the answer.

A question is asked in its own conversation, to the hook's recall (at most 15 memories, the packaged static encoder), to
`subcog search --fast` and to `subcog search`. MRR and nDCG look at the first ten.

The data is downloaded: 2.8 MB (CC BY-NC 4.0) and 14 MB (no licence is named). The whole takes ten minutes of processor time.
Run it in this checkout, with the Python of an environment that subcog is installed in. Linux and macOS.

Examples: python -m scripts.bench.public
          python -m scripts.bench.public --only beam --beam BEAM/chats/100K
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING

from scripts.bench import beam
from scripts.bench.figures import align, write_rows
from scripts.bench.locomo import HELD_OUT, URL, join_sessions, load_conversations, session_of
from scripts.bench.machine import (
    Failed,
    Subcog,
    child_environment,
    describe_environment,
    describe_machine,
    end_by_signal,
    show_progress,
)
from scripts.bench.measures import MEASURES, mean_measures
from scripts.bench.transcripts import write_transcript

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from scripts.bench.locomo import Conversations, Question
    from subcog_hooks.recall.candidates import Sources
    from subcog_hooks.recall.hits import Answer

LOCOMO, BEAM = "locomo", "beam"
HITS = {"turns": 60, "sessions": 10, "messages": 10}  # of a search: turns enough for ten sessions
LIKELY = 0.5  # relevance
PATIENCE_MS = 60_000.0  # nothing is broken off: the whole tail is measured

Ranking = list[tuple[str, float]]  # ids and relevances, best first
Figures = dict[str, object]


def main() -> None:
    options = _options()
    signal.signal(signal.SIGTERM, end_by_signal)  # so that the temporary folder goes away then, too
    try:
        subcog = _installed_subcog()
        environment = describe_environment(subcog)
        figures = []
        if options.only != BEAM:
            show_progress("reading LoCoMo")
            turns = load_conversations(options.data)
            figures += _measure(subcog, "turns", turns) + _measure(subcog, "sessions", join_sessions(turns))
            figures += _measure_past_sessions(subcog, turns, "sessions")
        if options.only != LOCOMO:
            show_progress("reading BEAM")
            messages = beam.load_conversations(options.beam)
            figures += _measure(subcog, "messages", messages) + _measure_past_sessions(subcog, messages, "exchanges")
    except (Failed, OSError, subprocess.SubprocessError) as error:
        sys.exit(f"scripts.bench.public: {error}")
    show_progress("")
    print(_table(figures))
    print(f"Turns, sessions: LoCoMo; held out: {', '.join(sorted(HELD_OUT))}. Messages: BEAM. {describe_machine(environment)}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"environment": environment, "figures": figures}, file, indent=1)
            file.write("\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.bench.public", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", metavar="FILE", default=URL, help="locomo10.json, or its address, if not the usual one")
    parser.add_argument("--beam", metavar="FOLDER", default=beam.URL, help="BEAM's chats/100K, or its address")
    parser.add_argument("--only", choices=[LOCOMO, BEAM], help="one of the two")
    parser.add_argument("--json", metavar="FILE", help="write all figures to this file")
    return parser.parse_args()


def _measure(subcog: Subcog, memories: str, conversations: Conversations) -> list[Figures]:
    """Import the memories into a home of their own, ask all questions in three ways, and return the figures."""
    with tempfile.TemporaryDirectory(prefix="subcog-public-") as folder:
        home, lines = os.path.join(folder, "home"), os.path.join(folder, "memories.jsonl")
        write_rows(lines, conversations.memories)
        show_progress(f"importing and embedding {memories}")
        _run(subcog, home, "import", lines, "--trust", "user", "--wait")
        asked = [*conversations.questions, *conversations.unanswerable]
        rankings = {
            "hook": _ask_hook(home, asked),
            "search --fast": _ask_search(subcog, home, asked, HITS[memories], "--fast"),
            "search": _ask_search(subcog, home, asked, HITS[memories]),
        }
    return [row for recall, ranked in rankings.items() for row in measure_rankings(memories, recall, conversations, ranked)]


def _measure_past_sessions(subcog: Subcog, conversations: Conversations, counted: str) -> list[Figures]:
    """Let past sessions be read, ask all questions about them, and return the figures by sessions or by exchanges."""
    with tempfile.TemporaryDirectory(prefix="subcog-public-") as folder:
        home, config = os.path.join(folder, "home"), os.path.join(folder, "claude")
        exchanges: dict[str, str] = {}
        for (project, day), group in groupby(conversations.memories, lambda turn: (turn["project"], turn["created_at"][:10])):
            memories = list(group)
            said = [(turn["id"], turn["content"].partition(": ")) for turn in memories]
            turns = [(name, speaker, text) for name, (speaker, _, text) in said]
            exchanges |= write_transcript(config, f"{project}-{day}", project, memories[0]["created_at"], turns)
        show_progress("reading past sessions")
        _run(subcog, home, "config", "set", "sessions.keep", "transcript")
        _run(subcog, home, "import", "--from", "sessions", config, "--wait")
        show_progress("asking subcog search --sessions")
        file = os.path.join(folder, "questions.jsonl")
        asked = [{"id": asked.text, "query": asked.text, "project": f"/{asked.project}"} for asked in conversations.questions]
        write_rows(file, asked)
        answers = _run(subcog, home, "search", "--sessions", "--batch", file, "-n", "30").splitlines()
    found = [[result["rows"][0] for result in json.loads(answer)["results"]] for answer in answers]
    name = session_of if counted == "sessions" else exchanges.__getitem__
    relevant = [frozenset(map(name, question.relevant)) for question in conversations.questions]
    rankings = [[(one, 1.0) for one in dict.fromkeys(map(name, ids))] for ids in found]
    named = [question._replace(relevant=ids) for question, ids in zip(conversations.questions, relevant, strict=True)]
    return measure_rankings(counted, "search --sessions", conversations._replace(questions=named, unanswerable=()), rankings)


def _installed_subcog() -> Subcog:
    """Return the executable of the environment that runs this script."""
    command = os.path.join(os.path.dirname(sys.executable), "subcog")
    if not os.access(command, os.X_OK):
        raise Failed(f"subcog is not installed for {sys.executable}; install it there, or run this with another Python")
    return Subcog(command, sys.executable)


def _run(subcog: Subcog, home: str, *arguments: str) -> str:
    """Return the output of a command. Raises Failed."""
    environment = child_environment(SUBCOG_HOME=home)
    command = [subcog.command, *arguments]
    done = subprocess.run(command, cwd=os.path.dirname(home), env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"subcog {arguments[0]} failed: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout


def _ask_hook(home: str, questions: Sequence[Question]) -> list[Ranking]:
    show_progress("asking the hook's recall")
    with _opened(home) as sources:
        answers = (_for_prompt(question, sources) for question in questions)
        return [[(hit.memory.id, hit.relevance) for hit in answer.hits] for answer in answers]


@contextmanager
def _opened(root: str) -> Iterator[Sources]:
    """Open what the hook opens."""
    from subcog_hooks.core.paths import Home
    from subcog_hooks.embed import static_encoder
    from subcog_hooks.recall import vectors as recall_vectors
    from subcog_hooks.recall.candidates import Sources
    from subcog_hooks.store.index import LexicalIndex
    from subcog_hooks.store.store import Store
    from subcog_hooks.store.vector_store import VectorStore

    home = Home(root)
    index = LexicalIndex.open(home)
    encoder = static_encoder.StaticEncoder.open()
    with Store.reader(home) as store, VectorStore.reader(home, static_encoder.SPACE, encoder.dimension) as vectors:
        yield Sources(index, store, recall_vectors.SearchSpace(vectors, encoder.encode))


def _for_prompt(question: Question, sources: Sources) -> Answer:
    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.recall import pipeline
    from subcog_hooks.recall.hits import Eligibility
    from subcog_hooks.store.memory import now_ms
    from subcog_hooks.store.store_reader import audiences_of

    eligibility = Eligibility(audiences_of(question.project), now_ms())
    return pipeline.recall_for_prompt(question.text, sources, eligibility, Deadline(PATIENCE_MS))


def _ask_search(subcog: Subcog, home: str, questions: Sequence[Question], hits: int, *options: str) -> list[Ranking]:
    show_progress(" ".join(["asking subcog search", *options]))
    file = os.path.join(os.path.dirname(home), "questions.jsonl")
    write_rows(file, [{"id": question.text, "query": question.text, "project": question.project} for question in questions])
    answers = _run(subcog, home, "search", "--batch", file, "-n", str(hits), *options).splitlines()
    return [[(result["id"], result["relevance"]) for result in json.loads(answer)["results"]] for answer in answers]


def measure_rankings(memories: str, recall: str, conversations: Conversations, rankings: Sequence[Ranking]) -> list[Figures]:
    """Return the figures of all questions and of the held-out ones, by turns (where these are the memories) and by sessions.

    rankings: of the questions with an answer, then of those without.
    """
    unanswered = rankings[len(conversations.questions) :]
    silent = [all(relevance < LIKELY for _, relevance in ranking) for ranking in unanswered]
    asked = list(zip(conversations.questions, rankings, strict=False))
    held_out = [pair for pair in asked if pair[0].project in HELD_OUT]
    figures: list[Figures] = []
    for part, pairs in (("all", asked), *([("held out", held_out)] if held_out else [])):
        row = {"memories": memories, "recall": recall, "part": part, "questions": len(pairs)}
        row |= {"silent": sum(silent) / len(silent) if silent else None}
        ranked = [([name for name, _ in ranking], question.relevant) for question, ranking in pairs]
        figures.append(row | {"counted": memories} | mean_measures(ranked))
        if memories == "turns":
            figures.append(row | {"counted": "sessions"} | mean_measures([_sessions(*pair) for pair in ranked]))
    return figures


def _sessions(ids: Sequence[str], relevant: AbstractSet[str]) -> tuple[list[str], frozenset[str]]:
    return list(dict.fromkeys(map(session_of, ids))), frozenset(map(session_of, relevant))


def _table(figures: Sequence[Figures]) -> str:
    titles = ["memories", "counted", "recall", "part", "questions", *MEASURES, "silent"]
    return align([titles, *([_cell(row[title]) for title in titles] for row in figures)])


def _cell(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value or "")


if __name__ == "__main__":
    main()
