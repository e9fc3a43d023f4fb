"""The packaged model without fastembed: what fastembed does with it, bit for bit, in a third of the time to load.

fastembed loads all of its models' libraries and those of the hub they come from, .7 s of processor; this one needs onnxruntime
and tokenizers, which fastembed itself runs on.
"""

from __future__ import annotations

import os

from subcog_hooks.core.quiet_imports import onnx_runtime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fastembed.common.types import NumpyArray

LEAST_TOKENS, LEAST_NORM = 1e-9, 1e-12  # that are divided by
MODEL, TOKENIZER = "model.onnx", "tokenizer.json"


class PackagedModel:
    """all-MiniLM-L6-v2: the mean of its tokens' vectors, of length 1.

    tokenizer: cuts at the 256 tokens that tokenizer.json says.
    """

    __slots__ = ("_session", "tokenizer")

    def __init__(self, folder: str) -> None:
        """Load the model from its folder, .3 s behind .2 s for the libraries. Raises what these raise, and ModelError."""
        runtime, tokenizer = onnx_runtime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        model = os.path.join(folder, MODEL)
        self._session = runtime.InferenceSession(model, sess_options=options, providers=["CPUExecutionProvider"])
        self.tokenizer = tokenizer.from_file(os.path.join(folder, TOKENIZER))

    def embed(self, text: str) -> NumpyArray:
        """Return the vector of a text, float32. Raises what the libraries raise."""
        import numpy as np  # 65 ms, which onnxruntime has spent by now

        encoded = self.tokenizer.encode(text)
        ids = np.array([encoded.ids], np.int64)
        mask = np.array([encoded.attention_mask], np.int64)
        (tokens,) = self._session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})
        total = np.sum(tokens, axis=1, where=mask[:, :, np.newaxis].astype(bool), dtype=np.float64)
        mean = total / np.maximum(np.sum(mask, axis=1, keepdims=True), LEAST_TOKENS)
        norm = np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), LEAST_NORM)
        vector: NumpyArray = (mean / norm)[0].astype(tokens.dtype)
        return vector


_loaded: dict[tuple[object, ...], PackagedModel] = {}  # the one that this process has, by its folder and its files' stamps


def loaded(folder: str) -> PackagedModel:
    """Return the model of a folder, loaded once in a process while its files stay what they are. Raises as the class does."""
    found = [os.stat(os.path.join(folder, name)) for name in (MODEL, TOKENIZER)]
    stamp = (folder, *[(status.st_size, status.st_mtime_ns) for status in found])
    if stamp not in _loaded:
        _loaded.clear()
        _loaded[stamp] = PackagedModel(folder)
    return _loaded[stamp]
