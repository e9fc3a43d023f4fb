"""The packaged model without fastembed: bit for bit the same vectors, in a third of the time to load.

fastembed loads the libraries of all its models and of their hub, .7 s of processor. This module needs onnxruntime and
tokenizers, on which fastembed itself runs.
"""

from __future__ import annotations

import os

from subcog_hooks.core.quiet_imports import import_onnx_runtime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fastembed.common.types import NumpyArray

MIN_TOKENS, MIN_NORM = 1e-9, 1e-12  # minimal divisors
MODEL, TOKENIZER = "model.onnx", "tokenizer.json"


class PackagedModel:
    """all-MiniLM-L6-v2: the mean of its tokens' vectors, of length 1.

    tokenizer: it truncates at the 256 tokens of tokenizer.json.
    """

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


_loaded: dict[tuple[object, ...], PackagedModel] = {}  # this process's model, by its folder and its files' stamps


def load_packaged(folder: str) -> PackagedModel:
    """Return the model of a folder, loaded once in a process while its files are unchanged. Raises like the class."""
    statuses = [os.stat(os.path.join(folder, name)) for name in (MODEL, TOKENIZER)]
    stamp = (folder, *[(status.st_size, status.st_mtime_ns) for status in statuses])
    if stamp not in _loaded:
        _loaded.clear()
        _loaded[stamp] = PackagedModel(folder)
    return _loaded[stamp]
