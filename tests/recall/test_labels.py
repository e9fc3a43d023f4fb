"""Tags and keywords that a query names: which ones, how rare, and the memories that carry them."""

import pytest

from subcog_hooks.recall import words
from subcog_hooks.recall.hits import LABELS
from subcog_hooks.store.store_reader import Filter, audiences_of
from tests.recall.shelf import Shelf, find, first, ids, memory

TAGS = tuple("rathole project python api bug-fix bug fix brown the quick error-handling point-of-sale".split())
KEYWORDS = ("gray rock", "OAuth2", "node.js", "front_end", "C++")


def test_a_text_names_the_labels_that_some_memory_carries(shelf: Shelf) -> None:
    shelf.add({}, memory("tagged", tags=TAGS), memory("keyed", keywords=KEYWORDS))
    cases = [
        ("rathole project", {"rathole", "project"}),
        ("the quick brown fox", {"quick", "brown"}),  # S2; nothing carries fox
        ("python,api,bug-fix", {"python", "api", "bug fix", "bug", "fix"}),  # S2: kept and split
        ("Is it a BUG?", {"bug"}),
        ("(rathole), project: python!", {"rathole", "project", "python"}),
        ("how the gray rock method works", {"gray rock"}),
        ("notes on error handling", {"error handling"}),
        ("a point of sale terminal", {"point of sale"}),
        ("the front end of it", {"front end"}),
        ("oauth2 in node.js", {"oauth2", "node.js"}),
        ("written in C++", {"c++"}),
        ("rocks that are gray", set()),
        ("nothing of the kind", set()),
        ("", set()),
    ]
    failures = [
        (text, actual)
        for text, named in cases
        if (actual := set(words.labels_named_in(text, shelf.index(), Filter()))) != named
    ]
    assert failures == []


def test_a_label_is_named_whatever_its_script_and_its_marks(shelf: Shelf) -> None:
    cases = [
        ("Café", "the café menu", "cafe"),
        ("cafe", "the café menu", "cafe"),
        ("Café", "the cafe menu", "cafe"),
        ("認証", "認証 の設定", "認証"),
        ("Straße", "die Straße", "straße"),
        ("area:backend", "who owns area:backend?", "area backend"),
        ("Area:Backend", "the area backend is slow", "area backend"),
        (".NET", "the .NET runtime", "net"),
        ("@scope/pkg", "bump @scope/pkg", "scope/pkg"),
    ]
    for number, (tag, text, named) in enumerate(cases):
        project = f"p{number}"
        shelf.add({}, memory("tagged", id=project, tags=(tag,), project=project))
        scope = Filter(audiences=audiences_of(project))
        assert list(words.labels_named_in(text, shelf.index(), scope)) == [named]
        hit = first(find(shelf.by_words(tags=0.1), text, scope=scope))
        assert (hit.memory.id, hit.ranks[LABELS], hit.labels) == (project, 1, (tag,))


def test_the_rare_labels_come_first_and_no_more_than_some(shelf: Shelf) -> None:
    names = [f"tag{chr(97 + i)}" for i in range(12)]
    shelf.add({}, *(memory(f"note {i}", tags=tuple(names[i:])) for i in range(len(names))))
    named = words.labels_named_in(" ".join(reversed(names)), shelf.index(), Filter())
    assert list(named) == names[:8]  # the later a tag in the list, the more memories carry it
    assert list(named.values()) == sorted(named.values(), reverse=True)
    assert all(0.0 <= rarity <= 1.0 for rarity in named.values())


def test_only_labels_of_the_scope_are_named(shelf: Shelf) -> None:
    rarer = [f"tag{chr(97 + i)}" for i in range(8)]
    shelf.add({}, memory("theirs", project="blog", tags=tuple(rarer)))
    shelf.add({}, *(memory(f"mine {i}", project="shop", tags=("rathole",)) for i in range(3)))
    index, text = shelf.index(), " ".join(["rathole", *rarer])
    assert list(words.labels_named_in(text, index, Filter(audiences=audiences_of("shop")))) == ["rathole"]
    assert set(words.labels_named_in(text, index, Filter(audiences=audiences_of("blog")))) == set(rarer)
    assert "rathole" not in words.labels_named_in(text, index, Filter())


def test_a_memory_is_found_by_a_tag_its_text_never_has(shelf: Shelf) -> None:
    shelf.fill()
    shelf.add({"cachekit": "Project architecture of the cache, and its codebase."})
    shelf.add({}, memory("Restart the tunnel by hand when it hangs.", id="tunnel", tags=("rathole",)))
    of = shelf.with_cosines({"cachekit": 0.8, "tunnel": 0.3}, tags=1.0)
    answer = find(of, "rathole project codebase architecture")
    hit = first(answer)
    assert (hit.memory.id, hit.ranks[LABELS], hit.labels) == ("tunnel", 1, ("rathole",))
    without = find(of, "rathole project codebase architecture", by_labels=False)
    assert ids(without) == ["cachekit", "tunnel"]
    assert LABELS in answer.strategies
    assert LABELS not in without.strategies


def test_among_the_memories_of_one_tag_those_that_fit_come_first(shelf: Shelf) -> None:
    shelf.add({}, *(memory(f"Berth {i} is free.", id=f"m{i:02}", tags=("harbour",)) for i in range(20)))
    shelf.add({}, memory("The crane needs oil.", id="crane", tags=("harbour",)))
    hits = find(shelf.by_words(tags=0.1), "harbour crane").hits
    assert [hit.memory.id for hit in hits if hit.ranks.get(LABELS) == 1] == ["crane"]


def test_the_words_of_a_memory_never_outweigh_a_label(shelf: Shelf) -> None:
    shelf.fill()
    shelf.add({}, memory("Quiet water.", id="both", tags=("harbour", "crane")))
    shelf.add({}, memory("The harbour crane lifts heavy boats at noon.", id="one", tags=("harbour",)))
    hits = find(shelf.by_words(tags=0.1), "harbour crane lifts heavy boats at noon").hits
    assert {hit.memory.id: hit.ranks[LABELS] for hit in hits if LABELS in hit.ranks} == {"both": 1, "one": 2}


def test_labels_are_looked_for_among_the_first_sixty_words(shelf: Shelf) -> None:
    shelf.add({}, memory("tagged", tags=("rathole",)))
    named = [list(words.labels_named_in("word " * before + "rathole", shelf.index(), Filter())) for before in (59, 60)]
    assert named == [["rathole"], []]


def test_labels_lift_the_five_memories_with_most_named_labels(shelf: Shelf) -> None:
    names = ("anchor", "buoy", "crane", "davit", "ebb", "ferry", "gale")
    shelf.add({}, *(memory("Quiet water.", id=f"m{i}", tags=names[:i]) for i in range(1, 8)))
    hits = find(shelf.by_words(tags=0.1), " ".join(names)).hits
    assert sorted(hit.memory.id for hit in hits if LABELS in hit.ranks) == ["m3", "m4", "m5", "m6", "m7"]


def test_memories_tied_with_the_last_are_listed_too(shelf: Shelf) -> None:
    shelf.add({}, *(memory("same words", id=f"m{i:02}", tags=("harbour",), created_at=i) for i in range(12)))
    hits = find(shelf.by_words(tags=0.1), "harbour", limit=20).hits
    assert [hit.ranks[LABELS] for hit in hits] == [1] * 12


def test_a_tag_that_only_another_project_has_changes_nothing(shelf: Shelf) -> None:
    shelf.fill()
    shelf.add({"mine": "The rathole tunnel listens on port 2333."}, project="shop")
    places, scope = {"mine": 0.9}, Filter(audiences=audiences_of("shop"))
    before = find(shelf.with_cosines(places, tags=0.1), "rathole tunnel port", scope=scope)
    shelf.add({}, memory("Quiet water.", project="blog", tags=("rathole",)))
    after = find(shelf.with_cosines(places, tags=0.1), "rathole tunnel port", scope=scope)
    assert (ids(before), before.strategies, before.confidence) == (ids(after), after.strategies, after.confidence)


def gain(shelf: Shelf, text: str, of: str) -> float:
    """The gain of a memory's score when labels count."""

    def score(tags: float) -> float:
        answer = find(shelf.with_cosines({of: 0.5}, tags=tags), text)
        return next(hit.score for hit in answer.hits if hit.memory.id == of)

    return score(0.2) - score(0.0)


def test_three_labels_in_one_query_count_half_as_much_again(shelf: Shelf) -> None:
    shelf.fill()
    shelf.add({}, memory("Quiet water.", id="water", tags=("harbour", "crane", "berth")))
    two, three = gain(shelf, "harbour crane", "water"), gain(shelf, "harbour crane berth", "water")
    assert three == pytest.approx(1.5 * two, rel=1e-3)


def test_a_tag_that_many_carry_is_worth_less_than_a_rare_one(shelf: Shelf) -> None:
    shelf.add({}, *(memory(f"Note {i}.", tags=("harbour",)) for i in range(60)))
    shelf.add({}, memory("Quiet water.", id="water", tags=("harbour", "crane")))
    assert 0.0 < gain(shelf, "quiet harbour", "water") < gain(shelf, "quiet crane", "water") / 2
