"""Commits and merged requests that give a reason: "because", "instead of", "so that", and reverts with a reason.

A reason is the commit's subject and the paragraph with the reason. Few are taken, and all wait for review. The patterns were
tuned by eye on three public histories; the misleading kinds are left out below.
"""

import re
from collections.abc import Iterable
from itertools import pairwise

from subcog_hooks.capture.sources.git_history import Commit
from subcog_hooks.capture.sources.source_reading import SourceReading
from subcog_hooks.store.memory import PENDING, hash_content

GIT = "git"
MAX_REASONS = 300  # the newest commits; nobody reviews more
MAX_REASON_LENGTH = 700  # characters with the subject line
MIN_REASON_LENGTH = 40  # characters of the sentence with the reason
MIN_REASON_WORDS = 7  # words of the sentence with the reason

_CAUSE = re.compile(  # "instead of" alone names a change without a cause
    r"\b(?:because|so that|otherwise|since (?:it|the|this|they)|to (?:avoid|prevent)|would|too (?:slow|large|many|long)"
    r"|(?:fast|slow|saf)er|breaks?|broke|fails?|failed|loses?|lost|leaks?|races?|dead ?locks?|no longer)\b",
    re.IGNORECASE,
)
_REASONS = {  # the kinds of reasons
    "because": re.compile(r"\bbecause\b(?! of (?:this|that)\b)", re.IGNORECASE),
    "so that": re.compile(r"\bso that(?: \S+){3}", re.IGNORECASE),
    "instead of": re.compile(r"\b(?:instead of|rather than|in favou?r of)\s+\S", re.IGNORECASE),
}
_HEDGE = re.compile(  # the author was unsure, or did not mean it to last
    r"\b(?:not sure|no idea|don't know|do not know|i think|i believe|i'(?:m|ve|d|ll)|maybe|perhaps|probably|apparently"
    r"|hopefully|for now|temporar(?:y|ily)|investigat(?:e|ing)|for some reason|todo|fixme|hack|kludge|ugly|seems?|i guess|let's"
    r"|workaround)\b"
    r"|^\.\.|(?:\.\.\.|…)$|https?://",
    re.IGNORECASE,
)
_REVERT = re.compile(r'Revert "(?P<what>.+)"$')
_REVERT_NOTE = re.compile(r"This reverts commit [0-9a-f]{7,40}(?:, reversing\s+changes made to [0-9a-f]{7,40})?\s*\.?")
_MERGE_SUBJECT = re.compile(r"(?:Merge pull request #\d+ from |Merge branch '[^']*'|Merge remote-tracking |Merged in )")
_TRAILER = re.compile(
    r"[A-Z][A-Za-z]*(?:-[A-Za-z]+)+: |(?:Closes|Fixes|Resolves|Refs|See|Bug|Issue|Link|Cc|PR|Close|Fix)[: ]+\S+$"
)
_EXCLUDED_SUBJECT = re.compile(
    r"(?:bump|fixup!|squash!|amend!|wip\b|merge (?:branch|tag)|update changelog|release\b|prepare (?:for )?release|version\b"
    r"|(?:chore|build)\(deps|v?\d+\.\d|\[?(?:tests?|ci|docs?|style|lint|format|typo|whitespace)\]?\b"
    r"|(?:fix|correct) (?:a )?typo|minor |update \.?mailmap|.*\b(?:warnings?|copyright|translations?)\b)",
    re.IGNORECASE,
)
_MACHINE = re.compile(r"\[bot\]|\bbot$|dependabot|renovate|greenkeeper|weblate", re.IGNORECASE)
_REQUEST_NUMBER = re.compile(r"\s*\(#\d+\)$")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")
_CODE = re.compile(r"(?:\s{4}|\t|>|\$ |diff |@@|\+\+\+|---|Traceback|\s*at \S+\()")
_CHANGE_OF_FILE = re.compile(  # an entry of a ChangeLog
    r"\*? ?[\w/.-]*\w[./]\w[\w.-]*(?: \([^)]*\)| \[[^\]]*\]|, [\w/.-]+)*:|\([\w, ]+\)(?: \[[^\]]*\])?:"
)


def read_reasons(commits: Iterable[Commit], owner: str) -> SourceReading:
    """Read the commits that give a reason. owner: the project's identity."""
    reading = SourceReading(GIT, f"{owner}/")
    reading.is_whole = False  # a commit beyond the limit is still right
    seen: set[str] = set()
    for commit in commits:
        if _MACHINE.search(commit.author):
            reading.left_out["is a machine's commit"] += 1
            continue
        kind, text = extract_reason(commit.message)
        digest = hash_content(text)
        if not text:
            reading.left_out["states no reason"] += 1
        elif digest in seen:
            reading.left_out["says what another one says"] += 1
        elif len(seen) == MAX_REASONS:
            reading.left_out[f"is older than the {MAX_REASONS} newest with a reason"] += 1
        else:
            seen.add(digest)
            reading.add(kind, commit.id, text, commit.at_ms, owner, namespace="decisions", trust="tool", status=PENDING)
    return reading


def extract_reason(message: str) -> tuple[str, str]:
    """Return how a commit's message gives its reason, and its subject with that reason; two empty texts for none.

    >>> extract_reason("Read the queue at start\\n\\nThe worker keeps its name because a reload lost three jobs.")[1]
    'Read the queue at start\\n\\nThe worker keeps its name because a reload lost three jobs.'
    >>> extract_reason("Fix typo")
    ('', '')
    """
    subject, paragraphs = _split_message(message)
    revert = _REVERT.match(subject)
    if revert and paragraphs and _is_firm(paragraphs[0]):
        return "revert", f"{subject}\n\n{_truncate(paragraphs[0], MAX_REASON_LENGTH - len(subject) - 2)}"
    if not subject or revert or _EXCLUDED_SUBJECT.match(subject):
        return "", ""
    for paragraph in paragraphs:
        sentences = _SENTENCE_END.split(paragraph)
        for number, sentence in enumerate(sentences):
            if kind := _reason_kind(sentence, " ".join(sentences[number : number + 2])):
                max_length = MAX_REASON_LENGTH - len(subject) - 2
                return kind, f"{subject}\n\n{_surrounding_text(sentences, number, max_length)}"
    kind = _reason_kind(subject, subject)
    return (kind, subject) if kind and kind != "so that" else ("", "")


def _split_message(message: str) -> tuple[str, list[str]]:
    """Split a message into its subject line and its paragraphs of prose, each in one line."""
    blocks = [block for block in re.split(r"\n[ \t]*\n", message.replace("\r\n", "\n").strip()) if block.strip()]
    if blocks and _MERGE_SUBJECT.match(blocks[0]):
        blocks = blocks[1:]  # the title of the merged request follows
    if not blocks:
        return "", []
    first, _, rest = blocks[0].partition("\n")
    subject = _REQUEST_NUMBER.sub("", first.strip())
    paragraphs = []
    is_code = False
    for block in [rest, *blocks[1:]]:
        is_fenced = is_code or "```" in block
        is_code ^= block.count("```") % 2 == 1
        lines = [line for line in block.split("\n") if line.strip() and not _TRAILER.match(line)]
        if is_fenced or any(map(_CODE.match, lines)):
            continue
        prose = (_drop_revert_note(text) for text in _join_lines(lines))
        paragraphs += [text for text in prose if text and not _CHANGE_OF_FILE.match(text)]
    return subject, paragraphs


def _join_lines(lines: list[str]) -> list[str]:
    """Join the lines of a block into paragraphs of one line each: a list's entry is a paragraph."""
    starts = [number for number, line in enumerate(lines) if number == 0 or re.match(r"\s*(?:[-*+]|\d+[.)])\s", line)]
    return [
        re.sub(r"^(?:[-*+]|\d+[.)])\s+", "", " ".join(" ".join(lines[start:end]).split()))
        for start, end in pairwise([*starts, len(lines)])
    ]


def _drop_revert_note(paragraph: str) -> str:
    return _REVERT_NOTE.sub("", paragraph).strip()


def _reason_kind(sentence: str, context: str) -> str:
    """Return how a sentence gives a reason, "" for none, a question or a guess. context: the sentence and the next one."""
    if not _is_firm(sentence) or sentence.endswith("?"):
        return ""
    kind = next((kind for kind, pattern in _REASONS.items() if pattern.search(sentence)), "")
    return "" if kind == "instead of" and not _CAUSE.search(context) else kind


def _is_firm(text: str) -> bool:
    """Return whether a text is long enough for a reason, and does not hedge."""
    return len(text) >= MIN_REASON_LENGTH and len(text.split()) >= MIN_REASON_WORDS and not _HEDGE.search(text)


def _surrounding_text(sentences: list[str], number: int, max_length: int) -> str:
    """Return the part of a paragraph around a sentence that fits: earlier sentences first."""
    first = last = number
    while first > 0 and len(" ".join(sentences[first - 1 : last + 1])) <= max_length:
        first -= 1
    while last + 1 < len(sentences) and len(" ".join(sentences[first : last + 2])) <= max_length:
        last += 1
    return _truncate(" ".join(sentences[first : last + 1]), max_length)


def _truncate(text: str, max_length: int) -> str:
    return text if len(text) <= max_length else f"{text[: max(0, max_length - 1)].rsplit(' ', 1)[0]}…"
