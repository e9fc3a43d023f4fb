"""The vectors of shared memories: they are sent where both sides have the same model, and are made here otherwise.

They are the packaged model's int8 vectors of a memory's whole text and its passages. Where a vector does not fit its text, the
memory's are refused and made here, so that nobody makes a memory come where its words do not.
"""

from __future__ import annotations

import struct
from itertools import chain, islice

from subcog_hooks.embed import documents, models
from subcog_hooks.embed.documents import MAX_PASSAGES, DocumentEmbedder
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.share import batch
from subcog_hooks.share.server_schema import quote_name
from subcog_hooks.store.vector_file import PASSAGES
from subcog_hooks.store.vector_reader import FIRST_QUESTION
from subcog_hooks.text.languages import is_foreign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from subcog_hooks.share.batch import Progress
    from subcog_hooks.share.server_connection import Connection
    from subcog_hooks.share.synced import ShareState, SyncRecord
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.store import Store
    from subcog_hooks.store.vector_store import VectorStore

BATCH_MEMORIES = 1_000  # memories
# Below this cosine to the static encoder's vector, a vector may belong to another text. Of 390 notes the median is .68, the 5th
# percentile .53; between vectors and other texts the 99th is .41. A fitting vector that is refused is made here.
MIN_LIKENESS = 0.45

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
    "SELECT id, content_hash, part, {schema}.vector_send(embedding) FROM subcog.vectors"
    " WHERE project = %s AND id = ANY(%s) AND model = %s AND part <= %s ORDER BY id, part"
)
# The binary formats of PostgreSQL's COPY and of pgvector: 384 numbers as text cost both sides a third more.
_COPY_BEGINS, _COPY_ENDS = b"PGCOPY\n\xff\r\n\0" + bytes(8), struct.pack(">h", -1)
_FIELD_COUNT, _PART = struct.pack(">h", 4), struct.Struct(">ih")
_VECTOR = struct.Struct(">hh")  # the dimension and a zero, before numbers of four bytes


def model_name() -> str:
    """Return the name of the packaged model and its recipe, as the vectors' rows have it."""
    return models.vector_makers(PACKAGED)[0]


def send_vectors(
    connection: Connection, type_: str, state: ShareState, store: Store, vectors: VectorStore, project: str, progress: Progress
) -> int:
    """Send the final vectors of memories sent from here, and return their number. type_: the server's. Raises StoreError."""
    sent_count, after_id = 0, ""
    while part := state.without_vectors(project, after_id, BATCH_MEMORIES):
        after_id = part[-1].id
        memories = store.by_ids([record.id for record in part])
        ready = []
        for record in part:
            memory = memories.get(record.id)
            final = vectors.final_vectors(memory.content_hash) if memory else ()
            if memory and final and any(final[0]):
                ready.append((record, memory.content_hash, final))
        if ready:
            _send_batch(connection, type_, project, ready)
            batch.note_latest(connection, state)
            for record, content_hash, _ in ready:
                record.vectors = content_hash
            state.put_records([record for record, _, _ in ready])
            sent_count += len(ready)
        progress(len(ready))
    return sent_count


def _send_batch(
    connection: Connection, type_: str, project: str, ready: Sequence[tuple[SyncRecord, str, Sequence[bytes]]]
) -> None:
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(_STAGE.format(type=type_).encode())
        with cursor.copy("COPY pg_temp.subcog_staged_vectors FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(_COPY_BEGINS)
            for record, content_hash, memory_vectors in ready:
                copy.write(b"".join(_copy_rows(record.id, content_hash, memory_vectors[:FIRST_QUESTION])))
            copy.write(_COPY_ENDS)
        cursor.execute(_CLEAR, (project,))
        cursor.execute(_SEND, (project, model_name()))
        batch.add_empty_push(connection)


def _copy_rows(id: str, content_hash: str, memory_vectors: Sequence[bytes]) -> Iterator[bytes]:
    import numpy as np  # It takes 65 ms to import.

    for part, vector in enumerate(memory_vectors):
        yield _FIELD_COUNT
        yield _copy_field(id.encode())
        yield _PART.pack(_PART.size - 4, part)
        yield _copy_field(content_hash.encode())
        yield _copy_field(_VECTOR.pack(len(vector), 0) + np.frombuffer(vector, np.int8).astype(">f4").tobytes())


def _copy_field(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def vector_literal(vector: bytes) -> str:
    """Return an int8 vector as a literal of pgvector.

    >>> vector_literal(bytes([1, 0, 255]))
    '[1,0,-1]'
    """
    return f"[{','.join(map(str, memoryview(vector).cast('b')))}]"


def receive_vectors(
    connection: Connection, schema: str, project: str, arrived: Sequence[Memory], vectors: VectorStore, progress: Progress
) -> int:
    """Store the server's vectors of memories, and return how many had some. schema: the extension's. Raises StoreError."""
    count = 0
    fetch = _FETCH.format(schema=quote_name(schema)).encode()
    for start in range(0, len(arrived), BATCH_MEMORIES):
        part = {memory.id: memory for memory in arrived[start : start + BATCH_MEMORIES] if memory.status != "deleted"}
        with connection.cursor(binary=True) as cursor:
            rows = cursor.execute(fetch, (project, list(part), model_name(), MAX_PASSAGES)).fetchall()
        vectors_by_id: dict[str, dict[int, bytes]] = {}
        for (id_, content_hash, number, _), vector in zip(rows, _read_vectors([row[-1] for row in rows]), strict=True):
            if part[id_].content_hash == content_hash:
                vectors_by_id.setdefault(id_, {})[number] = vector
        long_ids = {id_ for id_, sent in vectors_by_id.items() if len(sent) > 1}
        expected = _static_vectors({id_: part[id_].content for id_ in vectors_by_id}, long_ids)
        fitting = [(part[id_], sent.values()) for id_, sent in vectors_by_id.items() if _fits_text(sent, expected[id_])]
        count += vectors.finish((memory.seq * PASSAGES, memory.content_hash, [*own_vectors]) for memory, own_vectors in fitting)
        progress(len(part))
    return count


def _read_vectors(sent: Sequence[bytes]) -> list[bytes]:
    """Return int8 vectors from pgvector's binary form; b"" for vectors that never were int8.

    >>> numbers = [[1.0] * 384, [-2.0] * 384, [0.5] * 384, [128.0] * 384, [float("nan")] * 384, [1.0] * 3]
    >>> [vector[:2] for vector in _read_vectors([struct.pack(f">hh{len(row)}f", len(row), 0, *row) for row in numbers])]
    [b'\\x01\\x01', b'\\xfe\\xfe', b'', b'', b'', b'']
    """
    import numpy as np  # It takes 65 ms to import.

    size = _VECTOR.size + 4 * PACKAGED.dimension
    rows = np.frombuffer(b"".join([data if len(data) == size else bytes(size) for data in sent]), np.uint8).reshape(-1, size)
    numbers = np.ascontiguousarray(rows[:, _VECTOR.size :]).view(">f4").astype(np.float32)
    is_int8 = (np.abs(numbers) <= 127) & (np.rint(numbers) == numbers)
    values = np.where(is_int8, numbers, 0).astype(np.int8)
    fits = is_int8.all(1)
    return [value.tobytes() if fit and len(data) == size else b"" for value, fit, data in zip(values, fits, sent, strict=True)]


def _static_vectors(texts: Mapping[str, str], long_ids: AbstractSet[str]) -> dict[str, list[bytes]]:
    """Return the static encoders' vectors of texts, by id. long_ids: the texts with passages. Raises ModelError."""
    from subcog_hooks.embed.documents import encode_many  # It loads numpy, 65 ms.

    foreign = {id_: text for id_, text in texts.items() if is_foreign(text)}
    made = dict(zip(foreign, documents.encode_with_passages(list(foreign.values())), strict=True))
    split = DocumentEmbedder(PACKAGED).passages if long_ids - foreign.keys() else None
    parts = {id_: [text, *(split(text) if split and id_ in long_ids else ())] for id_, text in texts.items() if id_ not in made}
    encoded = iter(encode_many(chain.from_iterable(parts.values())))
    return made | {id_: list(islice(encoded, len(own_parts))) for id_, own_parts in parts.items()}


def _fits_text(sent: Mapping[int, bytes], expected: Sequence[bytes]) -> bool:
    """Return whether a text's vectors resemble the static encoder's. They are the whole text's, or all of its parts'."""
    is_complete = [*sent] in ([0], [*range(len(expected))])
    return is_complete and all(_cosine(vector, expected[number]) >= MIN_LIKENESS for number, vector in sent.items())


def _cosine(first: bytes, second: bytes) -> float:
    """Return the cosine of two int8 vectors, 0 where a vector has no direction or another dimension.

    >>> [round(_cosine(bytes([1, 1]), other), 2) for other in (bytes([2, 2]), bytes([1, 0]), bytes(2), b"")]
    [1.0, 0.71, 0.0, 0.0]
    """
    import numpy as np  # It takes 65 ms to import.

    if len(first) != len(second):
        return 0.0
    one, other = (np.frombuffer(vector, np.int8).astype(np.float32) for vector in (first, second))
    length = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / length if length else 0.0
