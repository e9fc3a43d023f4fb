"""Search results: their order, the effect of each number of the tuning, and the answer's description."""

from math import exp
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.intent.query_type import CONCEPTUAL, ENTITY, EXACT_QUOTE, EXPLORATORY, FACTUAL
from subcog_hooks.recall import fusion, pipeline
from subcog_hooks.recall import search as recall_search
from subcog_hooks.recall.candidates import MODES, Candidates, Request, Sources, gather_candidates
from subcog_hooks.recall.exact import ExactMatches
from subcog_hooks.recall.fusion import DAY_MS, FAVOURED, namespace_prior, recency_factor
from subcog_hooks.recall.hits import LABELS, LEXICAL, PATTERN, SEMANTIC, STATE, combined_relevance
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import PRESETS, TYPE_SHARES
from subcog_hooks.settings.sources import KEYS
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.store_reader import Filter, audiences_of
from tests.recall.shelf import ENOUGH, Held, Shelf, candidates_for, find, first, ids, memory


@pytest.mark.parametrize("mode", MODES)
def test_equal_scores_are_ordered_by_newest_then_id(shelf: Shelf, mode: str) -> None:
    text = "same words"
    shelf.add({}, *(memory(text, id=f"m{i}", created_at=i) for i in range(6)), memory(text, id="l9", created_at=5))
    for depth in (2, 100):
        of = shelf.with_cosines({"m0": 0.8}, lexical_depth=depth, semantic_depth=depth)
        assert ids(find(of, text, limit=3, mode=mode)) == ["l9", "m5", "m4"]


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


def test_near_duplicates_are_left_out_and_the_better_one_stays(shelf: Shelf) -> None:
    shelf.add({"worse": "Crane, turns!"}, created_at=1_000)
    shelf.add({"better": "crane turns"}, created_at=2_000)
    shelf.add({"other": "crane turns 30 degrees"})
    places = {"worse": 0.8, "better": 0.9, "other": 0.7}
    assert ids(find(shelf.with_cosines(places, near_duplicate=0.95), "crane turns")) == ["better", "other"]
    assert ids(find(shelf.with_cosines(places, near_duplicate=1.0), "crane turns")) == ["better", "worse", "other"]
    # of the seven words and pairs of the two, three are shared
    assert ids(find(shelf.with_cosines(places, near_duplicate=0.4), "crane turns")) == ["better"]


def test_near_copies_take_two_of_five_places(shelf: Shelf) -> None:
    deploys = [
        "Deploys go out from main on Tuesdays",
        "We deploy from main on Tuesdays",
        "Deploys go out on Tuesdays, from main",
    ]
    ports = [f"Deploys listen on port {port}" for port in (80, 81, 82)]
    shelf.add({f"copy{i}": text for i, text in enumerate(deploys)} | {f"port{i}": text for i, text in enumerate(ports)})
    shelf.add({"crane": "The crane deploys its arm."})
    cosines = {f"copy{i}": 0.9 for i in range(3)} | {f"port{i}": 0.6 for i in range(3)} | {"crane": 0.5}
    found = ids(find(shelf.with_cosines(cosines), "deploys from main"))
    assert [id_[:4] for id_ in found] == ["copy", "copy", "port", "port", "port", "copy", "cran"]
    assert ids(find(shelf.with_cosines(cosines), "deploys from main", limit=3, offset=3)) == found[3:6]


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
        assert of.index.watermark < shelf.store.revision()
        assert f"m{number}" not in ids(find(of, "crane", scope=scope))


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


def test_the_hooks_repeats_go(shelf: Shelf) -> None:
    shelf.add({"a": "crane on berth one", "b": "crane on berth two", "c": "the crane was painted in spring"})
    shelf.add({"copy": "Crane on berth one!"})
    of = shelf.with_cosines({"a": 0.9, "copy": 0.88, "b": 0.85, "c": 0.8}, near_duplicate=1.0)
    relevances = {"a": 0.9, "copy": 0.85, "b": 0.8, "c": 0.7}
    hits = sorted(find(of, "crane").hits, key=lambda hit: -relevances[hit.memory.id])
    for hit in hits:
        hit.probability = relevances[hit.memory.id]
    assert ids(pipeline.remove_repeats(hits, of.tuning)) == ["a", "copy", "b", "c"]
    of.tuning.near_duplicate = 0.95
    assert ids(pipeline.remove_repeats(hits, of.tuning)) == ["a", "b", "c"]


def test_a_score_of_longer_lists_is_told_by_those_lists(shelf: Shelf) -> None:
    shelf.add({}, *(memory(f"crane turns {i}", id=f"m{i}", created_at=i, tags=("crane",)) for i in range(9)))
    of = shelf.with_cosines(
        {"m0": 0.8, "m8": 0.3}, lexical_depth=2, semantic_depth=2, agreement=0.2, tags=0.1, decay=0.01, floor=0.5
    )
    request = Request("crane turns", Filter(audiences=audiences_of()), is_explained=True)
    pages = [recall_search.search_page(request, of, Deadline(60_000.0), 3, offset) for offset in (0, 3, 6)]
    assert [(len(page.cosines_alone), page.end, len(page.hits)) for page in pages] == [(9, 3, 3), (9, 6, 3), (9, 9, 3)]
    for hit in (hit for page in pages for hit in page.hits):
        total = sum(hit.contributions.values()) * hit.agreement_factor * hit.recency
        assert hit.score == pytest.approx(total, abs=1e-9)


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
    assert ids(find(shelf.fill().with_cosines(PLACES, **preset(name)), TEXT)) == order


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


@pytest.mark.parametrize(
    ("beginning", "numbers", "order"),
    [
        (MORE, {}, ["meaning", "words", "both"]),
        ("", {}, ["words", "meaning", "both"]),
        (MORE, {"mode": "weighted"}, ["words", "meaning", "both"]),
        (MORE, {"alpha": 0.6}, ["words", "meaning", "both"]),
    ],
    ids=["long", "short", "weighted", "alpha"],
)
def test_relevance_orders_long_memories(shelf: Shelf, beginning: str, numbers: dict[str, object], order: list[str]) -> None:
    shelf.add({name: f"{beginning} {text} {name}" for name, text in TEXTS.items()})
    answer = find(shelf.fill().with_cosines(PLACES | {"words": 0.5 if beginning else 0.3}, **{"alpha": 0.7, **numbers}), TEXT)
    assert ids(answer) == order
    by_relevance = sorted(answer.hits, key=lambda hit: -hit.relevance)
    assert ids(by_relevance) == ["meaning", "words", "both"]
    assert (answer.alpha_reason or "").endswith("; by relevance") is (order == ids(by_relevance))


def test_an_identifiers_sibling_is_no_longer_among_the_first(shelf: Shelf) -> None:
    shelf.add({f"m{i}": f"INC-421{i % 3} payment gateway timeout {MORE} {i}" for i in range(9)})
    shelf.fill()
    cosines = {f"m{i}": 0.4 + 0.01 * i + 0.1 * (i % 3) for i in range(9)}
    hits = find(shelf.with_cosines(cosines, alpha=0.7), "payment gateway timeout INC-4210").hits
    assert {hit.memory.id for hit in hits[:3]} == {"m0", "m3", "m6"}
    assert [hit.relevance for hit in hits] == sorted((hit.relevance for hit in hits), reverse=True)


OF_RANKING = [name for name in KEYS if name.startswith(("fusion.", "recency.")) or name == "search.min_similarity"]


CHANGES = {  # key: a value that is not its default, and what else has to be set for it to count
    "fusion.preset": ('"rrf"', {}),
    "fusion.mode": ('"rrf"', {}),
    "fusion.alpha": ("0.2", {}),
    "fusion.small": ("1", {"fusion.alpha": '"adaptive"'}),
    "fusion.large": ("2", {"fusion.alpha": '"adaptive"', "fusion.small": "1"}),
    "fusion.rrf_k": ("5", {"fusion.mode": '"rrf"'}),
    "fusion.tags": ("0.9", {}),
    **{f"fusion.{kind}": ("0.95", {"fusion.alpha": '"adaptive"'}) for kind in TYPE_SHARES},
    "fusion.pattern": ("4.0", {}),
    "fusion.state": ("0.5", {}),
    "recency.decay": ("0.5", {}),
    "recency.floor": ("0.1", {"recency.decay": "0.5"}),
    "search.min_similarity": ("0.55", {}),
}


QUERIES = {  # one of each type
    "exact_quote": '"crane on berth"',
    "entity": "crane_one",
    "conceptual": "how does the crane work",
    "factual": "crane 2024",
    "exploratory": "crane",
}


@pytest.fixture
def mixed_shelf(shelf: Shelf) -> Shelf:
    """Like texts, a tag that the query names, an old memory, one that only meaning finds."""
    now = now_ms()
    shelf.add({"one": "crane on berth one", "two": "crane on berth two", "far": "a hoist moves"}, created_at=now)
    shelf.add({"old": "crane of the harbour, painted in spring"}, created_at=now - 300 * DAY_MS)
    shelf.add({}, memory("quiet water", id="tagged", tags=("crane",), created_at=now))
    return shelf


def answer(shelf: Shelf, settings: dict[str, str], query: str = "crane") -> list[tuple[str, float]]:
    """The hits with their scores under these settings in config.toml. A trigger and a condition hold."""
    shelf.home.create()
    sections: dict[str, list[str]] = {}
    for name, value in settings.items():
        section, _, key = name.partition(".")
        sections.setdefault(section, []).append(f"{key} = {value}")
    text = "\n".join("\n".join((f"[{section}]", *lines)) for section, lines in sections.items())
    Path(shelf.home.config).write_text(text)
    read = loading.load(shelf.home)
    assert read.problems == ()
    of = shelf.with_cosines({"one": 0.8, "two": 0.78, "old": 0.7, "far": 0.5, "tagged": 0.3})
    of.tuning = fusion.tuning_from_settings(read)
    by_id = shelf.store.by_ids(["one", "far"])
    exact = ExactMatches({PATTERN: [by_id["far"]], STATE: [by_id["one"]]})
    answer = recall_search.search_page(Request(query, Filter(), further=exact.lists()), of, ENOUGH, 10)
    return [(hit.memory.id, hit.score) for hit in answer.hits]


@pytest.mark.usefixtures("usual_settings")
def test_each_ranking_setting_changes_hits_or_scores(mixed_shelf: Shelf, subtests: pytest.Subtests) -> None:
    for name in OF_RANKING:
        with subtests.test(name=name):
            value, beside = CHANGES[name]
            query = QUERIES.get(name.removeprefix("fusion."), "crane")
            assert answer(mixed_shelf, {**beside, name: value}, query) != answer(mixed_shelf, beside, query)


@pytest.mark.usefixtures("usual_settings")
def test_who_has_set_nothing_has_the_defaults(home: Home) -> None:
    by_settings, by_default = fusion.tuning_from_settings(loading.load(home)), fusion.Tuning()
    assert vars(by_settings) == vars(by_default)


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.sampled_from(sorted(FAVOURED)))
def test_it_never_overcomes_twice_the_relevance(relevance: float, other: float, intent: str) -> None:
    lifted = combined_relevance(relevance, namespace_prior(FAVOURED[intent][0], intent))
    assert relevance - 1e-4 <= lifted <= 1.0
    if other >= 2 * relevance:
        assert lifted <= combined_relevance(other, namespace_prior("elsewhere", intent)) + 1e-4


SMALL, LARGE = 500, 5_000  # S2's


OF_S1 = {EXACT_QUOTE: 0.1, ENTITY: 0.4, CONCEPTUAL: 0.8, FACTUAL: 0.5, EXPLORATORY: 0.7}


def test_the_share_is_the_mean_of_what_type_and_corpus_ask_for(subtests: pytest.Subtests) -> None:
    cases = [
        *((FACTUAL, 0.5, (corpus, SMALL, LARGE), 0.5) for corpus in (0, 499)),
        *((FACTUAL, 0.5, (corpus, SMALL, LARGE), 0.7) for corpus in (500, 4_999)),
        *((FACTUAL, 0.5, (corpus, SMALL, LARGE), 0.8) for corpus in (5_000, 1_000_000)),
        *((FACTUAL, 0.5, (100, *bounds), 0.8) for bounds in ((50, 90), (0, 0))),
        (FACTUAL, 0.5, (100, 50, LARGE), 0.7),
        (FACTUAL, 0.5, (100, 101, 101), 0.5),
        *((kind, share, (0, SMALL, LARGE), 0.5) for kind, share in OF_S1.items()),
    ]
    for kind, share, corpus, of_corpus in cases:
        with subtests.test(kind=kind, corpus=corpus):
            assert fusion.adaptive_alpha(kind, share, *corpus)[0] == pytest.approx((share + of_corpus) / 2)


def test_every_type_asks_for_what_s1_says() -> None:
    assert set(TYPE_SHARES) == set(OF_S1)
    assert {kind: KEYS[f"fusion.{kind}"].default for kind in OF_S1} == OF_S1


@given(
    *(st.sampled_from([*OF_S1]), st.floats(0.0, 1.0), st.integers(0, 10_000_000)),
    *(st.integers(0, 10_000), st.integers(0, 100_000)),
)
def test_a_share_lies_within_s2s_bounds(query_type: str, share: float, corpus: int, small: int, large: int) -> None:
    assert 0.1 <= fusion.adaptive_alpha(query_type, share, corpus, small, large)[0] <= 0.9


times = st.integers(0, 40_000 * DAY_MS)


decays = st.floats(0.0, 1.0)


floors = st.floats(0.0, 1.0)


@given(times, times, decays, floors)
def test_each_whole_day_fades_what_the_floor_leaves_free(created_at: int, now: int, decay: float, floor: float) -> None:
    days = max(0, (now - created_at) // DAY_MS)
    assert recency_factor(created_at, now, decay, floor) == pytest.approx(floor + (1.0 - floor) * exp(-decay * days))
    assert recency_factor(created_at, now, 0.0, floor) == recency_factor(now + 1, now, decay, floor) == 1.0
