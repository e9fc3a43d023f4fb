"""Commits and merged requests that say why: "because", "instead of", "so that", and reverts with a reason.

Few and self-contained ones: what was done, and the paragraph with the reason. What a person has not confirmed is a guess: they
wait for review. Measured by eye on three public histories; what misled there is left out below.
"""

import re
from collections.abc import Iterable
from itertools import pairwise

from subcog_hooks.capture.sources.git_history import Commit
from subcog_hooks.capture.sources.source_reading import SourceReading
from subcog_hooks.store.memory import PENDING, hash_content

GIT = "git"
MOST_REASONS = 300  # the newest; a review of more is never finished
LONGEST_REASON = 700  # characters, with the line that says what was done
SHORTEST_REASON = 40  # characters of the sentence that has it
FEWEST_WORDS = 7  # of that sentence

_CAUSE = re.compile(  # "instead of" alone tells what was changed, and not why
    r"\b(?:because|so that|otherwise|since (?:it|the|this|they)|to (?:avoid|prevent)|would|too (?:slow|large|many|long)"
    r"|(?:fast|slow|saf)er|breaks?|broke|fails?|failed|loses?|lost|leaks?|races?|dead ?locks?|no longer)\b",
    re.IGNORECASE,
)
_REASONS = {  # each the kind that is shown
    "because": re.compile(r"\bbecause\b(?! of (?:this|that)\b)", re.IGNORECASE),
    "so that": re.compile(r"\bso that(?: \S+){3}", re.IGNORECASE),
    "instead of": re.compile(r"\b(?:instead of|rather than|in favou?r of)\s+\S", re.IGNORECASE),
}
_HEDGED = re.compile(  # who wrote it did not know, thought aloud, or did not mean it to last
    r"\b(?:not sure|no idea|don't know|do not know|i think|i believe|i'(?:m|ve|d|ll)|maybe|perhaps|probably|apparently"
    r"|hopefully|for now|temporar(?:y|ily)|investigat(?:e|ing)|for some reason|todo|fixme|hack|kludge|ugly|seems?|i guess|let's"
    r"|workaround)\b"
    r"|^\.\.|(?:\.\.\.|…)$|https?://",
    re.IGNORECASE,
)
_REVERT = re.compile(r'Revert "(?P<what>.+)"$')
_REVERTED = re.compile(r"This reverts commit [0-9a-f]{7,40}(?:, reversing\s+changes made to [0-9a-f]{7,40})?\s*\.?")
_MERGED = re.compile(r"(?:Merge pull request #\d+ from |Merge branch '[^']*'|Merge remote-tracking |Merged in )")
_TRAILER = re.compile(
    r"[A-Z][A-Za-z]*(?:-[A-Za-z]+)+: |(?:Closes|Fixes|Resolves|Refs|See|Bug|Issue|Link|Cc|PR|Close|Fix)[: ]+\S+$"
)
_LEFT_OUT_SUBJECT = re.compile(
    r"(?:bump|fixup!|squash!|amend!|wip\b|merge (?:branch|tag)|update changelog|release\b|prepare (?:for )?release|version\b"
    r"|(?:chore|build)\(deps|v?\d+\.\d|\[?(?:tests?|ci|docs?|style|lint|format|typo|whitespace)\]?\b"
    r"|(?:fix|correct) (?:a )?typo|minor |update \.?mailmap|.*\b(?:warnings?|copyright|translations?)\b)",
    re.IGNORECASE,
)
_MACHINE = re.compile(r"\[bot\]|\bbot$|dependabot|renovate|greenkeeper|weblate", re.IGNORECASE)
_NUMBERED = re.compile(r"\s*\(#\d+\)$")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")
_CODE = re.compile(r"(?:\s{4}|\t|>|\$ |diff |@@|\+\+\+|---|Traceback|\s*at \S+\()")
_CHANGE_OF_FILE = re.compile(  # an entry of a ChangeLog
    r"\*? ?[\w/.-]*\w[./]\w[\w.-]*(?: \([^)]*\)| \[[^\]]*\]|, [\w/.-]+)*:|\([\w, ]+\)(?: \[[^\]]*\])?:"
)


def read(commits: Iterable[Commit], owner: str) -> SourceReading:
    """Return the commits that state a reason. owner: the project's identity."""
    reading = SourceReading(GIT, f"{owner}/")
    reading.is_whole = False  # a commit that is no longer among those looked at has not become wrong
    seen: set[str] = set()
    for commit in commits:
        if _MACHINE.search(commit.author):
            reading.left_out["is a machine's commit"] += 1
            continue
        kind, text = stated_reason(commit.message)
        told = hash_content(text)
        if not text:
            reading.left_out["states no reason"] += 1
        elif told in seen:
            reading.left_out["says what another one says"] += 1
        elif len(seen) == MOST_REASONS:
            reading.left_out[f"is older than the {MOST_REASONS} newest with a reason"] += 1
        else:
            seen.add(told)
            reading.add(kind, commit.id, text, commit.at, owner, namespace="decisions", trust="tool", status=PENDING)
    return reading


def stated_reason(message: str) -> tuple[str, str]:
    """Return how a commit's message states its reason, and what was done with that reason; two empty texts for none.

    >>> stated_reason("Read the queue at start\\n\\nThe worker keeps its name because a reload lost three jobs.")[1]
    'Read the queue at start\\n\\nThe worker keeps its name because a reload lost three jobs.'
    >>> stated_reason("Fix typo")
    ('', '')
    """
    subject, paragraphs = _taken_apart(message)
    revert = _REVERT.match(subject)
    if revert and paragraphs and _is_firm(paragraphs[0]):
        return "revert", f"{subject}\n\n{_cut(paragraphs[0], LONGEST_REASON - len(subject) - 2)}"
    if not subject or revert or _LEFT_OUT_SUBJECT.match(subject):
        return "", ""
    for paragraph in paragraphs:
        sentences = _SENTENCE_END.split(paragraph)
        for number, sentence in enumerate(sentences):
            if kind := _kind_of(sentence, " ".join(sentences[number : number + 2])):
                room = LONGEST_REASON - len(subject) - 2
                return kind, f"{subject}\n\n{_around(sentences, number, room)}"
    kind = _kind_of(subject, subject)
    return (kind, subject) if kind and kind != "so that" else ("", "")


def _taken_apart(message: str) -> tuple[str, list[str]]:
    """Return the line that says what was done, and the paragraphs of prose below it, each in one line."""
    blocks = [block for block in re.split(r"\n[ \t]*\n", message.replace("\r\n", "\n").strip()) if block.strip()]
    if blocks and _MERGED.match(blocks[0]):
        blocks = blocks[1:]  # what was merged says its title below
    if not blocks:
        return "", []
    first, _, rest = blocks[0].partition("\n")
    subject = _NUMBERED.sub("", first.strip())
    paragraphs = []
    is_code = False
    for block in [rest, *blocks[1:]]:
        is_fenced = is_code or "```" in block
        is_code ^= block.count("```") % 2 == 1
        lines = [line for line in block.split("\n") if line.strip() and not _TRAILER.match(line)]
        if is_fenced or any(map(_CODE.match, lines)):
            continue
        prose = (_without_reverted(text) for text in _joined(lines))
        paragraphs += [text for text in prose if text and not _CHANGE_OF_FILE.match(text)]
    return subject, paragraphs


def _joined(lines: list[str]) -> list[str]:
    """Return the lines of a block as paragraphs of one line each: an entry of a list is one of its own."""
    starts = [number for number, line in enumerate(lines) if number == 0 or re.match(r"\s*(?:[-*+]|\d+[.)])\s", line)]
    return [
        re.sub(r"^(?:[-*+]|\d+[.)])\s+", "", " ".join(" ".join(lines[start:end]).split()))
        for start, end in pairwise([*starts, len(lines)])
    ]


def _without_reverted(paragraph: str) -> str:
    return _REVERTED.sub("", paragraph).strip()


def _kind_of(sentence: str, on: str) -> str:
    """Return how a sentence states a reason, "" where it states none, asks or guesses. on: the sentence, and the next one."""
    if not _is_firm(sentence) or sentence.endswith("?"):
        return ""
    kind = next((kind for kind, pattern in _REASONS.items() if pattern.search(sentence)), "")
    return "" if kind == "instead of" and not _CAUSE.search(on) else kind


def _is_firm(text: str) -> bool:
    """Return whether a text is long enough to say something, and says it without hedging."""
    return len(text) >= SHORTEST_REASON and len(text.split()) >= FEWEST_WORDS and not _HEDGED.search(text)


def _around(sentences: list[str], number: int, room: int) -> str:
    """Return as much of a paragraph around a sentence as there is room for: what stands before it first."""
    first = last = number
    while first > 0 and len(" ".join(sentences[first - 1 : last + 1])) <= room:
        first -= 1
    while last + 1 < len(sentences) and len(" ".join(sentences[first : last + 2])) <= room:
        last += 1
    return _cut(" ".join(sentences[first : last + 1]), room)


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: max(0, room - 1)].rsplit(' ', 1)[0]}…"
