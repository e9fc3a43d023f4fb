"""Memories and prompts out of documentation: what stands under a heading is a memory, and a heading that asks is a prompt.

The heading is taken away from its memory, so that the two share no more words than a question and its answer do. What is
chosen is ordered by hashes of names and texts: the same each time, and little else when a source is added.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

STORES = 7  # of about ten projects each
ASKED = 25  # prompts of one project that are questions, or stand on a page of answers
TITLES = 6  # and that are titles: most say what a section is about, not what somebody wants to know
OTHERS = 130  # memories of one project that answer none of its prompts
CHANGES = 150  # entries of change logs of one project: when there are so many, no further page is read
SHORTEST, LONGEST, KEPT = 80, 6_000, 3_500  # characters of a section, and how many of them a memory has
CREATED = "2026-01-01T00:00:00Z"

QUESTION, ADVICE, TITLE = "question", "advice", "title"  # kinds of headings that are prompts; "" for the others

_FOREIGN = re.compile(
    r"locale|/po/|translations|/api/|_build|autodoc|/_static|vendor|node_modules|/tests?/|/[a-z]{2}_[A-Z]{2}/"
    r"|docs/(?:ja|zh|de|es|fr|ru|pt)/"
)
_ADVICE = re.compile(r"faq|trouble|known.?issues|questions|howto|how-to|gotcha|tips|common|problem")
_CHANGES = re.compile(r"change|history|news|release")


class Section(NamedTuple):
    """A heading ("" for none) and what stands under it."""

    heading: str
    body: str


class Memory(NamedTuple):
    """A section, or an entry of a change log. kind: of its heading as a prompt."""

    project: str
    page: str
    namespace: str
    content: str
    heading: str = ""
    kind: str = ""

    @property
    def id(self) -> str:
        return "x" + _hash(self.content)[:11]


class Prompt(NamedTuple):
    """A question, and the id of the memory that answers it."""

    text: str
    project: str
    answer: str


class Store(NamedTuple):
    """The memories of some projects, and the prompts that they answer."""

    name: str
    memories: list[Memory]
    prompts: list[Prompt]

    def write(self, folder: str) -> str:
        """Write a file that `subcog import` reads; return its path."""
        path = os.path.join(folder, self.name, "memories.jsonl")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            for memory in self.memories:
                tags = [memory.project, memory.namespace, memory.page]
                row = {"id": memory.id, "content": memory.content, "namespace": memory.namespace, "tags": tags}
                file.write(json.dumps({**row, "created_at": CREATED}, ensure_ascii=False) + "\n")
        return path


def stores(documentation: Mapping[str, Mapping[str, str]], count: int = STORES) -> list[Store]:
    """Turn the projects' pages, by project and path, into `count` stores, each of the projects that fall to it."""
    found = [Store(f"documentation-{number}", [], []) for number in range(count)]
    for place, project in enumerate(sorted(documentation, key=_hash)):
        memories, prompts = chosen(memories_of(project, documentation[project]))
        found[place % count].memories.extend(memories)
        found[place % count].prompts.extend(prompts)
    return found


def chosen(memories: Sequence[Memory]) -> tuple[list[Memory], list[Prompt]]:
    """Choose one project's memories that answer a prompt, and some others; return them and the prompts."""
    by_hash = sorted(memories, key=lambda memory: memory.id)
    answers = [memory for memory in by_hash if memory.kind in (QUESTION, ADVICE)][:ASKED]
    answers += [memory for memory in by_hash if memory.kind == TITLE][:TITLES]
    ids = {memory.id for memory in answers}
    others = [memory for memory in by_hash if memory.id not in ids][:OTHERS]
    return answers + others, [Prompt(memory.heading, memory.project, memory.id) for memory in answers]


def memories_of(project: str, pages: Mapping[str, str]) -> list[Memory]:
    """Return all memories that a project's pages make, each content once."""
    found: dict[str, Memory] = {}
    changes = 0
    for path, text in sorted(pages.items()):
        if _FOREIGN.search(path):
            continue
        name = os.path.basename(path).rsplit(".", 1)[0]
        parts = sections(text, is_markdown=path.endswith(".md"))
        if not _CHANGES.search(path.lower()):
            made = list(_answers(project, name, parts, is_advice=_ADVICE.search(path.lower()) is not None))
        else:
            made = list(_entries(project, name, parts)) if changes < CHANGES else []
            changes += len(made)
        for memory in made:
            found.setdefault(memory.content, memory)
    return list(found.values())


def _answers(project: str, page: str, parts: Iterable[Section], *, is_advice: bool) -> Iterator[Memory]:
    """Yield sections as memories, of which the headings may be prompts."""
    namespace = "learning" if is_advice else "pattern"
    title = page.replace("_", " ").replace("-", " ")
    for part in parts:
        body = _without_markup(part.body)
        if _is_prose(body):
            heading = plain(part.heading)
            content = f"{project}: {title}\n{body}"[:KEPT]
            yield Memory(project, page, namespace, content, heading, kind_of(heading, is_advice=is_advice))


def _entries(project: str, page: str, parts: Iterable[Section]) -> Iterator[Memory]:
    """Yield the items of a change log's lists as memories. None of them is asked for: many say nearly the same."""
    for part in parts:
        body = _without_markup(part.body)
        if _is_prose(body):
            for item in re.split(r"\n\s*[-*+•]\s+", body)[1:40]:
                if 60 < len(item.strip()) < 900:
                    yield Memory(project, page, "change", f"{project} {plain(part.heading)[:40]}: {item.strip()}")


def kind_of(heading: str, *, is_advice: bool) -> str:
    """Tell what kind of prompt a heading is, "" for none. is_advice: it stands on a page of questions or of troubles.

    >>> kind_of("Why is my task run twice?", is_advice=False), kind_of("Installation", is_advice=False)
    ('question', '')
    """
    words = len(heading.split())
    if heading.endswith("?") and words >= 3:
        return QUESTION
    if is_advice and words >= 4:
        return ADVICE
    return TITLE if words >= 5 and not re.search(r"\d+\.\d+", heading) else ""


_NUMBER_SIGNS = re.compile(r"#{1,6}\s+(.+?)\s*#*\s*$")
_LINE = re.compile(r"([=\-~^*\"+#`:.'_])\1{2,}\s*$")


def sections(text: str, *, is_markdown: bool) -> Iterator[Section]:
    """Yield the parts of a page in Markdown or reStructuredText; headings have `#`, a line under them, or around them."""
    lines = text.replace("\r", "").split("\n")
    heading = ""
    body: list[str] = []
    is_code = is_under = False
    followed = [*lines, "", ""]
    for line, after, later in zip(lines, followed[1:], followed[2:], strict=False):
        if is_under:  # the line under a heading
            is_under = False
            continue
        if is_markdown and line.strip().startswith("```"):
            is_code = not is_code
        marked = _NUMBER_SIGNS.match(line) if is_markdown and not is_code else None
        is_under = not marked and not is_code and _is_underlined(line, after)
        if marked or is_under:
            yield Section(heading, "\n".join(body).strip())
            heading, body = marked[1] if marked else line.strip(), []
        elif is_markdown or not (_LINE.match(line) and _LINE.match(later)):
            body.append(line)
    yield Section(heading, "\n".join(body).strip())


def _is_underlined(line: str, after: str) -> bool:
    if not line.strip() or line[0].isspace() or len(line) >= 140 or _LINE.match(line) or not _LINE.match(after):
        return False
    return len(after.strip()) >= min(len(line.strip()), 4)


def plain(heading: str) -> str:
    """Return a heading as somebody would type it.

    >>> plain("3.2. Why does :ref:`the worker <worker>` *hang*?")
    'Why does the worker hang?'
    """
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    heading = re.sub(r":\w+:`~?([^`<]*?)\s*(?:<[^>]*>)?`", r"\1", heading)
    heading = re.sub(r"[`*_]{1,2}|\{#.*?\}|<[^>]*>", "", heading)
    return re.sub(r"^\d+(\.\d+)*[.)]?\s+", "", heading).strip(" #")


def _without_markup(body: str) -> str:
    """Return a section without targets, and without directives that only build the page."""
    body = re.sub(r"(?m)^\.\. _.*$|^\(.*\)=$", "", body)
    body = re.sub(r"(?m)^\.\. (?:index|contents|toctree|currentmodule|module|highlight)::.*(?:\n[ \t]+.*)*", "", body)
    return re.sub(r"\n{3,}", "\n\n", body).strip()


def _is_prose(body: str) -> bool:
    """Tell whether a section says something in sentences, and in English as far as its letters tell."""
    if not SHORTEST <= len(body) <= LONGEST or sum(character.isascii() for character in body) < 0.95 * len(body):
        return False
    return len(re.sub(r"(?m)^(?:\s{2,}|>>>|\.\.|:).*$", "", body)) >= SHORTEST


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
