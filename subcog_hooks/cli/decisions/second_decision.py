"""`subcog why --again`: decide an earlier prompt again with today's store and settings, and compare."""

import json
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from subcog_hooks.cli.decisions import decision_view, lookup
from subcog_hooks.cli.decisions.decision_view import RIGHT, WRONG
from subcog_hooks.cli.decisions.lookup import PromptChoice
from subcog_hooks.cli.decisions.remedies import Rerun
from subcog_hooks.cli.support import context
from subcog_hooks.cli.support.output import ACCENT, DIM, count_memories, safe, terminal
from subcog_hooks.core.errors import NoMemory, UsageError
from subcog_hooks.redaction.masking import MASK
from subcog_hooks.store.decision import INJECTED, MAX_PROMPT, SPOKE, Candidate, Decision
from subcog_hooks.store.memory import Memory

MIN_DIFFERENCE = 0.05  # a smaller difference in relevance alone is not shown


class Change(NamedTuple):
    """A memory's earlier and present judgement; None if it was no candidate."""

    id: str
    was: Candidate | None
    now: Candidate | None


def compare_with_today(choice: PromptChoice, *, as_json: bool) -> None:
    """Decide about an earlier prompt again, as the hook would today, and show the changes. Nothing is stored.

    Raises NoDecision, NoMemory, UsageError.
    """
    with lookup.open_state() as state:
        earlier = choice.find(state, "only a prompt can be decided again; `subcog why --list` shows them")
        given_ids = lookup.ids_given_before(state, earlier)
    if earlier.prompt is None:
        raise UsageError(f"the prompt of {earlier.id} was not kept, so it cannot be asked again", lookup.why_not_stored())
    if not context.has_store(context.home()):
        raise NoMemory("there are no memories", "`subcog remember` makes the first")
    for remark in _remarks_on(earlier):
        terminal.say(remark)
    today = _decide_again(earlier, given_ids)
    changes, unchanged = _compare_decisions(earlier, today)
    if as_json:
        record = {
            "was": lookup.decision_fields(earlier),
            "is": lookup.decision_fields(today),
            "changes": [{"id": id_, "was": _candidate_record(was), "is": _candidate_record(now)} for id_, was, now in changes],
            "unchanged": unchanged,
        }
        terminal.raw(json.dumps(record, indent=1) + "\n")
        return
    with context.reading() as store:
        memories = store.by_ids([change.id for change in changes]) if store else {}
        terminal.page(_changes_view(earlier, today, changes, unchanged, memories))


def _remarks_on(earlier: Decision) -> list[str]:
    prompt = earlier.prompt or ""
    remarks = []
    if MASK in prompt:
        remarks.append("a secret was taken out of the prompt, which is asked without it")
    if len(prompt) >= MAX_PROMPT:
        remarks.append(f"of the prompt only the first {MAX_PROMPT:,} characters were kept; it is asked with these")
    if earlier.intent is not None and earlier.intent.llm_ms is not None:
        remarks.append("an LLM was asked then; none is now")
    here = context.here()
    if earlier.project and (here is None or here.identity != earlier.project):
        remarks.append(f"a .subcog.toml of {safe(earlier.project)} is only heeded in its folder")
    return remarks


def _decide_again(earlier: Decision, given_ids: set[str]) -> Decision:
    with context.reading() as store:
        if store is not None:
            context.index_of(store)  # a hook without an index is silent
    with lookup.open_state() as state:
        return Rerun(earlier, given_ids, lookup.position_of_prompt(state, earlier), state).decide(context.home())


def _compare_decisions(earlier: Decision, today: Decision) -> tuple[list[Change], int]:
    """Return the memories judged differently now, most relevant first, and the number of unchanged ones."""
    candidates_then = {candidate.id: candidate for candidate in earlier.candidates}
    candidates_now = {candidate.id: candidate for candidate in today.candidates}
    changes = []
    ids = {**candidates_now, **candidates_then}
    for id_ in ids:
        old, new = candidates_then.get(id_), candidates_now.get(id_)
        if old is None or new is None or old.outcome != new.outcome or abs(old.relevance - new.relevance) >= MIN_DIFFERENCE:
            changes.append(Change(id_, old, new))
    return changes, len(ids) - len(changes)


def _candidate_record(candidate: Candidate | None) -> dict[str, object] | None:
    return {"relevance": candidate.relevance, "outcome": candidate.outcome} if candidate else None


def _changes_view(
    earlier: Decision, today: Decision, changes: list[Change], unchanged: int, memories: dict[str, Memory]
) -> RenderableType:
    parts: list[RenderableType] = [
        Text(f"{earlier.id}  {lookup.local_time(earlier.at_ms)}", style=DIM),
        Text(lookup.prompt_text(earlier, decision_view.PREVIEW)),
        "",
        Text.assemble(("was  ", DIM), lookup.sentence(earlier)),
        Text.assemble(("is   ", DIM), (lookup.sentence(today), RIGHT if today.outcome == SPOKE else "yellow")),
    ]
    if changes:
        parts.append("")
    for change in changes:
        style = RIGHT if _is_injected(change.now) else WRONG if _is_injected(change.was) else ""
        head = Text.assemble(
            (f"{safe(change.id)}  ", ACCENT), (f"{_candidate_text(change.was)} -> {_candidate_text(change.now)}", style)
        )
        parts += [head, decision_view.indent(decision_view.first_words(memories.get(change.id)))]
    parts += ["", Text(_changes_summary(changes, unchanged), style=DIM)]
    return Group(*parts)


def _is_injected(candidate: Candidate | None) -> bool:
    return candidate is not None and candidate.outcome == INJECTED


def _candidate_text(candidate: Candidate | None) -> str:
    return f"{candidate.relevance:.2f} {safe(candidate.outcome)}" if candidate else "not found"


def _changes_summary(changes: list[Change], unchanged: int) -> str:
    if not changes:
        return "nothing has changed"
    verb = "is" if unchanged == 1 else "are"
    return f"{count_memories(unchanged)} {verb} judged as before" if unchanged else "no memory is judged as before"
