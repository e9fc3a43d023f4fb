"""The hook's recall for a prompt of several sentences: a memory counts as the sentence, or the whole, that it answers best."""

from subcog_hooks.recall import logit, pipeline
from subcog_hooks.recall.candidates import Sources
from subcog_hooks.recall.exact import ExactMatches
from subcog_hooks.recall.hits import PATTERN, Answer, Hit
from tests.recall.shelf import Held, Shelf, ids, recall_for

KEYS = "The signing keys of the release service are rotated every quarter, as the runbook says."
QUESTION = "How are the signing keys of the release service rotated?"
AROUND = "I am back at the ticket about the dredger, the crane and the weighbridge from yesterday."
BOTH = f"{AROUND} {QUESTION}"


def hit_of(answer: Answer, id_: str = "keys") -> Hit:
    return next(hit for hit in answer.hits if hit.memory.id == id_)


def names_of(hit: Hit) -> set[str]:
    return {name for name, _, _ in hit.terms}


def filled_sources(shelf: Shelf) -> Sources:
    shelf.add({"keys": KEYS, "dredger": "The dredger is moored at pier 7, the crane beside the weighbridge."})
    shelf.fill()
    return shelf.by_meaning_too()


def test_a_hit_of_one_sentence_loses_only_the_part_term(shelf: Shelf) -> None:
    of = filled_sources(shelf)
    cases: list[tuple[str, list[str]]] = [(BOTH, []), (BOTH, [QUESTION]), (QUESTION, [])]
    whole, parted, alone = (hit_of(recall_for(of, text, parts=parts)) for text, parts in cases)
    assert whole.relevance < parted.relevance < alone.relevance
    assert parted.terms == logit.with_part_of_prompt(alone.terms)
    assert (logit.PART_OF_PROMPT in names_of(parted), logit.PART_OF_PROMPT in names_of(whole)) == (True, False)


def test_a_memory_that_answers_the_whole_better_stays_as_it_is(shelf: Shelf) -> None:
    of = filled_sources(shelf)
    answer = recall_for(of, QUESTION, parts=["How are they rotated now?"])
    assert hit_of(answer).terms == hit_of(recall_for(of, QUESTION, parts=[])).terms
    assert [hit.relevance for hit in answer.hits] == sorted((hit.relevance for hit in answer.hits), reverse=True)
    assert len(set(ids(answer))) == len(answer.hits) <= pipeline.PROMPT_CANDIDATES


class WorkAlone(Held):
    """A deadline whose waiting time is over, with time for own work."""

    def left_ms(self) -> float:
        return 0.0

    def work_left_ms(self) -> float:
        return 1_000.0


def test_a_part_that_there_is_no_time_for_is_left_out(shelf: Shelf) -> None:
    answer = recall_for(filled_sources(shelf), BOTH, parts=[QUESTION], deadline=WorkAlone())
    assert logit.PART_OF_PROMPT not in names_of(hit_of(answer))


def test_what_a_trigger_has_brought_stays_what_it_is(shelf: Shelf) -> None:
    of = filled_sources(shelf)
    exact = ExactMatches({PATTERN: [shelf.store.by_ids(["keys"])["keys"]]})
    hit = hit_of(recall_for(of, BOTH, parts=[QUESTION], exact=exact))
    assert PATTERN in hit.ranks
    assert logit.PART_OF_PROMPT not in names_of(hit)
