"""Gather translated texts: English originals of catalogues, help, descriptions and messages, each with its translations."""

import bz2
import html
import json
import lzma
import os
import re
import struct
import tarfile
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scripts.encoder import sources

ENGLISH = "en"
LANGUAGES = frozenset(("ar", "de", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh", ENGLISH))
LENGTH = (3, 400)  # characters of an original
MIN_LETTERS = 0.6  # of an original's characters, with blanks

_CATALOGUE = re.compile(r"/(?:locale[\w-]*|resource|lang|languages|translations|po)/(\w+)/(?:LC_MESSAGES/)?[^/]+\.mo$")
_CATALOGUE_FILE = re.compile(r"/(?:\w+-)?([a-z]{2}(?:_[A-Z]{2})?)\.mo$")  # WordPress
_HELP = re.compile(r"/libreoffice/help/([\w-]+)/(text/.*\.html)$")
_PARAGRAPH = re.compile(r'(?s)<(p|h\d) id="([^"]+)"[^>]*>(.*?)</\1>')
_OTHER_SYSTEM = re.compile(r'(?s)<span hidden="true"[^>]*class="\w+"[^>]*>.*?</span>(?=<span hidden)')
_MESSAGE = re.compile(r'diag\((\d+), \d, "[^"]*", ("(?:[^"\\]|\\.)*")')
_TAG = re.compile(r"<[^<>]{1,200}>")
_ACCELERATOR = re.compile(r"\s?\([&_~]\w\)|[&~](?=\w)")


class Pair(NamedTuple):
    language: str
    original: str
    translation: str


def gather(archives: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the first translation of each English original into each language. The same archives give the same texts."""
    translations: dict[str, dict[str, str]] = defaultdict(dict)
    documents: dict[str, dict[str, str]] = defaultdict(dict)  # texts of files in each language, by place and language
    for path in archives:
        before = sum(map(len, translations.values()))
        for pair in _read_archive(path, documents):
            _take(pair, translations)
        print(f"{os.path.basename(path)}: {sum(map(len, translations.values())) - before} translations", flush=True)
    for texts in documents.values():
        for language, text in texts.items():
            _take(Pair(language, texts.get(ENGLISH, ""), text), translations)
    print(f"{len(translations)} originals, {sum(map(len, translations.values()))} translations", flush=True)
    return translations


def _take(pair: Pair, translations: dict[str, dict[str, str]]) -> None:
    original, translation = clean(pair.original), clean(pair.translation)
    if pair.language != ENGLISH and fits(original) and 1 < len(translation) <= 2 * LENGTH[1] and translation != original:
        translations[original].setdefault(pair.language, translation)


def clean(text: str) -> str:
    """Return a text of an interface without marks of keys and of type, in one line.

    >>> clean("_Save &As...\\\\n<b>now</b>"), clean("保存(_S)")
    ('Save As... now', '保存')
    """
    text = _ACCELERATOR.sub("", html.unescape(_TAG.sub("", text.replace("\\n", " "))))
    if text.count("_") == 1:
        text = text.replace("_", "")
    return " ".join(unicodedata.normalize("NFC", text).split())


def fits(original: str) -> bool:
    """Tell whether an original has a useful length and mostly letters.

    >>> fits("Open file"), fits("%s: %d"), fits("a")
    (True, False, False)
    """
    if not LENGTH[0] <= len(original) <= LENGTH[1]:
        return False
    letters = sum(c.isascii() and (c.isalpha() or c == " ") for c in original)
    return letters >= MIN_LETTERS * len(original) and re.search("[A-Za-z]{2}", original) is not None


def language_of(name: str) -> str:
    """Return the language of a name in a path, whatever its country; "" for another one.

    >>> language_of("pt_BR"), language_of("zh-cn"), language_of("sv")
    ('pt', 'zh', '')
    """
    language = name[:2] if name[2:3] in {"", "_", "-"} else ""
    return language if language in LANGUAGES else ""


def _read_archive(path: str, documents: dict[str, dict[str, str]]) -> Iterator[Pair]:
    name = os.path.basename(path)
    if name.startswith("Translation-"):
        _read_descriptions(path, language_of(name.partition("-")[2].partition(".")[0]), documents)
    elif name.endswith(".tgz"):
        _read_messages(path, documents)
    else:
        for file, content in sources.members(path):
            if match := _HELP.search(file):
                language = language_of(match[1])
                for _, number, text in _PARAGRAPH.findall(content.decode("utf-8", "replace")) if language else ():
                    documents[f"{match[2]}#{number}"].setdefault(language, _OTHER_SYSTEM.sub("", text))
            elif (match := _CATALOGUE.search(file) or _CATALOGUE_FILE.search(file)) and language_of(match[1]):
                yield from read_catalogue(content, language_of(match[1]))


def read_catalogue(content: bytes, language: str) -> Iterator[Pair]:
    """Read a compiled gettext catalogue: the singular with the first form, the plural with the last one."""
    order = "<" if content[:4] == b"\xde\x12\x04\x95" else ">"
    count, originals, translations = struct.unpack(order + "3I", content[8:20])
    for number in range(count):
        original, translation = (
            content[start : start + length].decode("utf-8", "replace").rpartition("\x04")[2].split("\0")
            for length, start in (
                struct.unpack_from(order + "2I", content, table + 8 * number) for table in (originals, translations)
            )
        )
        yield Pair(language, original[0], translation[0])
        if len(original) > 1 and len(translation) > 1:
            yield Pair(language, original[1], translation[-1])


def _read_descriptions(path: str, language: str, documents: dict[str, dict[str, str]]) -> None:
    """Read the descriptions of packages: the first line, and paragraphs by their number."""
    opened = bz2.open if path.endswith(".bz2") else lzma.open
    with opened(path, "rt", encoding="utf-8") as file:
        for entry in file.read().split("\n\n"):
            key = re.search(r"(?m)^Description-md5: (\w+)$", entry)
            _, _, text = entry.partition(f"\nDescription-{path.rpartition('-')[2].partition('.')[0]}: ")
            if not key or not text:
                continue
            first, _, rest = text.partition("\n")
            documents[key[1]].setdefault(language, first)
            paragraphs = re.split(r"(?m)^ \.$", rest)
            for number, paragraph in enumerate(paragraphs):
                documents[f"{key[1]} {number} of {len(paragraphs)}"].setdefault(language, paragraph)


def _read_messages(path: str, documents: dict[str, dict[str, str]]) -> None:
    """Read the messages of the TypeScript compiler by their codes."""
    with tarfile.open(path) as tar:
        for member in tar:
            match = re.fullmatch(r"package/lib/(?:_tsc\.js|([\w-]+)/diagnosticMessages\.generated\.json)", member.name)
            if not match or not (opened := tar.extractfile(member)):
                continue
            content = opened.read().decode()
            if match[1]:
                found = ((key.rpartition("_")[2], text) for key, text in json.loads(content).items())
            else:
                found = ((code, json.loads(text)) for code, text in _MESSAGE.findall(content))
            language = language_of(match[1]) if match[1] else ENGLISH
            for code, text in found if language else ():
                documents[f"message {code}"].setdefault(language, text)
