"""The bounded prior over namespaces: the effect of the intent's type."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.intent.kinds import Intent
from subcog_hooks.recall import pipeline
from subcog_hooks.recall.candidates import Sources
from subcog_hooks.recall.fusion import FAVOURED, FAVOURED_FACTOR, namespace_prior
from subcog_hooks.recall.hits import Eligibility, combined_relevance
from subcog_hooks.recall.tuning import Tuning
from subcog_hooks.store import index_writer
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import audiences_of
from tests.conftest import Maker


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
