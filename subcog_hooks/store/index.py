"""The lexical index: a tantivy BM25 index of the store's memories. A cache: it may be behind, damaged or missing at any time.

The folder `index/` holds one index folder named in the file CURRENT; a rebuilt one is made beside it and swapped in by
replacing that file. The file WATERMARK in an index folder holds the store revision of the index. It is written after the commit
and read before the index is opened, so it is never ahead of the index; behind it, changes are indexed once more. (A document
with the watermark, replaced at each commit, counted in BM25's statistics.)

A memory's questions lie in its own document, each in a field of its position, so that the best of them can count. Documents of
their own would count in the statistics of all texts, and in every filter; one field for all of them would be a longer text.
"""

from __future__ import annotations

import os
import time
from math import log

import tantivy

from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.paths import Home, make_private_folder
from subcog_hooks.core.regular_files import read_regular
from subcog_hooks.store.memory import MAX_QUESTIONS, Memory
from subcog_hooks.store.store_reader import audience_of
from subcog_hooks.text import analysis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

INDEX_FORMAT = 5  # raised whenever the schema or the analysis changes: an index of another format is rebuilt
LABELS = "labels"  # the field of tags and keywords, as words
LABEL = "label"  # the field of whole tags and keywords
ASKED = "asked"  # the field of all questions of a memory, for the document frequencies of their words
ASKED_AT = tuple(f"asked_{number}" for number in range(1, MAX_QUESTIONS + 1))  # one field a question
_PLACE = "place"  # the field of the positions of questions, "1" for the first
_SHORT, _SPELLED_OUT = "short", "spelled_out"  # acronyms that a memory explains, and "acronym=long form"
_WATERMARK = "WATERMARK"
_ANY = "*"  # stands for any acronym: this memory explains some
MAX_ACRONYMS = 5_000  # the most frequent ones of a store
_REPLACE_TRIES = 20  # Windows refuses while another process reads the file
SMALL_HEAP = 15_000_000  # bytes, tantivy's minimum: for a handful of documents
BULK_HEAP = 200_000_000  # bytes, for a whole store: a larger heap means fewer segments
MAX_SEGMENTS = 8  # above it opening takes 8 ms instead of .5 (measured with 78 segments)

_LATER = "run `subcog reindex`"


class IndexUnusable(StoreError):
    """The index is missing, damaged, of another format, or made from another store: it has to be rebuilt."""


class IndexBusy(StoreError):
    """Another process is writing the index."""


class _IndexErrors:
    """Turns every error of tantivy's binding into IndexUnusable. A damaged file makes it panic, past `Exception` even."""

    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, StoreError) or error is None:
            return
        if "LockBusy" in str(error):
            raise IndexBusy(f"{self._what}: another process is writing it", "try again in a moment") from error
        if isinstance(error, ValueError | OSError | RuntimeError) or type(error).__name__ == "PanicException":
            raise IndexUnusable(f"{self._what}: {str(error)[:200]}", _LATER) from error


def _make_schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("seq", indexed=True, fast=True)
    builder.add_text_field(analysis.BODY, tokenizer_name="subcog_body")
    builder.add_text_field(analysis.EXACT, tokenizer_name="subcog_exact")
    builder.add_text_field(analysis.CJK, tokenizer_name="whitespace")
    builder.add_text_field(LABELS, tokenizer_name="subcog_body")
    for name in (ASKED, *ASKED_AT):
        builder.add_text_field(name, tokenizer_name="subcog_body", index_option="basic")
    for name in ("audience", "status", "namespace", "tag", LABEL, _SHORT, _PLACE):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_text_field(_SPELLED_OUT, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("created", indexed=True, fast=True)
    builder.add_integer_field("expires", indexed=True, fast=True)
    return builder.build()


class LexicalIndex:
    """An open index, a snapshot of one commit.

    folder: the folder that holds it, "" in memory. description: the folder in words, for messages.
    """

    __slots__ = (
        "_acronyms",
        "_frequencies",
        "_index",
        "_max_questions",
        "_searcher",
        "_watermark",
        "analysers",
        "description",
        "folder",
        "schema",
    )

    def __init__(self, index: tantivy.Index, folder: str = "", watermark: int = 0) -> None:
        self.analysers = analysis.Analysers()
        self.analysers.register(index)
        self.folder = folder
        self.description = folder or "the index in memory"
        self.schema = index.schema
        self._index = index
        self._searcher = index.searcher()
        self._watermark = watermark
        self._frequencies: dict[tuple[str, str], int] = {}
        self._acronyms: frozenset[str] | None = None
        self._max_questions: int | None = None

    @classmethod
    def open(cls, home: Home) -> LexicalIndex:
        """Return the current index. Raises IndexUnusable."""
        folder = _current_folder(home)
        if folder is None:
            raise IndexUnusable(f"{home.index} holds no index", _LATER)
        try:
            with _IndexErrors(f"{folder} cannot be opened"):
                return cls._open_folder(folder)
        except IndexUnusable:
            if (newer := _current_folder(home)) in (None, folder):
                raise
            with _IndexErrors(f"{newer} cannot be opened"):  # another process has swapped it in between
                return cls._open_folder(newer)

    @classmethod
    def _open_folder(cls, folder: str) -> LexicalIndex:
        reached = _read_watermark(folder)  # read before the index: a commit in between is indexed once more
        index = tantivy.Index.open(folder)
        for field in (analysis.BODY, analysis.EXACT, analysis.CJK, LABELS, LABEL, _SHORT, _SPELLED_OUT):
            tantivy.Query.term_query(index.schema, field, "")  # an error for a field that is not there
        return cls(index, folder, reached)

    @classmethod
    def in_memory(cls) -> LexicalIndex:
        """Return a new, empty index in memory."""
        return cls(tantivy.Index(_make_schema()))

    @classmethod
    def create_beside(cls, home: Home) -> LexicalIndex:
        """Return a new, empty index that no reader sees until `put_in_place`."""
        make_private_folder(home.index)
        folder = os.path.join(home.index, f"lexical-{INDEX_FORMAT}-{time.time_ns():x}-{os.getpid():x}")
        make_private_folder(folder)
        with _IndexErrors(f"{folder} cannot be written"):
            return cls(tantivy.Index(_make_schema(), folder), folder)

    def put_in_place(self, home: Home) -> None:
        """Make this the current index.

        Its predecessor stays for processes that have just read its name; older ones are removed.
        """
        name = os.path.basename(self.folder)
        before = os.path.basename(_current_folder(home) or "")
        pointer = os.path.join(home.index, "CURRENT")
        with open(f"{pointer}.{os.getpid()}", "w", encoding="ascii") as file:
            file.write(name + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(f"{pointer}.{os.getpid()}", pointer)
        remove_other_indexes(home, keep=(name, before))

    def search(self, query: tantivy.Query, limit: int) -> list[tuple[float, int]]:
        """Return the best `limit` matches as (BM25 score, row number), best first. Raises IndexUnusable."""
        with _IndexErrors(f"{self.description} cannot be searched"):
            hits = self._searcher.search(query, limit, count=False).hits
            seqs = self._searcher.fast_field_values("seq", [address for _, address in hits])
        return [(score, int(seq)) for (score, _), seq in zip(hits, seqs, strict=True) if seq]

    def count(self, query: tantivy.Query) -> int:
        """Return how many memories match. Raises IndexUnusable."""
        with _IndexErrors(f"{self.description} cannot be searched"):
            return int(self._searcher.search(query, 1, count=True).count)  # type: ignore[attr-defined]  # missing in its stubs

    def document_frequency(self, field: str, term: str) -> int:
        """Return how many documents hold `term`, including replaced documents and other projects' documents.

        Raises IndexUnusable.
        """
        frequency = self._frequencies.get((field, term))
        if frequency is None:
            with _IndexErrors(f"{self.description} cannot be read"):
                frequency = self._searcher.doc_freq(field, term)
            self._frequencies[field, term] = frequency  # a prompt of 25 words asks 300 times
        return frequency

    def rarity(self, field: str, term: str) -> float:
        """Return BM25's inverse document frequency of `term`.

        It is the score of the term in a memory of average length that has it once.
        """
        # replaced documents are counted until a merge
        frequency = min(self.document_frequency(field, term), self._searcher.num_docs)
        return log(1.0 + (self._searcher.num_docs - frequency + 0.5) / (frequency + 0.5))

    def words_with(self, prefix: str, limit: int, within: tantivy.Query | None = None) -> list[tuple[str, int]]:
        """Return the whole words with this prefix, each with its number of memories, the frequent ones first.

        within: only memories that match this query count. Raises IndexUnusable.
        """
        return self._terms(analysis.EXACT, prefix, limit, within)

    def tags_with(self, prefix: str, limit: int, within: tantivy.Query | None = None) -> list[tuple[str, int]]:
        """Return the tags with this prefix in lower case, each with its number of memories, the frequent ones first.

        within: only memories that match this query count. Raises IndexUnusable.
        """
        return [(tag, count) for tag, count in self._terms("tag", prefix, limit, within) if analysis.label_form(tag)]

    def _terms(self, field: str, prefix: str, limit: int, within: tantivy.Query | None) -> list[tuple[str, int]]:
        with _IndexErrors(f"{self.description} cannot be read"):
            terms = self._searcher.terms_with_prefix(field, prefix, filter_query=within, limit=limit)
        return [(term, count) for term, count in terms if count]

    def acronyms(self) -> frozenset[str]:
        """Return the acronyms that memories of any project spell out. Raises IndexUnusable."""
        if self._acronyms is None:
            has_any = self.document_frequency(_SHORT, _ANY)  # most stores have none, and listing none takes .6 ms
            terms = self._terms(_SHORT, "", MAX_ACRONYMS + 1, None) if has_any else []  # _ANY is the most frequent of them
            self._acronyms = frozenset(term for term, _ in terms if term != _ANY)
        return self._acronyms

    def spelled_out(self, short: str, within: tantivy.Query | None = None) -> str | None:
        """Return the most frequent long form of an acronym, None when no memory explains it.

        within: only memories that match this query count.
        """
        if short not in self.acronyms():
            return None
        long_forms = self._terms(_SPELLED_OUT, f"{short}=", 1, within)
        return long_forms[0][0].partition("=")[2] if long_forms else None

    @property
    def max_questions(self) -> int:
        """The largest number of questions of a memory, 0 where none has any. Raises IndexUnusable."""
        if self._max_questions is None:
            positions = range(1, MAX_QUESTIONS + 1)
            self._max_questions = next((n - 1 for n in positions if not self.document_frequency(_PLACE, str(n))), MAX_QUESTIONS)
        return self._max_questions

    @property
    def documents(self) -> int:
        return self._searcher.num_docs

    @property
    def segments(self) -> int:
        return self._searcher.num_segments

    def watermark(self) -> int:
        """Return the store revision that this index has reached, 0 for none."""
        return self._watermark

    def check(self) -> None:
        """Read a sample of the index: all numbers, some terms of each first letter. Raises IndexUnusable."""
        with _IndexErrors(f"{self.description} is damaged"):
            everything = self._searcher.search(tantivy.Query.all_query(), max(1, self._searcher.num_docs), count=False).hits
            addresses = [address for _, address in everything]
            for field in ("seq", "created", "expires"):
                self._searcher.fast_field_values(field, addresses)
            for field in (analysis.BODY, analysis.EXACT, LABELS, analysis.CJK, ASKED):
                for first in "abcdefghijklmnopqrstuvwxyz0123456789":
                    terms = [term for term, _ in self._searcher.terms_with_prefix(field, first, limit=20)]
                    for term in terms:
                        self._searcher.search(tantivy.Query.term_query(self.schema, field, term), 1, count=False)
                    if len(terms) > 1 and field not in (analysis.CJK, ASKED):  # they keep no positions
                        self._searcher.search(tantivy.Query.phrase_query(self.schema, field, [*terms[:2]]), 1, count=False)

    def reach(self, revision: int) -> None:
        """Record the store revision that is committed here. Raises OSError."""
        self._watermark = revision
        if self.folder:
            _write_watermark(self.folder, revision)

    def writer(self, heap: int = SMALL_HEAP, threads: int = 1) -> IndexWriter:
        """Return the writer of this index. Raises IndexBusy when another process has it, IndexUnusable."""
        with _IndexErrors(f"{self.description} cannot be written"):
            return IndexWriter(self, self._index.writer(heap, threads))

    def refresh(self) -> None:
        """Load the latest commit. Raises IndexUnusable."""
        if self.folder:
            self._watermark = max(self._watermark, _read_watermark(self.folder))
        with _IndexErrors(f"{self.description} cannot be read"):
            self._index.reload()
            self._searcher = self._index.searcher()
        self._frequencies.clear()
        self._acronyms = None
        self._max_questions = None


class IndexWriter:
    """Writes an index; nothing is visible before `commit`."""

    __slots__ = ("_index", "_writer")

    def __init__(self, index: LexicalIndex, writer: tantivy.IndexWriter) -> None:
        self._index = index
        self._writer = writer

    def put(self, memories: Iterable[Memory], *, new: bool = False) -> None:
        """Index memories, replacing their old documents; deleted memories are removed. new: there are no old ones."""
        with _IndexErrors(f"{self._index.description} cannot be written"):
            for memory in memories:
                if not new:
                    self._writer.delete_documents_by_term("seq", memory.seq)
                if memory.status != "deleted":
                    self._writer.add_document(_make_document(memory))

    def remove(self, seqs: Iterable[int]) -> None:
        with _IndexErrors(f"{self._index.description} cannot be written"):
            for seq in seqs:
                self._writer.delete_documents_by_term("seq", seq)

    def commit(self, revision: int) -> None:
        """Make all changes visible, then record the store revision that they reach. Raises IndexUnusable."""
        with _IndexErrors(f"{self._index.description} cannot be written"):
            self._writer.commit()
            self._index.reach(revision)

    def finish(self) -> None:
        """Wait for merges, so that segments stay few, and release the lock."""
        with _IndexErrors(f"{self._index.description} cannot be written"):
            self._writer.wait_merging_threads()
        self._index.refresh()


def _make_document(memory: Memory) -> tantivy.Document:
    from subcog_hooks.text import acronyms  # .2 ms, and a hook writes no index

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
        document.add_text(_PLACE, str(position))
        document.add_text(ASKED, words)
        document.add_text(ASKED_AT[position - 1], words)
    for tag in memory.tags:
        document.add_text("tag", tag.lower())
    for label in dict.fromkeys(map(analysis.label_form, (*memory.tags, *memory.keywords))):
        if label:
            document.add_text(LABEL, label)
    definitions = acronyms.definitions(memory.content)
    if definitions:
        document.add_text(_SHORT, _ANY)
    for acronym, long_form in definitions:
        document.add_text(_SHORT, acronym)
        document.add_text(_SPELLED_OUT, f"{acronym}={long_form}")
    document.add_text("audience", audience_of(memory.scope, memory.project))
    document.add_text("status", memory.status)
    document.add_text("namespace", memory.namespace)
    document.add_integer("created", memory.created_at)
    if memory.expires_at is not None:
        document.add_integer("expires", memory.expires_at)
    return document


def _write_watermark(folder: str, revision: int) -> None:
    path = os.path.join(folder, _WATERMARK)
    with open(f"{path}.partial", "w", encoding="ascii") as file:
        file.write(f"{revision}\n")
    for tries in range(1, _REPLACE_TRIES + 1):
        try:
            os.replace(f"{path}.partial", path)
        except PermissionError:
            if tries == _REPLACE_TRIES:
                raise
            time.sleep(0.01)
        else:
            break


def _read_watermark(folder: str) -> int:
    """Return the revision in the file WATERMARK, 0 without a readable one: then everything is indexed once more."""
    try:
        return max(0, int(read_regular(os.path.join(folder, _WATERMARK), 30)))
    except (OSError, ValueError):
        return 0


def _current_folder(home: Home) -> str | None:
    """Return the folder named by CURRENT, None when there is none of this format."""
    try:
        name = read_regular(os.path.join(home.index, "CURRENT"), 200).decode("utf-8", "replace").strip()
    except OSError:
        return None
    if not name.startswith(f"lexical-{INDEX_FORMAT}-") or os.path.basename(name) != name:
        return None
    return os.path.join(home.index, name)


def has_indexed_memories(home: Home) -> bool:
    """Return whether the current index has followed a store that had memories."""
    folder = _current_folder(home)
    return folder is not None and _read_watermark(folder) > 0


def remove_other_indexes(home: Home, keep: tuple[str, ...]) -> None:
    """Delete the other index folders. A folder that is open elsewhere stays until the next time (Windows)."""
    import shutil  # off the hook's path: only a rebuild comes here

    for name in os.listdir(home.index):
        if name.startswith("lexical-") and name not in keep:
            shutil.rmtree(os.path.join(home.index, name), ignore_errors=True)
