"""A memory that was missed at a prompt: what kept it away, and the prompt's need as a question that it answers from then on."""

from collections.abc import Iterator

from subcog_hooks.cli.decided import decision_view, decisions, remedies, trial
from subcog_hooks.cli.decided.remedies import Learned, Rerun
from subcog_hooks.cli.decided.trial import Trial
from subcog_hooks.cli.support import author, embedding, session
from subcog_hooks.cli.support.amendment import amend, changed
from subcog_hooks.cli.support.output import counted, terminal
from subcog_hooks.errors import NoDecision, UsageError
from subcog_hooks.hooks.payload import PROMPT_EVENT
from subcog_hooks.memory.model import LEARNED, MAX_QUESTIONS, AnsweredQuestion, Memory
from subcog_hooks.memory.store import Store
from subcog_hooks.state import decision_log
from subcog_hooks.state.connection import State
from subcog_hooks.state.decision import INJECTED, Decision
from subcog_hooks.state.decision_log import MAX_DECISIONS

ONLY_PROMPTS = "a memory is missed at a prompt; `subcog why --list` shows them"
OTHERS = 50  # earlier prompts on which is tried whether the question brings the memory there, too
TOLD = 5  # of them that are named


def learn(id_: str, decision: str | None, *, dry_run: bool) -> None:
    """Say what kept a memory away from a prompt, and make the prompt's need a question of the memory if that brings it.

    dry_run: store nothing. Raises NoDecision, NoMemory, UsageError, StoreError.
    """
    with decisions.opened() as state:
        was = decisions.find_prompt(state, decision, ONLY_PROMPTS)
        if was.prompt is None:
            raise UsageError(f"the prompt of {was.id} was not kept, so it can not be asked again", decisions.why_not_kept())
        session.require_store(id_)
        with session.reading() as store:
            assert store is not None
            memory = session.find(store, id_)
            if not dry_run:
                _require_person(memory)
            learned = _told(was, memory, state, store, dry_run=dry_run)
    if learned is None or dry_run:
        return
    question = AnsweredQuestion(learned.question, LEARNED)
    with session.writing() as store:
        amend(store.get(memory.id), lambda stored: changed(stored, {"questions": (*stored.questions, question)}), store, [])
        session.follow(store)
    terminal.say(f"learned: {learned.question!r} is a question that {memory.id} answers")
    terminal.say(f"`subcog why --missed {memory.id} {was.id} --undo` takes it back")
    embedding.afterwards()


def _require_person(memory: Memory) -> None:
    """Raise UsageError where an agent is about to change what the person wrote."""
    try:
        author.require_consent([memory], as_user=False)
    except UsageError as error:
        raise UsageError(error.message, "the person runs this command; --dry-run stores nothing") from None


def _told(was: Decision, memory: Memory, state: State, store: Store, *, dry_run: bool) -> Learned | None:
    """Say what kept a memory away, and what would bring it. Return the question that does."""
    index = session.index_of(store)
    rerun = Rerun(was, decisions.given_before(state, was), decisions.place_of(state, was), state)
    now = rerun.decide(session.home())
    candidate = remedies.candidate_of(now, memory.id)
    words = remedies.words_of(was, memory, index)
    if _brings(now, memory) or not decisions.may_come(candidate) or decisions.why_not_found(memory, was):
        terminal.page(decision_view.missed_view(was, now, memory, words, None))
        return None
    with trial.begun() as copy:
        learned = remedies.question_that_helps(copy, rerun, was, memory)
        others = list(_others(copy, was, memory, state)) if learned else []
    found = remedies.tried(rerun, was, memory, index) if dry_run or not learned else None
    terminal.page(decision_view.missed_view(was, now, memory, words, found))
    if learned:
        terminal.result(f"with the question {learned.question!r} it comes, relevance {learned.relevance:.2f}; tried on a copy")
        _tell_others(others)
    elif len(memory.questions) >= MAX_QUESTIONS:
        terminal.say(f"{memory.id} has {MAX_QUESTIONS} questions already; `subcog edit {memory.id}` takes one away")
    return learned


def _others(copy: Trial, was: Decision, memory: Memory, state: State) -> Iterator[tuple[Decision, bool]]:
    """Yield the latest other prompts, each with whether the memory comes to it on the copy, and did not do so before."""
    seen = {was.prompt}
    of_prompts = decision_log.latest(state, MAX_DECISIONS, event=PROMPT_EVENT)
    for other in of_prompts:
        if other.prompt is None or other.prompt in seen or other.outcome not in decisions.DECIDED_BY_RELEVANCE:
            continue
        seen.add(other.prompt)
        rerun = Rerun(other, set(), decisions.place_among(of_prompts, other), state)
        yield other, _brings(rerun.decide(copy.home), memory) and not _brings(rerun.decide(session.home()), memory)
        if len(seen) > OTHERS:
            return


def _brings(decision: Decision, memory: Memory) -> bool:
    candidate = remedies.candidate_of(decision, memory.id)
    return candidate is not None and candidate.outcome == INJECTED


def _tell_others(others: list[tuple[Decision, bool]]) -> None:
    """Say to which of the other prompts it would come, too."""
    if not others:
        return
    too = [other for other, comes in others if comes]
    terminal.result(f"of {counted(len(others), 'other prompt')} it would come to {len(too) or 'none'}")
    for other in too[:TOLD]:
        terminal.result(f"  {decisions.line(other)}")
    if len(too) > TOLD:
        terminal.result(f"  and {len(too) - TOLD} more")


def unlearn(id_: str, decision: str | None) -> None:
    """Take away the questions that a memory has learned from the prompt of a decision. Raises NoDecision, NoMemory, UsageError.

    Without a decision: from the latest prompt. Where that taught it none, or the prompt is not kept any more: the only one that
    it has learned.
    """
    session.require_store(id_)
    with session.writing() as store:
        memory = session.find(store, id_)
        _require_person(memory)
        learned = [question for question in memory.questions if question.by == LEARNED]
        if not learned:
            raise UsageError(f"{memory.id} has learned no question", "`subcog why --missed MEMORY` teaches it one")
        needs = _needs_at(decision)
        gone = [question for question in learned if question.text in (needs or ())]
        if not gone and (decision is None or needs is None) and len(learned) == 1:
            gone = learned
        if not gone:
            what = "learned nothing from that prompt" if needs is not None else f"learned {len(learned)} questions"
            raise UsageError(f"{memory.id} has {what}", f"`subcog edit {memory.id}` shows its questions, and changes them")
        left = tuple(question for question in memory.questions if question not in gone)
        amend(memory, lambda stored: changed(stored, {"questions": left}), store, [])
        session.follow(store)
    for question in gone:
        terminal.say(f"no longer a question that {memory.id} answers: {question.text!r}")


def _needs_at(decision: str | None) -> list[str] | None:
    """Return what may have been learned from the prompt of a decision; None where it is not kept. Raises StoreError."""
    try:
        with decisions.opened() as state:
            was = decisions.find_prompt(state, decision, ONLY_PROMPTS)
    except NoDecision:
        return None
    return remedies.needs_of(was) if was.prompt is not None else None
