"""Navigation in documents: sections of nothing but links and names, which say where a text is and nothing themselves."""

import re

MAX_NAME_WORDS = 6  # words beside the links of a line under a heading such as References: a title, no sentence
MAX_LABEL_WORDS = 15  # words of a link's text: a longer one is a sentence

_LINK = re.compile(
    r"!?\[\[[^\[\]\n]*\]\]"  # [[note]]
    r"|!?\[((?:[^\[\]\n]|\[[^\[\]\n]*\])*)\]"
    r"(?:\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|\[[^\[\]\n]*\]|:[ \t]*\S+(?:[ \t]+[\"'(].*)?$)"
    r"|<?https?://[^\s>]+>?"
    r"|(?:(?<=\s)|^)@[\w~./-]*[\w/-]"  # @AGENTS.md
    r"|(?<![\w~./-])`?[\w~./-]*\w\.(?:mdx?|mdc|markdown|adoc|rst|html)(?:#[\w-]*)?`?(?!\w)",
    re.MULTILINE,
)
_HEADING = re.compile(
    r"(?:\d+[.)]?\s+)?(?:table of contents|contents|toc|index|see also"
    r"|(?:further|additional|more) (?:reading|resources|information)"
    r"|(?:related |useful |external |quick |more )?(?:resources|(?:\w+ )?(?:links|references))(?: (?:and|&) \w+)?"
    r"|related(?: \w+){0,2}|references?|sources|bibliography|navigation)\W*",
    re.IGNORECASE,
)
_FILLER_WORDS = frozenset(
    "a about and also are at by can contents details docs documentation file files find following for found from full here in "
    "information is it its link links more of on or other out page please read see table the their these this to with".split()
)
_CONTINUED = re.compile(r"\n[ \t]+(?!(?:[-*+]|\d+[.)])[ \t])")
_WORD = re.compile(r"[^\W\d_][\w'’]*")
_MARKS = re.compile(r"^\s*(?:(?:[-*+>]|\d+[.)]|\[[ xX]\])\s+)+|[*_|]")


def is_navigation(content: str) -> bool:
    """Return whether a section has nothing but links and names. content: with its line of headings.

    >>> is_navigation("Cache > Related\\n\\n- [Warm-up](warm-up.md)\\n- [Limits](limits.md), see also [[Quota]]")
    True
    >>> is_navigation("Cache > Related\\n\\n- [Warm-up](warm-up.md): use it after each deploy, or the first hour is slow.")
    False
    >>> is_navigation("Queues\\n\\nUse [RabbitMQ](https://www.rabbitmq.com)."), is_navigation("CLAUDE\\n\\n@AGENTS.md")
    (False, True)
    """
    headings, _, text = content.partition("\n\n")
    if not text:
        headings, text = "", content
    if "```" in text or "~~~" in text or not _LINK.search(text):
        return False
    may_name = _HEADING.fullmatch(headings.rpartition(" > ")[2].strip()) is not None
    lines = _CONTINUED.sub(" ", text).splitlines()
    return all(_only_points(line, may_name=may_name) for line in lines)


def _only_points(line: str, *, may_name: bool) -> bool:
    """Return whether a line has nothing but links. may_name: it may also have a few words, as the names of books."""
    if line.startswith("#"):
        return True
    labels = [match[1] or "" for match in _LINK.finditer(line)]
    may_name = may_name and (bool(labels) or not line.endswith("."))
    if any(len(label.split()) > MAX_LABEL_WORDS for label in labels):
        return False
    words = [word for word in _WORD.findall(_MARKS.sub(" ", _LINK.sub(" ", line))) if word.lower() not in _FILLER_WORDS]
    return len(words) <= (MAX_NAME_WORDS if may_name else int(line.endswith(":")))
