"""The gist of a memory in one line: its title, and the sentence that is nearest to a prompt. Pure."""

from __future__ import annotations

from subcog_hooks.hook.block import MAX_GIST
from subcog_hooks.store.memory import BACKGROUND
from subcog_hooks.text.prompt_needs import split_sentences
from subcog_hooks.text.sanitise import utf16_units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_SCANNED = 8_000  # characters of a memory
MAX_TITLE_WORDS = 12  # A longer first line is a sentence.
MAX_TITLE = 60  # characters; the sentence needs the rest of the line.
_HEADING_SEPARATOR = " > "  # between the headings above a section
_EDGES = ".,;:!?()[]{}<>\"'`*_#|"
_STEM_LENGTH = 5  # compared characters of a word: "retries" is near "retry".


def gist_of(content: str, prompt: str) -> str:
    """Return a memory's title and its sentence with the rarest words of the prompt; a short memory as a whole.

    Text behind a line of dashes is left out: in a record, it led to the decision. The result may be longer than MAX_GIST.

    >>> gist_of("Queues\\nCelery stays. It retries three times.", "how many retries has the queue?")
    'Queues Celery stays. It retries three times.'
    >>> long = "Celery was chosen after arq had failed under load, for it has no limits of its own, and nobody could add them."
    >>> gist_of(f"Tools > Queues\\n{long} It retries three times.", "how many retries has the queue?")
    'Queues: It retries three times.'
    """
    content = content[:MAX_SCANNED].partition(BACKGROUND)[0]
    whole = " ".join(content.split())
    if utf16_units(whole) <= MAX_GIST:
        return whole
    first, _, rest = content.partition("\n")
    title = _title_in(first) if rest.strip() else ""
    parts = split_sentences(rest if title else content)
    nearest = parts[_nearest_position(parts, _stems(prompt))] if parts else ""
    return f"{title}: {nearest}" if title and nearest else title or nearest


def _title_in(line: str) -> str:
    """Return the last heading of a memory's first line, "" where the line is a sentence."""
    heading = line.rpartition(_HEADING_SEPARATOR)[2].strip(" #*").rstrip(":")
    return heading[:MAX_TITLE].rstrip() if heading and len(heading.split()) <= MAX_TITLE_WORDS else ""


def _nearest_position(parts: Sequence[str], prompt_stems: frozenset[str]) -> int:
    """Return the position of the sentence that shares the rarest words with the prompt, the first of equals."""
    stems = [_stems(part) for part in parts]
    counts: dict[str, int] = {}
    for part_stems in stems:
        for stem in part_stems & prompt_stems:
            counts[stem] = counts.get(stem, 0) + 1
    scores = [sum([1.0 / counts[stem] for stem in sorted(part_stems & prompt_stems)]) for part_stems in stems]
    return scores.index(max(scores))


def _stems(text: str) -> frozenset[str]:
    """Return the beginnings of the words of a text, without short words."""
    words = [word.strip(_EDGES).lower() for word in text.split()]
    return frozenset([word[:_STEM_LENGTH] for word in words if len(word) > 3 or any(map(str.isdigit, word))])
