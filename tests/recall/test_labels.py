"""Tags and keywords that a query names: which ones, how rare, and the memories that carry them."""

import pytest

from subcog_hooks.recall import search as recall_search
from subcog_hooks.recall import words
from subcog_hooks.recall.candidates import Request, Sources
from subcog_hooks.recall.exact import ExactMatches
from subcog_hooks.recall.fusion import DAY_MS
from subcog_hooks.recall.hits import IDENTIFIER, LABELS, PATTERN, Hit
from subcog_hooks.recall.logit import SIBLING
from subcog_hooks.store.memory import AnsweredQuestion, now_ms
from subcog_hooks.store.store_reader import Filter, audiences_of
from tests.recall.shelf import ENOUGH, Shelf, find, first, memory, recall_for

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
        ("written in C++", {"cpp"}),
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
    assert LABELS in answer.strategies


def test_the_words_of_a_memory_never_outweigh_a_label(shelf: Shelf) -> None:
    shelf.fill()
    shelf.add({}, memory("Quiet water.", id="both", tags=("harbour", "crane")))
    shelf.add({}, memory("The harbour crane lifts heavy boats at noon.", id="one", tags=("harbour",)))
    hits = find(shelf.by_words(tags=0.1), "harbour crane lifts heavy boats at noon").hits
    assert {hit.memory.id: hit.ranks[LABELS] for hit in hits if LABELS in hit.ranks} == {"both": 1, "one": 2}


def test_labels_lift_the_five_memories_with_most_named_labels(shelf: Shelf) -> None:
    names = ("anchor", "buoy", "crane", "davit", "ebb", "ferry", "gale")
    shelf.add({}, *(memory("Quiet water.", id=f"m{i}", tags=names[:i]) for i in range(1, 8)))
    hits = find(shelf.by_words(tags=0.1), " ".join(names)).hits
    assert sorted(hit.memory.id for hit in hits if LABELS in hit.ranks) == ["m3", "m4", "m5", "m6", "m7"]


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


PAIRS = {
    "ros1": "The ROS1 workspace is built with catkin_make and sourced before anything is launched",
    "ros2": "The ROS2 workspace is built with colcon and sourced before anything is launched",
    "inc1": "INC-4211: the queue filled up because the consumer was stopped during the migration",
    "inc2": "INC-4212: the queue filled up because the retry limit was unbounded",
    "py2": "Scripts of the Python2 toolchain run under pyenv until the billing export is ported",
    "py3": "Scripts of the Python3 toolchain run under uv with the lock file",
}
NEAR = "The session token of the web client lives in the cookie of the browser, shelf {number}"
RARE = "QXF_TIMEOUT_MS must stay above 4000, else the scanner at the gate gives up"
LONG = "Where does the web client keep the session token, in which cookie of the browser, and is QXF_TIMEOUT_MS involved?"


@pytest.fixture
def pairs(shelf: Shelf) -> Sources:
    shelf.add(PAIRS)
    return shelf.fill().by_meaning_too()


def hits_for(sources: Sources, prompt: str, *parts: str, exact: ExactMatches | None = None) -> dict[str, Hit]:
    return {hit.memory.id: hit for hit in recall_for(sources, prompt, parts=parts, exact=exact).hits}


def is_lowered(hit: Hit) -> bool:
    return any(name == SIBLING for name, _, _ in hit.terms)


@pytest.mark.parametrize(
    ("prompt", "asked", "sibling"),
    [
        ("How do we build the ROS2 workspace?", "ros2", "ros1"),
        ("How do we build the ros1 workspace?", "ros1", "ros2"),
        ("What was the cause of INC-4211 with the queue?", "inc1", "inc2"),
        ("Which interpreter runs the scripts of the Python2 toolchain?", "py2", "py3"),
    ],
)
def test_a_sibling_is_something_else(pairs: Sources, prompt: str, asked: str, sibling: str) -> None:
    hits = hits_for(pairs, prompt)
    assert not is_lowered(hits[asked])
    assert is_lowered(hits[sibling])
    assert hits[sibling].relevance < 0.15
    assert hits[asked].relevance > 0.5


def test_an_unknown_identifier_or_a_comparison_lowers_none(pairs: Sources) -> None:
    hits = hits_for(pairs, "How is the ROS3 workspace built?")
    assert not any(map(is_lowered, hits.values()))
    assert hits["ros2"].relevance > 0.5
    hits = hits_for(pairs, "Is the workspace of ROS1 or of ROS2 built with colcon?")
    assert not is_lowered(hits["ros1"])
    assert not is_lowered(hits["ros2"])


def test_a_part_of_the_prompt_does_not_bring_the_sibling_back(pairs: Sources) -> None:
    part = "How is the workspace built and sourced?"
    hits = hits_for(pairs, f"I am on the ROS2 branch today. {part}", part)
    assert is_lowered(hits["ros1"])


def test_what_has_the_identifier_somewhere_is_no_sibling(shelf: Shelf) -> None:
    text = "The controller manager of ROS1 is gone"
    asked = AnsweredQuestion("what replaces the controller manager in ROS2")
    shelf.add(
        {
            "other": "ROS2 is installed on the lab machines",
            "part": "ros2_control replaces the controller manager of ROS1",
            "behind": f"{text}. " + "It was replaced by another one. " * 200 + "That is ROS2.",
            "sibling": text,
        },
        memory(text, id="question", questions=(asked,)),
    )
    hits = hits_for(shelf.fill().by_meaning_too(), "What replaces the controller manager in ROS2?")
    assert {name for name, hit in hits.items() if is_lowered(hit)} == {"sibling"}


def test_numbers_and_versions_have_no_siblings(shelf: Shelf) -> None:
    shelf.add({"old": "The runner has 3.11 of the interpreter, 40 workers", "new": "The runner has 3.12 of it, 20 workers"})
    hits = hits_for(shelf.fill().by_meaning_too(), "Does the runner have 3.12 of the interpreter and 20 workers?")
    assert {"old", "new"} <= hits.keys()
    assert not any(map(is_lowered, hits.values()))


def test_what_a_trigger_brings_is_not_lowered(pairs: Sources) -> None:
    brought = ExactMatches({PATTERN: [pairs.store.by_ids(["ros1"])["ros1"]]})
    hits = hits_for(pairs, "How do we build the ROS2 workspace?", exact=brought)
    assert not any(is_lowered(hits[name]) for name in ("ros1", "ros2"))


@pytest.fixture
def near(shelf: Shelf) -> Shelf:
    shelf.add({f"near{number}": NEAR.format(number=number) for number in range(12)} | {"rare": RARE})
    return shelf


def search_hits(sources: Sources, query: str) -> list[Hit]:
    return recall_search.search_page(Request(query, Filter(), is_explained=True), sources, ENOUGH, 10).hits


@pytest.mark.parametrize("numbers", [{}, {"mode": "rrf"}, {"decay": 30.0, "floor": 0.5}], ids=["weighted", "rrf", "old"])
def test_the_only_holder_of_a_rare_identifier_is_in_the_top_3(shelf: Shelf, numbers: dict[str, object]) -> None:
    now = now_ms()
    shelf.add({f"near{number}": NEAR.format(number=number) for number in range(12)}, created_at=now)
    shelf.add({"rare": RARE}, created_at=now - 3 * 365 * DAY_MS)
    lifted = next(hit for hit in search_hits(shelf.fill().by_meaning_too(**numbers), LONG)[:3] if hit.memory.id == "rare")
    assert lifted.contributions[IDENTIFIER] > 0.0
    assert (lifted.recency < 0.6) == ("decay" in numbers)
    total = sum(lifted.contributions.values()) * lifted.agreement_factor * lifted.recency
    assert total == pytest.approx(lifted.score, abs=1e-6)


def test_one_of_several_or_for_plain_words_is_not_lifted(near: Shelf) -> None:
    near.add({"other": "QXF_TIMEOUT_MS is read once at the start of the gate"})
    near.fill()
    for text in (LONG, "session token of the web client"):
        assert all(IDENTIFIER not in hit.contributions for hit in search_hits(near.by_meaning_too(), text))
