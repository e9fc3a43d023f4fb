"""The neural embedder of documents, whole and by passages."""

from __future__ import annotations

import os
import warnings

from subcog_hooks.core.errors import ModelError
from subcog_hooks.core.quiet_imports import first_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Span = tuple[int, int]  # of characters: the first, and the one behind the last
    from collections.abc import Callable, Iterator

    from fastembed.common.types import NumpyArray
    from tokenizers import Tokenizer

    from subcog_hooks.embed.space import Space

# Less than half of what a vector of the packaged model holds, so that a passage says what the whole's vector blurs. A text that
# is no longer has none.
WINDOW = 110  # tokens
STEP = 80  # tokens from one passage's beginning to the next one's: a sentence of up to 30 is whole in one of them
# The first 3,870 tokens, some 14,000 characters, for half a second of embedding; what lies behind is found by its words.
MAX_PASSAGES = 48


def passage_spans(tokens: Sequence[Span], window: int = WINDOW) -> list[Span]:
    """Return the passages of a text, given the places of its tokens.

    There are none for a text of at most `window` tokens. The last one ends with the text.

    window: tokens of a passage, for a model that reads fewer than WINDOW; they overlap as much in proportion.

    >>> passage_spans([(at, at + 1) for at in range(150)])
    [(0, 110), (80, 150)]
    >>> passage_spans([(at, at + 1) for at in range(110)])
    []
    """
    step = STEP * window // WINDOW
    starts = range(0, max(0, len(tokens) - window) + step, step) if len(tokens) > window else range(0)
    return [(tokens[start][0], tokens[min(start + window, len(tokens)) - 1][1]) for start in starts[:MAX_PASSAGES]]


def passage_reach(window: int = WINDOW) -> int:
    """Return how many tokens of a text its passages reach."""
    return window + (MAX_PASSAGES - 1) * (STEP * window // WINDOW)


CHARACTERS_A_TOKEN = 32  # far more than one is made of; what is behind them would be tokenised for nothing
MOST_TOKENS = 2_048  # attention costs the square of them: the 8,192 that some models read would take gigabytes
_USUAL_TOKENS = 512  # that are read by a model which does not say how many
_HERE = os.path.dirname(os.path.abspath(__file__))


class DocumentEmbedder:
    """A loaded model. It may be used from one thread at a time; inside, it uses `threads`."""

    __slots__ = ("_of_document", "_of_query", "_reads", "_splitter", "_threads", "_tokenizer", "space")

    def __init__(self, space: Space, threads: int = 1) -> None:
        """Load the model of `space`: .5 s for the packaged one, 1 s and more for others, with libraries. Raises ModelError."""
        self.space = space
        self._threads = threads
        self._of_document: Callable[[str], NumpyArray]
        self._of_query: Callable[[str], NumpyArray]
        self._tokenizer: Tokenizer | None
        try:
            if space.is_packaged:
                self._load_packaged()
            else:
                self._load_by_fastembed()
        except ModelError:
            raise
        except Exception as error:  # every library below has its own
            raise ModelError(
                f"{space.model} can not be loaded from {space.folder}: {first_line(error)}", space.remedy
            ) from error
        self._reads = self._tokens()
        self._splitter: Tokenizer | None = None

    def _load_packaged(self) -> None:
        from subcog_hooks.embed.packaged import loaded

        model = loaded(self.space.folder)
        self._tokenizer = model.tokenizer
        self._of_document = self._of_query = model.embed

    def _load_by_fastembed(self) -> None:
        from subcog_hooks.core.quiet_imports import text_embedding

        library = text_embedding()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # advice for those who choose among models
            model = library(
                self.space.model,
                cache_dir=_HERE,  # it makes this folder, or one under /tmp: one that is there
                specific_model_path=self.space.folder,
                providers=["CPUExecutionProvider"],
                threads=1,  # ours are outside: its own spin, 85 documents a second on two busy cores, 190 with ours
            )
        self._tokenizer = getattr(model.model, "tokenizer", None)  # of every text model of fastembed 0.9
        self._of_document = lambda text: next(iter(model.passage_embed([text])))
        self._of_query = lambda text: next(iter(model.query_embed([text])))

    def _tokens(self) -> int:
        """Return how many tokens of a text are read.

        tokenizer_config.json says it, 256 in the packaged one; at most MOST_TOKENS.
        """
        tokenizer = self._tokenizer
        truncation = (tokenizer.truncation if tokenizer else None) or {}
        length = int(truncation.get("max_length", _USUAL_TOKENS))
        if tokenizer is not None and length > MOST_TOKENS:
            tokenizer.enable_truncation(MOST_TOKENS)
        return min(length, MOST_TOKENS)

    def embed(self, texts: Sequence[str]) -> Iterator[bytes]:
        """Yield the vector of each text, in their order: int8, one byte a dimension, the largest scaled to 127.

        An empty text has the zero vector, which is near to nothing. Raises ModelError when the model fails.
        """
        if self._threads == 1 or len(texts) == 1:
            yield from map(self._document, texts)
            return
        from concurrent.futures import ThreadPoolExecutor  # 8 ms; the detached catch-up has one thread

        with ThreadPoolExecutor(self._threads) as pool:
            yield from pool.map(self._document, texts)

    def passages(self, text: str) -> list[str]:
        """Return the passages of a text by the model's own tokens, to be embedded each.

        There are none for a text that is not longer than one.
        """
        if self._splitter is None:
            tokenizer = self._tokenizer
            if tokenizer is None:
                return []
            # a copy, 15 ms: another thread may be embedding with the model's, which cuts
            self._splitter = type(tokenizer).from_str(tokenizer.to_str())
            self._splitter.no_truncation()
            self._splitter.no_padding()
        window = min(WINDOW, self._reads - self._splitter.num_special_tokens_to_add(is_pair=False))
        ready = _prepared(text, passage_reach(window))
        tokens = self._splitter.encode(ready, add_special_tokens=False).offsets
        return [ready[start:end] for start, end in passage_spans(tokens, window)]

    def query(self, text: str) -> bytes:
        """Return the vector of a question, in the space of the texts. Raises ModelError when the model fails."""
        return self._vector(self._of_query, text)

    def _document(self, text: str) -> bytes:
        return self._vector(self._of_document, text)

    def _vector(self, embed: Callable[[str], NumpyArray], text: str) -> bytes:
        """Return the vector of one text, embedded alone.

        An int8 model scales its numbers by the largest of the batch, so that in batches of 8 a vector depends on its neighbours
        (cosine .992 to the one made alone); alone it costs the same: 185 documents of 40 words a CPU-second.
        """
        ready = _prepared(text, self._reads)
        if not ready:
            return bytes(self.space.dimension)
        try:
            vector = embed(ready)
        except Exception as error:  # every library below has its own
            raise ModelError(f"{self.space.model} can not embed: {first_line(error)}", self.space.remedy) from error
        if vector.shape != (self.space.dimension,):
            raise ModelError(
                f"{self.space.model} gives vectors of {vector.shape[-1]} dimensions, expected {self.space.dimension}",
                self.space.remedy,
            )
        return quantised(vector)


def _prepared(text: str, tokens: int) -> str:
    """Return the part of a text that reaches the tokenizer when `tokens` are read: its beginning, as UTF-8 can hold it."""
    return text.lstrip()[: tokens * CHARACTERS_A_TOKEN].rstrip().encode("utf-8", "replace").decode("utf-8")


def quantised(vector: NumpyArray) -> bytes:
    """Return a vector as int8, its largest component at 127; zeros for one that has no direction.

    >>> import numpy as np
    >>> list(quantised(np.array([0.5, -0.25, 0.0], np.float32)))
    [127, 192, 0]
    >>> quantised(np.array([0.0, np.nan], np.float32))
    b'\\x00\\x00'
    """
    import numpy as np  # 65 ms, which the model's libraries have spent by now

    largest = float(np.abs(vector).max(initial=0.0))
    if not 0.0 < largest < float("inf"):  # NaN as well
        return bytes(len(vector))
    whole: bytes = np.rint(vector * (127.0 / largest)).astype(np.int8).tobytes()
    return whole


def cores() -> int:
    """Return how many processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
