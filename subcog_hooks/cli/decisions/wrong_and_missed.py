"""`why --bad` and `why --missed`: memories marked as wrong or as missing for a prompt."""

from collections.abc import Iterator

from subcog_hooks.cli.decisions import decision_view, lookup, remedies
from subcog_hooks.cli.decisions.lookup import PromptChoice
from subcog_hooks.cli.decisions.remedies import LearnedQuestion, Rerun, Trial
from subcog_hooks.cli.support import author, context, embedding
from subcog_hooks.cli.support.amendment import amend, apply_changes
from subcog_hooks.cli.support.output import pluralize, safe, terminal
from subcog_hooks.core.errors import NoDecision, UsageError
from subcog_hooks.hook.payload import PROMPT_EVENT, START_EVENT
from subcog_hooks.recall import marks
from subcog_hooks.store import recorded_decisions
from subcog_hooks.store.decision import Decision
from subcog_hooks.store.decision_log import MAX_DECISIONS
from subcog_hooks.store.memory import LEARNED, MAX_QUESTIONS, AnsweredQuestion, Memory, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Mark
from subcog_hooks.text.typed_prompt import query_text


def mark_bad(id_: str, choice: PromptChoice) -> None:
    """Mark a memory as wrong for a prompt. Raises NoDecision, NoMemory, UsageError, typer.Exit."""
    if author.is_agent():
        raise UsageError("a mark is the person's word, and this command is run by an agent", "the person runs it")
    with lookup.open_state() as state:
        marked = _find_marked_decision(state, id_, choice)
    if marked.event != PROMPT_EVENT:
        fields = "priority and conditions" if marked.event == START_EVENT else "paths and triggers"
        fact = f"{marked.id} was {lookup.event_name(marked)}, not a prompt"
        raise UsageError(fact, f"`subcog edit {safe(id_)[:80]}` changes its {fields}")
    if marked.prompt is None:
        fact = f"the prompt of {marked.id} was not kept, so no other prompt can be compared with it"
        raise UsageError(fact, lookup.why_not_stored())
    context.require_store(id_)
    with context.reading() as store:
        assert store is not None
        memory = context.find_memory(store, id_)
    if memory.status == "deleted":
        raise UsageError(f"{memory.id} is forgotten", "it is not handed over any more")
    choice.require_named(marked, f"subcog why --bad {memory.id}")
    choice.confirm(f"Mark {memory.id} as wrong for {lookup.quoted_prompt(marked)} and prompts like it?")
    with context.writing() as store:
        terms = _prompt_terms(marked, store)
        if not terms:
            raise UsageError(f"the prompt of {marked.id} has no words to recognise it by", "nothing was marked")
        store.mark(Mark(memory.seq, marked.id, marks.terms_to_text(terms), now_ms()))
    if memory.id not in [candidate.id for candidate in marked.candidates]:
        terminal.say(f"{memory.id} was not among the memories found there")
    prompt = lookup.prompt_text(marked, lookup.MAX_CHARS)
    terminal.say(f"marked as wrong for prompts like {prompt!r}: {lookup.memory_line(memory)}")
    terminal.say(f"`subcog why --bad {memory.id} {marked.id} --undo` takes it back")


def _find_marked_decision(state: State, id_: str, choice: PromptChoice) -> Decision:
    """Return the decision where a memory was wrong: the named one, else the latest prompt of the project.

    A later event that handed the memory over takes precedence; for a memory of a second look, the prompt of that look. Raises
    NoDecision, UsageError.
    """
    if choice.id:
        return lookup.find_decision(state, choice.id)
    for candidate in choice.keep_own(recorded_decisions.find_latest(state, MAX_DECISIONS)):
        if candidate.event == PROMPT_EVENT or (id_ and any(given.startswith(id_) for given in candidate.injected)):
            return recorded_decisions.find_prompt_of_late_memory(state, candidate, id_) or candidate
    return choice.find(state, ONLY_PROMPTS)


def unmark_bad(id_: str, choice: PromptChoice) -> None:
    """Remove the marks that a memory has for a prompt or similar prompts. Raises NoDecision, NoMemory, UsageError.

    Where the decision is no longer recorded, its id still identifies the mark.
    """
    context.require_store(id_)
    with context.writing() as store:
        memory = context.find_memory(store, id_)
        existing = store.marks([memory.seq])
        if not existing:
            raise UsageError(f"{memory.id} is not marked", "`subcog why --bad MEMORY` marks one")
        removed = _choose_marks(store, existing, choice)
        if not removed:
            hint = f"it is marked for the prompts of {_ids(existing)}; name one of them"
            raise UsageError(f"{memory.id} is not marked for that prompt", hint)
        store.unmark(memory.seq, [mark.decision for mark in removed])
    terminal.say(f"no longer marked as wrong ({', '.join(mark.decision for mark in removed)}): {lookup.memory_line(memory)}")


def _choose_marks(store: Store, made: list[Mark], choice: PromptChoice) -> list[Mark]:
    """Return the marks made for a prompt; without any, the marks that lower the memory for it."""
    named = [mark for mark in made if choice.id and mark.decision.startswith(choice.id)]
    if len({mark.decision for mark in named}) == 1:
        return named
    with lookup.open_state() as state:
        prompt = choice.find(state, f"it is marked for the prompts of {_ids(made)}; name one of them")
    terms = _prompt_terms(prompt, store)
    factors = {
        mark.decision: marks.remaining_share(marks.terms_overlap(terms, marks.terms_from_text(mark.terms))) for mark in made
    }
    exact = [mark for mark in made if mark.decision == prompt.id or not factors[mark.decision]]
    return exact or [mark for mark in made if factors[mark.decision] < 1.0]


def _ids(made: list[Mark]) -> str:
    return ", ".join(dict.fromkeys(mark.decision for mark in made))


def _prompt_terms(decision: Decision, store: Store) -> dict[str, float]:
    if decision.prompt is None:
        return {}
    return marks.prompt_terms("\n".join((query_text(decision.prompt), *decision.borrowed)), context.index_of(store))


ONLY_PROMPTS = "only a prompt can miss a memory; `subcog why --list` shows them"
MAX_OTHERS = 50  # earlier prompts that the new question is also tried on
MAX_SHOWN_OTHERS = 5  # of these prompts


def learn_missed(id_: str, choice: PromptChoice, *, dry_run: bool) -> None:
    """Explain why a memory did not come to a prompt, and store a question that makes it come.

    dry_run: store nothing. Raises NoDecision, NoMemory, UsageError, StoreError, typer.Exit.
    """
    with lookup.open_state() as state:
        missed = choice.find(state, ONLY_PROMPTS)
        if missed.prompt is None:
            raise UsageError(f"the prompt of {missed.id} was not kept, so it cannot be asked again", lookup.why_not_stored())
        context.require_store(id_)
        with context.reading() as store:
            assert store is not None
            memory = context.find_memory(store, id_)
            if not dry_run:
                _require_person(memory)
                choice.require_named(missed, f"subcog why --missed {memory.id}")
            learned = _find_learned_question(missed, memory, state, store, dry_run=dry_run)
    if learned is None or dry_run:
        return
    choice.confirm(f"Teach {memory.id} the question {learned.question!r}, of {lookup.quoted_prompt(missed)}?")
    question = AnsweredQuestion(learned.question, LEARNED)
    with context.writing() as store:
        amend(store.get(memory.id), lambda old: apply_changes(old, {"questions": (*old.questions, question)}), store, [])
        context.update_index_and_vectors(store)
    terminal.say(f"learned: {learned.question!r} is a question that {memory.id} answers")
    terminal.say(f"`subcog why --missed {memory.id} {missed.id} --undo` takes it back")
    embedding.start_background_jobs()


def _require_person(memory: Memory) -> None:
    try:
        author.require_consent([memory], as_user=False)
    except UsageError as error:
        raise UsageError(error.message, "the person runs this command; --dry-run stores nothing") from None


def _find_learned_question(
    missed: Decision, memory: Memory, state: State, store: Store, *, dry_run: bool
) -> LearnedQuestion | None:
    index = context.index_of(store)
    rerun = Rerun(missed, lookup.ids_given_before(state, missed), lookup.position_of_prompt(state, missed), state)
    now = rerun.decide(context.home())
    candidate = remedies.candidate_of(now, memory.id)
    words = remedies.compare_words(missed, memory, index)
    if memory.id in now.injected or not lookup.may_come(candidate) or lookup.why_not_found(memory, missed):
        terminal.page(decision_view.missed_view(missed, now, memory, words, None))
        return None
    with remedies.open_trial() as copy:
        learned = remedies.find_question(copy, rerun, missed, memory)
        others = list(_find_others(copy, missed, memory, state)) if learned else []
    tried_remedies = remedies.find_remedies(rerun, missed, memory, index) if dry_run or not learned else None
    terminal.page(decision_view.missed_view(missed, now, memory, words, tried_remedies))
    if learned:
        terminal.result(f"with the question {learned.question!r} it comes, relevance {learned.relevance:.2f}; tried on a copy")
        _print_others(others)
    elif len(memory.questions) >= MAX_QUESTIONS:
        terminal.say(f"{memory.id} has {MAX_QUESTIONS} questions already; `subcog edit {memory.id}` takes one away")
    return learned


def _find_others(copy: Trial, missed: Decision, memory: Memory, state: State) -> Iterator[tuple[Decision, bool]]:
    """Yield other recent prompts, each with whether the memory now comes to it on the copy only."""
    seen = {missed.prompt}
    prompts = recorded_decisions.find_latest(state, MAX_DECISIONS, event=PROMPT_EVENT)
    for other in prompts:
        if other.prompt is None or other.prompt in seen or other.outcome not in lookup.DECIDED_BY_RELEVANCE:
            continue
        seen.add(other.prompt)
        rerun = Rerun(other, set(), lookup.position_among(prompts, other), state)
        comes_on_copy = memory.id in rerun.decide(copy.home).injected
        yield other, comes_on_copy and memory.id not in rerun.decide(context.home()).injected
        if len(seen) > MAX_OTHERS:
            return


def _print_others(others: list[tuple[Decision, bool]]) -> None:
    if not others:
        return
    affected = [other for other, comes in others if comes]
    terminal.result(f"it would come to {len(affected) or 'none'} of {pluralize(len(others), 'other prompt')}")
    for other in affected[:MAX_SHOWN_OTHERS]:
        terminal.result(f"  {lookup.decision_line(other)}")
    if len(affected) > MAX_SHOWN_OTHERS:
        terminal.result(f"  and {len(affected) - MAX_SHOWN_OTHERS} more")


def unlearn_missed(id_: str, choice: PromptChoice) -> None:
    """Remove the questions that a memory learned from a prompt.

    If the project's latest prompt taught the memory nothing or is no longer stored, the only learned
    question is removed. Raises NoDecision, NoMemory, UsageError.
    """
    context.require_store(id_)
    with context.writing() as store:
        memory = context.find_memory(store, id_)
        _require_person(memory)
        learned = [question for question in memory.questions if question.by == LEARNED]
        if not learned:
            raise UsageError(f"{memory.id} has learned no question", "`subcog why --missed MEMORY` teaches it one")
        needs = _needs_at(choice)
        removed = [question for question in learned if question.text in (needs or ())]
        if not removed and (choice.id is None or needs is None) and len(learned) == 1:
            removed = learned
        if not removed:
            reason = (
                "learned nothing from that prompt" if needs is not None else f"learned {pluralize(len(learned), 'question')}"
            )
            raise UsageError(f"{memory.id} has {reason}", f"`subcog edit {memory.id}` shows its questions, and changes them")
        remaining = tuple(question for question in memory.questions if question not in removed)
        amend(memory, lambda stored: apply_changes(stored, {"questions": remaining}), store, [])
        context.update_index_and_vectors(store)
    for question in removed:
        terminal.say(f"no longer a question that {memory.id} answers: {question.text!r}")


def _needs_at(choice: PromptChoice) -> list[str] | None:
    try:
        with lookup.open_state() as state:
            missed = choice.find(state, ONLY_PROMPTS)
    except NoDecision:
        return None
    return remedies.needs_of(missed) if missed.prompt is not None else None
