"""Text files as other programs write them, and the limits on fields that a repository's file may set."""

import codecs
import os
import re
from collections.abc import Iterable

from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.files import NotRegular, account_folder, find_repository, leads_out, read_regular
from subcog_hooks.core.repository_variables import is_users_own
from subcog_hooks.cues import globs
from subcog_hooks.store.memory import FILE, Memory
from subcog_hooks.store.project import Project, find_project

MAX_MARKDOWN = 4_000_000  # bytes of a Markdown file; the longest changelogs have one million
MAX_MARKDOWN_LINES = 100_000  # lines of a Markdown file; its parser takes 2 KB a line
MAX_NULS = 0.1  # of the characters of a text in UTF-8; a binary file has more, or is no UTF-8

UTF16_MARKS = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}
_BAD_BYTE = re.compile("[\udc80-\udcff]")
_BEYOND_ASCII = re.compile("[^\0-\x7f\udc80-\udcff]")
_OTHER_ALPHABET = re.compile(rb"[\x80-\xff]{6}")  # No western word has six such letters in a row.


def read_text_file(path: str) -> tuple[str, int, str] | str:
    """Return a Markdown file's text, the time of its last change in milliseconds since the epoch, and a remark on its encoding.

    Return the reason if it cannot be read.
    """
    try:
        raw = read_regular(path, MAX_MARKDOWN + 1)
        changed_ms = int(os.stat(path).st_mtime * 1000)
        if len(raw) > MAX_MARKDOWN:
            return f"has more than {MAX_MARKDOWN:,} bytes; split it"
        text, remark = decode_text(raw)
    except NotRegular:
        return "is no regular file"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except ValueError as error:
        return str(error)
    if text.count("\n") > MAX_MARKDOWN_LINES:
        return f"has more than {MAX_MARKDOWN_LINES:,} lines; split it"
    return text, changed_ms, remark


def decode_text(raw: bytes) -> tuple[str, str]:
    """Return the text of a file, and a remark unless it is UTF-8. Raises ValueError for a binary file and other encodings.

    >>> decode_text("Grüße".encode("utf-16")), decode_text("Grüße".encode("cp1252"))
    (('Grüße', 'is read as UTF-16'), ('Grüße', 'is read as Windows-1252'))
    """
    remark = ""
    if encoding := next((encoding for encoding, mark in UTF16_MARKS.items() if raw.startswith(mark)), ""):
        text, remark = raw.decode(encoding, "replace").removeprefix("\ufeff"), "is read as UTF-16"
    else:
        text = raw.decode("utf-8-sig", "surrogateescape")
        bad_bytes = len(_BAD_BYTE.findall(text))
        if bad_bytes > len(_BEYOND_ASCII.findall(text)) and not raw.startswith(codecs.BOM_UTF8):
            text, remark = raw.decode("cp1252", "replace"), "is read as Windows-1252"
        elif bad_bytes:
            text, remark = _BAD_BYTE.sub("\ufffd", text), f"has bytes that are not UTF-8: {bad_bytes}, shown as U+FFFD"
    if text.count("\0") > (0 if remark else MAX_NULS * len(text)):
        raise ValueError("is a binary file")
    if "1252" in remark and _OTHER_ALPHABET.search(raw):
        raise ValueError("is neither UTF-8 nor UTF-16 nor Windows-1252; save it as UTF-8")
    return text, remark


CUE_FIELDS = ("triggers", "paths", "when", "questions", "standing")  # bring a memory without a prompt in its words
LIMITED_FIELDS = (*CUE_FIELDS, "keywords", "priority")  # are not for a repository's file to choose


def find_holder(path: str, usual: str = "") -> Project | None:
    """Return the repository that holds a file or folder, None for the person's own files.

    A path is the person's own in `usual`, its program's usual folder, and in a repository that holds the person's whole home.
    Raises UsageError for a link that leads out of a repository.
    """
    named, real = os.path.abspath(path), os.path.realpath(path)
    nearest_root = find_repository(os.path.dirname(named))
    if nearest_root and not _is_users_own(named, usual, nearest_root) and leads_out(path, nearest_root):
        raise UsageError(f"{path} is a link out of its repository", "name the file or folder that it leads to")
    here = find_project(real if os.path.isdir(real) else os.path.dirname(real))
    return here if here and not _is_users_own(named, usual, here.root) else None


def _is_users_own(path: str, usual: str, root: str) -> bool:
    """Return whether a path in a repository is the person's own, as far as no repository can have set `~`."""
    try:
        is_usual = os.path.join(path, "").startswith(os.path.join(os.path.abspath(usual), "")) if usual else False
        return (is_usual and is_users_own(os.path.expanduser("~"))) or not leads_out(account_folder(), root)
    except OSError:  # the system does not know this user
        return False


def clear_fields(memory: Memory, names: Iterable[str]) -> Memory:
    """Return a memory with the defaults of these fields."""
    bare = Memory(id=memory.id, content=memory.content)
    return memory.with_changes(**{name: getattr(bare, name) for name in names})


def limit_to_repository(memory: Memory, repository: str, paths: Iterable[str] = ()) -> Memory:
    """Return the text that a repository's file gives: about that repository, and a file's word.

    repository: its identity. paths: the globs in the front matter of the text's own file.
    """
    owner = {"scope": "project", "project": repository, "trust": FILE}
    return clear_fields(memory, LIMITED_FIELDS).with_changes(**owner, paths=tuple(narrow_globs(paths)))


def narrow_globs(paths: Iterable[str]) -> list[str]:
    """Return the globs of some files of a repository.

    >>> narrow_globs(["**", "src/**", "{*,**/*}", "/etc/*", "*.sql"])
    ['src/**', '*.sql']
    """
    return [glob for glob in paths if not globs.is_absolute(glob) and not globs.matches_most_files(glob)]
