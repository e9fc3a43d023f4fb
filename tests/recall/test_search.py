"""Recall by words over a real store and a real index: the hits, and the words that match."""

import time

import pytest

from subcog_hooks.cli.results import confidence_of
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import ModelError
from subcog_hooks.recall import query
from subcog_hooks.recall import search as recall_search
from subcog_hooks.recall.candidates import HYBRID, Request, Sources
from subcog_hooks.recall.hits import LEXICAL, LOW, MEDIUM, NO_RESULTS, SEMANTIC, SPECULATIVE, VERY_HIGH, Answer
from subcog_hooks.recall.vectors import SearchSpace
from subcog_hooks.store.store_reader import Filter, audiences_of
from tests.recall.shelf import ENOUGH, Shelf, find, ids, memory, recall_for

BY_WORDS = {
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
    shelf.add(BY_WORDS)
    shelf.add({}, memory("Restart the tunnel by hand when it hangs.", id="tagged", tags=("rathole",)))
    return shelf.fill().by_words(tags=0.1)


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


def test_names_and_operators_with_signs_are_words(shelf: Shelf) -> None:
    shelf.add(
        {
            "star": "The pathfinder uses A* with a Manhattan heuristic.",
            "plus": "The renderer is written in `C++`.",
            "sharp": "C#'s tools build on Windows only.",
            "net": "The service runs on .NET 8.",
            "walrus": "Write n := len(a) inside a while condition only.",
            "c": "The parser is written in C by a script, *Plan A*.",
        }
    )
    asked = {
        "A*": "star",
        "a*": "star",
        "C++": "plus",
        "c++": "plus",
        "C#": "sharp",
        "csharp": "sharp",
        ".NET": "net",
        ":=": "walrus",
    }
    notes = shelf.by_words()
    assert {text: ids(find(notes, text)) for text in (*asked, "C")} == {
        **{text: [id_] for text, id_ in asked.items()},
        "C": ["c"],
    }


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


NOTES = {
    "config": "The scheduler is configured in settings.toml.",
    "data": "Databases are backed up at night.",
    "cat": "The office cat sleeps on the warm server rack.",
}


def search(
    of: Sources,
    text: str,
    limit: int = 10,
    offset: int = 0,
    *,
    mode: str = HYBRID,
    scope: Filter | None = None,
    deadline: Deadline = ENOUGH,
) -> Answer:
    return recall_search.search_memories(
        Request(text, scope or Filter(), mode=mode, correct=recall_search.correct_words), of, deadline, limit, offset
    )


@pytest.fixture
def words(shelf: Shelf) -> Sources:
    shelf.add(NOTES)
    return shelf.by_words()


def test_what_matches_as_it_stands_is_not_widened(words: Sources) -> None:
    answer = search(words, "scheduler settings")
    assert (ids(answer), answer.note, answer.suggestions) == (["config"], None, ())
    assert answer.stage == VERY_HIGH


def test_words_that_begin_alike_are_found_and_labelled_low(words: Sources) -> None:
    answer = search(words, "schedulist")
    assert (ids(answer), confidence_of(answer), answer.suggestions) == (["config"], LOW, ())
    assert answer.hits[0].found_by == ("lexical_beginnings",)
    assert "these come near" in (answer.note or "")


def test_pieces_of_words_are_speculative_with_suggestions(shelf: Shelf) -> None:
    shelf.add(NOTES, memory("Quiet water.", tags=("backup",)))
    answer = search(shelf.by_words(), "tabase")
    assert (ids(answer), confidence_of(answer)) == (["data"], SPECULATIVE)
    assert answer.hits[0].found_by == ("lexical_pieces",)
    assert "pieces of words" in (answer.note or "")
    assert answer.suggestions == ["backup"]


def test_where_nothing_is_like_it_there_are_suggestions(words: Sources) -> None:
    answer = search(words, "schexyzqwv")
    assert (ids(answer), confidence_of(answer)) == ([], NO_RESULTS)
    assert "scheduler" in answer.suggestions


@pytest.mark.parametrize(("cosine", "stage"), [(0.45, VERY_HIGH), (0.3, LOW), (0.22, SPECULATIVE), (0.18, None)])
def test_meaning_may_be_farther_stage_by_stage(shelf: Shelf, cosine: float, stage: str | None) -> None:
    shelf.add(NOTES)
    answer = search(shelf.with_cosines({"cat": cosine}, min_similarity=0.4), "zzkitten qqnap")
    if stage is None:  # farther than every stage allows
        assert confidence_of(answer) == NO_RESULTS
    else:
        assert (ids(answer), answer.stage) == (["cat"], stage)


def test_mode_and_type_of_a_query_hold_at_every_stage(shelf: Shelf) -> None:
    shelf.add(NOTES)
    of = shelf.with_cosines({"cat": 0.3}, min_similarity=0.4)
    assert ids(search(of, "schedulist", mode=LEXICAL)) == ["config"]
    assert ids(search(of, "schedulist", mode=SEMANTIC)) == ["cat"]
    assert set(ids(search(of, "schedulist"))) == {"config", "cat"}
    texts = ("scheduler", "schedulist", "tabase", "schexyzqwv")
    assert {search(shelf.by_words(), text).query_type for text in texts} == {"exploratory"}


def test_the_scope_holds_at_every_stage(shelf: Shelf) -> None:
    shelf.add(NOTES, project="blog")
    shelf.add({"own": "Nothing to see here."}, project="shop")
    of, scope = shelf.by_words(), Filter(audiences=audiences_of("shop"))
    assert [ids(search(of, text, scope=scope)) for text in ("scheduler", "schedulist", "tabase")] == [[], [], []]


def test_a_prompt_that_nothing_answers_is_answered_by_silence(words: Sources) -> None:
    assert [ids(recall_for(words, text)) for text in ("schedulist", "tabase", "schexyzqwv")] == [[], [], []]


def test_a_failure_is_said_at_every_stage(shelf: Shelf) -> None:
    def fail(_: str) -> bytes:
        raise ModelError("query-encoder.bin is damaged", "reinstall subcog")

    shelf.add(NOTES)
    of = shelf.with_cosines({"cat": 0.9})
    assert of.space
    of.space = SearchSpace(of.space.vectors, fail)
    answers = [search(of, text) for text in ("scheduler", "schedulist", "tabase", "schexyzqwv")]
    assert all(answer.is_degraded for answer in answers)
    assert all((answer.note or "").startswith("semantic: query-encoder.bin is damaged") for answer in answers)


def test_a_stage_that_had_no_time_is_not_one_that_found_nothing(words: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    whole = recall_search.search_page

    def slow(request: Request, of: Sources, deadline: Deadline, limit: int, offset: int = 0) -> Answer:
        answer = whole(request, of, deadline, limit, offset)
        clock[0] += 10.0
        return answer

    monkeypatch.setattr(recall_search, "search_page", slow)
    answer = search(words, "schedulist", deadline=Deadline(300.0))
    assert (answer.hits, answer.is_degraded) == ([], True)
    assert "lexical_beginnings: no time was left for it" in (answer.note or "")


def test_without_time_words_answer_and_no_stage_is_wider(words: Sources) -> None:
    answer = search(words, "scheduler", deadline=Deadline(0.0))
    assert (ids(answer), answer.is_degraded, confidence_of(answer)) == (["config"], True, MEDIUM)
    assert "no time was left" in (answer.note or "")
    for text in ("schedulist", "schexyzqwv"):
        answer = search(words, text, deadline=Deadline(0.0))
        assert (answer.hits, answer.suggestions, answer.is_degraded, confidence_of(answer)) == ([], (), True, NO_RESULTS)


@pytest.mark.parametrize(("text", "confidence"), [("schedulist", LOW), ("hedule", SPECULATIVE)])
def test_the_pages_of_a_widened_answer_are_widened_alike(shelf: Shelf, text: str, confidence: str) -> None:
    shelf.add({f"m{i:02}": f"The scheduler ran {i} times." for i in range(11)})
    of = shelf.by_words()
    pages = [search(of, text, 4, offset) for offset in (0, 4, 8)]
    assert {confidence_of(page) for page in pages} == {confidence}
    assert [name for page in pages for name in ids(page)] == ids(search(of, text, 20))
