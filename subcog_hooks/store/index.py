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
from math import log

import tantivy

from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.files import read_regular
from subcog_hooks.store.memory import MAX_QUESTIONS
from subcog_hooks.text import analysis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.core.paths import Home

INDEX_FORMAT = 7  # raised whenever the schema or the analysis changes: an index of another format is rebuilt
LABELS = "labels"  # the field of tags and keywords, as words
LABEL = "label"  # the field of whole tags and keywords
ASKED = "asked"  # the field of all questions of a memory, for the document frequencies of their words
ASKED_AT = tuple(f"asked_{number}" for number in range(1, MAX_QUESTIONS + 1))  # one field a question
PLACE = "place"  # the field of the positions of questions, "1" for the first
# The field of acronyms whose long form a memory has, and of the first two words of long forms whose acronym it has.
SHORT = "short"
SPELLED_OUT = "spelled_out"  # "acronym=long form", "acronym~long form" and "two words=acronym=long form"
EXPLAINED, WELL_KNOWN = "=", "~"  # between an acronym and its long form
WATERMARK = "WATERMARK"
ANY = "*"  # stands for any acronym: this memory has some
MAX_LONG_FORMS = 3  # of an acronym, the most frequent ones
MAX_SEGMENTS = 8  # above it opening takes 8 ms instead of .5 (measured with 78 segments)

_LATER = "run `subcog doctor --fix`"


class IndexUnusable(StoreError):
    """The index is missing, damaged, of another format, or made from another store: it has to be rebuilt."""


class IndexBusy(StoreError):
    """Another process is writing the index."""


class IndexErrors:
    """Turns every error of tantivy's binding into IndexUnusable. A damaged file makes it panic, past even `Exception`."""

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


class LexicalIndex:
    """An open index, a snapshot of one commit.

    folder: the folder that holds it, "" in memory. watermark: the revision of the store that it has reached, 0 for none.
    """

    def __init__(self, index: tantivy.Index, folder: str = "", watermark: int = 0) -> None:
        self.analysers = analysis.Analysers()
        self.analysers.register(index)
        self.folder = folder
        self.schema = index.schema
        self._errors = IndexErrors(f"{folder or 'the index in memory'} cannot be read")
        self.tantivy_index = index
        self._searcher = index.searcher()
        self.watermark = watermark
        self._frequencies: dict[tuple[str, str], int] = {}
        self._max_questions: int | None = None

    @classmethod
    def open(cls, home: Home) -> LexicalIndex:
        """Return the current index. Raises IndexUnusable."""
        folder = current_folder(home)
        if folder is None:
            raise IndexUnusable(f"{home.index} holds no index", _LATER)
        try:
            return cls._open_folder(folder)
        except IndexUnusable:
            if (newer := current_folder(home)) in (None, folder):
                raise
            return cls._open_folder(newer)  # another process has swapped it in between

    @classmethod
    def _open_folder(cls, folder: str) -> LexicalIndex:
        reached = _read_watermark(folder)  # read before the index: a commit in between is indexed once more
        with IndexErrors(f"{folder} cannot be opened"):
            index = tantivy.Index.open(folder)
            for field in (analysis.BODY, analysis.EXACT, analysis.CJK, LABELS, LABEL, SHORT, SPELLED_OUT):
                tantivy.Query.term_query(index.schema, field, "")  # an error for a field that is not there
            return cls(index, folder, reached)

    def search(self, query: tantivy.Query, limit: int) -> list[tuple[float, int]]:
        """Return the best `limit` matches as (BM25 score, row number), best first. Raises IndexUnusable."""
        with self._errors:
            hits = self._searcher.search(query, limit, count=False).hits
            seqs = self._searcher.fast_field_values("seq", [address for _, address in hits])
        return [(score, int(seq)) for (score, _), seq in zip(hits, seqs, strict=True) if seq]

    def count(self, query: tantivy.Query) -> int:
        """Return how many memories match. Raises IndexUnusable."""
        with self._errors:
            return int(self._searcher.search(query, 1, count=True).count)  # type: ignore[attr-defined]  # missing in its stubs

    def document_frequency(self, field: str, term: str) -> int:
        """Return how many documents hold `term`, replaced ones and those of all projects. Raises IndexUnusable."""
        frequency = self._frequencies.get((field, term))
        if frequency is None:
            with self._errors:
                frequency = self._searcher.doc_freq(field, term)
            self._frequencies[field, term] = frequency  # a prompt of 25 words asks 300 times
        return frequency

    def rarity(self, field: str, term: str) -> float:
        """Return BM25's inverse document frequency of `term`, its score in a memory of average length that has it once."""
        # replaced documents are counted until a merge
        frequency = min(self.document_frequency(field, term), self._searcher.num_docs)
        return log(1.0 + (self._searcher.num_docs - frequency + 0.5) / (frequency + 0.5))

    def words_with(self, prefix: str, limit: int, within: tantivy.Query | None = None) -> list[tuple[str, int]]:
        """Return whole words with this prefix and their numbers of memories, the frequent first. within: as in `long_forms`."""
        return self._terms(analysis.EXACT, prefix, limit, within)

    def tags_with(self, prefix: str, limit: int, within: tantivy.Query | None = None) -> list[tuple[str, int]]:
        """Return tags with this prefix in lower case as `words_with` returns words."""
        return [(tag, count) for tag, count in self._terms("tag", prefix, limit, within) if analysis.label_form(tag)]

    def _terms(self, field: str, prefix: str, limit: int, within: tantivy.Query | None) -> list[tuple[str, int]]:
        with self._errors:
            terms = self._searcher.terms_with_prefix(field, prefix, filter_query=within, limit=limit)
        return [(term, count) for term, count in terms if count]

    @property
    def has_acronyms(self) -> bool:
        """Whether a memory of any project explains an acronym, or has a well-known one. Raises IndexUnusable."""
        return self.document_frequency(SHORT, ANY) > 0

    def long_forms(self, short: str, within: tantivy.Query | None = None, *, is_typed: bool) -> list[str]:
        """Return the long forms of an acronym that memories explain, else its well-known ones; the frequent forms first.

        within: only memories that match this query count. is_typed: well-known ones are wanted. Raises IndexUnusable.
        """
        for mark in (EXPLAINED, WELL_KNOWN) if is_typed else (EXPLAINED,):
            if forms := self._terms(SPELLED_OUT, short + mark, MAX_LONG_FORMS, within):
                return [form.partition(mark)[2] for form, _ in forms]
        return []

    def short_forms(self, pair: str, within: tantivy.Query | None = None) -> list[tuple[str, str]]:
        """Return the acronyms that memories use or explain whose long form begins with two words, each with this long form.

        pair: of `analysis.bare_words`. Raises IndexUnusable.
        """
        if not self.document_frequency(SHORT, pair):
            return []
        forms = self._terms(SPELLED_OUT, pair + EXPLAINED, MAX_LONG_FORMS, within)
        return [(short, long) for form, _ in forms for _, short, long in [form.split(EXPLAINED)]]

    @property
    def max_questions(self) -> int:
        """The largest number of questions of a memory, 0 where none has any. Raises IndexUnusable."""
        if self._max_questions is None:
            positions = range(1, MAX_QUESTIONS + 1)
            self._max_questions = next((n - 1 for n in positions if not self.document_frequency(PLACE, str(n))), MAX_QUESTIONS)
        return self._max_questions

    @property
    def documents(self) -> int:
        return self._searcher.num_docs

    @property
    def segments(self) -> int:
        return self._searcher.num_segments

    def refresh(self) -> None:
        """Load the latest commit. Raises IndexUnusable."""
        if self.folder:
            self.watermark = max(self.watermark, _read_watermark(self.folder))
        with self._errors:
            self.tantivy_index.reload()
            self._searcher = self.tantivy_index.searcher()
        self._frequencies.clear()
        self._max_questions = None


def _read_watermark(folder: str) -> int:
    """Return the revision in the file WATERMARK, 0 without a readable one: then everything is indexed once more."""
    try:
        revision = int(read_regular(os.path.join(folder, WATERMARK), 30))
    except (OSError, ValueError):
        return 0
    return revision if 0 <= revision < 2**63 else 0  # SQLite takes no other number.


def current_folder(home: Home) -> str | None:
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
    folder = current_folder(home)
    return folder is not None and _read_watermark(folder) > 0
