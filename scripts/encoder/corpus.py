"""Gather what the query encoder is trained on: lines, made questions, and pairs of a heading with the passage under it."""

import os
import random
import re
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scripts.encoder import readers, sources

QUOTAS = {  # lines of each kind; what is above is dropped by hash, so that the choice stays when sources are added
    "heading": 90_000,
    "question": 60_000,
    "prose": 210_000,
    "speech": 120_000,
    "gloss": 60_000,
    "person": 60_000,  # made questions about people, measured on and not trained on: see build_query_encoder
    "matter": 60_000,  # made questions and orders about headings
    "span": 50_000,  # two to six words out of a line, since prompts are short
}
PER_PACKAGE = {"heading": 2_500, "question": 4_000, "prose": 3_500, "speech": 32_000, "gloss": 25_000}
PAIRS = 26_000
PAIRS_PER_PACKAGE = 600
WORDS = (3, 40)  # of a line
PASSAGE = (12, 75)  # words of the passage in a pair; a longer one is cut

_STOP = frozenset(
    "the a an of to in is are was were be for and or not it that this with on as by you your from at if can will has have had i"
    " he she they we do does did what how why when where who which my me him her no all any but so there their our its use"
    " used using".split()
)
_CODE = re.compile(r"[<>{}|\\=\x00-\x1f]|::|->|\$\w|\w\(\w*\)\w|https?://|_\w+_|^Source code|\w\(\w+, ")
_SENTENCE = re.compile(r"(?<=[.!?])[\"')]?\s+(?=[\"'(]?[A-Z0-9])")
_QUESTION = re.compile(
    r"(?i)^(?:how|why|what|when|where|who|which|can|do|does|did|is|are|should|will|could|may|must|has|have)\b.*\?$"
)

PERSON = (
    """\
When did {name} {verb} the {noun}?|Where did {name} go to {verb}?|What kind of {noun} does {name} have?
Why did {name} decide to {verb}?|How long has {name} been {verbing}?|What did {name} say about the {noun}?
Who gave {name} the {noun}?|What does {name} like about {verbing}?|Which {noun} did {name} and {other} {verb}?
How did {name} feel about the {noun}?|What is {name}'s favorite {noun}?|Who did {name} {verb} with?
Did {name} {verb} a {noun} in {month}?|What are {name}'s plans for the {noun}?|When is {name}'s {noun}?
What did {name} do after {verbing}?|How many {noun}s did {name} {verb}?|What {noun} did {name} tell {other} about?
Who is {name}'s {noun}?|Is {name} still {verbing} the {noun}?|What advice did {name} give {other} about {verbing}?
What does {name} think of {other}'s {noun}?|How often does {name} {verb}?|{name} was {verbing} with {other} on {month} {day}
Where does {name} keep the {noun}?|What happened to {name}'s {noun}?|How does {name} {verb} the {noun}?
What would {name} like to {verb} next {month}?|Why is {name} proud of the {noun}?|When did {name} start {verbing}?
Does {name} {verb} a {noun} and a {noun2}?|What did {other} and {name} talk about in {month}?
What new {noun} did {name} get?|Has {name}'s {noun} been {verbing}?|What inspired {name} to {verb} the {noun}?
my {noun} and {name}'s {noun2}
""".strip()
    .replace("\n", "|")
    .split("|")
)
MATTER = (
    """\
what is {it}?|how does {it} work?|{it} does not work|where is {it} configured?|why do we use {it}?|problem with {it}
what did we decide about {it}?|{it} fails with an error|should we use {it} or {that}?|fix {it}|update {it} and {that}
is there a way to change {it}?|what is the difference between {it} and {that}?|where do we handle {it}?|add tests for {it}
explain {it}|why is {it} so slow?|can I disable {it}?|remember: {it}|who owns {it}?|error in {it}|did we already fix {it}?
which version supports {it}?|document {it}|{it} is broken since the upgrade|best way to test {it}|what replaces {it}?
""".strip()
    .replace("\n", "|")
    .split("|")
)
TASK = (
    """\
how do I {it}?|how to {it}|can I {it}?|why should I {it}?|I want to {it}|{it} without {that}|what happens when I {it}?
please {it}|how can we {it} in production?|is it possible to {it}?|I can not {it}|why can't I {it}?|when should I {it}?
where do I {it}?
""".strip()
    .replace("\n", "|")
    .split("|")
)
MONTHS = "January February March April May June July August September October November December".split()


class Pair(NamedTuple):
    heading: str
    passage: str


class Texts(NamedTuple):
    lines: dict[str, list[str]]  # by the kinds of QUOTAS
    pairs: list[Pair]


def gather(archives: Iterable[str]) -> Texts:
    """Gather lines and pairs of all archives; the same archives give the same texts."""
    lines: dict[str, set[str]] = {kind: set() for kind in QUOTAS}
    pairs: dict[str, Pair] = {}
    verbs: set[str] = set()
    nouns: list[str] = []
    names: list[str] = []
    for path in archives:
        found: dict[str, set[str]] = {kind: set() for kind in PER_PACKAGE}
        own: dict[str, Pair] = {}
        for section in readers.sections(path):
            _take(section, found, own)
        for kind, quota in PER_PACKAGE.items():
            lines[kind].update(_some(found[kind], quota))
        for heading in _some(own, PAIRS_PER_PACKAGE):
            pairs.setdefault(heading, own[heading])
        kept = ", ".join(f"{len(found[kind])} {kind}" for kind in PER_PACKAGE)
        print(f"{os.path.basename(path)}: {kept}, {len(own)} pairs", flush=True)
        for name, content in sources.members(path):
            if name.endswith("/index.verb"):
                verbs.update(_frequent(content))
            elif name.endswith("/index.noun"):
                nouns += _frequent(content)
            elif "/propernames" in name:
                names += readers.decoded(content).split()
    chance = random.Random(0)
    lines["prose"] -= lines["heading"]
    lines["person"].update(_about_people(chance, names, sorted(verbs), nouns))
    lines["matter"].update(_about_matters(chance, sorted(lines["heading"]), verbs))
    lines["span"].update(_spans(chance, sorted(lines["prose"] | lines["speech"])))
    chosen = {kind: _some(lines[kind], quota) for kind, quota in QUOTAS.items()}
    return Texts(chosen, [pairs[heading] for heading in _some(pairs, PAIRS)])


def _some(texts: Iterable[str], quota: int) -> list[str]:
    return sorted(texts, key=lambda text: (zlib.crc32(text.encode("utf-8", "replace")), text))[:quota]


def _take(section: readers.Section, found: dict[str, set[str]], pairs: dict[str, Pair]) -> None:
    heading = section.heading.strip(" :#*=-]")
    if section.kind != "gloss" and english(heading):
        found["question" if _QUESTION.match(heading) else "heading"].add(heading)
        passage = " ".join(" ".join(section.paragraphs).split()[: PASSAGE[1]])
        if section.paragraphs and len(passage.split()) >= PASSAGE[0] and english(" ".join(passage.split()[: WORDS[1]])):
            pairs[heading] = Pair(heading, passage)
    for paragraph in section.paragraphs:
        for sentence in _SENTENCE.split(paragraph):
            words = sentence.split()
            line = " ".join(words[: WORDS[1]])
            if english(line):
                found["question" if _QUESTION.match(line) else section.kind].add(line)


def english(line: str) -> bool:
    """Tell whether a line is English text of a useful length, not code, numbers or another language.

    >>> english("How do I reset the password?"), english("x = foo(bar)"), english("Usluge i programi na mreži")
    (True, False, False)
    """
    words = line.split()
    foreign = 0 if line.isascii() else sum(c > "\u024f" or c in "čćžšđøåæß" for c in line)
    if not WORDS[0] <= len(words) <= WORDS[1] or foreign > 1:
        return False
    letters = sum(c.isalpha() or c == " " for c in line)
    known = sum(word.lower().strip(".,;:?!\"'()") in _STOP for word in words)
    prose = letters > 0.85 * len(line) and len(line) < 12 * len(words) and known * 9 >= len(words) - 5
    return prose and not _CODE.search(line)


def _frequent(index: bytes) -> Iterator[str]:
    """Return the single words of a WordNet index with two senses that were met in text, so no rare ones."""
    for line in index.decode().splitlines():
        fields = line.split()
        if not line.startswith(" ") and fields[0].isalpha() and len(fields[0]) > 2 and int(fields[4 + int(fields[3]) + 1]) > 1:
            yield fields[0]


def _ing(verb: str) -> str:
    return (verb[:-1] if verb.endswith("e") and not verb.endswith(("ee", "ye", "oe")) else verb) + "ing"


def _about_people(chance: random.Random, names: list[str], verbs: list[str], nouns: list[str]) -> Iterator[str]:
    for _ in range(QUOTAS["person"]):
        verb = chance.choice(verbs)
        noun, noun2 = chance.choices(nouns, k=2)
        name, other = chance.choices(names, k=2)
        day, month = chance.randrange(1, 29), chance.choice(MONTHS)
        words = {"verb": verb, "verbing": _ing(verb), "noun": noun, "noun2": noun2, "name": name, "other": other}
        yield chance.choice(PERSON).format(**words, day=day, month=month)


def _about_matters(chance: random.Random, headings: list[str], verbs: set[str]) -> Iterator[str]:
    """Ask about headings: one that tells what to do gets a TASK, any other a MATTER."""
    base = {_ing(verb): verb for verb in sorted(verbs)}
    short = [heading for heading in headings if len(heading.split()) < 9]
    for _ in range(QUOTAS["matter"]):
        it, that = chance.choices(short, k=2)
        first, _, rest = it.partition(" ")
        word = base.get(first.lower(), first.lower())
        tasks = first.lower() in base or word in verbs
        yield chance.choice(TASK if tasks else MATTER).format(it=f"{word} {rest}", that=that)


def _spans(chance: random.Random, lines: list[str]) -> Iterator[str]:
    for _ in range(QUOTAS["span"]):
        words = chance.choice(lines).strip(".!?").split()
        length = chance.randrange(2, 7)
        start = chance.randrange(max(1, len(words) - length))
        yield " ".join(words[start : start + length])
