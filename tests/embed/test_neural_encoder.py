"""The neural embedder: its vectors for any text, and its effects on the machine (none)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from subcog_hooks.core.errors import ModelError
from subcog_hooks.core.quiet_imports import import_text_embedding
from subcog_hooks.embed.neural_encoder import (
    CHARACTERS_PER_TOKEN,
    MAX_PASSAGES,
    STEP,
    WINDOW,
    DocumentEmbedder,
    PackagedModel,
    passage_reach,
    passage_spans,
    quantise,
)
from subcog_hooks.embed.space import Space
from tests.embed.conftest import SPACE, Counting
from tests.store.conftest import cosine

TEXTS = (
    "The session token is kept in an HttpOnly cookie, because any script on the page can read localStorage.",
    "The dredging barge Ellida is moored at pier 7 from November on.",
    "Retries back off exponentially.",
)
TOKENS = 256  # that the packaged model was trained for
UNUSUAL = ("🎉🎉🏗️", "\ud800 lone", "\0", "नमस्ते दुनिया", "x" * 500_000, "ropes " * 90_000, "\u202e\u200b", ".")


def by_the_recipe(text: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """The vector as all-MiniLM-L6-v2 was published: the mean over the tokens, cut at 256, of length 1."""
    import onnxruntime  # after our own code has switched its telemetry off

    tokenizer = Tokenizer.from_file(os.path.join(SPACE.folder, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    ids = np.array([tokenizer.encode(text).ids])
    model = onnxruntime.InferenceSession(os.path.join(SPACE.folder, "model.onnx"), providers=["CPUExecutionProvider"])
    given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    (states, *_) = model.run(None, given)
    mean = states[0].mean(axis=0)
    vector: np.ndarray[tuple[int], np.dtype[np.float32]] = mean / np.linalg.norm(mean)
    return vector


def test_a_question_lies_near_its_answer(embedder: Counting) -> None:
    question = embedder.query("Where do we keep the token of a session in the browser?")
    near, far, _ = (cosine(question, vector) for vector in embedder.embed(TEXTS))
    assert near > 0.5
    assert far < 0.2


def test_the_packaged_model_equals_fastembed_bit_for_bit(tmp_path: Path) -> None:
    ours = PackagedModel(SPACE.folder)
    library = import_text_embedding()(SPACE.model, str(tmp_path), specific_model_path=SPACE.folder, threads=1)
    tokenizer: Tokenizer = vars(library.model)["tokenizer"]
    assert tokenizer.to_str() == ours.tokenizer.to_str()
    for text in (*TEXTS, "quay " * 300, "Überweisung, 日本のマリーナ", "a", "🎉"):
        assert ours.embed(text).tobytes() == next(iter(library.embed([text]))).tobytes()


def test_only_another_model_loads_fastembed() -> None:
    script = "import sys; from subcog_hooks.embed import neural_encoder as neural, space;"
    script += "neural.DocumentEmbedder(space.PACKAGED).query('a');"
    script += "print('fastembed' in sys.modules, 'huggingface_hub' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, encoding="utf-8")
    assert done.stdout == "False False\n"


def test_a_vector_is_what_the_published_recipe_gives(embedder: Counting) -> None:
    texts = [*TEXTS, "quay " * 300]
    for text, vector in zip(texts, embedder.embed(texts), strict=True):
        ours, published = (np.frombuffer(each, np.int8).astype(int) for each in (vector, quantise(by_the_recipe(text))))
        assert np.abs(ours - published).max() <= 1  # of 127: sums on several threads are rounded in another order


def test_a_vector_is_independent_of_batch_and_threads(embedder: Counting) -> None:
    alone = [next(embedder.embed([text])) for text in TEXTS]
    assert list(embedder.embed(TEXTS)) == alone
    assert list(DocumentEmbedder(SPACE, threads=3).embed(TEXTS * 4)) == alone * 4
    assert [embedder.query(text) for text in TEXTS] == alone


def test_any_text_has_a_vector(embedder: Counting, subtests: pytest.Subtests) -> None:
    for text in UNUSUAL:
        with subtests.test(text=text):
            (vector,) = embedder.embed([text])
            assert len(vector) == SPACE.dimension
            assert max(abs(value) for value in np.frombuffer(vector, np.int8).astype(int)) == 127


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(st.characters()))
def test_no_text_fails(embedder: Counting, text: str) -> None:
    assert len(embedder.query(text)) == SPACE.dimension


def test_an_empty_text_is_near_to_nothing(embedder: Counting) -> None:
    for text in ("", "  \n\t", "\u2003" * 100):
        assert next(embedder.embed([text])) == embedder.query(text) == bytes(SPACE.dimension)


def test_a_text_is_read_as_far_as_the_model_was_trained_for(embedder: Counting) -> None:
    read = "quay " * (TOKENS - 2)
    assert embedder.query(read) == embedder.query(read + "barge " * 50)
    assert embedder.query(read) != embedder.query(read.removesuffix("quay ") + "barge " * 50)
    assert embedder.query(" " * TOKENS * CHARACTERS_PER_TOKEN + "barge") == embedder.query("barge")


def test_a_pulled_model_reads_as_far_as_its_own_files_say(reads_on: Space) -> None:
    embedder = DocumentEmbedder(reads_on)
    read = "quay " * 400
    assert embedder.query(read) != embedder.query(read + "barge " * 50)
    with pytest.raises(ModelError, match="cannot embed"):
        embedder.query("quay " * 700)  # further than the model itself goes


def test_passages_are_cut_by_the_models_own_tokens(embedder: Counting) -> None:
    text = "  However, the new ship (Victoria) is at pier 7!  " * 25
    tokenizer = Tokenizer.from_file(os.path.join(SPACE.folder, "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    whole = tokenizer.encode(text, add_special_tokens=False).ids
    passages = [tokenizer.encode(passage, add_special_tokens=False).ids for passage in embedder.passages(text)]
    assert len(whole) > 3 * 80
    assert passages[:3] == [whole[start : start + 110] for start in (0, 80, 160)]
    assert passages[-1] == whole[80 * (len(passages) - 1) :]
    assert embedder.passages(text)[0].startswith("However, the")
    assert embedder.passages(text)[-1].endswith("pier 7!")


def test_a_long_text_has_passages_and_is_read_as_before(embedder: Counting) -> None:
    assert [embedder.passages(text) for text in ("", " \n", "quay " * 110, "x" * 500_000, "\u200b" * 2_000)] == [[]] * 5
    before = embedder.query("quay " * 400)
    assert len(embedder.passages("quay " * 400)) == 5
    assert embedder.query("quay " * 400) == before
    for text in ("ropes " * 90_000, "\ud800 lone " * 300, "東京" * 300, "🎉 " * 5_000, "\u202e\u200b. " * 3_000):
        passages = embedder.passages(text)
        assert 2 <= len(passages) <= 48
        assert all(any(vector) for vector in embedder.embed(passages[-2:]))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(st.characters(), min_size=100))
def test_cutting_fails_for_no_text(embedder: Counting, text: str) -> None:
    readable = text.encode("utf-8", "replace").decode()
    assert all(passage in readable * 3 for passage in embedder.passages(text * 3))


def test_a_pulled_model_cuts_by_its_own_tokenizer_and_limit(tmp_path: Path) -> None:
    folder = shutil.copytree(SPACE.folder, tmp_path / "reads-little")
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 35, "pad_token": "[PAD]"}')
    words = (folder / "tokenizer.json").read_text(encoding="utf-8")
    (folder / "tokenizer.json").write_text(words.replace('"quay":', '"quayside":'), encoding="utf-8")
    embedder = DocumentEmbedder(Space("reads-little", SPACE.model, SPACE.dimension, str(folder)))
    assert embedder.passages("pier " * 33) == []
    assert [len(passage.split()) for passage in embedder.passages("pier " * 60)] == [33, 33, 12]
    assert len(embedder.passages("quay " * 33)) > 0  # two tokens here


def test_a_quantised_vector_keeps_its_direction_if_it_has_one() -> None:
    vector = np.random.default_rng(7).normal(size=384).astype(np.float32)
    whole = np.frombuffer(quantise(vector), np.int8).astype(float)
    assert vector @ whole / np.linalg.norm(vector) / np.linalg.norm(whole) > 0.9999
    for values in ([0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0], []):
        assert quantise(np.array(values, np.float32)) == bytes(len(values))


def test_a_model_that_can_not_be_loaded_is_one_line(tmp_path: Path) -> None:
    shutil.copytree(SPACE.folder, tmp_path / "model")
    os.truncate(tmp_path / "model" / "model.onnx", 1_000_000)
    with pytest.raises(ModelError, match="cannot be loaded from") as error:
        DocumentEmbedder(Space("other", SPACE.model, SPACE.dimension, str(tmp_path / "model")))
    assert "\n" not in str(error.value)
    assert "subcog models remove other" in error.value.hint
    with pytest.raises(ModelError, match="cannot be loaded from"):
        DocumentEmbedder(Space("other", SPACE.model, SPACE.dimension, str(tmp_path / "gone" / "model")))
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_embedding_opens_no_socket_and_writes_no_file(tmp_path: Path) -> None:
    code = (
        "from subcog_hooks.embed import neural_encoder, models\n"
        "embedder = neural_encoder.DocumentEmbedder(models.PACKAGED, 2)\n"
        "assert any(embedder.query('quay')) and len(list(embedder.embed(['pier', 'berth']))) == 2\n"
    )
    trace = tmp_path / "trace"
    done = subprocess.run(
        ["strace", "-f", "-qq", "-o", str(trace), "-e", "trace=%network,%file", sys.executable, "-B", "-c", code],
        cwd=Path(__file__).parents[2],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    if b"ptrace" in done.stderr.lower():
        pytest.skip("strace may not trace here")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    calls = [line for line in trace.read_text().splitlines() if "= -1 " not in line and "+++" not in line]
    assert [line for line in calls if "socket(" in line or "connect(" in line or "sendto(" in line] == []
    assert [line for line in calls if "O_WRONLY" in line or "O_RDWR" in line or "O_CREAT" in line or "mkdir(" in line] == []
    assert os.listdir(tmp_path) == ["trace"]


def letters(count: int) -> list[tuple[int, int]]:
    """Tokens of three letters, a blank between them."""
    return [(4 * number, 4 * number + 3) for number in range(count)]


def tokens_in(span: tuple[int, int]) -> range:
    return range(span[0] // 4, (span[1] + 1) // 4)


def test_windows_of_110_tokens_begin_every_80() -> None:
    assert list(map(tokens_in, passage_spans(letters(111)))) == [range(110), range(80, 111)]
    assert list(map(tokens_in, passage_spans(letters(190)))) == [range(110), range(80, 190)]
    assert list(map(tokens_in, passage_spans(letters(191)))) == [range(110), range(80, 190), range(160, 191)]


@given(st.integers(WINDOW + 1, passage_reach() + 500))
def test_every_token_is_in_a_passage_as_far_as_they_reach(count: int) -> None:
    passages = [tokens_in(span) for span in passage_spans(letters(count))]
    assert 2 <= len(passages) <= MAX_PASSAGES
    assert {token for passage in passages for token in passage} == set(range(min(count, passage_reach())))
    assert all(len(passage) == WINDOW for passage in passages[:-1])
    assert all(later.start - earlier.start == STEP for earlier, later in pairwise(passages))


@given(st.integers(3, WINDOW), st.integers(0, 9_000))
def test_narrower_windows_leave_nothing_between_them(window: int, count: int) -> None:
    passages = [tokens_in(span) for span in passage_spans(letters(count), window)]
    assert all(len(passage) <= window for passage in passages)
    assert len({token for passage in passages for token in passage}) == (
        min(count, passage_reach(window)) if count > window else 0
    )
