"""Writing the lexical index: a new one beside the current, documents of memories, and catching up with the store."""

from __future__ import annotations

import os
import shutil
import time

import tantivy

from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.files import make_private_folder
from subcog_hooks.core.whole_files import replace_file
from subcog_hooks.store.index import (
    ANY,
    ASKED,
    ASKED_AT,
    INDEX_FORMAT,
    LABEL,
    LABELS,
    MAX_SEGMENTS,
    PLACE,
    SHORT,
    SPELLED_OUT,
    WATERMARK,
    IndexBusy,
    IndexErrors,
    IndexUnusable,
    LexicalIndex,
    current_folder,
)
from subcog_hooks.store.lock import ProcessLock
from subcog_hooks.store.store_reader import audience_of
from subcog_hooks.text import acronyms, analysis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from subcog_hooks.core.paths import Home
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.store import Store


SMALL_HEAP = 15_000_000  # bytes, tantivy's minimum: for a handful of documents
BULK_HEAP = 200_000_000  # bytes, for a whole store: a larger heap means fewer segments


class IndexWriter:
    """Writes an index; nothing is visible before `commit`."""

    __slots__ = ("_index", "_writer")

    def __init__(self, index: LexicalIndex, writer: tantivy.IndexWriter) -> None:
        self._index = index
        self._writer = writer

    def put(self, memories: Iterable[Memory], *, new: bool = False) -> None:
        """Index memories, replacing their old documents; deleted memories are removed. new: there are no old ones."""
        with IndexErrors(f"{self._index.description} cannot be written"):
            for memory in memories:
                if not new:
                    self._writer.delete_documents_by_term("seq", memory.seq)
                if memory.status != "deleted":
                    self._writer.add_document(_make_document(memory))

    def remove(self, seqs: Iterable[int]) -> None:
        with IndexErrors(f"{self._index.description} cannot be written"):
            for seq in seqs:
                self._writer.delete_documents_by_term("seq", seq)

    def commit(self, revision: int) -> None:
        """Make all changes visible, then record the store revision that they reach. Raises IndexUnusable, OSError."""
        with IndexErrors(f"{self._index.description} cannot be written"):
            self._writer.commit()
            self._index.reach(revision)
            if self._index.folder:
                _write_watermark(self._index.folder, revision)

    def finish(self) -> None:
        """Wait for merges, so that segments stay few, and release the lock."""
        with IndexErrors(f"{self._index.description} cannot be written"):
            self._writer.wait_merging_threads()
        self._index.refresh()


def _make_schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("seq", indexed=True, fast=True)
    builder.add_text_field(analysis.BODY, tokenizer_name="subcog_body")
    builder.add_text_field(analysis.EXACT, tokenizer_name="subcog_exact")
    builder.add_text_field(analysis.CJK, tokenizer_name="whitespace")
    builder.add_text_field(LABELS, tokenizer_name="subcog_body")
    for name in (ASKED, *ASKED_AT):
        builder.add_text_field(name, tokenizer_name="subcog_body", index_option="basic")
    for name in ("audience", "status", "namespace", "tag", LABEL, SHORT, PLACE):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_text_field(SPELLED_OUT, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("created", indexed=True, fast=True)
    builder.add_integer_field("expires", indexed=True, fast=True)
    return builder.build()


def in_memory() -> LexicalIndex:
    """Return a new, empty index in memory."""
    return LexicalIndex(tantivy.Index(_make_schema()))


def create_beside(home: Home) -> LexicalIndex:
    """Return a new, empty index that no reader sees until `put_in_place`."""
    make_private_folder(home.index)
    folder = os.path.join(home.index, f"lexical-{INDEX_FORMAT}-{time.time_ns():x}-{os.getpid():x}")
    make_private_folder(folder)
    with IndexErrors(f"{folder} cannot be written"):
        return LexicalIndex(tantivy.Index(_make_schema(), folder), folder)


def put_in_place(index: LexicalIndex, home: Home) -> None:
    """Make an index the current one.

    Its predecessor stays for processes that have just read its name; older ones are removed.
    """
    name = os.path.basename(index.folder)
    before = os.path.basename(current_folder(home) or "")
    pointer = os.path.join(home.index, "CURRENT")
    with open(f"{pointer}.{os.getpid()}", "w", encoding="ascii") as file:
        file.write(name + "\n")
        file.flush()
        os.fsync(file.fileno())
    replace_file(f"{pointer}.{os.getpid()}", pointer)
    remove_other_indexes(home, keep=(name, before))


def check_index(index: LexicalIndex) -> None:
    """Read a sample of the index: all numbers, some terms of each first letter. Raises IndexUnusable."""
    searcher = index.tantivy_index.searcher()
    with IndexErrors(f"{index.description} is damaged"):
        everything = searcher.search(tantivy.Query.all_query(), max(1, searcher.num_docs), count=False).hits
        addresses = [address for _, address in everything]
        for field in ("seq", "created", "expires"):
            searcher.fast_field_values(field, addresses)
        for field in (analysis.BODY, analysis.EXACT, LABELS, analysis.CJK, ASKED):
            for first in "abcdefghijklmnopqrstuvwxyz0123456789":
                terms = [term for term, _ in searcher.terms_with_prefix(field, first, limit=20)]
                for term in terms:
                    searcher.search(tantivy.Query.term_query(index.schema, field, term), 1, count=False)
                if len(terms) > 1 and field not in (analysis.CJK, ASKED):  # they keep no positions
                    searcher.search(tantivy.Query.phrase_query(index.schema, field, [*terms[:2]]), 1, count=False)


def open_writer(index: LexicalIndex, heap: int = SMALL_HEAP) -> IndexWriter:
    """Return the writer of an index. Raises IndexBusy when another process has it, IndexUnusable."""
    with IndexErrors(f"{index.description} cannot be written"):
        return IndexWriter(index, index.tantivy_index.writer(heap, 1))


def _make_document(memory: Memory) -> tantivy.Document:
    folded = analysis.fold(memory.content)
    document = tantivy.Document()
    document.add_integer("seq", memory.seq)
    document.add_text(analysis.BODY, analysis.add_stems(memory.content))
    document.add_text(analysis.EXACT, analysis.exact_view(folded))
    cjk = analysis.cjk_view(folded)
    if cjk:
        document.add_text(analysis.CJK, cjk)
    if memory.tags or memory.keywords:
        document.add_text(LABELS, analysis.spread_words(analysis.fold(" ".join((*memory.tags, *memory.keywords)))))
    for position, question in enumerate(memory.questions, 1):
        words = f"{analysis.add_stems(question.text)} {analysis.cjk_view(analysis.fold(question.text))}"
        document.add_text(PLACE, str(position))
        document.add_text(ASKED, words)
        document.add_text(ASKED_AT[position - 1], words)
    for tag in memory.tags:
        document.add_text("tag", tag.lower())
    for label in dict.fromkeys(map(analysis.label_form, (*memory.tags, *memory.keywords))):
        if label:
            document.add_text(LABEL, label)
    definitions = acronyms.definitions(memory.content)
    if definitions:
        document.add_text(SHORT, ANY)
    for acronym, long_form in definitions:
        document.add_text(SHORT, acronym)
        document.add_text(SPELLED_OUT, f"{acronym}={long_form}")
    document.add_text("audience", audience_of(memory.scope, memory.project))
    document.add_text("status", memory.status)
    document.add_text("namespace", memory.namespace)
    document.add_integer("created", memory.created_at)
    if memory.expires_at is not None:
        document.add_integer("expires", memory.expires_at)
    return document


def _write_watermark(folder: str, revision: int) -> None:
    path = os.path.join(folder, WATERMARK)
    with open(f"{path}.partial", "w", encoding="ascii") as file:
        file.write(f"{revision}\n")
    replace_file(f"{path}.partial", path)


def remove_other_indexes(home: Home, keep: tuple[str, ...]) -> None:
    """Delete the other index folders. A folder that is open elsewhere stays until the next time (Windows)."""
    for name in os.listdir(home.index):
        if name.startswith("lexical-") and name not in keep:
            shutil.rmtree(os.path.join(home.index, name), ignore_errors=True)


if TYPE_CHECKING:
    Progress = Callable[[int], None]

INDEXED_AT_ONCE = 2_000  # memories read at a time
BULK = 2_000  # a rebuild of more than this deserves a larger heap
LOCK_WAIT_S = 3.0  # for another process that writes the index; then the command uses the index as it is
REBUILD_WAIT_MS = 120_000  # for another process that rebuilds it: 100,000 memories take some 15 s
ATTEMPTS = 3  # the index may be swapped or damaged between opening and writing


def bring_up_to_date(home: Home, store: Store, progress: Progress | None = None) -> LexicalIndex:
    """Bring the index to the store's revision and return it; an unusable one is rebuilt. Raises StoreError.

    It waits up to LOCK_WAIT_S for another process that writes the index. Then it returns the index as it is: that process, or
    the next command, brings the rest. progress: is called with the size of each chunk.
    """
    for _ in range(ATTEMPTS):
        index = _open_usable(home, store) or rebuild_index(home, store, progress, only_if_needed=True)
        try:
            _follow_store(index, store, progress)
        except IndexUnusable as error:  # swapped by another process meanwhile, or damaged
            failure = IndexUnusable(error.message, error.hint)  # a new error, since frames of the old one hold the lock
        else:
            return index
    raise failure


def _open_usable(home: Home, store: Store) -> LexicalIndex | None:
    """Return the current index, None where a rebuild is needed.

    A rebuild is needed when the index is missing, damaged, of another store, or has too many segments.
    """
    try:
        index = LexicalIndex.open(home)
        made_here = store.has_revision(index.watermark()) and (index.watermark() > 0 or not index.documents)
    except IndexUnusable:
        return None
    return index if made_here and index.segments <= 4 * MAX_SEGMENTS else None


def _follow_store(index: LexicalIndex, store: Store, progress: Progress | None) -> None:
    give_up_at = time.monotonic() + LOCK_WAIT_S
    pause = 0.005
    while index.watermark() < store.revision():
        try:
            _write_changes(index, store, progress)
        except IndexBusy:
            if time.monotonic() > give_up_at:
                return
            time.sleep(pause)
            pause = min(0.1, pause * 2)
            index.refresh()


def _write_changes(index: LexicalIndex, store: Store, progress: Progress | None) -> None:
    writer = open_writer(index)
    index.refresh()  # under the lock: the previous writer may have done the work
    after, until = index.watermark(), store.revision()
    if after < until:
        _put_changes(writer, store, after, until, progress)
        writer.remove(store.purged_after(after))
        writer.commit(until)
    writer.finish()


def _put_changes(writer: IndexWriter, store: Store, after: int, until: int, progress: Progress | None) -> None:
    from_seq = 0
    while chunk := store.changes(after, until, from_seq, INDEXED_AT_ONCE):
        writer.put(chunk, new=after < 0)
        from_seq = chunk[-1].seq + 1
        if progress:
            progress(len(chunk))


def rebuild_index(
    home: Home, store: Store, progress: Progress | None = None, *, only_if_needed: bool = False, keep_predecessor: bool = True
) -> LexicalIndex:
    """Build a new index of the whole store beside the old one, swap it in and return it. One process rebuilds at a time.

    only_if_needed: return an index that another process has rebuilt meanwhile. keep_predecessor: for hooks that have just read
    its name. Raises StoreError when the folder cannot be written; the old index stays.
    """
    with ProcessLock(os.path.join(home.index, "rebuild.lock"), REBUILD_WAIT_MS, "rebuilding the index"):
        if only_if_needed and (index := _open_usable(home, store)) is not None:
            return index
        current = _current_name(home)
        try:
            index = create_beside(home)
            writer = open_writer(index, BULK_HEAP if sum(store.counts().values()) > BULK else SMALL_HEAP)
            until = store.revision()
            _put_changes(writer, store, -1, until, progress)
            writer.commit(until)
            writer.finish()
            put_in_place(index, home)
            if not keep_predecessor:
                remove_other_indexes(home, keep=(os.path.basename(index.folder),))
        except (OSError, IndexUnusable) as error:
            remove_other_indexes(home, keep=(current,))
            raise StoreError(f"{home.index} cannot be written: {error}", "check its permissions and the disk") from error
        return index


def index_in_memory(store: Store) -> LexicalIndex:
    """Return an index of the whole store that leaves no trace.

    It is for folders that cannot be written: tantivy cannot open an index there.
    """
    index = in_memory()
    writer = open_writer(index)
    _put_changes(writer, store, -1, store.revision(), None)
    writer.commit(store.revision())
    writer.finish()
    return index


def _current_name(home: Home) -> str:
    try:
        return os.path.basename(LexicalIndex.open(home).folder)
    except IndexUnusable:
        return ""
