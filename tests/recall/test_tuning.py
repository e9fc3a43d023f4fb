"""Every setting of the ranking changes the result of a search: weights, priors, alpha, recency."""

from math import exp
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.intent.keywords import Intent
from subcog_hooks.intent.query_type import CONCEPTUAL, ENTITY, EXACT_QUOTE, EXPLORATORY, FACTUAL
from subcog_hooks.recall import fusion, pipeline
from subcog_hooks.recall import search as recall_search
from subcog_hooks.recall.candidates import Request, Sources
from subcog_hooks.recall.exact import ExactMatches
from subcog_hooks.recall.fusion import DAY_MS, FAVOURED, FAVOURED_FACTOR, Tuning, namespace_prior, recency_factor
from subcog_hooks.recall.hits import PATTERN, STATE, Eligibility, combined_relevance
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import TYPE_SHARES
from subcog_hooks.settings.keys import KEYS
from subcog_hooks.store import index_writer
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter, audiences_of
from tests.conftest import Maker
from tests.recall.shelf import ENOUGH, Shelf, memory

OF_RANKING = [
    name for name in KEYS if name.startswith(("fusion.", "recency.", "diversity.")) or name == "search.min_similarity"
]
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
    "diversity.mmr": ("0.5", {}),
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


@pytest.mark.parametrize("kind", QUERIES)
def test_the_share_of_a_type_changes_nothing_for_another(mixed_shelf: Shelf, kind: str) -> None:
    for other in QUERIES.keys() - {kind}:
        changed = {"fusion.alpha": '"adaptive"', f"fusion.{other}": "0.95"}
        assert answer(mixed_shelf, changed, QUERIES[kind]) == answer(mixed_shelf, {"fusion.alpha": '"adaptive"'}, QUERIES[kind])


def test_what_is_set_by_itself_counts_more_than_a_preset(mixed_shelf: Shelf) -> None:
    by_words = answer(mixed_shelf, {"fusion.alpha": "0.0"})
    assert answer(mixed_shelf, {"fusion.preset": '"vector-only"', "fusion.alpha": "0.0"}) == by_words
    assert answer(mixed_shelf, {"fusion.preset": '"lexical-only"'}) == by_words


def test_weights_in_the_environment_set_the_share_of_meaning(mixed_shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    by_setting = answer(mixed_shelf, {"fusion.alpha": "0.2"})
    monkeypatch.setenv("SUBCOG_SEMANTIC_WEIGHT", "0.2")
    monkeypatch.setenv("SUBCOG_KEYWORD_WEIGHT", "0.8")
    assert answer(mixed_shelf, {}) == by_setting


@pytest.mark.usefixtures("usual_settings")
def test_who_has_set_nothing_has_the_defaults(home: Home) -> None:
    by_settings, by_default = fusion.tuning_from_settings(loading.load(home)), fusion.Tuning()
    assert vars(by_settings) == vars(by_default)


@pytest.mark.parametrize("intent", ["howto", "explanation", "comparison"])
def test_of_equal_memories_the_suiting_namespace_comes_first(home: Home, store: Store, make: Maker, intent: str) -> None:
    text = "The queue is drained by one worker per partition"
    store.add([make(f"{text}, noted.", id="b", namespace="patterns"), make(f"{text}, noted.", id="a", namespace="config")])
    index = index_writer.bring_up_to_date(home, store)

    def order(factor: float, asked: str) -> list[str]:
        of = Sources(index, store, tuning=Tuning(prior=factor))
        hits = pipeline.recall_for_prompt(
            "how is the queue drained", of, Eligibility(audiences_of(), now_ms()), Deadline(10_000)
        ).hits
        pipeline.weigh_for_prompt(hits, Intent(asked, 0.8), 1, of.tuning)
        return [hit.memory.id for hit in pipeline.sort_by_relevance(hits)]

    assert order(FAVOURED_FACTOR, intent) == ["b", "a"]
    assert order(1.0, intent) == order(FAVOURED_FACTOR, "none") == order(FAVOURED_FACTOR, "general") == ["a", "b"]


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.sampled_from(sorted(FAVOURED)), st.floats(1.0, 1.9))
def test_it_never_overcomes_twice_the_relevance(relevance: float, other: float, intent: str, factor: float) -> None:
    lifted = combined_relevance(relevance, namespace_prior(FAVOURED[intent][0], intent, factor))
    assert relevance - 1e-4 <= lifted <= 1.0
    if other >= 2 * relevance:
        assert lifted <= combined_relevance(other, namespace_prior("elsewhere", intent, factor)) + 1e-4


SMALL, LARGE = 500, 5_000  # S2's
OF_S1 = {EXACT_QUOTE: 0.1, ENTITY: 0.4, CONCEPTUAL: 0.8, FACTUAL: 0.5, EXPLORATORY: 0.7}


def test_the_share_is_the_mean_of_what_type_and_corpus_ask_for(subtests: pytest.Subtests) -> None:
    unknown = None, SMALL, LARGE
    cases = [
        *((FACTUAL, 0.5, (corpus, SMALL, LARGE), 0.5) for corpus in (0, 499)),
        *((FACTUAL, 0.5, (corpus, SMALL, LARGE), 0.7) for corpus in (500, 4_999)),
        *((FACTUAL, 0.5, (corpus, SMALL, LARGE), 0.8) for corpus in (5_000, 1_000_000)),
        *((FACTUAL, 0.5, (100, *bounds), 0.8) for bounds in ((50, 90), (0, 0))),
        (FACTUAL, 0.5, (100, 50, LARGE), 0.7),
        (FACTUAL, 0.5, (100, 101, 101), 0.5),
        *((kind, share, unknown, 0.5) for kind, share in OF_S1.items()),
    ]
    for kind, share, corpus, of_corpus in cases:
        with subtests.test(kind=kind, corpus=corpus):
            assert fusion.adaptive_alpha(kind, share, *corpus)[0] == pytest.approx((share + of_corpus) / 2)


def test_every_type_asks_for_what_s1_says() -> None:
    assert set(TYPE_SHARES) == set(OF_S1)
    assert {kind: KEYS[f"fusion.{kind}"].default for kind in OF_S1} == OF_S1


@given(
    *(st.sampled_from([*OF_S1]), st.floats(0.0, 1.0), st.none() | st.integers(0, 10_000_000)),
    *(st.integers(0, 10_000), st.integers(0, 100_000)),
)
def test_a_share_lies_within_s2s_bounds(query_type: str, share: float, corpus: int | None, small: int, large: int) -> None:
    assert 0.1 <= fusion.adaptive_alpha(query_type, share, corpus, small, large)[0] <= 0.9


def test_the_reason_names_both() -> None:
    assert fusion.adaptive_alpha(ENTITY, 0.4, 800, SMALL, LARGE)[1] == "entity asks for 0.4, a corpus of 800 for 0.7"
    assert "unknown size" in fusion.adaptive_alpha(ENTITY, 0.4, None, SMALL, LARGE)[1]


times = st.integers(0, 40_000 * DAY_MS)
decays = st.floats(0.0, 1.0)
floors = st.floats(0.0, 1.0)


def test_seventy_days_halve_what_the_floor_leaves_free() -> None:
    assert recency_factor(0, 70 * DAY_MS, 0.01, 0.0) == pytest.approx(0.5, abs=0.01)
    assert recency_factor(0, 70 * DAY_MS, 0.01, 0.7) == pytest.approx(0.7 + 0.3 * exp(-0.7))


@given(times, times, decays, floors)
def test_each_whole_day_fades_what_the_floor_leaves_free(created_at: int, now: int, decay: float, floor: float) -> None:
    days = max(0, (now - created_at) // DAY_MS)
    assert recency_factor(created_at, now, decay, floor) == pytest.approx(floor + (1.0 - floor) * exp(-decay * days))
    assert recency_factor(created_at, now, 0.0, floor) == recency_factor(now + 1, now, decay, floor) == 1.0


def test_a_factor_stays_the_same_all_day_long() -> None:
    morning, evening, next_day = (recency_factor(0, now, 0.01, 0.5) for now in (9 * DAY_MS, 10 * DAY_MS - 1, 10 * DAY_MS))
    assert morning == evening != next_day
