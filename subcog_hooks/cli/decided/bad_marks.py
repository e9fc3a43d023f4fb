"""Marks: a person's word that a memory was wrong for the prompt of a decision, and that word taken back."""

from subcog_hooks.cli.decided import decisions
from subcog_hooks.cli.support import author, session
from subcog_hooks.cli.support.output import safe, terminal
from subcog_hooks.errors import UsageError
from subcog_hooks.hooks.payload import PROMPT_EVENT, START_EVENT
from subcog_hooks.memory.model import now_ms
from subcog_hooks.memory.store import Mark, Store
from subcog_hooks.recall import marks
from subcog_hooks.state import decision_log
from subcog_hooks.state.connection import State
from subcog_hooks.state.decision import Decision
from subcog_hooks.state.decision_log import MAX_DECISIONS
from subcog_hooks.text.typed import asked_in


def mark(id_: str, decision: str | None) -> None:
    """Mark a memory as wrong for the prompt of a decision. Raises NoDecision, NoMemory, UsageError."""
    if author.is_agent():
        raise UsageError("a mark is the person's word, and this command is run by an agent", "the person runs it")
    with decisions.opened() as state:
        found = _meant(state, id_, decision)
    if found.event != PROMPT_EVENT:
        raise UsageError(
            f"{found.id} was {decisions.occasion_of(found)}, and no prompt that others could be like", _instead(found, id_)
        )
    if found.prompt is None:
        raise UsageError(
            f"the prompt of {found.id} was not kept, so nothing can be like it",
            decisions.why_not_kept(),
        )
    session.require_store(id_)
    with session.writing() as store:
        memory = session.find(store, id_)
        if memory.status == "deleted":
            raise UsageError(f"{memory.id} is forgotten", "it is not handed over any more")
        asked = _terms(found, store)
        if not asked:
            raise UsageError(f"the prompt of {found.id} has no words to know it by", "nothing was marked")
        store.mark(Mark(memory.seq, found.id, marks.to_text(asked), now_ms()))
    if memory.id not in [candidate.id for candidate in found.candidates]:
        terminal.say(f"{memory.id} was not among what was found there")
    terminal.say(f"marked as wrong for prompts like {decisions.prompt_of(found, decisions.WORDS)!r}: {decisions.named(memory)}")
    terminal.say(f"`subcog why --bad {memory.id} {found.id} --undo` takes it back")


def _meant(state: State, id_: str, decision: str | None) -> Decision:
    """Return the decision where a memory was wrong: the one that is named, else the latest prompt.

    A later event at which the memory was handed over goes before that prompt; where a second look had found it, the prompt
    that was looked at again. Raises NoDecision, UsageError.
    """
    if decision:
        return decisions.find(state, decision)
    for one in decision_log.latest(state, MAX_DECISIONS):
        if one.event == PROMPT_EVENT or (id_ and any(given.startswith(id_) for given in one.injected)):
            return decision_log.prompt_behind(state, one, id_) or one
    return decisions.find_prompt(state, None, "")


def _instead(decision: Decision, id_: str) -> str:
    """Return what helps where a mark does not."""
    means = "priority and conditions" if decision.event == START_EVENT else "paths and triggers"
    return f"`subcog edit {safe(id_)[:80]}` changes its {means}"


def take_back(id_: str, decision: str | None) -> None:
    """Take away the marks of a memory that were made for a prompt, or for one like it. Raises NoDecision, NoMemory, UsageError.

    Of a decision that is no longer kept the mark itself is known by its id.
    """
    session.require_store(id_)
    with session.writing() as store:
        memory = session.find(store, id_)
        made = store.marks([memory.seq])
        if not made:
            raise UsageError(f"{memory.id} is not marked", "`subcog why --bad MEMORY` marks one")
        gone = _choose_marks(store, made, decision)
        if not gone:
            raise UsageError(f"{memory.id} is not marked for that prompt", f"it is for those of {_ids(made)}: name one of them")
        store.unmark(memory.seq, [mark.decision for mark in gone])
    terminal.say(f"no longer marked as wrong ({', '.join(mark.decision for mark in gone)}): {decisions.named(memory)}")


def _choose_marks(store: Store, made: list[Mark], decision: str | None) -> list[Mark]:
    """Return the marks made for the prompt of a decision; where there are none, those that lower the memory for it."""
    named = [mark for mark in made if decision and mark.decision.startswith(decision)]
    if len({mark.decision for mark in named}) == 1:
        return named
    with decisions.opened() as state:
        found = decisions.find_prompt(state, decision, f"it is marked for those of {_ids(made)}: name one of them")
    asked = _terms(found, store)
    left = {mark.decision: marks.factor(marks.overlap(asked, marks.from_text(mark.terms))) for mark in made}
    of_it = [mark for mark in made if mark.decision == found.id or not left[mark.decision]]
    return of_it or [mark for mark in made if left[mark.decision] < 1.0]


def _ids(made: list[Mark]) -> str:
    return ", ".join(dict.fromkeys(mark.decision for mark in made))


def _terms(decision: Decision, store: Store) -> dict[str, float]:
    """Return what was asked there: a prompt that goes on from the one before is known by what it borrowed, too."""
    if decision.prompt is None:
        return {}
    return marks.terms("\n".join((asked_in(decision.prompt), *decision.borrowed)), session.index_of(store))
