"""The vectors of shared memories: they travel where both sides have the same model, and are made here otherwise.

They are the packaged model's, of a memory's whole text and its passages, int8 as they are. One that does not fit its text is
not taken: nobody makes a memory come where its words do not.
"""

from __future__ import annotations

import struct

from subcog_hooks.embed import models
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.share import batch
from subcog_hooks.share.server_schema import quoted
from subcog_hooks.store.vector_file import PASSAGES
from subcog_hooks.store.vector_store import FIRST_QUESTION, VectorStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from subcog_hooks.share.server_connection import Connection
    from subcog_hooks.share.sync import Progress
    from subcog_hooks.share.synced import Known, ShareState
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.store import Store

AT_ONCE = 1_000  # memories
# The cosine of the model's vector to that of the static encoder, below which it may be another text's. Of 390 notes the median
# is .68, the 5th percentile .53; of vectors and other texts the 99th is .41. What fits and is refused is made here.
LEAST_LIKENESS = 0.45

_STAGE = (
    "CREATE TEMP TABLE IF NOT EXISTS subcog_staged_vectors (id text, part smallint, content_hash text, embedding {type})"
    " ON COMMIT DELETE ROWS"
)
_CLEAR = (
    "DELETE FROM subcog.vectors USING (SELECT DISTINCT id FROM pg_temp.subcog_staged_vectors) AS sent"
    " WHERE vectors.project = %s AND vectors.id = sent.id"
)
_SEND = (
    "INSERT INTO subcog.vectors (project, id, part, model, content_hash, embedding)"
    " SELECT %s, id, part, %s, content_hash, embedding FROM pg_temp.subcog_staged_vectors"
)
_FETCH = (
    "SELECT id, content_hash, {schema}.vector_send(embedding) FROM subcog.vectors"
    " WHERE project = %s AND id = ANY(%s) AND model = %s ORDER BY id, part"
)
# of PostgreSQL's binary COPY, and of pgvector's own form: texts of 384 numbers cost both sides a third more
_COPY_BEGINS, _COPY_ENDS = b"PGCOPY\n\xff\r\n\0" + bytes(8), struct.pack(">h", -1)
_FOUR_FIELDS, _PART = struct.pack(">h", 4), struct.Struct(">ih")
_VECTOR = struct.Struct(">hh")  # its dimension, and a zero; numbers of four bytes follow


def model_name() -> str:
    """Return what tells the packaged model's vectors from those of any other model or recipe."""
    return models.vector_makers(PACKAGED)[0]


def send(
    connection: Connection,
    type_: str,
    state: ShareState,
    store: Store,
    vectors: VectorStore,
    project: str,
    progress: Progress,
) -> int:
    """Send the vectors of what was sent from here, as far as they are final. Return of how many memories.

    type_: the name of the server's type. Raises StoreError, psycopg's errors.
    """
    done, after = 0, ""
    while part := state.without_vectors(project, after, AT_ONCE):
        after = part[-1].id
        memories = store.by_ids([known.id for known in part])
        ready = [
            (known, memory.content_hash, made)
            for known in part
            if (memory := memories.get(known.id)) and (made := vectors.final_vectors(memory.content_hash)) and any(made[0])
        ]
        if ready:
            _send_batch(connection, type_, project, ready)
            batch.note_latest(connection, state)
            for known, content_hash, _ in ready:
                known.vectors = content_hash
            state.put([known for known, _, _ in ready])
            done += len(ready)
        progress(len(ready))
    return done


def _send_batch(connection: Connection, type_: str, project: str, ready: Sequence[tuple[Known, str, Sequence[bytes]]]) -> None:
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(_STAGE.format(type=type_).encode())
        with cursor.copy("COPY pg_temp.subcog_staged_vectors FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(_COPY_BEGINS)
            for known, content_hash, made in ready:
                copy.write(b"".join(_rows(known.id, content_hash, made[:FIRST_QUESTION])))
            copy.write(_COPY_ENDS)
        cursor.execute(_CLEAR, (project,))
        cursor.execute(_SEND, (project, model_name()))
        batch.add(connection)


def _rows(id: str, content_hash: str, made: Sequence[bytes]) -> Iterator[bytes]:
    import numpy as np  # 65 ms, where something is sent

    for number, vector in enumerate(made):
        yield _FOUR_FIELDS
        yield _field(id.encode())
        yield _PART.pack(_PART.size - 4, number)
        yield _field(content_hash.encode())
        yield _field(_VECTOR.pack(len(vector), 0) + np.frombuffer(vector, np.int8).astype(">f4").tobytes())


def _field(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def written(vector: bytes) -> str:
    """Return an int8 vector as the server reads it in a statement.

    >>> written(bytes([1, 0, 255]))
    '[1,0,-1]'
    """
    return f"[{','.join(map(str, memoryview(vector).cast('b')))}]"


def take(
    connection: Connection,
    schema: str,
    project: str,
    arrived: Sequence[Memory],
    vectors: VectorStore,
    progress: Progress,
) -> int:
    """Give memories that came from the server the vectors that are there for them. Return how many had some.

    schema: the extension's. Raises StoreError, psycopg's errors.
    """
    done = 0
    fetch = _FETCH.format(schema=quoted(schema)).encode()
    for start in range(0, len(arrived), AT_ONCE):
        part = {memory.id: memory for memory in arrived[start : start + AT_ONCE] if memory.status != "deleted"}
        with connection.cursor(binary=True) as cursor:
            rows = cursor.execute(fetch, (project, list(part), model_name())).fetchall()
        made: dict[str, list[bytes]] = {}
        for (id_, content_hash, _), vector in zip(rows, _read_vectors([sent for _, _, sent in rows]), strict=True):
            if part[id_].content_hash == content_hash:
                made.setdefault(id_, []).append(vector)
        fitting = [(part[id_], vectors_) for id_, vectors_ in made.items() if _fits(part[id_], vectors_, vectors)]
        done += vectors.finish((memory.seq * PASSAGES, memory.content_hash, given) for memory, given in fitting)
        progress(len(part))
    return done


def _read_vectors(sent: Sequence[bytes]) -> list[bytes]:
    """Return vectors, as the server sends them, as int8; b"" for those that never were int8.

    >>> numbers = [[1.0] * 384, [-2.0] * 384, [0.5] * 384, [128.0] * 384, [float("nan")] * 384, [1.0] * 3]
    >>> [vector[:2] for vector in _read_vectors([struct.pack(f">hh{len(row)}f", len(row), 0, *row) for row in numbers])]
    [b'\\x01\\x01', b'\\xfe\\xfe', b'', b'', b'', b'']
    """
    import numpy as np  # as above

    whole = _VECTOR.size + 4 * PACKAGED.dimension
    rows = np.frombuffer(b"".join([one if len(one) == whole else bytes(whole) for one in sent]), np.uint8).reshape(-1, whole)
    numbers = np.ascontiguousarray(rows[:, _VECTOR.size :]).view(">f4").astype(np.float32)
    is_int8 = (np.abs(numbers) <= 127) & (np.rint(numbers) == numbers)
    values = np.where(is_int8, numbers, 0).astype(np.int8)
    fits = is_int8.all(1)
    return [value.tobytes() if fit and len(one) == whole else b"" for value, fit, one in zip(values, fits, sent, strict=True)]


def _fits(memory: Memory, given: Sequence[bytes], vectors: VectorStore) -> bool:
    """Return whether vectors may be those of a memory's text, by the first one that was made of it here."""
    is_whole = all(len(vector) == PACKAGED.dimension for vector in given)
    return is_whole and vectors.cosines(given[0], [memory.seq]).get(memory.seq, 0.0) >= LEAST_LIKENESS
