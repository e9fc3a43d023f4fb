"""Recall by words over a real store and a real index: the hits, and the words that match."""

import pytest

from subcog_hooks.recall import query
from subcog_hooks.recall.candidates import HYBRID, Sources
from subcog_hooks.recall.hits import LEXICAL, SEMANTIC
from subcog_hooks.store.store_reader import Filter, audiences_of
from subcog_hooks.text.vocabulary import STOP
from tests.recall.shelf import Shelf, find, ids, memory, recall_for

NOTES = {
    "pkce": "OAuth2 in the SPA uses PKCE; the implicit flow was dropped after the audit.",
    "clock": "The token refresh test is flaky below 2 s of clock skew.",
    "client": "HttpClient retries three times, then raises UpstreamTimeout (see src/net/http_client.py).",
    "e0308": "E0308 mismatched types in parse_args came from the builder returning Option.",
    "tokyo": "東京リージョンでは認証サーバーを二重化している。",
    "mixed": "キャッシュにはRedisを使う。",
    "cafe": "The café kiosk build runs on Raspberry Pi 4.",
    "dotted": "Berths are placed by Allocator.findBestFit in one pass.",
    "path": "Money is kept in cents in billing/models.py.",
}


@pytest.fixture
def notes(shelf: Shelf) -> Sources:
    shelf.add(NOTES)
    shelf.add({}, memory("Restart the tunnel by hand when it hangs.", id="tagged", tags=("rathole",)))
    shelf.fill()
    return shelf.by_words(tags=0.1)


def test_a_memory_is_found_by(notes: Sources) -> None:
    cases = [
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
        ("money was keeping", "path"),
        ("the client's retries", "client"),
        ("the client\u2019s retries", "client"),
        ("quantum chromodynamics", None),
    ]
    failures = [
        (text, expected, actual)
        for text, expected in cases
        if (actual := ids(find(notes, text))[:1]) != ([expected] if expected else [])
    ]
    assert failures == []


def test_a_query_of_function_words_alone_is_searched(notes: Sources) -> None:
    assert ids(find(notes, "below the"))[0] == "clock"


def test_filters_hold_for_what_words_labels_and_meaning_find(shelf: Shelf) -> None:
    text, tags = "zebra crossing", ("rathole",)
    shelf.add(
        {},
        memory(text, id="mine", project="shop", namespace="decisions", tags=tags),
        memory(text, id="user", tags=("blue", *tags)),
        memory(text, id="theirs", project="blog", paths=("src/*.py",), created_at=5_000, tags=tags),
        memory(text, id="old", status="superseded", tags=tags),
        memory(text, id="expired", expires_at=1, tags=tags),
    )
    scopes = [
        (Filter(audiences=audiences_of("shop")), {"mine", "user"}),
        (Filter(audiences=audiences_of()), {"user"}),
        (Filter(), {"mine", "user", "theirs"}),
        (Filter(statuses=("superseded",)), {"old"}),
        (Filter(statuses=(), include_expired=True), {"mine", "user", "theirs", "old", "expired"}),
        (Filter(namespaces=("decisions",)), {"mine"}),
        (Filter(tags=("Blue",)), {"user"}),
        (Filter(paths=("src/a.py",)), {"theirs"}),
        (Filter(since=5_000), {"theirs"}),
        (Filter(audiences=audiences_of("shop"), since=5_000), set()),
    ]
    by_words, by_meaning = shelf.by_words(tags=0.1), shelf.with_cosines({"mine": 0.8})
    searches = [
        (by_words, text, LEXICAL),
        (by_words, "rathole", LEXICAL),
        (by_meaning, text, HYBRID),
        (by_meaning, "quiet water", SEMANTIC),
    ]
    failures = [
        (asked, mode, scope, found)
        for of, asked, mode in searches
        for scope, expected in scopes
        if (found := set(ids(find(of, asked, scope=scope, mode=mode)))) != expected
    ]
    assert failures == []


def test_a_long_prompt_is_searched_by_its_rarest_known_terms(notes: Sources) -> None:
    text = " ".join(f"unheard{i}" for i in range(500)) + " PKCE " + " ".join(["widgets"] * 50)
    asked = query.analyse_query(text, notes.index)
    assert [term.whole for term in asked.terms[:2]] == ["pkce", "widgets"]
    assert len(asked.terms) == 2 + 24
    assert ids(recall_for(notes, text))[0] == "pkce"


def test_function_words_find_nothing_beside_an_unknown_term(notes: Sources) -> None:
    assert find(notes, "who won the world cup after the war").hits == []


def test_no_more_function_words_than_a_dozen_have_a_say(notes: Sources) -> None:
    asked = query.analyse_query("widgets " + " ".join(sorted(STOP)), notes.index)
    assert (len(asked.terms), len(asked.glue)) == (1, 12)


def test_parts_of_an_identifier_count_where_the_whole_is_absent(shelf: Shelf) -> None:
    shelf.add({"a": "The address was unknown.", "b": f"{'x ' * 30}filler"})
    of = shelf.by_words()
    plain, part = find(of, "unknown").hits[0], find(of, "unknown/suspicious").hits[0]
    assert part.scores["lexical_relaxed"] == plain.scores["lexical_relaxed"]


def test_a_whole_identifier_finds_its_memory_first(shelf: Shelf) -> None:
    shelf.add({"a": "The address was unknown.", "b": f"{'x ' * 30}filler", "whole": "unknown/suspicious"})
    of = shelf.by_words()
    (term,) = [term for term in query.analyse_query("unknown/suspicious", of.index).terms if term.is_identifier]
    assert term.is_whole_known
    assert ids(find(of, "unknown/suspicious"))[0] == "whole"
