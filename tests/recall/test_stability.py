"""Stability of answers: the order of insertion, irrelevant memories and pages do not change them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from subcog_hooks.cli.results import confidence_of
from subcog_hooks.core.paths import Home
from subcog_hooks.recall import search
from subcog_hooks.recall.candidates import MODES, Request, Sources
from subcog_hooks.recall.fusion import Tuning
from subcog_hooks.recall.hits import HIGH, LOW, MEDIUM, NO_RESULTS, SPECULATIVE, VERY_HIGH, Answer
from subcog_hooks.store import index_writer
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter
from tests.recall.shelf import ENOUGH, Shelf, find, ids, memory, recall_for, tuning_of

TEXTS = (
    "Forward kinematics (FK) gives the pose of the hand from the joint angles.",
    "The FK calculation runs at 1 kHz on the controller.",
    "Our forward kinematics is written in plain floats, without a matrix library.",
    "The rathole tunnel listens on port 2333 and is restarted by hand.",
    "Restart the tunnel when the load balancer drops idle sockets.",
    "Database connections are recycled after 30 seconds because the load balancer drops idle sockets.",
    "Database connections are recycled after 60 seconds because the load balancer drops idle sockets.",
    "Invoices are rounded to whole cents per line, never on the total.",
    "Money is kept in cents in billing/models.py, and parse_amount refuses floats.",
    "parse_amount raises E0308 when the currency is missing.",
    "The office cat sleeps on the warm server rack in winter.",
    "The token refresh test is flaky below 2 s of clock skew.",
    "OAuth2 in the SPA uses PKCE; the implicit flow was dropped after the audit.",
    "The refresh token rotates on every use; an old one ends the session.",
    "Deploys go out on Tuesday, after the staging run is green.",
    "The staging database is restored from production every night.",
    "Flaky tests are quarantined for a week, then deleted.",
    "HttpClient retries three times, then raises UpstreamTimeout.",
    "The write-ahead log is flushed before every commit.",
)
EQUAL = "Sockets that stay idle are dropped by the load balancer."
QUERIES = (
    *("forward kinematics", "FK", "idle sockets", "why are database connections recycled", '"load balancer"'),
    *("parse_amount floats", "token refresh", "rathole tunnel port", "kinematcs of the hand", "where do kittens nap"),
    *("staging", "tunne"),
)
TUNINGS = {
    "by default": Tuning(),
    "rrf": Tuning(mode="rrf", alpha=0.5),
    "all of it": Tuning(alpha="adaptive", agreement=0.2, decay=0.01, near_duplicate=0.9, tags=0.3),
    "short lists": Tuning(lexical_depth=4, semantic_depth=4, near_duplicate=1.0),
}


def notes() -> list[Memory]:
    """25 memories: texts on a few subjects, and one text six times, of different days."""
    tags = {3: ("rathole", "ops"), 4: ("ops",), 8: ("billing",)}
    made = [memory(text, id=f"n{i:02}", tags=tags.get(i, ()), created_at=1_000 + i) for i, text in enumerate(TEXTS)]
    return made + [memory(EQUAL, id=f"e{i}", created_at=90_000_000_000 * (i % 4)) for i in range(6)]


def dump(answer: Answer) -> str:
    """An answer with all its fields as JSON."""
    hits = [
        {
            **{
                name: getattr(hit, name) for name in ("score", "relevance", "ranks", "scores", "agreement", "labels", "recency")
            },
            "id": hit.memory.id,
            "confidence": confidence_of(answer, hit),
        }
        for hit in answer.hits
    ]
    of_all = {name: getattr(answer, name) for name in Answer.__annotations__ if name != "hits"}
    return json.dumps({**of_all, "hits": hits}, sort_keys=True, indent=1)


class Answers(dict[str, str]):
    """Answers by query."""

    def __repr__(self) -> str:
        return f"<{len(self)} answers>"

    def differing(self, other: Answers) -> list[str]:
        return [asked for asked in self if self[asked] != other[asked]]


def everything(of: Sources) -> Answers:
    """The answers to each query under each tuning, in each mode, and of the hook."""
    answers = Answers()
    for name, numbers in TUNINGS.items():
        of.tuning = numbers
        for text in QUERIES:
            request = Request(text, Filter(), correct=search.correct_words)
            answers[f"{name}: {text}"] = dump(search.search_memories(request, of, ENOUGH, 10))
            answers[f"{name}, hook: {text}"] = dump(recall_for(of, text))
    of.tuning = TUNINGS["by default"]
    for mode in MODES:
        answers.update({f"{mode}: {text}": dump(find(of, text, 25, mode=mode)) for text in QUERIES})
    return answers


class Homes:
    """Makes a new home for every example of a property."""

    def __init__(self, folder: pytest.TempPathFactory) -> None:
        self._folder = folder

    def fill_home(self, *batches: Sequence[Memory], purged: Sequence[str] = ()) -> Iterator[Shelf]:
        """A shelf that is filled in batches; after each the index on disk follows."""
        home = Home(str(self._folder.mktemp("home") / "subcog"))
        with Store.writer(home) as store:
            shelf = Shelf(home, store)
            for batch in batches:
                shelf.add({}, *batch)
                index_writer.bring_up_to_date(home, store)
            if purged:
                store.purge(purged)
            yield shelf
            shelf.close()


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Homes:
    return Homes(tmp_path_factory)


@pytest.fixture(scope="module")
def usual(homes: Homes) -> Answers:
    """The answers for memories that are stored at once and in order."""
    (answers,) = [everything(on_disk(shelf)) for shelf in homes.fill_home(notes())]
    return answers


def on_disk(shelf: Shelf) -> Sources:
    of = shelf.by_meaning_too()
    of.index = index_writer.bring_up_to_date(shelf.home, shelf.store)
    return of


@given(order=st.permutations(range(25)))
@settings(max_examples=6, deadline=None, phases=[Phase.explicit, Phase.generate])  # a shrunk order tells nothing
@example(order=list(range(25))[::-1])
def test_the_order_of_insertion_does_not_show(homes: Homes, usual: Answers, order: list[int]) -> None:
    every = notes()
    for shelf in homes.fill_home([every[position] for position in order]):
        assert usual.differing(everything(on_disk(shelf))) == []


def test_how_many_commands_wrote_the_memories_does_not_show(homes: Homes, usual: Answers) -> None:
    every = notes()
    for shelf in homes.fill_home(*(every[start : start + 4] for start in range(0, len(every), 4))):
        of = on_disk(shelf)
        assert usual.differing(everything(of)) == usual.differing(everything(of)) == []  # asked twice, too


def test_erased_memories_change_no_order_after_a_rebuild(homes: Homes, usual: Answers) -> None:
    """Until they are merged away, tantivy's BM25 takes their words for more common than they are: scores fall by a third."""
    gone = [memory("Forward sockets of the load balancer for the database token.", id=f"gone{i}") for i in range(5)]
    for shelf in homes.fill_home([*gone, *notes()], purged=[row.id for row in gone]):
        answers = everything(on_disk(shelf))
        for asked, answer in usual.items():
            mine, other = json.loads(answer)["hits"], json.loads(answers[asked])["hits"]
            assert [hit["id"] for hit in other] == [hit["id"] for hit in mine], asked
            assert [hit["score"] for hit in other] == pytest.approx([hit["score"] for hit in mine], rel=0.34), asked
        index_writer.rebuild_index(shelf.home, shelf.store)
        assert usual.differing(everything(on_disk(shelf))) == []


IRRELEVANT = (
    *("Basil wilts without sunshine.", "Sourdough wants patience, flour, salt."),
    *("Violins need rosin; cellos, even more.", "Glaciers carve fjords slowly."),
    *("Penguins huddle against polar storms.", "Marathon runners taper beforehand."),
    *("Saffron threads colour risotto golden.", "Origami cranes symbolise longevity."),
)


@given(
    kept=st.sets(st.integers(0, 24), min_size=5),
    added=st.lists(st.tuples(st.sampled_from(IRRELEVANT), st.integers(1, 80)), min_size=1, max_size=3),
)
@settings(max_examples=6, deadline=None)
def test_something_irrelevant_never_takes_a_first_one_away(homes: Homes, kept: set[int], added: list[tuple[str, int]]) -> None:
    every = notes()
    for shelf in homes.fill_home([every[position] for position in sorted(kept)]):
        of = shelf.by_meaning_too()
        before = first_ten(of)
        shelf.add({}, *(memory(f"{text} " * times) for text, times in added))
        again = shelf.by_meaning_too()
        after = first_ten(again)
        for asked, first in before.items():
            assert set(first[:3]) <= set(after[asked]), asked


def first_ten(of: Sources) -> dict[str, list[str]]:
    answers: dict[str, list[str]] = {}
    for name, numbers in TUNINGS.items():
        of.tuning = numbers
        for text in QUERIES:
            answers[f"{name}: {text}"] = ids(find(of, text, 10))
            answers[f"{name}, hook: {text}"] = ids(recall_for(of, text))[:10]
    return answers


@pytest.fixture(scope="module")
def paged_sources(homes: Homes) -> Iterator[Sources]:
    """90 memories on two subjects: every fourth has expired, every fifth nearly repeats its predecessor."""
    animals = ("cat", "kitten", "dog", "heron", "seal", "otter")
    kept: list[Memory] = []
    for i in range(90):
        text = f"The {animals[i % 6]} naps in basket {i - (i % 5 == 4)}" + " during the winter" * (i % 3)
        kept.append(memory(text + "!" * (i % 2), id=f"p{i:02}", created_at=1_000 + i, expires_at=1 if i % 4 == 1 else None))
    for shelf in homes.fill_home(kept):
        yield shelf.with_cosines({f"p{i:02}": 0.3 + (37 * i % 90) / 150 for i in range(90)})


@given(
    size=st.integers(3, 40),
    mode=st.sampled_from(MODES),
    near_duplicate=st.sampled_from([1.0, 0.95, 0.6]),
    depth=st.sampled_from([3, 10, 400]),
)
@settings(max_examples=25, deadline=None)
def test_pages_never_overlap_and_together_are_the_long_page(
    paged_sources: Sources, size: int, mode: str, near_duplicate: float, depth: int
) -> None:
    paged_sources.tuning = tuning_of(near_duplicate=near_duplicate, lexical_depth=depth, semantic_depth=depth)
    text = "kitten naps in winter"
    together: list[tuple[str, float]] = []
    while page := find(paged_sources, text, size, len(together), mode=mode).hits:
        together += [(hit.memory.id, hit.score) for hit in page]
        assert len(page) <= size
    assert len({name for name, _ in together}) == len(together) > 1
    assert together == [(hit.memory.id, hit.score) for hit in find(paged_sources, text, 200, mode=mode).hits]


CONFIDENCES = (VERY_HIGH, HIGH, MEDIUM, LOW, SPECULATIVE, NO_RESULTS)
WORDS = (
    'forward kinematics FK "load balancer" parse_args src/app/db.py E0308 v2.1.3 認証サーバー café ﬁle kuberntes the of . * '
    "( ) [ ] \\ / - _ ' “ ” \x00 \ufeff 東 ²³ ⅷ İ ß 👍🏽 don't C++ a.* .*"
).split(" ")

texts = st.one_of(
    st.text(alphabet=st.characters(codec="utf-8"), max_size=80),
    st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join),
    st.lists(st.sampled_from(WORDS), max_size=6).map("".join),
)


@pytest.fixture(scope="module")
def of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sources]:
    home = Home(str(tmp_path_factory.mktemp("home") / "subcog"))
    with Store.writer(home) as store:
        shelf = Shelf(home, store)
        shelf.add(
            {
                "fk": "Forward kinematics (FK) runs behind the load balancer.",
                "args": "parse_args in src/app/db.py raises E0308 since v2.1.3.",
                "east": "東京リージョンでは認証サーバーを二重化している。",
            }
        )
        shelf.add({}, memory("The kubernetes file of the café.", id="cafe", tags=("café", "c++", "the of")))
        yield shelf.by_meaning_too(tags=0.1, agreement=0.2, decay=0.01, near_duplicate=0.9)
        shelf.close()


@given(text=texts, mode=st.sampled_from(MODES))
@settings(max_examples=100, deadline=None)
@example(text="", mode="hybrid")
@example(text="a" * 5_000, mode="hybrid")
@example(text="word " * 5_000, mode="hybrid")
@example(text="-".join("abc" * 60), mode="hybrid")
@example(text='"" " "', mode="hybrid")
def test_any_text_is_answered(of: Sources, text: str, mode: str) -> None:
    answer = search.search_memories(Request(text, Filter(), mode=mode, correct=search.correct_words), of, ENOUGH, 10)
    assert (answer.is_degraded, confidence_of(answer) in CONFIDENCES) == (False, True)
    scores = [hit.score for hit in answer.hits]
    assert all(score >= 0.0 for score in scores)
    assert all(0.0 <= hit.relevance <= 1.0 and 0.0 <= hit.agreement <= 1.0 for hit in answer.hits)
    assert len({hit.memory.id for hit in answer.hits}) == len(answer.hits)
    assert len(answer.suggestions) == len(set(answer.suggestions))


@given(text=texts)
@settings(max_examples=60, deadline=None)
@example(text="Redis・Kafka")
@example(text="\U0003134b")  # not in the Unicode of Python 3.11
def test_any_prompt_is_answered(of: Sources, text: str) -> None:
    hits = recall_for(of, text).hits
    relevances = [hit.relevance for hit in hits]
    assert relevances == sorted(relevances, reverse=True)
