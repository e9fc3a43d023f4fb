"""Writing the lexical index: a new one beside the current, documents of memories, and catching up with the store."""

from __future__ import annotations

import os
import shutil
import time

import tantivy

from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.files import make_private_folder, replace_file
from subcog_hooks.store import index as lexical
from subcog_hooks.store.home_files import ProcessLock
from subcog_hooks.store.index import IndexBusy, IndexErrors, IndexUnusable, LexicalIndex
from subcog_hooks.store.store_reader import audience_of
from subcog_hooks.text import analysis, languages, names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.core.paths import Home
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.store import Store

    Progress = Callable[[int], None]

SMALL_HEAP = 15_000_000  # bytes, tantivy's minimum: for a handful of documents
BULK_HEAP = 200_000_000  # bytes, for a whole store: a larger heap means fewer segments
BULK = 2_000  # a rebuild of more memories than this deserves a larger heap
INDEXED_AT_ONCE = 2_000  # memories read at a time
LOCK_WAIT_S = 3.0  # for another process that writes the index; then the command uses the index as it is
REBUILD_WAIT_MS = 120_000  # for another process that rebuilds it: 100,000 memories take some 15 s
ATTEMPTS = 3  # the index may be swapped or damaged between opening and writing


class IndexWriter:
    """The writer of an index. Making it raises IndexBusy when another process has the index; all raises IndexUnusable."""

    __slots__ = ("_errors", "_index", "_writer")

    def __init__(self, index: LexicalIndex, heap: int = SMALL_HEAP) -> None:
        self._errors = IndexErrors(f"{index.folder} cannot be written")
        self._index = index
        with self._errors:
            self._writer = index.tantivy_index.writer(heap, 1)

    def write_changes(self, store: Store, after: int, until: int, progress: Progress | None) -> None:
        """Index the memories written after one revision and by another, remove deleted and purged ones, and end.

        after: -1 for a new index of the whole store. progress: is called with the size of each chunk.
        """
        from_seq = 0
        while chunk := store.changes(after, until, from_seq, INDEXED_AT_ONCE):
            with self._errors:
                for memory in chunk:
                    if after >= 0:
                        self._writer.delete_documents_by_term("seq", memory.seq)
                    if memory.status != "deleted":
                        self._writer.add_document(_make_document(memory))
            from_seq = chunk[-1].seq + 1
            if progress:
                progress(len(chunk))
        with self._errors:
            for seq in store.purged_after(after):
                self._writer.delete_documents_by_term("seq", seq)
            self._writer.commit()
            self._index.watermark = until  # recorded once all changes are visible
            if self._index.folder:
                path = os.path.join(self._index.folder, lexical.WATERMARK)
                with open(f"{path}.partial", "w", encoding="ascii") as file:
                    file.write(f"{until}\n")
                replace_file(f"{path}.partial", path)
        self.finish()

    def finish(self) -> None:
        """Wait for merges, so that segments stay few, and release the lock."""
        with self._errors:
            self._writer.wait_merging_threads()
        self._index.refresh()


def _make_schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("seq", indexed=True, fast=True)
    builder.add_text_field(analysis.BODY, tokenizer_name="subcog_body")
    builder.add_text_field(analysis.EXACT, tokenizer_name="subcog_exact")
    builder.add_text_field(analysis.CJK, tokenizer_name="whitespace")
    builder.add_text_field(lexical.LABELS, tokenizer_name="subcog_body")
    for name in (lexical.ASKED, *lexical.ASKED_AT):
        builder.add_text_field(name, tokenizer_name="subcog_body", index_option="basic")
    for name in ("audience", "status", "namespace", "tag", lexical.LABEL, lexical.SHORT, lexical.PLACE):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_text_field(lexical.SPELLED_OUT, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("created", indexed=True, fast=True)
    builder.add_integer_field("expires", indexed=True, fast=True)
    return builder.build()


def index_in_memory(store: Store) -> LexicalIndex:
    """Return an index of the whole store for folders that cannot be written: tantivy cannot open one there."""
    index = LexicalIndex(tantivy.Index(_make_schema()))
    IndexWriter(index).write_changes(store, -1, store.revision(), None)
    return index


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
    """Return the current index, None where it is missing, damaged, of another store, or has too many segments."""
    try:
        index = LexicalIndex.open(home)
        made_here = store.has_revision(index.watermark) and (index.watermark > 0 or not index.documents)
    except IndexUnusable:
        return None
    return index if made_here and index.segments <= 4 * lexical.MAX_SEGMENTS else None


def _follow_store(index: LexicalIndex, store: Store, progress: Progress | None) -> None:
    give_up_at = time.monotonic() + LOCK_WAIT_S
    while index.watermark < store.revision() and time.monotonic() < give_up_at:
        try:
            writer = IndexWriter(index)
        except IndexBusy:
            time.sleep(0.02)
            index.refresh()
        else:
            index.refresh()  # under the lock: the previous writer may have done the work
            writer.write_changes(store, index.watermark, store.revision(), progress)


def rebuild_index(
    home: Home, store: Store, progress: Progress | None = None, *, only_if_needed: bool = False, keep_predecessor: bool = True
) -> LexicalIndex:
    """Build a new index of the whole store beside the old one, swap it in and return it. One process rebuilds at a time.

    only_if_needed: return an index that another process has rebuilt meanwhile. keep_predecessor: for hooks that have just read
    its name; older ones are removed. Raises StoreError when the folder cannot be written; the old index stays.
    """
    with ProcessLock(os.path.join(home.index, "rebuild.lock"), REBUILD_WAIT_MS, "rebuilding the index"):
        if only_if_needed and (index := _open_usable(home, store)) is not None:
            return index
        before = os.path.basename(lexical.current_folder(home) or "")
        folder = os.path.join(home.index, f"lexical-{lexical.INDEX_FORMAT}-{time.time_ns():x}-{os.getpid():x}")
        try:
            make_private_folder(folder)
            with IndexErrors(f"{folder} cannot be written"):
                index = LexicalIndex(tantivy.Index(_make_schema(), folder), folder)
            writer = IndexWriter(index, BULK_HEAP if sum(store.counts().values()) > BULK else SMALL_HEAP)
            writer.write_changes(store, -1, store.revision(), progress)
            pointer = os.path.join(home.index, "CURRENT")
            with open(f"{pointer}.{os.getpid()}", "w", encoding="ascii") as file:
                file.write(os.path.basename(folder) + "\n")
                file.flush()
                os.fsync(file.fileno())
            replace_file(f"{pointer}.{os.getpid()}", pointer)
            _remove_indexes(home, keep=(os.path.basename(folder), before if keep_predecessor else ""))
        except (OSError, IndexUnusable) as error:
            _remove_indexes(home, keep=(before,))
            raise StoreError(f"{home.index} cannot be written: {error}", "check its permissions and the disk") from error
        return index


def _remove_indexes(home: Home, keep: tuple[str, ...]) -> None:
    """Delete the other index folders. A folder that is open elsewhere stays until the next time (Windows)."""
    for name in os.listdir(home.index):
        if name.startswith("lexical-") and name not in keep:
            shutil.rmtree(os.path.join(home.index, name), ignore_errors=True)


def check_index(index: LexicalIndex) -> None:
    """Read a sample of the index: all numbers, some terms of each first letter. Raises IndexUnusable."""
    searcher = index.tantivy_index.searcher()
    with IndexErrors(f"{index.folder} is damaged"):
        hits = searcher.search(tantivy.Query.all_query(), max(1, searcher.num_docs), count=False).hits
        addresses = [address for _, address in hits]
        for field in ("seq", "created", "expires"):
            searcher.fast_field_values(field, addresses)
        for field in (analysis.BODY, analysis.EXACT, lexical.LABELS, analysis.CJK, lexical.ASKED):
            for first in "abcdefghijklmnopqrstuvwxyz0123456789":
                terms = [term for term, _ in searcher.terms_with_prefix(field, first, limit=20)]
                for term in terms:
                    searcher.search(tantivy.Query.term_query(index.schema, field, term), 1, count=False)
                if len(terms) > 1 and field not in (analysis.CJK, lexical.ASKED):  # they keep no positions
                    searcher.search(tantivy.Query.phrase_query(index.schema, field, [*terms[:2]]), 1, count=False)


def add_stems(text: str) -> str:
    """Return a raw text folded and spread; behind a text in another language than English, its stems.

    >>> add_stems("Die Buchungen der G\u00e4ste und wie wir sie sperren")
    'Die Buchungen der Gaste und wie wir sie sperren buchung gast sperr'
    """
    words = analysis.spread_words(analysis.fold(text))
    language = languages.language_of(text)
    return " ".join((words, *dict.fromkeys(analysis.stems_by_word(text, language).values()))) if language else words


def cjk_view(text: str) -> str:
    """Return the `cjk` view of a folded text: bigrams between spaces. A dot keeps runs apart, so that no phrase spans two."""
    return " · ".join([" ".join(languages.bigrams(run)) for run in languages.unspaced_runs(text)])


def _make_document(memory: Memory) -> tantivy.Document:
    folded = analysis.fold(memory.content)
    document = tantivy.Document()
    document.add_integer("seq", memory.seq)
    document.add_text(analysis.BODY, add_stems(memory.content))
    document.add_text(analysis.EXACT, analysis.exact_view(folded))
    cjk = cjk_view(folded)
    if cjk:
        document.add_text(analysis.CJK, cjk)
    if memory.tags or memory.keywords:
        document.add_text(lexical.LABELS, analysis.spread_words(analysis.fold(" ".join((*memory.tags, *memory.keywords)))))
    for position, question in enumerate(memory.questions, 1):
        words = f"{add_stems(question.text)} {cjk_view(analysis.fold(question.text))}"
        document.add_text(lexical.PLACE, str(position))
        document.add_text(lexical.ASKED, words)
        document.add_text(lexical.ASKED_AT[position - 1], words)
    for tag in memory.tags:
        document.add_text("tag", tag.lower())
    for label in dict.fromkeys(map(analysis.label_form, (*memory.tags, *memory.keywords))):
        if label:
            document.add_text(lexical.LABEL, label)
    _add_acronyms(document, memory.content)
    document.add_text("audience", audience_of(memory.scope, memory.project))
    document.add_text("status", memory.status)
    document.add_text("namespace", memory.namespace)
    document.add_integer("created", memory.created_at)
    if memory.expires_at is not None:
        document.add_integer("expires", memory.expires_at)
    return document


def _add_acronyms(document: tantivy.Document, text: str) -> None:
    """Add the acronyms that a text explains, and the well-known ones that it uses or has in words."""
    explained = names.definitions(text)
    used, spelled = names.known_acronyms(text)
    shorts = {short for short, _ in explained}
    used = [(short, long) for short, long in used if short not in shorts]
    if explained or used or spelled:
        document.add_text(lexical.SHORT, lexical.ANY)
    for short in dict.fromkeys(short for short, _ in (*explained, *spelled)):
        document.add_text(lexical.SHORT, short)
    for mark, rows in ((lexical.EXPLAINED, explained), (lexical.WELL_KNOWN, dict.fromkeys((*used, *spelled)))):
        for short, long in rows:
            document.add_text(lexical.SPELLED_OUT, f"{short}{mark}{long}")
    for short, long in (*explained, *used):
        pair = " ".join(analysis.bare_words(long)[:2])
        document.add_text(lexical.SHORT, pair)
        document.add_text(lexical.SPELLED_OUT, f"{pair}{lexical.EXPLAINED}{short}{lexical.EXPLAINED}{long}")
