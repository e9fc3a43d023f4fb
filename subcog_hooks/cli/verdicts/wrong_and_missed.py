"""`subcog why bad` and `subcog why missed`: memories marked as wrong or as missing for a prompt."""

from functools import partial
from typing import Annotated

from typer import Argument, Option

from subcog_hooks.cli import embedding
from subcog_hooks.cli.terminal import author, context
from subcog_hooks.cli.terminal.output import nothing_found, safe, terminal
from subcog_hooks.cli.verdicts import lookup, past_prompts
from subcog_hooks.core.errors import UsageError
from subcog_hooks.hook.payload import PROMPT_EVENT, START_EVENT
from subcog_hooks.recall import alike
from subcog_hooks.store import past_runs
from subcog_hooks.store.memory import LEARNED, MAX_QUESTIONS, Memory, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store_reader import Mark
from subcog_hooks.store.verdicts import MAX_VERDICTS, RecordedVerdict
from subcog_hooks.text.typed_prompt import query_text

MemoryId = Annotated[str, Argument(metavar="MEMORY", help="The id of the memory, or its beginning.")]
DecisionId = Annotated[
    str, Argument(metavar="DECISION", help="The id of the decision on the prompt; without it, this project's latest prompt.")
]
Undo = Annotated[bool, Option("--undo", help="Take it back: without a decision, at all prompts.")]


def mark_bad(id_: MemoryId, decision: DecisionId = "", undo: Undo = False) -> None:
    """Mark a memory as wrong for a prompt: it counts less for prompts like it.

    Example: subcog why bad 1m7x59
    """
    if undo:
        _unmark(id_, decision)
        return
    if author.is_agent():
        raise UsageError("a mark is the person's word, and this command is run by an agent", "the person runs it")
    with lookup.open_state() as state:
        marked = _find_marked_verdict(state, id_, decision)
    if marked.event != PROMPT_EVENT:
        fields = "priority and conditions" if marked.event == START_EVENT else "paths and triggers"
        fact = f"{marked.id} was {lookup.event_name(marked)}, not a prompt"
        raise UsageError(fact, f"`subcog edit {safe(id_)[:80]}` changes its {fields}")
    if marked.prompt is None:
        fact = f"the prompt of {marked.id} was not kept, so no other prompt can be compared with it"
        raise UsageError(fact, lookup.why_not_stored())
    with context.reading() as store:
        memory = context.find_memory(store, id_)
    if memory.status == "deleted":
        raise UsageError(f"{memory.id} is forgotten", "it is not handed over any more")
    with context.writing() as store:
        text = "\n".join((query_text(marked.prompt), *marked.borrowed))
        terms = alike.prompt_terms(text, context.index_of(store))
        if not terms:
            raise UsageError(f"the prompt of {marked.id} has no words to recognise it by", "nothing was marked")
        store.mark(Mark(memory.seq, marked.id, alike.terms_to_text(terms), now_ms()))
    if memory.id not in [candidate.id for candidate in marked.candidates]:
        terminal.say(f"{memory.id} was not among the memories found there")
    prompt = lookup.prompt_text(marked, lookup.MAX_CHARS)
    terminal.say(f"marked as wrong for prompts like {prompt!r}: {lookup.memory_line(memory)}")
    terminal.say(f"`subcog why bad {memory.id} {marked.id} --undo` takes it back")


def mark_missed(id_: MemoryId, decision: DecisionId = "", undo: Undo = False) -> None:
    """Say that a prompt missed a memory: the prompt becomes a question that it answers, if that brings it.

    Example: subcog why missed 1m7x59
    """
    if undo:
        _unlearn(id_, decision)
        return
    with lookup.open_state() as state:
        prompt = lookup.find_prompt(state, decision)
        if prompt.prompt is None:
            raise UsageError(f"the prompt of {prompt.id} was not kept, so it teaches nothing", lookup.why_not_stored())
        with context.reading() as store:
            memory = context.find_memory(store, id_)
            _require_teachable(memory, prompt)
            if store and memory.id in past_prompts.find_coming([prompt], store)[0]:
                terminal.say(f"{memory.id} comes to that prompt by now; nothing was learned")
                return
        learned = past_prompts.learn_question(memory, past_prompts.needs_of(prompt), prompt, state)
    if not learned:
        raise nothing_found(f"no question of that prompt brings {memory.id} and takes no other prompt from a memory")
    terminal.say(f"learned: {learned!r} is a question that {memory.id} answers")
    terminal.say(f"`subcog why missed {memory.id} {prompt.id} --undo` takes it back")
    embedding.start_background_jobs()


def _find_marked_verdict(state: State, id_: str, decision: str) -> RecordedVerdict:
    """Return the verdict where a memory was wrong: the named one, else the latest prompt of the project.

    A later event that handed the memory over takes precedence; for a memory of a second look, the prompt of that look. Raises
    NoVerdict, UsageError.
    """
    if decision:
        return lookup.find_verdict(state, decision)
    for candidate in lookup.keep_own(past_runs.find_latest(state, MAX_VERDICTS)):
        if candidate.event == PROMPT_EVENT or (id_ and any(given.startswith(id_) for given in candidate.injected)):
            return past_runs.find_prompt_of_late_memory(state, candidate, id_) or candidate
    return lookup.find_prompt(state)


def _unmark(id_: str, decision: str) -> None:
    """Remove the marks of a memory: all, or those of one verdict, which may have left the record."""
    context.require_store(id_)
    with context.writing() as store:
        memory = context.find_memory(store, id_)
        verdicts = dict.fromkeys(mark.verdict for mark in store.marks([memory.seq]))
        if not verdicts:
            raise UsageError(f"{memory.id} is not marked", "`subcog why bad MEMORY` marks one")
        removed = [verdict for verdict in verdicts if verdict.startswith(decision)]
        if not removed:
            fact = f"{memory.id} is not marked for {safe(decision)[:80]}"
            raise UsageError(fact, f"it is marked for the prompts of {', '.join(verdicts)}")
        if decision and len(removed) > 1:
            raise context.ambiguous_prefix(decision, removed)
        store.unmark(memory.seq, removed)
    terminal.say(f"no longer marked as wrong ({', '.join(removed)}): {lookup.memory_line(memory)}")


def _require_teachable(memory: Memory, prompt: RecordedVerdict) -> None:
    _require_person(memory)
    fact = ""
    if memory.status != "active":
        fact = f"is {memory.status}"
    elif memory.project and memory.project != prompt.project:
        fact = f"is of the project {safe(memory.project)}"
    elif len(memory.questions) >= MAX_QUESTIONS:
        fact = f"has {MAX_QUESTIONS} questions already"
    if fact:
        raise UsageError(f"{memory.id} {fact}", f"`subcog edit {memory.id}` changes that")


def _require_person(memory: Memory) -> None:
    try:
        author.require_consent([memory], as_user=False)
    except UsageError as error:
        raise UsageError(error.message, "the person runs this command") from None


def _unlearn(id_: str, decision: str) -> None:
    """Remove the learned questions of a memory: all, or those learned from one verdict's prompt."""
    context.require_store(id_)
    needs = None
    if decision:
        with lookup.open_state() as state:
            needs = past_prompts.needs_of(lookup.find_prompt(state, decision))
    with context.writing() as store:
        memory = context.find_memory(store, id_)
        _require_person(memory)
        learned = [question for question in memory.questions if question.by == LEARNED]
        if not learned:
            raise UsageError(f"{memory.id} has learned no question", "`subcog why missed MEMORY` teaches it one")
        removed = [question for question in learned if needs is None or question.text in needs]
        if not removed:
            hint = f"`subcog edit {memory.id}` shows its questions, and changes them"
            raise UsageError(f"{memory.id} has learned nothing from that prompt", hint)
        store.modify([memory.id], partial(past_prompts.without_questions, removed=removed))
        context.update_index_and_vectors(store)
    for question in removed:
        terminal.say(f"no longer a question that {memory.id} answers: {question.text!r}")
