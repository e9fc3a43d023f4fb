"""Read manuals that exist in nine languages: their sections, each under one key in all of them.

All are Debian packages: GNOME's help, Debian's handbook, reference and FAQ.
"""

import re
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import NamedTuple

from scripts.encoder.sources import Source, fetch_sources, members

ENGLISH = "en"
LANGUAGES = ("de", "es", "fr", "pt", "ru", "ja", "zh", "ko")
SHORTEST = 40  # characters of a section
LONGEST = 1_500
MALLARD = "{http://projectmallard.org/1.0/}"
SOURCES = [
    Source(*line.split(" | "))
    for line in """\
CC-BY-SA-3.0 | gnome-user-docs/gnome-user-docs_43.0-2_all.deb | 0d635a840747958ca84da778b40d341f
CC-BY-SA-3.0, GPL-2+ | debian-handbook/debian-handbook_11.20220922_all.deb | 3d5dbeac1f1afc9c094eab9d0f701f6e
GPL-2+ | debian-faq/debian-faq_11.1_all.deb | 427426e0cfa6888622fc1d72631071cb
GPL-2+ | debian-faq/debian-faq-de_11.1_all.deb | e9a8d8234f4b182660d521f80f50cea8
GPL-2+ | debian-faq/debian-faq-fr_11.1_all.deb | e83cbcc28106fc35f6665a6b0c54c2bd
GPL-2+ | debian-faq/debian-faq-ja_11.1_all.deb | 7e2a2f200a963e41dead4dd8645e0dd6
GPL-2+ | debian-faq/debian-faq-ko_11.1_all.deb | 1e010227c0e7497b836e195beedcda60
GPL-2+ | debian-faq/debian-faq-pt_11.1_all.deb | ec3c25671b78da0359611fb904976d5a
GPL-2+ | debian-faq/debian-faq-ru_11.1_all.deb | aaaae7a409c5cf5f5b8c26991f6ef484
GPL-2+ | debian-faq/debian-faq-zh-cn_11.1_all.deb | 3545356b1aa04d87e91dd15e8406210c
GPL-2+ | debian-reference/debian-reference-en_2.100_all.deb | 9f31d3a17df505de09689ca255512ea5
GPL-2+ | debian-reference/debian-reference-de_2.100_all.deb | 3b0ce65fd63e75ddf8eb07ca36293425
GPL-2+ | debian-reference/debian-reference-es_2.100_all.deb | a59b68c96f83d3cf29a476c847aee383
GPL-2+ | debian-reference/debian-reference-fr_2.100_all.deb | 01424cba9bfa2e13166da22d3d692d33
GPL-2+ | debian-reference/debian-reference-ja_2.100_all.deb | f67140e0b994409413bd5fcc8dfcce83
GPL-2+ | debian-reference/debian-reference-pt_2.100_all.deb | c9c5d30a8608485bad60f7bd7ce6c755
GPL-2+ | debian-reference/debian-reference-zh-cn_2.100_all.deb | 6d2d8d9a646397e28b04cdff23d2e437
""".splitlines()
]
# Where a page lies, by manual: the groups are its language and its name, the same in all languages.
_PAGES = {
    "gnome": re.compile(r"/help/(?P<language>\w+)/gnome-help/(?P<page>[^/]+\.page)$"),
    "handbook": re.compile(r"/html/(?P<language>\w\w-\w\w)/(?P<page>[^/]+\.html)$"),
    "faq": re.compile(r"/FAQ/(?:[\w-]+/)?(?P<page>[^/.]+)\.(?P<language>\w\w(?:-\w\w)?)\.html$"),
    "reference": re.compile(r"/debian-reference/(?P<page>[^/.]+)\.(?P<language>\w\w(?:-\w\w)?)\.html$"),
}
_LANGUAGES = {  # as the manuals name them; other codes begin with the language
    "C": ENGLISH,
    "en-US": ENGLISH,
    **{f"{language}-{language.upper()}": language for language in ("de", "es", "fr", "ru")},
    "pt_BR": "pt",
    "pt-BR": "pt",
    "ja-JP": "ja",
    "zh_CN": "zh",
    "zh-CN": "zh",
    "zh-cn": "zh",
    "ko-KR": "ko",
}
_NUMBER = re.compile(r"^(?:Q: |[A-Z]?[\d.]+\.? ?|第 ?\d+ ?章 ?|Chapter \d+\. )")


class Section(NamedTuple):
    """A section of a manual. summary: a sentence on it, "" for none."""

    heading: str
    body: str
    summary: str = ""


Manual = dict[str, dict[str, Section]]  # sections by key and language


def read_manuals(folder: str) -> dict[str, Manual]:
    """Return the manuals by name; download what is missing in `folder`. A section that was not translated is left out."""
    pages: dict[str, dict[str, dict[str, list[Section]]]] = {name: defaultdict(dict) for name in _PAGES}
    for path in fetch_sources(SOURCES, folder):
        for file, content in members(path):
            for manual, pattern in _PAGES.items():
                if match := pattern.search(file):
                    language = _LANGUAGES.get(match["language"], match["language"])
                    if language in (ENGLISH, *LANGUAGES):
                        pages[manual][match["page"]][language] = list(_read_page(file, content.decode("utf-8", "replace")))
    return {name: _join_pages(by_page) for name, by_page in pages.items()}


def _join_pages(pages: dict[str, dict[str, list[Section]]]) -> Manual:
    """Return the sections of pages, matched by their position where a page has as many as the English one."""
    manual: Manual = {}
    for page, by_language in pages.items():
        english = by_language.get(ENGLISH, [])
        for language, sections in by_language.items():
            if len(sections) != len(english):
                continue
            for position, (section, original) in enumerate(zip(sections, english, strict=True)):
                is_translated = section.heading != original.heading and section.body[:200] != original.body[:200]
                if section.heading and len(section.body) >= SHORTEST and (is_translated or language == ENGLISH):
                    manual.setdefault(f"{page}#{position}", {})[language] = section
    return manual


def _read_page(file: str, text: str) -> Iterator[Section]:
    if file.endswith(".page"):
        root = ET.fromstring(text)
        paragraphs = (_plain("".join(paragraph.itertext())) for paragraph in root.iter(f"{MALLARD}p"))
        heading, summary = root.find(f"{MALLARD}title"), root.find(f"{MALLARD}info/{MALLARD}desc")
        texts = [_plain("".join(part.itertext())) if part is not None else "" for part in (heading, summary)]
        yield Section(texts[0], "\n".join(paragraphs)[:LONGEST], texts[1])
        return
    parser = _Headings()
    parser.feed(text)
    for heading_text, body in parser.sections:
        lines = filter(None, map(_plain, body.split("\n")))
        yield Section(_NUMBER.sub("", _plain(heading_text)).strip(" .\u3000"), "\n".join(lines)[:LONGEST])


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


class _Headings(HTMLParser):
    """The sections of a page in HTML, as [heading, body]."""

    def __init__(self) -> None:
        super().__init__()
        self.sections = [["", ""]]
        self._is_heading = False
        self._hidden = 0  # elements that show nothing, and menus

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the parser's
        if tag in ("h1", "h2", "h3", "h4"):
            self.sections.append(["", ""])
            self._is_heading = True
        elif tag in ("script", "style", "nav"):
            self._hidden += 1
        elif tag in ("p", "li", "div", "pre", "tr", "br"):
            self.handle_data("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("h1", "h2", "h3", "h4"):
            self._is_heading = False
        elif tag in ("script", "style", "nav"):
            self._hidden -= 1

    def handle_data(self, data: str) -> None:
        if self._hidden <= 0:
            self.sections[-1][0 if self._is_heading else 1] += data
