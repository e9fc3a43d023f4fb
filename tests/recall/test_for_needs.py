"""The hook's recall for a prompt of several sentences: a memory counts as the sentence, or the whole, that it answers best."""

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.recall import logit, pipeline
from subcog_hooks.recall.candidates import Sources
from subcog_hooks.recall.exact import Exact
from subcog_hooks.recall.hits import PATTERN, Answer, Eligibility, Hit
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.store import audiences_of
from tests.recall.shelf import ENOUGH, Held, Shelf, ids

KEYS = "The signing keys of the release service are rotated every quarter, as the runbook says."
QUESTION = "How are the signing keys of the release service rotated?"
AROUND = "I am back at the ticket about the dredger, the crane and the weighbridge from yesterday."
BOTH = f"{AROUND} {QUESTION}"


def handed(sources: Sources, text: str, *parts: str, deadline: Deadline = ENOUGH, exact: Exact | None = None) -> Answer:
    return pipeline.for_needs(text, parts, sources, Eligibility(audiences_of(), now_ms()), deadline, exact=exact)


def hit_of(answer: Answer, id_: str = "keys") -> Hit:
    return next(hit for hit in answer.hits if hit.memory.id == id_)


def names_of(hit: Hit) -> set[str]:
    return {name for name, _, _ in hit.terms}


def filled(shelf: Shelf) -> Sources:
    shelf.add({"keys": KEYS, "dredger": "The dredger is moored at pier 7, the crane beside the weighbridge."})
    shelf.fill()
    return shelf.by_meaning_too()


def test_a_sentence_costs_the_question_beside_it_nothing_but_its_part(shelf: Shelf) -> None:
    of = filled(shelf)
    whole, parted, alone = hit_of(handed(of, BOTH)), hit_of(handed(of, BOTH, QUESTION)), hit_of(handed(of, QUESTION))
    assert whole.relevance < parted.relevance < alone.relevance
    assert parted.terms == logit.with_part_of_prompt(alone.terms)
    assert (logit.PART in names_of(parted), logit.PART in names_of(whole)) == (True, False)


def test_a_memory_that_answers_the_whole_better_stays_as_it_is(shelf: Shelf) -> None:
    of = filled(shelf)
    answer = handed(of, QUESTION, "How are they rotated now?")
    assert hit_of(answer).terms == hit_of(handed(of, QUESTION)).terms
    assert [hit.relevance for hit in answer.hits] == sorted((hit.relevance for hit in answer.hits), reverse=True)
    assert len(set(ids(answer))) == len(answer.hits) <= pipeline.PROMPT_CANDIDATES


def test_a_part_that_there_is_no_time_for_is_left_out(shelf: Shelf) -> None:
    of = filled(shelf)

    class WorkAlone(Held):
        """A deadline of which only own work is left."""

        def left_ms(self) -> float:
            return 0.0

        def work_left_ms(self) -> float:
            return 1_000.0

    answer = handed(of, BOTH, QUESTION, deadline=WorkAlone())
    assert logit.PART not in names_of(hit_of(answer))


def test_what_a_trigger_has_brought_stays_what_it_is(shelf: Shelf) -> None:
    of = filled(shelf)
    exact = Exact({PATTERN: [shelf.store.by_ids(["keys"])["keys"]]})
    hit = hit_of(handed(of, BOTH, QUESTION, exact=exact))
    assert PATTERN in hit.ranks
    assert logit.PART not in names_of(hit)
