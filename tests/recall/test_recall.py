"""Recall over a real store and a real index: what is found, in which order, how sure."""

import pytest

from subcog_hooks.memory import sync
from subcog_hooks.memory.index import LexicalIndex
from subcog_hooks.memory.store import Filter, Store, audiences_of
from subcog_hooks.paths import Home
from subcog_hooks.recall import lexical, pipeline, query, relevance
from subcog_hooks.recall.candidates import Sources
from subcog_hooks.recall.hits import Answer, Hit
from subcog_hooks.recall.words import STOP
from tests.conftest import Maker

NOTES = {
    "pkce": "OAuth2 in the SPA uses PKCE; the implicit flow was dropped after the audit.",
    "clock": "The token refresh test is flaky below 2 s of clock skew.",
    "client": "HttpClient retries three times, then raises UpstreamTimeout (see src/net/http_client.py).",
    "e0308": "E0308 mismatched types in parse_args came from the builder returning Option.",
    "tokyo": "東京リージョンでは認証サーバーを二重化している。",
    "mixed": "キャッシュにはRedisを使う。",
    "cafe": "The café kiosk build runs on Raspberry Pi 4.",
    "tagged": "Restart the tunnel by hand when it hangs.",
    "dotted": "Berths are placed by Allocator.findBestFit in one pass.",
    "path": "Money is kept in cents in billing/models.py.",
}


@pytest.fixture
def index(home: Home, store: Store, make: Maker) -> LexicalIndex:
    store.add([make(text, id=name, tags=("rathole",) if name == "tagged" else ()) for name, text in NOTES.items()])
    store.add([make(f"Filler note number {i} about widgets and gadgets.") for i in range(40)])
    return sync.catch_up(home, store)


def first(text: str, index: LexicalIndex, store: Store) -> str | None:
    hits = searched(text, index, store)
    return hits[0].memory.id if hits else None


def searched(
    text: str, index: LexicalIndex, store: Store, wanted: Filter | None = None, limit: int = 5, offset: int = 0
) -> list[Hit]:
    """A page of what words alone find."""
    return pipeline.search(text, Sources(index, store), wanted or Filter(), limit, offset).hits


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("oauth", "pkce"),
        ("http client", "client"),
        ("httpclient", "client"),
        ("http_client.py", "client"),
        ("src/net/http_client.py", "client"),
        ("E0308", "e0308"),
        ("parse_args", "e0308"),
        ("parseArgs", "e0308"),
        ("認証", "tokyo"),
        ("京", "tokyo"),
        ("サーバ", "tokyo"),
        ("redis", "mixed"),
        ("Redisの設定", "mixed"),
        ("cafe", "cafe"),
        ("CAFÉ kiosks", "cafe"),
        ("flakiest tests of tokens", "clock"),
        ("rathole", "tagged"),
        ("models.py", "path"),
        ("findBestFit", "dotted"),
        ("Allocator.findBestFit", "dotted"),
        ("quantum chromodynamics", None),
    ],
)
def test_a_memory_is_found_by(text: str, found: str | None, index: LexicalIndex, store: Store) -> None:
    assert first(text, index, store) == found


def test_a_query_of_function_words_alone_is_searched_for_all_the_same(index: LexicalIndex, store: Store) -> None:
    assert first("below the", index, store) == "clock"


def test_pages_do_not_overlap_and_together_hold_everything(index: LexicalIndex, store: Store) -> None:
    pages = [searched("filler note", index, store, limit=7, offset=offset) for offset in range(0, 49, 7)]
    ids = [hit.memory.id for page in pages for hit in page]
    assert len(ids) == len(set(ids)) == 40
    assert sorted(hit.ranks["lexical"] for page in pages for hit in page) == list(range(1, 41))


def test_equal_scores_are_ordered_by_newest_then_id_whatever_was_stored_first(home: Home, store: Store, make: Maker) -> None:
    store.add([make("same words", id="b"), make("same words", id="a"), make("same words", id="new", created_at=9_000)])
    index = sync.catch_up(home, store)
    assert [hit.memory.id for hit in searched("same words", index, store)] == ["new", "a", "b"]


def test_ties_across_the_cut_are_fetched(home: Home, store: Store, make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "DEPTH", 2)
    store.add([make("same words", id=f"m{i}", created_at=i + 1) for i in range(30)])
    index = sync.catch_up(home, store)
    assert searched("same words", index, store, limit=1)[0].memory.id == "m29"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Filter(audiences=audiences_of("shop")), {"mine", "user"}),
        (Filter(audiences=audiences_of()), {"user"}),
        (Filter(), {"mine", "user", "theirs"}),
        (Filter(statuses=("superseded",)), {"old"}),
        (Filter(statuses=(), include_expired=True), {"mine", "user", "theirs", "old", "expired"}),
        (Filter(namespaces=("decisions",)), {"mine"}),
        (Filter(tags=("Blue",)), {"user"}),
        (Filter(paths=("src/a.py",)), {"theirs"}),
        (Filter(since=5_000), {"theirs"}),
    ],
)
def test_filters_hold_in_search(home: Home, store: Store, make: Maker, wanted: Filter, found: set[str]) -> None:
    word = "zebra crossing"
    store.add(
        [
            make(word, id="mine", project="shop", namespace="decisions"),
            make(word, id="user", tags=("blue",)),
            make(word, id="theirs", project="blog", paths=("src/*.py",), created_at=5_000),
            make(word, id="old", status="superseded"),
            make(word, id="expired", expires_at=1),
        ]
    )
    index = sync.catch_up(home, store)
    assert {hit.memory.id for hit in searched(word, index, store, wanted, 9)} == found


def test_a_prompt_finds_its_own_project_behind_a_crowd_of_others(home: Home, store: Store, make: Maker) -> None:
    store.add([make("zebra crossing lights", project=f"other{i}") for i in range(200)])
    store.add([make("zebra crossing lights at the long road by the river", id="mine", project="shop")])
    store.add([make("zebra crossing", id="gone", project="shop", expires_at=1)])
    index = sync.catch_up(home, store)
    hits = pipeline.for_prompt("zebra crossing lights", Sources(index, store), audiences_of("shop")).hits
    assert [hit.memory.id for hit in hits] == ["mine"]


def test_relevance_rises_with_what_is_covered(index: LexicalIndex, store: Store) -> None:
    def of(text: str, id_: str) -> float:
        asked = query.analyse(text, index)
        return relevance.by_words(relevance.evidence(asked, store.get(id_), index.analysers), 1.0)

    whole = of("does the SPA use OAuth2 with PKCE or the implicit flow", "pkce")
    half = of("does the SPA render charts with OAuth2 labels on dashboards", "pkce")
    assert whole > half > of("Raspberry Pi kiosk", "pkce")


def test_relevance_rises_with_the_lead_over_the_next_hit() -> None:
    found = relevance.Evidence(3.0, 4.0)
    leads = [relevance.lead(5.0, others) for others in ([10.0], [5.0], [], [4.0], [1.0])]
    probabilities = [relevance.by_words(found, lead) for lead in leads]
    assert leads == [0.5, 1.0, 1.5, 1.25, 2.0]
    assert sorted(probabilities) == [probabilities[i] for i in (0, 1, 3, 2, 4)]


def test_everyday_words_are_no_evidence(index: LexicalIndex, store: Store) -> None:
    hits = pipeline.for_prompt("please make the build run and fix the test", Sources(index, store), audiences_of()).hits
    assert all(hit.relevance < 0.25 for hit in hits)


def test_a_long_prompt_is_searched_by_its_rarest_known_terms(index: LexicalIndex) -> None:
    text = " ".join(f"unheard{i}" for i in range(500)) + " PKCE " + " ".join(["widgets"] * 50)
    asked = query.analyse(text, index)
    assert [term.whole for term in asked.terms[:2]] == ["pkce", "widgets"]
    assert len(asked.terms) <= 2 * query.MAX_TERMS


def test_function_words_decide_between_memories_that_have_the_same_terms(
    home: Home, store: Store, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add([make("Middleware is how requests do work.", id="how"), make("Middleware takes requests to work.", id="takes")])
    store.add([make(f"Note {i} about widgets.") for i in range(10)])
    index = sync.catch_up(home, store)
    usual = {hit.memory.id: hit.score for hit in searched("how do requests work", index, store)}
    assert usual["how"] > usual["takes"]
    monkeypatch.setattr(lexical, "GLUE_BOOST", 3.0)
    assert searched("how do requests work", index, store)[1].score < usual["takes"]


def test_function_words_alone_find_nothing_beside_a_term_that_no_memory_has(index: LexicalIndex, store: Store) -> None:
    assert searched("who won the world cup after the war", index, store) == []


def test_no_more_function_words_than_a_dozen_have_a_say(index: LexicalIndex) -> None:
    asked = query.analyse("widgets " + " ".join(sorted(STOP)), index)
    assert (len(asked.terms), len(asked.glue)) == (1, query.MAX_GLUE)


@pytest.mark.parametrize("text", ["the client's retries", "the client\u2019s retries"])
def test_a_possessive_is_found_by_the_word(index: LexicalIndex, text: str) -> None:
    assert "client" in {term.whole for term in query.analyse(text, index).terms}


def test_the_parts_of_an_identifier_count_in_full_where_no_memory_has_the_whole(home: Home, store: Store, make: Maker) -> None:
    store.add([make("The address was unknown.", id="a"), make(f"{'x ' * 30}filler")])
    index = sync.catch_up(home, store)
    (plain,) = searched("unknown", index, store)
    (part,) = searched("unknown/suspicious", index, store)
    assert part.score == plain.score
    store.add([make("unknown/suspicious", id="whole")])
    index = sync.catch_up(home, store)
    (term,) = [term for term in query.analyse("unknown/suspicious", index).terms if term.is_identifier]
    assert term.is_whole_known
    assert searched("unknown/suspicious", index, store)[0].memory.id == "whole"


def test_a_margin_is_measured_against_no_less_than_the_usual_cosine() -> None:
    assert relevance.margin(0.6, []) == relevance.margin(0.6, [0.1]) == pytest.approx(0.6 - relevance.USUAL_COSINE)
    assert relevance.margin(0.6, [0.5]) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("ranks", "relevance_", "note", "label"),
    [
        ({"lexical": 1, "semantic": 2}, 0.6, None, "very_high"),
        ({"lexical": 1, "semantic": 2}, 0.1, None, "high"),
        ({"lexical": 1, "semantic": 2}, 0.6, "found by words alone", "medium"),
        ({"lexical": 1, "semantic": 11}, 0.1, None, "low"),
        ({"lexical": 1}, 0.6, None, "medium"),
        ({"semantic": 1}, 0.1, None, "low"),
    ],
)
def test_a_label_says_who_agrees_and_how_relevant_it_is(
    make: Maker, ranks: dict[str, int], relevance_: float, note: str | None, label: str
) -> None:
    hit = Hit(make("text"), 1.0, relevance_, ranks, {})
    assert Answer([hit], ("lexical", "semantic"), note).confidence(hit) == label
