"""Writing the lexical index: a new one beside the current, documents of memories, and the sample that `doctor` reads."""

from __future__ import annotations

import os
import shutil
import time

import tantivy

from subcog_hooks.core.paths import Home, make_private_folder
from subcog_hooks.core.whole_files import replace_file
from subcog_hooks.store.index import (
    ANY,
    ASKED,
    ASKED_AT,
    INDEX_FORMAT,
    LABEL,
    LABELS,
    PLACE,
    SHORT,
    SPELLED_OUT,
    WATERMARK,
    IndexErrors,
    LexicalIndex,
    current_folder,
)
from subcog_hooks.store.store_reader import audience_of
from subcog_hooks.text import acronyms, analysis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from subcog_hooks.store.memory import Memory

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
