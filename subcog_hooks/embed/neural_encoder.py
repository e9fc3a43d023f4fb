"""The vectors of memories: final ones by a neural model, and provisional ones by the static encoders.

The packaged model runs without fastembed: bit for bit the same vectors, in a third of the time to load. fastembed loads the
libraries of all its models and of their hub, .7 s of processor; this module needs onnxruntime and tokenizers, on which
fastembed itself runs. Texts in other languages get vectors of the multilingual encoder beside.
"""

from __future__ import annotations

import os
import re
import warnings
from contextlib import closing
from functools import cache

from subcog_hooks.core.errors import ModelError
from subcog_hooks.core.quiet_imports import first_line, import_onnx_runtime
from subcog_hooks.embed import static_encoder
from subcog_hooks.embed.layout import BIAS, INT8, SCALE, PackedEncoder
from subcog_hooks.embed.multilingual_encoder import MultilingualEncoder
from subcog_hooks.embed.static_encoder import OF_FIRST, OF_SECOND, StaticEncoder
from subcog_hooks.text.languages import is_foreign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from fastembed.common.types import NumpyArray
    from tokenizers import Tokenizer

    from subcog_hooks.embed.space import Space

    Span = tuple[int, int]  # of characters: the first, and the one behind the last

MIN_TOKENS, MIN_NORM = 1e-9, 1e-12  # minimal divisors
MODEL, TOKENIZER = "model.onnx", "tokenizer.json"


class PackagedModel:
    """all-MiniLM-L6-v2: the mean of its tokens' vectors, of length 1. `tokenizer` truncates at 256 tokens."""

    __slots__ = ("_session", "tokenizer")

    def __init__(self, folder: str) -> None:
        """Load the model from its folder, .3 s behind .2 s for the libraries. Raises the libraries' errors, and ModelError."""
        runtime, tokenizer = import_onnx_runtime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        model = os.path.join(folder, MODEL)
        self._session = runtime.InferenceSession(model, sess_options=options, providers=["CPUExecutionProvider"])
        self.tokenizer = tokenizer.from_file(os.path.join(folder, TOKENIZER))

    def embed(self, text: str) -> NumpyArray:
        """Return the vector of a text, float32. Raises the libraries' errors."""
        import numpy as np  # 65 ms, already loaded by onnxruntime

        encoded = self.tokenizer.encode(text)
        ids = np.array([encoded.ids], np.int64)
        mask = np.array([encoded.attention_mask], np.int64)
        (tokens,) = self._session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})
        total = np.sum(tokens, axis=1, where=mask[:, :, np.newaxis].astype(bool), dtype=np.float64)
        mean = total / np.maximum(np.sum(mask, axis=1, keepdims=True), MIN_TOKENS)
        norm = np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), MIN_NORM)
        vector: NumpyArray = (mean / norm)[0].astype(tokens.dtype)
        return vector


load_packaged = cache(PackagedModel)


# Less than half of the packaged model's length, so that a passage is clearer than the vector of the whole. A shorter text has
# no passages.
WINDOW = 110  # tokens
STEP = 80  # tokens from one passage's beginning to the next one's: a sentence of up to 30 is whole in one of them
# The first 3,870 tokens, some 14,000 characters, for half a second of embedding. The text behind them is found by words.
MAX_PASSAGES = 48


def passage_spans(tokens: Sequence[Span], window: int = WINDOW) -> list[Span]:
    """Return the passages of a text, given the spans of its tokens.

    A text of at most `window` tokens has none. The last passage ends with the text. window: tokens of a passage, for a model
    that reads fewer than WINDOW; passages overlap in proportion.

    >>> passage_spans([(at, at + 1) for at in range(150)])
    [(0, 110), (80, 150)]
    >>> passage_spans([(at, at + 1) for at in range(110)])
    []
    """
    step = STEP * window // WINDOW
    starts = range(0, max(0, len(tokens) - window) + step, step) if len(tokens) > window else range(0)
    return [(tokens[start][0], tokens[min(start + window, len(tokens)) - 1][1]) for start in starts[:MAX_PASSAGES]]


def passage_reach(window: int = WINDOW) -> int:
    """Return the number of a text's tokens that its passages cover."""
    return window + (MAX_PASSAGES - 1) * (STEP * window // WINDOW)


CHARACTERS_PER_TOKEN = 32  # far more than a token has; tokenising more text is wasted
MAX_TOKENS = 2_048  # attention costs their square: the 8,192 of some models would take gigabytes
_USUAL_TOKENS = 512  # for a model that does not say its length
_HERE = os.path.dirname(os.path.abspath(__file__))


class DocumentEmbedder:
    """A loaded model for one thread at a time; inside, it uses `threads`."""

    __slots__ = ("_of_document", "_of_query", "_reads", "_splitter", "_threads", "_tokenizer", "space")

    def __init__(self, space: Space, threads: int = 1) -> None:
        """Load the model of `space`: .5 s for the packaged one, 1 s and more for others, with libraries. Raises ModelError."""
        self.space = space
        self._threads = threads
        self._of_document: Callable[[str], NumpyArray]
        self._of_query: Callable[[str], NumpyArray]
        self._tokenizer: Tokenizer
        try:
            if space.is_packaged:
                packaged = load_packaged(space.folder)
                self._tokenizer = packaged.tokenizer
                self._of_document = self._of_query = packaged.embed
            else:
                self._load_by_fastembed()
        except ModelError:
            raise
        except Exception as error:  # each library below has errors of its own
            raise ModelError(
                f"{space.model} cannot be loaded from {space.folder}: {first_line(error)}", space.remedy
            ) from error
        truncation = self._tokenizer.truncation or {}  # The packaged model has 256 tokens.
        length = int(truncation.get("max_length", _USUAL_TOKENS))
        if length > MAX_TOKENS:
            self._tokenizer.enable_truncation(MAX_TOKENS)
        self._reads = min(length, MAX_TOKENS)  # tokens of a text
        self._splitter: Tokenizer | None = None

    def _load_by_fastembed(self) -> None:
        from subcog_hooks.core.quiet_imports import import_text_embedding

        library = import_text_embedding()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # advice on choosing a model
            model = library(
                self.space.model,
                cache_dir=_HERE,  # an existing folder, because it would make one under /tmp
                specific_model_path=self.space.folder,
                providers=["CPUExecutionProvider"],
                threads=1,  # our threads are outside: its own give 85 documents a second on two busy cores, ours 190
            )
        self._tokenizer = vars(model.model)["tokenizer"]  # Every text model of fastembed 0.9 has one.
        self._of_document = lambda text: next(iter(model.passage_embed([text])))
        self._of_query = lambda text: next(iter(model.query_embed([text])))

    def embed(self, texts: Sequence[str]) -> Iterator[bytes]:
        """Yield the vector of each text, in their order: int8, one byte a dimension, the largest scaled to 127.

        An empty text has the zero vector, which is near to nothing. Raises ModelError when the model fails.
        """
        if self._threads == 1 or len(texts) == 1:
            yield from map(self._document, texts)
            return
        from concurrent.futures import ThreadPoolExecutor  # 8 ms, and the background process has one thread

        with ThreadPoolExecutor(self._threads) as pool:
            yield from pool.map(self._document, texts)

    def passages(self, text: str) -> list[str]:
        """Return the passages of a text by the model's own tokens; a text no longer than a passage has none."""
        if self._splitter is None:
            # A copy, 15 ms: another thread may be using the model's tokenizer, which truncates.
            self._splitter = type(self._tokenizer).from_str(self._tokenizer.to_str())
            self._splitter.no_truncation()
            self._splitter.no_padding()
        window = min(WINDOW, self._reads - self._splitter.num_special_tokens_to_add(is_pair=False))
        ready = _prepare_text(text, passage_reach(window))
        tokens = self._splitter.encode(ready, add_special_tokens=False).offsets
        return [ready[start:end] for start, end in passage_spans(tokens, window)]

    def query(self, text: str) -> bytes:
        """Return the vector of a question, in the space of the texts. Raises ModelError when the model fails."""
        return self._vector(self._of_query, text)

    def _document(self, text: str) -> bytes:
        return self._vector(self._of_document, text)

    def _vector(self, embed: Callable[[str], NumpyArray], text: str) -> bytes:
        """Return the vector of one text, embedded alone.

        An int8 model scales its numbers by the largest of the batch. In batches of 8 a vector depends on its neighbours (cosine
        .992 to the vector made alone). Alone it costs the same: 185 documents of 40 words a CPU-second.
        """
        ready = _prepare_text(text, self._reads)
        if not ready:
            return bytes(self.space.dimension)
        try:
            vector = embed(ready)
        except Exception as error:  # each library below has errors of its own
            raise ModelError(f"{self.space.model} cannot embed: {first_line(error)}", self.space.remedy) from error
        if vector.shape != (self.space.dimension,):
            raise ModelError(
                f"{self.space.model} gives vectors of {vector.shape[-1]} dimensions, expected {self.space.dimension}",
                self.space.remedy,
            )
        return quantise(vector)


def _prepare_text(text: str, tokens: int) -> str:
    """Return the beginning of a text that may fill `tokens`, as valid UTF-8."""
    return text.lstrip()[: tokens * CHARACTERS_PER_TOKEN].rstrip().encode("utf-8", "replace").decode("utf-8")


def quantise(vector: NumpyArray) -> bytes:
    """Return a vector as int8, its largest component at 127; zeros for a vector without direction.

    >>> import numpy as np
    >>> list(quantise(np.array([0.5, -0.25, 0.0], np.float32)))
    [127, 192, 0]
    >>> quantise(np.array([0.0, np.nan], np.float32))
    b'\\x00\\x00'
    """
    import numpy as np  # 65 ms, already loaded by the model's libraries

    largest = float(np.abs(vector).max(initial=0.0))
    if not 0.0 < largest < float("inf"):  # NaN as well
        return bytes(len(vector))
    whole: bytes = np.rint(vector * (127.0 / largest)).astype(np.int8).tobytes()
    return whole


def count_cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# About a token of the document model: two characters of a script without blanks, or five of another.
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,2}|\w{1,5}|\S")


def encode_provisionally(texts: Sequence[str]) -> list[bytes | None]:
    """Return the vectors of texts, None for none: of English by the static encoder, of others by the multilingual one."""
    are_foreign = list(map(is_foreign, texts))
    english_texts = [text for text, is_other in zip(texts, are_foreign, strict=True) if not is_other]
    if len(english_texts) >= MANY:
        english_vectors = encode_many(english_texts)
    else:
        with closing(StaticEncoder.open()) as english:
            english_vectors = list(map(english.encode, english_texts))
    if not any(are_foreign):
        return [vector or None for vector in english_vectors]
    left = iter(english_vectors)
    with closing(MultilingualEncoder.open()) as encoder:
        pairs = zip(texts, are_foreign, strict=True)
        return [(encoder.encode(text) if is_other else next(left)) or None for text, is_other in pairs]


def encode_with_passages(texts: Sequence[str]) -> Iterator[list[bytes]]:
    """Yield the final vectors of each text, which is not English: the whole text's, then its passages'."""
    with closing(MultilingualEncoder.open()) as encoder:
        for text in texts:
            spans = passage_spans([match.span() for match in _TOKEN.finditer(text)])
            parts = (text, *(text[start:end] for start, end in spans))
            yield [encoder.encode(part) or bytes(encoder.dimension) for part in parts]


MANY = 50  # texts; from there on numpy is worth its import and reading all rows
MAX_CACHED_WORDS = 100_000  # words; some 20 MB


def encode_many(texts: Iterable[str], path: str = static_encoder.PACKAGED) -> list[bytes]:
    """Return the vectors of the texts, equal to StaticEncoder.encode up to a unit of rounding in a value.

    Each is `dimension` signed bytes, or b"". The ids come from our own WordPiece. With its cache of words it splits 10,000
    texts of 40 words in .2 to .7 s; the `tokenizers` library needs 1.1 to 1.4 s on one core. Raises EncoderUnusable.
    """
    import numpy as np  # 65 ms

    with closing(PackedEncoder(path)) as packed:
        records = np.frombuffer(packed.all_records(), np.uint8).reshape(-1, packed.dimension + SCALE)
        scales = np.ascontiguousarray(records[:, -SCALE:]).view("<f4").reshape(-1)
        ids_by_word: dict[str, list[int]] = {}
        encoded = []
        for text in texts:
            if len(ids_by_word) > MAX_CACHED_WORDS:
                ids_by_word.clear()
            ids = np.array(static_encoder.token_ids(text, packed.match, static_encoder.MAX_TOKENS, ids_by_word), np.int64)
            if not len(ids):
                encoded.append(b"")
                continue
            pairs = (ids[:-1] * OF_FIRST + ids[1:] * OF_SECOND) % packed.bigrams
            rows = np.concatenate((ids, packed.tokens + pairs))
            sums = scales[rows] @ (records[rows, :-SCALE].astype(np.float32) - BIAS[8])
            peak = np.abs(sums).max()
            encoded.append(np.rint(sums * (INT8 / peak)).astype(np.int8).tobytes() if peak else b"")
        return encoded
