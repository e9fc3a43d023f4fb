"""Search results: their order, the effect of each number of the tuning, and the answer's description."""

import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.recall import pipeline
from subcog_hooks.recall import search as recall_search
from subcog_hooks.recall.candidates import MODES, Candidates, Request, Sources, gather_candidates
from subcog_hooks.recall.fusion import DAY_MS
from subcog_hooks.recall.hits import LEXICAL, SEMANTIC
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.store_reader import Filter, audiences_of
from tests.recall.shelf import Held, Shelf, candidates_for, find, first, ids, memory


@pytest.mark.parametrize("mode", MODES)
def test_equal_scores_are_ordered_by_newest_then_id(shelf: Shelf, mode: str) -> None:
    text = "same words"
    shelf.add({}, *(memory(text, id=f"m{i}", created_at=i) for i in range(6)), memory(text, id="l9", created_at=5))
    for depth in (2, 100):
        of = shelf.with_cosines({"m0": 0.8}, lexical_depth=depth, semantic_depth=depth)
        assert ids(find(of, text, limit=3, mode=mode)) == ["l9", "m5", "m4"]


def test_the_share_of_meaning_changes_the_order(shelf: Shelf) -> None:
    shelf.add({"said": "the crane turns", "meant": "a hoist moves", "both": "the crane of old"})
    places = {"said": 0.3, "meant": 0.9, "both": 0.5}
    orders = {alpha: ids(find(shelf.with_cosines(places, alpha=alpha), "crane turns")) for alpha in (0.1, 0.5, 0.9)}
    assert orders[0.1][0] == "said"
    assert orders[0.9][0] == "meant"
    assert set(orders[0.1]) == set(orders[0.5]) == set(orders[0.9])


# ---- each number of the tuning --------------------------------------------------------------------------------------------


def test_age_changes_the_order_and_the_hit_says_by_how_much(shelf: Shelf) -> None:
    now = now_ms()
    shelf.add({"old": "crane turns"}, created_at=now - 400 * DAY_MS)
    shelf.add({"new": "crane stands"}, created_at=now)
    places = {"old": 0.9, "new": 0.8}
    still = find(shelf.with_cosines(places, decay=0.0), "crane")
    assert (ids(still), {hit.recency for hit in still.hits}) == (["old", "new"], {1.0})
    faded = find(shelf.with_cosines(places, decay=0.01, floor=0.5), "crane")
    assert ids(faded) == ["new", "old"]
    assert [hit.recency for hit in faded.hits] == pytest.approx([1.0, 0.5], abs=0.01)
    assert ids(find(shelf.with_cosines(places, decay=0.01, floor=0.95), "crane")) == ["old", "new"]


def test_agreement_changes_the_order(shelf: Shelf) -> None:
    shelf.add({"alone": "a hoist moves", "agreed": "the crane and the quay and the berth"})
    places = {"alone": 0.9, "agreed": 0.3}
    text = "crane"
    apart = find(shelf.with_cosines(places, alpha=0.68, agreement=0.0), text)
    raised = find(shelf.with_cosines(places, alpha=0.68, agreement=1.0), text)
    assert (ids(apart), ids(raised)) == (["alone", "agreed"], ["agreed", "alone"])
    assert {hit.memory.id: hit.agreement for hit in raised.hits} == {"alone": 0.5, "agreed": 1.0}
    assert raised.hits[0].score == pytest.approx(2.0 * apart.hits[1].score, rel=1e-4)


def test_likeness_changes_the_order_when_that_is_set(shelf: Shelf) -> None:
    shelf.add({"a": "crane on berth one", "b": "crane on berth two", "c": "the crane was painted in spring"})
    places = {"a": 0.9, "b": 0.85, "c": 0.8}
    assert ids(find(shelf.with_cosines(places, mmr=1.0), "crane")) == ["a", "b", "c"]
    assert ids(find(shelf.with_cosines(places, mmr=0.6), "crane")) == ["a", "c", "b"]


def test_near_duplicates_are_left_out_and_the_better_one_stays(shelf: Shelf) -> None:
    shelf.add({"worse": "Crane, turns!"}, created_at=1_000)
    shelf.add({"better": "crane turns"}, created_at=2_000)
    shelf.add({"other": "crane turns 30 degrees"})
    places = {"worse": 0.8, "better": 0.9, "other": 0.7}
    assert ids(find(shelf.with_cosines(places, near_duplicate=0.95), "crane turns")) == ["better", "other"]
    assert ids(find(shelf.with_cosines(places, near_duplicate=1.0), "crane turns")) == ["better", "worse", "other"]
    # of the seven words and pairs of the two, three are shared
    assert ids(find(shelf.with_cosines(places, near_duplicate=0.4), "crane turns")) == ["better"]


def test_the_places_of_near_duplicates_are_filled(shelf: Shelf) -> None:
    shelf.add({f"copy{i}": "crane turns" for i in range(30)}, created_at=9_000)
    shelf.add({f"m{i}": f"crane turns {i} degrees" for i in range(5)})
    of = shelf.with_cosines({"copy0": 0.9}, near_duplicate=0.95, lexical_depth=4, semantic_depth=4)
    assert ids(find(of, "crane turns", limit=4)) == ["copy0", "m0", "m1", "m2"]


def test_expired_memories_do_not_take_the_places_of_others(shelf: Shelf) -> None:
    shelf.add({f"gone{i:02}": "crane turns" for i in range(30)}, expires_at=1)
    shelf.add({"live": "the crane turns left and right all day"})
    of = shelf.with_cosines({"gone00": 0.9, "live": 0.5}, lexical_depth=4, semantic_depth=4)
    assert ids(find(of, "crane turns", limit=1)) == ["live"]
    assert len(ids(find(of, "crane turns", limit=50, scope=Filter(include_expired=True)))) == 31


def test_a_memory_that_left_the_scope_is_hidden_at_once(shelf: Shelf) -> None:
    fields: dict[str, object] = {"project": "shop", "namespace": "decisions", "tags": ("crane", "harbour"), "paths": ("src/*",)}
    changes: list[tuple[dict[str, object], Filter]] = [
        ({"project": "blog"}, Filter(audiences=audiences_of("shop"))),
        ({"namespace": "patterns"}, Filter(namespaces=("decisions",))),
        ({"tags": ("harbour",)}, Filter(tags=("Crane", "harbour"))),
        ({"paths": ("docs/*",)}, Filter(paths=("src/a.py",))),
        ({"status": "archived"}, Filter()),
        ({"status": "deleted"}, Filter(statuses=())),
        ({"expires_at": 1}, Filter()),
    ]
    shelf.add({f"m{number}": "crane turns" for number in range(len(changes))}, **fields)
    of = shelf.with_cosines({"m0": 0.9})
    for number, (changed, scope) in enumerate(changes):
        assert f"m{number}" in ids(find(of, "crane", scope=scope))
        shelf.store.update([shelf.store.get(f"m{number}").with_changes(**changed)])
        assert of.index.watermark() < shelf.store.revision()
        assert f"m{number}" not in ids(find(of, "crane", scope=scope))


def test_include_expired_shows_an_expired_memory_of_a_path(shelf: Shelf) -> None:
    shelf.add({"gone": "crane turns"}, project="shop", paths=("src/*",), expires_at=1)
    of = shelf.by_words()
    assert ids(find(of, "crane", scope=Filter(paths=("src/a.py",), include_expired=True))) == ["gone"]
    assert ids(find(of, "crane", scope=Filter(paths=("src/a.py",)))) == []


def test_results_stay_when_no_time_is_left_for_longer_lists(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf.add({f"m{i:02}": "crane " * (12 - i) + "turns in the wind" for i in range(12)})
    of = shelf.with_cosines({"m00": 0.9, "m01": 0.8}, lexical_depth=4, semantic_depth=4)
    late = Held()

    def slow(request: Request, sources: Sources, deadline: Deadline, deeper: int = 1) -> Candidates:
        late.has_passed = deeper > 1
        return gather_candidates(request, sources, deadline, deeper)

    monkeypatch.setattr(recall_search, "gather_candidates", slow)
    candidates = candidates_for(of, "crane")
    answer = find(of, "crane", limit=10, deadline=late)
    assert {hit.memory.seq for hit in answer.hits} == set(candidates)
    assert (first(answer).memory.id, SEMANTIC in first(answer).found_by) == ("m00", True)
    assert (answer.is_degraded, answer.strategies) == (True, (LEXICAL, SEMANTIC))
    assert f"{SEMANTIC}: no time was left for it" in (answer.note or "")


# ---- what the answer says of itself ---------------------------------------------------------------------------------------


def test_the_share_of_meaning_and_its_reason_are_said(shelf: Shelf) -> None:
    shelf.fill(20)
    shelf.add({"a": "crane"}, namespace="decisions")
    text = "how does the crane turn"
    fixed, adaptive = (shelf.with_cosines({"a": 0.5}, alpha=alpha, small=10, large=100) for alpha in (0.6, "adaptive"))
    cases = [
        (find(fixed, text), 0.6, "fusion.alpha"),
        (find(fixed, text, mode=LEXICAL), 0.0, "words alone ran"),
        (find(fixed, text, mode=SEMANTIC), 1.0, "meaning alone ran"),
        (find(adaptive, text), 0.75, "conceptual asks for 0.8, a corpus of 21 for 0.7"),
        (find(adaptive, text, scope=Filter(namespaces=("decisions",))), 0.65, "conceptual asks for 0.8, a corpus of 1 for 0.5"),
    ]
    for answer, alpha, reason in cases:
        assert (answer.query_type, answer.alpha_reason) == ("conceptual", reason)
        assert answer.alpha == pytest.approx(alpha)


def test_what_was_taken_for_misspelt_is_said_and_found(shelf: Shelf) -> None:
    shelf.add({"a": "The kubernetes scheduler."})
    of = shelf.by_words()
    typed = find(of, "kuberntes", is_typed=True)
    assert (ids(typed), typed.corrections) == (["a"], {"kuberntes": "kubernetes"})
    prompt = find(of, "kuberntes", is_typed=False)
    assert (ids(prompt), prompt.corrections) == ([], {})


# ---- without repeats: for the hook ----------------------------------------------------------------------------------------


def test_the_hooks_repeats_go_and_like_hits_move_apart(shelf: Shelf) -> None:
    shelf.add({"a": "crane on berth one", "b": "crane on berth two", "c": "the crane was painted in spring"})
    shelf.add({"copy": "Crane on berth one!"})
    of = shelf.with_cosines({"a": 0.9, "copy": 0.88, "b": 0.85, "c": 0.8}, near_duplicate=1.0)
    hits = find(of, "crane").hits
    for hit, relevance in zip(hits, (0.9, 0.85, 0.8, 0.7), strict=True):
        hit.probability = relevance
    assert ids(pipeline.remove_repeats(hits, of.tuning)) == ["a", "copy", "b", "c"]
    of.tuning.near_duplicate = 0.95
    assert ids(pipeline.remove_repeats(hits, of.tuning)) == ["a", "b", "c"]
    of.tuning.mmr = 0.6
    assert ids(pipeline.remove_repeats(hits, of.tuning)) == ["a", "c", "b"]


# ---- what the answer says of its scores and its pages ----------------------------------------------------------------------


def test_a_score_of_longer_lists_is_told_by_those_lists(shelf: Shelf) -> None:
    shelf.add({}, *(memory(f"crane turns {i}", id=f"m{i}", created_at=i, tags=("crane",)) for i in range(9)))
    of = shelf.with_cosines(
        {"m0": 0.8, "m8": 0.3}, lexical_depth=2, semantic_depth=2, agreement=0.2, tags=0.1, decay=0.01, floor=0.5
    )
    request = Request("crane turns", Filter(audiences=audiences_of()), is_explained=True)
    pages = [recall_search.search_page(request, of, Deadline(60_000.0), 3, offset) for offset in (0, 3, 6)]
    assert [(page.total, page.has_more, len(page.hits)) for page in pages] == [(9, True, 3), (9, True, 3), (9, False, 3)]
    for hit in (hit for page in pages for hit in page.hits):
        total = sum(hit.contributions.values()) * hit.agreement_factor * hit.recency
        assert hit.score == pytest.approx(total, abs=1e-9)


def test_counting_the_results_changes_nothing_else_of_the_answer(shelf: Shelf) -> None:
    shelf.add({}, *(memory(f"crane turns {i}", id=f"m{i}", created_at=i) for i in range(9)))
    of = shelf.with_cosines({"m0": 0.8, "m8": 0.3}, lexical_depth=2, semantic_depth=2, agreement=0.2)
    for limit in (1, 2, 3, 8, 9, 20):
        plain, counted = (
            recall_search.search_page(
                Request("crane turns", Filter(audiences=audiences_of()), is_explained=counts), of, Deadline(60_000.0), limit
            )
            for counts in (False, True)
        )
        assert [(hit.memory.id, hit.score, hit.relevance, hit.ranks, hit.scores) for hit in plain.hits] == [
            (hit.memory.id, hit.score, hit.relevance, hit.ranks, hit.scores) for hit in counted.hits
        ]
        assert (counted.total, counted.has_more) == (9, limit < 9)
