"""Measure other memories for agents beside subcog: recall, silence, time of one query, size, and processes that stay.

basic-memory, mcp-memory-service and memsearch are installed from PyPI, this checkout beside them, each into an environment of
its own. All store the memories of the project's ground truth and are asked its queries, then 40 prompts about other people's
work. "LoCoMo" is the recall of its sessions in four conversations, by each fourth question about them (2.8 MB are downloaded).
All embed with one model: all-MiniLM-L6-v2 as subcog packages it, in 8 bits. mcp-memory-service would download the same model in
32 bits, memsearch the larger bge-m3, basic-memory bge-small-en-v1.5. Nothing but the packages is downloaded.

A session of LoCoMo is a note of all its turns. `subcog search --sessions` reads it as a transcript of Claude Code instead, to
which one of the two speakers types, and keeps at most 1,000 characters of an exchange. The others' own records of sessions are
not measured: memsearch has an LLM write them, and basic-memory's hooks write no note.

The others answer a tool that an agent calls; only `subcog block` is made to be asked with every prompt. One query is timed as a
whole process: a client keeps the servers of basic-memory and mcp-memory-service running instead. Sizes are those of the
environment, without models that are downloaded later. Recall counts the first five memories.

Run it in this checkout, with a Python whose sqlite3 loads extensions. basic-memory needs such a Python from 3.12 on, looked for
on the PATH (`uv python install 3.13` brings one), and is left out without it. It took half an hour on two busy cores.
Linux and macOS.

Example: python -m scripts.bench.peers
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from scripts.bench.figures import align, mib_on_disk, quantile, write_rows
from scripts.bench.locomo import HELD_OUT, URL, join_sessions, load_conversations
from scripts.bench.machine import (
    ROOT,
    Failed,
    child_environment,
    describe_environment,
    describe_machine,
    end_by_signal,
    install_package,
    install_subcog,
    show_progress,
)
from scripts.bench.measures import recall_at
from scripts.bench.transcripts import write_transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    Row = dict[str, Any]  # Any: JSON

GROUND_TRUTH = os.path.join(ROOT, "tests", "eval", "ground_truth")
MODEL = os.path.join(ROOT, "subcog_hooks", "embed", "minilm")
TALKED = "2026-03-02T10:00:00+00:00"
NEWER_PYTHONS = ("python3.14", "python3.13", "python3.12")  # for basic-memory
NEEDLESS = 40  # prompts about other people's work
EACH_QUESTION = 4  # of LoCoMo's held-out conversations is asked
TIMED = 10  # queries whose whole processes are timed, in turns
SETTLING_S = 3.0  # before processes are counted that are still there
POOL = """
import sys, onnx
from onnx import TensorProto, helper
model = onnx.load(sys.argv[1])
for operator, inputs, output, options in (
    ("Cast", ["attention_mask"], "mask", {"to": TensorProto.FLOAT}),
    ("Unsqueeze", ["mask", "last"], "wide", {}),
    ("Mul", ["last_hidden_state", "wide"], "kept", {}),
    ("ReduceSum", ["kept", "tokens"], "sum", {"keepdims": 0}),
    ("ReduceSum", ["wide", "tokens"], "count", {"keepdims": 0}),
    ("Div", ["sum", "count"], "dense_vecs", {}),
):
    model.graph.node.append(helper.make_node(operator, inputs, [output], **options))
for name, axis in (("last", 2), ("tokens", 1)):
    model.graph.initializer.append(helper.make_tensor(name, TensorProto.INT64, [1], [axis]))
model.graph.output.append(helper.make_tensor_value_info("dense_vecs", TensorProto.FLOAT, ["batch", 384]))
onnx.save(model, sys.argv[2])
"""  # memsearch takes the first token's vector of a model without an output of this name; MiniLM's is the mean


class Reply(NamedTuple):
    """What a system answers: ids of memories, best first, and all its text."""

    ids: list[str]
    text: str


class System:
    """A memory in an environment and a home of its own, below `folder`."""

    name: str

    def __init__(self, folder: str, python: str) -> None:
        self.folder, self.home = folder, os.path.join(folder, "home")
        self.python, self.bin = python, os.path.dirname(python)
        self.environment = child_environment(HOME=self.home)
        del self.environment["SUBCOG_BACKGROUND"]  # processes in the background are counted
        os.makedirs(self.home, exist_ok=True)

    def store(self, memories: Sequence[Row]) -> None:
        raise NotImplementedError

    def ask(self, text: str) -> Reply:
        """Start a process, ask it, and let it end."""
        raise NotImplementedError

    def ask_all(self, texts: Sequence[str]) -> list[Reply]:
        return [self.ask(text) for text in texts]

    def write_notes(self, memories: Sequence[Row]) -> str:
        """Write a Markdown file for each memory, named by its id, and return their folder."""
        notes = os.path.join(self.home, "notes")
        os.mkdir(notes)
        for memory in memories:
            with open(os.path.join(notes, f"{memory['id']}.md"), "w", encoding="utf-8") as file:
                file.write(memory["content"] + "\n")
        return notes

    def run(self, *command: str, silent: int = 0) -> str:
        """Return the output of a program of the environment. silent: the exit code of an empty answer. Raises Failed."""
        done = subprocess.run(
            [os.path.join(self.bin, command[0]), *command[1:]],
            cwd=self.home,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in (0, silent):
            raise Failed(f"{' '.join(command[:2])} failed: {(done.stderr or done.stdout).strip()[-2000:]}")
        return done.stdout


class SubcogSearch(System):
    """`subcog search`, as a person or an agent calls it."""

    name = "subcog search"

    def store(self, memories: Sequence[Row]) -> None:
        file = os.path.join(self.folder, "memories.jsonl")
        write_rows(file, memories)
        self.run("subcog", "import", file, "--trust", "user", "--wait")

    def ask(self, text: str) -> Reply:
        output = self.run("subcog", "search", "--json", "--", text, silent=1)
        return Reply([result["id"] for result in json.loads(output)["results"]], output)


class SubcogBlock(SubcogSearch):
    """The hook's answer to a prompt: memories, and lines that point at memories."""

    name = "subcog block"

    def ask(self, text: str) -> Reply:
        output = self.run("subcog", "block", "--json", "--", text, silent=1)
        answer = json.loads(output or '{"memories": [], "lines": [], "text": ""}')
        return Reply([memory["id"] for memory in answer["memories"] + answer["lines"]], answer["text"])


class SubcogSessions(SubcogSearch):
    """Past sessions asked: a conversation as the transcript of a coding agent, which it types to."""

    name = "subcog search --sessions"

    def store(self, memories: Sequence[Row]) -> None:
        for memory in memories:
            turns = re.findall(r"^(\w+): (.*(?:\n(?!\w+: ).*)*)", memory["content"], re.MULTILINE)
            named = [(f"{memory['id']}-{number}", *turn) for number, turn in enumerate(turns)]
            write_transcript(os.path.join(self.home, ".claude"), memory["id"], "talks", TALKED, named)
        self.run("subcog", "config", "set", "sessions.keep", "transcript")
        self.run("subcog", "import", "--from", "sessions", "--wait")

    def ask(self, text: str) -> Reply:
        output = self.run("subcog", "search", "--sessions", "--all-projects", "--json", "-n", "20", "--", text, silent=1)
        return Reply(list(dict.fromkeys(result["session"] for result in json.loads(output)["results"])), output)


class MemSearch(System):
    """memsearch: a Markdown file for each memory, searched by words and vectors in Milvus Lite."""

    name = "memsearch"
    requirement = "memsearch[onnx]"
    model = ("-p", "onnx", "-m", "minilm/pooled")

    def store(self, memories: Sequence[Row]) -> None:
        cache = os.path.join(self.folder, "cache")
        snapshot = _copy_model(os.path.join(cache, "hub", "models--minilm--pooled"))
        self.environment |= {"HF_HOME": cache, "HF_HUB_OFFLINE": "1"}
        self.run("python", "-m", "pip", "install", "--quiet", "onnx")
        self.run("python", "-c", POOL, os.path.join(MODEL, "model.onnx"), os.path.join(snapshot, "model.onnx"))
        self.run("memsearch", "index", self.write_notes(memories), *self.model)

    def ask(self, text: str) -> Reply:
        output = self.run("memsearch", "search", "-k", "10", "-j", *self.model, "--", text)
        sources = (os.path.basename(chunk["source"]).removesuffix(".md") for chunk in json.loads(output))
        return Reply(list(dict.fromkeys(sources)), output)


class Server(System):
    """A memory that an agent asks by a tool of its MCP server, on standard input and output."""

    command: tuple[str, ...]
    tool: str

    def ids_in(self, text: str) -> list[str]:
        """Return the ids of the memories in an answer of the tool, best first."""
        raise NotImplementedError

    def ask(self, text: str) -> Reply:
        return self.ask_all([text])[0]

    def ask_all(self, texts: Sequence[str]) -> list[Reply]:
        with self.serve() as call:
            outputs = [call(self.tool, query=text) for text in texts]
        return [Reply(self.ids_in(output), output) for output in outputs]

    @contextmanager
    def serve(self) -> Iterator[Callable[..., str]]:
        """Start the server and yield a function that calls one of its tools; it ends when its input does."""
        with (
            open(os.path.join(self.folder, "server.log"), "a", encoding="utf-8") as log,
            subprocess.Popen(
                [os.path.join(self.bin, self.command[0]), *self.command[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self.home,
                env=self.environment,
                text=True,
            ) as process,
        ):
            hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
            _request(process, "initialize", hello)
            _send(process, {"method": "notifications/initialized"})
            yield lambda tool, **arguments: _request(process, "tools/call", {"name": tool, "arguments": arguments})


class McpMemoryService(Server):
    """mcp-memory-service: SQLite and sqlite-vec."""

    name = "mcp-memory-service"
    requirement = "mcp-memory-service[sqlite]"
    command, tool = ("memory", "server"), "memory_search"

    def store(self, memories: Sequence[Row]) -> None:
        model = os.path.join(self.home, ".cache", "mcp_memory", "onnx_models", "all-MiniLM-L6-v2", "onnx")
        shutil.copytree(MODEL, model)
        self.environment["MCP_MEMORY_USE_ONNX"] = "1"
        self.ids: dict[str, str] = {}
        with self.serve() as call:
            for memory in memories:
                metadata = {"tags": memory.get("tags", [])}  # a conversation keeps what resembles another memory
                stored = call("memory_store", content=memory["content"], metadata=metadata, conversation_id=memory["id"])
                if not (digests := re.findall(r"[Hh]ash: ([0-9a-f]{64})", stored)):
                    raise Failed(f"{self.name} did not store {memory['id']}: {stored[-500:]}")
                self.ids |= dict.fromkeys(digests, memory["id"])

    def ids_in(self, text: str) -> list[str]:
        return [self.ids[digest] for digest in re.findall(r"Hash: ([0-9a-f]{64})", text)]


class BasicMemory(Server):
    """basic-memory: a Markdown file for each memory, searched by words and vectors in SQLite."""

    name = "basic-memory"
    requirement = "basic-memory"
    command, tool = ("basic-memory", "mcp"), "search_notes"

    def store(self, memories: Sequence[Row]) -> None:
        cache = os.path.join(self.folder, "cache")
        _copy_model(os.path.join(cache, "models--Qdrant--all-MiniLM-L6-v2-onnx"))
        self.environment |= {
            "HF_HUB_OFFLINE": "1",
            "BASIC_MEMORY_AUTO_UPDATE": "false",
            "BASIC_MEMORY_SEMANTIC_EMBEDDING_CACHE_DIR": cache,
            "BASIC_MEMORY_SEMANTIC_EMBEDDING_MODEL": "sentence-transformers/all-MiniLM-L6-v2",
        }
        self.known = frozenset(memory["id"] for memory in memories)
        self.run("basic-memory", "project", "add", "bench", self.write_notes(memories), "--default", "--local")
        self.run("basic-memory", "reindex")

    def ids_in(self, text: str) -> list[str]:
        return [title for title in re.findall(r"^### (.+)$", text, re.MULTILINE) if title in self.known]


def _copy_model(repository: str) -> str:
    """Copy the packaged model to a cache of Hugging Face's as this repository; return the folder of its files."""
    snapshot = os.path.join(repository, "snapshots", "1")
    shutil.copytree(MODEL, snapshot)
    os.mkdir(os.path.join(repository, "refs"))
    with open(os.path.join(repository, "refs", "main"), "w", encoding="ascii") as file:
        file.write("1")
    return snapshot


def _request(process: subprocess.Popen[str], method: str, parameters: Row) -> str:
    """Return the text that an MCP server answers. Raises Failed when it ends instead."""
    _send(process, {"id": 1, "method": method, "params": parameters})
    for line in process.stdout or ():
        answer = json.loads(line)
        if answer.get("id") == 1:
            return "".join(part.get("text", "") for part in answer["result"].get("content", ()))
    raise Failed(f"{process.args!r} ended at {method}")


def _send(process: subprocess.Popen[str], message: Row) -> None:
    assert process.stdin
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.flush()


# ---- measuring -------------------------------------------------------------------------------------------------------


def main() -> None:
    options = _options()
    signal.signal(signal.SIGTERM, end_by_signal)  # so that the temporary folder goes away then, too
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        sys.exit(f"scripts.bench.peers: {sys.executable} loads no SQLite extensions; run this with another Python")
    try:
        with tempfile.TemporaryDirectory(prefix="subcog-peers-") as folder:
            figures, environment = _measure(os.path.realpath(folder), options.data)
    except (Failed, OSError, ValueError, subprocess.SubprocessError) as error:
        sys.exit(f"scripts.bench.peers: {error}")
    show_progress("")
    print(align([list(figures[0]), *(list(map(str, row.values())) for row in figures)]))
    if not any(row["system"] == BasicMemory.name for row in figures):
        print("basic-memory is left out: no python3.12 or later on the PATH has a sqlite3 that loads extensions")
    print(f"{describe_machine(environment)}, {environment['at']}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"environment": environment, "figures": figures}, file, indent=1)
            file.write("\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.bench.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", metavar="FILE", default=URL, help="locomo10.json, or its address, if not the usual one")
    parser.add_argument("--json", metavar="FILE", help="write all figures to this file")
    return parser.parse_args()


def _measure(folder: str, data: str) -> tuple[list[Row], dict[str, object]]:
    """Return the figures of each system, and the environment of subcog. data: of LoCoMo."""
    sessions, questions = _read_sessions(data)
    subcog_folder = _new_folder(folder, "subcog")
    subcog = install_subcog(subcog_folder)
    systems: list[System] = [SubcogBlock(subcog_folder, subcog.python), SubcogSearch(subcog_folder, subcog.python)]
    for peer in (BasicMemory, McpMemoryService, MemSearch):
        if python := newer_python() if peer is BasicMemory else sys.executable:
            peer_folder = _new_folder(folder, peer.name)
            systems.append(peer(peer_folder, install_package(peer_folder, peer.requirement, python)))
    sizes = [mib_on_disk(os.path.join(system.folder, "venv")) for system in systems]
    memories = _rows("memories.jsonl")
    for system in systems[1:]:  # the first two share a home
        show_progress(f"{system.name}: storing {len(memories)} memories")
        system.store(memories)
    queries = _rows("queries.jsonl")
    times = _time_queries(systems, [query["query"] for query in queries[:TIMED]])
    figures = []
    for system, size, milliseconds in zip(systems, sizes, times, strict=True):
        row: Row = {"system": system.name, "version": _version(system)}
        row |= _quality(system, queries) | {"one query ms": round(quantile(milliseconds, 0.5)), "MiB": round(size)}
        time.sleep(SETTLING_S)
        figures.append(row | {"left": count_processes(system.folder)})
    figures.append(dict.fromkeys(figures[0], "") | {"system": SubcogSessions.name, "version": figures[0]["version"]})
    systems.append(SubcogSessions(subcog_folder, subcog.python))
    others = [
        type(system)(_new_folder(system.folder, f"locomo-{number}"), system.python) for number, system in enumerate(systems)
    ]
    for other, row in zip(others, figures, strict=True):
        show_progress(f"{other.name}: storing {len(sessions)} sessions, and asking {len(questions)} questions")
        other.store(sessions)
        row["LoCoMo R@5"] = _mean_recall(other, questions)
    return figures, describe_environment(subcog)


def _read_sessions(data: str) -> tuple[list[Row], list[Row]]:
    """Return the sessions of LoCoMo's held-out conversations as memories, and questions with their relevant ids."""
    conversations = join_sessions(load_conversations(data))
    sessions = [
        {"id": memory["id"], "content": memory["content"]} for memory in conversations.memories if memory["project"] in HELD_OUT
    ]
    asked = [question for question in conversations.questions if question.project in HELD_OUT and question.relevant]
    return sessions, [{"query": question.text, "relevant": question.relevant} for question in asked[::EACH_QUESTION]]


def _mean_recall(system: System, queries: Sequence[Row]) -> float:
    recall = recall_at(5)
    replies = system.ask_all([query["query"] for query in queries])
    values = [recall(reply.ids, frozenset(query["relevant"])) for reply, query in zip(replies, queries, strict=True)]
    return round(sum(values) / len(values), 3)


def newer_python() -> str | None:
    """Return a Python from 3.12 on whose sqlite3 loads extensions, or None."""
    program = (
        "import sqlite3, sys; sys.exit(sys.version_info < (3, 12) or not hasattr(sqlite3.Connection, 'enable_load_extension'))"
    )
    candidates = [sys.executable, *filter(None, map(shutil.which, NEWER_PYTHONS))]
    return next((path for path in candidates if not subprocess.run([path, "-c", program], check=False).returncode), None)


def _new_folder(parent: str, name: str) -> str:
    folder = os.path.join(parent, name)
    os.mkdir(folder)
    return folder


def _rows(name: str) -> list[Row]:
    with open(os.path.join(GROUND_TRUTH, name), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _time_queries(systems: Sequence[System], texts: Sequence[str]) -> list[list[float]]:
    """Return the milliseconds of each system's whole processes; the systems take turns."""
    times: list[list[float]] = [[] for _ in systems]
    for text in texts:
        for system, taken in zip(systems, times, strict=True):
            show_progress(f"{system.name}: timing")
            started = time.perf_counter()
            system.ask(text)
            taken.append((time.perf_counter() - started) * 1000)
    return times


def _quality(system: System, queries: Sequence[Row]) -> Row:
    show_progress(f"{system.name}: asking {len(queries)} queries and {NEEDLESS} prompts")
    recall = _mean_recall(system, queries)
    prompts = sorted((row for row in _rows("prompts.jsonl") if row["kind"] == "unrelated"), key=lambda row: row["split"])
    answers = [reply for reply in system.ask_all([row["prompt"] for row in prompts[:NEEDLESS]]) if reply.ids]
    return {
        "R@5": recall,
        f"spoke of {NEEDLESS}": len(answers),
        "characters each": round(sum(len(reply.text) for reply in answers) / NEEDLESS),
    }


def _version(system: System) -> str:
    package = system.name.partition(" ")[0]
    return system.run("python", "-c", f"import importlib.metadata as m; print(m.version({package!r}))").strip()


def count_processes(folder: str) -> int:
    """Count the processes whose command names a file in this folder."""
    listed = subprocess.run(["ps", "-A", "-ww", "-o", "command="], capture_output=True, text=True, check=True).stdout
    return sum(folder + os.sep in command for command in listed.splitlines())


if __name__ == "__main__":
    main()
