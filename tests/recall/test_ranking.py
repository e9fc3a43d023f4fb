"""From candidates to an order: each preset gives another one, the share of meaning and its reason, scores to some digits."""

import pytest

from subcog_hooks.recall import fusion, pipeline
from subcog_hooks.recall.exact import ExactMatches
from subcog_hooks.recall.fusion import DAY_MS
from subcog_hooks.recall.hits import LABELS, PATTERN, SEMANTIC, STATE
from subcog_hooks.settings.defaults import PRESETS
from subcog_hooks.store.memory import now_ms
from tests.recall.shelf import Shelf, candidates_for, find, ids, memory, tuning_of

TEXTS = {
    "words": "lamp relay winch",  # all that is asked for, and far in meaning
    "meaning": "beacon switch drum",  # no word of it, and nearest in meaning
    "both": "lamp beacon switch",  # a third of the words, and second in meaning
}
PLACES = {"words": 0.0, "meaning": 0.7, "both": 0.5}
TEXT = "lamp relay winch 2024"  # factual: adaptive asks for .5


MORE = " ".join(f"word{i}" for i in range(60))


def preset(name: str) -> dict[str, object]:
    return {key.removeprefix("fusion."): value for key, value in PRESETS[name].items()}


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("fixed-70-30", ["meaning", "both", "words"]),
        ("adaptive", ["words", "both", "meaning"]),
        ("rrf", ["both", "meaning", "words"]),
        ("vector-only", ["meaning", "both"]),
        ("lexical-only", ["words", "both"]),
    ],
)
def test_each_preset_gives_an_order_of_its_own(shelf: Shelf, name: str, order: list[str]) -> None:
    shelf.add(TEXTS)
    shelf.fill()
    assert ids(find(shelf.with_cosines(PLACES, **preset(name)), TEXT)) == order


def test_an_adaptive_share_moves_with_the_type_of_the_query(shelf: Shelf) -> None:
    shelf.add(TEXTS)
    of = shelf.with_cosines(PLACES, alpha="adaptive")
    texts = ('"lamp relay"', "ask Melanie about the lamp", "lamp 2024", "lamp relay", "how does the lamp work")
    shares = [pipeline.choose_alpha(candidates_for(of, text), of.tuning, lambda: 3)[0] for text in texts]
    assert shares == sorted(shares)
    assert len(set(shares)) == len(shares)


def test_the_corpus_is_counted_only_when_the_share_hangs_on_it(shelf: Shelf) -> None:
    shelf.add(TEXTS)
    of = shelf.with_cosines(PLACES)
    candidates = candidates_for(of, TEXT)
    assert pipeline.choose_alpha(candidates, tuning_of(alpha=0.6), lambda: pytest.fail("counted")) == (0.6, "fusion.alpha")
    assert "unknown size" in pipeline.choose_alpha(candidates, tuning_of(alpha="adaptive"), lambda: None)[1]


def test_a_reciprocal_rank_score_is_the_sum_of_its_lists(shelf: Shelf) -> None:
    shelf.add({name: text for name, text in TEXTS.items() if name != "both"})
    shelf.add({}, memory(TEXTS["both"], id="both", tags=("relay",)))
    of = shelf.with_cosines(PLACES, mode="rrf", alpha=0.7, rrf_k=60, tags=0.1)
    candidates = candidates_for(of, "lamp relay")
    seq = shelf.store.get("both").seq
    scores = pipeline.fused_scores(candidates, of.tuning, 0.7)
    by_words = fusion.ranks_by_row(sorted(((score, seq) for seq, score in candidates.words.items()), reverse=True))
    in_labels = 0.5 * 0.3 * candidates.named["relay"] / (60 + candidates.lists[LABELS][seq])
    assert scores[seq] == pytest.approx(0.7 / (60 + candidates.lists[SEMANTIC][seq]) + 0.3 / (60 + by_words[seq]) + in_labels)


@pytest.mark.parametrize("mode", ["weighted", "rrf"])
def test_without_a_weight_labels_change_no_score(shelf: Shelf, mode: str) -> None:
    shelf.add({}, memory("lamp relay", id="tagged", tags=("relay",)))
    of = shelf.with_cosines({"tagged": 0.5}, mode=mode, tags=0.0)
    with_labels, without = (find(of, "lamp relay", by_labels=by_labels).hits[0] for by_labels in (True, False))
    assert (LABELS in with_labels.ranks, LABELS in without.ranks) == (True, False)
    assert with_labels.score == without.score


@pytest.mark.parametrize(("mode", "pattern", "state"), [("weighted", 0.3, 0.3), ("rrf", 0.8, 1.0)])
def test_triggers_and_conditions_add_their_weight_by_rank(shelf: Shelf, mode: str, pattern: float, state: float) -> None:
    shelf.add(TEXTS)
    shelf.add({"rule": "harbour", "also": "quay"})
    of = shelf.with_cosines(PLACES, mode=mode, rrf_k=60)
    by_id = shelf.store.by_ids(["words", "rule", "also"])
    exact = ExactMatches({PATTERN: [by_id["words"], by_id["rule"]], STATE: [by_id["also"], by_id["rule"]]})
    before = pipeline.fused_scores(candidates_for(of, TEXT), of.tuning, 0.6)
    after = pipeline.fused_scores(candidates_for(of, TEXT, exact=exact), of.tuning, 0.6)
    added = {name: after[row.seq] - before.get(row.seq, 0.0) for name, row in by_id.items()}
    first, second = (1.0, 0.5) if mode == "weighted" else (1 / 61, 1 / 62)
    assert added == pytest.approx(
        {"words": pattern * first, "rule": (pattern + state) * second, "also": state * first}, abs=1e-9
    )


def test_equal_word_scores_have_equal_ranks_in_rrf(shelf: Shelf) -> None:
    shelf.add({"a": "crane turns", "b": "crane turns", "c": "crane turns"})
    hits = find(shelf.by_words(mode="rrf"), "crane").hits
    assert {hit.score for hit in hits} == {round(1 / 61, 9)}


@pytest.mark.parametrize("k", [1, 60, 1_000])
def test_a_score_has_the_digits_that_tell_reciprocal_ranks_apart(k: int) -> None:
    ranks = {seq: seq for seq in range(1, 101)}
    fused = fusion.reciprocal_ranks([(0.5, ranks)], k)
    scores = [pipeline.apply_recency(fused[seq], 1_000, now_ms(), tuning_of())[0] for seq in ranks]
    assert scores == sorted(set(scores), reverse=True)


def test_a_score_is_multiplied_by_the_factor_of_its_age() -> None:
    now = now_ms()
    old = now - 70 * DAY_MS
    score, factor = pipeline.apply_recency(0.5, old, now, tuning_of(decay=0.01, floor=0.0))
    assert factor == pytest.approx(0.5, abs=0.01)
    assert score == pytest.approx(0.5 * factor, abs=1e-6)
    assert pipeline.apply_recency(0.5, old, now, tuning_of(decay=0.0)) == (0.5, 1.0)


# ---- relevance ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("beginning", "numbers", "order"),
    [
        (MORE, {}, ["meaning", "words", "both"]),
        ("", {}, ["words", "meaning", "both"]),
        (MORE, {"mode": "weighted"}, ["words", "meaning", "both"]),
        (MORE, {"alpha": 0.6}, ["words", "meaning", "both"]),
        (MORE, {"mmr": 0.99}, ["words", "meaning", "both"]),
    ],
    ids=["long", "short", "weighted", "alpha", "mmr"],
)
def test_relevance_orders_long_memories(shelf: Shelf, beginning: str, numbers: dict[str, object], order: list[str]) -> None:
    shelf.add({name: f"{beginning} {text} {name}" for name, text in TEXTS.items()})
    shelf.fill()
    answer = find(shelf.with_cosines(PLACES | {"words": 0.5 if beginning else 0.3}, **{"alpha": 0.7, **numbers}), TEXT)
    assert ids(answer) == order
    by_relevance = sorted(answer.hits, key=lambda hit: -hit.relevance)
    assert ids(by_relevance) == ["meaning", "words", "both"]
    assert (answer.alpha_reason or "").endswith("; by relevance") is (order == ids(by_relevance))


def test_a_changed_share_of_meaning_counts_at_once(shelf: Shelf) -> None:
    tuning = shelf.with_cosines({}).tuning
    tuning.alpha = 0.7
    assert tuning.by_relevance
    tuning.alpha = 0.4
    assert not tuning.by_relevance


def test_pages_by_relevance_are_parts_of_one_order(shelf: Shelf) -> None:
    texts = {f"m{i}": f"{'lamp' if i % 2 else 'relay'} {i % 7} {MORE} {'winch ' * (i % 5)}" for i in range(60)}
    shelf.add(texts | {f"copy{i}": f"# Title {i}\n\n{texts[f'm{i}']}" for i in range(0, 60, 4)})
    shelf.fill()
    sources = shelf.with_cosines({name: 0.3 + int(name[1:]) % 40 / 100 for name in texts}, alpha=0.7, near_duplicate=0.95)
    whole = ids(find(sources, "lamp relay winch", 60))
    for size in (7, 15, 25):
        pages = [ids(find(sources, "lamp relay winch", size, offset)) for offset in range(0, 60, size)]
        assert [name for page in pages for name in page][:60] == whole


def test_an_identifiers_sibling_is_no_longer_among_the_first(shelf: Shelf) -> None:
    shelf.add({f"m{i}": f"INC-421{i % 3} payment gateway timeout {MORE} {i}" for i in range(9)})
    shelf.fill()
    cosines = {f"m{i}": 0.4 + 0.01 * i + 0.1 * (i % 3) for i in range(9)}
    hits = find(shelf.with_cosines(cosines, alpha=0.7), "payment gateway timeout INC-4210").hits
    assert {hit.memory.id for hit in hits[:3]} == {"m0", "m3", "m6"}
    assert [hit.relevance for hit in hits] == sorted((hit.relevance for hit in hits), reverse=True)
