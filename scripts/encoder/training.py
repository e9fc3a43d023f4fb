"""Train the query encoder: the model's vectors as targets, the rows, their quantisation and quality. No downloads here."""

import multiprocessing
import os
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn.functional import cross_entropy, embedding_bag, normalize

BIGRAMS = 44_021  # a prime; with 30,522 tokens the packed file stays under 30 MB
FACTORS = (1_000_003, 7_919)  # a bigram's row is (a * first + b * second) mod BIGRAMS
TOKEN_SHARE = 0.3  # of the model's vector of a single token, where its row starts
TOKENS = 256  # of a text; documents are cut there, too
TEACHER_BATCH = 64
BATCH = 1_024
PAIR_BATCH = 256
RATES = (4e-3, 2e-3, 8e-4, 2e-4)  # one epoch each
SCALE = 20.0  # of cosines in the contrastive losses
LINE_WEIGHT = 0.5  # of telling a line's target from the others'
COMMON = (
    0.8  # of what all questions have in common is taken away: it says nothing about which document answers, and ranked by it
)
PAIR_WEIGHT = 0.3  # of finding the passage under a heading

Array = np.ndarray[Any, np.dtype[Any]]


class Data(NamedTuple):
    """Texts with their targets `(n, dimension) float16`, and pairs as (index of the heading, index of the passage)."""

    tokenizer: Tokenizer
    lines: list[str]
    targets: Array
    pairs: list[tuple[int, int]]
    held_back: list[bool]
    questions: list[str]


class Encoder(NamedTuple):
    """Quantised rows `(n, dimension) int8` with the scale of each."""

    tokens: Array
    token_scale: Array
    bigrams: Array
    bigram_scale: Array


class Bags(NamedTuple):
    """Row numbers of all texts, one after the other: text i has rows[starts[i]:starts[i + 1]]. Bigrams come behind tokens."""

    rows: Array
    starts: Array

    def of(self, texts: Array) -> tuple[torch.Tensor, torch.Tensor]:
        """Return rows and offsets as torch.nn.functional.embedding_bag takes them."""
        lengths = self.starts[texts + 1] - self.starts[texts]
        offsets = np.concatenate(([0], np.cumsum(lengths)[:-1]))
        at = np.arange(lengths.sum()) - np.repeat(offsets, lengths) + np.repeat(self.starts[texts], lengths)
        return torch.from_numpy(self.rows[at]), torch.from_numpy(offsets)


def targets(lines: list[str], model: str, work: str, chunk: int, processes: int, precision: str) -> Array:
    """Return the normalised mean-pooled vectors of all lines, `(n, dimension) float16`; those in the work folder are kept."""
    folder = os.path.join(work, "targets")
    os.makedirs(folder, exist_ok=True)
    paths = [os.path.join(folder, f"{at:07d}.npy") for at in range(0, len(lines), chunk)]
    jobs = [(path, lines[number * chunk :][:chunk]) for number, path in enumerate(paths) if not os.path.exists(path)]
    if jobs:
        started = time.monotonic()
        with multiprocessing.get_context("spawn").Pool(processes, _load_teacher, (model, precision)) as pool:
            for done, path in enumerate(pool.imap(_keep_targets, jobs), 1):
                print(
                    f"targets {os.path.basename(path)}: {done} of {len(jobs)}, {time.monotonic() - started:.0f} s", flush=True
                )
    return np.concatenate([np.load(path) for path in paths])


_teacher: dict[str, Any] = {}  # of a worker process


def _load_teacher(model: str, precision: str) -> None:
    from transformers import AutoModel

    torch.set_num_threads(1)  # two threads that wait for each other on a busy machine took 2.5 times as long
    tokenizer = Tokenizer.from_file(os.path.join(model, "tokenizer.json"))
    tokenizer.enable_padding()
    tokenizer.enable_truncation(TOKENS)
    network = AutoModel.from_pretrained(model, dtype=getattr(torch, precision)).eval()
    _teacher.update(tokenizer=tokenizer, network=network)


def _keep_targets(job: tuple[str, list[str]]) -> str:
    path, lines = job
    np.save(path + ".part.npy", _vectors(lines).astype(np.float16))
    os.replace(path + ".part.npy", path)
    return path


def _vectors(lines: Sequence[str]) -> Array:
    """Return the model's vectors, computed in order of length so that little is padded."""
    order = sorted(range(len(lines)), key=lambda at: len(lines[at]))
    vectors = np.empty((len(lines), _teacher["network"].config.hidden_size), np.float32)
    with torch.inference_mode():
        for at in range(0, len(order), TEACHER_BATCH):
            batch = order[at : at + TEACHER_BATCH]
            encoded = _teacher["tokenizer"].encode_batch([lines[number] for number in batch])
            mask = torch.tensor([one.attention_mask for one in encoded])
            ids = torch.tensor([one.ids for one in encoded])
            hidden = _teacher["network"](input_ids=ids, attention_mask=mask).last_hidden_state
            vectors[batch] = normalize((hidden.float() * mask[..., None]).sum(1)).numpy()
    return vectors


def start(model: str) -> Array:
    """Return the rows that training starts from: the model's vector of each single token, bigrams at zero."""
    _load_teacher(model, "float32")
    network = _teacher["network"]
    size = network.config.vocab_size
    rows = np.zeros((size + BIGRAMS, network.config.hidden_size), np.float32)
    around = [_teacher["tokenizer"].token_to_id(token) for token in ("[CLS]", "[SEP]")]
    with torch.inference_mode():
        for at in range(0, size, 512):
            token = torch.arange(at, min(at + 512, size))
            ids = torch.stack([torch.full_like(token, around[0]), token, torch.full_like(token, around[1])], dim=1)
            rows[at : at + len(token)] = TOKEN_SHARE * normalize(network(input_ids=ids).last_hidden_state.mean(1)).numpy()
    return rows


def bags(tokenizer: Tokenizer, lines: list[str], tokens: int, bigrams: int) -> Bags:
    """Return the rows of each text: its ids without special tokens, and its bigrams."""
    parts, starts = [], [0]
    for at in range(0, len(lines), 10_000):
        for encoded in tokenizer.encode_batch(lines[at : at + 10_000], add_special_tokens=False):
            ids = np.array(encoded.ids, np.int64)
            parts.append(np.concatenate((ids, tokens + (ids[:-1] * FACTORS[0] + ids[1:] * FACTORS[1]) % bigrams)))
            starts.append(starts[-1] + len(parts[-1]))
    return Bags(np.concatenate(parts), np.array(starts))


def train(data: Data, rows: Array) -> Encoder:
    """Train rows: the normalised sum of a text's rows comes near its target, and a heading's near the passage under it."""
    torch.manual_seed(0)
    chance = np.random.default_rng(0)
    table = torch.nn.Parameter(torch.from_numpy(rows))
    optimiser = torch.optim.SparseAdam([table], lr=RATES[0])
    bag = bags(data.tokenizer, data.lines, len(rows) - BIGRAMS, BIGRAMS)
    targets_ = torch.from_numpy(data.targets)
    kept = np.flatnonzero((~np.array(data.held_back)) & (np.diff(bag.starts) > 0))
    pairs = np.array([pair for pair in data.pairs if not data.held_back[pair[0]]])
    for epoch, rate in enumerate(RATES):
        started, total = time.monotonic(), 0.0
        optimiser.param_groups[0]["lr"] = rate
        order = chance.permutation(kept)[: len(kept) // BATCH * BATCH].reshape(-1, BATCH)
        for texts in order:
            some = pairs[chance.integers(len(pairs), size=PAIR_BATCH)]
            numbers, offsets = bag.of(np.concatenate((texts, some[:, 0])))
            vectors = normalize(embedding_bag(numbers, table, offsets, mode="sum", sparse=True))
            wanted = targets_[torch.from_numpy(texts)].float()
            cosines = vectors[:BATCH] @ wanted.T
            loss = (1 - cosines.diagonal()).mean() + LINE_WEIGHT * cross_entropy(SCALE * cosines, torch.arange(BATCH))
            found = vectors[BATCH:] @ targets_[torch.from_numpy(some[:, 1])].float().T
            loss = loss + PAIR_WEIGHT * cross_entropy(SCALE * found, torch.arange(PAIR_BATCH))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            total += float(loss.detach())
        print(f"epoch {epoch + 1}: rate {rate}, loss {total / len(order):.4f}, {time.monotonic() - started:.0f} s", flush=True)
    trained = without_common(table.detach().numpy(), data.tokenizer, data.questions)
    return Encoder(*_quantised(trained[:-BIGRAMS]), *_quantised(trained[-BIGRAMS:]))


def without_common(rows: Array, tokenizer: Tokenizer, questions: list[str]) -> Array:
    """Take COMMON of the questions' mean vector away from the rows' sums, from each token row in equal parts.

    With that part the nearest texts to "When did Ann ...?" are other questions. Measured on development data, fused nDCG@10
    rose from .705 to .706 on developers' memories and from .480 to .485 on dialogue; the cosine to the model fell by .02.
    """
    bag = bags(tokenizer, questions, len(rows) - BIGRAMS, BIGRAMS)
    numbers, offsets = bag.of(np.arange(len(questions)))
    sums = embedding_bag(numbers, torch.from_numpy(rows), offsets, mode="sum")
    tokens = (torch.from_numpy(np.diff(bag.starts)) + 1) / 2  # n tokens have n - 1 bigrams
    part = normalize(sums).mean(0) * (sums.norm(dim=1) / tokens).mean()
    changed = rows.copy()
    changed[:-BIGRAMS] -= COMMON * part.numpy()
    return changed


def _quantised(rows: Array) -> tuple[Array, Array]:
    """Return int8 with one scale a row, which is above 0 for a row of zeros, too."""
    scale = np.maximum(np.abs(rows).max(1), 1e-6) / 127
    return np.round(rows / scale[:, None]).astype(np.int8), scale.astype(np.float32)


def encode(tokenizer: Tokenizer, encoder: Encoder, lines: list[str]) -> Array:
    """Return the static vectors of texts, `(n, dimension) float32`; zeros for a text without a token."""
    rows = np.concatenate((encoder.tokens * encoder.token_scale[:, None], encoder.bigrams * encoder.bigram_scale[:, None]))
    bag = bags(tokenizer, lines, len(encoder.tokens), len(encoder.bigrams))
    numbers, offsets = bag.of(np.arange(len(lines)))
    vectors: Array = normalize(embedding_bag(numbers, torch.from_numpy(rows.astype(np.float32)), offsets, mode="sum")).numpy()
    return vectors


def quality(data: Data, encoder: Encoder, kinds: dict[str, list[int]]) -> str:
    """Report the mean cosine to the model on held-back lines, by kind, and how often a held-back heading finds its passage."""
    report = []
    for kind, some in kinds.items():
        texts = [at for at in some if data.held_back[at]]
        found = encode(data.tokenizer, encoder, [data.lines[at] for at in texts])
        report.append(f"{kind}: cosine {np.mean(np.sum(found * data.targets[texts], axis=1)):.3f} on {len(texts)}")
    pairs = np.array([pair for pair in data.pairs if data.held_back[pair[0]]])
    passages = data.targets[pairs[:, 1]].astype(np.float32)
    static = encode(data.tokenizer, encoder, [data.lines[at] for at in pairs[:, 0]])
    for name, headings in (("static", static), ("model", data.targets[pairs[:, 0]])):
        scores = headings.astype(np.float32) @ passages.T
        rank = (scores > scores.diagonal()[:, None]).sum(1)
        report.append(
            f"{name} heading to passage, of {len(pairs)}: first {np.mean(rank == 0):.3f}, in ten {np.mean(rank < 10):.3f}"
        )
    return "\n".join(report)
