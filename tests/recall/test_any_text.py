"""Any text is analysed, searched and answered, and the answer keeps its bounds."""

from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from subcog_hooks.core.paths import Home
from subcog_hooks.recall import search
from subcog_hooks.recall.candidates import MODES, Request, Sources
from subcog_hooks.recall.hits import HIGH, LOW, MEDIUM, NO_RESULTS, SPECULATIVE, VERY_HIGH
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter
from tests.recall.shelf import ENOUGH, Shelf, memory, recall_for

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
        yield shelf.by_meaning_too(tags=0.1, agreement=0.2, decay=0.01, mmr=0.7, near_duplicate=0.9)
        shelf.close()


@given(text=texts, mode=st.sampled_from(MODES))
@settings(max_examples=100, deadline=None)
@example(text="", mode="hybrid")
@example(text="a" * 5_000, mode="hybrid")
@example(text="word " * 5_000, mode="hybrid")
@example(text="-".join("abc" * 60), mode="hybrid")
@example(text='"" " "', mode="hybrid")
def test_any_text_is_answered(of: Sources, text: str, mode: str) -> None:
    answer = search.search_memories(Request(text, Filter(), mode=mode, is_typed=True), of, ENOUGH, 10)
    assert (answer.is_degraded, answer.confidence in CONFIDENCES) == (False, True)
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
