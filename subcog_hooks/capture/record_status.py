"""The status that a decision record gives itself. A status counts where it is all that its line says.

"Superseded by ADR-7 for the driver app; still holds for the web client" says more, and hides nothing.
"""

import re

HOLDING = ("accepted", "approved", "proposed", "draft", "implemented", "active")
ENDED = ("superseded", "deprecated", "rejected", "obsolete")

LONGEST = 300  # characters of a line that may be a status
_SPELT = {"superceded": "superseded"}  # as adr-tools writes it
_STRUCK_OUT = re.compile(r"~~[^~]*~~")
_LINK = re.compile(r"\[\[[^\[\]]*\]\]|\[[^\[\]]*\](?:\([^()]*\)|\[[^\[\]]*\])?")
_BESIDE = frozenset("and by with in favor favour of on since replaced adr mdr rfc decision record no number".split())
_REFERENCE = re.compile(r"(?:adr|mdr|rfc|decision)?[-_]?\d[\w-]*(?:\.(?:md|markdown|mdx|adoc|rst))?")  # dates, too
_EDGES = "*_`\"'.,;:()#&→>-"
_LABELLED = re.compile(  # with the lines that go on with it
    r"^[ \t]*(?:[-*][ \t]+)?(?:\*\*Status:\*\*|\*\*Status\*\*:|Status:)[ \t]*"
    r"(\S.*(?:\n(?=[ \t]*[^\s*#>-])(?![ \t]*[A-Z][a-z]+:).*)*)",
    re.MULTILINE | re.IGNORECASE,
)
_SECTION = re.compile(r"^#{1,4}[ \t]*Status[ \t]*#*[ \t]*\n((?:(?!#{1,6}[ \t]).*\n?)*?)(?=^#|\Z)", re.MULTILINE | re.IGNORECASE)


def read(value: str) -> str:
    """Return the status that a text is, "" where it says anything else, too.

    >>> read("Superseded by [0007](0007-queues.md)"), read("**Deprecated** (2024-03-01)."), read("Accepted")
    ('superseded', 'deprecated', 'accepted')
    >>> read("superseded by ADR-7 for the driver app; still holds for the web client")
    ''
    """
    if len(value) > LONGEST:
        return ""
    text = _LINK.sub(" 0 ", _STRUCK_OUT.sub(" ", value))
    words = [word for word in (word.strip(_EDGES).lower() for word in text.split()) if any(map(str.isalnum, word))]
    told = [_SPELT.get(word, word) for word in words]
    if not told or told[0] not in HOLDING + ENDED:
        return ""
    for word in told:
        if word not in HOLDING + ENDED and word not in _BESIDE and not _REFERENCE.fullmatch(word):
            return ""
    return next((word for word in told if word in ENDED), told[0])


def stated(text: str) -> str:
    """Return the status in a record's only `Status:` line or section of that name; "" where there is none, or are several."""
    labelled = [found[1] for found in _LABELLED.finditer(text)]
    sections = [found[1] for found in _SECTION.finditer(text)]
    if len(labelled) + len(sections) != 1:
        return ""
    return read(labelled[0]) if labelled else _read_section(sections[0])


def _read_section(body: str) -> str:
    """Return the status of a section from paragraphs that are nothing but statuses: one that has ended it, else the first."""
    told: list[str] = []
    for paragraph in re.split(r"\n[ \t]*\n", body.strip()):
        lines = [read(line.lstrip("-*+ \t")) for line in paragraph.strip().split("\n")]
        told += lines if all(lines) else filter(None, [read(paragraph)])
    return next((word for word in told if word in ENDED), told[0] if told else "")
