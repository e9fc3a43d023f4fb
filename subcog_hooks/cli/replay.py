"""`subcog replay`: a prompt of before, decided anew against today's store and settings, and what comes out otherwise."""

import json
from typing import Annotated, NamedTuple

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from subcog_hooks.cli.decisions import decision_view, lookup
from subcog_hooks.cli.decisions.decision_view import RIGHT, WRONG
from subcog_hooks.cli.decisions.remedies import Rerun
from subcog_hooks.cli.support import completion, context
from subcog_hooks.cli.support.output import ACCENT, DIM, counted, safe, terminal
from subcog_hooks.core.errors import NoMemory, UsageError
from subcog_hooks.redaction.leaks import MASK
from subcog_hooks.store.decision import INJECTED, MAX_PROMPT, SPOKE, Candidate, Decision
from subcog_hooks.store.memory import Memory

NOTABLE = 0.05  # by so much the relevance of a memory has to differ to be told, where nothing else of it does


class Change(NamedTuple):
    """A memory that is judged otherwise: as it was, and as it is; None where it was not looked at."""

    id: str
    was: Candidate | None
    now: Candidate | None


def register(app: typer.Typer) -> None:
    app.command()(replay)


def replay(
    decision: Annotated[
        str | None,
        typer.Argument(
            metavar="DECISION",
            help="The id of a decision, or its beginning; without it, the latest prompt's.",
            autocompletion=completion.decisions,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object with both decisions and their differences.")
    ] = False,
) -> None:
    """Decide about an earlier prompt again, as the hook would today, and show the changes. Nothing is stored.

    Example: subcog replay
    """
    with lookup.opened() as state:
        was = lookup.find_prompt(state, decision, "only a prompt can be replayed; `subcog why --list` shows them")
        given = lookup.given_before(state, was)
    if was.prompt is None:
        raise UsageError(f"the prompt of {was.id} was not kept, so it can not be asked again", lookup.why_not_kept())
    if not context.has_store(context.home()):
        raise NoMemory("there are no memories", "`subcog remember` makes the first")
    for remark in _remarks(was):
        terminal.say(remark)
    now = _again(was, given)
    changes, same = _differences(was, now)
    if as_json:
        known = {
            "was": lookup.described(was),
            "is": lookup.described(now),
            "changes": [{"id": one.id, "was": _told(one.was), "is": _told(one.now)} for one in changes],
            "unchanged": same,
        }
        terminal.raw(json.dumps(known, indent=1) + "\n")
        return
    with context.reading() as store:
        terminal.page(_view(was, now, changes, same, store.by_ids([one.id for one in changes]) if store else {}))


def _remarks(was: Decision) -> list[str]:
    """Return what has changed since then, for reasons other than the store's."""
    prompt = was.prompt or ""
    remarks = []
    if MASK in prompt:
        remarks.append("a secret was taken out of the prompt; it is replayed without")
    if len(prompt) >= MAX_PROMPT:
        remarks.append(f"of the prompt only the first {MAX_PROMPT:,} characters were kept; it is replayed with these")
    if was.intent is not None and was.intent.llm_ms is not None:
        remarks.append("an LLM was asked then; none is now")
    here = context.here()
    if was.project and (here is None or here.identity != was.project):
        remarks.append(f"a .subcog.toml of {safe(was.project)} is only heeded in its folder")
    return remarks


def _again(was: Decision, given: set[str]) -> Decision:
    """Return what the hook would decide now. Raises StoreError."""
    with context.reading() as store:
        if store is not None:
            context.index_of(store)  # a hook that finds none is silent
    with lookup.opened() as state:
        return Rerun(was, given, lookup.place_of(state, was), state).decide(context.home())


def _differences(was: Decision, now: Decision) -> tuple[list[Change], int]:
    """Return the memories that are judged otherwise than before, the most relevant now first, and how many are not."""
    before = {candidate.id: candidate for candidate in was.candidates}
    after = {candidate.id: candidate for candidate in now.candidates}
    changes = []
    for id_ in {**after, **before}:
        one, other = before.get(id_), after.get(id_)
        if one is None or other is None or one.outcome != other.outcome or abs(one.relevance - other.relevance) >= NOTABLE:
            changes.append(Change(id_, one, other))
    return changes, len({**after, **before}) - len(changes)


def _told(candidate: Candidate | None) -> dict[str, object] | None:
    return {"relevance": candidate.relevance, "outcome": candidate.outcome} if candidate else None


# ---- for people -----------------------------------------------------------------------------------------------------------


def _view(was: Decision, now: Decision, changes: list[Change], same: int, memories: dict[str, Memory]) -> RenderableType:
    parts: list[RenderableType] = [
        Text(f"{was.id}  {lookup.moment(was.at)}", style=DIM),
        Text(lookup.prompt_of(was, decision_view.PREVIEW)),
        "",
        Text.assemble(("was  ", DIM), lookup.sentence(was)),
        Text.assemble(("is   ", DIM), (lookup.sentence(now), RIGHT if now.outcome == SPOKE else "yellow")),
    ]
    if changes:
        parts.append("")
    for change in changes:
        style = RIGHT if _is_injected(change.now) else WRONG if _is_injected(change.was) else ""
        head = Text.assemble((f"{safe(change.id)}  ", ACCENT), (f"{_short(change.was)} -> {_short(change.now)}", style))
        parts += [head, decision_view.indented(decision_view.words_of(memories.get(change.id)))]
    parts += ["", Text(_summary(changes, same), style=DIM)]
    return Group(*parts)


def _is_injected(candidate: Candidate | None) -> bool:
    return candidate is not None and candidate.outcome == INJECTED


def _short(candidate: Candidate | None) -> str:
    return f"{candidate.relevance:.2f} {safe(candidate.outcome)}" if candidate else "not found"


def _summary(changes: list[Change], same: int) -> str:
    if not changes:
        return "nothing has changed"
    verb = "is" if same == 1 else "are"
    return f"{counted(same, 'memory', 'memories')} {verb} judged as before" if same else "no memory is judged as before"
