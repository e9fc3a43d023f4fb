"""The view of an answer of recall that people read: a table, lines where there is no terminal, with its reasons."""

from rich.console import RenderableType
from rich.text import Text

from subcog_hooks.cli.support.output import DIM, day, safe, terminal
from subcog_hooks.cli.support.results import ResultPage, say_remarks
from subcog_hooks.cli.support.views import memories_view
from subcog_hooks.recall.hits import LOW, SPECULATIVE, Answer, Hit

PREVIEW = 600  # characters of a memory in the table; `show` has all of it
WEAK = "yellow"


def show(found: ResultPage, *, is_explained: bool) -> None:
    """Print one page of an answer."""
    answer = found.answer
    say_remarks(found)
    if answer.hits and terminal.out.is_terminal and not is_explained:
        terminal.out.print(view(answer))
    else:
        for number, hit in enumerate(answer.hits, found.offset + 1):
            memory = hit.memory
            said = "" if memory.status == "active" else f"  ({memory.status})"
            terminal.result(f"{memory.id}  {memory.namespace}  {day(memory.created_at)}  {safe(memory.content)}{said}")
            if is_explained:
                terminal.result("\n".join(f"    {line}" for line in _reasons(found.text, answer, hit, number)))
    if answer.hits and found.offset and terminal.out.is_terminal:
        terminal.say(f"from result {found.offset + 1}")


def view(answer: Answer) -> RenderableType:
    """Return the hits of an answer, for a terminal."""
    return memories_view([hit.memory for hit in answer.hits], PREVIEW, [_confidence(answer, hit) for hit in answer.hits])


def _confidence(answer: Answer, hit: Hit) -> Text:
    """Return how sure the answer is of a hit: its label and its relevance; what is weak stands out."""
    label = answer.confidence_of(hit)
    return Text(f"{label.replace('_', ' ')} {hit.relevance:.2f}", style=WEAK if label in (LOW, SPECULATIVE) else DIM)


def _reasons(text: str, answer: Answer, hit: Hit, number: int) -> list[str]:
    """Return the reasons why a hit stands where it stands, in lines."""
    channels = [
        f"{name} {f'rank {hit.ranks[name]}, ' if name in hit.ranks else ''}{hit.scores.get(name, 0.0):g}"
        for name in dict.fromkeys((*hit.ranks, *hit.scores))
    ]
    read_as = "" if answer.read_as in (None, text) else f", read as {safe(str(answer.read_as))!r}"
    lines = [
        f"{number}. score {hit.score:g}, relevance {hit.relevance:g}, confidence {answer.confidence_of(hit)}",
        "found by " + "; ".join(channels),
        f"{answer.query_type} query{read_as}; meaning has a share of {answer.alpha:g} ({answer.alpha_reason})",
    ]
    if hit.labels:
        lines.append("tags in the query: " + ", ".join(map(safe, hit.labels)))
    if hit.asked_like:
        lines.append(f"asked like this: {safe(hit.asked_like)}")
    if hit.recency < 1.0:
        lines.append(f"age leaves {hit.recency:.2f} of the score")
    return lines
