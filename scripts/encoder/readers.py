"""Read packages: files of documentation, games and dictionaries become sections, each a heading and its paragraphs."""

import gzip
import html
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from scripts.encoder import sources

FILES = 900  # of one package: an API reference of ten thousand pages says little more than nine hundred of them
FILE_SIZE = 1_500_000  # characters read of one file


class Section(NamedTuple):
    """A heading ("" for none) and the paragraphs under it. kind: prose, speech or gloss."""

    kind: str
    heading: str
    paragraphs: list[str]


HEADING = "\x01"  # marks a line as a heading while a file is taken apart

_DROPPED = re.compile(
    r"(?is)<(script|style|head|nav|pre|table|code-block|screen|programlisting|footer)\b.*?</\1\s*>|<!--.*?-->"
)
_HEADING_OPENS = re.compile(r"(?i)<(?:h[1-6]|title)\b[^>]*>")
_HEADING_CLOSES = re.compile(r"(?i)</(?:h[1-6]|title)\s*>")
_BLOCK = re.compile(
    r"(?i)</?(?:p|div|li|ul|ol|dl|dt|dd|td|tr|br|section|article|blockquote|body|html|main"
    r"|item|note|para|simpara|listitem|table|media)\b[^>]*>"
)
_PILCROW = re.compile(r'(?is)<a\b[^>]*class="[^"]*(?:headerlink|permalink|anchor)[^"]*"[^>]*>.*?</a>|¶')
_TAG = re.compile(r"<[^<>]*>")
_SECTION_NUMBER = re.compile(r"^(?:(?:chapter|section|appendix|part)\s+)?[\dA-Z]{0,3}(?:\.\d+)*[.:)]?\s+(?=\w)", re.IGNORECASE)


def from_html(text: str) -> Iterator[Section]:
    """Read HTML, DocBook and Mallard: headings by their tags; code and tables are left out."""
    text = _PILCROW.sub("", _DROPPED.sub("\n\n", text))
    text = _HEADING_CLOSES.sub("\n\n", _HEADING_OPENS.sub(f"\n\n{HEADING}", re.sub(r"\s+", " ", text)))
    return _sections(html.unescape(_TAG.sub("", _BLOCK.sub("\n\n", text))).split("\n\n"))


def from_text(text: str) -> Iterator[Section]:
    """Read plain text, Markdown, reStructuredText, info: headings by `#` or an underline, list items on their own."""
    text = re.sub(r"(?s)```.*?```", "", text.replace("\r", ""))
    text = re.sub(r"(?m)^#{1,6} +(.+?)#*$", rf"\n\n{HEADING}\1\n\n", text)
    text = re.sub(r"(?m)^(\S.{2,90})\n([=\-~^*\"+#])\2{2,}$", rf"\n\n{HEADING}\1\n\n", text)
    text = re.sub(r"(?m)^ *(?:[-*+•]|\d+[.)]) +", "\n\n", text)
    blocks = [block for block in re.split(r"\n\s*\n", text) if not re.match(r" {4}|\t|\.\. |[|+]", block)]
    return _sections(re.sub(r"(\*\*|``|`_?|\]\([^)]*\)|\[(?=\w))", "", block) for block in blocks)


_ESCAPES = {r"\-": "-", r"\(aq": "'", r"\(cq": "'", r"\e": "\\", r"\ ": " ", r"\(lq": '"', r"\(rq": '"'}


def from_manual(text: str) -> Iterator[Section]:
    """Read manual pages in man or mdoc macros."""
    text = re.sub(r"\\f(?:\[\w*\]|\(\w\w|.)|\\&|\\/|\\s[-+]?\d|\\\"[^\n]*", "", text)
    text = re.sub(r"(?s)^\.(?:nf|EX|Bd)\b.*?^\.(?:fi|EE|Ed)\b", "", text, flags=re.MULTILINE)
    for escape, character in _ESCAPES.items():
        text = text.replace(escape, character)
    lines = []
    for line in text.splitlines():
        macro = re.match(r"[.']\s*(\w*)\s*(.*)", line)
        if not macro:
            lines.append(line)
        elif macro[1] in {"SS", "Ss"}:
            lines += ["", f"{HEADING}{macro[2].strip(chr(34)).capitalize()}", ""]
        elif macro[1] in {"B", "I", "BR", "IR", "RB", "RI", "BI", "IB", "Nm", "Fl", "Ar", "Em", "Xr", "Pa", "Cm", "Sy", "Ic"}:
            lines.append(macro[2].replace('"', ""))
        else:
            lines.append("")
    return _sections(re.split(r"\n\s*\n", "\n".join(lines)))


def from_pod(text: str) -> Iterator[Section]:
    """Read Perl's documentation."""
    text = re.sub(r"[BCFILSX]<+\s?([^<>]*?)\s?>+", r"\1", text)
    blocks = re.split(r"\n\s*\n", text)
    return _sections(re.sub(r"^=head\d ", HEADING, block) for block in blocks if not re.match(r"\s|=(?!head)", block))


def _sections(blocks: Iterable[str]) -> Iterator[Section]:
    heading = ""
    paragraphs: list[str] = []
    for block in blocks:
        line = " ".join(block.split())
        if line.startswith(HEADING):
            if heading or paragraphs:
                yield Section("prose", heading, paragraphs)
            heading, paragraphs = _SECTION_NUMBER.sub("", line.strip(HEADING + " ")), []
        elif line:
            paragraphs.append(line.replace(HEADING, ""))
    yield Section("prose", heading, paragraphs)


def _speech(lines: Iterable[str]) -> Iterator[Section]:
    yield Section("speech", "", [" ".join(line.split()) for line in lines])


def from_campaign(text: str) -> Iterator[Section]:
    """Read what people say in a Wesnoth scenario."""
    return _speech(line.replace('""', '"') for line in re.findall(r'message\s*=\s*_\s*"((?:[^"]|"")+)"', text))


def from_conversation(text: str) -> Iterator[Section]:
    """Read what people say in Endless Sky: text between backticks."""
    return _speech(re.findall(r"`([^`\n]+)`", text))


def from_aiml(text: str) -> Iterator[Section]:
    """Read patterns and answers of a chat robot."""
    text = re.sub(r"(?s)<(think|srai|system)>.*?</\1>", "", text)
    said = re.findall(r"(?s)<template>(.*?)</template>", text)
    said += [line.capitalize() for line in re.findall(r"<pattern>(.*?)</pattern>", text)]
    return _speech(html.unescape(_TAG.sub(" ", line)).replace(" *", "") for line in said)


def from_corpus(text: str) -> Iterator[Section]:
    """Read conversations in YAML: `- - question` and `  - answer`; the answer stands under its question."""
    for exchange in re.split(r"(?m)^- (?=- )", text)[1:]:
        question, *answers = (line.strip().strip("'\"") for line in re.split(r"(?m)^ *- ", exchange) if line.strip())
        yield Section("speech", question, answers)


def from_quotes(text: str) -> Iterator[Section]:
    """Read fortune cookies, with `%` between them; verse and dialogue keep to their lines."""
    return _speech(re.sub(r"\n\s*--.*", "", quote, flags=re.DOTALL) for quote in text.split("\n%\n"))


def from_phrases(text: str) -> Iterator[Section]:
    """Read the English side of the German-English word list: phrases and example sentences between `|` and `;`."""
    sides = (line.split(" :: ", 1)[1] for line in text.splitlines() if " :: " in line)
    plain = (re.sub(r"\s*[\[{(/][^\])}/]*[\])}/]", "", phrase) for side in sides for phrase in re.split(r"[|;]", side))
    return _speech(phrase.strip() for phrase in plain if phrase.strip().count(" ") > 2)


def from_examples(text: str) -> Iterator[Section]:
    """Read test sentences of a grammar: those that are not marked as wrong."""
    return _speech(line for line in text.splitlines() if re.match(r"[A-Z][a-z']* ", line))


def from_dictionary(text: str) -> Iterator[Section]:
    """Read a DICT file: unindented headwords, indented definitions."""
    for entry in re.split(r"\n(?=\S)", text):
        word, _, rest = entry.partition("\n")
        definition = re.sub(r"[{}]|\[[^\]]*\]|<[^>]*>|(?m:^ *(?:\d+\.|\([a-z]\)))", " ", rest)
        parts = [" ".join(part.split()) for part in re.split(r"\n\s*\n|--", definition)]
        yield Section("gloss", word.split("\\")[0].strip(), parts)


def from_wordnet(text: str) -> Iterator[Section]:
    """Read WordNet's glosses and their example sentences, each under the words of its synset."""
    for line in text.splitlines():
        if " | " in line and not line.startswith("  "):
            synset, gloss = line.split(" | ", 1)
            fields = synset.split()
            words = [word.replace("_", " ") for word in fields[4 : 4 + 2 * int(fields[3], 16) : 2]]
            meaning, *examples = gloss.split('; "')
            yield Section("gloss", ", ".join(words), [f"{words[0]}: {meaning}"])
            yield Section("speech", "", [example.rstrip('" ') for example in examples])


Reader = Callable[[str], Iterator[Section]]
READERS: list[tuple[str, str, Reader]] = [  # package, file name (both regular expressions), reader; the first match counts
    (r"wesnoth", r"\.cfg$", from_campaign),
    (r"endless-sky", r"/data/.*\.txt$", from_conversation),
    (r"aiml", r"\.aiml$", from_aiml),
    (r"chatterbot", r"/english/.*\.yml$", from_corpus),
    (r"fortunes", r"games/fortunes/[\w-]+$", from_quotes),
    (r"trans-de-en", r"/de-en$", from_phrases),
    (r"link-grammar", r"\.batch$", from_examples),
    (r"dict-", r"\.dict\.dz$", from_dictionary),
    (r"wordnet", r"/data\.(noun|verb|adj|adv)$", from_wordnet),
    (r"wesnoth|endless|aiml|chatterbot|trans-de", r"", lambda _: iter(())),
    (r"", r"copyright|licen[cs]e|genindex|COPYING|search\.html|po-modindex|_sources/.*/api/", lambda _: iter(())),
    (r"", r"/man/man\d/.*\.\d\w*(\.gz)?$", from_manual),
    (r"", r"\.(x?html?|xml|page|docbook)(\.gz)?$", from_html),
    (r"", r"\.pod(\.gz)?$", from_pod),
    (r"", r"\.(md|rst|txt|mdwn|markdown|adoc|text|org|info(-\d)?)(\.gz)?$", from_text),
    # files of these names, as packages ship them: a project's TODO is prose like its README
    (r"", r"/(README|FAQ|NEWS|TODO|HACKING|changelog|INSTALL|faq)[\w.-]*$", from_text),
]
_FOREIGN = re.compile(
    r"/(?:HTML|man|help|help/[\w-]+|html|LC_MESSAGES)/(?!(?:en|man|C|en_\w+)\b)[a-z]{2}(?:_[A-Z]{2})?/"
    r"|[._-](?:de|fr|es|ja|it|ru|pl|pt|zh|nl|ko|tr)(?:[._-]\w+)?\.html"
)


def sections(path: str) -> Iterator[Section]:
    """Yield the sections of a package, from at most FILES files that are spread over it by the hash of their names."""
    package = os.path.basename(path).split("_" if path.endswith(".deb") else "-")[0]
    chosen = []
    for name, content in sources.members(path):
        reader = _reader(package, name)
        if reader and content and not _FOREIGN.search(name) and not any(word in name for word in sources.UNFIT):
            chosen.append((zlib.crc32(name.encode()), name, content, reader))
    chosen.sort(key=lambda file: file[:2])
    for _, _, content, reader in chosen[:FILES]:
        yield from reader(decoded(content)[:FILE_SIZE] if reader not in _WHOLE else decoded(content))


_WHOLE = (from_phrases, from_dictionary, from_wordnet)  # one file is the package


def _reader(package: str, name: str) -> Reader | None:
    return next((reader for where, files, reader in READERS if re.match(where, package) and re.search(files, name)), None)


def decoded(content: bytes) -> str:
    """Return the text of a file, unpacked when it is compressed by gzip or xz."""
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    elif content[:5] == b"\xfd7zXZ":
        content = lzma.decompress(content)
    return content.decode("utf-8", "ignore")
