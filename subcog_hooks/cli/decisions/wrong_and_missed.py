"""`why --bad` and `why --missed`: memories marked as wrong or as missing for a prompt."""

from collections.abc import Iterator

from subcog_hooks.cli.decisions import decision_view, lookup, remedies, trial
from subcog_hooks.cli.decisions.remedies import Learned, Rerun
from subcog_hooks.cli.decisions.trial import Trial
from subcog_hooks.cli.support import author, context, embedding
from subcog_hooks.cli.support.amendment import amend, changed
from subcog_hooks.cli.support.output import counted, safe, terminal
from subcog_hooks.core.errors import NoDecision, UsageError
from subcog_hooks.hook.payload import PROMPT_EVENT, START_EVENT
from subcog_hooks.recall import marks
from subcog_hooks.store import decision_log
from subcog_hooks.store.decision import INJECTED, Decision
from subcog_hooks.store.decision_log import MAX_DECISIONS
from subcog_hooks.store.memory import LEARNED, MAX_QUESTIONS, AnsweredQuestion, Memory, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Mark, Store
from subcog_hooks.text.typed import asked_in


def mark_bad(id_: str, decision: str | None) -> None:
    """Mark a memory as wrong for the prompt of a decision. Raises NoDecision, NoMemory, UsageError."""
    if author.is_agent():
        raise UsageError("a mark is the person's word, and this command is run by an agent", "the person runs it")
    with lookup.opened() as state:
        found = _marked_decision(state, id_, decision)
    if found.event != PROMPT_EVENT:
        raise UsageError(
            f"{found.id} was {lookup.occasion_of(found)}, and no prompt that others could be like",
            _unmarkable_reason(found, id_),
        )
    if found.prompt is None:
        raise UsageError(
            f"the prompt of {found.id} was not kept, so nothing can be like it",
            lookup.why_not_kept(),
        )
    context.require_store(id_)
    with context.writing() as store:
        memory = context.find(store, id_)
        if memory.status == "deleted":
            raise UsageError(f"{memory.id} is forgotten", "it is not handed over any more")
        asked = _terms(found, store)
        if not asked:
            raise UsageError(f"the prompt of {found.id} has no words to know it by", "nothing was marked")
        store.mark(Mark(memory.seq, found.id, marks.terms_to_text(asked), now_ms()))
    if memory.id not in [candidate.id for candidate in found.candidates]:
        terminal.say(f"{memory.id} was not among what was found there")
    terminal.say(f"marked as wrong for prompts like {lookup.prompt_of(found, lookup.WORDS)!r}: {lookup.named(memory)}")
    terminal.say(f"`subcog why --bad {memory.id} {found.id} --undo` takes it back")


def _marked_decision(state: State, id_: str, decision: str | None) -> Decision:
    """Return the decision where a memory was wrong: the one that is named, else the latest prompt.

    A later event at which the memory was handed over goes before that prompt; where a second look had found it, the prompt
    that was looked at again. Raises NoDecision, UsageError.
    """
    if decision:
        return lookup.find(state, decision)
    for one in decision_log.latest(state, MAX_DECISIONS):
        if one.event == PROMPT_EVENT or (id_ and any(given.startswith(id_) for given in one.injected)):
            return decision_log.prompt_behind(state, one, id_) or one
    return lookup.find_prompt(state, None, "")


def _unmarkable_reason(decision: Decision, id_: str) -> str:
    """Return what helps where a mark does not."""
    means = "priority and conditions" if decision.event == START_EVENT else "paths and triggers"
    return f"`subcog edit {safe(id_)[:80]}` changes its {means}"


def unmark_bad(id_: str, decision: str | None) -> None:
    """Take away the marks of a memory that were made for a prompt, or for one like it. Raises NoDecision, NoMemory, UsageError.

    Of a decision that is no longer kept the mark itself is known by its id.
    """
    context.require_store(id_)
    with context.writing() as store:
        memory = context.find(store, id_)
        made = store.marks([memory.seq])
        if not made:
            raise UsageError(f"{memory.id} is not marked", "`subcog why --bad MEMORY` marks one")
        gone = _choose_marks(store, made, decision)
        if not gone:
            raise UsageError(f"{memory.id} is not marked for that prompt", f"it is for those of {_ids(made)}: name one of them")
        store.unmark(memory.seq, [mark.decision for mark in gone])
    terminal.say(f"no longer marked as wrong ({', '.join(mark.decision for mark in gone)}): {lookup.named(memory)}")


def _choose_marks(store: Store, made: list[Mark], decision: str | None) -> list[Mark]:
    """Return the marks made for the prompt of a decision; where there are none, those that lower the memory for it."""
    named = [mark for mark in made if decision and mark.decision.startswith(decision)]
    if len({mark.decision for mark in named}) == 1:
        return named
    with lookup.opened() as state:
        found = lookup.find_prompt(state, decision, f"it is marked for those of {_ids(made)}: name one of them")
    asked = _terms(found, store)
    left = {
        mark.decision: marks.remaining_share(marks.terms_overlap(asked, marks.terms_from_text(mark.terms))) for mark in made
    }
    of_it = [mark for mark in made if mark.decision == found.id or not left[mark.decision]]
    return of_it or [mark for mark in made if left[mark.decision] < 1.0]


def _ids(made: list[Mark]) -> str:
    return ", ".join(dict.fromkeys(mark.decision for mark in made))


def _terms(decision: Decision, store: Store) -> dict[str, float]:
    """Return what was asked there: a prompt that goes on from the one before is known by what it borrowed, too."""
    if decision.prompt is None:
        return {}
    return marks.prompt_terms("\n".join((asked_in(decision.prompt), *decision.borrowed)), context.index_of(store))


ONLY_PROMPTS = "a memory is missed at a prompt; `subcog why --list` shows them"
OTHERS = 50  # earlier prompts on which is tried whether the question brings the memory there, too
TOLD = 5  # of them that are named


def learn_missed(id_: str, decision: str | None, *, dry_run: bool) -> None:
    """Say what kept a memory away from a prompt, and make the prompt's need a question of the memory if that brings it.

    dry_run: store nothing. Raises NoDecision, NoMemory, UsageError, StoreError.
    """
    with lookup.opened() as state:
        was = lookup.find_prompt(state, decision, ONLY_PROMPTS)
        if was.prompt is None:
            raise UsageError(f"the prompt of {was.id} was not kept, so it can not be asked again", lookup.why_not_kept())
        context.require_store(id_)
        with context.reading() as store:
            assert store is not None
            memory = context.find(store, id_)
            if not dry_run:
                _require_person(memory)
            learned = _learned_questions(was, memory, state, store, dry_run=dry_run)
    if learned is None or dry_run:
        return
    question = AnsweredQuestion(learned.question, LEARNED)
    with context.writing() as store:
        amend(store.get(memory.id), lambda stored: changed(stored, {"questions": (*stored.questions, question)}), store, [])
        context.follow(store)
    terminal.say(f"learned: {learned.question!r} is a question that {memory.id} answers")
    terminal.say(f"`subcog why --missed {memory.id} {was.id} --undo` takes it back")
    embedding.afterwards()


def _require_person(memory: Memory) -> None:
    """Raise UsageError where an agent is about to change what the person wrote."""
    try:
        author.require_consent([memory], as_user=False)
    except UsageError as error:
        raise UsageError(error.message, "the person runs this command; --dry-run stores nothing") from None


def _learned_questions(was: Decision, memory: Memory, state: State, store: Store, *, dry_run: bool) -> Learned | None:
    """Say what kept a memory away, and what would bring it. Return the question that does."""
    index = context.index_of(store)
    rerun = Rerun(was, lookup.given_before(state, was), lookup.place_of(state, was), state)
    now = rerun.decide(context.home())
    candidate = remedies.candidate_of(now, memory.id)
    words = remedies.words_of(was, memory, index)
    if _brings(now, memory) or not lookup.may_come(candidate) or lookup.why_not_found(memory, was):
        terminal.page(decision_view.missed_view(was, now, memory, words, None))
        return None
    with trial.begun() as copy:
        learned = remedies.question_that_helps(copy, rerun, was, memory)
        others = list(_find_others(copy, was, memory, state)) if learned else []
    found = remedies.tried(rerun, was, memory, index) if dry_run or not learned else None
    terminal.page(decision_view.missed_view(was, now, memory, words, found))
    if learned:
        terminal.result(f"with the question {learned.question!r} it comes, relevance {learned.relevance:.2f}; tried on a copy")
        _tell_others(others)
    elif len(memory.questions) >= MAX_QUESTIONS:
        terminal.say(f"{memory.id} has {MAX_QUESTIONS} questions already; `subcog edit {memory.id}` takes one away")
    return learned


def _find_others(copy: Trial, was: Decision, memory: Memory, state: State) -> Iterator[tuple[Decision, bool]]:
    """Yield the latest other prompts, each with whether the memory comes to it on the copy, and did not do so before."""
    seen = {was.prompt}
    of_prompts = decision_log.latest(state, MAX_DECISIONS, event=PROMPT_EVENT)
    for other in of_prompts:
        if other.prompt is None or other.prompt in seen or other.outcome not in lookup.DECIDED_BY_RELEVANCE:
            continue
        seen.add(other.prompt)
        rerun = Rerun(other, set(), lookup.place_among(of_prompts, other), state)
        yield other, _brings(rerun.decide(copy.home), memory) and not _brings(rerun.decide(context.home()), memory)
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
        terminal.result(f"  {lookup.line(other)}")
    if len(too) > TOLD:
        terminal.result(f"  and {len(too) - TOLD} more")


def unlearn_missed(id_: str, decision: str | None) -> None:
    """Take away the questions that a memory has learned from the prompt of a decision. Raises NoDecision, NoMemory, UsageError.

    Without a decision: from the latest prompt. Where that taught it none, or the prompt is not kept any more: the only one that
    it has learned.
    """
    context.require_store(id_)
    with context.writing() as store:
        memory = context.find(store, id_)
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
        context.follow(store)
    for question in gone:
        terminal.say(f"no longer a question that {memory.id} answers: {question.text!r}")


def _needs_at(decision: str | None) -> list[str] | None:
    """Return what may have been learned from the prompt of a decision; None where it is not kept. Raises StoreError."""
    try:
        with lookup.opened() as state:
            was = lookup.find_prompt(state, decision, ONLY_PROMPTS)
    except NoDecision:
        return None
    return remedies.needs_of(was) if was.prompt is not None else None
