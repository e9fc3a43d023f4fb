"""Identifiers that a query names: no sibling comes for them, and the only memory that has a rare one is among the first."""

from collections.abc import Sequence

import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.recall import exact, labels, pipeline, query
from subcog_hooks.recall import search as recall_search
from subcog_hooks.recall.candidates import Request, Sources
from subcog_hooks.recall.hits import IDENTIFIER, Eligibility, Hit
from subcog_hooks.recall.logit import SIBLING
from subcog_hooks.store.memory import AnsweredQuestion, now_ms
from subcog_hooks.store.store_reader import Filter, audiences_of
from tests.recall.shelf import Shelf, memory

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
    shelf.fill()
    return shelf.by_meaning_too()


def recall_for(sources: Sources, prompt: str, parts: Sequence[str] = ()) -> dict[str, Hit]:
    eligible = Eligibility(audiences_of(), now_ms())
    answer = pipeline.recall_for_parts(prompt, parts, sources, eligible, Deadline(60_000))
    assert not answer.is_degraded, answer.note
    return {hit.memory.id: hit for hit in answer.hits}


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
    hits = recall_for(pairs, prompt)
    assert not is_lowered(hits[asked])
    assert is_lowered(hits[sibling])
    assert hits[sibling].relevance < 0.15
    assert hits[asked].relevance > 0.5


def test_an_unknown_identifier_or_a_comparison_lowers_none(pairs: Sources) -> None:
    hits = recall_for(pairs, "How is the ROS3 workspace built?")
    assert not any(map(is_lowered, hits.values()))
    assert hits["ros2"].relevance > 0.5
    hits = recall_for(pairs, "Is the workspace of ROS1 or of ROS2 built with colcon?")
    assert not is_lowered(hits["ros1"])
    assert not is_lowered(hits["ros2"])


def test_a_part_of_the_prompt_does_not_bring_the_sibling_back(pairs: Sources) -> None:
    part = "How is the workspace built and sourced?"
    hits = recall_for(pairs, f"I am on the ROS2 branch today. {part}", [part])
    assert is_lowered(hits["ros1"])


def test_a_sibling_does_not_come_however_like_the_prompt_it_is(shelf: Shelf) -> None:
    shelf.add(
        {
            "asked": "INC-9002 is closed",
            "like": "INC-9001 outage of the search cluster was caused by a full disk on the primary node",
        }
    )
    shelf.fill()
    prompt = "What caused the INC-9002 outage of the search cluster, a full disk on the primary node?"
    assert recall_for(shelf.by_meaning_too(), prompt)["like"].relevance < 0.1


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("ros2_control replaces the controller manager of ROS1", ()),
        ("The controller manager of ROS1 is gone. " + "It was replaced by another one. " * 200 + "That is ROS2.", ()),
        ("The controller manager of ROS1 is gone", (AnsweredQuestion("what replaces the controller manager in ROS2"),)),
    ],
    ids=["as a part", "far behind", "in a question"],
)
def test_what_has_the_identifier_somewhere_is_no_sibling(
    shelf: Shelf, text: str, questions: tuple[AnsweredQuestion, ...]
) -> None:
    shelf.add({"other": "ROS2 is installed on the lab machines"}, memory(text, id="right", questions=questions))
    shelf.fill()
    hits = recall_for(shelf.by_meaning_too(), "What replaces the controller manager in ROS2?")
    assert not is_lowered(hits["right"])


def test_a_memorys_relevance_does_not_depend_on_the_page(pairs: Sources) -> None:
    def of_ros1(limit: int, offset: int) -> float:
        request = Request("how is the ROS2 workspace built", Filter())
        hits = recall_search.search_page(request, pairs, Deadline(60_000), limit, offset).hits
        return next(hit.relevance for hit in hits if hit.memory.id == "ros1")

    assert of_ros1(10, 0) == of_ros1(1, 1)


def test_numbers_and_versions_have_no_siblings(shelf: Shelf) -> None:
    shelf.add({"old": "The runner has 3.11 of the interpreter, 40 workers", "new": "The runner has 3.12 of it, 20 workers"})
    shelf.fill()
    hits = recall_for(shelf.by_meaning_too(), "Does the runner have 3.12 of the interpreter and 20 workers?")
    assert {"old", "new"} <= hits.keys()
    assert not any(map(is_lowered, hits.values()))


def test_what_a_trigger_brings_is_not_lowered(shelf: Shelf) -> None:
    shelf.add({"ros2": PAIRS["ros2"]})
    shelf.add(None, memory(PAIRS["ros1"], id="ros1", triggers=("workspace",)))
    shelf.fill()
    sources = shelf.by_meaning_too()
    eligible = Eligibility(audiences_of(), now_ms())
    prompt = "How do we build the ROS2 workspace?"
    brought = exact.match_prompt(prompt, None, sources.store, eligible, Deadline(60_000))
    hits = pipeline.recall_for_parts(prompt, [], sources, eligible, Deadline(60_000), exact=brought).hits
    assert {"ros1", "ros2"} <= {hit.memory.id for hit in hits}
    assert not any(map(is_lowered, hits))


@pytest.fixture
def near(shelf: Shelf) -> Shelf:
    shelf.add({f"near{number}": NEAR.format(number=number) for number in range(12)} | {"rare": RARE})
    return shelf


def search_hits(sources: Sources, query: str) -> list[Hit]:
    return recall_search.search_page(Request(query, Filter(), is_explained=True), sources, Deadline(60_000), 10).hits


@pytest.mark.parametrize("numbers", [{}, {"mode": "rrf"}], ids=["weighted", "rrf"])
def test_the_only_holder_of_a_rare_identifier_is_in_the_top_3(near: Shelf, numbers: dict[str, str]) -> None:
    near.fill()
    hits = search_hits(near.by_meaning_too(**numbers), LONG)
    position = [hit.memory.id for hit in hits].index("rare")
    assert position < 3
    lifted = hits[position]
    assert lifted.contributions[IDENTIFIER] > 0.0
    total = sum(lifted.contributions.values()) * lifted.agreement_factor * lifted.recency
    assert total == pytest.approx(lifted.score, abs=1e-6)


def test_an_old_one_is_among_the_first_three_too(shelf: Shelf) -> None:
    now = now_ms()
    for number in range(12):
        shelf.add(None, memory(NEAR.format(number=number), id=f"near{number}", created_at=now))
    shelf.add(None, memory(RARE, id="rare", created_at=now - 3 * 365 * 86_400_000))
    shelf.fill()
    hits = search_hits(shelf.by_meaning_too(decay=30.0, floor=0.5), LONG)
    lifted = next(hit for hit in hits[:3] if hit.memory.id == "rare")
    assert lifted.recency < 0.6
    total = sum(lifted.contributions.values()) * lifted.agreement_factor * lifted.recency
    assert total == pytest.approx(lifted.score, abs=1e-6)


def test_a_memory_with_two_rare_identifiers_takes_one_place(near: Shelf) -> None:
    near.add({"both": "XQA_PORT and XQA_HOST are read from the shelf of the gate"})
    near.fill()
    index = near.index()
    asked = query.analyse_query("Are XQA_PORT and XQA_HOST read at the gate?", index)
    named, sole = labels.find_holders(asked, index, Filter())
    assert (sorted(named), len(sole)) == (["xqa_host", "xqa_port"], 1)


def test_one_of_several_that_have_it_is_not_lifted(near: Shelf) -> None:
    near.add({"other": "QXF_TIMEOUT_MS is read once at the start of the gate"})
    near.fill()
    assert all(IDENTIFIER not in hit.contributions for hit in search_hits(near.by_meaning_too(), LONG))


def test_nothing_is_lifted_for_a_query_of_words(near: Shelf) -> None:
    near.fill()
    assert all(
        IDENTIFIER not in hit.contributions for hit in search_hits(near.by_meaning_too(), "session token of the web client")
    )
